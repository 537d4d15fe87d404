"""The kernels of ``_numba_embedding.py`` in the array namespace, all blocks at once: for torch, on CPU or GPU.

Same functions, same signatures, same equation numbers (docs/math.md).  S is a dense matrix here, (b, n, n), and
blocks advance together; those that are done are left out of the next step.  Only products, Cholesky factors and
triangular inverses are batched: batched eigensolvers and QR are slow on GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed

from llise.engine import numba_embedding as compiled
from llise.engine.array_weights import _jacobi
from llise.engine.backend import (
    add_product,
    cholesky,
    device_of,
    like,
    namespace,
    put_rows,
    scattered,
    to_numpy,
    too_few_for_device,
    triangular_inverse,
)
from llise.engine.numba_embedding import DAMPING, MAX_PRODUCTS, START_ROUNDS, STIFFNESS

Array = Any
ABREAST = 4  # step lengths that a line search tries at once
HALVINGS = 29  # of a step, at the most


@dataclass
class _Blocks:
    """Blocks that are worked on: S, the point Y, and what the objective leaves there (eq. 25-26)."""

    S: Array
    Y: Array
    c: float
    SY: Array = None
    AY: Array = None
    alpha: Array = None  # (b, n, 1)
    beta: Array = None
    value: Array = None  # (b,)

    def move(self, Y: Array) -> _Blocks:
        """The same problem at another point, or each block at several points that follow each other in Y."""
        xp = namespace(Y)
        b, (_, n, p) = self.S.shape[0], Y.shape
        abreast = xp.permute_dims(xp.reshape(Y, (b, -1, n, p)), (0, 2, 1, 3))
        SY = xp.matmul(self.S, xp.reshape(abreast, (b, n, -1)))
        SY = xp.reshape(xp.permute_dims(xp.reshape(SY, abreast.shape), (0, 2, 1, 3)), Y.shape)
        AY = Y - SY
        alpha = xp.sum(AY * AY, axis=-1)[..., None]
        beta = (xp.sum(Y * Y, axis=-1) + xp.sum(SY * SY, axis=-1))[..., None] + self.c
        return _Blocks(self.S, Y, self.c, SY, AY, alpha, beta, xp.sum(alpha / beta, axis=(-2, -1)))

    def only(self, index: Array) -> _Blocks:
        """The blocks ``index``."""
        take = lambda v: namespace(v).take(v, index, axis=0)
        values = (take(v) for v in (self.SY, self.AY, self.alpha, self.beta, self.value))
        return _Blocks(take(self.S), take(self.Y), self.c, *values)

    def put(self, rows: np.ndarray, other: _Blocks, picks: np.ndarray) -> None:
        """Take over the blocks ``picks`` of ``other`` as ``rows``."""
        index = like(self.Y, picks)
        for name in ("Y", "SY", "AY", "alpha", "beta", "value"):
            put_rows(getattr(self, name), rows, namespace(index).take(getattr(other, name), index, axis=0))

    def adjoint(self, V: Array) -> Array:
        """S' V."""
        xp = namespace(V)
        return xp.matmul(xp.matrix_transpose(self.S), V)

    def gradient(self) -> Array:
        """2 [A' D(1/beta) A - D(tau) - S' D(tau) S] Y, tau = theta / beta (eq. 27)."""
        v, tau = self.AY / self.beta, self.alpha / self.beta**2
        return 2 * (v - tau * self.Y - self.adjoint(v + tau * self.SY))

    def published_gradient(self) -> Array:
        """The paper's gradient with M_j as printed (slip 2)."""
        tau = self.alpha / self.beta**2
        scatter = (1 / self.beta - tau) * self.SY
        return 2 * ((self.Y - 2 * self.SY) / self.beta - tau * self.Y + self.adjoint(scatter))

    def scale(self, G: Array) -> Array:
        """What a gradient is small against (eq. 36)."""
        xp = namespace(G)
        return xp.maximum(_norm(G), 2e-8 * float(np.sqrt(G.shape[-1])) * _norm(1 / self.beta))


