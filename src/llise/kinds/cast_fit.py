"""Which gains, offsets or powers of the channels turned colours into those of a copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from llise.kinds.curve_fit import Levels, Nearest, nearest_curve
from llise.kinds.fitting import fit_line
from llise.kinds.programs import from_light, to_light

CHANNELS = ("red", "green", "blue")


Three = tuple[float, float, float]
ONES, ZEROS = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ColorCastSettings:
    """Of red, green and blue: a power of the levels, then a gain (of the light in `light`), then an offset."""

    gains: Three = ONES
    offsets: Three = ZEROS
    gammas: Three = ONES
    light: bool = False
    rounding: str = "nearest"
    seed: int = 0

    def words(self) -> dict[str, float]:
        words: dict[str, float] = {}
        for setting, values, none in (("gain", self.gains, 1), ("offset", self.offsets, 0), ("gamma", self.gammas, 1)):
            if any(value != none for value in values):
                powered = [value ** (1 / 2.4) for value in values] if self.light and setting == "gain" else values
                words |= {f"{channel}_{setting}": float(value) for channel, value in zip(CHANNELS, powered)}
        return words


LEVELS = np.arange(256.0)
_LIGHT = to_light(LEVELS.astype(np.uint8))


class Family(NamedTuple):
    """What parameters of a channel make of the levels, and their settings: gain, offset, power."""

    table: Callable[[np.ndarray], np.ndarray]
    start: Callable[[float, float], tuple[float, ...]]
    settings: Callable[[np.ndarray], Three]
    light: bool = False


def _grown(at: float) -> float:
    return float(np.exp(np.clip(at, -3, 3)))


FAMILIES = (
    Family(lambda at: LEVELS + at[0], lambda gain, offset: (offset,), lambda at: (1.0, float(at[0]), 1.0)),
    Family(
        lambda at: LEVELS * _grown(at[0]),
        lambda gain, offset: (np.log(max(gain + offset / 128, 0.05)),),
        lambda at: (_grown(at[0]), 0.0, 1.0),
    ),
    Family(
        lambda at: 255 * (LEVELS / 255) ** _grown(at[0]),
        lambda gain, offset: (0.0,),
        lambda at: (1.0, 0.0, _grown(at[0])),
    ),
    Family(
        lambda at: from_light(_LIGHT * np.float32(_grown(at[0]))).astype(np.float64),
        lambda gain, offset: (2 * np.log(max(gain + offset / 128, 0.05)),),
        lambda at: (_grown(at[0]), 0.0, 1.0),
        light=True,
    ),
    Family(
        lambda at: LEVELS * _grown(at[0]) + at[1],
        lambda gain, offset: (np.log(gain), offset),
        lambda at: (_grown(at[0]), float(at[1]), 1.0),
    ),
)


def find_cast(before: np.ndarray, after: np.ndarray) -> tuple[ColorCastSettings, dict[str, tuple[float, float]]]:
    """The nearest family for its price, of pixels (n, 3): settings and intervals of the words."""
    levels = [Levels.of(before[:, i], after[:, i]) for i in range(3)]
    lines = []
    for i in range(3):
        x, y = before[:, i].astype(np.float32), after[:, i].astype(np.float32)
        lines.append(fit_line(x, y, np.ones(x.shape, bool), slope=True))
    best: tuple[float, Family, list[Nearest]] | None = None
    for family in FAMILIES:
        shifts = [(0.0,) if family in (FAMILIES[0], FAMILIES[-1]) else (shift,) for shift in (0.0, -0.5)]
        for shift in dict.fromkeys(shifts):
            found = [nearest_curve(levels[i], family.table, family.start(*lines[i]), shift) for i in range(3)]
            badness = sum(nearest.badness for nearest in found)
            if best is None or badness < best[0]:
                best = badness, family, found
    assert best is not None
    _, family, found = best
    gains, offsets, gammas = zip(*(family.settings(nearest.parameters) for nearest in found))
    rounding = "floor" if found[0].shift < 0 else "nearest"
    settings = ColorCastSettings(gains, offsets, gammas, family.light, rounding)
    return settings, _intervals(settings, found)


def _intervals(settings: ColorCastSettings, found: list[Nearest]) -> dict[str, tuple[float, float]]:
    intervals = {}
    words = settings.words()
    for channel, nearest in zip(CHANNELS, found):
        deviation = 1.645 * float(np.sqrt(nearest.covariance[0, 0]))
        for setting in ("gain", "gamma"):
            value = words.get(f"{channel}_{setting}")
            if value is not None:
                reach = value * deviation / (2.4 if settings.light else 1) + 0.004
                intervals[f"{channel}_{setting}"] = (value - reach, value + reach)
        value = words.get(f"{channel}_offset")
        if value is not None:  # rounded to the nearest level or cut off: nothing in the copy tells
            last = 1.645 * float(np.sqrt(nearest.covariance[-1, -1]))
            intervals[f"{channel}_offset"] = (value - last - 0.5, value + last + 0.95)
    return intervals
