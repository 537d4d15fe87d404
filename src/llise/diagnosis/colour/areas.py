"""Where the colours of a copy differ."""

from __future__ import annotations

import numpy as np
import scipy

from llise.colours import TO_PLANES
from llise.diagnosis.colour.blocks import ColourBlocks
from llise.diagnosis.regions import connected_areas

LEAST_CHROMA = 0.45
"""Mean squared chroma error of a block that is more than rounding."""

LEAST_BLOCKS = 6
"""Fewest changed blocks of which an area is judged by itself."""

ODD_SHIFT, ODD_DOUBTS = 2.0, 4.0
"""Shift of a block's chroma, in levels and in standard errors, that does not go with that of the others."""

ODD_ERROR = 5.0
"""Chroma error of a block, as a multiple of the median, that does not go with that of the others."""

WINDOW = 5
"""Side, in blocks, of the window in which most blocks must be odd."""

LEAST_PART, MOST_PART = 0.03, 0.7
"""Shares of an area that a part of it may have."""

LEAST_INSIDE, MOST_OUTSIDE = 0.75, 0.1
"""Shares of odd blocks inside and outside a part."""


def colour_areas(blocks: ColourBlocks) -> list[np.ndarray]:
    """Find the areas whose chroma differs beyond rounding.

    Parameters
    ----------
    blocks : ColourBlocks
        Measurements of reference and copy.

    Returns
    -------
    list of ndarray of bool, shape (rows, cols)
        Areas that are large enough to be judged, the largest first.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.areas import colour_areas
    >>> from llise.diagnosis.colour.blocks import measure_blocks
    >>> image = np.full((64, 64, 3), 90, np.uint8)
    >>> copy = image.copy()
    >>> copy[:32, :32, 0] = 120
    >>> [int(area.sum()) for area in colour_areas(measure_blocks(image, copy))]
    [16]
    """
    wrong = blocks.chroma_mse > LEAST_CHROMA
    if np.count_nonzero(wrong) < LEAST_BLOCKS:
        return []
    areas = [
        area
        for area in connected_areas(wrong)
        if np.count_nonzero(area & wrong) >= LEAST_BLOCKS and (area & blocks.changed).any()
    ]
    return sorted(areas, key=lambda area: -int(area.sum()))


def inner_part(area: np.ndarray, blocks: ColourBlocks) -> np.ndarray | None:
    """Find a part of an area whose colours changed in another way than those of the rest.

    A fault of the luma that is everywhere changes colours everywhere; a colour fault may lie in a region of it.

    Parameters
    ----------
    area : ndarray of bool, shape (rows, cols)
        Blocks whose chroma differs.
    blocks : ColourBlocks
        Measurements of reference and copy.

    Returns
    -------
    ndarray of bool, shape (rows, cols), or None
        The part; None where all of the area changed alike, or where what differs is scattered.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.areas import inner_part
    >>> from llise.diagnosis.colour.blocks import measure_blocks
    >>> rng = np.random.default_rng(0)
    >>> image = np.full((160, 160, 3), 90, np.uint8)
    >>> copy = (image + rng.normal(0, 5, image.shape)).astype(np.uint8)
    >>> inner_part(np.ones((20, 20), bool), measure_blocks(image, copy)) is None
    True
    >>> copy[:80, :80, 0] += 30
    >>> int(inner_part(np.ones((20, 20), bool), measure_blocks(image, copy)).sum())
    100
    """
    near = scipy.ndimage.uniform_filter(area.astype(np.float32), WINDOW, mode="constant")
    for odd in (_odd_shift(area, blocks), area & (blocks.chroma_mse > ODD_ERROR * np.median(blocks.chroma_mse[area]))):
        share = scipy.ndimage.uniform_filter(odd.astype(np.float32), WINDOW, mode="constant")
        part = area & (share > 0.5 * near)
        rest = area & ~part
        if not LEAST_PART * area.sum() <= part.sum() <= MOST_PART * area.sum():
            continue
        if odd[part].mean() >= LEAST_INSIDE and odd[rest].mean() <= MOST_OUTSIDE:
            return part | (odd & scipy.ndimage.binary_dilation(part, np.ones((3, 3), bool)))
    return None


def _odd_shift(area: np.ndarray, blocks: ColourBlocks) -> np.ndarray:
    """Blocks whose mean chroma did not change by the factor and the offset of most others."""
    before, after = ((values @ TO_PLANES[1:].T)[area] for values in (blocks.reference, blocks.copy))
    doubt = blocks.doubt[area]
    weight = np.ones(len(before), np.float32)
    for _ in range(5):
        share = (weight / weight.sum())[:, None]
        middle, middle_after = (share * before).sum(axis=0), (share * after).sum(axis=0)
        x, y = before - middle, after - middle_after
        factor = float((share * x * y).sum() / max(float((share * x * x).sum()), 1e-3))
        error = np.hypot(*(y - factor * x).T)
        weight = 1 / (1 + (error / (1 + 2 * doubt)) ** 2)
    odd = np.zeros_like(area)
    odd[area] = error > ODD_SHIFT + ODD_DOUBTS * doubt
    return odd
