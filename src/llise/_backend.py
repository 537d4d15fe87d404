"""The only file that knows which array library is at work.

Arrays are dispatched on, not names: NumPy arrays on the CPU go to the Numba engine (``_numba.py``); every other
array runs the same public steps in its own namespace.  Results come back in the input's namespace and device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def namespace(array: Array) -> Any:
    """The array API namespace of ``array`` (NumPy itself for NumPy arrays)."""
    if isinstance(array, np.ndarray | np.generic):
        return np
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    try:
        from array_api_compat import array_namespace
    except ImportError as error:
        raise ImportError(
            f"{type(array).__module__} arrays need array-api-compat: pip install 'llise[gpu]'."
        ) from error
    return array_namespace(array)


def is_torch(array: Array) -> bool:
    """Whether ``array`` is a torch tensor, asked without importing torch."""
    return type(array).__module__.partition(".")[0] == "torch"


def uses_numba(array: Array) -> bool:
    """NumPy arrays are served by the compiled engine."""
    return isinstance(array, np.ndarray)


def device_of(array: Array) -> Any:
    """Device of ``array`` as its namespace's creation functions take it (None for NumPy)."""
    return None if isinstance(array, np.ndarray) else array.device


def like(array: Array, values: Array) -> Array:
    """``values`` (NumPy) as an array in the namespace and on the device of ``array``."""
    xp = namespace(array)
    return values if xp is np else xp.asarray(values, device=device_of(array))


def to_numpy(array: Array) -> np.ndarray:
    """``array`` as a NumPy array on the CPU."""
    if isinstance(array, np.ndarray):
        return array
    return array.detach().cpu().numpy() if is_torch(array) else np.asarray(array)
