"""The paper's iterations (ADMM) for weights and coordinates, for NumPy arrays (docs/math.md, eq. 23 and 37)."""

from __future__ import annotations

import numpy as np

from llise.engine.jit import FAST, jit, part
from llise.engine.numba_eigen import LANES
from llise.engine.numba_gram import dot
from llise.engine.numba_linalg import get_rows, inner, project, set_tall, tall, violation
from llise.engine.numba_objective import Sparse, gradient, gradient_scale, objective, point, published_gradient
from llise.engine.simd import load, store


def admm_weights(
    K: np.ndarray,
    kv: np.ndarray,
    a: np.ndarray,
    c: float,
    affine: bool,
    rho: float,
    eta: float,
    max_iter: int,
    tol: float,
    start: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The paper's iterations for the weights (eq. 23), one gradient step a round."""
    K, kv, a, start = (np.ascontiguousarray(v) for v in (K, kv, a, start))
    out, n_iter = np.empty_like(kv), np.empty(len(kv), np.int64)
    _admm_weights(K, kv, a, c, affine, rho, eta, max_iter, tol, start, out, n_iter)
    return out, n_iter


@jit(fastmath=FAST)
def _admm_weights(K, kv, a, c, affine, rho, eta, max_iter, tol, start, out, n_iter):
    problems, k = kv.shape
    A = np.empty((k, k, LANES))
    b = np.empty((k, LANES))
    norms = np.empty(LANES)
    rounds = np.empty(LANES, np.int64)
    state = np.empty((3, k, LANES))
    for first in range(0, problems, LANES):
        lanes = min(LANES, problems - first)
        for l in range(LANES):
            # all lanes are filled, so that every problem runs the same instructions: rounding errors grow fast here
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


@part(allocates=True, fastmath=FAST)
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


@jit()
def admm_embedding(weights, neighbors, c, rho, eta, max_iter, tol, published, start, out, results, history):
    """The paper's iterations (eq. 37) from ``start`` (b, 3, n, p) = Y, V, J; arrays as in the exact solver."""
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
        size = gradient_scale(G, at.inverse, p)
        project(at.Y, G, n, T)
        results[i, 1] = np.sqrt(inner(G, G)) / size
        results[i, 2] = rounds
        results[i, 3] = violation(at.Y, n, p)
        get_rows(at.Y, out[i])


@part(allocates=True)
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
    polar(rows, singular_value)
    worst = 0.0
    for s in range(p):
        for j in range(n):
            q, a = s // 4, s % 4
            gap = Y[q, j, a] - rows[s, j]
            worst = max(worst, max(abs(gap), abs(rows[s, j] - V[q, j, a])))
            J[q, j, a] += gap
            V[q, j, a] = rows[s, j]
    return worst


@part(allocates=True, fastmath=FAST)
def polar(B, singular_value):
    """Centre the rows of B (p, n) and set its singular values, by one-sided Jacobi (eq. 31)."""
    p, n = B.shape
    rotation = np.eye(p)
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
                x = dot(B[i], B[i])
                y = dot(B[s], B[s])
                xy = dot(B[i], B[s])
                if xy * xy <= 1e-32 * x * y or xy == 0.0:
                    continue
                worst = max(worst, xy * xy / (x * y))
                gap = y - x
                tangent = 2.0 * xy / (abs(gap) + np.sqrt(gap * gap + 4.0 * xy * xy))
                tangent = tangent if gap >= 0.0 else -tangent
                cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                _rotate(B[i], B[s], cosine, tangent * cosine)
                _rotate(rotation[i], rotation[s], cosine, tangent * cosine)
        if worst < 1e-30:
            break
    for i in range(p):
        length = np.sqrt(dot(B[i], B[i]))
        for j in range(n):
            B[i, j] *= singular_value / length if length > 0.0 else 0.0
    rows = B.copy()  # rotation' B undoes the rotations
    for i in range(p):
        for j in range(n):
            B[i, j] = 0.0
        for s in range(p):
            for j in range(n):
                B[i, j] += rotation[s, i] * rows[s, j]


@part(fastmath=FAST)
def _rotate(x, y, cosine, sine):
    for j in range(x.size):
        u = x[j]
        v = y[j]
        x[j] = cosine * u - sine * v
        y[j] = sine * u + cosine * v
