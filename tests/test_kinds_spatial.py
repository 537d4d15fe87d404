"""Filters, coders and motions in colour: copies from settings, and settings found again from copies."""

import io
import json
from dataclasses import asdict

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image, ImageFilter
from scipy import ndimage
from skimage import data

from llise.kinds import registry
from llise.kinds.blur_programs import BlurSettings as Blur
from llise.kinds.chroma_blur import ChromaBlurSettings as ChromaBlur
from llise.kinds.fitting import explained
from llise.kinds.grey import mse
from llise.kinds.jpeg import pillow_settings
from llise.kinds.jpeg2000 import Jpeg2000Settings as Jpeg2000
from llise.kinds.jpeg_coder import FACTORS, coded, enlarged, steps_of
from llise.kinds.jpeg_search import _before_enlarging
from llise.kinds.jpeg_tables import FLATTER_TABLE
from llise.kinds.misalignment import MisalignmentSettings as Misalignment
from llise.kinds.misalignment import crop_settings
from llise.kinds.pixelation import PixelationSettings as Pixelation
from llise.kinds.resize import ENLARGING_NAMES, REDUCING_NAMES, resize
from llise.kinds.search import Search
from llise.kinds.sharpening_programs import SharpeningSettings as Sharpening

NAMES = ("blur", "sharpening", "pixelation", "jpeg", "jpeg2000", "chroma_blur", "misalignment")
SIDE = 128


def picture(name: str, side: int = SIDE) -> np.ndarray:
    return np.ascontiguousarray(getattr(data, name)()[60 : 60 + side, 100 : 100 + side])


PICTURES = [picture(name) for name in ("astronaut", "chelsea", "coffee")]
GREY = np.ascontiguousarray(data.camera()[100 : 100 + SIDE, 150 : 150 + SIDE])
WHOLE = np.ones((SIDE, SIDE), bool)


def images_for(name: str) -> list[np.ndarray]:
    return PICTURES if name == "chroma_blur" else [*PICTURES, GREY]


def drawn_copy(name: str, image: np.ndarray, seed: int, low: float = 40.0, high: float = 500.0):
    """Settings and a copy of about an error that is drawn too."""
    rng = np.random.default_rng(seed)
    draw, wanted = registry.get(name).draw(image, rng), float(np.exp(rng.uniform(np.log(low), np.log(high))))
    search = Search(draw.path, image, wanted, 0.1)
    first = draw.end / 100 if draw.first is None else draw.first(wanted)
    search.bisect(draw.end, first=first, steps=8, at_zero=0.0)
    settings = draw.settings(search.strength)
    return settings, registry.get(name).apply(image, settings)


@pytest.mark.parametrize("name", NAMES)
def test_settings_make_the_drawn_copy_and_survive_json(name):
    kind = registry.get(name)
    for seed in range(30):
        images = images_for(name)
        image = images[seed % len(images)][:80, :96]
        if seed % 5 == 0:
            image = np.repeat(image[..., :1] if image.ndim == 3 else image[..., None], 3, axis=2)
        draw = kind.draw(image, np.random.default_rng(seed))
        for share in (0.01, 0.2, 1.0):
            settings = draw.settings(share * draw.end)
            copy = kind.apply(image, settings)
            assert copy.dtype == np.uint8 and copy.shape == image.shape
            assert_array_equal(copy, draw.path(share * draw.end))
            loaded = {
                key: tuple(v) if isinstance(v, list) else v
                for key, v in json.loads(json.dumps(asdict(settings))).items()
            }
            assert kind.Settings(**loaded) == settings
            assert draw.parameters(share * draw.end) == settings.words()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "chroma_blur"])
def test_a_grey_picture_with_three_channels_stays_grey_but_for_rounding(name):
    kind, image = registry.get(name), np.repeat(GREY[..., None], 3, axis=2)
    for seed in range(8):
        draw = kind.draw(image, np.random.default_rng(seed))
        copy = kind.apply(image, draw.settings(0.1 * draw.end)).astype(int)
        assert np.ptp(copy, axis=2).max() <= 3


# What programs make


