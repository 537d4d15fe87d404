"""Contrast: grey levels move away from or towards a pivot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

import numpy as np

from llise.kinds.base import Draw, GreyStatistics, Kind, LevelPath, Path
from llise.kinds.fitting import Fit, fit_line


class Contrast(Kind):
    """Contrast stretched (direction 1) or reduced (direction -1) about the mean of the image.

    The reported strength is the gain: 1 leaves the image as it is. At random, the curve is a straight line or
    one of four S-shaped curves, about mid-grey or about a pivot near the middle of the grey levels. Parameters of
    a draw are ``gain`` and ``pivot`` for a straight line; a curve has none.
    """

    name = "contrast"
    title = "contrast change"
    short_title = "contrast"
    strongest = 1e3
    two_sided = True
    random = False

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        mean = float(image.mean(dtype=np.float64))
        return _by_table(image, _line(mean, direction))

    def end(self, direction: int = 1) -> float:
        return self.strongest if direction > 0 else 1.0  # a gain of 0 leaves only the mean

    def reported_strength(self, strength: float, direction: int = 1) -> float:
        return 1 + direction * strength

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        pivot = _draw_pivot(image, rng, statistics)
        direction = int(rng.choice([-1, 1]))
        shape = rng.choice(5, p=[0.48, 0.13, 0.13, 0.13, 0.13])
        if shape > 0:
            curve, end = _CURVES[shape - 1]
            return Draw(_by_table(image, curve(pivot, direction)), end)
        line = _by_table(image, _line(pivot, direction))
        return Draw(
            line,
            4.0 if direction > 0 else 0.97,
            lambda strength: {"gain": self.reported_strength(strength, direction), "pivot": pivot},
        )

    def estimate(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> Fit:
        # The gain is that of the nearest line; an S-shaped curve is applied as the nearest polynomial, and its pivot is
        # the grey that this leaves as it was.
        gain, offset = fit_line(before, after, mask, slope=True)
        middle = float(before[mask].mean()) if mask.any() else 128.0
        pivot = offset / (1 - gain) if abs(1 - gain) > 1e-3 else middle
        curve, bent = _nearest_curve(before, after, mask, gain, offset)
        if bent:
            pivot = _fixed_grey(curve, gain, middle, pivot)
        return Fit({"gain": gain, "pivot": float(np.clip(pivot, 0.0, 255.0))}, lambda image: _follow(curve, image))


def _follow(curve: np.ndarray, image: np.ndarray) -> np.ndarray:
    """What a curve of 256 levels, with straight lines between them, makes of an image."""
    levels = np.clip(image, 0, 255).astype(np.uint8)
    if np.array_equal(levels, image):
        return curve.astype(np.float32).take(levels)
    inside = np.clip(image, 0, 255)
    below = np.minimum(inside.astype(np.intp), 254)
    return (curve.take(below) + (inside - below) * np.diff(curve).take(below)).astype(np.float32)


def _fixed_grey(curve: np.ndarray, gain: float, middle: float, otherwise: float) -> float:
    """Grey nearest to the middle at which the curve crosses the diagonal in the direction of the gain."""
    change = curve - np.arange(256)
    rising = np.sign(gain - 1)
    crossings = np.flatnonzero((rising * change[:-1] <= 0) & (rising * change[1:] > 0))
    if crossings.size == 0:
        return otherwise
    at = crossings[np.argmin(np.abs(crossings - middle))]
    return float(at + change[at] / (change[at] - change[at + 1]))


def _nearest_curve(
    before: np.ndarray, after: np.ndarray, mask: np.ndarray, gain: float, offset: float
) -> tuple[np.ndarray, bool]:
    """Table of 256 levels: the line, or a polynomial of the third degree if that is much nearer; and whether it is."""
    levels = np.arange(256.0)
    line = np.clip(gain * levels + offset, 0, 255)
    index = np.clip(np.rint(before[mask]), 0, 255).astype(int)
    count = np.bincount(index, minlength=256).astype(float)
    mean = np.bincount(index, after[mask], minlength=256) / np.maximum(count, 1)
    used = (count > 0) & (mean > 1) & (mean < 254)
    if np.count_nonzero(used) < 8:
        return line, False
    x, weight = (levels - 128) / 128, np.sqrt(count)
    cubic = np.polynomial.polynomial.polyfit(x[used], mean[used], 3, w=weight[used])
    inside = np.clip(x, x[used].min(), x[used].max())
    curve = np.clip(np.polynomial.polynomial.polyval(inside, cubic), 0, 255)
    curve = np.where(x == inside, curve, np.clip(curve + gain * (x - inside) * 128, 0, 255))
    misfit = [float((weight**2 * (table - mean) ** 2).sum()) / max(float(count.sum()), 1) for table in (line, curve)]
    bent = misfit[1] < 0.5 * misfit[0] - 0.05
    return (curve, True) if bent else (line, False)


def _draw_pivot(image: np.ndarray, rng: np.random.Generator, statistics: GreyStatistics) -> float:
    mean = statistics["mean"] if "mean" in statistics else float(image.mean())
    spread = statistics["spread"] if "spread" in statistics else float(image.std())
    choice = rng.integers(4)
    if choice == 0:  # many programs take mid-grey, whatever the image
        return 128.0
    if choice == 1:
        return mean
    if choice == 2:
        pivot = mean + rng.normal(0, 0.3 * spread)
    else:
        pivot = statistics["middle"] if "middle" in statistics else float(np.median(image))
    # With a pivot far from the mean, the image would also become lighter or darker: a luminance shift.
    return float(np.clip(pivot, mean - 0.7 * spread, mean + 0.7 * spread))


def _by_table(image: np.ndarray, curve: Callable[[float], np.ndarray]) -> Path:
    """Path that looks every pixel up in a table of 256 levels."""
    return LevelPath(image, lambda strength: curve(strength).astype(np.float32))


def _line(pivot: float, direction: int) -> Callable[[float], np.ndarray]:
    """Straight line through the pivot."""
    levels = np.arange(256) - pivot
    return lambda strength: pivot + (1 + direction * strength) * levels


def _two_powers(pivot: float, direction: int) -> Callable[[float], np.ndarray]:
    """S-shaped curve of two powers that meet at the pivot and leave black and white as they are."""
    levels = np.linspace(0, 1, 256)
    p = min(max(pivot / 255, 0.05), 0.95)

    def curve(strength: float) -> np.ndarray:
        power = (1 + strength) ** direction
        below = p * (np.minimum(levels, p) / p) ** power
        above = 1 - (1 - p) * ((1 - np.maximum(levels, p)) / (1 - p)) ** power
        return 255 * np.where(levels < p, below, above)

    return curve


def _logistic(pivot: float, direction: int) -> Callable[[float], np.ndarray]:
    """Logistic curve from black to white, steepest at the pivot, or its inverse function."""
    levels = np.linspace(0, 1, 256)

    def curve(strength: float) -> np.ndarray:
        raw = 1 / (1 + np.exp((strength + 1e-3) * (pivot / 255 - levels)))
        table = (raw - raw[0]) / (raw[-1] - raw[0])
        return 255 * (table if direction > 0 else np.interp(levels, table, levels))

    return curve


def _saturating(pivot: float, direction: int) -> Callable[[float], np.ndarray]:
    """Curve that is steepest at the pivot and keeps away from black and white the more, the stronger it is."""
    levels = np.arange(256) - pivot

    def curve(strength: float) -> np.ndarray:
        gain = 1 + strength if direction > 0 else 1 / (1 + 0.5 * strength)
        bend = 128 * np.sqrt(1 + 1 / (strength + 1e-3))  # the curve ends this many levels from the pivot
        return pivot + gain * levels / np.sqrt(1 + (gain * levels / bend) ** 2)

    return curve


def _smooth_step(pivot: float, direction: int) -> Callable[[float], np.ndarray]:
    """Mixture of a line and the cubic that is flat at both ends of the 256 levels around the pivot."""
    levels = np.clip((np.arange(256) - pivot) / 255 + 0.5, 0, 1)
    bend = levels * levels * (3 - 2 * levels) - levels
    return lambda strength: np.arange(256) + direction * strength * 255 * bend


_CURVES = (_two_powers, 4.0), (_logistic, 20.0), (_saturating, 4.0), (_smooth_step, 2.0)
"""S-shaped curves, each with the strength at which it ends."""
