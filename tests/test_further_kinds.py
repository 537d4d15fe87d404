"""The kinds that are not in the paper: wanted errors, settings in copies of other programs, words."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageFont, ImageOps
from scipy import ndimage
from skimage import data

from llise import distortions
from llise.diagnosis.result import Fault, Interval
from llise.images import as_uint8
from llise.kinds import registry
from llise.kinds.cells import cell_of, find_grid
from llise.kinds.fitting import explained
from llise.kinds.grey import mse
from llise.labels import FURTHER_KINDS
from llise.output.settings import setting_words
from llise.output.words import fault_phrase

PICTURES = {
    name: np.ascontiguousarray(as_uint8(getattr(data, name)())[100:356, 100:356]) for name in ("camera", "astronaut")
}
CAMERA = PICTURES["camera"]


def rounded(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def through_file(image: np.ndarray, form: str, **options: object) -> np.ndarray:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, form, **options)
    return np.asarray(Image.open(stream))


def rate_of(image: np.ndarray, **options: object) -> float:
    """Bits per pixel of a JPEG 2000 file."""
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "JPEG2000", **options)
    return 8 * stream.tell() / image.size


# Copies at a wanted error


@pytest.mark.parametrize("wanted", [5, 60, 500])
@pytest.mark.parametrize("kind", FURTHER_KINDS)
def test_copies_have_the_wanted_error_and_can_be_made_again(kind, wanted):
    copy = distortions.make(CAMERA, kind, wanted, 3, warn=False)
    assert copy.reached and mse(CAMERA, copy.image) == copy.measured
    assert copy.image.dtype == np.uint8 and copy.image.shape == CAMERA.shape
    assert np.array_equal(copy.image, distortions.apply(CAMERA, kind, wanted, 3))


def test_an_error_out_of_reach_is_said():
    flat = np.full((64, 64), 100, np.uint8)
    with pytest.warns(distortions.UnreachableWarning):
        distortions.apply(flat, "pixelation", 100)


def test_content_replaces_compact_places_and_leaves_the_rest_alone():
    scattered = 0  # some programs draw single strokes or dots
    for seed in range(40):
        draw = registry.get("content").draw(CAMERA, np.random.default_rng(seed))
        copy = draw.path(0.3)
        changed = copy != CAMERA
        assert draw.parameters(0.3) == {"coverage": pytest.approx(changed.mean())}
        if not changed.any():
            continue
        joined, _ = ndimage.label(changed, np.ones((3, 3)))
        sizes = np.bincount(joined.ravel())[1:]
        scattered += sizes[sizes >= 6].sum() <= 0.8 * sizes.sum()
    assert scattered <= 4


def test_parameters_of_draws_are_true():
    ramp = np.repeat(np.arange(40, 200, dtype=np.uint8)[:, None], 400, axis=1)
    for seed in range(12):
        draw = registry.get("speckle_noise").draw(ramp, np.random.default_rng(seed))
        at = draw.parameters(8.0)
        error = draw.path(8.0).astype(float) - ramp
        slope = np.polyfit(np.log(ramp[:, 0].astype(float)), np.log(error.std(axis=1)), 1)[0]
        assert at["sigma"] == 8.0 and slope == pytest.approx(at["exponent"], abs=0.1)
        assert error[80:96].std() == pytest.approx(8.0 * (127.5 / 128) ** slope, rel=0.05)
        mosaic = registry.get("quantization").draw(CAMERA, np.random.default_rng(seed))
        words = mosaic.parameters(20.0)  # a palette on a grey picture has colours, dither more levels than it says
        if "levels" in words and mosaic.settings(20.0).dither == "none":
            assert len(np.unique(mosaic.path(20.0).round())) <= words["levels"] + 1


# Settings: copies of other programs, on pictures that took part in nothing


def posterised(image: np.ndarray) -> np.ndarray:
    return np.asarray(ImageOps.posterize(Image.fromarray(image), 3))


def imagemagick_posterised(image: np.ndarray) -> np.ndarray:
    return rounded(np.floor(image / 255 * 5 + 0.5) * 255 / 5)


def block_mean(image: np.ndarray) -> np.ndarray:
    return rounded(image.reshape(32, 8, 32, 8).mean(axis=(1, 3)).repeat(8, 0).repeat(8, 1))


def half_and_back(image: np.ndarray) -> np.ndarray:
    small = Image.fromarray(image).resize((64, 64), Image.Resampling.BOX)
    return np.asarray(small.resize((256, 256), Image.Resampling.NEAREST))


def unsharp(image: np.ndarray) -> np.ndarray:
    """As scikit-image's unsharp_mask."""
    values = image / 255
    return rounded(255 * np.clip(values + 1.5 * (values - ndimage.gaussian_filter(values, 2, mode="reflect")), 0, 1))


def poisson(image: np.ndarray) -> np.ndarray:
    """As scikit-image's random_noise with mode "poisson"."""
    return rounded(np.random.default_rng(0).poisson(image / 255 * 256) / 256 * 255)


