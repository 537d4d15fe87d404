"""Masks that grow and shrink, and their islands, as SciPy's ``ndimage`` computes them, by NumPy alone.

As with :mod:`llise.filters`, a diagnosis so need not wait for SciPy.
"""

from __future__ import annotations

import numpy as np

SQUARE = np.ones((3, 3), bool)
"""A pixel and the eight around it."""


def dilated(mask: np.ndarray, shape: np.ndarray = SQUARE) -> np.ndarray:
    """Return a mask that has grown by a shape.

    Parameters
    ----------
    mask : ndarray of bool, shape (h, w)
        The mask.
    shape : ndarray of bool, shape (n, m)
        What each true entry becomes; the same when it is turned by half a circle, with odd sides.

    Returns
    -------
    ndarray of bool, shape (h, w)
        True within reach of a true entry.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.masks import dilated
    >>> dilated(np.array([[True, False, False]]))
    array([[ True,  True, False]])
    """
    (down, across), (height, width) = (side // 2 for side in shape.shape), mask.shape
    padded = np.pad(mask, [(down, down), (across, across)])
    out = np.zeros_like(mask)
    for top, left in np.argwhere(shape):
        out |= padded[top : top + height, left : left + width]
    return out


def eroded(mask: np.ndarray, shape: np.ndarray = SQUARE, outside: bool = True) -> np.ndarray:
    """Return a mask that has shrunk by a shape.

    Parameters
    ----------
    mask : ndarray of bool, shape (h, w)
        The mask.
    shape : ndarray of bool, shape (n, m)
        As for :func:`dilated`.
    outside : bool
        Whether what lies beyond the border counts as true.

    Returns
    -------
    ndarray of bool, shape (h, w)
        True where all entries within reach are true.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.masks import eroded
    >>> eroded(np.array([[True, True, False]]))
    array([[ True, False, False]])
    """
    if outside:
        return ~dilated(~mask, shape)
    down, across = (side // 2 for side in shape.shape)
    around = np.pad(mask, [(down, down), (across, across)])
    return eroded(around, shape)[down : down + mask.shape[0], across : across + mask.shape[1]]


def closed(mask: np.ndarray, shape: np.ndarray = SQUARE) -> np.ndarray:
    """Return a mask whose gaps that are narrower than a shape are filled.

    Parameters
    ----------
    mask : ndarray of bool, shape (h, w)
        The mask; beyond its border nothing is true, so that less is filled there.
    shape : ndarray of bool, shape (n, m)
        As for :func:`dilated`.

    Returns
    -------
    ndarray of bool, shape (h, w)
        The mask that has grown, then shrunk.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.masks import closed
    >>> closed(np.array([[0, 0, 0, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], bool))[1]
    array([False,  True,  True,  True, False])
    """
    return eroded(dilated(mask, shape), shape, outside=False)


def islands(mask: np.ndarray) -> tuple[np.ndarray, int]:
    """Number the islands of a mask; entries that touch at a corner belong together.

    Parameters
    ----------
    mask : ndarray of bool, shape (h, w)
        The mask.

    Returns
    -------
    numbers : ndarray of int, shape (h, w)
        Number of the island from 1 on, in the order of their first entries; 0 outside.
    count : int
        Number of islands.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.masks import islands
    >>> islands(np.array([[True, False, False], [False, True, False], [False, False, False], [True, True, False]]))
    (array([[1, 0, 0],
           [0, 1, 0],
           [0, 0, 0],
           [2, 2, 0]]), 2)
    """
    starts = mask.copy()
    starts[:, 1:] &= ~mask[:, :-1]
    runs = np.where(mask, starts.cumsum().reshape(mask.shape), 0)  # numbers of the runs along rows
    above, below, starts_below = runs[:-1], *(np.pad(part[1:], [(0, 0), (1, 1)]) for part in (runs, starts))
    pairs = []  # runs that touch, each pair where the later of them starts
    for across in range(3):
        columns = slice(across, across + mask.shape[1])
        meet = (above > 0) & (below[:, columns] > 0) & (starts[:-1] | starts_below[:, columns])
        pairs.append([above[meet], below[:, columns][meet]])
    joined = np.concatenate(pairs, axis=1)
    first = np.arange(runs.max(initial=0) + 1)  # a run of the same island, in the end its first one
    while joined.size:
        ends = first[joined]
        np.minimum.at(first, ends.max(axis=0), ends.min(axis=0))
        while not np.array_equal(first, first[first]):
            first = first[first]
        joined = joined[:, first[joined[0]] != first[joined[1]]]
    numbers = np.cumsum(first == np.arange(len(first))) - 1  # those of first runs, 0 is outside
    return numbers[first][runs], int(numbers[-1])


def boxes(numbers: np.ndarray) -> list[tuple[slice, slice]]:
    """Return the box around each island.

    Parameters
    ----------
    numbers : ndarray of int, shape (h, w)
        As :func:`islands` returned them.

    Returns
    -------
    list of tuple of slice
        Rows and columns of each island.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.masks import boxes
    >>> boxes(np.array([[1, 0], [1, 2]]))
    [(slice(0, 2, None), slice(0, 1, None)), (slice(1, 2, None), slice(1, 2, None))]
    """
    rows, cols = np.nonzero(numbers)
    which = numbers[rows, cols] - 1
    count = int(numbers.max(initial=0))
    sides = []
    for at, length in zip((rows, cols), numbers.shape):
        low, high = np.full(count, length), np.zeros(count, int)
        np.minimum.at(low, which, at)
        np.maximum.at(high, which, at + 1)
        sides.append([slice(int(start), int(stop)) for start, stop in zip(low, high)])
    return list(zip(*sides))
