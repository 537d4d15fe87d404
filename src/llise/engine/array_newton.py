"""Riemannian Newton steps of the embedding in the array namespace, all blocks together (docs/math.md, eq. 32-35)."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine.array_linalg import expand, inner, norm, orthonormalise, retract
from llise.engine.array_objective import Hessian, Points, Tangent, choose
from llise.engine.array_operations import add_product, cholesky, triangular_inverse
from llise.engine.backend import device_of, like, namespace, to_numpy
from llise.engine.tolerances import DAMPING, MAX_PRODUCTS, STIFFNESS

Array = Any
HALVINGS = 29  # of a step, at the most
AT_ONCE = 4  # step lengths that a line search tries at once


def preconditioner(S: Array, d: Array) -> Array:
    """Invert A' diag(d) A + (damping I + stiffness 11'/n) times its mean diagonal (eq. 33).

    Parameters
    ----------
    S : array (b, n, n)
        Weights; A = I - S.
    d : array (b, n, 1)

    Returns
    -------
    array (b, n, n)
    """
    xp = namespace(S)
    n = S.shape[-1]
    eye = xp.eye(n, dtype=S.dtype, device=device_of(S))
    A = eye - S
    M = xp.matmul(xp.matrix_transpose(A), d * A)
    mean = xp.mean(xp.linalg.diagonal(M), axis=-1)
    M = M + expand(mean) * (DAMPING * eye + STIFFNESS / n)
    L = triangular_inverse(cholesky(M))
    return xp.matmul(xp.matrix_transpose(L), L)


def spectral_start(S: Array, Y: Array, rounds: int) -> Array:
    """Find the p lowest eigenvectors of A'A among centred vectors, by inverse subspace iteration (eq. 32).

    Parameters
    ----------
    S : array (b, n, n)
        Weights; A = I - S.
    Y : array (b, n, p)
        Start.
    rounds : int
        Most iterations.

    Returns
    -------
    array (b, n, p)
        Satisfies the constraints.
    """
    xp = namespace(S)
    n, p = Y.shape[-2:]
    inverse = preconditioner(S, xp.ones_like(S[..., :1]))
    Y = orthonormalise(Y)
    moving = xp.ones_like(Y[:, 0, 0]) > 0
    for _ in range(rounds):
        fresh = orthonormalise(xp.matmul(inverse, Y))
        overlap = norm(xp.matmul(xp.matrix_transpose(Y), fresh) / n) ** 2
        Y = xp.where(expand(moving), fresh, Y)
        moving = moving & (p - overlap >= 1e-4 * p)
        if not bool(xp.any(moving)):
            break
    return Y


def _tangent_inverse(inverse: Array, tangent: Tangent) -> Array:
    """The matrix of M^-1 made tangent: R -> M^-1 (R - B lambda) with B'M^-1 (R - B lambda) = 0 (eq. 34)."""
    xp = namespace(inverse)
    MB = xp.matmul(inverse, tangent.B)
    BMB = xp.matmul(tangent.Bt, MB)
    L = triangular_inverse(cholesky(0.5 * (BMB + xp.matrix_transpose(BMB))))
    part = xp.matmul(MB, xp.matrix_transpose(L)) / float(np.sqrt(inverse.shape[-1]))
    return inverse - xp.matmul(part, xp.matrix_transpose(part))


def newton_step(hessian: Hessian, R: Array, inverse: Array, forcing: Array) -> tuple[Array, np.ndarray]:
    """Solve Hess[U] = -grad in the tangent space by truncated conjugate gradients (eq. 35).

    Parameters
    ----------
    hessian : Hessian
        At the current points.
    R : array (b, n, p)
        Riemannian gradient.
    inverse : array (b, n, n)
        Preconditioner.
    forcing : array (b,)
        Residual, relative to R, at which a block is done.

    Returns
    -------
    U : array (b, n, p)
        The step.
    products : numpy.ndarray (b,)
        Number of Hessian products.
    """
    xp = namespace(R)
    n, p = R.shape[-2:]
    tangent = hessian.tangent
    inverse = _tangent_inverse(inverse, tangent)
    U = xp.zeros_like(R)
    residual = R
    goal = forcing * norm(R)
    Z = tangent.project(xp.matmul(inverse, residual))
    D = -Z
    rz = inner(residual, Z)
    live = xp.ones_like(rz) > 0
    products = np.ones(R.shape[0])
    for _ in range(MAX_PRODUCTS):
        H = hessian(D)
        curvature = inner(D, H)
        convex = curvature > 0
        step = xp.where(convex, rz / xp.where(convex, curvature, 1.0), float(np.sqrt(n * p)) / norm(D))
        U = add_product(U, expand(xp.where(live, step, 0.0)), D)
        residual = add_product(residual, expand(xp.where(live & convex, step, 0.0)), H)
        live = live & convex & (norm(residual) > goal)
        going = to_numpy(live)
        if not going.any():
            break
        products += going
        Z = tangent.project(xp.matmul(inverse, residual))
        fresh = inner(residual, Z)
        D = add_product(-Z, expand(fresh / xp.where(rz == 0, 1.0, rz)), D)
        rz = fresh
    return U, np.minimum(products, MAX_PRODUCTS)


def line_search(at: Points, U: Array, R: Array) -> tuple[Points, np.ndarray]:
    """Go along U as far as the objective decreases.

    Most blocks take the whole step.  The others try halvings of it, ``AT_ONCE`` at a time.

    Parameters
    ----------
    at : Points
        The current points.
    U : array (b, n, p)
        The step.
    R : array (b, n, p)
        Riemannian gradient.

    Returns
    -------
    points : Points
        The new points.
    moved : numpy.ndarray (b,) of bool
        False for a block that finds no decrease and stays.
    """
    xp = namespace(U)
    n, p = U.shape[-2:]
    descent = inner(R, U)
    U = U * expand(1 - 2 * xp.astype(descent > 0, U.dtype))
    descent = -xp.abs(descent)
    length = norm(U)
    step = xp.where(length > 0, xp.minimum(xp.ones_like(length), float(np.sqrt(n * p)) / length), 0.0)
    noise = 1e-15 * xp.sqrt(n * at.value) + 1e-14 * at.value
    best = at.move(retract(add_product(at.Y, expand(step), U)))
    good = best.value <= at.value + 1e-4 * step * descent + noise
    moved = to_numpy(good).copy()
    if moved.all():
        return best, moved
    best = choose(good, best, at)
    for first in range(1, HALVINGS, AT_ONCE):
        few = np.flatnonzero(~moved)
        if not few.size:
            break
        index = like(U, np.repeat(few, AT_ONCE))
        Y, along, value, slope, rounding, halved = (
            xp.take(v, index, axis=0) for v in (at.Y, U, at.value, descent, noise, step)
        )
        halved = halved * like(U, np.tile(0.5 ** np.arange(first, first + AT_ONCE), few.size))
        trial = at.only(like(U, few)).move(retract(add_product(Y, expand(halved), along)))
        good = to_numpy(trial.value <= value + 1e-4 * halved * slope + rounding).reshape(-1, AT_ONCE)
        has_decrease = good.any(axis=1)
        longest = (np.arange(few.size) * AT_ONCE + good.argmax(axis=1))[has_decrease]
        best.put(few[has_decrease], trial, longest)
        moved[few[has_decrease]] = True
    return best, moved
