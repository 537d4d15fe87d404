"""Random scenes, from which the judge learns.

A scene is a piece of a picture and a copy of it with faults: one kind or two everywhere or in a region, one kind
everywhere and a second in a region, two kinds in regions that touch, or a fault that has no name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from llise.diagnosis.features.block_sums import BLOCK
from llise.diagnosis.sets import CONTENT, SETS, UNKNOWN_CODE, code_of, is_set
from llise.diagnosis.training.copies import LEAST_PART, Applied, draw_error, draw_pair
from llise.diagnosis.training.unlisted import draw_unlisted
from llise.distortions import mse
from llise.kinds.registry import get
from llise.kinds.search import draw_copy
from llise.labels import FURTHER_KINDS, KINDS, NAMED_KINDS

SPREADING = tuple(kind for kind in NAMED_KINDS if kind != CONTENT)
"""Kinds that change a picture everywhere; content is somewhere by itself."""

FURTHER_SHARE = 0.5
"""Share of the scenes with one of the further kinds."""

UNKNOWN_SHARE = 0.17
"""Share of the scenes with a fault that has no name."""

LEAST_TOUCHED, LEAST_CONTENT = 0.2, 0.05
"""Share of the pixels of a block that makes it faulty; thin strokes of what was added count too."""

LEAST_STRANGE = 6.0
"""Least error of a fault that has no name: weaker ones tell nothing."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A reference, a faulty copy, and which kinds each block has.

    Attributes
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    labels : ndarray of int16, shape (rows, cols)
        Index into :data:`llise.diagnosis.sets.SETS` of each block, -1 where there is no fault.
    parts : dict of int to tuple of float
        For each set, the error that each of its kinds causes.
    parameters : dict of int to dict
        For each set, the settings of its kinds in their own units, where they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.scenes import draw_scene
    >>> from llise.diagnosis.training.pictures import load
    >>> scene = draw_scene(load("camera")[:64, :64], np.random.default_rng(0))
    >>> scene.labels.shape
    (8, 8)
    """

    reference: np.ndarray
    copy: np.ndarray
    labels: np.ndarray
    parts: dict[int, tuple[float, ...]]
    parameters: dict[int, dict[str, dict[str, float]]]


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
    >>> from llise.diagnosis.training.scenes import draw_scene
    >>> from llise.diagnosis.training.pictures import load
    >>> scene = draw_scene(load("camera")[:64, :64], np.random.default_rng(0))
    >>> scene.copy.shape
    (64, 64)
    """
    if rng.random() < UNKNOWN_SHARE:
        return _unlisted(reference, rng)
    form = rng.choice(5, p=[0.39, 0.19, 0.2, 0.12, 0.1])
    if form > 1:
        return (_over, _side_by_side, _content)[form - 2](reference, rng)
    applied = _homogeneous(reference, rng)
    if applied is None:
        return None
    copy, code, parts, parameters = applied
    mask = np.ones(reference.shape, bool) if form == 0 else draw_mask(reference.shape, rng)
    return _scene(reference, np.where(mask, copy, reference), [(mask, code)], {code: parts}, {code: parameters})


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
        labels[_touched(mask, LEAST_CONTENT if CONTENT in SETS[code] else LEAST_TOUCHED)] = code
    return Scene(reference, copy, labels, parts, parameters)


