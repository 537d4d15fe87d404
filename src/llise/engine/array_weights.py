"""The kernels of ``_numba_weights.py`` in the array namespace, all problems at once: for torch, on CPU or GPU.

Same functions, same signatures, same equation numbers (docs/math.md); batched matrix products and elementwise
steps only, since batched eigensolvers are slow on GPUs or fail there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from llise.engine.backend import add_product, device_of, like, namespace, put_rows, rotate, to_numpy
from llise.engine.numba_eigen import LAST, RANK, SWEEPS
from llise.engine.numba_weights import HARD, NEWTON, NULL, REACH

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
    """Global optimum of the sphere problem (eq. 15-19) from the non-zero eigenvalues of K and their vectors."""
    xp = namespace(kv)
    d, U, order = _eigen(K)
    a = xp.maximum(xp.take(a, order), xp.zeros_like(a))
    w = _sphere_from_eigen(d, U, xp.take(kv, order, axis=0).T, a, c)
    put_rows(out, order, w.T)


def _eigen(K: Array) -> tuple[Array, Array, Array]:
    """Eigenvalues (k, problems) and vectors (k, k, problems) of K (problems, k, k), in another order of problems.

    Problems of low and of high rank are rotated apart; the vectors of zero eigenvalues are zeros.
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
        left = xp.where(rows == pivot, -1.0, left)  # done
        ranks = ranks + xp.astype(live[0, :], ranks.dtype)
        columns.append(column)
    return columns, ranks


def _one_sided_jacobi(X: Array) -> Iterator[tuple[Array, Array]]:
    """Rotate the columns of X (columns, k, problems) until they are orthogonal: then X X' = U diag(d) U'.

    Problems are handed out with their places, those that are done whenever they are the greater part.
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
    """Every pair of columns once (``_seated``), and the greatest squared cosine that was met."""
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
        squares = _seated(add_product(dx, tangent, inner, -1), add_product(dy, tangent, inner))
        X = _seated(*rotate(x, y, cosine[:, None, :], sine[:, None, :]))
    skew = xp.concat(inners) ** 2 / (xp.concat(products) + 1e-300)
    return X, xp.max(skew, axis=0)


def _sphere_from_eigen(d: Array, U: Array, kv: Array, a: Array, c: float) -> Array:
    """Optimal weights (k, problems) from eigenvalues d (k, problems) and vectors U (k, k, problems) or zeros.

    One more coordinate stands for the part of kv outside the range of K, an eigenvector of the eigenvalue zero.
    """
    xp = namespace(d)
    least = xp.min(d, axis=0)
    scale = a + c + xp.max(d, axis=0)
    g = xp.sum(U * kv[None, ...], axis=1)
    outside, free = _null_direction(U, kv - _combined(U, g))
    singular, rounding = least == 0, HARD * scale
    real = singular & (free > rounding)
    d = xp.concat([d, xp.zeros_like(a)[None, :]], axis=0)
    g = xp.concat([g, xp.where(singular, free, 0.0)[None, :]], axis=0)
    gap = xp.maximum(d - least, xp.zeros_like(d))
    near = gap <= NULL * scale  # these span N, unless kv has a part there: then small eigenvalues count
    all_near = xp.sum(xp.where(near, g * g, 0.0), axis=0) <= rounding**2
    hard = all_near | (singular & ~real)
    kept = xp.where(all_near, ~near, gap > 0)
    g = xp.where(hard & ~kept, 0.0, g)
    pole, short = _pole(gap, g, kept, hard, a + c + least, c)
    coordinates = xp.where(short, pole, _secular(d, gap, g, short, least, a, c))
    w = add_product(_combined(U, coordinates[:-1, :]), coordinates[-1:, :], outside)
    U = xp.where(kept[:-1, None, :], U, 0.0)
    w = xp.where(short, _fill_null_space(U, w), w)
    return w / xp.sqrt(xp.sum(w * w, axis=0))


def _null_direction(U: Array, rest: Array) -> tuple[Array, Array]:
    """Unit vectors along ``rest``, kv's part outside the range of K, and its length; projected once more (rounding)."""
    xp = namespace(U)
    length = xp.sqrt(xp.sum(rest * rest, axis=0))
    rest = rest / (length + 1e-300)
    rest = rest - _combined(U, xp.sum(U * rest[None, ...], axis=1))
    return rest / (xp.sqrt(xp.sum(rest * rest, axis=0)) + 1e-300), length


