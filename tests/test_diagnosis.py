"""A diagnosis from end to end: what is measured always holds, clear faults are named, bad input is refused."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from faulty import blocks_of, check_measured, coded, distorted, judge, overlap, rounded, signature
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from skimage import data
from threadpoolctl import threadpool_limits

import llise
from llise import Diagnoser, diagnose
from llise.labels import KINDS

CAMERA = np.ascontiguousarray(data.camera()[100:292, 130:322])
CAT = np.ascontiguousarray(data.chelsea()[40:232, 100:292])
PICTURES = {"camera": CAMERA, "cat": CAT}
UPPER_LEFT, LOWER_RIGHT = (slice(16, 72), slice(16, 88)), (slice(104, 184), slice(96, 184))
pytestmark = pytest.mark.filterwarnings("error")


@cache
def diagnoser(name: str) -> Diagnoser:
    return Diagnoser(PICTURES[name])


# What is measured


@st.composite
def pairs(draw):
    """A small picture, grey or in colour, and a copy that differs in a rectangle."""
    height, width = draw(st.integers(8, 60)), draw(st.integers(8, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    top, left = draw(st.integers(0, 200)), draw(st.integers(0, 200))
    picture = draw(st.sampled_from([data.camera(), data.chelsea()]))[top : top + height, left : left + width]
    spread, level = draw(st.sampled_from([1.0, 0.1, 0.02])), draw(st.sampled_from([0, 128, 250]))
    reference = rounded(level + spread * (picture.astype(float) - level))
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
    copy[box] = rounded(changes[draw(st.sampled_from(sorted(changes)))](reference[box].astype(float)))
    return reference, copy


@settings(max_examples=20, deadline=None)
@given(pairs())
def test_equal_blocks_are_original_and_errors_are_measured(pair):
    reference, copy = pair
    check_measured(judge(reference, copy), reference, copy)


@pytest.mark.parametrize("name", PICTURES)
def test_a_pristine_copy_is_the_original(name):
    found = judge(PICTURES[name], PICTURES[name])
    assert found.verdict == ("original",) and found.confidence == 1 and found.severity == {} and found.faults == []
    assert found.mse == 0 and found.psnr == np.inf and found.ssim == pytest.approx(1) and found.is_copy
    assert found.why == () and found.rounding is None and found.model is not None


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("share", [1e-4, 0.05, 0.25])
def test_one_level_of_rounding_is_still_the_original(name, share):
    rng, image = np.random.default_rng(1), PICTURES[name]
    off = np.where(rng.random(image.shape) < share, rng.choice([-1, 1], image.shape), 0)
    found = judge(image, rounded(image + off))
    assert found.verdict == ("original",) and 0 < found.mse < 0.5 and not found.block_labels.any()
    assert found.rounding is not None and found.rounding.largest == 1


# Clear faults


@pytest.mark.parametrize("name", PICTURES)
def test_strong_faults_of_the_whole_picture_are_named_with_their_severity(name):
    image, right = PICTURES[name], 0
    copies = [distorted(image, kind, 100 if kind == "jpeg" else 300, seed=7) for kind in KINDS]
    for kind, copy, found in zip(KINDS, copies, diagnoser(name).diagnose(copies)):
        check_measured(found, image, copy)
        severity = pytest.approx(found.block_severity.mean(), rel=0.1)
        right += found.verdict == (kind,) and found.severity[kind] == severity
        assert found.why and found.why[0].candidates and str(found.why[0])
    assert right >= len(KINDS) - 1


def test_a_strong_fault_in_a_region_is_named_where_it_is():
    copies = [distorted(CAMERA, kind, 100 if kind == "jpeg" else 400, LOWER_RIGHT, 3) for kind in KINDS]
    inside, right = blocks_of(CAMERA.shape, LOWER_RIGHT), 0
    for kind, copy, found in zip(KINDS, copies, diagnoser("camera").diagnose(copies)):
        check_measured(found, CAMERA, copy)
        assert not (found.block_labels[~inside]).any()
        right += found.verdict == (kind,) and (kind == "impulse_noise" or overlap(found.faults[0].region, inside) > 0.6)
    assert right >= len(KINDS) - 1


def test_most_settings_are_estimated_in_their_own_units():
    image = np.clip(CAMERA, 40, 210)
    impulses = image.copy()
    hit = np.random.default_rng(3).random(image.shape)
    impulses[hit < 0.03], impulses[hit < 0.01] = 255, 0
    cases = {
        "luminance": (image + 9, {"offset": 9}),
        "contrast": (rounded(120 + 0.8 * (image - 120.0)), {"gain": 0.8}),
        "gaussian_noise": (rounded(image + np.random.default_rng(0).normal(0, 14, image.shape)), {"sigma": 14}),
        "blur": (rounded(ndimage.gaussian_filter(image.astype(float), 2.0)), {"sigma": 2}),
        "impulse_noise": (impulses, {"share": 0.03, "salt": 2 / 3}),
        "jpeg": (coded(image, 15), {"quality": 15}),
    }
    right = 0
    for kind, (copy, truth) in cases.items():
        estimate = next((f.estimate.get(kind, {}) for f in judge(image, copy).faults if kind in f.kinds), {})
        right += all(word in estimate and abs(estimate[word].value / value - 1) < 0.1 for word, value in truth.items())
    assert right >= 5


@pytest.mark.parametrize("shape", [(100, 100), (131, 203)])
def test_a_fault_reaches_up_to_borders_that_cut_blocks(shape):
    image = np.ascontiguousarray(data.camera()[40 : 40 + shape[0], 60 : 60 + shape[1]])
    for copy in (coded(image, 10), rounded(ndimage.gaussian_filter(image.astype(float), 2.5))):
        found = judge(image, copy)
        check_measured(found, image, copy)
        assert len(found.faults) == 1 and found.faults[0].area > 0.95


# Pictures of any sort


@pytest.mark.parametrize("shape", [(8, 8), (9, 17), (8, 120), (61, 75), (1, 5000)])
def test_pictures_of_any_shape_get_an_answer_or_a_clear_error(shape):
    image = np.ascontiguousarray(np.resize(data.camera()[100 : 100 + shape[0], 10:500], shape))
    if min(shape) < 8:
        with pytest.raises(ValueError, match="smaller than a block"):
            judge(image, image)
        return
    noisy = rounded(image + np.random.default_rng(0).normal(0, 12, shape))
    copies = [image, image // 2 + 60, noisy, 255 - image, np.zeros_like(image), np.full_like(image, 255)]
    for copy, found in zip(copies, diagnose(image, copies)):
        assert found.block_grid == tuple(-(-n // 8) for n in shape) and found.ssim_map.shape == shape
        assert (found.verdict == ("original",)) <= (np.abs(copy.astype(int) - image).max() <= 1)
        check_measured(found, image, copy)


PIECE = CAMERA[:96, :96]
EXTREME = {
    "nearly black": PIECE // 64,
    "nearly white": 252 + PIECE // 64,
    "flat but for one pixel": np.where(np.arange(96 * 96).reshape(96, 96) == 4000, 130, 128).astype(np.uint8),
    "half flat": np.where(np.arange(96) < 48, np.uint8(128), PIECE),
    "black and white": np.where(PIECE > 120, np.uint8(255), np.uint8(0)),
}


@pytest.mark.parametrize("name", EXTREME)
def test_extreme_pictures_get_an_answer(name):
    image = EXTREME[name]
    noisy = rounded(image + np.random.default_rng(0).normal(0, 12, image.shape))
    copies = [image, noisy, np.zeros_like(image), np.full_like(image, 255), 255 - image]
    for copy, found in zip(copies, diagnose(image, copies)):
        assert np.isfinite([found.ssim, found.confidence, *found.severity.values()]).all()
        check_measured(found, image, copy)
    assert judge(image, image).verdict == ("original",)


def test_other_scenes_are_no_copies_and_get_no_name():
    others = [getattr(data, name)()[:192, :192] for name in ("coffee", "astronaut", "moon", "brick", "coins")]
    found = diagnose(CAT, [*others, np.ascontiguousarray(CAT[::-1])])
    for one in found:
        if not one.is_copy:
            (fault,) = one.faults
            assert one.verdict == fault.kinds == ("unknown",) and fault.region.all() and fault.estimate == {}
    assert sum(not one.is_copy for one in found) >= 5


def test_a_negative_is_a_copy_and_so_is_a_strong_blur():
    assert judge(CAT, 255 - CAT).is_copy
    assert judge(CAMERA, rounded(ndimage.gaussian_filter(CAMERA.astype(float), 6))).is_copy


# The same answer every time


@pytest.fixture(scope="module")
def mixed_copies():
    """Copies of several sorts and the answers that one thread gives."""
    copies = [distorted(CAMERA, kind, 200, LOWER_RIGHT) for kind in ("luminance", "impulse_noise", "blur")]
    copies.append(distorted(distorted(CAMERA, "jpeg", 60), "contrast", 200, UPPER_LEFT))
    with threadpool_limits(1):
        return copies, [signature(found) for found in diagnose(CAMERA, copies)]


def test_order_repetition_and_threads_do_not_change_the_answer(mixed_copies):
    copies, expected = mixed_copies
    with ThreadPoolExecutor(4) as pool:
        again = list(pool.map(lambda copy: signature(next(diagnoser("camera").diagnose([copy]))), copies[::-1]))
    assert again == expected[::-1]


def test_threads_of_the_linear_algebra_do_not_change_the_answer(mixed_copies):
    copies, expected = mixed_copies
    with threadpool_limits(3):
        assert [signature(found) for found in diagnose(CAMERA, copies)] == expected


@pytest.mark.parametrize("name", PICTURES)
def test_strided_views_and_stacked_greys_are_judged_like_their_copies(name):
    image = PICTURES[name][:128, :96]
    copy = distorted(image, "jpeg", 90)
    expected = signature(judge(np.ascontiguousarray(image), copy))
    assert signature(judge(image, np.repeat(copy, 2, axis=1)[:, ::2])) == expected
    if image.ndim == 2:
        assert signature(judge(np.stack([image] * 3, -1), np.stack([copy] * 3, -1))) == expected


def test_images_are_judged_one_at_a_time():
    def images():
        yield CAMERA
        raise RuntimeError("asked for too early")

    assert next(diagnoser("camera").diagnose(images())).verdict == ("original",)


# What is refused, and what is converted


def test_both_sizes_are_named_where_they_differ():
    with pytest.raises(ValueError, match=r"20 x 16 pixels.*192 x 192"):
        judge(CAMERA, CAMERA[:16, :20])


def test_colour_and_16_bits_are_converted_and_strange_types_are_refused():
    assert judge(CAMERA, np.repeat(CAMERA[:, :, None], 3, axis=2)).verdict == ("original",)
    assert judge(CAMERA, CAMERA.astype(np.uint16) * 257).verdict == ("original",)
    with pytest.raises(ValueError, match="int32"):
        judge(CAMERA, CAMERA.astype(np.int32))


def test_the_public_names_lead_to_one_place():
    assert llise.diagnose is diagnose and isinstance(judge(CAMERA, CAMERA), llise.Diagnosis)
