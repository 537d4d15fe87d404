"""Faults from the parts of all areas: which belong together, which lie over one another, how far they extend."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from llise.diagnosis.findings import Finding, Part
from llise.diagnosis.regions import SMALL_ISLAND
from llise.diagnosis.sets import CONTENT, SETS, code_of, is_set
from llise.diagnosis.strays import with_the_unknown, without_strays
from llise.labels import NAMED_KINDS

WITH_CONFIDENCE = 0.7
"""Square of the probability from which the confidence is this square: about one fault in a hundred is then said wrongly
with a confidence of .7 or more on photographs, and of those with .9 or more, 99 % are right."""

RISE = 1 / 6
"""Power of that square with which the confidence rises below. Of 840 faults on 16 photographs .52 of those with a
probability of .14 to .36 were right, .84 of those with .36 to .7, .93 of those from there to .84."""

TINY_BESIDE, SURE_OF_LARGEST, MOST_BESIDE = 0.03, 0.75, 0.69
"""Size of a fault, against the largest one, below which it may be what that one leaves; probability of the largest one
from which that cannot be said of content; and greatest confidence then."""

ALIKE = 6.0
"""Parts of the same kinds are one fault where their errors differ by less than this factor."""

MAY_LIE_BELOW = 0.08
"""Probability of the kind of an area's largest part from which it is taken to lie below that of another part."""

IMPULSES_BELOW = 0.3
"""The same where that kind is impulses, which other kinds do not hide."""

MAY_BE_TAUGHT = 0.05
"""Probability of the taught kind of an area's largest part from which another part of the area is taken to have it."""

WHOLE = 0.98
"""Share of the blocks with texture that a fault must cover to extend over the whole picture."""

TEXTURE = 2.0
"""Deviation of a block of the reference that most kinds would change."""


def assemble(parts: list[Part], error: np.ndarray) -> list[Finding]:
    """Make faults of parts.

    Parameters
    ----------
    parts : list of Part
        Parts of all areas.
    error : ndarray, shape (rows, cols)
        Mean squared error of each block.

    Returns
    -------
    list of Finding
        Where a part has one kind and another part of the same area has that kind and a second one, the first kind
        extends over both, and the second kind is a fault of its own.  Parts of the same kinds are one fault.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.sets import SETS
    >>> from llise.diagnosis.faults import assemble
    >>> from llise.diagnosis.findings import Part
    >>> left = np.arange(12).reshape(2, 6) % 6 < 3
    >>> jpeg, both = (np.eye(64)[SETS.index(kinds)] for kinds in (("jpeg",), ("blur", "jpeg")))
    >>> findings = assemble([Part(0, left, jpeg), Part(0, ~left, both)], np.ones((2, 6)))
    >>> [(finding.kinds, int(finding.mask.sum())) for finding in findings]
    [(('jpeg',), 12), (('blur',), 6)]
    """
    parts = without_strays(with_the_unknown(parts))
    found: list[Finding] = []
    for area in sorted({part.area for part in parts}):
        found += _of_area([part for part in parts if part.area == area])
    return _united(found, error)


def _under(part: Part, largest: Part) -> Part:
    """The part with the kind of the largest part of its area besides, where that may well lie below its own."""
    if len(part.kinds) > 1 or len(largest.kinds) > 1 or not is_set(*part.kinds, *largest.kinds):
        return part
    if part.kinds == largest.kinds:
        return part
    below = sum(float(p) for p, kinds in zip(part.probabilities, part.sets) if largest.kinds[0] in kinds)
    if below < (IMPULSES_BELOW if largest.kinds == ("impulse_noise",) else MAY_LIE_BELOW):
        return part
    probabilities = np.zeros_like(part.probabilities)
    probabilities[code_of(*part.kinds, *largest.kinds)] = part.confidence
    return replace(part, probabilities=probabilities)


def _of_area(parts: list[Part]) -> list[Finding]:
    largest = max(parts, key=lambda part: part.mask.sum())
    parts = [_under(part, largest) for part in parts]
    alone = {part.kinds[0] for part in parts if len(part.kinds) == 1}
    mixtures: list[Finding] = []
    single: dict[str, Finding] = {}
    for part in sorted(parts, key=lambda part: -part.mask.sum()):
        if len(part.kinds) > 1 and not alone & set(part.kinds):
            mixtures.append(Finding(part.kinds, part.mask, part.confidence, part.p_value, part.nearest_kinds))
            continue
        for kind in part.kinds:
            own = Finding((kind,), part.mask, part.confidence, part.p_value, part.nearest_kinds)
            if single.setdefault(kind, own) is not own:
                _unite(single[kind], own)
    return [*mixtures, *single.values()]


def _united(found: list[Finding], error: np.ndarray) -> list[Finding]:
    united: list[Finding] = []
    for one in sorted(found, key=lambda finding: -finding.mask.sum()):
        same = next((other for other in united if other.kinds == one.kinds and _alike(one, other, error)), None)
        if same is None:
            united.append(one)
            continue
        _unite(same, one)
    return united


