"""Compiled kernels from neighbours to weights (equation numbers: docs/math.md).

Free functions of arrays: no state, no Python objects, the GIL released, compiled once and cached.  A *problem* is
one image at one block position: its k x k local Gram matrix K, kv = <x, neighbours> and a = <x, x>.  Problems are
worked on in *lanes*, arrays whose last axis runs over problems, so that the vector units see long inner loops.
"""

from __future__ import annotations

import numpy as np

from ._jit import FAST, jit

LANES = 32
SWEEPS = 30  # Jacobi converges in 5 to 8
REACH = 1e-6  # a direction with a smaller part in the null space does not reach into it
NULL = 1e-10  # an eigenvalue this small against the problem's scale spans the null space (hard case)


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
    """Global optimum of the sphere problem (eq. 15-19) by the eigen-decomposition of K and Dinkelbach's ratio."""
    problems, k = kv.shape
    A = np.empty((k, k, LANES))
    V = np.empty((k, k, LANES))
    d = np.empty(k)
    basis = np.empty((k, k))
    for first in range(0, problems, LANES):
        lanes = min(LANES, problems - first)
        _eigen_lanes(K[first : first + lanes], A, V)
        for l in range(lanes):
            for r in range(k):
                d[r] = max(A[r, r, l], 0.0)  # rounding
                for s in range(k):
                    basis[r, s] = V[r, s, l]
            _sphere_from_eigen(d, basis, kv[first + l], max(a[first + l], 0.0), c, out[first + l])


@jit()
def nearest_semidefinite(gram):
    """Nearest positive semidefinite matrices to ``gram`` (problems, m, m), in place: negative eigenvalues to zero."""
    problems, m, _ = gram.shape
    A = np.empty((m, m, LANES))
    V = np.empty((m, m, LANES))
    for first in range(0, problems, LANES):
        lanes = min(LANES, problems - first)
        _eigen_lanes(gram[first : first + lanes], A, V)
        for l in range(lanes):
            for i in range(m):
                if A[i, i, l] < 0.0:
                    for r in range(m):
                        part = A[i, i, l] * V[r, i, l]
                        for s in range(m):
                            gram[first + l, r, s] -= part * V[s, i, l]


@jit()
def _eigen_lanes(K, A, V):
    """Eigenvalues on the diagonals of A and eigenvectors in V, both (k, k, lanes), of matrices K (lanes, k, k)."""
    lanes, k, _ = K.shape
    for l in range(lanes):
        for r in range(k):
            for s in range(r, k):
                A[r, s, l] = K[l, r, s]
    _jacobi_lanes(A, V, lanes)


@jit()
def _eigen(K):
    """Eigenvalues and eigenvectors of one symmetric matrix."""
    k = K.shape[0]
    A = K.copy().reshape((k, k, 1))
    V = np.empty((k, k, 1))
    _jacobi_lanes(A, V, 1)
    d = np.empty(k)
    for r in range(k):
        d[r] = A[r, r, 0]
    return d, V[:, :, 0].copy()


@jit(fastmath=FAST)
def _jacobi_lanes(A, V, lanes):
    """Cyclic Jacobi: the upper triangles of A become diagonal, the columns of V eigenvectors."""
    k = A.shape[0]
    cosine = np.empty(lanes)
    sine = np.empty(lanes)
    for r in range(k):
        for s in range(k):
            for l in range(lanes):
                V[r, s, l] = 1.0 if r == s else 0.0
    last = False
    for _ in range(SWEEPS):
        worst = 0.0
        for l in range(lanes):
            off = 0.0
            on = 0.0
            for r in range(k):
                on += A[r, r, l] * A[r, r, l]
                for s in range(r + 1, k):
                    off += A[r, s, l] * A[r, s, l]
            if off > worst * on:
                worst = off / on if on > 0.0 else 0.0
        if worst < 1e-31 or last:
            break
        last = worst < 1e-24  # convergence is quadratic: one more sweep will do
        for p in range(k - 1):
            for q in range(p + 1, k):
                for l in range(lanes):
                    apq = A[p, q, l]
                    gap = A[q, q, l] - A[p, p, l]
                    span = abs(gap) + np.sqrt(gap * gap + 4.0 * apq * apq)
                    tangent = 2.0 * apq / (span + 1e-300)
                    tangent = tangent if gap >= 0.0 else -tangent
                    cosine[l] = 1.0 / np.sqrt(1.0 + tangent * tangent)
                    sine[l] = tangent * cosine[l]
                    A[p, p, l] -= tangent * apq
                    A[q, q, l] += tangent * apq
                    A[p, q, l] = 0.0
                for i in range(p):
                    _rotate(A[i, p], A[i, q], cosine, sine, lanes)
                for i in range(p + 1, q):
                    _rotate(A[p, i], A[i, q], cosine, sine, lanes)
                for i in range(q + 1, k):
                    _rotate(A[p, i], A[q, i], cosine, sine, lanes)
                for i in range(k):
                    _rotate(V[i, p], V[i, q], cosine, sine, lanes)


@jit(fastmath=FAST)
def _rotate(x, y, cosine, sine, lanes):
    for l in range(lanes):
        u = x[l]
        v = y[l]
        x[l] = cosine[l] * u - sine[l] * v
        y[l] = sine[l] * u + cosine[l] * v


