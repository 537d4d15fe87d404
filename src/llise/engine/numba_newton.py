"""Riemannian Newton steps of the embedding, compiled (docs/math.md, eq. 32-36).

One block position at a time, with all of its arrays in the processor's cache.  Numba compiles a function anew for each
constant that it is called with; ``np.int64(1)`` is none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llise.engine.jit import FAST, part
from llise.engine.numba_linalg import (
    centre,
    cholesky,
    combine,
    copy,
    cross,
    inner,
    orthonormalise,
    project,
    solve,
    subtract_product,
    tall,
)
from llise.engine.numba_objective import gradient, gradient_scale, hessian, objective, point
from llise.engine.tolerances import DAMPING, ENOUGH, MAX_PRODUCTS, STIFFNESS


class Tangent(NamedTuple):
    """What the preconditioner of the tangent space at a point needs (eq. 34).

    Attributes
    ----------
    Y : numpy.ndarray (Q, N, 4)
        The point, a tall matrix.
    MY : numpy.ndarray (Q, N, 4)
        M^-1 Y, centred.
    C : numpy.ndarray (p, p)
        Lower Cholesky factor of Y' M^-1 Y.
    T : numpy.ndarray (4Q, 4Q)
        Working space.
    """

    Y: np.ndarray
    MY: np.ndarray
    C: np.ndarray
    T: np.ndarray


@part(fastmath=FAST)
def _factor(S, d, U):
    """Cholesky factor of A' diag(d) A + (damping I + stiffness 11'/n) times its mean diagonal (eq. 33)."""
    w, nb = S
    n, k = w.shape
    mean = 0.0
    for j in range(n):
        square = 1.0
        for r in range(k):
            square += w[j, r] * w[j, r]
        mean += d[j] * square / n
    stiffness = STIFFNESS * mean / n
    for i in range(U.shape[0]):
        for j in range(i, U.shape[0]):
            U[i, j] = stiffness if i < n and j < n else 0.0
        U[i, i] += DAMPING * mean if i < n else mean  # padding is a diagonal matrix of its own
    for j in range(n):
        U[j, j] += d[j]
        for r in range(k):
            u = d[j] * w[j, r]
            x = nb[j, r]
            U[min(x, j), max(x, j)] -= u
            for s in range(r + 1):
                y = nb[j, s]
                U[min(x, y), max(x, y)] += u * w[j, s]
    cholesky(U, 1e-14 * mean)


@part()
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


@part()
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


@part(allocates=True)
def spectral_start(S, factor, Y, p, rounds):
    """The p lowest eigenvectors of A'A among centred vectors, by inverse subspace iteration from Y (eq. 32)."""
    n = S.weights.shape[0]
    old = tall(n, p)
    T = np.empty((4 * Y.shape[0], 4 * Y.shape[0]))
    equal = np.empty(n)
    for j in range(n):
        equal[j] = 1.0
    _factor(S, equal, factor)
    orthonormalise(Y, n, p, np.int64(2))
    for _ in range(rounds):
        copy(Y, old)
        solve(factor, Y)
        orthonormalise(Y, n, p, np.int64(2))
        cross(old, Y, 1.0 / n, T)
        overlap = 0.0
        for i in range(p):
            for s in range(p):
                overlap += T[i, s] * T[i, s]
        if p - overlap < 1e-4 * p:
            break


@part(allocates=True)
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
        if not curvature > 0.0:  # negative curvature: a long step along D, which the line search shortens
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


@part(allocates=True)
def minimise(S, c, Y, p, factor, tol, max_iter, result, history):
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
        relative = np.sqrt(inner(R, R)) / gradient_scale(G, at.inverse, p)
        if iteration < history.shape[0]:
            history[iteration, 0] = value
            history[iteration, 1] = relative
        if relative <= tol or iteration >= max_iter:
            break
        if iteration % 4 == 0:
            _factor(S, at.inverse, factor)
        _compress(factor, n, p, tangent)
        # as accurate as Newton's method can use, but not beyond what is asked for
        forcing = max(min(0.1, np.sqrt(relative)), ENOUGH * tol / relative)
        products += _newton_step(S, at, G, R, factor, tangent, p, forcing, U)
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
            orthonormalise(at.Y, n, p, np.int64(1))
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
