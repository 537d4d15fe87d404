"""The many ways in which programs sharpen a picture, grey or colour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from PIL import Image, ImageFilter

from llise.colours import WEIGHTS
from llise.kinds.grey import quantise

CROSS = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], np.float32) / 4
KERNELS = {
    "cross": CROSS,
    "ring": np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32) / 8,
    "soft": np.array([[1, 2, 1], [2, 0, 2], [1, 2, 1]], np.float32) / 12,
    "smooth": np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]], np.float32) / 13,  # of Pillow's ImageEnhance.Sharpness
    "box": np.ones((3, 3), np.float32) / 9,
    "wide_box": np.ones((5, 5), np.float32) / 25,
}
"""Means of neighbours whose distance from the pixel programs add: Laplacians and high-boost filters."""

FIXED = {
    "sharpen": ImageFilter.SHARPEN,
    "detail": ImageFilter.DETAIL,
    "edge_enhance": ImageFilter.EDGE_ENHANCE,
    "edge_enhance_more": ImageFilter.EDGE_ENHANCE_MORE,
}
"""Pillow's fixed filters."""


@dataclass(frozen=True)
class SharpeningSettings:
    """A sharpening: `amount` times what a low-pass filter removes is added.

    `radius` is the standard deviation of a Gaussian one in pixels, the side of a median, or the scale of another
    response; differences below `threshold` grey levels are left alone; `shape` is the order of a frequency response,
    or the rounds of a deconvolution. With `luma`, the change of the luma is added to all channels.
    """

    way: str
    amount: float
    radius: float = 0.0
    threshold: float = 0.0
    shape: float = 0.0
    kernel: str = ""
    luma: bool = False
    border: str = "nearest"

    def words(self) -> dict[str, float]:
        words = {"amount": self.amount}
        return words | {"radius": self.radius} if self.way in ("unsharp", "pillow_unsharp") else words


def sharpened(image: np.ndarray, settings: SharpeningSettings) -> np.ndarray:
    """The copy of an 8-bit image."""
    if settings.luma and image.ndim == 3:
        luma = image @ WEIGHTS
        if settings.way == "pillow_unsharp":
            luma = np.rint(luma)
            change = _of_pillow(luma.astype(np.uint8), settings).astype(np.float32) - luma
        else:
            change = np.float32(settings.amount) * detail(luma, settings)
        return quantise(image + change[..., None])
    if settings.way == "pillow_unsharp":
        return _of_pillow(image, settings)
    return quantise(image + np.float32(settings.amount) * detail(image, settings))


def _of_pillow(image: np.ndarray, settings: SharpeningSettings) -> np.ndarray:
    mask = ImageFilter.UnsharpMask(settings.radius, round(100 * settings.amount), round(settings.threshold))
    return np.asarray(Image.fromarray(image).filter(mask))


def detail(image: np.ndarray, settings: SharpeningSettings) -> np.ndarray:
    """What is added with an amount of 1."""
    if settings.way == "fixed":
        whole = image if image.dtype == np.uint8 else quantise(image)
        return np.asarray(Image.fromarray(whole).filter(FIXED[settings.kernel])).astype(np.float32) - whole
    levels = image.astype(np.float32)
    if settings.way == "deconvolution":
        found = _deconvolved(levels, settings) - levels
    else:
        found = levels - _LOW_PASS[settings.way](levels, settings)
    return np.where(np.abs(found) >= settings.threshold, found, np.float32(0)) if settings.threshold else found


def _gaussian(levels: np.ndarray, settings: SharpeningSettings) -> np.ndarray:
    from scipy.ndimage import gaussian_filter  # only here: its import is slow

    return gaussian_filter(levels, [settings.radius] * 2 + [0.0] * (levels.ndim - 2), mode=settings.border)


def _kernel(levels: np.ndarray, settings: SharpeningSettings) -> np.ndarray:
    from scipy.ndimage import convolve  # only here: its import is slow

    kernel = KERNELS[settings.kernel]
    return convolve(levels, kernel.reshape(*kernel.shape, *[1] * (levels.ndim - 2)), mode=settings.border)


def _median(levels: np.ndarray, settings: SharpeningSettings) -> np.ndarray:
    smooth = Image.fromarray(quantise(levels)).filter(ImageFilter.MedianFilter(round(settings.radius)))
    return np.asarray(smooth).astype(np.float32)


def _frequencies(levels: np.ndarray, settings: SharpeningSettings) -> np.ndarray:
    """A response that is not Gaussian: exponential, or Butterworth's of some order."""
    y, x = (np.arange(n, dtype=np.float32) * np.float32(np.pi * settings.radius / n) for n in levels.shape[:2])
    square = (y * y)[:, None] + x * x
    response = (1 + square) ** -1.5 if settings.shape == 0 else 1 / (1 + square**settings.shape)
    factor = response.astype(np.float32).reshape(*square.shape, *[1] * (levels.ndim - 2))
    return scipy.fft.idctn(scipy.fft.dctn(levels, axes=(0, 1), norm="ortho") * factor, axes=(0, 1), norm="ortho")


def _deconvolved(levels: np.ndarray, settings: SharpeningSettings) -> np.ndarray:
    """Rounds of Van Cittert's iteration with a Gaussian: what a further blur takes away is added again."""
    found = levels
    for _ in range(round(settings.shape)):
        found = np.clip(found + (levels - _gaussian(found, settings)), 0, 255)
    return found


_LOW_PASS: dict[str, Callable[[np.ndarray, SharpeningSettings], np.ndarray]] = {
    "unsharp": _gaussian,
    "kernel": _kernel,
    "median": _median,
    "frequencies": _frequencies,
}
