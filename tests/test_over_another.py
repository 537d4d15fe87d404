"""A kind in a region of a picture that has another kind everywhere: found where tiles hardly show it."""

import numpy as np
import pytest
from faulty import certain, overlap
from scipy import ndimage

from llise import distortions
from llise.diagnosis.diagnoser import diagnose
from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.findings import Part
from llise.diagnosis.greys.grey_law import with_measured_gain
from llise.diagnosis.naming.kinds_around import with_kinds_around
from llise.diagnosis.places.dead_lines import dead_lines
from llise.diagnosis.places.shifted_places import shifted_place
from llise.diagnosis.sets import SETS, code_of
from llise.diagnosis.training import pictures

PICTURE = pictures.load("coffee")[:320, :400]
WHOLE = np.ones((40, 50), bool)
REGION = np.zeros(PICTURE.shape, bool)
REGION[96:224, 120:280] = True
BLOCKS = REGION[::8, ::8]


def in_region(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    return np.where(REGION, above, below).astype(np.uint8)


def contrast(image: np.ndarray, gain: float, pivot: float = 128.0) -> np.ndarray:
    return np.clip(np.rint(gain * (image.astype(float) - pivot) + pivot), 0, 255)


@pytest.mark.parametrize("kind", ["gaussian_noise", "blur", "jpeg"])
@pytest.mark.parametrize(("gain", "offset"), [(1.0, 9.0), (1.0, -12.0), (0.75, 0.0), (1.3, 0.0)])
def test_places_with_moved_greys_are_found_over_another_kind(kind, gain, offset):
    below = distortions.apply(PICTURE, kind, 90, random_state=0)
    place = shifted_place(PICTURE, in_region(below, np.clip(contrast(below, gain) + offset, 0, 255)), WHOLE)
    assert overlap(place, BLOCKS) > 0.8


@pytest.mark.parametrize("kind", ["gaussian_noise", "blur", "jpeg", "impulse_noise", "contrast", "luminance"])
@pytest.mark.parametrize("mse", [60, 200])
def test_a_kind_that_is_everywhere_moves_greys_in_no_place(kind, mse):
    assert shifted_place(PICTURE, distortions.apply(PICTURE, kind, mse, random_state=0), WHOLE) is None


def test_clipped_noise_is_no_change_of_greys():
    dark = np.where(REGION, PICTURE // 16, PICTURE)
    assert shifted_place(dark, distortions.apply(dark, "gaussian_noise", 400, random_state=0), WHOLE) is None


@pytest.mark.parametrize("kind", ["gaussian_noise", "blur", "jpeg"])
def test_contrast_over_another_kind_is_named_and_placed(kind):
    below = distortions.apply(PICTURE, kind, 120, random_state=1)
    found = diagnose(PICTURE, [in_region(below, contrast(below, 0.7))])[0]
    assert set(found.verdict) == {kind, "contrast"}
    own = next(fault for fault in found.faults if "contrast" in fault.kinds)
    assert overlap(own.region, BLOCKS) > 0.75
    assert own.estimate["contrast"]["gain"].value == pytest.approx(0.7, abs=0.07)


@pytest.mark.parametrize("mse", [40, 200])
def test_jpeg_over_noise_keeps_the_noise_that_is_around_it(mse):
    below = distortions.apply(PICTURE, "gaussian_noise", 150, random_state=0)
    found = diagnose(PICTURE, [in_region(below, distortions.apply(below, "jpeg", mse))])[0]
    assert set(found.verdict) == {"gaussian_noise", "jpeg"}


def test_a_wide_blur_in_noise_is_a_blur():
    below = distortions.apply(PICTURE, "gaussian_noise", 100, random_state=0)
    found = diagnose(PICTURE, [in_region(below, ndimage.gaussian_filter(below.astype(float), 12))])[0]
    assert set(found.verdict) == {"gaussian_noise", "blur"}


def test_noise_in_a_region_is_no_dead_line():
    below = distortions.apply(PICTURE, "luminance", 80, random_state=0)
    noisy = distortions.apply(below, "gaussian_noise", 900, random_state=0)
    for region in (REGION, REGION.repeat(2, 0)[: len(REGION)], REGION.repeat(2, 1)[:, : REGION.shape[1]]):
        copy = np.where(region, noisy, below)
        assert not dead_lines(PICTURE, copy, WHOLE).any()


def test_the_gain_tells_luminance_from_contrast_over_another_kind():
    below = distortions.apply(PICTURE, "blur", 100)
    wrong = {"contrast": ("luminance", contrast(below, 0.8)), "luminance": ("contrast", below + 10.0)}
    for right, (said, copy) in wrong.items():
        estimates = CopyEstimates(PICTURE, np.clip(copy, 0, 255).astype(np.uint8))
        after = with_measured_gain(certain(said, "blur"), WHOLE, estimates)
        assert SETS[int(after.argmax())] == (right, "blur")
        kept = certain(right, "blur")
        assert with_measured_gain(kept, WHOLE, estimates) is kept


def test_the_gain_tells_contrast_where_a_region_has_few_greys():
    """Below mid-grey the offset makes nearly all of the error, but a gain of 1 leaves more than rounding."""
    dark = 40 + PICTURE // 16
    estimates = CopyEstimates(dark, contrast(dark, 1.4).astype(np.uint8))
    luminance = certain("luminance")
    assert estimates.of(WHOLE, ("luminance",)).explained > 0.98
    assert SETS[int(with_measured_gain(luminance, WHOLE, estimates).argmax())] == ("contrast",)
    for offset in (-12, 9):
        moved = CopyEstimates(dark, (dark + np.int16(offset)).astype(np.uint8))
        assert with_measured_gain(luminance, WHOLE, moved) is luminance


def test_kinds_that_a_part_shows_are_not_taken_from_around_it():
    impulses = distortions.apply(PICTURE, "impulse_noise", 200, random_state=0)
    noise = distortions.apply(PICTURE, "gaussian_noise", 100, random_state=0)
    parts = [Part(0, ~BLOCKS, certain("gaussian_noise")), Part(0, BLOCKS, certain("luminance", "impulse_noise"))]
    after = with_kinds_around(parts, CopyEstimates(PICTURE, in_region(noise, impulses)))
    assert [part.kinds for part in after] == [("gaussian_noise",), ("luminance", "impulse_noise")]


@pytest.mark.parametrize("own", ["contrast", "luminance", "blur"])
def test_a_kind_that_makes_its_part_again_lies_beside_the_other_one_and_not_over_it(own):
    left = np.zeros_like(WHOLE)
    left[:, :24] = True
    pixels = left.repeat(8, 0).repeat(8, 1)
    coded, changed = (distortions.apply(PICTURE, kind, 120, random_state=0) for kind in ("jpeg", own))
    estimates = CopyEstimates(PICTURE, np.where(pixels, changed, coded))
    both, alone = certain(own, "jpeg"), 0.8 * certain(own) + 0.2 * certain(own, "jpeg")
    for probabilities in (both, alone):
        _, part = with_kinds_around([Part(0, ~left, certain("jpeg")), Part(0, left, probabilities)], estimates)
        assert part.kinds == (own,) and part.probabilities[code_of(own, "jpeg")] == 0


def test_a_kind_over_another_one_keeps_it():
    coded = distortions.apply(PICTURE, "jpeg", 120, random_state=0)
    copy = in_region(coded, np.clip(coded + 18.0, 0, 255))
    parts = [Part(0, ~BLOCKS, certain("jpeg")), Part(0, BLOCKS, certain("luminance", "jpeg"))]
    assert with_kinds_around(parts, CopyEstimates(PICTURE, copy))[1].kinds == ("luminance", "jpeg")
