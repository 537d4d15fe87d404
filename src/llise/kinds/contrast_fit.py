"""Which curve of the grey levels turned a reference into a copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from llise.kinds.contrast_curves import ContrastSettings, table_of
from llise.kinds.curve_fit import Levels, Nearest, mean_curve, nearest_curve, nearest_plane, sampled_words
from llise.kinds.fitting import as_bytes, fit_line
from llise.kinds.programs import plane_of

KNOTS = 9, 17


@dataclass(frozen=True, eq=False)
class Family:
    """Curves of some parameters: what settings these stand for, and where a fit starts."""

    settings: Callable[[np.ndarray], ContrastSettings]
    start: Sequence[float]
    more: float = 0.0
    """How far the last parameter may be wrong besides, because of rounding."""

    def table(self, parameters: np.ndarray) -> np.ndarray:
        return table_of(self.settings(parameters))


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve that was found."""

    settings: ContrastSettings
    intervals: dict[str, tuple[float, float]]
    gain: float
    pivot: float


def find_curve(reference: np.ndarray, copy: np.ndarray, mask: np.ndarray) -> Curve | None:
    """The nearest curve of all families on the nearest plane; None without pixels."""
    if np.count_nonzero(mask) < 8:
        return None
    before, after = (image[mask].reshape(np.count_nonzero(mask), -1) for image in (as_bytes(reference), copy))
    plane = nearest_plane(before, after, mean_curve)
    x, y = before, after
    if plane != "rgb":
        inside = ((after > 0.5) & (after < 254.5)).all(axis=1)
        inside = inside if np.count_nonzero(inside) > 0.05 * len(inside) else np.ones(len(before), bool)
        x, y = (plane_of(pixels[inside], plane) for pixels in (before, after))
    levels = Levels.of(x, y)
    centre = float(levels.count @ np.arange(256)) / float(levels.count.sum())
    gain, offset = fit_line(
        x.astype(np.float32).ravel(), y.astype(np.float32).ravel(), np.ones(x.size, bool), slope=True
    )
    family, nearest = _nearest_family(levels, _families(gain, offset, centre))
    settings = family.settings(nearest.parameters)
    rounding = "floor" if nearest.shift < 0 else "nearest"
    more = np.zeros(len(nearest.parameters))
    more[-1] = family.more if plane == "rgb" else 2 * family.more  # coded in 8 bits and back besides
    intervals = {}
    if settings.words():
        intervals = sampled_words(nearest, lambda parameters: family.settings(parameters).words(), more)
    settings = _whole(ContrastSettings(**{**vars(settings), "plane": plane, "rounding": rounding}))
    words = settings.words()
    pivot = offset / (1 - gain) if abs(1 - gain) > 1e-3 else centre
    return Curve(settings, intervals, words.get("gain", gain), words.get("pivot", float(np.clip(pivot, 0, 255))))


def _whole(settings: ContrastSettings) -> ContrastSettings:
    """The same settings as plain numbers."""
    plain = {"amount": float(settings.amount), "pivot": float(settings.pivot)}
    return ContrastSettings(**{**vars(settings), **plain})


def _nearest_family(levels: Levels, families: Sequence[Family]) -> tuple[Family, Nearest]:
    """The family that is nearest for its price; a line that is as near as rounding allows is taken at once."""
    found: list[tuple[Family, Nearest]] = []
    free = max(int(np.count_nonzero(levels.count)) - 2, 1)
    for family in families:
        shifts = (0.0,) if family.more else (0.0, -0.5)
        found.append((family, nearest_curve(levels, family.table, family.start, shifts)))
        if len(found) == 1 and found[0][1].badness < 1.1 * free:
            break
    else:
        found += [_nearest_knots(levels, count) for count in KNOTS]
    return min(found, key=lambda pair: pair[1].badness)


def _families(gain: float, offset: float, centre: float) -> list[Family]:
    """All curves that are drawn, each started from the nearest line."""

    def line(at: np.ndarray) -> ContrastSettings:
        slope, middle = float(at[0]), float(at[1])  # the level that the centre becomes
        return ContrastSettings(slope, centre + (middle - centre) / (1 - slope) if abs(1 - slope) > 1e-4 else centre)

    def exponent(at: float) -> float:
        return float(np.exp(np.clip(at, -3, 3)))

    def within(at: float) -> float:
        return float(np.clip(at, 2, 253))

    pivot = float(np.clip(offset / (1 - gain), 20, 235)) if abs(1 - gain) > 1e-2 else 128.0
    grows = float(np.clip(np.log(gain), -1.5, 1.5))
    lighter = gain * 128 + offset > 128
    families = [
        Family(line, (gain, gain * centre + offset), 1.0),
        Family(lambda at: ContrastSettings(exponent(at[0]), 0.0, "gamma"), (-0.3 if lighter else 0.3,)),
        Family(lambda at: ContrastSettings(exponent(at[0]), 0.0, "exposure"), (0.5 if lighter else -0.5,)),
        Family(lambda at: ContrastSettings(float(np.clip(at[0], -1e3, 1e3)), 0.0, "log"), (2.0 if lighter else -2.0,)),
    ]
    for name in ("powers", "saturating"):

        def steep(at: np.ndarray, name: str = name) -> ContrastSettings:
            return ContrastSettings(exponent(at[0]), within(at[1]), name)

        families.append(Family(steep, (grows, pivot)))
    for name, scale, most in (("smooth", 2.0, 3.0), ("logistic", 4.0, 40.0)):

        def bent(at: np.ndarray, name: str = name, most: float = most) -> ContrastSettings:
            return ContrastSettings(float(np.clip(at[0], -most, most)), within(at[1]), name)

        families.append(Family(bent, (scale * grows + (0.1 if grows >= 0 else -0.1), pivot)))
    return families


def _nearest_knots(levels: Levels, count: int) -> tuple[Family, Nearest]:
    """Levels at even distances between which the curve is smooth: a linear fit."""
    from scipy.interpolate import CubicSpline  # only here: slow to import

    even = np.linspace(0, 255, count)
    columns = CubicSpline(even, np.eye(count))(np.arange(256.0))
    used = (levels.count > 0) & (levels.mean > 0.5) & (levels.mean < 254.5)
    weight = np.where(used, levels.weight, 0)
    bends = 0.02 * np.diff(np.eye(count), 2, axis=0)  # where there are no levels, the curve goes on as it was
    matrix = np.concatenate([columns * weight[:, None], bends])
    values = np.linalg.lstsq(matrix, np.concatenate([levels.mean * weight, np.zeros(count - 2)]), rcond=None)[0]
    family = Family(lambda at: ContrastSettings(0.0, 0.0, "knots", tuple(float(value) for value in at)), ())
    values = np.clip(values, -60, 315)
    misses = (np.clip(table_of(family.settings(values)), 0, 255) - levels.mean) * levels.weight
    return family, Nearest(float((misses**2).sum()) + 3.0 * count, values, np.eye(count), 0.0)
