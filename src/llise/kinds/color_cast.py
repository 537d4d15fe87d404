"""Colour cast: red, green and blue are multiplied by different gains, or move by different offsets."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from llise.kinds.base import Draw, GreyStatistics, Path
from llise.kinds.color_base import ColorKind

CHANNELS = ("red", "green", "blue")


class ColorCast(ColorKind):
    """A warmer (direction 1) or colder (direction -1) image; the reported strength is the gain of red.

    Blue gets the inverse of the gain of red, and green stays. At random, the gains or the offsets of the channels are
    any that differ. Parameters of a draw are ``red_gain``, ``green_gain`` and ``blue_gain``, or ``red_offset`` and so
    on in grey levels.
    """

    name = "color_cast"
    title = "colour cast"
    short_title = "colour cast"
    strongest = 20.0
    two_sided = True

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        base = image.astype(np.float32)
        return lambda strength: base * _warm(strength, direction)

    def reported_strength(self, strength: float, direction: int = 1) -> float:
        return float(_warm(strength, direction)[0])

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        base = image.astype(np.float32)
        way = rng.integers(3)
        if way == 0:
            direction = int(rng.choice([-1, 1]))
            return Draw(self.path(image, rng, direction), 2.0, lambda s: _named(_warm(s, direction), "gain"))
        shift = rng.uniform(-1, 1, 3).astype(np.float32)
        shift[rng.integers(3)] = 0.0
        shift /= max(np.abs(shift).max(), 0.1)
        if way == 1:
            return Draw(lambda s: base + np.float32(s) * shift, 80.0, lambda s: _named(s * shift, "offset"))
        return Draw(lambda s: base * np.exp(np.float32(s) * shift), 1.5, lambda s: _named(np.exp(s * shift), "gain"))


def _warm(strength: float, direction: int) -> np.ndarray:
    gain = (1 + strength) ** direction
    return np.array([gain, 1.0, 1 / gain], np.float32)


def _named(values: np.ndarray, setting: str) -> dict[str, float]:
    return {f"{channel}_{setting}": float(value) for channel, value in zip(CHANNELS, values)}


def mired_shift(gains: np.ndarray) -> float | None:
    """Return the change of the colour temperature that gains of the channels stand for."""
    gains = np.asarray(gains, float)
    if (gains <= 0.02).any():
        return None
    wanted = np.log(gains / gains[1])[[0, 2]]
    shifts = np.linspace(-110, 250, 361)
    table = np.log([_white(1e6 / (1e6 / 6504 + shift)) for shift in shifts]) - np.log(_white(6504.0))
    table = (table - table[:, 1:2])[:, [0, 2]]
    distance = np.hypot(*(table - wanted).T)
    best = int(distance.argmin())
    if best in (0, len(shifts) - 1) or distance[best] > 0.25 * np.hypot(*wanted) + 0.005:
        return None
    return float(shifts[best])


def _white(kelvin: float) -> np.ndarray:
    """Red, green and blue, with the transfer curve of sRGB (as a power of 1 / 2.2), of a black body.

    The chromaticity follows the cubic approximation of Kim et al. (2002), valid from 1667 to 25000 K.
    """
    t = 1e3 / kelvin
    if kelvin <= 4000:
        x = -0.2661239 * t**3 - 0.2343589 * t**2 + 0.8776956 * t + 0.179910
    else:
        x = -3.0258469 * t**3 + 2.1070379 * t**2 + 0.2226347 * t + 0.240390
    if kelvin <= 2222:
        y = -1.1063814 * x**3 - 1.34811020 * x**2 + 2.18555832 * x - 0.20219683
    elif kelvin <= 4000:
        y = -0.9549476 * x**3 - 1.37418593 * x**2 + 2.09137015 * x - 0.16748867
    else:
        y = 3.0817580 * x**3 - 5.87338670 * x**2 + 3.75112997 * x - 0.37001483
    xyz = np.array([x / y, 1.0, (1 - x - y) / y])
    matrix = [[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]]
    return np.maximum(np.array(matrix) @ xyz, 1e-3) ** (1 / 2.2)