class _Hessian:
    """Riemannian Hessian at a point: derivative of the gradient along U, made tangent (eq. 28, 30, 35).

    What does not depend on U is worked out once; y and Sy are treated side by side.
    """

    def __init__(self, at: _Blocks, G: Array) -> None:
        xp = namespace(G)
        self.at, self.p = at, G.shape[-1]
        self.tangent = _Tangent(at.Y)
        self.weight = 2 / at.beta
        self.tau = 2 * at.alpha / at.beta**2
        self.both = xp.concat([at.Y, at.SY], axis=-1)
        self.residual = at.AY / at.beta
        curvature = xp.matmul(xp.matrix_transpose(at.Y), G) / G.shape[-2]
        self.curvature = 0.5 * (curvature + xp.matrix_transpose(curvature))

    def __call__(self, U: Array) -> Array:
        xp = namespace(U)
        SU = xp.matmul(self.at.S, U)
        AU, both = U - SU, xp.concat([U, SU], axis=-1)
        # twice the derivatives of alpha, over beta^2, and of log beta; from them of tau
        alpha = 2 * self.weight * xp.sum(self.residual * AU, axis=-1)[..., None]
        slope = 2 * self.weight * xp.sum(self.both * both, axis=-1)[..., None]
        bend = add_product(alpha, self.tau, slope, -1)
        turned = add_product(self.tau * both, bend, self.both)
        v = add_product(self.weight * AU, slope, self.residual, -1)
        H = v - turned[..., : self.p] - self.at.adjoint(v + turned[..., self.p :])
        return self.tangent.project(H - xp.matmul(U, self.curvature))


class _Tangent:
    """Tangent space {U : B'U = 0}, B = [Y 1], at a point Y (eq. 30)."""

    def __init__(self, Y: Array) -> None:
        xp = namespace(Y)
        self.B = xp.concat([Y, xp.ones_like(Y[..., :1])], axis=-1)
        self.Bt = xp.matrix_transpose(self.B) / Y.shape[-2]

    def project(self, U: Array) -> Array:
        """U - B B'U / n."""
        xp = namespace(U)
        return U - xp.matmul(self.B, xp.matmul(self.Bt, U))


def _norm(U: Array) -> Array:
    xp = namespace(U)
    return xp.sqrt(xp.sum(U * U, axis=(-2, -1)))


def _inner(U: Array, V: Array) -> Array:
    return namespace(U).sum(U * V, axis=(-2, -1))


def _wide(v: Array) -> Array:
    return v[:, None, None]


def _orthonormalise(Y: Array) -> Array:
    """Columns centred, orthogonal and of squared length n (eq. 31).

    Where no columns are nearly dependent, Cholesky factors will do.
    """
    xp = namespace(Y)
    n = Y.shape[-2]
    scaled = Y - xp.mean(Y, axis=-2)[:, None, :]
    scaled = scaled * xp.sqrt(n / (xp.sum(scaled * scaled, axis=-2) + 1e-300))[:, None, :]
    inner = xp.matmul(xp.matrix_transpose(scaled), scaled) / n
    eye = xp.eye(Y.shape[-1], dtype=Y.dtype, device=device_of(Y))
    pivots = xp.linalg.diagonal(cholesky(inner + 1e-12 * eye))
    return _retract(scaled) if bool(xp.all(pivots > 1e-5)) else _gram_schmidt(Y)


def _gram_schmidt(Y: Array) -> Array:
    """The same for any Y: modified Gram-Schmidt, twice."""
    xp = namespace(Y)
    n, p = Y.shape[-2:]
    done: list[Array] = []
    for i in range(p):
        y = _centred(Y[..., i])
        before = xp.sum(y * y, axis=-1)
        for s in done:
            y = y - (xp.sum(s * y, axis=-1) / n)[:, None] * s
        lost = ~(xp.sum(y * y, axis=-1) > 1e-20 * before)
        if bool(xp.any(lost)):
            y = xp.where(lost[:, None], _spare(y, done, lost), y)
        y = y * xp.sqrt(n / xp.sum(y * y, axis=-1))[:, None]
        y = _centred(y)
        for s in done:
            y = y - (xp.sum(s * y, axis=-1) / n)[:, None] * s
        done.append(y * xp.sqrt(n / xp.sum(y * y, axis=-1))[:, None])
    return xp.stack(done, axis=-1)


