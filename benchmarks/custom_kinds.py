"""How well custom kinds are named: taught by a function, or by 20, 5 or 1 examples; and false alarms.

    python benchmarks/custom_kinds.py               # the shipped model
    python benchmarks/custom_kinds.py --copies 4    # fewer copies of each kind and half

Kinds are those of ``faults/own_kinds.py``. Half of the pictures (scikit-image's) teach, and copies of the other half
are judged; then the halves change places. Functions and examples have errors of 20 to 1100, the copies that are judged
of 30 to 600. Prints Markdown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import skimage.data
from PIL import Image
from tqdm import tqdm

from faults.own_kinds import FUNCTIONS
from llise import Diagnoser, kinds
from llise.kinds.base import Kind
from llise.kinds.own import OwnKind
from llise.kinds.registry import get
from llise.kinds.search import draw_copy
from llise.labels import NAMED_KINDS

Pair = tuple[np.ndarray, np.ndarray]

SIDE = 256
NAMES = ("camera", "astronaut", "coffee", "chelsea", "rocket", "brick", "grass", "gravel", "coins", "page")
HALVES = NAMES[::2], NAMES[1::2]
WAYS: tuple[str | int, ...] = ("function", 20, 5, 1)
LEAST_SPREAD = 6.0
"""Standard deviation of the grey levels of a piece, below which a kind may have nothing to change."""


def pair_of(kind: Kind, names: tuple[str, ...], errors: tuple[float, float], rng: np.random.Generator) -> Pair:
    """A piece of a picture with some structure, and a copy at a random error that the kind reaches there."""
    while True:
        picture = getattr(skimage.data, names[rng.integers(len(names))])()
        grey = np.asarray(Image.fromarray(picture).convert("L"))
        top, left = (int(rng.integers(max(n - SIDE, 0) + 1)) for n in grey.shape)
        piece = np.ascontiguousarray(grey[top : top + SIDE, left : left + SIDE])
        if piece.std() < LEAST_SPREAD:
            continue
        copy = draw_copy(kind, piece, float(np.exp(rng.uniform(*np.log(errors)))), rng).image
        if np.mean((copy.astype(float) - piece) ** 2) > errors[0] / 2:
            return piece, copy


@contextmanager
def taught(name: str, way: str | int, names: tuple[str, ...]) -> Iterator[None]:
    """Register a kind by its function, or by so many examples, until the end of the block."""
    with tempfile.TemporaryDirectory() as folder:
        if way != "function":
            rng = np.random.default_rng((1, list(FUNCTIONS).index(name)))
            for number in range(int(way)):  # fewer examples are the beginning of more
                pair = pair_of(OwnKind(name, FUNCTIONS[name]), names, (20, 1100), rng)
                for role, image in zip(("ref", "copy"), pair):
                    Image.fromarray(image).save(Path(folder) / f"{number}.{role}.png")
        kinds.register(name, FUNCTIONS[name] if way == "function" else folder)
        try:
            yield
        finally:
            kinds.unregister(name)


def copies_of(kind: Kind, number: int, count: int, names: tuple[str, ...]) -> list[Pair]:
    """Copies to be judged."""
    rng = np.random.default_rng((2, number))
    return [pair_of(kind, names, (30, 600), rng) for _ in range(count)]


def share(right: list[bool]) -> str:
    return f"{np.mean(right):.3f} ({len(right)})"


def main() -> None:
    """Teach, judge, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--copies", type=int, default=20, help="copies of each kind that are judged in each half")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    named: dict[tuple[str, str | int], list[bool]] = {}
    alarms: dict[str | int, list[bool]] = {way: [] for way in WAYS}
    sure: list[bool] = []
    for half, others in (HALVES, HALVES[::-1]):
        known = [pair for n, name in enumerate(NAMED_KINDS, 100) for pair in copies_of(get(name), n, 1, others)]
        for number, name in enumerate(tqdm(FUNCTIONS, "kinds", file=sys.stderr)):
            pairs = copies_of(OwnKind(name, FUNCTIONS[name]), number, options.copies, others)
            for way in WAYS:
                with taught(name, way, half):
                    for reference, copy in pairs:
                        found = next(Diagnoser(reference).diagnose([copy]))
                        named.setdefault((name, way), []).append(found.verdict == (name,))
                        sure += [fault.kinds == (name,) for fault in found.faults if fault.confidence >= 0.7]
                    for reference, copy in known:
                        alarms[way].append(name in next(Diagnoser(reference).diagnose([copy])).verdict)
    head = ["function", "20 examples", "5 examples", "1 example"]
    print(f"Command: `{' '.join(['python', *sys.argv])}`\n\n| named | {' | '.join(head)} |\n|---|{'---|' * len(WAYS)}")
    for name in FUNCTIONS:
        print(f"| {name} | {' | '.join(share(named[name, way]) for way in WAYS)} |")
    everything = [[right for name in FUNCTIONS for right in named[name, way]] for way in WAYS]
    print(f"| all | {' | '.join(map(share, everything))} |")
    print(f"| a named kind taken for the taught one | {' | '.join(share(alarms[way]) for way in WAYS)} |")
    print(f"\nSaid with .7 or more and right: {share(sure)}")


if __name__ == "__main__":
    main()
