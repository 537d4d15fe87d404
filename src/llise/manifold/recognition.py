"""Coordinates -> which distortion: the class of the nearest training image at each block, and the blocks' votes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import confusion_matrix
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from llise.engine.backend import to_numpy
from llise.manifold.base import Learner
from llise.storage.registry import SAVABLE, savable_class

TIE = 1e-6  # coordinates have unit variance; distances that differ by less are counted as equal
BATCH = 64  # blocks whose distances are in memory at the same time


def nearest_labels(
    embedding: np.ndarray, codes: np.ndarray, n_classes: int, new: np.ndarray | None = None
) -> np.ndarray:
    """Class of the nearest training image at every block."""
    judged = embedding if new is None else new
    b, n, _ = embedding.shape
    one_hot = np.eye(n_classes, dtype=np.float32)[codes]
    labels = np.empty(judged.shape[:2], np.int16)
    for start in range(0, b, BATCH):
        part = slice(start, start + BATCH)
        distance = np.sqrt(squared_distances(judged[part], embedding[part]))
        if new is None:
            distance[:, np.arange(n), np.arange(n)] = np.inf
        tied = distance <= distance.min(axis=-1, keepdims=True) + TIE
        labels[part] = (tied.astype(np.float32) @ one_hot).argmax(axis=-1)
    return labels


def nearest_images(embedding: np.ndarray, new: np.ndarray, m: int) -> np.ndarray:
    """The training images nearest to each new image at every block."""
    indices = np.empty((*new.shape[:2], m), np.int16)
    for start in range(0, len(embedding), BATCH):
        part = slice(start, start + BATCH)
        distance = squared_distances(new[part], embedding[part])
        near = np.argpartition(distance, m - 1, axis=-1)[..., :m]
        order = np.argsort(np.take_along_axis(distance, near, axis=-1), axis=-1, kind="stable")
        indices[part] = np.take_along_axis(near, order, axis=-1)
    return indices


def squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances at every block, computed from differences."""
    total = np.zeros((a.shape[0], a.shape[1], b.shape[1]))
    for i in range(a.shape[-1]):
        total += (a[:, :, None, i] - b[:, None, :, i]) ** 2
    return total


