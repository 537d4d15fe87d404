"""SSIM is scikit-image's where settings coincide, and has the properties the method relies on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from skimage.metrics import structural_similarity

from llise import ssim, ssim_distance
from llise.manifold.objectives import ssim_constant

grey = st.floats(0, 1, allow_nan=False, width=32)
pairs = hnp.arrays(np.float64, (2, 16), elements=grey)
quick = settings(max_examples=60, deadline=None)


def centred(x):
    return x - x.mean(axis=-1, keepdims=True)


@pytest.mark.parametrize(("side", "data_range"), [(3, 1.0), (7, 1.0), (7, 255.0), (11, 65535.0)])
def test_equals_scikit_image_on_a_window_that_is_the_block(side, data_range):
    rng = np.random.default_rng(side)
    for spread in (0.02, 0.5):
        x = rng.random((side, side)) * data_range
        y = np.clip(x + spread * data_range * rng.standard_normal((side, side)), 0, data_range)
        theirs = structural_similarity(
            x, y, win_size=side, data_range=data_range, gaussian_weights=False, use_sample_covariance=True
        )
        assert ssim(x.ravel(), y.ravel(), data_range=data_range) == pytest.approx(theirs, abs=1e-12)
        assert 0.01 < abs(theirs) < 0.999  # neither equal nor unrelated blocks


def test_zero_mean_form_is_the_full_form_of_zero_mean_blocks():
    x, y = centred(np.random.default_rng(0).standard_normal((2, 50, 64)))
    full = ssim(x, y)
    np.testing.assert_allclose(ssim(x, y, zero_mean=True), full, atol=1e-12)
    np.testing.assert_allclose(ssim_distance(x, y, zero_mean=True), 1 - full, atol=1e-12)
    np.testing.assert_allclose(ssim_distance(x, y), 1 - full, atol=1e-12)


def test_both_functions_have_the_same_default_form():
    x, y = np.random.default_rng(0).random((2, 9))
    assert ssim_distance(x, y) == 1 - ssim(x, y)
    assert ssim_distance(x, y, zero_mean=True) == pytest.approx(1 - ssim(x, y, zero_mean=True), abs=1e-12)


def test_distance_is_the_quotient_of_the_paper():
    x, y = np.array([1.0, -2.0, 1.0]), np.array([0.0, 1.0, -1.0])
    c = 2 * 0.03**2
    assert ssim_constant(3) == pytest.approx(c)
    assert ssim_distance(x, y, zero_mean=True) == pytest.approx((1 + 9 + 4) / (6 + 2 + c))


@quick
@given(pairs)
def test_symmetric(pair):
    x, y = pair
    assert ssim(x, y) == pytest.approx(ssim(y, x), abs=1e-12)
    for zero_mean in (False, True):
        distances = (ssim_distance(*pair, zero_mean=zero_mean) for pair in ((x, y), (y, x)))
        assert next(distances) == pytest.approx(next(distances), abs=1e-12)


@quick
@given(pairs)
def test_one_and_zero_for_equal_blocks_only(pair):
    x, y = pair
    assert ssim(x, x) == pytest.approx(1, abs=1e-12)
    assert ssim_distance(x, x) == pytest.approx(0, abs=1e-12)
    assert ssim_distance(x, x, zero_mean=True) == 0
    if np.abs(x - y).max() > 1e-3:
        assert ssim_distance(x, y, zero_mean=True) > 0
        assert ssim(x, y) < 1


@quick
@given(pairs)
def test_bounded(pair):
    x, y = pair
    assert -1 - 1e-12 <= ssim(x, y) <= 1 + 1e-12
    assert -1e-12 <= ssim_distance(x, y) <= 2 + 1e-12
    assert 0 <= ssim_distance(centred(x), centred(y), zero_mean=True) <= 2


@quick
@given(pairs, st.sampled_from([255.0, 65535.0, 1e-3]))
def test_independent_of_the_data_range(pair, data_range):
    x, y = pair
    assert ssim(x * data_range, y * data_range, data_range=data_range) == pytest.approx(ssim(x, y), abs=1e-9)
    scaled = ssim_distance(x * data_range, y * data_range, data_range=data_range, zero_mean=True)
    assert scaled == pytest.approx(ssim_distance(x, y, zero_mean=True), abs=1e-9)


@pytest.mark.parametrize("function", [ssim, ssim_distance])
def test_keeps_float32(function):
    x, y = np.random.default_rng(0).random((2, 5, 16), dtype=np.float32)
    assert function(x, y).dtype == np.float32
    np.testing.assert_allclose(function(x, y), function(x.astype(float), y.astype(float)), rtol=1e-4)


@pytest.mark.parametrize("zero_mean", [False, True])
@pytest.mark.parametrize("function", [ssim, ssim_distance])
def test_integers_are_numbers_not_remainders(function, zero_mean):
    x, y = np.random.default_rng(0).integers(0, 256, (2, 5, 16), dtype=np.uint8)
    expected = function(x.astype(float), y.astype(float), data_range=255, zero_mean=zero_mean)
    np.testing.assert_allclose(function(x, y, data_range=255, zero_mean=zero_mean), expected, rtol=1e-12)


def test_leading_axes_broadcast():
    x, y = np.random.default_rng(0).random((3, 1, 9)), np.random.default_rng(1).random((4, 9))
    table = ssim(x, y)
    assert table.shape == (3, 4)
    assert table[2, 1] == pytest.approx(ssim(x[2, 0], y[1]))


@pytest.mark.parametrize("function", [ssim, ssim_distance])
def test_refuses_what_has_no_ssim(function):
    with pytest.raises(ValueError, match="different lengths: 4 and 5"):
        function(np.zeros(4), np.zeros(5))
    with pytest.raises(ValueError, match="at least 2 values"):
        function(np.zeros(1), np.zeros(1))
    for bad in (0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="data_range must be positive"):
            function(np.zeros(4), np.ones(4), data_range=bad)
