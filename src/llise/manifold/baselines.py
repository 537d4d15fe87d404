"""LLE and kernel LLE of whole images, the baselines that the paper compares with, built on scikit-learn's LLE."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.utils.validation import check_is_fitted

from llise.engine.backend import to_numpy
from llise.engine.tasks import interruptible
from llise.manifold.base import Learner
from llise.manifold.duplicates import identical_training_image
from llise.manifold.gram import Kernel, refuse_unnormalisable
from llise.manifold.planes import check_weights, weighted_planes
from llise.manifold.validation import as_images, grey_range

Array = Any
MOST_IMAGES = 10_000  # a matrix of all pairs takes 800 MB


class LLE(Learner):
    r"""Locally linear embedding of whole images, the baseline of the paper.

    LLE uses images only through their inner products, so :class:`sklearn.manifold.LocallyLinearEmbedding` runs on the
    exact finite features of the Gram matrix (n values per image instead of h*w).  Coordinates have unit covariance,
    :math:`Y'Y = nI`, as in the paper.  A new image is reconstructed from its training neighbours; one that is identical
    to a training image gets that image's coordinates.

    Parameters
    ----------
    n_components : int, default 4
        Number p of coordinates; less than the number of images.
    n_neighbors : int, default 10
        Number k of neighbours; at most n - 1 of n images are used (with a warning).
    image_shape : tuple of int, optional
        Height and width of images passed as rows (n, h*w), and 3 for colour.
    ridge : float, default 1e-3
        scikit-learn's ``reg``; at least 1e-6.
    plane_weights : (float, float, float), default (1, 1, 1)
        Weights of luma and the two chroma planes in inner products of colour images.

    Attributes
    ----------
    embedding_ : array (1, n, p)
        Coordinates; the whole image is one block.
    reconstruction_error_ : float
        As scikit-learn's.
    block_grid_ : (int, int)
        (1, 1).
    training_images_ : array (n, h, w) or (n, h, w, 3)
        The images passed to ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import LLE
    >>> learner = LLE(2, n_neighbors=3).fit(np.random.default_rng(0).random((9, 4, 5)))
    >>> learner.embedding_.shape
    (1, 9, 2)
    """

    def __init__(self, n_components=4, *, n_neighbors=10, image_shape=None, ridge=1e-3, plane_weights=(1.0, 1.0, 1.0)):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.image_shape = image_shape
        self.ridge = ridge
        self.plane_weights = plane_weights

    block_size = 1  # whole images: no size is too small

    def embed(self, X):
        """Coordinates of new images.

        Parameters
        ----------
        X : array (m, h, w), (m, h, w, 3) or (m, h*w)
            Images of the size of the training images.

        Returns
        -------
        array (1, m, p)

        Examples
        --------
        >>> import numpy as np
        >>> from llise import LLE
        >>> images = np.random.default_rng(0).random((9, 4, 5))
        >>> LLE(2, n_neighbors=3).fit(images).embed(images[:3]).shape
        (1, 3, 2)
        """
        check_is_fitted(self, "embedding_")
        images = to_numpy(as_images(self, X, reset=False)[0])
        coordinates = self._lle_.transform(self._features_.of_new(self._planes(images)))
        identical = identical_training_image(images, self.training_images_)
        coordinates[identical >= 0] = self.embedding_[0, identical[identical >= 0]]
        return coordinates[None].astype(_float_of(images), copy=False)

    def _fit(self, X) -> None:
        images = to_numpy(as_images(self, X, reset=True)[0])
        n = images.shape[0]
        if n > MOST_IMAGES:
            raise ValueError(
                f"n_samples={n} images are more than {MOST_IMAGES}: LLE compares every pair of whole images; use fewer "
                "images, or LLISE."
            )
        k, p = self._counts(n)
        self.training_images_ = images
        kernel = self._kernel().resolved(images[0].size)
        self._features_ = interruptible(_Features, kernel, self._planes(images), self._scale(images), p)
        lle = LocallyLinearEmbedding(n_neighbors=k, n_components=p, reg=self._ridge(), eigen_solver="dense")
        coordinates = interruptible(lle.fit_transform, self._features_.training) * np.sqrt(n)
        self._lle_ = lle
        self.embedding_ = _signed(coordinates)[None].astype(_float_of(images), copy=False)
        lle.embedding_ = self.embedding_[0]
        self.reconstruction_error_ = float(lle.reconstruction_error_)
        self.block_grid_ = (1, 1)
        self._forget_map()

    def _planes(self, images: Array) -> Array:
        """Grey images as they are; luma and chroma of colour images."""
        return images if images.ndim == 3 else weighted_planes(images, check_weights(self.plane_weights))

    def _kernel(self) -> Kernel:
        return Kernel("linear")

    def _scale(self, images: Array) -> float:
        """Factor by which grey values are multiplied; LLE does not depend on it."""
        return 1.0


class KernelLLE(LLE):
    """Kernel LLE of whole images: :class:`LLE` on the kernel's exact finite features.

    Parameters
    ----------
    n_components : int, default 4
        As in :class:`LLE`.
    kernel, gamma, degree, coef0
        As in :class:`KernelLLISE`, between whole images scaled to [0, 1]; ``gamma=None`` is 1/(h*w).
    n_neighbors, image_shape
        As in :class:`LLE`.
    data_range : float, optional
        As in :class:`LLISE`.
    ridge : float, default 1e-3
        As in :class:`LLE`.
    plane_weights : (float, float, float), default (1, 1, 1)
        As in :class:`LLE`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import KernelLLE
    >>> KernelLLE(2, kernel="poly", n_neighbors=3).fit_transform(np.random.default_rng(0).random((9, 4, 5))).shape
    (9, 2)
    """

    def __init__(
        self,
        n_components=4,
        *,
        kernel="rbf",
        gamma=None,
        degree=3,
        coef0=1,
        n_neighbors=10,
        image_shape=None,
        data_range=None,
        ridge=1e-3,
        plane_weights=(1.0, 1.0, 1.0),
    ):
        super().__init__(
            n_components, n_neighbors=n_neighbors, image_shape=image_shape, ridge=ridge, plane_weights=plane_weights
        )
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.data_range = data_range

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self.gamma, self.degree, self.coef0)

    def _scale(self, images: Array) -> float:
        self.data_range_ = grey_range(images, self.data_range, rows=self.image_shape_ is None)
        return 1.0 / self.data_range_


class _Features:
    """Exact finite features F of a kernel on n whole images, K = F F', by one eigen-decomposition of K (n, n).

    Directions of negative eigenvalues (indefinite kernels) are left out, which gives the nearest positive
    semidefinite Gram matrix.  A new image has one more feature, its distance from the span of the training images.
    Columns of zeros are appended up to ``width`` features, because scikit-learn's LLE needs at least as many features
    as coordinates.
    """

    def __init__(self, kernel: Kernel, images: np.ndarray, scale: float, width: int) -> None:
        self.kernel, self.scale = kernel, scale
        self.rows = images.reshape(images.shape[0], -1)
        values = self._values(self.rows, self.rows)
        self.norms = np.diagonal(values).copy()
        values = values / self._normaliser(self.norms, self.norms)
        self.means = values.mean(axis=1)
        values = values - self.means[:, None] - self.means[None, :] + self.means.mean()
        spectrum, vectors = np.linalg.eigh(values)
        positive = spectrum > 1e-13 * max(spectrum[-1], 0.0)
        self.axes = vectors[:, positive] / np.sqrt(spectrum[positive])
        self.n_appended = max(width - int(positive.sum()), 1)
        zeros = np.zeros((len(values), self.n_appended))
        self.training = np.hstack([vectors[:, positive] * np.sqrt(spectrum[positive]), zeros])

    def of_new(self, images: np.ndarray) -> np.ndarray:
        """Features of new images, in the columns of ``training``."""
        rows = images.reshape(images.shape[0], -1)
        norms = self._norms_of(rows)
        values = self._values(rows, self.rows) / self._normaliser(norms, self.norms)
        norms = norms / self._normaliser(norms, norms)[np.arange(len(norms)), np.arange(len(norms))]
        means = values.mean(axis=1)
        centred = values - means[:, None] - self.means[None, :] + self.means.mean()
        in_span = centred @ self.axes
        squared_distance = norms - 2 * means + self.means.mean() - (in_span**2).sum(axis=1)
        zeros = np.zeros((len(rows), self.n_appended - 1))
        return np.column_stack([in_span, np.sqrt(np.maximum(squared_distance, 0)), zeros])

    def _norms_of(self, rows: np.ndarray) -> np.ndarray:
        """k(x, x) of each row."""
        if callable(self.kernel.name):
            return np.array([self._values(row[None], row[None])[0, 0] for row in rows])
        squares = _squared_norms(rows) * self.scale**2
        return self.kernel.of_products(squares, squares, squares)

    def _normaliser(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """What kernel values are divided by, from k(x, x) of both sides; ones for the linear kernel."""
        if self.kernel.is_linear:
            return np.ones((len(a), len(b)))
        refuse_unnormalisable(np.concatenate([a, b]), self.kernel)
        return np.sqrt(np.outer(a, b))

    def _values(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Kernel values (m, n) of rows x (m, q) and y (n, q)."""
        if callable(self.kernel.name):
            return self.kernel.of_blocks(x * self.scale, y * self.scale)
        squares = [_squared_norms(z) for z in (x, y)]
        products, norms_x, norms_y = (v * self.scale**2 for v in (_inner_products(x, y), *squares))
        return self.kernel.of_products(products, norms_x[:, None], norms_y[None, :])


def _inner_products(x: np.ndarray, y: np.ndarray, step: int = 65536) -> np.ndarray:
    """x y' in float64, some columns at a time, so that the images are never all in memory as floats."""
    total = np.zeros((len(x), len(y)))
    for start in range(0, x.shape[1], step):
        part = slice(start, start + step)
        total += x[:, part].astype(np.float64) @ y[:, part].astype(np.float64).T
    return total


def _squared_norms(x: np.ndarray) -> np.ndarray:
    return np.array([np.einsum("i,i", row, row, dtype=np.float64) for row in x])


def _signed(coordinates: np.ndarray) -> np.ndarray:
    """Coordinates with the sign chosen so that the third moment is positive, as for the block embeddings."""
    return coordinates * np.where((coordinates**3).sum(axis=0) < 0, -1.0, 1.0)


def _float_of(images: np.ndarray) -> type:
    return np.float32 if images.dtype == np.float32 else np.float64
