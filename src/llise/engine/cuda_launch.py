"""CUDA kernels for CuPy arrays on an NVIDIA GPU: compiled at run time, launched on CuPy's stream.

The sources are the files of the folder ``cuda``.  Where a kernel cannot be used (:class:`Unsuitable`), the compiled
engine answers on the CPU, and says so once: :func:`or_on_cpu` sees to that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any

import numpy as np

from llise.engine import tolerances
from llise.engine.backend import cupy, like, namespace, on_gpu, to_numpy

Array = Any
WARP = 32  # threads that run together
SOURCES = Path(__file__).parent / "cuda"


class Unsuitable(Exception):
    """A kernel cannot be used: it does not fit this device or problem, or it cannot be compiled."""


def serves(array: Array) -> bool:
    """Return whether the kernels serve an array."""
    return on_gpu(array)


def or_on_cpu(step: Callable) -> Callable:
    """Let the compiled engine answer where a kernel is :class:`Unsuitable`."""

    @wraps(step)
    def run(*arguments: Any) -> Any:
        try:
            return step(*arguments)
        except Unsuitable as error:
            say_on_cpu(step.__name__, str(error))
            return on_cpu(step.__name__, arguments)

    return run


@cache
def say_on_cpu(step: str, reason: str) -> None:
    """Warn, once, that a step is computed by the CPU."""
    warnings.warn(f"the CPU computes {step} for the GPU: {reason}.", RuntimeWarning, stacklevel=4)


def on_cpu(step: str, arguments: tuple) -> Any:
    """Run a step of the compiled engine on arrays of a GPU; what it writes into its arguments goes back there."""
    from llise.engine import numba_engine  # here, so that Numba is imported when it is needed

    there = arguments[0]
    host = [to_numpy(v) if hasattr(v, "shape") else v for v in arguments]
    result = getattr(numba_engine, step)(*host)
    if step.endswith("_embedding"):
        for before, after in zip(arguments, host):
            if on_gpu(before):
                before[...] = like(before, after)
    if isinstance(result, tuple):
        return tuple(like(there, v) for v in result)
    return None if result is None else like(there, result)


def whole_warps(threads: int) -> int:
    """Return a number of threads, rounded up to whole warps."""
    return -(-threads // WARP) * WARP


@cache
def shared_memory_limit(device: int) -> int:
    """Return the bytes of shared memory that a thread block of a device can have."""
    return cupy().cuda.Device(device).attributes["MaxSharedMemoryPerBlockOptin"]


def launch(name: str, constants: dict[str, Any], blocks: int, threads: int, shared: int, *arguments: Any) -> None:
    """Launch the kernel ``file.function`` on the current device, compiled with constants, with its shared bytes."""
    device = cupy().cuda.runtime.getDevice()
    if shared > shared_memory_limit(device):
        raise Unsuitable(f"its kernel needs {shared} bytes of shared memory, more than the device has")
    kernel = compiled_or_error(device, name, tuple(sorted(constants.items())))
    if isinstance(kernel, Exception):
        raise Unsuitable(_reason(kernel)) from kernel
    passed = tuple(np.uintp(0) if argument is None else argument for argument in arguments)
    try:
        kernel.max_dynamic_shared_size_bytes = shared
        kernel((blocks,), (threads,), passed, shared_mem=shared)
    except Exception as error:  # CuPy's errors of the CUDA driver
        raise Unsuitable(_reason(error)) from error


@cache
def compiled_or_error(device: int, name: str, constants: tuple[tuple[str, Any], ...]) -> Any:
    """Compile a kernel, once, or return why it cannot be compiled; CuPy keeps compiled kernels on disk."""
    file, _, function = name.partition(".")
    options = ("-std=c++17", *(f"-D{key}={value}" for key, value in constants))
    try:
        return cupy().RawModule(code=source_of(file), options=options).get_function(function)
    except Exception as error:
        return error


def source_of(file: str) -> str:
    """Return the CUDA source of a file: the limits of all engines, the headers that it needs, then itself."""
    limits = {name: value for name, value in vars(tolerances).items() if name.isupper()}
    limits["NULL_SPACE"] = limits.pop("NULL")  # a macro of C
    lines = [f"#define {name} {value!r}" for name, value in limits.items()]
    headers = ("rows.cuh", "preconditioner.cuh") if file == "embedding" else ()
    return "\n".join(lines + [(SOURCES / part).read_text(encoding="utf-8") for part in (*headers, f"{file}.cu")])


def contiguous(array: Array, dtype: Any = None) -> Array:
    """Return an array as a kernel takes it."""
    return namespace(array).ascontiguousarray(array, dtype=dtype)


def _reason(error: Exception) -> str:
    first = str(error).partition("\n")[0]
    return f"its CUDA kernel cannot be used ({type(error).__name__}: {first})"
