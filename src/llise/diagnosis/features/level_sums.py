"""Sums over blocks about grey levels: how noise follows them, how few are left, how flat the copy is, and wavelets.

These tell apart noise that follows the signal, posterising, pixelation and wavelet coders.
"""

from __future__ import annotations

import numpy as np

from llise.diagnosis.features.block_values import flat_counts, small_detail_counts
from llise.diagnosis.features.reference_blocks import BlockValues

SMOOTH_CLASSES = 3
"""Classes of texture of blocks in which the power of noise can be measured without the picture's own detail."""


def noise_by_level(values: BlockValues, error: np.ndarray) -> np.ndarray:
    """Return moments of the error's power and of the grey level.

    Parameters
    ----------
    values : BlockValues
        Blocks of the reference.
    error : ndarray of float32, shape (blocks, 64)
        Error of the copy without impulses.

    Returns
    -------
    ndarray of float32, shape (blocks, 8)
        Sums of the squared error times grey and grey squared; and of smooth blocks the count, x, x**2, y, xy, y**2
        with x and y the logarithms of mean grey and of the error's power.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.level_sums import noise_by_level
    >>> from llise.diagnosis.features.reference_blocks import ReferenceBlocks
    >>> values = ReferenceBlocks(np.full((8, 8), 128, np.uint8)).values(0, 0, 1, 1)
    >>> noise_by_level(values, np.ones((1, 64), np.float32))[0, :3]
    array([0., 0., 1.], dtype=float32)
    """
    grey = values.functions[:, 1]
    square = error * error
    ones = np.ones(error.shape[1], np.float32)
    inside = error - (error @ ones)[:, None] / ones.size
    power = np.einsum("bi,bi->b", inside, inside) / inside.shape[1]
    smooth = (values.texture < SMOOTH_CLASSES).astype(np.float32)
    x = np.log(values.pixels @ ones / ones.size + 8)
    y = np.log(power + np.float32(0.1))
    by_grey = square * grey
    columns = [
        by_grey @ ones, np.einsum("bi,bi->b", by_grey, grey),
        smooth, smooth * x, smooth * x * x, smooth * y, smooth * x * y, smooth * y * y,
    ]  # fmt: skip
    return np.stack(columns, axis=1).astype(np.float32)


def levels_left(values: BlockValues, copy: np.ndarray) -> np.ndarray:
    """Return how many grey levels blocks have, and how far the copy is from a function of the reference's grey level.

    Parameters
    ----------
    values : BlockValues
        Blocks of the reference.
    copy : ndarray, shape (blocks, 64)
        Blocks of the copy.

    Returns
    -------
    ndarray of float32, shape (blocks, 6)
        Number of levels of the copy and of the reference, range of both, and the variation of the copy along the
        pixels in the order of the reference's grey level: it equals the range if a rising curve made the copy; last,
        the same where the reference's level does not change: zero if any curve made it.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.level_sums import levels_left
    >>> from llise.diagnosis.features.reference_blocks import ReferenceBlocks
    >>> picture = np.arange(64, dtype=np.uint8).reshape(8, 8)
    >>> levels_left(ReferenceBlocks(picture).values(0, 0, 1, 1), np.arange(64.0)[None] // 16)[0]
    array([ 4., 64.,  3., 63.,  3.,  0.], dtype=float32)
    """
    places = values.order + 64 * np.arange(len(copy))[:, None]
    along = np.abs(np.diff(copy.ravel().take(places), axis=1)).astype(np.float32)
    ranked = np.sort(copy, axis=1)
    ones = np.ones(along.shape[1], np.float32)
    columns = [
        1 + (np.diff(ranked, axis=1) > 0.5).astype(np.float32) @ ones,
        values.levels[:, 0],
        ranked[:, -1] - ranked[:, 0],
        values.levels[:, 1],
        along @ ones,
        (along * values.same_level) @ ones,
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def flat_and_small(copy: np.ndarray, inner: tuple[slice, slice]) -> np.ndarray:
    """Return how many neighbours are equal in each block, and how many details of wavelet transforms vanish.

    Parameters
    ----------
    copy : ndarray of float32, shape (h, w)
        Blocks with pixels around them.
    inner : tuple of slice
        Where the blocks lie.

    Returns
    -------
    ndarray of float32, shape (blocks, 12)
        The counts of :func:`llise.diagnosis.features.block_values.flat_counts` and of ``small_detail_counts``.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.level_sums import flat_and_small
    >>> flat_and_small(np.zeros((8, 8), np.float32), (slice(0, 8), slice(0, 8))).shape
    (1, 12)
    """
    return np.concatenate([flat_counts(copy, inner), small_detail_counts(copy, inner)], axis=1)
