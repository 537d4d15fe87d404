"""Cases of the open world: kinds that are not in the paper, content in some places, faults of no named kind.

As in :mod:`faults.cases`, a recipe comes to nothing where nobody could name the damage: where a kind hardly changes the
picture, where one kind of a pair wipes out the other, or where what was drawn has the grey of what it covers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from faults import cases
from faults.cases import (
    LARGE,
    PAIR_LEVELS,
    REGION_LEVELS,
    SINGLE_LEVELS,
    Case,
    Copy,
    Damage,
    Recipe,
    apply_program,
    draw_recipes,
)
from faults.masks import SHAPES, draw_mask
from faults.programs import Program, Programs
from llise.distortions import mse
from llise.labels import FURTHER_KINDS, KINDS, UNKNOWN

FURTHER, FURTHER_PAIR = "whole picture, further kind", "whole picture, further kind with one of the six"
FURTHER_REGION = "further kind in a region of 5 % or more"
CONTENT, CONTENT_OVER, CONTENT_UNDER = "content", "content over another kind", "content under another kind"
NEAR, FAR = "unknown, near", "unknown, far"
NEAR_REGION, FAR_REGION = "unknown, near, in a region of 5 % or more", "unknown, far, in a region of 5 % or more"
OPEN_GROUPS = (
    FURTHER, FURTHER_PAIR, FURTHER_REGION, CONTENT, CONTENT_OVER, CONTENT_UNDER, NEAR, FAR, NEAR_REGION, FAR_REGION,
)  # fmt: skip
UNKNOWN_GROUPS = (NEAR, FAR, NEAR_REGION, FAR_REGION)

SPREADING = tuple(kind for kind in FURTHER_KINDS if kind != "content")
"""Further kinds that change the picture everywhere; content is somewhere by itself."""

CONTENT_LEVELS, UNKNOWN_LEVELS = (30, 600), (60, 900)
"""Least and greatest wanted error of a whole picture."""

LEAST_CHANGED, MOST_CHANGED = 0.002, 0.5
"""Share of the pixels that content must and may change."""

LEAST_CONTRAST = 150.0
"""Least mean squared error of the pixels that content changes."""


def recipes(programs: Programs, seed: int, *, foreign: bool, share: float = 1.0) -> Iterator[Recipe]:
    """Yield all recipes for one picture, as :func:`faults.cases.recipes` does."""
    yield from draw_recipes(_plan(programs, foreign), programs, seed, share)


def _plan(programs: Programs, foreign: bool) -> Iterator[tuple[str, tuple, float]]:
    for kind in SPREADING:
        for program in programs[kind]:
            for level in (60, 300) if foreign else SINGLE_LEVELS:
                yield FURTHER, (program,), level
        for i, other in enumerate(KINDS):
            yield FURTHER_PAIR, (kind, other), PAIR_LEVELS[i % 3]
            yield FURTHER_PAIR, (other, kind), PAIR_LEVELS[(i + 1) % 3]
        for _ in range(3):
            yield FURTHER_REGION, (kind,), 0
    for program in programs["content"]:
        for _ in range(1 if foreign else 4):
            yield CONTENT, (program,), 0
    for kind in KINDS:
        yield CONTENT_OVER, (kind, "content"), 0
        yield CONTENT_UNDER, ("content", kind), 0
    for i, program in enumerate(programs.get(UNKNOWN, ())):
        near = program.nearness == "near"
        yield NEAR if near else FAR, (program,), 0
        if i % 2 and not program.replaces:
            yield NEAR_REGION if near else FAR_REGION, (program,), 0


def make(recipe: Recipe, reference: np.ndarray) -> Case | None:
    """Make the case of a recipe of this or of the paper's world; None where nobody could name its kinds."""
    if recipe.group not in OPEN_GROUPS:
        return cases.make(recipe, reference)
    rng = np.random.default_rng(recipe.seed)
    everywhere = np.ones(reference.shape, bool)
    if recipe.group == CONTENT:
        return _content(recipe, reference, rng)
    if recipe.group in (CONTENT_OVER, CONTENT_UNDER):
        return _content_and_kind(recipe, reference, rng)
    if recipe.group in (NEAR, FAR, FURTHER, FURTHER_PAIR):
        level = recipe.level or _draw(UNKNOWN_LEVELS, rng)
        return cases.in_one_place(recipe, reference, everywhere, level, rng, either_order=False)
    form, at_border = str(rng.choice(SHAPES)), bool(rng.random() < 0.3)
    mask = draw_mask(reference.shape, _draw(LARGE, rng), form, at_border, rng)
    form += " at the border" if at_border else ""
    return cases.in_one_place(recipe, reference, mask, _draw(REGION_LEVELS, rng), rng, form)


def _draw(bounds: tuple[float, float], rng: np.random.Generator) -> float:
    """Draw a number evenly in the logarithm."""
    return float(np.exp(rng.uniform(*np.log(bounds))))


def _add_content(program: Program, image: np.ndarray, rng: np.random.Generator) -> tuple[Copy, np.ndarray] | None:
    """Put content into a picture; with the mask of the pixels that it changes, None where it can hardly be seen."""
    copy, _, _ = apply_program(program, image, image, np.ones(image.shape, bool), _draw(CONTENT_LEVELS, rng), rng)
    mask = copy.image != image
    if not LEAST_CHANGED <= mask.mean() <= MOST_CHANGED or mse(copy.image[mask], image[mask]) < LEAST_CONTRAST:
        return None
    return copy, mask


def _damage(program: Program, mask: np.ndarray, copy: Copy, before: np.ndarray) -> Damage:
    return Damage(program.kind, program.name, mask, copy.parameters, mse(copy.image[mask], before[mask]))


def _content(recipe: Recipe, reference: np.ndarray, rng: np.random.Generator) -> Case | None:
    added = _add_content(recipe.programs[0], reference, rng)
    if added is None:
        return None
    copy, mask = added
    return Case(copy.image, [_damage(recipe.programs[0], mask, copy, reference)])


def _content_and_kind(recipe: Recipe, reference: np.ndarray, rng: np.random.Generator) -> Case | None:
    """Another kind everywhere and content on top of it, or content first and then the other kind over all of it."""
    first, second = recipe.programs
    everywhere, level = np.ones(reference.shape, bool), _draw((40, 300), rng)
    if second.kind == "content":
        below, _, _ = apply_program(first, reference, reference, everywhere, level, rng)
        added = _add_content(second, below.image, rng)
        if added is None or below.error < 30:
            return None
        kind = _damage(first, everywhere, below, reference)
        return Case(added[0].image, [kind, _damage(second, added[1], added[0], below.image)])
    added = _add_content(first, reference, rng)
    if added is None:
        return None
    copy, mask = added
    above, _, _ = apply_program(second, copy.image, copy.image, everywhere, level, rng)
    if above.error < 30 or mse(above.image[mask], reference[mask]) < LEAST_CONTRAST:
        return None
    content = _damage(first, mask, copy, reference)
    return Case(above.image, [content, _damage(second, everywhere, above, copy.image)])