@pytest.mark.parametrize("border", ["reflect", "nearest", "mirror", "constant"])
def test_gaussian_and_kernel_blurs_are_those_of_scipy(border):
    image = PICTURES[0]
    blurred = registry.get("blur").apply(image, Blur("gaussian", 2.0, shape=4.0, border=border))
    expected = ndimage.gaussian_filter(image.astype(float), (2, 2, 0), mode=border)
    assert np.abs(blurred - expected).max() <= 0.51
    impulse = np.zeros((41, 41), np.uint8)
    impulse[20, 20] = 255
    for settings in (Blur("disc", 3.0, border=border), Blur("motion", 9.0, angle=30.0, border=border)):
        kernel = registry.get("blur").apply(impulse, settings) / 255.0
        assert kernel.sum() == pytest.approx(1, abs=0.15)
        words = settings.words()
        assert words["sigma"] == pytest.approx(_deviation(kernel), rel=0.1)


def _deviation(kernel: np.ndarray) -> float:
    at = np.arange(len(kernel)) - len(kernel) // 2
    weight = kernel / kernel.sum()
    return float(np.sqrt(((weight.sum(0) + weight.sum(1)) * at**2).sum() / 2))


@pytest.mark.parametrize("way", sorted({*REDUCING_NAMES, *ENLARGING_NAMES}))
def test_every_filter_keeps_an_even_picture_and_the_mean(way):
    even = np.full((40, 50, 3), 93, np.uint8)
    assert_array_equal(resize(even, (17, 23), way), np.full((17, 23, 3), 93))
    assert resize(PICTURES[1], (64, 64), way).mean() == pytest.approx(PICTURES[1].mean(), abs=2)


def test_pillows_filters_are_used_as_they_are():
    picture = Image.fromarray(PICTURES[2])
    blurred = registry.get("blur").apply(PICTURES[2], Blur("pillow_gaussian", 1.7))
    assert_array_equal(blurred, np.asarray(picture.filter(ImageFilter.GaussianBlur(1.7))))
    sharp = registry.get("sharpening").apply(PICTURES[2], Sharpening("pillow_unsharp", 1.5, 2.0, 3.0))
    assert_array_equal(sharp, np.asarray(picture.filter(ImageFilter.UnsharpMask(2.0, 150, 3))))


def test_sharpening_of_luma_changes_all_channels_alike():
    image = np.clip(PICTURES[1], 60, 190)
    copy = registry.get("sharpening").apply(image, Sharpening("unsharp", 0.5, 1.5, luma=True)).astype(int)
    assert np.ptp(copy - image.astype(int), axis=2)[(copy > 0).all(2) & (copy < 255).all(2)].max() <= 1


@pytest.mark.parametrize("subsampling", list(FACTORS))
def test_the_own_coder_agrees_with_pillows(subsampling):
    settings = pillow_settings(60)
    own = coded(PICTURES[0], settings.__class__(**{**asdict(settings), "subsampling": subsampling, "rounding": 0.4999}))
    pillows = coded(PICTURES[0], settings.__class__(**{**asdict(settings), "subsampling": subsampling}))
    assert mse(own, pillows) < 2 < mse(PICTURES[0], pillows)


@pytest.mark.parametrize(("down", "across"), [(2, 2), (1, 2)])
def test_chroma_is_found_as_it_was_before_it_was_enlarged(down, across):
    small = np.random.default_rng(0).uniform(0, 255, (40, 48)).astype(np.float32)
    large = enlarged(small, (40 * down, 48 * across), down, across, True)
    np.testing.assert_allclose(_before_enlarging(large, down, across, True), small, atol=0.01)


# What is found again


