"""Estimates of settings: right where they can be known, finite and wide where not."""

from __future__ import annotations

import numpy as np
import pytest
from faulty import coded
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFilter
from scipy import ndimage

from llise.diagnosis.estimates.copy_estimates import estimate_fault
from llise.diagnosis.estimates.errors import SCALES, EstimateErrors, error_of
from llise.diagnosis.estimates.region_pixels import region_error
from llise.diagnosis.sets import SETS, UNKNOWN
from llise.diagnosis.training.calibration import draw_errors, estimate_errors
from llise.diagnosis.training.pictures import load
from llise.kinds.blur_kernels import disc_kernel, motion_kernel
from llise.kinds.fitting import fit_line, residual_power
from llise.kinds.registry import names
from llise.labels import COLOR_KINDS

PICTURES = ("camera", "coffee")


def whole(image: np.ndarray) -> np.ndarray:
    return np.ones([-(-n // 8) for n in image.shape], bool)


def rounded(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def noise(image: np.ndarray, sigma: float, seed: int = 0) -> np.ndarray:
    return rounded(image + np.random.default_rng(seed).normal(0, sigma, image.shape))


def impulses(image: np.ndarray, share: float, salt: float = 0.5, seed: int = 0) -> np.ndarray:
    chance = np.random.default_rng(seed).random(image.shape)
    return np.where(chance < share, np.where(chance < share * salt, 255, 0), image).astype(np.uint8)


def blur(image: np.ndarray, sigma: float) -> np.ndarray:
    return rounded(ndimage.gaussian_filter(image.astype(float), sigma))


def convolved(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    return rounded(ndimage.convolve(image.astype(float), kernel / kernel.sum()))


ALONE = {
    "jpeg 12": (lambda x: coded(x, 12), "jpeg", {"quality": (12, 1)}),
    "jpeg 75": (lambda x: coded(x, 75), "jpeg", {"quality": (75, 1)}),
    "blur": (lambda x: blur(x, 2.0), "blur", {"sigma": (2.0, 0.05)}),
    "blur of Pillow": (
        lambda x: np.asarray(Image.fromarray(x).filter(ImageFilter.GaussianBlur(1.5))),
        "blur",
        {"sigma": (1.5, 0.1)},
    ),
    "motion": (
        lambda x: convolved(x, motion_kernel(9, 30)),
        "blur",
        {"length": (9, 0.4), "angle": (30, 2), "sigma": (1.84, 0.1)},
    ),
    "lens": (lambda x: convolved(x, disc_kernel(3)), "blur", {"radius": (3, 0.1), "sigma": (1.5, 0.1)}),
    "noise": (lambda x: noise(x, 8), "gaussian_noise", {"sigma": (8, 0.2)}),
    "impulses": (lambda x: impulses(x, 0.02, 0.3), "impulse_noise", {"share": (0.02, 0.002), "salt": (0.3, 0.05)}),
    "contrast": (lambda x: rounded(110 + 1.4 * (x - 110.0)), "contrast", {"gain": (1.4, 0.02), "pivot": (110, 2)}),
    "luminance": (lambda x: rounded(x - 14.0), "luminance", {"offset": (-14, 0.3)}),
}


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("case", ALONE)
def test_one_kind_alone_is_recovered(picture, case):
    make, kind, truth = ALONE[case]
    reference = load(picture)
    copy = make(reference)
    found = estimate_fault(reference, copy, whole(reference), (kind,))
    for name, (value, tolerance) in truth.items():
        assert found.parameters[kind][name].value == pytest.approx(value, abs=tolerance), name
    assert found.explained > 0.95


PAIRS = {
    "blur, then noise": (
        lambda x: noise(blur(x, 1.8), 6),
        {"blur": {"sigma": (1.8, 0.15)}, "gaussian_noise": {"sigma": (6, 0.3)}},
    ),
    "noise, then blur": (
        lambda x: blur(noise(x, 25), 1.2),
        {"blur": {"sigma": (1.2, 0.15)}, "gaussian_noise": {"sigma": (25, 3)}},
    ),
    "noise, then JPEG": (
        lambda x: coded(noise(x, 10), 40),
        {"jpeg": {"quality": (40, 1)}, "gaussian_noise": {"sigma": (10, 1)}},
    ),
    "JPEG, then noise": (
        lambda x: noise(coded(x, 20), 6),
        {"jpeg": {"quality": (20, 2)}, "gaussian_noise": {"sigma": (6, 0.5)}},
    ),
    "luminance, then JPEG": (
        lambda x: coded(rounded(x + 12.0), 30),
        {"jpeg": {"quality": (30, 2)}, "luminance": {"offset": (12, 1)}},
    ),
    "JPEG, then contrast": (
        lambda x: rounded(120 + 0.7 * (coded(x, 30) - 120.0)),
        {"jpeg": {"quality": (30, 3)}, "contrast": {"gain": (0.7, 0.03)}},
    ),
    "JPEG, then blur": (
        lambda x: blur(coded(x, 15), 1.5),
        {"jpeg": {"quality": (15, 2)}, "blur": {"sigma": (1.5, 0.2)}},
    ),
    "blur, then impulses": (
        lambda x: impulses(blur(x, 2), 0.01),
        {"blur": {"sigma": (2, 0.1)}, "impulse_noise": {"share": (0.01, 0.002)}},
    ),
    "impulses, then blur": (
        lambda x: blur(impulses(x, 0.01), 1.0),
        {"blur": {"sigma": (1, 0.15)}, "impulse_noise": {"share": (0.01, 0.002)}},
    ),
    "noise and impulses": (
        lambda x: impulses(noise(x, 7), 0.02, seed=1),
        {"gaussian_noise": {"sigma": (7, 0.3)}, "impulse_noise": {"share": (0.02, 0.003)}},
    ),
    "noise, then contrast": (
        lambda x: rounded(128 + 1.5 * (noise(x, 5) - 128.0)),
        {"gaussian_noise": {"sigma": (5, 0.4)}, "contrast": {"gain": (1.5, 0.03)}},
    ),
    "contrast and luminance": (
        lambda x: rounded(x.mean() + 0.8 * (x - x.mean()) + 15),
        {"contrast": {"gain": (0.8, 0.02)}, "luminance": {"offset": (15, 1)}},
    ),
}


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("case", PAIRS)
def test_two_kinds_are_recovered_in_either_order(picture, case):
    make, truth = PAIRS[case]
    reference = load(picture)
    found = estimate_fault(reference, make(reference), whole(reference), tuple(truth))
    for kind, values in truth.items():
        for name, (value, tolerance) in values.items():
            assert found.parameters[kind][name].value == pytest.approx(value, abs=tolerance), (kind, name)
    assert found.explained > 0.8


def test_a_region_is_measured_by_itself():
    reference = load("camera")
    region = np.zeros((64, 64), bool)
    region[20:34, 30:50] = True
    inside = np.kron(region, np.ones((8, 8), bool))
    copy = np.where(inside, blur(reference, 1.5), reference)
    found = estimate_fault(reference, copy, region, ("blur",))
    assert found.parameters["blur"]["sigma"].value == pytest.approx(1.5, abs=0.1)
    assert sum(found.severity.values()) == pytest.approx(np.mean((copy[inside] - reference[inside].astype(float)) ** 2))


@settings(max_examples=80, deadline=None)
@given(
    kinds=st.sampled_from([kinds for kinds in SETS if UNKNOWN not in kinds]),
    level=st.sampled_from([0, 2, 128, 253, 255]),
    spread=st.sampled_from([0, 1, 40]),
    change=st.integers(0, 60),
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    seed=st.integers(0, 1000),
)
def test_any_pair_of_images_gives_finite_values_inside_their_intervals(kinds, level, spread, change, shape, seed):
    rng = np.random.default_rng(seed)
    reference = rounded(level + spread * rng.standard_normal(shape))
    copy = rounded(reference + change * rng.standard_normal(shape))
    region = rng.random([-(-n // 8) for n in shape]) < 0.6
    region.flat[0] = True
    found = estimate_fault(reference, copy, region, kinds)
    assert set(found.parameters) == set(found.severity) == set(kinds)
    for values in found.parameters.values():
        for interval in values.values():
            assert np.isfinite(interval).all()
            assert interval.low <= interval.value <= interval.high
    assert 0 <= found.explained <= 1
    assert min(found.severity.values()) >= 0
    assert sum(found.severity.values()) == pytest.approx(region_error(reference, copy, region))


def test_few_blocks_give_wide_intervals():
    reference = load("camera")
    copy = noise(reference, 8)
    small = np.zeros((64, 64), bool)
    small[30:32, 30:32] = True
    narrow, wide = (
        estimate_fault(reference, copy, region, ("gaussian_noise",)).parameters["gaussian_noise"]["sigma"]
        for region in (whole(reference), small)
    )
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
    assert narrow.low <= 8 <= narrow.high and wide.low <= 8 <= wide.high


def test_what_another_cause_did_is_not_explained():
    reference = load("camera")
    copy = reference.copy()
    copy[100:300, 100:300] = reference[200:400, 250:450]
    region = np.zeros((64, 64), bool)
    region[13:37, 13:37] = True
    for kinds in (("blur",), ("jpeg",), ("luminance",), ("gaussian_noise",)):
        assert estimate_fault(reference, copy, region, kinds).explained < 0.7, kinds


def test_a_large_picture_costs_no_more_than_a_sample_of_it():
    reference = np.tile(load("camera"), (4, 5))
    copy = blur(reference, 2.0)
    found = estimate_fault(reference, copy, whole(reference), ("blur",))
    assert found.parameters["blur"]["sigma"].value == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("noise", [0, 3, 40])
def test_counted_pairs_of_grey_levels_tell_the_same_as_pixels(noise):
    """Whole grey levels are counted; a fraction that changes nothing else has each pixel looked at by itself."""
    rng = np.random.default_rng(noise)
    before = rng.integers(0, 256, (160, 160)).astype(np.float64)
    after = np.clip(np.rint(1.3 * before - 30 + rng.normal(0, noise, before.shape)), 0, 255)
    mask, other = before >= 0, before + 1e-9
    line, by_pixel = (fit_line(image, after, mask, slope=True) for image in (before, other))
    assert line == pytest.approx(by_pixel, rel=1e-6)
    power, by_pixel = (residual_power(after - image, image, mask) for image in (before, other))
    assert power == pytest.approx(by_pixel, rel=1e-6)


def test_an_empty_region_is_refused():
    image = np.zeros((16, 16), np.uint8)
    with pytest.raises(ValueError, match="no block"):
        estimate_fault(image, image, np.zeros((2, 2), bool), ("blur",))


def test_bounds_survive_being_stored_and_hold_the_truth():
    samples = list(draw_errors(PICTURES, [(5, i) for i in range(60)]))
    assert samples
    errors = estimate_errors(samples)
    arrays = errors.to_arrays()
    assert all(array.dtype == np.float32 and array.shape == (4, 3, 2) for array in arrays.values())
    again = EstimateErrors.from_arrays({**arrays, "other": np.zeros(3)})
    assert set(again.bounds) == set(errors.bounds)
    hits = []
    for sample in samples:
        if sample.name in again.bounds:
            low, high = again.bounds[sample.name][sample.size, sample.strength]
            hits.append(min(low, 0) - 1e-4 <= sample.error <= max(high, 0) + 1e-4)
    assert np.mean(hits) > 0.88


def test_scales_cover_the_kinds_and_angles_wrap():
    # Misalignment is measured before all others, colours beside the luma.
    assert {kind for kind, _ in SCALES} == set(names()) - {"misalignment", *COLOR_KINDS}
    assert error_of("blur", "angle", 178.0, 1.0) == pytest.approx(-3)


@pytest.mark.parametrize("rounding", [np.rint, np.floor])
@pytest.mark.parametrize("offset", [11.1, 11.5, 11.9, -8.7, -8.2])
def test_intervals_of_grey_changes_allow_for_fractions_that_are_cut_off(rounding, offset):
    image = load("coffee")[:128, :128]
    region = np.ones((16, 16), bool)
    shifted = np.clip(rounding(image + offset), 0, 255).astype(np.uint8)
    _, low, high = estimate_fault(image, shifted, region, ("luminance",)).parameters["luminance"]["offset"]
    assert low <= offset <= high
    flatter = np.clip(rounding(120 + 0.8 * (image.astype(float) - 120)), 0, 255).astype(np.uint8)
    _, low, high = estimate_fault(image, flatter, region, ("contrast",)).parameters["contrast"]["pivot"]
    assert low <= 120 <= high
