"""Dead rows and columns: lines of one or a few pixels that differ from those beside them along most of their length.

In a picture that has another kind everywhere, a dead line fills too little of each block to stand out, and its pixels
look like impulses.  Looked at along its whole length it cannot be mistaken.
"""

from __future__ import annotations

import numpy as np

from llise.differences import by_block, pixels_of
from llise.kinds.fitting import robust_scale

DISTANCES = (1, 3)
"""Distances in pixels of the lines with which a line is compared, for thin lines and for wider ones."""

FAR, LEAST_FAR = 6.0, 16.0
"""Difference from the lines beside it, against a typical one and in grey levels, from which a pixel is far."""

MOSTLY, MORE = 0.35, 5.0
"""Share of far pixels from which a line is dead, and how many times as large as that of most lines nearby it must be:
noise in a region makes many lines alike."""

NEAR = 16
"""Distance up to which lines are near."""

LEAST_LENGTH, MOST_LINES = 0.7, 0.06
"""Share of a line of the picture that an area must hold, and largest share of the lines that are dead: more are another
fault."""

FEW_ROWS = 96
"""Number of rows, evenly chosen, that are looked at first: a dead column shows in these too."""

NEW = 3.0
"""How many times as much as in the reference a line of the copy must differ from those beside it."""

FAR_IN_BLOCK = 4
"""Far pixels of a dead line in a block from which the line goes through the block."""


def dead_lines(reference: np.ndarray, copy: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Return the blocks of an area through which dead rows or columns go.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    area : ndarray of bool, shape (rows, cols)
        Blocks of the area.

    Returns
    -------
    ndarray of bool, shape (rows, cols)
        Blocks of the lines; none where no line is dead, or many are.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.places.dead_lines import dead_lines
    >>> rng = np.random.default_rng(0)
    >>> image = rng.integers(60, 190, (128, 128)).astype(np.uint8)
    >>> copy = (image + rng.normal(0, 5, image.shape)).astype(np.uint8)
    >>> copy[:, 43] = 255
    >>> np.flatnonzero(dead_lines(image, copy, np.ones((16, 16), bool)).any(axis=0))
    array([5])
    """
    before, error = reference.astype(np.int16), np.subtract(copy, reference, dtype=np.int16)
    inside = pixels_of(area, copy.shape)
    found = np.zeros_like(area)
    for turned in (False, True):
        here = [values.T if turned else values for values in (before, error, inside)]
        if min(here[0].shape) > 2 * max(DISTANCES):
            hit = _far_pixels_of_dead_columns(*here)
            found |= np.count_nonzero(by_block(hit.T if turned else hit), axis=-1) >= FAR_IN_BLOCK
    return found & area


def _far_pixels_of_dead_columns(reference: np.ndarray, error: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Pixels of dead columns that are far from the columns beside them."""
    far = np.zeros(error.shape, bool)
    if not any(_may_be_dead(error[:: len(error) // FEW_ROWS or 1], distance) for distance in DISTANCES):
        return far
    for distance in DISTANCES:
        apart = np.abs(_apart(error, distance))
        typical = robust_scale(apart[:: 1 + len(apart) // 64]) / 2
        chosen = apart > 2 * (FAR * typical + LEAST_FAR)
        if not chosen.any():
            continue
        # At an edge, or at the border of a region, the columns on both sides differ too.
        chosen &= 2 * np.abs(error[:, : -2 * distance] - error[:, 2 * distance :]) < apart
        # A thin line of the reference that was blurred, or made stronger, is no dead one.
        own = _apart(reference, distance)
        chosen &= np.abs(own + _apart(error, distance)) > NEW * np.abs(own)
        far[:, distance:-distance] |= chosen
    far &= inside
    count = np.count_nonzero(inside, axis=0)
    share = np.count_nonzero(far, axis=0) / np.maximum(count, 1)
    used = count >= LEAST_LENGTH * len(error)
    if not used.any():
        return np.zeros_like(far)
    around = np.lib.stride_tricks.sliding_window_view(np.pad(share, NEAR, mode="reflect"), 2 * NEAR + 1)
    dead = used & (share > np.maximum(MOSTLY, MORE * np.median(around, axis=1)))
    return far & dead if np.count_nonzero(dead) <= MOST_LINES * np.count_nonzero(used) else np.zeros_like(far)


def _may_be_dead(error: np.ndarray, distance: int) -> bool:
    """Whether some column is far from those beside it in enough of a few rows."""
    apart = np.abs(_apart(error, distance))
    far = apart > 2 * (FAR * robust_scale(apart) / 2 + LEAST_FAR)
    return bool(np.count_nonzero(far, axis=0).max(initial=0) >= MOSTLY / 2 * len(error))


def _apart(values: np.ndarray, distance: int) -> np.ndarray:
    """Twice the difference of each column from the mean of those at a distance on both sides."""
    return 2 * values[:, distance:-distance] - values[:, : -2 * distance] - values[:, 2 * distance :]
