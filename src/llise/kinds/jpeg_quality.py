"""The quality of a JPEG from the image before it and the decoded image."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from llise.kinds.fitting import ROUNDING
from llise.kinds.jpeg_tables import (
    CHROMA_TABLE,
    COSINES,
    FLATTER_TABLE,
    STANDARD_TABLE,
    VIDEO_TABLE,
    quality_table,
)

QUALITIES = np.arange(1, 101)
"""Qualities that are tried."""

WELL_CODED, ROUNDED = 27.0, 0.85
"""Cost of a table, and its share of that of no coding at all, between which other ways of rounding are tried."""

OWN = 0.7
"""Share of the cost of a known program's table up to which single steps are preferred to it."""

TIE = 0.02
"""Cost of a step that is e times as large as a likely one."""

ROUNDINGS = (0.46, 0.42, 0.375, 0.333, 0.3)
"""What a coder may add to a number of steps before its fraction is cut off, besides one half."""

FEW_BLOCKS, MOST_BLOCKS = 100, 250
"""Blocks on which ways of rounding are compared, and all blocks that are compared; of more, an even choice is taken."""

UNEVEN, LEAST_UNEVEN = 4.0, 16
"""Range of greys of a block from which it tells steps, and the fewest such blocks without clipped pixels: if there are
fewer, clipped ones are compared too."""

_BLOCK = 8
_LEVEL = 128.0 * _BLOCK
_PLACES = np.arange(_BLOCK * _BLOCK)
_STEPS = np.arange(1, 256, dtype=np.float32)[:, None]
_TABLES = np.stack([quality_table(int(quality)).ravel() for quality in QUALITIES]).astype(np.float32)


_CHROMA_TABLES = np.stack([quality_table(int(q), CHROMA_TABLE).ravel() for q in QUALITIES]).astype(np.float32)


_SCALES = np.geomspace(0.03, 25.0, 400)[:, None]
_VIDEO = np.maximum(_SCALES * VIDEO_TABLE.ravel() / 8, 1)
_VIDEO[:, 0] = np.minimum(8, _VIDEO[:, 0])
_PROGRAM_TABLES = np.clip(
    np.rint(np.concatenate([_TABLES, *(_SCALES * base.ravel() for base in (STANDARD_TABLE, FLATTER_TABLE)), _VIDEO])),
    1,
    255,
).astype(np.float32)
"""Tables of whole qualities, and those of several programs times factors."""


