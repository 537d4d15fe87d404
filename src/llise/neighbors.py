"""Gram -> the k nearest neighbours of every block, in input or feature space (math.md, eq. 12)."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine.backend import device_of, like, namespace, uses_numba

Array = Any


def training_neighbors(gram: Array, k: int) -> Array:
    """Neighbours (b, n, k) of each training image among the others: self excluded by identity, ties by index."""
    xp = namespace(gram)
    return _nearest(gram, xp.linalg.diagonal(gram), k, np.full(gram.shape[1], -1), exclude_self=True)


def new_neighbors(products: Array, norms: Array, k: int, twins: np.ndarray) -> Array:
    """Training neighbours (b, m, k) of new images from their products with the training images (b, m, n).

    ``norms`` (b, n) are the training images' squared norms; ``twins`` (m,) names the training image that a new
    one equals, or -1.
    """
    return _nearest(products, norms, k, twins, exclude_self=False)


def _nearest(products: Array, norms: Array, k: int, twins: np.ndarray, exclude_self: bool) -> Array:
    if uses_numba(products):
        from llise.engine.numba_gram import nearest

        out = np.zeros((*products.shape[:2], k), np.int64)
        nearest(products, np.ascontiguousarray(norms), twins, exclude_self, out)
        return out
    xp = namespace(products)
    distance = norms[:, None, :] - 2 * products
    index = xp.arange(products.shape[-1], device=device_of(products))
    if exclude_self:
        distance = xp.where(index[:, None] == index[None, :], xp.inf, distance)
    twin = index[None, :] == like(products, twins)[:, None]
    distance = xp.where(twin, -xp.inf, distance)
    return xp.argsort(distance, axis=-1, stable=True)[..., :k]
