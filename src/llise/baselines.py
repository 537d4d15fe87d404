"""LLE and kernel LLE of whole images, the baselines that the paper compares with: thin over scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.utils.validation import check_is_fitted

from llise.estimators import Learner, twins_of
from llise.gram import Kernel, refuse_unnormalisable
from llise.validation import as_images, grey_range

Array = Any


class LLE(Learner):
    r"""Locally linear embedding of whole images: the baseline of the paper, thin over scikit-learn's.

    LLE sees images only through their inner products, so it runs on the exact finite features of the Gram matrix
    (n values an image instead of h*w).  Coordinates have unit covariance, :math:`Y'Y = nI`, as in the paper.  A
    new image is reconstructed by its training neighbours; one that equals a training image takes its place.

    Parameters
    ----------
    n_components : int, default 4
    n_neighbors : int, default 10
    image_shape : (int, int), optional
    ridge : float, default 1e-3
        scikit-learn's ``reg``; at least 1e-6.

    Attributes
    ----------
    embedding_ : array (1, n, p)
        One block, the whole image.
    reconstruction_error_ : float
    """

    def __init__(self, n_components=4, *, n_neighbors=10, image_shape=None, ridge=1e-3):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.image_shape = image_shape
        self.ridge = ridge

    block_size = 1  # whole images: any size will do

    def _kernel(self) -> Kernel:
        return Kernel("linear")

    def _scale(self, images: Array) -> float:
        return 1.0  # LLE does not depend on the scale of the grey values

    def _fit(self, X) -> None:
        images, _ = as_images(self, X, reset=True)
        n = images.shape[0]
        k, p = self._counts(n)
        self._scale_ = self._scale(images)
        self.training_images_ = images
        self._features_ = _Features(self._kernel().resolved(images[0].size), images, self._scale_, p)
        lle = LocallyLinearEmbedding(n_neighbors=k, n_components=p, reg=self._ridge(), eigen_solver="dense")
        coordinates = lle.fit_transform(self._features_.training) * np.sqrt(n)
        self._lle_ = lle
        self.embedding_: Array = _signed(coordinates)[None].astype(_float_of(images), copy=False)
        lle.embedding_ = self.embedding_[0]
        self.reconstruction_error_ = float(lle.reconstruction_error_)
        self.block_grid_ = (1, 1)
        self.__dict__.pop("_map", None)

    def embed(self, X):
        """Coordinates (1, m, p) of new images."""
        check_is_fitted(self, "embedding_")
        images, _ = as_images(self, X, reset=False)
        coordinates = self._lle_.transform(self._features_.of_new(images))
        twins = twins_of(images, self.training_images_)
        coordinates[twins >= 0] = self.embedding_[0, twins[twins >= 0]]
        return coordinates[None].astype(_float_of(images), copy=False)


class KernelLLE(LLE):
    """Kernel LLE of whole images: :class:`LLE` on the kernel's exact finite features.

    Parameters
    ----------
    kernel, gamma, degree, coef0
        As in :class:`KernelLLISE`, between whole images scaled to [0, 1]; gamma None is 1/(h*w).
    data_range : float, optional
    n_components, n_neighbors, image_shape, ridge
        As in :class:`LLE`.
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
    ):
        super().__init__(n_components, n_neighbors=n_neighbors, image_shape=image_shape, ridge=ridge)
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
    """Exact finite features of a kernel on n whole images: K = F F', found by one eigen-decomposition of (n, n).

    Directions of negative eigenvalues (indefinite kernels) are left out: the nearest positive semidefinite Gram
    matrix.  A new image has one more feature, its distance from the training images' span.  Zeros fill up to
    ``width`` features: scikit-learn's LLE wants no fewer of them than coordinates.
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
        kept = spectrum > 1e-13 * max(spectrum[-1], 0.0)
        self.axes = vectors[:, kept] / np.sqrt(spectrum[kept])
        self.spare = max(width - int(kept.sum()), 1)
        self.training = np.hstack([vectors[:, kept] * np.sqrt(spectrum[kept]), np.zeros((len(values), self.spare))])

    def of_new(self, images: np.ndarray) -> np.ndarray:
        rows = images.reshape(images.shape[0], -1)
        own = self._own(rows)
        values = self._values(rows, self.rows) / self._normaliser(own, self.norms)
        own = own / self._normaliser(own, own)[np.arange(len(own)), np.arange(len(own))]
        means = values.mean(axis=1)
        centred = values - means[:, None] - self.means[None, :] + self.means.mean()
        inside = centred @ self.axes
        outside = own - 2 * means + self.means.mean() - (inside**2).sum(axis=1)
        none = np.zeros((len(rows), self.spare - 1))
        return np.column_stack([inside, np.sqrt(np.maximum(outside, 0)), none])

    def _own(self, rows: np.ndarray) -> np.ndarray:
        """k(x, x) of each row."""
        if callable(self.kernel.name):
            return np.array([self._values(row[None], row[None])[0, 0] for row in rows])
        squares = _squared_norms(rows) * self.scale**2
        return self.kernel.of_products(squares, squares, squares)

    def _normaliser(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if self.kernel.is_linear:
            return np.ones((len(a), len(b)))
        refuse_unnormalisable(np.concatenate([a, b]), self.kernel)
        return np.sqrt(np.outer(a, b))

    def _values(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if callable(self.kernel.name):
            return self.kernel.of_blocks(x * self.scale, y * self.scale)
        squares = [_squared_norms(z) for z in (x, y)]
        products, norms_x, norms_y = (v * self.scale**2 for v in (_inner_products(x, y), *squares))
        return self.kernel.of_products(products, norms_x[:, None], norms_y[None, :])


def _inner_products(x: np.ndarray, y: np.ndarray, step: int = 65536) -> np.ndarray:
    """x y' in float64, some columns at a time: the images are never held as floats all at once."""
    total = np.zeros((len(x), len(y)))
    for start in range(0, x.shape[1], step):
        part = slice(start, start + step)
        total += x[:, part].astype(np.float64) @ y[:, part].astype(np.float64).T
    return total


def _squared_norms(x: np.ndarray) -> np.ndarray:
    return np.array([np.einsum("i,i", row, row, dtype=np.float64) for row in x])


def _signed(coordinates: np.ndarray) -> np.ndarray:
    """Eigenvectors have no sign of their own: skewed upwards, as the block embeddings are."""
    return coordinates * np.where((coordinates**3).sum(axis=0) < 0, -1.0, 1.0)


def _float_of(images: np.ndarray) -> type:
    return np.float32 if images.dtype == np.float32 else np.float64
