"""CUDA kernels for torch tensors on an NVIDIA GPU: compiled at run time by CuPy, launched on torch's stream.

The sources are the files of the folder ``cuda``.  Where a kernel cannot be used (:class:`Unsuitable`), the step of the
array namespace answers: :func:`or_array_step` sees to that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from typing import Any

import numpy as np

from llise.engine import tolerances
from llise.engine.backend import is_torch

Array = Any
WARP = 32  # threads that run together
SOURCES = Path(__file__).parent / "cuda"


class Unsuitable(Exception):
    """A kernel cannot be used: this device has too little shared memory for the problem, or it cannot be compiled."""


@cache
def cupy() -> Any:
    """Return CuPy, or None where it is not installed or cannot be loaded."""
    try:
        import cupy
    except ModuleNotFoundError:
        return None
    except Exception as error:  # a CUDA library that cannot be loaded
        _warn("CuPy", error)
        return None
    return cupy


def serves(array: Array) -> bool:
    """Return whether the kernels serve an array: a torch tensor on an NVIDIA GPU, with CuPy installed."""
    if not (is_torch(array) and array.device.type == "cuda"):
        return False
    import torch

    return torch.version.cuda is not None and cupy() is not None


def or_array_step(array_step: Callable) -> Callable[[Callable], Callable]:
    """Return the decorator that lets the array namespace answer where a kernel is :class:`Unsuitable`."""

    def decorated(step: Callable) -> Callable:
        @wraps(step)
        def run(*arguments: Any, **options: Any) -> Any:
            try:
                return step(*arguments, **options)
            except Unsuitable:
                return array_step(*arguments, **options)

        return run

    return decorated


def whole_warps(threads: int) -> int:
    """Return a number of threads, rounded up to whole warps."""
    return -(-threads // WARP) * WARP


@cache
def shared_memory_limit(device: int) -> int:
    """Return the bytes of shared memory that a thread block of a device can have."""
    return cupy().cuda.Device(device).attributes["MaxSharedMemoryPerBlockOptin"]


def launch(name: str, constants: dict[str, Any], blocks: int, threads: int, shared: int, *arguments: Any) -> None:
    """Launch a kernel on the device and the current stream of the tensors."""
    device = next(argument.device.index for argument in arguments if is_torch(argument))
    if shared > shared_memory_limit(device):
        raise Unsuitable
    import torch

    with cupy().cuda.Device(device):
        kernel = _compiled(device, name, tuple(sorted(constants.items())))
        try:
            kernel.max_dynamic_shared_size_bytes = shared
            with _stream(torch.cuda.current_stream(device).cuda_stream):
                kernel((blocks,), (threads,), tuple(_passed(argument) for argument in arguments), shared_mem=shared)
        except Exception as error:  # CuPy's errors of the CUDA driver
            _warn(f"the CUDA kernel {name}", error)
            raise Unsuitable from error


@dataclass(frozen=True)
class _Stream:
    """A stream of torch, for other libraries."""

    handle: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle  # version of this protocol, stream


def _stream(handle: int) -> Any:
    """A stream of torch as one of CuPy, which has the first way since version 14."""
    stream = cupy().cuda.Stream
    if hasattr(stream, "from_external"):
        return stream.from_external(_Stream(handle))
    return cupy().cuda.ExternalStream(handle)


def _passed(argument: Any) -> Any:
    """An argument as CuPy takes it: of a tensor its address (DLPack, which passes the same, takes 0.1 ms)."""
    if argument is None:
        return np.uintp(0)
    if not is_torch(argument):
        return argument
    assert argument.is_contiguous()
    return np.uintp(argument.data_ptr())


def _compiled(device: int, name: str, constants: tuple[tuple[str, Any], ...]) -> Any:
    kernel = compiled_or_error(device, name, constants)
    if isinstance(kernel, Exception):
        raise Unsuitable from kernel
    return kernel


@cache
def compiled_or_error(device: int, name: str, constants: tuple[tuple[str, Any], ...]) -> Any:
    """Compile a kernel, once; CuPy keeps compiled kernels on disk."""
    file, _, function = name.partition(".")
    options = ("-std=c++17", *(f"-D{key}={value}" for key, value in constants))
    try:
        return cupy().RawModule(code=source_of(file), options=options).get_function(function)
    except Exception as error:
        _warn(f"the CUDA kernel {name}", error)
        return error


def source_of(file: str) -> str:
    """Return the CUDA source of a file: the limits of all engines, the headers that it needs, then itself."""
    limits = {name: value for name, value in vars(tolerances).items() if name.isupper()}
    limits["NULL_SPACE"] = limits.pop("NULL")  # a macro of C
    lines = [f"#define {name} {value!r}" for name, value in limits.items()]
    headers = ("rows.cuh", "preconditioner.cuh") if file == "embedding" else ()
    return "\n".join(lines + [(SOURCES / part).read_text(encoding="utf-8") for part in (*headers, f"{file}.cu")])


def _warn(what: str, error: Exception) -> None:
    reason = str(error).partition("\n")[0]
    warnings.warn(
        f"{what} cannot be used ({type(error).__name__}: {reason}); slower steps of torch compute the same.",
        RuntimeWarning,
        stacklevel=5,
    )
