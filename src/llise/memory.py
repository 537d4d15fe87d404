"""Memory that is freed is kept for the next arrays instead of being returned to the system at once."""

from __future__ import annotations

import numpy as np

LARGEST = 31 * 2**20
"""Bytes of a block just below the largest from which the GNU C library learns."""


def keep_freed_memory() -> None:
    """Let the C library keep some memory that is freed.

    The GNU C library keeps up to twice the size of the largest block that was freed so far, and returns the rest to the
    system.  The arrays of a diagnosis are larger than that at first: each step would return its own, and the system
    would clear new ones for the next step.  So one large block is freed here, which is never used and costs nothing.
    Other C libraries do not mind.

    Examples
    --------
    >>> from llise.memory import keep_freed_memory
    >>> keep_freed_memory()
    """
    np.empty(LARGEST, np.uint8)
