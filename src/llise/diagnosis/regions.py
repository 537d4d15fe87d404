"""Where a copy differs from its reference: changed blocks are grouped into areas."""

from __future__ import annotations

import numpy as np
import scipy

from llise.diagnosis.features.block_sums import box_of
from llise.masks import closed, dilated, eroded, islands

GAPS = (1, 2, 3, 5, 8)
"""Distances in blocks that are bridged between changed blocks; a larger one is taken while small islands remain."""

SMALL_ISLAND = 4
"""Islands of fewer changed blocks are small."""

MOST_IN_ISLANDS = 0.05
"""Share of the changed blocks that may lie in small islands."""

NEAR = 4
"""Distance in blocks at which a small island belongs to a larger area."""

LEAST_CORE, LEAST_CORE_SHARE = 8, 0.3
"""Fewest blocks of a core, and its least share of the area."""


def disc(radius: int) -> np.ndarray:
    """Return the blocks within a radius.

    Parameters
    ----------
    radius : int
        Radius in blocks.

    Returns
    -------
    ndarray of bool, shape (2 * radius + 1, 2 * radius + 1)
        True inside.

    Examples
    --------
    >>> from llise.diagnosis.regions import disc
    >>> disc(1).sum()
    np.int64(9)
    """
    y, x = np.ogrid[-radius : radius + 1, -radius : radius + 1]
    return x * x + y * y <= radius * radius + radius


def connected_areas(changed: np.ndarray) -> list[np.ndarray]:
    """Group changed blocks into areas, with the unchanged blocks between them.

    Impulses and flat parts leave blocks unchanged, so gaps are bridged: narrow ones first, wider ones while more than
    a few of the changed blocks lie in small islands.  Islands beside a larger area belong to it.

    Parameters
    ----------
    changed : ndarray of bool, shape (rows, cols)
        Blocks that differ beyond rounding, at least one.

    Returns
    -------
    list of ndarray of bool, shape (rows, cols)
        Blocks of each area.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.regions import connected_areas
    >>> changed = np.zeros((20, 20), bool)
    >>> changed[2:6, 2:6] = changed[12:18, 12:18] = True
    >>> [int(area.sum()) for area in connected_areas(changed)]
    [16, 36]
    """
    for gap in GAPS:
        labels, count = islands(dilated(changed, disc(gap)))
        sizes = np.bincount(labels[changed], minlength=count + 1)[1:]
        if sizes[sizes < SMALL_ISLAND].sum() <= MOST_IN_ISLANDS * sizes.sum():
            break
    labels = _with_islands(np.where(changed, labels, 0), sizes)
    areas = (changed & (labels == number) for number in np.unique(labels[changed]))
    # A few hot pixels are where they are, and not between them.
    return [_closed(area, 2 * gap) if np.count_nonzero(area) >= SMALL_ISLAND else area for area in areas]


def _with_islands(labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Give small islands the number of a larger area within :data:`NEAR` blocks."""
    large = np.isin(labels, np.flatnonzero(sizes >= SMALL_ISLAND) + 1)
    if not large.any() or large.sum() == np.count_nonzero(labels):
        return labels
    distance, (rows, cols) = scipy.ndimage.distance_transform_edt(~large, return_indices=True)
    near = (labels > 0) & ~large & (distance <= NEAR)
    return np.where(near, labels[rows, cols], labels)


def _closed(mask: np.ndarray, radius: int) -> np.ndarray:
    """The mask with gaps narrower than twice the radius filled, as far as the picture's border."""
    top, left, bottom, right = box_of(mask)
    box = slice(top, bottom), slice(left, right)
    padded = np.pad(mask[box], radius + 1)
    filled = closed(padded, disc(radius))[radius + 1 : -radius - 1, radius + 1 : -radius - 1]
    out = mask.copy()
    out[box] |= scipy.ndimage.binary_fill_holes(filled) if radius > 2 else filled
    return out


def core_of(area: np.ndarray) -> np.ndarray:
    """Return the blocks of an area without those on its rim, which may be faulty only in part.

    Parameters
    ----------
    area : ndarray of bool, shape (rows, cols)
        Blocks of an area.

    Returns
    -------
    ndarray of bool, shape (rows, cols)
        Blocks all of whose neighbours belong to the area; the whole area where these are few.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.regions import core_of
    >>> area = np.zeros((9, 9), bool)
    >>> area[:, 2:7] = True
    >>> int(area.sum()), int(core_of(area).sum())
    (45, 27)
    """
    core = eroded(area)
    return core if core.sum() >= max(LEAST_CORE, LEAST_CORE_SHARE * area.sum()) else area
