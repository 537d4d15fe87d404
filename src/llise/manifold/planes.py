"""Colour images as blocks of three planes: luma and two chroma planes side by side (docs/math.md, section 8)."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.colours import TO_PLANES
from llise.engine.backend import like, namespace
from llise.manifold.blocks import BlockGrid

Array = Any


def colour_grid(shape: tuple[int, ...], block_size: int | None, *, luminance: bool = False) -> BlockGrid:
    """Return the grid of colour images of which :func:`laid_out` has put the planes of each block side by side."""
    grid = BlockGrid.of_images((shape[0], shape[1]), block_size)
    height, width = grid.block_height, 3 * grid.block_width + (_columns(grid.block_height) if luminance else 0)
    return BlockGrid(grid.rows * height, grid.cols * width, height, width)


def weighted_planes(images: Array, weights: tuple[float, float, float]) -> Array:
    """Return luma and chroma of images, each plane multiplied by the root of its weight."""
    xp = namespace(images)
    dtype = xp.float64 if images.dtype == xp.float64 else xp.float32
    matrix = (np.sqrt(np.asarray(weights, float))[:, None] * TO_PLANES.astype(float)).T
    return xp.matmul(xp.astype(images, dtype, copy=False), xp.astype(like(images, matrix), dtype, copy=False))


def laid_out(
    images: Array,
    block_size: int | None,
    weights: tuple[float, float, float],
    *,
    centre: bool,
    luminance: float = 0.0,
    levels: Array | None = None,
) -> tuple[Array, Array | None]:
    """Put the three planes of each block side by side, so that a colour image is cut like a grey one."""
    xp = namespace(images)
    n, height, width, _ = images.shape
    grid = BlockGrid.of_images((height, width), block_size)
    rows, cols, tall, wide = grid.rows, grid.cols, grid.block_height, grid.block_width
    planes = weighted_planes(images, weights)
    for axis, uneven in ((1, rows * tall - height), (2, cols * wide - width)):
        if uneven:
            edge = planes[:, -1:] if axis == 1 else planes[:, :, -1:]
            planes = xp.concat([planes, *[edge] * uneven], axis=axis)
    blocks = xp.reshape(planes, (n, rows, tall, cols, wide, 3))
    means = xp.mean(blocks, axis=(2, 4))
    if centre:
        blocks = blocks - means[:, :, None, :, None, :]
    parts = [xp.reshape(xp.permute_dims(blocks, (0, 1, 2, 3, 5, 4)), (n, rows, tall, cols, 3 * wide))]
    if luminance:
        levels = xp.mean(means, axis=0) if levels is None else levels
        # As pairs of opposite values: the block stays centred, and inner products are those of eq. 5.
        half = luminance * (tall * wide / 2) ** 0.5 * (means - levels)
        columns = _columns(tall)
        zeros = xp.zeros_like(xp.broadcast_to(half[..., :1], (n, rows, cols, tall * columns - 6)))
        values = xp.reshape(xp.concat([half, -half, zeros], axis=-1), (n, rows, cols, columns, tall))
        parts.append(xp.permute_dims(values, (0, 1, 4, 2, 3)))
    side_by_side = xp.concat(parts, axis=-1)
    return xp.reshape(side_by_side, (n, rows * tall, cols * side_by_side.shape[-1])), levels


def _columns(height: int) -> int:
    """Columns that six values need in a block."""
    return -(-6 // height)


def check_weights(weights: Any) -> tuple[float, float, float]:
    """Check the weights of the planes."""
    values = np.asarray(weights, dtype=object)
    try:
        numbers = np.asarray(weights, float)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if numbers.shape != (3,) or not np.isfinite(numbers).all() or (numbers < 0).any() or not numbers.any():
        raise ValueError(f"plane_weights={values.tolist()!r}: expected three numbers of at least 0, not all of them 0.")
    y, cb, cr = (float(number) for number in numbers)
    return y, cb, cr
