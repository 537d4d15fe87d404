"""How exactly misalignment is measured, what it costs, and whether aligned copies are left alone.

    python benchmarks/alignment.py                      # pictures of scikit-image and scikit-learn
    python benchmarks/alignment.py --pictures FOLDER    # photographs of your own

Copies are shifted, turned, scaled, or all of it, by SciPy and llise with several interpolations and borders, and have
another fault besides.  Prints Markdown.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage
from tqdm import tqdm

from llise.diagnosis.alignment.placing import measure_alignment
from llise.diagnosis.diagnoser import Diagnoser
from llise.diagnosis.training import pictures
from llise.diagnosis.training.scenes import draw_scene
from llise.images import image_files, read_image
from llise.kinds.warping import METHODS, Transform, warp

RIM = 32
"""Pixels around the reference from which new content comes in."""

MOST = 512
"""Side to which references are cut."""

FORMS = ("shift", "whole pixels", "rotation", "scale", "all together")
FILLS = ("black", "repeated", "mirrored", "wrapped", "new content")
MODES = {"black": "constant", "repeated": "nearest", "mirrored": "mirror", "wrapped": "grid-wrap"}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, nargs="+", help="folders of photographs")
    parser.add_argument("--copies", type=int, default=180, help="misaligned copies")
    parser.add_argument("--aligned", type=int, default=200, help="aligned copies with faults of the known kinds")
    parser.add_argument("--seed", type=int, default=0, help="seed for all random numbers")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    sources = list(load_sources(options.pictures))
    print(f"Command: `{' '.join(['python', *sys.argv])}`; {len(sources)} pictures\n")
    _misaligned(sources, options.copies, rng)
    _aligned(sources, options.aligned, rng)


def load_sources(folders: list[Path] | None) -> Iterator[np.ndarray]:
    """Load photographs, or the pictures of scikit-image and scikit-learn, cut to a size that is soon measured."""
    loaded = map(read_image, image_files(folders)) if folders else map(pictures.load, pictures.NAMES)
    for picture in loaded:
        if min(picture.shape) >= 128 + 2 * RIM:
            yield picture[: MOST + 2 * RIM, : MOST + 2 * RIM]


def draw_transform(form: str, rng: np.random.Generator) -> Transform:
    x, y = rng.uniform(-16, 16, 2) if rng.random() < 0.6 else rng.uniform(-2, 2, 2)
    rotation, scale = rng.uniform(-3, 3, 2)
    if form == "whole pixels":
        x, y = (float(shift) for shift in rng.integers(-16, 17, 2))
        return Transform(x or 1.0, y)
    shifted, turned, scaled = {"shift": (1, 0, 0), "rotation": (0, 1, 0), "scale": (0, 0, 1)}.get(form, (1, 1, 1))
    return Transform(shifted * x, shifted * y, turned * rotation, scaled * scale)


def moved_middle(big: np.ndarray, at: Transform, method: str, fill: str) -> np.ndarray:
    """The middle of a picture after it was moved; by SciPy where the border is not new content."""
    reference = big[RIM:-RIM, RIM:-RIM]
    if fill == "new content":
        return warp(big, at, method)[RIM:-RIM, RIM:-RIM]
    order = {"nearest": 0, "bilinear": 1}.get(method, 3)
    a, b = at.linear
    matrix = np.array([[a, b], [-b, a]])
    middle = (np.array(reference.shape) - 1) / 2
    offset = middle - matrix @ (middle + np.array([at.shift_y, at.shift_x]))
    return ndimage.affine_transform(reference.astype(float), matrix, offset, order=order, mode=MODES[fill])


def rounded(picture: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8)


def _coded(picture: np.ndarray, form: str, **settings: object) -> np.ndarray:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, form, **settings)
    return np.asarray(Image.open(buffer))


def _patched(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    copy = picture.copy()
    for _ in range(6):
        height, width = (int(side * rng.uniform(0.08, 0.2)) for side in picture.shape)
        top, left = int(rng.integers(picture.shape[0] - height)), int(rng.integers(picture.shape[1] - width))
        copy[top : top + height, left : left + width] = rng.integers(256)
    return copy


def _impulses(picture: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    hit = rng.random(picture.shape) < rng.uniform(0.01, 0.12)
    return np.where(hit, rng.choice([0, 255], picture.shape), picture).astype(np.uint8)


OTHERS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "nothing else": lambda p, rng: p,
    "blur, sigma 0.5 to 2.5": lambda p, rng: rounded(ndimage.gaussian_filter(p.astype(float), rng.uniform(0.5, 2.5))),
    "noise, sigma 3 to 25": lambda p, rng: rounded(p + rng.normal(0, rng.uniform(3, 25), p.shape)),
    "JPEG, quality 10": lambda p, rng: _coded(p, "JPEG", quality=10),
    "JPEG 2000, 20 to 60 times smaller": lambda p, rng: _coded(
        p, "JPEG2000", quality_mode="rates", quality_layers=[float(rng.uniform(20, 60))]
    ),
    "contrast": lambda p, rng: rounded(128 + rng.choice([0.5, 0.7, 1.3, 1.6]) * (p.astype(float) - 128)),
    "impulses, 1 to 12 %": _impulses,
    "patches": _patched,
}


def _misaligned(sources: list[np.ndarray], count: int, rng: np.random.Generator) -> None:
    errors, held, times, missed = defaultdict(list), [], [], []
    found: dict[str, list[bool]] = defaultdict(list)
    for number in tqdm(range(count), "misaligned", disable=None):
        big = sources[rng.integers(len(sources))]
        form, other = FORMS[number % len(FORMS)], list(OTHERS)[number % len(OTHERS)]
        method, fill = list(METHODS)[rng.integers(len(METHODS))], FILLS[rng.integers(len(FILLS))]
        truth = draw_transform(form, rng)
        if method == "nearest" and truth.is_shift:
            truth = Transform(round(truth.shift_x) or 1.0, round(truth.shift_y))
        reference = np.ascontiguousarray(big[RIM:-RIM, RIM:-RIM])
        copy = OTHERS[other](rounded(moved_middle(big, truth, method, fill)), rng)
        start = time.process_time()
        alignment = measure_alignment(reference, copy)
        times.append(time.process_time() - start)
        for name in ("all", form, other):
            found[name].append(alignment is not None)
            if alignment:
                error = np.abs(np.subtract(alignment.transform.values, truth.values))
                # What was not moved, or by whole pixels, is found exactly too easily.
                counts = np.array(truth.values) != 0
                if truth.is_whole and name != "whole pixels":
                    counts[:] = False
                errors[name].append(np.where(counts, error, np.nan))
        if alignment is None:
            missed.append(f"{form}, {other}, {method}, {fill}, {np.round(truth.values, 2).tolist()}")
        else:
            bounds = alignment.intervals.values()
            held.append([i.low <= value <= i.high for i, value in zip(bounds, truth.values)])
    print("| copies | found | shift, px: median / .9 | rotation, degrees | scale, % |\n|---|---|---|---|---|")
    for name, answers in found.items():
        rows = np.array(errors[name])
        cells = (_cell(rows[:, part]) for part in (slice(0, 2), 2, 3))
        print(f"| {name} | {sum(answers)} of {len(answers)} | {' | '.join(cells)} |")
    shares = ", ".join(f"{share:.2f}" for share in np.mean(held, axis=0))
    print(f"\nIntervals that hold the truth (shift_x, shift_y, rotation, scale): {shares}.")
    print(f"Processor time of a measurement, median: {np.median(times):.3f} s.\n")
    print("Not found:\n\n" + "\n".join(f"- {copy}" for copy in missed) + "\n")


def _cell(errors: np.ndarray) -> str:
    known = errors[~np.isnan(errors)]
    return f"{np.median(known):.4f} / {np.quantile(known, 0.9):.4f}" if known.size else "-"


def _aligned(sources: list[np.ndarray], count: int, rng: np.random.Generator) -> None:
    wrong, total, shares = 0, 0, []
    for number in tqdm(range(count), "aligned", disable=None):
        big = sources[rng.integers(len(sources))]
        rows, cols = (min(MOST, side) // 8 * 8 for side in big.shape)
        scene = draw_scene(np.ascontiguousarray(big[:rows, :cols]), rng)
        if scene is None:
            continue
        total += 1
        start = time.process_time()
        wrong += measure_alignment(scene.reference, scene.copy) is not None
        cost = time.process_time() - start
        if number % 10 == 0:
            diagnoser = Diagnoser(scene.reference, align=False)
            start = time.process_time()
            list(diagnoser.diagnose([scene.copy]))
            shares.append(cost / (time.process_time() - start))
    print(f"Aligned copies with faults of the known kinds, called misaligned: {wrong} of {total}.")
    print(f"Cost of finding that out, against the first diagnosis without it: {np.median(shares):.2f} (median).")


if __name__ == "__main__":
    main()
