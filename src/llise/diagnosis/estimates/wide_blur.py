"""Blur by a wide Gaussian kernel, which looks further than the surroundings of a region on which kinds are measured.

In a smooth picture only a wide kernel makes an error that can be seen.  With mirrored borders it is a product in the
cosine domain, so that the whole picture is blurred as quickly as with a narrow one.
"""

from __future__ import annotations

import numpy as np
import scipy

from llise.diagnosis.estimates.accounts import Account, account_for
from llise.diagnosis.estimates.fitted_chain import Chain
from llise.diagnosis.estimates.region_pixels import RegionPixels
from llise.kinds.fitting import Fit
from llise.kinds.minimum import bounded_minimum

WIDE, LEFT, EXPLAINED = 7.0, 0.004, 0.95
"""Sigma from which a kernel may look further than the surroundings, share of the error that it must leave then, and the
share that a wide kernel must explain: the mean grey of a picture explains some of any patch."""

SIGMAS = np.geomspace(6.0, 256.0, 9)
"""Widths from which the search starts."""


def may_be_wider(account: Account) -> bool:
    """Return whether it is worth to look for a wider kernel on the whole picture.

    Parameters
    ----------
    account : Account
        What kinds account for.

    Returns
    -------
    bool
        Whether it is a wide blur alone, neither along a line nor over a disc, that leaves something.

    Examples
    --------
    >>> from llise.diagnosis.estimates.accounts import Account
    >>> from llise.diagnosis.estimates.fitted_chain import Chain
    >>> from llise.diagnosis.estimates.wide_blur import may_be_wider
    >>> from llise.kinds.fitting import Fit
    >>> blurs = [Chain((("blur", Fit({"sigma": sigma})),)) for sigma in (1.2, 28.0)]
    >>> [may_be_wider(Account(blur, {"blur": 1.0}, 0.9, 0.0, 0.0, 0.0)) for blur in blurs]
    [False, True]
    """
    steps = dict(account.chain.steps)
    if set(steps) != {"blur"} or account.chain.is_whole:
        return False
    return steps["blur"].parameters["sigma"] >= WIDE and 1 - account.explained >= LEFT


def wide_account(account: Account, pixels: RegionPixels) -> Account | None:
    """Look for the Gaussian kernel that comes nearest to a copy if it was made from the whole picture.

    Parameters
    ----------
    account : Account
        What a blur that was fitted to a region and its surroundings accounts for.
    pixels : RegionPixels
        The whole picture, and the pixels to compare.

    Returns
    -------
    Account or None
        What the wide blur accounts for; None if that is little, or no more.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import ndimage
    >>> from llise.diagnosis.estimates.accounts import account_for
    >>> from llise.diagnosis.estimates.chains import fit_chain
    >>> from llise.diagnosis.estimates.region_pixels import region_pixels, whole_pixels
    >>> from llise.diagnosis.estimates.wide_blur import wide_account
    >>> image = ndimage.gaussian_filter(np.random.default_rng(0).normal(128, 2000, (256, 256)), 12)
    >>> before, after = (np.clip(x, 0, 255).astype(np.uint8) for x in (image, ndimage.gaussian_filter(image, 40)))
    >>> region = np.zeros((32, 32), bool)
    >>> region[10:22, 8:20] = True
    >>> narrow = account_for(fit_chain(near := region_pixels(before, after, region, 1), ("blur",), 128.0), near)
    >>> wide = wide_account(narrow, whole_pixels(before, after, region))
    >>> round(wide.chain.steps[0][1].parameters["sigma"]), wide.explained > narrow.explained
    (40, True)
    """
    reference, copy, mask = pixels
    target = copy[mask]

    spectrum = _spectrum(reference)

    def error(logarithm: float) -> float:
        rest = _blurred(spectrum, float(np.exp(logarithm)))[mask] - target
        return float(rest @ rest)

    starts = np.log(SIGMAS)
    best = int(np.argmin([error(start) for start in starts.tolist()]))
    low, high = starts[max(best - 1, 0)], starts[min(best + 1, len(starts) - 1)]
    sigma = float(np.exp(bounded_minimum(error, float(low), float(high), 0.005, most=12)[0]))
    fit = Fit({"sigma": sigma}, lambda image: _blurred(_spectrum(image), sigma))
    found = account_for(Chain((("blur", fit),), is_whole=True), pixels)
    return found if found.explained >= max(EXPLAINED, account.explained) else None


def _spectrum(image: np.ndarray) -> np.ndarray:
    """Cosine coefficients of an image."""
    return scipy.fft.dctn(image.astype(np.float32), norm="ortho")


def _blurred(spectrum: np.ndarray, sigma: float) -> np.ndarray:
    """The image with these cosine coefficients after a Gaussian kernel, with mirrored borders."""
    rows, cols = (np.exp(-0.5 * (sigma * np.pi * np.arange(n, dtype=np.float32) / n) ** 2) for n in spectrum.shape)
    return scipy.fft.idctn(rows[:, None] * spectrum * cols, norm="ortho")
