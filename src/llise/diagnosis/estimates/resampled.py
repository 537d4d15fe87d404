"""Blur that is nothing but a reduction in size and back, which only the whole picture shows.

It is also looked for beside contrast, luminance or a JPEG coder that came before or after it.
"""

from __future__ import annotations

import numpy as np

from llise.diagnosis.estimates.accounts import Account, account_for
from llise.diagnosis.estimates.chains import GREY
from llise.diagnosis.estimates.fitted_chain import Chain, Step
from llise.diagnosis.estimates.region_pixels import RegionPixels
from llise.kinds.fitting import ROUNDING, Fit
from llise.kinds.jpeg import jpeg_fit
from llise.kinds.jpeg_quality import CoefficientPairs
from llise.kinds.registry import get
from llise.kinds.resampling_fit import Resampling, fit_resampling

LEFT_BY_KERNEL = 0.01, 0.5
"""Shares of the error between which lies what the best kernel leaves of a resampling."""

CLEARLY, LEAST_EXPLAINED, LEAST_CODED = 0.6, 0.97, 0.93
"""Share of what a kernel leaves that a resampling may leave, and share of the error that it must explain, without and
with a coder after it: a difference of one grey level takes some coefficients to another step."""

LEAST_PIXELS = 1024
"""Number of pixels from which on a resampling is told from other blurs."""

BESIDE = {*GREY, "jpeg"}
"""Kinds beside which a resampling is looked for."""

PROMISING = 0.85
"""Share of what a kernel leaves that a resampling may leave before other qualities of the coder are tried."""

LEAST_GAIN = 0.1
"""Least gain of a change of contrast that can be taken back."""

QUALITIES_BESIDE = (-8, -5, -3, -2, -1, 1, 2, 3, 5, 8)
"""Differences of the qualities that are tried for a coder before a resampling from the one before a kernel."""


def may_be_resampled(account: Account) -> bool:
    """Return whether it is worth to look for a resampling.

    Parameters
    ----------
    account : Account
        What kinds account for.

    Returns
    -------
    bool
        Whether it is a blur, not along a line, whose kernel leaves as much as it does of a resampling.

    Examples
    --------
    >>> from llise.diagnosis.estimates.accounts import Account
    >>> from llise.diagnosis.estimates.chains import Chain
    >>> from llise.diagnosis.estimates.resampled import may_be_resampled
    >>> from llise.kinds.fitting import Fit
    >>> blur = Chain((("blur", Fit({"sigma": 1.2})),))
    >>> [may_be_resampled(Account(blur, {"blur": 1.0}, explained, 0.0, 0.0, 0.0)) for explained in (0.95, 0.999)]
    [True, False]
    """
    steps = dict(account.chain.steps)
    if "blur" not in steps or set(steps) - {"blur"} - BESIDE:
        return False
    least, most = LEFT_BY_KERNEL
    is_line = "length" in steps["blur"].parameters
    return not is_line and least <= 1 - account.explained <= most


def resampled_account(account: Account, pixels: RegionPixels) -> Account | None:
    """Look for a reduction in size and back that accounts for clearly more than a kernel does.

    Parameters
    ----------
    account : Account
        What a blur by a kernel, alone or with another kind, accounts for.
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
    >>> from llise.diagnosis.estimates.accounts import account_for
    >>> from llise.diagnosis.estimates.chains import fit_chain
    >>> from llise.diagnosis.estimates.region_pixels import whole_pixels
    >>> from llise.diagnosis.estimates.resampled import resampled_account
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
    steps = account.chain.steps
    place = [kind for kind, _ in steps].index("blur")
    if len(steps) > 1:
        return _resampled_beside(account, pixels, steps[:place], steps[place + 1 :])
    error = (copy - reference)[mask]
    total = float(np.mean(error * error))
    # Programs round several times: the small image, the large one, and some also between rows and columns.
    clearly = CLEARLY * (1 - account.explained) * total + 1.5 * ROUNDING
    left = min(clearly, (1 - LEAST_EXPLAINED) * total + 3 * ROUNDING)
    sigma = steps[place][1].parameters["sigma"]
    found = fit_resampling(reference, copy, mask, sigma, left)
    if found is None:
        return None
    return account_for(Chain((_step(found, sigma),), is_whole=True), pixels)


def _step(found: Resampling, sigma: float) -> Step:
    return "blur", Fit({"sigma": sigma, "factor": found.factor}, found.apply)


def _resampled_beside(
    account: Account, pixels: RegionPixels, before: tuple[Step, ...], after: tuple[Step, ...]
) -> Account | None:
    """What a resampling accounts for that came after or before another kind, if that is clearly more."""
    reference, copy, mask = pixels
    sigma = dict(account.chain.steps)["blur"].parameters["sigma"]
    image = _after(before, reference)
    target, inside = _before_greys(copy, mask, *after) if after and after[0][0] in GREY else (copy, mask)
    coder = after[0][1].apply if after and after[0][0] == "jpeg" else None
    found = fit_resampling(image, target, inside, sigma, np.inf, coder)
    if found is None:
        return None
    blur, left = _step(found, sigma), 1 - account.explained
    later = _fitted_anew(after, found.apply(image), copy, mask)
    beside = account_for(Chain((*before, blur, *later), is_whole=True), pixels)
    if before and before[0][0] == "jpeg" and 1 - beside.explained <= PROMISING * left:
        coders = [jpeg_fit(quality) for quality in _qualities_beside(before[0][1].parameters["quality"])]
        chains = [Chain((("jpeg", earlier), blur), is_whole=True) for earlier in coders]
        beside = max((beside, *(account_for(chain, pixels) for chain in chains)), key=lambda other: other.explained)
    least = LEAST_CODED if coder else LEAST_EXPLAINED
    is_clear = 1 - beside.explained <= CLEARLY * left and beside.explained >= least
    return beside if is_clear else None


def _after(steps: tuple[Step, ...], reference: np.ndarray) -> np.ndarray:
    """The reference after some steps, as a program stores it."""
    return np.clip(np.rint(Chain(steps).images(reference)[-1]), 0, 255) if steps else reference


def _before_greys(copy: np.ndarray, mask: np.ndarray, step: Step) -> tuple[np.ndarray, np.ndarray]:
    """The copy before a straight change of its greys, and the pixels that this did not clip."""
    settings = step[1].parameters
    gain = settings.get("gain", 1.0)
    offset = settings["offset"] if step[0] == "luminance" else settings["pivot"] * (1 - gain)
    if abs(gain) < LEAST_GAIN:
        return copy, mask
    return (copy - np.float32(offset)) / np.float32(gain), mask & (copy > 0) & (copy < 255)


def _fitted_anew(steps: tuple[Step, ...], made: np.ndarray, copy: np.ndarray, mask: np.ndarray) -> tuple[Step, ...]:
    """The kind that came after a resampling, if any, with settings found after it."""
    if not steps:
        return ()
    ((kind, fit),) = steps
    if kind == "jpeg":
        return ((kind, jpeg_fit(*CoefficientPairs(made, copy, mask).nearest_table())),)
    return ((kind, get(kind).estimate(made, copy, mask) or fit),)


def _qualities_beside(quality: float) -> list[float]:
    near = {float(round(quality) + step) for step in QUALITIES_BESIDE}
    return sorted(value for value in near if 1 <= value <= 99)
