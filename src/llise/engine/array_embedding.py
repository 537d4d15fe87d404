"""Coordinates from weights in the array namespace, all blocks together (equation numbers: docs/math.md).

Blocks that have converged are left out of the next step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed

from llise.engine.array_eigen import jacobi
from llise.engine.array_linalg import norm, violation
from llise.engine.array_newton import line_search, newton_step, preconditioner, spectral_start
from llise.engine.array_objective import Hessian, Points, Tangent, dense
from llise.engine.array_operations import put_rows
from llise.engine.backend import like, namespace, to_numpy, too_few_for_device
from llise.engine.numba_embedding import exact_embedding as compiled_embedding
from llise.engine.tolerances import ENOUGH, START_ROUNDS

Array = Any


def reconstruct(weights: Array, neighbors: Array, coordinates: Array) -> Array:
    """Coordinates sum_r w_r y_r of images from those of their neighbours (eq. 38)."""
    xp = namespace(coordinates)
    b, m, k = weights.shape
    p = coordinates.shape[-1]
    index = xp.reshape(neighbors, (b, m * k))[:, :, None]
    taken = xp.take_along_axis(coordinates, xp.broadcast_to(index, (b, m * k, p)), axis=1)
    return xp.sum(weights[..., None] * xp.reshape(taken, (b, m, k, p)), axis=2)


def project_centred(values: Array, directions: np.ndarray) -> Array:
    """Products of the blocks, each without its mean, with the rows of ``directions``."""
    xp = namespace(values)
    values = xp.astype(values, xp.float64, copy=False)
    return xp.matmul(values - xp.mean(values, axis=-1)[..., None], xp.matrix_transpose(like(values, directions)))


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
    S = dense(weights, neighbors)
    at = Points(S, start, c).move(spectral_start(S, start, START_ROUNDS))
    active, products = np.arange(b), np.zeros(b)
    rest = Compiled(weights, neighbors, c, start, tol, max_iter, out, results)
    for iteration in range(max_iter + 1):
        G = at.gradient()
        R = Tangent(at.Y).project(G)
        relative = norm(R) / at.scale(G)
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
            inverse = preconditioner(at.S, 1 / at.beta)
        elif not going.all():
            inverse = xp.take(inverse, keep, axis=0)
        forcing = xp.minimum(xp.sqrt(relative), xp.zeros_like(relative) + 0.1)
        forcing = xp.maximum(forcing, ENOUGH * tol / relative)  # no more accurate than what is asked for
        U, taken = newton_step(Hessian(at, G), R, inverse, forcing)
        products[active] += taken
        at, moved = line_search(at, U, R)
        stuck = ~moved
        if stuck.any():  # no decrease beyond rounding: the compiled engine goes on
            products[active[stuck]] += rest.finish(active[stuck], xp.take(at.Y, like(S, np.flatnonzero(stuck)), axis=0))
            if stuck.all():
                break
            keep = like(weights, np.flatnonzero(~stuck))
            at, active, inverse = at.only(keep), active[~stuck], xp.take(inverse, keep, axis=0)
    results[:, 2] = products
    out[...] = _canonical(S, out)
    results[:, 3] = to_numpy(violation(out))


@dataclass
class Compiled:
    """The compiled engine, which finishes the last few blocks sooner than a GPU does.

    Parameters
    ----------
    weights, neighbors, c, start, tol, max_iter, out, results
        Arguments of the step, of all blocks.
    """

    weights: Array
    neighbors: Array
    c: float
    start: Array
    tol: float
    max_iter: int
    out: Array
    results: np.ndarray

    def finish(self, active: np.ndarray, Y: Array) -> np.ndarray:
        """Continue some blocks, and restart one that stops early.

        Parameters
        ----------
        active : numpy.ndarray (blocks,) of int
            Positions of the blocks.
        Y : array (blocks, n, p)
            Their coordinates so far.

        Returns
        -------
        numpy.ndarray (blocks,)
            Their Hessian products.
        """
        products = self._run(active, to_numpy(Y))
        unfinished = ~(self.results[active, 1] <= self.tol)  # or not a number
        if unfinished.any():
            index = like(self.start, active[unfinished])
            products[unfinished] += self._run(
                active[unfinished], to_numpy(namespace(index).take(self.start, index, axis=0))
            )
        return products

    def _run(self, active: np.ndarray, Y: np.ndarray) -> np.ndarray:
        index = like(self.weights, active)
        weights, neighbors = (to_numpy(namespace(index).take(v, index, axis=0)) for v in (self.weights, self.neighbors))
        finished, report, history = np.empty(Y.shape), np.empty((active.size, 4)), np.empty((active.size, 0, 2))

        def run(part: slice) -> None:
            outputs = (v[part] for v in (finished, report, history))
            compiled_embedding(weights[part], neighbors[part], self.c, Y[part], self.tol, self.max_iter, *outputs)

        step = -(-active.size // cpu_count())
        parts = (slice(first, first + step) for first in range(0, active.size, step))
        Parallel(n_jobs=-1, prefer="threads")(delayed(run)(part) for part in parts)
        put_rows(self.out, active, like(self.weights, finished))
        self.results[active] = report
        return report[:, 2].copy()


def _finish(at: Points, active: np.ndarray, relative: Array, done: np.ndarray, out: Array, results: np.ndarray) -> None:
    """Write the results of the blocks of ``active`` that are done."""
    if not done.any():
        return
    xp = namespace(at.Y)
    here = like(at.Y, np.flatnonzero(done))
    put_rows(out, active[done], xp.take(at.Y, here, axis=0))
    results[active[done], 0] = to_numpy(xp.take(at.value, here, axis=0))
    results[active[done], 1] = to_numpy(xp.take(relative, here, axis=0))


def _canonical(S: Array, Y: Array) -> Array:
    """Rotate so that Y'A'AY is diagonal and ascending; each third moment is made positive."""
    xp = namespace(Y)
    AY = Y - xp.matmul(S, Y)
    values, vectors = jacobi(xp.matmul(xp.matrix_transpose(AY), AY))
    order = xp.argsort(values, axis=-1)
    vectors = xp.take_along_axis(vectors, xp.broadcast_to(order[:, None, :], vectors.shape), axis=-1)
    Y = xp.matmul(Y, vectors)
    third_moment = xp.sum(Y**3, axis=-2)
    return Y * (1 - 2 * xp.astype(third_moment < 0, Y.dtype))[:, None, :]
