"""Cases of colour pictures: faults of colour alone, with a luma kind or in a region; luma kinds in all channels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from faults import colour_programs
from faults.cases import Case, Damage, Recipe, draw_recipes
from faults.masks import SHAPES, draw_mask
from faults.programs import Program, Programs
from llise.distortions import mse, quantise
from llise.kinds.search import Search
from llise.labels import COLOR_KINDS, KINDS

ALONE, PAIR, LUMA, REGION, NONE = (
    "colour kind alone", "colour kind with one luma kind", "luma kind in all channels", "colour kind in a region",
    "change of colours without a name",
)  # fmt: skip
COLOUR_GROUPS = (ALONE, PAIR, LUMA, REGION, NONE)

LEVELS = (30, 100, 300, 800)
"""Wanted errors, mean over red, green and blue."""

LEAST_ERROR = 12.0
"""Error below which a copy is left out: the picture has hardly any colour to change."""

LEAST_TRACE = 0.1
"""Share of a pair's error that its first kind must still cause after the second one: a blur may wipe out noise."""

LEAST_PART = 0.2
"""Share of a pair's error that each kind must contribute."""


def recipes(programs: Programs, seed: int, *, foreign: bool, share: float = 1.0) -> Iterator[Recipe]:
    """Yield a random share of the recipes for one colour picture."""
    luma = colour_programs.luma_kinds()
    rng = np.random.default_rng(seed)
    yield from draw_recipes(_plan(programs, luma, foreign, rng), {**luma, **programs}, seed, share)


def _plan(
    programs: Programs, luma: Programs, foreign: bool, rng: np.random.Generator
) -> Iterator[tuple[str, tuple, float]]:
    for kind in COLOR_KINDS:
        for program in programs[kind]:
            for level in rng.choice(LEVELS, 2, replace=False):
                yield ALONE, (program,), float(level)
            yield REGION, (program,), float(np.exp(rng.uniform(np.log(50), np.log(800))))
        for other in KINDS:
            yield PAIR, (kind, other), float(rng.choice([150, 400]))
    if foreign:
        for kind in KINDS:
            for program in luma[kind]:
                for level in rng.choice((50, 100, 200, 400, 900), 2, replace=False):
                    yield LUMA, (program,), float(level)
        for program in colour_programs.no_kind():
            yield NONE, (program,), 200.0


def make(recipe: Recipe, reference: np.ndarray) -> Case | None:
    """Make the case of a recipe; None where nobody could name its kinds."""
    copy, damages, previous = reference, [], 0.0
    mask = np.ones(reference.shape[:2], bool)
    for number, program in enumerate(recipe.programs):
        wanted = recipe.level * (number + 1) / len(recipe.programs)
        search, parameters = _apply(program, copy, reference, wanted, recipe.seed)
        part, error = mse(copy, search.image), mse(reference, search.image)
        least = max(LEAST_ERROR if recipe.group != NONE else 1.0, LEAST_PART * error * (len(recipe.programs) > 1))
        if part < least or (number and previous < LEAST_PART * error):
            return None
        if number and _trace(reference, search.image, program, search, recipe.seed) < LEAST_TRACE * error:
            return None
        damages.append(Damage(program.kind, program.name, mask, parameters, part))
        copy, previous = search.image, error
    if recipe.group != REGION:
        return Case(copy, damages)
    rng = np.random.default_rng(recipe.seed)
    area, form = float(np.exp(rng.uniform(np.log(0.05), np.log(0.35)))), str(rng.choice(SHAPES))
    mask = draw_mask(reference.shape[:2], area, form, bool(rng.random() < 0.3), rng)
    error = mse(reference[mask], copy[mask])
    if error < LEAST_ERROR:
        return None
    only = damages[0]
    return Case(
        np.where(mask[..., None], copy, reference),
        [Damage(only.kind, only.program, mask, only.parameters, error)],
        form,
    )


def _apply(
    program: Program, image: np.ndarray, reference: np.ndarray, level: float, seed: int
) -> tuple[Search, dict[str, float]]:
    """Apply a program at the strength that gives about the wanted error against the reference."""
    copies = program.build(image, seed, 1 if seed % 2 else -1)
    search = Search(copies.path, reference, level, 0.05)
    search.bisect(copies.end, first=copies.end / 50, steps=7, at_zero=mse(reference, image))
    return search, copies.parameters(search.strength)


def _trace(reference: np.ndarray, copy: np.ndarray, program: Program, search: Search, seed: int) -> float:
    """How much a pair differs from what its second kind alone, at the same strength, makes of the picture."""
    alone = program.build(reference, seed, 1 if seed % 2 else -1).path(search.strength)
    return mse(quantise(np.asarray(alone)), copy)