def _retract(Y: Array) -> Array:
    """The same by two Cholesky factors of Y'Y, for a Y that is well conditioned, as a point plus a tangent is."""
    xp = namespace(Y)
    n = Y.shape[-2]
    Y = Y - xp.mean(Y, axis=-2)[:, None, :]
    for _ in range(2):
        L = triangular_inverse(cholesky(xp.matmul(xp.matrix_transpose(Y), Y) / n))
        Y = xp.matmul(Y, xp.matrix_transpose(L))
    return Y


def _spare(y: Array, done: list[Array], lost: Array) -> Array:
    """Cosines of the image index for starts without enough directions: the first not spanned already."""
    xp = namespace(y)
    n = y.shape[-1]
    chosen = xp.zeros_like(y)
    missing = lost
    for order in range(1, n):
        cosine = np.cos(np.pi * order * (np.arange(n) + 0.5) / n)
        z = _centred(xp.broadcast_to(like(y, cosine), y.shape))
        before = xp.sum(z * z, axis=-1)
        for s in done:
            z = z - (xp.sum(s * z, axis=-1) / n)[:, None] * s
        good = missing & (xp.sum(z * z, axis=-1) > 1e-20 * before)
        chosen = xp.where(good[:, None], z, chosen)
        missing = missing & ~good
        if not bool(xp.any(missing)):
            break
    return chosen


def _centred(y: Array) -> Array:
    return y - namespace(y).mean(y, axis=-1)[:, None]


def _inverse(S: Array, d: Array) -> Array:
    """Inverse of A' diag(d) A + (damping I + stiffness 11'/n) times its mean diagonal (eq. 33)."""
    xp = namespace(S)
    n = S.shape[-1]
    eye = xp.eye(n, dtype=S.dtype, device=device_of(S))
    A = eye - S
    M = xp.matmul(xp.matrix_transpose(A), d * A)
    mean = xp.mean(xp.linalg.diagonal(M), axis=-1)
    M = M + _wide(mean) * (DAMPING * eye + STIFFNESS / n)
    L = triangular_inverse(cholesky(M))
    return xp.matmul(xp.matrix_transpose(L), L)


def _spectral_start(S: Array, Y: Array, rounds: int) -> Array:
    """The p lowest eigenvectors of A'A among centred vectors, by inverse subspace iteration from Y (eq. 32)."""
    xp = namespace(S)
    n, p = Y.shape[-2:]
    inverse = _inverse(S, xp.ones_like(S[..., :1]))
    Y = _orthonormalise(Y)
    moving = xp.ones_like(Y[:, 0, 0]) > 0
    for _ in range(rounds):
        fresh = _orthonormalise(xp.matmul(inverse, Y))
        kept = _norm(xp.matmul(xp.matrix_transpose(Y), fresh) / n) ** 2
        Y = xp.where(_wide(moving), fresh, Y)
        moving = moving & (p - kept >= 1e-4 * p)
        if not bool(xp.any(moving)):
            break
    return Y


def _tangent_inverse(inverse: Array, tangent: _Tangent) -> Array:
    """The matrix of M^-1 made tangent: R -> M^-1 (R - B lambda) with B'M^-1 (R - B lambda) = 0 (eq. 34)."""
    xp = namespace(inverse)
    MB = xp.matmul(inverse, tangent.B)
    inner = xp.matmul(tangent.Bt, MB)
    L = triangular_inverse(cholesky(0.5 * (inner + xp.matrix_transpose(inner))))
    part = xp.matmul(MB, xp.matrix_transpose(L)) / float(np.sqrt(inverse.shape[-1]))
    return inverse - xp.matmul(part, xp.matrix_transpose(part))


