"""Gauss-Newton steps to the place that brings a reference nearest to a copy.

Each step also fits a straight line between the grey levels, so that a change of contrast or luminance does no harm, and
gives less weight to pixels that fit badly, such as impulses or patches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llise.diagnosis.alignment.places import Level, derivatives, way
from llise.kinds.warping import METHODS, Interpolator

MARGIN, CELL = 2, 16
"""Pixels along the borders that are not compared; side of cells within which residuals may depend on one another."""

ALL = (0, 1, 2, 3, 4)

ROBUST = 3.0
"""Residual, against their usual size, from which a pixel counts little."""


@dataclass(frozen=True, eq=False)
class Step:
    """A Gauss-Newton step: where it leads, by how much pixels move, and the error before it and its expected fall."""

    at: np.ndarray
    moved: float
    error: float
    fall: float
    deviations: Callable[[], np.ndarray]


class Registration:
    """Steps on one level, measured on at most so many of its pixels."""

    def __init__(self, level: Level, most: int = 40_000, margin: int = MARGIN) -> None:
        self.level, self.margin = level, margin
        height, width = level.copy.shape
        self.stride = stride = max(1, int(np.ceil(np.sqrt(height * width / most))))
        self.rows, self.cols = (at.ravel() for at in np.mgrid[0:height:stride, 0:width:stride].astype(np.float64))
        self.target, self.unmoved = self.at_points(level.copy), self.at_points(level.reference)
        self._interpolators: dict[str, Interpolator] = {}
        self._gradients = Interpolator(np.stack(np.gradient(level.reference)), "bilinear")

    def at_points(self, picture: np.ndarray) -> np.ndarray:
        """Grey levels of a picture at the points, where it is not moved."""
        return picture[:: self.stride, :: self.stride].ravel()

    def interpolated(self, method: str) -> Interpolator:
        """The reference between its pixels."""
        if method not in self._interpolators:
            self._interpolators[method] = Interpolator(self.level.reference, method)
        return self._interpolators[method]

    def steep(self, at: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
        """Places where the moved reference is steep, the points of the copy that come from there, slopes (2, n)."""
        y, x = self.level.sources(at, self.rows, self.cols)
        limits = zip((y, x, self.rows, self.cols), (*self.level.reference.shape, *self.level.copy.shape))
        inside = np.logical_and.reduce([(p >= self.margin) & (p <= side - 1 - self.margin) for p, side in limits])
        slopes = self._gradients(y, x)
        steepness = np.where(inside, slopes[0] ** 2 + slopes[1] ** 2, 0)
        chosen = inside & (steepness >= 0.25**2 * steepness.mean())  # flat pixels say nothing about a shift
        chosen = inside if np.count_nonzero(chosen) < 100 else chosen
        return (y[chosen], x[chosen]), chosen, slopes[:, chosen]

    def step(self, at: np.ndarray, method: str = "bilinear", robust: bool = False, free: tuple[int, ...] = ALL) -> Step:
        """A step; only the `free` ones of the five numbers change."""
        places, chosen, slopes = self.steep(at)
        values, target = self.interpolated(method)(*places), self.target[chosen]
        # Of nearest pixels, those that are one pixel off say how far all are: they must keep their weight.
        gain, offset, weights = fit_line(values, target, robust and method != "nearest")
        residual = target - gain * values - offset
        factor, first = self.level.factor, (self.level.factor - 1) / 2
        points = (factor * side[chosen] + first for side in (self.rows, self.cols))
        by = np.einsum("in,ijn->jn", slopes / factor, derivatives(at, self.level.shape, *points))[list(free)]
        matrix = np.concatenate([gain * by, values[None], np.ones_like(values)[None]])
        weighted = matrix * weights
        gram, right = weighted @ matrix.T, weighted @ residual
        scale = np.sqrt(np.maximum(np.diag(gram), 1e-12))
        inverse = np.linalg.pinv(gram / np.outer(scale, scale), rcond=1e-9) / np.outer(scale, scale)
        change, count = inverse @ right, max(float(weights.sum()), 1.0)
        changes = np.zeros(5)
        changes[list(free)] = change[: len(free)]

        def deviations() -> np.ndarray:
            left = residual - change @ matrix
            cell = self.cells(chosen, CELL)
            scores = np.array([np.bincount(cell, column * left) for column in weighted])
            spread = np.zeros(5)
            spread[list(free)] = np.sqrt(((inverse @ scores) ** 2).sum(axis=1))[: len(free)]
            return spread

        error = float((weights * residual) @ residual) / count
        return Step(at + changes, way(changes, self.level.shape), error, float(right @ change) / count, deviations)

    def refined(self, at: np.ndarray, method: str = "bilinear", n_steps: int = 3) -> np.ndarray:
        """Where some robust steps lead, or the first of them that moves nothing."""
        for _ in range(n_steps):
            step = self.step(at, method, robust=True)
            at = step.at
            if step.moved < 0.002 * self.level.factor:
                break
        return at

    def cells(self, chosen: np.ndarray, side: int) -> np.ndarray:
        """Number of the square of the picture in which each chosen point lies."""
        rows, cols = (at[chosen] // side for at in (self.rows, self.cols))
        return (rows * (self.level.copy.shape[1] // side + 1) + cols).astype(np.intp)

    def nearest_method(self, at: np.ndarray) -> str:
        """The interpolation with which the moved reference comes nearest to the copy."""
        return min(METHODS, key=lambda method: self.error(at, method))

    def error(self, at: np.ndarray, method: str) -> float:
        """Mean squared residual after a straight line between the grey levels; what fits badly counts little."""
        places, chosen, _ = self.steep(at)
        target = self.target[chosen]
        values = (self._interpolators.get(method) or Interpolator(self.level.reference, method))(*places)
        gain, offset, weights = fit_line(values, target, robust=True)
        return mean_square(target - gain * values - offset, weights)


def mean_square(rest: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean of squares."""
    return float((weights * rest) @ rest) / max(float(weights.sum()), 1.0)


def fit_line(
    values: np.ndarray, target: np.ndarray, robust: bool, weights: np.ndarray | None = None
) -> tuple[float, float, np.ndarray]:
    """Gain and offset of a straight line between grey levels, and the weights of the pixels."""
    weights = np.ones(len(target)) if weights is None else weights
    for _ in range(3 if robust else 1):
        count = max(float(weights.sum()), 1e-9)
        mean, target_mean = float(weights @ values) / count, float(weights @ target) / count
        centred = values - mean
        power = float((weights * centred) @ centred)
        gain = float((weights * centred) @ (target - target_mean)) / power if power > 0 else 1.0
        offset = target_mean - gain * mean
        if robust:
            weights = robust_weights(target - gain * values - offset)
    return gain, offset, weights


def usual_size(residual: np.ndarray) -> float:
    """Standard deviation that most residuals have, at least 1 grey level."""
    return max(1.4826 * float(np.median(np.abs(residual))), 1.0) if residual.size else 1.0


def robust_weights(residual: np.ndarray, usual: float | None = None) -> np.ndarray:
    """Weights of pixels, small where the residual is far greater than usual."""
    usual = usual_size(residual) if usual is None else usual
    return 1 / (1 + (residual / (ROBUST * usual)) ** 2) ** 2
