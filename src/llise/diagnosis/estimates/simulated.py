"""Noise and impulses that another kind came after: their strength is found by simulating both."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from llise.diagnosis.estimates.region_pixels import RegionPixels
from llise.differences import by_block
from llise.kinds.fitting import ROUNDING, Fit, robust_scale
from llise.kinds.gaussian_noise import noise_fit
from llise.kinds.impulse_noise import impulse_fit

LEAST_BLOCKS = 8
"""Fewest blocks that tell whether a field follows the detail of an image."""


def likeness(field: np.ndarray, mask: np.ndarray) -> float:
    """Return the correlation between neighbours, mean of across and down.

    Parameters
    ----------
    field : ndarray, shape (h, w)
        Differences about zero.
    mask : ndarray of bool, shape (h, w)
        Pixels to use.

    Returns
    -------
    float
        Correlation, -1 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.simulated import likeness
    >>> round(likeness(np.ones((4, 4)), np.ones((4, 4), bool)), 3)
    1.0
    """
    masked = np.where(mask, field, 0)
    power = _products(masked, masked) / max(int(np.count_nonzero(mask)), 1)
    if power < 1e-9:
        return 0.0
    total = 0.0
    for first, second in (((slice(None), slice(1, None)), (slice(None), slice(None, -1))), (slice(1, None), slice(-1))):
        pairs = int(np.count_nonzero(mask[first] & mask[second]))
        total += _products(masked[first], masked[second]) / (pairs or 1) / power
    return total / 2


def unlikeness(field: np.ndarray, other: np.ndarray, mask: np.ndarray) -> float:
    """Return how differently two fields are spread over blocks: impulses are strong in some, noise is in all of them.

    Parameters
    ----------
    field, other : ndarray, shape (h, w)
        Differences about zero.
    mask : ndarray of bool, shape (h, w)
        Pixels to use.

    Returns
    -------
    float
        Mean distance between the logarithms of the powers of blocks, both in the order of their size; 0 if alike.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.simulated import unlikeness
    >>> even, spike = np.full((8, 16), 2.0), np.zeros((8, 16))
    >>> spike[0, 0] = 20
    >>> everywhere = np.ones((8, 16), bool)
    >>> unlikeness(even, -even, everywhere), unlikeness(even, spike, everywhere) > 1
    (0.0, True)
    """
    full = by_block(mask).all(axis=-1)
    if not full.any():
        return 0.0
    powers = (np.mean(by_block(values)[full] ** 2, axis=-1, dtype=np.float64) for values in (field, other))
    one, two = (np.sort(np.log(power + ROUNDING)) for power in powers)
    return float(np.abs(one - two).mean())


def follows_detail(field: np.ndarray, reference: np.ndarray, mask: np.ndarray) -> float:
    """Return how much stronger a field is in blocks with more detail.

    Parameters
    ----------
    field : ndarray, shape (h, w)
        Differences about zero.
    reference : ndarray, shape (h, w)
        Image whose detail counts.
    mask : ndarray of bool, shape (h, w)
        Pixels to use.

    Returns
    -------
    float
        Correlation, over blocks, of the logarithms of the field's power and of the variance of the reference.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.simulated import follows_detail
    >>> image = np.random.default_rng(0).normal(size=(64, 64)) * np.linspace(1, 40, 64)
    >>> everywhere = np.ones((64, 64), bool)
    >>> bool(follows_detail(0.1 * image, image, everywhere) > 0.9)
    True
    """
    full = by_block(mask).all(axis=-1)
    if np.count_nonzero(full) < LEAST_BLOCKS:
        return 0.0
    power = np.log(np.mean(by_block(field)[full] ** 2, axis=-1, dtype=np.float64) + ROUNDING)
    detail = np.log(np.var(by_block(reference)[full], axis=-1, dtype=np.float64) + 1)
    power, detail = power - power.mean(), detail - detail.mean()
    spread = np.sqrt(float(power @ power) * float(detail @ detail))
    return float(power @ detail) / spread if spread > 1e-9 else 0.0


def variance_by_grey(before: np.ndarray, after: np.ndarray) -> float:
    """Return the variance of pixels that had the same grey level.

    Parameters
    ----------
    before, after : ndarray, shape (n,)
        Grey levels of the pixels in two images.

    Returns
    -------
    float
        What no table of grey levels explains.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.simulated import variance_by_grey
    >>> greys = np.arange(1000) % 250
    >>> variance_by_grey(greys, 255 - greys), variance_by_grey(greys, greys + np.arange(1000) // 500) > 0.2
    (0.0, True)
    """
    greys = np.clip(np.rint(before), 0, 255).astype(int)
    count = np.bincount(greys, minlength=256)
    mean = np.bincount(greys, after, 256) / np.maximum(count, 1)
    rest = after - mean[greys]
    return float(rest @ rest) / max(greys.size - int(np.count_nonzero(count)), 1)


def _products(a: np.ndarray, b: np.ndarray) -> float:
    """Sum of the products of pixels, row by row."""
    return float(np.einsum("ij,ij->i", a, b).sum(dtype=np.float64))


def solve_noise(pixels: RegionPixels, after: Fit, error: np.ndarray) -> Fit:
    """Find the noise before a step, such that a simulated copy has as much of it as the real one.

    Parameters
    ----------
    pixels : RegionPixels
        Reference, copy, and the pixels to compare.
    after : Fit
        The step that follows the noise.
    error : ndarray, shape (h, w)
        Copy less what `after` makes of the reference.

    Returns
    -------
    Fit
        The noise.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.simulated import solve_noise
    >>> from llise.diagnosis.estimates.region_pixels import RegionPixels
    >>> from llise.kinds.fitting import Fit
    >>> image = np.full((64, 64), 100, np.float32)
    >>> error = np.random.default_rng(1).normal(0, 6, image.shape)
    >>> half = Fit({}, lambda grey: 100 + (grey - 100) / 2)
    >>> pixels = RegionPixels(image, image + error, np.ones(image.shape, bool))
    >>> round(solve_noise(pixels, half, error).parameters["sigma"])
    12
    """
    return solve_strength(pixels, after, error, noise_fit)


def solve_strength(pixels: RegionPixels, after: Fit, error: np.ndarray, noise: Callable[[float], Fit]) -> Fit:
    """Find the strength of any noise before a step, such that a simulated copy has as much of it as the real one.

    Parameters
    ----------
    pixels, after, error
        As for :func:`solve_noise`.
    noise : callable
        ``noise(sigma)`` gives the noise of a standard deviation.

    Returns
    -------
    Fit
        The noise.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.simulated import solve_strength
    >>> from llise.diagnosis.estimates.region_pixels import RegionPixels
    >>> from llise.kinds.fitting import Fit
    >>> from llise.kinds.speckle_noise import speckle_fit
    >>> image = np.full((64, 64), 128, np.float32)
    >>> error = np.random.default_rng(1).normal(0, 6, image.shape)
    >>> half = Fit({}, lambda grey: 128 + (grey - 128) / 2)
    >>> pixels = RegionPixels(image, image + error, np.ones(image.shape, bool))
    >>> round(solve_strength(pixels, half, error, lambda sigma: speckle_fit(sigma, 1.0)).parameters["sigma"])
    12
    """
    reference, _, mask = pixels
    wanted = float(np.mean(error[mask] ** 2))
    expected = after.apply(reference)

    def power(sigma: float) -> float:
        simulated = after.apply(noise(sigma).draw(reference, np.random.default_rng(0)))  # type: ignore[misc]
        return float(np.mean((simulated - expected)[mask] ** 2))

    return noise(_solve(power, wanted, start=float(np.sqrt(max(wanted - ROUNDING, 0.05))), most=150.0, exponent=2.0))


def solve_impulses(pixels: RegionPixels, after: Fit, error: np.ndarray) -> Fit:
    """Find the impulses before a step, such that a simulated copy has as much of them as the real one.

    Parameters
    ----------
    pixels, after, error
        As for :func:`solve_noise`.

    Returns
    -------
    Fit
        The impulses.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.simulated import solve_impulses
    >>> from llise.diagnosis.estimates.region_pixels import RegionPixels
    >>> from llise.kinds.fitting import Fit
    >>> image = np.full((64, 64), 100, np.float32)
    >>> copy = np.where(np.random.default_rng(1).random(image.shape) < 0.03, 255.0, 100)
    >>> fit = solve_impulses(RegionPixels(image, copy, np.ones(image.shape, bool)), Fit({}), copy - image)
    >>> 0.02 < fit.parameters["share"] < 0.04, round(fit.parameters["salt"], 1)
    (True, 1.0)
    """
    reference, _, mask = pixels
    expected = after.apply(reference)
    # Small differences may come from a step that is not known exactly.
    least = 2 * robust_scale(error[mask])

    def large(values: np.ndarray) -> float:
        return float(np.mean(np.where(np.abs(values) > least, values, 0) ** 2))

    wanted, shift = large(error[mask]), float(np.mean(error[mask]))
    level = float(reference[mask].mean())
    square = float(np.mean(reference[mask] ** 2))
    salt, share = 0.5, 0.01
    for _ in range(3):
        strength = max(salt * (255**2 - 510 * level) + square, 25.0)

        def power(share: float, salt: float = salt) -> float:
            simulated = after.apply(impulse_fit(share, salt).draw(reference, np.random.default_rng(0)))  # type: ignore[misc]
            return large((simulated - expected)[mask])

        share = _solve(power, wanted, start=min(wanted / strength, 0.5), most=0.9, exponent=1.0)
        salt = float(np.clip((shift / max(share, 1e-6) + level) / 255, 0.0, 1.0))
    return impulse_fit(share, salt)


def _solve(power: Callable[[float], float], wanted: float, start: float, most: float, exponent: float) -> float:
    """The argument at which a power that grows about with the given exponent reaches a wanted value."""
    at = min(max(start, 1e-5), most)
    best, miss = at, np.inf
    for _ in range(4):
        measured = power(at)
        ratio = (wanted + 1e-6) / (measured + 1e-6)
        if abs(np.log(ratio)) < miss:
            best, miss = at, abs(float(np.log(ratio)))
        if miss < 0.03:
            break
        at = float(np.clip(at * np.clip(ratio, 0.05, 20.0) ** (1 / exponent), 1e-5, most))
    return best
