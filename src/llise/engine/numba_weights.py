"""Compiled kernels from neighbours to weights (equation numbers: docs/math.md).

Free functions of arrays: no state, no Python objects, the GIL released, compiled once and cached.  A *problem* is
one image at one block position: its k x k local Gram matrix K, kv = <x, neighbours> and a = <x, x>.  Problems are
worked on in *lanes*, arrays whose last axis runs over problems, so that the vector units see long inner loops.
"""

from __future__ import annotations

import numpy as np

from llise.engine.jit import FAST, jit
from llise.engine.numba_eigen import LANES, eigen_lanes, one_sided_jacobi, pivoted_cholesky

NEWTON = 60  # the secular equation takes 3 to 8 steps
REACH = 1e-6  # a direction with a smaller part in the null space does not reach into it
NULL = 1e-10  # an eigenvalue this near the least one, against the problem's scale, belongs to its space (hard case)
HARD = 1e-13  # a part of kv this small against the problem's scale is rounding


# --------------------------------------------------------------------------------------------- exact weights


@jit()
def affine_weights(K, kv, a, c, ridge, out):
    """Closed form of the affine problem (eq. 20-22), a Cholesky factor a problem."""
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
            lift = ridge * trace / k
            scale = a[first + l] + c
            if not lift > 1e-12 * scale:
                lift = ridge * 1e-6 * scale  # all neighbours equal x: any weights do, the ridge makes them even
            for r in range(k):
                for s in range(r):
                    factor[r, s, l] = K[first + l, r, s]
                factor[r, r, l] = K[first + l, r, r] + lift
                u[r, l] = kv[first + l, r]
                v[r, l] = 1.0
        _cholesky_lanes(factor, lanes)
        _solve_lanes(factor, u, lanes)
        _solve_lanes(factor, v, lanes)
        for l in range(lanes):
            _affine_root(u[:, l], v[:, l], kv[first + l], a[first + l], c, out[first + l])


@jit()
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
    if not L > 0.0:  # f >= 1 for every combination, and approaches 1 for endless weights: LLE's instead (L = 1)
        L = 1.0
    mu = (L - be) / ga
    total = 0.0
    for r in range(k):
        w[r] = (u[r] + mu * v[r]) / L
        total += w[r]
    for r in range(k):
        w[r] /= total


@jit()
def _cholesky_lanes(A, lanes):
    """Lower Cholesky factors in place, of matrices that a ridge made positive definite."""
    k = A.shape[0]
    for r in range(k):
        for s in range(r):
            for t in range(s):
                for l in range(lanes):
                    A[r, s, l] -= A[r, t, l] * A[s, t, l]
            for l in range(lanes):
                A[r, s, l] /= A[s, s, l]
        for t in range(r):
            for l in range(lanes):
                A[r, r, l] -= A[r, t, l] * A[r, t, l]
        for l in range(lanes):
            A[r, r, l] = np.sqrt(max(A[r, r, l], 1e-300))


@jit()
def _solve_lanes(L, x, lanes):
    """Solve L L' x = x in place."""
    k = x.shape[0]
    for r in range(k):
        for s in range(r):
            for l in range(lanes):
                x[r, l] -= L[r, s, l] * x[s, l]
        for l in range(lanes):
            x[r, l] /= L[r, r, l]
    for r in range(k - 1, -1, -1):
        for s in range(r + 1, k):
            for l in range(lanes):
                x[r, l] -= L[s, r, l] * x[s, l]
        for l in range(lanes):
            x[r, l] /= L[r, r, l]


@jit()
def sphere_weights(K, kv, a, c, out):
    """Global optimum of the sphere problem (eq. 15-19) from the non-zero eigenvalues of K and their vectors.

    Lanes hold problems of like rank: duplicates are common, a rank of one or two as frequent as full rank.
    """
    problems, k = kv.shape
    factors = np.empty((problems, k, k))
    ranks = np.empty(problems, np.int64)
    scratch = np.empty((3, k))
    for j in range(problems):
        ranks[j] = pivoted_cholesky(K, j, factors, scratch[0])
    order = np.argsort(ranks)
    X = np.empty((k, k, LANES))
    squares = np.empty((k, LANES))
    d = np.empty(k)
    U = np.empty((k, k))
    for first in range(0, problems, LANES):
        here = order[first : first + LANES]
        columns = ranks[here[-1]]
        X[:columns] = 0.0
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


