"""Compiled eigen-decompositions of many small symmetric matrices (equation numbers: docs/math.md).

Free functions of arrays, for the weights and the embedding.  Matrices are worked on in *lanes*, arrays whose last axis
runs over problems, so that the vector units see long inner loops.  Semidefinite matrices go through a pivoted Cholesky
factor and one-sided rotations, whose cost follows the rank; indefinite ones, and where a complete basis is
needed, through two-sided rotations.
"""

from __future__ import annotations

import numpy as np

from llise.engine.jit import FAST, jit, part
from llise.engine.tolerances import LAST, RANK, SKEW, SWEEPS

LANES = 32


# ------------------------------------------------------------------------------------- semidefinite matrices


@part(fastmath=FAST)
def pivoted_cholesky(K, j, L, left):
    """K[j] = sum of l l' over the rows l of L[j], greatest pivots first; returns their number, the rank of K[j]."""
    k = K.shape[1]
    greatest = 0.0
    for r in range(k):
        left[r] = K[j, r, r]
        greatest = max(greatest, left[r])
    for i in range(k):
        pivot = 0
        for r in range(1, k):
            if left[r] > left[pivot]:
                pivot = r
        if not left[pivot] > RANK * greatest:
            return i
        for r in range(k):
            L[j, i, r] = K[j, pivot, r]
        for t in range(i):
            part = L[j, t, pivot]
            for r in range(k):
                L[j, i, r] -= part * L[j, t, r]
        scale = 1.0 / np.sqrt(left[pivot])
        for r in range(k):
            L[j, i, r] *= scale if left[r] >= 0.0 else 0.0
            left[r] = max(left[r] - L[j, i, r] * L[j, i, r], 0.0) if left[r] >= 0.0 else -1.0
        left[pivot] = -1.0  # already used
    return k


@part(allocates=True, fastmath=FAST)
def one_sided_jacobi(X, columns, squares):
    """Rotate the first columns of X (columns, k, lanes) until they are orthogonal: then X X' = U diag(d) U'."""
    _, k, lanes = X.shape
    cosine = np.empty(lanes)
    sine = np.empty(lanes)
    inner = np.empty(lanes)
    for _ in range(SWEEPS):
        for i in range(columns):
            _products(X, i, i, squares[i])
        worst = 0
        for p in range(columns - 1):
            for q in range(p + 1, columns):
                _products(X, p, q, inner)
                skew = _rotations(squares, p, q, inner, cosine, sine)
                if skew > 0:
                    _rotate_columns(X, p, q, cosine, sine)
                    worst = max(worst, skew)
        if worst < 2:
            break
    for i in range(columns):
        _products(X, i, i, squares[i])
        for l in range(lanes):
            inner[l] = 1.0 / (np.sqrt(squares[i, l]) + 1e-300)
        for r in range(k):
            for l in range(lanes):
                X[i, r, l] *= inner[l]


@part(fastmath=FAST)
def _products(X, p, q, out):
    """Inner products of the columns p and q, two rows at a time."""
    _, k, lanes = X.shape
    for l in range(lanes):
        out[l] = X[p, 0, l] * X[q, 0, l] if k % 2 else 0.0
    for r in range(k % 2, k, 2):
        for l in range(lanes):
            out[l] += X[p, r, l] * X[q, r, l] + X[p, r + 1, l] * X[q, r + 1, l]


@part(fastmath=FAST)
def _rotations(squares, p, q, inner, cosine, sine):
    """Rotations that make the columns p and q orthogonal, and their squared norms thereafter."""
    lanes = inner.size
    skew = 0.0
    far = 0.0
    for l in range(lanes):
        square, product = inner[l] * inner[l], squares[p, l] * squares[q, l]
        skew += 1.0 if square > SKEW * product else 0.0
        far += 1.0 if square > LAST * product else 0.0
    if skew == 0.0:
        return 0
    for l in range(lanes):
        gap = squares[q, l] - squares[p, l]
        tangent = 2.0 * inner[l] / (abs(gap) + np.sqrt(gap * gap + 4.0 * inner[l] * inner[l]) + 1e-300)
        sine[l] = tangent if gap >= 0.0 else -tangent
    for l in range(lanes):
        change = sine[l] * inner[l]
        squares[p, l] -= change
        squares[q, l] += change
    for l in range(lanes):
        cosine[l] = 1.0 / np.sqrt(1.0 + sine[l] * sine[l])
        sine[l] *= cosine[l]
    return 2 if far > 0.0 else 1


@part(fastmath=FAST)
def _rotate_columns(X, p, q, cosine, sine):
    _, k, lanes = X.shape
    for r in range(k):
        for l in range(lanes):
            x = X[p, r, l]
            y = X[q, r, l]
            X[p, r, l] = cosine[l] * x - sine[l] * y
            X[q, r, l] = sine[l] * x + cosine[l] * y


# ------------------------------------------------------------------------------------ any symmetric matrices


@part(allocates=True)
def eigen_lanes(K, A, V):
    """Eigenvalues on the diagonals of A and eigenvectors in V, both (k, k, lanes), of matrices K (lanes, k, k)."""
    lanes, k, _ = K.shape
    for l in range(lanes):
        for r in range(k):
            for s in range(r, k):
                A[r, s, l] = K[l, r, s]
    _jacobi_lanes(A, V, lanes)


@part(fastmath=FAST)
def eigen(A, V, k):
    """Cyclic Jacobi: the leading k x k part of a symmetric A becomes diagonal, the columns of V its eigenvectors."""
    for r in range(k):
        for s in range(k):
            V[r, s] = 1.0 if r == s else 0.0
    for _ in range(SWEEPS):
        off = 0.0
        on = 0.0
        for r in range(k):
            on += A[r, r] * A[r, r]
            for s in range(r):
                off += A[r, s] * A[r, s]
        if not off > 1e-31 * on:
            break
        for p in range(k - 1):
            for q in range(p + 1, k):
                gap = A[q, q] - A[p, p]
                tangent = 2.0 * A[p, q] / (abs(gap) + np.sqrt(gap * gap + 4.0 * A[p, q] * A[p, q]) + 1e-300)
                tangent = tangent if gap >= 0.0 else -tangent
                cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                sine = tangent * cosine
                for i in range(k):
                    x, y = A[i, p], A[i, q]
                    A[i, p], A[i, q] = cosine * x - sine * y, sine * x + cosine * y
                    x, y = V[i, p], V[i, q]
                    V[i, p], V[i, q] = cosine * x - sine * y, sine * x + cosine * y
                for i in range(k):
                    x, y = A[p, i], A[q, i]
                    A[p, i], A[q, i] = cosine * x - sine * y, sine * x + cosine * y


@part(allocates=True, fastmath=FAST)
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


@part(fastmath=FAST)
def _rotate(x, y, cosine, sine, lanes):
    for l in range(lanes):
        u = x[l]
        v = y[l]
        x[l] = cosine[l] * u - sine[l] * v
        y[l] = sine[l] * u + cosine[l] * v


def nearest_semidefinite(gram: np.ndarray) -> np.ndarray:
    """Nearest positive semidefinite matrices, in place: negative eigenvalues become zero (eq. 24)."""
    _clip_eigenvalues(gram)
    return gram


@jit()
def _clip_eigenvalues(gram):
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
