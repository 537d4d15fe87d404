"""Filters of pictures and masks against SciPy's."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import ndimage

from llise import filters, masks
from llise.look.regions import disc

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


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_masks_grow_shrink_and_fall_apart_as_with_scipy(shape, share):
    mask = RNG.random(shape) < share
    for structure in (masks.SQUARE, disc(2), disc(5)):
        assert np.array_equal(masks.dilated(mask, structure), ndimage.binary_dilation(mask, structure))
        assert np.array_equal(masks.eroded(mask, structure), ndimage.binary_erosion(mask, structure, border_value=1))
        assert np.array_equal(masks.closed(mask, structure), ndimage.binary_closing(mask, structure))
    numbers, count = masks.islands(mask)
    expected, expected_count = ndimage.label(mask, masks.SQUARE)
    assert count == expected_count
    assert np.array_equal(numbers, expected)
    assert masks.boxes(numbers) == ndimage.find_objects(expected)


def test_a_diagnosis_of_most_kinds_does_not_wait_for_scipy():
    program = (
        "import sys, llise, numpy as np\n"
        "picture = np.random.default_rng(0).integers(40, 200, (16, 16)).repeat(8, 0).repeat(8, 1).astype(np.uint8)\n"
        "noise = np.random.default_rng(1).normal(0, 10, picture.shape)\n"
        "copies = [np.clip(picture + noise, 0, 255).astype(np.uint8), picture + 20]\n"
        "print([diagnosis.verdict for diagnosis in llise.diagnose(picture, copies)])\n"
        "print(sorted(name for name in sys.modules if name in ('scipy.ndimage', 'scipy.fft', 'scipy.special')))\n"
    )
    lines = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert lines == ["[('gaussian_noise',), ('luminance',)]", "[]"]
