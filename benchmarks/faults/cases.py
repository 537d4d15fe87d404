"""Damaged copies with the truth about them: which kinds, where, in which strength.

A recipe says what to make; the same recipe and picture give the same case. A recipe comes to nothing where nobody could
name the damage: where a kind hardly changes the region (a flat sky cannot be blurred), where the second kind of a pair
wipes out the first, or where one kind or a pair equals another (:mod:`faults.visible`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from PIL import Image

from faults.masks import SHAPES, cut_in_two, draw_apart, draw_mask
from faults.programs import Program, Programs
from faults.visible import LEAST_TRACE, is_pair_visible, is_visible, remaining
from llise.distortions import mse, quantise
from llise.kinds.search import Search
from llise.labels import KINDS, PAPER_MIXTURES, UNKNOWN

SINGLE_LEVELS = (50, 100, 200, 400, 900)
PAIR_LEVELS = (50, 200, 500)
REGION_LEVELS = 50, 900
"""Least and greatest wanted error of a region."""

LEAST_PART = 0.2
"""Share of a pair's error that each kind must contribute."""

ACCURACY = 0.03
"""Relative error of the MSE at which the search for a strength stops."""

OTHER_SCENES = ("astronaut", "brick", "camera", "cell", "coffee", "coins", "grass", "moon", "page", "rocket", "text")
"""Pictures of scikit-image that are no copy of a reference."""

LARGE, SMALL = (0.05, 0.35), (0.01, 0.05)
"""Bounds of the area of a region."""

SINGLE, PAPER_PAIR, OTHER_PAIR = (
    "whole picture, single kind",
    "whole picture, paper's pairs",
    "whole picture, other pairs",
)
REGION, SMALL_REGION = "one kind in a region of 5 % or more", "one kind in a region of 1 to 5 %"
TWO_REGIONS, TOUCHING = "two kinds in two regions", "two kinds in regions that touch"
REGION_PAIR, OVER = "a pair inside one region", "a kind in a region over another everywhere"
PRISTINE, HOT_PIXELS, OTHER_SCENE = "pristine copy", "three hot pixels", "another scene"
GROUPS = (
    SINGLE, PAPER_PAIR, OTHER_PAIR, REGION, SMALL_REGION, TWO_REGIONS, REGION_PAIR, OVER, TOUCHING, HOT_PIXELS,
    PRISTINE, OTHER_SCENE,
)  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """What to make: programs in order of application, and the wanted error, 0 for a random one."""

    group: str
    programs: tuple[Program, ...]
    level: float
    seed: int


@dataclass(frozen=True, eq=False)
class Damage:
    """One damage in a case, with the settings that are known and the mean squared error that it causes in its mask."""

    kind: str
    program: str
    mask: np.ndarray
    parameters: dict[str, float]
    error: float


@dataclass(frozen=True, eq=False)
class Case:
    """A damaged copy and the truth about it."""

    image: np.ndarray
    damages: list[Damage]
    form: str = ""


@dataclass(frozen=True, eq=False)
class Copy:
    """A whole picture after one program."""

    image: np.ndarray
    strength: float
    parameters: dict[str, float]
    error: float


def recipes(programs: Programs, seed: int, *, foreign: bool, share: float = 1.0) -> Iterator[Recipe]:
    """Yield all recipes for one picture; each foreign program gets whole pictures of its own, at two levels."""
    yield from draw_recipes(_plan(programs, foreign), programs, seed, share)


def draw_recipes(
    plan: Iterable[tuple[str, tuple, float]], programs: Programs, seed: int, share: float
) -> Iterator[Recipe]:
    """Yield a random share of the recipes of a plan: group, programs or kinds (one of its programs), and level."""
    rng = np.random.default_rng(seed)
    for group, kinds, level in plan:
        chosen = tuple(
            kind if isinstance(kind, Program) else programs[kind][rng.integers(len(programs[kind]))]
            for kind in kinds
            if isinstance(kind, Program) or programs[kind]
        )
        recipe = Recipe(group, chosen, level, int(rng.integers(2**31)))
        if len(chosen) == len(kinds) and (rng.random() < share):
            yield recipe


