"""The nearest neighbours and the local problems by CUDA kernels (``cuda/neighbors.cu``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine import array_neighbors
from llise.engine.backend import like, namespace
from llise.engine.cuda_launch import WARP, Unsuitable, launch, or_array_step, whole_warps

Array = Any
MOST_THREADS = 1024  # of a thread block


@or_array_step(array_neighbors.nearest)
def nearest(products: Array, norms: Array, k: int, identical: np.ndarray, exclude_self: bool) -> Array:
    """The k training images nearest to each image: smallest ``|x_r|^2 - 2 <x, x_r>``, ties by index (eq. 12)."""
    xp = namespace(products)
    b, m, n = products.shape
    out = xp.empty((b, m, k), dtype=xp.int64, device=products.device)
    threads = 2 * WARP
    sizes = -(-b * m // threads), threads, _list_bytes(threads, k)
    shape = np.int64(b * m), np.int32(m), np.int32(n), np.int32(exclude_self)
    arrays = products.contiguous(), norms.contiguous(), like(products, np.asarray(identical, np.int64)), out
    launch("neighbors.nearest", {"K": k, "VALUE": "double"}, *sizes, *shape, *arrays)
    return out


@or_array_step(array_neighbors.training_problems)
def training_problems(
    products: Array, q: int, factor: float, sums: Array, luminance: Array | None, k: int
) -> tuple[Array, Array, Array, Array]:
    """Neighbours and local problems K, kv, a of the training images, one thread block for each position."""
    xp = namespace(products)
    b, n, _ = products.shape
    threads = whole_warps(n)
    if threads > MOST_THREADS:
        raise Unsuitable
    neighbors = xp.empty((b, n, k), dtype=xp.int64, device=products.device)
    K, kv, norms = (sums.new_empty((b, n, *shape)) for shape in ((k, k), (k,), ()))
    value = "float" if products.dtype == xp.float32 else "double"
    sizes = b, threads, _list_bytes(threads, k) + 8 * (n * (n + 1) // 2)
    scalars = np.int32(n), np.float64(q), np.float64(factor)
    inputs = products.contiguous(), sums.contiguous(), None if luminance is None else luminance.contiguous()
    constants = {"K": k, "VALUE": value}
    launch("neighbors.training_problems", constants, *sizes, *scalars, *inputs, neighbors, K, kv, norms)
    return neighbors, K, kv, norms


def _list_bytes(threads: int, k: int) -> int:
    """Of the lists of values and indices that all threads of a block keep."""
    return 8 * (threads * k + (threads * k + 1) // 2)
