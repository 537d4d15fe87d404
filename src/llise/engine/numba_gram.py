"""Inner products of blocks, for NumPy arrays (equation numbers: docs/math.md).

The kernels are free functions of arrays.  Block positions are the first axis and are worked on one at a time, so
that what a block needs stays in the processor's cache.
"""

from __future__ import annotations

import numpy as np

from llise.engine.jit import FAST, jit, part
from llise.engine.tolerances import MOST_DENSE


def squares(values: np.ndarray) -> np.ndarray:
    """Squared norms x'x of the blocks."""
    return _squares(np.ascontiguousarray(values))


def products(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Inner products x'y of blocks, each summed in the same order (eq. 8).

    Equal blocks have equal products, and no product depends on how many others are asked for: a matrix product of
    floats promises neither.  In float32 there are only integers, whose products are exact in any order.
    """
    if x.dtype != np.float64 or y.dtype != np.float64:
        if x.shape[1] < y.shape[1] <= MOST_DENSE:  # BLAS is faster with the larger matrix first
            return np.matmul(y, x.swapaxes(1, 2)).swapaxes(1, 2)
        return np.matmul(x, y.swapaxes(1, 2))
    if x is y:
        return _own_products(np.ascontiguousarray(x))
    return _cross_products(np.ascontiguousarray(x), np.ascontiguousarray(y))


def centred_products(
    products: np.ndarray,
    q: int,
    factor: float,
    sums_x: np.ndarray,
    sums_y: np.ndarray,
    luminance_x: np.ndarray | None,
    luminance_y: np.ndarray | None,
) -> np.ndarray:
    """Inner products of centred, scaled blocks with their luminance coordinates (eq. 5 and 6)."""
    out = np.empty(products.shape)
    luminance_x, luminance_y = luminance_or_zeros(luminance_x, sums_x), luminance_or_zeros(luminance_y, sums_y)
    _fill_centred(products, q, factor, sums_x, sums_y, luminance_x, luminance_y, out)
    return out


def local_products(values: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """Inner products among the training blocks that are each new image's neighbours."""
    return _local_products(values, neighbors)


def centred_local_products(
    products: np.ndarray,
    neighbors: np.ndarray,
    q: int,
    factor: float,
    sums: np.ndarray,
    luminance: np.ndarray | None,
) -> np.ndarray:
    """Centre the products of neighbours, in place (eq. 5 and 6)."""
    _centre_local(products, neighbors, q, factor, sums, luminance_or_zeros(luminance, sums))
    return products


def luminance_or_zeros(luminance: np.ndarray | None, sums: np.ndarray) -> np.ndarray:
    """Return the luminance coordinate of the blocks, zeros where there is none."""
    return np.zeros_like(sums) if luminance is None else luminance


@part(fastmath=FAST)
def dot(x, y):
    """x'y in the type of the blocks: in float32 there are only integers, whose sums are exact."""
    total = x.dtype.type(0)
    for t in range(x.size):
        total += x[t] * y[t]
    return total


@jit(fastmath=FAST)
def _squares(values):
    b, n, _ = values.shape
    out = np.empty((b, n))
    for i in range(b):
        for j in range(n):
            out[i, j] = dot(values[i, j], values[i, j])
    return out


@jit(fastmath=FAST)
def _cross_products(x, y):
    b, m, _ = x.shape
    n = y.shape[1]
    out = np.empty((b, m, n))
    for i in range(b):
        for j in range(m):
            for r in range(n):
                out[i, j, r] = dot(x[i, j], y[i, r])
    return out


@jit(fastmath=FAST)
def _own_products(x):
    """The products of blocks with each other; one half is computed, the other mirrored."""
    b, n, _ = x.shape
    out = np.empty((b, n, n))
    for i in range(b):
        for j in range(n):
            for r in range(j + 1):
                out[i, j, r] = dot(x[i, j], x[i, r])
                out[i, r, j] = out[i, j, r]
    return out


@jit()
def _fill_centred(products, q, factor, sums_x, sums_y, luminance_x, luminance_y, out):
    for i in range(products.shape[0]):
        centre_block(products[i], q, factor, sums_x[i], sums_y[i], luminance_x[i], luminance_y[i], out[i])


@part()
def centre_block(products, q, factor, sums_x, sums_y, luminance_x, luminance_y, out):
    """Fill ``out`` with what :func:`centred_products` returns, at one block position."""
    m, n = products.shape
    for j in range(m):
        row, x, s, luminance = out[j], products[j], sums_x[j], luminance_x[j]
        for r in range(n):
            row[r] = (q * np.float64(x[r]) - s * sums_y[r]) * factor + luminance * luminance_y[r]


@jit(fastmath=FAST)
def _local_products(values, neighbors):
    b, m, k = neighbors.shape
    out = np.empty((b, m, k, k))
    for i in range(b):
        for j in range(m):
            near = neighbors[i, j]
            for r in range(k):
                for s in range(r + 1):
                    out[i, j, r, s] = dot(values[i, near[r]], values[i, near[s]])
                    out[i, j, s, r] = out[i, j, r, s]
    return out


@jit()
def _centre_local(products, neighbors, q, factor, sums, luminance):
    b, m, k = neighbors.shape
    near_sums = np.empty(k)
    near_luminance = np.empty(k)
    for i in range(b):
        for j in range(m):
            for r in range(k):
                near_sums[r] = sums[i, neighbors[i, j, r]]
                near_luminance[r] = luminance[i, neighbors[i, j, r]]
            for r in range(k):
                row = products[i, j, r]
                for t in range(k):
                    centred = (q * row[t] - near_sums[r] * near_sums[t]) * factor
                    row[t] = centred + near_luminance[r] * near_luminance[t]
