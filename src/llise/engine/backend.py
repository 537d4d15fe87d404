"""The only file that knows which array library is at work.

Arrays are dispatched on, not names: NumPy arrays on the CPU go to the Numba engine (``_numba_*.py``); every other
array runs the same public steps in its own namespace.  Results come back in the input's namespace and device.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from joblib import cpu_count

Array = Any


def namespace(array: Array) -> Any:
    """The array API namespace of ``array`` (NumPy itself for NumPy arrays)."""
    if isinstance(array, np.ndarray | np.generic):
        return np
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return _compat().array_namespace(array)


def _compat() -> Any:
    """array-api-compat, which gives torch the standard's names; scikit-learn brings a copy."""
    try:
        return import_module("array_api_compat")
    except ImportError:
        return import_module("sklearn.externals.array_api_compat")


def is_torch(array: Array) -> bool:
    """Whether ``array`` is a torch tensor, asked without importing torch."""
    return type(array).__module__.partition(".")[0] == "torch"


def uses_numba(array: Array) -> bool:
    """NumPy arrays are served by the compiled engine."""
    return isinstance(array, np.ndarray)


def device_of(array: Array) -> Any:
    """Device of ``array`` as its namespace's creation functions take it (None for NumPy)."""
    return None if isinstance(array, np.ndarray) else array.device


def blocks_at_once(array: Array, bytes_per_block: int, on_cpu: int) -> int:
    """How many blocks fit into half of the free memory of a GPU; ``on_cpu`` elsewhere."""
    if not (is_torch(array) and array.device.type == "cuda"):
        return on_cpu
    import torch

    free, _ = torch.cuda.mem_get_info(array.device)
    return max(1, free // (2 * bytes_per_block))


def put_rows(out: Array, index: np.ndarray, rows: Array) -> None:
    """out[index] = rows."""
    if is_torch(out) or isinstance(out, np.ndarray):
        out[like(out, index)] = rows
        return
    for place, row in enumerate(index):  # the standard has no assignment through index arrays
        out[int(row), ...] = rows[place, ...]


def scattered(zeros: Array, index: Array, values: Array) -> Array:
    """Rows (..., n) of zeros with ``values`` (..., k) at ``index`` (..., k), no place twice."""
    if is_torch(zeros):
        return zeros.scatter(-1, index, values)
    xp = namespace(zeros)
    columns = xp.arange(zeros.shape[-1], device=device_of(zeros))
    for r in range(index.shape[-1]):
        zeros = zeros + xp.where(index[..., r : r + 1] == columns, values[..., r : r + 1], 0.0)
    return zeros


def like(array: Array, values: Array) -> Array:
    """``values`` (NumPy) as an array in the namespace and on the device of ``array``."""
    xp = namespace(array)
    return values if xp is np else xp.asarray(values, device=device_of(array))


def to_numpy(array: Array) -> np.ndarray:
    """``array`` as a NumPy array on the CPU."""
    if isinstance(array, np.ndarray):
        return array
    return array.detach().cpu().numpy() if is_torch(array) else np.asarray(array)


def cholesky(M: Array) -> Array:
    """Lower Cholesky factors; torch without its check, which would wait for the device."""
    if is_torch(M):
        import torch

        return torch.linalg.cholesky_ex(M).L
    return namespace(M).linalg.cholesky(M)


def triangular_inverse(L: Array) -> Array:
    """Inverses of lower triangular matrices (..., n, n)."""
    if is_torch(L):
        import torch

        eye = torch.eye(L.shape[-1], dtype=L.dtype, device=L.device).expand_as(L)
        return torch.linalg.solve_triangular(L, eye, upper=False)
    return namespace(L).linalg.inv(L)


def rotate(x: Array, y: Array, cosine: Array, sine: Array) -> tuple[Array, Array]:
    """Plane rotations (c x - s y, s x + c y); torch fuses a product with a sum."""
    if is_torch(x):
        import torch

        return torch.addcmul(cosine * x, sine, y, value=-1), torch.addcmul(cosine * y, sine, x)
    return cosine * x - sine * y, sine * x + cosine * y


def add_product(x: Array, y: Array, z: Array, sign: int = 1) -> Array:
    """x + y z, or x - y z with the sign -1; torch fuses it."""
    if is_torch(x):
        import torch

        return torch.addcmul(x, y, z, value=sign)
    return x + sign * y * z


def too_few_for_device(array: Array, blocks: int) -> bool:
    """Whether so few blocks are left that a GPU idles: the CPU's cores finish them sooner."""
    return is_torch(array) and array.device.type == "cuda" and blocks <= 64 * cpu_count()
