"""Contrast, luminance or both: told by which greys a curve of grey levels leaves as they are.

A straight change of contrast leaves the mean of the picture or of the region, or mid-grey, as it is; with a shift of
luminance besides, it moves all of them.  An S-shaped change leaves black and white as they are, and a shift moves one
of them.  The curve is measured to a fraction of a grey level, so that it tells where the judge is of two minds.
"""

from __future__ import annotations

import numpy as np

from llise.diagnosis.estimates.chains import GREY, RANDOM
from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.estimates.region_pixels import whole_pixels
from llise.diagnosis.greys.s_curve import FEWEST, SCurve, nearest_s_curves
from llise.diagnosis.sets import CONTENT, SETS, UNKNOWN_CODE, code_of, exchanged
from llise.kinds.fitting import fit_line

NOT_MOVED, MOVED = 1.8, 2.2
"""Distance in grey levels up to which mean or mid-grey stay as they are, as programs round down, and from which they
are moved. Of 57 changes of contrast on photographs all but S-shaped curves were below 1.2, of 16 with luminance all
above 2.6."""

MAY_BE_BOTH, FAR = 0.05, 5.0
"""Probability of contrast with luminance, against that of contrast alone, from which a moved line says both, and the
distance in grey levels from which it does so in any case."""

STRAIGHT = 0.7
"""Grey levels that a straight line may leave in the mean; rounding leaves 0.3, rounding down 0.6."""

BENT, ROUNDED, STRAIGHTER = 0.45, 0.36, 1.5
"""Grey levels that a line must leave in the mean of a slightly bent curve, those that an S-shaped curve without a shift
may leave, and how many times as much the line must leave. In a region of few greys such a curve is almost straight."""

LEAST_GAIN, ONE_TABLE = 0.1, 0.5
"""Least gain with which something is left that tells a curve, and greatest variance of pixels that had the same grey
level, if a table of grey levels made the copy."""

LEAST_SHIFT, MUCH_NEARER, NEAR, AS_NEAR = 1.5, 2.0, 1.0, 1.25
"""Least shift with which an S-shaped curve is contrast with luminance, how many times nearer it must come than a curve
without a shift, how near in grey levels, and up to how many times nearer it shows that there is no shift. Of 57
S-shaped changes of contrast on photographs none was taken for both; of 22 with luminance 20 were found."""


LEAST_LEFT, FAR_MORE, NO_PIVOT = 0.025, 2.5, 10.0
"""Share of the error that luminance must leave more than contrast to be contrast, how many times as much it must leave,
and distance from black and white in which the pivot of contrast is none."""

MORE_THAN_ROUNDING, A_FEW_TIMES = 1.0, 4.0
"""Mean square in grey levels that luminance must leave to be contrast, where that leaves only rounding, and how many
times as much it must leave. In a region of few greys the offset makes nearly all of the error, whatever the gain."""

NO_GAIN, AS_MUCH = 0.01, 0.01
"""Difference of a gain from 1 up to which contrast is luminance, and how much more luminance may leave then."""


def with_measured_curve(
    probabilities: np.ndarray, region: np.ndarray, mean: float, estimates: CopyEstimates
) -> np.ndarray:
    """Exchange contrast, and contrast with luminance, in an answer that the curve of grey levels contradicts.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,) or more
        Probabilities of a part.
    region : ndarray of bool, shape (rows, cols)
        Its blocks.
    mean : float
        Mean grey level of the reference.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    ndarray
        The same where the likeliest kinds are others, or the curve is neither straight nor S-shaped.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.greys.grey_law import with_measured_curve
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> copy = np.rint(128 + 1.3 * (image - 128.0)).astype(np.uint8)
    >>> both = 0.7 * np.eye(len(SETS))[code_of("contrast", "luminance")]
    >>> after = with_measured_curve(both, np.ones((16, 16), bool), float(image.mean()), CopyEstimates(image, copy))
    >>> SETS[int(after.argmax())]
    ('contrast',)
    """
    alone, both = code_of("contrast"), code_of(*GREY)
    top = int(probabilities.argmax())
    if top not in (alone, both):
        return probabilities
    reference, copy, mask = whole_pixels(estimates.reference, estimates.copy, region)
    gain, offset = fit_line(reference, copy, mask, slope=True)
    rest = (copy - np.clip(np.float32(gain) * reference + np.float32(offset), 0, 255))[mask]
    left = float(np.sqrt(rest @ rest / rest.size))
    if left >= BENT and gain >= LEAST_GAIN and _bends_without_shift(reference[mask], copy[mask], left):
        wrong = top == both
    elif left <= STRAIGHT:
        own_mean = float(reference[mask].mean())
        moved = min(abs(gain * grey + offset - grey) for grey in (mean, own_mean, 127.5, 128.0))
        may_be_both = moved >= FAR or probabilities[both] >= MAY_BE_BOTH * probabilities[alone]
        wrong = moved <= NOT_MOVED if top == both else moved >= MOVED and may_be_both
    else:
        said = _by_s_curve(reference[mask], copy[mask]) if gain >= LEAST_GAIN else None
        wrong = said is not None and said != (top == both)
    return exchanged(probabilities, alone, both) if wrong else probabilities


