"""Settings of the learners: the range of grey values, and settings that are refused by name."""

import numpy as np
import pytest
from problems import photographs
from sklearn.base import clone

from llise import LLE, LLISE, KernelLLE, KernelLLISE
from llise.manifold.objectives import ssim_constant

IMAGES = photographs(24, 20, 13)  # sides that are no multiples of a block


# ------------------------------------------------------------------------------------------------ data_range rules


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        (np.uint8([0, 9]), 255),
        (np.uint16([0, 9]), 65535),
        (np.array([False, True]), 1),
        (np.float32([0, 1]), 1),
        (np.float64([0.2, 0.3]), 1),
    ],
)
def test_data_range_is_inferred_where_the_type_tells(images, expected):
    stack = np.random.default_rng(0).permuted(np.resize(images, (6, 4, 4)).reshape(6, -1), axis=1).reshape(6, 4, 4)
    assert LLISE(1, n_neighbors=2, block_size=4).fit(stack).data_range_ == expected


@pytest.mark.parametrize("images", [np.int32([0, 9]), np.float64([0, 1.5]), np.float32([-0.1, 1]), np.int8([0, 1])])
def test_data_range_is_demanded_where_it_does_not(images):
    stack = np.resize(images, (6, 4, 4))
    with pytest.raises(ValueError, match=r"data_range is needed for images .* such as data_range=255"):
        LLISE(1, n_neighbors=2, block_size=4).fit(stack)


def test_grey_values_outside_the_range_are_refused():
    with pytest.raises(ValueError, match=r"grey values lie in \[.*\], outside \[0, data_range=0.5\]"):
        LLISE(n_neighbors=6, data_range=0.5).fit(IMAGES)


@pytest.mark.parametrize("bad", [0, -1.0, float("nan"), float("inf"), "255", True])
def test_a_data_range_that_is_none_is_refused(bad):
    with pytest.raises(ValueError, match="data_range must be a positive number or None"):
        LLISE(n_neighbors=6, data_range=bad).fit(IMAGES)


def test_the_range_sets_the_constant_of_ssim():
    """c shrinks with the square of the range: other weights of the errors, so another result."""
    narrow, wide = (LLISE(n_neighbors=6, constraint="affine", data_range=l).fit(IMAGES) for l in (1.0, 100.0))
    assert narrow._fitted_settings.c == ssim_constant(64)
    assert np.abs(narrow.embedding_ - wide.embedding_).max() > 1e-3


# ---------------------------------------------------------------------------------------------------- bad settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer of at least 1, got 0"),
        ({"n_components": 2.5}, "n_components must be an integer of at least 1, got 2.5"),
        ({"n_components": 24}, "n_components=24 needs at least 25 samples.*n_samples=24"),
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1, got 0"),
        ({"block_size": 1}, "block_size must be an integer of at least 2, got 1"),
        ({"block_size": "8"}, "block_size must be an integer of at least 1, got '8'"),
        ({"block_size": 16}, "20x13 pixels is smaller than one block of 16x16"),
        ({"constraint": "simplex"}, "constraint='simplex' is unknown; use one of 'sphere', 'affine'"),
        ({"solver": "newton"}, "solver='newton' is unknown; use one of 'exact', 'admm'"),
        ({"luminance": -1}, "luminance must be a number of at least 0, got -1"),
        ({"ridge": float("nan")}, "ridge must be a number of at least 1e-06, got nan"),
        ({"image_shape": (5, 5)}, r"images are 20x13, but image_shape=\(5, 5\)"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        LLISE().set_params(**settings).fit(IMAGES)


def test_luminance_goes_with_the_linear_kernel_only():
    with pytest.raises(ValueError, match=r"luminance=0.5 goes with the linear kernel only"):
        KernelLLISE(luminance=0.5).fit(IMAGES)
    KernelLLISE(kernel="linear", luminance=0.5, n_neighbors=6).fit(IMAGES)


def test_images_of_four_channels_are_refused():
    with pytest.raises(ValueError, match=r"\(4, 20, 13, 4\)"):
        LLISE().fit(np.zeros((4, 20, 13, 4)))


@pytest.mark.parametrize("learner", [LLISE(), KernelLLISE(), LLE(), KernelLLE()], ids=str)
def test_too_few_images_for_the_neighbours_are_used_all_with_a_warning(learner):
    with pytest.warns(UserWarning, match="n_neighbors=10 needs more than n_samples=8 samples; 7 neighbours are used"):
        found = clone(learner).set_params(n_neighbors=10).fit(IMAGES[:8])
    assert np.isfinite(found.embedding_).all()
