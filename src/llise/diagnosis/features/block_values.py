"""Values of the 8 x 8 blocks of a picture: their pixels, the steps between neighbours, where these are equal."""

from __future__ import annotations

import numpy as np

from llise.diagnosis.features.wavelet import IRREVERSIBLE, REVERSIBLE, small_details
from llise.differences import BLOCK

_ROW, _COLUMN = np.divmod(np.arange(BLOCK * BLOCK), BLOCK)
_LAST_COLUMN = (_COLUMN == BLOCK - 1).astype(np.float32)
_LAST_ROW = (_ROW == BLOCK - 1).astype(np.float32)
_ON_LINES = np.stack([_LAST_COLUMN, 1 - _LAST_COLUMN, _LAST_ROW, 1 - _LAST_ROW], axis=1)


def full_blocks(picture: np.ndarray) -> np.ndarray:
    """Return a picture whose last row and column are repeated so that all blocks are full.

    Parameters
    ----------
    picture : ndarray, shape (h, w)
        A picture.

    Returns
    -------
    ndarray, shape (8 * rows, 8 * cols)
        The picture in full blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.block_values import full_blocks
    >>> full_blocks(np.zeros((20, 8))).shape
    (24, 8)
    """
    height, width = picture.shape
    if height % BLOCK == width % BLOCK == 0:
        return picture
    return np.pad(picture, [(0, -height % BLOCK), (0, -width % BLOCK)], mode="edge")


def with_halo(picture: np.ndarray, box: tuple[int, int, int, int], halo: int) -> tuple[np.ndarray, tuple[slice, slice]]:
    """Cut a box of blocks out of a picture together with pixels around it.

    Parameters
    ----------
    picture : ndarray, shape (8 * rows, 8 * cols)
        A picture in full blocks.
    box : tuple of int
        Top, left, bottom and right in blocks.
    halo : int
        Pixels around the box, fewer where the picture ends.

    Returns
    -------
    part : ndarray
        The box and its surroundings.
    inner : tuple of slice
        Where in the part the box lies.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.block_values import with_halo
    >>> part, inner = with_halo(np.zeros((64, 64)), (0, 3, 2, 5), 4)
    >>> part.shape, inner
    ((20, 24), (slice(0, 16, None), slice(4, 20, None)))
    """
    top, left, bottom, right = (BLOCK * side for side in box)
    north, west = max(top - halo, 0), max(left - halo, 0)
    inner = slice(top - north, bottom - north), slice(left - west, right - west)
    return picture[north : bottom + halo, west : right + halo], inner


def block_pixels(values: np.ndarray) -> np.ndarray:
    """Return rows of the 64 pixels of each block.

    Parameters
    ----------
    values : ndarray, shape (8 * rows, 8 * cols)
        A picture in full blocks.

    Returns
    -------
    ndarray, shape (rows * cols, 64)
        Pixels of each block, row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.block_values import block_pixels
    >>> block_pixels(np.arange(128).reshape(8, 16))[1, :8]
    array([ 8,  9, 10, 11, 12, 13, 14, 15])
    """
    rows, cols = values.shape[0] // BLOCK, values.shape[1] // BLOCK
    return values.reshape(rows, BLOCK, cols, BLOCK).swapaxes(1, 2).reshape(rows * cols, BLOCK * BLOCK)


def block_totals(values: np.ndarray) -> np.ndarray:
    """Return the sum of the pixels of each block.

    Parameters
    ----------
    values : ndarray, shape (8 * rows, 8 * cols)
        A picture in full blocks: floats, or small whole numbers whose sums over 8 pixels fit into their type.

    Returns
    -------
    ndarray of float32, shape (rows * cols,)
        Sums, row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.block_values import block_totals
    >>> block_totals(np.ones((8, 16), np.uint8))
    array([64., 64.], dtype=float32)
    """
    small = np.uint8 if values.dtype == bool else values.dtype
    down = values.reshape(-1, BLOCK, values.shape[1]).sum(axis=1, dtype=small)
    return down.reshape(-1, BLOCK).astype(np.float32) @ np.ones(BLOCK, np.float32)


