"""What speaks for a misalignment and against it, as columns of a logistic regression that the training fits.

A blur to one side moves a picture too, but smears it along the way; a warp or a moved region leaves parts of it beside
their place; a filter that blurs lets it fit as well where it lies; a mosaic has its samples beside the middle of cells.
"""

from __future__ import annotations

import numpy as np

from llise.diagnosis.alignment.matched_blur import match_blur
from llise.diagnosis.alignment.places import NOTHING
from llise.diagnosis.alignment.registration import (
    Registration,
    fit_line,
    mean_square,
    robust_weights,
    usual_size,
)
from llise.kinds.jpeg_quality import CoefficientPairs

COLUMNS = ("constant", "log fall", "log strain", "long smear", "cells", "coded", "log way")

PART, ROUNDING = 32, 0.05
"""Side in pixels of parts that are looked at one by one; mean squared error that rounding leaves at the least."""

TRAIL = np.linspace(-2.0, 4.0, 25)
"""A blur along a line has the reference at several places at the same time: here in ways of the misalignment."""

CODED_SIDE = 160
"""Longest sides of the middle of the pictures on which JPEG is tried."""


def fall_of(registration: Registration, at: np.ndarray, method: str, others: tuple[np.ndarray, ...] = ()) -> float:
    """How much of the error aligning removes, against what remains."""
    places, chosen, _ = registration.steep(at)
    target = registration.target[chosen]
    values = registration.interpolated(method)(*places)
    gain, offset, weights = fit_line(values, target, robust=True)
    error = mean_square(target - gain * values - offset, weights) + ROUNDING
    back = registration.level.sources(-at, registration.rows[chosen], registration.cols[chosen])
    unmoved = [registration.unmoved[chosen], registration.interpolated(method)(*back), *(one[chosen] for one in others)]
    return min(mean_square(_left(one, target, weights), weights) + ROUNDING for one in unmoved) / error - 1


def columns(plain: Registration, found: Registration, at: np.ndarray, method: str, way: float) -> np.ndarray:
    """The columns of a place that was `found` with the reference, or with one that is as blurred as the copy."""
    blurred = found.at_points(match_blur(plain.level, NOTHING).reference)
    fall = fall_of(found, at, method, (blurred,))
    smear, length = _smear(plain, found, at, method)
    level = plain.level
    cells = min(max(_cells(level.copy, axis) - _cells(level.reference, axis), 0.0) for axis in (0, 1))
    return np.array(
        [
            1.0,
            np.log(max(fall, 1e-3)),
            np.log(_strain(found, at, method, blurred) + 0.01),
            # An even trail from the pixel on has a length of 0.58; noise hides most of what a trail removes.
            float(np.clip(smear * max(1.0, 50 / max(fall, 1e-9)), 0, 1)) if length >= 0.5 else 0.0,
            cells,
            -np.log(_left_by_coding(level.reference, level.copy) + 0.01),
            np.log(way),
        ]
    )


def _left(values: np.ndarray, target: np.ndarray, weights: np.ndarray) -> np.ndarray:
    gain, offset, _ = fit_line(values, target, robust=False, weights=weights)
    return target - gain * values - offset


def _strain(found: Registration, at: np.ndarray, method: str, blurred: np.ndarray) -> float:
    """Error that goes if each part is moved a little by itself, or not at all, against what aligning removes."""
    places, chosen, slopes = found.steep(at)
    target = found.target[chosen]
    values = found.interpolated(method)(*places)
    gain, offset, first = fit_line(values, target, robust=True)
    rest = target - gain * values - offset
    before = min(
        (_left(one[chosen], target, first) for one in (found.unmoved, blurred)), key=lambda r: mean_square(r, first)
    )
    removed = mean_square(before, first) - mean_square(rest, first)
    # Pixels that fit neither before aligning nor after it, such as impulses, count little.
    weights = robust_weights(np.minimum(np.abs(before), np.abs(rest)), max(usual_size(before), usual_size(rest)))
    part = found.cells(chosen, PART)

    def sums(values: np.ndarray) -> np.ndarray:
        return np.bincount(part, weights * values)

    down, across = gain * slopes
    gram = np.array([[sums(down * down), sums(down * across)], [sums(down * across), sums(across * across)]])
    right = np.array([sums(down * rest), sums(across * rest)])
    inverse = np.linalg.pinv(np.moveaxis(gram, -1, 0), rcond=1e-6, hermitian=True)
    further = np.einsum("ip,pij,jp->p", right, inverse, right)
    better = np.maximum(further, sums(rest**2) - sums(before**2)).sum() / max(float(weights.sum()), 1.0)
    return float(max(better, 0.0) / max(removed, 1e-9))


def _smear(plain: Registration, found: Registration, at: np.ndarray, method: str) -> tuple[float, float]:
    """Share of the rest that goes if the reference is at places along its way in shares that fit best, and how far
    these places spread against the way."""
    places, chosen, _ = found.steep(at)
    rows, cols, target = found.rows[chosen], found.cols[chosen], found.target[chosen]
    values = found.interpolated(method)(*places)
    gain, offset, weights = fit_line(values, target, robust=True)
    error = mean_square(target - gain * values - offset, weights)
    trail = [plain.interpolated("bilinear")(*plain.level.sources(part * at, rows, cols)) for part in TRAIL]
    ones = np.ones_like(target)
    matrix = np.stack([*trail, ones, -ones, target])  # the offset may have any sign
    triangle = np.asarray(np.linalg.qr((matrix * np.sqrt(weights)).T, mode="r"), np.float64)
    from scipy.optimize import nnls  # only here: slow to import

    fitted, rest = nnls(triangle[:, :-1], triangle[:, -1])
    shares = fitted[: len(TRAIL)] / max(float(fitted[: len(TRAIL)].sum()), 1e-9)
    mean = float(shares @ TRAIL)
    spread = float(np.sqrt(max(float(shares @ (TRAIL - mean) ** 2), 0.0))) / max(abs(mean), 1e-9)
    trail_error = float(rest**2) / max(float(weights.sum()), 1.0)
    return 1 - (trail_error + ROUNDING) / (error + ROUNDING), spread


def _cells(picture: np.ndarray, axis: int) -> float:
    """Share of the steps between neighbours that lie on lines with more steps than the lines beside them."""
    steps = np.abs(np.diff(picture, axis=axis)) > 3
    counts = np.pad(steps.sum(axis=1 - axis, dtype=np.float64), 1)
    lines = counts[1:-1]
    return float(lines[(lines > counts[:-2]) & (lines > counts[2:])].sum()) / max(float(counts.sum()), 1.0)


def _left_by_coding(reference: np.ndarray, copy: np.ndarray) -> float:
    """Share of the error that coding the reference where it lies leaves, in the middle of the pictures."""
    starts = ((side - min(side, CODED_SIDE)) // 2 // 8 * 8 for side in reference.shape)
    box = tuple(slice(start, start + CODED_SIDE) for start in starts)
    return CoefficientPairs(reference[box], copy[box], np.ones(reference[box].shape, bool)).left_by_coding()
