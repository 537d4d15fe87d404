"""A second look at doubtful parts: the copy is made again with each likely set of kinds, and compared.

The networks of the judge know a fault by its statistics.  Here the settings of each likely set of kinds are estimated,
and it is measured how much of the error they leave unexplained.  This evidence and the judge's own probability are
weighed (:mod:`llise.diagnosis.second_look.weighing`), which gives the probabilities anew.
"""

from __future__ import annotations

import numpy as np

from llise.diagnosis.estimates.chains import GREY, HIDING, RANDOM
from llise.diagnosis.estimates.copy_estimates import CopyEstimates, FaultEstimate
from llise.diagnosis.sets import SETS, UNKNOWN_CODE, code_of
from llise.labels import NAMED_KINDS

SURE = 0.96
"""Probability from which a part is not looked at again."""

SURE_OF_EXACT, MADE_EXACTLY = 0.5, 0.99
"""The same for one kind without noise that leaves next to nothing, and the share of the error that it must explain."""

SURELY_OTHER = 0.9
"""Probability of a fault without a name, or of a taught kind, from which no named kinds are tried."""

LIKELY = 0.01
"""Probability from which a set of kinds is tried."""

MOST_SETS = 4
LEAST_BLOCKS = 6
"""Most sets that are tried because they are likely, and fewest blocks of a part on which that is worth it."""

MOST_NEAR = 2
"""Most sets of kinds that can be found exactly, tried besides where the likeliest one cannot."""

MOST_OTHERS, HARDLY_LIKELY = 4, 1e-5
"""Most sets that are tried besides where the likeliest one does not account for a part, and their least probability."""

FIT = (
    "unexplained", "unexplained with noise", "unexplained with hidden noise", "unexplained by JPEG alone", "noise",
    "hidden noise", "JPEG alone", "unlike noise", "unlike hidden noise", "unlike a table",
)  # fmt: skip
"""How well kinds fit. Noise is hidden where a blur or a coder may have come after it; a JPEG coder can be repeated
exactly, so that little of its error may be left."""

EVIDENCE = (
    "log probability", *FIT, "two kinds", "smaller share", "odd pivot", "left more than the best", "growth of noise",
    "left in detail", "log size", "log error", *NAMED_KINDS,
)  # fmt: skip
"""What is known of each set that is tried; last, which kinds it has."""

WELL_EXPLAINED, ALIKE = 0.92, 0.6
"""Share of the error from which kinds account for a part, as coders round in several ways and blurs have many shapes,
and how unlike their random part may be to what remains."""

UNLIKE_A_TABLE = 2.0
"""How unlike to a table of greys a change of contrast or luminance may be."""

EXACT = {"contrast", "luminance", "blur", "jpeg", "gaussian_noise", "impulse_noise", "speckle_noise", "sharpening"}
"""Kinds that are found well enough that much which is left speaks against them."""

AS_WELL, LITTLE_LEFT = 0.7, np.log(0.05)
"""Difference of the logarithms of what two sets leave up to which they fit as well, and what both may leave in any
case."""

LEAST_UNEXPLAINED = 0.004
LEAST_SHARE = 1e-3
FURTHEST_PIVOT = 3.0

_HIDDEN_BY_JPEG = [
    code for code, kinds in enumerate(SETS) if "jpeg" in kinds and {*RANDOM, "quantization"} & set(kinds)
]

NO_EVIDENCE = np.eye(1, len(EVIDENCE), dtype=np.float32)[0]
"""Weights that leave the judge's probabilities as they are."""


def likely_sets(
    probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates, thorough: bool = True
) -> list[int]:
    """Return the sets of kinds that are worth trying.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,)
        What the judge says of a part.
    region : ndarray of bool, shape (rows, cols)
        Blocks of the part.
    estimates : CopyEstimates
        Estimates of the copy's faults.
    thorough : bool
        Whether less likely sets are tried too where the likeliest one does not account for the part.

    Returns
    -------
    list of int
        Indices into :data:`llise.diagnosis.sets.SETS`, the most probable first; empty where the answer is sure.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.second_look.verification import likely_sets
    >>> estimates, region = CopyEstimates(*np.zeros((2, 64, 64), np.uint8)), np.ones((8, 8), bool)
    >>> likely_sets(np.array([0.35, 0.0, 0.45]), region, estimates)
    [2, 0]
    >>> likely_sets(np.array([0.0, 0.0, 1.0]), region, estimates)
    []
    """
    if np.count_nonzero(region) < LEAST_BLOCKS or probabilities[UNKNOWN_CODE:].sum() >= SURELY_OTHER:
        return []
    order = [int(code) for code in np.argsort(-probabilities[:UNKNOWN_CODE], kind="stable")]
    top = set(SETS[order[0]])
    found = estimates.of(region, SETS[order[0]])
    accounted = accounts_for(SETS[order[0]], found)
    exact = len(top) == 1 and top <= EXACT - set(RANDOM) and found.explained >= MADE_EXACTLY
    if accounted and probabilities.max() >= (SURE_OF_EXACT if exact else SURE):
        return []
    codes = [code for code in order[:MOST_SETS] if probabilities[code] >= LIKELY]
    if not top <= EXACT:  # other kinds may account for the part better than these, which are never found exactly
        alike = [code for code in order[MOST_SETS:] if probabilities[code] >= LIKELY and top & set(SETS[code])]
        codes += [code for code in alike if set(SETS[code]) <= EXACT - set(RANDOM)][:MOST_NEAR]
    if not accounted and thorough:
        near = [code for code in order if len(top ^ set(SETS[code])) <= 2 and top & set(SETS[code])]
        others = [code for code in near if code not in codes and probabilities[code] >= HARDLY_LIKELY]
        # What a coder almost wipes out can only be seen by making the part again.
        hidden = _HIDDEN_BY_JPEG if top == {"jpeg"} else []
        codes += list(dict.fromkeys([*others[:MOST_OTHERS], *(code for code in hidden if code not in codes)]))
    elif accounted and len(top) > 1:
        codes += [code for code in map(code_of, sorted(top)) if code not in codes]
    return codes if len(codes) > 1 else []


