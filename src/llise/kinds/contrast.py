"""Contrast: grey levels move away from or towards a pivot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from llise.kinds.base import Draw, Kind, LevelPath, Path, drawn
from llise.kinds.fitting import Fit, exact_fit
from llise.kinds.programs import draw_plane, draw_rounding, draw_seed, finish, from_light, look_up, on_plane, to_light


@dataclass(frozen=True)
class ContrastSettings:
    """A curve of the grey levels that all channels or one plane of the colours follow.

    `amount` is the gain of a line; the slope at the pivot of the S-shaped curves "powers" and "saturating"; the bend of
    "smooth" and the steepness of "logistic", negative for their inverses; the exponent of "gamma"; the factor of the
    light of "exposure"; the bend of "log". "knots" are levels at even distances, joined by PCHIP.
    """

    amount: float
    pivot: float = 128.0
    curve: str = "line"
    knots: tuple[float, ...] = ()
    plane: str = "rgb"
    rounding: str = "nearest"
    seed: int = 0

    def words(self) -> dict[str, float]:
        if self.curve in ("knots", "log"):
            return {}
        if self.curve == "gamma":
            return {"gamma": self.amount}
        if self.curve == "exposure":  # (light * factor) ** (1 / 2.4) multiplies the levels of sRGB
            return {"gain": self.amount ** (1 / 2.4), "pivot": 0.0}
        return {"gain": slope_at_pivot(self), "pivot": min(max(self.pivot, 0.0), 255.0)}


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
    Settings = ContrastSettings
    exact = True
    letter, page_color = "C", "#e69f00"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        mean = float(image.mean(dtype=np.float64))
        return _by_table(image, _line(mean, direction))

    def end(self, direction: int = 1) -> float:
        return self.strongest if direction > 0 else 1.0  # a gain of 0 leaves only the mean

    def reported_strength(self, strength: float, direction: int = 1) -> float:
        return 1 + direction * strength

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        settings, end = _draw_curve(image, rng)
        plane, rounding, seed = draw_plane(rng, image, 0.25), draw_rounding(rng), draw_seed(rng)
        return drawn(
            self, image, lambda strength: replace(settings(strength), plane=plane, rounding=rounding, seed=seed), end
        )

    def apply(self, image: np.ndarray, settings: ContrastSettings) -> np.ndarray:
        table = table_of(settings)
        changed = on_plane(image, settings.plane, lambda plane: look_up(table, plane))
        return finish(changed, settings.rounding, settings.seed)

    def fit(self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: object = None) -> Fit | None:
        from llise.kinds.contrast_fit import find_curve  # only here: it needs this module

        curve = find_curve(reference, copy, mask)
        if curve is None:
            return None
        parameters = {"gain": curve.gain, "pivot": curve.pivot, **curve.settings.words()}
        return exact_fit(self, curve.settings, curve.intervals, parameters)


def table_of(settings: ContrastSettings) -> np.ndarray:
    """Level after each of the 256 levels, neither rounded nor clipped."""
    from scipy.interpolate import PchipInterpolator  # only here: slow to import

    amount, pivot, levels = settings.amount, settings.pivot, np.arange(256.0)
    if settings.curve == "line":
        return pivot + amount * (levels - pivot)
    if settings.curve == "gamma":
        return 255 * (levels / 255) ** amount
    if settings.curve == "log":
        bend = max(abs(amount), 1e-6)
        table = 255 * np.log1p(bend * levels / 255) / np.log1p(bend)
        return table if amount > 0 else np.interp(levels, table, levels)
    if settings.curve == "exposure":
        return from_light(to_light(levels.astype(np.uint8)) * np.float32(amount)).astype(np.float64)
    if settings.curve == "knots":
        return PchipInterpolator(np.linspace(0, 255, len(settings.knots)), settings.knots)(levels)
    strength = abs(amount)
    if settings.curve == "powers":
        strength = max(amount, 1 / amount) - 1
    elif settings.curve == "saturating":
        strength = amount - 1 if amount > 1 else 2 * (1 / amount - 1)
    rising = amount > (1 if settings.curve in ("powers", "saturating") else 0)
    return _CURVES[_CURVE_NAMES.index(settings.curve)][0](pivot, 1 if rising else -1)(strength)


def slope_at_pivot(settings: ContrastSettings) -> float:
    """How much a contrast that has a pivot stretches the levels about it."""
    if settings.curve == "smooth":
        return 1 + 0.5 * settings.amount
    if settings.curve == "logistic":
        table = table_of(settings)
        at = float(np.clip(settings.pivot, 8, 247))
        low, high = np.interp([at - 8, at + 8], np.arange(256), table)
        return float(high - low) / 16
    return settings.amount


def _draw_curve(image: np.ndarray, rng: np.random.Generator) -> tuple[Callable[[float], ContrastSettings], float]:
    """A curve by strength, as programs offer it, and the strength at which it ends."""
    way = rng.choice(9, p=[0.3, 0.13, 0.17, 0.14, 0.06, 0.05, 0.08, 0.04, 0.03])
    direction = int(rng.choice([-1, 1]))
    if way == 0:
        pivot = _draw_pivot(image, rng)
        return lambda s: ContrastSettings(1 + direction * s, pivot), 4.0 if direction > 0 else 0.97
    if way == 1:  # a factor, as of Pillow's Brightness and of the alpha of OpenCV's convertScaleAbs
        return lambda s: ContrastSettings((1 + s) ** direction, 0.0), 3.0
    if way == 2:
        return _draw_s_curve(_draw_pivot(image, rng), direction, rng)
    if way == 3:
        return lambda s: ContrastSettings((1 + s) ** direction, 0.0, "gamma"), 5.0
    if way in (4, 5):
        low, high = float(rng.choice([0.0, rng.uniform(5, 110)])), 255 - float(rng.choice([0.0, rng.uniform(5, 110)]))
        if (low, high) == (0, 255):
            low, high = 20.0, 235.0
        return lambda s: _levels(s * low, 255 - s * (255 - high), inward=way == 5), 1.0
    if way == 6:
        knots = _draw_knots(image, rng)
        even = np.linspace(0, 255, len(knots))
        return lambda s: ContrastSettings(s, 0.0, "knots", tuple((even + min(s, 1.0) * (knots - even)).tolist())), 1.0
    if way == 7:
        return lambda s: ContrastSettings((1 + s) ** direction, 0.0, "exposure"), 5.0
    return lambda s: ContrastSettings(direction * max(s, 1e-6), 0.0, "log"), 30.0


def _draw_s_curve(
    pivot: float, direction: int, rng: np.random.Generator
) -> tuple[Callable[[float], ContrastSettings], float]:
    shape = int(rng.integers(4))
    name, end = _CURVE_NAMES[shape], _CURVES[shape][1]
    if name == "powers":
        return lambda s: ContrastSettings((1 + s) ** direction, pivot, name), end
    if name == "saturating":
        return lambda s: ContrastSettings(1 + s if direction > 0 else 1 / (1 + 0.5 * s), pivot, name), end
    return lambda s: ContrastSettings(direction * s, pivot, name), end


def _levels(low: float, high: float, inward: bool) -> ContrastSettings:
    """The line from `low` and `high` to black and white, or back."""
    gain = 255 / max(high - low, 1.0)
    if abs(gain - 1) < 1e-6:
        return ContrastSettings(1.0)
    return ContrastSettings(1 / gain if inward else gain, low * gain / (gain - 1))


def _draw_knots(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Levels at nine even distances: any curve that rises, or the one that makes all levels equally frequent."""
    if rng.random() < 0.25:
        share = np.cumsum(np.bincount(image.ravel(), minlength=256)) / image.size
        return 255 * np.interp(np.linspace(0, 255, 17), np.arange(256), share)
    steps = np.exp(rng.uniform(0.3, 1.2) * rng.standard_normal(8))
    steps = np.convolve(np.pad(steps, 1, mode="edge"), [0.25, 0.5, 0.25], mode="valid")
    start, end = (rng.uniform(0, 60) * (rng.random() < 0.3) for _ in range(2))
    return start + (255 - start - end) * np.concatenate([[0], np.cumsum(steps) / steps.sum()])


def _draw_pivot(image: np.ndarray, rng: np.random.Generator) -> float:
    mean, spread = float(image.mean()), float(image.std())
    choice = rng.integers(4)
    if choice == 0:  # many programs take mid-grey, whatever the image
        return 128.0
    if choice == 1:
        return mean
    pivot = mean + rng.normal(0, 0.3 * spread) if choice == 2 else float(np.median(image))
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

_CURVE_NAMES = ("powers", "logistic", "saturating", "smooth")
