"""Coordinates from weights, for NumPy arrays (equation numbers: docs/math.md)."""

from __future__ import annotations

import numpy as np

from llise.engine.jit import FAST, jit, part
from llise.engine.numba_blocks import sum_of
from llise.engine.numba_eigen import eigen
from llise.engine.numba_gram import dot
from llise.engine.numba_linalg import combine, cross, set_tall, tall, violation
from llise.engine.numba_newton import minimise, spectral_start
from llise.engine.numba_objective import Sparse, times_S
from llise.engine.sparse_embedding import embed
from llise.engine.tolerances import MOST_DENSE, START_ROUNDS


def exact_embedding(
    weights: np.ndarray,
    neighbors: np.ndarray,
    c: float,
    start: np.ndarray,
    tol: float,
    max_iter: int,
    out: np.ndarray,
    results: np.ndarray,
    history: np.ndarray,
) -> None:
    """Feasible, stationary coordinates on every block (eq. 32-36), by a sparse factor where images are many."""
    if start.shape[1] <= MOST_DENSE:
        _dense_embedding(weights, neighbors, c, start, tol, max_iter, out, results, history)
        return
    for i in range(len(start)):
        out[i] = embed(weights[i], neighbors[i], c, start[i], tol, max_iter, results[i], history[i])


@jit()
def _dense_embedding(weights, neighbors, c, start, tol, max_iter, out, results, history):
    b, n, p = start.shape
    Y = tall(n, p)
    N = Y.shape[1]
    factor = np.empty((N, N))
    for i in range(b):
        S = Sparse(weights[i], neighbors[i])
        set_tall(start[i], Y)
        if violation(Y, n, p) > 1e-8:  # a start that satisfies the constraints is taken as it is
            spectral_start(S, factor, Y, p, START_ROUNDS)
        minimise(S, c, Y, p, factor, tol, max_iter, results[i], history[i])
        results[i, 3] = violation(Y, n, p)
        _canonical(S, Y, p, out[i])


@part(allocates=True)
def _canonical(S, Y, p, out):
    """Coordinates are free up to a rotation: take the one that diagonalises Y'A'AY, ascending."""
    n = S.weights.shape[0]
    AY = tall(n, p)
    T = np.empty((4 * Y.shape[0], 4 * Y.shape[0]))
    vectors = np.empty((p, p))
    times_S(S, Y, AY)
    combine(1.0, Y, -1.0, AY)
    cross(AY, AY, 1.0, T)
    eigen(T, vectors, p)
    for t in range(p):
        i = 0  # place of the eigenvalue t in ascending order
        for s in range(p):
            i += T[s, s] < T[t, t] or (T[s, s] == T[t, t] and s < t)
        third_moment = 0.0
        for j in range(n):
            y = 0.0
            for s in range(p):
                y += vectors[s, t] * Y[s // 4, j, s % 4]
            out[j, i] = y
            third_moment += y * y * y
        if third_moment < 0.0:
            for j in range(n):
                out[j, i] = -out[j, i]


def reconstruct(weights: np.ndarray, neighbors: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Coordinates sum_r w_r y_r of images from those of their neighbours (eq. 38)."""
    return _combinations(weights, neighbors, coordinates)


def project_centred(values: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Products of the blocks, each without its mean, with the rows of ``directions``."""
    return _projections(np.ascontiguousarray(values), directions)


@jit(fastmath=FAST)
def _combinations(weights, neighbors, coordinates):
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
def _projections(values, directions):
    b, n, q = values.shape
    p = directions.shape[0]
    out = np.empty((b, n, p))
    x = np.empty(q)
    for i in range(b):
        for j in range(n):
            block = values[i, j]
            mean = sum_of(block) / q
            for t in range(q):
                x[t] = block[t] - mean  # exactly zero for flat blocks of integers
            for r in range(p):
                out[i, j, r] = dot(x, directions[r])
    return out