def _newton_step(hessian: _Hessian, R: Array, inverse: Array, forcing: Array) -> tuple[Array, np.ndarray]:
    """Truncated conjugate gradients on Hess[U] = -grad in the tangent space (eq. 35), and Hessian products."""
    xp = namespace(R)
    n, p = R.shape[-2:]
    tangent = hessian.tangent
    inverse = _tangent_inverse(inverse, tangent)
    U = xp.zeros_like(R)
    residual = R
    goal = forcing * _norm(R)
    Z = tangent.project(xp.matmul(inverse, residual))
    D = -Z
    rz = _inner(residual, Z)
    live = xp.ones_like(rz) > 0
    products = np.ones(R.shape[0])
    for _ in range(MAX_PRODUCTS):
        H = hessian(D)
        curvature = _inner(D, H)
        bends = curvature > 0
        step = xp.where(bends, rz / xp.where(bends, curvature, 1.0), float(np.sqrt(n * p)) / _norm(D))
        U = add_product(U, _wide(xp.where(live, step, 0.0)), D)
        residual = add_product(residual, _wide(xp.where(live & bends, step, 0.0)), H)
        live = live & bends & (_norm(residual) > goal)
        going = to_numpy(live)
        if not going.any():
            break
        products += going
        Z = tangent.project(xp.matmul(inverse, residual))
        fresh = _inner(residual, Z)
        D = add_product(-Z, _wide(fresh / xp.where(rz == 0, 1.0, rz)), D)
        rz = fresh
    return U, np.minimum(products, MAX_PRODUCTS)


def _line_search(at: _Blocks, U: Array, R: Array) -> tuple[_Blocks, np.ndarray]:
    """Backtracking along U; a block that finds no decrease stays, and the second result is False for it.

    Most blocks take the whole step.  The others try halvings of it, ``ABREAST`` at a time.
    """
    xp = namespace(U)
    n, p = U.shape[-2:]
    descent = _inner(R, U)
    U = U * _wide(1 - 2 * xp.astype(descent > 0, U.dtype))
    descent = -xp.abs(descent)
    length = _norm(U)
    step = xp.where(length > 0, xp.minimum(xp.ones_like(length), float(np.sqrt(n * p)) / length), 0.0)
    noise = 1e-15 * xp.sqrt(n * at.value) + 1e-14 * at.value
    best = at.move(_retract(add_product(at.Y, _wide(step), U)))
    good = best.value <= at.value + 1e-4 * step * descent + noise
    moved = to_numpy(good).copy()
    if moved.all():
        return best, moved
    best = _choose(good, best, at)
    for first in range(1, HALVINGS, ABREAST):
        few = np.flatnonzero(~moved)
        if not few.size:
            break
        index = like(U, np.repeat(few, ABREAST))
        Y, along, value, slope, room, halved = (
            xp.take(v, index, axis=0) for v in (at.Y, U, at.value, descent, noise, step)
        )
        halved = halved * like(U, np.tile(0.5 ** np.arange(first, first + ABREAST), few.size))
        trial = at.only(like(U, few)).move(_retract(add_product(Y, _wide(halved), along)))
        good = to_numpy(trial.value <= value + 1e-4 * halved * slope + room).reshape(-1, ABREAST)
        found = good.any(axis=1)
        longest = (np.arange(few.size) * ABREAST + good.argmax(axis=1))[found]
        best.put(few[found], trial, longest)
        moved[few[found]] = True
    return best, moved


def _choose(which: Array, a: _Blocks, b: _Blocks) -> _Blocks:
    xp = namespace(a.Y)
    pairs = (a.Y, b.Y), (a.SY, b.SY), (a.AY, b.AY), (a.alpha, b.alpha), (a.beta, b.beta)
    Y, SY, AY, alpha, beta = (xp.where(_wide(which), x, y) for x, y in pairs)
    return _Blocks(a.S, Y, a.c, SY, AY, alpha, beta, xp.where(which, a.value, b.value))


