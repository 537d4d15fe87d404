"""What the manifold adds to a diagnosis: block map, naming, severity and cost, measured with and without it.

    python benchmarks/manifold.py                    # trains a judge without the references first
    python benchmarks/manifold.py --judge FILE       # uses that judge again; trains it if the file is not there

Each reference gets whole-picture copies (one kind, or a pair), copies with one kind in a rectangle, and copies with a
kind in each half of a rectangle. The judge has not seen the references; the manifold is learned on each. A block of a
pair is right if either kind is named. Prints Markdown.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator
from scipy import ndimage
from tqdm import tqdm

from faults.masks import BLOCK, by_block, cut_in_two, draw_mask
from llise import Diagnoser, distortions
from llise.diagnosis.judging.judge import Judge
from llise.diagnosis.manifold import ReferenceManifold
from llise.diagnosis.result import Diagnosis
from llise.diagnosis.train import train
from llise.diagnosis.training import pictures
from llise.labels import KINDS, LABELS, PAPER_MIXTURES
from llise.manifold.recognition import nearest_images, nearest_labels

REFERENCES = ("camera", "coffee", "gravel", "astronaut")
SIDE = 256
GRID = SIDE // BLOCK, SIDE // BLOCK
WHOLE_LEVELS = 100, 400
PAIRS = (*PAPER_MIXTURES, ("blur", "impulse_noise"), ("contrast", "gaussian_noise"))
PAIR_LEVEL = 300
AREAS = 0.1, 0.3
REGION_LEVELS = 60, 600
REGIONS_PER_KIND, N_HALVES = 3, 12
N_NEAREST = 3
WINDOW = 5  # blocks across which votes are smoothed
SURE = 0.9  # confidence below which votes replace the verdict, in one of the variants

GROUPS = SINGLE, PAIR, REGION, HALVES = (
    "whole picture, one kind",
    "whole picture, two kinds",
    "one kind in a region",
    "two kinds in the halves of a region",
)
MAPS = (
    "faults' block labels (no manifold)",
    "manifold votes",
    "manifold votes, equal blocks `original`",
    "manifold votes among the verdict's kinds, equal blocks `original`",
    "faults' block labels, such votes at region borders",
    "such votes, most of 5x5 blocks",
    "the same with the nearest training blocks by pixels (no manifold)",
)
NAMINGS = (
    "judge (no manifold)",
    "most votes of all blocks",
    "most votes of the blocks that differ",
    "judge; most votes of the blocks that differ where its confidence is below .9",
)
SPLITS = "faults (no manifold)", "votes of the two kinds", "half each, without looking"
Results = dict[tuple[str, str], list]


@dataclass(frozen=True, eq=False)
class Case:
    """A damaged copy, the pixels of each kind, and for a pair each kind's share of the error."""

    group: str
    image: np.ndarray
    truth: dict[str, np.ndarray]
    parts: dict[str, float]


def draw_cases(reference: np.ndarray, rng: Generator) -> Iterator[Case]:
    """Yield all cases of one reference."""
    everywhere = np.ones(reference.shape, bool)
    for kind in KINDS:
        for level in WHOLE_LEVELS:
            yield Case(SINGLE, _distort(reference, kind, level, rng).image, {kind: everywhere}, {})
    for pair in PAIRS:
        first = _distort(reference, pair[0], rng.uniform(0.3, 0.7) * PAIR_LEVEL, rng)
        second = _distort(first.image, pair[1], PAIR_LEVEL, rng, reference)
        first_share = first.measured / second.measured
        parts = {pair[0]: first_share, pair[1]: 1 - first_share}
        yield Case(PAIR, second.image, dict.fromkeys(pair, everywhere), parts)
    for kind in KINDS * REGIONS_PER_KIND:
        image, masks = _in_regions(reference, (kind,), rng)
        yield Case(REGION, image, {kind: masks[0]}, {})
    for _ in range(N_HALVES):
        kinds = tuple(str(kind) for kind in rng.choice(KINDS, 2, replace=False))
        image, masks = _in_regions(reference, kinds, rng)
        yield Case(HALVES, image, dict(zip(kinds, masks)), {})


def _distort(
    image: np.ndarray, kind: str, level: float, rng: Generator, reference: np.ndarray | None = None
) -> distortions.Distorted:
    direction = int(rng.choice([-1, 1])) if distortions.is_two_sided(kind) else None
    seed = int(rng.integers(2**31))
    return distortions.make(image, kind, level, seed, direction=direction, reference=reference, warn=False)


