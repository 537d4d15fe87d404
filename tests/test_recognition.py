"""Recognition: the nearest class at every block, the vote of the blocks, and who was right."""

import numpy as np
import pytest
from problems import bytes_of, photographs
from sklearn.base import clone
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.neighbors import KNeighborsClassifier

from llise import LLE, LLISE, DistortionRecognizer, KernelLLE, KernelLLISE
from llise.manifold.recognition import nearest_images, nearest_labels, vote_shares

IMAGES = photographs(24, 24, 16)
NAMES = np.array(["blur", "jpeg", "noise"])[np.arange(24) % 3]
NEW = photographs(9, 24, 16, seed=0)[3:]


# -------------------------------------------------------------------------------------------- worked out by hand

# Three blocks, four training images of classes 0 0 1 1 on a line, and two new images.
LINE = np.array([[0, 1, 5, 6], [0, 10, 1, 11], [3, 3.5, 9, 0]], float)[:, :, None]
CODES = np.array([0, 0, 1, 1])
POINTS = np.array([[0.2, 5.4], [0.6, 9.0], [1.6, 8.0]])[:, :, None]


def test_labels_of_new_images_worked_by_hand():
    # block 0: 0.2 is next to 0 (class 0), 5.4 next to 5 (class 1)
    # block 1: 0.6 is next to 1 (class 1), 9.0 next to 10 (class 0)
    # block 2: 1.6 is next to 3 (class 0: 1.4 away, 0 is 1.6 away), 8.0 next to 9 (class 1)
    assert nearest_labels(LINE, CODES, 2, POINTS).tolist() == [[0, 1], [1, 0], [0, 1]]


def test_labels_of_training_images_worked_by_hand_leave_each_out():
    # block 0: 0 -> 1, 1 -> 0, 5 -> 6, 6 -> 5: all right
    # block 1: 0 -> 1 (class 1), 10 -> 11 (class 1), 1 -> 0 (class 0), 11 -> 10 (class 0): all wrong
    # block 2: 3 -> 3.5 (0), 3.5 -> 3 (0), 9 -> 3.5 (0), 0 -> 3 (0)
    expected = [[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]]
    assert nearest_labels(LINE, CODES, 2).tolist() == expected


def test_votes_worked_by_hand():
    shares = vote_shares(np.array([[0, 1], [1, 0], [0, 1]]), 3)
    np.testing.assert_allclose(shares, [[2 / 3, 1 / 3, 0], [1 / 3, 2 / 3, 0]])


class Line:
    """A learner that has learned the line above, so that the recogniser's arithmetic can be followed by hand."""

    def __init__(self):
        self.embedding_, self.block_grid_, self.n_features_in_ = LINE, (3, 1), 3

    def get_params(self, deep=True):
        return {}

    def set_params(self):
        return self

    def fit(self, X):
        return self

    def embed(self, X):
        return POINTS


def test_a_recogniser_worked_by_hand():
    found = DistortionRecognizer(Line()).fit(np.zeros((4, 3)), ["a", "a", "b", "b"])
    np.testing.assert_allclose(found.leave_one_out_shares_, np.array([[2, 1], [2, 1], [2, 1], [2, 1]]) / 3)
    assert found.block_accuracy_ == pytest.approx((4 + 0 + 2) / 12)
    assert found.image_accuracy_ == 0.5
    assert found.confusion_.tolist() == [[2, 0], [2, 0]]
    assert found.predict(np.zeros((2, 3))).tolist() == ["a", "b"]
    np.testing.assert_allclose(found.predict_shares(np.zeros((2, 3))), np.array([[2, 1], [1, 2]]) / 3)
    maps = found.block_labels(np.zeros((2, 3)))
    assert maps.tolist() == [[["a"], ["b"], ["a"]], [["b"], ["a"], ["b"]]]


# ---------------------------------------------------------------------------------------------------------- ties


def test_of_images_equally_near_the_most_frequent_class_wins():
    embedding = np.array([[1.0, -1.0, 1.0, 30.0]])[:, :, None]
    assert nearest_labels(embedding, np.array([0, 1, 1, 2]), 3, np.zeros((1, 1, 1)))[0, 0] == 1


def test_of_classes_equally_frequent_the_first_wins():
    embedding = np.array([[1.0, -1.0, 30.0]])[:, :, None]
    assert nearest_labels(embedding, np.array([2, 1, 0]), 3, np.zeros((1, 1, 1)))[0, 0] == 1


def test_rounding_does_not_break_a_tie():
    embedding = np.array([[1.0, 1.0 + 1e-9, 1.0 + 2e-9, 30.0]])[:, :, None]
    assert nearest_labels(embedding, np.array([0, 1, 1, 2]), 3, np.zeros((1, 1, 1)))[0, 0] == 1


def test_a_duplicate_of_the_judged_image_votes_but_the_image_itself_does_not():
    embedding = np.array([[0.0, 0.0, 5.0, 5.1]])[:, :, None]
    assert nearest_labels(embedding, np.array([0, 1, 2, 2]), 3).tolist() == [[1, 0, 2, 2]]


