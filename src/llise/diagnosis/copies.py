"""Random faulty copies of pictures, from which the judge learns.

A scene is a piece of a picture and a copy of it with faults: one kind or two everywhere or in a region, one kind
everywhere and a second in a region, or two kinds in regions that touch.  Each kind is drawn in the many ways in which
programs make it (:meth:`llise.kinds.base.Kind.draw`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from llise.diagnosis.block_sums import BLOCK
from llise.distortions import mse, quantise
from llise.kinds.registry import get
from llise.kinds.search import draw_copy
from llise.labels import KINDS

SETS: tuple[tuple[str, ...], ...] = (*((kind,) for kind in KINDS), *combinations(KINDS, 2))
"""The sets of kinds that are told apart in one place: each kind, and each pair of kinds."""

LEAST_PART = 0.05
"""Least share of the error of a pair that each kind must cause when it is applied."""

PIVOTS = 0.5, 0.12
"""Distance of a pivot from the mean and from mid-grey, against the spread of the picture, that contrast alone has."""

LEAST_TRACE = 0.03
"""Least share of the error of a pair that its first kind must still cause after the second one."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A reference, a faulty copy, and which kinds each block has.

    Attributes
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    labels : ndarray of int16, shape (rows, cols)
        Index into :data:`SETS` of each block, -1 where there is no fault.
    parts : dict of int to tuple of float
        For each set, the error that each of its kinds causes.
    parameters : dict of int to dict
        For each set, the settings of its kinds in their own units, where they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.copies import draw_scene
    >>> from llise.diagnosis.pictures import load
    >>> scene = draw_scene(load("camera")[:64, :64], np.random.default_rng(0))
    >>> scene.labels.shape
    (8, 8)
    """

    reference: np.ndarray
    copy: np.ndarray
    labels: np.ndarray
    parts: dict[int, tuple[float, ...]]
    parameters: dict[int, dict[str, dict[str, float]]]


class Applied(NamedTuple):
    """Kinds applied to a whole picture.

    Attributes
    ----------
    image : ndarray of uint8, shape (h, w)
        The copy.
    code : int
        Index of the kinds in :data:`SETS`.
    parts : tuple of float
        Error that each kind causes.
    parameters : dict of str to dict of str to float
        Settings of each kind in its own units, where they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.copies import Applied
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
    >>> from llise.diagnosis.copies import draw_error
    >>> 1.5 <= draw_error(np.random.default_rng(0)) <= 1100
    True
    """
    low, high = (1.5, 20.0) if rng.random() < 0.25 else (20.0, 1100.0)
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def draw_scene(reference: np.ndarray, rng: np.random.Generator) -> Scene | None:
    """Make a random faulty copy.

    Parameters
    ----------
    reference : ndarray of uint8, shape (h, w)
        Sides are multiples of 8.
    rng : numpy.random.Generator
        Source of all random numbers.

    Returns
    -------
    Scene or None
        None where the faults that were drawn leave no trace.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.copies import draw_scene
    >>> from llise.diagnosis.pictures import load
    >>> scene = draw_scene(load("camera")[:64, :64], np.random.default_rng(0))
    >>> scene.copy.shape
    (64, 64)
    """
    form = rng.choice(4, p=[0.45, 0.2, 0.22, 0.13])
    if form < 2:
        applied = _homogeneous(reference, rng)
        if applied is None:
            return None
        copy, code, parts, parameters = applied
        mask = np.ones(reference.shape, bool) if form == 0 else draw_mask(reference.shape, rng)
        return _scene(reference, np.where(mask, copy, reference), [(mask, code)], {code: parts}, {code: parameters})
    return _over(reference, rng) if form == 2 else _side_by_side(reference, rng)


def _scene(
    reference: np.ndarray,
    copy: np.ndarray,
    masks: list[tuple[np.ndarray, int]],
    parts: dict[int, tuple[float, ...]],
    parameters: dict[int, dict[str, dict[str, float]]],
) -> Scene:
    """Put a scene together; of overlapping masks the last one counts."""
    labels = np.full(tuple(n // BLOCK for n in reference.shape), -1, np.int16)
    for mask, code in masks:
        labels[_touched(mask)] = code
    return Scene(reference, copy, labels, parts, parameters)


def _touched(mask: np.ndarray) -> np.ndarray:
    rows, cols = (n // BLOCK for n in mask.shape)
    return mask[: rows * BLOCK, : cols * BLOCK].reshape(rows, BLOCK, cols, BLOCK).mean((1, 3)) > 0.2


def draw_mask(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Draw a rectangle or an ellipse somewhere in a picture.

    Parameters
    ----------
    shape : tuple of int
        Height and width of the picture.
    rng : numpy.random.Generator
        Source of all random numbers.

    Returns
    -------
    ndarray of bool, shape (h, w)
        True inside.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.copies import draw_mask
    >>> mask = draw_mask((64, 64), np.random.default_rng(0))
    >>> bool(mask.any()), bool(mask.all())
    (True, False)
    """
    y, x = np.ogrid[: shape[0], : shape[1]]
    (cy, cx), (ry, rx) = rng.uniform(0.2, 0.8, 2) * shape, rng.uniform(0.15, 0.55, 2) * shape
    u, v = (y - cy) / ry, (x - cx) / rx
    return (np.abs(u) < 1) & (np.abs(v) < 1) if rng.random() < 0.5 else u * u + v * v < 1


