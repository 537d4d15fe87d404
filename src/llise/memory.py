"""Memory that is freed is kept for the next arrays instead of being returned to the system at once."""

from __future__ import annotations

import numpy as np

LARGEST = 31 * 2**20
"""Bytes of a block just below the largest from which the GNU C library learns."""


def keep_freed_memory() -> None:
    """Let the C library keep some memory that is freed."""
    np.empty(LARGEST, np.uint8)
