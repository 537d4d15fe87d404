"""Blur that is nothing but a reduction in size and back, which only the whole picture shows."""

from __future__ import annotations

import numpy as np

from llise.diagnosis.accounts import Account, account_for
from llise.diagnosis.fitted_chain import Chain
from llise.diagnosis.region_pixels import RegionPixels
from llise.kinds.fitting import ROUNDING, Fit
from llise.kinds.resampling_fit import fit_resampling

LEFT_BY_KERNEL = 0.01, 0.5
"""Shares of the error between which lies what the best kernel leaves of a resampling."""

CLEARLY, LEAST_EXPLAINED = 0.6, 0.97
"""Share of what a kernel leaves that a resampling may leave, and share of the error that it must explain."""

LEAST_PIXELS = 1024
"""Number of pixels from which on a resampling is told from other blurs."""


def may_be_resampled(account: Account) -> bool:
    """Return whether it is worth to look for a resampling.

    Parameters
    ----------
    account : Account
        What kinds account for.

    Returns
    -------
    bool
        Whether it is a blur alone, not along a line, whose kernel leaves as much as it does of a resampling.

    Examples
    --------
    >>> from llise.diagnosis.accounts import Account
    >>> from llise.diagnosis.chains import Chain
    >>> from llise.diagnosis.resampled import may_be_resampled
    >>> from llise.kinds.fitting import Fit
    >>> blur = Chain((("blur", Fit({"sigma": 1.2})),))
    >>> [may_be_resampled(Account(blur, {"blur": 1.0}, explained, 0.0, 0.0, 0.0)) for explained in (0.95, 0.999)]
    [True, False]
    """
    if [kind for kind, _ in account.chain.steps] != ["blur"]:
        return False
    least, most = LEFT_BY_KERNEL
    is_line = "length" in account.chain.steps[0][1].parameters
    return not is_line and least <= 1 - account.explained <= most


def resampled_account(account: Account, pixels: RegionPixels) -> Account | None:
    """Look for a reduction in size and back that accounts for clearly more than a kernel does.

    Parameters
    ----------
    account : Account
        What a blur by a kernel accounts for.
    pixels : RegionPixels
        The whole picture, and the pixels to compare.

    Returns
    -------
    Account or None
        What the resampling accounts for, with the settings ``sigma`` of the kernel and ``factor``, the size before
        divided by the reduced size; None if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from PIL import Image
    >>> from llise.diagnosis.accounts import account_for
    >>> from llise.diagnosis.chains import fit_chain
    >>> from llise.diagnosis.region_pixels import whole_pixels
    >>> from llise.diagnosis.resampled import resampled_account
    >>> image = np.random.default_rng(0).integers(0, 256, (128, 128)).astype(np.uint8)
    >>> copy = np.asarray(Image.fromarray(image).resize((64, 64)).resize((128, 128)))
    >>> pixels = whole_pixels(image, copy, np.ones((16, 16), bool))
    >>> blur = account_for(fit_chain(pixels, ("blur",), 128.0), pixels)
    >>> resampled_account(blur, pixels).chain.steps[0][1].parameters["factor"]
    2.0
    """
    reference, copy, mask = pixels
    if reference.ndim != 2 or np.count_nonzero(mask) < LEAST_PIXELS:
        return None
    error = (copy - reference)[mask]
    total = float(np.mean(error * error))
    # Programs round several times: the small image, the large one, and some also between rows and columns.
    clearly = CLEARLY * (1 - account.explained) * total + 1.5 * ROUNDING
    left = min(clearly, (1 - LEAST_EXPLAINED) * total + 3 * ROUNDING)
    sigma = account.chain.steps[0][1].parameters["sigma"]
    found = fit_resampling(reference, copy, mask, sigma, left)
    if found is None:
        return None
    fit = Fit({"sigma": sigma, "factor": found.factor}, found.apply)
    return account_for(Chain((("blur", fit),), is_whole=True), pixels)