def _touched(mask: np.ndarray, least: float) -> np.ndarray:
    """Blocks of which at least a share of the pixels lies in a mask."""
    rows, cols = (n // BLOCK for n in mask.shape)
    return mask[: rows * BLOCK, : cols * BLOCK].reshape(rows, BLOCK, cols, BLOCK).mean((1, 3)) > least


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
    >>> from llise.diagnosis.training.scenes import draw_mask
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
    further = rng.random() < FURTHER_SHARE
    if rng.random() < (0.4 if further else 0.5):  # of the further kinds there are more pairs to learn
        kind = _one_of(SPREADING[len(KINDS) :] if further else KINDS, rng)
        single = draw_copy(get(kind), reference, draw_error(rng), rng)
        return Applied(single.image, code_of(kind), (mse(reference, single.image),), {kind: single.parameters})
    kinds = _one_of(_PAIRS[further], rng)
    return draw_pair(reference, kinds, draw_error(rng), rng)


_PAIRS = tuple(
    tuple(
        kinds for kinds in SETS if len(kinds) == 2 and CONTENT not in kinds and (kinds[1] in FURTHER_KINDS) == further
    )
    for further in (False, True)
)
"""Pairs of the paper's kinds, and pairs of these with a further kind."""


def _one_of(items: tuple, rng: np.random.Generator) -> Any:
    return items[int(rng.integers(len(items)))]


def _over(reference: np.ndarray, rng: np.random.Generator) -> Scene | None:
    """One kind everywhere, a second one in a region."""
    first, second = _two(rng)
    if not is_set(first, second):
        return None
    below = draw_copy(get(first), reference, draw_error(rng), rng)
    above = draw_copy(get(second), below.image, draw_error(rng), rng)
    mask = draw_mask(reference.shape, rng)
    alone, both = code_of(first), code_of(first, second)
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
    kinds = _two(rng)
    copies = [draw_copy(get(kind), reference, draw_error(rng), rng) for kind in kinds]
    errors = [mse(reference, copy.image) for copy in copies]
    if min(errors) < 2 or max(errors) > 60 * min(errors):
        return None
    mask = draw_mask(reference.shape, rng)
    codes = [code_of(kind) for kind in kinds]
    return _scene(
        reference, np.where(mask, copies[0].image, copies[1].image),
        [(np.ones(reference.shape, bool), codes[1]), (mask, codes[0])],
        {code: (error,) for code, error in zip(codes, errors)},
        {code: {kind: copy.parameters} for code, kind, copy in zip(codes, kinds, copies)},
    )  # fmt: skip


def _two(rng: np.random.Generator) -> list[str]:
    """Two different kinds; the paper's six are preferred."""
    names = SPREADING if rng.random() < FURTHER_SHARE else KINDS
    return [names[i] for i in rng.permutation(len(names))[:2]]


def _content(reference: np.ndarray, rng: np.random.Generator) -> Scene | None:
    """Something that is not in the reference, in half of the scenes before or after another kind everywhere."""
    content = code_of(CONTENT)
    kind = _one_of(KINDS, rng) if rng.random() < 0.5 else None
    alone = code_of(kind) if kind else content
    everywhere = np.ones(reference.shape, bool)
    if kind is None:
        added = draw_copy(get(CONTENT), reference, draw_error(rng), rng)
        mask = added.image != reference
        error = float(mse(reference, added.image)) / max(float(mask.mean()), 1e-3)
        return _scene(reference, added.image, [(mask, content)], {content: (error,)}, {content: {}})
    if rng.random() < 0.5:
        below = draw_copy(get(kind), reference, draw_error(rng), rng)
        added = draw_copy(get(CONTENT), below.image, draw_error(rng), rng)
        mask, copy, code = added.image != below.image, added.image, content
        parameters = below.parameters
    else:
        added = draw_copy(get(CONTENT), reference, draw_error(rng), rng)
        above = draw_copy(get(kind), added.image, draw_error(rng), rng)
        mask, copy, code = added.image != reference, above.image, code_of(kind, CONTENT)
        parameters = above.parameters
    error = float(mse(reference, copy))
    if error < 2:
        return None
    parts = {alone: (error,), code: (error,) * len(SETS[code])}
    return _scene(reference, copy, [(everywhere, alone), (mask, code)], parts, {alone: {kind: parameters}, code: {}})


def _unlisted(reference: np.ndarray, rng: np.random.Generator) -> Scene | None:
    """A fault that has no name, everywhere or in a region, sometimes before or over a kind that has one."""
    copy, below = draw_unlisted(reference, rng), reference
    masks: list[tuple[np.ndarray, int]] = []
    parts: dict[int, tuple[float, ...]] = {UNKNOWN_CODE: (mse(reference, copy),)}
    parameters: dict[int, dict[str, dict[str, float]]] = {UNKNOWN_CODE: {}}
    mask = np.ones(reference.shape, bool) if rng.random() < 0.6 else draw_mask(reference.shape, rng)
    if rng.random() < 0.3:
        kind = _one_of(SPREADING, rng)
        known = draw_copy(get(kind), reference, draw_error(rng), rng)
        if mask.all():
            error = min(draw_error(rng), 0.5 * mse(reference, copy))
            copy = draw_copy(get(kind), copy, error, rng).image if error > 1 else copy
        else:
            below = known.image
            copy = draw_unlisted(below, rng)
            masks.append((np.ones(reference.shape, bool), code_of(kind)))
            parts[code_of(kind)] = (mse(reference, below),)
            parameters[code_of(kind)] = {kind: known.parameters}
    if mse(below, copy) < LEAST_STRANGE:
        return None
    return _scene(reference, np.where(mask, copy, below), [*masks, (mask, UNKNOWN_CODE)], parts, parameters)
