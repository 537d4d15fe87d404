"""Whether the damage of a case can be named at all, by anyone."""

from __future__ import annotations

import numpy as np
from scipy import ndimage, optimize

LEAST_TRACE = 0.04
"""Share of an error that must set a kind apart from a simpler one."""

LEAST_CELL = 1.5
"""Side of a cell in pixels below which most pixels of a mosaic stay as they are."""

ONE_GREY = 2.0
"""Range of nearly all greys of a region up to which nothing but one grey is left of it."""

PIVOTS = 0.5, 0.12
"""Distance of a pivot from the mean and from mid-grey, against the spread of the picture, that contrast alone has."""

LEAST_LEVELS, LEVEL_SHARE = 3, 0.02
"""Number of grey levels that a quantised region must have, each with at least a share of its pixels."""


def is_visible(
    kind: str, before: np.ndarray, after: np.ndarray, mask: np.ndarray, parameters: dict[str, float]
) -> bool:
    """Return whether a kind differs from all simpler ones in a region.

    In a flat region, a contrast change equals a luminance shift, speckle noise equals Gaussian noise, and quantization
    leaves one or two grey levels. Where contrast or blur leaves one grey, each equals the other and an even patch. A
    mosaic of tiny cells hardly changes anything.
    """
    if kind in ("contrast", "blur") and np.ptp(np.quantile(after[mask], (0.05, 0.95))) <= ONE_GREY:
        return bool(np.ptp(np.quantile(before[mask], (0.05, 0.95))) <= ONE_GREY)
    if kind == "contrast":
        difference = after[mask].astype(float) - before[mask]
        return bool(difference.var() >= LEAST_TRACE * np.mean(difference**2))
    if kind == "speckle_noise":
        greys = before[mask].astype(float)
        return bool(greys.var() >= LEAST_TRACE * np.mean(greys**2))
    if kind == "quantization":
        shares = np.bincount(after[mask], minlength=256) / mask.sum()
        return bool(np.count_nonzero(shares >= LEVEL_SHARE) >= LEAST_LEVELS)
    if kind == "pixelation":
        return parameters.get("cell", LEAST_CELL) >= LEAST_CELL
    return True


def remaining(kind: str, both: np.ndarray, second: np.ndarray) -> float:
    """Return the error that the first kind of a pair still causes after the second one.

    A shift of all greys, which quantization by rounding down causes, does not show that there are few levels.
    """
    difference = both.astype(float) - second
    return float(difference.var() if kind == "quantization" else np.mean(difference**2))


def is_pair_visible(kinds: tuple[str, ...], reference: np.ndarray, copy: np.ndarray) -> bool:
    """Return whether two kinds differ from each of them alone.

    A contrast change and a luminance shift may add up to a contrast change about another grey. A luminance shift or a
    contrast change with quantization may be quantization alone, by a rule that puts the levels elsewhere. Sharpening
    that a blur takes back may be a weaker blur alone.
    """
    if set(kinds) in ({"quantization", "luminance"}, {"quantization", "contrast"}):
        return not _is_quantized_alone(reference, copy)
    if kinds == ("sharpening", "blur"):
        return not _is_blurred_alone(reference, copy)
    return set(kinds) != {"contrast", "luminance"} or not _is_contrast_alone(reference, copy)


def _is_contrast_alone(reference: np.ndarray, copy: np.ndarray) -> bool:
    """Whether contrast and luminance add up to what contrast alone does about its usual pivots."""
    inside = (copy > 0) & (copy < 255)
    if np.count_nonzero(inside) < 16:
        return True
    before, after = reference[inside].astype(float), copy[inside].astype(float)
    mean, spread = before.mean(), before.std() + 1.0
    slope = float((before - mean) @ (after - before)) / (before.size * spread**2)
    shift = float(np.mean(after - before))
    from_mean, from_grey = (abs(shift + slope * (grey - mean)) for grey in (float(reference.mean()), 128.0))
    return bool(min(from_mean / PIVOTS[0], from_grey / PIVOTS[1]) < spread * abs(slope))


def _is_blurred_alone(reference: np.ndarray, copy: np.ndarray) -> bool:
    """Whether a Gaussian blur of the reference leaves nearly nothing of the copy."""
    before, after = reference.astype(float), copy.astype(float)

    def left(logarithm: float) -> float:
        return float(np.mean((ndimage.gaussian_filter(before, np.exp(logarithm)) - after) ** 2))

    found = optimize.minimize_scalar(left, bounds=np.log((0.2, 8.0)), method="bounded", options={"xatol": 0.02})
    return bool(found.fun <= LEAST_TRACE * np.mean((after - before) ** 2))


def _is_quantized_alone(reference: np.ndarray, copy: np.ndarray) -> bool:
    """Whether nearly all pixels have a grey that lies among the reference's greys which became it."""
    within = 0
    for level in np.unique(copy):
        greys = reference[copy == level]
        within += greys.size if greys.min() <= level <= greys.max() else 0
    return within >= 0.9 * copy.size
