"""What all learners share: images in, rows of coordinates out, the map of whole images, and their saved state."""

from __future__ import annotations

import warnings
from dataclasses import asdict, is_dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from llise.engine.backend import as_input, namespace, to_numpy, working
from llise.manifold.blocks import BlockGrid
from llise.manifold.collection import images_at
from llise.manifold.image_map import ImageMap
from llise.manifold.inverse import images_of
from llise.manifold.neighborhoods import continuity, trustworthiness
from llise.manifold.notebook import InNotebooks
from llise.manifold.validation import check_integer, check_number

Array = Any
SMALLEST_RIDGE = 1e-6


class Learner(InNotebooks, TransformerMixin, BaseEstimator):
    """Base class of LLISE, LLE and their kernel forms.

    A subclass has the parameters ``n_components``, ``n_neighbors``, ``image_shape`` and ``ridge``, a method
    ``_fit(X)`` that sets ``embedding_`` (b, n, p), ``training_images_``, ``image_shape_`` and ``block_grid_``, and a
    method ``embed(X)`` that returns the coordinates (b, m, p) of new images.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import LLE
    >>> images = np.random.default_rng(0).random((9, 4, 5))
    >>> LLE(2, n_neighbors=3).fit_transform(images).shape
    (9, 2)
    """

    embedding_: Array
    training_images_: Array
    image_shape_: tuple[int, ...] | None

    def fit(self, X, y=None):
        """Learn the manifold of images.

        Parameters
        ----------
        X : array (n, h, w), (n, h, w, 3) or (n, h*w), or paths
            Training images, grey or in colour, or their pixels as rows; or a folder, a file or a list of them, which
            are read in grey.
        y : None
            Ignored.

        Returns
        -------
        Learner
            This learner, fitted.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import LLE
        >>> LLE(2, n_neighbors=3).fit(np.random.default_rng(0).random((9, 4, 5))).embedding_.shape
        (1, 9, 2)
        """
        self._fit(X)
        return self

    def fit_transform(self, X, y=None):
        """Learn the manifold and return the coordinates of the training images.

        Parameters
        ----------
        X : array (n, h, w), (n, h, w, 3) or (n, h*w), or paths
            Training images, grey or in colour, or their pixels as rows; or a folder, a file or a list of them, which
            are read in grey.
        y : None
            Ignored.

        Returns
        -------
        array (n, b*p)
            The p coordinates of each of the b blocks, block after block.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import LLE
        >>> LLE(2, n_neighbors=3).fit_transform(np.random.default_rng(0).random((9, 4, 5))).shape
        (9, 2)
        """
        self._fit(X)
        if getattr(self, "landmarks_", None) is not None:
            return self.transform(X)
        return self._rows(self.embedding_)

    def transform(self, X):
        """Coordinates of new images, each by linear reconstruction from its training neighbours.

        An image's result does not depend on the other images in the batch.

        Parameters
        ----------
        X : array (m, h, w), (m, h, w, 3) or (m, h*w), or paths
            Images of the size of the training images.

        Returns
        -------
        array (m, b*p)
            The p coordinates of each of the b blocks, block after block.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import LLE
        >>> images = np.random.default_rng(0).random((9, 4, 5))
        >>> learner = LLE(2, n_neighbors=3).fit(images)
        >>> bool(np.allclose(learner.transform(images[4:5]), learner.embedding_[0, 4]))
        True
        """
        return self._rows(self.embed(X))

    def inverse_transform(self, X):
        """Images that belong to coordinates, each block by the weights of its neighbours in the embedding.

        Coordinates of a training image give that image back, except blocks whose coordinates another one shares, such
        as those that differ in luminance alone with ``luminance=0``. Between the training images the result is their
        weighted mean with weights of unit sum (docs/math.md, eq. 42 to 45), which is not clipped to their range.

        Parameters
        ----------
        X : array (m, b*p)
            Coordinates as :meth:`transform` returns them.

        Returns
        -------
        array (m, h, w), (m, h, w, 3) or (m, h*w)
            Images; rows where `image_shape` is set or the training data were rows.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import LLE
        >>> images = np.random.default_rng(0).random((9, 4, 5))
        >>> learner = LLE(2, n_neighbors=3).fit(images)
        >>> bool(np.allclose(learner.inverse_transform(learner.transform(images[:2])), images[:2]))
        True
        """
        check_is_fitted(self, "embedding_")
        training, images = to_numpy(self.embedding_), working(self.training_images_)
        b, n, p = training.shape
        rows = check_array(to_numpy(X) if hasattr(X, "device") else X, dtype=[np.float64, np.float32])
        if rows.shape[1] != b * p:
            raise ValueError(
                f"X has {rows.shape[1]} columns, expected {b * p}: {p} coordinates of each of {b} blocks, as transform "
                "returns them."
            )
        grid = BlockGrid.of_images(images.shape[1:3], None if b == 1 else self.block_size)
        coordinates = rows.reshape(len(rows), b, p).swapaxes(0, 1)
        channels = [images] if images.ndim == 3 else [images[..., channel] for channel in range(3)]
        parts = [images_of(coordinates, training, part, grid, min(self.n_neighbors, n)) for part in channels]
        result = parts[0] if len(parts) == 1 else namespace(parts[0]).stack(parts, axis=-1)
        as_rows = self.image_shape is not None or self.image_shape_ is None
        return as_input(self.training_images_, result.reshape(len(rows), -1) if as_rows else result)

    def score(self, X, y=None):
        """How well the coordinates of images keep their neighbourhoods; a larger score is better.

        The mean of :func:`llise.trustworthiness` and :func:`llise.continuity` of the images and what
        :meth:`transform` makes of them, with Euclidean distances of whole images. It is meant for images that were
        not in the training, as in a search for `n_neighbors` and `n_components` with ``GridSearchCV``.

        Parameters
        ----------
        X : array (m, h, w) or (m, h*w)
            At least three images of the size of the training images.
        y : None
            Ignored.

        Returns
        -------
        float
            Between 0 and 1.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import LLE
        >>> images = np.random.default_rng(0).random((24, 4, 5))
        >>> 0 < LLE(2, n_neighbors=3).fit(images[:16]).score(images[16:]) < 1
        True
        """
        X = images_at(X)
        coordinates = self.transform(X)
        return 0.5 * (trustworthiness(X, coordinates) + continuity(X, coordinates))

    def image_map(self, X=None):
        """Positions of whole images in the plane.

        With several blocks, this is classical scaling of the squared distances summed over all of them.  The embedding
        of a block is defined up to a rotation only, but distances do not change with it.  Their squares, summed over
        the blocks, are the squared distances of the rows (n, b*p), so classical scaling to two dimensions is the PCA of
        the rows.  With one block all directions have the same variance; then it is the first two coordinates, which the
        neighbours reconstruct best.

        Parameters
        ----------
        X : array (m, h, w) or (m, h*w), optional
            New images to place in the map of the training images; None returns the training images' positions.

        Returns
        -------
        ndarray (m, 2)
            A single column where the coordinates have one dimension in all.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import LLE
        >>> images = np.random.default_rng(0).random((9, 4, 5))
        >>> learner = LLE(3, n_neighbors=3).fit(images)
        >>> learner.image_map().shape, learner.image_map(images[:1]).shape
        ((9, 2), (1, 2))
        """
        check_is_fitted(self, "embedding_")
        return self.place(self.embedding_ if X is None else self.embed(X))

    def place(self, coordinates):
        """Positions in the map of whole images from coordinates that are known already.

        Parameters
        ----------
        coordinates : array (b, m, p)
            Coordinates of all blocks of m images, as ``embed`` returns them.

        Returns
        -------
        ndarray (m, 2)
            As :meth:`image_map`.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import LLE
        >>> learner = LLE(3, n_neighbors=3).fit(np.random.default_rng(0).random((9, 4, 5)))
        >>> bool(np.allclose(learner.place(learner.embedding_[:, :2]), learner.image_map()[:2]))
        True
        """
        check_is_fitted(self, "embedding_")
        if not hasattr(self, "_map"):
            rows = to_numpy(self._rows(self.embedding_))
            self._map = ImageMap.of_rows(rows) if len(self.embedding_) > 1 else ImageMap.of_columns(rows)
        return self._map.place(to_numpy(self._rows(coordinates)))

    def to_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and settings from which :meth:`from_state` restores the fitted learner.

        Returns
        -------
        arrays : dict of str to ndarray
            The training images.
        settings : dict
            The parameters, and whether the images were passed as rows; JSON can hold it.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import LLE
        >>> arrays, settings = LLE(2, n_neighbors=3).fit(np.eye(6).reshape(6, 2, 3)).to_state()
        >>> list(arrays), settings["parameters"]["n_components"], settings["rows"]
        (['training_images'], 2, False)
        """
        check_is_fitted(self, "embedding_")
        parameters = {
            name: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
            for name, value in self.get_params(deep=False).items()
        }
        settings = {"parameters": parameters, "rows": self.image_shape_ is None}
        return {"training_images": to_numpy(self.training_images_)}, settings

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Self:
        """Restore a fitted learner by fitting it to its training images again.

        Parameters
        ----------
        arrays : dict of str to ndarray
            As :meth:`to_state` returned them.
        settings : dict
            As :meth:`to_state` returned them, or the same after a way through JSON.

        Returns
        -------
        Learner
            The fitted learner.

        Raises
        ------
        KeyError, ValueError
            Something is missing or does not belong together.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import LLE
        >>> learner = LLE(2, n_neighbors=3).fit(np.random.default_rng(0).random((9, 4, 5)))
        >>> restored = LLE.from_state(*learner.to_state())
        >>> bool((restored.embedding_ == learner.embedding_).all())
        True
        """
        return cls(**with_tuples(settings["parameters"])).fit(training_input(arrays, settings))

    def _ridge(self) -> float:
        """The checked ridge: neighbours are often duplicates, whose weights are not determined without one."""
        return check_number("ridge", self.ridge, SMALLEST_RIDGE)

    def _counts(self, n: int) -> tuple[int, int]:
        """k and p for n images: at most n - 1 neighbours, with a warning, and fewer coordinates than images."""
        p = check_integer("n_components", self.n_components, 1)
        k = check_integer("n_neighbors", self.n_neighbors, 1)
        if p >= n:
            raise ValueError(
                f"n_components={p} needs at least {p + 1} samples for coordinates of zero mean and unit covariance, "
                f"got n_samples={n}: use n_components={n - 1} or less."
            )
        if n <= k:
            warnings.warn(
                f"n_neighbors={k} needs more than n_samples={n} samples; {n - 1} neighbours are used.", stacklevel=5
            )
        return min(k, n - 1), p

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of :meth:`transform`: the block's row and column, and the number of the coordinate.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str (b*p,)
            Such as ``llise_row2_col0_3``; with one block, which is the whole image, such as ``llise3``.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import LLISE
        >>> images = np.random.default_rng(0).random((9, 8, 16))
        >>> LLISE(1, n_neighbors=3).fit(images).get_feature_names_out().tolist()
        ['llise_row0_col0_0', 'llise_row0_col1_0']
        """
        check_is_fitted(self, "embedding_")
        name, (rows, cols) = type(self).__name__.lower(), self.block_grid_
        p = self.embedding_.shape[-1]
        if rows * cols == 1:
            return np.array([f"{name}{i}" for i in range(p)], dtype=object)
        places = product(range(rows), range(cols), range(p))
        return np.array([f"{name}_row{row}_col{col}_{i}" for row, col, i in places], dtype=object)

    def _forget_map(self) -> None:
        """Drop the map of an earlier fit."""
        self.__dict__.pop("_map", None)

    def _rows(self, coordinates: Array) -> Array:
        """Coordinates (b, n, p) as rows (n, b*p)."""
        b, n, p = coordinates.shape
        return coordinates.swapaxes(0, 1).reshape(n, b * p)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def with_tuples(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that came from JSON with their lists as tuples, which is what parameters use."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}


def training_input(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> np.ndarray:
    """Training images of a saved state in the form in which they were passed to ``fit``."""
    images = arrays["training_images"]
    return images.reshape(len(images), -1) if settings["rows"] else images
