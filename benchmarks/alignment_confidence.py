"""How sure a misalignment is, and which programs make copies that are wrongly called misaligned.

    python benchmarks/alignment_confidence.py --pictures FOLDER           # what the shipped confidence is worth
    python benchmarks/alignment_confidence.py --pictures FOLDER --fit     # and the constants that fit these copies

Misaligned copies are moved alone or have another fault besides, of all kinds that are named.  The others come from all
programs of ``faults`` that are installed, from regions that are moved and from blurs to one side.  Prints Markdown.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import ndimage
from tqdm import tqdm

from alignment import FILLS, FORMS, RIM, draw_transform, load_sources, moved_middle, rounded
from faults.cases import apply_program
from faults.programs import Program, foreign, own
from llise.diagnosis.alignment.confidence import LEAST_FALL
from llise.diagnosis.alignment.placing import LEAST_CONFIDENCE, find_place
from llise.kinds.registry import get
from llise.kinds.search import draw_copy
from llise.kinds.warping import METHODS
from llise.labels import NAMED_KINDS

SIDE = 384
"""Side to which pictures are cut."""

ERRORS = (20, 900)
"""Least and greatest mean squared error of a copy."""

SHIFTS = ("ImageMagick -paint",)
"""Programs that move about half of the pixels by one besides what they are for; these copies count for neither side."""

BINS = (0.0, 0.1, 0.5, 0.7, 0.9, 0.98, 1.0)


class Example(NamedTuple):
    """A copy, who made it, and whether it is misaligned."""

    program: str
    is_misaligned: bool
    reference: np.ndarray
    copy: np.ndarray


class Answer(NamedTuple):
    """What is measured on a copy; no features where it was found at once to lie as it should."""

    program: str
    is_misaligned: bool
    confidence: float
    features: tuple[float, ...] | None


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, nargs="+", required=True, help="folders of photographs")
    parser.add_argument("--copies", type=int, default=2, help="copies of each program")
    parser.add_argument("--seed", type=int, default=0, help="seed for all random numbers")
    parser.add_argument("--fit", action="store_true", help="fit the constants of the confidence to these copies")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    sources = list(load_sources(options.pictures))
    print(f"Command: `{' '.join(['python', *sys.argv])}`; {len(sources)} pictures\n")
    examples = [*_misaligned(sources, 20 * options.copies, rng), *_others(sources, options.copies, rng)]
    answers = [_answer(example) for example in tqdm(examples, "measured", disable=None)]
    _print_programs(answers)
    known = [answer for answer in answers if answer.program not in SHIFTS]
    _print_reliability(known)
    if options.fit:
        _print_fit(known)


def _cut(big: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    top, left = (int(rng.integers(max(side - SIDE - 2 * RIM, 0) + 1)) for side in big.shape)
    part = big[top : top + SIDE + 2 * RIM, left : left + SIDE + 2 * RIM]
    return part[: part.shape[0] // 8 * 8, : part.shape[1] // 8 * 8]


def _error(rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(*np.log(ERRORS))))


def _misaligned(sources: list[np.ndarray], count: int, rng: np.random.Generator) -> Iterator[Example]:
    """Copies that are moved, one in four of them without another fault."""
    others = [*NAMED_KINDS, *["nothing"] * (len(NAMED_KINDS) // 3)]
    for number in tqdm(range(count * 4), "misaligned", disable=None):
        big = _cut(sources[rng.integers(len(sources))], rng)
        other = others[rng.integers(len(others))]
        at, method = draw_transform(FORMS[number % len(FORMS)], rng), list(METHODS)[rng.integers(len(METHODS))]
        copy = rounded(moved_middle(big, at, method, FILLS[rng.integers(len(FILLS))]))
        if other != "nothing":
            copy = draw_copy(get(other), copy, _error(rng), rng).image
        yield Example(f"moved; {other}", True, np.ascontiguousarray(big[RIM:-RIM, RIM:-RIM]), copy)


def _others(sources: list[np.ndarray], count: int, rng: np.random.Generator) -> Iterator[Example]:
    """Copies that are not moved as a whole."""
    programs = [program for found in (own(), foreign()[0]) for kind in found.values() for program in kind]
    for program in tqdm(programs, "others", disable=None):
        for _ in range(count):
            reference = np.ascontiguousarray(_cut(sources[rng.integers(len(sources))], rng)[RIM:-RIM, RIM:-RIM])
            copy = _by_program(program, reference, rng)
            if (copy != reference).any():
                yield Example(program.name, False, reference, copy)
    for name, damage in DAMAGES.items():
        for _ in range(4 * count):
            reference = np.ascontiguousarray(_cut(sources[rng.integers(len(sources))], rng)[RIM:-RIM, RIM:-RIM])
            yield Example(name, False, reference, rounded(damage(reference, rng)))


def _by_program(program: Program, reference: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    copy, _, _ = apply_program(program, reference, reference, np.ones(reference.shape, bool), _error(rng), rng)
    return rounded(copy.image)


def _moved_region(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    share, shift = rng.uniform(0.2, 0.8), rng.integers(1, 9, 2)
    border = int(share * picture.shape[0])
    return np.concatenate([picture[:border], np.roll(picture, shift, axis=(0, 1))[border:]])


def _trail(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An even or fading trail to one side, along a row or a column."""
    length, axis = int(rng.integers(3, 16)), int(rng.integers(2))
    shares = np.linspace(1, rng.choice([0.0, 0.5, 1.0]), length, endpoint=False)
    kernel = np.zeros(2 * length - 1)
    kernel[length - 1 :] = shares / shares.sum()
    return np.asarray(ndimage.correlate1d(picture.astype(float), kernel, axis=axis, mode="nearest"))


