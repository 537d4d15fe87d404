"""Where fewer kinds, or those of the area around a part, explain it as well as the kinds that were named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from llise.diagnosis.estimates.chains import GREY, HIDING, RANDOM
from llise.diagnosis.estimates.copy_estimates import CONNECTED_SIDES, CopyEstimates
from llise.diagnosis.estimates.general_chains import NOISES
from llise.diagnosis.faults import MAY_BE_TAUGHT
from llise.diagnosis.features.block_sums import box_of
from llise.diagnosis.findings import Part
from llise.diagnosis.second_look.verification import LEAST_BLOCKS, LIKELY
from llise.diagnosis.sets import CONTENT, SETS, UNKNOWN, UNKNOWN_CODE, code_of, exchanged

NEARLY_ALL, AS_MUCH, MUCH_MORE = 0.95, 0.02, 3.0
"""Share of the error that one kind of a pair must explain, how much less than both, and how many times as much as these
it may leave, to be preferred."""

WELL_EXPLAINED, AS_WELL, NEXT_TO_NOTHING, FILTERED = 0.85, 2.0, 0.01, 0.05
"""Share of the error that the kinds of the area must explain, how many times as much they may leave as the part's own
kinds, what they may leave in any case, and how much more where the part has only a further filter or coder, whose
settings fit whatever is left."""

DOUBTFUL = 0.7
"""Confidence below which a part may have the kinds of a larger one in another area."""

SAME_SETTINGS, SAME_SETTINGS_OF_UNKNOWN, ALIKE = 0.9, 0.75, 0.4
"""Share of the error that the settings of a larger part must explain in a smaller one for both to be one fault, the
same where the smaller one has no name, and how unlike to what remains its noise may be."""

NEGLIGIBLE = {"gaussian_noise": ("sigma", 0.8), "sharpening": ("amount", 0.05), "luminance": ("offset", 0.7)}
"""Setting of a kind, and the value below which the kind does nothing; sharpening is not found exactly beside a blur."""

LITTLE_MOVED, LITTLE_SHARE = 8.0, 0.13
"""Error by contrast or luminance beside noise, and its share of all, up to which programs that make noise move the mean
by rounding down or clipping."""

ALL_LEVELS = 100
"""Grey levels from which quantization does nothing: their steps of 2.6 make an error of less than 1."""

MADE_AGAIN, SIMILAR = 0.98, (12.0, 1.6)
"""Share of the error of a part that the kinds of a larger one must explain with similar settings, the greatest
difference of grey levels and angles, and the greatest ratio of other settings."""

MORE_NOISE = 3.0
"""How many times as much as around it the kinds around a place may leave there for noise."""

LEAST_SURE = 0.5
"""Confidence below which a part may have the kinds of a larger one in its area with settings for both of them."""

CELLS_AROUND = 12
"""Blocks around a place in a mosaic in which its cells are found."""

ELSEWHERE = frozenset({"content", "impulse_noise", "jpeg2000", "pixelation", UNKNOWN})
"""Kinds whose settings, or the places that they hit, cannot be taken to another part."""


def explains_as_well(
    kinds: tuple[str, ...], own: tuple[str, ...], region: np.ndarray, estimates: CopyEstimates
) -> bool:
    """Return whether other kinds explain a part about as well as its own, so that it need not be told apart.

    Parameters
    ----------
    kinds : tuple of str
        Kinds of the area around the part.
    own : tuple of str
        Kinds of the part.
    region : ndarray of bool, shape (rows, cols)
        Blocks of the part.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    bool
        Only where blur and JPEG are around it: noise explains whatever looks like noise, and contrast and luminance
        whatever shifts greys, if their settings may be others in the part.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.naming.simpler_kinds import explains_as_well
    >>> from scipy import ndimage
    >>> image = np.random.default_rng(0).integers(60, 190, (128, 128)).astype(np.uint8)
    >>> copy = ndimage.gaussian_filter(image.astype(float), 1.5).round().astype(np.uint8)
    >>> estimates, everywhere = CopyEstimates(image, copy), np.ones((16, 16), bool)
    >>> explains_as_well(("blur",), ("contrast", "blur"), everywhere, estimates)
    True
    """
    if set(kinds) - set(HIDING) or np.count_nonzero(region) < LEAST_BLOCKS:
        return False
    explained = estimates.of(region, kinds).explained
    by_own = estimates.of(region, own).explained if own != (UNKNOWN,) else 0.0
    further = set(own) - set(kinds)
    reserve = FILTERED if set(kinds) < set(own) and further <= set(HIDING) else 0.0
    left = max(AS_WELL * (1 - by_own), NEXT_TO_NOTHING, 1 - by_own + reserve)
    return explained >= WELL_EXPLAINED and 1 - explained <= left


def told_apart(parts: list[Part], estimates: CopyEstimates) -> list[Part]:
    """Give parts the kinds of a larger part where these explain them as well.

    These are the kinds of the largest part of their area, whatever the settings, or those of any larger part with the
    very settings that they have there.

    Parameters
    ----------
    parts : list of Part
        Parts of all areas.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    list of Part
        The same parts; a part that may be of the taught kind of the largest one is taken to be of it.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.findings import Part
    >>> from llise.diagnosis.sets import SETS
    >>> from llise.diagnosis.naming.simpler_kinds import told_apart
    >>> image, sets = np.zeros((8, 32), np.uint8), (*SETS, ("fog",))
    >>> fog, doubtful = np.eye(1, 65, 64)[0], 0.9 * np.eye(1, 65)[0] + 0.1 * np.eye(1, 65, 64)[0]
    >>> parts = [Part(0, np.arange(4)[None] < 3, fog, sets=sets), Part(0, np.arange(4)[None] > 2, doubtful, sets=sets)]
    >>> [part.kinds for part in told_apart(parts, CopyEstimates(image, image))]
    [('fog',), ('fog',)]
    """
    kept = []
    for part in parts:
        largest = _largest_beside(part, parts)
        if part.kinds != largest.kinds and _is_like(part, largest, estimates):
            part = replace(largest, area=part.area, mask=part.mask)
        else:
            host = _with_same_settings(part, parts, estimates)
            part = replace(host, area=part.area, mask=part.mask) if host else part
        kept.append(part)
    return kept


def _is_like(part: Part, largest: Part, estimates: CopyEstimates) -> bool:
    """Whether the kinds of the largest part explain a part as well with settings of their own."""
    if largest.is_taught and part.probability_of(largest.kinds) >= MAY_BE_TAUGHT:
        return True
    if part.stands_out and part.kinds == (CONTENT,) and {"blur", *GREY} & set(largest.kinds):
        return False  # a wider blur, or another table of greys, may look like an even patch
    return explains_as_well(largest.kinds, part.kinds, part.mask, estimates)


def _largest_beside(part: Part, parts: list[Part]) -> Part:
    """The largest part of the same area; of all where a doubtful part has its kinds and a filter or coder more."""
    largest = max(parts, key=lambda other: other.mask.sum())
    more = set(part.kinds) - set(largest.kinds)
    if part.confidence < DOUBTFUL and set(largest.kinds) < set(part.kinds) and more <= set(HIDING):
        return largest
    return max((other for other in parts if other.area == part.area), key=lambda other: other.mask.sum())


def _with_same_settings(part: Part, parts: list[Part], estimates: CopyEstimates) -> Part | None:
    """A larger part of other kinds whose very settings account for this one as well."""
    for host in sorted(parts, key=lambda other: -other.mask.sum()):
        if host.mask.sum() <= part.mask.sum():
            break
        if host.kinds == part.nearest_kinds and estimates.of(part.mask, host.kinds).explained >= SAME_SETTINGS:
            return host  # a little too strange for these kinds by itself, but not beside them
        if CONTENT in part.kinds and not host.is_taught and _is_made_below_noise(part, host, estimates):
            return host
        if "pixelation" in host.kinds and _is_same_mosaic(part, host, estimates):
            return host
        if host.kinds == part.kinds or host.is_taught or ELSEWHERE & set(host.kinds):
            continue
        # Noise that was coded with a high quality, or whose greys were moved a little, looks like the noise around it.
        sure = part.confidence >= DOUBTFUL or (part.stands_out and bool(set(GREY) & set(part.kinds)))
        if sure and set(host.kinds) & set(RANDOM) and set(host.kinds) < set(part.kinds):
            continue
        found = estimates.with_settings_of(host.mask, part.mask, host.kinds)
        least = SAME_SETTINGS_OF_UNKNOWN if part.kinds == (UNKNOWN,) else SAME_SETTINGS
        if found.explained >= least and (found.unlike <= ALIKE or not set(RANDOM) & set(host.kinds)):
            return host
        if part.stands_out and _has_similar_settings(part, host, estimates):
            return host
        if part.confidence < LEAST_SURE and host.area == part.area and _makes_both(part, host, estimates):
            return host
    return None


def _is_made_below_noise(part: Part, host: Part, estimates: CopyEstimates) -> bool:
    """Whether the kinds of a larger part, but for their noise, make nearly all of a place that seems to be content.

    A bright spot that a wide blur takes away stands out from the noise around it.
    """
    if not set(RANDOM) & set(host.kinds) or not {"blur", "jpeg", *GREY} & set(host.kinds):
        return False  # the cells of a mosaic, and what JPEG 2000 keeps, depend on the whole that was fitted
    here, there = (estimates.left_by(host.mask, mask, host.kinds) for mask in (part.mask, host.mask))
    return here <= MORE_NOISE * there and here <= (1 - SAME_SETTINGS) * estimates.error(part.mask)


def _is_same_mosaic(part: Part, host: Part, estimates: CopyEstimates) -> bool:
    """Whether the mosaic of a larger part makes a place that stands out from it too.

    The cells depend on the place, so that they are found again around it. A cell of its own grey is no content.
    """
    if set(RANDOM) & set(host.kinds) or host.is_taught:
        return False
    top, left, bottom, right = box_of(part.mask)
    side = CONNECTED_SIDES[len(host.kinds) - 1]
    if max(bottom - top, right - left) > side:
        return False
    window = []
    for first, last in ((top, bottom), (left, right)):
        margin = min(CELLS_AROUND, (side - (last - first)) // 2)
        window.append(slice(max(first - margin, 0), last + margin))
    around = np.zeros_like(part.mask)
    around[tuple(window)] = (part.mask | host.mask)[tuple(window)]
    remains = (1 - estimates.of(around, host.kinds).explained) * estimates.error(around) * around.sum()
    return bool(remains <= (1 - SAME_SETTINGS) * estimates.error(part.mask) * part.mask.sum())


def _makes_both(part: Part, host: Part, estimates: CopyEstimates) -> bool:
    """Whether the kinds of a larger part make both parts again with settings that are found on both together."""
    if set(RANDOM) & set(host.kinds):
        return False
    both = host.mask | part.mask
    if estimates.of(both, host.kinds).explained < MADE_AGAIN:
        return False
    return estimates.with_settings_of(both, part.mask, host.kinds).explained >= SAME_SETTINGS


def _has_similar_settings(part: Part, host: Part, estimates: CopyEstimates) -> bool:
    """Whether the kinds of a larger part account for all of this one with nearly the same settings.

    Wide blurs are not found so exactly that the very settings of one place would do in another; changes of greys are.
    """
    if set(RANDOM) & set(host.kinds) or set(host.kinds) <= set(GREY):
        return False
    here, there = (estimates.of(mask, host.kinds) for mask in (part.mask, host.mask))
    if here.explained < MADE_AGAIN:
        return False
    for kind, settings in there.parameters.items():
        for name, interval in settings.items():
            value, other = (float(found.value) for found in (interval, here.parameters[kind].get(name, interval)))
            if name in ("offset", "pivot", "angle"):
                similar = abs(value - other) <= SIMILAR[0]
            else:
                similar = max(value, other) <= SIMILAR[1] * max(min(value, other), 1e-6)
            if not similar:
                return False
    return True


def simplest(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
    """Prefer blur or JPEG alone to a pair of which the other kind adds next to nothing.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,)
        Probabilities of a doubtful part.
    region : ndarray of bool, shape (rows, cols)
        Its blocks.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    ndarray, shape (n_sets,)
        With those of the pair and of the one kind exchanged where that one explains as much.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.sets import SETS
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.naming.simpler_kinds import simplest
    >>> from scipy import ndimage
    >>> image = np.random.default_rng(0).integers(60, 190, (128, 128)).astype(np.uint8)
    >>> copy = ndimage.gaussian_filter(image.astype(float), 1.5).round().astype(np.uint8)
    >>> doubtful = 0.6 * np.eye(64)[SETS.index(("contrast", "blur"))] + 0.4 * np.eye(64)[SETS.index(("blur",))]
    >>> SETS[int(simplest(doubtful, np.ones((16, 16), bool), CopyEstimates(image, copy)).argmax())]
    ('blur',)
    """
    pair = int(probabilities.argmax())
    if len(SETS[pair]) < 2:
        return probabilities
    explained = estimates.of(region, SETS[pair]).explained
    for kind in SETS[pair]:
        one = SETS.index((kind,))
        if kind not in HIDING or probabilities[one] < LIKELY:
            continue
        alone = estimates.of(region, (kind,)).explained
        little = max(NEXT_TO_NOTHING, MUCH_MORE * (1 - explained))
        if alone >= max(NEARLY_ALL, explained - AS_MUCH, 1 - little):
            return exchanged(probabilities, pair, one)
    return probabilities


def without_negligible(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
    """Prefer other kinds to such that have settings with which they do nothing, or next to nothing beside noise.

    Of a pair that is the other kind.  Instead of quantization that leaves most levels, or a mosaic without cells beside
    another kind, it is the likeliest kinds without it.

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
        With those of both sets exchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> from llise.diagnosis.naming.simpler_kinds import without_negligible
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> noisy = (image + np.random.default_rng(0).normal(0, 9, image.shape)).astype(np.uint8)
    >>> both = np.eye(len(SETS))[code_of("luminance", "gaussian_noise")]
    >>> SETS[int(without_negligible(both, np.ones((16, 16), bool), CopyEstimates(image, noisy)).argmax())]
    ('gaussian_noise',)
    """
    return _without_negligible(probabilities, region, estimates, frozenset())


def _without_negligible(
    probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates, excluded: frozenset[str]
) -> np.ndarray:
    """The same where some kinds were found to do nothing before."""
    top = int(probabilities.argmax())
    if top >= UNKNOWN_CODE or SETS[top] == (CONTENT,):
        return probabilities
    kinds, estimate = SETS[top], estimates.of(region, SETS[top])
    found = estimate.parameters
    for kind, other in (kinds, kinds[::-1]) if len(kinds) > 1 else ():
        moved = estimate.severity[kind]
        if kind in GREY and other in NOISES and moved <= min(LITTLE_MOVED, LITTLE_SHARE * estimates.error(region)):
            return exchanged(probabilities, top, code_of(other))
        name, least = NEGLIGIBLE.get(kind, ("", 0.0))
        if name not in found.get(kind, {}) or abs(found[kind][name].value) >= least:
            continue
        if kind == "sharpening" and other in GREY:  # what is fitted is less than no sharpening
            return exchanged(probabilities, top, code_of(other, "blur"))
        if kind != "sharpening" or other in RANDOM:
            return exchanged(probabilities, top, code_of(other))
    levels, cell = found.get("quantization", {}).get("levels"), found.get("pixelation", {}).get("cell")
    without = "quantization" if levels and levels.value >= ALL_LEVELS else ""
    without = "pixelation" if "pixelation" in kinds and len(kinds) > 1 and cell is None else without
    if not without:
        return probabilities
    # It was named for what other kinds did, one of which may do nothing either.
    excluded |= {without}
    others = [code for code in range(UNKNOWN_CODE) if not excluded & set(SETS[code])]
    instead = exchanged(probabilities, top, max(others, key=lambda code: probabilities[code]))
    return _without_negligible(instead, region, estimates, excluded)
