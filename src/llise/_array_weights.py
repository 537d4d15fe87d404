"""The kernels of ``_numba_weights.py`` in the array namespace, all problems at once: for torch, on CPU or GPU.

Same functions, same signatures, same equation numbers (docs/math.md); batched matrix products and elementwise
steps only, since batched eigensolvers are slow on GPUs or fail there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._backend import device_of, like, namespace, put_rows, rotate, to_numpy
from ._numba_weights import NULL, REACH, SWEEPS

Array = Any


def affine_weights(K: Array, kv: Array, a: Array, c: float, ridge: float, out: Array) -> None:
    """Closed form of the affine problem (eq. 20-22)."""
    xp = namespace(kv)
    k = kv.shape[-1]
    trace = k * a + xp.sum(xp.linalg.diagonal(K) - 2 * kv, axis=-1)
    lift = ridge * trace / k
    lift = xp.where(lift > 1e-12 * (a + c), lift, ridge * 1e-6 * (a + c))
    eye = xp.eye(k, dtype=kv.dtype, device=device_of(kv))
    rhs = xp.stack([kv, xp.ones_like(kv)], axis=-1)
    solved = xp.linalg.solve(K + lift[:, None, None] * eye, rhs)
    u, v = solved[..., 0], solved[..., 1]  # K^-1 kv, K^-1 1
    al, be, ga = xp.sum(kv * u, axis=-1), xp.sum(u, axis=-1), xp.sum(v, axis=-1)
    lead, half = 1 / ga + a + c, be / ga + 0.5 * c
    rest = al - be * be / ga
    rest = xp.where(rest > 1e-12 * al, rest, 0.0)
    L = (half + xp.sqrt(xp.maximum(half * half + lead * rest, xp.zeros_like(al)))) / lead
    L = xp.where(L > 0, L, 1.0)  # no combination correlates with x: LLE's weights
    w = (u + ((L - be) / ga)[:, None] * v) / L[:, None]
    out[...] = w / xp.sum(w, axis=-1)[:, None]


def sphere_weights(K: Array, kv: Array, a: Array, c: float, out: Array) -> None:
    """Global optimum of the sphere problem (eq. 15-19)."""
    xp = namespace(kv)
    d, V = _jacobi(K)
    d = xp.maximum(d, xp.zeros_like(d))
    g = _into_basis(V, kv)
    size = xp.sqrt(xp.sum(g * g, axis=-1))
    smallest = xp.min(d, axis=-1)
    scale = a + c + xp.max(d, axis=-1)
    null = d - smallest[:, None] <= NULL * scale[:, None]
    hard = xp.sqrt(xp.sum(xp.where(null, g * g, 0.0), axis=-1)) <= 1e-13 * scale
    g = xp.where(null & hard[:, None], 0.0, g)
    start = xp.where(size > 0, xp.sum(d * g * g, axis=-1) / xp.where(size > 0, size * size, 1.0), smallest)
    ratio = (2 * size + c) / (a + c + start)
    for _ in range(50):  # Dinkelbach, eq. 16-17
        coordinates, filled = _secular(g, d - smallest[:, None], ratio, null, hard)
        square = xp.sum(coordinates * coordinates, axis=-1)
        quadratic = xp.sum(d * coordinates * coordinates, axis=-1) + smallest * xp.maximum(
            1 - square, xp.zeros_like(square)
        )
        better = (2 * xp.sum(g * coordinates, axis=-1) + c) / (a + c + quadratic)
        done = bool(xp.all(xp.abs(better - ratio) <= 4e-15 * xp.abs(better)))
        ratio = better
        if done:
            break
    coordinates = xp.where(filled[:, None], coordinates, _fill_null_space(V, null, coordinates))
    w = xp.matmul(V, coordinates[..., None])[..., 0]
    out[...] = w / xp.sqrt(xp.sum(w * w, axis=-1))[:, None]


def _secular(g: Array, gap: Array, ratio: Array, null: Array, hard: Array) -> tuple[Array, Array]:
    """(L K + mu I) w = kv, |w| = 1 in the eigenbasis (eq. 18); the second result is False in the hard case."""
    xp = namespace(g)
    h = ratio[:, None] * gap
    pole = xp.where(null, 0.0, g / xp.where(null, 1.0, h))
    short = hard & (xp.sum(pole * pole, axis=-1) <= 1)
    nu = xp.max(xp.maximum(xp.abs(g) - h, xp.zeros_like(g)), axis=-1)
    empty = g == 0
    for _ in range(60):
        shifted = xp.where(empty, 1.0, h + nu[:, None])
        coordinates = g / shifted
        term = coordinates * coordinates
        square, slope = xp.sum(term, axis=-1), xp.sum(term / shifted, axis=-1)
        norm = xp.sqrt(square)
        moving = (norm > 1 + 1e-15) & (slope > 0) & ~short
        if not bool(xp.any(moving)):
            break
        nu = nu + xp.where(moving, (norm - 1) * square / xp.where(slope > 0, slope, 1.0), 0.0)
    return xp.where(short[:, None], pole, coordinates), ~short


def _fill_null_space(V: Array, null: Array, coordinates: Array) -> Array:
    """Hard case: the missing length, first towards a sum of one, the rest towards the nearest neighbour (eq. 19)."""
    xp = namespace(V)
    sums = xp.sum(V, axis=-2)
    square = xp.sum(coordinates * coordinates, axis=-1)
    missing = xp.sqrt(xp.maximum(1 - square, xp.zeros_like(square)))
    ones = xp.where(null, sums, 0.0)
    reach = xp.sqrt(xp.sum(ones * ones, axis=-1))
    reaches = reach > REACH
    reach = xp.where(reaches, reach, 1.0)
    ones = xp.where(reaches[:, None], ones / reach[:, None], 0.0)
    wanted = (1 - xp.sum(sums * coordinates, axis=-1)) / reach
    along = xp.where(reaches, xp.maximum(xp.minimum(wanted, missing), -missing), 0.0)
    rest = xp.sqrt(xp.maximum(missing * missing - along * along, xp.zeros_like(along)))
    # rows of V within the null space, without their part along the ones: one candidate a neighbour
    candidates = xp.where(null[:, None, :], V, 0.0)
    candidates = candidates - xp.matmul(candidates, ones[..., None]) * ones[:, None, :]
    lengths = xp.sqrt(xp.sum(candidates * candidates, axis=-1))
    first = xp.argmax(xp.astype(lengths > REACH, xp.int64), axis=-1)
    turns = xp.max(lengths, axis=-1) > REACH
    index = xp.broadcast_to(first[:, None, None], (V.shape[0], 1, V.shape[-1]))
    direction = xp.take_along_axis(candidates, index, axis=1)[:, 0, :]
    length = xp.where(turns, xp.take_along_axis(lengths, first[:, None], axis=-1)[:, 0], 1.0)
    whole = xp.where(along >= 0, missing, -missing)  # the null space is one line, along the ones
    along = xp.where(turns, along, whole)
    return coordinates + along[:, None] * ones + xp.where(turns, rest / length, 0.0)[:, None] * direction


def nearest_semidefinite(gram: Array) -> None:
    """Nearest positive semidefinite matrices, in place."""
    xp = namespace(gram)
    d, V = _jacobi(gram)
    negative = xp.minimum(d, xp.zeros_like(d))
    gram[...] = gram - xp.matmul(V * negative[:, None, :], xp.matrix_transpose(V))


def _into_basis(V: Array, v: Array) -> Array:
    xp = namespace(V)
    return xp.matmul(xp.matrix_transpose(V), v[..., None])[..., 0]


def _jacobi(K: Array) -> tuple[Array, Array]:
    """Eigenvalues (problems, k) and eigenvectors (problems, k, k) by Jacobi rotations, k/2 disjoint pairs at a time.

    Problems are the last axis.  Most are done after a few sweeps and graded ones take twice as many, so the done
    ones are put aside whenever they are the greater part.
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
    """Every pair once, by a tournament's schedule.

    Row i of the upper half meets row i of the lower half, then all but the first move on one seat; after k - 1
    rounds everyone has met everyone and is back in place.
    """
    xp = namespace(A)
    half = A.shape[0] // 2
    for _ in range(2 * half - 1):
        diagonal = _diagonal(A)
        apq = _diagonal(A[:half, half:, :])
        gap = diagonal[half:, :] - diagonal[:half, :]
        tangent = 2 * apq / (xp.abs(gap) + xp.sqrt(gap * gap + 4 * apq * apq) + 1e-300)
        tangent = xp.where(gap >= 0, tangent, -tangent)
        cosine = 1 / xp.sqrt(1 + tangent * tangent)
        sine = tangent * cosine
        A = _meet(A, cosine[:, None, :], sine[:, None, :], axis=0)
        A = _meet(A, cosine[None, :, :], sine[None, :, :], axis=1)
        V = _meet(V, cosine[:, None, :], sine[:, None, :], axis=0)
    return A, V


