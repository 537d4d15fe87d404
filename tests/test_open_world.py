"""What tells further kinds and faults without a name: wavelets, sums about grey levels, scores, looks of errors."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from scipy import ndimage

from llise.diagnosis.features.block_sums import measure
from llise.diagnosis.features.region_features import feature_names, features
from llise.diagnosis.features.wavelet import IRREVERSIBLE, REVERSIBLE, code_wavelet, lift, unlift
from llise.diagnosis.judging.judge import greys
from llise.diagnosis.nature import nature_of
from llise.diagnosis.second_look.novelty import CLUES, FALSE_ALARMS, SHARPER, fit_novelty
from llise.diagnosis.sets import SETS, UNKNOWN, UNKNOWN_CODE, code_of, is_set
from llise.diagnosis.training import unlisted
from llise.diagnosis.training.pictures import load
from llise.diagnosis.training.scenes import draw_scene
from llise.kinds.registry import get
from llise.kinds.search import draw_copy
from llise.labels import FURTHER_KINDS, KINDS

EVERYWHERE = np.ones((16, 16), bool)


@pytest.fixture(scope="module")
def picture() -> np.ndarray:
    return load("camera")[150:278, 150:278]


def feature(picture: np.ndarray, copy: np.ndarray, name: str) -> float:
    sums = measure(picture, copy).sum((0, 1), dtype=np.float64)
    return float(features(sums[None], greys(picture))[0, feature_names().index(name)])


@settings(max_examples=20, deadline=None)
@given(
    arrays(np.float32, (8, 12), elements=st.floats(-1e3, 1e3, width=32)),
    st.sampled_from((REVERSIBLE, IRREVERSIBLE)),
    st.sampled_from((0, 1)),
)
def test_a_lifted_picture_can_be_put_together_again(values, steps, axis):
    again = unlift(*lift(values, steps, axis), steps, axis)
    np.testing.assert_allclose(again, values, atol=1e-3 * (1 + np.abs(values).max()))


def test_details_of_a_straight_ramp_vanish_inside():
    ramp = np.tile(np.arange(32, dtype=np.float32), (8, 1))
    for steps in (REVERSIBLE, IRREVERSIBLE):
        assert np.abs(lift(ramp, steps, 1)[1][:, 2:-2]).max() < 1e-4


def test_coarser_steps_of_the_wavelet_coder_lose_more(picture):
    errors = [np.mean((coded - picture) ** 2) for coded in code_wavelet(picture.astype(np.float32), (4, 16, 64))]
    assert errors == sorted(errors)
    assert errors[0] < 4


def test_the_wavelet_coder_explains_jpeg_2000_better_than_blur_does(picture):
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "JPEG2000", quality_mode="rates", quality_layers=[20], irreversible=True)
    coded = np.asarray(Image.open(stream))
    blurred = np.rint(ndimage.gaussian_filter(picture.astype(float), 1.5)).astype(np.uint8)
    assert feature(picture, coded, "part wavelet") < feature(picture, coded, "part blur")
    assert feature(picture, blurred, "part blur") < feature(picture, blurred, "part wavelet")
    assert feature(picture, coded, "more small 9/7 1 mixed") > 0.1


@pytest.mark.parametrize(("exponent", "low", "high"), [(0.0, -0.25, 0.25), (0.5, 0.3, 0.7), (1.0, 0.75, 1.3)])
def test_the_exponent_of_noise_is_seen(exponent, low, high):
    rng = np.random.default_rng(0)
    ramp = np.tile(np.linspace(20, 200, 256), (256, 1))
    copy = ramp + 6 * (ramp / 100) ** exponent * rng.standard_normal(ramp.shape)
    values = [np.clip(np.rint(image), 0, 255).astype(np.uint8) for image in (ramp, copy)]
    assert low < feature(*values, "noise exponent") < high


def test_posterising_leaves_a_function_of_the_grey_level_with_few_levels(picture):
    coarse = (picture // 32 * 32 + 16).astype(np.uint8)
    noisy = np.clip(picture + np.random.default_rng(0).normal(0, 8, picture.shape), 0, 255).astype(np.uint8)
    assert feature(picture, coarse, "levels left") < -1
    assert feature(picture, coarse, "variation at one level") < feature(picture, noisy, "variation at one level") - 1


def test_cells_of_a_mosaic_are_flat(picture):
    mosaic = picture[::4, ::4].repeat(4, 0).repeat(4, 1)
    assert feature(picture, mosaic, "equal right") > 0.7
    assert feature(picture, picture, "equal right") < 0.4


def test_sets_have_each_pair_once():
    assert len({frozenset(kinds) for kinds in SETS}) == len(SETS)
    assert SETS[UNKNOWN_CODE] == (UNKNOWN,)
    assert all(is_set(kind, other) for kind in KINDS for other in FURTHER_KINDS)
    assert not is_set("pixelation", "jpeg2000")
    assert all(code_of(*kinds[::-1]) == code for code, kinds in enumerate(SETS))


@pytest.mark.parametrize(
    "maker", sorted({maker for group in unlisted.GROUPS for maker in group}, key=lambda m: m.__name__)
)
def test_every_unlisted_fault_changes_the_picture(maker, picture):
    base = picture.astype(np.float32)
    for seed in range(6):
        copy = maker(base, np.random.default_rng(seed))
        assert copy.shape == base.shape
        assert np.isfinite(copy).all()
        assert np.mean((np.clip(copy, 0, 255) - base) ** 2) > 0.5
        np.testing.assert_array_equal(copy, maker(base, np.random.default_rng(seed)))


def test_scenes_have_every_set_of_kinds():
    reference = load("camera")[100:164, 100:196]
    found: set[int] = set()
    for seed in range(500):
        scene = draw_scene(reference, np.random.default_rng(seed))
        if scene is not None:
            found |= set(np.unique(scene.labels)) - {-1}
            assert set(np.unique(scene.labels)) - {-1} <= set(scene.parts)
    assert UNKNOWN_CODE in found
    assert {code_of(kind) for kind in (*KINDS, *FURTHER_KINDS)} <= found
    assert len(found) > 50


def test_the_false_alarm_rate_is_kept():
    rng = np.random.default_rng(0)
    known, strange = rng.normal(size=(9000, len(CLUES))), rng.normal(size=(1000, len(CLUES)))
    strange[:, 1] += 4
    novelty = fit_novelty(
        np.concatenate([known, strange]), np.arange(10_000) >= 9000, rng.choice([3, 20, 100, 500], 10_000)
    )
    new = rng.normal(size=(20_000, len(CLUES)))
    values = np.array([novelty.p_value(novelty.score(row), 100, 100.0) for row in new])
    for rate in (FALSE_ALARMS, 0.05):  # where all parts are judged by one network, see SHARPER
        assert (values < rate).mean() == pytest.approx(rate / SHARPER, rel=0.3)
    new[:, 1] += 4
    assert np.mean([novelty.p_value(novelty.score(row), 100, 100.0) < 0.05 for row in new[:2000]]) > 0.8


def test_p_values_fall_with_the_score():
    rng = np.random.default_rng(0)
    novelty = fit_novelty(rng.normal(size=(1000, len(CLUES))), rng.random(1000) < 0.2, np.full(1000, 50))
    values = [novelty.p_value(score, 50, 100.0) for score in np.linspace(-40, 40, 200)]
    assert values == sorted(values, reverse=True)
    assert values[0] == 1
    assert 0 < values[-1] < 1e-3


@pytest.mark.parametrize(
    ("nature", "make"),
    [
        ("noisy", lambda y, x, rng: 12 * rng.standard_normal(x.shape)),
        ("smooth", lambda y, x, rng: 40 * np.sin(np.pi * x / 128) * np.sin(np.pi * y / 128)),
        ("periodic", lambda y, x, rng: 15 * np.sin(2 * np.pi * (x + 2 * y) / 9)),
        ("on the 8x8 grid", lambda y, x, rng: 12 * rng.standard_normal((16, 16)).repeat(8, 0).repeat(8, 1)),
    ],
)
def test_an_error_is_called_what_it_looks_like(nature, make, picture):
    y, x = np.mgrid[:128, :128]
    calm = picture // 2 + 64
    copy = np.clip(calm + make(y, x, np.random.default_rng(0)), 0, 255).astype(np.uint8)
    assert nature in nature_of(calm, copy, EVERYWHERE)


def test_an_equal_copy_looks_like_nothing(picture):
    assert nature_of(picture, picture, EVERYWHERE) == ()


@pytest.mark.parametrize("kind", FURTHER_KINDS)
def test_a_draw_reaches_the_wanted_error(kind, picture):
    errors = []
    for seed in range(8):
        copy = draw_copy(get(kind), picture, 150.0, np.random.default_rng(seed)).image
        errors.append(float(np.mean((copy.astype(float) - picture) ** 2)))
    assert 110 < np.median(errors) < 200