def matlab_speckle(image: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(0).uniform(-1, 1, image.shape) * np.sqrt(3 * 0.01)
    return rounded(image * (1 + noise))


def watermarked(image: np.ndarray) -> np.ndarray:
    picture = Image.fromarray(image)
    ImageDraw.Draw(picture).text((30, 90), "SAMPLE", fill=255, font=ImageFont.load_default(48))
    return np.asarray(picture)


def lost_blocks(image: np.ndarray) -> np.ndarray:
    copy = image.copy()
    for top, left in ((32, 64), (48, 64), (160, 16), (200, 208)):
        copy[top : top + 16, left : left + 16] = 128
    return copy


def dead_column(image: np.ndarray) -> np.ndarray:
    copy = image.copy()
    copy[:, 77] = 0
    return copy


FOREIGN: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray], dict[str, tuple[float, float]]]] = {
    "Pillow posterize": ("quantization", posterised, {"levels": (8, 0)}),
    "ImageMagick posterize": ("quantization", imagemagick_posterised, {"levels": (6, 0)}),
    "block means": ("pixelation", block_mean, {"cell": (8, 0)}),
    "Pillow resize": ("pixelation", half_and_back, {"cell": (4, 0)}),
    "scikit-image unsharp_mask": ("sharpening", unsharp, {"amount": (1.5, 0.15), "radius": (2, 0.3)}),
    "Pillow UnsharpMask": (
        "sharpening",
        lambda x: np.asarray(Image.fromarray(x).filter(ImageFilter.UnsharpMask(1.5, 120, 0))),
        {"amount": (1.2, 0.12), "radius": (1.5, 0.22)},
    ),
    "Pillow Sharpness": (
        "sharpening",
        lambda x: np.asarray(ImageEnhance.Sharpness(Image.fromarray(x)).enhance(3.0)),
        {},
    ),
    "scikit-image poisson": ("speckle_noise", poisson, {"sigma": (11.3, 0.6), "exponent": (0.5, 0.1)}),
    "MATLAB speckle": ("speckle_noise", matlab_speckle, {"sigma": (12.8, 0.8), "exponent": (1, 0.12)}),
    "text": ("content", watermarked, {}),
    "lost blocks": ("content", lost_blocks, {"coverage": (4 * 256 / 65536, 0.0016)}),
    "dead column": ("content", dead_column, {"coverage": (1 / 256, 0.0004)}),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_settings_are_found_in_copies_of_other_programs(case):
    kind, make, truth = FOREIGN[case]
    for picture, reference in PICTURES.items():
        copy, mask = make(reference), np.ones(reference.shape, bool)
        found = registry.get(kind).fit(reference, copy, mask)
        for name, (value, tolerance) in truth.items():
            assert found.parameters[name] == pytest.approx(value, abs=tolerance + 1e-9), (picture, name)
        assert explained(found, reference, copy, mask) > 0.9, picture


@pytest.mark.parametrize("ratio", [10, 40])
def test_the_rate_of_jpeg2000_is_found(ratio):
    options = {"quality_mode": "rates", "quality_layers": [ratio], "irreversible": True, "no_jp2": True}
    copy, mask = through_file(CAMERA, "JPEG2000", **options), np.ones(CAMERA.shape, bool)
    found = registry.get("jpeg2000").fit(CAMERA, copy, mask)
    header = 8 * 120 / CAMERA.size
    assert found.parameters["rate"] == pytest.approx(rate_of(CAMERA, **options) - header, rel=0.15)
    assert explained(found, CAMERA, copy, mask) > 0.6


@pytest.mark.parametrize("side, start", [(2.0, 0.0), (3.0, 0.4), (6.4, 0.7), (17.0, 0.0), (1.5, 0.0), (23.3, 0.2)])
@pytest.mark.parametrize("noise", [0, 4])
def test_cells_are_found_under_noise_and_where_there_are_none_nothing_is(side, start, noise):
    rng = np.random.default_rng(0)
    mosaic = CAMERA.astype(float)[(cell_of(240, side, start) * side).astype(int)]
    copy = mosaic + noise * rng.standard_normal(mosaic.shape)
    found = find_grid(copy, np.ones(copy.shape, bool))
    assert found is not None and found[0] == pytest.approx(side, abs=0.1)
    assert find_grid(CAMERA.astype(float), np.ones(CAMERA.shape, bool)) is None


# Words


def fault(kind: str, **settings: float) -> Fault:
    estimate = {name: Interval(value, 0.95 * value, 1.05 * value) for name, value in settings.items()}
    return Fault((kind,), 0.97, np.ones((8, 8), bool), (0, 0, 64, 64), 1.0, {kind: 80.0}, {kind: estimate})


@pytest.mark.parametrize(
    "kind, settings, sentence, column",
    [
        ("jpeg2000", {"rate": 0.35}, "JPEG 2000 compression, about 0.35 bits per pixel,", "0.35 bits per pixel"),
        ("quantization", {"levels": 12}, "posterised to 12 levels", "12 levels"),
        ("pixelation", {"cell": 6.0}, "pixelated, cells of 6 px,", "6 px"),
        ("sharpening", {"amount": 1.2, "radius": 1.5}, "sharpened (amount 1.2, radius 1.5 px)", "amount 1.2"),
        (
            "speckle_noise",
            {"sigma": 12, "exponent": 1.0},
            "signal-dependent noise, sigma about 12 at mid-grey (multiplicative),",
            "sigma 12",
        ),
        ("content", {"coverage": 0.03}, "content that is not in the reference", "3% pixels"),
    ],
)
def test_words_of_the_settings(kind, settings, sentence, column):
    one = fault(kind, **settings)
    assert fault_phrase(one, 4096) == f"{sentence} over the whole picture"
    assert setting_words(kind, one.estimate[kind]) == column


@pytest.mark.parametrize("side", [2.2, 4.37])
def test_cells_that_repeat_a_pixel_before_their_first_one_are_a_mosaic(side):
    """As programs do that round places down on the way to the small picture and back."""
    picture = PICTURES["astronaut"]
    count = round(256 / side)
    small = np.floor(np.arange(count) * (256 / count)).astype(int)
    places = small[np.floor(np.arange(256) * (count / 256)).astype(int)]
    copy = picture[np.ix_(places, places)]
    fit = registry.get("pixelation").fit(picture, copy, np.ones(picture.shape, bool))
    assert mse(fit.apply(picture), copy) < 0.03 * mse(picture, copy)
