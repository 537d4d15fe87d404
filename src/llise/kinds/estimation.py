"""What the fits of filters and coders share: windows, one plane for many trials, intervals from what a fit leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from llise.kinds.fitting import ROUNDING, as_bytes

SQUARE = 32
"""Side in pixels of the squares whose residuals are taken as independent of each other."""

RESOLUTION = 0.005
"""Relative distance below which searches do not tell settings apart."""

EXACT = 1.5 * ROUNDING
"""Mean squared error up to which a copy is made again but for its rounding."""

AS_GOOD = 3.2
"""Ratio of two squared errors that chance makes in one of twenty cases, of some 9 independent squares each."""

STEP_OF = {"angle": 1.0, "shift_x": 0.2, "shift_y": 0.2, "rotation": 0.05, "scale": 0.1, "stretch": 0.1}
"""Steps from which slopes are taken, of fields whose size says nothing about it."""

LEAST_STEP = 1e-3
"""Step from which a slope is taken where a field is nought."""


class Pair(NamedTuple):
    """A part of a reference and a copy: bytes, floats, and the pixels to compare."""

    before: np.ndarray
    after: np.ndarray
    mask: np.ndarray

    def cut(self, side: int, margin: int = 0) -> Pair:
        """The window of at most `side` rows and columns with the most pixels to compare, and a margin about it."""
        places = []
        for axis in (1, 0):
            count = np.count_nonzero(self.mask, axis=axis)
            n = len(count)
            sums = np.concatenate([[0], np.cumsum(count)])
            best = int(np.argmax(sums[min(side, n) :] - sums[: n - min(side, n) + 1])) if n > side else 0
            places.append((max(best - margin, 0), min(best + side + margin, n), best, best + side))
        (top, bottom, *rows), (left, right, *cols) = places
        inside = np.zeros_like(self.mask)
        inside[slice(*rows), slice(*cols)] = True
        here = np.s_[top:bottom, left:right]
        return Pair(self.before[here], self.after[here], (self.mask & inside)[here])

    def inside(self, distance: int) -> Pair:
        """Without the pixels next to the border of the image, if enough others are left."""
        distance = min(distance, min(self.mask.shape) // 5)
        mask = np.zeros_like(self.mask)
        rest = np.s_[distance : len(mask) - distance, distance : mask.shape[1] - distance]
        mask[rest] = self.mask[rest]
        return self._replace(mask=mask) if np.count_nonzero(mask) > 0.2 * np.count_nonzero(self.mask) else self

    def plane(self) -> Pair:
        """The green channel: filters of each channel show in it, and it is quick to work on."""
        if self.before.ndim == 2:
            return self
        before, after = (np.ascontiguousarray(image[..., 1]) for image in (self.before, self.after))
        return Pair(before, after, self.mask)

    def error(self, made: np.ndarray) -> float:
        """Mean squared difference of what was made and the copy."""
        rest = (made - self.after)[self.mask].ravel()
        return float(rest @ rest) / rest.size if rest.size else 0.0

    @property
    def change(self) -> float:
        """Mean squared difference of reference and copy."""
        return self.error(self.before)


def pair_of(reference: np.ndarray, copy: np.ndarray, mask: np.ndarray) -> Pair | None:
    """The images of a fit; None where nothing is to be compared or nothing differs."""
    pair = Pair(as_bytes(reference), copy.astype(np.float32), mask)
    return pair if mask.any() and pair.change > 0 else None


class Trials:
    """What settings leave of the copy at the pixels to compare, each made once."""

    def __init__(self, part: Pair, remake: Callable[[Any], np.ndarray]) -> None:
        self.part, self.remake = part, remake
        self.target = part.after[part.mask]
        self.known: dict[Any, tuple[np.ndarray, float]] = {}

    def _of(self, settings: Any) -> tuple[np.ndarray, float]:
        if settings not in self.known:
            rest = self.target - self.remake(settings)[self.part.mask]
            flat = rest.ravel()
            self.known[settings] = rest, float(flat @ flat) / max(flat.size, 1)
        return self.known[settings]

    def left(self, settings: Any) -> float:
        """Mean squared error."""
        return self._of(settings)[1]

    def best(self, trials: Iterable[Any]) -> Any:
        return min(trials, key=self.left)

    def improved(self, settings: Any, fields: tuple[str, ...], most: int = 1) -> Any:
        """After at most some Gauss-Newton steps on some fields together."""
        for _ in range(most if fields else 0):
            other = self._stepped(settings, fields)[0]
            if other is settings:
                break
            gained, settings = self.left(settings) - self.left(other), other
            if gained < 0.01 * self.left(settings):
                break
        return settings

    def polished(self, settings: Any, fields: tuple[str, ...], most: int = 5) -> tuple[Any, dict[str, float]]:
        """As :meth:`improved`, and the standard deviations of the fields.

        Deviations are those of least squares with dependent errors: what is left goes together within a square, not
        between squares (Liang and Zeger 1986). What rounding to whole grey levels leaves is added.
        """
        from scipy.special import stdtrit  # only here: slow to import

        for _ in range(most):  # of which the last one may fail and then only gives the slopes
            other, slopes, inverse = self._stepped(settings, fields)
            if other is settings or self.left(other) > (1 - 1e-4) * self.left(settings):
                break
            settings = other
        rows, cols = np.nonzero(self.part.mask)
        squares = rows // SQUARE * (self.part.mask.shape[1] // SQUARE + 1) + cols // SQUARE
        products = (slopes * self._of(settings)[0]).reshape(len(fields), len(squares), -1).sum(axis=2)
        scores = np.stack([np.bincount(squares, product) for product in products])
        used = max(int(np.count_nonzero(np.abs(scores).sum(axis=0))), 2)
        student = float(stdtrit(used - 1, 0.95)) / 1.645  # few squares tell the deviation badly
        covariance = inverse @ (scores @ scores.T) @ inverse * (student**2 * used / (used - 1)) + inverse * ROUNDING
        return settings, {field: float(max(covariance[i, i], 0.0)) ** 0.5 for i, field in enumerate(fields)}

    def _stepped(self, settings: Any, fields: tuple[str, ...]) -> tuple[Any, np.ndarray, np.ndarray]:
        """After one step, or the same if no step is better; the slopes, and the inverse of their products."""
        rest, left = self._of(settings)
        slopes = []
        for field in fields:
            step = STEP_OF.get(field, 0.05 * abs(getattr(settings, field)) or LEAST_STEP)
            moved = self._of(replace(settings, **{field: getattr(settings, field) + step}))[0]
            slopes.append((rest - moved) / np.float32(step))
        flat = np.stack(slopes).reshape(len(fields), -1)
        gram = (flat @ flat.T).astype(np.float64)
        gram[np.diag_indices(len(gram))] *= 1 + 1e-6
        gram[np.diag_indices(len(gram))] += 1e-9
        inverse = np.linalg.inv(gram)
        steps = inverse @ (flat @ rest.ravel()).astype(np.float64)
        for part in (1.0, 0.3):
            moves = {field: _limited(settings, field, part * float(step)) for field, step in zip(fields, steps)}
            other = replace(settings, **moves)
            if self.left(other) < left:
                return other, np.stack(slopes), inverse
        return settings, np.stack(slopes), inverse


def _limited(settings: Any, field: str, change: float) -> float:
    """The value of a field after a step that is not too large."""
    value = float(getattr(settings, field))
    most = 20 * STEP_OF[field] if field in STEP_OF else 0.15 * abs(value)
    return value + min(max(change, -most), most)
