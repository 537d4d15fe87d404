"""Reconstruction weights in the array namespace, all problems at once (equation numbers: docs/math.md)."""

from __future__ import annotations

from typing import Any

from llise.engine.array_eigen import semidefinite_eigen
from llise.engine.array_operations import add_product, put_rows
from llise.engine.backend import device_of, namespace
from llise.engine.tolerances import HARD, NEWTON, NULL, REACH

Array = Any


def reconstruction_values(w: Array, K: Array, kv: Array, a: Array, c: float) -> Array:
    """f(w) of problems with any leading axes (eq. 13)."""
    xp = namespace(w)
    quadratic = xp.sum(w * xp.matmul(K, w[..., None])[..., 0], axis=-1)
    return (a + quadratic - 2 * xp.sum(w * kv, axis=-1)) / (a + quadratic + c)


def affine_weights(K: Array, kv: Array, a: Array, c: float, ridge: float) -> Array:
    """Closed form of the affine problem (eq. 20-22)."""
    xp = namespace(kv)
    k = kv.shape[-1]
    trace = k * a + xp.sum(xp.linalg.diagonal(K) - 2 * kv, axis=-1)
    shift = ridge * trace / k
    shift = xp.where(shift > 1e-12 * (a + c), shift, ridge * 1e-6 * (a + c))
    eye = xp.eye(k, dtype=kv.dtype, device=device_of(kv))
    rhs = xp.stack([kv, xp.ones_like(kv)], axis=-1)
    solved = xp.linalg.solve(K + shift[:, None, None] * eye, rhs)
    u, v = solved[..., 0], solved[..., 1]  # K^-1 kv, K^-1 1
    al, be, ga = xp.sum(kv * u, axis=-1), xp.sum(u, axis=-1), xp.sum(v, axis=-1)
    lead, half = 1 / ga + a + c, be / ga + 0.5 * c
    rest = al - be * be / ga
    rest = xp.where(rest > 1e-12 * al, rest, 0.0)
    L = (half + xp.sqrt(xp.maximum(half * half + lead * rest, xp.zeros_like(al)))) / lead
    L = xp.where(L > 0, L, 1.0)  # no combination correlates with x: LLE's weights
    w = (u + ((L - be) / ga)[:, None] * v) / L[:, None]
    return w / xp.sum(w, axis=-1)[:, None]


def sphere_weights(K: Array, kv: Array, a: Array, c: float) -> Array:
    """Global optimum of the sphere problem (eq. 15-19) from the non-zero eigenvalues of K and their vectors."""
    xp = namespace(kv)
    d, U, order = semidefinite_eigen(K)
    a = xp.maximum(xp.take(a, order), xp.zeros_like(a))
    w = _sphere_from_eigen(d, U, xp.take(kv, order, axis=0).T, a, c)
    out = xp.empty_like(kv)
    put_rows(out, order, w.T)
    return out


def _sphere_from_eigen(d: Array, U: Array, kv: Array, a: Array, c: float) -> Array:
    """Optimal weights (k, problems) from eigenvalues d (k, problems) and vectors U (k, k, problems) or zeros.

    One more coordinate stands for the part of kv outside the range of K, an eigenvector of the eigenvalue zero.
    """
    xp = namespace(d)
    least = xp.min(d, axis=0)
    scale = a + c + xp.max(d, axis=0)
    g = xp.sum(U * kv[None, ...], axis=1)
    direction, free = _null_direction(U, kv - _combined(U, g))
    singular, rounding = least == 0, HARD * scale
    real = singular & (free > rounding)
    d = xp.concat([d, xp.zeros_like(a)[None, :]], axis=0)
    g = xp.concat([g, xp.where(singular, free, 0.0)[None, :]], axis=0)
    gap = xp.maximum(d - least, xp.zeros_like(d))
    near = gap <= NULL * scale  # these span N, unless kv has a part there: then small eigenvalues count
    all_near = xp.sum(xp.where(near, g * g, 0.0), axis=0) <= rounding**2
    hard = all_near | (singular & ~real)
    outside = xp.where(all_near, ~near, gap > 0)  # of N
    g = xp.where(hard & ~outside, 0.0, g)
    pole, short = _pole(gap, g, outside, hard, a + c + least, c)
    coordinates = xp.where(short, pole, _secular(d, gap, g, short, least, a, c))
    w = add_product(_combined(U, coordinates[:-1, :]), coordinates[-1:, :], direction)
    U = xp.where(outside[:-1, None, :], U, 0.0)
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


def _pole(gap: Array, g: Array, outside: Array, hard: Array, lead: Array, c: float) -> tuple[Array, Array]:
    """Hard case: the solutions at t = 0, and whether they are no longer than one; L in closed form (eq. 18)."""
    xp = namespace(g)
    u = xp.where(outside, g / xp.where(outside, gap, 1.0), 0.0)
    L = 0.5 * (c + xp.sqrt(c * c + 4 * lead * xp.sum(g * u, axis=0))) / lead
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
