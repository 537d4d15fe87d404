"""Gauss-Newton steps to the shift, rotation and scale that bring a reference nearest to a copy.

Each step also fits a straight line between the grey levels, so that a change of contrast or luminance does no harm, and
gives less weight to pixels that fit badly, such as impulses or patches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llise.diagnosis.alignment.reduced_pictures import Level
from llise.diagnosis.alignment.robust_line import fit_line
from llise.kinds.warping import METHODS, Interpolator, Transform

MOST_POINTS = 40_000
"""Pixels on which a step is measured, at most."""

MARGIN = 2
"""Pixels along the borders of the pictures that are not compared."""

FLAT = 0.25
"""Pixels whose slope is less than this share of the root mean square say nothing about a shift."""

LEAST_POINTS = 100
"""Fewest steep pixels; with fewer, all are taken."""

CELL = 16
"""Side in pixels of the cells in which residuals may depend on one another."""

ALL = (0, 1, 2, 3)
"""All of shift_x, shift_y, rotation and scale."""


@dataclass(frozen=True, eq=False)
class Step:
    """One Gauss-Newton step and what it rests on.

    Attributes
    ----------
    transform : Transform
        After the step.
    moved : float
        Root mean square of the way, in pixels of the originals, that the step moves pixels.
    error : float
        Weighted mean squared residual before the step, after a straight line between the grey levels.
    fall : float
        How much of it the step is expected to remove.
    deviations : callable
        Returns the standard deviations of shift_x, shift_y, rotation and scale, if residuals depend on one another
        only within cells of the picture.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.reduced_pictures import levels
    >>> from llise.diagnosis.alignment.registration import Registration
    >>> x = np.arange(96.0)
    >>> picture = 100 + 50 * np.sin(x / 9) * np.sin(x[:, None] / 9)
    >>> moved = 100 + 50 * np.sin((x - 0.3) / 9) * np.sin(x[:, None] / 9)
    >>> found = Registration(levels(picture, moved)[-1]).step(Transform())
    >>> round(found.transform.shift_x, 2)
    0.3
    """

    transform: Transform
    moved: float
    error: float
    fall: float
    deviations: Callable[[], np.ndarray]


class Registration:
    """Gauss-Newton steps on one level.

    Parameters
    ----------
    level : Level
        The pictures.
    most : int
        Pixels on which a step is measured, at most.
    margin : int
        Pixels along the borders of both pictures that are not compared.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.reduced_pictures import levels
    >>> from llise.diagnosis.alignment.registration import Registration
    >>> picture = np.random.default_rng(0).integers(0, 255, (64, 64)).astype(np.uint8)
    >>> Registration(levels(picture, picture)[0]).step(Transform()).error
    0.0
    """

    def __init__(self, level: Level, most: int = MOST_POINTS, margin: int = MARGIN) -> None:
        self.level = level
        self.margin = margin
        height, width = level.copy.shape
        self.stride = stride = max(1, int(np.ceil(np.sqrt(height * width / most))))
        self.rows, self.cols = (at.ravel() for at in np.mgrid[0:height:stride, 0:width:stride].astype(np.float64))
        self.target, self.unmoved = self.at_points(level.copy), self.at_points(level.reference)
        self._interpolators: dict[str, Interpolator] = {}
        self._gradients: Interpolator | None = None

    def step(self, at: Transform, method: str = "bilinear", robust: bool = False, free: tuple[int, ...] = ALL) -> Step:
        """Make a step.

        Parameters
        ----------
        at : Transform
            Where to begin.
        method : str
            How the reference is interpolated.
        robust : bool
            Give less weight to pixels that fit badly.
        free : tuple of int
            Which of shift_x, shift_y, rotation and scale may change.

        Returns
        -------
        Step
            The step.
        """
        places, chosen, slopes = self.steep(at)
        values, target = self.interpolated(method)(*places), self.target[chosen]
        # Of nearest pixels, those that are one pixel off say how far all are: they must keep their weight.
        gain, offset, weights = fit_line(values, target, robust and method != "nearest")
        residual = target - gain * values - offset
        columns = self._columns(at, slopes, chosen)[list(free)]
        matrix = np.concatenate([gain * columns, values[None], np.ones_like(values)[None]])
        weighted = matrix * weights
        gram, right = (weighted @ matrix.T).astype(np.float64), (weighted @ residual).astype(np.float64)
        scale = np.sqrt(np.maximum(np.diag(gram), 1e-12))
        inverse = np.linalg.pinv(gram / np.outer(scale, scale), rcond=1e-9) / np.outer(scale, scale)
        change = inverse @ right
        count = max(float(weights.sum()), 1.0)
        error = float((weights * residual) @ residual) / count
        changes = np.zeros(4)
        changes[list(free)] = change[: len(free)]
        fall = float(right @ change) / count

        def deviations() -> np.ndarray:
            left = residual - (change @ matrix).astype(np.float32)
            cell = self.cells(chosen, CELL)
            scores = np.array([np.bincount(cell, column * left) for column in weighted])
            spread = np.zeros(4)
            spread[list(free)] = np.sqrt(((inverse @ scores) ** 2).sum(axis=1))[: len(free)]
            return spread

        return Step(changed(at, changes), self.way(changes), error, fall, deviations)

    def with_points(self, most: int) -> Registration:
        """Return a registration of the same pictures on other points.

        Parameters
        ----------
        most : int
            Pixels on which a step is measured, at most.

        Returns
        -------
        Registration
            What is known of the reference is shared.
        """
        other = Registration(self.level, most, self.margin)
        other._interpolators, other._gradients = self._interpolators, self._gradients
        return other

    def interpolated(self, method: str) -> Interpolator:
        """Return the reference between its pixels.

        Parameters
        ----------
        method : str
            One of :data:`llise.kinds.warping.METHODS`.

        Returns
        -------
        Interpolator
            The same for each call.
        """
        if method not in self._interpolators:
            self._interpolators[method] = Interpolator(self.level.reference, method)
        return self._interpolators[method]

    def at_points(self, picture: np.ndarray) -> np.ndarray:
        """Return the grey levels of a picture at the points, where it is not moved.

        Parameters
        ----------
        picture : ndarray, shape (h, w)
            A picture of the size of the level.

        Returns
        -------
        ndarray, shape (n,)
            Grey levels.
        """
        return picture[:: self.stride, :: self.stride].ravel()

    def steep(self, at: Transform) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
        """Return where the reference is steep.

        Parameters
        ----------
        at : Transform
            How the reference is moved.

        Returns
        -------
        places : tuple of ndarray
            Rows and columns in the reference.
        chosen : ndarray of bool, shape (n,)
            Points of the copy at which these come to lie.
        slopes : ndarray, shape (2, m)
            Slopes down and across at these places.
        """
        if self._gradients is None:
            self._gradients = Interpolator(np.stack(np.gradient(self.level.reference)), "bilinear")
        y, x = self.level.sources(at, self.rows, self.cols)
        height, width = self.level.reference.shape
        places = zip((y, x, self.rows, self.cols), (height, width, height, width))
        inside = np.logical_and.reduce([(at >= self.margin) & (at <= side - 1 - self.margin) for at, side in places])
        slopes = self._gradients(y, x)
        steepness = np.where(inside, slopes[0] ** 2 + slopes[1] ** 2, 0)
        chosen = inside & (steepness >= FLAT**2 * steepness.mean())
        if np.count_nonzero(chosen) < LEAST_POINTS:
            chosen = inside
        return (y[chosen], x[chosen]), chosen, slopes[:, chosen]

    def cells(self, chosen: np.ndarray, side: int) -> np.ndarray:
        """Return in which square of the picture points lie.

        Parameters
        ----------
        chosen : ndarray of bool, shape (n,)
            Which points.
        side : int
            Side of the squares in pixels of the level.

        Returns
        -------
        ndarray of int
            Number of the square for each chosen point.
        """
        rows, cols = (at[chosen] // side for at in (self.rows, self.cols))
        return (rows * (self.level.copy.shape[1] // side + 1) + cols).astype(np.intp)

    def nearest_method(self, at: Transform) -> str:
        """Return the interpolation with which the moved reference comes nearest to the copy.

        Parameters
        ----------
        at : Transform
            How the reference is moved.

        Returns
        -------
        str
            One of :data:`llise.kinds.warping.METHODS`.
        """
        return min(METHODS, key=lambda method: self.error(at, method))

    def error(self, at: Transform, method: str) -> float:
        """Return the mean squared residual, after a straight line between the grey levels.

        Parameters
        ----------
        at : Transform
            How the reference is moved.
        method : str
            How it is interpolated.

        Returns
        -------
        float
            Pixels that fit badly count little.
        """
        places, chosen, _ = self.steep(at)
        target = self.target[chosen]
        # Not kept: a large picture needs much memory for each of them.
        values = (self._interpolators.get(method) or Interpolator(self.level.reference, method))(*places)
        gain, offset, weights = fit_line(values, target, robust=True)
        rest = target - gain * values - offset
        return float((weights * rest) @ rest / weights.sum())

    def way(self, changes: np.ndarray) -> float:
        """Return the root mean square of the way that pixels move, in pixels of the originals.

        Parameters
        ----------
        changes : ndarray, shape (4,)
            Shifts in pixels, rotation in degrees, scale in per cent.

        Returns
        -------
        float
            The way.
        """
        height, width = self.level.shape
        turning = np.radians(changes[2]) ** 2 + (changes[3] / 100) ** 2
        return float(np.sqrt(changes[0] ** 2 + changes[1] ** 2 + turning * (height**2 + width**2) / 12))

    def _columns(self, at: Transform, slopes: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Derivatives of the values by shift_x, shift_y, rotation and scale."""
        factor, first = self.level.factor, (self.level.factor - 1) / 2
        height, width = self.level.shape
        v = (factor * self.rows[chosen] + first - (height - 1) / 2 - at.shift_y) / factor
        u = (factor * self.cols[chosen] + first - (width - 1) / 2 - at.shift_x) / factor
        a, b = at.linear
        down, across = slopes
        x, y = a * u - b * v, b * u + a * v
        return np.stack(
            [
                -(a * across + b * down) / factor,
                (b * across - a * down) / factor,
                (x * down - y * across) * np.radians(1.0),
                -(x * across + y * down) / (100 + at.scale),
            ]
        ).astype(np.float32)


def changed(at: Transform, changes: np.ndarray) -> Transform:
    """Add changes to a transform.

    Parameters
    ----------
    at : Transform
        The transform.
    changes : ndarray, shape (4,)
        Shifts, rotation and scale.

    Returns
    -------
    Transform
        The sum.

    Examples
    --------
    >>> changed(Transform(shift_x=1.0), [0.5, 0.0, 0.0, 0.0]).shift_x
    1.5
    """
    return Transform(*(float(value + change) for value, change in zip(at.values, changes)))
