"""Second faults over a first one, found by what the first one leaves; what is measured instead of judged."""

import numpy as np
import pytest
from faulty import certain, coded, overlap
from scipy import ndimage

from llise import datasets, distortions
from llise.diagnosis.diagnoser import diagnose
from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.findings import Part
from llise.diagnosis.gaps import without_gaps
from llise.diagnosis.greys.grey_law import with_measured_curve
from llise.diagnosis.measures import likeness
from llise.diagnosis.naming.exact_kinds import exactly_made
from llise.diagnosis.naming.noise_law import with_measured_noise
from llise.diagnosis.naming.simpler_kinds import told_apart, without_negligible
from llise.diagnosis.places.left_over import left_over
from llise.diagnosis.sets import SETS, code_of
from llise.diagnosis.strays import without_strays
from llise.diagnosis.training import pictures
from llise.kinds.cells import cell_of, nearest_mosaic
from llise.kinds.frequency_filter import filtered

PICTURE = pictures.load("coffee")[:256, :320]
WHOLE = np.ones((32, 40), bool)
PLACE = np.zeros((32, 40), bool)
PLACE[8:18, 10:22] = True
PIXELS = PLACE.repeat(8, 0).repeat(8, 1)


def below_everything(kind: str) -> np.ndarray:
    return coded(PICTURE) if kind == "jpeg" else distortions.apply(PICTURE, kind, 100, random_state=0)


def with_place(below: np.ndarray, kind: str, error: float) -> np.ndarray:
    """A copy in which a kind was applied in one place on top of what was there."""
    return np.where(PIXELS, distortions.apply(below, kind, error, random_state=1), below)


@pytest.mark.parametrize("below", ["blur", "jpeg", "contrast", "luminance"])
def test_what_a_kind_leaves_over_is_the_place_of_the_second_fault(below):
    copy = with_place(below_everything(below), "gaussian_noise", 400)
    assert overlap(left_over(CopyEstimates(PICTURE, copy), WHOLE, (below,)), PLACE) > 0.75


@pytest.mark.parametrize("kind", ["blur", "jpeg", "contrast", "luminance"])
def test_a_kind_that_is_alone_leaves_nothing_over(kind):
    copy = below_everything(kind)
    assert not left_over(CopyEstimates(PICTURE, copy), WHOLE, (kind,)).any()


def test_nothing_is_left_over_of_blocks_that_equal_the_reference():
    assert not left_over(CopyEstimates(PICTURE, PICTURE.copy()), PLACE, ("contrast",)).any()


def test_nothing_is_left_over_of_kinds_that_cannot_be_repeated():
    copy = with_place(distortions.apply(PICTURE, "gaussian_noise", 100, random_state=0), "luminance", 900)
    assert not left_over(CopyEstimates(PICTURE, copy), WHOLE, ("gaussian_noise",)).any()


@pytest.mark.parametrize("below, above", [("jpeg", "luminance"), ("jpeg", "contrast"), ("luminance", "blur")])
def test_a_kind_over_another_is_named_with_its_place(below, above):
    copy = with_place(below_everything(below), above, 400)
    (found,) = diagnose(PICTURE, [copy])
    assert set(found.verdict) == {below, above}
    assert overlap(next(fault.region for fault in found.faults if fault.kinds == (above,)), PLACE) > 0.6


@pytest.mark.parametrize("below", ["luminance", "contrast", "jpeg"])
def test_impulses_over_another_kind_are_where_pixels_were_hit(below):
    copy = with_place(below_everything(below), "impulse_noise", 300)
    (found,) = diagnose(PICTURE, [copy])
    assert set(found.verdict) == {below, "impulse_noise"}
    assert overlap(next(fault.region for fault in found.faults if fault.kinds == ("impulse_noise",)), PLACE) > 0.8


def test_few_impulses_everywhere_have_no_place_of_their_own():
    brighter = distortions.apply(PICTURE, "luminance", 100)
    (found,) = diagnose(PICTURE, [distortions.apply(brighter, "impulse_noise", 40, random_state=0)])
    assert set(found.verdict) == {"luminance", "impulse_noise"}
    assert all(fault.area > 0.95 for fault in found.faults)


