"""What every engine provides: the steps from blocks to coordinates, described once for all implementations."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

Array = Any


class Steps(Protocol):
    """The steps, as ``numba_engine.py`` and ``cuda_engine.py`` implement them.

    Shapes: b block positions, n training images, m images, q values in a block, k neighbours, p coordinates.  A
    *problem* is one image at one position: the Gram matrix K of its neighbours, kv = <x, neighbours>, a = <x, x>.
    c is the constant of the SSIM distance.  Equation numbers are those of docs/math.md.

    Arrays are of the kind that the engine serves, and float64 unless something else is said; a ``numpy.ndarray`` is a
    NumPy array in both engines.  Blocks (b, n, q) are float32 or float64; products (b, m, n), neighbours (b, m, k) of
    int, weights (b, m, k), coordinates (b, n, p); problems are (problems, k, k), (problems, k) and (problems,), or have
    any leading axes for ``reconstruction_values``.  The embeddings write ``out`` (b, n, p), ``results`` (b, 4):
    objective, stationarity, Hessian products or iterations, constraint violation, and ``history`` (b, steps, 2):
    objective and stationarity, or violation, by step, as many as fit.
    """

    def cut(self, images: Array, rows: int, cols: int, block_height: int, block_width: int) -> Array:
        """Cut images into blocks."""

    def batches(self, n_blocks: int, size: int) -> list[slice]:
        """Split a chunk of blocks into the batches that go through the steps together."""

    def workers(self, n_jobs: int | None) -> int | None:
        """Return how many chunks are worked on at once."""

    def sums(self, values: Array) -> Array:
        """Sum each block."""

    def squares(self, values: Array) -> Array:
        """Sum the squares of each block."""

    def products(self, x: Array, y: Array) -> Array:
        """Compute the inner products of blocks."""

    def centred_products(
        self,
        products: Array,
        q: int,
        factor: float,
        sums_x: Array,
        sums_y: Array,
        luminance_x: Array | None,
        luminance_y: Array | None,
    ) -> Array:
        """Compute the inner products of centred, scaled blocks from those of the blocks as they are (eq. 5-6)."""

    def local_products(self, values: Array, neighbors: Array) -> Array:
        """Compute the inner products among the training blocks that are the neighbours of an image."""

    def centred_local_products(
        self, products: Array, neighbors: Array, q: int, factor: float, sums: Array, luminance: Array | None
    ) -> Array:
        """Centre and scale products of neighbours as ``centred_products`` does; may overwrite them."""

    def nearest(self, products: Array, norms: Array, k: int, identical: np.ndarray, exclude_self: bool) -> Array:
        """Find the nearest training images: smallest ``|x_r|^2 - 2 <x, x_r>`` (eq. 12)."""

    def take_local(self, gram: Array, neighbors: Array) -> Array:
        """Take the parts over each image's neighbours."""

    def training_problems(
        self, products: Array, q: int, factor: float, sums: Array, luminance: Array | None, k: int
    ) -> tuple[Array, Array, Array, Array]:
        """Find the neighbours of the training images and their problems."""

    def reconstruction_values(self, w: Array, K: Array, kv: Array, a: Array, c: float) -> Array:
        """Compute the objective f(w) of the weights (eq. 13)."""

    def affine_weights(self, K: Array, kv: Array, a: Array, c: float, ridge: float) -> Array:
        """Find the best weights that sum to one (eq. 20-22)."""

    def sphere_weights(self, K: Array, kv: Array, a: Array, c: float) -> Array:
        """Find the best weights of norm one (eq. 15-19)."""

    def admm_weights(
        self,
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
        """Find weights by the paper's iterations (eq. 23)."""

    def nearest_semidefinite(self, gram: Array) -> Array:
        """Replace symmetric matrices, in place, by the nearest positive semidefinite ones (eq. 24)."""

    def exact_embedding(
        self,
        weights: Array,
        neighbors: Array,
        c: float,
        start: Array,
        tol: float,
        max_iter: int,
        out: Array,
        results: np.ndarray,
        history: np.ndarray,
    ) -> None:
        """Compute feasible, stationary coordinates (eq. 32-36)."""

    def admm_embedding(
        self,
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
        """Compute coordinates by the paper's iterations (eq. 37)."""

    def reconstruct(self, weights: Array, neighbors: Array, coordinates: Array) -> Array:
        """Compute the coordinates sum_r w_r y_r of images from those of their neighbours (eq. 38)."""

    def project_centred(self, values: Array, directions: np.ndarray) -> Array:
        """Multiply blocks, each less its mean, with directions."""
