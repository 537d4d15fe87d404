"""The computing steps with equal signatures: compiled for NumPy arrays by Numba, and as CUDA kernels for CuPy's.

:func:`of` is the only way in: it returns the implementation that serves an array.  What belongs here is arithmetic on
arrays.  What a step means, and what surrounds it, belongs to the modules of the package that call it.
"""

from __future__ import annotations

from typing import Any

from llise.engine import cuda_launch
from llise.engine.steps import Steps


def of(array: Any) -> Steps:
    """Return the module with every step for an array; all modules have the same functions with the same parameters."""
    if cuda_launch.serves(array):
        from llise.engine import cuda_engine

        return cuda_engine
    from llise.engine import numba_engine  # here, so that Numba is imported when it is needed

    return numba_engine
