"""Coordinates of many images, whose weights are a sparse matrix (equation numbers: docs/math.md).

The same start and the same Newton steps as in ``numba_newton.py``.  What differs is the factor: a Cholesky factor of
A'DA would take n^2 numbers and n^3 steps.  SuperLU factors A = I - S itself, which has a sixth of the entries that a
factor of A'A has and serves every D: (A'DA)^-1 = A^-1 D^-1 A^-T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from llise.engine.numba_triangular import Triangles
from llise.engine.tolerances import ENOUGH, MAX_PRODUCTS, START_ROUNDS

SHIFT, LARGER_SHIFT = 1e-4, 1e-3
"""Added to the unit diagonal of A, the larger one where weights do not sum to one and duplicates make null vectors.

With less, null vectors drown the other directions in rounding; with more, Newton needs more steps.  Chosen by the
Hessian products on five sets of 1000 to 2000 blocks: 1e-5 to 1e-2 end in the same minima but for one.
"""


class Factor:
    """Inverses of A'DA among centred vectors, from one LU factor of A.

    x = A^-1 u and 1'x = 0 together mean l'u = 0 with l = A^-T 1: u is projected between the two solutions.
    """

    def __init__(self, S: sparse.csr_array) -> None:
        n = S.shape[0]
        sums_to_one = np.abs(S.sum(axis=1) - 1).max() < 1e-9
        self.shift = SHIFT if sums_to_one else LARGER_SHIFT
        A = sparse.csc_matrix((1 + self.shift) * sparse.identity(n) - S)
        lu = splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01, options={"SymmetricMode": True})
        self._factors = Triangles(lu)
        self._left = self._factors.solve_transposed(np.ones((n, 1)))

    def solve(self, R: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return (A'DA)^-1 R for D = diag(weights), centred."""
        root = np.sqrt(weights)[:, None]
        left = self._left / root
        left /= np.linalg.norm(left)
        V = self._factors.solve_transposed(R) / root
        V -= left * (left.T @ V)
        Z = self._factors.solve(V / root)
        return Z - Z.mean(axis=0)


@dataclass
class Point:
    """Coordinates, and what objective, gradient and Hessian have in common there (eq. 26)."""

    S: sparse.csr_array
    T: sparse.csr_array  # S'
    c: float
    Y: np.ndarray

    def __post_init__(self) -> None:
        self.SY = self.S @ self.Y
        self.AY = self.Y - self.SY
        alpha = (self.AY**2).sum(axis=1)
        self.beta = (self.Y**2).sum(axis=1) + (self.SY**2).sum(axis=1) + self.c
        self.theta = alpha / self.beta
        self.value = float(self.theta.sum())

    def moved(self, Y: np.ndarray) -> Point:
        """Return the point of other coordinates."""
        return Point(self.S, self.T, self.c, Y)

    def gradient(self) -> np.ndarray:
        """Return the gradient of the objective (eq. 27)."""
        tau = (self.theta / self.beta)[:, None]
        v = self.AY / self.beta[:, None]
        return 2 * (v - tau * self.Y - self.T @ (v + tau * self.SY))

    def hessian(self, U: np.ndarray) -> np.ndarray:
        """Return the second derivative along U (eq. 28 and 29)."""
        SU = self.S @ U
        AU = U - SU
        beta, theta = self.beta, self.theta
        dalpha = 2 * (self.AY * AU).sum(axis=1)
        dbeta = 2 * ((self.Y * U).sum(axis=1) + (self.SY * SU).sum(axis=1))
        tau = (theta / beta)[:, None]
        dtau = ((dalpha - 2 * theta * dbeta) / beta**2)[:, None]
        v = (AU - (dbeta / beta)[:, None] * self.AY) / beta[:, None]
        return 2 * (v - tau * U - dtau * self.Y - self.T @ (v + tau * SU + dtau * self.SY))

    def project(self, U: np.ndarray) -> np.ndarray:
        """Return the tangent part of U: centred and orthogonal to Y (eq. 30)."""
        U = U - U.mean(axis=0)
        return U - self.Y @ (self.Y.T @ U / len(U))


def orthonormal(Y: np.ndarray) -> np.ndarray:
    """Return the nearest centred Y with Y'Y = nI (eq. 31); columns that vanish become cosines of the image index."""
    Y = Y - Y.mean(axis=0)
    n = len(Y)
    lengths = np.linalg.norm(Y, axis=0)
    gone = ~(lengths > 1e-12 * max(lengths.max(), 1e-300))
    if gone.any():
        Y[:, gone] = np.cos(np.outer(np.arange(n) + 0.5, np.flatnonzero(gone) + 1) * np.pi / n)
        Y -= Y.mean(axis=0)
        lengths = np.linalg.norm(Y, axis=0)
    Q, _ = np.linalg.qr(Y / lengths)
    Q -= Q.mean(axis=0)
    return np.sqrt(n) * np.linalg.qr(Q)[0]


