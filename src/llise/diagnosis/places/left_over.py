"""What a kind that is everywhere in an area leaves over: a second fault in a part of the area.

Contrast, luminance, blur and coders can be repeated.  Once their settings are known, the reference is made again with
them, and next to nothing is left of the error where nothing else happened.  A compact place in which much is left has
a fault of its own, over or under that kind.
"""

from __future__ import annotations

import numpy as np

from llise.diagnosis.estimates.chains import GREY, HIDING, RANDOM
from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.findings import Part
from llise.diagnosis.places.outliers import outliers, without_ends
from llise.diagnosis.sets import CONTENT, UNKNOWN
from llise.differences import by_block, pixels_of

REPEATABLE = frozenset({"contrast", "luminance", "blur", "jpeg", "quantization", "sharpening"})
"""Kinds that can be made again pixel by pixel, wherever they are."""

TYPICAL = 0.6
"""Quantile of what is left in the blocks of an area that counts as left by the kind itself."""

LEAST_POWER = 16.0
"""Least mean square of what is left in a block with a fault of its own."""

LEAST_BLOCKS, LEAST_SHARE, LEAST_UNKNOWN = 12, 0.012, 0.05
"""Fewest blocks of a place with a fault of its own, its least share of the area, and that of one without a name."""

SURE_OF_CONTENT, SURE, SURE_OF_GREY = 0.35, 0.5, 0.7
"""Probability of the kinds of such a place from which they are a fault of its own: of content, of other kinds, and
where they only change greys, as a curve that was not found exactly does too."""

LEAST_LEFT, LEAST_LEFT_OF_CONTENT, MUCH_LESS = 0.03, 0.2, 2.0
"""Least share of the error of a place that the kinds of its area must leave, the same where the place seems to have
content, and how many times as much as the kinds of the place itself leave."""

MOST_PIXELS = 60_000
"""Pixels from which the medians of grey levels are found."""

PASSES = 2
"""How often the settings are found, the second time without the place with a fault of its own."""


def left_over(estimates: CopyEstimates, area: np.ndarray, kinds: tuple[str, ...]) -> np.ndarray:
    """Return the blocks of an area for which its kinds do not account.

    Parameters
    ----------
    estimates : CopyEstimates
        Estimates of the copy's faults.
    area : ndarray of bool, shape (rows, cols)
        Blocks of the area.
    kinds : tuple of str
        Kinds of most of the area.

    Returns
    -------
    ndarray of bool, shape (rows, cols)
        Compact places in which far more is left than elsewhere; none where a kind cannot be repeated.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.places.left_over import left_over
    >>> image = np.random.default_rng(0).integers(60, 190, (128, 128)).astype(np.uint8)
    >>> copy = (image * 0.8).astype(np.uint8)
    >>> copy[32:72, 32:72] += 20
    >>> int(left_over(CopyEstimates(image, copy), np.ones((16, 16), bool), ("contrast",)).sum())
    25
    """
    left = np.zeros_like(area)
    if not set(kinds) <= REPEATABLE:
        return left
    # Blocks of a gap that was bridged equal the reference, so that the kinds are not there.
    faulty = area & by_block(estimates.copy != estimates.reference).any(axis=-1)
    faulty = without_ends(estimates.reference, estimates.copy, faulty)
    if not faulty.any():
        return left
    for number in range(PASSES):
        by_median = number == 0 and set(kinds) <= set(GREY)
        again = _by_median(estimates, faulty) if by_median else estimates.made_again(area & ~left, kinds)
        if again is None:
            return np.zeros_like(area)
        left = outliers(again, estimates.copy, faulty, TYPICAL, LEAST_POWER, curve=False)
        if not left.any():
            break
    return left


def _by_median(estimates: CopyEstimates, area: np.ndarray) -> np.ndarray:
    """The reference with each grey replaced by the median that it has in an area of the copy.

    A line fitted to all of the area would be drawn away by a second fault in a third of it.
    """
    chosen = np.flatnonzero(pixels_of(area, estimates.copy.shape))
    chosen = chosen[:: max(chosen.size // MOST_PIXELS, 1)]
    before, after = (image.ravel()[chosen] for image in (estimates.reference, estimates.copy))
    order = np.lexsort((after, before))
    greys, first, count = np.unique(before[order], return_index=True, return_counts=True)
    medians = after[order][first + count // 2]
    table = np.interp(np.arange(256), greys, medians)
    return np.rint(table).astype(np.uint8)[estimates.reference]


def has_fault_of_its_own(place: Part, area: np.ndarray, kinds: tuple[str, ...], estimates: CopyEstimates) -> bool:
    """Return whether a place for which the kinds of its area do not account surely has other kinds.

    Parameters
    ----------
    place : Part
        The place.
    area : ndarray of bool, shape (rows, cols)
        Blocks of the area.
    kinds : tuple of str
        Kinds of most of the area.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    bool
        False for few blocks, where the answer is doubtful, and where the kinds of the area account for the place about
        as well with other settings.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.findings import Part
    >>> from llise.diagnosis.places.left_over import has_fault_of_its_own
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> image = np.random.default_rng(0).integers(60, 190, (160, 160)).astype(np.uint8)
    >>> copy = (image * 0.8).astype(np.uint8)
    >>> copy[:32] += 40
    >>> both = np.eye(len(SETS))[code_of("contrast", "luminance")]
    >>> place = Part(0, np.arange(20)[:, None] * np.ones(20) < 4, both)
    >>> has_fault_of_its_own(place, np.ones((20, 20), bool), ("contrast",), CopyEstimates(image, copy))
    True
    """
    others = set(place.kinds) - set(kinds)
    share = place.mask.sum() / area.sum()
    if not others or (UNKNOWN in others and share < LEAST_UNKNOWN):
        return False
    if others <= set(RANDOM) and set(kinds) & set(HIDING):  # noise that came before shows in some places only
        return False
    if CONTENT not in others and share < LEAST_SHARE:
        return False
    if place.confidence < (SURE_OF_CONTENT if CONTENT in others else SURE):
        return False
    if others <= set(GREY) and set(kinds) <= set(GREY):
        return place.confidence >= SURE_OF_GREY
    unexplained = 1 - estimates.of(place.mask, kinds).explained
    own = estimates.of(place.mask, place.kinds).explained if not others & {CONTENT, UNKNOWN} else 1.0
    return unexplained >= MUCH_LESS * (1 - own)


def is_worth_a_look(place: Part, kinds: tuple[str, ...], estimates: CopyEstimates) -> bool:
    """Return whether a place seems to have other kinds than its area, and these leave much of it with any settings.

    Parameters
    ----------
    place : Part
        The place, as the judge says.
    kinds : tuple of str
        Kinds of most of the area.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    bool
        False for few blocks; changes of the greys, which a curve explains in any place, are always worth a look.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.findings import Part
    >>> from llise.diagnosis.places.left_over import is_worth_a_look
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> image = np.random.default_rng(0).integers(60, 190, (64, 64)).astype(np.uint8)
    >>> few = Part(0, np.arange(64).reshape(8, 8) < 5, np.eye(len(SETS))[code_of("content")])
    >>> is_worth_a_look(few, ("blur",), CopyEstimates(image, 255 - image))
    False
    """
    if place.mask.sum() < LEAST_BLOCKS or set(place.kinds) <= set(kinds):
        return False
    least = LEAST_LEFT_OF_CONTENT if CONTENT in place.kinds else LEAST_LEFT
    return set(kinds) <= set(GREY) or 1 - estimates.of(place.mask, kinds).explained >= least
