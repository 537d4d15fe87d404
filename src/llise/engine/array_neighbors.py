"""The nearest neighbours and the local problems that the weights solve, in the array namespace of the input."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine.array_gram import centred_products
from llise.engine.backend import device_of, like, namespace

Array = Any


def nearest(products: Array, norms: Array, k: int, identical: np.ndarray, exclude_self: bool) -> Array:
    """The k training images nearest to each image: smallest ``|x_r|^2 - 2 <x, x_r>``, ties by index (eq. 12)."""
    xp = namespace(products)
    distance = norms[:, None, :] - 2 * products
    index = xp.arange(products.shape[-1], device=device_of(products))
    if exclude_self:
        distance = xp.where(index[:, None] == index[None, :], xp.inf, distance)
    is_identical = index[None, :] == like(products, identical)[:, None]
    distance = xp.where(is_identical, -xp.inf, distance)
    return xp.argsort(distance, axis=-1, stable=True)[..., :k]


def take_local(gram: Array, neighbors: Array) -> Array:
    """The parts K of the Gram matrices over each image's neighbours."""
    xp = namespace(gram)
    b, m, k = neighbors.shape
    n = gram.shape[-1]
    index = neighbors[..., :, None] * n + neighbors[..., None, :]
    flat = xp.take_along_axis(xp.reshape(gram, (b, n * n)), xp.reshape(index, (b, m * k * k)), axis=-1)
    return xp.reshape(flat, (b, m, k, k))


def training_problems(
    products: Array, q: int, factor: float, sums: Array, luminance: Array | None, k: int
) -> tuple[Array, Array, Array, Array]:
    """Neighbours and local problems K, kv, a of the training images."""
    gram = centred_products(products, q, factor, sums, sums, luminance, luminance)
    xp = namespace(gram)
    norms = xp.linalg.diagonal(gram)
    neighbors = nearest(gram, norms, k, np.full(gram.shape[1], -1), exclude_self=True)
    kv = xp.take_along_axis(gram, neighbors, axis=-1)
    return neighbors, take_local(gram, neighbors), kv, norms
