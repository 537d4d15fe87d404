"""The learned score: its gradient, its calibration, its thresholds and p-values."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from training import score_fit
from training.score_fit import Labelled, calibration, fit, fit_weights
from training.tuned import DEFAULTS

from llise.diagnosis.scoring import COLUMNS, calibrated, p_value, probabilities, strangeness

N = len(COLUMNS)
TRUTH = np.linspace(-1.5, 1.5, N)


def drawn_regions(count, seed=0, scale=1.0):
    """Regions whose truth is drawn from a conditional logit with known weights."""
    rng = np.random.default_rng(seed)
    regions = []
    for number in range(count):
        table = rng.normal(0, 1, (int(rng.integers(2, 6)), N))
        shares = probabilities(table, scale * TRUTH)[1]
        right = np.arange(len(table)) == rng.choice(len(table), p=shares)
        kinds = (*((f"kind {n}",) for n in range(len(table) - 1)), ("unknown",))
        truth = kinds[int(right.argmax())]
        regions.append(Labelled(kinds, table, right, int(rng.integers(1, 400)), number, np.zeros(3, np.float32), truth))
    return regions


def test_the_conditional_logit_finds_the_weights_it_was_drawn_from():
    found = fit_weights(drawn_regions(3000), ridge=0.0)
    np.testing.assert_allclose(found, TRUTH, atol=0.2)


def test_two_candidates_are_a_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(1)
    tables = rng.normal(0, 1, (400, 2, N))
    difference = tables[:, 0] - tables[:, 1]
    first = rng.random(400) < 1 / (1 + np.exp(-difference @ TRUTH))
    regions = [
        Labelled((("a",), ("unknown",)), table, np.array([one, not one]), 9, n, np.zeros(1, np.float32), ("a",))
        for n, (table, one) in enumerate(zip(tables, first))
    ]
    expected = LogisticRegression(C=np.inf, fit_intercept=False, max_iter=2000).fit(difference, first).coef_[0]
    np.testing.assert_allclose(fit_weights(regions, ridge=0.0), expected, rtol=2e-2, atol=2e-2)


def test_the_gradient_is_that_of_finite_differences(monkeypatch):
    caught = {}

    def caught_minimize(loss, start, **options):
        caught["loss"] = loss
        return type("Result", (), {"x": start})

    monkeypatch.setattr(score_fit, "minimize", caught_minimize)
    fit_weights(drawn_regions(20), ridge=0.01)
    loss, at = caught["loss"], np.random.default_rng(0).normal(0, 1, N)
    assert check_grad(lambda w: loss(w)[0], lambda w: loss(w)[1], at) < 1e-5


def test_a_ridge_shrinks_the_weights():
    regions = drawn_regions(100)
    free, held = (np.abs(fit_weights(regions, ridge=ridge)).sum() for ridge in (0.0, 1.0))
    assert held < 0.5 * free


def test_probabilities_sum_to_one_and_do_not_depend_on_the_order():
    table, weights = np.random.default_rng(0).normal(0, 30, (6, N)), TRUTH * 50
    scores, shares = probabilities(table, weights)
    assert shares.sum() == pytest.approx(1) and np.isfinite(scores).all()
    np.testing.assert_allclose(probabilities(table[::-1], weights)[1], shares[::-1])


@pytest.mark.parametrize("seed", range(4))
def test_the_calibration_never_falls_and_says_confidence_only_where_it_is_tested(seed):
    rng = np.random.default_rng(seed)
    probability = rng.random(3000) ** 0.3
    right = rng.random(3000) < probability
    curve = np.array(calibration(probability, right))
    assert (np.diff(curve[:, 0]) >= 0).all() and (np.diff(curve[:, 1]) >= 0).all()
    assert (curve >= 0).all() and (curve <= 1).all()
    said = np.interp(probability, curve[:, 0], curve[:, 1]) >= 0.7
    if said.any():
        assert (~right[said]).mean() <= 0.05
    assert not said[probability < 0.7].any()


def test_thresholds_hold_what_they_are_tested_for():
    """With a risk of one in ten, more than the allowed share is wrong above the threshold."""
    broken = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        certainty = rng.random(2000)
        right = rng.random(2000) < 0.9 + 0.1 * certainty
        threshold = score_fit.tested_threshold(certainty, right, 0.05)
        broken += threshold is not None and 0.1 * (1 - (threshold + 1) / 2) > 0.05
    assert broken <= 6
    assert score_fit.tested_threshold(np.ones(100), np.zeros(100, bool), 0.01) is None


def test_calibrated_probabilities_come_from_the_curve_of_the_size():
    tuned = {"sizes": [6, 30], "calibration": [[[0, 0], [1, 0.5]], [[0, 0], [1, 0.8]], [[0, 0.1], [1, 1]]]}
    assert [calibrated(1.0, blocks, tuned) for blocks in (3, 6, 7, 30, 31)] == [0.5, 0.5, 0.8, 0.8, 1.0]
    assert calibrated(0.5, 1000, tuned) == pytest.approx(0.55)


def test_p_values_are_shares_of_known_regions():
    known = np.sort(np.random.default_rng(0).normal(size=999))
    new = np.random.default_rng(1).normal(size=4000)
    shares = np.array([p_value(value, known) for value in new])
    assert shares.min() > 0 and shares.max() <= 1
    assert np.abs(np.quantile(shares, [0.1, 0.5, 0.9]) - [0.1, 0.5, 0.9]).max() < 0.05
    assert p_value(99.0, known) == pytest.approx(1 / 1000) and p_value(-99.0, known) == 1


def test_the_whole_fit_gives_numbers_that_the_diagnosis_takes():
    tuned = fit(drawn_regions(400, scale=2.0), DEFAULTS)
    score = tuned["score"]
    assert len(score["weights"]) == N and len(score["calibration"]) == len(score["sizes"]) + 1
    assert score["known"] == sorted(score["known"]) and len(score["known"]) > 10
    assert set(tuned) == set(DEFAULTS) and set(score["sure"]) == {"gap", "explained", "confidence"}
    import json

    assert json.loads(json.dumps(tuned)) == tuned


def test_strangeness_is_how_much_more_unknown_scores():
    from llise.diagnosis.scoring import Candidate

    candidates = [Candidate(("blur",), 0.0), Candidate(("jpeg",), 0.0), Candidate(("unknown",), 0.0)]
    assert strangeness(candidates, np.array([1.0, 3.0, 2.0])) == -1
    assert strangeness(candidates[2:], np.array([2.0])) == np.inf
