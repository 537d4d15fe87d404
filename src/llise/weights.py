r"""Neighbours and Gram -> reconstruction weights.

For one image at one block, with neighbours' Gram matrix K, kv = <x, neighbours>, a = <x, x> (math.md, eq. 13-14):

.. math:: f(w) = \frac{a + w'Kw - 2 w'k_v}{a + w'Kw + c} \to \min,
          \qquad \|w\| = 1 \text{ (sphere)} \quad\text{or}\quad 1'w = 1 \text{ (affine)}.

Problems come as arrays with any leading axes: K (..., k, k), kv (..., k), a (...).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.admm import ADMM
from llise.engine.backend import namespace, uses_numba

Array = Any
CONSTRAINTS = ("sphere", "affine")
RIDGE = 1e-2


def exact_weights(K: Array, kv: Array, a: Array, c: float, constraint: str, ridge: float = RIDGE) -> Array:
    """Globally optimal weights (..., k).

    ``sphere``: the eigenvectors of K and one monotone equation in one unknown; where the optimum is not unique, the
    one whose sum is nearest to one, then nearest to the first neighbour (eq. 15-19).  ``affine``:
    closed form with the ridge ``ridge * trace(local Gram) / k`` (eq. 20-22).
    """
    flat, out = _flat(K, kv, a)
    if constraint == "sphere":
        _engine(kv).sphere_weights(*flat, c, out)
    else:
        _engine(kv).affine_weights(*flat, c, ridge, out)
    return namespace(kv).reshape(out, kv.shape)


def admm_weights(
    K: Array, kv: Array, a: Array, c: float, constraint: str, admm: ADMM, start: Array, max_iter: int
) -> tuple[Array, np.ndarray]:
    """The paper's iterations from ``start`` (3, ..., k) = w, xi, j (eq. 23).

    Returns w (..., k), which no projection has touched, and the iterations of each problem.
    """
    flat, out = _flat(K, kv, a)
    n_iter = np.empty(out.shape[0], np.int64)
    start = namespace(kv).reshape(start, (3, *out.shape))
    tol = -1.0 if admm.tol is None else admm.tol
    affine = constraint == "affine"
    _engine(kv).admm_weights(*flat, c, affine, admm.rho, admm.eta, max_iter, tol, start, out, n_iter)
    return namespace(kv).reshape(out, kv.shape), n_iter


def semidefinite(K: Array, kv: Array, a: Array) -> tuple[Array, Array, Array]:
    """The problem with its local Gram matrix [[a, kv'], [kv, K]] replaced by the nearest positive semidefinite one.

    An indefinite kernel (sigmoid, or a callable) has no feature space; locally, this is the nearest thing to one,
    and f is a distance again (eq. 24).
    """
    xp = namespace(kv)
    k = kv.shape[-1]
    top = xp.concat([a[..., None], kv], axis=-1)[..., None, :]
    gram = xp.concat([top, xp.concat([kv[..., :, None], K], axis=-1)], axis=-2)
    flat = xp.reshape(gram, (-1, k + 1, k + 1))
    _engine(kv).nearest_semidefinite(flat)
    gram = xp.reshape(flat, gram.shape)
    return gram[..., 1:, 1:], gram[..., 0, 1:], gram[..., 0, 0]


def _engine(array: Array) -> Any:
    """The file with this array's kernels; both have the same functions."""
    if uses_numba(array):
        from llise.engine import numba_weights as engine
    else:
        from llise.engine import array_weights as engine  # type: ignore[no-redef]
    return engine


def _flat(K: Array, kv: Array, a: Array) -> tuple[tuple[Array, Array, Array], Array]:
    xp = namespace(kv)
    k = kv.shape[-1]
    flat = xp.reshape(K, (-1, k, k)), xp.reshape(kv, (-1, k)), xp.reshape(a, (-1,))
    if uses_numba(kv):
        flat = tuple(np.ascontiguousarray(v) for v in flat)  # type: ignore[assignment]
    return flat, xp.empty_like(flat[1])
