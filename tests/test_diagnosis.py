"""A diagnosis from end to end: what is measured always holds, faults of whole pictures, bad input."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from faulty import check_measured, distorted, judge
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import ndimage
from threadpoolctl import threadpool_limits

import llise
from llise import datasets, distortions
from llise.look import Diagnoser, Diagnosis, diagnose
from llise.look.training import pictures
from llise.labels import KINDS

IMAGE = datasets.reference()[100:292, 100:292]
REFERENCES = {"reference": IMAGE, "cat": pictures.load("chelsea")[40:232, 100:292]}
UPPER_LEFT, LOWER_RIGHT = (slice(16, 72), slice(16, 88)), (slice(112, 176), slice(104, 176))
pytestmark = pytest.mark.filterwarnings("error")


@cache
def diagnoser(name: str) -> Diagnoser:
    return Diagnoser(REFERENCES[name])


# What is measured


@st.composite
def pairs(draw):
    """A small picture and a copy that differs in a rectangle."""
    height, width = draw(st.integers(8, 60)), draw(st.integers(8, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    top, left = draw(st.integers(0, 400)), draw(st.integers(0, 400))
    picture = datasets.reference()[top : top + height, left : left + width].astype(float)
    spread, level = draw(st.sampled_from([1.0, 0.1, 0.02])), draw(st.sampled_from([0, 128, 250]))
    reference = np.clip(np.rint(level + spread * (picture - level)), 0, 255).astype(np.uint8)
    reference[0, 0] = 255 - reference[0, 0] // 2 if np.ptp(reference) == 0 else reference[0, 0]
    first, last = (sorted(draw(st.tuples(st.integers(0, n), st.integers(0, n)))) for n in (height, width))
    box = slice(first[0], first[1]), slice(last[0], last[1])
    changes = {
        "noise": lambda old: old + rng.normal(0, 15, old.shape),
        "offset": lambda old: old + rng.integers(-60, 61),
        "rounding": lambda old: old + rng.integers(-1, 2, old.shape),
        "pixels": lambda old: np.where(rng.random(old.shape) < 0.05, 255, old),
        "inverse": lambda old: 255 - old,
        "black": lambda old: 0 * old,
        "mosaic": lambda old: np.repeat(np.repeat(old[::4, ::4], 4, 0), 4, 1)[: old.shape[0], : old.shape[1]],
    }
    copy = reference.copy()
    copy[box] = np.clip(np.rint(changes[draw(st.sampled_from(sorted(changes)))](reference[box].astype(float))), 0, 255)
    return reference, copy


@settings(max_examples=50, deadline=None)
@given(pairs())
def test_equal_blocks_are_original_and_errors_are_measured(pair):
    reference, copy = pair
    check_measured(judge(reference, copy), reference, copy)


def test_a_pristine_copy_is_the_original():
    found = judge(IMAGE, IMAGE)
    assert found.verdict == ("original",) and found.confidence == 1 and found.severity == {} and found.faults == []
    assert found.mse == 0 and found.psnr == np.inf and found.ssim == pytest.approx(1) and found.is_copy
    assert found.nearest is None and found.position is None


@pytest.mark.parametrize("share", [1e-4, 0.05, 0.25])
def test_sparse_rounding_is_still_the_original(share):
    rng = np.random.default_rng(1)
    off = np.where(rng.random(IMAGE.shape) < share, rng.choice([-1, 1], IMAGE.shape), 0)
    found = judge(IMAGE, np.clip(IMAGE + off, 0, 255).astype(np.uint8))
    assert found.verdict == ("original",) and 0 < found.mse < 0.5 and not found.block_labels.any()


# Whole pictures


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_of_the_whole_picture_is_named_with_its_severity(name, kind):
    level = 100 if kind == "jpeg" else 250
    copy = distorted(REFERENCES[name], kind, level, seed=77)
    (found,) = diagnoser(name).diagnose([copy])
    assert found.verdict == (kind,) and len(found.faults) == 1
    assert found.severity == {kind: pytest.approx(level, rel=0.01)} and found.faults[0].explained > 0.5
    check_measured(found, REFERENCES[name], copy)


def test_most_of_the_papers_mixtures_are_named():
    copies = datasets.test_set(IMAGE, mse=200, beyond_reach="stop", random_state=8)
    found = diagnose(IMAGE, copies.images[6:])
    assert sum(set(one.verdict) == set(kinds) for one, kinds in zip(found, copies.kinds[6:])) >= 5


ESTIMATES = {
    "luminance": (lambda image: image + 9.0, {"offset": 9}),
    "contrast": (lambda image: 120 + 0.8 * (image - 120.0), {"gain": 0.8, "pivot": 120}),
    "gaussian_noise": (lambda image: image + np.random.default_rng(0).normal(0, 8, image.shape), {"sigma": 8}),
}


@pytest.mark.parametrize("kind", ESTIMATES)
def test_settings_are_estimated_in_their_own_units(kind):
    image = np.clip(IMAGE, 40, 210)
    make, truth = ESTIMATES[kind]
    (fault,) = judge(image, np.clip(np.rint(make(image)), 0, 255).astype(np.uint8)).faults
    assert fault.kinds == (kind,) and fault.explained > 0.9
    for name, value in truth.items():
        assert fault.estimate[kind][name].value == pytest.approx(value, rel=0.06)


def test_impulses_are_counted():
    copy = IMAGE.copy()
    hit = np.random.default_rng(3).random(IMAGE.shape)
    copy[hit < 0.03], copy[hit < 0.01] = 255, 0
    (fault,) = judge(IMAGE, copy).faults
    assert fault.kinds == ("impulse_noise",)
    share, salt = (fault.estimate["impulse_noise"][name].value for name in ("share", "salt"))
    assert share == pytest.approx(0.03, rel=0.1) and salt == pytest.approx(2 / 3, abs=0.08)


# Pictures of any sort


@pytest.mark.parametrize("shape", [(8, 8), (9, 17), (20, 20), (8, 120), (61, 75)])
def test_pictures_smaller_than_a_tile_get_an_answer(shape):
    image = datasets.reference()[100 : 100 + shape[0], 200 : 200 + shape[1]]
    grid = tuple(-(-n // 8) for n in shape)
    noisy = np.clip(image + np.random.default_rng(0).normal(0, 12, shape), 0, 255).astype(np.uint8)
    copies = [image, image // 2 + 60, noisy, 255 - image, np.zeros_like(image), np.full_like(image, 255)]
    for copy, found in zip(copies, diagnose(image, copies)):
        assert found.block_grid == grid and found.ssim_map.shape == shape
        assert (found.verdict == ("original",)) == (copy is image)
        check_measured(found, image, copy)
    shifted = judge(np.clip(image, 30, 220), np.clip(image, 30, 220) + np.uint8(12))
    assert shifted.verdict == ("luminance",)


EXTREME = {
    "nearly black": IMAGE[:96, :96] // 64,
    "nearly white": 252 + IMAGE[:96, :96] // 64,
    "flat but for one pixel": np.where(np.arange(96 * 96).reshape(96, 96) == 4000, 130, 128).astype(np.uint8),
    "half flat": np.where(np.arange(96) < 48, np.uint8(128), IMAGE[:96, :96]),
    "black and white": np.where(IMAGE[:96, :96] > 120, np.uint8(255), np.uint8(0)),
}


@pytest.mark.parametrize("name", EXTREME)
def test_extreme_pictures_get_sensible_answers(name):
    image = EXTREME[name]
    rng = np.random.default_rng(0)
    noisy = np.clip(image + rng.normal(0, 12, image.shape), 0, 255).astype(np.uint8)
    copies = [image, noisy, np.zeros_like(image), np.full_like(image, 255), 255 - image]
    for copy, found in zip(copies, diagnose(image, copies)):
        assert np.isfinite([found.ssim, found.confidence, *found.severity.values()]).all()
        check_measured(found, image, copy)
    assert judge(image, image).verdict == ("original",)
    if name != "black and white":  # there clipping takes half of the noise away
        assert "gaussian_noise" in judge(image, noisy).verdict


@pytest.mark.parametrize("name", ["nearly black", "flat but for one pixel", "half flat"])
def test_a_shift_of_an_extreme_picture_is_luminance(name):
    assert judge(EXTREME[name], np.clip(EXTREME[name] + 20.0, 0, 255).astype(np.uint8)).verdict == ("luminance",)


@pytest.mark.parametrize("other", ["coffee", "moon", "brick"])
def test_another_scene_is_no_copy_and_gets_no_verdict(other):
    image = pictures.load("chelsea")[:192, :192]
    for copy in (pictures.load(other)[:192, :192], image[::-1]):
        found = judge(image, copy)
        assert not found.is_copy and found.verdict == ("unknown",)
        (fault,) = found.faults
        assert fault.kinds == ("unknown",) and fault.region.all() and fault.estimate == {}
        assert set(found.severity) == {"unknown"}
        check_measured(found, image, copy)


@pytest.mark.parametrize("name", ["chelsea", "coffee"])
def test_a_negative_is_a_copy_with_an_unknown_fault(name):
    image = pictures.load(name)[:192, :192]
    found = judge(image, 255 - image)
    assert found.is_copy and found.verdict == ("unknown",)


def test_a_strongly_blurred_copy_of_a_smooth_scene_is_a_copy():
    patches = np.random.default_rng(0).normal(0, 9, (48, 48)).repeat(8, axis=0).repeat(8, axis=1)
    scene = np.clip(np.linspace(60, 180, 384)[:, None] + patches, 0, 255).astype(np.uint8)
    blurred = np.rint(ndimage.gaussian_filter(scene.astype(float), 24)).astype(np.uint8)
    assert judge(scene, blurred).is_copy
    assert not judge(scene, np.ascontiguousarray(scene[:, ::-1])).is_copy


# The same answer every time


def signature(found: Diagnosis):
    """Everything that a diagnosis says."""
    faults = [(f.kinds, f.confidence, f.region.tobytes(), f.severity, f.estimate, f.explained) for f in found.faults]
    return found.verdict, faults, found.block_labels.tobytes(), found.block_severity.tobytes(), found.ssim


@pytest.fixture(scope="module")
def mixed_copies():
    """Copies of several sorts and the answers that one thread gives."""
    copies = [distorted(IMAGE, kind, 90, LOWER_RIGHT) for kind in KINDS]
    copies.append(distorted(distorted(IMAGE, "jpeg", 60), "blur", 200, UPPER_LEFT))
    with threadpool_limits(1):
        return copies, [signature(found) for found in diagnose(IMAGE, copies)]


def test_repeated_calls_and_threads_give_the_same_answer(mixed_copies):
    copies, expected = mixed_copies
    model = Diagnoser(IMAGE, n_jobs=2)
    with ThreadPoolExecutor(4) as pool:
        again = list(pool.map(lambda copy: signature(next(model.diagnose([copy]))), copies * 2))
    assert again == expected * 2


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_of_the_linear_algebra_do_not_change_the_answer(mixed_copies, threads):
    copies, expected = mixed_copies
    with threadpool_limits(threads):
        assert [signature(found) for found in diagnose(IMAGE, copies)] == expected


def test_images_are_judged_one_at_a_time():
    def images():
        yield IMAGE
        raise RuntimeError("asked for too early")

    assert next(diagnoser("reference").diagnose(images())).verdict == ("original",)


# The manifold, where it is learned


def test_the_manifold_adds_neighbours_and_a_place_and_changes_no_verdict():
    image = IMAGE[:48, :56]
    copy = distorted(image, "gaussian_noise", 200)
    model = Diagnoser(image)
    plain = next(model.diagnose([copy]))
    assert model.training_labels is model.training_mse is model.map_positions is None
    found = next(model.fit().diagnose([copy]))
    assert signature(found) == signature(plain)
    assert found.nearest.shape == (6, 7, 3) and found.nearest.max() < len(model.training_labels)
    n = len(model.training_labels)
    assert found.position.shape == (2,) and model.training_mse.shape == (n,) and model.map_positions.shape == (n, 2)


def test_the_manifold_does_not_depend_on_the_number_of_threads():
    image = IMAGE[:32, :32]
    one, two = (Diagnoser(image, n_jobs=jobs, random_state=3).fit() for jobs in (1, 2))
    assert_array_equal(one.map_positions, two.map_positions)
    assert_array_equal(one.manifold.place(image // 2)[0], two.manifold.place(image // 2)[0])


# What is refused, and what is converted


def test_both_sizes_are_named_where_they_differ():
    with pytest.raises(ValueError, match=r"20 x 16 pixels.*192 x 192"):
        judge(IMAGE, IMAGE[:16, :20])


def test_colour_and_16_bits_are_converted_and_strange_types_are_refused():
    assert judge(IMAGE, np.repeat(IMAGE[:, :, None], 3, axis=2)).verdict == ("original",)
    assert judge(IMAGE, IMAGE.astype(np.uint16) * 257).verdict == ("original",)
    with pytest.raises(ValueError, match="int32"):
        judge(IMAGE, IMAGE.astype(np.int32))


def test_a_flat_or_tiny_reference_is_refused():
    with pytest.raises(ValueError, match="all pixels are 9"):
        Diagnoser(np.full((32, 32), 9, np.uint8))
    with pytest.raises(ValueError, match="smaller than a block"):
        Diagnoser(IMAGE[:4, :4])


def test_the_public_names_lead_here():
    assert llise.diagnose is diagnose and llise.Diagnoser is Diagnoser


@pytest.mark.parametrize("kind", ["gaussian_noise", "impulse_noise", "blur", "jpeg"])
def test_turned_and_strided_views_are_judged_like_their_copies(kind):
    reference = datasets.reference()[100:228, 100:260]
    copy = distortions.apply(reference, kind, 120, random_state=0)
    views = reference.T, copy.T
    strided = np.repeat(copy, 2, axis=1)[:, ::2]
    (plain,) = diagnose(*(np.ascontiguousarray(reference.T), [np.ascontiguousarray(copy.T)]))
    (turned,) = diagnose(views[0], [views[1]])
    assert turned.verdict == plain.verdict and (turned.block_labels == plain.block_labels).all()
    assert diagnose(reference, [strided])[0].verdict == diagnose(reference, [copy])[0].verdict
