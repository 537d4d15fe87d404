"""Compiled linear algebra of the embedding, in vectors of four (equation numbers: docs/math.md).

A *tall* matrix, n images by p coordinates, is an array (Q, N, 4): coordinates in groups of four, the last filled up
with zeros, and N the next multiple of 4, whose extra rows are zero as well.  An image's row is then one vector, and
loops over images carry no remainder.
"""

from __future__ import annotations

import numpy as np

from llise.engine.jit import FAST, part
from llise.engine.simd import load, spread, store, total

# ---------------------------------------------------------------------------------------------- tall matrices


@part(allocates=True)
def tall(n, p):
    """A tall matrix of zeros."""
    out = np.empty(((p + 3) // 4, (n + 3) // 4 * 4, 4))
    for q in range(out.shape[0]):
        for j in range(out.shape[1]):
            store(out, q, j, spread(0.0))
    return out


@part()
def set_tall(rows, out):
    """Fill a tall matrix with rows (n, p)."""
    n, p = rows.shape
    for j in range(n):
        for i in range(p):
            out[i // 4, j, i % 4] = rows[j, i]


@part()
def get_rows(Y, out):
    """Fill rows (n, p) from a tall matrix."""
    n, p = out.shape
    for j in range(n):
        for i in range(p):
            out[j, i] = Y[i // 4, j, i % 4]


@part()
def inner(X, Y):
    """tr(X'Y)."""
    even = odd = spread(0.0)
    for q in range(X.shape[0]):
        for j in range(0, X.shape[1], 2):
            even += load(X, q, j) * load(Y, q, j)
            odd += load(X, q, j + 1) * load(Y, q, j + 1)
    return total(even + odd)


@part()
def copy(X, Y):
    """Y := X."""
    for q in range(X.shape[0]):
        for j in range(X.shape[1]):
            store(Y, q, j, load(X, q, j))


@part()
def combine(a, X, b, Y):
    """Y := a X + b Y."""
    for q in range(X.shape[0]):
        for j in range(X.shape[1]):
            store(Y, q, j, a * load(X, q, j) + b * load(Y, q, j))


@part()
def cross(X, Y, scale, out):
    """out = scale X'Y, square, of order 4Q."""
    Q, N, _ = X.shape
    for q in range(Q):
        for r in range(Q):
            a = b = c = d = spread(0.0)
            for j in range(N):
                y = load(Y, r, j)
                a += X[q, j, 0] * y
                b += X[q, j, 1] * y
                c += X[q, j, 2] * y
                d += X[q, j, 3] * y
            store(out, 4 * q, 4 * r, scale * a)
            store(out, 4 * q + 1, 4 * r, scale * b)
            store(out, 4 * q + 2, 4 * r, scale * c)
            store(out, 4 * q + 3, 4 * r, scale * d)


@part()
def subtract_product(X, T, Y):
    """Y -= X T for T of order 4Q."""
    Q, N, _ = X.shape
    for q in range(Q):
        for r in range(Q):
            a, b = load(T, 4 * q, 4 * r), load(T, 4 * q + 1, 4 * r)
            c, d = load(T, 4 * q + 2, 4 * r), load(T, 4 * q + 3, 4 * r)
            for j in range(N):
                taken = (X[q, j, 0] * a + X[q, j, 1] * b) + (X[q, j, 2] * c + X[q, j, 3] * d)
                store(Y, r, j, load(Y, r, j) - taken)


@part()
def centre(Y, n):
    """Remove the mean over the n images."""
    for q in range(Y.shape[0]):
        even = odd = spread(0.0)
        for j in range(0, Y.shape[1], 2):
            even += load(Y, q, j)
            odd += load(Y, q, j + 1)
        mean = (even + odd) * (1.0 / n)
        for j in range(n):
            store(Y, q, j, load(Y, q, j) - mean)


@part()
def project(Y, U, n, T):
    """Onto the tangent space in place: U - Y Y'U / n, centred (eq. 30); T, of order 4Q, is working space."""
    centre(U, n)
    cross(Y, U, 1.0 / n, T)
    subtract_product(Y, T, U)


@part(allocates=True)
def orthonormalise(Y, n, p, rounds):
    """Columns centred, orthogonal and of squared length n: modified Gram-Schmidt (eq. 31)."""
    Q = Y.shape[0]
    before = np.empty((1, 4 * Q))  # with their means: a constant column vanishes too
    products = np.empty((1, 4 * Q))
    for q in range(Q):
        squares = spread(0.0)
        for j in range(n):
            squares += load(Y, q, j) * load(Y, q, j)
        store(before, 0, 4 * q, squares)
    spare = np.int64(1)
    for again in range(rounds):
        centre(Y, n)
        for i in range(p):
            _products_with(Y, i, products)
            while again == 0 and not products[0, i] > 1e-20 * before[0, i] and spare < n:
                _replace(Y, i, spare, n)
                before[0, i] = 0.5 * n
                spare += 1
                _products_with(Y, i, products)
            _split_off(Y, i, n, products)


@part()
def _products_with(Y, i, out):
    """out (1, 4Q) = y_i'Y for column i and those from its group of four on."""
    q, a = i // 4, i % 4
    for r in range(q, Y.shape[0]):
        s0 = s1 = s2 = s3 = spread(0.0)
        for j in range(0, Y.shape[1], 4):
            s0 += Y[q, j, a] * load(Y, r, j)
            s1 += Y[q, j + 1, a] * load(Y, r, j + 1)
            s2 += Y[q, j + 2, a] * load(Y, r, j + 2)
            s3 += Y[q, j + 3, a] * load(Y, r, j + 3)
        store(out, 0, 4 * r, (s0 + s1) + (s2 + s3))


@part()
def _split_off(Y, i, n, products):
    """Remove column i from the later ones, and give it its length."""
    q, a = i // 4, i % 4
    square = products[0, i]
    for s in range(4 * q, products.shape[1]):
        products[0, s] = products[0, s] / square if s > i else 0.0
    for r in range(Y.shape[0] - 1, q - 1, -1):  # its own group last
        parts = load(products, 0, 4 * r)
        for j in range(n):
            store(Y, r, j, load(Y, r, j) - Y[q, j, a] * parts)
    factor = np.sqrt(n / square)
    for j in range(n):
        Y[q, j, a] *= factor


@part()
def _replace(Y, i, spare, n):
    """Column i := a cosine, orthogonal to the columns before."""
    for j in range(n):
        Y[i // 4, j, i % 4] = np.cos(np.pi * spare * (j + 0.5) / n)
    for s in range(i):
        part = 0.0
        for j in range(n):
            part += Y[s // 4, j, s % 4] * Y[i // 4, j, i % 4] / n
        for j in range(n):
            Y[i // 4, j, i % 4] -= part * Y[s // 4, j, s % 4]


@part(allocates=True)
def violation(Y, n, p):
    """max of ``|mean of Y|`` and ``|Y'Y / n - I|`` (eq. 31)."""
    T = np.empty((4 * Y.shape[0], 4 * Y.shape[0]))
    cross(Y, Y, 1.0 / n, T)
    worst = 0.0
    for i in range(p):
        mean = 0.0
        for j in range(n):
            mean += Y[i // 4, j, i % 4] / n
        worst = max(worst, abs(mean))
        for s in range(i + 1):
            worst = max(worst, abs(T[i, s] - (1.0 if i == s else 0.0)))
    return worst


# ---------------------------------------------------------------------------------------------------- Cholesky


@part()
def cholesky(U, floor):
    """Factor the matrix whose upper triangle is in U, in place, into U'U; pivots are at least ``floor``."""
    N = U.shape[0]
    for i in range(0, N, 4):
        for j in range(i, N - 4, 8):
            _subtract_two_tiles(U, i, j)
        if (N - i) % 8:
            _subtract_above(U, i, U, N - 4)
        _factor_corner(U, i, floor)
        for j in range(i + 4, N, 4):
            _solve_corner(U, i, U, j)


@part()
def solve(U, X):
    """X := (U'U)^-1 X for a tall X, four rows at a time."""
    N = U.shape[0]
    for q in range(X.shape[0]):
        group, j = X[q], np.int64(0)  # no constant, for which all of this would be compiled again
        for i in range(0, N, 4):
            _subtract_above(U, i, group, j)
            _solve_corner(U, i, group, j)
        for i in range(N - 4, -1, -4):
            _subtract_below(U, i, group, j)
            _solve_corner_transposed(U, i, group, j)


@part()
def _subtract_above(U, i, X, j):
    """X[i:i+4, j:j+4] -= U[:i, i:i+4]' X[:i, j:j+4], in two independent sums."""
    a, b, c, d = load(X, i, j), load(X, i + 1, j), load(X, i + 2, j), load(X, i + 3, j)
    e = f = g = h = spread(0.0)
    for t in range(0, i, 2):
        x, y = load(X, t, j), load(X, t + 1, j)
        a -= U[t, i] * x
        b -= U[t, i + 1] * x
        c -= U[t, i + 2] * x
        d -= U[t, i + 3] * x
        e += U[t + 1, i] * y
        f += U[t + 1, i + 1] * y
        g += U[t + 1, i + 2] * y
        h += U[t + 1, i + 3] * y
    _store_tile(X, i, j, a - e, b - f, c - g, d - h)


@part()
def _subtract_below(U, i, X, j):
    """X[i:i+4, j:j+4] -= U[i:i+4, i+4:] X[i+4:, j:j+4], in two independent sums."""
    a, b, c, d = load(X, i, j), load(X, i + 1, j), load(X, i + 2, j), load(X, i + 3, j)
    e = f = g = h = spread(0.0)
    for t in range(i + 4, U.shape[0], 2):
        x, y = load(X, t, j), load(X, t + 1, j)
        a -= U[i, t] * x
        b -= U[i + 1, t] * x
        c -= U[i + 2, t] * x
        d -= U[i + 3, t] * x
        e += U[i, t + 1] * y
        f += U[i + 1, t + 1] * y
        g += U[i + 2, t + 1] * y
        h += U[i + 3, t + 1] * y
    _store_tile(X, i, j, a - e, b - f, c - g, d - h)


@part()
def _store_tile(X, i, j, a, b, c, d):
    store(X, i, j, a)
    store(X, i + 1, j, b)
    store(X, i + 2, j, c)
    store(X, i + 3, j, d)


@part()
def _subtract_two_tiles(U, i, j):
    """U[i:i+4, j:j+8] -= U[:i, i:i+4]' U[:i, j:j+8]: the same for two tiles side by side."""
    a, b, c, d = load(U, i, j), load(U, i + 1, j), load(U, i + 2, j), load(U, i + 3, j)
    e, f, g, h = load(U, i, j + 4), load(U, i + 1, j + 4), load(U, i + 2, j + 4), load(U, i + 3, j + 4)
    for t in range(i):
        x, y = load(U, t, j), load(U, t, j + 4)
        a -= U[t, i] * x
        b -= U[t, i + 1] * x
        c -= U[t, i + 2] * x
        d -= U[t, i + 3] * x
        e -= U[t, i] * y
        f -= U[t, i + 1] * y
        g -= U[t, i + 2] * y
        h -= U[t, i + 3] * y
    _store_tile(U, i, j, a, b, c, d)
    _store_tile(U, i, j + 4, e, f, g, h)


@part(fastmath=FAST)
def _factor_corner(U, i, floor):
    """Factor the 4 x 4 tile on the diagonal."""
    for a in range(i, i + 4):
        for b in range(a, i + 4):
            for t in range(i, a):
                U[a, b] -= U[t, a] * U[t, b]
        U[a, a] = 1.0 / np.sqrt(max(U[a, a], floor))
        for b in range(a + 1, i + 4):
            U[a, b] *= U[a, a]


@part()
def _solve_corner(U, i, X, j):
    """X[i:i+4, j:j+4] := the solution with the transpose of the tile on the diagonal."""
    a = load(X, i, j) * U[i, i]
    b = (load(X, i + 1, j) - U[i, i + 1] * a) * U[i + 1, i + 1]
    c = (load(X, i + 2, j) - U[i, i + 2] * a - U[i + 1, i + 2] * b) * U[i + 2, i + 2]
    d = (load(X, i + 3, j) - U[i, i + 3] * a - U[i + 1, i + 3] * b - U[i + 2, i + 3] * c) * U[i + 3, i + 3]
    _store_tile(X, i, j, a, b, c, d)


@part()
def _solve_corner_transposed(U, i, X, j):
    """The same with the tile itself, from the last row up."""
    d = load(X, i + 3, j) * U[i + 3, i + 3]
    c = (load(X, i + 2, j) - U[i + 2, i + 3] * d) * U[i + 2, i + 2]
    b = (load(X, i + 1, j) - U[i + 1, i + 3] * d - U[i + 1, i + 2] * c) * U[i + 1, i + 1]
    a = (load(X, i, j) - U[i, i + 3] * d - U[i, i + 2] * c - U[i, i + 1] * b) * U[i, i]
    _store_tile(X, i, j, a, b, c, d)