def accounts_for(kinds: tuple[str, ...], estimate: FaultEstimate) -> bool:
    """Return whether kinds leave little of a part.

    Parameters
    ----------
    kinds : tuple of str
        One kind or two.
    estimate : FaultEstimate
        Their settings in the part.

    Returns
    -------
    bool
        True for kinds that are never found exactly, whatever they leave.

    Examples
    --------
    >>> from llise.diagnosis.estimates.copy_estimates import FaultEstimate
    >>> from llise.diagnosis.second_look.verification import accounts_for
    >>> accounts_for(("jpeg",), FaultEstimate(explained=0.99)), accounts_for(("jpeg",), FaultEstimate(explained=0.8))
    (True, False)
    """
    if not set(kinds) <= EXACT:
        return True
    if set(kinds) <= set(GREY) and estimate.unlike > UNLIKE_A_TABLE:
        return False
    # Impulses that can be told one by one leave next to nothing, which is neither like noise nor unlike it.
    counted = "impulse_noise" in kinds and estimate.explained >= MADE_EXACTLY
    spread = counted or estimate.unlike <= ALIKE or not set(RANDOM) & set(kinds)
    return estimate.explained >= WELL_EXPLAINED and spread


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
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.second_look.verification import EVIDENCE, evidence
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
                _log_unexplained(estimate),
                np.log1p(estimate.growth),
                estimate.detailed,
                np.log(np.count_nonzero(region)),
                np.log(estimates.error(region) + 1),
                *(float(kind in kinds) for kind in NAMED_KINDS),
            ]
        )
    table = np.array(rows)
    left = EVIDENCE.index("left more than the best")
    table[:, left] -= table[:, left].min()
    return table


def with_greys_as_judged(judged: np.ndarray, weighed: np.ndarray, codes: list[int], table: np.ndarray) -> np.ndarray:
    """Return probabilities in which sets that differ only in contrast and luminance stand as the judge says.

    Contrast about some grey can do nearly all that luminance does, so that how well they fit tells nothing; where a
    curve leaves greys unchanged, which the judge sees, tells a little.

    Parameters
    ----------
    judged, weighed : ndarray, shape (n_sets,)
        Probabilities before and after the second look.
    codes : list of int
        Sets that were tried.
    table : ndarray, shape (n_codes, n_evidence)
        Evidence for these sets.

    Returns
    -------
    ndarray, shape (n_sets,)
        Probabilities; the sum of such sets is that after the second look.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> from llise.diagnosis.second_look.verification import EVIDENCE, with_greys_as_judged
    >>> codes = [code_of("contrast"), code_of("luminance"), code_of("blur")]
    >>> before, after = np.zeros((2, len(SETS)))
    >>> before[codes], after[codes] = (0.6, 0.2, 0.2), (0.1, 0.7, 0.2)
    >>> with_greys_as_judged(before, after, codes, np.zeros((3, len(EVIDENCE))))[codes].round(2)
    array([0.6, 0.2, 0.2])
    """
    left = table[:, EVIDENCE.index("left more than the best")]
    well = table[:, [i for i, name in enumerate(EVIDENCE) if name.startswith("unexplained")]].sum(axis=1) <= LITTLE_LEFT
    groups: dict[frozenset[str], list[int]] = {}
    for row, code in enumerate(codes):
        if set(GREY) & set(SETS[code]):
            groups.setdefault(frozenset(SETS[code]) - set(GREY), []).append(row)
    result = np.array(weighed)
    for rows in groups.values():
        alike = [codes[row] for row in rows if well[row] or left[row] <= left[rows].min() + AS_WELL]
        if len(alike) > 1 and judged[alike].sum() > 0:
            result[alike] = weighed[alike].sum() * judged[alike] / judged[alike].sum()
    return result


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
    >>> from llise.diagnosis.estimates.copy_estimates import FaultEstimate
    >>> from llise.diagnosis.second_look.verification import FIT, fit_of
    >>> fit = dict(zip(FIT, fit_of(("gaussian_noise", "blur"), FaultEstimate(explained=0.0, unlike=0.3))))
    >>> {name: value for name, value in fit.items() if value}
    {'hidden noise': 1.0, 'unlike hidden noise': 0.3}
    """
    noisy = bool(set(RANDOM) & set(kinds))
    form = (2 if set(HIDING) & set(kinds) else 1) if noisy else 3 if kinds == ("jpeg",) else 0
    unexplained = _log_unexplained(estimate)
    return [
        *(unexplained if form == other else 0.0 for other in range(4)),
        *(float(form == other) for other in range(1, 4)),
        *(estimate.unlike if form == other else 0.0 for other in (1, 2, 0)),
    ]


def _log_unexplained(estimate: FaultEstimate) -> float:
    return float(np.log(max(1 - estimate.explained, LEAST_UNEXPLAINED)))


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
