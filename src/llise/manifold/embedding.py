r"""Weights -> coordinates of the training images, and of new images by their weights.

At each block (math.md, eq. 25), with S the weights as a sparse matrix,

.. math:: \min_Y \sum_j \frac{\|y_j - (SY)_j\|^2}{\|y_j\|^2 + \|(SY)_j\|^2 + c}, \qquad Y'1 = 0,\; Y'Y = nI.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from llise import engine
from llise.engine.backend import namespace
from llise.manifold.admm import ADMM

Array = Any
TOLERANCE = 5e-7  # relative Riemannian gradient at which the exact solver stops
MAX_ITER = 400  # outer steps of the exact solver; 2 to 12 are usual, vanishing objectives take the most


@dataclass(frozen=True)
class Embedding:
    """Coordinates and, for each block, how good they are.

    Attributes
    ----------
    coordinates : array (b, n, p)
    objective : numpy.ndarray (b,)
    stationarity : numpy.ndarray (b,)
        Relative Riemannian gradient (eq. 36).
    n_iter : numpy.ndarray (b,) of int
        Hessian products, or rounds of ADMM.
    violation : numpy.ndarray (b,)
        Of the constraints.
    history : numpy.ndarray (b, steps, 2)
        Objective and stationarity (exact) or violation (ADMM) by step, NaN after a block's last step.
    """

    coordinates: Array
    objective: np.ndarray
    stationarity: np.ndarray
    n_iter: np.ndarray
    violation: np.ndarray
    history: np.ndarray

    def __repr__(self) -> str:
        return "Embedding(positions={}, images={}, coordinates={})".format(*self.coordinates.shape)


def exact_embedding(weights: Array, neighbors: Array, c: float, start: Array, *, history: int = 0) -> Embedding:
    """Return feasible and stationary coordinates: spectral start, then Riemannian Newton-CG (eq. 32-36)."""
    out, results, steps = _outputs(weights, start.shape[-1], history)
    engine.of(weights).exact_embedding(weights, neighbors, c, start, TOLERANCE, MAX_ITER, out, results, steps)
    return _collect(out, results, steps)


def admm_embedding(
    weights: Array, neighbors: Array, c: float, admm: ADMM, start: Array, *, history: int = 0
) -> Embedding:
    """Return the coordinates of the paper's iterations, which need not satisfy the constraints (eq. 37)."""
    assert admm.max_iter is not None  # resolved
    out, results, steps = _outputs(weights, start.shape[-1], history)
    tol = -1.0 if admm.tol is None else admm.tol
    rho, eta = admm.rho_embedding, admm.eta_embedding
    engine.of(weights).admm_embedding(
        weights, neighbors, c, rho, eta, admm.max_iter[1], tol, admm.as_published, start, out, results, steps
    )
    return _collect(out, results, steps)


def reconstruct(weights: Array, neighbors: Array, coordinates: Array) -> Array:
    """Return the coordinates of images from those of their training neighbours (eq. 38)."""
    return engine.of(coordinates).reconstruct(weights, neighbors, coordinates)


def content_start(values: Array, p: int) -> Array:
    """Return a start that depends only on each block's content: fixed random projections of the centred blocks."""
    return engine.of(values).project_centred(values, _directions(values.shape[-1], p))


@cache
def _directions(q: int, p: int) -> np.ndarray:
    """p random directions (p, q), the same ones always."""
    return np.ascontiguousarray(np.random.default_rng(0).standard_normal((q, p)).T)


def _outputs(weights: Array, p: int, history: int) -> tuple[Array, np.ndarray, np.ndarray]:
    xp = namespace(weights)
    b, n, _ = weights.shape
    return xp.zeros((b, n, p)), np.empty((b, 4)), np.full((b, history, 2), np.nan)


def _collect(out: Array, results: np.ndarray, steps: np.ndarray) -> Embedding:
    objective, stationarity, n_iter, violation = results.T
    return Embedding(out, objective, stationarity, n_iter.astype(np.int64), violation, steps)
