"""Reconstruction weights, for NumPy arrays (equation numbers: docs/math.md).

A *problem* is one image at one block position: its k x k local Gram matrix K, kv = <x, neighbours> and a = <x, x>.
Problems are worked on in *lanes*, arrays whose last axis runs over problems, so that the vector units see long inner
loops.
"""

from __future__ import annotations

import numpy as np

from llise.engine.jit import FAST, jit, part
from llise.engine.numba_eigen import LANES, one_sided_jacobi, pivoted_cholesky
from llise.engine.tolerances import HARD, NEWTON, NULL, REACH


def reconstruction_values(w: np.ndarray, K: np.ndarray, kv: np.ndarray, a: np.ndarray, c: float) -> np.ndarray:
    """f(w) of problems with any leading axes (eq. 13)."""
    if not w.shape == kv.shape == K.shape[:-1] or w.shape[:-1] != a.shape:
        quadratic = (w * np.matmul(K, w[..., None])[..., 0]).sum(axis=-1)
        return (a + quadratic - 2 * (w * kv).sum(axis=-1)) / (a + quadratic + c)
    flat = (np.ascontiguousarray(v).reshape(-1, *v.shape[w.ndim - 1 :]) for v in (w, K, kv, a))
    return _reconstruction_values(*flat, c).reshape(a.shape)


def affine_weights(K: np.ndarray, kv: np.ndarray, a: np.ndarray, c: float, ridge: float) -> np.ndarray:
    """Closed form of the affine problem (eq. 20-22), with one Cholesky factor for each problem."""
    K, kv, a = (np.ascontiguousarray(v) for v in (K, kv, a))
    out = np.empty_like(kv)
    _affine_weights(K, kv, a, c, ridge, out)
    return out


def sphere_weights(K: np.ndarray, kv: np.ndarray, a: np.ndarray, c: float) -> np.ndarray:
    """Global optimum of the sphere problem (eq. 15-19) from the non-zero eigenvalues of K and their vectors."""
    K, kv, a = (np.ascontiguousarray(v) for v in (K, kv, a))
    out = np.empty_like(kv)
    _sphere_weights(K, kv, a, c, out)
    return out


@jit(fastmath=FAST)
def _reconstruction_values(w, K, kv, a, c):
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


@jit()
def _affine_weights(K, kv, a, c, ridge, out):
    problems, k = kv.shape
    factor = np.empty((k, k, LANES))
    u = np.empty((k, LANES))  # K^-1 kv
    v = np.empty((k, LANES))  # K^-1 1
    for first in range(0, problems, LANES):
        lanes = min(LANES, problems - first)
        for l in range(lanes):
            # trace of LLE's local Gram = sum of squared distances to the neighbours
            trace = k * a[first + l]
            for r in range(k):
                trace += K[first + l, r, r] - 2.0 * kv[first + l, r]
            shift = ridge * trace / k
            scale = a[first + l] + c
            if not shift > 1e-12 * scale:
                shift = ridge * 1e-6 * scale  # all neighbours equal x: any weights do, the ridge makes them equal
            for r in range(k):
                for s in range(r):
                    factor[r, s, l] = K[first + l, r, s]
                factor[r, r, l] = K[first + l, r, r] + shift
                u[r, l] = kv[first + l, r]
                v[r, l] = 1.0
        _cholesky_lanes(factor, lanes)
        _solve_lanes(factor, u, lanes)
        _solve_lanes(factor, v, lanes)
        for l in range(lanes):
            _affine_root(u[:, l], v[:, l], kv[first + l], a[first + l], c, out[first + l])


@part()
def _affine_root(u, v, kv, a, c, w):
    """w = K^-1 (kv + mu 1) / L with L the positive root of eq. 21."""
    k = kv.size
    al = 0.0
    be = 0.0
    ga = 0.0
    for r in range(k):
        al += kv[r] * u[r]
        be += u[r]
        ga += v[r]
    lead = 1.0 / ga + a + c
    half = be / ga + 0.5 * c
    rest = al - be * be / ga
    if not rest > 1e-12 * al:  # rounding
        rest = 0.0
    L = (half + np.sqrt(max(half * half + lead * rest, 0.0))) / lead
    if not L > 0.0:  # f >= 1 for every combination, and approaches 1 for ever larger weights: take LLE's (L = 1)
        L = 1.0
    mu = (L - be) / ga
    total = 0.0
    for r in range(k):
        w[r] = (u[r] + mu * v[r]) / L
        total += w[r]
    for r in range(k):
        w[r] /= total


