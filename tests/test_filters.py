"""Filters of pictures against SciPy's."""

import numpy as np
import pytest
from scipy import ndimage

from llise import filters

RNG = np.random.default_rng(0)
SHAPES = [(1, 1), (3, 40), (70, 5), (130, 90)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sigma", [0.6, 2.4, 9.6])
def test_gaussian_is_that_of_scipy(shape, sigma):
    picture = RNG.uniform(0, 255, shape)
    expected = ndimage.gaussian_filter(picture, sigma, mode="nearest")
    np.testing.assert_allclose(filters.gaussian(picture, sigma), expected, atol=1e-10)
    np.testing.assert_allclose(filters.gaussian(picture.astype(np.float32), sigma), expected, atol=2e-4)
    down, across = (filters.gaussian_matrix(side, sigma) for side in shape)
    np.testing.assert_allclose(down @ picture @ across.T, expected, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_spline_coefficients_are_those_of_scipy(shape):
    picture = RNG.uniform(0, 255, shape)
    expected = ndimage.spline_filter(picture, 3, mode="mirror")
    np.testing.assert_allclose(filters.spline_coefficients(picture), expected, atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("outside", "mode"), [("edge", "nearest"), ("constant", "constant")])
def test_means_and_greatest_values_are_those_of_scipy(shape, outside, mode):
    picture = RNG.uniform(0, 255, shape)
    for side in (3, 9):
        expected = ndimage.uniform_filter(picture, side, mode=mode)
        np.testing.assert_allclose(filters.mean_around(picture, side, outside), expected, atol=1e-10)
    assert np.array_equal(filters.greatest_around(picture), ndimage.maximum_filter(picture, 3, mode="nearest"))
