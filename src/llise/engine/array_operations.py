"""Operations that the array API standard lacks, or that torch has a faster form of."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine.backend import device_of, is_torch, like, namespace

Array = Any


def put_rows(out: Array, index: np.ndarray, rows: Array) -> None:
    """Assign out[index] = rows.

    Parameters
    ----------
    out : array (n, ...)
        Changed in place.
    index : array (m,) of int
    rows : array (m, ...)

    Examples
    --------
    >>> import numpy as np
    >>> from llise.engine.array_operations import put_rows
    >>> out = np.zeros(3)
    >>> put_rows(out, np.array([2, 0]), np.array([5.0, 7.0]))
    >>> out
    array([7., 0., 5.])
    """
    if is_torch(out) or isinstance(out, np.ndarray):
        out[like(out, index)] = rows
        return
    for place, row in enumerate(index):  # the standard has no assignment through index arrays
        out[int(row), ...] = rows[place, ...]


def scattered(zeros: Array, index: Array, values: Array) -> Array:
    """Return rows of zeros with values put at an index.

    Parameters
    ----------
    zeros : array (..., n)
    index : array (..., k) of int
        No place occurs twice in a row.
    values : array (..., k)

    Returns
    -------
    array (..., n)

    Examples
    --------
    >>> import numpy as np
    >>> from llise.engine.array_operations import scattered
    >>> scattered(np.zeros((1, 4)), np.array([[3, 1]]), np.array([[5.0, 7.0]]))
    array([[0., 7., 0., 5.]])
    """
    if is_torch(zeros):
        return zeros.scatter(-1, index, values)
    xp = namespace(zeros)
    columns = xp.arange(zeros.shape[-1], device=device_of(zeros))
    for r in range(index.shape[-1]):
        zeros = zeros + xp.where(index[..., r : r + 1] == columns, values[..., r : r + 1], 0.0)
    return zeros


def cholesky(M: Array) -> Array:
    """Return lower Cholesky factors; torch without its check, which would wait for the device.

    Parameters
    ----------
    M : array (..., n, n)
        Symmetric positive definite matrices.

    Returns
    -------
    array (..., n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from llise.engine.array_operations import cholesky
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 2.0]]))
    array([[2., 0.],
           [1., 1.]])
    """
    if is_torch(M):
        import torch

        return torch.linalg.cholesky_ex(M).L
    return namespace(M).linalg.cholesky(M)


def triangular_inverse(L: Array) -> Array:
    """Return the inverses of lower triangular matrices.

    Parameters
    ----------
    L : array (..., n, n)

    Returns
    -------
    array (..., n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from llise.engine.array_operations import triangular_inverse
    >>> triangular_inverse(np.array([[2.0, 0.0], [1.0, 1.0]]))
    array([[ 0.5,  0. ],
           [-0.5,  1. ]])
    """
    if is_torch(L):
        import torch

        eye = torch.eye(L.shape[-1], dtype=L.dtype, device=L.device).expand_as(L)
        return torch.linalg.solve_triangular(L, eye, upper=False)
    return namespace(L).linalg.inv(L)


def rotate(x: Array, y: Array, cosine: Array, sine: Array) -> tuple[Array, Array]:
    """Return plane rotations; torch fuses a product with a sum.

    Parameters
    ----------
    x, y : array
        Vectors that are rotated against each other.
    cosine, sine : array
        Of the angles, broadcast.

    Returns
    -------
    tuple of array
        c x - s y and s x + c y.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.engine.array_operations import rotate
    >>> rotate(np.array([1.0]), np.array([2.0]), 0.0, 1.0)
    (array([-2.]), array([1.]))
    """
    if is_torch(x):
        import torch

        return torch.addcmul(cosine * x, sine, y, value=-1), torch.addcmul(cosine * y, sine, x)
    return cosine * x - sine * y, sine * x + cosine * y


def add_product(x: Array, y: Array, z: Array, sign: int = 1) -> Array:
    """Return x + y z, or x - y z with the sign -1; torch fuses it.

    Parameters
    ----------
    x, y, z : array
        Broadcast.
    sign : {1, -1}

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> from llise.engine.array_operations import add_product
    >>> add_product(np.array([1.0]), np.array([2.0]), np.array([3.0]), sign=-1)
    array([-5.])
    """
    if is_torch(x):
        import torch

        return torch.addcmul(x, y, z, value=sign)
    return x + sign * y * z


def take(values: Array, neighbors: Array) -> Array:
    """Take values at neighbours.

    Parameters
    ----------
    values : array (b, n)
    neighbors : array (b, m, k) of int

    Returns
    -------
    array (b, m, k)

    Examples
    --------
    >>> import numpy as np
    >>> from llise.engine.array_operations import take
    >>> take(np.array([[5.0, 6.0, 7.0]]), np.array([[[2, 0]]]))
    array([[[7., 5.]]])
    """
    xp = namespace(values)
    b, m, k = neighbors.shape
    return xp.reshape(xp.take_along_axis(values, xp.reshape(neighbors, (b, m * k)), axis=-1), (b, m, k))


def pairs(values: Array) -> tuple[Array, Array]:
    """Return vectors as columns and as rows, which broadcast to all pairs of their entries.

    Parameters
    ----------
    values : array (..., k)

    Returns
    -------
    tuple of array
        (..., k, 1) and (..., 1, k).

    Examples
    --------
    >>> import numpy as np
    >>> from llise.engine.array_operations import pairs
    >>> columns, rows = pairs(np.array([1, 2]))
    >>> columns * rows
    array([[1, 2],
           [2, 4]])
    """
    return values[..., :, None], values[..., None, :]
