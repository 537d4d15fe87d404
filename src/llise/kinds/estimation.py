"""What the fits of filters and coders share: windows, one plane for many trials, intervals from what a fit leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from llise.kinds.fitting import ROUNDING, as_bytes, in_colour

SQUARE = 32
"""Side in pixels of the squares whose residuals are taken as independent of each other."""


RESOLUTION = 0.005
"""Relative distance below which searches do not tell settings apart."""


STEP_OF = {"angle": 1.0, "shift_x": 0.2, "shift_y": 0.2, "rotation": 0.05, "scale": 0.1, "stretch": 0.1}
"""Steps from which slopes are taken, of fields whose size says nothing about it."""


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
        rest = (made - self.after)[self.mask]
        return float(np.mean(rest * rest)) if rest.size else 0.0

    @property
    def change(self) -> float:
        """Mean squared difference of reference and copy."""
        return self.error(self.before)


def pair_of(reference: np.ndarray, copy: np.ndarray, mask: np.ndarray) -> Pair | None:
    """The images of a fit; None where nothing is to be compared or nothing differs."""
    pair = Pair(as_bytes(reference), copy.astype(np.float32), mask)
    return pair if mask.any() and pair.change > 0 else None


def polished(
    pair: Pair, remake: Callable[[Any], np.ndarray], settings: Any, fields: tuple[str, ...], most: int = 5
) -> tuple[Any, dict[str, float]]:
    """At most some Gauss-Newton steps on fields of settings together, and the standard deviations of these fields."""
    rest = pair.after - remake(settings)
    for _ in range(most):  # of which the last one may fail and then only gives the slopes
        slopes = np.stack([_slope(pair, remake, settings, field) for field in fields])
        gram = np.einsum("ahwc,bhwc->ab", slopes, slopes, dtype=np.float64)
        gram[np.diag_indices(len(gram))] *= 1 + 1e-6
        gram[np.diag_indices(len(gram))] += 1e-9
        inverse = np.linalg.inv(gram)
        step = inverse @ np.einsum("ahwc,hwc->a", slopes, _levels(pair, rest), dtype=np.float64)
        for part in (1.0, 0.3):
            moves = {field: _limited(settings, field, part * float(change)) for field, change in zip(fields, step)}
            other = replace(settings, **moves)
            made = pair.after - remake(other)
            if _power(pair, made) < _power(pair, rest):
                break
        else:
            break
        settings, rest = other, made
    left = _levels(pair, rest)
    rows, cols = (np.arange(0, n, SQUARE) for n in left.shape[:2])
    products = np.einsum("ahwc,hwc->ahw", slopes, left)
    scores = np.add.reduceat(np.add.reduceat(products, rows, 1), cols, 2).reshape(len(fields), -1).astype(np.float64)
    squares = max(np.count_nonzero(np.abs(scores).sum(axis=0)), 2)
    covariance = inverse @ (scores @ scores.T) @ inverse * (squares / (squares - 1)) + inverse * ROUNDING
    return settings, {field: float(np.sqrt(max(covariance[i, i], 0.0))) for i, field in enumerate(fields)}


def _slope(pair: Pair, remake: Callable[[Any], np.ndarray], settings: Any, field: str) -> np.ndarray:
    """Change of the copy (h, w, channels) with a field."""
    value = getattr(settings, field)
    step = STEP_OF.get(field, 0.05 * abs(value))
    low, high = (remake(replace(settings, **{field: value + sign * step})).astype(np.float32) for sign in (-1, 1))
    return _levels(pair, high - low) / np.float32(2 * step)


def _limited(settings: Any, field: str, change: float) -> float:
    """The value of a field after a step that is not too large."""
    value = float(getattr(settings, field))
    most = 20 * STEP_OF[field] if field in STEP_OF else 0.1 * abs(value)
    return value + min(max(change, -most), most)


def _power(pair: Pair, rest: np.ndarray) -> float:
    values = rest[pair.mask]
    return float(np.mean(values * values))


def _levels(pair: Pair, values: np.ndarray) -> np.ndarray:
    return np.where(pair.mask[..., None], in_colour(values), np.float32(0))
