"""Kinds that change pixels one by one, on colour pictures and grey ones: draws, settings, fits and their intervals."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
import skimage.data

from llise.colours import stacked
from llise.kinds.registry import get

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
    from llise.kinds.search import Search

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
        plain = {key: value for key, value in json.loads(json.dumps(asdict(settings))).items()}
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
