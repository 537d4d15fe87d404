"""Misaligned copies are measured and judged on their own grid; other copies are left as they lie."""

import numpy as np
import pytest
from look_standin import model_of
from scipy import ndimage
from training.alignment_fit import fit
from training.tuned import DEFAULTS

from llise.diagnosis import diagnose
from llise.diagnosis.alignment import Aligner
from llise.diagnosis.alignment.matched_blur import match_blur
from llise.diagnosis.alignment.places import NAMES, NOTHING, Level, derivatives, pyramid, reductions, sources, way
from llise.diagnosis.alignment.registration import Registration, fit_line
from llise.diagnosis.custom_kinds import _picture
from llise.images import as_uint8
from llise.kinds import registry
from llise.kinds.fitting import as_bytes
from llise.kinds.misalignment import Misalignment, MisalignmentSettings

TUNED = DEFAULTS["alignment"]


@pytest.fixture(scope="module")
def picture():
    return np.ascontiguousarray(_picture("coffee")[80:304, 120:376])


def aligned_of(reference, copy):
    return Aligner(np.ascontiguousarray(as_uint8(reference)), TUNED).align(reference, copy)


def made(picture, **settings):
    return Misalignment().apply(picture, MisalignmentSettings(**settings))


@pytest.mark.parametrize(
    "settings",
    [
        {"shift_x": 3.0},
        {"shift_x": -7.3, "shift_y": 0.4},
        {"rotation": 1.2},
        {"scale": 1.5},
        {"shift_x": 2.0, "shift_y": -5.0, "rotation": -0.7, "scale": 0.8},
        {"shift_x": 4.0, "scale": 12.0, "stretch": 3.0},
    ],
    ids=lambda settings: "-".join(settings),
)
@pytest.mark.parametrize("method", ["bilinear", "lanczos"])
def test_what_was_done_is_measured(picture, settings, method):
    found = aligned_of(picture, made(picture, **settings, method=method))
    expected = np.array([settings.get(name, 0.0) for name in NAMES])
    np.testing.assert_allclose(found.at, expected, atol=0.03)
    assert found.confidence > 0.5
    rows, cols = found.box
    moved, copy = found.picture[rows, cols].astype(float), made(picture, **settings, method=method)[rows, cols]
    assert np.mean((moved - copy) ** 2) < 0.1 * np.mean((picture[rows, cols].astype(float) - copy) ** 2)


@pytest.mark.parametrize("crop", [(8, 4, 2, 10), (0, 20, 0, 20), (22, 25, 22, 25)])
def test_a_crop_that_is_enlarged_is_found(picture, crop):
    top, left, bottom, right = crop
    rows, cols = picture.shape[:2]
    found = aligned_of(picture, made(picture, crop=crop, method="bicubic"))
    down, across = rows / (rows - top - bottom), cols / (cols - left - right)
    np.testing.assert_allclose(found.at[3:], [50 * (down + across) - 100, 50 * (across - down)], atol=0.15)
    np.testing.assert_allclose(found.at[:2], [across * (right - left) / 2, down * (bottom - top) / 2], atol=0.15)


@pytest.mark.parametrize(
    "kind, strength",
    [
        ("blur", 2.0),
        ("gaussian_noise", 20.0),
        ("jpeg", 3.0),
        ("luminance", 30.0),
        ("pixelation", 4.0),
        ("contrast", 0.5),
    ],
)
def test_copies_that_lie_well_are_left(picture, kind, strength):
    draw = registry.get(kind).draw(picture, np.random.default_rng(3))
    assert aligned_of(picture, as_bytes(np.asarray(draw.path(strength)))) is None
    assert aligned_of(picture, picture) is None


def test_a_blur_to_one_side_is_no_shift(picture):
    smeared = ndimage.uniform_filter1d(picture, 9, axis=1, origin=-4, mode="nearest")
    assert aligned_of(picture, smeared) is None


def test_small_pictures_are_not_aligned(picture):
    small = np.ascontiguousarray(picture[:40, :200])
    assert aligned_of(small, np.roll(small, 2, axis=1)) is None