def exact_embedding(
    weights: Array,
    neighbors: Array,
    c: float,
    start: Array,
    tol: float,
    max_iter: int,
    out: Array,
    results: np.ndarray,
    history: np.ndarray,
) -> None:
    """Feasible, stationary coordinates on every block (eq. 32-36)."""
    xp = namespace(weights)
    b = weights.shape[0]
    S = _dense(weights, neighbors)
    at = _Blocks(S, start, c).move(_spectral_start(S, start, START_ROUNDS))
    active, products = np.arange(b), np.zeros(b)
    rest = _Compiled(weights, neighbors, c, start, tol, max_iter, out, results)
    for iteration in range(max_iter + 1):
        G = at.gradient()
        R = _Tangent(at.Y).project(G)
        relative = _norm(R) / at.scale(G)
        if iteration < history.shape[1]:
            history[active, iteration, 0] = to_numpy(at.value)
            history[active, iteration, 1] = to_numpy(relative)
        going = to_numpy(relative > tol) & (iteration < max_iter)
        _finish(at, active, relative, ~going, out, results)
        if not going.any():
            break
        if not going.all():
            keep = like(weights, np.flatnonzero(going))
            at, active = at.only(keep), active[going]
            G, R, relative = (xp.take(v, keep, axis=0) for v in (G, R, relative))
        if too_few_for_device(weights, active.size):
            products[active] += rest.finish(active, at.Y)
            break
        if iteration % 4 == 0:
            inverse = _inverse(at.S, 1 / at.beta)
        elif not going.all():
            inverse = xp.take(inverse, keep, axis=0)
        forcing = xp.minimum(xp.sqrt(relative), xp.zeros_like(relative) + 0.1)
        U, taken = _newton_step(_Hessian(at, G), R, inverse, forcing)
        products[active] += taken
        at, moved = _line_search(at, U, R)
        stuck = ~moved
        if stuck.any():  # no decrease in sight for this engine's rounding
            products[active[stuck]] += rest.finish(active[stuck], xp.take(at.Y, like(S, np.flatnonzero(stuck)), axis=0))
            if stuck.all():
                break
            keep = like(weights, np.flatnonzero(~stuck))
            at, active, inverse = at.only(keep), active[~stuck], xp.take(inverse, keep, axis=0)
    results[:, 2] = products
    out[...] = _canonical(S, out)
    results[:, 3] = to_numpy(_violation(out))


