"""Compiled kernels of the steps around the two solvers (equation numbers: docs/math.md).

Inner products of blocks, neighbours, the local problems that weights solve, and what the weights make of them.  Free
functions of arrays: no state, no Python objects, the GIL released, compiled once and cached.  Block positions come
first and are worked on one at a time, so that what a block needs stays in cache.
"""

from __future__ import annotations

import numpy as np

from llise.engine.jit import FAST, jit

# ------------------------------------------------------------------------------------------- inner products


@jit(fastmath=FAST)
def sums(values):
    """Sums s = 1'x (b, n) of the blocks (b, n, q); exact for integers (eq. 6)."""
    b, n, _ = values.shape
    out = np.empty((b, n))
    for i in range(b):
        for j in range(n):
            out[i, j] = _sum(values[i, j])
    return out


@jit(fastmath=FAST)
def squares(values):
    """Squared norms x'x (b, n) of the blocks (b, n, q) as they are."""
    b, n, _ = values.shape
    out = np.empty((b, n))
    for i in range(b):
        for j in range(n):
            out[i, j] = _dot(values[i, j], values[i, j])
    return out


@jit(fastmath=FAST)
def cross_products(x, y):
    """Inner products (b, m, n) of blocks (b, m, q) and (b, n, q), each summed in the same order (eq. 8).

    Equal blocks have equal products, and no product depends on how many others are asked for: a matrix product of
    floats promises neither.
    """
    b, m, _ = x.shape
    n = y.shape[1]
    out = np.empty((b, m, n))
    for i in range(b):
        for j in range(m):
            for r in range(n):
                out[i, j, r] = _dot(x[i, j], y[i, r])
    return out


@jit(fastmath=FAST)
def own_products(x):
    """The products of blocks (b, n, q) with each other, as :func:`cross_products` has them; half are worked out."""
    b, n, _ = x.shape
    out = np.empty((b, n, n))
    for i in range(b):
        for j in range(n):
            for r in range(j + 1):
                out[i, j, r] = _dot(x[i, j], x[i, r])
                out[i, r, j] = out[i, j, r]
    return out


@jit(fastmath=FAST)
def _sum(x):
    total = 0.0
    for t in range(x.size):
        total += x[t]
    return total


@jit(fastmath=FAST)
def _dot(x, y):
    """x'y in the type of the blocks: in float32 there are only integers, whose sums are exact."""
    total = x.dtype.type(0)
    for t in range(x.size):
        total += x[t] * y[t]
    return total


@jit()
def centred(products, q, factor, sums_x, sums_y, luminance_x, luminance_y, out):
    """Inner products (b, m, n) of centred, scaled blocks with their luminance coordinates (eq. 5 and 6)."""
    b, m, n = products.shape
    for i in range(b):
        right, bright = sums_y[i], luminance_y[i]
        for j in range(m):
            row, x = out[i, j], products[i, j]
            s, light = sums_x[i, j], luminance_x[i, j]
            for r in range(n):
                row[r] = (q * np.float64(x[r]) - s * right[r]) * factor + light * bright[r]


@jit(fastmath=FAST)
def local_products(values, neighbors):
    """Inner products (b, m, k, k) of the training blocks (b, n, q) that are each new image's neighbours."""
    b, m, k = neighbors.shape
    out = np.empty((b, m, k, k))
    for i in range(b):
        for j in range(m):
            near = neighbors[i, j]
            for r in range(k):
                for s in range(r + 1):
                    out[i, j, r, s] = _dot(values[i, near[r]], values[i, near[s]])
                    out[i, j, s, r] = out[i, j, r, s]
    return out


@jit()
def centre_local(products, neighbors, q, factor, sums, luminance):
    """Products (b, m, k, k) of neighbours centred in place, as :func:`centred` does it (eq. 5 and 6)."""
    b, m, k = neighbors.shape
    s = np.empty(k)
    light = np.empty(k)
    for i in range(b):
        for j in range(m):
            for r in range(k):
                s[r] = sums[i, neighbors[i, j, r]]
                light[r] = luminance[i, neighbors[i, j, r]]
            for r in range(k):
                row = products[i, j, r]
                for t in range(k):
                    row[t] = (q * row[t] - s[r] * s[t]) * factor + light[r] * light[t]


