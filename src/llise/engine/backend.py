"""Arrays of NumPy and CuPy, and those of torch, which are passed to these and back by DLPack without a copy.

All computing is done with NumPy arrays on the CPU or CuPy arrays on an NVIDIA GPU.  Results come back in the library,
and on the device, of the input.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np

Array = Any
WITHOUT_CUPY = "pip install 'llise[gpu]' (CuPy, for NVIDIA GPUs)"


@cache
def cupy() -> Any:
    """Return CuPy, or None where it is not installed or cannot be loaded."""
    try:
        import cupy
    except ModuleNotFoundError:
        return None
    except Exception as error:  # a CUDA library that cannot be loaded
        reason = str(error).partition("\n")[0]
        warnings.warn(
            f"CuPy cannot be used ({type(error).__name__}: {reason}); the CPU computes the same.",
            RuntimeWarning,
            stacklevel=3,
        )
        return None
    return cupy


def _library(array: Array) -> str:
    return type(array).__module__.partition(".")[0]


def is_torch(array: Array) -> bool:
    """Return whether an array is a torch tensor, without importing torch."""
    return _library(array) == "torch"


def on_gpu(array: Array) -> bool:
    """Return whether an array is CuPy's."""
    return _library(array) == "cupy"


def namespace(array: Array) -> Any:
    """Return the module with the functions for an array: CuPy for its arrays, else NumPy."""
    return cupy() if on_gpu(array) else np


def check_device(device: Any) -> None:
    """Refuse a device other than None, "cpu" and the NVIDIA GPUs that are here: "cuda", "cuda:1"."""
    if device is None or device == "cpu":
        return
    kind, _, number = str(device).partition(":")
    if kind != "cuda" or not (number.isdecimal() or number == ""):
        raise ValueError(f"device={device!r} cannot be used; use 'cpu', 'cuda' or None.")
    if cupy() is None:
        raise ImportError(f"device={device!r} needs CuPy; install it with {WITHOUT_CUPY}, or use device=None")
    try:
        count = cupy().cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy's errors of the CUDA driver
        reason = str(error).partition("\n")[0]
        raise ValueError(f"device={device!r} cannot be used here ({reason}); use 'cpu' or None.") from error
    if int(number or 0) >= count:
        raise ValueError(f"device={device!r} cannot be used here ({count} GPUs); use 'cpu', 'cuda' or None.")


def working(array: Array, device: Any = None) -> Array:
    """Return an array for computing: NumPy's or CuPy's, with the memory of the input where the device is the same."""
    if on_gpu(array):
        return array
    if is_torch(array):
        array = array.detach()
        if array.device.type != "cuda":
            array = array.cpu().numpy()
        elif cupy() is None:
            _say_without_cupy()
            array = array.cpu().numpy()
        else:
            return cupy().from_dlpack(array)
    elif not isinstance(array, np.ndarray):
        array = np.asarray(array)
    if device is None or device == "cpu":
        return array
    check_device(device)
    with cupy().cuda.Device(int(str(device).partition(":")[2] or 0)):
        return cupy().asarray(array)


@cache
def _say_without_cupy() -> None:
    warnings.warn(
        f"tensors on a GPU are worked on by the CPU, since CuPy is not there; install it with {WITHOUT_CUPY}.",
        RuntimeWarning,
        stacklevel=4,
    )


def on_device_of(array: Array) -> AbstractContextManager:
    """Return the context in which CuPy works on the GPU of an array; each thread needs its own."""
    return array.device if on_gpu(array) else nullcontext()


def like(array: Array, values: Array) -> Array:
    """Return values where another array is."""
    return cupy().asarray(values) if on_gpu(array) else to_numpy(values)


def to_numpy(array: Array) -> np.ndarray:
    """Return an array as a NumPy array on the CPU."""
    if isinstance(array, np.ndarray):
        return array
    if on_gpu(array):
        return array.get()
    return array.detach().cpu().numpy() if is_torch(array) else np.asarray(array)


def as_input(array: Array, values: Array) -> Array:
    """Return results in the library and on the device of the input."""
    if on_gpu(array):
        return namespace(array).asarray(values)
    if not is_torch(array):
        return to_numpy(values)
    import torch

    tensor = torch.from_dlpack(values) if on_gpu(values) else torch.as_tensor(values)
    return tensor.to(array.device)


def in_float64(values: Array) -> Array:
    """Return values in float64, without a copy where they are so already."""
    return namespace(values).astype(values, np.float64, copy=False)


def blocks_at_once(array: Array, bytes_per_block: int, on_cpu: int) -> int:
    """Return how many blocks a chunk may have: what half of the free memory of a GPU holds; ``on_cpu`` elsewhere."""
    if not on_gpu(array):
        return on_cpu
    with on_device_of(array):
        free = cupy().cuda.runtime.memGetInfo()[0] + cupy().get_default_memory_pool().free_bytes()
    return max(1, free // (2 * bytes_per_block))


@contextmanager
def explained_device_errors() -> Iterator[None]:
    """Say what to do about the errors of a GPU that is out of memory, fails or is lost."""
    try:
        yield
    except Exception as error:
        kinds = {kind.__name__ for kind in type(error).__mro__}  # CuPy's own classes, without importing it
        reason = str(error).partition("\n")[0]
        if "OutOfMemoryError" in kinds:
            raise MemoryError(
                f"the GPU has too little free memory ({reason}); end other programs that use it, use fewer or smaller "
                "images, or device=None to work on the CPU."
            ) from error
        if kinds & {"CUDARuntimeError", "CUDADriverError", "AcceleratorError"}:
            raise RuntimeError(
                f"the GPU failed or was lost ({reason}); there is no result. Start the program again, or use "
                "device=None to work on the CPU."
            ) from error
        raise
