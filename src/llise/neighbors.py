"""Gram -> the k nearest neighbours of every block, in input or feature space (docs/math.md, eq. 12)."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise import engine
from llise.engine.backend import namespace

Array = Any


def training_neighbors(gram: Array, k: int) -> Array:
    """Return the k nearest other training images of each training image.

    An image is excluded from its own neighbours by its index, not by its distance; ties go by index.

    Parameters
    ----------
    gram : array (b, n, n)
        Gram matrices of the training images.
    k : int

    Returns
    -------
    array (b, n, k) of int
        Nearest first.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.neighbors import training_neighbors
    >>> x = np.array([0.0, 1.0, 3.0])
    >>> training_neighbors(np.outer(x, x)[None], k=1)
    array([[[1],
            [0],
            [1]]])
    """
    xp = namespace(gram)
    nowhere = np.full(gram.shape[1], -1)
    return engine.of(gram).nearest(gram, xp.linalg.diagonal(gram), k, nowhere, exclude_self=True)


def new_neighbors(products: Array, norms: Array, k: int, identical: np.ndarray) -> Array:
    """Return the k nearest training images of each new image.

    Parameters
    ----------
    products : array (b, m, n)
        Inner products of the new with the training images.
    norms : array (b, n)
        Squared norms of the training images.
    k : int
    identical : array (m,) of int
        The training image that equals a new one everywhere, or -1: it comes first.

    Returns
    -------
    array (b, m, k) of int
        Nearest first, ties by index.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.neighbors import new_neighbors
    >>> x, new = np.array([0.0, 1.0, 3.0]), np.array([2.8])
    >>> new_neighbors(np.outer(new, x)[None], x[None] ** 2, k=2, identical=np.array([-1]))
    array([[[2, 1]]])
    """
    return engine.of(products).nearest(products, norms, k, identical, exclude_self=False)
