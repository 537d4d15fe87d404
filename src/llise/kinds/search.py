"""The search for the strength at which a kind's copy has a wanted error, shared by all kinds."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np

from llise.kinds.base import CoderPath, Kind, LevelPath, Path, SolvablePath
from llise.kinds.grey import mse, quantise

TOLERANCE = 0.005
"""Relative error of the MSE that counts as reached."""

ROUGH_TOLERANCE = 0.08
"""The same for random copies."""

DITHER_CHANCE = 0.3
"""Share of the random copies that get noise before rounding, as from programs that dither or round on the way."""


class RandomCopy(NamedTuple):
    """A copy whose way of making was drawn at random."""

    image: np.ndarray
    strength: float
    parameters: dict[str, float]


def draw_copy(
    kind: Kind,
    image: np.ndarray,
    wanted: float,
    rng: np.random.Generator,
    *,
    reference: np.ndarray | None = None,
) -> RandomCopy:
    """Distort an image to about a wanted error, in one of the ways in which programs make a kind."""
    draw = kind.draw(image, rng)
    path = draw.path
    if rng.random() < DITHER_CHANCE:
        path = _dithered(path, (rng.random(image.shape, dtype=np.float32) - 0.5) * rng.uniform(0.5, 1.5))
    target = image if reference is None else reference
    search = Search(path, target, wanted, ROUGH_TOLERANCE)
    at_zero = mse(target, image)
    first = draw.end / 100 if draw.first is None else draw.first(max(wanted - at_zero, 0.05 * wanted))
    search.bisect(draw.end, first=first, steps=8, at_zero=at_zero)
    return RandomCopy(search.image, search.strength, draw.parameters(search.strength))


def _dithered(path: Path, dither: np.ndarray) -> Path:
    """Add `dither` to those copies that are not rounded yet."""

    def dithered(strength: float) -> np.ndarray:
        copy = path(strength)
        return copy if copy.dtype == np.uint8 else copy + dither

    return dithered


class Search:
    """Search for the strength at which a path's rounded copy has the wanted error."""

    def __init__(
        self,
        path: Path,
        reference: np.ndarray,
        wanted: float,
        accuracy: float = TOLERANCE / 4,
        known: dict[Hashable, float] | None = None,
    ) -> None:
        self.path = path
        self.reference = reference
        self.wanted = wanted
        self.accuracy = accuracy
        self.strength = 0.0
        self.measured = np.inf
        self._known = {} if known is None else known
        self._threshold: np.ndarray | None = None
        self._make: Callable[[], np.ndarray] = lambda: reference

    @property
    def image(self) -> np.ndarray:
        """The copy nearest to the wanted error so far; an array of uint8, shape (h, w)."""
        return self._make()

    @property
    def miss(self) -> float:
        """Relative distance of the nearest copy's error from the wanted one."""
        if self.wanted == 0:
            return 0.0 if self.measured == 0 else np.inf
        return abs(self.measured - self.wanted) / self.wanted

    def error(self, strength: float) -> float:
        """Return the error at a strength; the copy is remembered if it is the nearest so far."""
        strength = float(strength)
        measured, copy = self._measure(strength)
        if abs(measured - self.wanted) < abs(self.measured - self.wanted):
            path, threshold = self.path, self._threshold
            self.strength, self.measured = strength, measured
            self._make = lambda: quantise(path(strength), threshold) if copy is None else copy
        return measured

    def _measure(self, strength: float) -> tuple[float, np.ndarray | None]:
        """Error at a strength, and the copy if one had to be made for it."""
        if isinstance(self.path, LevelPath) and self._threshold is None:
            return self.path.error(strength, self.reference), None
        setting = self.path.settings(strength) if isinstance(self.path, CoderPath) else strength
        key = setting, self._threshold is None
        if key in self._known:
            return self._known[key], None
        copy = quantise(self.path(strength), self._threshold)
        self._known[key] = mse(self.reference, copy)
        return self._known[key], copy

    def run(self, strongest: float) -> None:
        """Search until the wanted error is reached to within 0.5 % or no way to reach it is left."""
        if isinstance(self.path, SolvablePath):
            self.error(self.path.solve(self.reference, self.wanted))
            return
        jump = self.bisect(strongest)
        if self.miss <= TOLERANCE:
            return
        if self._is_coded(strongest):
            self._search_jumps(jump, strongest)
            return
        if jump is None:
            return
        # Whole grey levels are too coarse (a shift by 6.7 must be 6 or 7). So the threshold of the rounding falls from
        # the first pixel to the last: one part of the image gets 7 and the rest 6, and no noise is added.
        size = self.reference.size
        ramp = (np.arange(size, 0, -1, dtype=np.float32) - 0.5) / size
        self._threshold = ramp.reshape(self.reference.shape)
        self.bisect(strongest)

    def _is_coded(self, strongest: float) -> bool:
        """Whether the path gives 8-bit images, which rounding cannot change."""
        if isinstance(self.path, (CoderPath, LevelPath)):
            return isinstance(self.path, CoderPath)
        return self.path(strongest).dtype == np.uint8

    def bisect(
        self, strongest: float, *, first: float = 1e-3, steps: int = 40, at_zero: float | None = None
    ) -> float | None:
        """Bracket the wanted error, then narrow the bracket by halving and by the secant method in turn."""
        low, high = 0.0, min(strongest, first)
        at_low = self.error(0.0) if at_zero is None else at_zero
        at_high = self.error(high)
        if self.miss <= self.accuracy:
            return None
        while at_high < self.wanted:
            if high >= strongest:
                return None
            low, at_low = high, at_high
            # The error grows about with the square of the strength.
            guess = high * np.sqrt(self.wanted / max(at_high, 1e-9)) * 1.02
            high = min(strongest, max(2 * high, min(guess, 16 * high)))
            at_high = self.error(high)
        for step in range(steps):
            if self.miss <= self.accuracy or high - low <= 1e-7 * high:
                break
            middle = _secant(low, high, at_low, at_high, self.wanted) if step % 3 else (low + high) / 2
            at_middle = self.error(middle)
            if at_middle < self.wanted:
                low, at_low = middle, at_middle
            else:
                high, at_high = middle, at_middle
        return float(low + high) / 2

    def _search_jumps(self, jump: float | None, strongest: float) -> None:
        """Search a path whose error jumps: around the jump, then on alternative paths."""
        self._try_each(np.geomspace(strongest / 1000, strongest, 48) if jump is None else _around(jump))
        if jump is None or not isinstance(self.path, CoderPath):
            return
        for alternative in self.path.alternatives(self.wanted):
            if self.miss <= TOLERANCE:
                return
            self.path, self._known = alternative, {}
            jump = self.bisect(strongest)
            self._try_each(_around(jump or 0.0)[:8])

    def _try_each(self, strengths: np.ndarray) -> None:
        """Try strengths in turn until one reaches the error."""
        for strength in strengths:
            if self.miss <= TOLERANCE:
                return
            self.error(float(strength))


def _around(strength: float, steps: int = 16) -> np.ndarray:
    """Strengths ever farther from `strength`, on both sides."""
    offsets = 0.0015 * np.arange(1, steps + 1)
    return strength * (1 + np.stack([offsets, -offsets], axis=1).ravel())


def _secant(low: float, high: float, at_low: float, at_high: float, wanted: float) -> float:
    """Secant on the root of the error, limited to the inner 90 % of the bracket."""
    part = (np.sqrt(wanted) - np.sqrt(at_low)) / max(np.sqrt(at_high) - np.sqrt(at_low), 1e-12)
    return low + (high - low) * min(max(part, 0.05), 0.95)
