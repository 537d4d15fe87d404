"""Where impulses are that lie over another kind: the pixels that they hit are counted instead of judged.

Sparse impulses leave most blocks unhit, and in a picture that has another kind everywhere no block is unchanged, so
that tiles tell their region only roughly.  But once the other kind is made again, the pixels that were hit stand out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from llise.diagnosis.block_sums import box_of
from llise.diagnosis.estimates import CopyEstimates
from llise.diagnosis.findings import Finding
from llise.diagnosis.left_over import REPEATABLE
from llise.diagnosis.regions import SMALL_ISLAND, connected_areas
from llise.diagnosis.sets import SETS, code_of

IMPULSES = "impulse_noise"

MOST = 0.9
"""Share of the blocks that were hit which must lie in areas of some size."""

NARROWER = 0.75
"""Share of the other kind's region in the box around all that was hit below which impulses have a place of their own:
few impulses everywhere leave wide gaps between them."""


def impulses_in_place(findings: list[Finding], estimates: CopyEstimates) -> list[Finding]:
    """Give impulses over another kind the region in which pixels were hit.

    Parameters
    ----------
    findings : list of Finding
        All faults of a copy.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    list of Finding
        The same faults; a pair of impulses and another kind is divided where the impulses are in a part of its region.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates import CopyEstimates
    >>> from llise.diagnosis.findings import Finding
    >>> from llise.diagnosis.impulse_places import impulses_in_place
    >>> rng = np.random.default_rng(0)
    >>> image = rng.integers(60, 190, (128, 128)).astype(np.uint8)
    >>> copy = image + np.uint8(20)
    >>> copy[32:96, 32:96][rng.random((64, 64)) < 0.05] = 255
    >>> pair = Finding(("luminance", "impulse_noise"), np.ones((16, 16), bool), 0.9)
    >>> found = impulses_in_place([pair], CopyEstimates(image, copy))
    >>> [(finding.kinds, int(finding.mask.sum())) for finding in found]
    [(('luminance',), 256), (('impulse_noise',), 64)]
    """
    changed: list[Finding] = []
    for finding in findings:
        other = _below(finding, findings)
        places = _places(finding.mask | other.mask, other, estimates) if other else None
        if other is None or places is None:
            changed.append(finding)
        elif len(finding.kinds) == 1:
            changed.append(replace(finding, mask=places))
        else:
            changed += [other, replace(finding, kinds=(IMPULSES,), mask=places)]
    return changed


def _below(finding: Finding, findings: list[Finding]) -> Finding | None:
    """The fault of another kind over which the impulses of a fault lie; None where they lie alone."""
    if IMPULSES not in finding.kinds:
        return None
    if len(finding.kinds) > 1:
        rest = tuple(kind for kind in finding.kinds if kind != IMPULSES)
        return replace(finding, kinds=rest) if set(rest) <= REPEATABLE else None
    size = finding.mask.sum()
    covering = [
        other for other in findings
        if other is not finding and len(other.kinds) == 1 and set(other.kinds) <= REPEATABLE
        and (other.mask & finding.mask).sum() >= 0.7 * size
    ]  # fmt: skip
    return max(covering, key=lambda other: other.mask.sum(), default=None)


def _places(region: np.ndarray, other: Finding, estimates: CopyEstimates) -> np.ndarray | None:
    """Areas of a region in which pixels were hit; None where they cannot be told."""
    hit = estimates.hit_blocks(region, SETS[code_of(IMPULSES, *other.kinds)])
    if hit is None or not (hit & region).any():
        return None
    top, left, bottom, right = box_of(hit & region)
    if region[top:bottom, left:right].sum() >= NARROWER * region.sum():
        return None
    areas = [area for area in connected_areas(hit & region) if (area & hit).sum() >= SMALL_ISLAND]
    places = np.any(areas, axis=0) if areas else np.zeros_like(region)
    return places if (places & hit & region).sum() >= MOST * (hit & region).sum() else None
