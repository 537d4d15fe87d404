"""The nearest neighbours and the local problems that the weights solve, for NumPy arrays (docs/math.md)."""

from __future__ import annotations

import numpy as np

from llise.engine.jit import FAST, jit, part
from llise.engine.numba_gram import fill_centred, luminance_or_zeros


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


@jit(fastmath=FAST)
def _fill_nearest(products, norms, identical, exclude_self, out):
    b, m, n = products.shape
    distance = np.empty(n)
    best = np.empty(out.shape[2])
    for i in range(b):
        for j in range(m):
            for r in range(n):
                distance[r] = norms[i, r] - 2.0 * products[i, j, r]
            if exclude_self:
                distance[j] = np.inf
            if identical[j] >= 0:
                distance[identical[j]] = -np.inf
            _smallest(distance, best, out[i, j])


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
    b, m, k = neighbors.shape
    for i in range(b):
        for j in range(m):
            for r in range(k):
                row = neighbors[i, j, r]
                for s in range(r + 1):
                    value = gram[i, row, neighbors[i, j, s]]
                    out[i, j, r, s] = value
                    out[i, j, s, r] = value


@part()
def _fill_taken(products, neighbors, out):
    """kv (b, m, k): the products (b, m, n) with each image's neighbours."""
    b, m, k = neighbors.shape
    for i in range(b):
        for j in range(m):
            for r in range(k):
                out[i, j, r] = products[i, j, neighbors[i, j, r]]


@jit()
def _fill_problems(products, q, factor, sums, luminance, neighbors, K, kv, norms):
    """One block position after the other, so that its Gram matrix is used while it is in the cache."""
    b, n, _ = products.shape
    gram = np.empty((1, n, n))
    identical = np.empty(n, np.int64)
    for j in range(n):
        identical[j] = -1
    for i in range(b):
        one = slice(i, i + 1)
        fill_centred(products[one], q, factor, sums[one], sums[one], luminance[one], luminance[one], gram)
        for j in range(n):
            norms[i, j] = gram[0, j, j]
        _fill_nearest(gram, norms[one], identical, True, neighbors[one])
        _fill_local(gram, neighbors[one], K[one])
        _fill_taken(gram, neighbors[one], kv[one])
