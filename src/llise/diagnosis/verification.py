"""A second look at doubtful parts: the copy is made again with each likely set of kinds, and compared.

The networks of the judge know a fault by its statistics.  Here the settings of each likely set of kinds are estimated,
and it is measured how much of the error they leave unexplained.  A linear function of this evidence and of the
judge's own probability, with weights that the training fits (a conditional logit), gives the probabilities anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from llise.diagnosis.chains import HIDING, RANDOM
from llise.diagnosis.estimates import CopyEstimates, FaultEstimate
from llise.diagnosis.faults import MAY_BE_TAUGHT, Part
from llise.diagnosis.sets import SETS, UNKNOWN, UNKNOWN_CODE

SURE = 0.96
"""Probability from which a part is not looked at again."""

LIKELY = 0.01
"""Probability from which a set of kinds is tried."""

MOST_SETS = 4
LEAST_BLOCKS = 6
"""Most sets that are tried, and fewest blocks of a part on which that is worth it."""

EVIDENCE = (
    "log probability", "unexplained", "unexplained with noise", "unexplained with hidden noise", "two kinds", "noise",
    "hidden noise", "smaller share", "odd pivot",
)  # fmt: skip
"""What is known of each set that is tried; noise is hidden where a blur or a coder may have come after it."""

NEARLY_ALL, AS_MUCH = 0.95, 0.02
"""Share of the error that one kind of a pair must explain, and how much less than both, to be preferred."""

WELL_EXPLAINED, AS_WELL = 0.85, 0.05
"""Share of the error that the kinds of the area must explain, and how much less than the part's own kinds they may."""

LEAST_UNEXPLAINED = 0.004
LEAST_SHARE = 1e-3
FURTHEST_PIVOT = 3.0

NO_EVIDENCE = np.eye(1, len(EVIDENCE), dtype=np.float32)[0]
"""Weights that leave the judge's probabilities as they are."""


def likely_sets(probabilities: np.ndarray, blocks: int) -> list[int]:
    """Return the sets of kinds that are worth trying.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,)
        What the judge says of a part.
    blocks : int
        Size of the part.

    Returns
    -------
    list of int
        Indices into :data:`llise.diagnosis.sets.SETS`, the most probable first; empty where the answer is sure.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.verification import likely_sets
    >>> likely_sets(np.array([0.3, 0.0, 0.7]), 20), likely_sets(np.array([0.0, 0.0, 1.0]), 20)
    ([2, 0], [])
    """
    if blocks < LEAST_BLOCKS or probabilities.max() >= SURE:
        return []
    first = np.argsort(-probabilities[:UNKNOWN_CODE], kind="stable")[:MOST_SETS]
    codes = [int(code) for code in first if probabilities[code] >= LIKELY]
    return codes if len(codes) > 1 else []


def evidence(
    estimates: CopyEstimates,
    region: np.ndarray,
    probabilities: np.ndarray,
    codes: list[int],
    greys: tuple[float, float, float],
) -> np.ndarray:
    """Make a part again with each of several sets of kinds, and measure how well that fits.

    Parameters
    ----------
    estimates : CopyEstimates
        Estimates of the copy's faults.
    region : ndarray of bool, shape (rows, cols)
        Blocks of the part.
    probabilities : ndarray, shape (n_sets,)
        What the judge says of it.
    codes : list of int
        Sets to try.
    greys : tuple of float
        Mean, deviation and median of the reference.

    Returns
    -------
    ndarray, shape (n_codes, n_evidence)
        In the order of :data:`EVIDENCE`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.sets import SETS
    >>> from llise.diagnosis.estimates import CopyEstimates
    >>> from llise.diagnosis.verification import EVIDENCE, evidence
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> estimates, everywhere = CopyEstimates(image, image + 5), np.ones((16, 16), bool)
    >>> codes = [SETS.index(("luminance",)), SETS.index(("blur",))]
    >>> table = evidence(estimates, everywhere, np.full(64, 1 / 64), codes, (123.5, 37.0, 123.5))
    >>> bool(table[0, EVIDENCE.index("unexplained")] < table[1, EVIDENCE.index("unexplained")])
    True
    """
    rows = []
    for code in codes:
        kinds = SETS[code]
        estimate = estimates.of(region, kinds)
        unexplained, noise = unexplained_by_form(kinds, estimate.explained)
        total = sum(estimate.severity.values()) or 1.0
        smaller = np.log(max(min(estimate.severity.values()) / total, LEAST_SHARE)) if len(kinds) > 1 else 0.0
        rows.append(
            [
                np.log(max(float(probabilities[code]), 1e-6)),
                *unexplained,
                float(len(kinds) > 1),
                *noise,
                smaller,
                _odd_pivot(estimate, kinds, greys),
            ]
        )
    return np.array(rows)


