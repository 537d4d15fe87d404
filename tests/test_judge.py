"""The judge: its networks, its training, its file, and the one that is shipped."""

import json
import os
from importlib.resources import files

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

from llise import datasets, distortions
from llise.diagnosis import train
from llise.diagnosis.features import block_sums
from llise.diagnosis.features.region_features import feature_names, features
from llise.diagnosis.judging import network
from llise.diagnosis.judging.judge import FILE, Judge, JudgeError, greys, shipped_judge
from llise.diagnosis.measures import measure_copy
from llise.diagnosis.regions import connected_areas
from llise.diagnosis.sets import SETS
from llise.diagnosis.training import pictures
from llise.diagnosis.training.samples import draw_samples, found_areas
from llise.diagnosis.training.scenes import draw_scene
from llise.labels import KINDS, NAMED_KINDS

# Networks


def tiny_network(seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in ((4, 5), (5,), (5, 3), (3,), (3, 3), (3,))]


def test_the_gradient_is_that_of_the_cross_entropy():
    weights = tiny_network()
    rng = np.random.default_rng(1)
    x, codes = rng.standard_normal((7, 4)), rng.integers(0, 3, 7)

    def loss():
        return -np.log(network.softmax(network.logits(weights, x))[np.arange(7), codes]).mean()

    gradient = network._gradient(weights, x, codes, 0.0, rng)
    for values, slope in zip(weights, gradient):
        for index in np.ndindex(values.shape):
            old, ends = values[index], []
            for step in (1e-6, -1e-6):
                values[index] = old + step
                ends.append(loss())
            values[index] = old
            assert slope[index] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)


def test_dropout_keeps_the_gradient_on_average():
    weights, rng = tiny_network(), np.random.default_rng(0)
    x, codes = rng.standard_normal((40, 4)), rng.integers(0, 3, 40)
    plain = network._gradient(weights, x, codes, 0.0, rng)
    dropped = [network._gradient(weights, x, codes, 0.02, rng) for _ in range(400)]
    for i, values in enumerate(plain):
        assert_allclose(np.mean([gradient[i] for gradient in dropped], axis=0), values, atol=0.1)


def test_softmax_sums_to_one_whatever_the_logits():
    values = network.softmax(np.array([[1e4, 0, -1e4], [0, 0, 0], [-1e4, -1e4, -1e4]]))
    assert_allclose(values.sum(axis=1), 1)
    assert np.isfinite(values).all()


def test_training_is_repeatable_and_depends_on_the_seed():
    rng = np.random.default_rng(0)
    x, codes = rng.standard_normal((300, 3)), rng.integers(0, 2, 300)
    one, again, other = (network.train(x, codes, 2, hidden=(8, 4), epochs=2, batch=50, seed=s) for s in (0, 0, 1))
    assert all(np.array_equal(a, b) for a, b in zip(one, again))
    assert not np.array_equal(one[0], other[0])


# Random scenes


def test_scenes_say_which_kinds_each_block_has():
    reference, rng = datasets.reference()[:128, :128], np.random.default_rng(0)
    scenes = [scene for _ in range(12) if (scene := draw_scene(reference, rng))]
    assert len(scenes) > 6
    for scene in scenes:
        assert scene.copy.dtype == np.uint8 and scene.copy.shape == scene.reference.shape
        present = set(np.unique(scene.labels)) - {-1}
        assert present <= set(scene.parts) and all(len(scene.parts[code]) == len(SETS[code]) for code in present)


def test_the_areas_of_a_scene_are_those_that_a_diagnosis_finds():
    for seed in range(6):
        scene = draw_scene(pictures.load("camera")[64:192, 64:224], np.random.default_rng(seed))
        if scene is None:
            continue
        areas = list(found_areas(scene))
        expected = connected_areas(measure_copy(scene.reference, scene.copy).changed)
        assert_array_equal([area for area, _, _ in areas], expected)
        for area, core, codes in areas:
            assert core.any() and not (core & ~area).any()
            assert_array_equal(codes[scene.labels >= 0], scene.labels[scene.labels >= 0])
            assert set(np.unique(codes)) <= set(np.unique(scene.labels)) - {-1}


def test_all_sets_of_kinds_are_told_apart():
    assert len(SETS) == 64 == len(set(SETS)) and SETS[:6] == tuple((kind,) for kind in KINDS)


def test_the_training_pictures_are_there():
    assert all(pictures.load(name).dtype == np.uint8 for name in pictures.NAMES)
    with pytest.raises(ValueError, match="no picture 'lena'; choose from astronaut"):
        pictures.load("lena")


# Training


TRAINED_ON = ("camera", "brick", "chelsea", "coins", "grass", "moon")


@pytest.fixture(scope="module")
def small():
    """A judge of few scenes."""
    return train.train(TRAINED_ON, scenes=128, epochs=20, jobs=2, seed=3)


def test_a_small_judge_learns_to_name_kinds_in_a_picture_it_never_saw(small):
    judge, report = small
    samples = draw_samples(("coffee",), [(9, i) for i in range(30)])
    probabilities = judge.probabilities(samples.inputs)
    assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    right = probabilities.argmax(axis=1) == samples.codes
    single = samples.codes < len(NAMED_KINDS)
    assert right.mean() > 0.25 and right[single].mean() > 0.4  # by chance 1 / 64
    assert "temperature" in report and judge.training["pictures"] == list(TRAINED_ON)


