"""Parts that named kinds fit in the mean, but with settings or details that these kinds never have."""

from __future__ import annotations

import numpy as np

from llise.diagnosis.estimates.chains import GREY
from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.greys.odd_greys import follows_no_table
from llise.diagnosis.naming.noise_shape import is_strange_noise
from llise.diagnosis.sets import SETS, code_of

WIDEST_RADIUS = 5.8
"""Radius in pixels from which sharpening, which programs do with 5 at most, is a change of local contrast."""

WIDE_RADIUS, LEAST_GAIN, NEAR_BLACK = 3.1, 1.006, 30.0
"""Radius in pixels, gain and pivot of sharpening with contrast that is a change of local contrast too: it makes all
greys a little brighter by a factor, which leaves black as it is, while programs that change contrast keep a grey near
the middle. Of twelve such changes on photographs all were so, of 28 sharpened copies with contrast or luminance
none."""


def is_odd(region: np.ndarray, kinds: tuple[str, ...], estimates: CopyEstimates) -> bool:
    """Return whether kinds fit a part with settings or details that they never have.

    Parameters
    ----------
    region : ndarray of bool, shape (rows, cols)
        Blocks of the part.
    kinds : tuple of str
        The named kinds that it is most like.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    bool
        False for kinds of which no such settings are known.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.naming.oddities import is_odd
    >>> image = np.full((128, 128), 120, np.uint8)
    >>> uniform = (image + np.random.default_rng(0).uniform(-15, 15, image.shape)).astype(np.uint8)
    >>> is_odd(np.ones((16, 16), bool), ("gaussian_noise",), CopyEstimates(image, uniform))
    True
    """
    if set(kinds) <= set(GREY):
        return follows_no_table(estimates.reference, estimates.copy, region)
    if kinds == ("gaussian_noise",):
        return is_strange_noise(estimates.reference, estimates.copy, region)
    if "sharpening" in kinds and set(kinds) <= {"sharpening", *GREY}:
        return _is_local_contrast(region, kinds, estimates)
    return False


def _is_local_contrast(region: np.ndarray, kinds: tuple[str, ...], estimates: CopyEstimates) -> bool:
    """Whether sharpening, alone or with a change of greys, is so wide that it changes local contrast instead."""
    own = estimates.of(region, kinds).parameters.get("sharpening")
    if not own:
        return False
    if own["radius"].value >= WIDEST_RADIUS:
        return True
    if len(kinds) == 1:
        return False
    both = estimates.of(region, SETS[code_of("contrast", "sharpening")]).parameters
    if not both.get("contrast") or not both.get("sharpening"):
        return False
    gain, pivot = (both["contrast"][name].value for name in ("gain", "pivot"))
    return both["sharpening"]["radius"].value >= WIDE_RADIUS and gain >= LEAST_GAIN and pivot <= NEAR_BLACK
