"""The paper's iterations (ADMM) for weights and coordinates, in the array namespace (docs/math.md, eq. 23 and 37)."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine.array_eigen import jacobi
from llise.engine.array_linalg import expand, norm, violation
from llise.engine.array_objective import Points, Tangent, dense
from llise.engine.backend import namespace, to_numpy

Array = Any


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
) -> tuple[Array, np.ndarray]:
    """The paper's iterations for the weights (eq. 23)."""
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
    return w, to_numpy(rounds).astype(np.int64)


def admm_embedding(
    weights: Array,
    neighbors: Array,
    c: float,
    rho: float,
    eta: float,
    max_iter: int,
    tol: float,
    published: bool,
    start: Array,
    out: Array,
    results: np.ndarray,
    history: np.ndarray,
) -> None:
    """The paper's iterations (eq. 37) from ``start`` (b, 3, n, p) = Y, V, J."""
    xp = namespace(weights)
    n = weights.shape[1]
    at = Points(dense(weights, neighbors), start[:, 0, ...], c).move(start[:, 0, ...])
    V, J = start[:, 1, ...], start[:, 2, ...]
    singular_value = float(n) if published else float(np.sqrt(n))
    rounds = np.full(weights.shape[0], max_iter)
    live = xp.ones_like(V[:, 0, 0])
    for iteration in range(max_iter):
        if iteration < history.shape[1]:
            history[:, iteration, 0] = to_numpy(at.value)
            history[:, iteration, 1] = to_numpy(violation(at.Y))
        G = at.published_gradient() if published else at.gradient()
        Y = at.Y - expand(live) * (eta * G + eta * rho * (at.Y - V + J))
        fresh = _polar(Y + J, singular_value)
        gap = xp.max(xp.maximum(xp.abs(Y - fresh), xp.abs(fresh - V)), axis=(-2, -1))
        J = J + expand(live) * (Y - fresh)
        V = xp.where(expand(live) > 0, fresh, V)
        at = at.move(Y)
        if tol < 0:
            continue
        rounds[to_numpy((gap <= tol) & (live > 0))] = iteration + 1
        live = xp.where(gap <= tol, 0.0, live)
        if not bool(xp.any(live > 0)):
            break
    G = at.gradient()
    results[:, 0] = to_numpy(at.value)
    results[:, 1] = to_numpy(norm(Tangent(at.Y).project(G)) / at.scale(G))
    results[:, 2] = rounds
    results[:, 3] = to_numpy(violation(at.Y))
    out[...] = at.Y


def _polar(B: Array, singular_value: float) -> Array:
    """Centre B and set its singular values: B (B'B)^(-1/2), by the eigenvectors of B'B (eq. 31)."""
    xp = namespace(B)
    B = B - xp.mean(B, axis=-2)[:, None, :]
    _, V = jacobi(xp.matmul(xp.matrix_transpose(B), B))
    rotated = xp.matmul(B, V)
    lengths = xp.sqrt(xp.sum(rotated * rotated, axis=-2))[:, None, :]
    unit = rotated / xp.where(lengths > 0, lengths, 1.0)
    return singular_value * xp.matmul(unit, xp.matrix_transpose(V))
