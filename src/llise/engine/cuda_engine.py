"""Every step for CuPy arrays on an NVIDIA GPU: CUDA kernels, and on the CPU what has none."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.engine.cuda_embedding import exact_embedding
from llise.engine.cuda_gram import (
    batches,
    centred_local_products,
    centred_products,
    cut,
    local_products,
    products,
    project_centred,
    squares,
    sums,
    workers,
)
from llise.engine.cuda_launch import Unsuitable, or_on_cpu
from llise.engine.cuda_neighbors import nearest, reconstruct, take_local, training_problems
from llise.engine.cuda_weights import affine_weights, reconstruction_values, sphere_weights

__all__ = [
    "admm_embedding",
    "admm_weights",
    "affine_weights",
    "batches",
    "centred_local_products",
    "centred_products",
    "cut",
    "exact_embedding",
    "local_products",
    "nearest",
    "nearest_semidefinite",
    "products",
    "project_centred",
    "reconstruct",
    "reconstruction_values",
    "sphere_weights",
    "squares",
    "sums",
    "take_local",
    "training_problems",
    "workers",
]

Array = Any


@or_on_cpu
def admm_weights(
    K: Array,
    kv: Array,
    a: Array,
    c: float,
    affine: bool,
    rho: float,
    eta: float,
    max_iter: int,
    tol: float,
    start: Array,
) -> tuple[Array, np.ndarray]:
    """The paper's iterations for the weights (eq. 23)."""
    raise Unsuitable("the paper's iterations have no kernel")


@or_on_cpu
def admm_embedding(
    weights: Array,
    neighbors: Array,
    c: float,
    rho: float,
    eta: float,
    max_iter: int,
    tol: float,
    published: bool,
    start: Array,
    out: Array,
    results: np.ndarray,
    history: np.ndarray,
) -> None:
    """The paper's iterations for the coordinates (eq. 37)."""
    raise Unsuitable("the paper's iterations have no kernel")


@or_on_cpu
def nearest_semidefinite(gram: Array) -> Array:
    """Symmetric matrices replaced by the nearest positive semidefinite ones (eq. 24)."""
    raise Unsuitable("eigenvalues of indefinite kernels have no kernel")
