"""Eigen-decompositions of many small symmetric matrices, in the array namespace (equation numbers: docs/math.md).

Problems are the last axis.  Only matrix products and elementwise steps are used, since batched eigensolvers are slow
on GPUs or fail there.  Rotations are made in disjoint pairs by the round-robin ordering of Jacobi pairs: the rows of
the upper half are paired with those of the lower half, all but the first move on by one place, and after k - 1 rounds
every pair has occurred once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from llise.engine.array_operations import add_product, put_rows, rotate
from llise.engine.backend import device_of, like, namespace, to_numpy
from llise.engine.tolerances import LAST, RANK, SWEEPS

Array = Any


def semidefinite_eigen(K: Array) -> tuple[Array, Array, Array]:
    """Decompose positive semidefinite matrices; problems of low and of high rank are worked on separately.

    Parameters
    ----------
    K : array (problems, k, k)

    Returns
    -------
    values : array (k, problems)
        Eigenvalues, with the problems in another order.
    vectors : array (k, k, problems)
        Eigenvectors along the second axis; those of zero eigenvalues are zeros.
    order : array (problems,) of int
        Which problem each place holds.
    """
    xp = namespace(K)
    k = K.shape[-1]
    factor, ranks = _pivoted_cholesky(xp.permute_dims(K, (1, 2, 0)) + 0.0)
    factor += [xp.zeros_like(factor[0])] * (k % 2)
    parts, order = [], []
    even = k + k % 2  # rotations are made in pairs
    low = even // 2 + even // 2 % 2
    for size, members in ((low, ranks <= low), (even, ranks > low)):
        members = xp.nonzero(members)[0]
        if members.shape[0] > 0:
            X = xp.stack([xp.take(column, members, axis=-1) for column in factor[:size]])
            for done, here in _one_sided_jacobi(X):
                done = done if size <= k else done[:k, ...]
                parts.append(xp.concat([done] + [xp.zeros_like(done[:1, ...])] * (k - done.shape[0]), axis=0))
                order.append(xp.take(members, here))
    X = xp.concat(parts, axis=-1)
    d = xp.sum(X * X, axis=1)
    return d, X / (xp.sqrt(d) + 1e-300)[:, None, :], xp.concat(order)


def _pivoted_cholesky(K: Array) -> tuple[list[Array], Array]:
    """Columns (k, problems) of the factors of K (k, k, problems), greatest pivots first, and the ranks.

    Columns beyond the rank are zero.
    """
    xp = namespace(K)
    k = K.shape[0]
    left = _diagonal(K)
    threshold = RANK * xp.max(left, axis=0)
    rows = xp.arange(k, device=device_of(K))[:, None]
    ranks = xp.zeros_like(threshold)
    columns: list[Array] = []
    for _ in range(k):
        pivot = xp.argmax(left, axis=0)[None, :]
        greatest = xp.take_along_axis(left, pivot, axis=0)
        live = greatest > threshold
        column = xp.take_along_axis(K, xp.broadcast_to(pivot[None, ...], (1, *left.shape)), axis=0)[0, ...]
        for other in columns:
            column = add_product(column, xp.take_along_axis(other, pivot, axis=0), other, -1)
        scale = xp.where(live, 1 / xp.sqrt(xp.where(live, greatest, 1.0)), 0.0)
        column = xp.where(left >= 0, scale * column, 0.0)
        left = xp.where(left >= 0, xp.maximum(left - column * column, xp.zeros_like(left)), -1.0)
        left = xp.where(rows == pivot, -1.0, left)  # already used
        ranks = ranks + xp.astype(live[0, :], ranks.dtype)
        columns.append(column)
    return columns, ranks


def _one_sided_jacobi(X: Array) -> Iterator[tuple[Array, Array]]:
    """Rotate the columns of X (columns, k, problems) until they are orthogonal: then X X' = U diag(d) U'.

    Yields problems with their places: those that have converged, whenever they are the majority.
    """
    xp = namespace(X)
    places = xp.arange(X.shape[-1], device=device_of(X))
    for _ in range(SWEEPS):
        X, skew = _one_sided_sweep(X)
        done = to_numpy(skew <= LAST)
        if done.all():
            break
        if 2 * done.sum() >= done.size:
            here, rest = (like(X, np.flatnonzero(which)) for which in (done, ~done))
            yield xp.take(X, here, axis=-1), xp.take(places, here)
            X, places = xp.take(X, rest, axis=-1), xp.take(places, rest)
    yield X, places


def _one_sided_sweep(X: Array) -> tuple[Array, Array]:
    """Rotate every pair of columns once; also returns the greatest squared cosine of a pair."""
    xp = namespace(X)
    half = X.shape[0] // 2
    squares = xp.sum(X * X, axis=1)
    inners, products = [], []
    for _ in range(2 * half - 1):
        x, y, dx, dy = X[:half, ...], X[half:, ...], squares[:half, :], squares[half:, :]
        inner = xp.sum(x * y, axis=1)
        tangent, cosine, sine = _rotations(inner, dy - dx)
        inners.append(inner)
        products.append(dx * dy)
        squares = _next_round(add_product(dx, tangent, inner, -1), add_product(dy, tangent, inner))
        X = _next_round(*rotate(x, y, cosine[:, None, :], sine[:, None, :]))
    skew = xp.concat(inners) ** 2 / (xp.concat(products) + 1e-300)
    return X, xp.max(skew, axis=0)


def nearest_semidefinite(gram: Array) -> Array:
    """Nearest positive semidefinite matrices, in place: negative eigenvalues become zero (eq. 24)."""
    xp = namespace(gram)
    d, V = jacobi(gram)
    negative = xp.minimum(d, xp.zeros_like(d))
    gram[...] = gram - xp.matmul(V * negative[:, None, :], xp.matrix_transpose(V))
    return gram


def jacobi(K: Array) -> tuple[Array, Array]:
    """Decompose symmetric matrices by Jacobi rotations, k/2 disjoint pairs at a time.

    Most problems converge in a few sweeps and some take twice as many, so those that have converged are put aside
    whenever they are the majority.  Two-sided: slower than ``_one_sided_jacobi``, but K may be indefinite and the
    basis is complete.

    Parameters
    ----------
    K : array (problems, k, k)

    Returns
    -------
    values : array (problems, k)
        Eigenvalues, in no particular order.
    vectors : array (problems, k, k)
        Eigenvectors in the columns.
    """
    xp = namespace(K)
    k = K.shape[-1]
    if k == 1:
        return K[..., 0], xp.ones_like(K)
    size = k + k % 2
    A = xp.permute_dims(_padded(K, size), (1, 2, 0)) + 0.0
    eye = xp.eye(size, dtype=K.dtype, device=device_of(K))[..., None]
    V = xp.broadcast_to(eye, A.shape) + 0.0  # rows are eigenvectors
    places = np.arange(K.shape[0])
    values, vectors = xp.empty_like(K[..., 0]), xp.empty_like(K)
    last = xp.zeros_like(K[:, 0, 0]) > 0
    for sweep in range(SWEEPS + 1):
        diagonal = _diagonal(A)
        off = xp.sum((A * (1 - eye)) ** 2, axis=(0, 1))
        on = xp.sum(diagonal * diagonal, axis=0)
        done = to_numpy((off <= 2e-31 * on) | last)
        if done.all() or sweep == SWEEPS:
            done[:] = True
        if 2 * done.sum() >= done.size:
            here = like(K, np.flatnonzero(done))
            put_rows(values, places[done], xp.take(diagonal, here, axis=1)[:k, :].T)
            put_rows(vectors, places[done], xp.permute_dims(xp.take(V, here, axis=2), (2, 1, 0))[:, :k, :k])
            if done.all():
                break
            rest = like(K, np.flatnonzero(~done))
            A, V, off, on = (xp.take(v, rest, axis=-1) for v in (A, V, off, on))
            places = places[~done]
        last = off <= 1e-24 * on  # convergence is quadratic in the end: one more sweep will do
        A, V = _sweep(A, V)
    return values, vectors


def _sweep(A: Array, V: Array) -> tuple[Array, Array]:
    """Rotate every pair once, in the round-robin ordering, which ends where it began."""
    half = A.shape[0] // 2
    for _ in range(2 * half - 1):
        diagonal = _diagonal(A)
        apq = _diagonal(A[:half, half:, :])
        _, cosine, sine = _rotations(apq, diagonal[half:, :] - diagonal[:half, :])
        A = _rotate_halves(A, cosine[:, None, :], sine[:, None, :], axis=0)
        A = _rotate_halves(A, cosine[None, :, :], sine[None, :, :], axis=1)
        V = _rotate_halves(V, cosine[:, None, :], sine[:, None, :], axis=0)
    return A, V


def _rotations(inner: Array, gap: Array) -> tuple[Array, Array, Array]:
    """Tangents, cosines and sines of the rotations that make [[x, inner], [inner, x + gap]] diagonal."""
    xp = namespace(inner)
    double = 2 * inner
    tangent = double / (gap + xp.copysign(xp.hypot(gap, double) + 1e-300, gap))
    cosine = 1 / xp.sqrt(tangent * tangent + 1)
    return tangent, cosine, tangent * cosine


def _diagonal(A: Array) -> Array:
    """Diagonals (k, problems) of (k, k, problems)."""
    xp = namespace(A)
    return xp.stack([A[i, i, :] for i in range(A.shape[0])])


def _rotate_halves(A: Array, cosine: Array, sine: Array, axis: int) -> Array:
    """Rotate the upper half of an axis against its lower half, then reorder it for the next round."""
    half = A.shape[axis] // 2
    upper, lower = _part(A, 0, half, axis), _part(A, half, None, axis)
    return _next_round(*rotate(upper, lower, cosine, sine), axis)


def _next_round(upper: Array, lower: Array, axis: int = 0) -> Array:
    """The round-robin ordering of the next round: all but the first of the upper half move on by one place."""
    xp = namespace(upper)
    half = upper.shape[axis]
    if half == 1:
        return xp.concat([upper, lower], axis=axis)
    parts = [
        _part(upper, 0, 1, axis),
        _part(lower, 0, 1, axis),
        _part(upper, 1, half - 1, axis),
        _part(lower, 1, None, axis),
        _part(upper, half - 1, None, axis),
    ]
    return xp.concat(parts, axis=axis)


def _part(A: Array, start: int, stop: int | None, axis: int) -> Array:
    return A[start:stop, ...] if axis == 0 else A[:, start:stop, ...]


def _padded(K: Array, size: int) -> Array:
    xp = namespace(K)
    if size == K.shape[-1]:
        return K
    K = xp.concat([K, xp.zeros_like(K[:, :1, :])], axis=1)
    return xp.concat([K, xp.zeros_like(K[:, :, :1])], axis=2)
