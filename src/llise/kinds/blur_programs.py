"""The many ways in which programs blur a picture, grey or colour."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from PIL import Image, ImageFilter

from llise.kinds.grey import quantise
from llise.kinds.programs import from_light, to_light
from llise.kinds.resize import resize

PADS = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "constant": "constant", "wrap": "wrap"}
"""What lies beyond the border, as SciPy and as NumPy call it."""


@dataclass(frozen=True)
class BlurSettings:
    """A blur.

    `size` is the standard deviation, width, radius or length in pixels, or the size before divided by the reduced one;
    `stretch` the second deviation as a share of the first; `angle` degrees, counter-clockwise; `shape` what else a way
    needs: the truncation of a Gaussian, the number of boxes, the fading of a trail, the
    exponent of a frequency response.
    """

    way: str
    size: float
    stretch: float = 1.0
    angle: float = 0.0
    shape: float = 0.0
    border: str = "reflect"
    linear: bool = False
    small: tuple[int, int] = (0, 0)
    reducing: str = ""
    enlarging: str = ""

    def words(self) -> dict[str, float]:
        if self.way == "resampled":
            return {"factor": self.size}
        words = {"sigma": self.sigma()}
        if self.way == "motion":
            words |= {"length": self.size, "angle": self.angle}
        if self.way == "disc":
            words["radius"] = self.size
        return words

    def sigma(self) -> float:
        """Standard deviation of the kernel along an axis, the mean of both axes."""
        if self.way in ("gaussian", "pillow_gaussian", "elliptic"):
            return self.size * float(np.sqrt((1 + self.stretch**2) / 2))
        if self.way == "pillow_box":
            whole = int(self.size)
            squares = sum(k * k for k in range(1, whole + 1)) + (self.size - whole) * (whole + 1) ** 2
            return float(np.sqrt(2 * squares / (2 * self.size + 1)))
        if self.way == "boxes":
            return float(np.sqrt(self.shape * (self.size**2 - 1) / 12))
        if self.way in ("heavy", "exponential", "cut_off"):
            # Of the Gaussian whose response is exp(-1/2) at the same frequency.
            factor = {"heavy": 1.103, "exponential": 1.594, "cut_off": 1.0}[self.way]
            return self.size * factor * float(np.sqrt((1 + self.stretch**2) / 2))
        weights = kernel_of(self)
        at = np.arange(len(weights)) - len(weights) // 2
        down, across = (weights.sum(axis=i) for i in (1, 0))
        return float(np.sqrt(sum((w * at**2).sum() - (w * at).sum() ** 2 for w in (down, across)) / 2))


def motion_kernel(length: float, angle: float) -> np.ndarray:
    """Return the mean along a line."""
    # Points one pixel apart on the line, each shared between the four pixels around it.
    cosine, sine = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    offsets = _offsets(length / 2)
    rows, cols = (np.clip(1 - np.abs(offsets - at[:, None]), 0, 1) for at in (-sine * offsets, cosine * offsets))
    return (_coverage(length / 2, offsets)[:, None] * rows).T @ cols


def disc_kernel(radius: float) -> np.ndarray:
    """Return the mean over a disc."""
    offsets = _offsets(radius)
    return _coverage(radius, np.hypot(offsets[:, None], offsets))


def box_kernel(width: float) -> np.ndarray:
    """Return the mean over a square."""
    weights = _coverage(width / 2, _offsets(width / 2))
    return np.outer(weights, weights)


def _offsets(reach: float) -> np.ndarray:
    """Offsets of the pixels of a kernel along one axis, at least as far as `reach`."""
    n = int(np.ceil(reach))
    return np.arange(-n, n + 1, dtype=np.float32)


def _coverage(reach: float, distance: np.ndarray) -> np.ndarray:
    """Share of a pixel at `distance` that lies within `reach` of the centre."""
    return np.clip(reach + 0.5 - np.abs(distance), 0, 1)


@lru_cache(64)
def kernel_of(settings: BlurSettings) -> np.ndarray:
    """Weights (n, n), n odd, of a way that has a kernel; their sum is 1."""
    if settings.way == "box":
        weights = box_kernel(settings.size)
    elif settings.way == "disc":
        weights = disc_kernel(settings.size)
    elif settings.way == "motion":
        weights = motion_kernel(settings.size, settings.angle)
    elif settings.way == "trail":
        weights = _trail_kernel(settings.size, settings.angle, settings.shape)
    else:
        weights = _ellipse_kernel(settings.size, settings.stretch * settings.size, settings.angle)
    return np.asarray(weights / weights.sum(), np.float32)


def _trail_kernel(length: float, angle: float, fading: float) -> np.ndarray:
    """A line that begins at the pixel and fades, as some programs draw the trail of a motion."""
    line = motion_kernel(2 * length - 1, angle)
    offsets = np.arange(len(line)) - len(line) // 2
    along = np.cos(np.radians(angle)) * offsets - np.sin(np.radians(angle)) * offsets[:, None]
    return line * np.where(along > -0.5, np.exp(-fading * np.maximum(along, 0) / length), 0)


def _ellipse_kernel(wide: float, narrow: float, angle: float) -> np.ndarray:
    n = int(np.ceil(3.5 * wide))
    y, x = np.mgrid[-n : n + 1, -n : n + 1]
    cosine, sine = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    along, beside = cosine * x - sine * y, sine * x + cosine * y
    return np.exp(-0.5 * ((along / wide) ** 2 + (beside / max(narrow, 0.1)) ** 2))


def blurred(image: np.ndarray, settings: BlurSettings) -> np.ndarray:
    """The copy of an 8-bit image."""
    way = settings.way
    if way == "resampled":
        return resize(resize(image, settings.small, settings.reducing), image.shape[:2], settings.enlarging)
    if way in ("pillow_gaussian", "pillow_box"):
        by = ImageFilter.GaussianBlur if way == "pillow_gaussian" else ImageFilter.BoxBlur
        return np.asarray(Image.fromarray(image).filter(by(settings.size)))
    levels = 255 * to_light(image) if settings.linear else image.astype(np.float32)
    levels = smoothed(levels, settings)
    return quantise(from_light(levels / np.float32(255)) if settings.linear else levels)


def smoothed(levels: np.ndarray, settings: BlurSettings) -> np.ndarray:
    """The filtered levels of a linear way."""
    from scipy import ndimage  # only here: its import is slow

    way, rest = settings.way, [0.0] * (levels.ndim - 2)
    if way == "gaussian":
        sigmas = [settings.size, settings.size, *rest]
        return ndimage.gaussian_filter(levels, sigmas, mode=settings.border, truncate=settings.shape or 4.0)
    if way == "boxes":
        for _ in range(round(settings.shape)):
            sizes = [round(settings.size), round(settings.size), *[1 for _ in rest]]
            levels = ndimage.uniform_filter(levels, sizes, mode=settings.border)
        return levels
    if way in ("heavy", "exponential", "cut_off"):
        return _by_frequency(levels, settings)
    return convolved(levels, kernel_of(settings), settings.border)


def convolved(levels: np.ndarray, kernel: np.ndarray, border: str) -> np.ndarray:
    """Convolution of each channel; by its spectrum, which `scipy.signal` would do too, after a second of imports."""
    from scipy import fft

    n, more = len(kernel) // 2, levels.ndim - 2
    padded = np.pad(levels, [(n, n), (n, n), *[(0, 0)] * more], mode=PADS[border])  # type: ignore[call-overload]
    height, width = padded.shape[:2]
    size = [fft.next_fast_len(side, real=True) for side in (height, width)]
    response = fft.rfft2(kernel, size).reshape(size[0], -1, *[1] * more)
    return fft.irfft2(fft.rfft2(padded, size, axes=(0, 1)) * response, size, axes=(0, 1))[2 * n : height, 2 * n : width]


def _by_frequency(levels: np.ndarray, settings: BlurSettings) -> np.ndarray:
    """Low-pass filters that are given by their response, as products in the cosine domain."""
    y, x = (np.arange(n, dtype=np.float32) * np.float32(np.pi * settings.size / n) for n in levels.shape[:2])
    square = (y * y)[:, None] + (x * settings.stretch) ** 2
    if settings.way == "heavy":  # a Gaussian with heavier tails
        response = 0.6 * np.exp(-0.245 * square) + 0.4 * np.exp(-1.445 * square)
    elif settings.way == "exponential":
        response = (1 + square) ** -1.5
    else:  # from a soft to a sharp cut-off
        response = np.exp(-0.5 * square ** (settings.shape / 2))
    response = response.astype(np.float32).reshape(*square.shape, *[1] * (levels.ndim - 2))
    return scipy.fft.idctn(scipy.fft.dctn(levels, axes=(0, 1), norm="ortho") * response, axes=(0, 1), norm="ortho")