def test_votes_tie_to_the_first_class():
    found = DistortionRecognizer(LLISE(2, n_neighbors=6)).fit(IMAGES, NAMES)
    shares = found.predict_shares(NEW)
    np.testing.assert_array_equal(found.predict(NEW), found.classes_[shares.argmax(axis=1)])
    np.testing.assert_allclose(shares.sum(axis=1), 1)


# ------------------------------------------------------------------------------------------- against scikit-learn


@pytest.mark.parametrize(
    "manifold",
    [LLISE(n_neighbors=6, luminance=0.5), KernelLLISE(n_neighbors=6), LLE(n_neighbors=6), KernelLLE(n_neighbors=6)],
    ids=lambda m: type(m).__name__,
)
def test_block_labels_are_scikit_learns_nearest_neighbour(manifold):
    found = DistortionRecognizer(manifold).fit(IMAGES, NAMES)
    new = found.manifold_.embed(NEW)
    rows, cols = found.manifold_.block_grid_
    maps = found.block_labels(NEW)
    assert maps.shape == (len(NEW), rows, cols)
    for i, Y in enumerate(found.manifold_.embedding_):
        theirs = KNeighborsClassifier(1).fit(Y, NAMES).predict(new[i])
        np.testing.assert_array_equal(maps[:, i // cols, i % cols], theirs)


def test_leave_one_out_really_leaves_out():
    """The label of image j at each block is that of a nearest-neighbour classifier that never saw j."""
    found = DistortionRecognizer(LLISE(n_neighbors=6)).fit(IMAGES, NAMES)
    for i, Y in enumerate(found.manifold_.embedding_):
        for j in range(len(Y)):
            others = np.delete(np.arange(len(Y)), j)
            theirs = KNeighborsClassifier(1).fit(Y[others], NAMES[others]).predict(Y[j : j + 1])
            assert found.classes_[found.leave_one_out_labels_[i, j]] == theirs[0]
    # a single image of its class cannot be recognised by the others
    lonely = NAMES.copy()
    lonely[7] = "alone"
    judged = DistortionRecognizer(LLISE(n_neighbors=6)).fit(IMAGES, lonely)
    alone = list(judged.classes_).index("alone")
    assert judged.leave_one_out_shares_[7, alone] == 0
    assert judged.confusion_[alone, alone] == 0


def test_accuracies_and_confusion_are_scikit_learns():
    found = DistortionRecognizer(LLISE(n_neighbors=6)).fit(IMAGES, NAMES)
    recognised = found.classes_[found.leave_one_out_shares_.argmax(axis=1)]
    np.testing.assert_array_equal(found.confusion_, confusion_matrix(NAMES, recognised, labels=found.classes_))
    assert found.image_accuracy_ == pytest.approx(accuracy_score(NAMES, recognised))
    blocks = found.classes_[found.leave_one_out_labels_]
    assert found.block_accuracy_ == pytest.approx((blocks == NAMES[None, :]).mean())
    assert found.score(NEW, found.predict(NEW)) == 1.0


def test_it_recognises_what_is_plain():
    """Three ways to distort, ever more strongly: neighbours along a way are of its kind."""
    found = DistortionRecognizer(LLISE(n_neighbors=6, luminance=0.5)).fit(IMAGES, NAMES)
    assert found.image_accuracy_ > 0.8 > 1 / 3
    # a training image is recognised by itself
    np.testing.assert_array_equal(found.predict(IMAGES), NAMES)


def test_nearest_images_come_nearest_first():
    found = nearest_images(LINE, POINTS, 3)
    assert found[0].tolist() == [[0, 1, 2], [2, 3, 1]]
    distance = np.abs(POINTS[:, :, None, 0] - LINE[:, None, :, 0])
    np.testing.assert_array_equal(found, np.argsort(distance, axis=-1, kind="stable")[..., :3])


# ----------------------------------------------------------------------------------------------------- conventions


def test_the_given_manifold_is_not_changed():
    manifold = LLISE(n_neighbors=6)
    found = DistortionRecognizer(manifold).fit(IMAGES, NAMES)
    assert not hasattr(manifold, "embedding_")
    assert found.manifold_ is not manifold
    assert clone(found).get_params()["manifold__n_neighbors"] == 6


def test_without_a_manifold_it_is_the_papers():
    found = DistortionRecognizer().fit(IMAGES, NAMES)
    assert isinstance(found.manifold_, LLISE)
    assert found.manifold_.get_params() == LLISE.as_in_paper().get_params()


@pytest.mark.parametrize("labels", [NAMES, np.arange(24) % 3, np.arange(24) % 3 == 0, list(NAMES)], ids=type)
def test_labels_of_any_kind(labels):
    found = DistortionRecognizer(LLISE(n_neighbors=6)).fit(bytes_of(IMAGES), labels)
    assert set(found.predict(bytes_of(NEW))) <= set(labels)


def test_one_label_an_image():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        DistortionRecognizer(LLISE(n_neighbors=6)).fit(IMAGES, NAMES[:-1])
