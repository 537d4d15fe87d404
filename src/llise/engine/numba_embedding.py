"""Compiled kernels from weights to coordinates (equation numbers: docs/math.md).

One block position at a time, everything of it in cache; coordinates are tall matrices in vectors of four
(``_numba_linalg.py``).  S is the sparse matrix of weights, row j on the neighbours of image j, and A = I - S.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from llise.engine.jit import FAST, jit
from llise.engine.numba_eigen import eigen
from llise.engine.numba_linalg import (
    Factor,
    centre,
    cholesky,
    combine,
    copy,
    cross,
    get_rows,
    inner,
    orthonormalise,
    project,
    set_tall,
    solve,
    subtract_product,
    tall,
    violation,
)
from llise.engine.simd import load, spread, store, total

DAMPING = 1e-11  # of the mean diagonal, added to the preconditioner
MAX_PRODUCTS = 8  # Hessian products of one Newton step
START_ROUNDS = 12  # of inverse iteration, at the most
STIFFNESS = 1e3  # of the mean diagonal, holds the direction of ones

# The weights and the neighbours (n, k) they belong to.
Sparse = namedtuple("Sparse", ["weights", "neighbors"])

# A point Y and what the objective leaves there (eq. 26): SY, AY, theta_j = |(AY)_j|^2 / beta_j, and 1 / beta_j.
Point = namedtuple("Point", ["Y", "SY", "AY", "theta", "inverse"])


# ------------------------------------------------------------------------------------ objective, eq. 25-29


@jit()
def times_S(S, Y, out):
    """S Y."""
    w, nb = S
    n, k = w.shape
    for q in range(Y.shape[0]):
        for j in range(n):
            row = spread(0.0)
            for r in range(k):
                row += w[j, r] * load(Y, q, nb[j, r])
            store(out, q, j, row)


@jit()
def subtract_St(S, V, out):
    """out -= S' V."""
    w, nb = S
    n, k = w.shape
    for q in range(V.shape[0]):
        for j in range(n):
            row = load(V, q, j)
            for r in range(k):
                i = nb[j, r]
                store(out, q, i, load(out, q, i) - w[j, r] * row)


@jit()
def point(n, p):
    """Room for a point."""
    return Point(tall(n, p), tall(n, p), tall(n, p), np.empty(n), np.empty(n))


@jit()
def objective(S, c, at):
    """Fill ``at`` for its Y, beta_j = |y_j|^2 + |(SY)_j|^2 + c; return the sum of theta (eq. 26)."""
    times_S(S, at.Y, at.SY)
    value = 0.0
    for j in range(at.theta.size):
        alpha = spread(0.0)
        beta = spread(0.0)
        for q in range(at.Y.shape[0]):
            y, s = load(at.Y, q, j), load(at.SY, q, j)
            store(at.AY, q, j, y - s)
            alpha += (y - s) * (y - s)
            beta += y * y + s * s
        at.inverse[j] = 1.0 / (total(beta) + c)
        at.theta[j] = total(alpha) * at.inverse[j]
        value += at.theta[j]
    return value


@jit()
def gradient(S, at, work, G):
    """G = 2 [A' D(1/beta) A - D(tau) - S' D(tau) S] Y, tau = theta / beta (eq. 27)."""
    for j in range(at.theta.size):
        tau = at.theta[j] * at.inverse[j]
        for q in range(G.shape[0]):
            v = at.inverse[j] * load(at.AY, q, j)
            store(work, q, j, 2.0 * (v + tau * load(at.SY, q, j)))
            store(G, q, j, 2.0 * (v - tau * load(at.Y, q, j)))
    subtract_St(S, work, G)