def _homogeneous(reference: np.ndarray, rng: np.random.Generator) -> Applied | None:
    """One kind, or a pair, on the whole picture."""
    if rng.random() < 0.5:
        code = int(rng.integers(len(KINDS)))
        kind = SETS[code][0]
        single = draw_copy(get(kind), reference, draw_error(rng), rng)
        return Applied(single.image, code, (mse(reference, single.image),), {kind: single.parameters})
    code = int(rng.integers(len(KINDS), len(SETS)))
    return draw_pair(reference, SETS[code], draw_error(rng), rng)


def draw_pair(reference: np.ndarray, kinds: tuple[str, ...], wanted: float, rng: np.random.Generator) -> Applied | None:
    """Apply two kinds in random order.

    Parameters
    ----------
    reference : ndarray of uint8, shape (h, w)
        Picture to distort.
    kinds : tuple of str
        A pair of :data:`SETS`.
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
    >>> from llise.diagnosis.copies import draw_pair
    >>> from llise.diagnosis.pictures import load
    >>> pair = draw_pair(load("camera")[:64, :64], ("gaussian_noise", "luminance"), 100, np.random.default_rng(0))
    >>> sorted(pair.parameters)
    ['gaussian_noise', 'luminance']
    """
    code = SETS.index(kinds)
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
        if attempt[1] in ("blur", "jpeg"):
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
    >>> from llise.diagnosis.copies import is_contrast_about_another_pivot
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


def _over(reference: np.ndarray, rng: np.random.Generator) -> Scene | None:
    """One kind everywhere, a second one in a region."""
    first, second = (KINDS[i] for i in rng.permutation(len(KINDS))[:2])
    below = draw_copy(get(first), reference, draw_error(rng), rng)
    above = draw_copy(get(second), below.image, draw_error(rng), rng)
    mask = draw_mask(reference.shape, rng)
    alone, both = SETS.index((first,)), SETS.index(tuple(sorted((first, second), key=KINDS.index)))
    own = {first: mse(reference, below.image), second: mse(below.image, above.image)}
    if mask.mean() > 0.8 or min(own.values()) < 1 or own[second] < LEAST_PART * own[first]:
        return None
    return _scene(
        reference, np.where(mask, above.image, below.image), [(np.ones(reference.shape, bool), alone), (mask, both)],
        {alone: (own[first],), both: tuple(own[kind] for kind in SETS[both])},
        {alone: {first: below.parameters}, both: {first: below.parameters, second: above.parameters}},
    )  # fmt: skip


def _side_by_side(reference: np.ndarray, rng: np.random.Generator) -> Scene | None:
    """Two kinds in two regions that touch."""
    kinds = [KINDS[i] for i in rng.permutation(len(KINDS))[:2]]
    copies = [draw_copy(get(kind), reference, draw_error(rng), rng) for kind in kinds]
    errors = [mse(reference, copy.image) for copy in copies]
    if min(errors) < 2 or max(errors) > 60 * min(errors):
        return None
    mask = draw_mask(reference.shape, rng)
    codes = [SETS.index((kind,)) for kind in kinds]
    return _scene(
        reference, np.where(mask, copies[0].image, copies[1].image),
        [(np.ones(reference.shape, bool), codes[1]), (mask, codes[0])],
        {code: (error,) for code, error in zip(codes, errors)},
        {code: {kind: copy.parameters} for code, kind, copy in zip(codes, kinds, copies)},
    )  # fmt: skip