def squared_steps(values: np.ndarray, inner: tuple[slice, slice]) -> np.ndarray:
    """Return sums of squared steps between neighbouring pixels of each block.

    Parameters
    ----------
    values : ndarray, shape (h, w)
        Blocks with pixels around them; there is no step beyond the last row and column.
    inner : tuple of slice
        Where the blocks lie.

    Returns
    -------
    ndarray of float32, shape (blocks, 4)
        Steps to the right across the line between two blocks, to the right inside the block, and both downwards.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.block_values import squared_steps
    >>> picture = np.repeat(np.float32([[0, 2]]), 8, axis=1).repeat(8, axis=0)
    >>> squared_steps(picture, (slice(0, 8), slice(0, 16)))[0]
    array([32.,  0.,  0.,  0.], dtype=float32)
    """
    across, down = np.zeros_like(values), np.zeros_like(values)
    np.subtract(values[:, 1:], values[:, :-1], out=across[:, :-1])
    np.subtract(values[1:], values[:-1], out=down[:-1])
    right, below = (block_pixels(step[inner]) for step in (across, down))
    return np.concatenate([(right * right) @ _ON_LINES[:, :2], (below * below) @ _ON_LINES[:, 2:]], axis=1)


def flat_counts(values: np.ndarray, inner: tuple[slice, slice]) -> np.ndarray:
    """Return how many pixels of each block equal their neighbours.

    Parameters
    ----------
    values : ndarray, shape (h, w)
        Blocks with pixels around them; the last row and column count as equal to what lies beyond.
    inner : tuple of slice
        Where the blocks lie.

    Returns
    -------
    ndarray of float32, shape (blocks, 4)
        Pixels that equal the next one to the right, the next two, the next one below, the next two.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.block_values import flat_counts
    >>> flat_counts(np.repeat(np.float32([[0, 1, 2, 3]]), 2, axis=1).repeat(8, axis=0), (slice(0, 8), slice(0, 8)))[0]
    array([40., 16., 64., 64.], dtype=float32)
    """
    masks = []
    for axis in (1, 0):
        equal = np.ones(values.shape, bool)
        first = (slice(None), slice(None, -1)) if axis else (slice(None, -1), slice(None))
        second = (slice(None), slice(1, None)) if axis else (slice(1, None), slice(None))
        np.equal(values[second], values[first], out=equal[first])
        twice = equal.copy()
        twice[first] &= equal[second]
        masks += [equal, twice]
    return count_true([mask[inner] for mask in masks])


def count_true(masks: list[np.ndarray]) -> np.ndarray:
    """Return how many entries are true in each block.

    Parameters
    ----------
    masks : list of ndarray of bool, shape (8 * rows, 8 * cols)
        Several masks of the pixels of a picture in full blocks.

    Returns
    -------
    ndarray of float32, shape (rows * cols, n_masks)
        Counts.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.block_values import count_true
    >>> count_true([np.eye(8, dtype=bool), np.ones((8, 8), bool)])
    array([[ 8., 64.]], dtype=float32)
    """
    rows, cols = (side // BLOCK for side in masks[0].shape)
    counts = np.empty((rows * cols, len(masks)), np.float32)
    for number, mask in enumerate(masks):
        along = np.bitwise_count(np.ascontiguousarray(mask).view(np.uint64))  # eight pixels of a row at once
        counts[:, number] = along.reshape(rows, BLOCK, cols).sum(axis=1, dtype=np.uint8).ravel()
    return counts


def small_detail_counts(values: np.ndarray, inner: tuple[slice, slice]) -> np.ndarray:
    """Return how many details of the 5/3 and 9/7 wavelet transforms vanish in each block.

    Parameters
    ----------
    values : ndarray of float32, shape (h, w)
        Blocks with pixels around them; the first row and column lie on a block's border.
    inner : tuple of slice
        Where the blocks lie.

    Returns
    -------
    ndarray of float32, shape (blocks, 8)
        For both transforms the counts of :func:`llise.diagnosis.features.wavelet.small_details`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.block_values import small_detail_counts
    >>> small_detail_counts(np.zeros((8, 8), np.float32), (slice(0, 8), slice(0, 8)))[0, :4]
    array([32., 16.,  8.,  4.], dtype=float32)
    """
    counts = []
    for steps in (REVERSIBLE, IRREVERSIBLE):
        for band, side in zip(small_details(values, steps), (4, 4, 2, 2)):
            rows, cols = (slice(part.start // BLOCK * side, part.stop // BLOCK * side) for part in inner)
            here = band[rows, cols]
            by_row = here.reshape(-1, side, here.shape[1]).sum(axis=1, dtype=np.uint8)
            counts.append(by_row.reshape(-1, side).sum(axis=1, dtype=np.uint8))
    return np.stack(counts, axis=1).astype(np.float32)