def _unite(finding: Finding, other: Finding) -> None:
    """Add another finding of the same kinds to a finding; the confidence is the mean over the blocks of both."""
    sizes = np.array([finding.mask.sum(), other.mask.sum()])
    finding.confidence = float(sizes @ [finding.confidence, other.confidence] / sizes.sum())
    finding.mask = finding.mask | other.mask


def _alike(one: Finding, other: Finding, error: np.ndarray) -> bool:
    if one.mask.sum() < SMALL_ISLAND:
        return True
    low, high = sorted(error[finding.mask].mean() for finding in (one, other))
    return high <= ALIKE * low


def in_place(finding: Finding, findings: list[Finding]) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the kinds that a fault has to be estimated with, and the blocks to estimate it on.

    Parameters
    ----------
    finding : Finding
        The fault.
    findings : list of Finding
        All faults.

    Returns
    -------
    kinds : tuple of str
        The fault's own, and that of a larger fault below it.
    mask : ndarray of bool, shape (rows, cols)
        Its blocks, less those of smaller faults that lie over it, where enough are left.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.faults import in_place
    >>> from llise.diagnosis.findings import Finding
    >>> everywhere = Finding(("jpeg",), np.ones((2, 6), bool), 0.9)
    >>> left = Finding(("blur",), np.arange(12).reshape(2, 6) % 6 < 2, 0.9)
    >>> in_place(left, [everywhere, left])[0], in_place(everywhere, [everywhere, left])[1].sum()
    (('blur', 'jpeg'), np.int64(8))
    """
    size = finding.mask.sum()
    kinds, mask = finding.kinds, finding.mask
    for other in findings:
        common = (finding.mask & other.mask).sum()
        if other is finding or not common or len(finding.kinds) > 1 or len(other.kinds) > 1:
            continue
        below = other.mask.sum() >= size and common >= 0.7 * size and len(kinds) == 1
        if below and is_set(*kinds, *other.kinds):
            kinds = SETS[code_of(*kinds, *other.kinds)]
        elif other.mask.sum() < size:
            mask = mask & ~other.mask
    return kinds, mask if mask.sum() >= 0.2 * size else finding.mask


def extend(finding: Finding, texture: np.ndarray, others: list[Finding]) -> None:
    """Let a fault that covers nearly all blocks with texture extend over the whole picture.

    Flat blocks look the same before and after blur or JPEG coding, so that nothing can be measured there.

    Parameters
    ----------
    finding : Finding
        The fault; its mask is changed.
    texture : ndarray, shape (rows, cols)
        Deviation of each block of the reference.
    others : list of Finding
        All faults; the blocks of the others are not taken.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.faults import extend
    >>> from llise.diagnosis.findings import Finding
    >>> texture = np.array([[9.0, 9.0, 9.0, 0.0]])
    >>> finding = Finding(("blur",), texture > 1, 0.9)
    >>> extend(finding, texture, [finding])
    >>> bool(finding.mask.all())
    True
    """
    free = ~np.any([other.mask for other in others if other is not finding] or [np.zeros_like(finding.mask)], axis=0)
    rough = texture >= min(TEXTURE, float(np.median(texture)))
    inside = finding.mask & rough
    if finding.mask.mean() > 0.5 and inside.sum() >= WHOLE * rough.sum():
        finding.mask = finding.mask | free


def with_caution(finding: Finding, findings: list[Finding]) -> float:
    """Return the confidence with which the kinds of a fault are said.

    A wrong answer that is said with confidence does more harm than a right one that is said with little. So the
    probability p of named kinds is squared where that leaves .7 or more, and the confidence is .7 (p^2 / .7)^(1/6)
    below: less than the share that is right, and never .7. A tiny fault beside a large one may be what the large one
    leaves, unless it is content.

    Parameters
    ----------
    finding : Finding
        The fault.
    findings : list of Finding
        All faults.

    Returns
    -------
    float
        Between 0 and 1; the probability itself for faults without a name and kinds of one's own.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.faults import with_caution
    >>> from llise.diagnosis.findings import Finding
    >>> mask = np.ones((2, 2), bool)
    >>> said = ((("blur",), 0.9), (("blur",), 0.3), (("unknown",), 0.9))
    >>> found = [Finding(kinds, mask, probability) for kinds, probability in said]
    >>> [round(with_caution(finding, found), 2) for finding in found]
    [0.81, 0.5, 0.9]
    """
    if not set(finding.kinds) <= set(NAMED_KINDS):
        return finding.confidence
    confidence = finding.confidence**2
    if confidence < WITH_CONFIDENCE:
        confidence = WITH_CONFIDENCE * (confidence / WITH_CONFIDENCE) ** RISE
    largest = max(findings, key=lambda other: other.mask.sum())
    tiny = finding.mask.sum() < TINY_BESIDE * largest.mask.sum()
    may_be_left = CONTENT not in finding.kinds or largest.confidence < SURE_OF_LARGEST
    return min(confidence, MOST_BESIDE) if tiny and may_be_left else confidence
