"""Quantization, alone or with contrast or luminance: told by where the levels that are left lie.

Quantization alone gives each grey a level that lies among the greys which became it, whether a program takes their
middle, their mean or their end.  Contrast or luminance, before or after it, moves levels away from these greys:
luminance all by the same amount, contrast by more the further they are from its pivot."""

from __future__ import annotations

import numpy as np

from llise.diagnosis.estimates.chains import GREY
from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.estimates.region_pixels import inner_blocks
from llise.diagnosis.greys.grey_tables import median_table
from llise.diagnosis.sets import CONTENT, SETS, UNKNOWN_CODE, code_of, exchanged
from llise.differences import BLOCK, by_block
from llise.kinds.fitting import robust_scale

LEVELS, NOISE = "quantization", "gaussian_noise"

ONE_TABLE = 0.98
"""Share of the pixels that must follow one table of grey levels."""

FEWER, FEWEST = 0.4, 3
"""Greatest number of levels against that of the greys from which they were made, and the fewest levels."""

NOT_MOVED = 0.955
"""Share of the pixels whose level lies among the greys that became it from which nothing has moved the levels. Of 110
quantizations on photographs all had .97 or more; of 19 with contrast or luminance, 18 had .953 or less."""

EVENLY = 0.15
"""Share of the power of all movements that their mean must leave at most so that luminance made them. Of those 19,
luminance left .11 or less, contrast .2 or more."""

LEAST_POWER, LEAST_SHARE = 3.0, 0.05
"""Power of the steps in grey levels squared, and its share of the error, from which quantization made them. Of 200
noises on photographs, alone and with contrast or luminance, none had more than 2.5 and .004; of 22 with quantization,
those that were not seen otherwise had 26 and .13."""

MOST_BLOCKS = 8192
"""Most blocks whose pixels are used."""

FEWEST_PIXELS, FEWEST_GREYS = 50, 24
"""Fewest pixels of a grey level whose mean is used, and fewest such levels."""


def with_measured_levels(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
    """Exchange quantization alone and with contrast or luminance in an answer that the levels contradict.

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
        The same where the likeliest kinds are others, or no table of a few grey levels made the copy.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.greys.level_law import with_measured_levels
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> copy = image // 16 * 16 + np.uint8(30)
    >>> alone = np.eye(len(SETS))[code_of("quantization")]
    >>> after = with_measured_levels(alone, np.ones((16, 16), bool), CopyEstimates(image, copy))
    >>> SETS[int(after.argmax())]
    ('luminance', 'quantization')
    """
    top = int(probabilities.argmax())
    if top >= UNKNOWN_CODE or SETS[top] not in _DOUBTFUL:
        return probabilities
    before, after = _pixels(region, estimates)
    table, counts = median_table(before, after)
    if np.mean(after == table[before]) < ONE_TABLE:
        return probabilities
    greys = np.flatnonzero(counts)
    levels, first = np.unique(table[greys], return_index=True)
    if np.any(np.diff(table[greys]) < 0) or not FEWEST <= levels.size <= FEWER * greys.size:
        return probabilities
    count = np.add.reduceat(counts[greys], first)
    # A level may lie among greys that no pixel has, as long as no other level was made of greys beyond it.
    lowest, highest = np.append(-1, greys[first[1:] - 1]), np.append(greys[first[1:]], 256)
    among = (lowest < levels) & (levels < highest)
    if count[among].sum() >= NOT_MOVED * count.sum():
        return exchanged(probabilities, top, code_of(LEVELS)) if CONTENT in SETS[top] else probabilities
    means = np.add.reduceat(greys * counts[greys], first) / count
    kind = "luminance" if _is_even_shift(means, levels.astype(float), count) else "contrast"
    return exchanged(probabilities, top, code_of(kind, LEVELS))


_DOUBTFUL = [SETS[code] for code in {code_of(LEVELS), *(code_of(kind, LEVELS) for kind in ("contrast", "luminance"))}]
_DOUBTFUL += [SETS[code_of(kind, CONTENT)] for kind in ("contrast", "luminance")]
"""Sets of kinds that are compared with the levels; greys that were moved in steps may look like content."""


def with_levels_below_noise(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
    """Exchange Gaussian noise, alone or with a change of greys, for noise with quantization where greys moved in steps.

    Noise hides the levels of the copy, but the mean of what each grey level of the reference became still rises in
    steps.

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
        The same where the likeliest kinds are others, or the means follow a smooth curve.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.greys.level_law import with_levels_below_noise
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> copy = (image // 16 * 16 + np.random.default_rng(0).normal(0, 6, image.shape)).astype(np.uint8)
    >>> noise = np.eye(len(SETS))[code_of("luminance", "gaussian_noise")]
    >>> after = with_levels_below_noise(noise, np.ones((16, 16), bool), CopyEstimates(image, copy))
    >>> SETS[int(after.argmax())]
    ('gaussian_noise', 'quantization')
    """
    top = int(probabilities.argmax())
    if top >= UNKNOWN_CODE or NOISE not in SETS[top] or not set(SETS[top]) <= {NOISE, *GREY}:
        return probabilities
    steps = _power_of_steps(*_pixels(region, estimates))
    if steps < max(LEAST_POWER, LEAST_SHARE * estimates.error(region)):
        return probabilities
    return exchanged(probabilities, top, code_of(NOISE, LEVELS))


def _pixels(region: np.ndarray, estimates: CopyEstimates) -> list[np.ndarray]:
    """Greys of the reference and of the copy in blocks of a region, of which few are enough."""
    chosen = np.flatnonzero(inner_blocks(region))
    chosen = chosen[:: -(-chosen.size // MOST_BLOCKS)]
    return [by_block(image).reshape(-1, BLOCK**2)[chosen].ravel() for image in (estimates.reference, estimates.copy)]


def _power_of_steps(before: np.ndarray, after: np.ndarray) -> float:
    """Mean square by which the means of what grey levels became differ from a smooth curve, beyond chance."""
    error = after - before.astype(float)
    counts = np.bincount(before, minlength=256)
    means, squares = (np.bincount(before, values, 256) / np.maximum(counts, 1) for values in (error, error * error))
    clipped = 2 * robust_scale(error - np.median(error))
    greys = np.arange(256)
    used = (counts >= FEWEST_PIXELS) & (greys > clipped) & (greys < 255 - clipped)
    if np.count_nonzero(used) < FEWEST_GREYS:
        return 0.0
    curve = np.polynomial.Polynomial.fit(greys[used], means[used], 3, w=np.sqrt(counts[used]))
    rest = means[used] - curve(greys[used])
    by_chance = (squares - means**2)[used].sum()
    return float((counts[used] @ rest**2 - by_chance) / counts[used].sum())


def _is_even_shift(greys: np.ndarray, levels: np.ndarray, count: np.ndarray) -> bool:
    """Whether levels lie at nearly the same distance from the greys that became them."""
    unclipped = (levels > 0) & (levels < 255)
    if np.count_nonzero(unclipped) >= FEWEST:
        greys, levels, count = greys[unclipped], levels[unclipped], count[unclipped]
    moved = levels - greys
    mean = np.average(moved, weights=count)
    return bool(np.average((moved - mean) ** 2, weights=count) <= EVENLY * np.average(moved**2, weights=count))
