"""How a JPEG was coded: grid, tables, subsampling and rounding, from the picture before it and the decoded one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from llise.colours import planes_of
from llise.kinds.estimation import Pair
from llise.kinds.jpeg_coder import FACTORS, SIDE, JpegSettings, coded, enlarged, reduced, steps_of
from llise.kinds.jpeg_quality import CoefficientPairs, nearest_quality
from llise.kinds.jpeg_tables import CHROMA_TABLE, COSINES, STANDARD_TABLE, quality_of, quality_table

WELL = 0.1
"""Share of the error of luma or chroma up to which no other place of the grid is tried."""

GRID_WINDOW, NOUGHT = 80, 1.0
"""Side of the window in which the grid is looked for, and the size of a coefficient that rounding alone makes."""

FEWEST_BLOCKS = 12
"""Fewest blocks without clipped colours; if there are fewer, clipped ones are compared as well."""


_COSINES = COSINES.astype(np.float32)


class Found(NamedTuple):
    """The settings that come nearest, and qualities that might be meant."""

    settings: JpegSettings
    qualities: tuple[float, float]


def find_jpeg(pair: Pair, start: JpegSettings | None = None) -> Found:
    """Settings of the coder of least squared error."""
    found = [_luma(pair, (0, 0))]
    if _share_left(pair, found[0]) > WELL:
        other = _grid(pair)
        if other != (0, 0):
            found.append(_luma(pair, other))
    best = min(found, key=lambda one: _share_left(pair, one))
    settings = best.settings if pair.before.ndim == 2 else _with_chroma(pair, best.settings)
    trials = [settings, *_standard(settings)]
    if start is not None:
        trials.append(start)
    errors = [pair.error(coded(pair.before, one)) for one in trials]
    return best._replace(settings=trials[int(np.argmin(errors))])


def _standard(settings: JpegSettings) -> Iterator[JpegSettings]:
    """Tables of the qualities next to that found, and luma's table for chroma."""
    for quality in {min(max(int(settings.quality) + d, 1), 100) for d in (-1, 0, 1)}:
        luma, chroma = (steps_of(quality_table(quality, base)) for base in (STANDARD_TABLE, CHROMA_TABLE))
        if np.mean(np.asarray(luma) == np.asarray(settings.luma)) > 0.5:
            yield replace(settings, quality=float(quality), luma=luma, chroma=chroma if settings.chroma else ())
    if settings.chroma:
        yield replace(settings, chroma=settings.luma)


def _share_left(pair: Pair, found: Found) -> float:
    """Share of the change of the luma that is left."""
    before, after = (image if image.ndim == 2 else planes_of(image)[..., 0] for image in (pair.before, pair.after))
    luma = Pair(np.clip(np.rint(before), 0, 255).astype(np.uint8), after, pair.mask)
    return luma.error(coded(luma.before, replace(found.settings, chroma=()))) / max(luma.change, 1e-9)


