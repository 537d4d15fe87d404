"""Areas in which a table of grey levels made the copy, and another table in a part of the area.

Contrast and luminance give each grey level another one, wherever it is.  Where a second change of the greys lies over
the first in a region, the pixels of each block follow one of two tables, so that the border between them is found
exactly; the statistics of tiles hardly show it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llise.differences import by_block
from llise.filters import mean_around
from llise.masks import closed, islands

MOST_TABLES = 3
"""Most tables in one area."""

TOLERANCE = 1
"""Distance of a pixel from a table in grey levels up to which it follows the table: programs round in several ways."""

FOLLOWS = 0.95
"""Share of the pixels of a block that must follow one table."""

NEARLY_ALL, EXACTLY = 0.97, 0.93
"""Share of the pixels that few greys must hold for each grey of the reference, and of the blocks that must follow; and
share of the pixels of a part that must have the very grey of its table."""

LEAST_SLOPE = 0.1
"""Least slope of a table: even blocks, which a coder leaves of a smooth picture, have flat ones."""

LEAST_BLOCKS, LEAST_SHARE = 16, 0.015
"""Fewest blocks of a part, and its least share of the area."""

UNCHANGED, CHANGED = 0.08, 0.75
"""Share of changed blocks up to which a part is a gap between others, and from which a table changed it."""

TILE, STARTS, PASSES, ROUNDS = 6, 8, 12, 3
"""Side in blocks of the tiles whose tables are tried first, how many are tried, how often a table is made anew from the
blocks that follow it, and how often all tables are, after blocks went where their neighbours are."""

FEWEST, REACH, LEAST_GREYS = 3, 24, 8
"""Fewest pixels of a grey that tell what it became, how many such greys tell how a table goes on beyond them, and
fewest greys of a part (as many as would be equally frequent), and of those that two parts must have in common so that
their tables can be compared."""


class TablePart(NamedTuple):
    """A part of an area that follows a table of grey levels.

    Attributes
    ----------
    mask : ndarray of bool, shape (rows, cols)
        Its blocks.
    table : ndarray of int16, shape (256,)
        What each grey level became.
    counts : ndarray of int, shape (256,)
        Number of pixels that had it.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.greys.grey_tables import TablePart
    >>> part = TablePart(np.ones((2, 2), bool), np.arange(256) + 7, np.full(256, 1))
    >>> part.is_shift_of(TablePart(part.mask, np.arange(256), part.counts))
    True
    """

    mask: np.ndarray
    table: np.ndarray
    counts: np.ndarray

    def is_shift_of(self, other: TablePart) -> bool:
        """Return whether this table is another one with all greys shifted by the same number of levels.

        Parameters
        ----------
        other : TablePart
            A part with another table.

        Returns
        -------
        bool
            As far as both have the same greys and neither clips them.
        """
        inside = (self.table > 0) & (self.table < 255) & (other.table > 0) & (other.table < 255)
        common = np.minimum(self.counts, other.counts) * inside
        if common.sum() < FEWEST * LEAST_GREYS or np.count_nonzero(common) < LEAST_GREYS:
            return False
        shift = (self.table - other.table).astype(np.float64)
        usual = float(common @ shift) / float(common.sum())
        return bool(common[np.abs(shift - usual) > TOLERANCE].sum() <= (1 - FOLLOWS) * common.sum())


def divided_by_tables(reference: np.ndarray, copy: np.ndarray, area: np.ndarray) -> list[TablePart]:
    """Divide an area into parts each of which follows a table of grey levels.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    area : ndarray of bool, shape (rows, cols)
        Blocks of the area.

    Returns
    -------
    list of TablePart
        The parts, without those that equal the reference; empty where there are not two tables or more, or something
        else than tables made the copy.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.greys.grey_tables import divided_by_tables
    >>> image = np.random.default_rng(0).integers(60, 190, (128, 128)).astype(np.uint8)
    >>> copy = (0.8 * image + 20).astype(np.uint8)
    >>> copy[32:72, 32:72] += 15
    >>> [int(part.mask.sum()) for part in divided_by_tables(image, copy, np.ones((16, 16), bool))]
    [231, 25]
    """
    least = max(LEAST_BLOCKS, LEAST_SHARE * np.count_nonzero(area))
    if np.count_nonzero(area) < 2 * LEAST_BLOCKS:
        return []
    before, after = by_block(reference)[area], by_block(copy)[area].astype(np.int16)
    if not _has_few_greys(before, after):
        return []
    tile = np.unique(np.argwhere(area) // TILE, axis=0, return_inverse=True)[1].ravel()
    found: list[np.ndarray] = []
    left = np.ones(len(before), bool)
    for _ in range(2 * MOST_TABLES):
        own = _following(before, after, left, tile)
        if np.count_nonzero(own) < least:
            break
        left &= ~own
        found.append(own)
    for _ in range(ROUNDS):
        found = _united(before, after, found)
        if not 2 <= len(found) <= MOST_TABLES:
            return []
        tables = [_table(before[own], after[own]) for own in found]
        shares = np.array([_shares(before, after, table) for table in tables])
        masks = _masks(shares, area, least)
        found = [own for mask in masks if np.count_nonzero(own := mask[area]) >= least]
    exact = all(_is_exact(table, before[own], after[own]) for own, table in zip(found, tables))
    # Blocks at a border follow one table in some pixels and another one in the others.
    if len(found) < len(tables) or not exact or np.mean(shares.sum(axis=0) >= FOLLOWS) < NEARLY_ALL:
        return []
    changed = np.asarray(by_block(reference != copy).any(axis=-1))
    changes = [float(changed[mask].mean()) for mask in masks]
    if any(UNCHANGED < share < CHANGED for share in changes):  # some pixels were hit, as by impulses
        return []
    counts = (np.bincount(before[own].ravel(), minlength=256) for own in found)
    return [TablePart(*part) for part, share in zip(zip(masks, tables, counts), changes) if share >= CHANGED]


def grey_pairs(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Count how often each grey level became each other one.

    Parameters
    ----------
    before, after : ndarray of int, same shape
        Greys of some pixels in the reference and in the copy, 0 to 255.

    Returns
    -------
    ndarray of int, shape (256, 256)
        Rows are greys of the reference.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.greys.grey_tables import grey_pairs
    >>> int(grey_pairs(np.array([7, 7, 9]), np.array([8, 8, 3]))[7, 8])
    2
    """
    return np.bincount((before.astype(np.int32) * 256 + after).ravel(), minlength=1 << 16).reshape(256, 256)


