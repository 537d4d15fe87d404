"""All shifts of a small picture compared by correlation, also of a turned and scaled one."""

from __future__ import annotations

from itertools import product

import numpy as np

from llise.diagnosis.alignment.reduced_pictures import Level
from llise.filters import gaussian
from llise.kinds.warping import Interpolator, Transform

FURTHEST_SHIFT = 16.0
"""Largest shift in pixels that is looked for."""

FURTHEST_ROTATION, FURTHEST_SCALE = 3.0, 3.0
"""Largest rotation in degrees and largest change of size in per cent."""

ALIKE = 0.93
"""Correlation of the small pictures from which rotations and scales need no search."""


def search(level: Level) -> list[Transform]:
    """Find the shifts at which the smallest pictures are most alike.

    Parameters
    ----------
    level : Level
        The smallest pictures.

    Returns
    -------
    list of Transform
        Where refinement may begin: no change at all, and the most alike where it is another one.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.reduced_pictures import levels
    >>> from llise.diagnosis.alignment.shift_search import search
    >>> picture = np.random.default_rng(0).integers(0, 255, (64, 64)).astype(np.uint8)
    >>> found = search(levels(picture, np.roll(picture, (3, -5), axis=(0, 1)))[0])[-1]
    >>> found.shift_x, found.shift_y
    (-5.0, 3.0)
    """
    correlations = _Correlations(level)
    ((here, best, peak),) = correlations.of([Transform()])
    if here >= ALIKE and peak <= here + 0.002:
        return [Transform()]
    if peak < ALIKE:
        turned = product(*(np.linspace(-most, most, 5) for most in (FURTHEST_ROTATION, FURTHEST_SCALE)))
        trials = [Transform(0.0, 0.0, float(rotation), float(scale)) for rotation, scale in turned]
        for _, trial, height in correlations.of(trials):
            if height > peak:
                best, peak = trial, height
    return [Transform(), best] if best != Transform() else [Transform()]


class _Correlations:
    def __init__(self, level: Level) -> None:
        self.level = level
        height, width = level.reference.shape
        self.reach = int(min(np.ceil(FURTHEST_SHIFT / level.factor), min(height, width) // 4))
        self.mask = np.zeros((height, width), np.float32)
        rim = self.reach
        self.mask[rim : height - rim, rim : width - rim] = 1
        self.reference, copy = (_relief(picture) for picture in (level.reference, level.copy))
        self.turned = Interpolator(self.reference, "bilinear")
        self.spectrum = np.fft.rfft2(copy)
        self.mask_spectrum = np.conj(np.fft.rfft2(self.mask))
        count = self.mask.sum()
        sums, squares = (self._windows(np.fft.rfft2(values) * self.mask_spectrum) for values in (copy, copy**2))
        self.spread = np.sqrt(np.maximum(squares - sums**2 / count, 1e-3 * count))

    def of(self, transforms: list[Transform]) -> list[tuple[float, Transform, float]]:
        """Of each transform: likeness without a further shift, the best further shift, and the likeness there."""
        height, width = self.mask.shape
        rows, cols = np.arange(height, dtype=np.float64)[:, None], np.arange(width, dtype=np.float64)
        places = [np.broadcast_arrays(*self.level.sources(at, rows, cols)) for at in transforms]
        templates = self.turned(np.stack([y for y, _ in places]), np.stack([x for _, x in places]))
        count = self.mask.sum()
        means = (templates * self.mask).sum(axis=(1, 2)) / count
        templates = (templates - means[:, None, None]) * self.mask
        norms = np.sqrt(np.maximum((templates**2).sum(axis=(1, 2)), 1e-3 * count))
        alike = np.abs(self._windows(self.spectrum * np.conj(np.fft.rfft2(templates))))
        alike /= norms[:, None, None] * self.spread
        found = []
        for at, values in zip(transforms, alike):
            down, across = np.unravel_index(int(values.argmax()), values.shape)
            shift_y, shift_x = (float(self.level.factor * (place - self.reach)) for place in (down, across))
            best = Transform(shift_x, shift_y, at.rotation, at.scale)
            found.append((float(values[self.reach, self.reach]), best, float(values[down, across])))
        return found

    def _windows(self, spectrum: np.ndarray) -> np.ndarray:
        """Sums for all shifts within reach."""
        sums = np.fft.irfft2(spectrum, s=self.mask.shape)
        span = np.arange(-self.reach, self.reach + 1)
        return sums.take(span, axis=-2, mode="wrap").take(span, axis=-1, mode="wrap")


def _relief(picture: np.ndarray) -> np.ndarray:
    return picture - gaussian(picture, 4.0, truncate=3.0)
