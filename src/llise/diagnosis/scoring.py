"""Which set of kinds a region has: the likeliest sets are fitted again, and one learned score chooses among them.

The score is a conditional logit over the candidates, ``unknown`` among them: a weighted sum of :data:`COLUMNS`, whose
exponentials are in proportion to the probabilities. The weights and the calibration come from the training.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from llise.diagnosis.refit import Chain, Piece, Refit, cut_piece
from llise.diagnosis.regions import MOST_KINDS, UNKNOWN_BIT, Likelihood, Region, kinds_of
from llise.differences import by_block
from llise.kinds.fitting import ROUNDING
from llise.labels import UNKNOWN

COLUMNS = (
    "log-probability", "gap to the best", "log unexplained", "the same, capped", "unlike", "texture", "follows detail",
    "follows grey", "further kinds", "unknown", "smaller share",
)  # fmt: skip

CAP = 3.0
"""Of a misfit in nats: an exact model is merciless to another program's rounding (one-look.md, section 5)."""

LEAST_LEFT = 3e-4
"""Share of the error that is not measured any more: rounding of a strong fault."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A set of kinds that was tried in a region: what the network said, what the fit left, and the score."""

    kinds: tuple[str, ...]
    logp: float
    explained: float | None = None
    settings: dict[str, dict[str, float]] = field(default_factory=dict)
    columns: tuple[float, ...] = ()
    score: float = 0.0
    probability: float = 0.0
    chain: Chain | None = None

    def __str__(self) -> str:
        fit = "not fitted" if self.explained is None else f"explains {self.explained:.3f}"
        said = ", ".join(
            f"{kind} " + " ".join(f"{word} {value:.4g}" for word, value in words.items())
            for kind, words in self.settings.items()
        )
        name = " + ".join(self.kinds)
        return (
            f"{name}: {self.probability:.3f} (network {self.logp:.2f}, {fit}, score {self.score:.2f}) {said}".rstrip()
        )


@dataclass(frozen=True, eq=False)
class Scored:
    """A region with its candidates, the most probable first."""

    region: Region
    candidates: tuple[Candidate, ...]
    kinds: tuple[str, ...]
    confidence: float
    p_value: float
    shares: dict[str, float]

    @property
    def chosen(self) -> Candidate:
        """The candidate whose kinds the region has."""
        return next((one for one in self.candidates if one.kinds == self.kinds), self.candidates[0])


def likeliest(likelihood: Likelihood, mask: np.ndarray, most: int) -> list[tuple[tuple[str, ...], float]]:
    """Sets of named kinds by their mean log-probability in a region, and `unknown`, which is always among them."""
    mean = likelihood.odds[mask].mean(axis=0)
    top = [1 << int(kind) for kind in np.argsort(-mean)[: MOST_KINDS + 1] if 1 << int(kind) != UNKNOWN_BIT]
    mixed = {sum(some) for count in range(1, MOST_KINDS + 1) for some in combinations(top, count)}
    labels = sorted({*likelihood.labels(mean[None]), *mixed} - {0, UNKNOWN_BIT})
    *means, unknown = likelihood.of([*labels, UNKNOWN_BIT], mask).mean(axis=0, dtype=np.float64)
    order = np.argsort(-np.array(means), kind="stable")[:most]
    return [*((kinds_of(labels[at]), float(means[at])) for at in order), ((UNKNOWN,), float(unknown))]


def candidates_of(
    said: list[tuple[tuple[str, ...], float]], refit: Refit, sure: dict[str, float] | None = None
) -> list[Candidate]:
    """The sets fitted again, without those that cannot be; only the first where that is `sure` to be enough."""
    found = []
    for number, (kinds, logp) in enumerate(said[:-1]):
        chain = refit.of(kinds)
        if chain is not None:
            words = {kind: fit.settings.words() if fit.settings else fit.parameters for kind, fit in chain.steps}
            found.append(Candidate(kinds, logp, chain.explained, words, chain=chain))
        others = [other for _, other in said[1:]]
        if (
            sure
            and number == 0
            and chain
            and logp - max(others) >= sure["gap"]
            and chain.explained >= sure["explained"]
        ):
            break
    found.append(Candidate(*said[-1]))
    best = max(logp for _, logp in said)
    measured = [replace(one, columns=tuple(columns(one, best, refit.piece))) for one in found]
    return [one for one in measured if np.isfinite(one.columns).all()]  # a fit that overflowed explains nothing


