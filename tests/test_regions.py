"""Faults in regions: from end to end, and the steps that find areas, divide them and put faults together."""

from functools import cache

import numpy as np
import pytest
from faulty import blocks_of, check_measured, distorted, judge, overlap
from numpy.testing import assert_array_equal

from llise import datasets
from llise.diagnosis import Diagnoser, parts
from llise.diagnosis.faults import assemble, extend
from llise.diagnosis.features import block_sums
from llise.diagnosis.findings import Finding, Part
from llise.diagnosis.gaps import without_gaps
from llise.diagnosis.regions import connected_areas
from llise.diagnosis.sets import SETS
from llise.diagnosis.training import pictures
from llise.labels import KINDS

IMAGE = datasets.reference()[100:292, 100:292]
REFERENCES = {"reference": IMAGE, "cat": pictures.load("chelsea")[40:232, 100:292]}
BOXES = {
    "upper left": (slice(16, 72), slice(16, 88)),
    "middle": (slice(48, 120), slice(64, 144)),
    "lower right": (slice(112, 176), slice(104, 176)),
}
ERRORS = {"jpeg": 60, "impulse_noise": 400}
"""Errors that each kind reaches everywhere, and that leave few blocks without an impulse; 150 for all others."""


@cache
def diagnoser(name: str) -> Diagnoser:
    return Diagnoser(REFERENCES[name])


# From end to end


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_in_a_region_is_named_and_placed(kind):
    """At most one of six regions has a second kind beside the right one; all are placed."""
    right = []
    for name, image in REFERENCES.items():
        for box in BOXES.values():
            copy, truth = distorted(image, kind, ERRORS.get(kind, 150), box, seed=3), blocks_of(image.shape, box)
            (found,) = diagnoser(name).diagnose([copy])
            check_measured(found, image, copy)
            assert kind in found.verdict
            right.append(found.verdict == (kind,))
            assert overlap(np.any([fault.region for fault in found.faults], axis=0), truth) > 0.6
            assert not found.block_labels[~truth].any()
    assert sum(right) >= 5


@pytest.mark.parametrize("kinds", [("blur", "gaussian_noise"), ("jpeg", "luminance"), ("impulse_noise", "contrast")])
def test_two_regions_are_two_faults(kinds):
    boxes = BOXES["upper left"], BOXES["lower right"]
    copy = IMAGE
    for kind, box in zip(kinds, boxes):
        copy = distorted(copy, kind, ERRORS.get(kind, 150), box)
    found = judge(IMAGE, copy)
    assert {fault.kinds for fault in found.faults} == {(kind,) for kind in kinds} and len(found.faults) == 2
    for kind, box in zip(kinds, boxes):
        fault = next(fault for fault in found.faults if fault.kinds == (kind,))
        assert overlap(fault.region, blocks_of(IMAGE.shape, box)) > 0.6


def test_two_regions_of_one_kind_are_one_fault():
    boxes = BOXES["upper left"], BOXES["lower right"]
    copy = distorted(distorted(IMAGE, "luminance", 100, boxes[0]), "luminance", 100, boxes[1])
    (fault,) = judge(IMAGE, copy).faults
    assert fault.kinds == ("luminance",)
    assert overlap(fault.region, blocks_of(IMAGE.shape, *boxes)) > 0.9


def test_a_fault_everywhere_and_another_in_a_region_come_out_as_both():
    """Each kind once below and once above: both named in four of six, told apart and placed in three of six."""
    named, placed = [], []
    for below, above in zip(KINDS, (*KINDS[1:], KINDS[0])):
        whole = distorted(IMAGE, below, 60, seed=1)
        box = BOXES["middle"]
        copy = distorted(whole, above, max(150, ERRORS.get(above, 0)), box, seed=2)
        found = judge(IMAGE, copy)
        check_measured(found, IMAGE, copy)
        regions = {fault.kinds: fault.region for fault in found.faults}
        named.append(set(found.verdict) == {below, above})
        placed.append(
            set(regions) == {(below,), (above,)}
            and regions[below,].mean() > 0.98
            and overlap(regions[above,], blocks_of(IMAGE.shape, box)) > 0.6
        )
    assert sum(named) >= 4 and sum(placed) >= 3


