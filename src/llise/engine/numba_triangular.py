"""Solutions with the triangular factors of a sparse matrix, four right-hand sides at a time.

SuperLU's own solutions take three times as long for a few right-hand sides.  The factors only precondition, so that
they are kept as float32: half the memory to read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from llise.engine.jit import jit
from llise.engine.simd import load, store


class Triangle(NamedTuple):
    """A triangular matrix by columns, without its diagonal."""

    starts: np.ndarray
    rows: np.ndarray
    values: np.ndarray


class Triangles:
    """The factors of SuperLU, P A Q = L U."""

    def __init__(self, lu: Any) -> None:
        L, U = lu.L.tocsc(), lu.U.tocsc()
        for factor in (L, U):
            factor.sort_indices()
        self.inverse = 1 / U.data[U.indptr[1:] - 1]  # the last entry of a column is on the diagonal
        self.lower = _without(L, L.indptr[:-1])
        self.upper = _without(U, U.indptr[1:] - 1)
        self.first, self.last = lu.perm_r, lu.perm_c

    def solve(self, R: np.ndarray) -> np.ndarray:
        """Return A^-1 R."""
        X = _tall(R, self.first)
        _solve(self.lower, self.upper, self.inverse, X)
        return _rows(X, self.last, R.shape[1])

    def solve_transposed(self, R: np.ndarray) -> np.ndarray:
        """Return A^-T R."""
        X = _tall(R, self.last)
        _solve_transposed(self.lower, self.upper, self.inverse, X)
        return _rows(X, self.first, R.shape[1])


def _without(matrix: Any, diagonal: np.ndarray) -> Triangle:
    kept = np.ones(matrix.nnz, bool)
    kept[diagonal] = False
    starts = matrix.indptr.astype(np.int64) - np.arange(len(matrix.indptr))
    return Triangle(starts, matrix.indices[kept].astype(np.int32), matrix.data[kept].astype(np.float32))


def _tall(R: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Columns in groups of four, rows where the factors have them."""
    n, p = R.shape
    X = np.zeros((-(-p // 4), n, 4))
    for first in range(0, p, 4):
        X[first // 4, places, : min(4, p - first)] = R[:, first : first + 4]
    return X


def _rows(X: np.ndarray, places: np.ndarray, p: int) -> np.ndarray:
    return np.concatenate([part[places] for part in X], axis=1)[:, :p]


@jit()
def _solve(lower, upper, inverse, X):
    n = inverse.size
    for q in range(X.shape[0]):
        for j in range(n):
            x = load(X, q, j)
            for t in range(lower.starts[j], lower.starts[j + 1]):
                i = lower.rows[t]
                store(X, q, i, load(X, q, i) - lower.values[t] * x)
        for back in range(n):
            j = n - 1 - back
            x = load(X, q, j) * inverse[j]
            store(X, q, j, x)
            for t in range(upper.starts[j], upper.starts[j + 1]):
                i = upper.rows[t]
                store(X, q, i, load(X, q, i) - upper.values[t] * x)


@jit()
def _solve_transposed(lower, upper, inverse, X):
    n = inverse.size
    for q in range(X.shape[0]):
        for j in range(n):
            x = load(X, q, j)
            for t in range(upper.starts[j], upper.starts[j + 1]):
                x = x - load(X, q, upper.rows[t]) * upper.values[t]
            store(X, q, j, x * inverse[j])
        for back in range(n):
            j = n - 1 - back
            x = load(X, q, j)
            for t in range(lower.starts[j], lower.starts[j + 1]):
                x = x - load(X, q, lower.rows[t]) * lower.values[t]
            store(X, q, j, x)
