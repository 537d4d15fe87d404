"""Blur: every pixel becomes a weighted mean of its surroundings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

import numpy as np
import scipy
from PIL import Image, ImageFilter

from llise.kinds.base import Draw, GreyStatistics, Kind, Path
from llise.kinds.blur_fit import fit_blur
from llise.kinds.blur_kernels import box_kernel, disc_kernel, motion_kernel
from llise.kinds.fitting import Fit

_FILTER = Image.Resampling
_REDUCING = _FILTER.BOX, _FILTER.BILINEAR, _FILTER.HAMMING, _FILTER.BICUBIC, _FILTER.LANCZOS
_ENLARGING = _FILTER.BILINEAR, _FILTER.BICUBIC, _FILTER.LANCZOS
"""Filters with which programs make an image smaller and larger."""


class Blur(Kind):
    """Gaussian blur with mirrored borders; the strength is the standard deviation of the kernel in pixels.

    At random it is one of the following, with these parameters of a draw:

    - a low-pass filter of Gaussian or other shape, of one width or stretched along one axis: ``sigma`` if it is
      Gaussian and of one width, nothing else;
    - motion blur: ``length`` in pixels and ``angle`` in degrees, counter-clockwise from the horizontal;
    - lens blur, the mean over a disc: ``radius`` in pixels;
    - box blur, the mean over a square: ``width`` in pixels;
    - Pillow's Gaussian blur: ``sigma``;
    - a reduction in size and back: ``factor``, the size before divided by the reduced size.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.blur import Blur
    >>> image = np.zeros((1, 5), np.uint8)
    >>> image[0, 2] = 200
    >>> Blur().path(image, np.random.default_rng(0))(1.0).round()
    array([[12., 48., 80., 48., 12.]], dtype=float32)
    """

    name = "blur"
    title = "blur"
    short_title = "blur"
    strongest = 256.0
    random = False

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        # A Gaussian kernel with mirrored borders is a product in the cosine domain:
        # exp(-(strength * frequency)^2 / 2).
        spectrum = scipy.fft.dctn(image.astype(np.float32), norm="ortho")
        rows, cols = (-0.5 * (np.pi * np.arange(n, dtype=np.float32) / n) ** 2 for n in image.shape)

        def path(strength: float) -> np.ndarray:
            square = np.float32(strength) ** 2
            gain = np.exp(square * rows)[:, None] * np.exp(square * cols)
            return scipy.fft.idctn(spectrum * gain, norm="ortho")

        return path

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        ways = (_low_pass, _motion, _one_sided, _disc, _box, _pillow_gaussian, _resampling)
        way = ways[rng.choice(len(ways), p=[0.42, 0.11, 0.07, 0.1, 0.07, 0.07, 0.16])]
        return way(image, rng)

    def estimate(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> Fit:
        found = fit_blur(before, after, mask)
        return Fit(found.parameters, found.apply)


def _low_pass(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """Low-pass filters of many shapes, as products in the cosine domain."""
    shape = rng.integers(4)
    power = np.float32(rng.uniform(1.2, 4.0))
    stretch = rng.choice([1.0, 1.0, np.exp(rng.uniform(-0.7, 0.7)), 1e-3, 1e3])  # the last two: along one axis only
    scale_y, scale_x = np.float32(min(stretch, 1.0)), np.float32(1 / max(stretch, 1.0))

    def response(r: np.ndarray) -> np.ndarray:
        if shape == 0:  # Gaussian
            return np.exp(-0.5 * r**2)
        if shape == 1:  # a Gaussian with heavier tails
            return 0.6 * np.exp(-0.5 * (0.7 * r) ** 2) + 0.4 * np.exp(-0.5 * (1.7 * r) ** 2)
        if shape == 2:  # exponential kernel
            return (1 + r**2) ** np.float32(-1.5)
        return np.exp(-0.5 * r**power)  # from a soft to a sharp cut-off

    spectrum = scipy.fft.dctn(image.astype(np.float32), norm="ortho")
    frequency_y, frequency_x = (np.arange(n, dtype=np.float32) * np.float32(np.pi / n) for n in image.shape)
    distance = np.hypot(scale_y * frequency_y[:, None], scale_x * frequency_x)

    def path(strength: float) -> np.ndarray:
        return scipy.fft.idctn(spectrum * response(np.float32(strength) * distance), norm="ortho")

    if shape == 0 and stretch == 1:
        return Draw(path, 120.0, lambda strength: {"sigma": strength})
    return Draw(path, 120.0)


def _motion(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """Mean along a line; a third of the lines are horizontal, vertical or diagonal."""
    angle = float(rng.choice([0, 45, 90, 135])) if rng.random() < 1 / 3 else rng.uniform(0, 180)
    path = _convolution(image, lambda strength: motion_kernel(1 + strength, angle))
    return Draw(path, 120.0, lambda strength: {"length": 1 + strength, "angle": angle})


def _one_sided(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """Mean along a line that begins at the pixel and fades, as some programs draw the trail of a motion."""
    angle, fading = rng.uniform(0, 360), rng.uniform(0.0, 3.0)

    def kernel(strength: float) -> np.ndarray:
        line = motion_kernel(1 + 2 * strength, angle)
        offsets = np.arange(len(line)) - len(line) // 2
        along = np.cos(np.radians(angle)) * offsets - np.sin(np.radians(angle)) * offsets[:, None]
        return line * np.where(along > -0.5, np.exp(-fading * np.maximum(along, 0) / (1 + strength)), 0)

    return Draw(_convolution(image, kernel), 60.0)


def _disc(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """Mean over a disc, as a lens out of focus makes it."""
    path = _convolution(image, lambda strength: disc_kernel(0.5 + strength))
    return Draw(path, 60.0, lambda strength: {"radius": 0.5 + strength})


def _box(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """Mean over a square."""
    path = _convolution(image, lambda strength: box_kernel(1 + strength))
    return Draw(path, 120.0, lambda strength: {"width": 1 + strength})


def _convolution(image: np.ndarray, kernel_at: Callable[[float], np.ndarray]) -> Path:
    """Path of convolutions with mirrored borders."""
    from scipy.signal import fftconvolve  # only here: its import takes longer than all of llise

    def path(strength: float) -> np.ndarray:
        kernel = kernel_at(strength)
        padded = np.pad(image, len(kernel) // 2, mode="symmetric").astype(np.float32)
        return fftconvolve(padded, (kernel / kernel.sum()).astype(np.float32), mode="valid")

    return path


def _pillow_gaussian(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """Gaussian blur of Pillow, which is three box filters on 8 bits."""
    picture = Image.fromarray(image)

    def path(strength: float) -> np.ndarray:
        return np.asarray(picture.filter(ImageFilter.GaussianBlur(float(strength))))

    return Draw(path, 60.0, lambda strength: {"sigma": strength})


def _resampling(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """Make the image smaller, then enlarge it to the size it had."""
    down = Image.Resampling(rng.choice(_REDUCING))
    up = Image.Resampling(rng.choice(_ENLARGING))
    rows, cols = image.shape
    picture = Image.fromarray(image)

    def path(strength: float) -> np.ndarray:
        small = max(round(cols / (1 + strength)), 2), max(round(rows / (1 + strength)), 2)
        return np.asarray(picture.resize(small, down).resize((cols, rows), up))

    return Draw(path, 24.0, lambda strength: {"factor": 1 + strength})
