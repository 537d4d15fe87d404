"""Random faulty copies of pictures with one kind or two.

Each kind is drawn in the many ways in which programs make it (:meth:`llise.kinds.base.Kind.draw`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llise.diagnosis.sets import code_of
from llise.distortions import mse, quantise
from llise.kinds.registry import get
from llise.kinds.search import draw_copy

WIPING = ("blur", "jpeg", "jpeg2000", "pixelation", "quantization")
"""Kinds that may wipe out what was there before them."""

LEAST_PART = 0.05
"""Least share of the error of a pair that each kind must cause when it is applied."""

PIVOTS = 0.5, 0.12
"""Distance of a pivot from the mean and from mid-grey, against the spread of the picture, that contrast alone has."""

LEAST_TRACE = 0.03
"""Least share of the error of a pair that its first kind must still cause after the second one."""


class Applied(NamedTuple):
    """Kinds applied to a whole picture.

    Attributes
    ----------
    image : ndarray of uint8, shape (h, w)
        The copy.
    code : int
        Index of the kinds in :data:`llise.diagnosis.sets.SETS`.
    parts : tuple of float
        Error that each kind causes.
    parameters : dict of str to dict of str to float
        Settings of each kind in its own units, where they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.copies import Applied
    >>> Applied(np.zeros((8, 8), np.uint8), 0, (12.0,), {"contrast": {"gain": 1.2}}).code
    0
    """

    image: np.ndarray
    code: int
    parts: tuple[float, ...]
    parameters: dict[str, dict[str, float]]


def draw_error(rng: np.random.Generator) -> float:
    """Draw a wanted error: mostly 20 to 1100, a quarter of them 1.5 to 20, evenly in the logarithm.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of all random numbers.

    Returns
    -------
    float
        A mean squared error.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.copies import draw_error
    >>> 1.5 <= draw_error(np.random.default_rng(0)) <= 1100
    True
    """
    low, high = (1.5, 20.0) if rng.random() < 0.25 else (20.0, 1100.0)
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def draw_pair(reference: np.ndarray, kinds: tuple[str, ...], wanted: float, rng: np.random.Generator) -> Applied | None:
    """Apply two kinds in random order.

    Parameters
    ----------
    reference : ndarray of uint8, shape (h, w)
        Picture to distort.
    kinds : tuple of str
        A pair of :data:`llise.diagnosis.sets.SETS`.
    wanted : float
        Mean squared error to aim at.
    rng : numpy.random.Generator
        Source of all random numbers.

    Returns
    -------
    Applied or None
        None where the second kind wipes out the first, in both orders.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.copies import draw_pair
    >>> from llise.diagnosis.training.pictures import load
    >>> pair = draw_pair(load("camera")[:64, :64], ("gaussian_noise", "luminance"), 100, np.random.default_rng(0))
    >>> sorted(pair.parameters)
    ['gaussian_noise', 'luminance']
    """
    code = code_of(*kinds)
    if {"contrast", "blur"} & set(kinds):
        # Beyond, next to nothing of the image is left, and either kind alone would do that as well.
        wanted = min(wanted, 0.6 * float(reference.std()) ** 2)
    order = [kinds[i] for i in rng.permutation(2)]
    for attempt in (order, order[::-1]):
        share = _first_share(attempt, rng)
        first = draw_copy(get(attempt[0]), reference, wanted * share, rng)
        seed = int(rng.integers(2**32))
        whole = rng.random() < 0.5
        second = draw_copy(
            get(attempt[1]), first.image, wanted if whole else wanted * (1 - share), np.random.default_rng(seed),
            reference=reference if whole else None,
        )  # fmt: skip
        trace = np.inf
        if attempt[1] in WIPING:
            alone = get(attempt[1]).draw(reference, np.random.default_rng(seed))
            trace = mse(second.image, quantise(alone.path(second.strength)))
        total = mse(reference, second.image)
        own = {attempt[0]: mse(reference, first.image), attempt[1]: mse(first.image, second.image)}
        if trace < LEAST_TRACE * total or min(own.values()) < LEAST_PART * total:
            continue
        if not is_contrast_about_another_pivot(kinds, reference, second.image):
            parameters = {attempt[0]: first.parameters, attempt[1]: second.parameters}
            return Applied(second.image, code, tuple(own[kind] for kind in kinds), parameters)
    return None


def is_contrast_about_another_pivot(kinds: tuple[str, ...], reference: np.ndarray, copy: np.ndarray) -> bool:
    """Whether a change of contrast and a shift of luminance add up to what contrast alone does about its usual pivots.

    Parameters
    ----------
    kinds : tuple of str
        Kinds that were applied.
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.

    Returns
    -------
    bool
        False for other kinds.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.copies import is_contrast_about_another_pivot
    >>> picture = np.arange(100, 200, dtype=np.uint8).reshape(10, 10)
    >>> kinds, flatter = ("contrast", "luminance"), 0.8 * picture
    >>> is_contrast_about_another_pivot(kinds, picture, (flatter + 0.2 * 150).astype(np.uint8))
    True
    >>> is_contrast_about_another_pivot(kinds, picture, flatter.astype(np.uint8))
    False
    """
    if set(kinds) != {"contrast", "luminance"}:
        return False
    inside = (copy > 0) & (copy < 255)
    if np.count_nonzero(inside) < 16:
        return True
    before, after = reference[inside].astype(float), copy[inside].astype(float)
    mean, spread = before.mean(), before.std() + 1.0
    slope = float((before - mean) @ (after - before)) / (before.size * spread**2)
    shift = float(np.mean(after - before))
    from_mean, from_grey = (abs(shift + slope * (grey - mean)) for grey in (float(reference.mean()), 128.0))
    nearest = min(from_mean / PIVOTS[0], from_grey / PIVOTS[1])
    return bool(nearest < spread * abs(slope))


def _first_share(order: list[str], rng: np.random.Generator) -> float:
    """Share of the first kind in the error of a pair."""
    if set(order) == {"contrast", "luminance"}:
        # With less of a shift it would be a contrast change about another pivot.
        shift = rng.uniform(0.38, 0.75)
        return shift if order[0] == "luminance" else 1 - shift
    return rng.uniform(0.25, 0.75)
