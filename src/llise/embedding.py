r"""Weights -> coordinates; new images by their weights; and a map of whole images.

At each block (math.md, eq. 25), with S the weights as a sparse matrix,

.. math:: \min_Y \sum_j \frac{\|y_j - (SY)_j\|^2}{\|y_j\|^2 + \|(SY)_j\|^2 + c}, \qquad Y'1 = 0,\; Y'Y = nI.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from llise.admm import ADMM
from llise.engine.backend import like, namespace, uses_numba

Array = Any
TOLERANCE = 5e-7  # relative Riemannian gradient at which the exact solver stops
MAX_ITER = 400  # outer steps of the exact solver; 2 to 12 are usual, vanishing objectives take the most


@dataclass(frozen=True)
class Embedding:
    """Coordinates (b, n, p) and, for each block, how good they are.

    ``objective``, ``stationarity`` (relative Riemannian gradient, eq. 36), ``n_iter`` (Hessian products, or ADMM
    rounds) and ``violation`` (of the constraints) are (b,); ``history`` (b, steps, 2) is objective and
    stationarity (exact) or violation (ADMM) by step, NaN where a block was done.
    """

    coordinates: Array
    objective: np.ndarray
    stationarity: np.ndarray
    n_iter: np.ndarray
    violation: np.ndarray
    history: np.ndarray


def exact_embedding(weights: Array, neighbors: Array, c: float, start: Array, *, history: int = 0) -> Embedding:
    """Feasible and stationary coordinates: spectral start, then Riemannian Newton-CG (eq. 32-36).

    ``start`` (b, n, p) seeds the subspace iteration for the p lowest eigenvectors of (I-S)'(I-S); taken from the
    blocks' content it makes the result follow a permutation of the images.
    """
    out, results, steps = _outputs(weights, start.shape[-1], history)
    _engine(weights).exact_embedding(weights, neighbors, c, start, TOLERANCE, MAX_ITER, out, results, steps)
    return _collect(out, results, steps)


def admm_embedding(
    weights: Array, neighbors: Array, c: float, admm: ADMM, start: Array, *, history: int = 0
) -> Embedding:
    """The paper's iterations from ``start`` (b, 3, n, p) = Y, V, J; the output is Y, feasible or not (eq. 37)."""
    assert admm.max_iter is not None
    out, results, steps = _outputs(weights, start.shape[-1], history)
    tol = -1.0 if admm.tol is None else admm.tol
    rho, eta = admm.rho_embedding, admm.eta_embedding
    _engine(weights).admm_embedding(
        weights, neighbors, c, rho, eta, admm.max_iter[1], tol, admm.as_published, start, out, results, steps
    )
    return _collect(out, results, steps)


def reconstruct(weights: Array, neighbors: Array, coordinates: Array) -> Array:
    """Coordinates (b, m, p) of images from those of their training neighbours: sum_r w_r y_r (eq. 38)."""
    if uses_numba(coordinates):
        from llise.engine import numba_gram as _numba_gram

        return _numba_gram.combinations(weights, neighbors, coordinates)
    xp = namespace(coordinates)
    b, m, k = weights.shape
    p = coordinates.shape[-1]
    index = xp.reshape(neighbors, (b, m * k))[:, :, None]
    taken = xp.take_along_axis(coordinates, xp.broadcast_to(index, (b, m * k, p)), axis=1)
    return xp.sum(weights[..., None] * xp.reshape(taken, (b, m, k, p)), axis=2)


def content_start(values: Array, p: int) -> Array:
    """Start (b, n, p) that depends on each block's content alone: fixed random projections of the centred blocks."""
    directions = _directions(values.shape[-1], p)
    if uses_numba(values):
        from llise.engine import numba_gram as _numba_gram

        return _numba_gram.projections(np.ascontiguousarray(values), directions)
    xp = namespace(values)
    values = xp.astype(values, xp.float64, copy=False)
    return xp.matmul(values - xp.mean(values, axis=-1)[..., None], xp.matrix_transpose(like(values, directions)))


@cache
def _directions(q: int, p: int) -> np.ndarray:
    """p random directions (p, q), the same ones always."""
    return np.ascontiguousarray(np.random.default_rng(0).standard_normal((q, p)).T)


def _engine(array: Array) -> Any:
    """The file with this array's kernels; both have the same functions."""
    if uses_numba(array):
        from llise.engine import numba_embedding as engine
    else:
        from llise.engine import array_embedding as engine  # type: ignore[no-redef]
    return engine


def _outputs(weights: Array, p: int, history: int) -> tuple[Array, np.ndarray, np.ndarray]:
    xp = namespace(weights)
    b, n, _ = weights.shape
    out = xp.zeros_like(xp.broadcast_to(weights[:, :, :1], (b, n, p)))
    return out, np.empty((b, 4)), np.full((b, history, 2), np.nan)


def _collect(out: Array, results: np.ndarray, steps: np.ndarray) -> Embedding:
    objective, stationarity, n_iter, violation = results.T
    return Embedding(out, objective, stationarity, n_iter.astype(np.int64), violation, steps)
