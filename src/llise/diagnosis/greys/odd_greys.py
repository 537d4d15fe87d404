"""Changes of greys that no named kind makes: greys that do not follow a table, or one that turns dark and bright round.

Contrast and luminance give each grey level another one and keep their order.  An embossed picture or a vignette has
about the greys of such a change in the mean, but pixels that had the same grey differ; a solarised one has an exact
table, in which brighter greys become darker.
"""

from __future__ import annotations

import numpy as np

from llise.diagnosis.estimates.region_pixels import inner_blocks
from llise.diagnosis.greys.grey_tables import median_table
from llise.differences import by_block

FEWEST = 4
"""Fewest pixels of a grey that tell what it became."""

TOLERANCE = 1
"""Grey levels by which a pixel may differ from a table, as programs round in several ways."""

SOME, LEAST_BLOCKS = 20, 32
"""Pixels of a block up to which it is a little off a table, and fewest blocks that tell."""

OFTEN_A_LITTLE, NEARLY_ALL = 0.3, 0.8
"""Share of blocks that are a little off, and of those that are off at all, from which no table made the copy. Of 500
changes of contrast and luminance on photographs, also below content, none had more than .14 and .36."""

EXACTLY, LEAST_GREYS, FALLING = 0.97, 8, -0.3
"""Share of pixels that must follow a table, fewest greys that it changes, and slope from which it is falling."""


def follows_no_table(reference: np.ndarray, copy: np.ndarray, region: np.ndarray) -> bool:
    """Return whether pixels of the same grey became different ones nearly everywhere in a region.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    region : ndarray of bool, shape (rows, cols)
        Blocks of 8 x 8 pixels.

    Returns
    -------
    bool
        False where only some places differ from a table, as content there does.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.greys.odd_greys import follows_no_table
    >>> image = np.random.default_rng(0).integers(60, 190, (64, 64)).astype(np.uint8)
    >>> darker, uneven = image // 2, image - np.arange(60, dtype=np.uint8).repeat(2)[:64]
    >>> [follows_no_table(image, copy, np.ones((8, 8), bool)) for copy in (darker, uneven)]
    [False, True]
    """
    inside = inner_blocks(region)
    if np.count_nonzero(inside) < LEAST_BLOCKS:
        return False
    before, after = by_block(reference)[inside], by_block(copy)[inside].astype(np.int16)
    table, counts = median_table(before, after)
    off = (np.abs(after - table[before]) > TOLERANCE) & (counts[before] >= FEWEST)
    number = np.count_nonzero(off, axis=1)
    little = float(np.mean((number > 0) & (number <= SOME)))
    return bool(little >= OFTEN_A_LITTLE or np.mean(number > 0) >= NEARLY_ALL)


def turns_greys_round(reference: np.ndarray, copy: np.ndarray, changed: np.ndarray) -> bool:
    """Return whether one table of grey levels made all that differs, in which brighter greys become darker.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    changed : ndarray of bool, shape (rows, cols)
        Blocks that differ.

    Returns
    -------
    bool
        False where few blocks differ, or something else than a table made the copy.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.greys.odd_greys import turns_greys_round
    >>> image = np.random.default_rng(0).integers(60, 250, (64, 64)).astype(np.uint8)
    >>> solarised, brighter = np.where(image > 180, 255 - image, image), image + 5
    >>> [turns_greys_round(image, copy, np.ones((8, 8), bool)) for copy in (solarised, brighter)]
    [True, False]
    """
    if np.count_nonzero(changed) < LEAST_BLOCKS:
        return False
    before, after = by_block(reference)[changed].ravel(), by_block(copy)[changed].ravel().astype(np.int16)
    touched = before != after
    before, after = before[touched], after[touched]
    if not before.size:
        return False
    table, counts = median_table(before, after)
    known = np.flatnonzero(counts >= FEWEST)
    if np.unique(table[known]).size < LEAST_GREYS:  # as even patches leave, each of which makes one grey of many
        return False
    if np.mean(np.abs(after - table[before]) <= TOLERANCE) < EXACTLY:
        return False
    slope = np.polynomial.polynomial.polyfit(known, table[known], 1, w=np.sqrt(counts[known]))[1]
    return bool(slope <= FALLING)
