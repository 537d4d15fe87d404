"""Blocks that differ far more than what lies around them: something else was added there.

A kind that is everywhere explains the error of most blocks.  Left over are the error less a curve of grey levels, and
without single pixels that stand out; its power grows with the detail of the reference.  Blocks in which it is many
times as large as the kind around them makes it have a fault of their own.
"""

from __future__ import annotations

import numpy as np

from llise.diagnosis.features.block_values import block_pixels, full_blocks
from llise.differences import BLOCK, by_block
from llise.filters import greatest_around
from llise.kinds.fitting import sum_of_middle_neighbours
from llise.masks import closed, eroded, islands

FAR = 8.0
"""Power of the error, against that which blocks of the same detail have, from which a block stands out."""

LEAST_POWER = 60.0
"""The least such power, in squared grey levels."""

TYPICAL = 0.85
"""Quantile of the power that counts as what the kind around makes."""

LEAST_SHARE = 0.2
"""Share of the pixels of a block that must be far off; single pixels are impulses."""

LARGEST = 0.4
"""Largest share of an area that may stand out from it."""

LEAST_AREA = 40
"""Fewest blocks of an area that tell what is typical of it."""

LEAST_BLOCKS, MANY_BLOCKS, FEW_FURTHER = 4, 6, 4.0
"""Fewest blocks that stand out together, and how many they are so that it is enough; of fewer, two must stand out by so
much more."""

DENSE = 0.6
"""Share of the pixels of a block that differ where a fault is everywhere in it."""


def without_ends(reference: np.ndarray, copy: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Return an area without the blocks at the border of the picture in which its fault ends.

    Beyond a block at the border there is none that could tell that it is faulty only in part. Its outermost pixels do:
    they equal the reference, beside a block that is faulty everywhere.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    area : ndarray of bool, shape (rows, cols)
        Blocks of the area.

    Returns
    -------
    ndarray of bool, shape (rows, cols)
        The blocks that are left.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.places.outliers import without_ends
    >>> picture = np.zeros((32, 32), np.uint8)
    >>> copy = picture.copy()
    >>> copy[:30] = 9
    >>> without_ends(picture, copy, np.ones((4, 4), bool)).sum(axis=1)
    array([4, 4, 4, 0])
    """
    ends = np.zeros_like(area)
    for before, after, end in ((reference, copy, ends), (reference.T, copy.T, ends.T)):
        starts = np.arange(0, before.shape[1], BLOCK)
        for side, beside in ((0, 1), (-1, len(end) - 2)) if len(end) > 1 else ():
            inner = slice(beside * BLOCK, (beside + 1) * BLOCK)
            dense = by_block(after[inner] != before[inner])[0].mean(axis=-1) >= DENSE
            end[side] |= dense & np.logical_and.reduceat(after[side] == before[side], starts)
    return area & ~ends


def outliers(
    reference: np.ndarray,
    copy: np.ndarray,
    area: np.ndarray,
    typical: float = TYPICAL,
    least_power: float = LEAST_POWER,
    curve: bool = True,
) -> np.ndarray:
    """Return the blocks of an area that differ far more than the others.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    area : ndarray of bool, shape (rows, cols)
        Blocks of the area.
    typical : float
        Quantile of the power of the error that counts as typical of the area.
    least_power : float
        Least power of the error of a block that stands out.
    curve : bool
        Whether a curve of grey levels, which the area may follow, is taken from the error first.

    Returns
    -------
    ndarray of bool, shape (rows, cols)
        Blocks that stand out; none where they are few or most of the area.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.places.outliers import outliers
    >>> rng = np.random.default_rng(0)
    >>> picture = rng.integers(90, 110, (128, 128)).astype(np.uint8)
    >>> copy = (picture + rng.normal(0, 4, picture.shape)).astype(np.uint8)
    >>> copy[40:64, 40:80] = 200
    >>> int(outliers(picture, copy, np.ones((16, 16), bool)).sum())
    15
    """
    # Blocks on the rim of an area may be faulty only in part.
    core = eroded(area)
    none = np.zeros_like(area)
    if core.sum() < LEAST_AREA:
        return none
    rest, detail = _rest(full_blocks(reference), full_blocks(copy), core, curve)
    power = np.einsum("rcp,rcp->rc", rest, rest) / rest.shape[-1]
    usual = np.full(core.shape, np.inf)
    classes = np.digitize(detail, np.quantile(detail[core], (0.25, 0.5, 0.75)))
    for number in range(4):
        here = core & (classes == number)
        if here.sum() >= LEAST_AREA // 4:
            usual[here] = np.quantile(power[here], typical)
    bound = FAR * usual + least_power
    far = core & (power > bound)
    far[far] = np.mean(rest[far] ** 2 > bound[far][:, None] / 4, axis=-1) >= LEAST_SHARE
    if not far.any():
        return none
    far = closed(np.pad(far, 1))[1:-1, 1:-1] & core
    numbers, count = islands(far)
    for number in range(1, count + 1):
        island = numbers == number
        few = island.sum() < MANY_BLOCKS and np.count_nonzero(island & (power > FEW_FURTHER * bound)) < 2
        if few or island.sum() < LEAST_BLOCKS:
            far[island] = False
    return far if far.sum() <= LARGEST * core.sum() else none


def _rest(reference: np.ndarray, copy: np.ndarray, area: np.ndarray, follow: bool) -> tuple[np.ndarray, np.ndarray]:
    """Error of each block (rows, cols, 64), beyond a curve of grey levels or all of it, and detail of the reference."""
    change = np.subtract(copy, reference, dtype=np.int16)
    around = sum_of_middle_neighbours(change)  # twice their median
    lonely = np.abs(2 * change - around) > 40 + 3 * np.abs(around)
    error = block_pixels(np.where(lonely, np.float32(0.5) * around, change).astype(np.float32))
    own = block_pixels(reference).astype(np.float32)
    rest = error - _curve(error, (own - 128) / 64, area.ravel()) if follow else error
    inside = own - own.mean(axis=1, keepdims=True)
    detail = np.sqrt(np.einsum("bp,bp->b", inside, inside) / own.shape[1]).reshape(area.shape)
    return rest.reshape(*area.shape, -1), greatest_around(detail)


def _curve(error: np.ndarray, grey: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The cubic of the grey levels that most errors of the chosen blocks follow, at the pixels of all blocks."""
    sample, at = error[chosen, ::7].ravel(), grey[chosen, ::7].ravel()
    powers = np.stack([np.ones_like(at), at, at * at, at * at * at])
    curve = np.zeros(4)
    for _ in range(3):  # without the pixels that the last curve leaves far off
        rest = np.abs(sample - curve.astype(np.float32) @ powers)
        near = rest <= np.quantile(rest, 0.9)
        used = powers * near
        ridge = 1e-2 * np.diag([0, 1, 1, 1]) * np.count_nonzero(near)
        curve = np.linalg.solve(used @ powers.T + ridge, used @ sample)
    start, slope, bend, twist = curve.astype(np.float32)
    return ((twist * grey + bend) * grey + slope) * grey + start
