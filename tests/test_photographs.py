"""The photographs half of the benchmark as files: the truth says what the pictures are."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

import photographs
from faults import cases, colour_cases, open_cases
from faults.cases import Case, Damage, Recipe
from llise import datasets


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A few cases of one small photograph."""
    root = tmp_path_factory.mktemp("photographs")
    (root / "pictures").mkdir()
    grey = datasets.reference()[100:228, 100:228]
    split = None
    while split != "look":  # the last pixel decides in which half the picture is
        grey[-1, -1] += 1
        Image.fromarray(np.stack([grey, grey // 2 + 20, 255 - grey], -1)).save(root / "pictures" / "one.png")
        split = photographs.split_of(root / "pictures" / "one.png")
    photographs.write_cases(root / "cases", root / "pictures", "look", 0.04, 7, 1)
    return root / "cases", [json.loads(line) for line in (root / "cases" / "truth.jsonl").read_text().splitlines()]


def pixels(path):
    return np.asarray(Image.open(path))


def test_copies_differ_from_their_references_inside_of_the_masks_only(made):
    folder, rows = made
    assert len(rows) > 10 and {row["own"] for row in rows} == {True, False}
    assert {row["picture"] for row in rows} == {"one"} and {row["split"] for row in rows} == {"look"}
    assert {row["reference"] for row in rows} == {"references/one.png", "references/one-colour.png"}
    for row in rows:
        reference, copy = (pixels(folder / row[key]) for key in ("reference", "copy"))
        differs = (reference != copy).reshape(*reference.shape[:2], -1).any(axis=-1)
        allowed = np.zeros(differs.shape, bool)
        for fault in row["faults"]:
            mask = pixels(folder / fault["mask"]) if fault["mask"] else np.ones(differs.shape, bool)
            left, top, width, height = fault["box"]
            box = np.zeros(differs.shape, bool)
            box[top : top + height, left : left + width] = True
            assert mask.any() and not (mask & ~box).any()
            allowed |= mask
        assert not (differs & ~allowed).any() or row["group"] == cases.OTHER_SCENE


def test_what_is_expected_are_the_kinds_that_were_applied(made):
    for row in made[1]:
        kinds = {kind for fault in row["faults"] for kind in fault["kinds"]}
        if row["group"] != colour_cases.NONE and kinds:
            assert [sorted(labels) for labels in row["expected"]] == [sorted(kinds)]
        near = [said.get("near") for fault in row["faults"] for said in fault["settings"].values()]
        assert near == [row["group"] in (open_cases.NEAR, open_cases.NEAR_REGION)] or set(near) <= {None}
        assert (row["group"] in open_cases.UNKNOWN_GROUPS) == bool(set(near) & {True, False})


def test_kinds_in_one_place_are_one_fault_and_forms_belong_to_their_regions(tmp_path):
    (tmp_path / "masks").mkdir()
    one, two = np.zeros((16, 16), bool), np.zeros((16, 16), bool)
    one[:8, :4], two[10:, 10:] = True, True
    pair = Case(one, [Damage("blur", "a", one, {"sigma": 2.0}, 5.0), Damage("jpeg", "b", one, {}, 6.0)], "ellipse")
    (fault,) = photographs._faults(pair, tmp_path, "x")
    assert fault["kinds"] == ["blur", "jpeg"] and fault["box"] == [0, 0, 4, 8] and fault["form"] == "ellipse"
    assert fault["settings"] == {"blur": {"sigma": 2.0}, "jpeg": {}}
    apart = Case(one, [Damage("blur", "a", one, {}, 5.0), Damage("jpeg", "b", two, {}, 6.0)], "ellipse+blob")
    assert [fault["form"] for fault in photographs._faults(apart, tmp_path, "y")] == ["ellipse", "blob"]


def test_content_covers_a_share_of_the_blocks_that_it_touches():
    mask = np.zeros((32, 32), bool)
    mask[4:12, 8:16] = True  # half of two blocks
    assert photographs._settings(Damage("content", "a", mask, {"coverage": 0.06}, 9.0)) == {"coverage": 0.5}


def test_another_scene_is_unknown_and_a_pristine_copy_original():
    for group, labels in ((cases.OTHER_SCENE, ["unknown"]), (cases.PRISTINE, ["original"])):
        assert photographs.expected(Recipe(group, (), 0, 0), Case(np.zeros((8, 8)), [])) == [labels]
