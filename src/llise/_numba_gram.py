"""Compiled kernels from blocks to neighbours (equation numbers: docs/math.md).

Free functions of arrays: no state, no Python objects, the GIL released, compiled once and cached.  Block positions
come first, and one position at a time is worked on, so that its Gram matrix stays in cache.
"""

from __future__ import annotations

import numpy as np

from ._jit import FAST, jit


@jit(fastmath=FAST)
def nearest(products, norms, k, twins, exclude_self):
    """The k training images nearest to each image: smallest |x_r|^2 - 2 <x, x_r>, ties by index (eq. 12).

    ``products`` (b, m, n), ``norms`` (b, n).  Self is excluded by identity.  ``twins`` (m,) names the training
    image that equals image j everywhere (or -1): it comes first among equals.
    """
    b, m, n = products.shape
    out = np.empty((b, m, k), np.int64)
    distance = np.empty(n)
    best = np.empty(k)
    for i in range(b):
        for j in range(m):
            for r in range(n):
                distance[r] = norms[i, r] - 2.0 * products[i, j, r]
            if exclude_self:
                distance[j] = np.inf
            if twins[j] >= 0:
                distance[twins[j]] = -np.inf
            _smallest(distance, best, out[i, j])
    return out


@jit()
def _smallest(distance, best, index):
    """Indices of the k smallest values in ascending order by insertion; equal values keep their order."""
    k = best.size
    best[:] = np.inf
    filled = 0
    for r in range(distance.size):
        value = distance[r]
        if filled == k and not value < best[k - 1]:
            continue
        if value == np.inf:
            continue
        slot = min(filled, k - 1)
        while slot > 0 and best[slot - 1] > value:
            best[slot] = best[slot - 1]
            index[slot] = index[slot - 1]
            slot -= 1
        best[slot] = value
        index[slot] = r
        filled = min(filled + 1, k)


@jit()
def take_local(gram, neighbors):
    """K (b, m, k, k): the parts of the Gram matrices (b, n, n) over each image's neighbours."""
    b, m, k = neighbors.shape
    out = np.empty((b, m, k, k))
    for i in range(b):
        for j in range(m):
            for r in range(k):
                row = neighbors[i, j, r]
                for s in range(r + 1):
                    value = gram[i, row, neighbors[i, j, s]]
                    out[i, j, r, s] = value
                    out[i, j, s, r] = value
    return out


@jit(fastmath=FAST)
def local_products(values, neighbors):
    """Inner products (b, m, k, k) of the training blocks (b, n, q) that are each new image's neighbours."""
    b, m, k = neighbors.shape
    q = values.shape[2]
    out = np.empty((b, m, k, k))
    for i in range(b):
        for j in range(m):
            for r in range(k):
                x = values[i, neighbors[i, j, r]]
                for s in range(r + 1):
                    y = values[i, neighbors[i, j, s]]
                    total = x[0] * y[0]
                    for t in range(1, q):
                        total += x[t] * y[t]
                    out[i, j, r, s] = total
                    out[i, j, s, r] = total
    return out


@jit(fastmath=FAST)
def cross_products(x, y):
    """Inner products (b, m, n) of blocks (b, m, q) and (b, n, q), each summed in the same order.

    Equal blocks have equal products, and no product depends on how many others are asked for: a matrix product of
    floats promises neither.
    """
    b, m, q = x.shape
    n = y.shape[1]
    out = np.empty((b, m, n))
    for i in range(b):
        for j in range(m):
            left = x[i, j]
            for r in range(n):
                right = y[i, r]
                total = 0.0
                for t in range(q):
                    total += left[t] * right[t]
                out[i, j, r] = total
    return out
