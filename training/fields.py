"""Random fields and masks from which scenes and faults without a name are made."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

MASKS = "rectangle", "ellipse", "polygon", "blob", "stroke"


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def noise(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


def unit(field: np.ndarray) -> np.ndarray:
    """Shift and scale to a mean of 0 and a standard deviation of 1."""
    field = field - field.mean()
    return (field / (field.std() + 1e-6)).astype(np.float32)


def places(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    y, x = np.ogrid[: image.shape[0], : image.shape[1]]
    return y.astype(np.float32), x.astype(np.float32)


def smooth(shape: tuple[int, ...], size: float, rng: np.random.Generator) -> np.ndarray:
    """Smooth random field (h, w) with structures of about `size` pixels."""
    coarse = noise((max(int(shape[0] / size), 1) + 3, max(int(shape[1] / size), 1) + 3), rng)
    field = Image.fromarray(coarse).resize(
        (shape[1], shape[0]), Image.Resampling.BICUBIC, (1, 1, *np.subtract(coarse.shape[::-1], 1))
    )
    return unit(np.asarray(field))


def luma(image: np.ndarray) -> np.ndarray:
    return image @ np.array([0.299, 0.587, 0.114], np.float32)


def own_or_common(shape: tuple[int, ...], rng: np.random.Generator) -> tuple[int, ...]:
    """Shape of a field that differs from channel to channel, or is common to all of them."""
    return shape if rng.random() < 0.6 else (*shape[:2], 1)


def draw_mask(shape: tuple[int, int], rng: np.random.Generator, form: str) -> np.ndarray:
    """Draw a region: float32 (h, w), 1 inside and 0 outside."""
    height, width = shape
    if form == "blob":
        field = smooth(shape, rng.uniform(0.2, 0.6) * min(shape), rng)
        return (field > np.quantile(field, rng.uniform(0.3, 0.85))).astype(np.float32)
    page = Image.new("L", (width, height), 0)
    pen = ImageDraw.Draw(page)
    (cy, cx), (ry, rx) = rng.uniform(0.15, 0.85, 2) * shape, rng.uniform(0.12, 0.55, 2) * shape
    if form == "rectangle":
        pen.rectangle([cx - rx, cy - ry, cx + rx, cy + ry], fill=255)
    elif form == "ellipse":
        pen.ellipse([cx - rx, cy - ry, cx + rx, cy + ry], fill=255)
    elif form == "polygon":
        turns = np.sort(rng.uniform(0, 2 * np.pi, int(rng.integers(3, 8))))
        pen.polygon([(cx + 1.3 * rx * np.cos(a), cy + 1.3 * ry * np.sin(a)) for a in turns], fill=255)
    else:
        points = np.cumsum(np.vstack([[cx, cy], rng.normal(0, 0.3 * min(shape), (int(rng.integers(1, 5)), 2))]), axis=0)
        points = np.clip(points, 0, (width - 1, height - 1))
        thick = int(rng.integers(8, max(min(shape) // 3, 10)))
        pen.line([tuple(p) for p in points], fill=255, width=thick, joint="curve")
    return (np.asarray(page) > 127).astype(np.float32)


def feathered(mask: np.ndarray, radius: float) -> np.ndarray:
    """Let a region fade over about `radius` pixels on both sides of its border."""
    page = Image.fromarray((255 * mask).astype(np.uint8)).filter(ImageFilter.BoxBlur(radius))
    return np.asarray(page).astype(np.float32) / 255
