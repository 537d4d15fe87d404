"""A diagnosis from end to end on a small image, its pieces, and what is refused."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llise
from llise import datasets, distortions
from llise.diagnosis import random_copies as synthesis
from llise.diagnosis.diagnoser import Diagnoser, Diagnosis, diagnose
from llise.diagnosis.window_features import Statistics, block_dct, choose_windows
from llise.diagnosis.profiles import Profile
from llise.kinds import registry
from llise.labels import KINDS, LABELS

IMAGE = datasets.reference()[40:168, 160:320]


@pytest.fixture(scope="module")
def diagnoser() -> Diagnoser:
    return Diagnoser(IMAGE, n_samples=264, n_jobs=2).fit()


def judge(diagnoser: Diagnoser, image: np.ndarray) -> Diagnosis:
    return next(iter(diagnoser.diagnose([image])))


# From end to end


def test_a_pristine_copy_is_the_original(diagnoser):
    found = judge(diagnoser, IMAGE)
    assert found.verdict == ("original",) and found.confidence == 1 and found.severity == {}
    assert found.mse == 0 and found.psnr == np.inf and found.ssim == pytest.approx(1)


def test_one_pixel_off_by_one_is_still_the_original(diagnoser):
    copy = IMAGE.copy()
    copy[5, 7] += 1
    assert judge(diagnoser, copy).verdict == ("original",)


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_distortion_is_named_with_its_severity(diagnoser, kind):
    level = 120 if kind == "jpeg" else 250
    found = judge(diagnoser, distortions.apply(IMAGE, kind, level, random_state=77))
    assert found.verdict == (kind,)
    assert found.severity == {kind: pytest.approx(level, rel=0.01)}
    assert 0 < found.confidence <= 1


def test_most_of_the_papers_mixtures_are_named(diagnoser):
    copies = datasets.test_set(IMAGE, mse=200, beyond_reach="stop", random_state=8)
    right = [
        set(found.verdict) == set(kinds)
        for found, kinds in zip(diagnoser.diagnose(copies.images[6:]), copies.kinds[6:])
    ]
    assert sum(right) >= 4


def test_severities_of_a_mixture_add_up_to_its_error(diagnoser):
    copy = datasets.mixture(IMAGE, ("blur", "luminance"), 300, 3)[-1].image
    found = judge(diagnoser, copy)
    assert len(found.verdict) == 2
    assert sum(found.severity.values()) == pytest.approx(found.mse)


def test_the_maps_fit_the_image(diagnoser):
    found = judge(diagnoser, distortions.apply(IMAGE, "gaussian_noise", 200, 1))
    assert found.block_grid == (16, 20) == found.block_severity.shape
    assert found.nearest.shape == (16, 20, 3) and found.nearest.max() < len(diagnoser.training_labels)
    assert found.ssim_map.shape == IMAGE.shape == found.image.shape
    assert set(found.shares) == set(LABELS) and sum(found.shares.values()) == pytest.approx(1)
    votes = [np.mean(found.block_labels == code) for code in range(len(LABELS))]
    assert_allclose(list(found.shares.values()), votes)
    assert found.position.shape == (2,)


def test_the_severity_map_shows_where(diagnoser):
    copy = IMAGE.copy()
    copy[:, 80:] = distortions.apply(IMAGE, "gaussian_noise", 400, 1)[:, 80:]
    severity = judge(diagnoser, copy).block_severity
    assert severity[:, 10:].mean() > 5 * severity[:, :10].mean()


def test_what_the_report_asks_for_is_there(diagnoser):
    n = len(diagnoser.training_labels)
    assert diagnoser.training_mse.shape == (n,) and diagnoser.map_positions.shape == (n, 2)
    assert diagnoser.block_size == 8 and diagnoser.reference.dtype == np.uint8


def test_images_are_judged_one_at_a_time(diagnoser):
    def images():
        yield IMAGE
        raise RuntimeError("asked for too early")

    assert next(diagnoser.diagnose(images())).verdict == ("original",)


def test_saved_and_built_again_the_diagnosis_is_the_same(diagnoser):
    arrays, settings = diagnoser.to_state()
    again = Diagnoser.from_state(arrays, json.loads(json.dumps(settings)))
    for level in (40, 300):
        copy = distortions.apply(IMAGE, "blur", level, 2)
        one, two = judge(diagnoser, copy), judge(again, copy)
        assert one.verdict == two.verdict and one.confidence == two.confidence
        assert one.severity == two.severity
        assert_array_equal(one.block_labels, two.block_labels)
        assert_array_equal(one.nearest, two.nearest)
        assert_allclose(one.position, two.position)


def test_the_state_of_a_512_image_stays_small(diagnoser):
    arrays, _ = diagnoser.to_state()
    blocks = len(arrays["embedding"])
    assert arrays["embedding"].dtype == np.float32 and arrays["training_images"].dtype == np.uint8
    whole = 4096 / blocks * (arrays["embedding"].nbytes + arrays["training_images"].nbytes)
    assert whole + arrays["features"].nbytes * 1650 / 264 + arrays["window_embedding"].nbytes * 3 < 60e6


def test_the_seed_alone_decides_and_not_the_threads():
    image = IMAGE[:48, :48]
    copy = distortions.apply(image, "impulse_noise", 100, 4)
    one, two = (diagnose(image, [copy], n_samples=48, n_jobs=jobs)[0] for jobs in (1, 2))
    assert one.verdict == two.verdict and one.confidence == two.confidence and one.severity == two.severity


def test_sides_that_are_no_multiples_of_a_block_are_fine():
    image = datasets.reference()[100:161, 100:175]
    found = diagnose(image, [image, distortions.apply(image, "luminance", 200)], n_samples=48)
    assert found[0].verdict == ("original",)
    assert found[1].block_grid == (8, 10) and found[1].ssim_map.shape == image.shape


@pytest.mark.filterwarnings("error")
def test_a_reference_of_one_block_is_enough():
    image = datasets.reference()[100:108, 200:208]
    assert [found.block_grid for found in diagnose(image, [image, 255 - image], n_samples=48)] == [(1, 1), (1, 1)]


def test_the_public_names_lead_here():
    assert llise.diagnose is diagnose and llise.Diagnoser is Diagnoser


# What is refused


def test_both_sizes_are_named_where_they_differ(diagnoser):
    with pytest.raises(ValueError, match=r"20 x 16 pixels.*160 x 128"):
        judge(diagnoser, IMAGE[:16, :20])


def test_colour_is_turned_into_luma_and_strange_types_are_refused(diagnoser):
    colour = np.repeat(IMAGE[:, :, None], 3, axis=2)
    assert judge(diagnoser, colour).verdict == ("original",)
    with pytest.raises(ValueError, match="int32"):
        judge(diagnoser, IMAGE.astype(np.int32))


def test_16_bits_are_scaled_by_the_stated_rule(diagnoser):
    assert judge(diagnoser, IMAGE.astype(np.uint16) * 257).verdict == ("original",)


def test_a_flat_or_tiny_reference_is_refused():
    with pytest.raises(ValueError, match="all pixels are 9"):
        Diagnoser(np.full((32, 32), 9, np.uint8))
    with pytest.raises(ValueError, match="n_samples=5"):
        Diagnoser(IMAGE, n_samples=5)
    with pytest.raises(ValueError, match="smaller than a block"):
        Diagnoser(IMAGE[:4, :4])


# Pieces


def test_random_copies_do_not_share_seeds_with_the_images_of_the_paper():
    assert synthesis._BRANCH not in (datasets._TRAINING_BRANCH, datasets._TEST_BRANCH)


def test_random_copies_have_about_the_error_and_exactly_the_kinds_asked_for():
    scene = synthesis.Scene(IMAGE, choose_windows(IMAGE))
    for number, kinds in enumerate(synthesis.SETS[:6]):
        rng = np.random.default_rng(number)
        sample = synthesis.draw(scene, kinds, 60, rng)
        assert sample.kinds == kinds and set(sample.parts) == set(kinds)
        assert distortions.mse(scene.windows, sample.windows) == pytest.approx(60, rel=0.25)


def test_every_set_of_kinds_is_drawn():
    assert len(synthesis.SETS) == 21
    assert set(synthesis._TURNS) == set(range(21))


def test_blur_of_windows_is_blur_of_the_whole_image():
    image = datasets.reference()
    places = choose_windows(image)
    scene = synthesis.Scene(image, places)
    from scipy import fft

    spectrum = fft.dctn(scene.windows.astype(np.float32), axes=(1, 2), norm="ortho")
    for sigma in (2.0, 12.0):
        whole = registry.get("blur").path(image, np.random.default_rng(0))(sigma)

        def gain(fy, fx, sigma=sigma):
            return np.exp(-0.5 * sigma**2 * (fy[:, None] ** 2 + fx[None, :] ** 2))

        inner = scene.blur(spectrum, gain, far=sigma > 8)[:, 32:-32, 32:-32]
        assert np.sqrt(np.mean((inner - places.cut(whole)) ** 2)) < 0.1


def test_windows_lie_on_the_grid_and_do_not_overlap():
    places = choose_windows(datasets.reference())
    assert all(r % 8 == c % 8 == 0 for r, c in places.corners)
    rows, cols = places.size
    for i, (r, c) in enumerate(places.corners):
        for other_r, other_c in places.corners[:i]:
            assert abs(r - other_r) >= rows or abs(c - other_c) >= cols


def test_statistics_have_names_and_no_nan():
    image = IMAGE.copy()
    image[:40] = 0
    statistics = Statistics(image, choose_windows(image))
    places = choose_windows(image)
    for copy in (image, np.zeros_like(image), np.full_like(image, 255), 255 - image):
        values = statistics(places.cut(copy))
        assert values.shape == (len(statistics.names),) and np.isfinite(values).all()


def test_statistics_read_shift_and_slope():
    image = np.clip(IMAGE, 60, 190)
    places = choose_windows(image)
    statistics = Statistics(image, places)
    values = dict(zip(statistics.names, statistics(places.cut(image + np.uint8(12)))))
    assert values["shift"] == pytest.approx(12, abs=0.1) and values["slope"] == pytest.approx(1, abs=0.01)
    mean = image.mean()
    stretched = np.rint(mean + 1.2 * (image - mean)).astype(np.uint8)
    values = dict(zip(statistics.names, statistics(places.cut(stretched))))
    assert values["slope"] == pytest.approx(1.2, abs=0.02) and abs(values["shift"]) < 0.5


def test_rounding_on_the_grid_is_found_in_jpegs_alone():
    places = choose_windows(IMAGE)
    statistics = Statistics(IMAGE, places)
    score = {
        kind: dict(zip(statistics.names, statistics(places.cut(distortions.apply(IMAGE, kind, 100, 1)))))
        for kind in KINDS
    }
    assert score["jpeg"]["sawtooth mean"] > 0.6
    assert max(score[kind]["sawtooth mean"] for kind in KINDS if kind != "jpeg") < 0.4


def test_block_dct_is_orthonormal():
    windows = np.random.default_rng(0).random((2, 16, 24)).astype(np.float32)
    coefficients = block_dct(windows)
    assert coefficients.shape == (12, 64)
    assert np.sum(coefficients**2) == pytest.approx(np.sum(windows**2), rel=1e-5)


def test_a_profile_counts_votes_by_hand():
    embedding = np.array([[[0.0], [1.0], [2.0]], [[0.0], [1.0], [2.0]]])
    profile = Profile(embedding, ["original", "blur", "jpeg"], np.array([0.0, 150.0, 400.0]), np.array([1.0, 2.0]))
    values = profile(np.array([[[0.9]], [[1.9]]]), np.full((2, 1), 0.5))
    found = dict(zip(profile.names, values[0]))
    assert found["votes blur"] == found["votes jpeg"] == 0.5 and found["votes original"] == 0
    assert found["votes jpeg quarter 3"] == 0.5 and found["votes blur quarter 1"] == 0.5
    assert found["distance blur"] == pytest.approx(np.log((0.1 + 0.9) / 2 + 1e-4), abs=1e-5)
    assert found["misfit mean"] == pytest.approx(np.log(0.5), abs=1e-4)
