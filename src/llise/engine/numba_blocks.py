"""Cutting and summing blocks, for NumPy arrays."""

from __future__ import annotations

import numpy as np

from llise.engine.jit import FAST, jit, part


def cut(images: np.ndarray, rows: int, cols: int, block_height: int, block_width: int) -> np.ndarray:
    """Cut images into blocks; a block's row of pixels is moved as one item."""
    n, dtype = len(images), images.dtype
    pixel_row = np.dtype((np.void, block_width * dtype.itemsize))
    if images.strides[-1] != dtype.itemsize:
        images = np.ascontiguousarray(images)
    parts = images.view(pixel_row).reshape(n, rows, block_height, cols)
    blocks = np.ascontiguousarray(parts.transpose(1, 3, 0, 2))
    return blocks.view(dtype).reshape(rows * cols, n, block_height * block_width)


def batches(n_blocks: int, size: int) -> list[slice]:
    """Split the blocks of a chunk into batches of ``size``, which fit into the processor's cache."""
    return [slice(start, min(start + size, n_blocks)) for start in range(0, n_blocks, size)]


def workers(n_jobs: int | None) -> int | None:
    """Work on ``n_jobs`` chunks at once: a compiled kernel uses one core and releases the GIL."""
    return n_jobs


def sums(values: np.ndarray) -> np.ndarray:
    """Sum each block; the sums of integers are exact (eq. 6)."""
    return _sums(np.ascontiguousarray(values))


@jit(fastmath=FAST)
def _sums(values):
    b, n, _ = values.shape
    out = np.empty((b, n))
    for i in range(b):
        for j in range(n):
            out[i, j] = sum_of(values[i, j])
    return out


@part(fastmath=FAST)
def sum_of(x):
    """The sum of a vector."""
    total = 0.0
    for t in range(x.size):
        total += x[t]
    return total
