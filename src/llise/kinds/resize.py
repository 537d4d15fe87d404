"""Pictures made smaller or larger as programs do it."""

from __future__ import annotations

import numpy as np
from PIL import Image

from llise.kinds.grey import quantise
from llise.kinds.resampling_weights import ENLARGING, REDUCING, Taps

PILLOW = {name: Image.Resampling[name.upper()] for name in ("box", "bilinear", "hamming", "bicubic", "lanczos")}
"""Filters that Pillow computes itself, on whole numbers."""

_WAYS = {way.name: way for way in (*REDUCING, *ENLARGING)}
SMOOTHED = "smoothed"
"""A Gaussian before plain bilinear sampling, as scikit-image reduces."""

REDUCING_NAMES = (*dict.fromkeys(way.name for way in REDUCING), SMOOTHED)
ENLARGING_NAMES = tuple(way.name for way in ENLARGING)


def resize(image: np.ndarray, shape: tuple[int, int], way: str) -> np.ndarray:
    """Resize an 8-bit picture, grey or colour, by a filter of :data:`REDUCING_NAMES` or :data:`ENLARGING_NAMES`."""
    if image.shape[:2] == tuple(shape):
        return image
    if way in PILLOW:
        return np.asarray(Image.fromarray(image).resize(shape[::-1], PILLOW[way]))
    if way == "nearest":
        return np.asarray(Image.fromarray(image).resize(shape[::-1], Image.Resampling.NEAREST))
    levels = image.astype(np.float32)
    if way == SMOOTHED:
        from scipy.ndimage import gaussian_filter  # only here: its import is slow

        sigmas = [max(0.0, (n / m - 1) / 2) for n, m in zip(image.shape, shape)]
        levels = gaussian_filter(levels, [*sigmas, 0.0][: image.ndim], mode="mirror")
        way = "plain bilinear"
    for axis in (0, 1):
        levels = along(levels, _WAYS[way].taps(levels.shape[axis], shape[axis]), axis)
    return quantise(levels)


def along(levels: np.ndarray, taps: Taps, axis: int) -> np.ndarray:
    """Resample an axis of a picture."""
    moved = np.ascontiguousarray(np.moveaxis(levels, axis, 0))
    made = taps.apply(moved.reshape(len(moved), -1))
    return np.moveaxis(made.reshape(len(made), *moved.shape[1:]), 0, axis)
