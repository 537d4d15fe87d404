"""The JPEG coder that came last, after noise, impulses or other kinds."""

from __future__ import annotations

import numpy as np

from llise.diagnosis.estimates.region_pixels import RegionPixels
from llise.differences import by_block
from llise.kinds.fitting import ROUNDING, Fit
from llise.kinds.jpeg import jpeg_fit

CODED_LAST = 0.6
"""Share of coefficients at multiples of steps above which the coder came last."""

CLEARLY_LESS = 0.2
"""How much less a table that comes nearest to the copy must leave than one whose multiples are most likely."""


def coder_last(pixels: RegionPixels) -> Fit | None:
    """Find a JPEG coder by the steps that the copy's coefficients show.

    Parameters
    ----------
    pixels : RegionPixels
        Reference, copy, and the pixels to compare.

    Returns
    -------
    Fit or None
        The coder; None where something came after it, so that its steps do not show.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.coder_last import coder_last
    >>> from llise.diagnosis.estimates.region_pixels import RegionPixels
    >>> from llise.kinds.jpeg import Jpeg
    >>> rng = np.random.default_rng(0)
    >>> image = rng.integers(60, 190, (64, 64)).astype(np.uint8)
    >>> noisy = (image + rng.normal(0, 10, image.shape)).astype(np.uint8)
    >>> pictures = (picture.astype(np.float32) for picture in (image, Jpeg().path(noisy, rng)(2.5)))
    >>> coder_last(RegionPixels(*pictures, image > 0)).parameters
    {'quality': 20.0}
    """
    quality, table, closeness = pixels.coefficients.likely_table()
    if closeness <= CODED_LAST:
        return None
    likely, nearest = jpeg_fit(quality, table), jpeg_fit(*pixels.coefficients.nearest_table())
    less = _left_in_most_blocks(likely, pixels) - _left_in_most_blocks(nearest, pixels)
    return nearest if less > CLEARLY_LESS else likely


def _left_in_most_blocks(coder: Fit, pixels: RegionPixels) -> float:
    """Mean logarithm of the error left in blocks: the right coder leaves none where it wiped out all else."""
    rest = by_block(np.where(pixels.mask, pixels.copy - coder.apply(pixels.reference), 0))
    return float(np.log(np.mean(rest * rest, axis=-1) + ROUNDING).mean())