# ----------------------------------------------------------------------------- neighbours and local problems


@jit(fastmath=FAST)
def nearest(products, norms, twins, exclude_self, out):
    """The k training images nearest to each image: smallest |x_r|^2 - 2 <x, x_r>, ties by index (eq. 12).

    ``products`` (b, m, n), ``norms`` (b, n), ``out`` (b, m, k).  Self is excluded by identity.  ``twins`` (m,) names
    the training image that equals image j everywhere (or -1): it comes first among equals.
    """
    b, m, n = products.shape
    distance = np.empty(n)
    best = np.empty(out.shape[2])
    for i in range(b):
        for j in range(m):
            for r in range(n):
                distance[r] = norms[i, r] - 2.0 * products[i, j, r]
            if exclude_self:
                distance[j] = np.inf
            if twins[j] >= 0:
                distance[twins[j]] = -np.inf
            _smallest(distance, best, out[i, j])


@jit()
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
def take_local(gram, neighbors, out):
    """K (b, m, k, k): the parts of the Gram matrices (b, n, n) over each image's neighbours."""
    b, m, k = neighbors.shape
    for i in range(b):
        for j in range(m):
            for r in range(k):
                row = neighbors[i, j, r]
                for s in range(r + 1):
                    value = gram[i, row, neighbors[i, j, s]]
                    out[i, j, r, s] = value
                    out[i, j, s, r] = value


@jit()
def take(products, neighbors, out):
    """kv (b, m, k): the products (b, m, n) with each image's neighbours."""
    b, m, k = neighbors.shape
    for i in range(b):
        for j in range(m):
            for r in range(k):
                out[i, j, r] = products[i, j, neighbors[i, j, r]]


@jit()
def training_problems(products, q, factor, sums, luminance, neighbors, K, kv, norms):
    """All of the above for the training images, from the products (b, n, n) of their blocks as they are.

    One block position after the other, so that its Gram matrix is used while it is in cache.
    """
    b, n, _ = products.shape
    gram = np.empty((1, n, n))
    twins = np.full(n, -1)
    for i in range(b):
        one = slice(i, i + 1)
        centred(products[one], q, factor, sums[one], sums[one], luminance[one], luminance[one], gram)
        for j in range(n):
            norms[i, j] = gram[0, j, j]
        nearest(gram, norms[one], twins, True, neighbors[one])
        take_local(gram, neighbors[one], K[one])
        take(gram, neighbors[one], kv[one])


# --------------------------------------------------------------------------------------- what weights make


@jit(fastmath=FAST)
def reconstruction_values(w, K, kv, a, c):
    """f(w) (problems,) of the problems K (problems, k, k), kv (problems, k), a (problems,) (eq. 13)."""
    problems, k = w.shape
    out = np.empty(problems)
    for i in range(problems):
        quadratic = 0.0
        linear = 0.0
        for r in range(k):
            row = 0.0
            for s in range(k):
                row += K[i, r, s] * w[i, s]
            quadratic += w[i, r] * row
            linear += w[i, r] * kv[i, r]
        out[i] = (a[i] + quadratic - 2.0 * linear) / (a[i] + quadratic + c)
    return out


@jit(fastmath=FAST)
def combinations(weights, neighbors, coordinates):
    """Coordinates sum_r w_r y_r (b, m, p) of images from those (b, n, p) of their neighbours (eq. 38)."""
    b, m, k = neighbors.shape
    p = coordinates.shape[2]
    out = np.zeros((b, m, p))
    for i in range(b):
        for j in range(m):
            y = out[i, j]
            for r in range(k):
                w, near = weights[i, j, r], coordinates[i, neighbors[i, j, r]]
                for t in range(p):
                    y[t] += w * near[t]
    return out


@jit(fastmath=FAST)
def projections(values, directions):
    """Products (b, n, p) of the blocks (b, n, q), each without its mean, with the rows of ``directions`` (p, q)."""
    b, n, q = values.shape
    p = directions.shape[0]
    out = np.empty((b, n, p))
    x = np.empty(q)
    for i in range(b):
        for j in range(n):
            block = values[i, j]
            mean = _sum(block) / q
            for t in range(q):
                x[t] = block[t] - mean  # exactly zero for flat blocks of integers
            for r in range(p):
                out[i, j, r] = _dot(x, directions[r])
    return out
