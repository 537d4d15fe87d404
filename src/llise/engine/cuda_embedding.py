"""Coordinates from weights by a CUDA kernel, one thread block for each block position (``cuda/embedding.cu``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine import array_embedding
from llise.engine.array_embedding import Compiled
from llise.engine.backend import like, namespace, to_numpy
from llise.engine.cuda_launch import WARP, Unsuitable, launch, or_array_step, whole_warps

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


@or_array_step(array_embedding.exact_embedding)
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
        raise Unsuitable
    coordinates = xp.empty_like(start)
    report, course = (start.new_full(shape, xp.nan) for shape in ((b, 4), (b, max(steps, 1), 2)))
    constants = {"P": p, "K": k, "THREADS": threads}
    scalars = np.int32(n), np.float64(c), np.float64(tol), np.int32(max_iter), np.int32(steps)
    inputs = weights.contiguous(), xp.astype(neighbors, xp.int64, copy=False).contiguous(), start.contiguous()
    sizes = b, threads, shared_bytes(n, k, p)
    launch("embedding.exact_embedding", constants, *sizes, *scalars, *inputs, coordinates, report, course)
    out[...] = coordinates
    results[...] = to_numpy(report)
    history[...] = to_numpy(course[:, :steps])
    early = np.flatnonzero(~(results[:, 1] <= tol))
    if early.size:
        products = results[early, 2].copy()
        rest = Compiled(weights, neighbors, c, start, tol, max_iter, out, results)
        products += rest.finish(early, xp.take(coordinates, like(start, early), axis=0))
        results[early, 2] = products
