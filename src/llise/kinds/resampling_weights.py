"""How programs make an image smaller or larger: weights of the pixels of which each new pixel is a mean."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np


class Taps(NamedTuple):
    """The pixels of a line of which each pixel of a resampled line is a weighted sum.

    Attributes
    ----------
    places : ndarray of int, shape (target, taps)
        Places in the line.
    weights : ndarray of float32, shape (target, taps)
        Their weights; the sum over the taps is 1.
    """

    places: np.ndarray
    weights: np.ndarray

    def apply(self, image: np.ndarray) -> np.ndarray:
        """Resample the rows of an image."""
        if self.places.size * image.shape[1] <= _AT_ONCE:
            return np.matmul(self.weights[:, None], image.take(self.places, axis=0))[:, 0]
        result = self.weights[:, :1] * image.take(self.places[:, 0], axis=0)
        for tap in range(1, self.places.shape[1]):
            result += self.weights[:, tap, None] * image.take(self.places[:, tap], axis=0)
        return result

    def chosen(self, rows: np.ndarray) -> Taps:
        """Return the taps of some pixels of the resampled line."""
        return Taps(self.places[rows], self.weights[rows])


CACHED = 1024
"""Number of weights of lines that are kept; those of 512 pixels take about 40 kB."""

_AT_ONCE = 200_000
"""Number of products up to which all taps are taken at once, which needs that many places in memory."""


class Resampler(NamedTuple):
    """A way to make a line of pixels shorter or longer.

    Attributes
    ----------
    name : str
        As programs call it.
    kernel : callable
        Weight by the distance from the new pixel's centre.
    support : float
        Distance from which the weight is 0.
    widens : bool
        Whether distances are counted in new pixels where the line becomes shorter, so that no pixel is left out.
    repeats : bool
        Whether the line's ends are repeated beyond it; otherwise the weights of the pixels inside it are divided by
        their sum.
    """

    name: str
    kernel: Callable[[np.ndarray], np.ndarray]
    support: float
    widens: bool = True
    repeats: bool = False

    def taps(self, source: int, target: int) -> Taps:
        """Return the weights from a line of one length to a line of another one."""
        return _taps(self, source, target)


@lru_cache(CACHED)
def _taps(way: Resampler, source: int, target: int) -> Taps:
    """The weights of a way to resample; the same sizes are tried with each set of kinds that may have a resampling."""
    step = source / target
    wide = max(step, 1.0) if way.widens else 1.0
    centre = (np.arange(target) + 0.5)[:, None] * step
    reach = way.support * wide
    index = np.floor(centre - reach).astype(np.intp) + np.arange(int(np.ceil(2 * reach)) + 1)
    distance = (index + (0.5 - centre)) / wide
    weights = _overlap(distance, 1 / wide) if way.name == "area" else way.kernel(distance)
    if not way.repeats:
        weights = np.where((index >= 0) & (index < source), weights, 0.0)
    used = np.flatnonzero(weights.any(axis=0))
    index, weights = index[:, used[0] : used[-1] + 1], weights[:, used[0] : used[-1] + 1]
    weights = weights / weights.sum(axis=1, keepdims=True)
    return Taps(np.clip(index, 0, source - 1), weights.astype(np.float32))


def _overlap(distance: np.ndarray, width: float) -> np.ndarray:
    """How much of each pixel, `width` new pixels wide, lies in the new one."""
    return np.clip((1 + width) / 2 - np.abs(distance), 0.0, width)


def _box(x: np.ndarray) -> np.ndarray:
    return ((x > -0.5) & (x <= 0.5)).astype(float)


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(x), 0.0)


def _hamming(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < 1, np.sinc(x) * (0.54 + 0.46 * np.cos(np.pi * x)), 0.0)


def _lanczos(x: np.ndarray, lobes: int) -> np.ndarray:
    return np.where(np.abs(x) < lobes, np.sinc(x) * np.sinc(x / lobes), 0.0)


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    """Cubic convolution, with the slope `a` at a distance of 1."""
    x = np.minimum(np.abs(x), 2.0)
    return np.where(x < 1, ((a + 2) * x - (a + 3)) * x * x + 1, (((x - 5) * x + 8) * x - 4) * a)


def _mitchell(x: np.ndarray) -> np.ndarray:
    """The cubic of Mitchell and Netravali, B = C = 1/3."""
    x = np.minimum(np.abs(x), 2.0)
    near, far = (7 * x - 12) * x * x + 16 / 3, ((-7 / 3 * x + 12) * x - 20) * x + 32 / 3
    return np.where(x < 1, near, far) / 6


_SOFT_CUBIC, _HARD_CUBIC = partial(_cubic, a=-0.5), partial(_cubic, a=-0.75)
_LANCZOS3, _LANCZOS4 = partial(_lanczos, lobes=3), partial(_lanczos, lobes=4)

REDUCING = (
    Resampler("area", _box, 0.5),
    Resampler("lanczos", _LANCZOS3, 3.0),
    Resampler("bicubic", _SOFT_CUBIC, 2.0),
    Resampler("bilinear", _triangle, 1.0),
    Resampler("box", _box, 0.5),
    Resampler("hamming", _hamming, 1.0),
    Resampler("mitchell", _mitchell, 2.0),
    Resampler("plain bilinear", _triangle, 1.0, widens=False),
    Resampler("plain bicubic", _HARD_CUBIC, 2.0, widens=False, repeats=True),
    Resampler("nearest", _box, 0.5, widens=False),
)
"""Ways to make an image smaller; the plain ones take only as many pixels as for enlarging."""

ENLARGING = (
    Resampler("bilinear", _triangle, 1.0),
    Resampler("bicubic", _SOFT_CUBIC, 2.0),
    Resampler("sharp bicubic", _HARD_CUBIC, 2.0, repeats=True),
    Resampler("lanczos", _LANCZOS3, 3.0),
    Resampler("mitchell", _mitchell, 2.0),
    Resampler("wide lanczos", _LANCZOS4, 4.0, repeats=True),
)
"""Ways to make an image larger."""