@part()
def _cholesky_lanes(A, lanes):
    """Lower Cholesky factors in place, of matrices that a ridge made positive definite; inverses on the diagonal."""
    k = A.shape[0]
    for r in range(k):
        for s in range(r):
            for t in range(s):
                for l in range(lanes):
                    A[r, s, l] -= A[r, t, l] * A[s, t, l]
            for l in range(lanes):
                A[r, s, l] *= A[s, s, l]
        for t in range(r):
            for l in range(lanes):
                A[r, r, l] -= A[r, t, l] * A[r, t, l]
        for l in range(lanes):
            A[r, r, l] = 1.0 / np.sqrt(max(A[r, r, l], 1e-300))


@part()
def _solve_lanes(L, x, lanes):
    """Solve L L' x = x in place."""
    k = x.shape[0]
    for r in range(k):
        for s in range(r):
            for l in range(lanes):
                x[r, l] -= L[r, s, l] * x[s, l]
        for l in range(lanes):
            x[r, l] *= L[r, r, l]
    for r in range(k - 1, -1, -1):
        for s in range(r + 1, k):
            for l in range(lanes):
                x[r, l] -= L[s, r, l] * x[s, l]
        for l in range(lanes):
            x[r, l] *= L[r, r, l]


@jit()
def _sphere_weights(K, kv, a, c, out):
    """Lanes hold problems of similar rank: duplicates are common, a rank of one or two as frequent as full rank."""
    problems, k = kv.shape
    factors = np.empty((problems, k, k))
    ranks = np.empty(problems, np.int64)
    scratch = np.empty((3, k))
    for j in range(problems):
        ranks[j] = pivoted_cholesky(K, j, factors, scratch[0])
    order = _by_rank(ranks, k)
    X = np.empty((k, k, LANES))
    squares = np.empty((k, LANES))
    d = np.empty(k)
    U = np.empty((k, k))
    for first in range(0, problems, LANES):
        here = order[first : first + LANES]
        columns = ranks[here[-1]]
        for i in range(columns):
            for r in range(k):
                for l in range(LANES):
                    X[i, r, l] = 0.0
        for l in range(here.size):
            for i in range(ranks[here[l]]):
                for r in range(k):
                    X[i, r, l] = factors[here[l], i, r]
        one_sided_jacobi(X, columns, squares)
        for l in range(here.size):
            j = here[l]
            for i in range(ranks[j]):
                d[i] = squares[i, l]
                for r in range(k):
                    U[i, r] = X[i, r, l]
            _sphere_from_eigen(d, U, ranks[j], kv[j], max(a[j], 0.0), c, scratch, out[j])


@part(allocates=True)
def _by_rank(ranks, k):
    """Indices of the problems in the order of their ranks, 0 to k."""
    order = np.empty(ranks.size, np.int64)
    filled = 0
    for rank in range(k + 1):
        for j in range(ranks.size):
            if ranks[j] == rank:
                order[filled] = j
                filled += 1
    return order


@part(fastmath=FAST)
def _sphere_from_eigen(d, U, rank, kv, a, c, scratch, w):
    """Optimal weights from the non-zero eigenvalues d and the eigenvectors, rows of U; ``scratch`` is (3, k)."""
    k = kv.size
    g = scratch[0]  # U kv
    coordinates = scratch[1]
    least = np.inf if rank == k else 0.0
    scale = a + c
    for i in range(rank):
        least = min(least, d[i])
        scale = max(scale, a + c + d[i])
        g[i] = 0.0
        for r in range(k):
            g[i] += U[i, r] * kv[r]
    for r in range(k):
        w[r] = kv[r]
    outside = np.int64(0)  # rows of U that do not span N
    for i in range(rank):
        if d[i] - least > NULL * scale:
            _exchange(d, U, g, i, outside)
            for r in range(k):
                w[r] -= g[outside] * U[outside, r]
            outside += 1
    free = 0.0  # squared part of kv in N, which may be rounding
    for r in range(k):
        free += w[r] * w[r]
    hard = np.sqrt(free) <= HARD * scale
    count = outside if hard else rank
    if not hard and rank < k:
        free = _null_direction(U, rank, kv, U[rank])
        hard = free <= HARD * scale  # N is the null space alone: small eigenvalues count, as kv has parts there
        if not hard:
            d[rank] = 0.0
            g[rank] = free
            count += 1
    short = hard and _pole(d, g, count, least, a, c, coordinates)
    if not short:
        _secular(d, g, count, least, a, c, coordinates)
    norm = 0.0
    for r in range(k):
        w[r] = 0.0
    for i in range(count):
        for r in range(k):
            w[r] += coordinates[i] * U[i, r]
    if short:
        _fill_null_space(U, count, w, scratch[1], scratch[2])
    for r in range(k):
        norm += w[r] * w[r]
    norm = np.sqrt(norm)
    for r in range(k):
        w[r] /= norm


