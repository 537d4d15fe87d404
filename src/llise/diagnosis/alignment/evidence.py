"""Quick looks at whether a copy is misaligned: how much of its error aligning removes, and whether it is a mosaic."""

from __future__ import annotations

import numpy as np

from llise.diagnosis.alignment.registration import Registration
from llise.diagnosis.alignment.robust_line import fit_line
from llise.kinds.jpeg_quality import CoefficientPairs
from llise.kinds.warping import Transform

CELLS, STEP = 0.8, 3
"""Share of the steps of more than some grey levels that lie on the lines of cells, if a copy is made of even cells."""

CODED, MIDDLE = 0.03, 160
"""Share of the error that coding the reference as a JPEG may leave, so that nothing is left for a misalignment to
explain, and the longest sides of the middle of the pictures on which this is measured."""

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

    Attributes
    ----------
    fall : float
        How much.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.reduced_pictures import levels
    >>> picture = np.random.default_rng(0).integers(0, 255, (64, 64)).astype(np.uint8)
    >>> registration = Registration(levels(picture, np.roll(picture, 3, axis=1))[0])
    >>> Evidence(registration, Transform(shift_x=3.0), "bilinear").fall > 100
    True
    """

    def __init__(self, registration: Registration, at: Transform, method: str) -> None:
        places, chosen, _ = registration.steep(at)
        target, here = registration.target[chosen], registration.unmoved[chosen]
        values = registration.interpolated(method)(*places)
        gain, offset, weights = fit_line(values, target, robust=True)
        rest = target - gain * values - offset
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


def is_coded(reference: np.ndarray, copy: np.ndarray) -> bool:
    """Tell whether a JPEG of the reference where it lies accounts for the error of a copy.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.

    Returns
    -------
    bool
        True where a misalignment could explain next to nothing more.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.evidence import is_coded
    >>> from llise.kinds.jpeg import STANDARD_TABLE, code_jpeg
    >>> picture = np.random.default_rng(0).integers(60, 190, (64, 64)).astype(np.uint8)
    >>> coded = code_jpeg(picture, 2 * STANDARD_TABLE)
    >>> is_coded(picture, coded), is_coded(picture, np.roll(coded, 1, axis=0))
    (True, False)
    """
    starts = ((side - min(side, MIDDLE)) // 2 // 8 * 8 for side in reference.shape)
    box = tuple(slice(start, start + MIDDLE) for start in starts)
    before, after = (picture[box].astype(np.float32) for picture in (reference, copy))
    return CoefficientPairs(before, after, np.ones(before.shape, bool)).left_by_coding() < CODED


def _cell_share(picture: np.ndarray, axis: int) -> float:
    """Share of the steps between neighbours that lie on lines with more steps than the lines beside them.

    Of even cells it is nearly all of them, whatever their sides are, of most other pictures less than half.
    """
    steps = np.abs(np.diff(picture.astype(np.int16), axis=axis)) > STEP
    counts = np.pad(steps.sum(axis=1 - axis, dtype=np.float64), 1)
    lines = counts[1:-1]
    on_lines = lines[(lines > counts[:-2]) & (lines > counts[2:])].sum()
    return float(on_lines) / max(float(counts.sum()), 1.0)
