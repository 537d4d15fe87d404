"""How programs change the pixels of colour pictures: the planes that they work on, light, and how they round."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from PIL import Image

from llise.colours import TO_PLANES, TO_RGB, WEIGHTS

PLANES = ("rgb", "luma", "ycbcr", "value", "lightness", "lab")
"""What a curve changes: each channel; the luma; the luma in 8 bits, by Pillow; V of HSV, L of HLS, L* of Lab."""

_XYZ = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
_WHITE = np.array([0.95047, 1.0, 1.08883])
_TO_XYZ = (_XYZ / _WHITE[:, None]).T.astype(np.float32)
_FROM_XYZ = np.linalg.inv(_TO_XYZ).astype(np.float32)


def draw_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**32))


def draw_rounding(rng: np.random.Generator) -> str:
    """Most programs round to the nearest level, many cut fractions off, some dither."""
    return str(rng.choice(["nearest", "floor", "dither"], p=[0.68, 0.22, 0.1]))


def draw_plane(rng: np.random.Generator, image: np.ndarray, share: float = 0.3) -> str:
    """The channels, or with a chance of `share` another plane."""
    return "rgb" if image.ndim == 2 or rng.random() >= share else str(rng.choice(PLANES[1:]))


def finish(values: np.ndarray, rounding: str = "nearest", seed: int = 0) -> np.ndarray:
    """Whole grey levels 0 to 255, as a program rounds: to the nearest level, down, or up and down by chance."""
    if values.dtype == np.uint8:
        return values
    if rounding == "dither":
        values = np.floor(values + np.random.default_rng(seed).random(values.shape, np.float32))
    elif rounding == "nearest":
        values = np.rint(values)
    return np.clip(values, 0, 255).astype(np.uint8)


def look_up(table: np.ndarray, image: np.ndarray) -> np.ndarray:
    """What a table of 256 levels, with straight lines between them, makes of an image; beyond it, the ends go on."""
    table = table.astype(np.float32)
    if image.dtype == np.uint8:
        return table.take(image)
    below = np.clip(image, 0, 254).astype(np.intp)
    return table.take(below) + (image - below) * np.diff(table).take(below)


def plane_of(image: np.ndarray, plane: str) -> np.ndarray:
    """The plane (h, w) of colours (h, w, 3) on the scale 0 to 255."""
    image = image.astype(np.float32)
    if plane in ("luma", "ycbcr"):
        return image @ WEIGHTS
    if plane == "value":
        return image.max(axis=-1)
    if plane == "lightness":
        return 0.5 * (image.max(axis=-1) + image.min(axis=-1))
    return lab_of(image)[..., 0] * np.float32(2.55)


def on_plane(image: np.ndarray, plane: str, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Change one plane of colours (h, w, 3) and keep what the others say, or change each channel; not yet rounded."""
    if plane == "rgb" or image.ndim == 2:
        return change(image)
    if plane == "ycbcr":
        planes = np.array(Image.fromarray(finish(image)).convert("YCbCr"))
        planes[..., 0] = finish(change(planes[..., 0]))
        return np.asarray(Image.fromarray(planes, "YCbCr").convert("RGB"))
    base = image.astype(np.float32)
    if plane == "lab":
        lab = lab_of(base)
        lab[..., 0] = np.clip(change(lab[..., 0] * np.float32(2.55)), 0, 255) / np.float32(2.55)
        return from_lab(lab)
    old = plane_of(base, plane)
    new = change(old)
    if plane == "luma":
        return base + (new - old)[..., None]
    new = np.clip(new, 0, 255)
    if plane == "value":
        return np.where(old[..., None] > 0, base * (new / np.maximum(old, 1e-3))[..., None], new[..., None])
    room, new_room = (255 - np.abs(2 * light - 255) for light in (old, new))  # most chroma at a lightness
    ratio = np.where(room > 0, new_room / np.maximum(room, 1e-3), 0)
    return new[..., None] + (base - old[..., None]) * ratio[..., None]


@cache
def _light_table() -> np.ndarray:
    """Light of the 256 levels of sRGB."""
    level = np.arange(256) / 255
    return np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4).astype(np.float32)


def to_light(image: np.ndarray) -> np.ndarray:
    """Light, 0 to 1, of levels of sRGB."""
    return look_up(_light_table(), image if image.dtype == np.uint8 else np.clip(image, 0, 255))


def from_light(light: np.ndarray) -> np.ndarray:
    """Levels of sRGB, 0 to 255, of light."""
    light = np.clip(light, 0, 1).astype(np.float32)
    root = light ** np.float32(1 / 2.4)
    return np.float32(255) * np.where(light <= 0.0031308, 12.92 * light, np.float32(1.055) * root - np.float32(0.055))


def lab_of(image: np.ndarray) -> np.ndarray:
    """L*, a* and b* (D65) of colours of sRGB."""
    xyz = to_light(image) @ _TO_XYZ
    root = np.where(xyz > 0.008856, np.cbrt(xyz), np.float32(7.787) * xyz + np.float32(16 / 116))
    x, y, z = root[..., 0], root[..., 1], root[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1).astype(np.float32)


def from_lab(lab: np.ndarray) -> np.ndarray:
    """Colours of sRGB, 0 to 255, of L*, a* and b*."""
    y = (lab[..., 0] + 16) / 116
    root = np.stack([y + lab[..., 1] / 500, y, y - lab[..., 2] / 200], axis=-1)
    xyz = np.where(root > 0.2068966, root**3, (root - np.float32(16 / 116)) / np.float32(7.787))
    return from_light(xyz.astype(np.float32) @ _FROM_XYZ)


def chroma_scaled(image: np.ndarray, factor: float) -> np.ndarray:
    """Colours whose chroma is scaled in 8 bits, by Pillow."""
    planes = np.array(Image.fromarray(image).convert("YCbCr"))
    planes[..., 1:] = finish(128 + np.float32(factor) * (planes[..., 1:].astype(np.float32) - 128))
    return np.asarray(Image.fromarray(planes, "YCbCr").convert("RGB"))


def hsv_scaled(image: np.ndarray, factor: float) -> np.ndarray:
    """Colours whose S of HSV is scaled in 8 bits, by Pillow."""
    planes = np.array(Image.fromarray(image).convert("HSV"))
    planes[..., 1] = finish(np.float32(factor) * planes[..., 1].astype(np.float32))
    return np.asarray(Image.fromarray(planes, "HSV").convert("RGB"))


def unit_noise(shape: tuple[int, ...], law: str, rng: np.random.Generator) -> np.ndarray:
    """Independent numbers of mean 0 and deviation 1, float32."""
    if law == "normal":
        return rng.standard_normal(shape, np.float32)
    if law == "uniform":
        return (rng.random(shape, np.float32) - np.float32(0.5)) * np.float32(12**0.5)
    if law == "triangular":
        return (rng.random(shape, np.float32) - rng.random(shape, np.float32)) * np.float32(6**0.5)
    if law == "laplace":
        return (rng.standard_exponential(shape, np.float32) - rng.standard_exponential(shape, np.float32)) / np.float32(
            2**0.5
        )
    raise ValueError(f"law {law!r}: expected normal, uniform, triangular or laplace")


CHROMA_SPREAD = (TO_RGB[:, 1:].astype(np.float64) ** 2).sum(axis=1)
"""Variance of red, green and blue that noise of variance 1 in Cb and Cr makes."""

TO_CHROMA = TO_PLANES[1:]
