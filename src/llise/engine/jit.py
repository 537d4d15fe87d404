"""How every kernel is compiled: no Python objects, the GIL released, cached on disk."""

from __future__ import annotations

import os
from pathlib import Path

import numba

# Sums may be reordered into vector lanes; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}


def _use_writable_cache() -> None:
    """Numba caches beside the source; where that is read-only, use a folder of the user's cache."""
    if not os.environ.get("NUMBA_CACHE_DIR") and not os.access(Path(__file__).parent, os.W_OK):
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        setattr(numba.config, "CACHE_DIR", str(Path(base) / "llise" / "numba"))  # noqa: B010


_use_writable_cache()


def jit(**options):
    """``numba.njit`` with the options that all kernels share."""
    return numba.njit(cache=True, nogil=True, error_model="numpy", **options)
