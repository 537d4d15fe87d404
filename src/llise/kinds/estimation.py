"""What the fits of filters and coders share: windows, one plane for many trials, intervals from what a fit leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from llise.kinds.fitting import as_bytes, in_colour

SQUARE = 32
"""Side in pixels of the squares whose residuals are taken as independent of each other."""


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


def intervals_of(
    pair: Pair,
    remake: Callable[[Any], np.ndarray],
    settings: Any,
    beside: Mapping[str, tuple[Any, Any]],
) -> dict[str, tuple[float, float]]:
    """Intervals of 90 % of the words, by the covariance of least squares with dependent errors ("sandwich").

    `beside` has settings somewhat below and above for each word. Residuals of a square go together, those of different
    squares do not (Liang and Zeger 1986). A word cannot be known better than half of what its neighbours differ by if
    these make the copy as well.
    """
    words = settings.words()
    rest = _levels(pair, pair.after - remake(settings))
    slopes, steps = [], []
    for name, (low, high) in beside.items():
        step = high.words()[name] - low.words()[name]
        slopes.append(_levels(pair, remake(high) - remake(low).astype(np.float32)) / np.float32(step or 1))
        steps.append(abs(step))
    result = {name: (value, value) for name, value in words.items()}
    if not slopes:
        return result
    gram = np.array([[float((a * b).sum()) for a in slopes] for b in slopes])
    gram[np.diag_indices(len(gram))] += 1e-9 + 1e-6 * np.trace(gram)
    rows, cols = (np.arange(0, n, SQUARE) for n in rest.shape[:2])
    scores = np.stack([np.add.reduceat(np.add.reduceat((rest * s).sum(2), rows, 0), cols, 1).ravel() for s in slopes])
    inverse = np.linalg.inv(gram)
    squares = max(np.count_nonzero(np.abs(scores).sum(axis=0)), 2)
    covariance = inverse @ (scores @ scores.T) @ inverse * (squares / (squares - 1))
    rounding = np.sqrt(np.diag(inverse) / 12)  # what rounding to whole grey levels leaves
    for i, name in enumerate(beside):
        reach = 1.645 * float(np.hypot(np.sqrt(max(covariance[i, i], 0.0)), rounding[i]))
        reach = min(reach, abs(words[name]) + steps[i]) + 1e-3 * abs(words[name]) + 1e-6
        result[name] = words[name] - reach, words[name] + reach
    return result


def _levels(pair: Pair, values: np.ndarray) -> np.ndarray:
    return np.where(pair.mask[..., None], in_colour(values), np.float32(0))
