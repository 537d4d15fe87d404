"""Faults that hide: lines in noise, impulses below a filter or coder, what looks like another kind or another scene."""

import io

import numpy as np
import pytest
from faulty import certain
from PIL import Image
from scipy import ndimage

from llise import distortions
from llise.diagnosis.alignment.aligned_faults import MOST_OF_TWO
from llise.diagnosis.diagnoser import diagnose
from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.findings import Part
from llise.diagnosis.naming.noise_law import leaves_spots, with_hidden_impulses, with_hidden_noise
from llise.diagnosis.naming.noise_shape import is_strange_noise
from llise.diagnosis.places.dead_lines import dead_lines
from llise.diagnosis.sets import SETS
from llise.diagnosis.strays import without_strays
from llise.diagnosis.training import pictures
from llise.kinds.cells import cell_of, nearest_mosaic
from llise.kinds.jpeg import code_jpeg
from llise.kinds.jpeg_flips import has_impulses_before
from llise.kinds.jpeg_quality import CoefficientPairs
from llise.kinds.jpeg_tables import STANDARD_TABLE, VIDEO_TABLE, scale_of

PICTURE = pictures.load("coffee")[:256, :320]
WHOLE = np.ones((32, 40), bool)


def coded(image: np.ndarray, form: str = "JPEG", **options: object) -> np.ndarray:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, form, **options)
    return np.asarray(Image.open(stream))


