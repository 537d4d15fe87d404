"""The second look at doubtful parts: what it measures, how it weighs, and that its weights are the best ones."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage
from scipy.optimize import approx_fprime

from llise import datasets, distortions
from llise.diagnosis.diagnoser import Diagnoser, diagnose
from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.judging.judge import greys, shipped_judge
from llise.diagnosis.naming.simpler_kinds import explains_as_well
from llise.diagnosis.second_look.novelty import CLUES
from llise.diagnosis.second_look.verification import EVIDENCE, MOST_SETS, NO_EVIDENCE, evidence, likely_sets
from llise.diagnosis.second_look.weighing import EvidenceWeights, _Likelihood, fit_weights, weighed
from llise.diagnosis.sets import SETS
from llise.diagnosis.training import pictures
from llise.diagnosis.training.copies import draw_pair, is_contrast_about_another_pivot
from llise.diagnosis.training.part_evidence import draw_evidence
from llise.kinds.jpeg import code_jpeg
from llise.kinds.jpeg_quality import CoefficientPairs
from llise.kinds.jpeg_tables import STANDARD_TABLE

IMAGE = datasets.reference()[100:292, 100:292]
WHOLE = np.ones((24, 24), bool)
EVEN = np.full(len(SETS), 1 / len(SETS))


def code(*kinds: str) -> int:
    return SETS.index(kinds)


def unexplained(copy: np.ndarray, *sets: tuple[str, ...]) -> list[float]:
    """Share of the error that each set leaves unexplained."""
    codes = [code(*kinds) for kinds in sets]
    table = evidence(CopyEstimates(IMAGE, copy), WHOLE, EVEN, codes, greys(IMAGE))
    columns = [i for i, name in enumerate(EVIDENCE) if name.startswith("unexplained")]
    return np.exp(table[:, columns].sum(axis=1)).tolist()


@pytest.mark.parametrize("true, wrong", [
    (("blur",), ("jpeg",)), (("jpeg",), ("blur",)), (("luminance",), ("blur",)), (("contrast",), ("luminance",)),
])  # fmt: skip
def test_the_true_kind_leaves_least_unexplained(true, wrong):
    copy = distortions.apply(IMAGE, true[0], 100, random_state=0)
    right, other = unexplained(copy, true, wrong)
    assert right < 0.1 < other


def test_a_pair_leaves_less_unexplained_than_one_of_its_kinds():
    noisy = distortions.apply(IMAGE, "gaussian_noise", 150, random_state=0)
    both, one = unexplained(distortions.apply(noisy, "jpeg", 60), ("gaussian_noise", "jpeg"), ("jpeg",))
    assert both < 0.5 * one


def test_evidence_turns_a_doubtful_answer():
    probabilities = np.zeros(len(SETS))
    probabilities[[code("blur"), code("contrast", "blur")]] = 0.4, 0.6
    copy = distortions.apply(IMAGE, "blur", 100)
    estimates = CopyEstimates(IMAGE, copy)
    codes = likely_sets(probabilities, WHOLE, estimates)
    table = evidence(estimates, WHOLE, probabilities, codes, greys(IMAGE))
    after = weighed(probabilities, codes, table, shipped_judge().verification)
    assert SETS[int(after.argmax())] == ("blur",) and after.sum() == pytest.approx(1)


def test_sure_answers_and_tiny_parts_are_left_alone():
    sure, estimates = np.eye(len(SETS))[3], CopyEstimates(IMAGE, IMAGE)
    few = np.zeros_like(WHOLE)
    few[0, :2] = True
    assert likely_sets(sure, WHOLE, estimates) == [] and likely_sets(EVEN, few, estimates) == []
    assert len(likely_sets(EVEN, WHOLE, estimates)) == MOST_SETS


def test_noise_that_a_coder_hides_is_tried_where_the_coder_alone_leaves_much():
    surely_jpeg = np.eye(len(SETS))[code("jpeg")]
    noisy = distortions.apply(IMAGE, "impulse_noise", 150, random_state=0)
    hidden, plain = (CopyEstimates(IMAGE, distortions.apply(image, "jpeg", 60)) for image in (noisy, IMAGE))
    assert likely_sets(surely_jpeg, WHOLE, plain) == []
    assert code("impulse_noise", "jpeg") in likely_sets(surely_jpeg, WHOLE, hidden)


def test_hidden_impulses_are_spread_over_blocks_as_impulses_are():
    noisy = distortions.apply(IMAGE, "impulse_noise", 150, random_state=0)
    estimates = CopyEstimates(IMAGE, distortions.apply(noisy, "jpeg", 60))
    impulses, noise = (estimates.of(WHOLE, (kind, "jpeg")).unlike for kind in ("impulse_noise", "gaussian_noise"))
    assert impulses < 0.7 * noise


def test_a_table_of_greys_explains_contrast_but_not_a_local_change():
    local = np.clip(IMAGE.astype(int) + np.linspace(-30, 30, IMAGE.shape[1]).astype(int), 0, 255).astype(np.uint8)
    copies = distortions.apply(IMAGE, "contrast", 100), local
    contrast, other = (CopyEstimates(IMAGE, copy).of(WHOLE, ("contrast",)).unlike for copy in copies)
    assert contrast < 1 < other


def drawn_choices(score, n: int, columns: int = 4) -> list[tuple[np.ndarray, int]]:
    """Random evidence for two to four sets, and which of them is true by chances that a score gives."""
    rng, samples = np.random.default_rng(0), []
    for _ in range(n):
        table = rng.normal(size=(rng.integers(2, MOST_SETS + 1), columns))
        chances = np.exp(score(table))
        samples.append((table, int(rng.choice(len(table), p=chances / chances.sum()))))
    return samples


def mean_loss(weights: EvidenceWeights, samples: list[tuple[np.ndarray, int]]) -> float:
    scores = [(weights.scores(table), true) for table, true in samples]
    return float(np.mean([np.logaddexp.reduce(score) - score[true] for score, true in scores]))


def test_linear_weights_are_those_of_greatest_likelihood():
    true_weights = np.array([1.0, -0.8, 0.0, 0.4])
    samples = drawn_choices(lambda table: table @ true_weights, 4000)
    weights = fit_weights(samples, np.zeros(4), hidden=0)
    np.testing.assert_allclose(weights.linear / weights.scale, true_weights, atol=0.12)

    def loss(linear: np.ndarray) -> float:
        return mean_loss(replace(weights, linear=linear), samples)

    np.testing.assert_allclose(approx_fprime(weights.linear.astype(float), loss, 1e-6), 0, atol=2e-4)


def test_the_network_learns_what_no_linear_weights_can():
    def score(table: np.ndarray) -> np.ndarray:
        return 2 * table[:, 0] * np.sign(table[:, 1])  # what the first column means depends on the second one

    samples, others = drawn_choices(score, 3000), drawn_choices(score, 4000)[3000:]
    linear, network = (fit_weights(samples, np.zeros(4), hidden=hidden) for hidden in (0, 8))
    assert mean_loss(network, others) < 0.75 * mean_loss(linear, others)


def test_the_gradient_of_the_likelihood_is_that_of_finite_differences():
    samples = drawn_choices(lambda table: table[:, 0], 30)
    problem = _Likelihood(samples, hidden=3, penalty=1e-2)
    at = np.random.default_rng(1).normal(size=4 + 4 * 3 + 3 + 3)
    numerical = approx_fprime(at, lambda values: problem.loss(values)[0], 1e-6)
    np.testing.assert_allclose(problem.loss(at)[1], numerical, atol=1e-5)


def test_without_samples_the_probabilities_stay_as_they_are():
    weights = fit_weights([], NO_EVIDENCE)
    table = np.random.default_rng(0).normal(size=(3, len(EVIDENCE)))
    np.testing.assert_array_equal(weights.scores(table), table[:, 0])


def test_evidence_is_drawn_with_the_true_set_among_those_tried():
    parts = list(draw_evidence(("camera", "text"), shipped_judge(), [(7, seed) for seed in range(12)]))
    doubtful = [part for part in parts if part.table is not None]
    assert doubtful and all(part.table.shape[1] == len(EVIDENCE) for part in doubtful)
    assert all(0 <= part.true < len(part.table) for part in doubtful)
    assert all(part.clues.shape == (len(CLUES),) and part.blocks > 0 for part in parts)


def test_pairs_of_contrast_and_luminance_are_no_contrast_about_a_usual_pivot():
    rng = np.random.default_rng(0)
    drawn = [draw_pair(pictures.draw_crop(("camera", "coffee"), rng), ("contrast", "luminance"), 200, rng)
             for _ in range(12)]  # fmt: skip
    drawn = [pair for pair in drawn if pair is not None]
    assert len(drawn) >= 4
    mean = float(IMAGE.mean())
    about_mean = np.clip(np.rint(mean + 1.3 * (IMAGE - mean)), 0, 255).astype(np.uint8)
    about_grey = np.clip(np.rint(128 + 0.7 * (IMAGE - 128.0)), 0, 255).astype(np.uint8)
    shifted = np.clip(np.rint(mean + 0.8 * (IMAGE - mean) + 25), 0, 255).astype(np.uint8)
    kinds = ("contrast", "luminance")
    assert [is_contrast_about_another_pivot(kinds, IMAGE, copy) for copy in (about_mean, about_grey, shifted)] == [
        True, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize("rounding", [0.33, 0.375, 0.46])
def test_the_rounding_of_a_coder_is_found(rounding):
    image, table = pictures.load("camera")[:256, :256], np.rint(3 * STANDARD_TABLE**0.9)
    copy = code_jpeg(image, table, rounding)
    everywhere = np.ones(image.shape, bool)
    _, found, by = CoefficientPairs(image.astype(np.float32), copy.astype(np.float32), everywhere).nearest_table()
    error = np.mean((copy.astype(float) - image) ** 2)
    assert abs(by - rounding) < 0.05
    assert np.mean((copy - code_jpeg(image, found, by).astype(float)) ** 2) < 0.15 * error


def test_code_jpeg_by_hand_is_the_coder_of_pillow():
    image = pictures.load("camera")[:100, :90]
    by_hand, by_pillow = code_jpeg(image, 2 * STANDARD_TABLE, 0.4999999), code_jpeg(image, 2 * STANDARD_TABLE)
    assert np.mean((by_hand.astype(float) - by_pillow) ** 2) < 0.5


@pytest.mark.parametrize("below", ["blur", "jpeg", "gaussian_noise"])
def test_a_shift_of_luminance_over_another_kind_is_found(below):
    reference = pictures.load("coffee")[:256, :256]
    copy = distortions.apply(reference, below, 120, random_state=0).copy()
    copy[64:144, 80:176] = np.clip(copy[64:144, 80:176].astype(int) + 12, 0, 255)
    (found,) = diagnose(reference, [copy])
    assert set(found.verdict) == {below, "luminance"}
    place = np.zeros((32, 32), bool)
    place[8:18, 10:22] = True
    shift = next(fault for fault in found.faults if fault.kinds == ("luminance",))
    assert (shift.region & place).sum() / (shift.region | place).sum() > 0.7


def test_nothing_is_shifted_in_a_copy_with_one_kind_everywhere():
    reference = pictures.load("coffee")[:256, :256]
    diagnoser = Diagnoser(reference)
    for kind in ("blur", "jpeg", "gaussian_noise", "impulse_noise"):
        (found,) = diagnoser.diagnose([distortions.apply(reference, kind, 200, random_state=1)])
        assert found.verdict == (kind,)


def test_a_part_that_blur_explains_as_well_is_not_told_apart():
    blurred = CopyEstimates(IMAGE, distortions.apply(IMAGE, "blur", 100))
    part = WHOLE.copy()
    part[:, 12:] = False
    assert explains_as_well(("blur",), ("contrast", "blur"), part, blurred)
    assert not explains_as_well(("jpeg",), ("blur",), part, blurred)
    lighter = CopyEstimates(IMAGE, np.clip(IMAGE.astype(int) + 9, 0, 255).astype(np.uint8))
    assert not explains_as_well(("contrast",), ("luminance",), part, lighter)  # contrast with other settings would


def test_a_copy_blurred_beyond_recognition_is_still_a_copy():
    scene = pictures.load("moon")[:256, :256]
    copy = distortions.apply(scene, "blur", 0.8 * float(scene.var()))
    (found,) = diagnose(scene, [copy])
    assert found.is_copy


@pytest.mark.parametrize("angle", [0, 90, 200])
def test_a_trail_to_one_side_is_explained_as_blur(angle):
    reference = pictures.load("coffee")[:256, :256]
    way = np.array([-np.sin(np.radians(angle)), np.cos(np.radians(angle))])
    steps = [ndimage.shift(reference.astype(float), t * way, order=1, mode="nearest") for t in range(9)]
    copy = np.rint(np.mean(steps, axis=0)).astype(np.uint8)
    found = CopyEstimates(reference, copy).of(np.ones((32, 32), bool), ("blur",))
    assert found.explained > 0.95
    assert found.parameters["blur"]["length"].value == pytest.approx(9, abs=1.5)
