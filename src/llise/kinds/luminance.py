"""Luminance: all grey levels move by the same offset."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from llise.kinds.base import Draw, GreyStatistics, Kind, LevelPath, Path
from llise.kinds.fitting import Fit, fit_line


class Luminance(Kind):
    """A lighter (direction 1) or darker (direction -1) image; the reported strength is the signed offset.

    Programs that add a fraction of a grey level differ in where they round up and where down. At random, four
    draws in ten therefore have an offset that changes by up to one level from the top row to the bottom row. The
    parameter of a draw is ``offset`` in grey levels.
    """

    name = "luminance"
    title = "luminance shift"
    short_title = "luminance"
    strongest = 255.0
    two_sided = True
    random = False

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        greys = np.arange(256, dtype=np.float32)
        return LevelPath(image, lambda strength: greys + np.float32(direction * strength))

    def reported_strength(self, strength: float, direction: int = 1) -> float:
        return direction * strength

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        direction = int(rng.choice([-1, 1]))
        uneven: np.ndarray | np.float32 = np.float32(0)
        if rng.random() < 0.4:
            # A crop sees only a part of a ramp over the whole image.
            top, bottom = rng.uniform(-0.5, 0.5, 2) if rng.random() < 0.5 else rng.permutation([-0.5, 0.5])
            uneven = np.linspace(top, bottom, len(image), dtype=np.float32)[:, None]
        return Draw(
            _shifted(image, direction, uneven),
            80.0,
            lambda strength: {"offset": self.reported_strength(strength, direction)},
        )

    def estimate(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> Fit:
        _, offset = fit_line(before, after, mask, slope=False)
        return Fit({"offset": offset}, lambda image: np.clip(image + np.float32(offset), 0, 255))


def _shifted(image: np.ndarray, direction: int, uneven: np.ndarray | np.float32) -> Path:
    base = image.astype(np.float32)
    return lambda strength: base + (np.float32(direction * strength) + uneven)
