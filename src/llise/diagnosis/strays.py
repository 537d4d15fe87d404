"""Parts that are too small, or too doubtful for their size, to be faults of their own."""

from __future__ import annotations

from dataclasses import replace

from llise.diagnosis.findings import Part
from llise.diagnosis.regions import SMALL_ISLAND
from llise.diagnosis.sets import CONTENT, UNKNOWN
from llise.masks import dilated

MOSTLY_UNKNOWN = 0.5
"""Share of an area from which all of it is unknown, and of all damaged blocks from which strays are."""

TINY, DOUBTFUL = 0.01, 0.9
"""Share of all damaged blocks below which a part whose confidence is below the second number is a stray."""

LEAST_PART = 6
"""Size in blocks below which a part beside larger ones is tiny in any case."""

LEAST_CONTENT, LEAST_OUTSTANDING, OUTSTANDING = 8, 4, 0.3
"""Fewest blocks of doubtful content that is a fault of its own, and the same where nothing but content stands out from
its area, with at least the third number as its confidence."""

MAY_BE_CONTENT, MORE_CONTENT = 0.02, 0.5
"""Probability of content from which a part is taken for it, and its size at most, against all content elsewhere."""

SMALL = 0.02
"""Share of all damaged blocks up to which content in a mosaic, and unknown parts that are like a larger one, are
strays."""

LEAST_CONFIDENCE, SMALL_IF_DOUBTFUL = 0.4, 0.04
"""Confidence below which also other parts of up to this share of all damaged blocks are strays: of 18 such parts on
photographs and training pictures 2 had the right kinds."""

LITTLE, MUCH_LARGER, SURE_OF_CONTENT, NEARLY_WHOLE = 0.012, 4.0, 0.6, 0.9
"""Share of the picture up to which a part at the rim of another one is a stray, how many times as large the other one
must be, confidence from which content is a fault of its own there, and share of the picture from which a part has no
rim. Of 7 such contents beside regions, and of 3 unknown parts, on photographs none was right; of 46 beside a kind that
is nearly everywhere 42 were."""


def with_the_unknown(parts: list[Part]) -> list[Part]:
    """Make all parts of an area that is mostly unknown unknown too: named kinds there are only what it looks like.

    Parameters
    ----------
    parts : list of Part
        Parts of all areas.

    Returns
    -------
    list of Part
        As many, in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.findings import Part
    >>> from llise.diagnosis.sets import SETS, UNKNOWN_CODE
    >>> from llise.diagnosis.strays import with_the_unknown
    >>> left = np.arange(12).reshape(2, 6) % 6 < 2
    >>> parts = [Part(0, ~left, np.eye(len(SETS))[UNKNOWN_CODE]), Part(0, left, np.eye(len(SETS))[0])]
    >>> [part.kinds for part in with_the_unknown(parts)]
    [('unknown',), ('unknown',)]
    """
    kept = []
    for part in parts:
        beside = [other for other in parts if other.area == part.area]
        largest = max(beside, key=lambda other: other.mask.sum())
        whole = sum(int(other.mask.sum()) for other in beside)
        mostly = largest.kinds == (UNKNOWN,) and largest.mask.sum() >= MOSTLY_UNKNOWN * whole
        kept.append(replace(largest, mask=part.mask) if mostly else part)
    return kept