@pytest.mark.parametrize("name", NAMES)
def test_drawn_settings_lie_in_their_intervals(name):
    kind, inside, shares = registry.get(name), [], []
    scale = {"chroma_blur": 0.1, "misalignment": 3.0}.get(name, 1.0)
    images = images_for(name)
    for seed in range(12):
        image = images[seed % len(images)]
        settings, copy = drawn_copy(name, image, 300 + seed, 40 * scale, 500 * scale)
        if mse(image, copy) < 2:
            continue
        fit = kind.fit(image, copy, WHOLE)
        shares.append(0.0 if fit is None else explained(fit, image, copy, WHOLE))
        if fit is None:
            inside.append(False)
            continue
        assert fit.parameters == fit.settings.words() and fit.parameters.keys() == fit.intervals.keys()
        assert_array_equal(fit.apply(image.astype(np.float32)).shape, image.shape)
        inside += [
            word in fit.intervals and fit.intervals[word][0] <= value <= fit.intervals[word][1]
            for word, value in settings.words().items()
        ]
    assert np.mean(inside) >= 0.75  # 0.9 in the long run, see the report of the accuracy
    assert np.median(shares) >= 0.95


@pytest.mark.parametrize("subsampling", ["4:2:0", "4:4:4", "4:2:2"])
@pytest.mark.parametrize("quality", [12, 50, 75, 92])
def test_the_quality_and_subsampling_of_pillows_files_are_exact(quality, subsampling):
    for image in PICTURES[:2]:
        stream = io.BytesIO()
        Image.fromarray(image).save(stream, "JPEG", quality=quality, subsampling=subsampling)
        copy = np.asarray(Image.open(stream))
        fit = registry.get("jpeg").fit(image, copy, WHOLE)
        assert fit.parameters == {"quality": quality}
        assert fit.settings.subsampling == subsampling
        assert explained(fit, image, copy, WHOLE) > (0.999 if quality > 20 else 0.95)  # clipped colours hide steps


def test_the_quality_of_grey_files_is_exact():
    for quality in (5, 40, 60, 80, 95):
        copy = coded(GREY, pillow_settings(quality))
        assert registry.get("jpeg").fit(GREY, copy, WHOLE).settings.quality == quality


def test_the_grid_of_a_jpeg_that_was_cut_is_found():
    large = np.ascontiguousarray(data.coffee()[100:260, 120:280])
    stream = io.BytesIO()
    Image.fromarray(large).save(stream, "JPEG", quality=40)
    copy = np.asarray(Image.open(stream))[13 : 13 + SIDE, 6 : 6 + SIDE]
    image = np.ascontiguousarray(large[13 : 13 + SIDE, 6 : 6 + SIDE])
    fit = registry.get("jpeg").fit(image, copy, WHOLE)
    assert fit.settings.offset == (3, 10) and fit.parameters["quality"] == 40
    inner = np.zeros_like(WHOLE)
    inner[16:-16, 16:-16] = True
    assert explained(fit, image, copy, inner) > 0.95


def test_the_table_of_mozjpeg_is_found():
    steps = steps_of(1.5 * FLATTER_TABLE)
    settings = pillow_settings(50).__class__(0.0, steps, steps, "4:2:0")
    fit = registry.get("jpeg").fit(PICTURES[0], coded(PICTURES[0], settings), WHOLE)
    low = [row * 8 + col for row in range(4) for col in range(4 - row)]  # high frequencies have no steps to be seen
    assert np.abs(np.asarray(fit.settings.luma)[low] - np.asarray(steps)[low]).max() <= 1
    assert explained(fit, PICTURES[0], coded(PICTURES[0], settings), WHOLE) > 0.98


