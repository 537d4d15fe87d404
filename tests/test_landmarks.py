"""A manifold of landmarks, on which all other images are placed as new ones."""

import numpy as np
import pytest
from problems import bytes_of, photographs

from llise import LLISE, DistortionRecognizer, KernelLLISE, load, save
from llise.manifold import execution
from llise.manifold.duplicates import landmarks

IMAGES = photographs(90, 8, 16)
SETTINGS = {"n_neighbors": 6, "constraint": "affine", "n_landmarks": 40}


def test_landmarks_are_embedded_and_others_are_placed():
    learner = LLISE(3, **SETTINGS)
    rows = learner.fit_transform(IMAGES)
    chosen = learner.landmarks_
    assert len(chosen) == len(set(chosen)) == 40 and rows.shape == (90, 6)
    np.testing.assert_array_equal(learner.training_images_, IMAGES[chosen])
    np.testing.assert_allclose(rows[chosen], learner.embedding_.swapaxes(0, 1).reshape(40, 6), atol=1e-9)
    expected = LLISE(3, n_neighbors=6, constraint="affine").fit(IMAGES[chosen]).transform(IMAGES)
    np.testing.assert_array_equal(rows, expected)


def test_landmarks_follow_a_permutation_of_the_images():
    order = np.random.default_rng(0).permutation(90)
    one, other = LLISE(3, **SETTINGS), LLISE(3, **SETTINGS)
    rows, permuted = one.fit_transform(IMAGES), other.fit_transform(IMAGES[order])
    assert set(order[other.landmarks_]) == set(one.landmarks_)
    np.testing.assert_allclose(permuted, rows[order], atol=1e-4)


def test_a_picture_that_is_there_often_is_a_landmark_once():
    images = np.concatenate([bytes_of(IMAGES[:5])] * 6)
    np.testing.assert_array_equal(landmarks(images, 20), np.arange(5))


def test_landmarks_are_a_uniform_sample():
    """Of 4000 random images 1000 are taken, in each quarter about 250: the deviation is below 5 sigma."""
    chosen = landmarks(np.random.default_rng(0).integers(0, 256, (4000, 4, 4), dtype=np.uint8), 1000)
    counts = np.bincount(chosen // 1000, minlength=4)
    assert np.abs(counts - 250).max() < 5 * np.sqrt(1000 * 0.25 * 0.75 * 0.75)


def test_as_many_landmarks_as_images_are_no_landmarks():
    rows = LLISE(3, n_neighbors=6, constraint="affine").fit_transform(IMAGES)
    np.testing.assert_array_equal(LLISE(3, **{**SETTINGS, "n_landmarks": 90}).fit_transform(IMAGES), rows)


@pytest.mark.parametrize("learner", [LLISE(2, **SETTINGS), KernelLLISE(2, **SETTINGS)], ids=["linear", "rbf"])
def test_portions_threads_and_a_file_change_nothing(monkeypatch, tmp_path, learner):
    images = bytes_of(photographs(600, 8, 8))
    rows = learner.fit_transform(images)
    monkeypatch.setattr(execution, "PRODUCTS_AT_ONCE", 1)  # 256 images at a time
    np.save(tmp_path / "images.npy", images)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    for jobs in (1, 3):
        again = type(learner)(**{**learner.get_params(), "n_jobs": jobs})
        np.testing.assert_array_equal(again.fit_transform(mapped), rows)


def test_a_recogniser_learns_the_labels_of_the_landmarks(tmp_path):
    labels = np.arange(90) % 3
    recognizer = DistortionRecognizer(LLISE(3, **SETTINGS)).fit(IMAGES, labels)
    chosen = recognizer.manifold_.landmarks_
    assert recognizer.confusion_.sum() == 40
    np.testing.assert_array_equal(recognizer.predict(IMAGES[chosen]), labels[chosen])
    save(recognizer.manifold_, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").transform(IMAGES), recognizer.manifold_.transform(IMAGES))


@pytest.mark.parametrize("value", [1, 2.5, "many"])
def test_a_number_of_landmarks_that_makes_no_sense_is_refused(value):
    with pytest.raises(ValueError, match="n_landmarks must be an integer of at least 2"):
        LLISE(3, n_landmarks=value).fit(IMAGES)
