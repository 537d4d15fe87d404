"""All measurements that may contradict the likeliest kinds of a part, in the order in which they are made."""

from __future__ import annotations

import numpy as np

from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.greys.grey_law import with_measured_gain
from llise.diagnosis.greys.level_law import with_levels_below_noise, with_measured_levels
from llise.diagnosis.naming.exact_kinds import with_blur_below_mosaic
from llise.diagnosis.naming.noise_law import with_hidden_impulses, with_hidden_noise, with_measured_noise
from llise.diagnosis.naming.simpler_kinds import without_negligible
from llise.diagnosis.places.impulse_places import with_impulses_over

MEASUREMENTS = (
    with_hidden_noise,
    with_hidden_impulses,
    with_impulses_over,
    with_blur_below_mosaic,
    without_negligible,
    with_measured_noise,
    with_levels_below_noise,
    with_measured_gain,
    with_measured_levels,
)
"""Each takes probabilities of a part, its blocks and the estimates, and exchanges kinds that it contradicts."""


def with_measurements(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
    """Return the probabilities of a part after all measurements.

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
        With those of contradicted sets of kinds and of others exchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.naming.measured_kinds import with_measurements
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> copy = (image + np.random.default_rng(0).normal(0, 9, image.shape)).astype(np.uint8)
    >>> speckle = 0.7 * np.eye(len(SETS))[code_of("speckle_noise")]
    >>> SETS[int(with_measurements(speckle, np.ones((16, 16), bool), CopyEstimates(image, copy)).argmax())]
    ('gaussian_noise',)
    """
    for measurement in MEASUREMENTS:
        probabilities = measurement(probabilities, region, estimates)
    return probabilities