def _in_regions(reference: np.ndarray, kinds: tuple[str, ...], rng: Generator) -> tuple[np.ndarray, list[np.ndarray]]:
    """Damage a rectangle, or its halves; draw again until the errors are in bounds and each kind can be told."""
    while True:
        rectangle = draw_mask(reference.shape, rng.uniform(*AREAS), "rectangle", False, rng)
        masks = [rectangle] if len(kinds) == 1 else cut_in_two(rectangle, rng)
        image = reference.copy()
        for kind, mask in zip(kinds, masks):
            level = float(np.exp(rng.uniform(*np.log(REGION_LEVELS))))
            copy = _distort(reference, kind, level, rng).image
            difference = copy[mask].astype(float) - reference[mask]
            error = float((difference**2).mean())
            shift_only = kind == "contrast" and difference.mean() ** 2 > 0.5 * error  # looks like luminance
            if shift_only or not REGION_LEVELS[0] <= error <= REGION_LEVELS[1]:
                break
            image[mask] = copy[mask]
        else:
            return image, masks


@dataclass(frozen=True, eq=False)
class Placed:
    """Coordinates at each block (blocks, images, p), of the manifold or pixels; codes of the training labels."""

    training: np.ndarray
    copies: np.ndarray
    codes: np.ndarray

    def votes(self, number: int, kinds: tuple[str, ...] = LABELS) -> np.ndarray:
        """Code of the nearest training image of some kinds at each block of a copy."""
        chosen = np.isin(self.codes, [LABELS.index(kind) for kind in kinds])
        new = self.copies[:, [number]]
        return nearest_labels(self.training[:, chosen], self.codes[chosen], len(LABELS), new).reshape(GRID)

    def severity(self, number: int, training_errors: np.ndarray) -> np.ndarray:
        """Mean error of the nearest training blocks at each block of a copy."""
        nearest = nearest_images(self.training, self.copies[:, [number]], N_NEAREST)[:, 0].astype(int)
        return np.take_along_axis(training_errors, nearest, axis=1).mean(axis=1).reshape(GRID)


def pixels_by_block(images: np.ndarray) -> np.ndarray:
    """Pixels of each block of images, shape (blocks, images, pixels)."""
    blocks = [by_block(image).reshape(GRID[0] * GRID[1], -1) for image in images]
    return np.stack(blocks, axis=1).astype(np.float32)


def smoothed(labels: np.ndarray, differs: np.ndarray) -> np.ndarray:
    """Label that most of the differing blocks around each differing block have."""
    masks = [((labels == code) & differs).astype(float) for code in range(len(LABELS))]
    counts = [ndimage.convolve(mask, np.ones((WINDOW, WINDOW)), mode="constant") for mask in masks]
    return np.where(differs, np.argmax(counts, axis=0), 0)


def block_maps(differs: np.ndarray, diagnosis: Diagnosis, votes: np.ndarray, near: list[np.ndarray]) -> list:
    """Return the maps in the order of :data:`MAPS`; `near` has the votes among the verdict's kinds of both sorts."""
    restricted, by_pixels = (np.where(differs, labels, 0) for labels in near)
    border = np.zeros_like(differs)
    for fault in diagnosis.faults:
        border |= fault.region & ~ndimage.binary_erosion(fault.region, np.ones((3, 3)), border_value=1)
    return [
        diagnosis.block_labels,
        votes,
        np.where(differs, votes, 0),
        restricted,
        np.where(border, restricted, diagnosis.block_labels),
        smoothed(restricted, differs),
        smoothed(by_pixels, differs),
    ]


def score(case: Case, error: np.ndarray, diagnosis: Diagnosis, maps: list[np.ndarray], out: Results) -> None:
    """Add to the results what is right about one copy; `error` is that of each block."""
    differs, votes = error > 0, maps[1]
    touched = {kind: by_block(mask).any(axis=2) for kind, mask in case.truth.items()}
    outside = ~np.any(list(touched.values()), axis=0)
    for name, labels in zip(MAPS, maps):
        right = np.any([here & (labels == LABELS.index(kind)) for kind, here in touched.items()], axis=0)
        original = (labels == 0) & outside
        out[name, case.group].append([(right & differs).sum(), differs.sum(), original.sum(), outside.sum()])
    most, most_changed = ((LABELS[np.bincount(labels).argmax()],) for labels in (votes.ravel(), votes[differs]))
    or_votes = most_changed if diagnosis.confidence < SURE else diagnosis.verdict
    for name, verdict in zip(NAMINGS, (diagnosis.verdict, most, most_changed, or_votes)):
        out[name, case.group].append(set(verdict) == set(case.truth))
    if case.parts:
        counts = [float((votes == LABELS.index(kind)).sum()) for kind in case.parts]
        errors = [diagnosis.severity.get(kind, 0.0) for kind in case.parts]
        for name, (first, second) in zip(SPLITS, (errors, counts, (1.0, 1.0))):
            share = first / (first + second) if first + second else 0.5
            out[name, case.group].append(abs(share - next(iter(case.parts.values()))))


