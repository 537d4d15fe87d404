"""Blocks and their inner products by CuPy, those among neighbours by CUDA kernels (``cuda/neighbors.cu``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine.backend import in_float64, like, namespace
from llise.engine.cuda_launch import WARP, contiguous, launch, or_on_cpu

Array = Any


def cut(images: Array, rows: int, cols: int, block_height: int, block_width: int) -> Array:
    """Cut images into blocks."""
    xp = namespace(images)
    parts = xp.reshape(images, (images.shape[0], rows, block_height, cols, block_width))
    return xp.reshape(xp.permute_dims(parts, (1, 3, 0, 2, 4)), (rows * cols, -1, block_height * block_width))


def batches(n_blocks: int, size: int) -> list[slice]:
    """Take all blocks of a chunk as one batch, whatever ``size`` is: few large steps suit a GPU."""
    return [slice(0, n_blocks)]


def workers(n_jobs: int | None) -> int | None:
    """Work on one chunk at a time, for which the whole device is used."""
    return 1


def sums(values: Array) -> Array:
    """Sum each block; the sums of integers are exact, in float32 as well (eq. 6)."""
    return in_float64(namespace(values).sum(values, axis=-1))


def squares(values: Array) -> Array:
    """Squared norms x'x of the blocks."""
    return in_float64(namespace(values).sum(values * values, axis=-1))


def products(x: Array, y: Array) -> Array:
    """Inner products x'y of blocks."""
    xp = namespace(x)
    return xp.matmul(x, xp.matrix_transpose(y))


def centred_products(
    products: Array,
    q: int,
    factor: float,
    sums_x: Array,
    sums_y: Array,
    luminance_x: Array | None,
    luminance_y: Array | None,
) -> Array:
    """Inner products of centred, scaled blocks with their luminance coordinates (eq. 5 and 6)."""
    gram = (q * in_float64(products) - sums_x[:, :, None] * sums_y[:, None, :]) * factor
    if luminance_x is not None and luminance_y is not None:
        gram = gram + luminance_x[:, :, None] * luminance_y[:, None, :]
    return gram


def project_centred(values: Array, directions: np.ndarray) -> Array:
    """Products of the blocks, each without its mean, with the rows of ``directions``."""
    xp = namespace(values)
    values = in_float64(values)
    return xp.matmul(values - xp.mean(values, axis=-1)[..., None], like(values, directions).T)


@or_on_cpu
def local_products(values: Array, neighbors: Array) -> Array:
    """Inner products among the training blocks that are each new image's neighbours."""
    b, m, k = neighbors.shape
    _, n, q = values.shape
    out = namespace(values).empty((b, m, k, k))
    value, size = ("float", 4) if values.dtype == np.float32 else ("double", 8)
    sizes = b * m, 2 * WARP, size * k * (q | 1)
    shape = np.int32(m), np.int32(n), np.int32(q)
    arrays = contiguous(values), contiguous(neighbors), out
    launch("neighbors.local_products", {"K": k, "VALUE": value}, *sizes, *shape, *arrays)
    return out


@or_on_cpu
def centred_local_products(
    products: Array, neighbors: Array, q: int, factor: float, sums: Array, luminance: Array | None
) -> Array:
    """Centre the products of neighbours, in place (eq. 5 and 6)."""
    _, m, k = neighbors.shape
    products = contiguous(products)
    threads, count = 8 * WARP, products.size
    sizes = -(-count // threads), threads, 0
    scalars = np.int64(count), np.int32(m), np.int32(sums.shape[1]), np.float64(q), np.float64(factor)
    inputs = contiguous(neighbors), contiguous(sums), None if luminance is None else contiguous(luminance)
    launch(
        "neighbors.centred_local_products", {"K": k, "VALUE": "double"}, *sizes, *scalars, products, *inputs, products
    )
    return products