FOUND = [
    ("blur", Blur("gaussian", 8.0, shape=4.0), {"sigma": 8.0}),
    ("blur", Blur("disc", 4.0), {"radius": 4.0}),
    ("blur", Blur("motion", 11.0, angle=25.0), {"length": 11.0, "angle": 25.0}),
    ("blur", Blur("resampled", 2.0, small=(64, 64), reducing="bicubic", enlarging="bilinear"), {"factor": 2.0}),
    ("sharpening", Sharpening("unsharp", 1.2, 2.0), {"amount": 1.2, "radius": 2.0}),
    ("sharpening", Sharpening("unsharp", 1.2, 2.0, luma=True), {"amount": 1.2, "radius": 2.0}),
    ("pixelation", Pixelation("mean", (7.0, 7.0)), {"cell": 7.0}),
    ("pixelation", Pixelation("sample", (5.0, 9.0), (0.4, 0.2)), {"cell": 45.0**0.5}),
    ("chroma_blur", ChromaBlur("gaussian", 2.5), {"sigma": 2.5}),
    ("chroma_blur", ChromaBlur("subsampled", 0.5, (2, 2)), {"sigma": 0.5}),
    ("misalignment", Misalignment(3.3, -1.6, method="bilinear"), {"shift_x": 3.3, "shift_y": -1.6}),
    ("misalignment", Misalignment(2.0, 5.0, rotation=1.5, scale=-2.0), {"rotation": 1.5, "scale": -2.0}),
    (
        "misalignment",
        crop_settings((6, 3, 4, 8), (SIDE, SIDE), "bicubic"),
        {"scale": crop_settings((6, 3, 4, 8), (SIDE, SIDE), "").scale},
    ),
]


@pytest.mark.parametrize(("name", "settings", "words"), FOUND)
def test_settings_are_found_in_colour(name, settings, words):
    kind = registry.get(name)
    for image in PICTURES[:2]:
        copy = kind.apply(image, settings)
        fit = kind.fit(image, copy, WHOLE)
        for word, value in words.items():
            assert fit.parameters[word] == pytest.approx(value, rel=0.03, abs=0.05)
        assert explained(fit, image, copy, WHOLE) > 0.95


def test_a_region_is_fitted_on_its_mask():
    kind, settings = registry.get("blur"), Blur("gaussian", 2.0, shape=4.0)
    mask = np.zeros_like(WHOLE)
    mask[24:104, 16:96] = True
    copy = np.where(mask[..., None], kind.apply(PICTURES[0], settings), 255 - PICTURES[0])
    fit = kind.fit(PICTURES[0], copy, mask)
    assert fit.parameters["sigma"] == pytest.approx(2.0, rel=0.02)
    assert explained(fit, PICTURES[0], copy, mask) > 0.99


def test_the_rate_of_jpeg2000_is_found():
    kind = registry.get("jpeg2000")
    for settings in (Jpeg2000((30.0,)), Jpeg2000((32.0,), mct=False), Jpeg2000((30.0,), irreversible=False)):
        copy = kind.apply(PICTURES[1], settings)
        fit = kind.fit(PICTURES[1], copy, WHOLE)
        assert (fit.settings.irreversible, fit.settings.mct) == (settings.irreversible, settings.mct)
        assert explained(fit, PICTURES[1], copy, WHOLE) > 0.9


@pytest.mark.parametrize(
    ("name", "other", "settings"),
    [
        ("jpeg", "sharpening", Sharpening("unsharp", 1.5, 1.5)),
        ("jpeg", "blur", Blur("gaussian", 3.0)),
        ("pixelation", "blur", Blur("gaussian", 3.0)),
        ("sharpening", "blur", Blur("gaussian", 2.0)),
        ("chroma_blur", "sharpening", Sharpening("unsharp", 1.5, 1.5)),
        ("misalignment", "pixelation", Pixelation("mean", (8.0, 8.0))),
        ("blur", "sharpening", Sharpening("unsharp", 1.5, 1.5)),
    ],
)
def test_other_kinds_are_not_explained(name, other, settings):
    copy = registry.get(other).apply(PICTURES[0], settings)
    fit = registry.get(name).fit(PICTURES[0], copy, WHOLE)
    assert fit is None or explained(fit, PICTURES[0], copy, WHOLE) < 0.7


@pytest.mark.parametrize("name", NAMES)
def test_bad_regions_give_none_or_a_fit(name):
    kind, image = registry.get(name), PICTURES[0][:16, :16]
    assert kind.fit(image, image, np.ones((16, 16), bool)) is None
    assert kind.fit(image, 255 - image, np.zeros((16, 16), bool)) is None
    flat = np.full((64, 64, 3), 90, np.uint8)
    fit = kind.fit(flat, flat + np.uint8(9), np.ones((64, 64), bool))
    assert fit is None or np.isfinite(fit.apply(flat.astype(np.float32))).all()
