"""Whether a copy is misaligned as a whole, by how much, and the reference brought to the copy's grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import ndimage

from llise.diagnosis.alignment.evidence import columns, fall_of
from llise.diagnosis.alignment.matched_blur import match_blur
from llise.diagnosis.alignment.places import NAMES, NOTHING, Level, is_whole, pyramid, reductions, sources, way
from llise.diagnosis.alignment.registration import ALL, Registration
from llise.diagnosis.alignment.search import search
from llise.diagnosis.result import Fault, Interval
from llise.differences import BLOCK, by_block, pixels_of
from llise.images import as_uint8
from llise.kinds.misalignment import MisalignmentSettings, moved
from llise.labels import MISALIGNMENT

FEW_POINTS, SOME_POINTS, ALL_POINTS = 20_000, 70_000, 300_000
"""Pixels on which the first steps at full size, the others, and the last one of them, are measured, at most."""

BLURRED_MARGIN, RIM = 8, 4
"""Pixels along the borders that are not compared with a blurred reference, and those that interpolation sees beyond."""


@dataclass(frozen=True, eq=False)
class AlignedReference:
    """A reference on the grid of a copy; outside the box, whole blocks, it is the copy itself."""

    picture: np.ndarray
    box: tuple[slice, slice]
    at: np.ndarray
    spreads: np.ndarray
    confidence: float


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a copy seems to lie, and the registrations with which that was found: see evidence.columns."""

    plain: Registration
    found: Registration
    at: np.ndarray
    method: str