def measure(name: str, judge: Judge, out: Results) -> None:
    """Measure all cases of one reference."""
    picture = pictures.load(name)
    top, left = ((size - SIDE) // 2 for size in picture.shape)
    reference = np.ascontiguousarray(picture[top : top + SIDE, left : left + SIDE])
    cases = list(draw_cases(reference, np.random.default_rng(REFERENCES.index(name))))
    images = np.stack([case.image for case in cases])
    times = [time.process_time()]
    manifold = ReferenceManifold(n_jobs=1).fit(reference)
    times.append(time.process_time())
    coordinates = manifold.learner_.embed(images)
    times.append(time.process_time())
    diagnoses = list(Diagnoser(reference, judge=judge).diagnose(images))
    times.append(time.process_time())
    out["seconds", ""].append(np.diff(times) / (1, len(cases), len(cases)))
    codes = np.array([LABELS.index(label) for label in manifold.training_labels])
    training = pixels_by_block(manifold.learner_.training_images_.reshape(-1, SIDE, SIDE))
    original, copies = pixels_by_block(reference[None]), pixels_by_block(images)
    training_errors, errors = (((pixels - original) ** 2).mean(axis=2) for pixels in (training, copies))
    placed, by_pixels = Placed(manifold.learner_.embedding_, coordinates, codes), Placed(training, copies, codes)
    for i, (case, diagnosis) in enumerate(zip(cases, diagnoses)):
        error = errors[:, i].reshape(GRID)
        kinds = tuple(kind for kind in diagnosis.verdict if kind in KINDS) or LABELS
        near = [placed.votes(i, kinds), by_pixels.votes(i, kinds)]
        score(case, error, diagnosis, block_maps(error > 0, diagnosis, placed.votes(i), near), out)
        out["ratio", case.group].append(placed.severity(i, training_errors)[error > 0] / error[error > 0])


def report(out: Results) -> None:
    """Print the table."""

    def row(name: str, cells: list[str] | None = None) -> None:
        print(f"| {name} | {' | '.join(cells or [''] * len(GROUPS))} |")

    def block_cell(name: str, group: str) -> str:
        right, changed, original, outside = np.sum(out[name, group], axis=0)
        return f"{right / changed:.3f}" + (f" / {original / outside:.3f}" if outside else "")

    def ratio_cell(group: str) -> str:
        ratio = np.concatenate(out["ratio", group])
        low, middle, high = np.quantile(ratio, [0.05, 0.5, 0.95])
        near = ((ratio >= 1 / 1.5) & (ratio <= 1.5)).mean()
        return f"{middle:.2f} ({low:.2f} to {high:.2f}); {near:.3f}"

    row("", [f"{group} ({len(out['ratio', group])} images)" for group in GROUPS])
    print("|---" * (len(GROUPS) + 1) + "|")
    row("**Block map**: right where blocks differ / `original` outside the region")
    for name in MAPS:
        row(name, [block_cell(name, group) for group in GROUPS])
    row("**Naming**: exact verdict")
    for name in NAMINGS:
        row(name, [f"{np.mean(out[name, group]):.3f}" for group in GROUPS])
    row("**Severity of blocks**: estimated / true MSE, median (5 % to 95 %); share within a factor of 1.5")
    row("measured MSE (no manifold; exact by definition)", ["1 (1 to 1); 1.000"] * len(GROUPS))
    row(f"mean MSE of the {N_NEAREST} nearest training blocks", [ratio_cell(group) for group in GROUPS])
    row("**Severity of a pair**: mean absolute error of the first kind's share of the MSE")
    for name in SPLITS:
        row(name, [f"{np.mean(out[name, PAIR]):.3f}" if group == PAIR else "" for group in GROUPS])
    learn, place, verdict = np.median(out["seconds", ""], axis=0)
    print(
        f"\nMedian processor time at {SIDE}x{SIDE}: {learn:.1f} s to learn the manifold of a reference, {place:.3f} s"
    )
    print(f"to place a copy in it; {verdict:.3f} s for the verdict on a copy, which needs no manifold.")


def load_judge(file: Path | None) -> Judge:
    """Load a judge that has not seen the references, or train one."""
    if file and file.exists():
        judge = Judge.load(file)
        if seen := set(judge.training["pictures"]) & set(REFERENCES):
            raise SystemExit(f"{file} was trained on {', '.join(sorted(seen))}; name a file that does not exist yet")
        return judge
    judge, _ = train(tuple(name for name in pictures.NAMES if name not in REFERENCES), scenes=6000, epochs=12)
    if file:
        judge.save(file)
    return judge


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", type=Path, help="judge trained without the references; trained if it is not there")
    judge = load_judge(parser.parse_args().judge)
    warnings.simplefilter("ignore")
    small = pictures.load(REFERENCES[0])[:64, :64].copy()
    ReferenceManifold().fit(small).place(small)  # compiles
    list(Diagnoser(small, judge=judge).diagnose([distortions.apply(small, "jpeg", 100, 0)]))
    out: Results = defaultdict(list)
    for name in tqdm(REFERENCES, file=sys.stderr):
        measure(name, judge, out)
    print(f"Command: `{' '.join(['python', *sys.argv])}`; references: {', '.join(REFERENCES)}\n")
    report(out)


if __name__ == "__main__":
    main()
