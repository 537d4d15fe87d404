"""Reconstruction weights by CUDA kernels, one thread for each problem (``cuda/weights.cu``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine.backend import namespace
from llise.engine.cuda_launch import WARP, Unsuitable, contiguous, launch, or_on_cpu

Array = Any
MOST_NEIGHBORS = 64  # whose weights a thread has in registers


@or_on_cpu
def reconstruction_values(w: Array, K: Array, kv: Array, a: Array, c: float) -> Array:
    """f(w) of problems with any leading axes (eq. 13)."""
    k = w.shape[-1]
    if k > MOST_NEIGHBORS:
        raise Unsuitable(f"its kernel takes {MOST_NEIGHBORS} neighbours at the most")
    w, K, kv, a = (contiguous(v) for v in (w, K, kv, a))
    out = namespace(a).empty_like(a)
    problems, threads = a.size, 4 * WARP
    sizes = -(-problems // threads), threads, 0
    launch("weights.reconstruction_values", {"K": k}, *sizes, np.int64(problems), np.float64(c), w, K, kv, a, out)
    return out


@or_on_cpu
def affine_weights(K: Array, kv: Array, a: Array, c: float, ridge: float) -> Array:
    """Closed form of the affine problem (eq. 20-22)."""
    k = kv.shape[-1]
    return _solved("affine_weights", k * (k + 1) // 2 + 2 * k, K, kv, a, c, ridge)


@or_on_cpu
def sphere_weights(K: Array, kv: Array, a: Array, c: float) -> Array:
    """Global optimum of the sphere problem (eq. 15-19)."""
    k = kv.shape[-1]
    return _solved("sphere_weights", k * k + 5 * k, K, kv, a, c)


def _solved(name: str, numbers: int, K: Array, kv: Array, a: Array, *settings: float) -> Array:
    """Weights by a kernel whose threads need so many numbers in shared memory each."""
    K, kv, a = (contiguous(v) for v in (K, kv, a))
    problems, k = kv.shape
    out = namespace(kv).empty_like(kv)
    sizes = -(-problems // WARP), WARP, 8 * WARP * numbers
    constants = (np.float64(setting) for setting in settings)
    launch(f"weights.{name}", {"K": k}, *sizes, np.int64(problems), *constants, K, kv, a, out)
    return out
