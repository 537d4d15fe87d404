"""From coordinates back to images: each block by the weights of its neighbours in the embedding (docs/math.md, 7)."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine.backend import like, to_numpy
from llise.manifold.blocks import BlockGrid

Array = Any
EQUAL = 1e-6
"""Distance of coordinates, which have unit variance, below which they are equal."""

RIDGE = 0.1
"""Regularisation of the weights.

It is larger than that of weights between blocks: with less, new images come back with a larger error
(docs/manifold.md).
"""

PIXELS_AT_ONCE = 65536
VALUES_AT_ONCE = 2**22
"""Columns of pixels in memory as floats at a time, and numbers in an array of distances or of local matrices."""


def inverse_weights(targets: np.ndarray, training: np.ndarray, k: int, ridge: float) -> np.ndarray:
    """Weights, of unit sum, of the training images whose coordinates lie nearest (docs/math.md, eq. 42 to 44)."""
    squared = np.stack([((training - target[:, None, :]) ** 2).sum(axis=-1) for target in targets.swapaxes(0, 1)], 1)
    # A stable order: of equal distances, the image that comes first is the nearer one.
    nearest = np.argsort(squared, axis=-1, kind="stable")[..., :k]
    b, m, _ = nearest.shape
    offsets = training[np.arange(b)[:, None, None], nearest] - targets[:, :, None, :]
    local = offsets @ offsets.swapaxes(-1, -2)
    distances = np.take_along_axis(squared, nearest, axis=-1)
    local += (ridge * distances.mean(axis=-1) + np.finfo(float).tiny)[..., None, None] * np.eye(nearest.shape[-1])
    equal = distances[..., 0] <= EQUAL**2
    local[equal] = np.eye(nearest.shape[-1])  # not used
    weights = np.linalg.solve(local, np.ones((*nearest.shape, 1)))[..., 0]
    weights /= weights.sum(axis=-1, keepdims=True)
    weights[equal] = np.eye(nearest.shape[-1])[0]
    result = np.zeros((b, m, training.shape[1]))
    np.put_along_axis(result, nearest, weights, axis=-1)
    return result


def images_of(
    coordinates: np.ndarray, training: np.ndarray, images: Array, grid: BlockGrid, k: int, ridge: float = RIDGE
) -> Array:
    """Make the images that belong to coordinates."""
    m = coordinates.shape[1]
    result = np.empty((m, grid.height, grid.width), training.dtype)
    for chunk in grid.chunks():
        positions = grid.positions(chunk)
        blocks = grid.cut(np.ascontiguousarray(to_numpy(grid.pixels(images, chunk))))
        place = grid.pixels(result, chunk)
        part = BlockGrid(place.shape[1], place.shape[2], grid.block_height, grid.block_width)
        step = max(1, VALUES_AT_ONCE // (len(blocks) * max(training.shape[1], k * k)))
        for start in range(0, m, step):
            some = slice(start, start + step)
            weights = inverse_weights(
                coordinates[positions, some].astype(np.float64), training[positions].astype(np.float64), k, ridge
            )
            place[some] = part.join(_weighted(weights, blocks))
    return like(images, result)


def _weighted(weights: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """Sums (b, m, q) of blocks (b, n, q) with weights (b, m, n); only some pixels are in memory as floats at a time."""
    parts = [
        weights @ blocks[..., start : start + PIXELS_AT_ONCE].astype(np.float64)
        for start in range(0, blocks.shape[-1], PIXELS_AT_ONCE)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)