def unexplained_by_form(kinds: tuple[str, ...], explained: float) -> tuple[list[float], list[float]]:
    """Return what kinds leave unexplained, apart for kinds without noise, with noise and with hidden noise.

    Parameters
    ----------
    kinds : tuple of str
        One kind or two.
    explained : float
        Share of the error that they explain.

    Returns
    -------
    unexplained : list of float
        Logarithm of the share that is left in the column of their form, 0 in the two others.
    noise : list of float
        1 in the column of noise, or of noise that may be hidden below another kind.

    Examples
    --------
    >>> from llise.diagnosis.verification import unexplained_by_form
    >>> unexplained_by_form(("gaussian_noise", "blur"), 0.0)
    ([0.0, 0.0, 0.0], [0.0, 1.0])
    """
    form = 0 if not set(RANDOM) & set(kinds) else 2 if set(HIDING) & set(kinds) else 1
    unexplained = float(np.log(max(1 - explained, LEAST_UNEXPLAINED)))
    return [unexplained if form == other else 0.0 for other in range(3)], [float(form == 1), float(form == 2)]


def _odd_pivot(estimate: FaultEstimate, kinds: tuple[str, ...], greys: tuple[float, float, float]) -> float:
    """Distance of the pivot of a contrast change from mean, median and mid-grey, against the deviation.

    A change of contrast about another grey level is more likely a shift of luminance besides.
    """
    if "contrast" not in kinds or "luminance" in kinds or "pivot" not in estimate.parameters.get("contrast", {}):
        return 0.0
    pivot = estimate.parameters["contrast"]["pivot"].value
    mean, deviation, median = greys
    nearest = min(abs(pivot - usual) for usual in (mean, median, 128.0))
    return min(nearest / max(deviation, 10.0), FURTHEST_PIVOT)


