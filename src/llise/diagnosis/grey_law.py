"""Contrast, luminance or both: told by where a straight line of grey levels leaves them as they are.

A change of contrast alone leaves the mean of the picture or of the region, or mid-grey, as it is; with a shift of
luminance besides, it moves all of them.  The line is measured to a fraction of a grey level, so that it tells where the
judge is of two minds.
"""

from __future__ import annotations

import numpy as np

from llise.diagnosis.chains import GREY
from llise.diagnosis.estimates import CopyEstimates
from llise.diagnosis.region_pixels import whole_pixels
from llise.diagnosis.sets import code_of, exchanged
from llise.kinds.fitting import fit_line

NOT_MOVED, MOVED = 1.8, 2.2
"""Distance in grey levels up to which mean or mid-grey stay as they are, as programs round down, and from which they
are moved. Of 57 changes of contrast on photographs all but S-shaped curves were below 1.2, of 16 with luminance all
above 2.6."""

MAY_BE_BOTH, FAR = 0.15, 5.0
"""Probability of contrast with luminance, against that of contrast alone, from which a moved line says both, and the
distance in grey levels from which it does so in any case."""

STRAIGHT = 0.7
"""Grey levels that a straight line may leave in the mean; rounding leaves 0.3, rounding down 0.6."""


def with_measured_line(
    probabilities: np.ndarray, region: np.ndarray, mean: float, estimates: CopyEstimates
) -> np.ndarray:
    """Exchange contrast, and contrast with luminance, in an answer that the line of grey levels contradicts.

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
        The same where the likeliest kinds are others, or the curve is not straight.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates import CopyEstimates
    >>> from llise.diagnosis.grey_law import with_measured_line
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> copy = np.rint(128 + 1.3 * (image - 128.0)).astype(np.uint8)
    >>> both = 0.7 * np.eye(len(SETS))[code_of("contrast", "luminance")]
    >>> after = with_measured_line(both, np.ones((16, 16), bool), float(image.mean()), CopyEstimates(image, copy))
    >>> SETS[int(after.argmax())]
    ('contrast',)
    """
    alone, both = code_of("contrast"), code_of(*GREY)
    top = int(probabilities.argmax())
    if top not in (alone, both):
        return probabilities
    moved = _moved(region, mean, estimates)
    wrong = moved is not None and (moved <= NOT_MOVED if top == both else moved >= MOVED)
    doubtful = moved is not None and moved < FAR and probabilities[both] < MAY_BE_BOTH * probabilities[alone]
    if not wrong or (top == alone and doubtful):
        return probabilities
    return exchanged(probabilities, alone, both)


def _moved(region: np.ndarray, mean: float, estimates: CopyEstimates) -> float | None:
    """How far the grey that a line moves least, of both means and mid-grey, is moved; None if the line is bent."""
    reference, copy, mask = whole_pixels(estimates.reference, estimates.copy, region)
    gain, offset = fit_line(reference, copy, mask, slope=True)
    rest = (copy - np.clip(np.float32(gain) * reference + np.float32(offset), 0, 255))[mask]
    if float(rest @ rest) > STRAIGHT**2 * rest.size:
        return None
    own_mean = float(reference[mask].mean())
    return min(abs(gain * grey + offset - grey) for grey in (mean, own_mean, 127.5, 128.0))
