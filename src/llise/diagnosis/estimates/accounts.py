"""What kinds with their settings account for: the share of each in the error, and how much all of them leave."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llise.diagnosis.estimates.chains import BY_GREY, GREY, Chain
from llise.diagnosis.estimates.region_pixels import RegionPixels
from llise.diagnosis.estimates.simulated import follows_detail, likeness, unlikeness, variance_by_grey
from llise.kinds.fitting import ROUNDING
from llise.kinds.speckle_noise import noise_growth

MOSTLY_CLEAR = 0.2
"""Share of pixels far enough from black and white, from which noise before a change of greys is measured on these."""


class Account(NamedTuple):
    """What kinds account for on some pixels.

    Attributes
    ----------
    chain : Chain
        The kinds with their settings, in order.
    shares : dict of str to float
        Share of each kind in the error; the sum is 1.
    explained, unlike, growth, detailed : float
        As of :class:`llise.diagnosis.estimates.copy_estimates.FaultEstimate`.

    Examples
    --------
    >>> from llise.diagnosis.estimates.accounts import Account
    >>> from llise.diagnosis.estimates.chains import Chain
    >>> Account(Chain(()), {"blur": 1.0}, 0.9, 0.0, 0.0, 0.0).explained
    0.9
    """

    chain: Chain
    shares: dict[str, float]
    explained: float
    unlike: float
    growth: float
    detailed: float


def account_for(chain: Chain, pixels: RegionPixels) -> Account:
    """Measure what kinds with their settings account for on some pixels.

    Parameters
    ----------
    chain : Chain
        The kinds with their settings.
    pixels : RegionPixels
        Pixels of the reference and the copy, and which of them count.

    Returns
    -------
    Account
        The share of each kind, and how much of the error all of them explain.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.accounts import account_for
    >>> from llise.diagnosis.estimates.chains import fit_chain
    >>> from llise.diagnosis.estimates.region_pixels import whole_pixels
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> pixels = whole_pixels(image, image + 5, np.ones((16, 16), bool))
    >>> account = account_for(fit_chain(pixels, ("luminance",), float(image.mean())), pixels)
    >>> account.shares, account.explained
    ({'luminance': 1.0}, 1.0)
    """
    reference, copy, mask = pixels
    drawn = chain.draw(reference)
    inside = np.flatnonzero(mask)
    parts = {kind: _power(drawn[i + 1] - drawn[i], inside) for i, (kind, _) in enumerate(chain.steps)}
    whole = sum(parts.values())
    shares = {kind: part / whole if whole > 0 else 1 / len(parts) for kind, part in parts.items()}
    total = _power(copy - reference, inside)
    if total <= 0:
        return Account(chain, shares, 1.0, 0.0, 0.0, 0.0)
    is_random = any(fit.draw for _, fit in chain.steps)
    remade = chain.images(reference)[-1] if is_random else drawn[-1]
    left = mask if chain.hit is None else mask & ~chain.hit
    rest, expected = copy - remade, drawn[-1] - remade
    if chain.hit is not None:
        expected = np.where(np.abs(expected) > 5 * np.std(rest[left]) + 0.5, 0, expected) if left.any() else expected
    pixels_left = np.flatnonzero(left)
    unexplained = _power(rest, pixels_left)
    unlike = 0.0
    if is_random:
        unlike = unlikeness(np.where(left, rest, 0), np.where(left, expected, 0), mask)
    elif set(parts) <= set(BY_GREY):
        unlike = float(np.log1p(variance_by_grey(reference[mask], copy[mask]) / ROUNDING))
    if is_random:
        match = float(np.clip(1 - 2 * max(abs(likeness(rest, left) - likeness(expected, left)) - 0.05, 0), 0, 1))
        unexplained -= match * min(_power(expected, pixels_left) * 1.05, unexplained)
    share = pixels_left.size / max(inside.size, 1)
    explained = float(np.clip(1 - max(unexplained - 1.5 * ROUNDING, 0.0) * share / total, 0.0, 1.0))
    growth = _growth(chain, rest, reference, remade, left)
    detailed = follows_detail(np.where(left, rest, 0), reference, mask)
    return Account(chain, shares, explained, unlike, growth, detailed)


def _growth(chain: Chain, rest: np.ndarray, reference: np.ndarray, remade: np.ndarray, mask: np.ndarray) -> float:
    """How clearly noise grows with the grey level, of the copy and of the reference if a change of greys came after it.

    Noise that came first was clipped to 8 bits before the greys were changed, which makes it weaker at some greys.
    """
    kinds = [kind for kind, _ in chain.steps]
    if not {"gaussian_noise", "speckle_noise"} & set(kinds):
        return 0.0
    growth = noise_growth(rest, remade, mask)
    gain = next((fit.parameters["gain"] for kind, fit in chain.steps if kind == "contrast"), 1.0)
    if growth and set(kinds) & set(GREY) and gain > 0:
        reach = 3 * float(np.std(rest[mask])) if mask.any() else 0.0
        clear = mask & (remade > reach) & (remade < 255 - reach)
        if np.count_nonzero(clear) > MOSTLY_CLEAR * np.count_nonzero(mask):
            growth = min(growth, noise_growth(rest / np.float32(gain), reference, clear))
    return growth


def _power(values: np.ndarray, places: np.ndarray) -> float:
    chosen = values.ravel().take(places)
    return float(np.mean(chosen * chosen)) if chosen.size else 0.0
