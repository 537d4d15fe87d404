"""Coordinates from weights by a CUDA kernel, one thread block for each block position (``cuda/embedding.cu``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine import numba_engine
from llise.engine.backend import like, namespace, to_numpy
from llise.engine.cuda_launch import WARP, Unsuitable, contiguous, launch, or_on_cpu, whole_warps

Array = Any
MOST_COORDINATES = 8  # whose rows a thread has in registers
MOST_THREADS = 256  # with that many registers
TILE = 4  # columns of the Cholesky factor that are made together


def shared_bytes(n: int, k: int, p: int) -> int:
    """Return the shared memory of a thread block, which ``cuda/rows.cuh`` divides."""
    threads, sums, order = whole_warps(n), p * p + p, -(-n // TILE) * TILE
    exchanged = 2 * threads * p + (threads // WARP + 1) * sums + 2 * p * p + threads
    entries = 8 * threads * k + 2 * (3 * threads * k + threads + 32)
    return 8 * exchanged + entries + 8 * (order * (order + 1) // 2)


@or_on_cpu
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
    """Feasible, stationary coordinates on every block (eq. 32-36); the compiled engine goes on where it stops early."""
    xp = namespace(weights)
    b, n, p = start.shape
    k, steps, threads = weights.shape[-1], history.shape[1], whole_warps(n)
    if p > MOST_COORDINATES or threads > MOST_THREADS:
        raise Unsuitable(f"its kernel takes {MOST_COORDINATES} coordinates and {MOST_THREADS} images at the most")
    coordinates = xp.empty(start.shape)
    report, course = (xp.full(shape, np.nan) for shape in ((b, 4), (b, max(steps, 1), 2)))
    constants = {"P": p, "K": k, "THREADS": threads}
    scalars = np.int32(n), np.float64(c), np.float64(tol), np.int32(max_iter), np.int32(steps)
    inputs = contiguous(weights), contiguous(neighbors, np.int64), contiguous(start)
    sizes = b, threads, shared_bytes(n, k, p)
    launch("embedding.exact_embedding", constants, *sizes, *scalars, *inputs, coordinates, report, course)
    out[...] = coordinates
    results[...] = to_numpy(report)
    history[...] = to_numpy(course[:, :steps])
    _finish(weights, neighbors, c, start, tol, max_iter, out, results)


def _finish(
    weights: Array,
    neighbors: Array,
    c: float,
    start: Array,
    tol: float,
    max_iter: int,
    out: Array,
    results: np.ndarray,
) -> None:
    """Let the compiled engine continue the blocks that the kernel has left, and then restart those that still stop."""
    products = results[:, 2].copy()
    for first in (out, start):
        early = np.flatnonzero(~(results[:, 1] <= tol))  # or not a number
        if not early.size:
            break
        rows = like(weights, early)
        problem = [to_numpy(v[rows]) for v in (weights, neighbors, first)]
        done, report, none = np.empty(problem[2].shape), np.empty((early.size, 4)), np.empty((early.size, 0, 2))
        numba_engine.exact_embedding(problem[0], problem[1], c, problem[2], tol, max_iter, done, report, none)
        out[rows] = like(out, done)
        products[early] += report[:, 2]
        results[early] = report
    results[:, 2] = products