def weighed(probabilities: np.ndarray, codes: list[int], table: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the probabilities of all sets after the evidence.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,)
        What the judge says.
    codes : list of int
        Sets that were tried; the others share what they had.
    table : ndarray, shape (n_codes, n_evidence)
        Evidence for these sets.
    weights : ndarray, shape (n_evidence,)
        Weights of the evidence.

    Returns
    -------
    ndarray, shape (n_sets,)
        Probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.verification import NO_EVIDENCE, weighed
    >>> p = np.array([0.2, 0.7, 0.1])
    >>> table = np.log(p[:2, None]) * NO_EVIDENCE
    >>> weighed(p, [0, 1], table, NO_EVIDENCE).round(3)
    array([0.2, 0.7, 0.1])
    """
    score = table @ weights.astype(np.float64)
    score = np.exp(score - score.max())
    result = np.array(probabilities, np.float64)
    result[codes] = score / score.sum() * probabilities[codes].sum()
    return result


def explains_as_well(
    kinds: tuple[str, ...], own: tuple[str, ...], region: np.ndarray, estimates: CopyEstimates
) -> bool:
    """Return whether other kinds explain a part about as well as its own, so that it need not be told apart.

    Parameters
    ----------
    kinds : tuple of str
        Kinds of the area around the part.
    own : tuple of str
        Kinds of the part.
    region : ndarray of bool, shape (rows, cols)
        Blocks of the part.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    bool
        Only where blur and JPEG are around it: noise explains whatever looks like noise, and contrast and luminance
        whatever shifts greys, if their settings may be others in the part.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates import CopyEstimates
    >>> from llise.diagnosis.verification import explains_as_well
    >>> from scipy import ndimage
    >>> image = np.random.default_rng(0).integers(60, 190, (128, 128)).astype(np.uint8)
    >>> copy = ndimage.gaussian_filter(image.astype(float), 1.5).round().astype(np.uint8)
    >>> estimates, everywhere = CopyEstimates(image, copy), np.ones((16, 16), bool)
    >>> explains_as_well(("blur",), ("contrast", "blur"), everywhere, estimates)
    True
    """
    if set(kinds) - set(HIDING) or np.count_nonzero(region) < LEAST_BLOCKS:
        return False
    explained = estimates.of(region, kinds).explained
    by_own = estimates.of(region, own).explained if own != (UNKNOWN,) else 0.0
    return explained >= WELL_EXPLAINED and explained >= by_own - AS_WELL


def told_apart(parts: list[Part], estimates: CopyEstimates) -> list[Part]:
    """Give parts the kinds of the largest part of their area where these explain them as well.

    Parameters
    ----------
    parts : list of Part
        Parts of all areas.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    list of Part
        The same parts; a part that may be of the taught kind of the largest one is taken to be of it.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates import CopyEstimates
    >>> from llise.diagnosis.faults import Part
    >>> from llise.diagnosis.sets import SETS
    >>> from llise.diagnosis.verification import told_apart
    >>> image, sets = np.zeros((8, 32), np.uint8), (*SETS, ("fog",))
    >>> fog, doubtful = np.eye(1, 65, 64)[0], 0.9 * np.eye(1, 65)[0] + 0.1 * np.eye(1, 65, 64)[0]
    >>> parts = [Part(0, np.arange(4)[None] < 3, fog, sets=sets), Part(0, np.arange(4)[None] > 2, doubtful, sets=sets)]
    >>> [part.kinds for part in told_apart(parts, CopyEstimates(image, image))]
    [('fog',), ('fog',)]
    """
    kept = []
    for part in parts:
        largest = max((other for other in parts if other.area == part.area), key=lambda other: other.mask.sum())
        same = largest.is_taught and part.probability_of(largest.kinds) >= MAY_BE_TAUGHT
        if part.kinds != largest.kinds and (same or explains_as_well(largest.kinds, part.kinds, part.mask, estimates)):
            part = replace(largest, area=part.area, mask=part.mask)
        kept.append(part)
    return kept


def simplest(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
    """Prefer blur or JPEG alone to a pair of which the other kind adds next to nothing.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,)
        Probabilities of a doubtful part.
    region : ndarray of bool, shape (rows, cols)
        Its blocks.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    ndarray, shape (n_sets,)
        With those of the pair and of the one kind exchanged where that one explains as much.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.sets import SETS
    >>> from llise.diagnosis.estimates import CopyEstimates
    >>> from llise.diagnosis.verification import simplest
    >>> from scipy import ndimage
    >>> image = np.random.default_rng(0).integers(60, 190, (128, 128)).astype(np.uint8)
    >>> copy = ndimage.gaussian_filter(image.astype(float), 1.5).round().astype(np.uint8)
    >>> doubtful = 0.6 * np.eye(64)[SETS.index(("contrast", "blur"))] + 0.4 * np.eye(64)[SETS.index(("blur",))]
    >>> SETS[int(simplest(doubtful, np.ones((16, 16), bool), CopyEstimates(image, copy)).argmax())]
    ('blur',)
    """
    pair = int(probabilities.argmax())
    if len(SETS[pair]) < 2:
        return probabilities
    explained = estimates.of(region, SETS[pair]).explained
    for kind in SETS[pair]:
        one = SETS.index((kind,))
        if kind not in HIDING or probabilities[one] < LIKELY:
            continue
        alone = estimates.of(region, (kind,)).explained
        if alone >= NEARLY_ALL and alone >= explained - AS_MUCH:
            probabilities = probabilities.copy()
            probabilities[[pair, one]] = probabilities[[one, pair]]
            break
    return probabilities


def fit_weights(samples: Iterable[tuple[np.ndarray, int]], penalty: float = 1e-3) -> np.ndarray:
    """Find the weights with the greatest likelihood of the true sets.

    Parameters
    ----------
    samples : iterable of (ndarray of shape (n_codes, n_evidence), int)
        Evidence for the sets that were tried on a part, and which of them is true.
    penalty : float
        Factor on the squared distance from :data:`NO_EVIDENCE`.

    Returns
    -------
    ndarray of float32, shape (n_evidence,)
        Weights.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.verification import EVIDENCE, fit_weights
    >>> table = np.zeros((2, len(EVIDENCE)))
    >>> table[:, 1] = -3, 0  # the first set leaves less unexplained
    >>> bool(fit_weights([(table, 0)] * 20)[1] < -0.5)
    True
    """
    from scipy.optimize import minimize

    chosen = list(samples)
    if not chosen:
        return NO_EVIDENCE
    # Tables are filled up to the same number of sets; what fills them gets a score of minus infinity.
    tables = np.zeros((len(chosen), MOST_SETS, len(EVIDENCE)))
    absent = np.ones((len(chosen), MOST_SETS), bool)
    for number, (table, _) in enumerate(chosen):
        tables[number, : len(table)], absent[number, : len(table)] = table, False
    true = np.array([index for _, index in chosen])
    here = np.arange(len(chosen))

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        score = np.where(absent, -np.inf, tables @ weights)
        top = score.max(axis=1, keepdims=True)
        share = np.exp(score - top)
        total = share.sum(axis=1, keepdims=True)
        away = weights - NO_EVIDENCE
        value = float(np.mean(np.log(total[:, 0]) + top[:, 0] - score[here, true])) + penalty * float(away @ away)
        expected = np.einsum("nk,nke->e", share / total, tables)
        return value, (expected - tables[here, true].sum(axis=0)) / len(chosen) + 2 * penalty * away

    return minimize(loss, NO_EVIDENCE.astype(float), jac=True, method="L-BFGS-B").x.astype(np.float32)