@dataclass
class _Compiled:
    """The compiled engine, for the few blocks that a device had better leave to the CPU's cores."""

    weights: Array
    neighbors: Array
    c: float
    start: Array
    tol: float
    max_iter: int
    out: Array
    results: np.ndarray

    def finish(self, active: np.ndarray, Y: Array) -> np.ndarray:
        """Blocks go on from Y, and one that stops short begins anew; returns their Hessian products."""
        products = self._run(active, to_numpy(Y))
        short = self.results[active, 1] > self.tol
        if short.any():
            index = like(self.start, active[short])
            products[short] += self._run(active[short], to_numpy(namespace(index).take(self.start, index, axis=0)))
        return products

    def _run(self, active: np.ndarray, Y: np.ndarray) -> np.ndarray:
        index = like(self.weights, active)
        weights, neighbors = (to_numpy(namespace(index).take(v, index, axis=0)) for v in (self.weights, self.neighbors))
        finished, report, history = np.empty(Y.shape), np.empty((active.size, 4)), np.empty((active.size, 0, 2))

        def run(part: slice) -> None:
            given, made = (weights[part], neighbors[part], self.c, Y[part]), (finished, report, history)
            compiled.exact_embedding(*given, self.tol, self.max_iter, *(v[part] for v in made))

        step = -(-active.size // cpu_count())
        parts = (slice(first, first + step) for first in range(0, active.size, step))
        Parallel(n_jobs=-1, prefer="threads")(delayed(run)(part) for part in parts)
        put_rows(self.out, active, like(self.weights, finished))
        self.results[active] = report
        return report[:, 2].copy()


def _finish(
    at: _Blocks, active: np.ndarray, relative: Array, done: np.ndarray, out: Array, results: np.ndarray
) -> None:
    """Write down the blocks of ``active`` that are done."""
    if not done.any():
        return
    xp = namespace(at.Y)
    here = like(at.Y, np.flatnonzero(done))
    put_rows(out, active[done], xp.take(at.Y, here, axis=0))
    results[active[done], 0] = to_numpy(xp.take(at.value, here, axis=0))
    results[active[done], 1] = to_numpy(xp.take(relative, here, axis=0))


def _dense(weights: Array, neighbors: Array) -> Array:
    """S (b, n, n) from weights and neighbours (b, n, k)."""
    b, n, _ = weights.shape
    zeros = namespace(weights).zeros_like(namespace(weights).broadcast_to(weights[..., :1], (b, n, n)))
    return scattered(zeros, neighbors, weights)


def _canonical(S: Array, Y: Array) -> Array:
    """The rotation that diagonalises Y'A'AY, ascending, skewed upwards."""
    xp = namespace(Y)
    AY = Y - xp.matmul(S, Y)
    values, vectors = _jacobi(xp.matmul(xp.matrix_transpose(AY), AY))
    order = xp.argsort(values, axis=-1)
    vectors = xp.take_along_axis(vectors, xp.broadcast_to(order[:, None, :], vectors.shape), axis=-1)
    Y = xp.matmul(Y, vectors)
    skew = xp.sum(Y**3, axis=-2)
    return Y * (1 - 2 * xp.astype(skew < 0, Y.dtype))[:, None, :]


def _violation(Y: Array) -> Array:
    """max of |mean of Y| and |Y'Y / n - I|, for each block (eq. 31)."""
    xp = namespace(Y)
    n, p = Y.shape[-2:]
    eye = xp.eye(p, dtype=Y.dtype, device=device_of(Y))
    covariance = xp.max(xp.abs(xp.matmul(xp.matrix_transpose(Y), Y) / n - eye), axis=(-2, -1))
    return xp.maximum(covariance, xp.max(xp.abs(xp.mean(Y, axis=-2)), axis=-1))


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
    at = _Blocks(_dense(weights, neighbors), start[:, 0, ...], c).move(start[:, 0, ...])
    V, J = start[:, 1, ...], start[:, 2, ...]
    singular_value = float(n) if published else float(np.sqrt(n))
    rounds = np.full(weights.shape[0], max_iter)
    live = xp.ones_like(V[:, 0, 0])
    for iteration in range(max_iter):
        if iteration < history.shape[1]:
            history[:, iteration, 0] = to_numpy(at.value)
            history[:, iteration, 1] = to_numpy(_violation(at.Y))
        G = at.published_gradient() if published else at.gradient()
        Y = at.Y - _wide(live) * (eta * G + eta * rho * (at.Y - V + J))
        fresh = _polar(Y + J, singular_value)
        gap = xp.max(xp.maximum(xp.abs(Y - fresh), xp.abs(fresh - V)), axis=(-2, -1))
        J = J + _wide(live) * (Y - fresh)
        V = xp.where(_wide(live) > 0, fresh, V)
        at = at.move(Y)
        if tol < 0:
            continue
        rounds[to_numpy((gap <= tol) & (live > 0))] = iteration + 1
        live = xp.where(gap <= tol, 0.0, live)
        if not bool(xp.any(live > 0)):
            break
    G = at.gradient()
    results[:, 0] = to_numpy(at.value)
    results[:, 1] = to_numpy(_norm(_Tangent(at.Y).project(G)) / at.scale(G))
    results[:, 2] = rounds
    results[:, 3] = to_numpy(_violation(at.Y))
    out[...] = at.Y


def _polar(B: Array, singular_value: float) -> Array:
    """Centre B and set its singular values: B (B'B)^(-1/2), by the eigenvectors of B'B (eq. 31)."""
    xp = namespace(B)
    B = B - xp.mean(B, axis=-2)[:, None, :]
    _, V = _jacobi(xp.matmul(xp.matrix_transpose(B), B))
    turned = xp.matmul(B, V)
    lengths = xp.sqrt(xp.sum(turned * turned, axis=-2))[:, None, :]
    unit = turned / xp.where(lengths > 0, lengths, 1.0)
    return singular_value * xp.matmul(unit, xp.matrix_transpose(V))
