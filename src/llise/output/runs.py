"""The blocks of a region as runs, a short form for JSON and the report."""

from __future__ import annotations

import numpy as np


def block_runs(region: np.ndarray) -> list[list[int]]:
    """List the runs of neighbouring blocks in each row of a region."""
    edges = np.diff(np.pad(region.astype(np.int8), [(0, 0), (1, 1)]), axis=1)
    rows, firsts = np.nonzero(edges == 1)
    lasts = np.nonzero(edges == -1)[1] - 1
    return np.column_stack([rows, firsts, lasts]).tolist()