def without_strays(parts: list[Part]) -> list[Part]:
    """Give islands of few blocks the kinds of a larger part where the judge does not exclude them.

    The same is done with parts that are tiny against all of the damage, where they are doubtful, not known while a
    larger part of their area is, or have only some of the larger part's kinds: in a flat spot of a blurred picture with
    impulses, the impulses are all that can be seen.  Where most of the damage is unknown, strays may be part of it,
    whatever they look like.

    Parameters
    ----------
    parts : list of Part
        Parts of all areas.

    Returns
    -------
    list of Part
        As many, those that are no strays first.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.findings import Part
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> from llise.diagnosis.strays import without_strays
    >>> blur, doubtful = np.eye(len(SETS))[code_of("blur")], np.zeros(len(SETS))
    >>> doubtful[[code_of("jpeg"), code_of("blur")]] = 0.6, 0.4
    >>> corner = np.arange(400).reshape(20, 20) == 0
    >>> [part.kinds for part in without_strays([Part(0, ~corner, blur), Part(0, corner, doubtful)])]
    [('blur',), ('blur',)]
    """
    damaged = sum(float(part.mask.sum()) for part in parts)
    tiny = max(TINY * damaged, LEAST_PART)

    def is_stray(part: Part) -> bool:
        size = part.mask.sum()
        outstanding = part.stands_out and part.kinds == (CONTENT,) and part.confidence >= OUTSTANDING
        content = part.is_content and size >= (LEAST_OUTSTANDING if outstanding else LEAST_CONTENT)
        if part.is_content and size < SMALL * damaged and _is_in_mosaic(part, parts):
            return True
        if any(_is_at_rim(part, other) for other in parts):
            return True
        if _may_be_content_too(part, parts):
            return True
        if part.confidence < LEAST_CONFIDENCE and size < SMALL_IF_DOUBTFUL * damaged and not content:
            return True
        if part.kinds == (UNKNOWN,) and size < SMALL * damaged and _is_nearest_to_larger(part, parts):
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
        hosts = [
            host for host in large
            if part.probability_of(host.kinds) > least or _are_nested(host, part) or _is_in_mosaic(part, [host])
            or _is_at_rim(part, host)
            or (host.kinds == (UNKNOWN,) and host.mask.sum() >= MOSTLY_UNKNOWN * damaged)
        ]  # fmt: skip
        if hosts:
            host = max(hosts, key=lambda host: part.probability_of(host.kinds))
            kept.append(replace(host, area=part.area, mask=part.mask))
        else:
            kept.append(part)
    return kept


def _is_at_rim(part: Part, other: Part) -> bool:
    """Whether a little part with doubtful content, or without a name, lies at the rim of a far larger region.

    Blocks there may have a fault in part, which looks like neither.
    """
    if part.kinds == (CONTENT,):
        doubtful = part.confidence < SURE_OF_CONTENT and other.mask.mean() < NEARLY_WHOLE
        # Few impulses leave wide gaps, so that they may be nearly everywhere though their region is not.
        doubtful &= "impulse_noise" not in other.kinds
    else:
        doubtful = part.kinds == (UNKNOWN,)
    if not doubtful or {CONTENT, UNKNOWN} & set(other.kinds) or part.mask.mean() > LITTLE:
        return False
    larger = other.mask.sum() >= MUCH_LARGER * part.mask.sum()
    return bool(larger and (dilated(part.mask) & other.mask).any())


def _is_nearest_to_larger(part: Part, parts: list[Part]) -> bool:
    """Whether the named kinds that an unknown part is most like are those of a larger part."""
    return any(other.kinds == part.nearest_kinds for other in parts if other.mask.sum() > part.mask.sum())


def _may_be_content_too(part: Part, parts: list[Part]) -> bool:
    """Whether a small part may be content, of which there is far more elsewhere: an even patch on an even ground looks
    like a strong coder."""
    if part.is_content or part.is_taught or part.probability_of((CONTENT,)) < MAY_BE_CONTENT:
        return False
    content = sum(int(other.mask.sum()) for other in parts if other.kinds == (CONTENT,))
    return int(part.mask.sum()) < MORE_CONTENT * content and not any(
        other.kinds == part.kinds for other in parts if other is not part and other.mask.sum() > part.mask.sum()
    )


def _is_in_mosaic(part: Part, parts: list[Part]) -> bool:
    """Whether the rest of a part's area is a mosaic, of which single cells may hide far more than the others."""
    beside = [other for other in parts if other.area == part.area and not other.is_content]
    return bool(beside) and max(beside, key=lambda other: other.mask.sum()).kinds == ("pixelation",)


def _are_nested(one: Part, other: Part) -> bool:
    """Whether one of two parts has some of the kinds of the other and no more."""
    return set(one.kinds) < set(other.kinds) or set(other.kinds) < set(one.kinds)
