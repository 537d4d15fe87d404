"""Fits of curves of the grey levels: what each level became, and the curve of a family that is nearest to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from llise.kinds.fitting import ROUNDING
from llise.kinds.programs import PLANES, on_plane, plane_of

SAMPLE = 6000
"""Pixels on which planes are compared."""

PRICE = 3.0
"""What each parameter of a curve costs in units of chi squared, about log(256) / 2 as in Bayes' criterion."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Of each of 256 levels of the reference: number of pixels, mean of the copy and variance of the copy."""

    count: np.ndarray
    mean: np.ndarray
    variance: np.ndarray

    @classmethod
    def of(cls, before: np.ndarray, after: np.ndarray) -> Levels:
        index, values = np.rint(np.clip(before, 0, 255)).astype(np.intp).ravel(), after.ravel().astype(np.float64)
        count = np.bincount(index, minlength=256).astype(float)
        known = np.maximum(count, 1)
        mean = np.bincount(index, values, 256) / known
        return cls(count, mean, np.maximum(np.bincount(index, values**2, 256) / known - mean**2, 0))

    @property
    def weight(self) -> np.ndarray:
        """One over the deviation of each mean, to which a table adds its rounding; 0 where there are no pixels."""
        inside = float(self.count @ self.variance) / max(float(self.count.sum()), 1.0)
        return np.where(self.count > 0, 1 / np.sqrt(inside / np.maximum(self.count, 1) + ROUNDING), 0)

    def misfit(self, table: np.ndarray) -> float:
        """Mean squared error of the rounded and clipped table, without the variance inside of levels."""
        rounded = np.clip(np.rint(table), 0, 255)
        return float(self.count @ (rounded - self.mean) ** 2) / max(float(self.count.sum()), 1.0)


class Nearest(NamedTuple):
    """A curve of a family: its chi squared with its price, its parameters and their covariance, and its shift."""

    badness: float
    parameters: np.ndarray
    covariance: np.ndarray
    shift: float


def nearest_curve(
    levels: Levels,
    table: Callable[[np.ndarray], np.ndarray],
    start: Sequence[float],
    shifts: tuple[float, ...] = (0.0, -0.5),
) -> Nearest:
    """Fit the parameters of a family of curves; a shift of -0.5 stands for cutting fractions off."""
    from scipy.optimize import leastsq  # only here: slow to import

    weight = levels.weight
    found = []
    for shift in shifts:

        def misses(parameters: np.ndarray, shift: float = shift) -> np.ndarray:
            return np.nan_to_num((np.clip(table(parameters) + shift, 0, 255) - levels.mean) * weight, nan=1e3)

        best, covariance, *_ = leastsq(
            misses, np.array(start, float), full_output=True, maxfev=40 * (len(start) + 1), epsfcn=1e-6
        )
        squares = float((misses(best) ** 2).sum())
        free = max(int(np.count_nonzero(weight)) - len(start), 1)
        spread = np.eye(len(start)) if covariance is None else covariance * max(squares / free, 1.0)
        found.append(Nearest(squares + PRICE * len(start), np.atleast_1d(best), spread, shift))
    return min(found, key=lambda nearest: nearest.badness)


def sampled_words(
    nearest: Nearest, words: Callable[[np.ndarray], dict[str, float]], more: np.ndarray | None = None
) -> dict[str, tuple[float, float]]:
    """Intervals of 90 % of the words that parameters give, from normal samples of them; `more` is added to these."""
    rng = np.random.default_rng(0)
    count = len(nearest.parameters)
    values, axes = np.linalg.eigh(nearest.covariance + 1e-12 * np.eye(count))
    samples = rng.standard_normal((80, count)) * np.sqrt(np.maximum(values, 0)) @ axes.T + nearest.parameters
    if more is not None:  # fractions may have been cut off, which a line cannot tell from an offset
        samples += rng.choice([-0.1, 0.0, 0.5], samples.shape) * more
    said = [words(sample) for sample in samples]
    own = words(nearest.parameters)
    intervals = {}
    for name, value in own.items():
        low, high = np.quantile([each[name] for each in said if name in each], [0.05, 0.95])
        reach = 0.003 * abs(value) + 0.001
        intervals[name] = (float(min(low, value - reach)), float(max(high, value + reach)))
    return intervals


def sample_of(before: np.ndarray, after: np.ndarray, most: int = SAMPLE) -> tuple[np.ndarray, np.ndarray]:
    """At most so many pixels (n, 1, channels), evenly from all (n, channels)."""
    step = -(-len(before) // most)
    return before[::step, None], after[::step, None]


def nearest_plane(before: np.ndarray, after: np.ndarray, curve_of: Callable[[np.ndarray, np.ndarray], Callable]) -> str:
    """The plane on which a curve, that ``curve_of(x, y)`` fits, comes nearest to colours (n, channels) of a copy."""
    few, copies = sample_of(before, after)
    if few.shape[2] == 1 or not (few != few[..., :1]).any():
        return "rgb"
    best, least = "rgb", np.inf
    inside = ((copies > 0.5) & (copies < 254.5)).all(axis=2)
    inside = inside if np.count_nonzero(inside) > 64 else np.ones(inside.shape, bool)
    for plane in PLANES:
        x, y = (few, copies) if plane == "rgb" else (plane_of(few, plane)[inside], plane_of(copies, plane)[inside])
        model = np.clip(np.rint(on_plane(few, plane, curve_of(x.astype(np.float32), y.astype(np.float32)))), 0, 255)
        error = float(np.mean((model - copies) ** 2))
        if error < (0.9 if best == "rgb" else 1.0) * least - 0.02:
            best, least = plane, error
        if plane == "rgb" and error < 0.3:  # rounding alone
            break
    return best


def mean_curve(x: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The curve through the means of 32 ranges of levels that hold equally many pixels."""
    order = np.argsort(x, axis=None)
    parts = np.array_split(order, 32)
    points = np.array([(x.flat[part].mean(), y.flat[part].mean()) for part in parts if len(part)])
    slope = float(np.polyfit(points[:, 0], points[:, 1], 1)[0]) if np.ptp(points[:, 0]) > 1 else 1.0
    low, high = points[0, 0], points[-1, 0]

    def curve(values: np.ndarray) -> np.ndarray:
        beyond = values - np.clip(values, low, high)
        return (np.interp(values, points[:, 0], points[:, 1]) + slope * beyond).astype(np.float32)

    return curve
