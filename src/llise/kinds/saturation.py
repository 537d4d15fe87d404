"""Saturation: colours move towards the grey of the same lightness, or away from it."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from llise.colours import WEIGHTS
from llise.kinds.base import Draw, GreyStatistics, Path
from llise.kinds.color_base import ColorKind

GREYS = ("luma", "bt709", "mean", "value", "lightness", "light")
"""Greys with which programs mix colours: the luma of BT.601 or BT.709, the mean of the channels, the largest channel
(the value of HSV), the mean of the largest and the smallest one (the lightness of HSL), or the grey that gives off as
much light as the colour (as in Lab)."""

BT709 = np.array([0.2126, 0.7152, 0.0722], np.float32)
"""Shares of red, green and blue in the luma of BT.709, and in the light."""


class Saturation(ColorKind):
    """More (direction 1) or less (direction -1) saturated colours; the reported strength is the factor.

    A factor of 1 leaves the image as it is, one of 0 leaves grey. At random, the grey that colours are mixed with is
    one of :data:`GREYS`. The parameter of a draw is ``factor``.
    """

    name = "saturation"
    title = "saturation change"
    short_title = "saturation"
    strongest = 20.0
    two_sided = True

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _mixed(image, direction, "luma")

    def end(self, direction: int = 1) -> float:
        return self.strongest if direction > 0 else 1.0

    def reported_strength(self, strength: float, direction: int = 1) -> float:
        return 1 + direction * strength

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        direction = int(rng.choice([-1, 1]))
        path = _mixed(image, direction, GREYS[rng.integers(len(GREYS))])
        end = 3.0 if direction > 0 else 1.0
        return Draw(path, end, lambda strength: {"factor": self.reported_strength(strength, direction)})


def grey_of(image: np.ndarray, name: str) -> np.ndarray:
    """Return the grey with which colours are mixed."""
    base = image.astype(np.float32)
    if name in ("value", "lightness"):
        largest = base.max(axis=-1)
        return largest if name == "value" else 0.5 * (largest + base.min(axis=-1))
    if name == "light":
        return 255 * ((base / 255) ** np.float32(2.2) @ BT709) ** np.float32(1 / 2.2)
    weights = {"luma": WEIGHTS, "bt709": BT709, "mean": np.full(3, 1 / 3, np.float32)}
    return base @ weights[name]


def saturated(image: np.ndarray, factor: float, grey: str = "luma") -> np.ndarray:
    """Multiply the distance of all colours from their grey."""
    middle = grey_of(image, grey)[..., None]
    return middle + np.float32(factor) * (image.astype(np.float32) - middle)


def _mixed(image: np.ndarray, direction: int, grey: str) -> Path:
    return lambda strength: saturated(image, 1 + direction * strength, grey)
