"""Sharpening: what a low-pass filter removes is added to the image once more, so that edges overshoot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

import numpy as np
import scipy
from PIL import Image, ImageFilter

from llise.kinds.base import Draw, GreyStatistics, Kind, Path

_CROSS = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], np.float32) / 4
_RING = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32) / 8
_SOFT = np.array([[1, 2, 1], [2, 0, 2], [1, 2, 1]], np.float32) / 12
_SMOOTH = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]], np.float32) / 13  # of Pillow's ImageEnhance.Sharpness
_BOX = np.ones((3, 3), np.float32) / 9
_WIDE_BOX = np.ones((5, 5), np.float32) / 25
_KERNELS = _CROSS, _RING, _SOFT, _SMOOTH, _BOX, _WIDE_BOX
"""Means of neighbours whose distance from the pixel programs add: Laplacians and high-boost filters."""


class Sharpening(Kind):
    """Unsharp mask with a Gaussian of radius 1; the strength is the amount.

    At random, the radius is 0.5 to 4 pixels, small differences may be left alone, the low-pass filter may be a small
    kernel (Laplacians, Pillow's, boxes), a median or one of other frequency responses, and Pillow's own unsharp mask
    is used too. Parameters of a draw are ``amount``, the factor on what the low-pass filter removes, and ``radius``,
    the standard deviation of a Gaussian one in pixels; other filters have no parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.sharpening import Sharpening
    >>> edge = np.repeat(np.array([100, 150], np.uint8), 4)[None]
    >>> Sharpening().path(edge, np.random.default_rng(0))(0.5).round()
    array([[100., 100.,  99.,  92., 158., 151., 150., 150.]], dtype=float32)
    """

    name = "sharpening"
    title = "sharpening"
    short_title = "sharpening"
    strongest = 500.0

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _boosted(image, image - low_pass(image, 1.0))

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        ways = _gaussian, _pillow_unsharp, _small_kernel, _pillow_sharpen, _frequencies, _median
        way = ways[rng.choice(len(ways), p=[0.42, 0.18, 0.2, 0.04, 0.1, 0.06])]
        return way(image, rng)


def low_pass(image: np.ndarray, radius: float) -> np.ndarray:
    """Blur an image with a Gaussian kernel and mirrored borders.

    Parameters
    ----------
    image : ndarray, shape (h, w)
        Image to blur.
    radius : float
        Standard deviation of the kernel in pixels.

    Returns
    -------
    ndarray of float32, shape (h, w)
        The blurred image.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.sharpening import low_pass
    >>> low_pass(np.array([[0, 0, 200, 0, 0]], np.uint8), 1.0).round()
    array([[12., 48., 80., 48., 12.]], dtype=float32)
    """
    return _filtered(image, lambda r: np.exp(-0.5 * r * r), radius)


def _filtered(image: np.ndarray, response: Callable[[np.ndarray], np.ndarray], radius: float) -> np.ndarray:
    """Multiply in the cosine domain, by a function of the frequency times the radius."""
    spectrum = scipy.fft.dctn(image.astype(np.float32), norm="ortho")
    y, x = (np.arange(n, dtype=np.float32) * np.float32(np.pi * radius / n) for n in image.shape)
    return scipy.fft.idctn(spectrum * response(np.hypot(y[:, None], x)).astype(np.float32), norm="ortho")


def _boosted(image: np.ndarray, detail: np.ndarray) -> Path:
    base, detail = image.astype(np.float32), detail.astype(np.float32)
    return lambda strength: base + np.float32(strength) * detail


def _draw_radius(rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(np.log(0.5), np.log(4.0))))


def _gaussian(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """Unsharp mask with a Gaussian; in one of five, differences below a threshold are left alone."""
    radius = _draw_radius(rng)
    detail = image - low_pass(image, radius)
    if rng.random() < 0.2:
        detail = np.where(np.abs(detail) >= rng.uniform(1, 6), detail, 0)
    return Draw(_boosted(image, detail), 40.0, lambda strength: {"amount": strength, "radius": radius})


def _pillow_unsharp(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """Unsharp mask of Pillow, in whole per cent and on 8 bits."""
    radius, threshold = _draw_radius(rng), int(rng.choice([0, 0, 2, 3, 5]))
    picture = Image.fromarray(image)

    def path(strength: float) -> np.ndarray:
        return np.asarray(picture.filter(ImageFilter.UnsharpMask(radius, round(100 * strength), threshold)))

    return Draw(path, 40.0, lambda strength: {"amount": round(100 * strength) / 100, "radius": radius})


def _small_kernel(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """The distance from the mean of the neighbours is added, some times over."""
    from scipy import ndimage  # only here: its import is slow

    kernel = _KERNELS[rng.integers(len(_KERNELS))]
    return Draw(_boosted(image, image - ndimage.convolve(image.astype(np.float32), kernel, mode="nearest")), 40.0)


def _pillow_sharpen(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """One of Pillow's fixed filters, once, mixed with the image up to the strength and beyond."""
    fixed = ImageFilter.SHARPEN, ImageFilter.DETAIL, ImageFilter.EDGE_ENHANCE, ImageFilter.EDGE_ENHANCE_MORE
    sharp = np.asarray(Image.fromarray(image).filter(fixed[rng.integers(len(fixed))]))
    return Draw(_boosted(image, sharp - image.astype(np.float32)), 40.0)


def _frequencies(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """High frequencies raised by a response that is not Gaussian."""
    order, cut = rng.uniform(1.0, 3.0), _draw_radius(rng)
    exponential = rng.random() < 0.5

    def response(r: np.ndarray) -> np.ndarray:
        return (1 + r * r) ** -1.5 if exponential else 1 / (1 + r ** (2 * order))

    return Draw(_boosted(image, image - _filtered(image, response, cut)), 40.0)


def _median(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """The distance from the median of the surroundings is added."""
    from scipy import ndimage  # only here: its import is slow

    smooth = ndimage.median_filter(image, size=int(rng.choice([3, 5])))
    return Draw(_boosted(image, image - smooth.astype(np.float32)), 40.0)