def test_the_number_of_processes_does_not_change_the_judge(small):
    alone, _ = train.train(TRAINED_ON, scenes=128, epochs=20, jobs=1, seed=3)
    arrays, expected = alone.arrays(), small[0].arrays()
    assert arrays.keys() == expected.keys()
    for name, values in arrays.items():
        assert_array_equal(values, expected[name], err_msg=name)


def test_too_few_pictures_are_refused():
    with pytest.raises(ValueError, match="3 pictures: expected 4 or more"):
        train.train(TRAINED_ON[:3], scenes=8)


# Files


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "judge.safetensors"
    shipped_judge().save(path)
    return path


def test_a_judge_comes_back_as_it_was(written):
    judge, loaded = shipped_judge(), Judge.load(written)
    assert loaded.fingerprint() == judge.fingerprint() and loaded.training == judge.training
    assert repr(loaded) == repr(judge)
    inputs = np.random.default_rng(0).standard_normal((9, 2 * len(feature_names())))
    assert_array_equal(loaded.probabilities(inputs), judge.probabilities(inputs))


def header_of(path):
    with safe_open(path, "numpy") as file:
        return json.loads(file.metadata()["llise-judge"])


def rewritten(path, **changes):
    """The same arrays under a header with changes."""
    header = {**header_of(path), **changes}
    path.write_bytes(to_bytes(shipped_judge().arrays(), metadata={"llise-judge": json.dumps(header)}))
    return path


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"features": ["mse"]}, "another list of features"),
        ({"features": feature_names()[::-1]}, "another list of features"),
        ({"sets": ["fog"]}, "another list of sets"),
        ({"version": 99}, "version"),
        ({"fingerprint": "0" * 64}, "changed since it was trained"),
    ],
)
def test_a_judge_for_something_else_is_refused_with_the_remedy(written, changes, reason):
    with pytest.raises(JudgeError, match=rf"{reason}.*python -m llise\.diagnosis\.train") as caught:
        Judge.load(rewritten(written, **changes))
    assert str(caught.value).startswith(f"{written}: ") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: b"this is not a judge",
        lambda content: to_bytes({"mean": np.zeros(3)}),
        lambda content: to_bytes({"mean": np.zeros(3)}, metadata={"llise-judge": "{"}),
        lambda content: content[:-9] + bytes([content[-9] ^ 64]) + content[-8:],
    ],
    ids=["empty", "truncated", "text", "another program's", "no header", "one bit"],
)
def test_a_damaged_or_foreign_file_is_refused_with_the_remedy(written, damage):
    written.write_bytes(damage(written.read_bytes()))
    with pytest.raises(JudgeError, match=r"train it again with python -m llise\.diagnosis\.train"):
        Judge.load(written)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(JudgeError, match="train it again"):
        Judge.load(tmp_path / "absent")


def test_a_judge_with_an_array_missing_is_refused(written):
    arrays = {name: values for name, values in shipped_judge().arrays().items() if name != "scale"}
    written.write_bytes(to_bytes(arrays, metadata={"llise-judge": json.dumps(header_of(written))}))
    with pytest.raises(JudgeError, match="train it again"):
        Judge.load(written)


# The judge that is shipped


def test_the_shipped_judge_is_small_and_says_what_it_was_trained_on():
    path = files("llise.diagnosis") / FILE
    assert os.path.getsize(path) <= 10e6
    header = header_of(path)
    assert header["features"] == feature_names() and len(header["sets"]) == len(SETS)
    assert header["fingerprint"] == shipped_judge().fingerprint()
    training = header["training"]
    assert set(training) >= {"pictures", "scenes", "epochs", "seed"}
    assert set(training["pictures"]) <= set(pictures.NAMES) and training["scenes"] >= 1000
    assert all(np.isfinite(values).all() for values in shipped_judge().arrays().values())


def test_regions_of_an_area_are_judged_by_their_features_and_those_of_the_area():
    image = datasets.reference()[100:164, 100:228]
    copy = np.hstack([distortions.apply(image[:, :64], "blur", 60), distortions.apply(image[:, 64:], "contrast", 60)])
    sums = block_sums.measure(image, copy).astype(float)
    regions, area = sums.sum(axis=0), sums.sum(axis=(0, 1))
    own, around = features(regions, greys(image)), features(area[None], greys(image)).repeat(len(regions), axis=0)
    judge = shipped_judge()
    expected = judge.probabilities(np.concatenate([own, around], axis=1))
    assert_allclose(judge(regions, area, greys(image)), expected, atol=1e-5)
    assert np.ptp(expected, axis=0).max() > 0.1


def test_the_shipped_judge_names_random_scenes():
    samples = draw_samples(pictures.NAMES, [(123456, i) for i in range(30)])
    probabilities = shipped_judge().probabilities(samples.inputs)
    assert (probabilities.argmax(axis=1) == samples.codes).mean() > 0.8
