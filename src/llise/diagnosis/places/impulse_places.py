"""Where impulses are that lie over another kind: the pixels that they hit are counted instead of judged.

Sparse impulses leave most blocks unhit, and in a picture that has another kind everywhere no block is unchanged, so
that tiles tell their region only roughly.  But once the other kind is made again, the pixels that were hit stand out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.features.block_sums import box_of
from llise.diagnosis.findings import Finding
from llise.diagnosis.places.left_over import REPEATABLE
from llise.diagnosis.regions import SMALL_ISLAND, connected_areas
from llise.diagnosis.sets import SETS, UNKNOWN_CODE, code_of, exchanged
from llise.differences import by_block, pixels_of
from llise.kinds.fitting import median_of_neighbours, robust_scale

IMPULSES = "impulse_noise"

LEAST_OFF, FAR_OFF, LONELY, MOSTLY_LONELY = 48.0, 8.0, 0.4, 0.8
"""Difference of a white or black pixel from what the other kind makes there, in grey levels and against a typical one,
from which an impulse hit it, the greatest difference of its neighbours against its own, and the share of such pixels
that must have such neighbours: text and patches are even."""

FEWEST, FEWEST_BLOCKS = 16, 12
"""Fewest pixels that were hit, and fewest blocks in which they lie, for impulses that the judge does not see."""

MOST = 0.9
"""Share of the blocks that were hit which must lie in areas of some size."""

OFTEN_BELOW = REPEATABLE & {"contrast", "luminance", "blur", "jpeg"}
"""Kinds below impulses that can be made again; levels and sharpened edges are often white or black."""

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
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.findings import Finding
    >>> from llise.diagnosis.places.impulse_places import impulses_in_place
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


def with_impulses_over(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
    """Exchange one kind for the same with impulses where lonely white and black pixels are left.

    Few impulses over a strong coder hardly change the sums of blocks that the judge sees.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,) or more
        Probabilities of a part.
    region : ndarray of bool, shape (rows, cols)
        Its blocks.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    ndarray
        The same where another set is the likeliest, or no such pixels are left.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.places.impulse_places import with_impulses_over
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> copy = image + np.uint8(20)
    >>> copy[::9, ::17] = 0
    >>> luminance = np.eye(len(SETS))[code_of("luminance")]
    >>> SETS[int(with_impulses_over(luminance, np.ones((16, 16), bool), CopyEstimates(image, copy)).argmax())]
    ('luminance', 'impulse_noise')
    """
    top = int(probabilities.argmax())
    if top >= UNKNOWN_CODE or len(SETS[top]) > 1 or not set(SETS[top]) <= OFTEN_BELOW:
        return probabilities
    inside = pixels_of(region, estimates.copy.shape)
    extreme = inside & ((estimates.copy == 0) | (estimates.copy == 255))
    if np.count_nonzero(extreme) < FEWEST:
        return probabilities
    again = estimates.made_again(region, SETS[top])
    if again is None:
        return probabilities
    off = np.abs(np.subtract(estimates.copy, again, dtype=np.float32))
    hit = extreme & (off > LEAST_OFF)
    if np.count_nonzero(hit) < FEWEST:
        return probabilities
    hit &= off > FAR_OFF * robust_scale(off[inside])
    lonely = hit & (median_of_neighbours(off) <= LONELY * off)
    number, blocks = np.count_nonzero(lonely), np.count_nonzero(by_block(lonely).any(axis=-1))
    many = number >= max(FEWEST, MOSTLY_LONELY * np.count_nonzero(hit)) and blocks >= FEWEST_BLOCKS
    return exchanged(probabilities, top, code_of(IMPULSES, *SETS[top])) if many else probabilities


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