def with_measured_gain(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
    """Exchange contrast and luminance, alone or with another kind, where the gain tells which of them it was.

    Luminance has a gain of 1; contrast that has the same, with another kind, makes nothing else.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,) or more
        Probabilities of a part.
    region : ndarray of bool, shape (rows, cols)
        Its blocks.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    ndarray
        The same where the likeliest kinds are others, or both explain about as much.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.greys.grey_law import with_measured_gain
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> rng = np.random.default_rng(0)
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> copy = (0.6 * image + 10 + rng.normal(0, 3, image.shape)).astype(np.uint8)
    >>> luminance = np.eye(len(SETS))[code_of("luminance", "gaussian_noise")]
    >>> after = with_measured_gain(luminance, np.ones((16, 16), bool), CopyEstimates(image, copy))
    >>> SETS[int(after.argmax())]
    ('contrast', 'gaussian_noise')
    """
    top = int(probabilities.argmax())
    kinds = set(SETS[top]) if top < UNKNOWN_CODE else set()
    by_grey = kinds & set(GREY)
    other = kinds - by_grey
    if len(by_grey) != 1 or other == {CONTENT} or kinds == {"contrast"}:
        return probabilities
    contrast, luminance = (code_of(kind, *other) for kind in GREY)
    by_contrast, by_luminance = (estimates.of(region, SETS[code]) for code in (contrast, luminance))
    left, least = 1 - by_luminance.explained, 1 - by_contrast.explained
    if by_grey == {"luminance"}:
        usual = NO_PIVOT <= by_contrast.parameters["contrast"]["pivot"].value <= 255 - NO_PIVOT
        wrong = bool(other) and left >= max(LEAST_LEFT + least, FAR_MORE * least)
        if not other & set(RANDOM):
            error = estimates.error(region)
            only_rounding = least * error <= STRAIGHT**2
            wrong |= only_rounding and left * error >= max(MORE_THAN_ROUNDING, A_FEW_TIMES * least * error)
        return exchanged(probabilities, top, contrast) if usual and wrong else probabilities
    gain = by_contrast.parameters["contrast"]["gain"].value
    wrong = abs(gain - 1) <= NO_GAIN and left <= least + AS_MUCH
    return exchanged(probabilities, top, luminance) if wrong else probabilities


def _bends_without_shift(before: np.ndarray, after: np.ndarray, left: float) -> bool:
    """Whether an S-shaped curve without a shift leaves only rounding where a line leaves more."""
    curves = _s_curves(before, after)
    return curves is not None and curves[0].misfit <= min(ROUNDED, left / STRAIGHTER)


def _by_s_curve(before: np.ndarray, after: np.ndarray) -> bool | None:
    """Whether a shift comes with an S-shaped change of contrast; None where no such curve tells."""
    curves = _s_curves(before, after)
    if curves is None:
        return None
    alone, shifted = curves
    if shifted.misfit <= NEAR and alone.misfit >= MUCH_NEARER * shifted.misfit and abs(shifted.shift) >= LEAST_SHIFT:
        return True
    return False if alone.misfit <= AS_NEAR * min(shifted.misfit, NEAR) else None


def _s_curves(before: np.ndarray, after: np.ndarray) -> tuple[SCurve, SCurve] | None:
    """The nearest S-shaped curves without and with a shift; None where no table made the copy or few pixels tell it."""
    greys = before.astype(np.intp)
    counts = np.bincount(greys, minlength=256)
    if counts.max() < FEWEST:
        return None
    means, squares = (np.bincount(greys, values, 256) / np.maximum(counts, 1) for values in (after, after * after))
    if float(counts @ (squares - means * means)) > ONE_TABLE * counts.sum():
        return None
    return nearest_s_curves(means, counts)
