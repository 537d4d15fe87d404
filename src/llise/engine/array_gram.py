"""Inner products of blocks, in the array namespace of the input (equation numbers: docs/math.md)."""

from __future__ import annotations

from typing import Any

from llise.engine.array_operations import pairs, take
from llise.engine.backend import in_float64, namespace

Array = Any


def squares(values: Array) -> Array:
    """Squared norms x'x of the blocks."""
    xp = namespace(values)
    return in_float64(xp.sum(values * values, axis=-1))


def products(x: Array, y: Array) -> Array:
    """Inner products x'y of blocks, as a matrix product with the larger matrix first, which BLAS does faster."""
    xp = namespace(x)
    if x.shape[1] < y.shape[1]:
        return xp.matrix_transpose(xp.matmul(y, xp.matrix_transpose(x)))
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


def local_products(values: Array, neighbors: Array) -> Array:
    """Inner products among the training blocks that are each new image's neighbours."""
    xp = namespace(values)
    b, m, k = neighbors.shape
    index = xp.reshape(neighbors, (b, m * k))[:, :, None]
    rows = xp.take_along_axis(values, xp.broadcast_to(index, (b, m * k, values.shape[-1])), axis=1)
    rows = xp.reshape(rows, (b, m, k, values.shape[-1]))
    return in_float64(xp.matmul(rows, xp.matrix_transpose(rows)))


def centred_local_products(
    products: Array, neighbors: Array, q: int, factor: float, sums: Array, luminance: Array | None
) -> Array:
    """Centre the products of neighbours (eq. 5 and 6)."""
    left, right = pairs(take(sums, neighbors))
    gram = (q * products - left * right) * factor
    if luminance is not None:
        left, right = pairs(take(luminance, neighbors))
        gram = gram + left * right
    return gram