@jit()
def hessian(S, at, U, work, H):
    """H = derivative of the gradient along U (eq. 28-29); ``work`` holds SU, then what S' is applied to."""
    times_S(S, U, work)
    for j in range(at.theta.size):
        alpha = spread(0.0)
        beta = spread(0.0)
        for q in range(H.shape[0]):
            u, su = load(U, q, j), load(work, q, j)
            alpha += load(at.AY, q, j) * (u - su)
            beta += load(at.Y, q, j) * u + load(at.SY, q, j) * su
        inverse = at.inverse[j]
        tau = at.theta[j] * inverse
        slope = 2.0 * total(beta) * inverse  # derivative of log beta
        bend = 2.0 * total(alpha) * inverse * inverse - 2.0 * tau * slope  # derivative of tau
        for q in range(H.shape[0]):
            u, su = load(U, q, j), load(work, q, j)
            v = inverse * (u - su - slope * load(at.AY, q, j))
            store(work, q, j, 2.0 * (v + tau * su + bend * load(at.SY, q, j)))
            store(H, q, j, 2.0 * (v - tau * u - bend * load(at.Y, q, j)))
    subtract_St(S, work, H)


# -------------------------------------------------------------------------------------- preconditioner, eq. 33-34


@jit(fastmath=FAST)
def _factor(S, d, factor):
    """Cholesky factor of A' diag(d) A + (damping I + stiffness 11'/n) times its mean diagonal (eq. 33)."""
    w, nb = S
    n, k = w.shape
    M = factor.upper
    mean = 0.0
    for j in range(n):
        square = 1.0
        for r in range(k):
            square += w[j, r] * w[j, r]
        mean += d[j] * square / n
    for i in range(M.shape[0]):
        for j in range(M.shape[0]):
            M[i, j] = STIFFNESS * mean / n if i < n and j < n else 0.0
        M[i, i] += DAMPING * mean if i < n else mean  # padding is a diagonal matrix of its own
    for j in range(n):
        M[j, j] += d[j]
        for r in range(k):
            u = d[j] * w[j, r]
            x = nb[j, r]
            M[min(x, j), max(x, j)] -= u
            for s in range(r + 1):
                y = nb[j, s]
                M[min(x, y), max(x, y)] += u * w[j, s]
    cholesky(factor, 1e-14 * mean)


# M^-1 Y, centred, and the lower Cholesky factor C of Y' M^-1 Y; T is working space.
Tangent = namedtuple("Tangent", ["Y", "MY", "C", "T"])


@jit()
def _compress(factor, n, p, tangent):
    """Fill ``tangent`` for its Y."""
    Y, MY, C, T = tangent
    copy(Y, MY)
    solve(factor, MY)
    centre(MY, n)
    cross(Y, MY, 1.0, T)
    for i in range(p):
        for s in range(i + 1):
            value = 0.5 * (T[i, s] + T[s, i])
            for t in range(s):
                value -= C[i, t] * C[s, t]
            C[i, s] = np.sqrt(max(value, 1e-300)) if i == s else value / C[s, s]


@jit()
def _precondition(factor, tangent, n, p, R, Z):
    """Z = M^-1 R made tangent: M^-1 (R - Y lambda) with Y'Z = 0, centred (eq. 34)."""
    Y, MY, C, T = tangent
    copy(R, Z)
    solve(factor, Z)
    centre(Z, n)
    cross(Y, Z, 1.0, T)
    for i in range(p):  # lambda = (C C')^-1 Y'Z
        for s in range(p):
            for t in range(s):
                T[s, i] -= C[s, t] * T[t, i]
            T[s, i] /= C[s, s]
        for s in range(p - 1, -1, -1):
            for t in range(s + 1, p):
                T[s, i] -= C[t, s] * T[t, i]
            T[s, i] /= C[s, s]
    subtract_product(MY, T, Z)


# ------------------------------------------------------------------------------------------- exact embedding


@jit()
def _spectral_start(S, factor, Y, p, rounds):
    """The p lowest eigenvectors of A'A among centred vectors, by inverse subspace iteration from Y (eq. 32)."""
    n = S.weights.shape[0]
    old = tall(n, p)
    T = np.empty((4 * Y.shape[0], 4 * Y.shape[0]))
    _factor(S, np.ones(n), factor)
    orthonormalise(Y, n, p, 2)
    for _ in range(rounds):
        copy(Y, old)
        solve(factor, Y)
        orthonormalise(Y, n, p, 2)
        cross(old, Y, 1.0 / n, T)
        kept = 0.0
        for i in range(p):
            for s in range(p):
                kept += T[i, s] * T[i, s]
        if p - kept < 1e-4 * p:
            break


