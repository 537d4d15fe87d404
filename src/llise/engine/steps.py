"""What every engine provides: the steps from blocks to coordinates, described once for all implementations."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

Array = Any


class Steps(Protocol):
    """The steps, as ``numba_engine.py``, ``array_engine.py`` and ``cuda_engine.py`` implement them.

    Shapes: b block positions, n training images, m images, q values in a block, k neighbours, p coordinates.  A
    *problem* is one image at one position: the Gram matrix K of its neighbours, kv = <x, neighbours>, a = <x, x>.
    c is the constant of the SSIM distance.  Equation numbers are those of docs/math.md.

    Arrays are of the kind that the engine serves, and float64 unless something else is said; a ``numpy.ndarray`` is a
    NumPy array in all engines.
    """

    def cut(self, images: Array, rows: int, cols: int, block_height: int, block_width: int) -> Array:
        """Cut images into blocks.

        Parameters
        ----------
        images : array (n, rows * block_height, cols * block_width), any dtype
        rows, cols, block_height, block_width : int
            Number of block rows and of blocks in a row; size of a block in pixels.

        Returns
        -------
        array (b, n, q)
            Blocks in row-major order.
        """

    def batches(self, n_blocks: int, size: int) -> list[slice]:
        """Split a chunk of blocks into the batches that go through the steps together.

        Parameters
        ----------
        n_blocks, size : int
            Number of blocks in the chunk; number of blocks in a batch on a CPU.

        Returns
        -------
        list of slice
            Block positions of each batch.
        """

    def workers(self, n_jobs: int | None) -> int | None:
        """Return how many chunks are worked on at once.

        Parameters
        ----------
        n_jobs : int or None
            What the user asks for.

        Returns
        -------
        int or None
        """

    def sums(self, values: Array) -> Array:
        """Sum each block.

        Parameters
        ----------
        values : array (b, n, q) of float32 or float64

        Returns
        -------
        array (b, n)
        """

    def squares(self, values: Array) -> Array:
        """Sum the squares of each block.

        Parameters
        ----------
        values : array (b, n, q) of float32 or float64

        Returns
        -------
        array (b, n)
        """

    def products(self, x: Array, y: Array) -> Array:
        """Compute the inner products of blocks.

        Parameters
        ----------
        x : array (b, m, q) of float32 or float64
        y : array (b, n, q) of the same dtype

        Returns
        -------
        array (b, m, n) of float32 or float64
        """

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
        """Compute the inner products of centred, scaled blocks from those of the blocks as they are (eq. 5-6).

        Parameters
        ----------
        products : array (b, m, n)
            Inner products x'y.
        q, factor : int, float
            Number of values in a block; square of the scale, divided by q.
        sums_x, sums_y, luminance_x, luminance_y : array (b, m) for x, array (b, n) for y; luminance or None
            Sums s and luminance coordinates g of the blocks.

        Returns
        -------
        array (b, m, n)
            (q x'y - s_x s_y) factor + g_x g_y.
        """

    def local_products(self, values: Array, neighbors: Array) -> Array:
        """Compute the inner products among the training blocks that are the neighbours of an image.

        Parameters
        ----------
        values : array (b, n, q) of float32 or float64
        neighbors : array (b, m, k) of int

        Returns
        -------
        array (b, m, k, k)
        """

    def centred_local_products(
        self, products: Array, neighbors: Array, q: int, factor: float, sums: Array, luminance: Array | None
    ) -> Array:
        """Centre and scale products of neighbours as ``centred_products`` does; may overwrite them.

        Parameters
        ----------
        products : array (b, m, k, k)
        neighbors : array (b, m, k) of int
        q, factor : int, float
            Number of values in a block; square of the scale, divided by q.
        sums, luminance : array (b, n), array (b, n) or None
            Sums and luminance coordinates of the training blocks.

        Returns
        -------
        array (b, m, k, k)
        """

    def nearest(self, products: Array, norms: Array, k: int, identical: np.ndarray, exclude_self: bool) -> Array:
        """Find the nearest training images: smallest ``|x_r|^2 - 2 <x, x_r>`` (eq. 12).

        Parameters
        ----------
        products : array (b, m, n)
            Inner products of the images with the training images.
        norms : array (b, n)
            Squared norms of the training images.
        k : int
            Number of neighbours.
        identical : numpy.ndarray (m,) of int
            The training image that equals image j everywhere, or -1: it comes first.
        exclude_self : bool
            True if the images are the training images: none is its own neighbour.

        Returns
        -------
        array (b, m, k) of int
            Nearest first, ties by index.
        """

    def take_local(self, gram: Array, neighbors: Array) -> Array:
        """Take the parts over each image's neighbours.

        Parameters
        ----------
        gram : array (b, n, n)
        neighbors : array (b, m, k) of int

        Returns
        -------
        array (b, m, k, k)
        """

    def training_problems(
        self, products: Array, q: int, factor: float, sums: Array, luminance: Array | None, k: int
    ) -> tuple[Array, Array, Array, Array]:
        """Find the neighbours of the training images and their problems.

        The same as ``centred_products``, ``nearest`` and ``take_local`` one after the other.

        Parameters
        ----------
        products : array (b, n, n)
            Inner products of the training blocks.
        q, factor : int, float
            Number of values in a block; square of the scale, divided by q.
        sums, luminance : array (b, n), array (b, n) or None
            Sums and luminance coordinates of the blocks.
        k : int
            Number of neighbours.

        Returns
        -------
        neighbors : array (b, n, k) of int
        K, kv, a : array (b, n, k, k), array (b, n, k), array (b, n)
        """

    def reconstruction_values(self, w: Array, K: Array, kv: Array, a: Array, c: float) -> Array:
        """Compute the objective f(w) of the weights (eq. 13).

        Parameters
        ----------
        w : array (..., k)
            Weights of problems with any leading axes.
        K, kv, a : array (..., k, k), array (..., k), array (...)
            The problems.
        c : float

        Returns
        -------
        array (...)
        """

    def affine_weights(self, K: Array, kv: Array, a: Array, c: float, ridge: float) -> Array:
        """Find the best weights that sum to one (eq. 20-22).

        Parameters
        ----------
        K, kv, a : array (problems, k, k), array (problems, k), array (problems,)
        c : float
        ridge : float
            Regularisation, as a share of the mean squared distance to the neighbours.

        Returns
        -------
        array (problems, k)
        """

    def sphere_weights(self, K: Array, kv: Array, a: Array, c: float) -> Array:
        """Find the best weights of norm one (eq. 15-19).

        Parameters
        ----------
        K, kv, a : array (problems, k, k), array (problems, k), array (problems,)
        c : float

        Returns
        -------
        array (problems, k)
        """

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
        """Find weights by the paper's iterations (eq. 23).

        Parameters
        ----------
        K, kv, a : array (problems, k, k), array (problems, k), array (problems,)
        c : float
        affine : bool
            True for weights that sum to one, False for weights of norm one.
        rho, eta : float
            Penalty parameter and step length.
        max_iter, tol : int, float
            Most iterations; a problem stops earlier when no residual and no change exceeds ``tol``; a negative one
            never stops it.
        start : array (3, problems, k)
            First values of w, xi and j.

        Returns
        -------
        weights : array (problems, k)
        n_iter : numpy.ndarray (problems,) of int
        """

    def nearest_semidefinite(self, gram: Array) -> Array:
        """Replace symmetric matrices, in place, by the nearest positive semidefinite ones (eq. 24).

        Parameters
        ----------
        gram : array (problems, m, m)

        Returns
        -------
        array (problems, m, m)
        """

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
        """Compute feasible, stationary coordinates (eq. 32-36).

        Parameters
        ----------
        weights, neighbors : array (b, n, k), array (b, n, k) of int
        c : float
        start : array (b, n, p)
        tol, max_iter : float, int
            Relative Riemannian gradient at which a block is done; most Newton steps.
        out : array (b, n, p)
            Receives the coordinates.
        results : numpy.ndarray (b, 4)
            Receives objective, stationarity, Hessian products and constraint violation.
        history : numpy.ndarray (b, steps, 2)
            Receives objective and stationarity by outer step, as many as fit.
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
        """Compute coordinates by the paper's iterations (eq. 37).

        Parameters
        ----------
        weights, neighbors : array (b, n, k), array (b, n, k) of int
        c : float
        rho, eta : float
            Penalty parameter and step length.
        max_iter, tol : int, float
            As for ``admm_weights``.
        published : bool
            Whether to use the gradient and the singular values n as the paper prints them.
        start : array (b, 3, n, p)
            First values of Y, V and J.
        out, results, history : array (b, n, p), numpy.ndarray (b, 4), numpy.ndarray (b, steps, 2)
            As for ``exact_embedding``, with iterations in place of Hessian products, and with objective and constraint
            violation by iteration.
        """

    def reconstruct(self, weights: Array, neighbors: Array, coordinates: Array) -> Array:
        """Compute the coordinates sum_r w_r y_r of images from those of their neighbours (eq. 38).

        Parameters
        ----------
        weights, neighbors : array (b, m, k), array (b, m, k) of int
        coordinates : array (b, n, p)
            Of the training images.

        Returns
        -------
        array (b, m, p)
        """

    def project_centred(self, values: Array, directions: np.ndarray) -> Array:
        """Multiply blocks, each less its mean, with directions.

        Parameters
        ----------
        values : array (b, n, q) of float32 or float64
        directions : numpy.ndarray (p, q)

        Returns
        -------
        array (b, n, p)
        """
