"""Places in an area where contrast or luminance was changed over another kind.

Noise, blur and coders leave the means of blocks nearly as they are; a change of the greys moves them, in a place whose
blocks all follow one line of the grey level.  The networks of the judge hardly see a small shift below strong noise,
but the means over many blocks show it: such a place is found block by block, as the one in which the line is likelier
than no shift.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy

from llise.diagnosis.estimates.chains import GREY, HIDING
from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.findings import Part
from llise.diagnosis.second_look.verification import accounts_for
from llise.diagnosis.sets import SETS, code_of
from llise.differences import BLOCK
from llise.filters import mean_around
from llise.kinds.fitting import robust_scale
from llise.labels import KINDS
from llise.masks import closed, dilated, islands

FAR, LEAST_TYPICAL = 4.0, 0.3
"""Shift of the mean of 3 x 3 blocks, against a typical one, from which blocks are looked at, and the least typical
shift in grey levels."""

QUANTILE, QUANTILE_OF_NORMAL = 0.35, 0.4538
"""Quantile of absolute values from which their deviation is taken, and what it is for normal ones."""

LEAST_BLOCKS, LEAST_SHARE, MOST_SHARE = 12, 0.01, 0.6
"""Fewest blocks of a place, and its least and greatest share of the area."""

LEAST_SCATTER, MOST_LIKELY, LIKELIER = 0.5, 4.0, 0.15
"""Least scatter of the means of blocks in grey levels; bound of what one block tells (the logarithm of how much
likelier the line is than no shift), and the mean of that over 5 x 5 blocks from which they belong to the place."""

PASSES = 4
"""How often the line is fitted and the place found with it."""

LEAST_GREYS = 12.0
"""Range of grey levels from which a slope can be told."""

FOLLOWS, LEAST_GAIN, LEAST_SHIFT = 0.7, 0.35, 3.5
"""Share of the power of the shifts that the line must explain, the least gain that it may have (a smaller one is an
even patch or a wide blur), and the least root mean square of the shifts in grey levels."""

BIN, FEWEST, NOT_BY_GREY, CLIPPED = 6, 4, 0.5, 2.0
"""Width of a class of grey levels, fewest blocks in it that tell how its greys were moved outside of the place, the
share of the shifts that must be left when these are taken off (noise that is clipped, and few grey levels, move greys
everywhere), and the distance from black and white, in deviations of the noise, in which it is clipped."""


LIKELY = 0.5
"""Probability of a change of greys over the kind around a place, with that of this kind alone, from which it is one."""

LEAST_LEFT, MUCH_LESS = 0.03, 3.0
"""Share of the error of a place that a filter or coder alone must leave so that its greys were changed besides, and how
many times as much as with such a change."""


def shifted_place(reference: np.ndarray, copy: np.ndarray, area: np.ndarray) -> np.ndarray | None:
    """Return the place in an area where the means of blocks were moved along a line of the grey level.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    area : ndarray of bool, shape (rows, cols)
        Blocks of the area.

    Returns
    -------
    ndarray of bool, shape (rows, cols), or None
        Its blocks; None where there is no such place, or the same greys are moved elsewhere too.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.places.shifted_places import shifted_place
    >>> rng = np.random.default_rng(0)
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (256, 2))
    >>> copy = image + rng.normal(0, 15, image.shape)
    >>> copy[32:96, 16:80] += 8
    >>> place = shifted_place(image, copy.clip(0, 255).astype(np.uint8), np.ones((32, 32), bool))
    >>> int(place[4:12, 2:10].sum()), int(place.sum()) < 80
    (64, True)
    """
    if np.count_nonzero(area) < 2 * LEAST_BLOCKS:
        return None
    grey = _means(reference)
    shift = _means(copy) - grey
    shift = np.where(area, shift - np.median(shift[area]), 0)
    place = _first_blocks(shift, area)
    if place is None:
        return None
    scatter = _deviation(shift[area]) + LEAST_SCATTER
    for _ in range(PASSES):
        slope, offset = _line(grey[place], shift[place], scatter)
        line = slope * grey + offset
        likelier = np.clip((shift**2 - (shift - line) ** 2) / (2 * scatter**2), -MOST_LIKELY, MOST_LIKELY)
        found = _largest_touching(mean_around(np.where(area, likelier, 0), 5, "constant") > LIKELIER, area, place)
        if found is None:
            return None
        place = found
    if not max(LEAST_BLOCKS, LEAST_SHARE * area.sum()) <= place.sum() <= MOST_SHARE * area.sum():
        return None
    power, left = np.mean(shift[place] ** 2), np.mean((shift[place] - line[place]) ** 2)
    if 1 + slope < LEAST_GAIN or left > (1 - FOLLOWS) * power or power < LEAST_SHIFT**2:
        return None
    noise = robust_scale(np.subtract(copy, reference, dtype=np.float32))
    if not _only_here(grey, shift, area, place, noise):
        return None
    rim = dilated(place) & area & (likelier > 0)
    return place | rim


def _means(image: np.ndarray) -> np.ndarray:
    """Means (rows, cols) of blocks; those at the border count the pixels that they have."""
    rows, cols = (np.arange(0, side, BLOCK) for side in image.shape)
    sums = np.add.reduceat(np.add.reduceat(image, rows, axis=0, dtype=np.float64), cols, axis=1)
    sizes = [np.diff([*starts, side]) for starts, side in zip((rows, cols), image.shape)]
    return sums / np.multiply.outer(*sizes)


def _first_blocks(shift: np.ndarray, area: np.ndarray) -> np.ndarray | None:
    """The largest group of blocks whose means, with those around them, were moved far."""
    smooth = mean_around(shift, 3, "constant") / np.maximum(mean_around(area, 3, "constant"), 0.1)
    far = closed((np.abs(smooth) > FAR * (_deviation(smooth[area]) + LEAST_TYPICAL)) & area) & area
    numbers, count = islands(far)
    if not count:
        return None
    sizes = np.bincount(numbers.ravel())
    sizes[0] = 0
    enough = 2 * sizes.max() >= max(LEAST_BLOCKS, LEAST_SHARE * area.sum())
    return numbers == int(sizes.argmax()) if enough else None


def _deviation(values: np.ndarray) -> float:
    """Standard deviation of most values, if half of them are moved far by something else."""
    return float(np.quantile(np.abs(values), QUANTILE)) / QUANTILE_OF_NORMAL


def _line(grey: np.ndarray, shift: np.ndarray, scatter: float) -> tuple[float, float]:
    """Slope and offset of the shifts of blocks by their grey, without blocks that are far from it."""
    slope, offset = 0.0, float(np.median(shift))
    for _ in range(2):
        rest = np.abs(shift - slope * grey - offset)
        near = rest <= 3 * max(1.4826 * float(np.median(rest)), scatter)
        if np.ptp(grey[near]) >= LEAST_GREYS:
            slope, offset = np.polyfit(grey[near], shift[near], 1)
        else:
            offset = float(shift[near].mean())
    return slope, offset


def _largest_touching(likely: np.ndarray, area: np.ndarray, place: np.ndarray) -> np.ndarray | None:
    """The largest group of likely blocks that has some of a place, without holes."""
    numbers, _ = islands(closed(likely) & area)
    touching = np.unique(numbers[place])
    touching = touching[touching > 0]
    if not touching.size:
        return None
    sizes = np.bincount(numbers.ravel())
    filled = scipy.ndimage.binary_fill_holes(numbers == touching[sizes[touching].argmax()])
    return np.asarray(filled & area)


def _only_here(grey: np.ndarray, shift: np.ndarray, area: np.ndarray, place: np.ndarray, noise: float) -> bool:
    """Whether blocks of the same greys outside of a place were not moved in the same way, nor all by clipped noise."""
    outside = area & ~dilated(place)
    classes = (grey // BIN).astype(int)
    usual = np.zeros_like(grey)
    for number in np.unique(classes[place]):
        here, others = classes == number, outside & (classes == number)
        if np.count_nonzero(others) >= FEWEST:
            usual[here] = np.median(shift[others])
    clipped = np.minimum(grey, 255 - grey) < CLIPPED * noise
    own = np.where(clipped, 0, np.abs(shift - usual))[place].mean()
    return bool(own >= NOT_BY_GREY * np.abs(shift[place]).mean())


def may_be_moved(kinds: tuple[str, ...]) -> bool:
    """Return whether shifts of the means of blocks show a change of greys over kinds.

    Parameters
    ----------
    kinds : tuple of str
        Kinds of an area.

    Returns
    -------
    bool
        True for noise, impulses, blur or JPEG alone, which leave means as they are.

    Examples
    --------
    >>> from llise.diagnosis.places.shifted_places import may_be_moved
    >>> may_be_moved(("blur",)), may_be_moved(("contrast",))
    (True, False)
    """
    return len(kinds) == 1 and kinds[0] in KINDS and kinds[0] not in GREY


def with_moved_greys(part: Part, rest: np.ndarray, around: tuple[str, ...], estimates: CopyEstimates) -> Part:
    """Return a place whose greys were moved with contrast or luminance besides the kind that is around it.

    Parameters
    ----------
    part : Part
        The place, as the judge says.
    rest : ndarray of bool, shape (rows, cols)
        Blocks of the area around it.
    around : tuple of str
        The kind of that area, for which :func:`may_be_moved`.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    Part
        The same where a change of greys is not likely, or the kind around it accounts for it alone or not at all.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.findings import Part
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> from llise.diagnosis.places.shifted_places import with_moved_greys
    >>> rng = np.random.default_rng(0)
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> copy = (image + 8 + rng.normal(0, 9, image.shape)).astype(np.uint8)
    >>> noise, upper = np.eye(len(SETS))[code_of("gaussian_noise")], np.arange(16)[:, None] * np.ones(16) < 4
    >>> with_moved_greys(Part(0, upper, noise), ~upper, ("gaussian_noise",), CopyEstimates(image, copy)).kinds
    ('contrast', 'gaussian_noise')
    """
    moved = [code_of(*around, grey) for grey in GREY]
    if around[0] == "impulse_noise":  # impulses move means too, more where there are more of them
        return part
    likelier = max(moved, key=lambda code: part.probabilities[code])
    probabilities = part.probabilities.copy()
    for code in (code_of(*around), code_of(*around, "quantization")):
        probabilities[likelier] += probabilities[code]
        probabilities[code] = 0.0
    if probabilities[likelier] < LIKELY:
        return part
    hides = around[0] in HIDING
    alone = 1 - estimates.with_settings_of(rest, part.mask, around).explained if hides else 1.0
    if alone < LEAST_LEFT:
        return part
    found = {code: estimates.of(part.mask, SETS[code]) for code in moved}
    best = max(moved, key=lambda code: found[code].explained)
    accounted = accounts_for(SETS[best], found[best])
    if not accounted or (hides and alone < MUCH_LESS * (1 - found[best].explained)):
        return part
    return replace(part, probabilities=probabilities)
