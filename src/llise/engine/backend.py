"""What differs between array libraries: namespaces, devices and conversions.

Results come back in the library, and on the device, of the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from joblib import cpu_count

Array = Any


def namespace(array: Array) -> Any:
    """Return the array API namespace of an array."""
    if isinstance(array, np.ndarray | np.generic):
        return np
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return _compat().array_namespace(array)


@cache
def _compat() -> Any:
    """array-api-compat, which gives torch the standard's names; scikit-learn brings a copy.

    Kept, since Python searches all its folders each time for a module that is not installed.
    """
    try:
        return import_module("array_api_compat")
    except ImportError:
        return import_module("sklearn.externals.array_api_compat")


def is_torch(array: Array) -> bool:
    """Return whether an array is a torch tensor, without importing torch."""
    return type(array).__module__.partition(".")[0] == "torch"


def device_of(array: Array) -> Any:
    """Return the device of an array as its namespace's creation functions take it."""
    return None if isinstance(array, np.ndarray) else array.device


def to_device(array: Array, device: Any) -> Array:
    """Return a NumPy array as a torch tensor on a device, and any other array as it is."""
    if device is None or not isinstance(array, np.ndarray):
        return array
    check_device(device)
    import torch

    return torch.as_tensor(np.ascontiguousarray(array), device=device)


def check_device(device: Any) -> None:
    """Refuse a device that torch does not have here."""
    if device is None:
        return
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"device={device!r} needs torch; install it with pip install 'llise[gpu]', or use device=None"
        ) from error
    try:
        usable = torch.empty(1, device=device).device.type != "meta"  # which holds no values
    except Exception as error:  # torch raises RuntimeError, AssertionError, TypeError and more
        reason = str(error).partition("\n")[0]
        raise ValueError(f"device={device!r} cannot be used here ({reason}); use 'cpu', 'cuda' or None.") from error
    if not usable:
        raise ValueError(f"device={device!r} cannot be used: it holds no values; use 'cpu', 'cuda' or None.")


def like(array: Array, values: np.ndarray) -> Array:
    """Return NumPy values as an array in the namespace and on the device of another."""
    xp = namespace(array)
    return values if xp is np else xp.asarray(values, device=device_of(array))


def to_numpy(array: Array) -> np.ndarray:
    """Return an array as a NumPy array on the CPU."""
    if isinstance(array, np.ndarray):
        return array
    return array.detach().cpu().numpy() if is_torch(array) else np.asarray(array)


def as_input(array: Array, values: Array) -> Array:
    """Return results in the library of the input: as NumPy arrays where the input is one, else as they are."""
    return to_numpy(values) if isinstance(array, np.ndarray) else values


def in_float64(values: Array) -> Array:
    """Return values in float64, without a copy where they are so already."""
    xp = namespace(values)
    return xp.astype(values, xp.float64, copy=False)


def blocks_at_once(array: Array, bytes_per_block: int, on_cpu: int) -> int:
    """Return how many blocks a chunk may have."""
    if not (is_torch(array) and array.device.type == "cuda"):
        return on_cpu
    import torch

    free, _ = torch.cuda.mem_get_info(array.device)
    return max(1, free // (2 * bytes_per_block))


def too_few_for_device(array: Array, blocks: int) -> bool:
    """Return whether so few blocks are left that the CPU's cores finish them sooner than a GPU."""
    return is_torch(array) and array.device.type == "cuda" and blocks <= 64 * cpu_count()


@contextmanager
def explained_device_errors() -> Iterator[None]:
    """Say what to do about the errors of a GPU that is out of memory, fails or is lost."""
    try:
        yield
    except Exception as error:
        kinds = {kind.__name__ for kind in type(error).__mro__}  # torch's own classes, without importing torch
        reason = str(error).partition("\n")[0]
        if "OutOfMemoryError" in kinds:
            raise MemoryError(
                f"the GPU has too little free memory ({reason}); end other programs that use it, use fewer or smaller "
                "images, or device=None to work on the CPU."
            ) from error
        if "AcceleratorError" in kinds or ("RuntimeError" in kinds and "CUDA error" in reason):
            raise RuntimeError(
                f"the GPU failed or was lost ({reason}); there is no result. Start the program again, or use "
                "device=None to work on the CPU."
            ) from error
        raise