@jit()
def _newton_step(S, at, G, R, factor, tangent, p, forcing, U):
    """Truncated conjugate gradients on Hess[U] = -grad in the tangent space (eq. 35); returns Hessian products."""
    n = at.theta.size
    Y, T = at.Y, tangent.T
    H = tall(n, p)
    Z = tall(n, p)
    D = tall(n, p)
    work = tall(n, p)
    cross(Y, G, 1.0 / n, T)
    YG = np.empty(T.shape)
    for i in range(T.shape[0]):
        for s in range(T.shape[0]):
            YG[i, s] = 0.5 * (T[i, s] + T[s, i])
    residual = tall(n, p)
    copy(residual, U)  # zeros
    copy(R, residual)
    first = np.sqrt(inner(residual, residual))
    _precondition(factor, tangent, n, p, residual, Z)
    combine(-1.0, Z, 0.0, D)
    rz = inner(residual, Z)
    products = 0
    while products < MAX_PRODUCTS:
        products += 1
        hessian(S, at, D, work, H)
        subtract_product(D, YG, H)
        project(Y, H, n, T)
        curvature = inner(D, H)
        if not curvature > 0.0:  # a saddle: go along D as far as the manifold bends, the line search comes back
            combine(np.sqrt(n * p / inner(D, D)), D, 1.0, U)
            break
        step = rz / curvature
        combine(step, D, 1.0, U)
        combine(step, H, 1.0, residual)
        if np.sqrt(inner(residual, residual)) <= forcing * first:
            break
        _precondition(factor, tangent, n, p, residual, Z)
        fresh = inner(residual, Z)
        combine(-1.0, Z, fresh / rz, D)
        rz = fresh
    return products


@jit(fastmath=FAST)
def _gradient_scale(G, inverse, p):
    """What a gradient is small against: |G|, or where G vanishes 1e-8 of the terms 2/beta it is made of (eq. 36)."""
    terms = 0.0
    for j in range(inverse.size):
        terms += inverse[j] * inverse[j]
    return max(np.sqrt(inner(G, G)), 2e-8 * np.sqrt(p * terms))


@jit()
def _minimise(S, c, Y, p, factor, tol, max_iter, result, history):
    """Riemannian Newton-CG with backtracking from Y; fills objective, stationarity and iterations."""
    n = S.weights.shape[0]
    order = 4 * Y.shape[0]
    at = point(n, p)
    G = tall(n, p)
    R = tall(n, p)
    U = tall(n, p)
    tangent = Tangent(Y, tall(n, p), np.empty((p, p)), np.empty((order, order)))
    copy(Y, at.Y)
    value = objective(S, c, at)
    products = 0
    iteration = 0
    while True:
        gradient(S, at, U, G)
        copy(G, R)
        project(Y, R, n, tangent.T)
        relative = np.sqrt(inner(R, R)) / _gradient_scale(G, at.inverse, p)
        if iteration < history.shape[0]:
            history[iteration, 0] = value
            history[iteration, 1] = relative
        if relative <= tol or iteration >= max_iter:
            break
        if iteration % 4 == 0:
            _factor(S, at.inverse, factor)
        _compress(factor, n, p, tangent)
        products += _newton_step(S, at, G, R, factor, tangent, p, min(0.1, np.sqrt(relative)), U)
        iteration += 1
        length = np.sqrt(inner(U, U))
        descent = inner(R, U)
        if descent > 0.0:
            combine(-1.0, U, 0.0, U)
            descent = -descent
        step = min(1.0, np.sqrt(n * p) / length) if length > 0.0 else 0.0
        # near the solution rounding hides the decrease: AY = Y - SY has errors of eps, alpha of eps sqrt(alpha beta)
        noise = 1e-15 * np.sqrt(n * value) + 1e-14 * value
        moved = False
        for _ in range(30):
            copy(Y, at.Y)
            combine(step, U, 1.0, at.Y)
            orthonormalise(at.Y, n, p, 1)
            fresh = objective(S, c, at)
            if fresh <= value + 1e-4 * step * descent + noise:
                moved = True
                break
            step *= 0.5
        if not moved:
            break
        copy(at.Y, Y)
        value = fresh
    result[0] = value
    result[1] = relative
    result[2] = products


