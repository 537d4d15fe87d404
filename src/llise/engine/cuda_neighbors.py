"""The nearest neighbours and what is taken of them, by CUDA kernels (``cuda/neighbors.cu``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine.backend import like, namespace
from llise.engine.cuda_launch import WARP, Unsuitable, contiguous, launch, or_on_cpu, whole_warps

Array = Any
MOST_THREADS = 1024  # of a thread block


@or_on_cpu
def nearest(products: Array, norms: Array, k: int, identical: np.ndarray, exclude_self: bool) -> Array:
    """The k training images nearest to each image: smallest ``|x_r|^2 - 2 <x, x_r>``, ties by index (eq. 12)."""
    b, m, n = products.shape
    out = namespace(products).empty((b, m, k), dtype=np.int64)
    threads = 2 * WARP
    sizes = -(-b * m // threads), threads, _list_bytes(threads, k)
    shape = np.int64(b * m), np.int32(m), np.int32(n), np.int32(exclude_self)
    arrays = contiguous(products), contiguous(norms), like(products, np.asarray(identical, np.int64)), out
    launch("neighbors.nearest", {"K": k, "VALUE": "double"}, *sizes, *shape, *arrays)
    return out


@or_on_cpu
def training_problems(
    products: Array, q: int, factor: float, sums: Array, luminance: Array | None, k: int
) -> tuple[Array, Array, Array, Array]:
    """Neighbours and local problems K, kv, a of the training images, one thread block for each position."""
    xp = namespace(products)
    b, n, _ = products.shape
    threads = whole_warps(n)
    if threads > MOST_THREADS:
        raise Unsuitable(f"its kernel takes {MOST_THREADS} images at the most")
    neighbors = xp.empty((b, n, k), dtype=np.int64)
    K, kv, norms = (xp.empty((b, n, *shape)) for shape in ((k, k), (k,), ()))
    value = "float" if products.dtype == np.float32 else "double"
    sizes = b, threads, _list_bytes(threads, k) + 8 * (n * (n + 1) // 2)
    scalars = np.int32(n), np.float64(q), np.float64(factor)
    inputs = contiguous(products), contiguous(sums), None if luminance is None else contiguous(luminance)
    constants = {"K": k, "VALUE": value}
    launch("neighbors.training_problems", constants, *sizes, *scalars, *inputs, neighbors, K, kv, norms)
    return neighbors, K, kv, norms


def take_local(gram: Array, neighbors: Array) -> Array:
    """The parts K of the Gram matrices over each image's neighbours."""
    xp = namespace(gram)
    position = xp.arange(len(gram))[:, None, None, None]
    return gram[position, neighbors[..., :, None], neighbors[..., None, :]]


def reconstruct(weights: Array, neighbors: Array, coordinates: Array) -> Array:
    """Coordinates sum_r w_r y_r of images from those of their neighbours (eq. 38)."""
    xp = namespace(coordinates)
    near = coordinates[xp.arange(len(coordinates))[:, None, None], neighbors]
    return xp.sum(weights[..., None] * near, axis=2)


def _list_bytes(threads: int, k: int) -> int:
    """Of the lists of values and indices that all threads of a block keep."""
    return 8 * (threads * k + (threads * k + 1) // 2)