def columns(one: Candidate, best: float, piece: Piece) -> list[float]:
    """What the score of a candidate is made of, in the order of :data:`COLUMNS`."""
    if one.chain is None:
        return [one.logp, one.logp - best, 0, 0, 0, 0, 0, 0, 0, 1, 0]
    chain, mask = one.chain, piece.mask
    left = -np.log(1 - chain.explained + LEAST_LEFT)
    rest, drawn = (_grey(image - chain.images[-1]) for image in (piece.copy, chain.drawn[-1]))
    full = by_block(mask).all(axis=-1)
    left_by, drawn_by = (_powers(by_block(values)[full]) for values in (rest, drawn))
    excess = np.log(left_by / drawn_by)
    detail, grey = (by_block(_grey(image))[full] for image in (piece.reference, chain.images[-1]))
    unlike = _distance(left_by, drawn_by) if chain.is_random and full.any() else 0.0
    texture = abs(neighbours_alike(rest, mask) - neighbours_alike(drawn, mask)) if chain.is_random else 0.0
    follows = [_correlation(excess, values) for values in (np.log(detail.var(axis=-1) + 1), grey.mean(axis=-1))]
    smaller = -np.log(min(chain.shares(mask).values()) + 1e-3) if len(one.kinds) > 1 else 0.0
    further = len(one.kinds) - 1
    return [one.logp, one.logp - best, left, min(left, CAP), unlike, texture, *map(abs, follows), further, 0, smaller]


def probabilities(table: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores and probabilities of candidates from their columns."""
    scores = np.asarray(table, np.float64) @ weights
    return scores, np.exp(scores - np.logaddexp.reduce(scores))


def strangeness(candidates: list[Candidate], scores: np.ndarray) -> float:
    """How much more `unknown` scores than the best named candidate; infinite if there is none."""
    named = [score for one, score in zip(candidates, scores) if one.kinds != (UNKNOWN,)]
    return float(scores[[one.kinds for one in candidates].index((UNKNOWN,))] - max(named, default=-np.inf))


def p_value(strange: float, known: np.ndarray) -> float:
    """Share of regions with named kinds, whose strangeness is sorted, that are at least as strange."""
    if not len(known):
        return float(strange <= 0)
    return float((1 + len(known) - np.searchsorted(known, strange)) / (1 + len(known)))


def calibrated(probability: float, blocks: int, tuned: dict[str, Any]) -> float:
    """Share of answers with this probability, in regions of this size, that are right."""
    curves = tuned["calibration"]
    curve = np.array(curves[min(int(np.searchsorted(tuned["sizes"], blocks)), len(curves) - 1)])
    return float(np.interp(probability, curve[:, 0], curve[:, 1]))


def score_region(
    region: Region,
    likelihood: Likelihood,
    pictures: tuple[np.ndarray, np.ndarray],
    tuned: dict[str, Any],
    false_alarms: float,
) -> Scored:
    """Choose the kinds of a region of reference and copy."""
    numbers = tuned["score"]
    said = likeliest(likelihood, region.mask, tuned["refit"]["candidates"])
    refit = Refit(cut_piece(*pictures, region.mask, tuned["refit"]["pixels"]), tuned["refit"])
    found = candidates_of(said, refit, numbers["sure"])
    was_sure = len(found) == 2 < len(said)
    scores, shares = probabilities(np.array([one.columns for one in found]), np.array(numbers["weights"]))
    strange = p_value(strangeness(found, scores), np.array(numbers["known"]))
    found = [replace(one, score=float(s), probability=float(p)) for one, s, p in zip(found, scores, shares)]
    named = [one for one in found if one.kinds != (UNKNOWN,)]
    best = max(named, key=lambda one: one.score) if named and strange >= false_alarms else found[-1]
    blocks = int(region.mask.sum())
    confidence = calibrated(best.probability, blocks, numbers)
    if was_sure and best is found[0] and best.chain and best.explained >= numbers["sure"]["explained"]:
        confidence = max(confidence, numbers["sure"]["confidence"])
    parts = best.chain.shares(refit.piece.mask) if best.chain else dict.fromkeys(best.kinds, 1.0)
    ordered = sorted(found, key=lambda one: -one.score)
    return Scored(region, tuple(ordered), best.kinds, confidence, strange, parts)


def neighbours_alike(field: np.ndarray, mask: np.ndarray) -> float:
    """Correlation between neighbours of a field about zero, mean of across and down; 0 where it is nought."""
    inside = np.where(mask, field, 0).astype(np.float64)
    power = float((inside**2).sum()) / max(int(mask.sum()), 1)
    if power < 1e-9:
        return 0.0
    across, down = (int(both.sum()) for both in (mask[:, 1:] & mask[:, :-1], mask[1:] & mask[:-1]))
    of_rows = float((inside[:, 1:] * inside[:, :-1]).sum()) / max(across, 1)
    return (of_rows + float((inside[1:] * inside[:-1]).sum()) / max(down, 1)) / (2 * power)


def _powers(blocks: np.ndarray) -> np.ndarray:
    return np.asarray(np.mean(blocks**2, axis=-1, dtype=np.float64) + ROUNDING)


def _grey(image: np.ndarray) -> np.ndarray:
    return image if image.ndim == 2 else image.mean(axis=2)


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    """Mean distance between the logarithms of two sets of powers, each in the order of its size."""
    return float(np.abs(np.log(np.sort(one)) - np.log(np.sort(other))).mean())


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Correlation, 0 for fewer than eight values or where one of them is constant."""
    if len(one) < 8 or one.std() < 1e-9 or other.std() < 1e-9:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
