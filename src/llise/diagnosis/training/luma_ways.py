"""Ways in which programs make faults of the luma in colour pictures, for the training of the colour judge."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image
from scipy import ndimage

from llise.colours import planes_of
from llise.diagnosis.training.colour_ways import Change
from llise.kinds import registry


def _blur(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    base = image.astype(np.float32)
    if rng.random() < 0.3:
        return lambda s: ndimage.uniform_filter(base, (max(int(s), 1), max(int(s), 1), 1), mode="nearest"), 30.0
    return lambda s: ndimage.gaussian_filter(base, (s, s, 0), mode="nearest"), 15.0


def _noise(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    base = image.astype(np.float32)
    field = rng.standard_normal(image.shape if rng.random() < 0.7 else (*image.shape[:2], 1), dtype=np.float32)
    if rng.random() < 0.2:
        field = (field * (0.3 + base / 128)).astype(np.float32)
    return lambda s: base + np.float32(s) * field, 80.0


def _luminance(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    sign = np.float32(rng.choice([-1, 1]))
    return lambda s: image.astype(np.float32) + sign * np.float32(s), 80.0


def _contrast(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    if rng.random() < 0.25:  # of the luma alone
        planes = planes_of(image)
        sign, middle = rng.choice([-1, 1]), planes[..., :1].mean()
        shift = planes[..., :1] - middle
        return lambda s: image + sign * np.float32(s) * shift, 0.9 if sign < 0 else 3.0
    draw = registry.get("contrast").draw(image, rng)
    return draw.path, draw.end


def _impulses(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    shape = image.shape if rng.random() < 0.5 else (*image.shape[:2], 1)
    order = rng.random(shape)
    value = rng.choice([0, 255], shape) if rng.random() < 0.7 else rng.integers(0, 256, shape)
    return lambda s: np.where(order < s, value, image).astype(np.uint8), 0.6


def _jpeg(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    picture, subsampling = Image.fromarray(image), int(rng.choice([0, 2, 2]))
    form = "WEBP" if rng.random() < 0.15 else "JPEG"

    def coded(strength: float) -> np.ndarray:
        buffer = io.BytesIO()
        options = {"subsampling": subsampling} if form == "JPEG" else {"method": 1}
        picture.save(buffer, form, quality=int(np.clip(round(100 - strength), 1, 100)), **options)
        with Image.open(buffer) as decoded:
            return np.asarray(decoded.convert("RGB"))

    return coded, 98.0


def _sharper(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    base = image.astype(np.float32)
    detail = base - ndimage.gaussian_filter(base, (w := rng.uniform(0.7, 3), w, 0), mode="nearest")
    return lambda s: base + np.float32(s) * detail, 6.0


def _coarse(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    """Large pixels, or few levels."""
    if rng.random() < 0.5:
        base = image.astype(np.float32)

        def mosaic(strength: float) -> np.ndarray:
            side = max(int(strength), 1)
            return base[::side, ::side].repeat(side, 0).repeat(side, 1)[: base.shape[0], : base.shape[1]]

        return mosaic, 16.0
    return lambda s: np.rint(image / np.float32(1 + s)) * np.float32(1 + s), 80.0


def _moved(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    angle, base = rng.uniform(0, 2 * np.pi), image.astype(np.float32)
    return lambda s: ndimage.shift(base, (s * np.sin(angle), s * np.cos(angle), 0), order=1, mode="nearest"), 6.0


LUMA = (_blur, _noise, _luminance, _contrast, _impulses, _jpeg, _sharper, _coarse, _moved)
"""Faults of the luma as programs make them, in all channels."""

LUMA_SHARES = (0.14, 0.16, 0.12, 0.14, 0.12, 0.2, 0.04, 0.04, 0.04)
"""How often each of them is drawn."""