def _diagonal(A: Array) -> Array:
    """Diagonals (k, problems) of (k, k, problems)."""
    xp = namespace(A)
    return xp.stack([A[i, i, :] for i in range(A.shape[0])])


def _meet(A: Array, cosine: Array, sine: Array, axis: int) -> Array:
    """Rotate the upper half of an axis against its lower half, then seat everyone for the next round."""
    xp = namespace(A)
    half = A.shape[axis] // 2
    part = (lambda v, s: v[s, ...]) if axis == 0 else (lambda v, s: v[:, s, ...])
    upper, lower = part(A, slice(0, half)), part(A, slice(half, None))
    up, down = rotate(upper, lower, cosine, sine)
    if half == 1:
        return xp.concat([up, down], axis=axis)
    seats = [
        part(up, slice(0, 1)),
        part(down, slice(0, 1)),
        part(up, slice(1, half - 1)),
        part(down, slice(1, None)),
        part(up, slice(half - 1, None)),
    ]
    return xp.concat(seats, axis=axis)


def _padded(K: Array, size: int) -> Array:
    xp = namespace(K)
    if size == K.shape[-1]:
        return K
    K = xp.concat([K, xp.zeros_like(K[:, :1, :])], axis=1)
    return xp.concat([K, xp.zeros_like(K[:, :, :1])], axis=2)