def test_a_part_with_the_settings_of_a_larger_one_belongs_to_it():
    copy = (PICTURE * 0.8).astype(np.uint8)
    contrast, content = np.eye(len(SETS))[[code_of("contrast"), code_of("content")]]
    parts = [Part(0, WHOLE & ~PLACE, contrast), Part(0, PLACE, content)]
    assert [part.kinds for part in told_apart(parts, CopyEstimates(PICTURE, copy))] == [("contrast",)] * 2
    other = np.where(PIXELS, 255 - copy, copy)
    kept = told_apart(parts, CopyEstimates(PICTURE, other))
    assert [part.kinds for part in kept] == [("contrast",), ("content",)]


def test_a_narrow_border_between_two_faults_goes_to_both():
    columns = np.arange(40) * np.ones((12, 1), int)
    codes = [code_of("gaussian_noise"), code_of("gaussian_noise", "blur"), code_of("blur")]
    masks = columns < 18, (columns >= 18) & (columns < 22), columns >= 22
    parts = [Part(0, mask, np.eye(len(SETS))[code]) for mask, code in zip(masks, codes)]
    kept = without_gaps(parts, np.ones((12, 40), bool))
    assert {part.kinds for part in kept} == {("gaussian_noise",), ("blur",)}
    assert np.sum([part.mask for part in kept], axis=0).tolist() == np.ones((12, 40), int).tolist()


def test_a_wide_part_between_two_faults_stays():
    columns = np.arange(60) * np.ones((20, 1), int)
    masks = columns < 25, (columns >= 25) & (columns < 35), columns >= 35
    parts = [Part(0, mask, np.eye(len(SETS))[code]) for mask, code in zip(masks, (1, 5, 3))]
    assert len(without_gaps(parts, np.ones((20, 60), bool))) == 3


@pytest.mark.parametrize("kind, law", [("gaussian_noise", "speckle_noise"), ("speckle_noise", "gaussian_noise")])
def test_noise_is_told_by_its_power_at_each_grey_level(kind, law):
    estimates = CopyEstimates(PICTURE, distortions.apply(PICTURE, kind, 150, random_state=0))
    wrong = 0.8 * np.eye(len(SETS))[code_of(law)]
    assert SETS[int(with_measured_noise(wrong, WHOLE, estimates).argmax())] == (kind,)
    right = 0.8 * np.eye(len(SETS))[code_of(kind)]
    assert with_measured_noise(right, WHOLE, estimates) is right


def test_hidden_even_noise_and_other_kinds_are_left_to_the_judge():
    estimates = CopyEstimates(PICTURE, distortions.apply(PICTURE, "speckle_noise", 150, random_state=0))
    for kinds in (("gaussian_noise", "blur"), ("gaussian_noise", "impulse_noise"), ("blur",), ("unknown",)):
        answer = np.eye(len(SETS))[SETS.index(kinds)]
        assert with_measured_noise(answer, WHOLE, estimates) is answer


@pytest.mark.parametrize("shift, kinds", [(0.0, ("contrast",)), (6.0, ("contrast", "luminance"))])
def test_a_line_tells_contrast_from_contrast_with_luminance(shift, kinds):
    mean = float(PICTURE.mean())
    copy = np.clip(np.rint(mean + 1.2 * (PICTURE - mean) + shift), 0, 255).astype(np.uint8)
    doubtful = np.zeros(len(SETS))
    for alone in (0.55, 0.45):
        doubtful[[code_of("contrast"), code_of("contrast", "luminance")]] = alone, 1 - alone
        after = with_measured_curve(doubtful, WHOLE, mean, CopyEstimates(PICTURE, copy))
        assert SETS[int(after.argmax())] == kinds


def test_curves_and_other_kinds_are_left_to_the_judge():
    bent = np.rint(255 * (np.linspace(0, 1, 256) ** 1.5)).astype(np.uint8)[PICTURE]
    doubtful = 0.4 * np.eye(len(SETS))[code_of("contrast")] + 0.6 * np.eye(len(SETS))[code_of("contrast", "luminance")]
    blurred = np.eye(len(SETS))[code_of("blur")]
    estimates = CopyEstimates(PICTURE, bent)
    for answer in (doubtful, blurred):
        assert with_measured_curve(answer, WHOLE, float(PICTURE.mean()), estimates) is answer


