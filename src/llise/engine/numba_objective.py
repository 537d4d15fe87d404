"""The embedding's objective, its gradient and its Hessian, compiled (docs/math.md, eq. 25-29).

S is the sparse matrix of weights, row j on the neighbours of image j, and A = I - S.  Coordinates are tall matrices
in vectors of four (``numba_linalg.py``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llise.engine.jit import FAST, part
from llise.engine.numba_linalg import inner, tall
from llise.engine.simd import load, spread, store, total


class Sparse(NamedTuple):
    """The matrix S of a block.

    Attributes
    ----------
    weights : numpy.ndarray (n, k)
    neighbors : numpy.ndarray (n, k) of int
        The images that the weights belong to.
    """

    weights: np.ndarray
    neighbors: np.ndarray


class Point(NamedTuple):
    """A point Y and the terms of the objective there (eq. 26).

    Attributes
    ----------
    Y, SY, AY : numpy.ndarray (Q, N, 4)
        Tall matrices.
    theta : numpy.ndarray (n,)
        ``|(AY)_j|^2 / beta_j``.
    inverse : numpy.ndarray (n,)
        1 / beta_j.
    """

    Y: np.ndarray
    SY: np.ndarray
    AY: np.ndarray
    theta: np.ndarray
    inverse: np.ndarray


@part()
def times_S(S, Y, out):
    """S Y."""
    w, nb = S
    n, k = w.shape
    for q in range(Y.shape[0]):
        for j in range(n):
            row = spread(0.0)
            for r in range(k):
                row += w[j, r] * load(Y, q, nb[j, r])
            store(out, q, j, row)


@part()
def subtract_St(S, V, out):
    """out -= S' V."""
    w, nb = S
    n, k = w.shape
    for q in range(V.shape[0]):
        for j in range(n):
            row = load(V, q, j)
            for r in range(k):
                i = nb[j, r]
                store(out, q, i, load(out, q, i) - w[j, r] * row)


@part(allocates=True)
def point(n, p):
    """Allocate a point."""
    return Point(tall(n, p), tall(n, p), tall(n, p), np.empty(n), np.empty(n))


@part()
def objective(S, c, at):
    """Fill ``at`` for its Y, ``beta_j = |y_j|^2 + |(SY)_j|^2 + c``; return the sum of theta (eq. 26)."""
    times_S(S, at.Y, at.SY)
    value = 0.0
    for j in range(at.theta.size):
        alpha = spread(0.0)
        beta = spread(0.0)
        for q in range(at.Y.shape[0]):
            y, s = load(at.Y, q, j), load(at.SY, q, j)
            store(at.AY, q, j, y - s)
            alpha += (y - s) * (y - s)
            beta += y * y + s * s
        at.inverse[j] = 1.0 / (total(beta) + c)
        at.theta[j] = total(alpha) * at.inverse[j]
        value += at.theta[j]
    return value


@part()
def gradient(S, at, work, G):
    """G = 2 [A' D(1/beta) A - D(tau) - S' D(tau) S] Y, tau = theta / beta (eq. 27)."""
    for j in range(at.theta.size):
        tau = at.theta[j] * at.inverse[j]
        for q in range(G.shape[0]):
            v = at.inverse[j] * load(at.AY, q, j)
            store(work, q, j, 2.0 * (v + tau * load(at.SY, q, j)))
            store(G, q, j, 2.0 * (v - tau * load(at.Y, q, j)))
    subtract_St(S, work, G)


@part()
def hessian(S, at, U, work, H):
    """H = derivative of the gradient along U (eq. 28-29); ``work`` holds SU, then what S' is applied to."""
    times_S(S, U, work)
    for j in range(at.theta.size):
        alpha = spread(0.0)
        beta = spread(0.0)
        for q in range(H.shape[0]):
            u, su = load(U, q, j), load(work, q, j)
            alpha += load(at.AY, q, j) * (u - su)
            beta += load(at.Y, q, j) * u + load(at.SY, q, j) * su
        inverse = at.inverse[j]
        tau = at.theta[j] * inverse
        slope = 2.0 * total(beta) * inverse  # derivative of log beta
        tau_slope = 2.0 * total(alpha) * inverse * inverse - 2.0 * tau * slope  # derivative of tau
        for q in range(H.shape[0]):
            u, su = load(U, q, j), load(work, q, j)
            v = inverse * (u - su - slope * load(at.AY, q, j))
            store(work, q, j, 2.0 * (v + tau * su + tau_slope * load(at.SY, q, j)))
            store(H, q, j, 2.0 * (v - tau * u - tau_slope * load(at.Y, q, j)))
    subtract_St(S, work, H)


@part(fastmath=FAST)
def gradient_scale(G, inverse, p):
    """The size that a gradient is compared with: ``|G|``, or 1e-8 of its terms 2/beta where G vanishes (eq. 36)."""
    terms = 0.0
    for j in range(inverse.size):
        terms += inverse[j] * inverse[j]
    return max(np.sqrt(inner(G, G)), 2e-8 * np.sqrt(p * terms))


@part()
def published_gradient(S, at, work, G):
    """The paper's gradient with M_j = 1_j 1_j' + ww' - 2 1_j w' as printed, which is not symmetric (error 2)."""
    for j in range(at.theta.size):
        inverse = at.inverse[j]
        tau = at.theta[j] * inverse
        for q in range(G.shape[0]):
            y, sy = load(at.Y, q, j), load(at.SY, q, j)
            store(work, q, j, -2.0 * (inverse - tau) * sy)
            store(G, q, j, 2.0 * (inverse * (y - 2.0 * sy) - tau * y))
    subtract_St(S, work, G)
