"""The benchmark's cases of the open world: what is made is what is said to be made, and the tables count it right."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from faults import measures, open_cases, open_tables, programs, python_programs
from faults.cases import SINGLE, Case, Damage, Recipe
from faults.places import draw_places
from faults.programs import Copies, Program
from faults.visible import is_pair_visible, is_visible, remaining
from llise import datasets
from llise.labels import FURTHER_KINDS, KINDS

IMAGE = np.ascontiguousarray(datasets.reference()[128:256, 128:288])
BLOCKS = tuple(n // 8 for n in IMAGE.shape)


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
        assert all(damage.error > 0 and damage.region.any() for damage in case.damages)
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


def answer(*faults, is_copy=True):
    """A diagnosis with faults given as (kinds, region, confidence, p-value)."""
    labels = np.zeros(BLOCKS, int)
    made = [
        SimpleNamespace(kinds=kinds, region=region, confidence=c, p_value=p, area=region.mean(), estimate={})
        for kinds, region, c, p in faults
    ]
    verdict = tuple(dict.fromkeys(kind for fault in made for kind in fault.kinds)) or ("original",)
    return SimpleNamespace(faults=made, verdict=verdict, is_copy=is_copy, block_labels=labels)


def record(group, damages, *faults, **options):
    pixels = [(kind, np.kron(region, np.ones((8, 8), bool)), region) for kind, region in damages]
    case = Case(IMAGE, [Damage(kind, "program", mask, region, {}, 9.0, True) for kind, mask, region in pixels])
    measured = measures.measure(case, Recipe(group, (), 0, 0), IMAGE, answer(*faults, **options))
    return {"picture": "camera", "set": "foreign", "seconds": 0.1, **measured}


WHOLE = np.ones(BLOCKS, bool)
PART = np.zeros(BLOCKS, bool)
PART[2:6, 3:9] = True


def test_content_over_another_kind_may_be_said_with_that_kind_or_alone():
    damages = [("jpeg", WHOLE), ("content", PART)]
    outside = (("jpeg",), WHOLE & ~PART, 0.9, 0.5)
    right = {("content",): True, ("jpeg", "content"): True, ("content", "blur"): False, ("jpeg",): False}
    for kinds, expected in right.items():
        faults = record(open_cases.CONTENT_OVER, damages, outside, (kinds, PART, 0.9, 0.5))["faults"]
        assert [fault["right"] for fault in faults] == [True, expected]


def test_the_tables_count_what_is_caught_and_what_is_wrong_with_confidence(capsys):
    near = [record(open_cases.NEAR, [("unknown", WHOLE)], (("unknown",), WHOLE, 0.8, 0.001)) for _ in range(3)]
    near += [record(open_cases.NEAR, [("unknown", WHOLE)], (("blur",), WHOLE, 0.75, 0.4))]
    far = [record(open_cases.FAR, [("unknown", WHOLE)], (("unknown",), WHOLE, 1.0, 1.0), is_copy=False)]
    known = [record(SINGLE, [("blur", WHOLE)], (("blur",), WHOLE, 0.9, p)) for p in (0.2, 0.3, 0.6, 0.9)]
    known += [record(open_cases.FURTHER_REGION, [("sharpening", PART)], (("unknown",), PART, 0.6, 0.005))]
    assert open_tables.auroc(known, near) == pytest.approx(
        (3 * 5 + 2) / 20
    )  # the one with .4 is stranger than two of the known
    open_tables.report([*near, *far, *known])
    text = capsys.readouterr().out
    assert "| known, anything called `unknown` | 0.200 (5) |" in text
    assert "| unknown, near: caught | 0.750 (4) |" in text
    assert "| unknown, far: caught | 1.000 (1) |" in text
    assert "| faults that are wrong with confidence 0.7 or more | 0.100 (10) |" in text
    assert "| blur (0.75) |" in text and "| blur 0.75 (100.0 %) |" in text


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
