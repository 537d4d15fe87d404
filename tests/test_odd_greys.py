"""Changes of greys that no named kind makes are called unknown, those that named kinds make are not."""

import numpy as np
import pytest
from scipy import ndimage

from llise import Diagnoser, distortions, kinds
from llise.diagnosis.diagnoser import diagnose
from llise.diagnosis.greys.odd_greys import follows_no_table, turns_greys_round
from llise.diagnosis.training import pictures
from llise.kinds import own

PICTURE = pictures.load("coffee")[:256, :320]
WHOLE = np.ones((32, 40), bool)
PLACE = np.zeros((32, 40), bool)
PLACE[6:22, 8:30] = True
PIXELS = PLACE.repeat(8, 0).repeat(8, 1)


def as_bytes(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def with_bright_edges(picture: np.ndarray) -> np.ndarray:
    """A stronger contrast that is brighter at edges."""
    around = ndimage.gaussian_filter(picture.astype(float), 2.5)
    return as_bytes(1.3 * picture - 30.0 + 0.12 * np.abs(picture - around))


def vignette(picture: np.ndarray) -> np.ndarray:
    y, x = (np.linspace(-1, 1, side) for side in picture.shape)
    return as_bytes(picture * (1 - 0.3 * (y[:, None] ** 2 + x**2)))


def solarised(picture: np.ndarray) -> np.ndarray:
    return np.where(picture > 150, 255 - picture, picture).astype(np.uint8)


@pytest.mark.parametrize("fault", [with_bright_edges, vignette, solarised])
def test_a_change_of_greys_without_a_name_is_unknown(fault):
    whole = fault(PICTURE)
    for copy in (whole, np.where(PIXELS, whole, PICTURE)):
        assert diagnose(PICTURE, [copy])[0].verdict == ("unknown",)


def reversed_lights(image, strength, rng):
    turn = 255 * (1 - 0.7 * strength)
    return np.where(image > turn, 2 * turn - image, image)


def test_a_kind_of_ones_own_may_turn_greys_round():
    kinds.register("reversed_lights", reversed_lights)
    try:
        copy = as_bytes(reversed_lights(PICTURE.astype(float), 0.35, None))
        assert next(Diagnoser(PICTURE).diagnose([copy])).verdict == ("reversed_lights",)
    finally:
        own.unregister("reversed_lights")
    assert diagnose(PICTURE, [copy])[0].verdict == ("unknown",)


def test_local_contrast_is_unknown_and_sharpening_with_contrast_is_known():
    around = ndimage.uniform_filter(ndimage.uniform_filter(PICTURE.astype(float), 21), 21)
    local = PICTURE + 0.6 * (PICTURE - around)
    sharp = PICTURE + 1.2 * (PICTURE - ndimage.gaussian_filter(PICTURE.astype(float), 1.0))
    found = diagnose(PICTURE, [as_bytes(local), as_bytes(0.85 * sharp + 18)])
    assert "unknown" in found[0].verdict
    assert found[1].verdict == ("contrast", "sharpening")


@pytest.mark.parametrize("kind", ["contrast", "luminance"])
@pytest.mark.parametrize("content", [False, True])
def test_named_changes_of_greys_follow_a_table(kind, content):
    copy = distortions.apply(PICTURE, kind, 150, random_state=0).copy()
    if content:
        copy[40:140, 60:160] = np.random.default_rng(0).integers(0, 255, (100, 100))
    assert not follows_no_table(PICTURE, copy, WHOLE) and not turns_greys_round(PICTURE, copy, WHOLE)


def test_few_blocks_tell_nothing():
    few = np.zeros_like(WHOLE)
    few[:3, :4] = True
    assert not follows_no_table(PICTURE, vignette(PICTURE), few)
    assert not turns_greys_round(PICTURE, solarised(PICTURE), few)
    assert not turns_greys_round(PICTURE, PICTURE, WHOLE)


def test_curves_that_keep_the_order_of_greys_are_not_turned_round():
    for table in (255 * (np.arange(256) / 255) ** 2.2, np.arange(256) // 32 * 32, np.maximum(np.arange(256) - 40, 0)):
        assert not turns_greys_round(PICTURE, as_bytes(table)[PICTURE], WHOLE)