def _corner_cells(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Cells of any side with the pixel at one of their corners."""
    side = rng.uniform(2, 9)
    places = [np.minimum((np.arange(n) // side * side).astype(int), n - 1) for n in picture.shape]
    return picture[np.ix_(*places)]


DAMAGES: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "region that is moved": _moved_region,
    "trail to one side": _trail,
    "cells with the pixel at a corner": _corner_cells,
}


def _answer(example: Example) -> Answer:
    place = find_place(example.reference, example.copy)
    if place is None:
        return Answer(example.program, example.is_misaligned, 0.0, None)
    features = place.grounds.features if place.grounds.fall >= LEAST_FALL else None
    return Answer(example.program, example.is_misaligned, place.grounds.confidence, features)


def _print_programs(answers: list[Answer]) -> None:
    called: dict[tuple[bool, str], list[bool]] = defaultdict(list)
    for answer in answers:
        called[answer.is_misaligned, answer.program].append(answer.confidence >= LEAST_CONFIDENCE)
    print("| misaligned copies | found |\n|---|---|")
    for (is_misaligned, program), found in called.items():
        if is_misaligned:
            print(f"| {program} | {sum(found)} of {len(found)} |")
    print("\n| other copies, by program | called misaligned |\n|---|---|")
    for (is_misaligned, program), found in called.items():
        if not is_misaligned and any(found):
            print(f"| {program} | {sum(found)} of {len(found)} |")
    rest = Counter(any(found) for (is_misaligned, _), found in called.items() if not is_misaligned)
    total = sum(len(found) for (is_misaligned, _), found in called.items() if not is_misaligned)
    print(f"| {rest[False]} further programs | none |\n\nOther copies: {total}.\n")


def _print_reliability(answers: list[Answer]) -> None:
    print("| confidence | copies | misaligned |\n|---|---|---|")
    for low, high in pairwise(BINS):
        inside = [answer for answer in answers if low <= answer.confidence < high or answer.confidence == high == 1]
        share = np.mean([answer.is_misaligned for answer in inside]) if inside else np.nan
        print(f"| {low:.2f} to {high:.2f} | {len(inside)} | {share:.2f} |")


def _print_fit(answers: list[Answer]) -> None:
    from sklearn.linear_model import LogisticRegression

    weighed = [answer for answer in answers if answer.features is not None]
    model = LogisticRegression(C=10.0).fit([a.features for a in weighed], [a.is_misaligned for a in weighed])
    constants = (model.intercept_[0], *model.coef_[0])
    print(f"\nCOEFFICIENTS = ({', '.join(f'{value:.2f}' for value in constants)})")


if __name__ == "__main__":
    main()