def test_grey_levels_may_change_besides(picture):
    copy = np.clip(0.7 * made(picture, shift_x=5.0).astype(float) + 20, 0, 255).astype(np.uint8)
    np.testing.assert_allclose(aligned_of(picture, copy).at, [5, 0, 0, 0, 0], atol=0.02)


def test_what_remains_after_aligning_is_judged(picture):
    moved = made(picture, shift_x=6.0)
    noisy = np.clip(moved + np.random.default_rng(0).normal(0, 10, moved.shape), 0, 255).astype(np.uint8)
    diagnosis = diagnose(picture, [noisy], model=model_of(("gaussian_noise",)))[0]
    assert diagnosis.verdict == ("gaussian_noise", "misalignment")
    first = diagnosis.faults[0]
    assert first.kinds == ("misalignment",) and first.estimate["misalignment"]["shift_x"].value == 6
    low, high = first.estimate["misalignment"]["scale"][1:]
    assert low <= 0 <= high
    noise = diagnosis.faults[1].estimate["gaussian_noise"]["sigma"]
    assert noise.value == pytest.approx(10, abs=0.7)
    assert diagnosis.aligned_reference.shape == picture.shape
    as_it_lies = diagnose(picture, [noisy], model=model_of(("gaussian_noise",)), align=False)[0]
    assert "misalignment" not in as_it_lies.verdict and as_it_lies.aligned_reference is None


def test_derivatives_are_those_of_finite_differences():
    rng = np.random.default_rng(0)
    at, rows, cols = rng.normal(0, 2, 5), rng.uniform(0, 90, 20), rng.uniform(0, 70, 20)
    found = derivatives(at, (91, 71), rows, cols)
    for number in range(5):
        step = 1e-5 * np.eye(5)[number]
        after, before = (np.array(sources(at + sign * step, (91, 71), rows, cols)) for sign in (1, -1))
        np.testing.assert_allclose(found[:, number], (after - before) / 2e-5, atol=1e-6)


def test_the_way_is_the_root_mean_square_of_what_pixels_move():
    change = np.array([0.3, -0.2, 0.1, 0.2, 0.1])
    y, x = np.broadcast_arrays(*sources(change, (80, 120), np.arange(80.0)[:, None], np.arange(120.0)))
    rows, cols = np.mgrid[:80, :120]
    assert way(change, (80, 120)) == pytest.approx(np.sqrt(np.mean((y - rows) ** 2 + (x - cols) ** 2)), rel=0.02)


def test_a_step_follows_a_small_shift():
    y, x = np.mgrid[:96, :96].astype(np.float32)
    wave, moved = (100 + 50 * np.sin((x - shift) / 9) * np.sin(y / 9) for shift in (0, 0.3))
    (level,) = pyramid(reductions(wave), reductions(moved))
    assert isinstance(level, Level)
    assert Registration(level).step(NOTHING).at[0] == pytest.approx(0.3, abs=0.01)


def test_the_reference_is_made_as_blurred_as_the_copy():
    noise = np.random.default_rng(0).uniform(0, 255, (96, 96)).astype(np.float32)
    blurred = ndimage.gaussian_filter(noise, 1.0, mode="mirror")
    matched = match_blur(pyramid(reductions(noise), reductions(blurred))[-1], NOTHING).reference
    assert np.abs(matched - blurred)[8:-8, 8:-8].mean() < 0.05 * np.abs(noise - blurred).mean()


def test_a_robust_line_ignores_outliers():
    values = np.linspace(0, 200, 400)
    target = 0.5 * values + 30
    target[::20] = 255
    gain, offset, weights = fit_line(values, target, robust=True)
    assert (gain, offset) == (pytest.approx(0.5, abs=0.01), pytest.approx(30, abs=1)) and weights[0] < 0.1


def test_the_weights_of_the_confidence_are_those_of_a_logistic_regression():
    rng = np.random.default_rng(0)
    table = np.c_[np.ones(4000), rng.normal(size=(4000, 6))]
    weights = np.array([0.0, 1, -1, 2, 0, 0.5, -2])
    truth = rng.random(4000) < 1 / (1 + np.exp(-table @ weights))
    found = np.array(fit(table, truth))
    assert np.corrcoef(found, weights)[0, 1] > 0.97
