"""Settings of a change of contrast, and the curves that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llise.kinds.programs import from_light, to_light


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
    return CURVES[CURVE_NAMES.index(settings.curve)][0](pivot, 1 if rising else -1)(strength)


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


def line(pivot: float, direction: int) -> Callable[[float], np.ndarray]:
    """Straight line through the pivot."""
    levels = np.arange(256) - pivot
    return lambda strength: pivot + (1 + direction * strength) * levels


def two_powers(pivot: float, direction: int) -> Callable[[float], np.ndarray]:
    """S-shaped curve of two powers that meet at the pivot and leave black and white as they are."""
    levels = np.linspace(0, 1, 256)
    p = min(max(pivot / 255, 0.05), 0.95)

    def curve(strength: float) -> np.ndarray:
        power = (1 + strength) ** direction
        below = p * (np.minimum(levels, p) / p) ** power
        above = 1 - (1 - p) * ((1 - np.maximum(levels, p)) / (1 - p)) ** power
        return 255 * np.where(levels < p, below, above)

    return curve


def logistic(pivot: float, direction: int) -> Callable[[float], np.ndarray]:
    """Logistic curve from black to white, steepest at the pivot, or its inverse function."""
    levels = np.linspace(0, 1, 256)

    def curve(strength: float) -> np.ndarray:
        raw = 1 / (1 + np.exp((strength + 1e-3) * (pivot / 255 - levels)))
        table = (raw - raw[0]) / (raw[-1] - raw[0])
        return 255 * (table if direction > 0 else np.interp(levels, table, levels))

    return curve


def saturating(pivot: float, direction: int) -> Callable[[float], np.ndarray]:
    """Curve that is steepest at the pivot and keeps away from black and white the more, the stronger it is."""
    levels = np.arange(256) - pivot

    def curve(strength: float) -> np.ndarray:
        gain = 1 + strength if direction > 0 else 1 / (1 + 0.5 * strength)
        bend = 128 * np.sqrt(1 + 1 / (strength + 1e-3))  # the curve ends this many levels from the pivot
        return pivot + gain * levels / np.sqrt(1 + (gain * levels / bend) ** 2)

    return curve


def smooth_step(pivot: float, direction: int) -> Callable[[float], np.ndarray]:
    """Mixture of a line and the cubic that is flat at both ends of the 256 levels around the pivot."""
    levels = np.clip((np.arange(256) - pivot) / 255 + 0.5, 0, 1)
    bend = levels * levels * (3 - 2 * levels) - levels
    return lambda strength: np.arange(256) + direction * strength * 255 * bend


CURVES = (two_powers, 4.0), (logistic, 20.0), (saturating, 4.0), (smooth_step, 2.0)
"""S-shaped curves, each with the strength at which it ends."""

CURVE_NAMES = ("powers", "logistic", "saturating", "smooth")