@jit(fastmath=FAST)
def _sphere_from_eigen(d, U, rank, kv, a, c, scratch, w):
    """Optimal weights from the non-zero eigenvalues d and the eigenvectors, rows of U; ``scratch`` is (3, k).

    The space N of the least eigenvalue is known by its complement: the rows of U that do not span it come first.
    """
    k = kv.size
    g = scratch[0]  # U kv
    coordinates = scratch[1]
    least = d.min() if rank == k else 0.0
    scale = a + c
    for i in range(rank):
        scale = max(scale, a + c + d[i])
        g[i] = 0.0
        for r in range(k):
            g[i] += U[i, r] * kv[r]
    for r in range(k):
        w[r] = kv[r]
    kept = 0
    for i in range(rank):
        if d[i] - least > NULL * scale:
            _exchange(d, U, g, i, kept)
            for r in range(k):
                w[r] -= g[kept] * U[kept, r]
            kept += 1
    free = 0.0  # part of kv in N: rounding, or real?
    for r in range(k):
        free += w[r] * w[r]
    hard = np.sqrt(free) <= HARD * scale
    count = kept if hard else rank
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


@jit()
def _exchange(d, U, g, i, j):
    if i == j:
        return
    d[i], d[j] = d[j], d[i]
    g[i], g[j] = g[j], g[i]
    for r in range(U.shape[1]):
        U[i, r], U[j, r] = U[j, r], U[i, r]


@jit()
def _null_direction(U, rank, kv, x):
    """The unit vector x along the part of kv outside the range of K; returns that part's length.

    Projected twice: what is left of the first time may be rounding, which lies anywhere.
    """
    for r in range(kv.size):
        x[r] = kv[r]
    length = _project(U, rank, x)
    for r in range(kv.size):
        x[r] /= length + 1e-300
    again = _project(U, rank, x)
    for r in range(kv.size):
        x[r] /= again + 1e-300
    return length


@jit(fastmath=FAST)
def _pole(d, g, count, least, a, c, coordinates):
    """Hard case: the solution at t = 0, if it is no longer than one; L is then known in closed form (eq. 18)."""
    inner = 0.0
    square = 0.0
    for i in range(count):
        coordinates[i] = g[i] / (d[i] - least)
        inner += g[i] * coordinates[i]
        square += coordinates[i] * coordinates[i]
    whole = a + c + least
    L = 0.5 * (c + np.sqrt(c * c + 4.0 * whole * inner)) / whole
    if square > L * L:
        return False
    for i in range(count):
        coordinates[i] /= L
    return True


@jit(fastmath=FAST)
def _secular(d, g, count, least, a, c, coordinates):
    """The t >= 0 whose u = g / (d - least + t) has the length L(u / |u|), in one monotone equation (eq. 17).

    Newton on 1/|u|, nearly linear in t, from the left of the root and held between the nearest points on both
    sides; L is at its maximum at the root, so that taking it for a constant costs no order of convergence.
    """
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


@jit(fastmath=FAST)
def _fill_null_space(U, count, w, ones, direction):
    """Hard case: the missing length goes into N, where f does not see it (eq. 19).

    First so that the weights sum to one as nearly as they can, what is left towards the nearest neighbour that
    reaches into N.  The first rows of U span what is not N.
    """
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
    whole = missing if along >= 0.0 else -missing  # N is one line, along the ones
    for r in range(k):
        w[r] += whole * ones[r]


@jit(fastmath=FAST)
def _project(U, count, x):
    """Take from x its part in the span of the first rows of U; returns the length of what is left."""
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


@jit()
def nearest_semidefinite(gram):
    """Nearest positive semidefinite matrices to ``gram`` (problems, m, m), in place: negative eigenvalues to zero."""
    problems, m, _ = gram.shape
    A = np.empty((m, m, LANES))
    V = np.empty((m, m, LANES))
    for first in range(0, problems, LANES):
        lanes = min(LANES, problems - first)
        eigen_lanes(gram[first : first + lanes], A, V)
        for l in range(lanes):
            for i in range(m):
                if A[i, i, l] < 0.0:
                    for r in range(m):
                        part = A[i, i, l] * V[r, i, l]
                        for s in range(m):
                            gram[first + l, r, s] -= part * V[s, i, l]


