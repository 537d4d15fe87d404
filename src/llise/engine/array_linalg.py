"""Linear algebra of the embedding in the array namespace (equation numbers: docs/math.md).

Only products, Cholesky factors and triangular inverses are batched: batched eigensolvers and QR are slow on GPUs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine.array_operations import cholesky, triangular_inverse
from llise.engine.backend import device_of, like, namespace

Array = Any


def norm(U: Array) -> Array:
    """Compute the Frobenius norms of matrices.

    Parameters
    ----------
    U : array (b, n, p)

    Returns
    -------
    array (b,)
    """
    xp = namespace(U)
    return xp.sqrt(xp.sum(U * U, axis=(-2, -1)))


def inner(U: Array, V: Array) -> Array:
    """Compute the inner products tr(U'V) of matrices.

    Parameters
    ----------
    U, V : array (b, n, p)

    Returns
    -------
    array (b,)
    """
    return namespace(U).sum(U * V, axis=(-2, -1))


def expand(v: Array) -> Array:
    """Give numbers two more axes, so that they multiply matrices (b, n, p).

    Parameters
    ----------
    v : array (b,)

    Returns
    -------
    array (b, 1, 1)
    """
    return v[:, None, None]


def orthonormalise(Y: Array) -> Array:
    """Make columns centred, orthogonal and of squared length n (eq. 31).

    Where no columns are nearly dependent, Cholesky factors are accurate enough.

    Parameters
    ----------
    Y : array (b, n, p)

    Returns
    -------
    array (b, n, p)
    """
    xp = namespace(Y)
    n = Y.shape[-2]
    scaled = Y - xp.mean(Y, axis=-2)[:, None, :]
    scaled = scaled * xp.sqrt(n / (xp.sum(scaled * scaled, axis=-2) + 1e-300))[:, None, :]
    inner = xp.matmul(xp.matrix_transpose(scaled), scaled) / n
    eye = xp.eye(Y.shape[-1], dtype=Y.dtype, device=device_of(Y))
    pivots = xp.linalg.diagonal(cholesky(inner + 1e-12 * eye))
    return retract(scaled) if bool(xp.all(pivots > 1e-5)) else _gram_schmidt(Y)


def _gram_schmidt(Y: Array) -> Array:
    """The same for any Y: modified Gram-Schmidt, twice."""
    xp = namespace(Y)
    n, p = Y.shape[-2:]
    done: list[Array] = []
    for i in range(p):
        y = _centred(Y[..., i])
        before = xp.sum(y * y, axis=-1)
        for s in done:
            y = y - (xp.sum(s * y, axis=-1) / n)[:, None] * s
        lost = ~(xp.sum(y * y, axis=-1) > 1e-20 * before)
        if bool(xp.any(lost)):
            y = xp.where(lost[:, None], _spare(y, done, lost), y)
        y = y * xp.sqrt(n / xp.sum(y * y, axis=-1))[:, None]
        y = _centred(y)
        for s in done:
            y = y - (xp.sum(s * y, axis=-1) / n)[:, None] * s
        done.append(y * xp.sqrt(n / xp.sum(y * y, axis=-1))[:, None])
    return xp.stack(done, axis=-1)


def retract(Y: Array) -> Array:
    """Do the same as :func:`orthonormalise` by two Cholesky factors of Y'Y.

    Parameters
    ----------
    Y : array (b, n, p)
        Well conditioned, as a point plus a tangent is.

    Returns
    -------
    array (b, n, p)
    """
    xp = namespace(Y)
    n = Y.shape[-2]
    Y = Y - xp.mean(Y, axis=-2)[:, None, :]
    for _ in range(2):
        L = triangular_inverse(cholesky(xp.matmul(xp.matrix_transpose(Y), Y) / n))
        Y = xp.matmul(Y, xp.matrix_transpose(L))
    return Y


def _spare(y: Array, done: list[Array], lost: Array) -> Array:
    """Cosines of the image index, for starts with too few directions: the first that is not spanned already."""
    xp = namespace(y)
    n = y.shape[-1]
    chosen = xp.zeros_like(y)
    missing = lost
    for order in range(1, n):
        cosine = np.cos(np.pi * order * (np.arange(n) + 0.5) / n)
        z = _centred(xp.broadcast_to(like(y, cosine), y.shape))
        before = xp.sum(z * z, axis=-1)
        for s in done:
            z = z - (xp.sum(s * z, axis=-1) / n)[:, None] * s
        usable = missing & (xp.sum(z * z, axis=-1) > 1e-20 * before)
        chosen = xp.where(usable[:, None], z, chosen)
        missing = missing & ~usable
        if not bool(xp.any(missing)):
            break
    return chosen


def _centred(y: Array) -> Array:
    return y - namespace(y).mean(y, axis=-1)[:, None]


def violation(Y: Array) -> Array:
    """Measure how far the constraints are violated: max of ``|mean of Y|`` and ``|Y'Y / n - I|`` (eq. 31).

    Parameters
    ----------
    Y : array (b, n, p)

    Returns
    -------
    array (b,)
    """
    xp = namespace(Y)
    n, p = Y.shape[-2:]
    eye = xp.eye(p, dtype=Y.dtype, device=device_of(Y))
    covariance = xp.max(xp.abs(xp.matmul(xp.matrix_transpose(Y), Y) / n - eye), axis=(-2, -1))
    return xp.maximum(covariance, xp.max(xp.abs(xp.mean(Y, axis=-2)), axis=-1))
