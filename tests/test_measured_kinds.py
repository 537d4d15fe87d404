"""Kinds that a measurement contradicts: levels that lie elsewhere, noise, blur and impulses that another kind hides."""

import numpy as np
import pytest
from faulty import certain, overlap
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from llise import distortions
from llise.diagnosis.diagnoser import diagnose
from llise.diagnosis.estimates.copy_estimates import CopyEstimates, FaultEstimate
from llise.diagnosis.findings import Part
from llise.diagnosis.greys.level_law import with_levels_below_noise, with_measured_levels
from llise.diagnosis.naming.exact_kinds import with_blur_below_mosaic
from llise.diagnosis.naming.noise_law import with_measured_noise
from llise.diagnosis.naming.simpler_kinds import told_apart, without_negligible
from llise.diagnosis.places.impulse_places import with_impulses_over
from llise.diagnosis.result import Interval
from llise.diagnosis.sets import SETS, UNKNOWN_CODE, code_of
from llise.diagnosis.strays import without_strays
from llise.diagnosis.training import pictures
from llise.kinds.jpeg import code_jpeg
from llise.kinds.jpeg_tables import quality_table

PICTURE = pictures.load("coffee")[:320, :400]
WHOLE = np.ones((40, 50), bool)
PLACE = np.zeros_like(WHOLE)
PLACE[12:28, 10:34] = True
PIXELS = PLACE.repeat(8, 0).repeat(8, 1)


def rounded(values: np.ndarray) -> np.ndarray:
    return np.rint(np.clip(values, 0, 255)).astype(np.uint8)


def likeliest(probabilities: np.ndarray) -> set[str]:
    return set(SETS[int(probabilities.argmax())])


def noisy(strength: np.ndarray | float, seed: int = 0) -> np.ndarray:
    return rounded(PICTURE + strength * np.random.default_rng(seed).standard_normal(PICTURE.shape))


def cells(image: np.ndarray, side: int) -> np.ndarray:
    rows, cols = (n // side for n in image.shape)
    means = image[: rows * side, : cols * side].reshape(rows, side, cols, side).mean(axis=(1, 3))
    wide = means.repeat(side, 0).repeat(side, 1)
    return np.pad(wide, [(0, n - m) for n, m in zip(image.shape, wide.shape)], mode="edge")


RULES = {
    "rounded down": lambda grey, step: grey // step * step,
    "middle": lambda grey, step: grey // step * step + step // 2,
    "up to white": lambda grey, step: np.rint(np.rint(grey / step) * step),
}
"""Where programs put the level of some greys."""


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=15, deadline=None)
@given(step=st.integers(10, 50), said=st.sampled_from(["quantization", "luminance+content"]))
def test_levels_among_the_greys_that_became_them_are_quantization_alone(rule, step, said):
    estimates = CopyEstimates(PICTURE, rounded(RULES[rule](PICTURE.astype(float), step)))
    after = with_measured_levels(certain(*said.split("+")), WHOLE, estimates)
    assert likeliest(after) == {"quantization"}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("luminance", lambda grey: grey + 25.0),
        ("luminance", lambda grey: grey - 28.0),
        ("contrast", lambda grey: 128 + 0.7 * (grey - 128.0)),
        ("contrast", lambda grey: 110 + 1.4 * (grey - 110.0)),
    ],
)
def test_levels_that_were_moved_tell_contrast_and_luminance(rule, first, kind, change):
    """Whether the change came before or after, and whatever the judge said."""
    steps = [change, lambda grey: RULES[rule](grey, 16)]
    copy = PICTURE.astype(float)
    for step in steps if first else steps[::-1]:
        copy = rounded(step(copy)).astype(float)
    estimates = CopyEstimates(PICTURE, rounded(copy))
    for said in (("quantization",), ("luminance", "quantization"), ("contrast", "quantization")):
        assert likeliest(with_measured_levels(certain(*said), WHOLE, estimates)) == {kind, "quantization"}


def test_other_kinds_and_copies_by_no_table_are_left_to_the_judge():
    for copy in (noisy(8.0), rounded(PICTURE * 0.8), rounded(ndimage.gaussian_filter(PICTURE.astype(float), 2))):
        for said in (certain("quantization"), certain("contrast"), certain("luminance", "content")):
            assert with_measured_levels(said, WHOLE, CopyEstimates(PICTURE, copy)) is said
    patch = PICTURE.copy()
    patch[PIXELS] = 90
    said = certain("luminance", "content")
    assert with_measured_levels(said, PLACE, CopyEstimates(PICTURE, patch)) is said