def vote_shares(block_labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Share of the blocks that vote for each class."""
    b, m = block_labels.shape
    counts = np.zeros((m, n_classes))
    np.add.at(counts, (np.broadcast_to(np.arange(m), (b, m)), block_labels), 1)
    return counts / b


class DistortionRecognizer(ClassifierMixin, BaseEstimator):
    """The paper's recognition: nearest neighbour in each block's embedding, majority vote over the blocks.

    Parameters
    ----------
    manifold : LLISE, KernelLLISE, LLE, KernelLLE or None
        The learner; None is ``LLISE.as_in_paper()``.  It is cloned, not changed.

    Attributes
    ----------
    classes_ : ndarray (n_classes,)
        The distortions.
    manifold_ : Learner
        The fitted learner.
    leave_one_out_labels_ : ndarray (b, n)
        Class index of each block of the training images, each image classified by all others.
    leave_one_out_shares_ : ndarray (n, n_classes)
        Share of the blocks of each training image that vote for each class.
    confusion_ : ndarray (n_classes, n_classes)
        Training images by true class (rows) and class recognised by all others (columns).
    image_accuracy_, block_accuracy_ : float
        Share of training images and of their blocks that are recognised correctly.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import DistortionRecognizer, LLISE
    >>> rng = np.random.default_rng(0)
    >>> images = np.concatenate([0.3 * rng.random((5, 8, 8)), 1 - 0.3 * rng.random((5, 8, 8))])
    >>> recognizer = DistortionRecognizer(LLISE(2, n_neighbors=3, luminance=0.5))
    >>> recognizer = recognizer.fit(images, ["dark"] * 5 + ["bright"] * 5)
    >>> recognizer.predict(images[[0, 9]]).tolist()
    ['dark', 'bright']
    """

    def __init__(self, manifold=None):
        self.manifold = manifold

    def fit(self, X, y):
        """Learn the manifold of images, and classify each of them by all others.

        Parameters
        ----------
        X : array (n, h, w) or (n, h*w)
            Training images.
        y : array (n,)
            Their distortions.

        Returns
        -------
        DistortionRecognizer
            This recognizer, fitted.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import DistortionRecognizer, LLISE
        >>> images = np.random.default_rng(0).random((6, 8, 8))
        >>> DistortionRecognizer(LLISE(2, n_neighbors=3)).fit(images, list("aabbcc")).classes_.tolist()
        ['a', 'b', 'c']
        """
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        manifold = self._learner().fit(X)
        chosen = getattr(manifold, "landmarks_", None)
        return self._store(manifold, codes if chosen is None else codes[chosen])

    def predict(self, X):
        """The distortion that gets most votes for each image, by its out-of-sample embedding.

        Parameters
        ----------
        X : array (m, h, w) or (m, h*w)
            Images of the size of the training images.

        Returns
        -------
        ndarray (m,)

        Examples
        --------
        >>> import numpy as np
        >>> from llise import DistortionRecognizer, LLISE
        >>> images = np.random.default_rng(0).random((6, 8, 8))
        >>> DistortionRecognizer(LLISE(2, n_neighbors=3)).fit(images, list("aabbcc")).predict(images).tolist()
        ['a', 'a', 'b', 'b', 'c', 'c']
        """
        shares = self.predict_shares(X)
        return self.classes_[shares.argmax(axis=1)]

    def predict_shares(self, X):
        """Share of the blocks that vote for each distortion.

        Parameters
        ----------
        X : array (m, h, w) or (m, h*w)
            Images of the size of the training images.

        Returns
        -------
        ndarray (m, n_classes)
            In the order of ``classes_``.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import DistortionRecognizer, LLISE
        >>> images = np.random.default_rng(0).random((4, 8, 8))
        >>> DistortionRecognizer(LLISE(2, n_neighbors=3)).fit(images, list("aabb")).predict_shares(images[:1]).tolist()
        [[1.0, 0.0]]
        """
        check_is_fitted(self, "manifold_")
        return vote_shares(self._block_codes(X), len(self.classes_))

    def block_labels(self, X):
        """Maps of the distortion of each block.

        Parameters
        ----------
        X : array (m, h, w) or (m, h*w)
            Images of the size of the training images.

        Returns
        -------
        ndarray (m, rows, cols)

        Examples
        --------
        >>> import numpy as np
        >>> from llise import DistortionRecognizer, LLISE
        >>> images = np.random.default_rng(0).random((4, 8, 16))
        >>> DistortionRecognizer(LLISE(2, n_neighbors=3)).fit(images, list("aabb")).block_labels(images[3:]).tolist()
        [[['b', 'b']]]
        """
        check_is_fitted(self, "manifold_")
        codes = self._block_codes(X)
        return self.classes_[codes.T.reshape(-1, *self.manifold_.block_grid_)]

    def to_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and settings from which :meth:`from_state` restores the fitted recognizer.

        Returns
        -------
        arrays : dict of str to ndarray
            The learner's arrays, and ``codes``, the class of each training image.
        settings : dict
            The classes, and the learner's class and settings; JSON can hold it.

        Raises
        ------
        ValueError
            The learner is of a class that cannot be saved.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import DistortionRecognizer, LLE
        >>> images = np.random.default_rng(0).random((6, 8, 8))
        >>> arrays, settings = DistortionRecognizer(LLE(2, n_neighbors=3)).fit(images, list("aabbcc")).to_state()
        >>> arrays["codes"].tolist(), settings["classes"], settings["manifold"]["class"]
        ([0, 0, 1, 1, 2, 2], ['a', 'b', 'c'], 'LLE')
        """
        check_is_fitted(self, "manifold_")
        name = type(self.manifold_).__name__
        if name not in SAVABLE:
            raise ValueError(f"a recognizer with a manifold of class {name} cannot be saved; use a learner of llise")
        arrays, settings = self.manifold_.to_state()
        manifold = {"class": name, "given": self.manifold is not None, **settings}
        return {**arrays, "codes": self._codes}, {"classes": self.classes_.tolist(), "manifold": manifold}

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Self:
        """Restore a fitted recognizer.

        Parameters
        ----------
        arrays : dict of str to ndarray
            As :meth:`to_state` returned them.
        settings : dict
            As :meth:`to_state` returned them, or the same after a way through JSON.

        Returns
        -------
        DistortionRecognizer
            The fitted recognizer.

        Raises
        ------
        KeyError, ValueError
            Something is missing or does not belong together.

        Examples
        --------
        >>> import numpy as np
        >>> from llise import DistortionRecognizer, LLE
        >>> images = np.random.default_rng(0).random((6, 8, 8))
        >>> recognizer = DistortionRecognizer(LLE(2, n_neighbors=3)).fit(images, list("aabbcc"))
        >>> DistortionRecognizer.from_state(*recognizer.to_state()).predict(images[:1]).tolist()
        ['a']
        """
        saved = settings["manifold"]
        learner: Any = savable_class(saved["class"])
        if not issubclass(learner, Learner):
            raise ValueError(f"its manifold is a {saved['class']}, expected a learner such as LLISE")
        manifold = learner.from_state(arrays, saved)
        classes, codes = np.array(settings["classes"]), arrays["codes"]
        if codes.shape != (len(manifold.training_images_),) or not np.isin(codes, np.arange(len(classes))).all():
            raise ValueError(f"codes of shape {codes.shape} do not name a class for each image")
        recognizer = cls(clone(manifold) if saved["given"] else None)
        recognizer.classes_ = classes
        return recognizer._store(manifold, codes)

    def _store(self, manifold: Any, codes: np.ndarray) -> Self:
        """Take the fitted learner and the classes of its images, and classify each image by all others."""
        self.manifold_, self._codes = manifold, codes
        self.n_features_in_ = manifold.n_features_in_
        n_classes = len(self.classes_)
        labels = nearest_labels(to_numpy(manifold.embedding_), codes, n_classes)
        self.leave_one_out_labels_ = labels
        self.leave_one_out_shares_ = vote_shares(labels, n_classes)
        recognised = self.leave_one_out_shares_.argmax(axis=1)
        self.confusion_ = confusion_matrix(codes, recognised, labels=np.arange(n_classes))
        self.image_accuracy_ = float((recognised == codes).mean())
        self.block_accuracy_ = float((labels == codes).mean())
        return self

    def _block_codes(self, X) -> np.ndarray:
        """Class index of each block (b, m)."""
        embedding = to_numpy(self.manifold_.embedding_)
        new = to_numpy(self.manifold_.embed(X))
        return nearest_labels(embedding, self._codes, len(self.classes_), new)

    def _learner(self) -> Any:
        if self.manifold is not None:
            return clone(self.manifold)
        from llise.manifold.estimators import LLISE

        return LLISE.as_in_paper()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
