"""The nearest neighbours and the local problems that the weights solve, for NumPy arrays (docs/math.md)."""

from __future__ import annotations

import numpy as np

from llise.engine.jit import FAST, jit, part
from llise.engine.numba_gram import centre_block, luminance_or_zeros


def nearest(products: np.ndarray, norms: np.ndarray, k: int, identical: np.ndarray, exclude_self: bool) -> np.ndarray:
    """The k training images nearest to each image: smallest ``|x_r|^2 - 2 <x, x_r>``, ties by index (eq. 12)."""
    out = np.zeros((*products.shape[:2], k), np.int64)
    _fill_nearest(products, np.ascontiguousarray(norms), identical, exclude_self, out)
    return out


def take_local(gram: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """The parts K of the Gram matrices over each image's neighbours."""
    out = np.empty((*neighbors.shape, neighbors.shape[-1]))
    _fill_local(gram, neighbors, out)
    return out


def training_problems(
    products: np.ndarray, q: int, factor: float, sums: np.ndarray, luminance: np.ndarray | None, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Neighbours and local problems K, kv, a of the training images, in one pass over the blocks."""
    b, n, _ = products.shape
    neighbors = np.zeros((b, n, k), np.int64)
    K, kv, norms = np.empty((b, n, k, k)), np.empty((b, n, k)), np.empty((b, n))
    _fill_problems(products, q, factor, sums, luminance_or_zeros(luminance, sums), neighbors, K, kv, norms)
    return neighbors, K, kv, norms


@jit()
def _fill_nearest(products, norms, identical, exclude_self, out):
    b, m, n = products.shape
    distance = np.empty(n)
    best = np.empty(out.shape[2])
    for i in range(b):
        for j in range(m):
            _nearest_of(products[i, j], norms[i], j if exclude_self else -1, identical[j], distance, best, out[i, j])


@part(fastmath=FAST)
def _nearest_of(products, norms, excluded, identical, distance, best, index):
    """The training images nearest to one image, never ``excluded`` and first of all ``identical``, if not negative."""
    for r in range(norms.size):
        distance[r] = norms[r] - 2.0 * products[r]
    if excluded >= 0:
        distance[excluded] = np.inf
    if identical >= 0:
        distance[identical] = -np.inf
    _smallest(distance, best, index)


@part()
def _smallest(distance, best, index):
    """Indices of the k smallest finite values in ascending order by insertion; equal values keep their order."""
    k = best.size
    filled = 0
    worst = np.inf
    for r in range(distance.size):
        value = distance[r]
        if not value < worst:
            continue
        slot = min(filled, k - 1)
        while slot > 0 and best[slot - 1] > value:
            best[slot] = best[slot - 1]
            index[slot] = index[slot - 1]
            slot -= 1
        best[slot] = value
        index[slot] = r
        filled += 1
        if filled >= k:
            worst = best[k - 1]


@jit()
def _fill_local(gram, neighbors, out):
    for i in range(neighbors.shape[0]):
        _take_block(gram[i], neighbors[i], out[i])


@part()
def _take_block(gram, neighbors, out):
    """The parts of one block position's Gram matrix over each image's neighbours."""
    m, k = neighbors.shape
    for j in range(m):
        for r in range(k):
            row = neighbors[j, r]
            for s in range(r + 1):
                value = gram[row, neighbors[j, s]]
                out[j, r, s] = value
                out[j, s, r] = value


@jit()
def _fill_problems(products, q, factor, sums, luminance, neighbors, K, kv, norms):
    """One block position after the other, so that its Gram matrix is used while it is in the cache."""
    b, n, k = kv.shape
    gram = np.empty((n, n))
    distance = np.empty(n)
    best = np.empty(k)
    for i in range(b):
        centre_block(products[i], q, factor, sums[i], sums[i], luminance[i], luminance[i], gram)
        for j in range(n):
            norms[i, j] = gram[j, j]
        for j in range(n):
            _nearest_of(gram[j], norms[i], j, np.int64(-1), distance, best, neighbors[i, j])
            for r in range(k):
                kv[i, j, r] = gram[j, neighbors[i, j, r]]
        _take_block(gram, neighbors[i], K[i])