# ---------------------------------------------------------------------------------------------- ADMM weights


@jit(fastmath=FAST)
def admm_weights(K, kv, a, c, affine, rho, eta, max_iter, tol, start, out, n_iter):
    """The paper's iterations (eq. 23) from ``start`` (3, problems, k) = w, xi, j; one gradient step a round.

    A problem is at rest once neither |w - xi| nor the change of xi exceeds ``tol`` (never, if that is negative).
    """
    problems, k = kv.shape
    A = np.empty((k, k, LANES))
    b = np.empty((k, LANES))
    norms = np.empty(LANES)
    rounds = np.empty(LANES, np.int64)
    state = np.empty((3, k, LANES))
    for first in range(0, problems, LANES):
        lanes = min(LANES, problems - first)
        for l in range(LANES):
            # all lanes are filled, so that every problem meets the same instructions: rounding grows fast here
            problem = first + min(l, lanes - 1)
            norms[l] = a[problem]
            for r in range(k):
                b[r, l] = kv[problem, r]
                for t in range(3):
                    state[t, r, l] = start[t, problem, r]
                for s in range(k):
                    A[r, s, l] = K[problem, r, s]
        _admm_lanes(A, b, norms, c, affine, rho, eta, max_iter, tol, state[0], state[1], state[2], rounds)
        for l in range(lanes):
            n_iter[first + l] = rounds[l]
            for r in range(k):
                out[first + l, r] = state[0, r, l]


@jit(fastmath=FAST)
def _admm_lanes(K, kv, a, c, affine, rho, eta, max_iter, tol, w, xi, j, n_iter):
    k = kv.shape[0]
    m = a.size
    Kw = np.empty((k, m))
    alpha = np.empty(m)
    beta = np.empty(m)
    norm = np.empty(m)
    worst = np.empty(m)
    live = np.ones(m)
    n_iter[:] = max_iter
    for iteration in range(max_iter):
        for l in range(m):
            alpha[l] = a[l]
            beta[l] = a[l] + c
            norm[l] = 0.0
            worst[l] = 0.0
        for r in range(k):
            row = Kw[r]
            for l in range(m):
                row[l] = 0.0
            for s in range(k):
                part = K[r, s]
                column = w[s]
                for l in range(m):
                    row[l] += part[l] * column[l]
            for l in range(m):
                alpha[l] += w[r, l] * (row[l] - 2.0 * kv[r, l])
                beta[l] += w[r, l] * row[l]
        for l in range(m):
            alpha[l] = 1.0 - alpha[l] / beta[l]  # 1 - f
            beta[l] = 2.0 / beta[l]
        for r in range(k):
            for l in range(m):
                slope = beta[l] * (alpha[l] * Kw[r, l] - kv[r, l])  # gradient of f, eq. 14
                w[r, l] -= live[l] * eta * (slope + rho * (w[r, l] - xi[r, l] + j[r, l]))
                moved = w[r, l] + j[r, l]
                norm[l] += moved if affine else moved * moved
        for l in range(m):
            norm[l] = (1.0 - norm[l]) / k if affine else 1.0 / np.sqrt(norm[l])
        for r in range(k):
            for l in range(m):
                moved = w[r, l] + j[r, l]
                projected = moved + norm[l] if affine else moved * norm[l]
                gap = max(abs(w[r, l] - projected), abs(projected - xi[r, l]))
                worst[l] = max(worst[l], gap)
                j[r, l] += live[l] * (moved - projected - j[r, l])
                xi[r, l] += live[l] * (projected - xi[r, l])
        if tol < 0.0:
            continue
        resting = 0
        for l in range(m):
            if live[l] > 0.0 and worst[l] <= tol:
                live[l] = 0.0
                n_iter[l] = iteration + 1
            resting += live[l] == 0.0
        if resting == m:
            break
