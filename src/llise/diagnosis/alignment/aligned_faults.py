"""Faults of a copy that is shifted, turned or scaled: the misalignment, and what remains after aligning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from llise.diagnosis.alignment.placing import AlignedReference, Alignment, align_reference, measure_alignment
from llise.diagnosis.features.block_sums import box_of
from llise.diagnosis.greys.grey_tables import median_table
from llise.diagnosis.result import Diagnosis, Fault
from llise.differences import BLOCK
from llise.labels import MISALIGNMENT, UNKNOWN

LEFT_BY_INTERPOLATION = {"blur", "sharpening"}
INTERPOLATION, WELL_EXPLAINED = 0.1, 0.9
"""Kinds that another way of interpolating looks like, their greatest error against that of the misalignment, and the
share of the error that they explain if they are faults of their own."""

STEEP, LEAST_STEEP, NEARLY_ALL = 24, 200, 0.85
"""Step of grey levels of a steep edge, fewest pixels at such edges that tell, and the share of them that is equal where
a copy lies as it should: shifts by 0.03 pixels left 0.67 of them at most on photographs, those by 0.05 pixels 0.21."""

FEW_ROWS = 96
"""Rows, evenly chosen, from which a table of grey levels is made."""

SURE, SURELY_EXPLAINED = 0.9, 0.85
"""Confidence of a misalignment from which it needs no second account, and the share of the error that named kinds must
explain, over the picture, to be preferred to a less sure one: a blur to one side moves a picture too."""

MOST_OF_TWO = 0.6
"""Greatest confidence in a shift by less than a pixel along one side by linear interpolation: the shortest blur to one
side gives the very same copy."""

JudgePart = Callable[[np.ndarray, np.ndarray], Diagnosis]
"""Judges a part of a copy against the same part of the moved reference."""


@dataclass(frozen=True, eq=False)
class AlignedFaults:
    """What is wrong with a misaligned copy.

    Attributes
    ----------
    faults : list of Fault
        The misalignment first, then the other faults, the worst first.
    reference : ndarray of uint8, shape (h, w)
        The reference on the grid of the copy, with the pixels of the copy where nothing was judged.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.aligned_faults import AlignedFaults
    >>> AlignedFaults([], np.zeros((8, 8), np.uint8)).faults
    []
    """

    faults: list[Fault]
    reference: np.ndarray


def judge_aligned(
    reference: np.ndarray, copy: np.ndarray, judge: JudgePart, as_it_lies: Callable[[], list[Fault]]
) -> AlignedFaults | None:
    """Find the faults of a copy after aligning, if it is misaligned.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    judge : callable
        Judges what remains.
    as_it_lies : callable
        Gives the faults of the copy without aligning; called only where the misalignment is doubtful.

    Returns
    -------
    AlignedFaults or None
        None where the copy lies as it should.

    Examples
    --------
    >>> import numpy as np
    >>> import llise
    >>> from llise.diagnosis.alignment.aligned_faults import judge_aligned
    >>> picture = llise.datasets.reference()[200:296, 200:296]
    >>> copy = np.roll(picture, 3, axis=1)
    >>> found = judge_aligned(picture, copy, lambda a, b: llise.diagnose(a, [b], align=False)[0], list)
    >>> found.faults[0].estimate["misalignment"]["shift_x"].value
    3.0
    """
    alignment = None if _lies_well(reference, copy) else measure_alignment(reference, copy)
    aligned = align_reference(reference, copy, alignment) if alignment else None
    if alignment is None or aligned is None:
        return None
    part = aligned.picture[aligned.box]
    faults: list[Fault] = []
    if part.min() < part.max():
        rest = judge(np.ascontiguousarray(part), np.ascontiguousarray(copy[aligned.box]))
        doubtful = alignment.confidence < SURE
        if not rest.is_copy or _is_in_cells(rest) or (doubtful and _is_simpler(as_it_lies(), rest.faults)):
            return None
        faults = [_on_grid_of_copy(fault, aligned, copy.shape) for fault in rest.faults]
    moved = _misalignment(reference, copy, alignment, aligned)
    if not alignment.transform.is_whole:
        most = INTERPOLATION * moved.severity[MISALIGNMENT]
        faults = [fault for fault in faults if not _is_left_by_interpolation(fault, most)]
    return AlignedFaults([moved, *faults], aligned.picture)


def _is_simpler(as_it_lies: list[Fault], aligned: list[Fault]) -> bool:
    """Whether a copy needs no misalignment: named kinds explain it as it lies, or it stays unknown after aligning."""
    explained = sum(fault.area * fault.explained for fault in as_it_lies if UNKNOWN not in fault.kinds)
    unknown = sum(fault.area for fault in aligned if UNKNOWN in fault.kinds)
    return explained > SURELY_EXPLAINED or unknown > 0.5


def _lies_well(reference: np.ndarray, copy: np.ndarray) -> bool:
    """Whether nearly all pixels at steep edges, across and down, are as they were: a small shift changes most."""
    equal = reference == copy
    if equal.all():
        return True
    if np.count_nonzero(equal) < NEARLY_ALL * equal.size:  # or as a table of grey levels makes them
        some = slice(None, None, len(copy) // FEW_ROWS or 1)
        table, _ = median_table(reference[some], copy[some])
        equal = np.abs(table[reference] - copy) <= 1
    for axis in (0, 1):
        steep = np.abs(np.diff(reference.astype(np.int16), axis=axis)) > STEEP
        count = np.count_nonzero(steep & (equal[1:] if axis == 0 else equal[:, 1:]))
        if count < max(LEAST_STEEP, NEARLY_ALL * np.count_nonzero(steep)):
            return False
    return True


def _is_in_cells(rest: Diagnosis) -> bool:
    """Whether most of what remains is pixelated: samples of cells may lie beside their middle, which is no shift."""
    return sum(fault.area for fault in rest.faults if "pixelation" in fault.kinds) > 0.5


def _is_left_by_interpolation(fault: Fault, most: float) -> bool:
    """Whether a fault is as weak as what another way of interpolating leaves, and explains little."""
    weak = sum(fault.severity.values()) < most
    return set(fault.kinds) <= LEFT_BY_INTERPOLATION and weak and fault.explained < WELL_EXPLAINED


def _misalignment(reference: np.ndarray, copy: np.ndarray, alignment: Alignment, aligned: AlignedReference) -> Fault:
    before, after = (
        float(np.mean(np.subtract(copy, picture, dtype=np.float32) ** 2, dtype=np.float64))
        for picture in (reference, aligned.picture)
    )
    removed = max(before - after, 0.0)
    height, width = copy.shape
    return Fault(
        kinds=(MISALIGNMENT,),
        confidence=min(alignment.confidence, MOST_OF_TWO if _is_of_two_pixels(alignment) else 1.0),
        region=np.ones((-(-height // BLOCK), -(-width // BLOCK)), bool),
        box=(0, 0, height, width),
        area=1.0,
        severity={MISALIGNMENT: removed},
        estimate={MISALIGNMENT: alignment.intervals},
        explained=removed / before if before else 0.0,
    )


def _is_of_two_pixels(alignment: Alignment) -> bool:
    """Whether each pixel of the copy is a mixture of two pixels side by side, as a short blur to one side makes it."""
    x, y, rotation, scale = alignment.transform.values
    return alignment.method == "bilinear" and rotation == scale == 0 and min(abs(x), abs(y)) == 0 and abs(x + y) < 1


def _on_grid_of_copy(fault: Fault, aligned: AlignedReference, shape: tuple[int, ...]) -> Fault:
    """A fault of the judged part as one of the picture; over all of the part it is over the whole picture."""
    height, width = shape
    region = np.zeros((-(-height // BLOCK), -(-width // BLOCK)), bool)
    top, left = (side.start // BLOCK for side in aligned.box)
    rows, cols = fault.region.shape
    region[top : top + rows, left : left + cols] = fault.region
    if fault.is_whole:
        region[:] = True
    north, west, south, east = (BLOCK * side for side in box_of(region))
    box = (north, west, min(south, height), min(east, width))
    return replace(fault, region=region, box=box, area=float(region.mean()))
