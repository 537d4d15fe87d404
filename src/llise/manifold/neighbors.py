"""Gram -> the k nearest neighbours of every block, in input or feature space (docs/math.md, eq. 12)."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise import engine
from llise.engine.backend import namespace

Array = Any


def training_neighbors(gram: Array, k: int) -> Array:
    """Return the k nearest other training images of each training image."""
    xp = namespace(gram)
    nowhere = np.full(gram.shape[1], -1)
    return engine.of(gram).nearest(gram, xp.diagonal(gram, axis1=-2, axis2=-1), k, nowhere, True)


def other_neighbors(products: Array, norms: Array, k: int, own: np.ndarray) -> Array:
    """Return the k nearest other training images of some training images, whose indices are ``own``."""
    return engine.of(products).nearest(products, norms, k + 1, own, False)[..., 1:]


def new_neighbors(products: Array, norms: Array, k: int, identical: np.ndarray) -> Array:
    """Return the k nearest training images of each new image."""
    return engine.of(products).nearest(products, norms, k, identical, False)
