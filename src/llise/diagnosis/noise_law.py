"""Whether noise follows the signal, and whether a coder hides some: measured instead of judged.

The power of noise that nothing hides can be measured at each grey level.  Only where a picture has few grey levels does
this not tell noise of one strength everywhere from noise that grows with the grey level.
"""

from __future__ import annotations

import numpy as np

from llise.diagnosis.chains import GREY, HIDING, RANDOM
from llise.diagnosis.estimates import CopyEstimates
from llise.diagnosis.sets import SETS, UNKNOWN_CODE, code_of, exchanged, is_set

EVEN, GROWING = "gaussian_noise", "speckle_noise"

NONE, MUCH, MUCH_A_BLOCK, MUCH_WITH_CONTRAST = 1.0, 30.0, 0.1, 1.2
"""Growth of noise (:func:`llise.kinds.speckle_noise.noise_growth`) up to which it has one strength everywhere, and from
which it follows the signal: in all, for each block, and for each block where contrast may have clipped it. Of 80
Gaussian noises on photographs one, after contrast, had more than 0; of 50 speckle noises all had 166 or more."""


CODED, ALL_NOISE, LIKE_NOISE = 0.9, 0.97, 0.3
"""Share of the error below which a JPEG coder alone does not account for a part, share that it explains with noise
below it, and how unlike to what is left that noise may be."""


def with_measured_noise(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
    """Exchange Gaussian and speckle noise in an answer that the power of the noise by grey level contradicts.

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
        The same where the likeliest kinds are others, or the measurements do not contradict them.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates import CopyEstimates
    >>> from llise.diagnosis.noise_law import with_measured_noise
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> copy = (image + np.random.default_rng(0).normal(0, 9, image.shape)).astype(np.uint8)
    >>> speckle = 0.7 * np.eye(len(SETS))[code_of("speckle_noise")]
    >>> after = with_measured_noise(speckle, np.ones((16, 16), bool), CopyEstimates(image, copy))
    >>> SETS[int(after.argmax())]
    ('gaussian_noise',)
    """
    top = int(probabilities.argmax())
    kinds = set(SETS[top]) if top < UNKNOWN_CODE else set()
    other = kinds ^ {EVEN, GROWING}
    if len(kinds & {EVEN, GROWING}) != 1 or not is_set(*other):
        return probabilities
    code = code_of(*other)
    if not _contradicted(SETS[top], SETS[code], region, estimates):
        return probabilities
    return exchanged(probabilities, top, code)


def with_hidden_noise(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
    """Exchange JPEG alone for JPEG over noise where the coder leaves much, and all of that is as noise would be.

    A JPEG coder can be repeated, so that much which it leaves means that something lies below it, which the networks of
    the judge hardly see.

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
        The same where JPEG alone is not the likeliest, or accounts for the part.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates import CopyEstimates
    >>> from llise.diagnosis.noise_law import with_hidden_noise
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> brighter = np.eye(len(SETS))[code_of("luminance")]
    >>> with_hidden_noise(brighter, np.ones((16, 16), bool), CopyEstimates(image, image + 5)) is brighter
    True
    """
    top = int(probabilities.argmax())
    if top != code_of("jpeg") or estimates.of(region, SETS[top]).explained >= CODED:
        return probabilities
    found = {kind: estimates.of(region, SETS[code_of(kind, "jpeg")]) for kind in RANDOM}
    likest = min(found, key=lambda kind: found[kind].unlike + (found[kind].explained < ALL_NOISE))
    if found[likest].explained < ALL_NOISE or found[likest].unlike > LIKE_NOISE:
        return probabilities
    return exchanged(probabilities, top, code_of(likest, "jpeg"))


def _contradicted(kinds: tuple[str, ...], other: tuple[str, ...], region: np.ndarray, estimates: CopyEstimates) -> bool:
    """Whether kinds with one of the two noises fit the measurements worse than the same kinds with the other one."""
    found = estimates.of(region, kinds)
    if set(HIDING) & set(kinds):  # of noise that is hidden, only how it is spread over blocks can be compared
        instead = estimates.of(region, other)
        return GROWING in kinds and instead.unlike <= found.unlike and instead.explained >= found.explained - 0.01
    if not set(kinds) <= {EVEN, GROWING, *GREY}:
        return False
    if GROWING in kinds:
        return found.growth <= NONE
    a_block = MUCH_WITH_CONTRAST if "contrast" in kinds else MUCH_A_BLOCK
    return found.growth >= max(MUCH, a_block * np.count_nonzero(region))
