"""What lies below a part that has a further kind: most likely the kind of the larger part around it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from llise.diagnosis.estimates.chains import GREY, HIDING, RANDOM
from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.findings import Part
from llise.diagnosis.second_look.verification import accounts_for
from llise.diagnosis.sets import CONTENT, SETS, code_of, exchanged, is_set

LARGEST_CONTENT = 0.3
"""Share of the picture up to which a part may be content alone if it looks like content with another kind."""

NEEDLESS, EXACT, AS_MUCH = 0.95, 0.999, 0.001
"""Share of the error from which a part's own kind alone accounts for it, and that where nothing else is likely; and how
much more it may explain with the kind beside it."""

LEAST_EXPLAINED = 0.8
"""Share of the error that a part's further kind must explain with the kind around it to be preferred."""


def with_kinds_around(parts: list[Part], estimates: CopyEstimates) -> list[Part]:
    """Give parts with a further kind the one that is around them below it, where it may be there.

    What a strong coder leaves of noise hardly tells which noise it was, and a weak blur hardly shows below a change of
    contrast; but what is everywhere around a place was most likely there too. A contrast, luminance, blur or JPEG that
    makes a part again alone only lies beside the other kind.

    Parameters
    ----------
    parts : list of Part
        Parts of all areas.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    list of Part
        The same parts in the same order.

    Examples
    --------
    >>> import llise
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.findings import Part
    >>> from llise.diagnosis.naming.kinds_around import with_kinds_around
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> rng = np.random.default_rng(0)
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> copy = (image + rng.normal(0, 9, image.shape)).astype(np.uint8)
    >>> copy[:32] = llise.distortions.apply(copy[:32], "jpeg", mse=60)
    >>> sure, coded = np.eye(len(SETS)), np.arange(16)[:, None] * np.ones(16) < 4
    >>> noise, hidden = sure[code_of("gaussian_noise")], sure[code_of("impulse_noise", "jpeg")]
    >>> parts = with_kinds_around([Part(0, ~coded, noise), Part(0, coded, hidden)], CopyEstimates(image, copy))
    >>> parts[1].kinds
    ('gaussian_noise', 'jpeg')
    """
    parts = [_with_kind_around(_without_lonely_kind(part, parts), parts, estimates) for part in parts]
    return [_without_kind_beside(part, parts, estimates) for part in parts]


def _without_lonely_kind(part: Part, parts: list[Part]) -> Part:
    """A small part with content and a second kind that is nowhere else as content alone, which may look like both."""
    (other, *more) = [kind for kind in part.kinds if kind != CONTENT] or [""]
    if CONTENT not in part.kinds or not other or more or part.mask.mean() > LARGEST_CONTENT:
        return part
    if any(other in beside.kinds for beside in parts if beside is not part):
        return part
    return replace(part, probabilities=exchanged(part.probabilities, code_of(CONTENT, other), code_of(CONTENT)))


def _without_kind_beside(part: Part, parts: list[Part], estimates: CopyEstimates) -> Part:
    """A part for which its own kind accounts as well alone, without the kind of a part that only lies beside it."""
    beside = _kind_around(part, parts)
    if beside is None:
        return part
    (own, *more) = [kind for kind in part.kinds if kind != beside] or [""]
    # Random kinds account for anything, and two changes of the greys make one line.
    if more or own not in {*GREY, *HIDING} or {own, beside} <= set(GREY):
        return part
    alone = estimates.of(part.mask, (own,)).explained
    probabilities = part.probabilities
    if len(part.kinds) > 1:
        if alone < max(NEEDLESS, estimates.of(part.mask, part.kinds).explained - AS_MUCH):
            return part
        probabilities = exchanged(probabilities, int(probabilities.argmax()), code_of(own))
    elif alone < EXACT:
        return part
    with_beside = np.array([beside in kinds for kinds in part.sets])
    return replace(part, probabilities=np.where(with_beside, 0.0, probabilities))


def _kind_around(part: Part, parts: list[Part]) -> str | None:
    """The only kind of the largest part of a part's area; None if that is the part itself, or has two kinds."""
    largest = max((other for other in parts if other.area == part.area), key=lambda other: other.mask.sum())
    if largest.mask is part.mask or part.is_taught or largest.is_taught or len(largest.kinds) > 1:
        return None
    return largest.kinds[0]


def _with_kind_around(part: Part, parts: list[Part], estimates: CopyEstimates) -> Part:
    below = _kind_around(part, parts)
    if below is None:
        return part
    further = _further_kind(part, below, estimates)
    if further is None or not is_set(below, further):
        return part
    code = code_of(below, further)
    if estimates.of(part.mask, SETS[code]).explained < LEAST_EXPLAINED:
        return part
    return replace(part, probabilities=exchanged(part.probabilities, int(part.probabilities.argmax()), code))


def _further_kind(part: Part, below: str, estimates: CopyEstimates) -> str | None:
    """The kind of a part that another one lies below, if the part does not tell which; None if it does."""
    noise, others = set(part.kinds) & set(RANDOM), set(part.kinds) - set(RANDOM)
    if below in RANDOM and below not in noise and len(noise) == len(others) == 1:
        (other,) = others
        alike = other in HIDING or (other in GREY and "impulse_noise" not in {*noise, below})
        return other if alike else None
    if below in HIDING and len(part.kinds) == 1 and part.kinds[0] in GREY:
        return None if accounts_for(part.kinds, estimates.of(part.mask, part.kinds)) else part.kinds[0]
    return None
