"""Coordinates -> which distortion: the nearest class in each block's embedding, votes, maps."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import confusion_matrix
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from llise.engine.backend import to_numpy

TIE = 1e-6  # coordinates have unit variance: distances that differ by less are equal


def nearest_labels(
    embedding: np.ndarray, codes: np.ndarray, n_classes: int, new: np.ndarray | None = None
) -> np.ndarray:
    """Class of the nearest training image at every block (b, m), 1-NN in the embedding.

    Blocks that a distortion leaves unchanged are duplicates and lie in the same place, so ties are the rule, not
    the exception: among training images equally near (up to rounding) the most frequent class wins, then the
    first.

    Parameters
    ----------
    embedding : array (b, n, p)
        Training coordinates.
    codes : int array (n,)
        Their classes.
    n_classes : int
    new : array (b, m, p), optional
        Coordinates to judge; None judges the training images, each with itself left out.
    """
    own = new is None
    b, n, _ = embedding.shape
    judged = embedding if new is None else new
    one_hot = np.eye(n_classes, dtype=np.float32)[codes]
    out = np.empty(judged.shape[:2], np.int16)
    for start in range(0, b, 64):
        part = slice(start, start + 64)
        distance = np.sqrt(_squared_distances(judged[part], embedding[part]))
        if own:
            distance[:, np.arange(n), np.arange(n)] = np.inf
        tied = distance <= distance.min(axis=-1, keepdims=True) + TIE
        out[part] = (tied.astype(np.float32) @ one_hot).argmax(axis=-1)
    return out


def nearest_images(embedding: np.ndarray, new: np.ndarray, m: int) -> np.ndarray:
    """The m training images nearest to each new image at every block (b, images, m), nearest first."""
    out = np.empty((*new.shape[:2], m), np.int16)
    for start in range(0, len(embedding), 64):
        part = slice(start, start + 64)
        distance = _squared_distances(new[part], embedding[part])
        near = np.argpartition(distance, m - 1, axis=-1)[..., :m]
        order = np.argsort(np.take_along_axis(distance, near, axis=-1), axis=-1, kind="stable")
        out[part] = np.take_along_axis(near, order, axis=-1)
    return out


def _squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(b, m, n) squared distances, by differences: products would lose the ties to rounding."""
    total = np.zeros((a.shape[0], a.shape[1], b.shape[1]))
    for i in range(a.shape[-1]):
        total += (a[:, :, None, i] - b[:, None, :, i]) ** 2
    return total


def vote_shares(block_labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Share of the blocks that vote for each class (m, n_classes) from block labels (b, m)."""
    b, m = block_labels.shape
    counts = np.zeros((m, n_classes))
    np.add.at(counts, (np.broadcast_to(np.arange(m), (b, m)), block_labels), 1)
    return counts / b


class DistortionRecognizer(ClassifierMixin, BaseEstimator):
    """The paper's recognition: 1-nearest neighbour in each block's embedding, majority vote over the blocks.

    Parameters
    ----------
    manifold : LLISE, KernelLLISE, LLE, KernelLLE or None
        The learner; None is ``LLISE()``.  It is cloned, not changed.

    Attributes
    ----------
    classes_ : array
    manifold_ : the fitted learner
    leave_one_out_labels_ : array (b, n)
        Class index of each training block, judged by the other images.
    leave_one_out_shares_ : array (n, n_classes)
    confusion_ : array (n_classes, n_classes)
        Training images judged leave-one-out: rows true, columns recognised.
    image_accuracy_, block_accuracy_ : float
        Shares judged right, leave-one-out.
    """

    def __init__(self, manifold=None):
        self.manifold = manifold

    def fit(self, X, y):
        """Learn the manifold of images X (n, h, w), or rows, with distortions y (n,), and judge them."""
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        self.classes_, self._codes = np.unique(y, return_inverse=True)
        self.manifold_ = self._learner().fit(X)
        self.n_features_in_ = self.manifold_.n_features_in_
        self._judge_training()
        return self

    def predict(self, X):
        """The distortion with most votes of each image, by its out-of-sample embedding."""
        shares = self.predict_shares(X)
        return self.classes_[shares.argmax(axis=1)]

    def predict_shares(self, X):
        """Shares of votes (m, n_classes), in the order of ``classes_``."""
        check_is_fitted(self, "manifold_")
        return vote_shares(self._block_codes(X), len(self.classes_))

    def block_labels(self, X):
        """Maps (m, rows, cols) of the distortion of each block."""
        check_is_fitted(self, "manifold_")
        codes = self._block_codes(X)
        return self.classes_[codes.T.reshape(-1, *self.manifold_.block_grid_)]

    def _block_codes(self, X) -> np.ndarray:
        embedding = to_numpy(self.manifold_.embedding_)
        new = to_numpy(self.manifold_.embed(X))
        return nearest_labels(embedding, self._codes, len(self.classes_), new)

    def _judge_training(self) -> None:
        k = len(self.classes_)
        labels = nearest_labels(to_numpy(self.manifold_.embedding_), self._codes, k)
        self.leave_one_out_labels_ = labels
        self.leave_one_out_shares_ = vote_shares(labels, k)
        recognised = self.leave_one_out_shares_.argmax(axis=1)
        self.confusion_ = confusion_matrix(self._codes, recognised, labels=np.arange(k))
        self.image_accuracy_ = float((recognised == self._codes).mean())
        self.block_accuracy_ = float((labels == self._codes).mean())

    def _learner(self) -> Any:
        if self.manifold is not None:
            return clone(self.manifold)
        from llise.estimators import LLISE

        return LLISE()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
