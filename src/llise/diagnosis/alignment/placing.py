"""Whether a copy is shifted, turned or scaled as a whole, by how much, and the reference brought to the copy's grid.

A copy counts as misaligned only where aligning removes much of its error (:mod:`llise.diagnosis.alignment.evidence`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from llise.diagnosis.alignment.confidence import LEAST_FALL, Grounds
from llise.diagnosis.alignment.evidence import Evidence, is_coded, is_in_cells
from llise.diagnosis.alignment.matched_blur import match_blur
from llise.diagnosis.alignment.reduced_pictures import Level, levels
from llise.diagnosis.alignment.registration import Registration
from llise.diagnosis.alignment.shift_search import FURTHEST_ROTATION, FURTHEST_SCALE, FURTHEST_SHIFT, search
from llise.diagnosis.result import Interval
from llise.differences import BLOCK, by_block, pixels_of
from llise.filters import greatest_around
from llise.kinds.warping import Transform, warp

LEAST_SIDE = 48
"""Smallest side of a picture that is aligned; there is too little in a smaller one to tell a shift from a fault."""

SCREENED = 2
"""Reduction of the pictures on which most copies are found to lie where they should."""

LEAST_FALL_REDUCED = 0.05
"""Least fall of the error on reduced pictures, against what remains, with which a measurement goes on."""

LEAST_WAY = 0.03
"""Root mean square of the way of pixels from which a copy is misaligned, in pixels."""

FEW_POINTS, SOME_POINTS, ALL_POINTS = 20_000, 70_000, 300_000
"""Pixels on which the first steps at full size, the others, and the last one of them, are measured, at most."""

SNAP_ERROR, SNAP_ROUNDING = 1.01, 0.01
"""Factor on the error, with an addition, within which a simpler transform (whole pixels, no rotation, the same size) is
as good."""

HUNDREDTH = 0.01
"""Way to a simpler transform that is not worth a number of its own."""

LEAST_CONFIDENCE = 0.5
"""Confidence from which a copy is said to be misaligned."""

BLURRED_MARGIN = 8
"""Pixels along the borders that are not compared with a blurred reference: programs blur differently there."""

AS_GOOD = 1.02
"""Factor on the error within which a sharp reference is as good as one that is as blurred as the copy."""

RIM = 4
"""Pixels along the border of the reference that are not judged, as interpolation saw beyond the border there."""

SETTLED = 0.5
"""Share of blocks that must equal the moved reference up to interpolation, so that they count as equal."""

TOLERANCE, NEAREST_TOLERANCE = 0.1, 1.0
"""Difference that interpolation may leave, against the range of grey levels around a pixel."""

NAMES = ("shift_x", "shift_y", "rotation", "scale")
"""Names of the settings of a misalignment."""

DEVIATIONS = (4.0, 4.0, 4.0, 4.0)
LEAST_DEVIATIONS = (0.015, 0.015, 0.003, 0.006)
"""Factors on the standard deviations, and least half widths, so that about 90 % of the intervals hold the truth; they
are far above 1.6 because neighbouring residuals are alike. docs/alignment.md says what photographs show."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """How a copy is misaligned.

    Attributes
    ----------
    transform : Transform
        What was done to the reference.
    intervals : dict of str to Interval
        Its shift_x, shift_y, rotation and scale with 90 % intervals.
    method : str
        Interpolation with which the moved reference comes nearest to the copy.
    confidence : float
        Probability that the copy is misaligned.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.placing import measure_alignment
    >>> picture = np.random.default_rng(0).integers(0, 255, (64, 64)).astype(np.uint8)
    >>> alignment = measure_alignment(picture, np.roll(picture, 3, axis=1))
    >>> alignment.transform.shift_x
    3.0
    """

    transform: Transform
    intervals: dict[str, Interval]
    method: str
    confidence: float


@dataclass(frozen=True, eq=False)
class AlignedReference:
    """A reference on the grid of a copy.

    Attributes
    ----------
    picture : ndarray of uint8, shape (h, w)
        The moved reference; outside the box the copy itself, so that nothing differs there.
    box : tuple of slice
        Rows and columns, whole blocks, that can be judged.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.placing import Alignment, align_reference
    >>> from llise.kinds.warping import Transform
    >>> picture = np.arange(64 * 64, dtype=np.uint8).reshape(64, 64)
    >>> alignment = Alignment(Transform(shift_x=3.0), {}, "nearest", 0.99)
    >>> align_reference(picture, np.roll(picture, 3, axis=1), alignment).box
    (slice(0, 64, None), slice(8, 64, None))
    """

    picture: np.ndarray
    box: tuple[slice, slice]


@dataclass(frozen=True, eq=False)
class Place:
    """Where a copy seems to lie.

    Attributes
    ----------
    plain, found : Registration
        The pictures as they are, and those with which the place was found: the same, or with the reference as blurred
        as the copy.
    transform : Transform
        How the reference is moved.
    method : str
        How it is interpolated.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.placing import find_place
    >>> picture = np.random.default_rng(0).integers(0, 255, (64, 64)).astype(np.uint8)
    >>> find_place(picture, np.roll(picture, 3, axis=1)).grounds.confidence > 0.9
    True
    """

    plain: Registration
    found: Registration
    transform: Transform
    method: str

    @cached_property
    def grounds(self) -> Grounds:
        """What speaks for it and against it."""
        return Grounds(self.plain, self.found, self.transform, self.method)


def measure_alignment(reference: np.ndarray, copy: np.ndarray) -> Alignment | None:
    """Measure by how much a copy is shifted, turned and scaled.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.

    Returns
    -------
    Alignment or None
        None where the copy lies as it should, or where that cannot be told.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.placing import measure_alignment
    >>> picture = np.random.default_rng(0).integers(0, 255, (64, 64)).astype(np.uint8)
    >>> measure_alignment(picture, picture // 2) is None
    True
    """
    place = find_place(reference, copy)
    if place is None or place.grounds.confidence < LEAST_CONFIDENCE:
        return None
    exact = place.found.with_points(ALL_POINTS)
    last = exact.step(place.transform, place.method, robust=True)
    spreads = np.maximum(last.deviations() * DEVIATIONS, LEAST_DEVIATIONS)
    transform = _simplest(place.found, exact, last.transform, place.method, spreads)
    if not _within_limits(transform) or exact.way(np.array(transform.values)) < LEAST_WAY:
        return None
    intervals = {
        name: Interval(value, float(value - spread), float(value + spread))
        for name, value, spread in zip(NAMES, transform.values, spreads)
    }
    return Alignment(transform, intervals, place.method, place.grounds.confidence)


def find_place(reference: np.ndarray, copy: np.ndarray) -> Place | None:
    """Find where a copy seems to lie, whether that is sure or not.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.

    Returns
    -------
    Place or None
        None where it is soon plain that the copy lies as it should.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.placing import find_place
    >>> picture = np.random.default_rng(0).integers(0, 255, (64, 64)).astype(np.uint8)
    >>> round(find_place(picture, np.roll(picture, 3, axis=1)).transform.shift_x, 3)
    3.0
    """
    if min(reference.shape) < LEAST_SIDE:
        return None
    pyramid = levels(reference, copy)
    at = _start(pyramid[0])
    reduced = [level for level in pyramid if level.factor >= SCREENED] or pyramid
    for level in reduced:
        registration = Registration(level)
        at = _refined(registration, at)
    if registration.way(np.array(at.values)) < LEAST_WAY:
        return None
    if Evidence(registration, at, "bilinear").fall < LEAST_FALL_REDUCED:
        return None
    if is_in_cells(reference, copy) or is_coded(reference, copy):
        return None
    return _at_full_size(pyramid[-1], at)


def _at_full_size(level: Level, at: Transform) -> Place | None:
    """The place to some hundredths of a pixel, with the reference sharp or as blurred as the copy."""
    for points in (FEW_POINTS, SOME_POINTS):
        blurred = Registration(match_blur(level, at), points, BLURRED_MARGIN)
        at = _refined(blurred, at, "spline")
        if blurred.way(np.array(at.values)) < LEAST_WAY or Evidence(blurred, at, "spline").fall < LEAST_FALL:
            return None
    plain = Registration(level, SOME_POINTS)
    method = plain.nearest_method(at)
    if plain.error(at, method) > AS_GOOD * blurred.error(at, "spline"):
        return Place(plain, blurred, at, "spline")
    return Place(plain, plain, _refined(plain, at, method, n_steps=6 if method == "nearest" else 2), method)


def _simplest(quick: Registration, exact: Registration, at: Transform, method: str, spreads: np.ndarray) -> Transform:
    """The same without rotation, without a change of size and by whole pixels, as far as that fits as well.

    What lies beyond the interval of a setting is no simpler account of it; but a nearest pixel may be half a pixel off.
    """
    first = quick.step(at, method, robust=True)
    most = SNAP_ERROR * (first.error - first.fall) + SNAP_ROUNDING
    free = [0, 1, 2, 3]
    for part in (2, 3, 0, 1):
        values = list(at.values)
        values[part] = 0.0 if part >= 2 else float(round(values[part]))
        way = quick.way(np.subtract(values, at.values))
        is_within = abs(values[part] - at.values[part]) <= spreads[part]
        if way > (0.5 if method == "nearest" else HUNDREDTH) and not is_within:
            continue
        others = tuple(number for number in free if number != part)
        trial = quick.step(Transform(*values), method, robust=True, free=others)
        if way <= HUNDREDTH or trial.error - trial.fall <= most:
            at, free = trial.transform, list(others)
    return exact.step(at, method, robust=True, free=tuple(free)).transform if 0 < len(free) < 4 else at


def _start(level: Level) -> Transform:
    """Where to begin: near no change at all, unless the error falls clearly more at another place."""
    registration = Registration(level)
    best, most = Transform(), -1.0
    for begin in search(level):
        at = begin
        for number in range(6):
            step = registration.step(at, robust=number > 0)
            if not _within_limits(step.transform):
                break
            at = step.transform
            if number and step.moved < 0.02 * level.factor:
                break
        fall = Evidence(registration, at, "bilinear").fall
        if 1 + fall > 1.1 * (1 + most):
            best, most = at, fall
    return best


def _within_limits(at: Transform) -> bool:
    """Whether a transform is one of those that are looked for, with some reserve for the way to the result."""
    shifts = max(abs(at.shift_x), abs(at.shift_y)) / FURTHEST_SHIFT
    return max(shifts, abs(at.rotation) / FURTHEST_ROTATION, abs(at.scale) / FURTHEST_SCALE) <= 1.25


def _refined(registration: Registration, at: Transform, method: str = "bilinear", n_steps: int = 3) -> Transform:
    """Steps until they are small; none that leaves the limits."""
    for _ in range(n_steps):
        step = registration.step(at, method, robust=True)
        if not _within_limits(step.transform):
            break
        at = step.transform
        if step.moved < 0.01 * registration.level.factor:
            break
    return at


def align_reference(reference: np.ndarray, copy: np.ndarray, alignment: Alignment) -> AlignedReference | None:
    """Bring a reference to the grid of a misaligned copy.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    alignment : Alignment
        How the copy is misaligned.

    Returns
    -------
    AlignedReference or None
        None where nothing is left to judge.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.placing import align_reference, measure_alignment
    >>> picture = np.random.default_rng(0).integers(0, 255, (64, 64)).astype(np.uint8)
    >>> copy = np.roll(picture, 3, axis=1)
    >>> aligned = align_reference(picture, copy, measure_alignment(picture, copy))
    >>> bool((aligned.picture == copy).all())
    True
    """
    transform = alignment.transform
    box = _judged_box(reference.shape, transform)
    if box is None:
        return None
    moved = np.clip(np.rint(warp(reference, transform, alignment.method)), 0, 255).astype(np.uint8)
    if not transform.is_whole:
        moved = _settled(moved, copy, box, alignment.method)
    picture = copy.copy()
    picture[box] = moved[box]
    return AlignedReference(picture, box)


def _judged_box(shape: tuple[int, ...], transform: Transform) -> tuple[slice, slice] | None:
    """The largest box of whole blocks all of whose pixels come from inside the reference, by cutting off its sides."""
    rim = 0 if transform.is_whole else RIM
    rows, cols = (np.arange(side, dtype=np.float64) for side in shape)
    y, x = np.broadcast_arrays(*transform.sources(shape, rows[:, None], cols))
    inside: np.ndarray = (y >= rim) & (y <= shape[0] - 1 - rim) & (x >= rim) & (x <= shape[1] - 1 - rim)
    blocks = np.asarray(by_block(inside).all(axis=-1))
    top, left, bottom, right = 0, 0, *blocks.shape
    while top < bottom and left < right:
        part = blocks[top:bottom, left:right]
        sides = [float(side.mean()) for side in (part[0], part[:, 0], part[-1], part[:, -1])]
        worst = int(np.argmin(sides))
        if sides[worst] == 1:
            return slice(BLOCK * top, min(BLOCK * bottom, shape[0])), slice(BLOCK * left, min(BLOCK * right, shape[1]))
        top, left, bottom, right = top + (worst == 0), left + (worst == 1), bottom - (worst == 2), right - (worst == 3)
    return None


def _settled(moved: np.ndarray, copy: np.ndarray, box: tuple[slice, slice], method: str) -> np.ndarray:
    """The moved reference, with the pixels of the copy in blocks that differ by no more than interpolation does.

    Where most blocks are not so, the copy has another fault everywhere, and they stay as they are.
    """
    share = NEAREST_TOLERANCE if method == "nearest" else TOLERANCE
    around = greatest_around(moved) - (255 - greatest_around(255 - moved))
    difference = np.abs(np.subtract(copy, moved, dtype=np.int16))
    settled = np.asarray(by_block(difference <= 1.5 + share * around).all(axis=-1))
    rows, cols = box
    judged = settled[rows.start // BLOCK : -(-rows.stop // BLOCK), cols.start // BLOCK : -(-cols.stop // BLOCK)]
    if judged.mean() < SETTLED:
        return moved
    return np.where(pixels_of(settled, moved.shape), copy, moved)