def _grid(pair: Pair) -> tuple[int, int]:
    """Where the first whole block begins: there, most coefficients of the copy are nought."""
    part = Pair(pair.before, pair.after, pair.mask).cut(GRID_WINDOW)
    luma = part.after if part.after.ndim == 2 else planes_of(part.after)[..., 0]
    rows, cols = (n // SIDE - 1 for n in luma.shape)
    shares = np.zeros((SIDE, SIDE))
    for y in range(SIDE):
        for x in range(SIDE):
            blocks = luma[y : y + SIDE * rows, x : x + SIDE * cols].reshape(rows, SIDE, cols, SIDE).swapaxes(1, 2)
            shares[y, x] = np.mean(np.abs(blocks.reshape(-1, SIDE * SIDE) @ _COSINES) < NOUGHT)
    place = int(shares.argmax())
    return place // SIDE, place % SIDE


def _from(image: np.ndarray, offset: tuple[int, int]) -> np.ndarray:
    return image[offset[0] :, offset[1] :]


def _luma(pair: Pair, offset: tuple[int, int]) -> Found:
    """Table and rounding of the luma, with chroma as fine."""
    before, after, mask = (_from(image, offset) for image in pair)
    if before.ndim == 3:
        mask = _unclipped(after, mask)
        before, after = np.rint(planes_of(before)[..., 0]), planes_of(after)[..., 0]
    pairs = CoefficientPairs(before.astype(np.float32), after, mask)
    table, rounding = pairs.nearest_table()
    steps = steps_of(table)
    quality = nearest_quality(steps)
    settings = JpegSettings(quality, steps, rounding=rounding, offset=offset)
    return Found(settings, _qualities(pairs, table, quality))


def _unclipped(after: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Blocks in which no channel is clipped, if there are enough."""
    rows, cols = (n // SIDE * SIDE for n in mask.shape)
    clipped = ((after[:rows, :cols] < 0.5) | (after[:rows, :cols] > 254.5)).any(axis=2)
    blocks = (clipped | ~mask[:rows, :cols]).reshape(rows // SIDE, SIDE, -1, SIDE).any(axis=(1, 3))
    if np.count_nonzero(~blocks) < FEWEST_BLOCKS:
        return mask
    left = np.zeros_like(mask)
    left[:rows, :cols] = ~blocks.repeat(SIDE, 0).repeat(SIDE, 1)
    return left & mask


def _qualities(pairs: CoefficientPairs, table: np.ndarray, quality: float) -> tuple[float, float]:
    """Qualities whose tables do as well as chance allows, or between which the single steps scatter."""
    low, high = pairs.as_good()
    known = (np.rint(pairs.after / table.ravel()) != 0).any(axis=0)
    if known.sum() >= 2 and low > quality - 0.5 + 1e-6 and high < quality + 0.5 - 1e-6:
        return quality - 0.5, quality + 0.5
    ratios = np.log(table.ravel() / STANDARD_TABLE.ravel())[known] if known.any() else np.zeros(1)
    spread = 1.645 * float(ratios.std())
    scales = [float(np.exp(np.median(ratios) + sign * spread)) for sign in (1, -1)]
    ends = [min(max(quality_of(scale), 1.0), 100.0) for scale in scales]
    return min(low, ends[0], quality - 0.5), max(high, ends[1], quality + 0.5)


def _with_chroma(pair: Pair, luma: JpegSettings) -> JpegSettings:
    """With the subsampling and the table of chroma that come nearest."""
    before, after = planes_of(pair.before)[..., 1:] + 128, planes_of(pair.after)[..., 1:] + 128
    mask = _unclipped(pair.after, pair.mask)
    best, least = luma, np.inf
    for subsampling, smooth in (("4:4:4", True), ("4:2:0", True), ("4:2:2", True), ("4:2:0", False), ("4:2:2", False)):
        factors = FACTORS[subsampling]
        if min(n // factor for n, factor in zip(pair.mask.shape, factors)) < SIDE:
            continue
        trials = []
        for offset in _phases(luma.offset, factors):
            settings = replace(luma, subsampling=subsampling, smooth=smooth, offset=offset)
            trials.append(_chroma(settings, before, after, mask, factors))
            if trials[-1][1] <= WELL:
                break
        settings = min(trials, key=lambda trial: trial[1])[0]
        error = pair.error(coded(pair.before, settings))
        if error < 0.98 * least:
            best, least = settings, error
    return best


def _phases(offset: tuple[int, int], factors: tuple[int, int]) -> list[tuple[int, int]]:
    """Places at which a unit with subsampled chroma may begin if blocks of luma begin at an offset."""
    down, across = ([at + SIDE * i for i in range(factor)] for at, factor in zip(offset, factors))
    return [(y, x) for y in down for x in across]


def _chroma(
    settings: JpegSettings, before: np.ndarray, after: np.ndarray, mask: np.ndarray, factors: tuple[int, int]
) -> tuple[JpegSettings, float]:
    """With the table of chroma that comes nearest, and the share of the change of chroma that it leaves."""
    down, across = factors
    top, left = (offset % (SIDE * factor) for offset, factor in zip(settings.offset, factors))
    planes = []
    for i in (0, 1):
        was, now = (np.ascontiguousarray(image[top:, left:, i]) for image in (before, after))
        rows, cols = now.shape[0] // down * down, now.shape[1] // across * across
        was, now = (
            reduced(np.rint(was), down, across),
            _before_enlarging(now[:rows, :cols], down, across, settings.smooth),
        )
        planes.append((was[: now.shape[0], : now.shape[1]], now))
    rows, cols = (n // SIDE * SIDE for n in planes[0][1].shape)
    here = mask[top:, left:][: rows * down, : cols * across].reshape(rows, down, cols, across).all(axis=(1, 3))
    stacked = [np.concatenate([plane[k][:rows, :cols] for plane in planes]) for k in (0, 1)]
    pairs = CoefficientPairs(stacked[0], stacked[1], np.concatenate([here, here]))
    steps, share = pairs.chroma_table(np.asarray(settings.luma), settings.rounding)
    return replace(settings, chroma=steps_of(steps)), share


def _before_enlarging(plane: np.ndarray, down: int, across: int, smooth: bool) -> np.ndarray:
    """The chroma that was enlarged to this one."""
    means = plane.reshape(plane.shape[0] // down, down, -1, across).mean(axis=(1, 3), dtype=np.float32)
    if not smooth:
        return means
    if down > 1:
        means = _inverse(len(means)) @ means
    return means @ _inverse(means.shape[1]).T if across > 1 else means


@lru_cache(64)
def _inverse(n: int) -> np.ndarray:
    """Of enlarging a line of n values to twice as many by a triangle and taking means of two."""
    wide = enlarged(np.eye(n, dtype=np.float32), (2 * n, n), 2, 1, True)
    return np.linalg.inv(wide.reshape(n, 2, n).mean(axis=1)).astype(np.float32)
