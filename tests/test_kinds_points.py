"""Kinds that change pixels one by one, on colour pictures and grey ones: draws, settings, fits and their intervals."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
import skimage.color
import skimage.data
import skimage.exposure
from PIL import Image, ImageEnhance, ImageOps

from llise.colours import stacked
from llise.kinds.fitting import Fit, clipped_power, explained
from llise.kinds.programs import from_lab, lab_of, on_plane
from llise.kinds.registry import get
from llise.kinds.search import Search

KINDS = (
    "contrast",
    "luminance",
    "gaussian_noise",
    "speckle_noise",
    "impulse_noise",
    "quantization",
    "saturation",
    "color_cast",
    "chroma_noise",
    "content",
)


def picture(number: int, side: int = 96) -> np.ndarray:
    """A crop of a colour picture, or of a grey one with three equal channels."""
    rng = np.random.default_rng(number)
    name = ("astronaut", "chelsea", "coffee", "camera")[number % 4]
    whole = stacked(getattr(skimage.data, name)())
    top, left = (8 * int(rng.integers(0, (size - side) // 8)) for size in whole.shape[:2])
    return np.ascontiguousarray(whole[top : top + side, left : left + side])


def draw_of(kind: str, number: int, error: float = 60.0):
    """A random copy of about an error, with its reference and its settings."""
    rng = np.random.default_rng((number, KINDS.index(kind)))
    reference = picture(number)
    if get(kind).needs_color and number % 4 == 3:
        reference = picture(number + 1)
    draw = get(kind).draw(reference, rng)
    search = Search(draw.path, reference, error, 0.1)
    search.bisect(draw.end, first=draw.first(error) if draw.first else draw.end / 100, steps=8)
    return reference, search.image, draw.settings(search.strength), draw


@pytest.mark.parametrize("kind", KINDS)
def test_settings_make_the_copy_again_also_after_json(kind):
    for number in range(12):
        reference, copy, settings, _ = draw_of(kind, number)
        assert copy.shape == reference.shape and ((copy != reference).any() or kind == "content")
        again = get(kind).Settings(**asdict(settings))
        assert again == settings and np.array_equal(get(kind).apply(reference, again), copy)
        plain = dict(json.loads(json.dumps(asdict(settings))))
        assert all(
            np.array_equal(np.asarray(value), np.asarray(getattr(settings, key))) for key, value in plain.items()
        )


@pytest.mark.parametrize("kind", KINDS)
def test_grey_images_and_odd_sizes_are_changed_too(kind):
    for number in range(8):
        image = picture(number)[:33, :47]
        draw = get(kind).draw(image, np.random.default_rng(number))
        settings = draw.settings(0.2 * draw.end)
        assert get(kind).apply(image, settings).shape == image.shape
        grey = np.ascontiguousarray(image[..., 1])
        assert get(kind).apply(grey, settings).shape == grey.shape


@pytest.mark.parametrize("kind", KINDS)
def test_a_draw_reaches_the_error_that_is_wanted(kind):
    errors = []
    for number in range(12):
        reference, copy, *_ = draw_of(kind, number)
        errors.append(float(np.mean((reference.astype(float) - copy) ** 2)))
    assert np.mean([30 < error < 120 for error in errors]) >= 0.7, errors


def recovered(kind: str, count: int) -> tuple[dict[str, list[bool]], list[float]]:
    """Whether intervals hold each drawn word, and what fits explain, of random copies of errors from 12 to 700."""
    inside: dict[str, list[bool]] = {}
    shares = []
    for number in range(count):
        error = float(np.exp(np.random.default_rng(number).uniform(np.log(12), np.log(700))))
        reference, copy, settings, _ = draw_of(kind, number, error)
        if np.array_equal(reference, copy):
            continue
        mask = np.ones(copy.shape[:2], bool)
        fit = get(kind).fit(reference, copy, mask)
        shares.append(0.0 if fit is None else explained(fit, reference, copy, mask))
        for name, value in settings.words().items():
            if fit is not None and name in fit.intervals:
                low, high = fit.intervals[name]
                assert low <= fit.parameters[name] <= high
                inside.setdefault(name, []).append(low <= value <= high)
    return inside, shares


@pytest.mark.parametrize("kind", KINDS)
def test_fits_find_the_settings_within_their_intervals(kind):
    inside, shares = recovered(kind, 40)
    every = [hit for hits in inside.values() for hit in hits]
    assert len(every) >= 20 and np.mean(every) >= 0.85, {name: np.mean(hits) for name, hits in inside.items()}
    assert np.median(shares) > 0.98
    assert np.quantile(shares, 0.2) > (0.6 if kind == "content" else 0.9)


OTHERS = {
    "contrast": ("gaussian_noise", "impulse_noise", "saturation", "chroma_noise", "content"),
    "luminance": ("gaussian_noise", "speckle_noise", "impulse_noise", "saturation", "content"),
    "gaussian_noise": (
        "contrast",
        "luminance",
        "impulse_noise",
        "quantization",
        "color_cast",
        "chroma_noise",
        "content",
    ),
    "speckle_noise": ("contrast", "impulse_noise", "quantization", "color_cast", "content"),
    "impulse_noise": ("contrast", "gaussian_noise", "speckle_noise", "quantization", "chroma_noise", "content"),
    "quantization": ("luminance", "gaussian_noise", "impulse_noise", "saturation", "content"),
    "saturation": ("luminance", "gaussian_noise", "impulse_noise", "content"),
    "color_cast": ("luminance", "saturation", "gaussian_noise", "impulse_noise", "content"),
    "chroma_noise": ("contrast", "gaussian_noise", "impulse_noise", "quantization", "saturation", "content"),
    "content": ("contrast", "gaussian_noise", "impulse_noise", "quantization", "color_cast"),
}
"""Kinds that cannot have made a copy of a kind; a gain is contrast and a cast, and few levels are near to a curve."""


@pytest.mark.parametrize("kind", KINDS)
def test_other_kinds_explain_less(kind):
    shares: dict[str, list[float]] = {other: [] for other in OTHERS[kind]}
    for number in range(6):
        reference, copy, *_ = draw_of(kind, number, 150.0)
        mask = np.ones(copy.shape[:2], bool)
        for other in OTHERS[kind]:
            fit = get(other).fit(reference, copy, mask)
            shares[other].append(0.0 if fit is None else explained(fit, reference, copy, mask))
    assert all(np.median(share) < 0.87 for share in shares.values()), shares


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_looks_at_the_mask_alone(kind):
    """Content looks around places as well, so that it is told by its share alone."""
    reference, copy, *_ = draw_of(kind, 1, 150.0)
    if np.array_equal(reference, copy):
        pytest.skip("nothing was covered")
    mask = np.zeros(copy.shape[:2], bool)
    mask[16:80, 8:72] = True
    other = np.where(mask[..., None], copy, 255 - copy)
    first, second = (get(kind).fit(reference, image, mask) for image in (copy, other))
    assert (first is None) == (second is None)
    if first is not None and kind != "content":
        assert first.parameters == pytest.approx(second.parameters, rel=1e-3)
        assert explained(first, reference, copy, mask) == pytest.approx(
            explained(second, reference, other, mask), abs=0.02
        )


@pytest.mark.parametrize("kind", KINDS)
def test_fits_take_floats_and_grey_images(kind):
    reference, copy, *_ = draw_of(kind, 2, 150.0)
    mask = np.ones(copy.shape[:2], bool)
    whole, floats = (
        get(kind).fit(reference.astype(dtype), copy.astype(dtype), mask) for dtype in (np.uint8, np.float32)
    )
    assert whole.parameters == pytest.approx(floats.parameters)
    fit = get(kind).fit(reference[..., 1], copy[..., 1], mask)
    if get(kind).needs_color:
        assert fit is None
    else:
        assert 0 <= explained(fit, reference[..., 1], copy[..., 1], mask) <= 1


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "content"])
def test_a_fit_makes_a_like_copy_again(kind):
    reference, copy, *_ = draw_of(kind, 6, 150.0)
    fit = get(kind).fit(reference, copy, np.ones(copy.shape[:2], bool))
    error = np.mean((copy.astype(float) - reference) ** 2)
    if fit.draw is not None:
        again = fit.draw(reference.astype(np.float32), np.random.default_rng(0))
        assert np.mean((again - reference) ** 2) == pytest.approx(error, rel=0.25)
        assert fit.noise(reference.astype(np.float32)).mean() == pytest.approx(error, rel=0.1)
    elif fit.noise is None:
        assert np.array_equal(fit.apply(reference), get(kind).apply(reference, fit.settings))
        assert np.mean((fit.apply(reference.astype(np.float32)) - copy) ** 2) < 0.1 * error + 0.5


def test_nothing_is_explained_by_a_fit_that_changes_nothing():
    reference, copy, *_ = draw_of("luminance", 0)
    mask = np.ones(copy.shape[:2], bool)
    assert explained(Fit({}), reference, copy, mask) == 0
    assert explained(Fit({}), reference, reference, mask) == 1


def test_the_power_of_clipped_noise_is_that_of_samples():
    rng = np.random.default_rng(0)
    for level, sigma in ((0, 10), (5, 20), (128, 3), (250, 40), (255, 7)):
        samples = np.clip(np.rint(level + sigma * rng.standard_normal(200_000)), 0, 255)
        assert clipped_power(np.array([level]), sigma)[0] == pytest.approx(np.mean((samples - level) ** 2), rel=0.03)


def test_planes_are_those_of_libraries():
    colours = np.random.default_rng(0).integers(0, 256, (20, 20, 3), np.uint8)
    assert np.abs(lab_of(colours) - skimage.color.rgb2lab(colours)).max() < 0.2
    assert np.abs(from_lab(lab_of(colours)) - colours).max() < 0.5
    hsv = skimage.color.rgb2hsv(colours)
    hsv[..., 2] = np.minimum(1.2 * hsv[..., 2], 1)
    lighter = on_plane(colours, "value", lambda plane: 1.2 * plane)
    assert np.abs(lighter - 255 * skimage.color.hsv2rgb(hsv)).max() < 0.5


def test_settings_stand_for_the_formulas_of_programs():
    image = picture(2)
    pillow = Image.fromarray(image)
    contrast, saturation, levels = get("contrast"), get("saturation"), get("quantization")
    gain = contrast.Settings(1.25, 0.0, rounding="floor")
    assert np.array_equal(contrast.apply(image, gain), ImageEnhance.Brightness(pillow).enhance(1.25))
    gamma = skimage.exposure.adjust_gamma(image, 0.7)
    assert np.abs(contrast.apply(image, contrast.Settings(0.7, 0.0, "gamma")).astype(int) - gamma).max() <= 1
    grey = saturation.apply(image, saturation.Settings(0.4, "luma", rounding="floor"))
    assert np.abs(grey.astype(int) - np.asarray(ImageEnhance.Color(pillow).enhance(0.4))).max() <= 2
    cut = levels.apply(image, levels.Settings(8.0, "bits", "zero", bits=(3, 3, 3)))
    assert np.array_equal(cut, ImageOps.posterize(pillow, 3))
    few = levels.apply(image, levels.Settings(16.0, "palette"))
    assert np.array_equal(few, pillow.quantize(16).convert("RGB"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("error")
def test_flat_pictures_and_small_masks_give_a_fit_or_none(kind):
    for image in (np.zeros((16, 16, 3), np.uint8), np.full((16, 24, 3), (200, 30, 255), np.uint8)):
        draw = get(kind).draw(image, np.random.default_rng(0))
        copies = (draw.path(0.3 * draw.end), image, 255 - image)
        masks = (np.ones(image.shape[:2], bool), np.arange(image[..., 0].size).reshape(image.shape[:2]) < 9)
        for copy in copies:
            for mask in (*masks, np.zeros(image.shape[:2], bool)):
                fit = get(kind).fit(image, copy, mask)
                assert fit is None or 0 <= explained(fit, image, copy, mask) <= 1
