"""What came before a JPEG coder: noise in all blocks or impulses in some, told by coefficients that took another step.

A coefficient of the reference lies at some distance from the border between two steps of the coder.  Noise of
deviation s, which moves all coefficients alike, takes it across with the probability Q(d / s), so that half of those
next to a border go across.  Impulses move the coefficients of the blocks that they hit, and these far: of the
coefficients next to a border only half of the share h of hit blocks go across, h Q(d / S), but also some that are far
from it.  Which of both is likelier shows where a strong coder leaves next to nothing else of either.
"""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np

from llise.differences import BLOCK, by_block, pixels_of
from llise.kinds.jpeg_quality import CoefficientPairs
from llise.kinds.jpeg_tables import COSINES

DISTANCES = np.array([1, 2, 3.5, 5, 7, 10, 14, 20, 28, 40])
"""Bounds of the classes of distances from a border, in units of coefficients; nearer ones are crossed by rounding."""

DEVIATIONS, SHARES = np.geomspace(0.7, 40, 40), np.geomspace(0.01, 1, 40)
"""Deviations of noise and shares of hit blocks that are tried."""

MOVED_BY_IMPULSES = (12.0, 15.0, 18.0)
"""Deviations of the coefficients of a block that an impulse hit: an eighth of how far it is from its grey."""

LIKELIER, FEWEST_HIT, MOST_HIT = 6.0, 0.03, 0.55
"""How much greater the logarithm of the likelihood of impulses must be than that of noise, and the least and greatest
share of hit blocks: with more, both are alike. Of 810 noises below JPEG on photographs none was taken for impulses,
of 135 impulses with an error of 100 all but one were found."""

MOST_INWARDS = 2.2
"""How many times as often as outwards coefficients may go to the step nearer to zero: filters and coders that round
down make most of them smaller."""

WIDE, MOST_OFF = 4.0, 0.5
"""Step of the coder from which multiples can be told, and greatest mean distance of coefficients from these, if it came
last."""

FEWEST = 60
"""Fewest coefficients near to a border that tell anything."""

_LEVEL = 1024.0
_MIDDLES = np.sqrt(DISTANCES[1:] * DISTANCES[:-1])
_beyond = np.vectorize(lambda deviations: 0.5 * erfc(deviations / sqrt(2)))
_BY_NOISE = _beyond(_MIDDLES / DEVIATIONS[:, None])
_BY_IMPULSES = np.concatenate([SHARES[:, None] * _beyond(_MIDDLES / moved) for moved in MOVED_BY_IMPULSES])


def has_impulses_before(reference: np.ndarray, copy: np.ndarray, region: np.ndarray) -> bool:
    """Return whether impulses came before the JPEG coder that made a copy.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    region : ndarray of bool, shape (rows, cols)
        Blocks that are looked at, on the grid of the coder.

    Returns
    -------
    bool
        False where noise is as likely, or too little of either came through the coder.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.jpeg import code_jpeg
    >>> from llise.kinds.jpeg_flips import has_impulses_before
    >>> from llise.kinds.jpeg_tables import STANDARD_TABLE
    >>> rng = np.random.default_rng(0)
    >>> image = rng.normal(0, 25, (256, 256)).cumsum(0).cumsum(1) / 40 % 160 + 40
    >>> hit = np.where(rng.random(image.shape) < 0.004, 255, image).astype(np.uint8)
    >>> noisy = (image + rng.normal(0, 9, image.shape)).astype(np.uint8)
    >>> whole = np.ones((32, 32), bool)
    >>> [has_impulses_before(image.astype(np.uint8), code_jpeg(x, 4 * STANDARD_TABLE), whole) for x in (hit, noisy)]
    [True, False]
    """
    rows, cols = (n // BLOCK for n in copy.shape)  # what a coder saw of blocks beyond the border is not in the copy
    region = region[:rows, :cols]
    reference, copy = (image[: rows * BLOCK, : cols * BLOCK] for image in (reference, copy))
    blocks = by_block(copy)[region]
    chosen = ((blocks > 0) & (blocks < 255)).all(axis=1)
    if not chosen.any():
        return False
    before, after = (_coefficients(values[chosen]) for values in (by_block(reference)[region], blocks))
    table, rounding = _table_of(reference, copy, region)
    wide = table >= WIDE
    if not wide.any() or np.abs(after - table * np.rint(after / table))[:, wide].mean() > MOST_OFF:
        return False  # something came after the coder, or it changed next to nothing
    outwards, inwards = _crossings(before, after, table, rounding)
    near = [near_border[:3].sum() for near_border, _ in (outwards, inwards)]
    crossed = [across[:3].sum() for _, across in (outwards, inwards)]
    if sum(near) < FEWEST or crossed[1] * near[0] > MOST_INWARDS * crossed[0] * near[1]:
        return False
    number, across = outwards[0] + inwards[0], outwards[1] + inwards[1]
    by_noise, by_impulses = (_likelihoods(number, across, model) for model in (_BY_NOISE, _BY_IMPULSES))
    share = np.tile(SHARES, len(MOVED_BY_IMPULSES))[by_impulses.argmax()]
    return bool(by_impulses.max() > by_noise.max() + LIKELIER and FEWEST_HIT <= share <= MOST_HIT)


def _coefficients(pixels: np.ndarray) -> np.ndarray:
    coefficients = pixels.astype(np.float32) @ COSINES.astype(np.float32)
    coefficients[:, 0] -= _LEVEL
    return coefficients


def _table_of(reference: np.ndarray, copy: np.ndarray, region: np.ndarray) -> tuple[np.ndarray, float]:
    """Steps (64,) of the coder, and the part of a step from which it rounds up."""
    inside = pixels_of(region, copy.shape)
    pairs = CoefficientPairs(reference.astype(np.float32), copy.astype(np.float32), inside)
    _, table, rounding = pairs.nearest_table()
    _, likely, _ = pairs.likely_table()
    left = [np.abs(pairs.after - steps.ravel() * np.rint(pairs.after / steps.ravel())) for steps in (table, likely)]
    nearest, likeliest = (float(np.minimum(miss, DISTANCES[-1] / 2).mean()) for miss in left)
    return (table.ravel(), rounding) if nearest <= 1.05 * likeliest else (likely.ravel(), 0.5)


def _crossings(
    before: np.ndarray, after: np.ndarray, table: np.ndarray, rounding: float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """For borders away from zero and towards it: coefficients by their distance, and how many of them went across."""
    steps = np.abs(before) / table
    own = np.floor(steps + rounding)
    found = np.rint(after / table) * np.where(before < 0, -1, 1)
    outwards, inwards = (own + 1 - rounding - steps) * table, (steps - own + rounding) * table
    counts = []
    for distance, across in ((outwards, found > own), (np.where(own > 0, inwards, np.inf), found < own)):
        used = (distance >= DISTANCES[0]) & (distance < DISTANCES[-1]) & (2 * distance < table)
        classes = np.digitize(distance[used], DISTANCES) - 1
        number = np.bincount(classes, minlength=len(_MIDDLES))
        counts.append((number, np.bincount(classes, across[used], len(_MIDDLES))))
    return counts


def _likelihoods(number: np.ndarray, across: np.ndarray, model: np.ndarray) -> np.ndarray:
    """Logarithms of the likelihood of the counts for each row of probabilities of a model."""
    model = np.clip(model, 1e-4, 1 - 1e-4)
    return np.log(model) @ across + np.log(1 - model) @ (number - across)