def _combined(U: Array, coordinates: Array) -> Array:
    """Sums (k, problems) of the vectors U (k, k, problems) times their coordinates (k, problems)."""
    w = coordinates[0, :] * U[0, ...]
    for i in range(1, U.shape[0]):
        w = add_product(w, coordinates[i, :], U[i, ...])
    return w


def _pole(gap: Array, g: Array, kept: Array, hard: Array, whole: Array, c: float) -> tuple[Array, Array]:
    """Hard case: the solutions at t = 0, and whether they are no longer than one; L in closed form (eq. 18)."""
    xp = namespace(g)
    u = xp.where(kept, g / xp.where(kept, gap, 1.0), 0.0)
    L = 0.5 * (c + xp.sqrt(c * c + 4 * whole * xp.sum(g * u, axis=0))) / whole
    return u / L, hard & (xp.sum(u * u, axis=0) <= L * L)


def _secular(d: Array, gap: Array, g: Array, short: Array, least: Array, a: Array, c: float) -> Array:
    """The t >= 0 whose u = g / (gap + t) has the length L(u / |u|), in one monotone equation (eq. 17)."""
    xp = namespace(g)
    bound = (2 * xp.sqrt(xp.sum(g * g, axis=0)) + c) / (a + c + least)  # L <= bound
    low = xp.maximum(xp.max(xp.abs(g) / bound - gap, axis=0), xp.zeros_like(a))
    high = xp.full_like(low, xp.inf)
    t, moving = low, ~short
    for _ in range(NEWTON):
        inverse = 1 / (gap + t + 1e-300)
        u = g * inverse
        term = u * u
        square, slope = xp.sum(term, axis=0), xp.sum(term * inverse, axis=0)
        length = 2 * xp.sum(g * u, axis=0) + c * xp.sqrt(square)
        excess = ((a + c) * square + xp.sum(d * term, axis=0)) / (length + 1e-300) - 1  # |u| / L - 1
        low, high = xp.where(excess >= 0, t, low), xp.where(excess >= 0, high, t)
        stepped = t + excess * square / (slope + 1e-300)
        last = xp.abs(excess) <= 1e-9  # convergence is quadratic: this step is the last
        stepped = xp.where(last | ((stepped > low) & (stepped < high)), stepped, 0.5 * (low + high))
        t = xp.where(moving, stepped, t)
        moving = moving & ~last
        if not bool(xp.any(moving)):
            break
    return g / (gap + t + 1e-300)


def _fill_null_space(U: Array, w: Array) -> Array:
    """Hard case: the missing length, first towards a sum of one, the rest towards the nearest neighbour (eq. 19).

    The vectors U (k, k, problems) span what is not N, and some are zero.
    """
    xp = namespace(w)
    zero = xp.zeros_like(w[0, :])
    missing = xp.sqrt(xp.maximum(1 - xp.sum(w * w, axis=0), zero))
    ones = 1 - _combined(U, xp.sum(U, axis=1))
    reach = xp.sqrt(xp.sum(ones * ones, axis=0))
    reaches = reach > REACH
    reach = xp.where(reaches, reach, 1.0)
    ones = xp.where(reaches, ones / reach, 0.0)
    along = xp.maximum(xp.minimum((1 - xp.sum(w, axis=0)) / reach, missing), -missing)
    along = xp.where(reaches, along, 0.0)
    rest = xp.sqrt(xp.maximum(missing * missing - along * along, zero))
    squares = 1 - xp.sum(U * U, axis=0) - ones * ones  # of the parts of e_1 ... e_k in N, across the ones
    turns = xp.max(squares, axis=0) > REACH**2
    first = xp.argmax(xp.astype(squares > REACH**2, xp.int64), axis=0)[None, :]
    index = xp.broadcast_to(first[None, ...], (U.shape[0], 1, w.shape[-1]))
    direction = xp.astype(xp.arange(w.shape[0], device=device_of(w))[:, None] == first, w.dtype)
    direction = direction - _combined(U, xp.take_along_axis(U, index, axis=1)[:, 0, :])
    direction = direction - xp.take_along_axis(ones, first, axis=0) * ones
    length = xp.where(turns, xp.sqrt(xp.sum(direction * direction, axis=0)), 1.0)
    along = xp.where(turns, along, xp.where(along >= 0, missing, -missing))  # or N is one line, along the ones
    return w + along * ones + xp.where(turns, rest / length, 0.0) * direction