@pytest.mark.parametrize("rule", RULES)
def test_levels_below_noise_show_in_the_means_of_greys(rule):
    levels = RULES[rule](PICTURE.astype(float), 24)
    copy = rounded(levels + np.random.default_rng(0).normal(0, 10, PICTURE.shape))
    for said in (certain("gaussian_noise"), certain("luminance", "gaussian_noise")):
        after = with_levels_below_noise(said, WHOLE, CopyEstimates(PICTURE, copy))
        assert likeliest(after) == {"gaussian_noise", "quantization"}


CURVES = {
    "none": lambda x: x,
    "brighter": lambda x: x + 12,
    "paler": lambda x: 0.8 * x + 9,
    "gamma": lambda x: 255 * (x / 255) ** 0.8,
}


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("sigma", [3, 12, 30])
def test_noise_over_a_smooth_curve_hides_no_levels(curve, sigma):
    copy = rounded(CURVES[curve](PICTURE.astype(float)) + np.random.default_rng(1).normal(0, sigma, PICTURE.shape))
    for said in (certain("gaussian_noise"), certain("contrast", "gaussian_noise")):
        assert with_levels_below_noise(said, WHOLE, CopyEstimates(PICTURE, copy)) is said


@pytest.mark.parametrize(("side", "sigma"), [(2, 1.0), (3, 1.5), (3, 3.0), (5, 3.0)])
def test_a_blur_below_a_mosaic_is_found(side, sigma):
    mosaic = certain("pixelation")
    blurred = rounded(cells(ndimage.gaussian_filter(PICTURE.astype(float), sigma), side))
    after = with_blur_below_mosaic(mosaic, WHOLE, CopyEstimates(PICTURE, blurred))
    assert likeliest(after) == {"blur", "pixelation"}
    sharp = CopyEstimates(PICTURE, rounded(cells(PICTURE.astype(float), side)))
    assert with_blur_below_mosaic(mosaic, WHOLE, sharp) is mosaic
    assert likeliest(with_blur_below_mosaic(certain("blur", "pixelation"), WHOLE, sharp)) == {"pixelation"}


@pytest.mark.parametrize("below", ["jpeg", "blur", "contrast", "luminance"])
def test_few_impulses_over_another_kind_are_counted(below):
    other = distortions.apply(PICTURE, below, 200, random_state=0)
    rng = np.random.default_rng(0)
    hit = PIXELS & (rng.random(PICTURE.shape) < 0.004)
    copy = np.where(hit, np.where(other < 128, 255, 0), other).astype(np.uint8)
    said = certain(below)
    assert likeliest(with_impulses_over(said, WHOLE, CopyEstimates(PICTURE, copy))) == {below, "impulse_noise"}
    assert with_impulses_over(said, WHOLE, CopyEstimates(PICTURE, other)) is said


def test_text_and_patches_over_another_kind_are_no_impulses():
    other = distortions.apply(PICTURE, "jpeg", 150, random_state=0)
    copy, said = other.copy(), certain("jpeg")
    copy[100:110, 50:300], copy[200:203, ::7] = 255, 0
    assert with_impulses_over(said, WHOLE, CopyEstimates(PICTURE, copy)) is said


def test_impulses_in_a_place_over_a_strong_coder_are_named_there():
    other = code_jpeg(PICTURE, quality_table(5))
    hit = PIXELS & (np.random.default_rng(0).random(PICTURE.shape) < 0.004)
    copy = np.where(hit, np.where(other < 128, 255, 0), other).astype(np.uint8)
    found = diagnose(PICTURE, [copy])[0]
    assert set(found.verdict) == {"jpeg", "impulse_noise"}
    impulses = next(fault for fault in found.faults if fault.kinds == ("impulse_noise",))
    assert overlap(impulses.region, PLACE) > 0.6


@pytest.mark.parametrize("quality", [8, 20])
def test_the_law_of_noise_below_jpeg_is_found_by_coding_noise_of_each_power(quality):
    table = quality_table(quality)
    even, growing = (code_jpeg(noisy(strength), table) for strength in (14.0, 0.16 * PICTURE))
    for copy, kind in ((even, "gaussian_noise"), (growing, "speckle_noise")):
        for said in ("gaussian_noise", "speckle_noise"):
            after = with_measured_noise(certain(said, "jpeg"), WHOLE, CopyEstimates(PICTURE, copy))
            if kind == "speckle_noise" or said == kind:
                assert likeliest(after) == {kind, "jpeg"}


