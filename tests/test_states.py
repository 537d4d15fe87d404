"""Fitted estimators saved and loaded: the same answers, the same attributes, nothing trusted unseen."""

import numpy as np
import pytest
from samples import picture

from llise import ADMM, LLE, LLISE, DistortionRecognizer, KernelLLE, KernelLLISE, load, save
from llise.storage.models import ModelError
from llise.storage.registry import SAVABLE, savable_class

IMAGES = np.stack([picture(24, 32, seed) for seed in range(14)])
NEW = np.stack([picture(24, 32, seed) for seed in (3, 50, 51)])  # the first is a training image
LABELS = np.array(["original", "blur"] * 7)

ESTIMATORS = {
    "LLISE": (LLISE(3, n_neighbors=5), IMAGES),
    "luminance": (LLISE(3, n_neighbors=5, luminance=0.5, constraint="affine"), IMAGES),
    "floats": (LLISE(3, n_neighbors=5), IMAGES / 255.0),
    "one block a row": (LLISE(3, n_neighbors=5), IMAGES.reshape(14, -1)[:, :64]),
    "rows": (LLISE(3, n_neighbors=5, image_shape=(24, 32)), IMAGES.reshape(14, -1)),
    "ADMM": (LLISE(3, n_neighbors=5, solver=ADMM(max_iter=(9, 8, 7)), random_state=1), IMAGES),
    "rbf": (KernelLLISE(3, n_neighbors=5), IMAGES),
    "poly": (KernelLLISE(3, n_neighbors=5, kernel="poly", degree=2), IMAGES),
    "LLE": (LLE(3, n_neighbors=5), IMAGES),
    "kernel LLE": (KernelLLE(3, n_neighbors=5), IMAGES),
}


def like(X):
    """New images in the form of the training ones."""
    new = NEW / 255.0 if X.dtype == float else NEW
    return new if X.ndim == 3 else new.reshape(3, -1)[:, : X.shape[1]]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_loaded_estimator_answers_as_the_saved_one(tmp_path, name):
    estimator, X = ESTIMATORS[name]
    fitted = estimator.fit(X)
    save(fitted, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert type(loaded) is type(fitted) and repr(loaded) == repr(fitted)
    assert np.array_equal(loaded.transform(like(X)), fitted.transform(like(X)))
    assert np.array_equal(loaded.embedding_, fitted.embedding_)
    assert loaded.reconstruction_error_ == fitted.reconstruction_error_
    assert loaded.n_features_in_ == fitted.n_features_in_ and loaded.block_grid_ == fitted.block_grid_


@pytest.mark.parametrize("manifold", [None, LLISE(3, n_neighbors=4), LLE(3, n_neighbors=4)])
@pytest.mark.parametrize("y", [LABELS, np.arange(14) % 3])
def test_a_loaded_recogniser_answers_as_the_saved_one(tmp_path, manifold, y):
    fitted = DistortionRecognizer(manifold).fit(IMAGES, y)
    save(fitted, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert repr(loaded) == repr(fitted)
    assert np.array_equal(loaded.predict(NEW), fitted.predict(NEW)) and loaded.classes_.dtype == fitted.classes_.dtype
    assert np.array_equal(loaded.predict_shares(NEW), fitted.predict_shares(NEW))
    assert np.array_equal(loaded.confusion_, fitted.confusion_)


def test_a_model_of_a_512_image_and_121_images_stays_below_60_mb():
    b, n, p = 4096, 121, 4
    arrays, _ = ESTIMATORS["LLISE"][0].fit(IMAGES).to_state()
    blocks, count, _ = arrays["coordinates"].shape
    rest = sum(v.nbytes for name, v in arrays.items() if name not in ("training_images", "coordinates")) / blocks
    assert arrays["training_images"].dtype == np.uint8 and count == len(IMAGES)
    assert n * 512 * 512 + b * n * p * arrays["coordinates"].itemsize + b * rest < 60e6


def test_what_is_not_fitted_or_not_plain_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        save(LLISE(), tmp_path / "m")
    with pytest.raises(ModelError, match="a setting is a function"):
        save(KernelLLISE(3, n_neighbors=5, kernel=lambda x, y: x @ y.T).fit(IMAGES), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("coordinates", np.zeros((12, 14, 2))),
        ("coordinates", np.zeros((2, 14, 3))),
        ("coordinates", np.full((12, 14, 3), np.nan)),
        ("training_images", IMAGES[:, :8]),
        ("training_images", IMAGES[:9]),
        ("norms", np.zeros((12, 3))),
        ("means", np.zeros((3, 14))),
        ("grand", np.zeros(2)),
        ("objective", np.zeros(2)),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(name, value):
    arrays, settings = KernelLLISE(3, n_neighbors=5).fit(IMAGES).to_state()
    KernelLLISE.from_state(arrays, settings)
    with pytest.raises(ValueError):
        KernelLLISE.from_state({**arrays, name: value}, settings)


@pytest.mark.parametrize("name", ["coordinates", "means", "objective", "history", "n_iter"])
def test_a_state_with_an_array_missing_is_refused(name):
    arrays, settings = KernelLLISE(3, n_neighbors=5).fit(IMAGES).to_state()
    del arrays[name]
    with pytest.raises(KeyError, match=name):
        KernelLLISE.from_state(arrays, settings)


def test_a_recogniser_with_codes_of_no_class_is_refused():
    arrays, settings = DistortionRecognizer(LLISE(3, n_neighbors=5)).fit(IMAGES, LABELS).to_state()
    for codes in (np.full(14, 2), np.full(14, -1), np.zeros(3, int)):
        with pytest.raises(ValueError, match="codes"):
            DistortionRecognizer.from_state({**arrays, "codes": codes}, settings)


def test_a_learner_restored_without_measurements_can_be_saved_again(tmp_path):
    fitted = LLISE(3, n_neighbors=5, luminance=0.5).fit(IMAGES)
    arrays, settings = fitted.to_state()
    needed = {name: arrays[name] for name in ("training_images", "coordinates", "level")}
    restored = LLISE.from_state(needed, {**settings, "measured": False})
    assert not hasattr(restored, "embedding_error_")
    save(restored, tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m").transform(NEW), fitted.transform(NEW))


@pytest.mark.parametrize("name", SAVABLE)
def test_every_class_of_the_registry_has_both_methods_of_the_protocol(name):
    kind = savable_class(name)
    assert kind.__name__ == name and callable(kind.to_state) and callable(kind.from_state)


@pytest.mark.parametrize("name", ["Popen", "DistortionRecognizer"])
def test_a_recogniser_on_something_that_is_no_learner_is_refused(name):
    arrays, settings = DistortionRecognizer(LLE(3, n_neighbors=5)).fit(IMAGES, LABELS).to_state()
    with pytest.raises(ValueError, match=name):
        DistortionRecognizer.from_state(arrays, {**settings, "manifold": {**settings["manifold"], "class": name}})


def test_a_recogniser_with_a_learner_of_another_package_is_not_saved(tmp_path):
    own = type("MyLearner", (LLE,), {})
    with pytest.raises(ValueError, match="manifold of class MyLearner cannot be saved"):
        save(DistortionRecognizer(own(3, n_neighbors=5)).fit(IMAGES, LABELS), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