def embed(
    weights: np.ndarray,
    neighbors: np.ndarray,
    c: float,
    start: np.ndarray,
    tol: float,
    max_iter: int,
    result: np.ndarray,
    history: np.ndarray,
) -> np.ndarray:
    """Return the coordinates (n, p) of one block position; ``result`` and ``history`` as in ``Steps``."""
    n, k = weights.shape
    S = sparse.csr_array((weights.ravel(), neighbors.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    factor = Factor(S)
    at = Point(S, sparse.csr_array(S.T), c, _spectral_start(factor, start))
    products, iteration = 0, 0
    while True:
        G = at.gradient()
        R = at.project(G)
        relative = float(np.linalg.norm(R)) / _scale(G, at.beta)
        if iteration < len(history):
            history[iteration] = at.value, relative
        if relative <= tol or iteration >= max_iter:
            break
        forcing = max(min(0.1, relative**0.5), ENOUGH * tol / relative)
        U, count = _newton_step(at, G, R, factor, forcing)
        products += count
        iteration += 1
        fresh = _shorter(at, U, R)
        if fresh is None:
            break
        at = fresh
    result[:] = at.value, relative, products, _violation(at.Y)
    return _canonical(at)


def _spectral_start(factor: Factor, start: np.ndarray) -> np.ndarray:
    """The p lowest eigenvectors of A'A among centred vectors, by inverse subspace iteration (eq. 32)."""
    Y = orthonormal(start)
    n, p = Y.shape
    ones = np.ones(n)
    if _violation(start) <= 1e-8:  # a start that satisfies the constraints is taken as it is
        return start
    for _ in range(START_ROUNDS):
        old, Y = Y, orthonormal(factor.solve(Y, ones))
        if p - ((old.T @ Y / n) ** 2).sum() < 1e-4 * p:
            break
    return Y


def _scale(G: np.ndarray, beta: np.ndarray) -> float:
    """The size that a gradient is compared with (eq. 36)."""
    return max(float(np.linalg.norm(G)), 2e-8 * float(np.sqrt(G.shape[1] * (beta**-2).sum())))


def _newton_step(at: Point, G: np.ndarray, R: np.ndarray, factor: Factor, forcing: float) -> tuple[np.ndarray, int]:
    """Truncated conjugate gradients on Hess[U] = -grad in the tangent space (eq. 34 and 35); Hessian products."""
    Y, n = at.Y, len(R)
    curve = Y.T @ G / n
    curve = 0.5 * (curve + curve.T)
    inverse = 1 / at.beta
    MY = factor.solve(Y, inverse)
    small = Y.T @ MY
    small = 0.5 * (small + small.T)

    def preconditioned(residual: np.ndarray) -> np.ndarray:
        Z = factor.solve(residual, inverse)
        return Z - MY @ np.linalg.solve(small, Y.T @ Z)

    U, residual = np.zeros_like(R), R.copy()
    first = np.linalg.norm(residual)
    Z = preconditioned(residual)
    D, rz = -Z, float((residual * Z).sum())
    for products in range(1, MAX_PRODUCTS + 1):
        H = at.project(at.hessian(D) - D @ curve)
        curvature = float((D * H).sum())
        if not curvature > 0:  # a long step along D, which the line search shortens
            return U + np.sqrt(R.size / (D * D).sum()) * D, products
        step = rz / curvature
        U += step * D
        residual += step * H
        if np.linalg.norm(residual) <= forcing * first:
            break
        Z = preconditioned(residual)
        fresh = float((residual * Z).sum())
        D = fresh / rz * D - Z
        rz = fresh
    return U, products


def _shorter(at: Point, U: np.ndarray, R: np.ndarray) -> Point | None:
    """The point a step along U away, which is halved until the objective decreases; None where it never does."""
    n = len(U)
    length, descent = float(np.linalg.norm(U)), float((R * U).sum())
    if descent > 0:
        U, descent = -U, -descent
    step = min(1.0, np.sqrt(U.size) / length) if length > 0 else 0.0
    # near the solution rounding hides the decrease: AY = Y - SY has errors of eps, alpha of eps sqrt(alpha beta)
    noise = 1e-15 * np.sqrt(n * at.value) + 1e-14 * at.value
    for _ in range(30):
        fresh = at.moved(orthonormal(at.Y + step * U))
        if fresh.value <= at.value + 1e-4 * step * descent + noise:
            return fresh
        step *= 0.5
    return None


def _violation(Y: np.ndarray) -> float:
    """Largest deviation of Y'Y/n from the identity and of the means from zero."""
    n, p = Y.shape
    return float(max(np.abs(Y.T @ Y / n - np.eye(p)).max(), np.abs(Y.mean(axis=0)).max()))


def _canonical(at: Point) -> np.ndarray:
    """Rotated so that Y'A'AY is diagonal, ascending, with signs that make third moments positive."""
    _, vectors = np.linalg.eigh(at.AY.T @ at.AY)
    Y = at.Y @ vectors
    return Y * np.where((Y**3).sum(axis=0) < 0, -1.0, 1.0)
