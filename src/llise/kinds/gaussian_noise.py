"""Gaussian noise: an independent normal number is added to every pixel."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from llise.kinds.base import Draw, GreyStatistics, Kind, Path
from llise.kinds.fitting import Fit, residual_power


class GaussianNoise(Kind):
    """Additive white Gaussian noise; the strength is its standard deviation in grey levels.

    At random, one draw in seven has noise that is a little stronger in the bright or in the dark parts. The
    parameter of a draw is ``sigma``, the standard deviation over the image before clipping.
    """

    name = "gaussian_noise"
    title = "Gaussian noise"
    short_title = "Gaussian noise"
    strongest = 1e4

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _added(image, rng.standard_normal(image.shape, dtype=np.float32))

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        noise = rng.standard_normal(image.shape, dtype=np.float32)
        scale = 1.0
        if rng.random() < 0.15:
            local = 1 + rng.uniform(-0.4, 0.4) * (image.astype(np.float32) - 128) / 128
            noise *= local
            scale = float(np.sqrt(np.mean(local**2)))
        return Draw(_added(image, noise), 80.0, lambda strength: {"sigma": scale * strength})

    def estimate(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> Fit:
        return noise_fit(float(np.sqrt(residual_power(after - before, before, mask))))


def noise_fit(sigma: float) -> Fit:
    """Return noise of a standard deviation as the result of an estimate."""

    def draw(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.clip(np.rint(image + np.float32(sigma) * rng.standard_normal(image.shape, dtype=np.float32)), 0, 255)

    return Fit({"sigma": sigma}, draw=draw)


def _added(image: np.ndarray, noise: np.ndarray) -> Path:
    base = image.astype(np.float32)

    def path(strength: float) -> np.ndarray:
        copy = np.float32(strength) * noise
        copy += base
        return copy

    return path
