"""Blurs of any form, found by least squares."""

import numpy as np
import pytest
from scipy import ndimage, optimize
from skimage import data

from llise.images import as_uint8
from llise.kinds.blur_fit import fit_blur
from llise.kinds.free_kernel import free_kernel, is_alike, reach_for

PICTURE = as_uint8(data.coffee())[:192, :192].astype(np.float32)
INSIDE = np.zeros(PICTURE.shape, bool)
INSIDE[16:-16, 16:-16] = True
PIXELS = np.flatnonzero(INSIDE)


def l_shaped() -> np.ndarray:
    """Two trails at a right angle: no Gaussian, line or disc."""
    kernel = np.zeros((9, 9))
    kernel[4, 4:8], kernel[1:5, 4] = 1, 1
    return kernel / kernel.sum()


def blurred(kernel: np.ndarray) -> np.ndarray:
    return ndimage.convolve(PICTURE, kernel.astype(np.float32), mode="wrap")


def test_any_kernel_is_found():
    found = free_kernel(PICTURE, blurred(l_shaped()).ravel()[PIXELS], PIXELS, 4)
    assert np.abs(found - l_shaped()).max() < 0.02


def test_a_line_of_grey_levels_besides_does_not_matter():
    copy = 0.6 * blurred(l_shaped()) + 30
    found = free_kernel(PICTURE, copy.ravel()[PIXELS], PIXELS, 4, line=True)
    assert np.abs(found - l_shaped()).max() < 0.02


def test_weights_are_those_of_least_squares_without_negative_ones():
    noise = np.random.default_rng(0).normal(0, 6, PIXELS.size).astype(np.float32)
    target = blurred(l_shaped()).ravel()[PIXELS] + noise
    found = free_kernel(PICTURE, target, PIXELS, 3, line=True)
    shifts = [(i, j) for i in range(-3, 4) for j in range(-3, 4)]
    columns = np.stack([np.roll(PICTURE, at, (0, 1)).ravel()[PIXELS] for at in shifts], axis=1)
    every = -(-PIXELS.size // 16_000)
    columns, target = columns[::every], target[::every]
    best, _ = optimize.nnls(columns - columns.mean(axis=0), target - target.mean())
    assert np.abs(found.ravel() - best / best.sum()).max() < 0.02


@pytest.mark.parametrize("line", [False, True])
def test_the_fit_of_a_blur_leaves_next_to_nothing_of_any_kernel(line):
    copy = blurred(l_shaped())
    fit = fit_blur(PICTURE, 0.8 * copy + 20 if line else copy, INSIDE, line=line)
    assert fit.error < 0.01 * np.mean((copy - PICTURE)[INSIDE] ** 2)
    assert np.mean((fit.apply(PICTURE) - copy)[INSIDE] ** 2) < 1.5
    larger = np.pad(PICTURE, 24, mode="wrap")
    assert np.abs(fit.apply(larger)[24:-24, 24:-24] - fit.apply(PICTURE))[INSIDE].max() < 0.1


@pytest.mark.parametrize("factor", [0.7, 1.0])
def test_a_free_kernel_can_be_made_narrower(factor):
    fit = fit_blur(PICTURE, blurred(l_shaped()), INSIDE)
    assert np.iscomplexobj(fit.response)
    error = np.mean((fit.scaled(factor).apply(PICTURE) - blurred(l_shaped()))[INSIDE] ** 2)
    assert (error < 1.5) == (factor == 1.0)


def test_a_shift_is_no_blur():
    moved = np.roll(PICTURE, 2, axis=1)
    assert fit_blur(PICTURE, moved, INSIDE).error > 0.2 * np.mean((moved - PICTURE)[INSIDE] ** 2)


def test_noise_is_not_worth_a_kernel():
    noise = np.random.default_rng(1).normal(0, 8, PIXELS.size).astype(np.float32)
    assert not is_alike(PICTURE, noise, PIXELS, 4)
    assert is_alike(PICTURE, (blurred(l_shaped()) - PICTURE).ravel()[PIXELS], PIXELS, 4)


def test_too_few_pixels_or_too_wide_a_blur_have_no_free_kernel():
    assert reach_for(1.0, (0.0, 0.0), 100) is None and reach_for(20.0, (0.0, 0.0), 10**6) is None