def test_content_on_a_smooth_picture_leaves_it_a_copy():
    smooth = ndimage.gaussian_filter(np.random.default_rng(0).normal(0, 1, (256, 256)), 12)
    smooth = np.rint(128 + 20 * smooth / np.abs(smooth).max()).astype(np.uint8)
    copy = smooth.copy()
    copy[100:124, 60:90] = 255
    other = np.rint(256 - smooth[::-1, ::-1].astype(float)).astype(np.uint8)
    assert likeness(smooth, copy) > 0.5 > likeness(smooth, other)


def test_a_filter_does_the_same_to_images_of_other_shapes():
    image = datasets.reference()[:96, :120].astype(np.float32)
    kernel = np.exp(-0.5 * (np.hypot(*np.ogrid[-32:32, -40:40]) / 2.0) ** 2)
    response = np.fft.rfft2(np.fft.ifftshift(kernel / kernel.sum()))
    wide = filtered(image, response, (64, 80))
    expected = ndimage.gaussian_filter(image, 2.0, mode="wrap", truncate=8)
    np.testing.assert_allclose(wide, expected, atol=0.05)


@pytest.mark.parametrize("side", [2.3, 3.4, 5.7])
def test_mosaics_of_means_by_area_are_made_again(side):
    image = PICTURE[:, :256].astype(np.float32)
    count = round(256 / side)
    edges = np.linspace(0, 256, count + 1)
    ends, starts = np.minimum(edges[1:, None], np.arange(1, 257)), np.maximum(edges[:-1, None], np.arange(256))
    means = np.clip(ends - starts, 0, 1) * count / 256
    small = means @ image @ means.T
    cells = cell_of(256, 256 / count)
    copy = np.rint(small[np.ix_(cells, cells)]).astype(np.float32)
    grid = 256 / count, 0.0
    again = nearest_mosaic(image, copy, np.ones(image.shape, bool), (grid, grid))(image)
    assert np.mean((again - copy) ** 2) < 0.02 * np.mean((image - copy) ** 2)


def test_noise_of_one_strength_everywhere_is_not_two_noises():
    both = np.eye(len(SETS))[code_of("gaussian_noise", "speckle_noise")]
    rng = np.random.default_rng(0)
    even = rng.normal(0, 12, PICTURE.shape)
    growing = rng.normal(0, 1, PICTURE.shape) * PICTURE / 8 + rng.normal(0, 4, PICTURE.shape)
    for noise, kinds in ((even, ("gaussian_noise",)), (growing, ("gaussian_noise", "speckle_noise"))):
        copy = np.clip(np.rint(PICTURE + noise), 0, 255).astype(np.uint8)
        assert SETS[int(with_measured_noise(both, WHOLE, CopyEstimates(PICTURE, copy)).argmax())] == kinds


@pytest.mark.parametrize(("kinds", "left"), [(("gaussian_noise", "sharpening"), "gaussian_noise"), (("jpeg",), "jpeg")])
def test_a_kind_that_does_nothing_is_not_named(kinds, left):
    copy = coded(PICTURE) if left == "jpeg" else distortions.apply(PICTURE, left, 150, random_state=0)
    pair = np.eye(len(SETS))[code_of(*({*kinds} | {"gaussian_noise"}))]
    after = without_negligible(pair, WHOLE, CopyEstimates(PICTURE, copy))
    assert SETS[int(after.argmax())] == (left,)