BORDERS = {
    "upper left": (slice(0, 40), slice(0, 48)),
    "lower right": (slice(144, 192), slice(152, 192)),
    "top": (slice(0, 32), slice(60, 140)),
    "right": (slice(30, 101), slice(155, 192)),
}


@pytest.mark.parametrize("where", BORDERS)
@pytest.mark.parametrize("kind", ["gaussian_noise", "blur", "luminance"])
def test_a_region_at_the_border_is_named_and_placed(kind, where):
    copy = distorted(IMAGE, kind, 100, BORDERS[where], seed=1)
    found = judge(IMAGE, copy)
    assert found.verdict == (kind,)
    assert overlap(found.faults[0].region, blocks_of(IMAGE.shape, BORDERS[where])) > 0.6
    check_measured(found, IMAGE, copy)


INNER = [[(50, 60)], [(50, 60), (10, 150), (160, 30)], [(100, 0)]]
CORNERS = [[(0, 0)], [(191, 191), (0, 191)]]


@pytest.mark.parametrize("places", INNER + CORNERS)
def test_hot_pixels_are_a_fault_with_place_and_size(places):
    copy = IMAGE.copy()
    for row, col in places:
        copy[row, col] = 255 if IMAGE[row, col] < 128 else 0
    found = judge(IMAGE, copy)
    check_measured(found, IMAGE, copy)
    assert "impulse_noise" in found.verdict
    region = np.any([fault.region for fault in found.faults], axis=0)
    assert all(region[row // 8, col // 8] for row, col in places)
    assert np.count_nonzero(region) <= 3 * len(places)
    assert np.count_nonzero(found.block_labels) == len(places)
    if places in INNER:  # at a corner two of four neighbours are missing
        assert found.verdict == ("impulse_noise",) and found.confidence > 0.9
        assert 0 < found.faults[0].estimate["impulse_noise"]["share"].value < 0.05


# Areas


def boxes_of(shape, *boxes):
    mask = np.zeros(shape, bool)
    for top, left, bottom, right in boxes:
        mask[top:bottom, left:right] = True
    return mask


def test_two_distant_regions_are_two_areas():
    one, other = boxes_of((30, 40), (2, 3, 9, 12)), boxes_of((30, 40), (18, 25, 28, 39))
    areas = connected_areas(one | other)
    assert len(areas) == 2
    assert_array_equal(areas[0], one)
    assert_array_equal(areas[1], other)


def test_sparse_impulses_are_one_area_without_much_around_it():
    rng = np.random.default_rng(0)
    truth = boxes_of((40, 40), (8, 10, 30, 34))
    changed = truth & (rng.random(truth.shape) < 0.3)
    (area,) = connected_areas(changed)
    assert area[changed].all() and not area[~truth].any() and overlap(area, truth) > 0.7


def test_flat_blocks_inside_a_region_belong_to_it():
    truth = boxes_of((20, 20), (4, 4, 16, 16))
    changed = truth & ~boxes_of((20, 20), (8, 8, 10, 10))
    (area,) = connected_areas(changed)
    assert_array_equal(area, truth)


@pytest.mark.parametrize("patch", [(slice(0, 0), slice(0, 0)), (slice(40, 120), slice(64, 152))])
def test_overlapping_tiles_are_judged_only_where_those_side_by_side_are_not_sure(monkeypatch, patch):
    """A judge that reads the share of the stronger error divides the area as if it had seen all tiles."""
    image = np.clip(datasets.reference()[100:292, 100:292], 0, 200)
    copy = image + np.uint8(4)
    copy[patch] += 26
    error = block_sums.names().index("error 0")
    judged = []

    def judge(sums, context):
        judged.append(len(sums))
        stronger = (sums[:, error] / sums[:, 0] - 4) / 26
        return np.pad(np.stack([1 - stronger, stronger], axis=1), [(0, 0), (0, len(SETS) - 2)])

    everywhere = np.ones((24, 24), bool)
    found = parts.split(image, copy, everywhere, judge)
    n_judged = sum(judged)
    judged.clear()
    monkeypatch.setattr(parts, "SURE_TILE", 1.1)
    expected = parts.split(image, copy, everywhere, judge)
    assert len(found) == len(expected) == (2 if copy[patch].size else 1)
    for (mask, _), (other, _) in zip(found, expected):
        assert_array_equal(mask, other)
    assert n_judged < sum(judged)


def test_every_changed_block_lies_in_one_area():
    rng = np.random.default_rng(1)
    for share in (0.002, 0.02, 0.2, 0.9):
        changed = rng.random((25, 33)) < share
        changed[0, 0] = True
        assert_array_equal(np.sum([area & changed for area in connected_areas(changed)], axis=0), changed)


def test_a_region_in_a_corner_does_not_grow_beyond_itself():
    corner = boxes_of((24, 24), (0, 0, 6, 6))
    assert_array_equal(connected_areas(corner), [corner])


# Faults from parts


def part(area, mask, *kinds, sure=0.9):
    probabilities = np.full(len(SETS), (1 - sure) / (len(SETS) - 1))
    probabilities[SETS.index(kinds)] = sure
    return Part(area, mask, probabilities)


LEFT, RIGHT = boxes_of((10, 20), (0, 0, 10, 10)), boxes_of((10, 20), (0, 10, 10, 20))
EVEN = np.full((10, 20), 100.0)


def regions(findings):
    return {finding.kinds: finding.mask for finding in findings}


def test_a_pair_beside_one_of_its_kinds_is_two_faults():
    found = regions(assemble([part(0, LEFT, "jpeg"), part(0, RIGHT, "blur", "jpeg")], EVEN))
    assert set(found) == {("jpeg",), ("blur",)}
    assert found["jpeg",].all()
    assert_array_equal(found["blur",], RIGHT)


def test_a_pair_in_an_area_of_its_own_stays_a_pair():
    found = regions(assemble([part(0, LEFT, "jpeg"), part(1, RIGHT, "blur", "jpeg")], EVEN))
    assert set(found) == {("jpeg",), ("blur", "jpeg")}


def test_parts_of_one_kind_are_one_fault_where_their_errors_are_alike():
    parts = [part(0, LEFT, "blur", sure=0.9), part(1, RIGHT, "blur", sure=0.7)]
    (fault,) = assemble(parts, EVEN)
    assert fault.mask.all() and fault.confidence == pytest.approx(0.8)
    assert len(assemble(parts, np.where(LEFT, 100.0, 4.0))) == 2


def test_a_stray_block_takes_the_kinds_of_the_large_part():
    stray = boxes_of((10, 20), (0, 19, 1, 20))
    (fault,) = assemble([part(0, LEFT, "jpeg"), part(1, stray, "blur", sure=0.4)], EVEN)
    assert fault.kinds == ("jpeg",)
    assert_array_equal(fault.mask, LEFT | stray)


def test_a_stray_block_that_is_surely_something_else_stays():
    stray = boxes_of((10, 20), (0, 19, 1, 20))
    found = regions(assemble([part(0, LEFT, "jpeg"), part(1, stray, "impulse_noise", sure=0.99)], EVEN))
    assert set(found) == {("jpeg",), ("impulse_noise",)}


def test_impulses_in_a_flat_spot_of_a_blurred_picture_with_impulses_are_no_fault_of_their_own():
    everywhere, spot = np.ones((40, 40), bool), np.zeros((40, 40), bool)
    spot[4:6, 4:8] = True
    both, impulses = (np.eye(len(SETS))[SETS.index(kinds)] for kinds in (("blur", "impulse_noise"), ("impulse_noise",)))
    findings = assemble([Part(0, everywhere & ~spot, both), Part(1, spot, impulses)], np.ones((40, 40)))
    assert [(finding.kinds, bool(finding.mask.all())) for finding in findings] == [(("blur", "impulse_noise"), True)]


def test_a_small_place_with_content_stays_though_its_kinds_are_doubtful():
    everywhere, place = np.ones((40, 40), bool), np.zeros((40, 40), bool)
    place[4:7, 4:7] = True
    probabilities = np.zeros(len(SETS))
    probabilities[[SETS.index(("content",)), SETS.index(("blur", "content")), SETS.index(("blur",))]] = 0.4, 0.3, 0.3
    blur = np.eye(len(SETS))[SETS.index(("blur",))]
    findings = assemble([Part(0, everywhere & ~place, blur), Part(0, place, probabilities)], np.ones((40, 40)))
    assert {finding.kinds for finding in findings} == {("blur",), ("content",)}


def test_noise_in_a_region_is_told_apart_though_its_sort_is_doubtful():
    """Half Gaussian, half speckle noise is surely noise, which the rest of the area does not have."""
    copy = IMAGE.copy()
    copy[:, 96:] = distorted(IMAGE, "gaussian_noise", 150)[:, 96:]
    copy = np.clip(copy.astype(int) + 12, 0, 255).astype(np.uint8)
    error = block_sums.names().index("steps error 1")

    def answer(sums, context):
        noisy = sums[:, error] / sums[:, 0] > 20
        table = np.zeros((len(sums), len(SETS)))
        table[~noisy, SETS.index(("luminance",))] = 1
        for kind in ("gaussian_noise", "speckle_noise"):
            both = next(i for i, kinds in enumerate(SETS) if set(kinds) == {"luminance", kind})
            table[noisy, both] = 0.5
        return table

    found = parts.split(IMAGE, copy, np.ones((24, 24), bool), answer)
    assert len(found) == 2
    noise = min((mask for mask, _ in found), key=lambda mask: mask[:, 0].sum())
    assert noise[:, 13:].mean() > 0.9 > 0.1 > noise[:, :11].mean()


def test_a_fault_of_all_textured_blocks_extends_over_the_flat_ones():
    texture = np.where(LEFT | (RIGHT & (np.arange(20) < 14)), 9.0, 0.0)
    fault = Finding(("blur",), texture > 0, 0.9)
    extend(fault, texture, [fault])
    assert fault.mask.all()


def test_a_fault_does_not_extend_over_other_faults_or_from_a_smaller_part():
    texture = np.where(np.arange(20) < 14, 9.0, 0.0) * np.ones((10, 1))
    fault, other = Finding(("blur",), texture > 0, 0.9), Finding(("luminance",), texture == 0, 0.9)
    extend(fault, texture, [fault, other])
    assert_array_equal(fault.mask, texture > 0)
    small = Finding(("blur",), LEFT.copy(), 0.9)
    extend(small, np.full((10, 20), 9.0), [small])
    assert_array_equal(small.mask, LEFT)


def test_two_parts_of_an_area_with_the_same_kind_are_one_fault():
    left, right = np.zeros((2, 4, 12), bool)
    left[:, :5], right[:, 7:] = True, True
    below = ~(left | right)
    noise, jpeg = (np.eye(len(SETS))[SETS.index((kind,))] for kind in ("gaussian_noise", "jpeg"))
    findings = assemble([Part(0, left, noise), Part(0, below, jpeg), Part(0, right, noise)], np.ones((4, 12)))
    masks = {finding.kinds: finding.mask for finding in findings}
    assert_array_equal(masks["gaussian_noise",], left | right)
    assert_array_equal(masks["jpeg",], below)


def test_the_gap_between_two_faults_is_no_fault():
    columns = np.digitize(np.arange(30), [13, 17]) * np.ones((10, 1), int)
    noise, contrast, impulses = (
        np.eye(len(SETS))[SETS.index((kind,))] for kind in ("gaussian_noise", "contrast", "impulse_noise")
    )
    gap = [Part(0, columns == 0, noise), Part(0, columns == 1, impulses), Part(0, columns == 2, contrast)]
    changed = columns != 1
    changed[:5, 16] = True  # the rim of the fault at the right
    left, middle, right = without_gaps(gap, changed)
    assert left.kinds == ("gaussian_noise",) and right.kinds == ("contrast",)
    assert middle.kinds == ("contrast",) and middle.mask.sum() == 5
    sparse = np.random.default_rng(0).random(changed.shape) < 0.2
    beside_one = [Part(0, columns == 1, impulses), Part(0, columns == 2, contrast)]
    assert without_gaps(beside_one, columns == 2) == beside_one  # impulses beside one other fault are no gap
    alone = [Part(0, columns < 3, impulses)]
    assert without_gaps(alone, sparse) == alone  # impulses leave most blocks as they were