@pytest.mark.parametrize("kind", ["gaussian_noise", "blur", "jpeg", "contrast", "luminance", "impulse_noise"])
def test_dead_lines_are_found_over_every_kind(kind):
    copy = distortions.apply(PICTURE, kind, 120, random_state=0).copy()
    assert not dead_lines(PICTURE, copy, WHOLE).any()
    copy[:, 133], copy[90:92] = 255, 0
    found = dead_lines(PICTURE, copy, WHOLE)
    lines = np.zeros_like(WHOLE)
    lines[:, 133 // 8], lines[90 // 8] = True, True
    assert (found & ~lines).sum() == 0 and found.sum() > 0.8 * lines.sum()


def test_dead_lines_over_noise_are_content_beside_the_noise():
    copy = distortions.apply(PICTURE, "gaussian_noise", 100, random_state=0).copy()
    copy[:, [70, 201]] = 0
    found = diagnose(PICTURE, [copy])[0]
    assert set(found.verdict) == {"gaussian_noise", "content"}
    content = next(fault for fault in found.faults if fault.kinds == ("content",))
    assert set(np.flatnonzero(content.region.any(axis=0))) == {70 // 8, 201 // 8}


def hit(share: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(PICTURE.shape) < share, rng.choice([0, 255], PICTURE.shape), PICTURE).astype(np.uint8)


@pytest.mark.parametrize("rounding", [0.375, 0.333])
def test_impulses_over_a_coder_that_rounds_down_leave_nothing(rounding):
    """Even where a coder of other programs has small steps, its own rounding is found below impulses."""
    grain = np.random.default_rng(0).normal(0, 10, PICTURE.shape)
    noisy = np.rint(np.clip(PICTURE + grain, 0, 255)).astype(np.uint8)
    copy = code_jpeg(noisy, VIDEO_TABLE * 3 / 8, rounding)
    chosen = np.random.default_rng(1).random(copy.shape) < 0.001
    copy = np.where(chosen, np.where(copy < 128, 255, 0), copy).astype(np.uint8)
    assert CopyEstimates(noisy, copy).of(WHOLE, ("impulse_noise", "jpeg")).explained > 0.97


@pytest.mark.parametrize("sigma", [0.8, 1.5])
def test_impulses_below_a_blur_are_spots(sigma):
    blurred = lambda image: np.rint(ndimage.gaussian_filter(image.astype(float), sigma)).astype(np.uint8)
    after = with_hidden_impulses(certain("blur"), WHOLE, CopyEstimates(PICTURE, blurred(hit(0.004))))
    assert SETS[int(after.argmax())] == ("blur", "impulse_noise")
    alone = with_hidden_impulses(certain("blur"), WHOLE, CopyEstimates(PICTURE, blurred(PICTURE)))
    assert SETS[int(alone.argmax())] == ("blur",)


@pytest.mark.parametrize("quality", [12, 25])
def test_impulses_below_jpeg_are_told_from_noise_by_the_blocks_that_they_change(quality):
    wrong = 0.7 * certain("gaussian_noise", "jpeg")
    after = with_hidden_noise(wrong, WHOLE, CopyEstimates(PICTURE, coded(hit(0.004), quality=quality)))
    assert SETS[int(after.argmax())] == ("impulse_noise", "jpeg")
    noisy = distortions.apply(PICTURE, "gaussian_noise", 150, random_state=0)
    after = with_hidden_noise(wrong, WHOLE, CopyEstimates(PICTURE, coded(noisy, quality=quality)))
    assert SETS[int(after.argmax())] == ("gaussian_noise", "jpeg")


@pytest.mark.parametrize("rates", [[40.0], [100.0]])
def test_a_whole_picture_by_jpeg2000_is_coded_again_exactly(rates):
    copy = coded(PICTURE, "JPEG2000", quality_mode="rates", quality_layers=rates, irreversible=True)
    assert CopyEstimates(PICTURE, copy).of(WHOLE, ("jpeg2000",)).explained > 0.95


def test_cells_that_repeat_pixels_by_an_unusual_rule_are_found():
    rows, cols = (cell_of(length, 6) for length in PICTURE.shape)
    at = [np.minimum(6 * cells + offset, len(cells) - 1) for cells, offset in ((rows, 1), (cols, 4))]
    copy = PICTURE[np.ix_(*at)]
    before, after = PICTURE.astype(np.float32), copy.astype(np.float32)
    again = nearest_mosaic(before, after, np.ones(copy.shape, bool), ((6.0, 0.0), (6.0, 0.0)))(before)
    assert np.mean((again - after) ** 2) < 0.02 * np.mean((before - after) ** 2)


def test_single_cells_of_a_mosaic_are_no_content():
    cell = np.zeros_like(WHOLE)
    cell[3:5, 4:7] = True
    parts = [Part(0, WHOLE & ~cell, certain("pixelation")), Part(0, cell, certain("content"), stands_out=True)]
    assert {part.kinds for part in without_strays(parts)} == {("pixelation",)}


@pytest.mark.parametrize("quality", [6, 10, 20])
def test_quality_is_found_where_most_blocks_are_even(quality):
    smooth = np.rint(ndimage.gaussian_filter(PICTURE.astype(float), 6)).astype(np.uint8)
    copy = coded(smooth, quality=quality)
    pairs = CoefficientPairs(*(image.astype(np.float32) for image in (smooth, copy)), np.ones(copy.shape, bool))
    assert pairs.nearest_table()[0] == pytest.approx(quality, abs=1)


@pytest.mark.parametrize("video", [False, True])
def test_a_coder_below_a_blur_is_found_with_its_table(video):
    table = np.maximum(1.6 * VIDEO_TABLE, 1.0) if video else scale_of(14.0) * STANDARD_TABLE
    copy = np.rint(ndimage.gaussian_filter(code_jpeg(PICTURE, table).astype(float), 1.3)).astype(np.uint8)
    found = CopyEstimates(PICTURE, copy)
    assert found.of(WHOLE, ("blur", "jpeg")).explained > 0.99 > found.of(WHOLE, ("blur",)).explained


@pytest.mark.parametrize("gain", [0.7, 1.35])
def test_noise_that_is_clipped_before_contrast_does_not_grow_with_the_grey_level(gain):
    dark = (PICTURE // 2).astype(np.uint8)
    noisy = np.clip(np.rint(dark + np.random.default_rng(0).normal(0, 16, dark.shape)), 0, 255)
    copy = np.clip(np.rint(gain * (noisy - 60) + 60), 0, 255).astype(np.uint8)
    found = CopyEstimates(dark, copy).of(WHOLE, ("contrast", "gaussian_noise"))
    assert found.growth < 50
    growing = np.clip(np.rint(dark * (1 + np.random.default_rng(0).normal(0, 0.25, dark.shape))), 0, 255)
    copy = np.clip(np.rint(gain * (growing - 60) + 60), 0, 255).astype(np.uint8)
    assert CopyEstimates(dark, copy).of(WHOLE, ("contrast", "gaussian_noise")).growth > 500


def test_large_cells_of_a_smooth_picture_leave_it_a_copy():
    rng = np.random.default_rng(0)
    smooth = ndimage.gaussian_filter(rng.normal(size=(256, 256)), 7)
    picture = np.clip(128 + 30 * smooth / smooth.std(), 0, 255).astype(np.uint8)
    cells = np.arange(256) // 40
    means = np.array([[picture[np.ix_(cells == i, cells == j)].mean() for j in range(7)] for i in range(7)])
    copy = np.rint(means[np.ix_(cells, cells)]).astype(np.uint8)
    found = diagnose(picture, [copy, picture[::-1, ::-1]])
    assert found[0].verdict == ("pixelation",) and found[0].is_copy
    assert not found[1].is_copy


def test_a_mixture_of_two_neighbours_may_be_a_shift_or_a_blur():
    copy = PICTURE.astype(float)
    copy[:, 1:] = 0.6 * PICTURE[:, 1:] + 0.4 * PICTURE[:, :-1]
    found = diagnose(PICTURE, [np.rint(copy).astype(np.uint8)])[0]
    assert all(fault.confidence <= MOST_OF_TWO for fault in found.faults if fault.kinds == ("misalignment",))


def test_a_long_blur_to_one_side_below_jpeg_is_no_sure_shift():
    trail = np.exp(-0.5 * (np.arange(12) / 5.0) ** 2)
    smeared = ndimage.correlate1d(PICTURE.astype(float), trail / trail.sum(), axis=1, origin=-6)
    found = diagnose(PICTURE, [coded(np.rint(smeared).astype(np.uint8), quality=8)])[0]
    assert not any("misalignment" in fault.kinds and fault.confidence >= 0.7 for fault in found.faults)


@pytest.mark.parametrize("quality", [4, 7, 12, 30])
def test_impulses_before_a_strong_coder_are_told_by_the_coefficients_that_take_another_step(quality):
    rng = np.random.default_rng(quality)
    assert has_impulses_before(PICTURE, coded(hit(0.006, quality), quality=quality), WHOLE)
    for noise in (rng.normal(0, 10, PICTURE.shape), rng.normal(0, 1, PICTURE.shape) * np.sqrt(PICTURE)):
        noisy = np.clip(np.rint(PICTURE + noise), 0, 255).astype(np.uint8)
        assert not has_impulses_before(PICTURE, coded(noisy, quality=quality), WHOLE)
    blurred = np.rint(ndimage.gaussian_filter(PICTURE.astype(float), 1.2)).astype(np.uint8)
    for other in (PICTURE, blurred):
        assert not has_impulses_before(PICTURE, coded(other, quality=quality), WHOLE)


@pytest.mark.filterwarnings("error")
def test_noise_after_a_coder_hides_its_steps_without_a_warning():
    noisy = distortions.apply(coded(PICTURE, quality=2), "gaussian_noise", 300, random_state=0)
    assert not has_impulses_before(PICTURE, noisy, WHOLE)
    assert not has_impulses_before(PICTURE, coded(PICTURE, quality=100), WHOLE)


def test_impulses_before_a_strong_coder_are_named():
    found = diagnose(PICTURE, [coded(hit(0.006), quality=4)])[0]
    assert set(found.verdict) == {"impulse_noise", "jpeg"}


def test_trails_of_impulses_in_a_moved_picture_are_spots():
    along = np.zeros((9, 9))
    along[4] = 1 / 9
    moved = lambda image: np.rint(ndimage.convolve(image.astype(float), along)).astype(np.uint8)
    assert leaves_spots(WHOLE, CopyEstimates(PICTURE, moved(hit(0.004))))
    assert not leaves_spots(WHOLE, CopyEstimates(PICTURE, moved(PICTURE)))
    content = certain("content") * 0.5 + certain("blur", "impulse_noise") * 0.4
    after = with_hidden_impulses(content, WHOLE, CopyEstimates(PICTURE, moved(hit(0.004))))
    assert SETS[int(after.argmax())] == ("blur", "impulse_noise")


def noises(sigma: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    columns = np.resize([1.0, 0.3, -1.0, -0.3], PICTURE.shape[1])
    return {
        "Gaussian": rng.normal(0, sigma, PICTURE.shape),
        "uniform": rng.uniform(-1, 1, PICTURE.shape) * sigma * np.sqrt(3),
        "Laplacian": rng.laplace(0, sigma / np.sqrt(2), PICTURE.shape),
        "patterned": 0.8 * rng.normal(0, sigma, PICTURE.shape) + 0.8 * sigma * columns,
    }


@pytest.mark.parametrize("shape", noises(1.0))
@pytest.mark.parametrize("sigma", [6.0, 20.0])
def test_only_gaussian_noise_has_its_shape(shape, sigma):
    copy = np.clip(np.rint(PICTURE + noises(sigma)[shape]), 0, 255).astype(np.uint8)
    assert is_strange_noise(PICTURE, copy, WHOLE) == (shape != "Gaussian")
    verdict = diagnose(PICTURE, [copy])[0].verdict
    assert verdict == (("gaussian_noise",) if shape == "Gaussian" else ("unknown",))


def test_few_pixels_do_not_tell_the_shape_of_noise():
    copy = np.clip(np.rint(PICTURE + noises(9.0)["uniform"]), 0, 255).astype(np.uint8)
    few = np.zeros_like(WHOLE)
    few[5:11, 5:11] = True
    assert not is_strange_noise(PICTURE, copy, few)
