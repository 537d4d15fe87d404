"""The embedding's objective, gradient and Hessian in the array namespace (docs/math.md, eq. 25-30).

S is a dense matrix (b, n, n) here, and all blocks are worked on together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from llise.engine.array_linalg import expand, norm
from llise.engine.array_operations import add_product, put_rows, scattered
from llise.engine.backend import like, namespace

Array = Any


@dataclass
class Points:
    """The points Y of the blocks that are worked on, with the terms of the objective there (eq. 25-26).

    Attributes
    ----------
    S : array (b, n, n)
        Weights; A = I - S.
    Y : array (b, n, p)
        Coordinates.
    c : float
        Constant of the SSIM distance.
    SY, AY : array (b, n, p)
    alpha, beta : array (b, n, 1)
        Numerator and denominator of each image's term.
    value : array (b,)
        Objective.
    """

    S: Array
    Y: Array
    c: float
    SY: Array = None
    AY: Array = None
    alpha: Array = None
    beta: Array = None
    value: Array = None

    def move(self, Y: Array) -> Points:
        """Return the same problem at other points.

        Parameters
        ----------
        Y : array (b * s, n, p)
            One point for each block, or s points for each block, which follow each other.

        Returns
        -------
        Points
        """
        xp = namespace(Y)
        b, (_, n, p) = self.S.shape[0], Y.shape
        side_by_side = xp.permute_dims(xp.reshape(Y, (b, -1, n, p)), (0, 2, 1, 3))
        SY = xp.matmul(self.S, xp.reshape(side_by_side, (b, n, -1)))
        SY = xp.reshape(xp.permute_dims(xp.reshape(SY, side_by_side.shape), (0, 2, 1, 3)), Y.shape)
        AY = Y - SY
        alpha = xp.sum(AY * AY, axis=-1)[..., None]
        beta = (xp.sum(Y * Y, axis=-1) + xp.sum(SY * SY, axis=-1))[..., None] + self.c
        return Points(self.S, Y, self.c, SY, AY, alpha, beta, xp.sum(alpha / beta, axis=(-2, -1)))

    def only(self, index: Array) -> Points:
        """Return some of the blocks.

        Parameters
        ----------
        index : array of int

        Returns
        -------
        Points
        """
        take = lambda v: namespace(v).take(v, index, axis=0)
        values = (take(v) for v in (self.SY, self.AY, self.alpha, self.beta, self.value))
        return Points(take(self.S), take(self.Y), self.c, *values)

    def put(self, rows: np.ndarray, other: Points, picks: np.ndarray) -> None:
        """Replace some of the blocks, in place.

        Parameters
        ----------
        rows : numpy.ndarray of int
            Blocks to replace.
        other : Points
            Where to take them from.
        picks : numpy.ndarray of int
            Blocks of ``other``, as many as ``rows``.
        """
        index = like(self.Y, picks)
        for name in ("Y", "SY", "AY", "alpha", "beta", "value"):
            put_rows(getattr(self, name), rows, namespace(index).take(getattr(other, name), index, axis=0))

    def adjoint(self, V: Array) -> Array:
        """Multiply by the transpose of S.

        Parameters
        ----------
        V : array (b, n, p)

        Returns
        -------
        array (b, n, p)
        """
        xp = namespace(V)
        return xp.matmul(xp.matrix_transpose(self.S), V)

    def gradient(self) -> Array:
        """Compute the gradient 2 [A' D(1/beta) A - D(tau) - S' D(tau) S] Y, tau = theta / beta (eq. 27).

        Returns
        -------
        array (b, n, p)
        """
        v, tau = self.AY / self.beta, self.alpha / self.beta**2
        return 2 * (v - tau * self.Y - self.adjoint(v + tau * self.SY))

    def published_gradient(self) -> Array:
        """Compute the paper's gradient with M_j as printed (error 2).

        Returns
        -------
        array (b, n, p)
        """
        tau = self.alpha / self.beta**2
        scatter = (1 / self.beta - tau) * self.SY
        return 2 * ((self.Y - 2 * self.SY) / self.beta - tau * self.Y + self.adjoint(scatter))

    def scale(self, G: Array) -> Array:
        """Compute the size that a gradient is compared with (eq. 36).

        Parameters
        ----------
        G : array (b, n, p)
            Gradient.

        Returns
        -------
        array (b,)
        """
        xp = namespace(G)
        return xp.maximum(norm(G), 2e-8 * float(np.sqrt(G.shape[-1])) * norm(1 / self.beta))


class Hessian:
    """Riemannian Hessian at a point: derivative of the gradient along U, made tangent (eq. 28, 30, 35).

    What does not depend on U is computed once; y and Sy are treated side by side.

    Parameters
    ----------
    at : Points
    G : array (b, n, p)
        Gradient there.
    """

    def __init__(self, at: Points, G: Array) -> None:
        xp = namespace(G)
        self.at, self.p = at, G.shape[-1]
        self.tangent = Tangent(at.Y)
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
        tau_slope = add_product(alpha, self.tau, slope, -1)
        tau_terms = add_product(self.tau * both, tau_slope, self.both)
        v = add_product(self.weight * AU, slope, self.residual, -1)
        H = v - tau_terms[..., : self.p] - self.at.adjoint(v + tau_terms[..., self.p :])
        return self.tangent.project(H - xp.matmul(U, self.curvature))


class Tangent:
    """Tangent space {U : B'U = 0}, B = [Y 1], at a point Y (eq. 30).

    Parameters
    ----------
    Y : array (b, n, p)
    """

    def __init__(self, Y: Array) -> None:
        xp = namespace(Y)
        self.B = xp.concat([Y, xp.ones_like(Y[..., :1])], axis=-1)
        self.Bt = xp.matrix_transpose(self.B) / Y.shape[-2]

    def project(self, U: Array) -> Array:
        """Project to the tangent space: U - B B'U / n.

        Parameters
        ----------
        U : array (b, n, p)

        Returns
        -------
        array (b, n, p)
        """
        xp = namespace(U)
        return U - xp.matmul(self.B, xp.matmul(self.Bt, U))


def choose(which: Array, a: Points, b: Points) -> Points:
    """Choose between two points for each block.

    Parameters
    ----------
    which : array (b,) of bool
        True takes ``a``, False takes ``b``.
    a, b : Points

    Returns
    -------
    Points
    """
    xp = namespace(a.Y)
    pairs = (a.Y, b.Y), (a.SY, b.SY), (a.AY, b.AY), (a.alpha, b.alpha), (a.beta, b.beta)
    Y, SY, AY, alpha, beta = (xp.where(expand(which), x, y) for x, y in pairs)
    return Points(a.S, Y, a.c, SY, AY, alpha, beta, xp.where(which, a.value, b.value))


def dense(weights: Array, neighbors: Array) -> Array:
    """Build the dense matrices S of the weights.

    Parameters
    ----------
    weights : array (b, n, k)
    neighbors : array (b, n, k) of int

    Returns
    -------
    array (b, n, n)
    """
    b, n, _ = weights.shape
    zeros = namespace(weights).zeros_like(namespace(weights).broadcast_to(weights[..., :1], (b, n, n)))
    return scattered(zeros, neighbors, weights)
