"""Cutting and summing blocks, in the array namespace of the input."""

from __future__ import annotations

from typing import Any

from llise.engine.backend import namespace

Array = Any


def cut(images: Array, rows: int, cols: int, block_height: int, block_width: int) -> Array:
    """Cut images into blocks."""
    xp = namespace(images)
    n = images.shape[0]
    parts = xp.reshape(images, (n, rows, block_height, cols, block_width))
    return xp.reshape(xp.permute_dims(parts, (1, 3, 0, 2, 4)), (rows * cols, n, block_height * block_width))


def batches(n_blocks: int, size: int) -> list[slice]:
    """Take all blocks of a chunk as one batch, whatever ``size`` is: few large steps suit a GPU."""
    return [slice(0, n_blocks)]


def workers(n_jobs: int | None) -> int | None:
    """Work on one chunk at a time: the array library uses the whole device for it."""
    return 1


def sums(values: Array) -> Array:
    """Sum each block; the sums of integers are exact, in float32 as well (eq. 6)."""
    xp = namespace(values)
    return xp.astype(xp.sum(values, axis=-1), xp.float64, copy=False)
