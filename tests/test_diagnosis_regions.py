"""Regions of the new diagnosis: one energy, never above that of simpler labels, and what comes of it."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from look_standin import SETS, look_of
from training.tuned import DEFAULTS

from llise.diagnosis.energy import DIAGONAL, STRAIGHT, Energy
from llise.diagnosis.regions import KINDS, Likelihood, find_regions, kinds_of, label_of

TUNED = DEFAULTS["regions"]


def energy_of(labels, costs, mask, prices, border):
    """The energy, block by block: an oracle."""
    rows, cols = mask.shape
    total = sum(prices[label] for label in {labels[at] for at in zip(*np.nonzero(mask))})
    for y, x in zip(*np.nonzero(mask)):
        total += costs[labels[y, x], y, x]
        for down, across, length in ((0, 1, STRAIGHT), (1, 0, STRAIGHT), (1, 1, DIAGONAL), (1, -1, DIAGONAL)):
            v, u = y + down, x + across
            if v < rows and 0 <= u < cols and mask[v, u] and labels[v, u] != labels[y, x]:
                total += border * length
    return total


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    count, shape = draw(st.sampled_from([(2, (3, 3)), (3, (2, 3)), (2, (1, 9)), (3, (1, 6))]))
    mask = rng.random(shape) < 0.9
    mask.flat[0] = True
    return rng.exponential(2, (count, *shape)), mask, rng.choice([0, 1.0, 4.0], count), rng.choice([0.0, 0.7, 2.0])


@settings(max_examples=25, deadline=None)
@given(problems())
def test_the_energy_is_never_above_that_of_one_label(problem):
    costs, mask, prices, border = problem
    energy = Energy(costs, mask, prices, border)
    found = energy.minimised()
    reached = energy_of(found, costs, mask, prices, border)
    assert reached == pytest.approx(energy.of(found))
    places = np.flatnonzero(mask.ravel())
    every = []
    for some in itertools.product(range(len(costs)), repeat=len(places)):
        labels = np.zeros(mask.size, int)
        labels[places] = some
        every.append(energy.of(labels.reshape(mask.shape)))
    alone = [energy.of(np.full(mask.shape, label)) for label in range(len(costs))]
    assert min(every) - 1e-9 <= reached <= min(alone) + 1e-9


def test_the_energy_is_the_least_of_all_labels_in_nearly_all_cases():
    exact = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        costs, mask = rng.exponential(2, (2, 2, 4)), np.ones((2, 4), bool)
        energy = Energy(costs, mask, np.array([1.0, 1.0]), 1.5)
        best = min(energy.of(np.array(some).reshape(2, 4)) for some in itertools.product(range(2), repeat=8))
        exact += energy.of(energy.minimised()) < best + 1e-9
    assert exact >= 28  # moves may end in a place that is not the best


def test_the_length_of_a_border_is_about_that_on_paper():
    energy = Energy(np.zeros((2, 40, 40)), np.ones((40, 40), bool), np.zeros(2), 1.0)
    y, x = np.mgrid[:40, :40]
    assert energy.of((x >= 20).astype(int)) == pytest.approx(40, rel=0.09)
    assert energy.of((x + y >= 40).astype(int)) == pytest.approx(40 * 2**0.5, rel=0.09)
    assert energy.of((np.hypot(y - 20, x - 20) < 12).astype(int)) == pytest.approx(24 * np.pi, rel=0.09)


def test_labels_stand_for_sets_of_kinds():
    for kinds in ((), ("jpeg",), ("blur", "jpeg"), ("contrast", "blur", "jpeg"), ("unknown",)):
        assert kinds_of(label_of(kinds)) == kinds


def test_the_likelihood_of_a_set_is_a_mixture_of_both_answers():
    look = look_of(np.zeros((2, 2), int), np.ones((2, 2), bool), noise=2.0)
    odds = look.kinds.astype(float)
    alone = np.log(1 / (1 + np.exp(-odds)))
    without = np.log(1 / (1 + np.exp(odds)))
    chosen = [KINDS.index(kind) for kind in ("blur", "jpeg")]
    others = [number for number in range(len(KINDS)) if number not in chosen]
    product = alone[..., chosen].sum(-1) + without[..., others].sum(-1)
    expected = np.log(0.3 * np.exp(look.sets[..., SETS.index(("blur", "jpeg"))]) + 0.7 * np.exp(product))
    tuned = {**TUNED, "sets_share": 0.3, "floor": -99.0}
    np.testing.assert_allclose(
        Likelihood(look, SETS, tuned).of([label_of(("blur", "jpeg"))])[..., 0], expected, rtol=1e-4
    )
    three = Likelihood(look, SETS, {**tuned, "sets_share": 0.0}).of([label_of(("contrast", "blur", "jpeg"))])[..., 0]
    chosen = [KINDS.index(kind) for kind in ("contrast", "blur", "jpeg")]
    others = [number for number in range(len(KINDS)) if number not in chosen]
    np.testing.assert_allclose(three, alone[..., chosen].sum(-1) + without[..., others].sum(-1), rtol=1e-4)


def test_regions_of_one_two_and_three_kinds_are_found():
    labels = np.zeros((20, 30), int)
    labels[:, :12] = label_of(("blur",))
    labels[:, 12:] = label_of(("jpeg", "contrast"))
    labels[5:12, 16:26] = label_of(("jpeg", "contrast", "blur"))
    changed = np.ones(labels.shape, bool)
    regions = find_regions(look_of(labels, changed, noise=1.5), SETS, TUNED)
    assert {region.kinds for region in regions} == {("blur",), ("contrast", "jpeg"), ("contrast", "blur", "jpeg")}
    for region in regions:
        truth = labels == label_of(region.kinds)
        assert (region.mask & truth).sum() > 0.9 * (region.mask | truth).sum()  # corners are rounded


def test_equal_blocks_and_blocks_called_original_belong_to_no_region():
    labels = np.zeros((12, 12), int)
    labels[:6] = label_of(("blur",))
    changed = np.ones((12, 12), bool)
    changed[:, 6:] = False
    (region,) = find_regions(look_of(labels, changed), SETS, TUNED)
    assert not region.mask[:, 6:].any() and not region.mask[6:].any() and region.mask[:6, :6].all()
    assert find_regions(look_of(labels, np.zeros((12, 12), bool)), SETS, TUNED) == []


def test_a_single_odd_block_does_not_make_a_region():
    labels = np.full((12, 12), label_of(("blur",)))
    labels[5, 5] = label_of(("jpeg",))
    (region,) = find_regions(look_of(labels, np.ones((12, 12), bool)), SETS, TUNED)
    assert region.kinds == ("blur",) and region.mask.all()


def test_areas_apart_have_labels_of_their_own():
    labels = np.full((4, 40), label_of(("blur",)))
    labels[:, 20:] = label_of(("jpeg",))
    changed = np.zeros(labels.shape, bool)
    changed[:, :3] = changed[:, 37:] = True
    regions = find_regions(look_of(labels, changed), SETS, TUNED)
    assert sorted((region.kinds, int(region.mask.sum())) for region in regions) == [(("blur",), 12), (("jpeg",), 12)]
    assert len({region.area for region in regions}) == 2