def admm_weights(
    K: Array,
    kv: Array,
    a: Array,
    c: float,
    affine: bool,
    rho: float,
    eta: float,
    max_iter: int,
    tol: float,
    start: Array,
    out: Array,
    n_iter: Any,
) -> None:
    """The paper's iterations (eq. 23)."""
    xp = namespace(kv)
    k = kv.shape[-1]
    w, xi, j = start[0, ...], start[1, ...], start[2, ...]
    live = xp.ones_like(a)[:, None]
    rounds = xp.zeros_like(a) + max_iter
    for iteration in range(max_iter):
        Kw = xp.matmul(K, w[..., None])[..., 0]
        quadratic = xp.sum(w * Kw, axis=-1)
        beta = a + quadratic + c
        f = (a + quadratic - 2 * xp.sum(w * kv, axis=-1)) / beta
        slope = 2 / beta[:, None] * ((1 - f)[:, None] * Kw - kv)
        w = w - live * eta * (slope + rho * (w - xi + j))
        moved = w + j
        if affine:
            projected = moved + ((1 - xp.sum(moved, axis=-1)) / k)[:, None]
        else:
            projected = moved / xp.sqrt(xp.sum(moved * moved, axis=-1))[:, None]
        gap = xp.max(xp.maximum(xp.abs(w - projected), xp.abs(projected - xi)), axis=-1)
        j = j + live * (moved - projected - j)
        xi = xi + live * (projected - xi)
        if tol < 0:
            continue
        resting = (gap <= tol) & (live[:, 0] > 0)
        rounds = xp.where(resting, xp.zeros_like(rounds) + (iteration + 1), rounds)
        live = xp.where((gap <= tol)[:, None], 0.0, live)
        if not bool(xp.any(live > 0)):
            break
    out[...] = w
    n_iter[...] = to_numpy(rounds)
