"""Faults from the parts of all areas: which belong together, which lie over one another, how far they extend."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from llise.diagnosis.regions import SMALL_ISLAND
from llise.diagnosis.sets import CONTENT, SETS, UNKNOWN, code_of, is_set
from llise.labels import NAMED_KINDS

LITTLE_CAUTION = 0.7
"""Probability from which the confidence is its square: about one fault in a hundred is then said wrongly with a
confidence of .7 or more on photographs, and of those with .9 or more, 99 % are right."""

ALIKE = 6.0
"""Parts of the same kinds are one fault where their errors differ by less than this factor."""

MAY_LIE_BELOW = 0.08
"""Probability of the kind of an area's largest part from which it is taken to lie below that of another part."""

IMPULSES_BELOW = 0.3
"""The same where that kind is impulses, which other kinds do not hide."""

MOSTLY_UNKNOWN = 0.5
"""Share of an area from which all of it is unknown."""

MAY_BE_TAUGHT = 0.05
"""Probability of the taught kind of an area's largest part from which another part of the area is taken to have it."""

TINY, DOUBTFUL = 0.01, 0.9
"""Share of all damaged blocks below which a part whose confidence is below the second number is a stray."""

LEAST_PART = 6
"""Size in blocks below which a part beside larger ones is tiny in any case."""

LEAST_CONTENT = 8
"""Fewest blocks of doubtful content that is a fault of its own."""

LEAST_CONFIDENCE, SMALL = 0.1, 0.02
"""Confidence below which also parts of up to this share of all damaged blocks are strays."""

WHOLE = 0.98
"""Share of the blocks with texture that a fault must cover to extend over the whole picture."""

TEXTURE = 2.0
"""Deviation of a block of the reference that most kinds would change."""


@dataclass(frozen=True, eq=False)
class Part:
    """A part of an area with one set of kinds.

    Attributes
    ----------
    area : int
        Number of the area in which it lies.
    mask : ndarray of bool, shape (rows, cols)
        Its blocks.
    probabilities : ndarray, shape (n_sets,)
        What the judge says of it.
    p_value : float
        Share of parts with named kinds that are at least as strange.
    nearest_kinds : tuple of str
        The named kinds that an unknown part is most like.
    sets : tuple of tuple of str
        The sets of kinds to which the probabilities belong.
    stands_out : bool
        Whether it is a place that differs from the area around it far more than is typical there.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.faults import Part
    >>> Part(0, np.ones((2, 2), bool), np.eye(64)[3]).kinds
    ('blur',)
    """

    area: int
    mask: np.ndarray
    probabilities: np.ndarray
    p_value: float = 1.0
    nearest_kinds: tuple[str, ...] = ()
    sets: tuple[tuple[str, ...], ...] = SETS
    stands_out: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The most probable set of kinds."""
        return self.sets[int(self.probabilities.argmax())]

    @property
    def confidence(self) -> float:
        """Its probability."""
        return float(self.probabilities.max())

    @property
    def is_taught(self) -> bool:
        """Whether the most probable kind is one of one's own."""
        return int(self.probabilities.argmax()) >= len(SETS)

    @property
    def is_content(self) -> bool:
        """Whether it is probably content, alone or with another kind: content is somewhere by itself, however small."""
        has = np.array([CONTENT in kinds for kinds in self.sets])
        return bool(self.probabilities[has].sum() > 0.5 * self.probabilities.sum())

    def probability_of(self, kinds: tuple[str, ...]) -> float:
        """Return the probability of a set of kinds.

        Parameters
        ----------
        kinds : tuple of str
            One of the sets.

        Returns
        -------
        float
            What the judge says.
        """
        return float(self.probabilities[self.sets.index(kinds)])


