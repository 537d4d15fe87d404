"""Whether a copy is misaligned or has another fault that looks like it.

A blur to one side moves the picture too, but smears it along the way; a region that is moved leaves the others worse
after aligning; cells of a mosaic have their own grid.
"""

from __future__ import annotations

import numpy as np
import scipy

from llise.diagnosis.registration import Registration, fit_line, robust_weights
from llise.kinds.warping import Transform

LEAST_FALL = 0.2
"""Least fall of the error against what remains."""

TRAIL = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
"""Parts of the way at which the reference may lie at the same time, if it is smeared."""

LEAST_TRAIL, LEAST_TRAIL_OF_REST, LEAST_TRAIL_LENGTH = 0.05, 0.25, 0.55
"""Least fall by a trail against that by aligning, or against what aligning leaves, and the least deviation of the trail
against the way, of a blur to one side; an even trail from the pixel on has a deviation of 0.58 or more."""

PARTS = 6
"""Parts along each side of a picture that are looked at one by one."""

LEAST_HELPED = 0.86
"""Share of the parts in which aligning must help, of those where it makes a difference: otherwise a region is moved."""

CELLS, CELL_SIDES, STEP = 0.8, range(3, 33), 3
"""Share of the steps of more than some grey levels that lie on a grid, if a copy is made of even cells, and the sides
of the cells that are looked for."""

ROUNDING = 0.05
"""Mean squared error that rounding leaves at the least, added to all errors that are compared."""


class Evidence:
    """How much of the error aligning removes, against what remains.

    Parameters
    ----------
    registration : Registration
        The pictures and the points that are compared.
    at : Transform
        How the reference is moved.
    method : str
        How it is interpolated.
    whole : bool
        Measure everything; otherwise only `fall`.

    Attributes
    ----------
    fall : float
        How much.
    helped : float
        Share of the parts of the picture in which aligning helps, of those where it makes a difference.
    trail : float
        Fall of the rest, against `fall`, where the reference may be smeared along its way instead of moved.
    trail_length : float
        Standard deviation of that trail against the way.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.reduced_pictures import levels
    >>> picture = np.random.default_rng(0).integers(0, 255, (64, 64)).astype(np.uint8)
    >>> registration = Registration(levels(picture, np.roll(picture, 3, axis=1))[0])
    >>> Evidence(registration, Transform(shift_x=3.0), "bilinear", whole=True).is_clear
    True
    """

    def __init__(self, registration: Registration, at: Transform, method: str, whole: bool = False) -> None:
        places, chosen = registration.steep_places(at)
        target, here = registration.target[chosen], registration.unmoved[chosen]
        values = registration.interpolated(method)(*places)
        gain, offset, weights = fit_line(values, target, robust=True)
        rest, unmoved = target - gain * values - offset, target - gain * here - offset
        count = max(float(weights.sum()), 1.0)

        def error_of(moved: np.ndarray) -> float:
            gain, offset, _ = fit_line(moved, target, robust=False, weights=weights)
            left = target - gain * moved - offset
            return float((weights * left) @ left) / count + ROUNDING

        error = float((weights * rest) @ rest) / count + ROUNDING
        # Interpolation smooths too: of a blurred copy, the way back lowers the error as much as the way there.
        back = Transform(*(-value for value in at.values))
        rows, cols = registration.rows[chosen], registration.cols[chosen]
        opposite = registration.interpolated(method)(*registration.level.sources(back, rows, cols))
        self.fall = min(error_of(here), error_of(opposite)) / error - 1
        if not whole:
            return
        self.helped = _helped(registration, chosen, unmoved, rest)
        shares, error_of_trail = _trail(registration, at, method, chosen, weights)
        self.trail = (1 - (error_of_trail / count + ROUNDING) / error) / max(self.fall, 1e-9)
        mean = shares @ TRAIL
        self.trail_length = float(np.sqrt(max(shares @ (TRAIL - mean) ** 2, 0.0)) / max(mean, 1e-9))

    @property
    def is_clear(self) -> bool:
        """Whether the copy is misaligned."""
        much = self.trail >= LEAST_TRAIL or self.trail * self.fall >= LEAST_TRAIL_OF_REST
        smeared = much and self.trail_length >= LEAST_TRAIL_LENGTH
        return self.fall >= LEAST_FALL and self.helped >= LEAST_HELPED and not smeared


def _helped(registration: Registration, chosen: np.ndarray, before: np.ndarray, after: np.ndarray) -> float:
    """Share of the parts of the picture in which aligning helps, of those where it makes a difference.

    Pixels that fit neither before nor after it, such as impulses, count little.
    """
    weights = robust_weights(np.minimum(np.abs(before), np.abs(after)))
    height, width = registration.level.copy.shape
    rows, cols = registration.rows[chosen], registration.cols[chosen]
    part = (PARTS * rows // height * PARTS + PARTS * cols // width).astype(np.intp)
    earlier, later = (np.bincount(part, weights * rest**2, PARTS**2) for rest in (before, after))
    matters = np.abs(earlier - later) > 0.1 * (earlier + later)
    return float((later < earlier)[matters].mean()) if matters.any() else 0.0


def _trail(
    registration: Registration, at: Transform, method: str, chosen: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, float]:
    """Shares of the reference at places along its way that together come nearest to the copy, and the error left."""
    rows, cols, target = registration.rows[chosen], registration.cols[chosen], registration.target[chosen]
    steps = (Transform(*(float(part) * value for value in at.values)) for part in TRAIL)
    values = [registration.interpolated(method)(*registration.level.sources(step, rows, cols)) for step in steps]
    matrix = np.stack([*values, np.ones_like(target)])
    root = np.sqrt(weights)
    triangle = np.asarray(np.linalg.qr((np.concatenate([matrix, target[None]]) * root).T, mode="r"), np.float64)
    # The offset may have any sign.
    columns = np.concatenate([triangle[:, :-1], -triangle[:, -2:-1]], axis=1)
    shares, rest = scipy.optimize.nnls(columns, triangle[:, -1])
    shares = shares[: len(TRAIL)]
    return shares / max(shares.sum(), 1e-9), float(rest**2)


def is_in_cells(reference: np.ndarray, copy: np.ndarray) -> bool:
    """Tell whether a copy is made of even cells, as by pixelation: their grid is that of the copy, whatever is moved.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.

    Returns
    -------
    bool
        False also where the reference is made of such cells.

    Examples
    --------
    >>> import numpy as np
    >>> picture = np.random.default_rng(0).integers(0, 255, (64, 64)).astype(np.uint8)
    >>> is_in_cells(picture, picture[::4, ::4].repeat(4, 0).repeat(4, 1)), is_in_cells(picture, picture)
    (True, False)
    """
    return all(_cell_share(copy, axis) >= CELLS > _cell_share(reference, axis) for axis in (0, 1))


def _cell_share(picture: np.ndarray, axis: int) -> float:
    """Share of the steps between neighbours that lie on the lines of a grid, for the grid that has most of them."""
    steps = np.abs(np.diff(picture.astype(np.int16), axis=axis)) > STEP
    counts = steps.sum(axis=1 - axis, dtype=np.float64)
    lines = np.arange(len(counts))
    return max(float(np.bincount(lines % side, counts).max()) for side in CELL_SIDES) / max(float(counts.sum()), 1.0)
