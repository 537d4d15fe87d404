"""Where the colours of a copy differ."""

from __future__ import annotations

import numpy as np

from llise.diagnosis.colour_blocks import ColourBlocks
from llise.diagnosis.regions import connected_areas

LEAST_CHROMA = 0.45
"""Mean squared chroma error of a block that is more than rounding."""

LEAST_BLOCKS = 6
"""Fewest changed blocks of which an area is judged by itself."""


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
    >>> from llise.diagnosis.colour_areas import colour_areas
    >>> from llise.diagnosis.colour_blocks import measure_blocks
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
