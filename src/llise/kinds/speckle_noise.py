"""Speckle noise: noise that follows the signal, stronger where the image is brighter."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from llise.kinds.base import Draw, GreyStatistics, Kind, Path

MID_GREY = 128.0
"""Grey level at which the standard deviation of the noise is stated."""


class SpeckleNoise(Kind):
    """Multiplicative Gaussian noise; the strength is its standard deviation at mid-grey (128), in grey levels.

    At random it is one of the following:

    - multiplicative noise with a normal or with an even distribution;
    - speckle of several looks, as radar and ultrasound have it, in the intensity (gamma) or in its root;
    - Poisson noise, the noise of counting photons, at any number of photons per grey level;
    - normal noise whose deviation grows with a power of the grey level.

    Parameters of a draw are ``sigma``, the standard deviation at mid-grey, and ``exponent``, the power of the grey
    level with which it grows: 1 for multiplicative noise, 0.5 for Poisson noise.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.speckle_noise import SpeckleNoise
    >>> image = np.repeat(np.array([[0], [64], [128]], np.uint8), 5000, axis=1)
    >>> copy = SpeckleNoise().path(image, np.random.default_rng(0))(10.0)
    >>> copy.std(axis=1).round()
    array([ 0.,  5., 10.], dtype=float32)
    """

    name = "speckle_noise"
    title = "signal-dependent noise"
    short_title = "speckle noise"
    strongest = 1e4

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _scaled(image, rng.standard_normal(image.shape, dtype=np.float32), 1.0)

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        way = rng.choice(6, p=[0.25, 0.15, 0.12, 0.08, 0.28, 0.12])
        exponent = 1.0
        if way == 4:
            path, exponent = _poisson(image, int(rng.integers(2**32))), 0.5
        elif way in (2, 3):
            path = _looks(image, rng.standard_normal(image.shape, dtype=np.float32), root=bool(way == 3))
        elif way == 1:
            path = _scaled(image, rng.uniform(-(3**0.5), 3**0.5, image.shape).astype(np.float32), 1.0)
        else:
            exponent = float(rng.choice([0.5, 0.75, 1.0])) if way == 5 else 1.0
            path = _scaled(image, rng.standard_normal(image.shape, dtype=np.float32), exponent)
        return Draw(path, 128.0, lambda strength: {"sigma": strength, "exponent": exponent})


def _scaled(image: np.ndarray, noise: np.ndarray, exponent: float) -> Path:
    """Noise of deviation 1 at mid-grey, times a power of the grey level."""
    base = image.astype(np.float32)
    local = noise * (base / np.float32(MID_GREY)) ** np.float32(exponent)
    return lambda strength: base + np.float32(strength) * local


def _looks(image: np.ndarray, normal: np.ndarray, root: bool) -> Path:
    """Multiplication by a gamma-distributed number of mean 1, or by its root.

    The normal numbers are turned into gamma-distributed ones by the cubic of Wilson and Hilferty.
    """
    base = image.astype(np.float32)

    def path(strength: float) -> np.ndarray:
        spread = max(float(strength), 1e-6) / MID_GREY * (2 if root else 1)  # the root halves a small deviation
        third = np.float32(spread / 3)
        factor = np.maximum(1 - third * third + third * normal, 0) ** 3
        return base * (np.sqrt(factor) if root else factor)

    return path


def _poisson(image: np.ndarray, seed: int) -> Path:
    """Counted photons, so many per grey level that the deviation at mid-grey is the strength."""
    base = image.astype(np.float32)

    def path(strength: float) -> np.ndarray:
        if strength < 1e-3:
            return base.copy()
        photons = MID_GREY / strength**2
        return (np.random.default_rng(seed).poisson(base * photons) / photons).astype(np.float32)

    return path
