"""Distortions hit the wanted error, say so where they cannot, and depend on their seed alone."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from llise import datasets, distortions
from llise.distortions import UnreachableWarning
from llise.kinds.registry import unregister
from llise.labels import KINDS


def near(level: int, side: int = 96) -> np.ndarray:
    """A nearly black or nearly white image: a few grey levels of texture at one end of the range."""
    texture = np.random.default_rng(0).integers(0, 12, (side, side))
    return np.clip(level + texture - 6, 0, 255).astype(np.uint8)


IMAGES = {
    "camera": datasets.reference()[100:292, 150:342],
    "odd size": datasets.reference()[7:190, 100:231],
    "nearly black": near(6),
    "nearly white": near(249),
    "flat": np.full((96, 96), 128, np.uint8),
}
CANNOT = {  # what no strength of the kind can do to the image
    ("blur", "nearly black"),
    ("blur", "nearly white"),
    ("blur", "flat"),
    ("contrast", "flat"),
    ("jpeg", "flat"),
}


@pytest.mark.parametrize("level", [45, 200])
@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_8_bit_copy_has_the_wanted_error_or_the_nearest_is_named(kind, name, level):
    image = IMAGES[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = distortions.make(image, kind, level, random_state=1)
    assert result.image.dtype == np.uint8 and result.image.shape == image.shape
    assert result.measured == pytest.approx(np.mean((result.image - image.astype(float)) ** 2))
    misses = [w for w in caught if w.category is UnreachableWarning]
    if (kind, name) in CANNOT:
        assert not result.reached
    elif kind == "impulse_noise":  # one pixel more or less is the finest step
        assert abs(result.measured - level) <= max(0.005 * level, 255**2 / image.size / 2)
    elif kind != "jpeg":
        assert result.reached
    if result.reached:
        assert abs(result.measured - level) <= 0.005 * level and not misses
    else:
        assert len(misses) == 1 and f"{result.measured:.4g}" in str(misses[0].message)


@pytest.mark.parametrize("level", [20, 60, 110])
def test_jpeg_meets_the_error_on_a_photograph_by_real_coding(level):
    result = distortions.make(IMAGES["camera"], "jpeg", level, 0)
    assert result.reached and not result.amplified


def test_jpeg_beyond_its_reach_stops_or_is_amplified_and_marked():
    image = IMAGES["camera"]
    with pytest.warns(UnreachableWarning, match="jpeg 900"):
        stopped = distortions.make(image, "jpeg", 900, 0)
    assert not stopped.amplified
    assert stopped.measured == pytest.approx(distortions.reach(image, "jpeg"), rel=0.05)
    amplified = distortions.make(image, "jpeg", 900, 0, amplify=True)
    assert amplified.amplified and amplified.reached


@pytest.mark.parametrize("kind", ["contrast", "luminance"])
def test_both_directions_are_served(kind):
    image = IMAGES["camera"]
    up = distortions.make(image, kind, 100, direction=1)
    down = distortions.make(image, kind, 100, direction=-1)
    neutral = 1.0 if kind == "contrast" else 0.0
    assert up.strength > neutral > down.strength
    measure = np.std if kind == "contrast" else np.mean
    assert measure(up.image) > measure(image) > measure(down.image)


def test_a_direction_that_falls_short_gives_way_to_the_other():
    assert distortions.make(IMAGES["nearly white"], "luminance", 200).strength < 0
    with pytest.warns(UnreachableWarning):
        distortions.make(IMAGES["nearly white"], "luminance", 200, direction=1)


def test_luminance_adds_no_noise_to_reach_a_fraction_of_a_level():
    image = np.full((32, 32), 100, np.uint8)
    shift = distortions.apply(image, "luminance", 45).astype(int) - 100
    assert set(np.unique(shift)) == {6, 7}
    assert np.count_nonzero(np.diff(shift.ravel())) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_alone_decides(kind):
    image = IMAGES["camera"]
    first = distortions.apply(image, kind, 100, random_state=5)
    np.random.seed(99)  # noqa: NPY002
    second = distortions.apply(image, kind, 100, random_state=5)
    assert_array_equal(first, second)
    assert np.random.random() == np.random.RandomState(99).random_sample()  # noqa: NPY002
    other = distortions.apply(image, kind, 100, random_state=6)
    assert (first != other).any() == (kind in ("gaussian_noise", "impulse_noise"))


def test_random_state_takes_what_numpy_has():
    image = IMAGES["camera"]
    for make in (np.random.default_rng, np.random.RandomState):
        first = distortions.apply(image, "gaussian_noise", 50, random_state=make(3))
        assert_array_equal(first, distortions.apply(image, "gaussian_noise", 50, random_state=make(3)))
    with pytest.raises(ValueError, match="random_state"):
        distortions.apply(image, "gaussian_noise", 50, random_state="seed")


def test_the_input_is_left_alone():
    image = IMAGES["camera"].copy()
    image.setflags(write=False)
    for kind in KINDS:
        distortions.apply(image, kind, 60, 0)


def test_zero_error_gives_the_image_back():
    for kind in KINDS:
        assert_array_equal(distortions.apply(IMAGES["camera"], kind, 0, 0), IMAGES["camera"])


def test_impulses_are_black_and_white_in_equal_parts():
    image = np.full((128, 128), 100, np.uint8)
    copy = distortions.apply(image, "impulse_noise", 900, 0)
    hit = copy[copy != 100]
    assert set(np.unique(hit)) == {0, 255}
    assert 0.35 < np.mean(hit == 255) < 0.65


def test_blur_is_gaussian():
    from scipy.ndimage import gaussian_filter

    image = IMAGES["camera"]
    result = distortions.make(image, "blur", 150)
    expected = gaussian_filter(image.astype(float), result.strength, mode="reflect", truncate=6)
    assert np.abs(result.image - expected).max() < 0.6


@pytest.mark.filterwarnings("error")
def test_a_new_kind_takes_a_few_lines():
    @distortions.register("stripes", strongest=255)
    def stripes(image, rng):
        pattern = np.where(np.arange(image.shape[1]) % 4 < 2, 1.0, -1.0)
        return lambda strength: image + strength * pattern

    try:
        image = IMAGES["camera"]
        assert distortions.mse(image, distortions.apply(image, "stripes", 80)) == pytest.approx(80, rel=0.005)
        assert "stripes" in distortions.kinds()
    finally:
        unregister("stripes")


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (np.zeros((8, 8, 2), np.uint8), r"\(8, 8, 2\)"),
        (np.zeros((8, 8), np.uint16), "uint16"),
        (np.zeros((8, 8)), "float64"),
        (np.zeros((0, 8), np.uint8), r"\(0, 8\)"),
    ],
)
def test_colour_and_other_depths_are_refused_by_name(image, words):
    with pytest.raises(ValueError, match=words):
        distortions.apply(image, "blur", 10)


def test_bad_wishes_are_refused_with_the_way_out():
    image = IMAGES["camera"]
    with pytest.raises(ValueError, match=r"unknown kind 'fog'.*contrast.*jpeg"):
        distortions.apply(image, "fog", 10)
    with pytest.raises(ValueError, match="mse=-1"):
        distortions.apply(image, "blur", -1)
    with pytest.raises(ValueError, match="mse=nan"):
        distortions.apply(image, "blur", float("nan"))
    with pytest.raises(ValueError, match="'blur' has no direction"):
        distortions.apply(image, "blur", 10, direction=1)
    with pytest.raises(ValueError, match="direction=2"):
        distortions.apply(image, "contrast", 10, direction=2)
    with pytest.raises(ValueError, match=r"\(192, 192\).*\(8, 8\)"):
        distortions.make(image, "blur", 10, reference=np.zeros((8, 8), np.uint8))


def test_tiny_images_work():
    image = np.random.default_rng(0).integers(0, 256, (5, 3)).astype(np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreachableWarning)
        for kind in KINDS:
            assert distortions.apply(image, kind, 100, 0).shape == (5, 3)