@jit()
def _canonical(S, Y, p, out):
    """Coordinates are free up to a rotation: take the one that diagonalises Y'A'AY, ascending, skewed upwards."""
    n = S.weights.shape[0]
    AY = tall(n, p)
    T = np.empty((4 * Y.shape[0], 4 * Y.shape[0]))
    times_S(S, Y, AY)
    combine(1.0, Y, -1.0, AY)
    cross(AY, AY, 1.0, T)
    values, vectors = eigen(T, p)
    for t in range(p):
        i = 0  # place of the eigenvalue t in ascending order
        for s in range(p):
            i += values[s] < values[t] or (values[s] == values[t] and s < t)
        skew = 0.0
        for j in range(n):
            y = 0.0
            for s in range(p):
                y += vectors[s, t] * Y[s // 4, j, s % 4]
            out[j, i] = y
            skew += y * y * y
        if skew < 0.0:
            for j in range(n):
                out[j, i] = -out[j, i]


@jit()
def exact_embedding(weights, neighbors, c, start, tol, max_iter, out, results, history):
    """Feasible, stationary coordinates on every block (eq. 32-36).

    ``out`` (b, n, p); ``results`` (b, 4): objective, stationarity, Hessian products, constraint violation;
    ``history`` (b, steps, 2): objective and stationarity by outer step, as many as there is room for.
    """
    b, n, p = start.shape
    Y = tall(n, p)
    N = Y.shape[1]
    factor = Factor(np.empty((N, N)), np.empty((N, N)))
    for i in range(b):
        S = Sparse(weights[i], neighbors[i])
        set_tall(start[i], Y)
        if violation(Y, n, p) > 1e-8:  # a start that satisfies the constraints is taken as it is
            _spectral_start(S, factor, Y, p, START_ROUNDS)
        _minimise(S, c, Y, p, factor, tol, max_iter, results[i], history[i])
        results[i, 3] = violation(Y, n, p)
        _canonical(S, Y, p, out[i])


# -------------------------------------------------------------------------------------------- ADMM embedding


@jit()
def published_gradient(S, at, work, G):
    """The paper's gradient with M_j = 1_j 1_j' + ww' - 2 1_j w' as printed, which is not symmetric (slip 2)."""
    for j in range(at.theta.size):
        inverse = at.inverse[j]
        tau = at.theta[j] * inverse
        for q in range(G.shape[0]):
            y, sy = load(at.Y, q, j), load(at.SY, q, j)
            store(work, q, j, -2.0 * (inverse - tau) * sy)
            store(G, q, j, 2.0 * (inverse * (y - 2.0 * sy) - tau * y))
    subtract_St(S, work, G)


@jit(fastmath=FAST)
def _dot(x, y):
    product = 0.0
    for j in range(x.size):
        product += x[j] * y[j]
    return product


@jit(fastmath=FAST)
def _polar(B, singular_value):
    """Centre the rows of B (p, n) and set its singular values, by one-sided Jacobi (eq. 31)."""
    p, n = B.shape
    turn = np.eye(p)
    for i in range(p):
        mean = 0.0
        for j in range(n):
            mean += B[i, j]
        mean /= n
        for j in range(n):
            B[i, j] -= mean
    for _ in range(30):
        worst = 0.0
        for i in range(p - 1):
            for s in range(i + 1, p):
                x = _dot(B[i], B[i])
                y = _dot(B[s], B[s])
                xy = _dot(B[i], B[s])
                if xy * xy <= 1e-32 * x * y or xy == 0.0:
                    continue
                worst = max(worst, xy * xy / (x * y))
                gap = y - x
                tangent = 2.0 * xy / (abs(gap) + np.sqrt(gap * gap + 4.0 * xy * xy))
                tangent = tangent if gap >= 0.0 else -tangent
                cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                _turn(B[i], B[s], cosine, tangent * cosine)
                _turn(turn[i], turn[s], cosine, tangent * cosine)
        if worst < 1e-30:
            break
    for i in range(p):
        length = np.sqrt(_dot(B[i], B[i]))
        for j in range(n):
            B[i, j] *= singular_value / length if length > 0.0 else 0.0
    rows = B.copy()  # turn' B undoes the rotations
    for i in range(p):
        for j in range(n):
            B[i, j] = 0.0
        for s in range(p):
            for j in range(n):
                B[i, j] += turn[s, i] * rows[s, j]


@jit(fastmath=FAST)
def _turn(x, y, cosine, sine):
    for j in range(x.size):
        u = x[j]
        v = y[j]
        x[j] = cosine * u - sine * v
        y[j] = sine * u + cosine * v


@jit()
def admm_embedding(weights, neighbors, c, rho, eta, max_iter, tol, published, start, out, results, history):
    """The paper's iterations (eq. 37) from ``start`` (b, 3, n, p) = Y, V, J; arrays as in the exact solver.

    Y is the output, as published, feasible or not.  ``published`` keeps the paper's gradient and its singular
    values n; otherwise both are the right ones.
    """
    b, n, p = out.shape
    at = point(n, p)
    V = tall(n, p)
    J = tall(n, p)
    G = tall(n, p)
    work = tall(n, p)
    T = np.empty((4 * V.shape[0], 4 * V.shape[0]))
    rows = np.empty((p, n))
    singular_value = float(n) if published else np.sqrt(n)
    for i in range(b):
        S = Sparse(weights[i], neighbors[i])
        set_tall(start[i, 0], at.Y)
        set_tall(start[i, 1], V)
        set_tall(start[i, 2], J)
        rounds = max_iter
        for iteration in range(max_iter):
            value = objective(S, c, at)
            if iteration < history.shape[1]:
                history[i, iteration, 0] = value
                history[i, iteration, 1] = violation(at.Y, n, p)
            if published:
                published_gradient(S, at, work, G)
            else:
                gradient(S, at, work, G)
            worst = _admm_round(at.Y, V, J, G, rho, eta, singular_value, rows)
            if worst <= tol:
                rounds = iteration + 1
                break
        results[i, 0] = objective(S, c, at)
        gradient(S, at, work, G)
        size = _gradient_scale(G, at.inverse, p)
        project(at.Y, G, n, T)
        results[i, 1] = np.sqrt(inner(G, G)) / size
        results[i, 2] = rounds
        results[i, 3] = violation(at.Y, n, p)
        get_rows(at.Y, out[i])


@jit()
def _admm_round(Y, V, J, G, rho, eta, singular_value, rows):
    """Y := Y - eta (G + rho (Y - V + J)), V := projection of Y + J, J += Y - V; returns the largest change (eq. 37)."""
    p, n = rows.shape
    for q in range(Y.shape[0]):
        for j in range(n):
            y, v, u = load(Y, q, j), load(V, q, j), load(J, q, j)
            store(Y, q, j, y - eta * load(G, q, j) - eta * rho * (y - v + u))
    for s in range(p):
        for j in range(n):
            rows[s, j] = Y[s // 4, j, s % 4] + J[s // 4, j, s % 4]
    _polar(rows, singular_value)
    worst = 0.0
    for s in range(p):
        for j in range(n):
            q, a = s // 4, s % 4
            gap = Y[q, j, a] - rows[s, j]
            worst = max(worst, max(abs(gap), abs(rows[s, j] - V[q, j, a])))
            J[q, j, a] += gap
            V[q, j, a] = rows[s, j]
    return worst