def _plan(programs: Programs, foreign: bool) -> Iterator[tuple[str, tuple, float]]:
    for kind in KINDS:
        for program in programs[kind]:
            for level in (60, 300) if foreign else SINGLE_LEVELS:
                yield SINGLE, (program,), level
    paper = {frozenset(pair): pair for pair in PAPER_MIXTURES}
    for pair in combinations(KINDS, 2):
        group = PAPER_PAIR if frozenset(pair) in paper else OTHER_PAIR
        for i, level in enumerate(PAIR_LEVELS):
            yield group, paper.get(frozenset(pair), pair if i % 2 else pair[::-1]), level
    for kind in KINDS:
        for group in (REGION, SMALL_REGION):
            for _ in range(3):
                yield group, (kind,), 0
    for group in (TWO_REGIONS, REGION_PAIR):
        for pair in combinations(KINDS, 2):
            yield group, pair, 0
    for i, pair in enumerate(permutations(KINDS, 2)):
        if i % 2:
            yield OVER, pair, 0
        if i % 4 == 0:
            yield TOUCHING, pair, 0
    yield PRISTINE, (), 0
    yield HOT_PIXELS, (), 0
    yield OTHER_SCENE, (), 0


def make(recipe: Recipe, reference: np.ndarray) -> Case | None:
    """Make the case of a recipe; None where nobody could name its kinds."""
    rng = np.random.default_rng(recipe.seed)
    everywhere = np.ones(reference.shape, bool)
    if recipe.group == PRISTINE:
        return Case(reference.copy(), [])
    if recipe.group == OTHER_SCENE:
        return Case(_other_scene(reference, rng), [])
    if recipe.group == HOT_PIXELS:
        return _hot_pixels(reference, rng)
    if recipe.group in (SINGLE, PAPER_PAIR, OTHER_PAIR):
        return in_one_place(recipe, reference, everywhere, recipe.level, rng)
    level = float(np.exp(rng.uniform(*np.log(REGION_LEVELS))))
    form, at_border = str(rng.choice(SHAPES)), bool(rng.random() < 0.3)
    area = float(np.exp(rng.uniform(*np.log(SMALL if recipe.group == SMALL_REGION else LARGE))))
    if recipe.group == TWO_REGIONS:
        areas = tuple(np.exp(rng.uniform(*np.log([0.04, 0.2]), 2)))
        forms = tuple(rng.choice(SHAPES, 2))
        return _side_by_side(recipe, reference, draw_apart(reference.shape, areas, forms, rng), rng, "+".join(forms))
    mask = draw_mask(reference.shape, area, form, at_border, rng)
    form += " at the border" if at_border else ""
    if recipe.group == TOUCHING:
        return _side_by_side(recipe, reference, cut_in_two(mask, rng), rng, form)
    if recipe.group == OVER:
        return _over(recipe, reference, mask, level, rng, form)
    return in_one_place(recipe, reference, mask, level, rng, form)


def apply_program(
    program: Program,
    image: np.ndarray,
    reference: np.ndarray,
    mask: np.ndarray,
    wanted: float,
    rng: np.random.Generator,
) -> tuple[Copy, int, int]:
    """Apply a program so that the error inside a mask is about the wanted one; with the seed and direction used."""
    seed, direction = int(rng.integers(2**31)), int(rng.choice([-1, 1]))
    copies = program.build(image, seed, direction)
    target = reference[mask]
    search = Search(lambda strength: quantise(copies.path(strength))[mask], target, wanted, ACCURACY)
    if program.levels:
        for strength in program.levels:
            search.error(strength)
    else:
        search.bisect(copies.end, first=copies.end / 100, steps=10, at_zero=mse(target, image[mask]))
    result = quantise(copies.path(search.strength))
    return Copy(result, search.strength, copies.parameters(search.strength), search.measured), seed, direction


def in_one_place(
    recipe: Recipe,
    reference: np.ndarray,
    mask: np.ndarray,
    level: float,
    rng: np.random.Generator,
    form: str = "",
    either_order: bool = True,
) -> Case | None:
    """Make one kind, or two one after the other (if need be in the other order), in one region."""
    if len(recipe.programs) == 1:
        copies = [apply_program(recipe.programs[0], reference, reference, mask, level, rng)[0]]
        if not _is_visible(recipe.programs[0], reference, copies[0], mask):
            return None
        errors = [copies[0].error]
        order = recipe.programs
    else:
        made = _pair(recipe.programs, reference, mask, level, rng)
        if made is None and either_order:
            made = _pair(recipe.programs[::-1], reference, mask, level, rng)
        if made is None:
            return None
        copies, order = made
        errors = [copies[0].error, copies[1].error - copies[0].error]
    most = np.inf if order[0].kind == UNKNOWN else 3000
    if copies[-1].error < (30 if mask.all() else 0.95 * REGION_LEVELS[0]) or copies[-1].error > most:
        return None
    damages = [
        Damage(program.kind, program.name, mask, copy.parameters, error)
        for program, copy, error in zip(order, copies, errors)
    ]
    return Case(np.where(mask, copies[-1].image, reference), damages, form)


