"""The paper's sets: what is in them, at which error, and how they are written to files."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from llise import datasets
from llise.distortions import UnreachableWarning
from llise.images import read_image
from llise.labels import KINDS, PAPER_MIXTURES

IMAGE = datasets.reference()[128:256, 160:288]


@pytest.fixture(scope="module")
def training():
    return datasets.training_set(IMAGE)


@pytest.fixture(scope="module")
def testing():
    return datasets.test_set(IMAGE)


def test_the_reference_is_the_cameraman():
    assert datasets.reference().shape == (512, 512)
    assert datasets.reference().dtype == np.uint8


def test_training_set_is_the_original_and_twenty_of_each_kind(training):
    assert training.images.shape == (121, 128, 128)
    assert training.labels[0] == "original"
    assert_array_equal(training.images[0], IMAGE)
    for kind in KINDS:
        assert_array_equal(training.wanted_mse[training.labels == kind], np.arange(45, 901, 45))


def test_training_images_have_the_error_they_claim(training):
    measured = np.mean((training.images.astype(float) - IMAGE) ** 2, axis=(1, 2))
    assert_allclose(training.mse, measured)
    assert (np.abs(training.mse - training.wanted_mse) <= 0.005 * training.wanted_mse).all()


def test_amplified_images_are_marked_and_are_all_jpeg(training):
    assert set(training.labels[training.amplified]) == {"jpeg"}
    assert not training.amplified[(training.labels == "jpeg") & (training.wanted_mse < 100)].any()


def test_respaced_jpegs_are_real_and_end_at_the_reach():
    images = datasets.training_set(IMAGE, beyond_reach="respace", kinds=["jpeg"])
    assert len(images) == 21 and not images.amplified.any()
    assert 100 < images.mse.max() < 900


def test_both_directions_take_turns():
    images = datasets.training_set(IMAGE, direction="both", kinds=["luminance"], levels=[50, 100, 150, 200])
    assert_array_equal(np.sign(np.concatenate(images.strengths[1:])), [1, -1, 1, -1])


def test_test_set_is_six_singles_and_the_papers_mixtures(testing):
    assert testing.kinds == [(kind,) for kind in KINDS] + list(PAPER_MIXTURES)
    assert np.abs(testing.mse - 500).max() <= 2.5
    assert testing.labels[6] == "blur+gaussian_noise"


def test_both_parts_of_a_mixture_contribute():
    parts = datasets.mixture(IMAGE, ("blur", "luminance"), 400, 0)
    assert parts[0].measured == pytest.approx(200, rel=0.005)
    assert parts[1].measured == pytest.approx(400, rel=0.005)


def test_no_seed_is_shared_between_training_and_test(training, testing):
    used = set(sum(training.seeds, ()))
    assert len(used) == 120
    assert not used & set(sum(testing.seeds, ()))


def test_noise_of_training_and_test_is_independent(training, testing):
    def noise(images, index):
        return (images.images[index].astype(float) - IMAGE).ravel()

    test_noise = noise(testing, list(testing.labels).index("gaussian_noise"))
    for index in np.flatnonzero(training.labels == "gaussian_noise"):
        assert abs(np.corrcoef(noise(training, index), test_noise)[0, 1]) < 0.1


def test_sets_depend_on_the_seed_and_not_on_threads(testing):
    assert_array_equal(datasets.test_set(IMAGE, n_jobs=2).images, testing.images)
    assert (datasets.test_set(IMAGE, random_state=1).images != testing.images).any()


@pytest.mark.filterwarnings("ignore::llise.distortions.UnreachableWarning")
def test_a_flat_reference_says_what_is_missing():
    with pytest.warns(UnreachableWarning, match="no blur images"):
        images = datasets.training_set(np.full((32, 32), 60, np.uint8), levels=[50])
    assert "blur" not in images.labels and "gaussian_noise" in images.labels


def test_a_written_set_has_all_images_and_how_they_were_made(testing, tmp_path):
    path = datasets.write(testing, tmp_path / "set")
    manifest = json.loads(path.read_text())
    assert_array_equal(read_image(path.parent / manifest["reference"]), testing.reference)
    for i, entry in enumerate(manifest["images"]):
        assert_array_equal(read_image(path.parent / entry["file"]), testing.images[i])
        assert tuple(entry["kinds"]) == testing.kinds[i] and tuple(entry["seeds"]) == testing.seeds[i]
        assert tuple(entry["strengths"]) == testing.strengths[i]
        assert (entry["mse"], entry["wanted_mse"]) == (testing.mse[i], testing.wanted_mse[i])
        assert entry["amplified"] == testing.amplified[i]
    assert len(manifest["images"]) == 12
    assert sorted(p.suffix for p in path.parent.iterdir()) == [".json"] + [".png"] * 13


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"beyond_reach": "no"}, "'amplify' or 'respace'"),
        ({"direction": 0}, "direction=0"),
        ({"kinds": ["fog"]}, "fog"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        datasets.training_set(IMAGE, **options)
