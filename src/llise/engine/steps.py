"""What every engine provides: the steps from blocks to coordinates, described once for both implementations."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

Array = Any


class Steps(Protocol):
    r"""The steps, as ``numba_engine.py`` and ``array_engine.py`` implement them.

    Shapes: b block positions, n training images, m images, q values in a block, k neighbours, p coordinates.  A
    *problem* is one image at one position: the Gram matrix K of its neighbours, kv = <x, neighbours>, a = <x, x>.
    Equation numbers are those of docs/math.md.
    """

    def cut(self, images: Array, rows: int, cols: int, block_height: int, block_width: int) -> Array:
        """Cut images (n, rows * block_height, cols * block_width) into blocks (b, n, q), in row-major order."""

    def batches(self, n_blocks: int, size: int) -> list[slice]:
        """Split a chunk of blocks into the batches that go through the steps together, of ``size`` on a CPU."""

    def workers(self, n_jobs: int | None) -> int | None:
        """Return how many chunks are worked on at once when the user asks for ``n_jobs``."""

    def sums(self, values: Array) -> Array:
        """Sum each block (b, n, q): float64 (b, n)."""

    def squares(self, values: Array) -> Array:
        """Square and sum each block (b, n, q): float64 (b, n)."""

    def products(self, x: Array, y: Array) -> Array:
        """Multiply blocks (b, m, q) and (b, n, q) of one dtype: inner products (b, m, n)."""

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
        """Return (q x'y - s_x s_y) factor + g_x g_y (b, m, n) from products x'y, sums s, luminance g (eq. 5-6)."""

    def local_products(self, values: Array, neighbors: Array) -> Array:
        """Multiply the training blocks (b, n, q) that are the neighbours (b, m, k) of an image: (b, m, k, k)."""

    def centred_local_products(
        self, products: Array, neighbors: Array, q: int, factor: float, sums: Array, luminance: Array | None
    ) -> Array:
        """Centre products (b, m, k, k) of neighbours as ``centred_products`` does; may overwrite them."""

    def nearest(self, products: Array, norms: Array, k: int, identical: np.ndarray, exclude_self: bool) -> Array:
        """Find the k nearest training images (b, m, k), nearest first, ties by index (eq. 12).

        ``products`` (b, m, n) are those of the images with the training images, ``norms`` (b, n) the squared norms of
        these.  ``identical`` (m,) is the training image that equals image j everywhere, or -1: it comes first.  With
        ``exclude_self`` the images are the training images, and none is its own neighbour.
        """

    def take_local(self, gram: Array, neighbors: Array) -> Array:
        """Take from Gram matrices (b, n, n) the parts K (b, m, k, k) over each image's neighbours (b, m, k)."""

    def training_problems(
        self, products: Array, q: int, factor: float, sums: Array, luminance: Array | None, k: int
    ) -> tuple[Array, Array, Array, Array]:
        """Return neighbours and problems K, kv, a of the training images from the products (b, n, n) of their blocks.

        The same as ``centred_products``, ``nearest`` and ``take_local`` one after the other.
        """

    def reconstruction_values(self, w: Array, K: Array, kv: Array, a: Array, c: float) -> Array:
        """Return f(w) (...) of weights (..., k) for problems with any leading axes (eq. 13)."""

    def affine_weights(self, K: Array, kv: Array, a: Array, c: float, ridge: float) -> Array:
        """Return the best weights (problems, k) that sum to one (eq. 20-22)."""

    def sphere_weights(self, K: Array, kv: Array, a: Array, c: float) -> Array:
        """Return the best weights (problems, k) of norm one (eq. 15-19)."""

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
        """Return weights (problems, k) and iterations of the paper's method (eq. 23).

        ``start`` (3, problems, k) is w, xi, j.  A problem stops when no residual and no change exceeds ``tol``; a
        negative one never stops it.
        """

    def nearest_semidefinite(self, gram: Array) -> Array:
        """Replace symmetric matrices (problems, m, m), in place, by the nearest semidefinite ones (eq. 24)."""

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
        """Fill ``out`` (b, n, p) with feasible, stationary coordinates (eq. 32-36).

        ``results`` (b, 4) receives objective, stationarity, Hessian products and constraint violation, ``history``
        (b, steps, 2) objective and stationarity by outer step, as many as fit.
        """

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
        """Fill ``out`` (b, n, p) by the paper's iterations from ``start`` (b, 3, n, p) = Y, V, J (eq. 37).

        ``results`` and ``history`` are as in ``exact_embedding``, with rounds for Hessian products and with the
        violation by round.  ``published`` keeps the paper's gradient and its singular values n.
        """

    def reconstruct(self, weights: Array, neighbors: Array, coordinates: Array) -> Array:
        """Return sum_r w_r y_r (b, m, p) from weights (b, m, k) and the training coordinates (b, n, p) (eq. 38)."""

    def project_centred(self, values: Array, directions: np.ndarray) -> Array:
        """Multiply blocks (b, n, q), each less its mean, with ``directions`` (p, q): (b, n, p)."""
