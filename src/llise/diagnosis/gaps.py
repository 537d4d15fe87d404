"""Gaps and borders between parts of an area, which are no faults of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy

from llise.diagnosis.findings import Part

MOSTLY_UNCHANGED, MOSTLY_CHANGED = 0.4, 0.75
"""Shares of changed blocks that make a gap of one part, beside others that are none."""

SURE_OF_CONTENT = 0.5
"""Confidence from which content between two faults is not their border."""

BORDER = 2
"""Half of the width in blocks of a band between two faults."""

LARGEST_GAP = 0.25
"""Size of such a part against that of the others, at most."""


def without_gaps(parts: list[Part], changed: np.ndarray) -> list[Part]:
    """Give the changed blocks of a gap or a border between parts to the parts beside it.

    An area is closed before it is judged, so that impulses are one area.  Where two faults lie close together, the
    blocks between them look as if impulses had hit them; where they touch, blocks at the border have some of both.

    Parameters
    ----------
    parts : list of Part
        Parts of all areas.
    changed : ndarray of bool, shape (rows, cols)
        Blocks that differ beyond rounding.

    Returns
    -------
    list of Part
        Small parts that are mostly unchanged are left out where others of the same area, of two kinds or more, are
        mostly changed.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.findings import Part
    >>> from llise.diagnosis.gaps import without_gaps
    >>> columns = np.arange(12) // 2 * np.ones((4, 1), int)
    >>> noise, blur, impulses = (np.eye(64)[i] for i in (1, 3, 4))
    >>> parts = [Part(0, columns < 2, noise), Part(0, columns == 2, impulses), Part(0, columns > 2, blur)]
    >>> [part.kinds for part in without_gaps(parts, columns != 2)]
    [('gaussian_noise',), ('blur',)]
    """
    shares = {id(part): float(changed[part.mask].mean()) for part in parts}
    kept: list[Part] = []
    for part in parts:
        near = [other for other in parts if other is not part and other.area == part.area]
        beside = [other for other in near if shares[id(other)] >= MOSTLY_CHANGED]
        # Impulses do not hit all blocks, but they end at a border as other kinds do.
        hosts = [other for other in near if other in beside or "impulse_noise" in other.kinds]
        rest = part.mask & changed
        if shares[id(part)] < MOSTLY_UNCHANGED and _is_between(part, beside):
            kept += _shared_out(rest, beside)
        elif _is_between(part, hosts) and _is_border(part, rest, hosts):
            kept += _shared_out(rest, hosts)
        else:
            kept.append(part)
    return kept


def _is_between(part: Part, others: list[Part]) -> bool:
    """Whether a part is small beside others of two kinds or more."""
    small = part.mask.sum() < LARGEST_GAP * sum(other.mask.sum() for other in others)
    return bool(small and len({other.kinds for other in others} - {part.kinds}) > 1)


def _shared_out(mask: np.ndarray, others: list[Part]) -> list[Part]:
    """Blocks as parts of those that are nearest to them."""
    nearest = np.argmin([scipy.ndimage.distance_transform_edt(~other.mask) for other in others], axis=0)
    own = [(other, mask & (nearest == number)) for number, other in enumerate(others)]
    return [replace(other, mask=blocks) for other, blocks in own if blocks.any()]


def _is_border(part: Part, mask: np.ndarray, beside: list[Part]) -> bool:
    """Whether the changed blocks of a part are a narrow band between two kinds: each block has some of both."""
    if part.is_content and part.confidence >= SURE_OF_CONTENT:
        return False
    inner = scipy.ndimage.distance_transform_cdt(np.pad(mask, 1), "chessboard").max(initial=0)
    around = scipy.ndimage.binary_dilation(mask, np.ones((3, 3), bool))
    touching = {other.kinds for other in beside if (around & other.mask).any()} - {part.kinds}
    return bool(inner <= BORDER and len(touching) > 1)