def median_table(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the median of what each grey level became.

    Parameters
    ----------
    before, after : ndarray of int, same shape
        Greys of some pixels in the reference and in the copy, 0 to 255.

    Returns
    -------
    table : ndarray of int16, shape (256,)
        The medians; 0 for greys that no pixel had.
    counts : ndarray of int, shape (256,)
        Number of pixels that had each grey.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.greys.grey_tables import median_table
    >>> table, counts = median_table(np.array([7, 7, 7]), np.array([8, 90, 8]))
    >>> int(table[7]), int(counts[7])
    (8, 3)
    """
    below = grey_pairs(before, after).cumsum(axis=1)
    counts = below[:, -1]
    return (2 * below > counts[:, None]).argmax(axis=1).astype(np.int16), counts


def _has_few_greys(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether nearly all pixels of one grey in the reference have one of very few greys in the copy."""
    pairs = np.pad(grey_pairs(before, after), [(0, 0), (2, 2)])
    held = 0
    for _ in range(MOST_TABLES):
        around = pairs[:, 1:-3] + pairs[:, 2:-2] + pairs[:, 3:-1]
        at = around.argmax(axis=1)[:, None] + np.arange(1, 4)
        held += int(np.take_along_axis(pairs, at, 1).sum())
        np.put_along_axis(pairs, at, 0, 1)
    return held >= NEARLY_ALL * before.size


def _following(before: np.ndarray, after: np.ndarray, left: np.ndarray, tile: np.ndarray) -> np.ndarray:
    """Which of the blocks that are left follow one table: the first is that of a tile with many greys."""
    best = np.zeros(len(before), bool)
    tiles = [np.flatnonzero(left & (tile == number)) for number in np.unique(tile[left])]
    tiles.sort(key=lambda blocks: -int(np.ptp(before[blocks])) * blocks.size)
    for blocks in tiles[:STARTS]:
        if _shares(before[blocks], after[blocks], _table(before[blocks], after[blocks])).mean() < NEARLY_ALL:
            continue  # a border runs through this tile
        own = np.zeros(len(before), bool)
        own[blocks] = True
        for _ in range(PASSES):
            size = np.count_nonzero(own)
            own = left & (_shares(before, after, _table(before[own], after[own])) >= FOLLOWS)
            if not own.any() or np.count_nonzero(own) == size:
                break
        best = max(best, own, key=np.count_nonzero)
        if 2 * np.count_nonzero(best) > np.count_nonzero(left):
            break
    return best


def _table(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The grey that each grey most often became; of greys that are rare, as those beside them go on."""
    pairs = grey_pairs(before, after)
    known = np.flatnonzero(pairs.sum(axis=1) >= FEWEST)
    table = np.interp(np.arange(256), known, pairs[known].argmax(axis=1)) if known.size else np.zeros(256)
    if known.size > 1:
        for beyond, near in ((slice(None, known[0]), known[:REACH]), (slice(known[-1] + 1, None), known[-REACH:])):
            line = np.polynomial.polynomial.polyfit(near, table[near], 1)
            table[beyond] = np.polynomial.polynomial.polyval(np.arange(256)[beyond], line)
    return np.rint(np.clip(table, 0, 255)).astype(np.int16)


def _is_exact(table: np.ndarray, before: np.ndarray, after: np.ndarray) -> bool:
    """Whether nearly all pixels have the very grey of a table, and the table is not flat and of few greys."""
    shares = np.bincount(before.ravel()) / before.size
    if shares @ shares > 1 / LEAST_GREYS:
        return False
    grey = before.ravel().astype(np.float64)
    slope = np.cov(grey, table[before].ravel())[0, 1] / max(float(grey.var()), 1e-9)
    return bool(np.mean(after == table[before]) >= EXACTLY and slope >= LEAST_SLOPE)


def _shares(before: np.ndarray, after: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Share of the pixels of each block that follow a table."""
    return np.mean(np.abs(after - table[before]) <= TOLERANCE, axis=1)


def _united(before: np.ndarray, after: np.ndarray, found: list[np.ndarray]) -> list[np.ndarray]:
    """Groups of blocks, with those in one group whose tables agree as far as they have the same greys."""
    united: list[np.ndarray] = []
    for own in found:
        same = next((number for number, other in enumerate(united) if _agree(before, after, own, other)), None)
        if same is None:
            united.append(own)
        else:
            united[same] = united[same] | own
    return united


def _agree(before: np.ndarray, after: np.ndarray, one: np.ndarray, other: np.ndarray) -> bool:
    common = np.minimum(*(np.bincount(before[own].ravel(), minlength=256) for own in (one, other)))
    common[common < FEWEST] = 0
    far = np.abs(_table(before[one], after[one]) - _table(before[other], after[other])) > TOLERANCE
    return bool(common[far].sum() <= (1 - FOLLOWS) * common.sum())


def _masks(shares: np.ndarray, area: np.ndarray, least: float) -> list[np.ndarray]:
    """Blocks of each table; those that follow several, or are at a border, go where most of their neighbours are."""
    maps = np.zeros((len(shares), *area.shape))
    maps[:, area] = shares
    around = np.array([mean_around(values, 3, "constant") for values in maps])
    labels = np.where(area, (maps + 0.1 * around).argmax(axis=0), -1)
    for number in range(1, len(shares)):
        numbers, _ = islands(closed(np.pad(labels == number, 1, mode="edge"))[1:-1, 1:-1] & area)
        sizes = np.bincount(numbers.ravel())
        labels[labels == number] = 0
        labels[(numbers > 0) & (sizes[numbers] >= least)] = number
    return [labels == number for number in range(len(shares))]