@part()
def _exchange(d, U, g, i, j):
    if i == j:
        return
    d[i], d[j] = d[j], d[i]
    g[i], g[j] = g[j], g[i]
    for r in range(U.shape[1]):
        U[i, r], U[j, r] = U[j, r], U[i, r]


@part()
def _null_direction(U, rank, kv, x):
    """The unit vector x along the part of kv outside the range of K; returns that part's length."""
    for r in range(kv.size):
        x[r] = kv[r]
    length = _project(U, rank, x)
    for r in range(kv.size):
        x[r] /= length + 1e-300
    again = _project(U, rank, x)
    for r in range(kv.size):
        x[r] /= again + 1e-300
    return length


@part(fastmath=FAST)
def _pole(d, g, count, least, a, c, coordinates):
    """Hard case: the solution at t = 0, if it is no longer than one; L is then known in closed form (eq. 18)."""
    inner = 0.0
    square = 0.0
    for i in range(count):
        coordinates[i] = g[i] / (d[i] - least)
        inner += g[i] * coordinates[i]
        square += coordinates[i] * coordinates[i]
    lead = a + c + least
    L = 0.5 * (c + np.sqrt(c * c + 4.0 * lead * inner)) / lead
    if square > L * L:
        return False
    for i in range(count):
        coordinates[i] /= L
    return True


@part(fastmath=FAST)
def _secular(d, g, count, least, a, c, coordinates):
    """The t >= 0 whose u = g / (d - least + t) has the length L(u / |u|), in one monotone equation (eq. 17)."""
    size = 0.0
    for i in range(count):
        size += g[i] * g[i]
    bound = (2.0 * np.sqrt(size) + c) / (a + c + least)  # L <= bound
    low = 0.0
    for i in range(count):
        low = max(low, abs(g[i]) / bound - (d[i] - least))
    high = np.inf
    t = low
    for _ in range(NEWTON):
        linear = 0.0
        quadratic = 0.0
        square = 0.0
        slope = 0.0
        for i in range(count):
            inverse = 1.0 / (d[i] - least + t + 1e-300)
            u = g[i] * inverse
            linear += g[i] * u
            quadratic += d[i] * u * u
            square += u * u
            slope += u * u * inverse
        excess = ((a + c) * square + quadratic) / (2.0 * linear + c * np.sqrt(square)) - 1.0  # |u| / L - 1
        if excess >= 0.0:
            low = t
        else:
            high = t
        t += excess * square / slope
        if abs(excess) <= 1e-9:  # convergence is quadratic: this step was the last
            break
        if not low < t < high:
            t = 0.5 * (low + high)
    for i in range(count):
        coordinates[i] = g[i] / (d[i] - least + t + 1e-300)


@part(fastmath=FAST)
def _fill_null_space(U, count, w, ones, direction):
    """Hard case: the missing length goes into N, where f does not see it (eq. 19)."""
    k = w.size
    missing = 1.0
    total = 0.0
    for r in range(k):
        missing -= w[r] * w[r]
        total += w[r]
        ones[r] = 1.0
    missing = np.sqrt(max(missing, 0.0))
    reach = _project(U, count, ones)
    along = 0.0
    if reach > REACH:
        along = min(max((1.0 - total) / reach, -missing), missing)
        for r in range(k):
            ones[r] /= reach
    else:
        for r in range(k):
            ones[r] = 0.0
    rest = np.sqrt(max(missing * missing - along * along, 0.0))
    for s in range(k):
        for r in range(k):
            direction[r] = -ones[s] * ones[r]
        direction[s] += 1.0
        length = _project(U, count, direction)
        if length > REACH:
            for r in range(k):
                w[r] += along * ones[r] + rest / length * direction[r]
            return
    signed = missing if along >= 0.0 else -missing  # N is one line, along the ones
    for r in range(k):
        w[r] += signed * ones[r]


@part(fastmath=FAST)
def _project(U, count, x):
    """Subtract from x its part in the span of the first rows of U; returns the length of what is left."""
    k = x.size
    for i in range(count):
        inner = 0.0
        for r in range(k):
            inner += U[i, r] * x[r]
        for r in range(k):
            x[r] -= inner * U[i, r]
    square = 0.0
    for r in range(k):
        square += x[r] * x[r]
    return np.sqrt(square)
