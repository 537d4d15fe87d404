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
    """

    embedding_: Array
    training_images_: Array
    image_shape_: tuple[int, ...] | None

    def fit(self, X, y=None):
        """Learn the manifold of images."""
        self._fit(X)
        return self

    def fit_transform(self, X, y=None):
        """Learn the manifold and return the coordinates of the training images."""
        self._fit(X)
        return self._rows(self.embedding_)

    def transform(self, X):
        """Coordinates of new images, each by linear reconstruction from its training neighbours."""
        return self._rows(self.embed(X))

    def inverse_transform(self, X):
        """Images that belong to coordinates, each block by the weights of its neighbours in the embedding."""
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
        """How well the coordinates of images keep their neighbourhoods; a larger score is better."""
        X = images_at(X)
        coordinates = self.transform(X)
        return 0.5 * (trustworthiness(X, coordinates) + continuity(X, coordinates))

    def image_map(self, X=None):
        """Positions of whole images in the plane."""
        check_is_fitted(self, "embedding_")
        return self.place(self.embedding_ if X is None else self.embed(X))

    def place(self, coordinates):
        """Positions in the map of whole images from coordinates that are known already."""
        check_is_fitted(self, "embedding_")
        if not hasattr(self, "_map"):
            rows = to_numpy(self._rows(self.embedding_))
            self._map = ImageMap.of_rows(rows) if len(self.embedding_) > 1 else ImageMap.of_columns(rows)
        return self._map.place(to_numpy(self._rows(coordinates)))

    def to_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and settings from which :meth:`from_state` restores the fitted learner."""
        check_is_fitted(self, "embedding_")
        parameters = {
            name: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
            for name, value in self.get_params(deep=False).items()
        }
        settings = {"parameters": parameters, "rows": self.image_shape_ is None}
        return {"training_images": to_numpy(self.training_images_)}, settings

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Self:
        """Restore a fitted learner by fitting it to its training images again."""
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
        """Names of the columns of :meth:`transform`: the block's row and column, and the number of the coordinate."""
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
