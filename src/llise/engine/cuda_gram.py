"""Inner products among neighbours by CUDA kernels (``cuda/neighbors.cu``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine import array_gram
from llise.engine.backend import namespace
from llise.engine.cuda_launch import WARP, launch, or_array_step

Array = Any


@or_array_step(array_gram.local_products)
def local_products(values: Array, neighbors: Array) -> Array:
    """Inner products among the training blocks that are each new image's neighbours."""
    xp = namespace(values)
    b, m, k = neighbors.shape
    _, n, q = values.shape
    out = xp.empty((b, m, k, k), dtype=xp.float64, device=values.device)
    value, size = ("float", 4) if values.dtype == xp.float32 else ("double", 8)
    sizes = b * m, 2 * WARP, size * k * (q | 1)
    shape = np.int32(m), np.int32(n), np.int32(q)
    arrays = values.contiguous(), neighbors.contiguous(), out
    launch("neighbors.local_products", {"K": k, "VALUE": value}, *sizes, *shape, *arrays)
    return out


@or_array_step(array_gram.centred_local_products)
def centred_local_products(
    products: Array, neighbors: Array, q: int, factor: float, sums: Array, luminance: Array | None
) -> Array:
    """Centre the products of neighbours, in place (eq. 5 and 6)."""
    _, m, k = neighbors.shape
    products = products.contiguous()
    threads, count = 8 * WARP, products.numel()
    sizes = -(-count // threads), threads, 0
    scalars = np.int64(count), np.int32(m), np.int32(sums.shape[1]), np.float64(q), np.float64(factor)
    inputs = neighbors.contiguous(), sums.contiguous(), None if luminance is None else luminance.contiguous()
    launch(
        "neighbors.centred_local_products", {"K": k, "VALUE": "double"}, *sizes, *scalars, products, *inputs, products
    )
    return products
