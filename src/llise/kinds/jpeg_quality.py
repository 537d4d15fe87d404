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
    quality_of,
    quality_table,
    scale_of,
)

QUALITIES = np.arange(1, 101)
"""Qualities that are tried."""

WELL_CODED, ROUNDED = 27.0, 0.85
"""Cost of a table, and its share of that of no coding at all, between which other ways of rounding are tried."""

FINER = 0.85
"""Share of the cost of a whole quality's table up to which the standard table with another factor is preferred to
it."""

TIE = 0.02
"""Cost of a step that is e times as large as a likely one."""

ROUNDINGS = (0.46, 0.42, 0.375, 0.333, 0.3)
"""What a coder may add to a number of steps before its fraction is cut off, besides one half."""

COMB_BLOCKS = 130
"""Blocks from which single steps are found; every so many of those that are compared."""

MOST_BLOCKS = 400
"""Blocks whose coefficients are compared; of more, an even choice is taken."""

UNEVEN, LEAST_UNEVEN = 4.0, 16
"""Range of greys of a block from which it tells steps, and the fewest such blocks without clipped pixels: if there are
fewer, clipped ones are compared too."""

_BLOCK = 8
_LEVEL = 128.0 * _BLOCK
_DEVIATION = np.float32(1.2 * np.sqrt(ROUNDING))
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
    """Cosine coefficients of the blocks of two images.

    Attributes
    ----------
    before, after : ndarray of float32, shape (n, 64)
        Coefficients; those of block means are relative to mid-grey, as the coder has them.
    deviations : ndarray of float32, shape (n, 64)
        By how much rounding to whole grey levels moves coefficients of `after`. All pixels of an even block are rounded
        alike, so that its mean is moved most.
    """

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
        self.deviations = np.full(self.after.shape, _DEVIATION)
        self.deviations[np.ptp(after_pixels[chosen], axis=1) == 0, 0] *= _BLOCK

    def nearest_table(self) -> tuple[float, np.ndarray, float]:
        """Return the quality, table and rounding with which coding `before` comes nearest to `after`."""
        if self.before.size == 0:
            return 100.0, quality_table(100), 0.5
        largest = np.float32(16 * np.median((self.after - self.before) ** 2) + 400)

        by_step = self._by_step
        costs = _by_table(by_step).tolist()
        index = int(np.argmin(costs))
        if costs[index] < 64 * 0.5:
            return *_answer(index), 0.5
        quality, finer = _finer_quality(by_step, index)
        if finer[0] > FINER * costs[index]:
            quality, finer = float(QUALITIES[index]), (costs[index], _TABLES[index], 0.5)
        single = self._single_steps(by_step, 0.5, index)
        choices = [finer, single]
        whole = float(np.minimum((self.after - self.before) ** 2, largest).mean(axis=0).sum())
        if WELL_CODED < single[0] < ROUNDED * whole:
            few = slice(None, None, max(1, len(self.after) // COMB_BLOCKS))
            trials = {r: _costs_by_step(self.before[few], self.after[few], largest, r) for r in ROUNDINGS}
            rounding = min(trials, key=lambda r: float(trials[r].min(axis=0).sum()))
            by_step = _costs_by_step(self.before, self.after, largest, rounding)
            choices.append(self._single_steps(by_step, rounding, index))
        _, table, rounding = min(choices, key=lambda choice: choice[0])
        return quality, table.reshape(_BLOCK, _BLOCK).astype(float), rounding

    def program_table(self, table: np.ndarray, rounding: float) -> tuple[np.ndarray, float]:
        """Steps (64,) and rounding that come nearest, near to those found: of known programs where they do as well."""
        if self.before.size == 0:
            return table, rounding
        steps = table.ravel().astype(np.float32)
        largest = np.float32(16 * np.median((self.after - self.before) ** 2) + 400)
        parts = [0.5] if rounding == 0.5 else list(np.arange(0.26, 0.5, 0.01))
        sizes, signed = np.abs(self.before) / steps, np.copysign(1, self.before) * self.after
        rounding = min(parts, key=lambda r: float(np.square(np.floor(sizes + np.float32(r)) * steps - signed).sum()))
        by_step = self._by_step if rounding == 0.5 else _costs_by_step(self.before, self.after, largest, rounding)
        places = np.arange(_BLOCK * _BLOCK)
        costs = by_step[_PROGRAM_TABLES.astype(int) - 1, places].sum(axis=1)
        best = int(costs.argmin())
        nearest, cost = _PROGRAM_TABLES[best], float(costs[best])
        for base in (STANDARD_TABLE, FLATTER_TABLE):  # finer factors
            scale = float(np.median(nearest / base.ravel()))
            fine = np.clip(np.rint(np.linspace(0.97, 1.03, 61)[:, None] * scale * base.ravel()), 1, 255)
            costs = by_step[fine.astype(int) - 1, places].sum(axis=1)
            if costs.min() < cost:
                nearest, cost = fine[int(costs.argmin())].astype(np.float32), float(costs.min())
        found = float(by_step[np.clip(steps, 1, 255).astype(int) - 1, places].sum())
        if cost <= (found + 64 * ROUNDING) / 0.7:
            return nearest, float(rounding)
        return steps, float(rounding)

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
        by_step = _costs_by_step(
            self.before, self.after, np.float32(16 * np.median((self.after - self.before) ** 2) + 400), rounding
        )
        places = np.arange(_BLOCK * _BLOCK)
        tables = np.concatenate([_CHROMA_TABLES, luma[None].astype(np.float32)])
        costs = by_step[tables.astype(int) - 1, places].sum(axis=1)
        best = tables[int(costs.argmin())]
        single = by_step + TIE * np.abs(np.log(_STEPS / best))
        steps = _STEPS[single.argmin(axis=0), 0]
        if float(by_step[steps.astype(int) - 1, places].sum()) / 0.7 < costs.min():
            best = steps
        return best, float(by_step[best.astype(int) - 1, places].sum()) / whole

    @cached_property
    def _by_step(self) -> np.ndarray:
        largest = np.float32(16 * np.median((self.after - self.before) ** 2) + 400)
        return _costs_by_step(self.before, self.after, largest)

    def left_by_coding(self) -> float:
        """Return the share of the error that a coder leaves at least."""
        error = (self.after - self.before) ** 2
        largest = np.float32(16 * np.median(error) + 400) if error.size else np.float32(0)
        whole = float(np.minimum(error, largest).sum())
        left = _costs_by_step(self.before, self.after, largest).min(axis=0).sum() * len(error)
        return float(left) / whole if whole > 0 else 1.0

    def _single_steps(self, by_step: np.ndarray, rounding: float, index: int) -> tuple[float, np.ndarray, float]:
        """Cost, table and rounding, with the best step of each frequency."""
        first = (by_step + TIE * np.abs(np.log(_STEPS / _TABLES[index]))).argmin(axis=0)
        told = (np.rint(self.after / _STEPS[first, 0]) != 0).any(axis=0)
        likely = _power_of_standard(_STEPS[first, 0], told) if told.any() else _TABLES[index]
        by_step = by_step + TIE * np.abs(np.log(_STEPS / likely))
        # A table of one's own must do clearly better than that of a quality.
        return float(by_step.min(axis=0).sum()) / 0.7, _STEPS[by_step.argmin(axis=0), 0], rounding


def _power_of_standard(steps: np.ndarray, told: np.ndarray) -> np.ndarray:
    """The power of the standard table, times a factor, that comes nearest to the steps that are told."""
    design = np.stack([np.ones(_TABLES.shape[1]), np.log(_TABLES[49])], axis=1)
    here = design[told]
    power = np.linalg.solve(here.T @ here + np.diag([1e-3, 1.0]), here.T @ np.log(steps[told]) + [0.0, 1.0])
    return np.clip(np.exp(design @ power), 1, 255).astype(np.float32)


def _by_table(by_step: np.ndarray) -> np.ndarray:
    """Sum for the table of each quality of what is known by step (255, 64)."""
    return by_step[_TABLES.astype(int) - 1, np.arange(_BLOCK * _BLOCK)].sum(axis=1)


def _finer_quality(by_step: np.ndarray, index: int) -> tuple[float, tuple[float, np.ndarray, float]]:
    """Best quality, also a fraction, between the neighbours of a whole one; cost, table and rounding of it."""
    around = QUALITIES[[max(index - 1, 0), min(index + 1, len(QUALITIES) - 2)]]
    low, high = (scale_of(float(quality)) for quality in around)
    for _ in range(2):  # first roughly, then between the neighbours of the best
        scales = np.geomspace(low, high, 41)
        tables = np.clip(np.rint(np.outer(scales, STANDARD_TABLE)), 1, 255).astype(int)
        costs = by_step[tables - 1, np.arange(_BLOCK * _BLOCK)].sum(axis=1)
        best = int(costs.argmin())
        low, high = float(scales[max(best - 1, 0)]), float(scales[min(best + 1, len(scales) - 1)])
    quality = max(quality_of(float(scales[best])), 1.0)
    return quality, (float(costs[best]), tables[best].astype(np.float32), 0.5)


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


def _answer(index: int) -> tuple[float, np.ndarray]:
    return float(QUALITIES[index]), _TABLES[index].reshape(_BLOCK, _BLOCK).astype(float)


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