@dataclass(eq=False)
class Finding:
    """Kinds and region of a fault before it is estimated.

    Attributes
    ----------
    kinds : tuple of str
        Kinds in this place.
    mask : ndarray of bool, shape (rows, cols)
        Blocks over which the fault extends.
    confidence : float
        Probability that the kinds are right.
    p_value, nearest_kinds
        As of :class:`Part`, of its largest part.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.faults import Finding
    >>> Finding(("blur",), np.ones((2, 2), bool), 0.9).kinds
    ('blur',)
    """

    kinds: tuple[str, ...]
    mask: np.ndarray
    confidence: float
    p_value: float = 1.0
    nearest_kinds: tuple[str, ...] = ()


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
    >>> from llise.diagnosis.faults import Part, assemble
    >>> left = np.arange(12).reshape(2, 6) % 6 < 3
    >>> jpeg, both = (np.eye(64)[SETS.index(kinds)] for kinds in (("jpeg",), ("blur", "jpeg")))
    >>> findings = assemble([Part(0, left, jpeg), Part(0, ~left, both)], np.ones((2, 6)))
    >>> [(finding.kinds, int(finding.mask.sum())) for finding in findings]
    [(('jpeg',), 12), (('blur',), 6)]
    """
    parts = _without_strays(_with_the_unknown(parts))
    found: list[Finding] = []
    for area in sorted({part.area for part in parts}):
        found += _of_area([part for part in parts if part.area == area])
    return _united(found, error)


def _with_the_unknown(parts: list[Part]) -> list[Part]:
    """Parts of an area that is mostly unknown become unknown too: named kinds there are only what it looks like."""
    kept = []
    for part in parts:
        beside = [other for other in parts if other.area == part.area]
        largest = max(beside, key=lambda other: other.mask.sum())
        whole = sum(int(other.mask.sum()) for other in beside)
        mostly = largest.kinds == (UNKNOWN,) and largest.mask.sum() >= MOSTLY_UNKNOWN * whole
        kept.append(replace(largest, mask=part.mask) if mostly else part)
    return kept


def _without_strays(parts: list[Part]) -> list[Part]:
    """Islands of few blocks take the kinds of a larger part where the judge does not exclude them.

    So do parts that are tiny against all of the damage, where they are doubtful, not known while a larger part of their
    area is, or have only some of the larger part's kinds: in a flat spot of a blurred picture with impulses, the
    impulses are all that can be seen.
    """
    damaged = sum(float(part.mask.sum()) for part in parts)
    tiny, small = max(TINY * damaged, LEAST_PART), SMALL * damaged

    def is_stray(part: Part) -> bool:
        size = part.mask.sum()
        content = part.is_content and size >= LEAST_CONTENT
        if part.confidence < LEAST_CONFIDENCE and size < small and not content:
            return True
        if size >= tiny:
            return bool(size < SMALL_ISLAND)
        less = any(set(part.kinds) < set(other.kinds) for other in parts if other.mask.sum() >= tiny)
        if part.kinds == (UNKNOWN,) and any(other.area == part.area for other in parts if other.mask.sum() >= tiny):
            return True
        return bool(size < SMALL_ISLAND or less or (part.confidence < DOUBTFUL and not content))

    large = [part for part in parts if not is_stray(part)]
    kept = list(large)
    for part in parts:
        if not is_stray(part):
            continue
        least = 0.02 if part.confidence >= DOUBTFUL and part.kinds != (UNKNOWN,) else 0.0
        hosts = [host for host in large if part.probability_of(host.kinds) > least or _are_nested(host, part)]
        if hosts:
            host = max(hosts, key=lambda host: part.probability_of(host.kinds))
            kept.append(replace(host, area=part.area, mask=part.mask))
        else:
            kept.append(part)
    return kept


def _are_nested(one: Part, other: Part) -> bool:
    """Whether one of two parts has some of the kinds of the other and no more."""
    return set(one.kinds) < set(other.kinds) or set(other.kinds) < set(one.kinds)


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
            finding = single.setdefault(
                kind, Finding((kind,), part.mask, part.confidence, part.p_value, part.nearest_kinds)
            )
            finding.mask = finding.mask | part.mask
    return [*mixtures, *single.values()]


def _united(found: list[Finding], error: np.ndarray) -> list[Finding]:
    united: list[Finding] = []
    for one in sorted(found, key=lambda finding: -finding.mask.sum()):
        same = next((other for other in united if other.kinds == one.kinds and _alike(one, other, error)), None)
        if same is None:
            united.append(one)
            continue
        shares = np.array([same.mask.sum(), one.mask.sum()]) / (same.mask.sum() + one.mask.sum())
        same.confidence = float(shares @ [same.confidence, one.confidence])
        same.mask = same.mask | one.mask
    return united


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
    >>> from llise.diagnosis.faults import Finding, in_place
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
    >>> from llise.diagnosis.faults import Finding, extend
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


def with_caution(finding: Finding) -> float:
    """Return the confidence with which the kinds of a fault are said.

    A wrong answer that is said with confidence does more harm than a right one that is said with little, so that the
    probability of named kinds is squared, where it is above :data:`LITTLE_CAUTION`, and lowered by that factor below.

    Parameters
    ----------
    finding : Finding
        The fault.

    Returns
    -------
    float
        Between 0 and 1; the probability itself for faults without a name and kinds of one's own.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.faults import Finding, with_caution
    >>> mask = np.ones((2, 2), bool)
    >>> [round(with_caution(Finding(kinds, mask, 0.9)), 2) for kinds in (("blur",), ("unknown",))]
    [0.81, 0.9]
    """
    if not set(finding.kinds) <= set(NAMED_KINDS):
        return finding.confidence
    return finding.confidence * max(finding.confidence, LITTLE_CAUTION)
