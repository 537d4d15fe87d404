"""Reductions in size and back: found by size and filters, made again nearly exactly, and told from other blurs."""

from __future__ import annotations

import io
import json
from importlib.resources import files
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest
from faulty import coded
from PIL import Image, ImageFilter
from scipy import ndimage

from llise.diagnosis.diagnoser import Diagnoser
from llise.diagnosis.estimates.copy_estimates import CopyEstimates, estimate_fault
from llise.diagnosis.result import Fault, Interval
from llise.diagnosis.training.pictures import load
from llise.kinds.resampling_fit import Resampling, fit_resampling
from llise.kinds.resampling_weights import ENLARGING, REDUCING
from llise.output.rows import Json
from llise.output.settings import setting_rows, setting_words
from llise.output.words import verdict_sentence

FILTER = Image.Resampling
NAMES = {
    FILTER.BOX: "box", FILTER.BILINEAR: "bilinear", FILTER.HAMMING: "hamming", FILTER.BICUBIC: "bicubic",
    FILTER.LANCZOS: "lanczos",
}  # fmt: skip
PAIRS = [
    (1.3, FILTER.LANCZOS, FILTER.BICUBIC),
    (2.5, FILTER.BICUBIC, FILTER.LANCZOS),
    (2.0, FILTER.BOX, FILTER.BILINEAR),
    (3.7, FILTER.HAMMING, FILTER.BICUBIC),
    (8.0, FILTER.BICUBIC, FILTER.BICUBIC),
]


