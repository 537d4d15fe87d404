r"""Neighbours and Gram -> reconstruction weights.

For one image at one block, with neighbours' Gram matrix K, kv = <x, neighbours>, a = <x, x> (math.md, eq. 13-14):

.. math:: f(w) = \frac{a + w'Kw - 2 w'k_v}{a + w'Kw + c} \to \min,
          \qquad \|w\| = 1 \text{ (sphere)} \quad\text{or}\quad 1'w = 1 \text{ (affine)}.

Problems come as arrays with any leading axes: K (..., k, k), kv (..., k), a (...).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from llise import engine
from llise.engine.backend import namespace, to_numpy
from llise.manifold.admm import ADMM

Array = Any
CONSTRAINTS = ("sphere", "affine")
RIDGE = 1.0


def exact_weights(K: Array, kv: Array, a: Array, c: float, constraint: str, ridge: float = RIDGE) -> Array:
    """Return the globally optimal weights."""
    flat = _flat(K, kv, a)
    if constraint == "sphere":
        weights = engine.of(kv).sphere_weights(*flat, c)
    else:
        weights = engine.of(kv).affine_weights(*flat, c, ridge)
    return namespace(kv).reshape(weights, kv.shape)


def admm_weights(
    K: Array, kv: Array, a: Array, c: float, constraint: str, admm: ADMM, start: Array, max_iter: int
) -> tuple[Array, np.ndarray]:
    """Return the weights of the paper's iterations (eq. 23)."""
    assert admm.rho is not None and admm.eta is not None  # resolved
    flat = _flat(K, kv, a)
    start = namespace(kv).reshape(start, (3, *flat[1].shape))
    tol = -1.0 if admm.tol is None else admm.tol
    affine = constraint == "affine"
    weights, n_iter = engine.of(kv).admm_weights(*flat, c, affine, admm.rho, admm.eta, max_iter, tol, start)
    return namespace(kv).reshape(weights, kv.shape), to_numpy(n_iter)


def semidefinite(K: Array, kv: Array, a: Array) -> tuple[Array, Array, Array]:
    """Replace the local Gram matrices [[a, kv'], [kv, K]] by the nearest positive semidefinite ones (eq. 24)."""
    xp = namespace(kv)
    k = kv.shape[-1]
    top = xp.concat([a[..., None], kv], axis=-1)[..., None, :]
    gram = xp.concat([top, xp.concat([kv[..., :, None], K], axis=-1)], axis=-2)
    flat = xp.reshape(gram, (-1, k + 1, k + 1))
    gram = xp.reshape(engine.of(kv).nearest_semidefinite(flat), gram.shape)
    return gram[..., 1:, 1:], gram[..., 0, 1:], gram[..., 0, 0]


def _flat(K: Array, kv: Array, a: Array) -> tuple[Array, Array, Array]:
    """The problems with one leading axis."""
    xp = namespace(kv)
    k = kv.shape[-1]
    return xp.reshape(K, (-1, k, k)), xp.reshape(kv, (-1, k)), xp.reshape(a, (-1,))