def nearest_semidefinite(gram: Array) -> None:
    """Nearest positive semidefinite matrices, in place."""
    xp = namespace(gram)
    d, V = _jacobi(gram)
    negative = xp.minimum(d, xp.zeros_like(d))
    gram[...] = gram - xp.matmul(V * negative[:, None, :], xp.matrix_transpose(V))


def _jacobi(K: Array) -> tuple[Array, Array]:
    """Eigenvalues (problems, k) and eigenvectors (problems, k, k) by Jacobi rotations, k/2 disjoint pairs at a time.

    Problems are the last axis.  Most are done after a few sweeps and graded ones take twice as many, so the done
    ones are put aside whenever they are the greater part.  Two-sided: slower than ``_one_sided_jacobi``, but K may be
    indefinite and the basis is complete.
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

    Row i of the upper half meets row i of the lower half, then seats change (``_seated``); after k - 1 rounds everyone
    has met everyone and is back in place.
    """
    half = A.shape[0] // 2
    for _ in range(2 * half - 1):
        diagonal = _diagonal(A)
        apq = _diagonal(A[:half, half:, :])
        _, cosine, sine = _rotations(apq, diagonal[half:, :] - diagonal[:half, :])
        A = _meet(A, cosine[:, None, :], sine[:, None, :], axis=0)
        A = _meet(A, cosine[None, :, :], sine[None, :, :], axis=1)
        V = _meet(V, cosine[:, None, :], sine[:, None, :], axis=0)
    return A, V


def _rotations(inner: Array, gap: Array) -> tuple[Array, Array, Array]:
    """Tangents, cosines and sines of the rotations that make [[x, inner], [inner, x + gap]] diagonal."""
    xp = namespace(inner)
    twice = 2 * inner
    tangent = twice / (gap + xp.copysign(xp.hypot(gap, twice) + 1e-300, gap))
    cosine = 1 / xp.sqrt(tangent * tangent + 1)
    return tangent, cosine, tangent * cosine


def _diagonal(A: Array) -> Array:
    """Diagonals (k, problems) of (k, k, problems)."""
    xp = namespace(A)
    return xp.stack([A[i, i, :] for i in range(A.shape[0])])


def _meet(A: Array, cosine: Array, sine: Array, axis: int) -> Array:
    """Rotate the upper half of an axis against its lower half, then seat everyone for the next round."""
    half = A.shape[axis] // 2
    upper, lower = _part(A, 0, half, axis), _part(A, half, None, axis)
    return _seated(*rotate(upper, lower, cosine, sine), axis)


def _seated(up: Array, down: Array, axis: int = 0) -> Array:
    """A tournament's next round: all but the first of the upper half move on one seat."""
    xp = namespace(up)
    half = up.shape[axis]
    if half == 1:
        return xp.concat([up, down], axis=axis)
    seats = [
        _part(up, 0, 1, axis),
        _part(down, 0, 1, axis),
        _part(up, 1, half - 1, axis),
        _part(down, 1, None, axis),
        _part(up, half - 1, None, axis),
    ]
    return xp.concat(seats, axis=axis)


def _part(A: Array, start: int, stop: int | None, axis: int) -> Array:
    return A[start:stop, ...] if axis == 0 else A[:, start:stop, ...]


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
