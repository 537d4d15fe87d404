"""How well kinds of one's own are named: taught by a function, or by 20, 5 or 1 examples; and false alarms.

    python benchmarks/taught.py                     # the shipped judge; about 20 minutes on one core
    python benchmarks/taught.py --copies 4          # fewer copies of each kind and half
    python benchmarks/taught.py --manifold          # block votes in the manifold beside it, on the same examples
    python benchmarks/taught.py --judge FILE        # another judge

Kinds are those of ``faults/own_kinds.py``. Half of the training pictures teach, and copies of the other half are
judged; then the halves change places. Functions and examples have errors of 20 to 1100, the copies that are judged of
30 to 600.
Prints Markdown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image
from tqdm import tqdm

from faults.own_kinds import FUNCTIONS
from llise import LLISE, DistortionRecognizer
from llise.diagnosis import Diagnoser, Diagnosis
from llise.diagnosis.judging.judge import Judge, shipped_judge
from llise.diagnosis.measures import LEAST_LIKENESS, likeness
from llise.diagnosis.taught.taught_samples import TaughtSamples, example_samples, function_samples
from llise.diagnosis.training import pictures
from llise.diagnosis.training.samples import LEAST_SPREAD
from llise.kinds import own
from llise.kinds.base import Kind
from llise.kinds.examples import Examples, find_examples
from llise.kinds.own import OwnKind
from llise.kinds.registry import get
from llise.kinds.search import draw_copy
from llise.labels import NAMED_KINDS

Pair = tuple[np.ndarray, np.ndarray]

SIDE = 256
"""Sides of the pieces of pictures that are examples, or are judged."""

HALVES = pictures.NAMES[::2], pictures.NAMES[1::2]
WAYS = ("function", 20, 5, 1)
OWN = {name: OwnKind(name, function) for name, function in FUNCTIONS.items()}


def pair_of(kind: Kind, names: tuple[str, ...], errors: tuple[float, float], rng: np.random.Generator) -> Pair:
    """A piece of a picture with some structure, and a copy at a random error that the kind reaches there."""
    while True:
        picture = pictures.load(names[rng.integers(len(names))])
        top, left = (int(rng.integers(max(n - SIDE, 0) + 1)) for n in picture.shape)
        piece = np.ascontiguousarray(picture[top : top + SIDE, left : left + SIDE])
        if piece.std() < 3 * LEAST_SPREAD:
            continue
        copy = draw_copy(kind, piece, float(np.exp(rng.uniform(*np.log(errors)))), rng).image
        is_copy = likeness(piece, copy) >= LEAST_LIKENESS
        if is_copy and np.mean((copy.astype(float) - piece) ** 2) > errors[0] / 2:
            return piece, copy


def taught(kind: OwnKind, way: str | int, names: tuple[str, ...]) -> TaughtSamples:
    """Samples of a kind from its function, or from so many examples."""
    if way == "function":
        return function_samples(kind, names=names)
    with tempfile.TemporaryDirectory() as folder:
        for number, pair in enumerate(examples_of(kind, int(way), names)):
            for role, image in zip(("ref", "copy"), pair):
                Image.fromarray(image).save(Path(folder) / f"{number}.{role}.png")
        return example_samples(Examples(kind.name, kind.title, find_examples(Path(folder))))


def examples_of(kind: OwnKind, count: int, names: tuple[str, ...]) -> list[Pair]:
    """The first examples of a kind; fewer are the beginning of more."""
    rng = np.random.default_rng((1, list(OWN).index(kind.name)))
    return [pair_of(kind, names, (20, 1100), rng) for _ in range(count)]


def tests_of(kind: Kind, number: int, count: int, names: tuple[str, ...]) -> list[Pair]:
    """Copies to be judged."""
    rng = np.random.default_rng((2, number))
    return [pair_of(kind, names, (30, 600), rng) for _ in range(count)]


def judged(samples: list[TaughtSamples], pairs: list[Pair], judge: Judge) -> Iterator[Diagnosis]:
    """Diagnoses by a judge that was taught some kinds."""
    for one in samples:
        own.add(one)
    try:
        for reference, copy in pairs:
            yield next(Diagnoser(reference, judge=judge).diagnose([copy]))
    finally:
        for one in samples:
            own.unregister(one.name)


def measure(judge: Judge, count: int) -> None:
    """Print how often each kind is named, and how often named kinds are taken for one of one's own."""
    named: dict[tuple[str, str | int], list[bool]] = {}
    sure: list[tuple[float, bool]] = []
    alarms: dict[str | int, list[bool]] = {way: [] for way in WAYS}
    strangers: dict[str | int, list[bool]] = {way: [] for way in WAYS}
    seconds = []
    for half, others in (HALVES, HALVES[::-1]):
        tests = {name: tests_of(kind, number, count, others) for number, (name, kind) in enumerate(OWN.items())}
        known = [
            pair
            for number, name in enumerate(NAMED_KINDS, 100)
            for pair in tests_of(get(name), number, max(count // 2, 1), others)
        ]
        for way in WAYS:
            start = time.perf_counter()
            samples = {name: taught(kind, way, half) for name, kind in OWN.items()}
            seconds.append((way, (time.perf_counter() - start) / len(OWN)))
            for name, pairs in tqdm(tests.items(), f"{way}", file=sys.stderr):
                for diagnosis in judged([samples[name]], pairs, judge):
                    right = diagnosis.verdict == (name,)
                    named.setdefault((name, way), []).append(right)
                    sure += [(fault.confidence, fault.kinds == (name,)) for fault in diagnosis.faults]
                next_kind = list(OWN)[(list(OWN).index(name) + 1) % len(OWN)]
                for diagnosis in judged([samples[name]], tests[next_kind][: max(count // 4, 1)], judge):
                    strangers[way].append(name in diagnosis.verdict)
            names = set(OWN)
            for diagnosis in tqdm(judged(list(samples.values()), known, judge), "named kinds", file=sys.stderr):
                alarms[way].append(bool(names & set(diagnosis.verdict)))
            so_far = np.mean([right for name in OWN for right in named[name, way]])
            print(f"{way}: {so_far:.3f} named so far, false alarms {np.mean(alarms[way]):.3f}", file=sys.stderr)
    report(named, alarms, strangers, sure, seconds)


def report(
    named: dict[tuple[str, str | int], list[bool]],
    alarms: dict[str | int, list[bool]],
    strangers: dict[str | int, list[bool]],
    sure: list[tuple[float, bool]],
    seconds: list[tuple[str | int, float]],
) -> None:
    """Print the tables."""
    head = ["function", "20 examples", "5 examples", "1 example"]
    print(f"| named | {' | '.join(head)} |\n|---|{'---|' * len(WAYS)}")
    for name in OWN:
        print(f"| {name} | {' | '.join(f'{np.mean(named[name, way]):.2f}' for way in WAYS)} |")
    means = [np.mean([right for name in OWN for right in named[name, way]]) for way in WAYS]
    print(f"| all | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    rates = [np.mean(alarms[way]) for way in WAYS]
    print(f"| named kinds taken for one of the {len(OWN)} taught ones | {' | '.join(f'{r:.3f}' for r in rates)} |")
    print(f"| the same for each taught kind | {' | '.join(f'{r / len(OWN):.4f}' for r in rates)} |")
    rates = [np.mean(strangers[way]) for way in WAYS]
    print(f"| copies of another kind that was not taught taken for it | {' | '.join(f'{r:.3f}' for r in rates)} |")
    cost = {way: np.mean([s for other, s in seconds if other == way]) for way in WAYS}
    print(f"| seconds to learn a kind | {' | '.join(f'{cost[way]:.1f}' for way in WAYS)} |")
    high = [right for confidence, right in sure if confidence >= 0.9]
    share = np.mean(high or [0])
    print(f"\n{len(high)} of {len(sure)} faults have a confidence of .9 or more; {share:.3f} of them are right")


def by_manifold(count: int) -> None:
    """Print how often block votes in the manifold name the kinds, on the same examples and copies.

    Pictures are differences of copies and references about mid-grey, because the references differ; each named kind has
    ten of them.
    """
    right: dict[int, list[bool]] = {}
    alarms: dict[int, list[bool]] = {}
    for half, others in (HALVES, HALVES[::-1]):
        known = [(name, pair) for i, name in enumerate(NAMED_KINDS, 200) for pair in tests_of(get(name), i, 10, half)]
        tests = [pair for i, name in enumerate(NAMED_KINDS, 100) for pair in tests_of(get(name), i, 1, others)]
        for number, (name, kind) in enumerate(tqdm(OWN.items(), "manifold", file=sys.stderr)):
            pairs = tests_of(kind, number, count, others)
            for way in WAYS[1:]:
                training = [*known, *((name, pair) for pair in examples_of(kind, int(way), half))]
                recognizer = DistortionRecognizer(LLISE(8, n_neighbors=10, luminance=0.5, n_jobs=1))
                recognizer.fit(np.stack([difference(pair) for _, pair in training]), [label for label, _ in training])
                answers = recognizer.predict(np.stack([difference(pair) for pair in [*pairs, *tests]]))
                right.setdefault(int(way), []).extend(answers[: len(pairs)] == name)
                alarms.setdefault(int(way), []).extend(answers[len(pairs) :] == name)
    print("\n| block votes in the manifold | 20 examples | 5 examples | 1 example |\n|---|---|---|---|")
    print(f"| named | {' | '.join(f'{np.mean(values):.3f}' for values in right.values())} |")
    print(f"| named kinds taken for the taught one | {' | '.join(f'{np.mean(v):.3f}' for v in alarms.values())} |")


def difference(pair: Pair) -> np.ndarray:
    """The upper left of a copy less its reference, about mid-grey."""
    reference, copy = (image[:128, :128].astype(float) for image in pair)
    values = np.full((128, 128), 128, np.uint8)
    values[: reference.shape[0], : reference.shape[1]] = np.clip(128 + copy - reference, 0, 255).astype(np.uint8)
    return values


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", type=Path, help="a judge file instead of the shipped one")
    parser.add_argument("--copies", type=int, default=20, help="copies of each kind that are judged in each half")
    parser.add_argument("--manifold", action="store_true", help="compare with the manifold instead")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"Command: `{' '.join(['python', *sys.argv])}`\n")
    if options.manifold:
        by_manifold(options.copies)
    else:
        measure(Judge.load(options.judge) if options.judge else shipped_judge(), options.copies)


if __name__ == "__main__":
    main()
