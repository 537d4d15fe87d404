"""Pictures whose sides are no whole number of blocks: what lies beyond their borders is not in the copy."""

import warnings

import numpy as np
import pytest
from faulty import coded
from scipy import ndimage

from llise.look.diagnoser import diagnose
from llise.look.estimates.copy_estimates import CopyEstimates
from llise.look.places.outliers import without_ends
from llise.look.training import pictures
from llise.kinds.jpeg_flips import has_impulses_before

SHAPES = ((100, 100), (131, 203), (211, 300))


def cut(name: str, shape: tuple[int, int]) -> np.ndarray:
    return np.ascontiguousarray(pictures.load(name)[40 : 40 + shape[0], 60 : 60 + shape[1]])


def everywhere(image: np.ndarray) -> np.ndarray:
    return np.ones([-(-n // 8) for n in image.shape], bool)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["coffee", "chelsea", "astronaut"])
@pytest.mark.parametrize("quality", [10, 30])
def test_jpeg_is_jpeg_up_to_the_border(name, shape, quality):
    image = cut(name, shape)
    diagnosis = diagnose(image, [coded(image, quality)])[0]
    assert diagnosis.verdict == ("jpeg",)
    assert diagnosis.faults[0].area == 1


@pytest.mark.parametrize("shape", SHAPES)
def test_partial_blocks_are_coded_again_as_the_coder_filled_them(shape):
    image = cut("coffee", shape)
    copy = coded(image, 20)
    np.testing.assert_array_equal(CopyEstimates(image, copy).made_again(everywhere(image), ("jpeg",)), copy)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_blur_with_mirrored_borders_is_made_again_up_to_them(shape):
    image = cut("coffee", shape)
    copy = np.rint(ndimage.gaussian_filter(image.astype(float), 2.0)).astype(np.uint8)
    again = CopyEstimates(image, copy).made_again(everywhere(image), ("blur",)).astype(int)
    assert np.abs(again - copy).max() <= 2


def test_blocks_that_are_not_full_tell_nothing_of_the_steps_of_a_coder():
    image = cut("coffee", (131, 203))
    region = np.zeros_like(everywhere(image))
    region[-1] = region[:, -1] = True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not has_impulses_before(image, coded(image, 10), region)


def contrast(image: np.ndarray) -> np.ndarray:
    return np.rint(128 + 0.7 * (image.astype(float) - 128)).astype(np.uint8)


def luminance(image: np.ndarray) -> np.ndarray:
    return np.clip(image.astype(int) + 14, 0, 255).astype(np.uint8)


def jpeg(image: np.ndarray) -> np.ndarray:
    return coded(image, 15)


@pytest.mark.parametrize("gap", [3, 7])
@pytest.mark.parametrize("program", [contrast, luminance, jpeg])
@pytest.mark.parametrize("name", ["astronaut", "rocket", "coffee"])
def test_a_region_that_ends_shortly_before_the_border_is_one_fault(name, program, gap):
    image = cut(name, (240, 320))
    copy, inside = image.copy(), (slice(130, 240 - gap), slice(60, 240))
    copy[inside] = program(image)[inside]
    found = diagnose(image, [copy])[0]
    assert found.verdict == (program.__name__,) and len(found.faults) == 1


def test_only_blocks_in_which_a_fault_ends_are_left_out():
    image = np.tile(np.arange(60, 124, dtype=np.uint8), (64, 1))
    copy, area = image.copy(), np.ones((8, 8), bool)
    assert without_ends(image, copy, area).all()  # nothing differs
    copy[:61, 5:] += 20
    kept = without_ends(image, copy, area)
    assert not kept[-1].any() and not kept[:, 0].any() and kept[:-1, 1:].all()
    copy[:] = image
    copy[::9, ::7] = 255  # single pixels leave many borders as they are
    assert without_ends(image, copy, area).all()
