r"""The problem: SSIM and its distance, and the two objectives that are built on it.

For zero-mean blocks the SSIM distance is :math:`\|x-y\|^2 / (\|x\|^2 + \|y\|^2 + c)` with
:math:`c = (q-1)(0.03\,l)^2` (math.md, eq. 1-3).
"""

from __future__ import annotations

from typing import Any

from llise import engine
from llise.engine.backend import as_input, namespace, working

Array = Any


def ssim_constant(q: int, data_range: float = 1.0) -> float:
    """Return the constant c = (q - 1) (0.03 l)^2 of the SSIM distance (eq. 3)."""
    return (q - 1) * (0.03 * data_range) ** 2


def ssim(x: Array, y: Array, *, data_range: float = 1.0, zero_mean: bool = False) -> Array:
    """Return the structural similarity (SSIM) of blocks, along the last axis (eq. 1).

    Parameters
    ----------
    x, y : array (..., q)
        Blocks as vectors; leading axes broadcast.
    data_range : float, default 1.0
        l, the range of the grey values.
    zero_mean : bool, default False
        The form for zero-mean blocks, :math:`(2x'y + c) / (x'x + y'y + c)`, which LLISE is built on; the values
        are taken as they are, not centred.

    Returns
    -------
    array (...)
        In [-1, 1]; 1 for equal blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import ssim
    >>> x = np.array([0.1, 0.4, 0.8])
    >>> float(ssim(x, x))
    1.0
    >>> float(ssim(x, x[::-1])) < 0
    True
    """
    given = x
    x, y, q = _checked(x, y, data_range)
    xp = namespace(x)
    if zero_mean:
        c = ssim_constant(q, data_range)
        value = (2 * xp.sum(x * y, axis=-1) + c) / (xp.sum(x * x, axis=-1) + xp.sum(y * y, axis=-1) + c)
        return as_input(given, value)
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    mx, my = xp.mean(x, axis=-1), xp.mean(y, axis=-1)
    dx, dy = x - mx[..., None], y - my[..., None]
    vx, vy, vxy = (xp.sum(u * v, axis=-1) / (q - 1) for u, v in ((dx, dx), (dy, dy), (dx, dy)))
    luminance = (2 * mx * my + c1) / (mx * mx + my * my + c1)
    structure = (2 * vxy + c2) / (vx + vy + c2)
    return as_input(given, luminance * structure)


def ssim_distance(x: Array, y: Array, *, data_range: float = 1.0, zero_mean: bool = False) -> Array:
    """Return the SSIM distance 1 - SSIM of blocks, along the last axis (eq. 2).

    Parameters
    ----------
    x, y : array (..., q)
        Blocks as vectors; leading axes broadcast.
    data_range : float, default 1.0
        l, the range of the grey values.
    zero_mean : bool, default False
        The paper's form for zero-mean blocks, :math:`\\|x-y\\|^2 / (x'x + y'y + c)`, which LLISE is built on; the
        values are taken as they are, not centred.

    Returns
    -------
    array (...)
        In [0, 2]; 0 for equal blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import ssim_distance
    >>> x = np.array([-1.0, 0.0, 1.0])
    >>> float(ssim_distance(x, x, zero_mean=True))
    0.0
    >>> 1 < float(ssim_distance(x, -x)) < 2
    True
    """
    if not zero_mean:
        return 1 - ssim(x, y, data_range=data_range)
    given = x
    x, y, q = _checked(x, y, data_range)
    xp = namespace(x)
    c = ssim_constant(q, data_range)
    difference = xp.sum((x - y) ** 2, axis=-1)
    return as_input(given, difference / (xp.sum(x * x, axis=-1) + xp.sum(y * y, axis=-1) + c))


def _checked(x: Array, y: Array, data_range: float) -> tuple[Array, Array, int]:
    """The blocks in floating point (differences of unsigned integers wrap around) and their length q."""
    if not data_range > 0:
        raise ValueError(f"data_range must be positive, got {data_range!r}; 255 for 8-bit images.")
    x, y = working(x), working(y)
    if min(x.ndim, y.ndim) < 1:
        raise ValueError("a block is an array with its values in the last axis, got a single number.")
    q = x.shape[-1]
    if q != y.shape[-1]:
        raise ValueError(f"blocks have different lengths: {q} and {y.shape[-1]} values in the last axis.")
    if q < 2:
        raise ValueError(f"a block needs at least 2 values in the last axis, got {q}.")
    return _floats(x), _floats(y), q


def _floats(x: Array) -> Array:
    xp = namespace(x)
    return x if xp.isdtype(x.dtype, "real floating") else xp.astype(x, xp.float64)


def reconstruction_value(w: Array, K: Array, kv: Array, a: Array, c: float) -> Array:
    """Return f(w), the SSIM distance of a block and its reconstruction (eq. 13)."""
    return engine.of(w).reconstruction_values(w, K, kv, a, c)


def reconstruction_gradient(w: Array, K: Array, kv: Array, a: Array, c: float) -> Array:
    """Return the gradient 2 ((1 - f) Kw - kv) / (a + w'Kw + c) of f (eq. 14)."""
    xp = namespace(w)
    Kw = xp.matmul(K, w[..., None])[..., 0]
    f = reconstruction_value(w, K, kv, a, c)
    beta = a + xp.sum(w * Kw, axis=-1) + c
    return 2 * ((1 - f)[..., None] * Kw - kv) / beta[..., None]


def embedding_value(Y: Array, SY: Array, c: float) -> Array:
    """Return the embedding's objective, the sum of ``|y_j - (SY)_j|^2 / (|y_j|^2 + |(SY)_j|^2 + c)`` (eq. 26)."""
    alpha, beta = _embedding_terms(Y, SY, c)
    return namespace(Y).sum(alpha / beta, axis=-1)


def embedding_gradient(Y: Array, SY: Array, S: Array, c: float) -> Array:
    """Return the gradient 2 [A' D(1/beta) A - D(tau) - S' D(tau) S] Y of the embedding's objective (eq. 27)."""
    xp = namespace(Y)
    alpha, beta = (t[..., None] for t in _embedding_terms(Y, SY, c))
    tau = alpha / beta**2
    v = (Y - SY) / beta
    return 2 * (v - tau * Y - xp.matmul(xp.matrix_transpose(S), v + tau * SY))


def _embedding_terms(Y: Array, SY: Array, c: float) -> tuple[Array, Array]:
    xp = namespace(Y)
    alpha = xp.sum((Y - SY) ** 2, axis=-1)
    return alpha, xp.sum(Y * Y, axis=-1) + xp.sum(SY * SY, axis=-1) + c