def whole(image: np.ndarray) -> np.ndarray:
    return np.ones([-(-n // 8) for n in image.shape], bool)


def small_size(image: np.ndarray, factor: float) -> tuple[int, int]:
    rows, cols = (round(n / factor) for n in image.shape)
    return rows, cols


def resampled(image: np.ndarray, factor: float, down: Image.Resampling, up: Image.Resampling) -> np.ndarray:
    small = Image.fromarray(image).resize(small_size(image, factor)[::-1], down)
    return np.asarray(small.resize(image.shape[::-1], up))


def found_factor(image: np.ndarray, copy: np.ndarray, region: np.ndarray) -> tuple[float, float]:
    found = estimate_fault(image, copy, region, ("blur",))
    return found.parameters["blur"]["factor"].value, found.explained


@pytest.mark.parametrize("down", NAMES)
def test_filters_are_those_of_pillow(down):
    image = load("coffee")[:200, :311]
    ways = {way.name: way for way in (*REDUCING, *ENLARGING[:2])}
    for up in (FILTER.BILINEAR, FILTER.BICUBIC):
        enlarging = next(way for way in ENLARGING if way.name == NAMES[up])
        made = Resampling(image.shape, small_size(image, 2.7), ways[NAMES[down]], enlarging).apply(image)
        assert np.abs(made - resampled(image, 2.7, down, up)).max() < 3


@pytest.mark.parametrize(
    ("down", "up", "names"),
    [
        ("INTER_AREA", "INTER_CUBIC", ("area", "sharp bicubic")),
        ("INTER_LINEAR", "INTER_LINEAR", ("plain bilinear", "bilinear")),
        ("INTER_CUBIC", "INTER_CUBIC", ("plain bicubic", "sharp bicubic")),
        ("INTER_AREA", "INTER_LANCZOS4", ("area", "wide lanczos")),
    ],
)
def test_filters_are_those_of_opencv(down, up, names):
    cv2 = pytest.importorskip("cv2")
    image = load("coffee")[:200, :311]
    small = cv2.resize(image, small_size(image, 2.7)[::-1], interpolation=getattr(cv2, down))
    copy = cv2.resize(small, image.shape[::-1], interpolation=getattr(cv2, up))
    reducing = next(way for way in REDUCING if way.name == names[0])
    enlarging = next(way for way in ENLARGING if way.name == names[1])
    made = Resampling(image.shape, small_size(image, 2.7), reducing, enlarging).apply(image)
    assert np.abs(made - copy).max() < 3


@pytest.mark.parametrize("way", [*REDUCING, *ENLARGING], ids=lambda way: way.name)
@pytest.mark.parametrize(("source", "target"), [(64, 23), (23, 64), (40, 39), (7, 2)])
def test_weights_of_each_pixel_have_the_sum_one(way, source, target):
    taps = way.taps(source, target)
    assert taps.places.shape[0] == target and taps.places.min() >= 0 and taps.places.max() < source
    assert np.allclose(taps.weights.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("name", ["coffee", "camera"])
@pytest.mark.parametrize(("factor", "down", "up"), PAIRS, ids=lambda value: getattr(value, "name", str(value)))
def test_the_factor_of_pillow_is_found(name, factor, down, up):
    image = load(name)
    copy = resampled(image, factor, down, up)
    found, explained = found_factor(image, copy, whole(image))
    assert found == pytest.approx(factor, rel=0.03) and explained >= 0.97


@pytest.mark.parametrize(
    ("factor", "down", "up"),
    [(1.4, "AREA", "CUBIC"), (9.3, "AREA", "CUBIC"), (3.1, "LINEAR", "LINEAR"), (2.2, "LINEAR", "LANCZOS4")],
)
def test_the_factor_of_opencv_is_found(factor, down, up):
    cv2 = pytest.importorskip("cv2")
    image = load("coffee")
    small = cv2.resize(image, small_size(image, factor)[::-1], interpolation=getattr(cv2, f"INTER_{down}"))
    copy = cv2.resize(small, image.shape[::-1], interpolation=getattr(cv2, f"INTER_{up}"))
    found, explained = found_factor(image, copy, whole(image))
    assert found == pytest.approx(factor, rel=0.03) and explained >= 0.97


@pytest.mark.parametrize("turned", [False, True])
def test_sides_that_are_multiples_of_nothing_are_found_exactly(turned):
    image = load("coffee")[:331, 5:402]
    image = np.ascontiguousarray(image.T) if turned else image
    copy = resampled(image, 2.37, FILTER.LANCZOS, FILTER.BICUBIC)
    found = fit_resampling(image, copy, np.ones(image.shape, bool), sigma=0.9, left=2.0)
    assert found is not None and found.small == small_size(image, 2.37)
    assert (found.reducing.name, found.enlarging.name) == ("lanczos", "bicubic")


@pytest.mark.parametrize("rounding", [np.floor, np.ceil])
def test_sizes_may_be_rounded_down_or_up(rounding):
    image = load("camera")[:333, :414]
    small = tuple(int(rounding(n / 2.41)) for n in image.shape)
    copy = np.asarray(Image.fromarray(image).resize(small[::-1], FILTER.BICUBIC).resize(image.shape[::-1]))
    found = fit_resampling(image, copy, np.ones(image.shape, bool), sigma=1.0, left=2.0)
    assert found is not None and found.small == small


def test_a_resampling_is_found_in_a_part_of_the_picture():
    image = load("coffee")
    blocks = np.zeros_like(whole(image))
    blocks[14:40, 30:62] = True
    pixels = blocks.repeat(8, 0).repeat(8, 1)[: image.shape[0], : image.shape[1]]
    copy = np.where(pixels, resampled(image, 2.6, FILTER.LANCZOS, FILTER.BICUBIC), image)
    found, explained = found_factor(image, copy, blocks)
    assert found == pytest.approx(2.6, rel=0.03) and explained >= 0.97


def test_the_whole_picture_is_made_again_with_the_settings_of_a_part():
    image = load("coffee")
    copy = resampled(image, 2.6, FILTER.LANCZOS, FILTER.BICUBIC)
    part = np.zeros_like(whole(image))
    part[14:40, 30:62] = True
    estimates = CopyEstimates(image, copy)
    again = estimates.made_again(part, ("blur",))
    assert again is not None and np.abs(again.astype(float) - copy).max() < 8
    rest, reference, mask = estimates.rest(part, ("blur",))
    assert rest.shape == reference.shape == mask.shape == image.shape and np.abs(rest[mask]).mean() < 1
    assert estimates.with_settings_of(part, whole(image), ("blur",)).explained >= 0.97


@pytest.mark.parametrize(
    "blur",
    [
        lambda x: ndimage.gaussian_filter(x, 1.1),
        lambda x: ndimage.uniform_filter(x, 5),
        lambda x: np.asarray(Image.fromarray(x).filter(ImageFilter.GaussianBlur(2.0))),
        lambda x: ndimage.median_filter(x, 3),
    ],
    ids=["Gaussian", "box", "Pillow", "median"],
)
def test_other_filters_do_not_become_resamplings(blur):
    image = load("coffee")
    copy = blur(image)
    assert "factor" not in estimate_fault(image, copy, whole(image), ("blur",)).parameters["blur"]
    assert fit_resampling(image, copy, np.ones(image.shape, bool), sigma=1.2, left=1.5) is None


def by_line(image: np.ndarray, gain: float, offset: float) -> np.ndarray:
    return np.clip(np.rint(gain * image.astype(float) + offset), 0, 255).astype(np.uint8)


@pytest.mark.parametrize("name", ["coffee", "chelsea"])
@pytest.mark.parametrize(
    ("kind", "before", "after", "settings"),
    [
        ("jpeg", lambda x: coded(x, 55), None, {"quality": 55}),
        ("jpeg", None, lambda x: coded(x, 12), {"quality": 12}),
        ("luminance", None, lambda x: by_line(x, 1, -14), {"offset": -14}),
        ("contrast", lambda x: by_line(x, 0.7, 30), None, {"gain": 0.7, "pivot": 100}),
    ],
    ids=["JPEG before", "JPEG after", "luminance after", "contrast before"],
)
def test_the_factor_is_found_beside_another_kind(name, kind, before, after, settings):
    image = load(name)[:400, :512]
    copy = resampled(before(image) if before else image, 2.6, FILTER.BOX, FILTER.BILINEAR)
    found = estimate_fault(image, after(copy) if after else copy, whole(image), tuple(sorted(("blur", kind))))
    assert found.explained >= (0.93 if kind == "jpeg" else 0.97)
    assert found.parameters["blur"]["factor"].value == pytest.approx(2.6, rel=0.03)
    for setting, value in settings.items():
        assert found.parameters[kind][setting].value == pytest.approx(value, abs=0.5, rel=0.01)


@pytest.mark.parametrize("kind", ["jpeg", "luminance", "contrast"])
def test_other_filters_beside_another_kind_do_not_become_resamplings(kind):
    image = load("coffee")
    copy = ndimage.gaussian_filter(image, 1.4)
    copy = {"jpeg": coded(copy, 20), "luminance": by_line(copy, 1, 9), "contrast": by_line(copy, 1.2, -20)}[kind]
    found = estimate_fault(image, copy, whole(image), tuple(sorted(("blur", kind))))
    assert "factor" not in found.parameters["blur"]


@pytest.mark.parametrize("shape", [(8, 8), (16, 200), (64, 64)])
def test_few_pixels_and_flat_pictures_have_no_resampling(shape):
    flat = np.full(shape, 90, np.uint8)
    some = np.zeros(shape, bool)
    some[:4, :4] = True
    for mask in (np.zeros(shape, bool), some, np.ones(shape, bool)):
        assert all(fit_resampling(flat, flat + 1, mask, sigma, left=0.1) is None for sigma in (0.0, 0.01, 1.0))
    noise = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    assert fit_resampling(noise, noise[::-1], np.ones(shape, bool), sigma=40.0, left=0.1) is None


def test_the_factor_has_an_interval_and_is_said():
    image = load("coffee")
    copy = resampled(image, 2.5, FILTER.LANCZOS, FILTER.BICUBIC)
    diagnosis = next(Diagnoser(image).diagnose([copy]))
    (fault,) = diagnosis.faults
    interval = fault.estimate["blur"]["factor"]
    assert interval.low < 2.5 < interval.high and interval.high - interval.low < 0.3
    assert "reduced by a factor of about 2.5 and enlarged again, over the whole picture" in verdict_sentence(diagnosis)
    rows = Json(io.StringIO(), "ref.png")
    diagnosis.file = "copy.png"
    rows.add(diagnosis)
    rows.close()
    printed = json.loads(rows.out.getvalue())
    jsonschema.validate(printed, json.loads((files("llise.output") / "diagnose.schema.json").read_text()))
    assert printed["images"][0]["faults"][0]["estimate"]["blur"]["factor"]["value"] == pytest.approx(2.5, rel=0.03)


def test_words_for_a_resampling():
    settings = {"sigma": Interval(1.04, 1.0, 1.1), "factor": Interval(2.5, 2.4, 2.6)}
    fault = Fault(("blur",), 1.0, np.ones((1, 1), bool), (0, 0, 8, 8), 1.0, {"blur": 80.0}, {"blur": settings})
    assert setting_words("blur", settings) == "reduced 2.5 times"
    assert setting_rows(fault)[1] == ["blur", "factor", "2.5", "2.4 to 2.6"]
    sentence = verdict_sentence(SimpleNamespace(faults=[fault], is_copy=True, image=np.zeros((8, 8))))
    expected = "reduced by a factor of about 2.5 and enlarged again"
    assert sentence == f"Blur of about 1 px, {expected}, over the whole picture."
