"""What kinds with their settings account for: the share of each in the error, and how much all of them leave."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llise.diagnosis.chains import BY_GREY, Chain
from llise.diagnosis.region_pixels import RegionPixels
from llise.diagnosis.simulated import follows_detail, likeness, unlikeness, variance_by_grey
from llise.kinds.fitting import ROUNDING
from llise.kinds.speckle_noise import noise_growth


class Account(NamedTuple):
    """What kinds account for on some pixels.

    Attributes
    ----------
    chain : Chain
        The kinds with their settings, in order.
    shares : dict of str to float
        Share of each kind in the error; the sum is 1.
    explained, unlike, growth, detailed : float
        As of :class:`llise.diagnosis.estimates.FaultEstimate`.

    Examples
    --------
    >>> from llise.diagnosis.accounts import Account
    >>> from llise.diagnosis.chains import Chain
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
    >>> from llise.diagnosis.accounts import account_for
    >>> from llise.diagnosis.chains import fit_chain
    >>> from llise.diagnosis.region_pixels import whole_pixels
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
    growth = noise_growth(rest, remade, left) if {"gaussian_noise", "speckle_noise"} & set(parts) else 0.0
    detailed = follows_detail(np.where(left, rest, 0), reference, mask)
    return Account(chain, shares, explained, unlike, growth, detailed)


def _power(values: np.ndarray, places: np.ndarray) -> float:
    chosen = values.ravel().take(places)
    return float(np.mean(chosen * chosen)) if chosen.size else 0.0
