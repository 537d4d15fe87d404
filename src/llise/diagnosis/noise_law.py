"""Whether noise follows the signal: measured where nothing came after it, instead of judged.

The power of noise that nothing hides can be measured at each grey level.  Only where a picture has few grey levels does
this not tell noise of one strength everywhere from noise that grows with the grey level.
"""

from __future__ import annotations

import numpy as np

from llise.diagnosis.chains import HIDING
from llise.diagnosis.estimates import CopyEstimates
from llise.diagnosis.sets import SETS, UNKNOWN_CODE, code_of, is_set

EVEN, GROWING = "gaussian_noise", "speckle_noise"

NONE, MUCH, MUCH_A_BLOCK = 1.0, 30.0, 0.1
"""Growth of noise (:func:`llise.kinds.speckle_noise.noise_growth`) up to which it has one strength everywhere, and from
which it follows the signal, in all and for each block; of 80 Gaussian noises on photographs one had more than 0, of 50
speckle noises all had 166 or more."""


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
        The same where the likeliest kinds are others, or one of them came after the noise.

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
    if len(kinds & {EVEN, GROWING}) != 1 or kinds & set(HIDING):
        return probabilities
    other = kinds ^ {EVEN, GROWING}
    growth = estimates.of(region, SETS[top]).growth
    follows = growth >= max(MUCH, MUCH_A_BLOCK * np.count_nonzero(region))
    if not is_set(*other) or not (follows if EVEN in kinds else growth <= NONE):
        return probabilities
    exchanged = probabilities.copy()
    exchanged[[top, code_of(*other)]] = probabilities[[code_of(*other), top]]
    return exchanged
