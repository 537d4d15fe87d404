"""Contrast: grey levels move away from or towards a pivot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from llise.kinds.base import Draw, Kind, LevelPath, Path, drawn
from llise.kinds.contrast_curves import CURVE_NAMES, CURVES, ContrastSettings, line, table_of
from llise.kinds.contrast_fit import find_curve
from llise.kinds.fitting import Fit, exact_fit
from llise.kinds.programs import draw_plane, draw_rounding, draw_seed, finish, look_up, on_plane


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
        return _by_table(image, line(mean, direction))

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
        curve = find_curve(reference, copy, mask)
        if curve is None:
            return None
        parameters = {"gain": curve.gain, "pivot": curve.pivot, **curve.settings.words()}
        return exact_fit(self, curve.settings, curve.intervals, parameters)


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
    name, end = CURVE_NAMES[shape], CURVES[shape][1]
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
