"""What is surely not in the reference: scattered spots, even patches, parts that come from elsewhere."""

import io

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from llise import distortions
from llise.diagnosis.diagnoser import diagnose
from llise.diagnosis.greys.odd_greys import turns_greys_round
from llise.diagnosis.places.content_signs import is_even_patch, is_from_elsewhere, without_clear_ground
from llise.diagnosis.training import pictures

PICTURE = pictures.load("coffee")[:320, :400]
WHOLE = np.ones((40, 50), bool)
PLACE = slice(96, 176), slice(120, 232)
BLOCKS = np.zeros_like(WHOLE)
BLOCKS[12:22, 15:29] = True


def patched(content: np.ndarray | int) -> np.ndarray:
    copy = PICTURE.copy()
    copy[PLACE] = content
    return copy


@pytest.mark.parametrize("grey", [0, 90, 255])
def test_an_even_patch_is_content(grey):
    copy = patched(grey)
    assert is_even_patch(PICTURE, copy, BLOCKS)
    assert diagnose(PICTURE, [copy])[0].verdict == ("content",)


@pytest.mark.parametrize("kind", ["luminance", "contrast", "jpeg", "impulse_noise", "gaussian_noise", "blur"])
def test_no_kind_makes_an_even_patch_or_takes_parts_from_elsewhere(kind):
    copy = patched(distortions.apply(PICTURE, kind, 300, random_state=0)[PLACE])
    assert not is_even_patch(PICTURE, copy, BLOCKS)
    assert not is_from_elsewhere(PICTURE, copy, BLOCKS)


@pytest.mark.parametrize("turn", ["not", "left and right", "top and bottom", "both"])
def test_parts_from_elsewhere_are_content(turn):
    part = PICTURE[200:280, 20:132]
    turned = {
        "not": part,
        "left and right": part[:, ::-1],
        "top and bottom": part[::-1],
        "both": part[::-1, ::-1],
    }[turn]
    copy = patched(turned)
    assert is_from_elsewhere(PICTURE, copy, BLOCKS)
    assert diagnose(PICTURE, [copy])[0].verdict == ("content",)


def test_a_small_shift_or_a_filter_is_not_from_elsewhere():
    assert not is_from_elsewhere(PICTURE, patched(np.roll(PICTURE, 3, axis=1)[PLACE]), BLOCKS)
    assert not is_from_elsewhere(PICTURE, patched(ndimage.median_filter(PICTURE, 3)[PLACE]), BLOCKS)


def test_scattered_spots_are_content_in_their_blocks_only():
    rng, copy = np.random.default_rng(0), PICTURE.copy()
    for top, left in zip(rng.integers(0, 300, 12), rng.integers(0, 380, 12)):
        copy[top : top + 11, left : left + 11] = rng.choice([0, 255])
    found = diagnose(PICTURE, [copy])[0]
    assert found.verdict == ("content",)
    region = np.any([fault.region for fault in found.faults], axis=0)
    unchanged = region & (found.block_severity == 0)
    assert unchanged.sum() <= 0.2 * region.sum()


def test_impulses_keep_the_ground_between_them():
    copy = distortions.apply(PICTURE, "impulse_noise", 20, random_state=0)
    assert without_clear_ground(PICTURE, copy, WHOLE) is WHOLE


def test_even_patches_do_not_turn_greys_round():
    copy = PICTURE.copy()
    for top, left in np.ndindex(7, 9):
        place = slice(40 * top + 8, 40 * top + 32), slice(40 * left + 8, 40 * left + 32)
        copy[place] = 0 if PICTURE[place].mean() > 100 else 255
    assert not turns_greys_round(PICTURE, copy, (copy != PICTURE)[::8, ::8])
    assert turns_greys_round(PICTURE, np.where(PICTURE > 100, 200 - PICTURE // 2, PICTURE).astype(np.uint8), WHOLE)


def test_a_strong_coder_in_a_smooth_place_is_no_patch():
    picture = pictures.load("hubble_deep_field")[:320, :400]
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=3)
    copy = picture.copy()
    copy[PLACE] = np.asarray(Image.open(file))[PLACE]
    assert diagnose(picture, [copy])[0].verdict == ("jpeg",)
