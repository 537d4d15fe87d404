"""The computing steps with equal signatures: compiled for NumPy arrays, as CUDA kernels, and for any other array.

:func:`of` is the only way in: it returns the implementation that serves an array.  What belongs here is arithmetic on
arrays.  What a step means, and what surrounds it, belongs to the modules of the package that call it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine import cuda_launch
from llise.engine.steps import Steps


def of(array: Any) -> Steps:
    """Return the implementation of the steps that serves an array.

    Parameters
    ----------
    array : array
        NumPy arrays are served by kernels that Numba compiles (``numba_*.py``), torch tensors on an NVIDIA GPU by CUDA
        kernels that CuPy compiles (``cuda_*.py``) where it is installed, and all other arrays by the functions of
        their own array namespace (``array_*.py``).

    Returns
    -------
    Steps
        The module with every step; all modules have the same functions with the same parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import engine
    >>> blocks = np.array([[[1.0, 2.0], [3.0, 5.0]]])
    >>> engine.of(blocks).sums(blocks)
    array([[3., 8.]])
    """
    if isinstance(array, np.ndarray):
        from llise.engine import numba_engine  # here, so that Numba is imported when it is needed

        return numba_engine
    if cuda_launch.serves(array):
        from llise.engine import cuda_engine

        return cuda_engine
    from llise.engine import array_engine

    return array_engine
