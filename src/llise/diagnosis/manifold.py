"""The manifold of one reference: its training images, where a copy lies among them, and which are nearest.

Nothing of it is needed for a verdict.  It is learned where it is asked for: by the report, by ``llise fit`` and by
``llise diagnose --manifold``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from llise import datasets
from llise.labels import LABELS
from llise.manifold.recognition import nearest_images
from llise.manifold.validation import check_integer

N_NEAREST = 3
"""Nearest training images that are reported for each block."""


class ReferenceManifold:
    """Training images of one reference, embedded block by block with LLISE.

    Parameters
    ----------
    n_components, n_neighbors, luminance
        Of the learner, see :class:`llise.LLISE`.
    random_state : int
        Seed for the training images.
    n_jobs : int or None
        Threads, as joblib counts them; results do not depend on it.

    Attributes
    ----------
    training_labels : list of str
        Labels of the training images.
    training_mse : ndarray, shape (n,)
        Their errors.
    map_positions : ndarray, shape (n, 2)
        Their places in the map of whole images.

    Examples
    --------
    >>> from llise import datasets
    >>> from llise.diagnosis.manifold import ReferenceManifold
    >>> reference = datasets.reference()[200:232, 200:232]
    >>> manifold = ReferenceManifold().fit(reference)
    >>> nearest, position = manifold.place(reference)
    >>> nearest.shape, position.shape
    ((4, 4, 3), (2,))
    """

    def __init__(
        self,
        *,
        n_components: int = 8,
        n_neighbors: int = 20,
        luminance: float = 0.5,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.luminance = luminance
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, reference: np.ndarray, progress: Callable[..., Iterable[Any]] | None = None) -> ReferenceManifold:
        """Make the training images of a reference and learn their manifold.

        Parameters
        ----------
        reference : ndarray of uint8, shape (h, w)
            The reference.
        progress : callable, optional
            Wraps an iterable given its ``total``, as ``tqdm`` does.

        Returns
        -------
        ReferenceManifold
            This object.

        Examples
        --------
        >>> from llise import datasets
        >>> from llise.diagnosis.manifold import ReferenceManifold
        >>> len(ReferenceManifold().fit(datasets.reference()[200:232, 200:232]).training_labels)
        121
        """
        images = datasets.training_set(
            reference,
            direction="both",
            beyond_reach="respace",
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            warn=False,  # a kind that cannot reach the paper's errors gets smaller ones: the user need not know
        )
        self._use(self._learner().fit(images.images), images.labels.tolist(), images.mse)
        return self

    def place(self, image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where a copy lies.

        Parameters
        ----------
        image : ndarray of uint8, shape (h, w)
            A copy of the reference.

        Returns
        -------
        nearest : ndarray of int16, shape (rows, cols, m)
            Training images nearest to each block in the embedding, nearest first.
        position : ndarray of float, shape (2,)
            Place in the map of whole images.

        Examples
        --------
        >>> from llise import datasets
        >>> from llise.diagnosis.manifold import ReferenceManifold
        >>> reference = datasets.reference()[200:232, 200:232]
        >>> ReferenceManifold().fit(reference).place(reference)[0].shape
        (4, 4, 3)
        """
        self._check_fitted()
        coordinates = self.learner_.embed(image[None])
        nearest = nearest_images(self.learner_.embedding_, coordinates, N_NEAREST)[:, 0]
        return nearest.reshape(*self.learner_.block_grid_, -1), self.learner_.place(coordinates)[0]

    def to_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return plain arrays, and settings that JSON can hold, from which :meth:`from_state` restores the manifold.

        Returns
        -------
        arrays : dict of str to ndarray
            Training images, their errors and their coordinates in single precision.
        settings : dict
            Parameters, labels and those of the learner.
        """
        self._check_fitted()
        arrays, settings = self.learner_.to_state()
        arrays = {
            name: values for name, values in arrays.items() if name in ("training_images", "coordinates", "level")
        }
        arrays["coordinates"] = arrays["coordinates"].astype(np.float32)
        return arrays | {"training_mse": self.training_mse}, {
            "learner": {**settings, "measured": False},
            "training_labels": self.training_labels,
            "random_state": self.random_state,
        }

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> ReferenceManifold:
        """Restore a manifold without learning it again.

        Parameters
        ----------
        arrays : dict of str to ndarray
            As :meth:`to_state` returned them.
        settings : dict
            As :meth:`to_state` returned them.

        Returns
        -------
        ReferenceManifold
            The manifold.

        Raises
        ------
        KeyError, ValueError
            Something is missing or does not belong together.
        """
        from llise.manifold.base import with_tuples
        from llise.manifold.estimators import LLISE

        parameters = with_tuples(settings["learner"]["parameters"])
        model = cls(
            n_components=parameters["n_components"],
            n_neighbors=parameters["n_neighbors"],
            luminance=parameters["luminance"],
            random_state=check_integer("random_state", settings["random_state"], 0, 2**32 - 1),
            n_jobs=parameters["n_jobs"],
        )
        if parameters != model._learner().get_params():
            raise ValueError("its learner has other settings than the manifold of a reference")
        labels, errors = list(settings["training_labels"]), arrays["training_mse"]
        n = len(arrays["training_images"])
        if len(labels) != n or errors.shape != (n,) or not (np.isfinite(errors) & (errors >= 0)).all():
            raise ValueError(f"{len(labels)} labels and errors of shape {errors.shape} for {n} training images")
        if not set(labels) <= set(LABELS):
            raise ValueError(f"labels are {sorted(set(labels))}, expected some of {LABELS}")
        restored = {**arrays, "coordinates": arrays["coordinates"].astype(np.float64)}
        model._use(LLISE.from_state(restored, settings["learner"]), labels, errors)
        return model

    def _use(self, learner: Any, labels: list[str], errors: np.ndarray) -> None:
        self.learner_ = learner
        self.training_labels, self.training_mse = labels, errors
        self.map_positions = learner.image_map()

    def _check_fitted(self) -> None:
        if not hasattr(self, "learner_"):
            raise NotFittedError("this ReferenceManifold is not fitted; call fit with the reference first")

    def _learner(self) -> Any:
        from llise.manifold.estimators import LLISE

        return LLISE(
            self.n_components,
            n_neighbors=self.n_neighbors,
            constraint="affine",
            luminance=self.luminance,
            ridge=0.01,
            store_weights=False,
            n_jobs=self.n_jobs,
        )