def _pair(
    programs: tuple[Program, ...], reference: np.ndarray, mask: np.ndarray, level: float, rng: np.random.Generator
) -> tuple[list[Copy], tuple[Program, ...]] | None:
    """Two kinds one after the other, each with half of the error; None where a part cannot be seen."""
    first, _, _ = apply_program(programs[0], reference, reference, mask, level / 2, rng)
    second, seed, direction = apply_program(programs[1], first.image, reference, mask, level, rng)
    alone = quantise(programs[1].build(reference, seed, direction).path(second.strength))
    trace = remaining(programs[0].kind, second.image[mask], alone[mask])
    least = min(first.error, second.error - first.error)
    if trace < LEAST_TRACE * second.error or least < LEAST_PART * second.error:
        return None
    if not is_pair_visible(tuple(program.kind for program in programs), reference, second.image):
        return None
    steps = ((programs[0], reference, first), (programs[1], first.image, second))
    if not all(_is_visible(program, before, copy, mask) for program, before, copy in steps):
        return None
    return [first, second], programs


def _is_visible(program: Program, before: np.ndarray, copy: Copy, mask: np.ndarray) -> bool:
    return is_visible(program.kind, before, copy.image, mask, copy.parameters)


def _side_by_side(
    recipe: Recipe, reference: np.ndarray, masks: list[np.ndarray] | None, rng: np.random.Generator, form: str
) -> Case | None:
    """Two kinds in two regions."""
    if masks is None:
        return None
    image, damages = reference.copy(), []
    for program, mask in zip(recipe.programs, masks):
        level = float(np.exp(rng.uniform(*np.log(REGION_LEVELS))))
        copy, _, _ = apply_program(program, reference, reference, mask, level, rng)
        visible = _is_visible(program, reference, copy, mask)
        if not 0.95 * REGION_LEVELS[0] <= copy.error <= 3000 or not visible:
            return None
        image = np.where(mask, copy.image, image)
        damages.append(Damage(program.kind, program.name, mask, copy.parameters, copy.error))
    return Case(image, damages, form)


def _over(
    recipe: Recipe, reference: np.ndarray, mask: np.ndarray, level: float, rng: np.random.Generator, form: str
) -> Case | None:
    """One kind everywhere, a second one in a region on top of it."""
    everywhere = np.ones(reference.shape, bool)
    below_level = float(np.exp(rng.uniform(*np.log([40, 300]))))
    below, _, _ = apply_program(recipe.programs[0], reference, reference, everywhere, below_level, rng)
    above, _, _ = apply_program(recipe.programs[1], below.image, below.image, mask, level, rng)
    visible = _is_visible(recipe.programs[1], below.image, above, mask)
    if below.error < 30 or not 0.95 * REGION_LEVELS[0] <= above.error <= 3000 or not visible:
        return None
    if above.error < LEAST_PART * mse(reference[mask], below.image[mask]):
        return None
    image = np.where(mask, above.image, below.image)
    first, second = recipe.programs
    damages = [
        Damage(first.kind, first.name, everywhere, below.parameters, below.error),
        Damage(second.kind, second.name, mask, above.parameters, above.error),
    ]
    return Case(image, damages, form)


def _other_scene(reference: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Another picture, brought to the size of the reference."""
    import skimage.data

    picture = Image.fromarray(getattr(skimage.data, str(rng.choice(OTHER_SCENES)))()).convert("L")
    return np.asarray(picture.resize(reference.shape[::-1], Image.Resampling.LANCZOS))


def _hot_pixels(reference: np.ndarray, rng: np.random.Generator) -> Case:
    """Three pixels far apart become white, or black where they are bright."""
    image, mask = reference.copy(), np.zeros(reference.shape, bool)
    places = rng.choice(reference.size, 3, replace=False)
    mask.flat[places] = True
    image[mask] = np.where(reference[mask] < 128, 255, 0)
    error = mse(image[mask], reference[mask])
    return Case(image, [Damage("impulse_noise", "hot pixels", mask, {}, error)])
