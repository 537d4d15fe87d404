"""A second look at doubtful parts: the copy is made again with each likely set of kinds, and compared.

The networks of the judge know a fault by its statistics.  Here the settings of each likely set of kinds are estimated,
and it is measured how much of the error they leave unexplained.  A linear function of this evidence and of the
judge's own probability, with weights that the training fits (a conditional logit), gives the probabilities anew.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from llise.diagnosis.chains import HIDING, RANDOM
from llise.diagnosis.estimates import CopyEstimates, FaultEstimate
from llise.diagnosis.sets import SETS, UNKNOWN_CODE

SURE = 0.96
"""Probability from which a part is not looked at again."""

LIKELY = 0.01
"""Probability from which a set of kinds is tried."""

MOST_SETS = 4
LEAST_BLOCKS = 6
"""Most sets that are tried, and fewest blocks of a part on which that is worth it."""

FIT = (
    "unexplained", "unexplained with noise", "unexplained with hidden noise", "unexplained by JPEG alone", "noise",
    "hidden noise", "JPEG alone", "unlike noise", "unlike hidden noise", "unlike a table",
)  # fmt: skip
"""How well kinds fit. Noise is hidden where a blur or a coder may have come after it; a JPEG coder can be repeated
exactly, so that little of its error may be left."""

EVIDENCE = ("log probability", *FIT, "two kinds", "smaller share", "odd pivot")
"""What is known of each set that is tried."""

WELL_CODED = 0.08
"""Share of the error up to which a JPEG coder alone accounts for a part: coders round in several ways."""

LEAST_UNEXPLAINED = 0.004
LEAST_SHARE = 1e-3
FURTHEST_PIVOT = 3.0

_HIDDEN_BY_JPEG = [
    code for code, kinds in enumerate(SETS) if "jpeg" in kinds and {*RANDOM, "quantization"} & set(kinds)
]

NO_EVIDENCE = np.eye(1, len(EVIDENCE), dtype=np.float32)[0]
"""Weights that leave the judge's probabilities as they are."""


def likely_sets(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> list[int]:
    """Return the sets of kinds that are worth trying.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,)
        What the judge says of a part.
    region : ndarray of bool, shape (rows, cols)
        Blocks of the part.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    list of int
        Indices into :data:`llise.diagnosis.sets.SETS`, the most probable first; empty where the answer is sure.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates import CopyEstimates
    >>> from llise.diagnosis.verification import likely_sets
    >>> estimates, region = CopyEstimates(*np.zeros((2, 64, 64), np.uint8)), np.ones((8, 8), bool)
    >>> likely_sets(np.array([0.3, 0.0, 0.7]), region, estimates)
    [2, 0]
    >>> likely_sets(np.array([0.0, 0.0, 1.0]), region, estimates)
    []
    """
    if np.count_nonzero(region) < LEAST_BLOCKS:
        return []
    order = [int(code) for code in np.argsort(-probabilities[:UNKNOWN_CODE], kind="stable")]
    codes = [code for code in order[:MOST_SETS] if probabilities[code] >= LIKELY]
    # What a coder almost wipes out can only be seen by making the part again.
    hidden = SETS[order[0]] == ("jpeg",) and 1 - estimates.of(region, ("jpeg",)).explained > WELL_CODED
    if hidden:
        codes += [code for code in order if code in _HIDDEN_BY_JPEG and code not in codes]
    elif probabilities.max() >= SURE:
        return []
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
        total = sum(estimate.severity.values()) or 1.0
        smaller = np.log(max(min(estimate.severity.values()) / total, LEAST_SHARE)) if len(kinds) > 1 else 0.0
        rows.append(
            [
                np.log(max(float(probabilities[code]), 1e-6)),
                *fit_of(kinds, estimate),
                float(len(kinds) > 1),
                smaller,
                _odd_pivot(estimate, kinds, greys),
            ]
        )
    return np.array(rows)


def fit_of(kinds: tuple[str, ...], estimate: FaultEstimate) -> list[float]:
    """Return how well kinds fit, apart for kinds without noise, with noise, with hidden noise, and for JPEG alone.

    Parameters
    ----------
    kinds : tuple of str
        One kind or two.
    estimate : FaultEstimate
        Their settings.

    Returns
    -------
    list of float
        In the order of :data:`FIT`: logarithm of the share of the error that is left, 1 for the form of the kinds, and
        how unlike the noise is; 0 in the columns of other forms.

    Examples
    --------
    >>> from llise.diagnosis.estimates import FaultEstimate
    >>> from llise.diagnosis.verification import FIT, fit_of
    >>> fit = dict(zip(FIT, fit_of(("gaussian_noise", "blur"), FaultEstimate(explained=0.0, unlike=0.3))))
    >>> {name: value for name, value in fit.items() if value}
    {'hidden noise': 1.0, 'unlike hidden noise': 0.3}
    """
    noisy = bool(set(RANDOM) & set(kinds))
    form = (2 if set(HIDING) & set(kinds) else 1) if noisy else 3 if kinds == ("jpeg",) else 0
    unexplained = float(np.log(max(1 - estimate.explained, LEAST_UNEXPLAINED)))
    return [
        *(unexplained if form == other else 0.0 for other in range(4)),
        *(float(form == other) for other in range(1, 4)),
        *(estimate.unlike if form == other else 0.0 for other in (1, 2, 0)),
    ]


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


def fit_weights(samples: Iterable[tuple[np.ndarray, int]], penalty: float = 1e-5) -> np.ndarray:
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
    most = max(len(table) for table, _ in chosen)
    tables = np.zeros((len(chosen), most, len(EVIDENCE)))
    absent = np.ones((len(chosen), most), bool)
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