class CoefficientPairs:
    """Cosine coefficients (n, 64) of the blocks of two images; those of block means are relative to mid-grey."""

    def __init__(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> None:
        filled = _cut(mask).mean(axis=1)
        after_pixels = _cut(after)
        unclipped = (after_pixels > 0.5).all(axis=1) & (after_pixels < 254.5).all(axis=1)
        full = filled == 1
        chosen = np.flatnonzero(full & unclipped)
        # Even blocks tell nothing but the step of their mean.
        if np.count_nonzero(np.ptp(after_pixels[chosen], axis=1) >= UNEVEN) < LEAST_UNEVEN:
            chosen = np.flatnonzero(full)
        if chosen.size == 0:
            chosen = np.flatnonzero(filled > 0.5 * filled.max())
        chosen = chosen[np.linspace(0, chosen.size - 1, min(chosen.size, MOST_BLOCKS)).astype(int)]
        self.before = _coefficients(_cut(before)[chosen])
        self.after = _coefficients(after_pixels[chosen])
        error = (self.after - self.before) ** 2
        self.largest = np.float32(16 * np.median(error) + 400) if error.size else np.float32(0)
        self.change = float(np.minimum(error, self.largest).mean(axis=0).sum()) if error.size else 0.0

    def nearest_table(self) -> tuple[np.ndarray, float]:
        """Steps (64,) and rounding with which coding comes nearest: those of known programs where they do as well."""
        if self.before.size == 0:
            return quality_table(100).ravel(), 0.5
        table, cost = _nearest_program(self._by_step)
        rounding, by_step = 0.5, self._by_step
        if WELL_CODED < float(by_step.min(axis=0).sum()) / OWN < ROUNDED * self.change and cost > 64 * 0.5:
            few = slice(None, None, max(1, len(self.after) // FEW_BLOCKS))
            costs = {r: _costs_by_step(self.before[few], self.after[few], self.largest, r) for r in (0.5, *ROUNDINGS)}
            rounding = min(costs, key=lambda r: float(costs[r].min(axis=0).sum()))
            if rounding != 0.5:
                rounding = self._rounding(costs[rounding].argmin(axis=0) + 1)
                by_step = _costs_by_step(self.before, self.after, self.largest, rounding)
                table, cost = _nearest_program(by_step)
        single = _single_steps(by_step, table)
        found = float(by_step[single.astype(int) - 1, _PLACES].sum())
        return (table if cost <= (found + 64 * ROUNDING) / OWN else single), rounding

    def _rounding(self, steps: np.ndarray) -> float:
        """The part of a step from which a coder with these steps rounds up, to hundredths."""
        sizes, signed = np.abs(self.before) / steps, np.copysign(1, self.before) * self.after
        errors = {r: np.square(np.floor(sizes + np.float32(r)) * steps - signed).sum() for r in np.arange(26, 50) / 100}
        return float(min(errors, key=lambda r: errors[r]))

    def as_good(self) -> tuple[float, float]:
        """Lowest and highest quality whose tables leave no more than the best one does by chance."""
        if self.before.size == 0:
            return 1.0, 100.0
        costs = _by_table(self._by_step)
        chance = 1 + 3.3 / np.sqrt(self.before.size)  # 5 % of ratios of two sums of as many squares are larger
        good = QUALITIES[costs <= costs.min() * chance + 1e-6]
        return float(good[0]), float(good[-1])

    def chroma_table(self, luma: np.ndarray, rounding: float) -> tuple[np.ndarray, float]:
        """Steps (64,) that come nearest: of a quality, those of luma, or others; and the share of the change left."""
        whole = float(np.square(self.after - self.before).mean(axis=0).sum()) if self.before.size else 0.0
        if whole == 0:
            return luma, 0.0
        by_step = _costs_by_step(self.before, self.after, self.largest, rounding)
        tables = np.concatenate([_CHROMA_TABLES, luma[None].astype(np.float32)])
        costs = by_step[tables.astype(int) - 1, _PLACES].sum(axis=1)
        best = tables[int(costs.argmin())]
        steps = _single_steps(by_step, best)
        if float(by_step[steps.astype(int) - 1, _PLACES].sum()) / OWN < costs.min():
            best = steps
        return best, float(by_step[best.astype(int) - 1, _PLACES].sum()) / whole

    @cached_property
    def _by_step(self) -> np.ndarray:
        return _costs_by_step(self.before, self.after, self.largest)

    def left_by_coding(self) -> float:
        """Return the share of the error that a coder leaves at least."""
        return float(self._by_step.min(axis=0).sum()) / self.change if self.change > 0 else 1.0


def _single_steps(by_step: np.ndarray, likely: np.ndarray) -> np.ndarray:
    """The best step of each frequency, of equal ones the nearest to a likely one."""
    return _STEPS[(by_step + TIE * np.abs(np.log(_STEPS / likely))).argmin(axis=0), 0]


def _nearest_program(by_step: np.ndarray) -> tuple[np.ndarray, float]:
    """The table (64,) of a known program that comes nearest, and its cost."""
    costs = by_step[_PROGRAM_TABLES.astype(int) - 1, _PLACES].sum(axis=1)
    nearest, cost = _PROGRAM_TABLES[int(costs.argmin())], float(costs.min())
    for base in (STANDARD_TABLE, FLATTER_TABLE):  # finer factors
        scale = float(np.median(nearest / base.ravel()))
        fine = np.clip(np.rint(np.linspace(0.97, 1.03, 61)[:, None] * scale * base.ravel()), 1, 255)
        costs = by_step[fine.astype(int) - 1, _PLACES].sum(axis=1)
        if costs.min() < cost:
            nearest, cost = fine[int(costs.argmin())].astype(np.float32), float(costs.min())
    return nearest, cost


def _by_table(by_step: np.ndarray) -> np.ndarray:
    """Sum for the table of each quality of what is known by step (255, 64)."""
    return by_step[_TABLES.astype(int) - 1, _PLACES].sum(axis=1)


def _costs_by_step(before: np.ndarray, after: np.ndarray, largest: np.float32, rounding: float = 0.5) -> np.ndarray:
    """Mean squared distance (255, 64) of `after` from multiples of each step next to `before`, by frequency."""
    count, frequencies = before.shape
    at_zero = np.minimum(after * after, largest)
    costs = np.tile(at_zero.sum(axis=0, dtype=np.float64), (len(_STEPS), 1))
    # Frequency by frequency, and all coefficients before the coder made positive.
    size, after, at_zero = (part.T.ravel() for part in (np.abs(before), np.copysign(1, before) * after, at_zero))
    frequency = np.arange(frequencies).repeat(count)
    for first in 2 ** np.arange(8):
        run = slice(first - 1, 2 * first - 1)
        seen = np.flatnonzero(size >= np.float32((1 - rounding) * first))
        size, after, at_zero, frequency = (part[seen] for part in (size, after, at_zero, frequency))
        start = np.searchsorted(frequency, np.arange(frequencies))
        present = np.flatnonzero(np.diff(start, append=seen.size))
        changes = _multiples(size / _STEPS[run], rounding)
        changes *= _STEPS[run]  # in place: these are the largest arrays
        changes -= after
        changes *= changes
        np.minimum(changes, largest, out=changes)
        changes -= at_zero
        costs[run, present] += np.add.reduceat(changes, start[present], axis=1)
    return costs / count


def _multiples(numbers: np.ndarray, rounding: float) -> np.ndarray:
    """Positive numbers rounded up from a given part on, in place."""
    if rounding == 0.5:
        return np.rint(numbers, out=numbers)
    numbers += np.float32(rounding)
    return np.floor(numbers, out=numbers)


def nearest_quality(steps: Sequence[int]) -> float:
    """Quality of the standard luma table that comes nearest to steps (64,), low frequencies first."""
    return float(QUALITIES[_nearest(np.asarray(steps, np.float32))])


def _nearest(table: np.ndarray) -> int:
    """Index of the standard table nearest to another one, low frequencies first."""
    weight = 1 / (1 + np.add.outer(np.arange(_BLOCK), np.arange(_BLOCK)).ravel())
    return int(np.argmin([float((weight * np.abs(np.log(table / own))).sum()) for own in _TABLES]))


def _cut(image: np.ndarray) -> np.ndarray:
    rows, cols = (n // _BLOCK for n in image.shape)
    cut = image[: rows * _BLOCK, : cols * _BLOCK].reshape(rows, _BLOCK, cols, _BLOCK)
    return cut.swapaxes(1, 2).reshape(rows * cols, _BLOCK * _BLOCK)


def _coefficients(pixels: np.ndarray) -> np.ndarray:
    coefficients = pixels.astype(np.float64) @ COSINES
    coefficients[:, 0] -= _LEVEL
    return coefficients.astype(np.float32)