@jit()
def _sphere_from_eigen(d, V, kv, a, c, w):
    """Dinkelbach on L = 1 - f: minimise L w'Kw - 2 w'kv on the sphere, then update L (eq. 16-17)."""
    k = d.size
    g = np.empty(k)
    coordinates = np.empty(k)
    size = 0.0
    for i in range(k):
        g[i] = 0.0
        for r in range(k):
            g[i] += V[r, i] * kv[r]
        size += g[i] * g[i]
    size = np.sqrt(size)
    smallest = d.min()
    scale = a + c + d.max()
    free = 0.0  # part of kv in the eigenspace of the smallest eigenvalue: rounding, or real?
    for i in range(k):
        if d[i] - smallest <= NULL * scale:
            free += g[i] * g[i]
    hard = np.sqrt(free) <= 1e-13 * scale
    if hard:
        for i in range(k):
            if d[i] - smallest <= NULL * scale:
                g[i] = 0.0
    # start from w = kv / |kv|, whose ratio is positive
    quadratic = 0.0
    for i in range(k):
        quadratic += d[i] * g[i] * g[i]
    ratio = (2.0 * size + c) / (a + c + (quadratic / (size * size) if size > 0.0 else smallest))
    for _ in range(50):
        filled = _secular(g, d, smallest, ratio, scale, hard, coordinates)
        linear = 0.0
        quadratic = 0.0
        square = 0.0
        for i in range(k):
            linear += g[i] * coordinates[i]
            quadratic += d[i] * coordinates[i] * coordinates[i]
            square += coordinates[i] * coordinates[i]
        quadratic += smallest * max(1.0 - square, 0.0)
        better = (2.0 * linear + c) / (a + c + quadratic)
        done = abs(better - ratio) <= 4e-15 * abs(better)
        ratio = better
        if done:
            break
    if not filled:
        _fill_null_space(d, V, smallest + NULL * scale, coordinates)
    norm = 0.0
    for r in range(k):
        w[r] = 0.0
        for i in range(k):
            w[r] += V[r, i] * coordinates[i]
        norm += w[r] * w[r]
    norm = np.sqrt(norm)
    for r in range(k):
        w[r] /= norm


@jit()
def _secular(g, d, smallest, ratio, scale, hard, coordinates):
    """Solve (L K + mu I) w = kv, |w| = 1 in the eigenbasis (eq. 18); False if |w| < 1 even at the pole.

    With h_i = L (d_i - d_min) and mu = nu - L d_min: sum g_i^2 / (h_i + nu)^2 = 1, nu >= 0.  Newton on 1/|w| from
    the left of the root rises monotonically.
    """
    k = d.size
    if hard:
        square = 0.0
        for i in range(k):
            h = ratio * (d[i] - smallest)
            coordinates[i] = g[i] / h if d[i] - smallest > NULL * scale else 0.0
            square += coordinates[i] * coordinates[i]
        if square <= 1.0:
            return False
    nu = 0.0
    for i in range(k):
        nu = max(nu, abs(g[i]) - ratio * (d[i] - smallest))
    for _ in range(60):
        square = 0.0
        slope = 0.0
        for i in range(k):
            shifted = ratio * (d[i] - smallest) + nu
            coordinates[i] = g[i] / shifted if g[i] != 0.0 else 0.0
            term = coordinates[i] * coordinates[i]
            square += term
            slope += term / shifted if g[i] != 0.0 else 0.0
        norm = np.sqrt(square)
        if norm <= 1.0 + 1e-15 or not slope > 0.0:
            break
        nu += (norm - 1.0) * square / slope
    return True


@jit()
def _fill_null_space(d, V, threshold, coordinates):
    """Hard case: the missing length goes into the null space, where f does not see it (eq. 19).

    First so that the weights sum to one as nearly as they can, what is left towards the nearest neighbour that
    reaches into the null space.
    """
    k = d.size
    missing = 1.0
    total = 0.0
    ones = np.zeros(k)  # V'1 within the null space
    reach = 0.0
    for i in range(k):
        missing -= coordinates[i] * coordinates[i]
        s = 0.0
        for r in range(k):
            s += V[r, i]
        total += s * coordinates[i]
        if d[i] <= threshold:
            ones[i] = s
            reach += s * s
    missing = np.sqrt(max(missing, 0.0))
    reach = np.sqrt(reach)
    along = 0.0
    if reach > REACH:
        along = min(max((1.0 - total) / reach, -missing), missing)
        ones /= reach
    else:
        ones[:] = 0.0
    rest = np.sqrt(max(missing * missing - along * along, 0.0))
    direction = np.empty(k)
    for r in range(k):
        inner = 0.0
        for i in range(k):
            direction[i] = V[r, i] if d[i] <= threshold else 0.0
            inner += ones[i] * direction[i]
        length = 0.0
        for i in range(k):
            direction[i] -= inner * ones[i]
            length += direction[i] * direction[i]
        length = np.sqrt(length)
        if length > REACH:
            for i in range(k):
                coordinates[i] += along * ones[i] + rest * direction[i] / length
            return
    whole = missing if along >= 0.0 else -missing  # the null space is one line, along the ones
    for i in range(k):
        coordinates[i] += whole * ones[i]


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