def test_quantization_that_leaves_most_levels_is_not_named():
    copy = np.clip(distortions.apply(PICTURE, "blur", 90).astype(int) - 9, 0, 255).astype(np.uint8)
    doubtful = 0.6 * certain("blur", "quantization") + 0.3 * certain("luminance", "blur") + 0.1 * certain("blur")
    after = without_negligible(doubtful, WHOLE, CopyEstimates(PICTURE, copy))
    assert SETS[int(after.argmax())] == ("luminance", "blur")
    few = (PICTURE // 16 * 16 + 8).astype(np.uint8)
    blurred = distortions.apply(few, "blur", 20)
    kept = without_negligible(doubtful, WHOLE, CopyEstimates(PICTURE, blurred))
    assert kept is doubtful


def test_a_mosaic_without_cells_is_not_named():
    rng = np.random.default_rng(0)
    smooth = ndimage.gaussian_filter(PICTURE.astype(float), 30)
    copy = np.clip(np.rint(smooth + rng.normal(0, 14, PICTURE.shape)), 0, 255).astype(np.uint8)
    doubtful = 0.5 * certain("gaussian_noise", "pixelation") + 0.4 * certain("gaussian_noise", "blur")
    after = without_negligible(doubtful, WHOLE, CopyEstimates(PICTURE, copy))
    assert SETS[int(after.argmax())] == ("gaussian_noise", "blur")


def test_kinds_that_leave_far_less_than_jpeg_2000_are_preferred():
    copy = ndimage.gaussian_filter(coded(PICTURE, quality=6).astype(float), 3).round().astype(np.uint8)
    sets = [("blur", "jpeg2000"), ("blur", "jpeg")]
    codes = [code_of(*kinds) for kinds in sets]
    doubtful = 0.6 * certain(*sets[0]) + 0.1 * certain(*sets[1])
    after = exactly_made(doubtful, codes, WHOLE, CopyEstimates(PICTURE, copy))
    assert SETS[int(after.argmax())] == ("blur", "jpeg")


def test_strange_parts_belong_to_the_kinds_around_them_that_they_are_nearest_to():
    copy = distortions.apply(PICTURE, "blur", 120)
    place = np.zeros_like(WHOLE)
    place[4:10, 6:14] = True
    strange = certain("unknown")
    parts = [Part(0, ~place, certain("blur")), Part(0, place, strange, 0.004, ("blur",))]
    assert told_apart(parts, CopyEstimates(PICTURE, copy))[1].kinds == ("blur",)
    other = distortions.apply(PICTURE, "jpeg", 400)
    copy = np.where(place.repeat(8, 0).repeat(8, 1)[: PICTURE.shape[0], : PICTURE.shape[1]], other, copy)
    assert told_apart(parts, CopyEstimates(PICTURE, copy))[1].kinds == ("unknown",)


def test_doubtful_parts_that_common_settings_reproduce_belong_to_the_larger_part():
    copy = distortions.apply(coded(PICTURE, quality=8), "contrast", 40, random_state=0)
    place = np.zeros_like(WHOLE)
    place[:, :12] = True
    doubtful = 0.3 * certain("blur", "jpeg") + 0.2 * certain("contrast", "jpeg")
    parts = [Part(0, ~place, certain("contrast", "jpeg")), Part(0, place, doubtful)]
    assert told_apart(parts, CopyEstimates(PICTURE, copy))[1].kinds == ("contrast", "jpeg")


def test_blur_below_a_strong_coder_is_no_mosaic():
    smooth = ndimage.gaussian_filter(PICTURE.astype(float), 9).round().astype(np.uint8)
    codes = [code_of("pixelation"), code_of("blur", "jpeg")]
    doubtful = 0.6 * certain("pixelation") + 0.3 * certain("blur", "jpeg")
    after = exactly_made(doubtful, codes, WHOLE, CopyEstimates(PICTURE, coded(smooth, quality=3)))
    assert SETS[int(after.argmax())] == ("blur", "jpeg")
    for side in (8, 64):
        cells = PICTURE.reshape(256 // side, side, 320 // side, side).mean((1, 3)).round().astype(np.uint8)
        mosaic = cells.repeat(side, 0).repeat(side, 1)
        assert exactly_made(doubtful, codes, WHOLE, CopyEstimates(PICTURE, mosaic)) is doubtful


def test_doubtful_specks_of_an_unknown_fault_belong_to_it():
    speck = np.zeros_like(WHOLE)
    speck[3:6, 4:7] = True
    parts = [Part(0, ~speck, certain("unknown"), 0.001, ("blur",)), Part(1, speck, 0.4 * certain("blur"))]
    assert {part.kinds for part in without_strays(parts)} == {("unknown",)}
    known = [Part(0, ~speck, certain("jpeg")), parts[1]]
    assert {part.kinds for part in without_strays(known)} == {("jpeg",), ("blur",)}


def test_sharpening_that_is_less_than_none_is_a_blur():
    copy = distortions.apply(distortions.apply(PICTURE, "blur", 60), "contrast", 30, random_state=0)
    wrong = 0.6 * certain("contrast", "sharpening") + 0.1 * certain("contrast", "blur")
    assert SETS[int(without_negligible(wrong, WHOLE, CopyEstimates(PICTURE, copy)).argmax())] == ("contrast", "blur")
    sharp = distortions.apply(distortions.apply(PICTURE, "sharpening", 60), "contrast", 30, random_state=0)
    assert without_negligible(wrong, WHOLE, CopyEstimates(PICTURE, sharp)) is wrong


def test_a_spot_that_a_wide_blur_takes_away_below_noise_is_no_content():
    picture = PICTURE // 4 + 60
    picture[96:128, 160:192] = 250
    rng = np.random.default_rng(0)
    smooth = ndimage.gaussian_filter(picture.astype(float), 20)
    copy = np.clip(np.rint(smooth + rng.normal(0, 9, picture.shape)), 0, 255).astype(np.uint8)
    spot = np.zeros_like(WHOLE)
    spot[12:16, 20:24] = True
    parts = [Part(0, ~spot, certain("gaussian_noise", "blur")), Part(0, spot, 0.3 * certain("content"))]
    assert told_apart(parts, CopyEstimates(picture, copy))[1].kinds == ("gaussian_noise", "blur")
    copy[96:128, 160:192] = 20
    assert told_apart(parts, CopyEstimates(picture, copy))[1].kinds == ("content",)


def test_small_unknown_parts_belong_to_the_larger_part_that_they_are_nearest_to():
    speck = np.zeros_like(WHOLE)
    speck[3:7, 4:9] = True
    strange = Part(0, speck, 0.51 * certain("unknown") + 0.4 * certain("blur"), 0.006, ("blur",))
    assert {part.kinds for part in without_strays([Part(0, ~speck, certain("blur")), strange])} == {("blur",)}
    others = without_strays([Part(0, ~speck, certain("jpeg")), strange])
    assert {part.kinds for part in others} == {("jpeg",), ("unknown",)}


@pytest.mark.parametrize("below", ["pixelation", "jpeg2000", "blur", "jpeg", "sharpening", "quantization"])
@pytest.mark.parametrize("noise", ["gaussian_noise", "impulse_noise"])
def test_content_over_noise_and_any_other_kind_is_judged(below, noise):
    copy = distortions.apply(distortions.apply(PICTURE, below, 120, random_state=0), noise, 120, random_state=0)
    copy[64:112, 80:144] = 255 - PICTURE[64:112, 80:144]
    spot = np.zeros_like(WHOLE)
    spot[8:14, 10:18] = True
    parts = [Part(0, ~spot, certain(below, noise)), Part(0, spot, 0.3 * certain("content"))]
    assert told_apart(parts, CopyEstimates(PICTURE, copy))[1].kinds == ("content",)


@pytest.mark.parametrize("pivot", [90.0, 118.0])
def test_a_slightly_bent_curve_in_a_region_of_few_greys_is_contrast_alone(pivot):
    few = (PICTURE * 0.2 + 150).round()
    curve = lambda x: (
        255
        * (np.arctan((x - pivot) / 120) - np.arctan(-pivot / 120))
        / (np.arctan((255 - pivot) / 120) - np.arctan(-pivot / 120))
    )
    both = 0.7 * certain("contrast", "luminance") + 0.3 * certain("contrast")
    estimates = CopyEstimates(few.astype(np.uint8), np.rint(curve(few)).astype(np.uint8))
    after = with_measured_curve(both, WHOLE, float(few.mean()), estimates)
    assert SETS[int(after.argmax())] == ("contrast",)
    line = np.rint(0.8 * few + 20).astype(np.uint8)
    kept = with_measured_curve(both, WHOLE, float(few.mean()), CopyEstimates(few.astype(np.uint8), line))
    assert kept is both