class Aligner:
    """Aligns one reference to its copies; `tuned` are the numbers of ``tuned["alignment"]``."""

    def __init__(self, luma: np.ndarray, tuned: dict[str, Any]) -> None:
        self.tuned, self.shape = tuned, luma.shape
        self.reductions = reductions(luma)

    def align(self, reference: np.ndarray, copy: np.ndarray) -> AlignedReference | None:
        """Bring the reference to the grid of a copy, both (h, w) or (h, w, 3); None where the copy lies well."""
        place = self.find(as_uint8(copy))
        if place is None:
            return None
        confidence = self.confidence(self.columns(place))
        if confidence < 0.5:
            return None
        at, spreads = self._settled_at(place)
        if way(at, self.shape) < self.tuned["least_way"] or not self._is_within_limits(at):
            return None
        box = _judged_box(self.shape, at)
        if box is None:
            return None
        words: dict[str, Any] = dict(zip(NAMES, at.tolist()))
        picture = moved(reference, MisalignmentSettings(**words, method=place.method))
        picture = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
        if not is_whole(at):
            picture = self._with_interpolation(picture, copy, box, place.method)
        out = copy.copy()
        out[box] = picture[box]
        return AlignedReference(out, box, at, spreads, confidence)

    def columns(self, place: _Place) -> np.ndarray:
        """What the confidence in a place is made of."""
        return columns(place.plain, place.found, place.at, place.method, way(place.at, self.shape))

    def confidence(self, found: np.ndarray) -> float:
        """Probability that the copy is misaligned."""
        return float(1 / (1 + np.exp(-found @ np.array(self.tuned["weights"]))))

    def find(self, copy: np.ndarray) -> _Place | None:
        """Where a copy seems to lie; None where it is soon plain that it lies as it should."""
        if min(self.shape) < self.tuned["least_side"]:
            return None
        levels = pyramid(self.reductions, reductions(copy))
        at = self._start(levels[0])
        for level in [level for level in levels if level.factor > 1] or levels:
            registration = Registration(level)
            at = registration.refined(at)
        if way(at, self.shape) < self.tuned["least_way"] or not self._is_within_limits(at):
            return None
        if fall_of(registration, at, "bilinear") < self.tuned["least_fall"] / 2:
            return None
        return self._at_full_size(levels[-1], at)

    def _start(self, level: Level) -> np.ndarray:
        """Where to begin: near no change at all, unless the error falls clearly more at another place."""
        registration, best, most = Registration(level), NOTHING, -1.0
        for begin in search(level, self.tuned):
            at = begin
            for number in range(6):
                step = registration.step(at, robust=number > 0)
                if not self._is_within_limits(step.at):
                    break
                at = step.at
                if number and step.moved < 0.02 * level.factor:
                    break
            fall = fall_of(registration, at, "bilinear")
            if 1 + fall > 1.1 * (1 + most):
                best, most = at, fall
        return best

    def _at_full_size(self, level: Level, at: np.ndarray) -> _Place | None:
        """The place to some hundredths of a pixel, with the reference sharp or as blurred as the copy."""
        for points in (FEW_POINTS, SOME_POINTS):
            blurred = Registration(match_blur(level, at), points, BLURRED_MARGIN)
            at = blurred.refined(at, "spline")
            if way(at, self.shape) < self.tuned["least_way"]:
                return None
            if fall_of(blurred, at, "spline") < self.tuned["least_fall"]:
                return None
        plain = Registration(level, SOME_POINTS)
        method = plain.nearest_method(at)
        if plain.error(at, method) > 1.02 * blurred.error(at, "spline"):
            return _Place(plain, blurred, at, "spline")
        return _Place(plain, plain, plain.refined(at, method, n_steps=6 if method == "nearest" else 2), method)

    def _settled_at(self, place: _Place) -> tuple[np.ndarray, np.ndarray]:
        """The place, as simple as fits as well, and half widths of its 90 % intervals."""
        exact = Registration(place.found.level, ALL_POINTS, place.found.margin)
        last = exact.step(place.at, place.method, robust=True)
        spreads = np.maximum(last.deviations() * self.tuned["deviations"], self.tuned["least_deviations"])
        first = place.found.step(last.at, place.method, robust=True)
        most = self.tuned["as_good"] * (first.error - first.fall) + 0.01
        at, free = last.at, tuple[int, ...](ALL)
        for part in (4, 2, 3, 0, 1):
            value = 0.0 if part >= 2 else float(np.rint(at[part]))
            trial = np.where(np.arange(5) == part, value, at)
            moves = way(trial - at, self.shape)
            is_near = moves <= (0.5 if place.method == "nearest" else 0.01) or abs(value - at[part]) <= spreads[part]
            others = tuple(number for number in free if number != part)
            if is_near:
                step = place.found.step(trial, place.method, robust=True, free=others)
                if moves <= 0.01 or step.error - step.fall <= most:
                    at, free = step.at, others
        return (exact.step(at, place.method, robust=True, free=free).at if free else at), spreads

    def _is_within_limits(self, at: np.ndarray) -> bool:
        """Whether a place is one of those that are looked for, with some reserve for the way to the result."""
        furthest = max(self.tuned["shift"], self.tuned["share"] * min(self.shape))
        sizes = at[3] + np.array([at[4], -at[4]])
        grown = float((sizes / np.where(sizes > 0, self.tuned["crop"], self.tuned["scale"])).__abs__().max())
        return max(np.abs(at[:2]).max() / furthest, abs(at[2]) / self.tuned["rotation"], grown) <= 1.25

    def _with_interpolation(
        self, picture: np.ndarray, copy: np.ndarray, box: tuple[slice, slice], method: str
    ) -> np.ndarray:
        """The moved reference, with the copy in blocks that differ by no more than another interpolation does."""
        share = self.tuned["nearest_tolerance" if method == "nearest" else "tolerance"]
        size = (3, 3, *(1,) * (picture.ndim - 2))
        around = ndimage.maximum_filter(picture, size).astype(np.float32) - ndimage.minimum_filter(picture, size)
        near = np.abs(np.subtract(copy, picture, dtype=np.int16)) <= 1.5 + share * around
        settled = np.asarray(by_block(near if near.ndim == 2 else near.all(axis=2)).all(axis=-1))
        rows, cols = box
        judged = settled[rows.start // BLOCK : -(-rows.stop // BLOCK), cols.start // BLOCK : -(-cols.stop // BLOCK)]
        if judged.mean() < 0.5:
            return picture
        mask = pixels_of(settled, picture.shape)
        return np.where(mask if picture.ndim == 2 else mask[..., None], copy, picture)


def _judged_box(shape: tuple[int, ...], at: np.ndarray) -> tuple[slice, slice] | None:
    """The largest box of whole blocks all of whose pixels come from inside the reference, by cutting off its sides."""
    rim = 0 if is_whole(at) else RIM
    rows, cols = (np.arange(side, dtype=np.float64) for side in shape)
    y, x = np.broadcast_arrays(*sources(at, shape, rows[:, None], cols))
    inside = (y >= rim) & (y <= shape[0] - 1 - rim) & (x >= rim) & (x <= shape[1] - 1 - rim)
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


def misalignment_fault(aligned: AlignedReference, reference: np.ndarray, copy: np.ndarray) -> Fault:
    """The fault of a misaligned copy: the error that aligning removes."""
    pictures = reference, aligned.picture
    before, after = (
        float(np.mean(np.subtract(copy, one, dtype=np.float32) ** 2, dtype=np.float64)) for one in pictures
    )
    removed = max(before - after, 0.0)
    height, width = copy.shape[:2]
    words = {
        name: Interval(float(value), float(value - spread), float(value + spread))
        for name, value, spread in zip(NAMES, aligned.at, aligned.spreads)
        if name != "stretch" or value
    }
    return Fault(
        kinds=(MISALIGNMENT,),
        confidence=aligned.confidence,
        region=np.ones((-(-height // BLOCK), -(-width // BLOCK)), bool),
        box=(0, 0, height, width),
        area=1.0,
        severity={MISALIGNMENT: removed},
        estimate={MISALIGNMENT: words},
        explained=removed / before if before else 0.0,
    )
