"""The blocks of a region as runs, a short form for JSON and the report."""

from __future__ import annotations

import numpy as np


def block_runs(region: np.ndarray) -> list[list[int]]:
    """List the runs of neighbouring blocks in each row of a region.

    Parameters
    ----------
    region : ndarray of bool, shape (rows, cols)
        Blocks of the region.

    Returns
    -------
    list of [row, first, last]
        Row, first and last column of each run, counted from 0 and both included; row by row, from left to right.

    Examples
    --------
    >>> import numpy as np
    >>> block_runs(np.array([[0, 1, 1, 0], [1, 0, 0, 1]], bool))
    [[0, 1, 2], [1, 0, 0], [1, 3, 3]]
    """
    edges = np.diff(np.pad(region.astype(np.int8), [(0, 0), (1, 1)]), axis=1)
    rows, firsts = np.nonzero(edges == 1)
    lasts = np.nonzero(edges == -1)[1] - 1
    return np.column_stack([rows, firsts, lasts]).tolist()
