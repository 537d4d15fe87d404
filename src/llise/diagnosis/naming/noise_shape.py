"""Noise that is not Gaussian: evenly spread, with long tails, or not independent from pixel to pixel.

The judge sees how strong noise is at each frequency and grey level; uniform, Laplacian and patterned noise differ from
Gaussian noise in little else than the numbers that are measured here.
"""

from __future__ import annotations

import numpy as np

from llise.differences import by_block, pixels_of
from llise.kinds.fitting import robust_scale
from llise.masks import eroded

FEWEST = 3000
"""Fewest pixels that tell the shape of noise."""

STRONGEST = 3.0
"""Power of the noise of a block, against that of most, beyond which there is something else in it."""

REACH = 3.0
"""Distance of greys from black and white, in deviations of the noise, from which it is not clipped."""

LONGEST, LIGHTEST, HEAVIEST = 4.0, 2.4, 3.8
"""Deviations beyond which single pixels are left out, as impulses among the noise are; and least and greatest kurtosis
of Gaussian noise then. Of 330 Gaussian noises on photographs all had 2.8 to 3.3, uniform ones 1.8, Laplacian ones more
than 4.2."""

LAGS = ((0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (2, 0), (3, 0), (4, 0), (1, 1), (2, 2))
MOST_ALIKE = 0.15
"""Distances of pixels, down and to the right, that are compared, and their greatest correlation. Of the same noises all
had less than .09, patterned ones more than .3."""


def is_strange_noise(reference: np.ndarray, copy: np.ndarray, region: np.ndarray) -> bool:
    """Return whether noise in a region is surely not Gaussian.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    region : ndarray of bool, shape (rows, cols)
        Blocks with noise and nothing else.

    Returns
    -------
    bool
        False also where there are too few pixels to tell.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.naming.noise_shape import is_strange_noise
    >>> rng = np.random.default_rng(0)
    >>> image = np.full((128, 128), 120, np.uint8)
    >>> noises = rng.normal(0, 9, image.shape), rng.uniform(-15, 15, image.shape)
    >>> [is_strange_noise(image, (image + noise).astype(np.uint8), np.ones((16, 16), bool)) for noise in noises]
    [False, True]
    """
    noise = np.subtract(copy, reference, dtype=np.float32)
    blocks = eroded(region)  # without blocks that have noise in part
    if not blocks.any():
        return False
    pixels = by_block(noise)
    power = np.einsum("rcp,rcp->rc", pixels, pixels)
    blocks &= power <= STRONGEST * np.median(power[blocks])
    inside = pixels_of(blocks, copy.shape)
    if np.count_nonzero(inside) < FEWEST:
        return False
    scale = robust_scale(noise[inside])
    clear = inside & (reference > REACH * scale) & (reference < 255 - REACH * scale)
    if np.count_nonzero(clear) < FEWEST:
        return False
    noise -= noise[clear].mean()
    clear &= np.abs(noise) <= LONGEST * noise[clear].std()
    noise *= clear
    squares = noise * noise
    number = np.count_nonzero(clear)
    power = float(squares.sum()) / number
    kurtosis = float(np.einsum("rc,rc->", squares, squares)) / number / power**2
    if not LIGHTEST <= kurtosis <= HEAVIEST:
        return True
    return any(abs(_covariance(noise, clear, *lag)) > MOST_ALIKE * power for lag in LAGS)


def _covariance(noise: np.ndarray, clear: np.ndarray, down: int, right: int) -> float:
    """Mean product of pixels at a distance, both of them clear."""
    height, width = noise.shape
    first, second = (slice(0, height - down), slice(0, width - right)), (slice(down, None), slice(right, None))
    pairs = np.count_nonzero(clear[first] & clear[second])
    return float(np.einsum("rc,rc->", noise[first], noise[second])) / max(int(pairs), 1)
