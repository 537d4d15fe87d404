"""All shifts of a small picture compared by correlation, also of a turned, scaled and cropped one."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy import fft, ndimage

from llise.diagnosis.alignment.places import NOTHING, Level
from llise.kinds.warping import Interpolator


def search(level: Level, tuned: dict[str, Any]) -> list[np.ndarray]:
    """Where refinement may begin: no change at all, and where the smallest pictures are most alike."""
    correlations = _Correlations(level, tuned)
    here, best, peak = correlations.of(NOTHING)
    if here >= tuned["alike"] and peak <= here + 0.002:
        return [NOTHING]
    if peak < tuned["alike"]:
        for trial in _trials(tuned):
            _, shifted, height = correlations.of(trial)
            if height > peak:
                best, peak = shifted, height
    return [NOTHING, best] if best.any() else [NOTHING]


def _trials(tuned: dict[str, Any]) -> list[np.ndarray]:
    """Rotations with small changes of size, and enlargements as crops have them."""
    turned = product(np.linspace(-1, 1, 5) * tuned["rotation"], np.linspace(-1, 1, 5) * tuned["scale"])
    sides = np.arange(5.0, tuned["crop"] + 1, 5)
    cropped = ((down, across) for down, across in product(np.r_[0.0, sides], repeat=2) if down or across)
    return [
        *(np.array([0, 0, rotation, scale, 0.0]) for rotation, scale in turned),
        *(np.array([0, 0, 0, (down + across) / 2, (across - down) / 2]) for down, across in cropped),
    ]


class _Correlations:
    def __init__(self, level: Level, tuned: dict[str, Any]) -> None:
        self.level = level
        height, width = level.reference.shape
        furthest = max(tuned["shift"] / level.factor, tuned["share"] * min(height, width))
        self.reach = rim = int(min(np.ceil(furthest), min(height, width) // 4))
        self.mask = np.zeros((height, width), np.float32)
        self.mask[rim : height - rim, rim : width - rim] = 1
        copy = _relief(level.copy)
        self.turned = Interpolator(_relief(level.reference), "bilinear")
        self.spectrum, self.count = fft.rfft2(copy), float(self.mask.sum())
        of_mask = np.conj(fft.rfft2(self.mask))
        sums, squares = (self._windows(fft.rfft2(values) * of_mask) for values in (copy, copy**2))
        self.spread = np.sqrt(np.maximum(squares - sums**2 / self.count, 1e-3 * self.count))
        self.places = np.arange(height, dtype=np.float64)[:, None], np.arange(width, dtype=np.float64)

    def of(self, at: np.ndarray) -> tuple[float, np.ndarray, float]:
        """Likeness without a further shift, the best further shift, and the likeness there."""
        template = self.turned(*np.broadcast_arrays(*self.level.sources(at, *self.places)))
        template = (template - (template * self.mask).sum() / self.count) * self.mask
        norm = np.sqrt(max(float((template**2).sum()), 1e-3 * self.count))
        alike = np.abs(self._windows(self.spectrum * np.conj(fft.rfft2(template)))) / (norm * self.spread)
        down, across = np.unravel_index(int(alike.argmax()), alike.shape)
        best = at.copy()
        best[:2] = self.level.factor * (across - self.reach), self.level.factor * (down - self.reach)
        return float(alike[self.reach, self.reach]), best, float(alike[down, across])

    def _windows(self, spectrum: np.ndarray) -> np.ndarray:
        """Sums for all shifts within reach."""
        sums = fft.irfft2(spectrum, s=self.mask.shape)
        span = np.arange(-self.reach, self.reach + 1)
        return sums.take(span, axis=-2, mode="wrap").take(span, axis=-1, mode="wrap")


def _relief(picture: np.ndarray) -> np.ndarray:
    return picture - ndimage.gaussian_filter(picture, 4.0, mode="nearest", truncate=3.0)
