"""The benchmark's cases of the open world: what is made is what is said to be made."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from faults import open_cases, programs, python_programs
from faults.cases import Recipe
from faults.places import draw_places
from faults.programs import Copies, Program
from faults.visible import is_pair_visible, is_visible, remaining
from llise import datasets
from llise.labels import FURTHER_KINDS, KINDS

IMAGE = np.ascontiguousarray(datasets.reference()[128:256, 128:288])


@pytest.fixture(scope="module")
def own():
    return programs.own()


@pytest.fixture(scope="module")
def foreign():
    return python_programs.programs()


def test_there_are_own_and_foreign_programs_of_each_further_kind_and_recipes_of_each_group(own, foreign):
    assert set(own) == {*KINDS, *FURTHER_KINDS}
    by_kind = {kind: [p for p in foreign if p.kind == kind] for kind in (*KINDS, *FURTHER_KINDS, "unknown")}
    assert all(by_kind[kind] for kind in (*FURTHER_KINDS, "unknown") if kind != "jpeg2000")
    assert {p.nearness for p in by_kind["unknown"]} == {"near", "far"}
    by_kind["jpeg2000"], by_kind["luminance"] = own["jpeg2000"], own["luminance"]
    assert {recipe.group for recipe in open_cases.recipes(by_kind, 0, foreign=True)} == set(open_cases.OPEN_GROUPS)
    assert not {recipe.group for recipe in open_cases.recipes(own, 0, foreign=False)} & set(open_cases.UNKNOWN_GROUPS)


def test_the_same_recipe_gives_the_same_case_with_the_kinds_and_errors_that_it_names(own):
    kinds = set()
    for recipe in open_cases.recipes(own, 3, foreign=False, share=0.15):
        case = open_cases.make(recipe, IMAGE)
        if case is None:
            continue
        assert_array_equal(case.image, open_cases.make(recipe, IMAGE).image)
        assert {d.kind for d in case.damages} == {p.kind for p in recipe.programs}
        assert all(damage.error > 0 and damage.mask.any() for damage in case.damages)
        untouched = ~np.any([damage.mask for damage in case.damages], axis=0)
        assert_array_equal(case.image[untouched], IMAGE[untouched])
        kinds |= {d.kind for d in case.damages}
    assert kinds >= set(FURTHER_KINDS)


def test_content_is_where_the_picture_changed_and_what_cannot_be_seen_is_no_case(foreign):
    patch = next(program for program in foreign if program.name == "NumPy constant patch")
    case = open_cases.make(Recipe(open_cases.CONTENT, (patch,), 0, 5), IMAGE)
    assert_array_equal(case.damages[0].mask, case.image != IMAGE)
    faint = Program("faint", "content", lambda image, seed, direction: Copies(lambda s: image ^ np.uint8(s > 0), 1))
    assert open_cases.make(Recipe(open_cases.CONTENT, (faint,), 0, 5), IMAGE) is None


@pytest.mark.parametrize("seed", range(6))
def test_places_lie_inside_the_picture_and_apart(seed):
    places = draw_places(IMAGE, seed, 1.0)
    assert 1 <= len(places) <= 3
    cover = np.zeros(IMAGE.shape, int)
    for place in places:
        assert 0 <= place.top < place.bottom <= IMAGE.shape[0] and 0 <= place.left < place.right <= IMAGE.shape[1]
        cover[place.top : place.bottom, place.left : place.right] += 1
    assert cover.max() == 1


def test_a_shift_of_all_greys_is_no_trace_of_quantization():
    both, second = np.array([10, 20, 33], np.uint8), np.array([14, 24, 37], np.uint8)
    assert remaining("luminance", both, second) == 16
    assert remaining("quantization", both, second) == 0


def test_what_equals_another_kind_is_no_case():
    everywhere, ramp = np.ones((64, 64), bool), np.linspace(0, 255, 64 * 64).astype(np.uint8).reshape(64, 64)
    flat = (ramp // 16 + 120).astype(np.uint8)
    for kind in ("speckle_noise", "contrast"):
        assert is_visible(kind, ramp, ramp // 2, everywhere, {}) and not is_visible(
            kind, flat, flat - 20, everywhere, {}
        )
    assert is_visible("quantization", ramp, ramp // 64 * 64, everywhere, {})
    assert not is_visible("quantization", flat, flat // 64 * 64, everywhere, {})
    assert is_visible("pixelation", ramp, ramp, everywhere, {"cell": 2.0})
    assert not is_visible("pixelation", ramp, ramp, everywhere, {"cell": 1.1})
    dark = ramp[:, :48] // 32 * 32
    assert not is_pair_visible(("quantization", "luminance"), ramp[:, :48], dark + 10)  # greys of each range's middle
    assert is_pair_visible(("quantization", "luminance"), ramp[:, :48], np.minimum(dark, 191) + 60)
    assert is_pair_visible(("quantization", "contrast"), ramp, ramp // 32 * 12)