def test_noise_that_moves_the_mean_a_little_is_noise_alone():
    copy = rounded(PICTURE * 0.987 + np.random.default_rng(0).normal(0, 8, PICTURE.shape))
    estimates = CopyEstimates(PICTURE, copy)
    assert likeliest(without_negligible(certain("contrast", "gaussian_noise"), WHOLE, estimates)) == {"gaussian_noise"}
    darker = CopyEstimates(PICTURE, rounded(copy * 0.85))
    kept = certain("contrast", "gaussian_noise")
    assert without_negligible(kept, WHOLE, darker) is kept


def test_cells_that_stand_out_belong_to_the_mosaic_around_them():
    copy = rounded(cells(PICTURE.astype(float), 6) + 16)
    spot = np.zeros_like(WHOLE)
    spot[14:18, 20:26] = True
    host = Part(0, ~spot, certain("luminance", "pixelation"))
    place = Part(0, spot, certain("content"), stands_out=True)
    assert told_apart([host, place], CopyEstimates(PICTURE, copy))[1].kinds == ("luminance", "pixelation")
    copy[spot.repeat(8, 0).repeat(8, 1)] = 230
    assert told_apart([host, place], CopyEstimates(PICTURE, copy))[1].kinds == ("content",)


def test_little_doubtful_parts_at_the_rim_of_a_region_belong_to_it():
    corner = np.zeros_like(WHOLE)
    corner[11, 12:20] = True
    region, far = Part(0, PLACE, certain("jpeg")), np.roll(corner, 25, axis=0)
    doubtful = 0.55 * certain("content") + 0.45 * certain("jpeg", "blur")
    unknown = np.eye(len(SETS))[UNKNOWN_CODE]
    for probabilities in (doubtful, unknown):
        kinds = [part.kinds for part in without_strays([region, Part(0, corner, probabilities)])]
        assert kinds == [("jpeg",), ("jpeg",)]
        alone = without_strays([region, Part(1, far, probabilities)])[1]
        assert alone.kinds == Part(1, far, probabilities).kinds
    sure = without_strays([region, Part(0, corner, certain("content"))])
    everywhere = without_strays([Part(0, ~corner, certain("jpeg")), Part(0, corner, doubtful)])
    assert sure[1].kinds == everywhere[1].kinds == ("content",)


@pytest.mark.parametrize("sigma", [20.0, 70.0, 200.0])
def test_wide_blurs_in_a_region_are_made_again_from_the_whole_picture(sigma):
    """A kernel that looks beyond the surroundings of the region; borders are mirrored."""
    smooth = ndimage.gaussian_filter(PICTURE.astype(float), 4)
    reference = rounded(smooth)
    blurred = rounded(ndimage.gaussian_filter(reference.astype(float), sigma))
    copy = np.where(PIXELS, blurred, reference)
    found = CopyEstimates(reference, copy).of(PLACE, ("blur",))
    assert found.explained > 0.99
    assert found.parameters["blur"]["sigma"].value == pytest.approx(sigma, rel=0.05)
    if sigma < 50:  # wider ones leave next to one grey, which may as well be a patch
        assert diagnose(reference, [copy])[0].verdict == ("blur",)


def test_the_new_sets_are_sets():
    for kinds in (("blur", "pixelation"), ("gaussian_noise", "quantization"), ("contrast", "quantization")):
        assert set(SETS[code_of(*kinds)]) == set(kinds)


def test_kinds_that_do_nothing_are_not_exchanged_for_each_other_for_ever():
    class Estimates:
        """Quantization leaves all levels, and mosaics have no cells, whatever kinds are beside them."""

        def of(self, region, kinds):
            settings = {"quantization": {"levels": Interval(250.0, 240.0, 256.0)}} if "quantization" in kinds else {}
            return FaultEstimate(settings, dict.fromkeys(kinds, 50.0), 0.5)

        def error(self, region):
            return 100.0

    probabilities = np.zeros(len(SETS))
    for share, kinds in zip((0.5, 0.3, 0.2), (("blur", "quantization"), ("blur", "pixelation"), ("blur", "jpeg"))):
        probabilities[code_of(*kinds)] = share
    assert likeliest(without_negligible(probabilities, WHOLE, Estimates())) == {"blur", "jpeg"}
