"""What llise check costs: processor time of one pair with start-up, and time for each of many small pairs.

python benchmarks/check.py [--pairs 1000] [--jobs 2]
"""

from __future__ import annotations

import argparse
import io
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from PIL import Image

import llise
from llise.labels import KINDS

SIDE = 64


def save(path: Path, image: np.ndarray) -> None:
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(image).save(path)


def write_pairs(folder: Path, count: int, reference: np.ndarray) -> None:
    """Crops of the reference, each with one of the six kinds: none is identical, all are diagnosed."""
    rng = np.random.default_rng(0)
    written = 0
    while written < count:
        top, left = rng.integers(0, np.array(reference.shape) - SIDE)
        crop = reference[top : top + SIDE, left : left + SIDE]
        if crop.std() < 10:
            continue
        save(folder / "old" / f"{written}.png", crop)
        save(folder / "new" / f"{written}.png", faulty(crop, KINDS[written % len(KINDS)], rng))
        written += 1


def faulty(crop: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """A copy as programs make it: JPEG at a whole quality, the other kinds at a random error."""
    if kind != "jpeg":
        return llise.distortions.make(crop, kind, mse=rng.uniform(10, 100), random_state=rng).image
    coded = io.BytesIO()
    Image.fromarray(crop).save(coded, "JPEG", quality=int(rng.integers(20, 90)))
    return np.asarray(Image.open(coded))


def run(folder: Path, *arguments: str) -> tuple[float, float]:
    """Seconds on the clock and of the processor that a command took."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "llise", "check", *arguments, "--no-config"]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.stderr:
        raise SystemExit(done.stderr)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1000, help="number of small pairs")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--repeats", type=int, default=7, help="runs of which the median is shown")
    options = parser.parse_args()
    reference = llise.datasets.reference()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save(folder / "one" / "reference.png", reference)
        save(folder / "one" / "same.png", reference)
        save(folder / "one" / "noisy.png", llise.distortions.apply(reference, "gaussian_noise", mse=60, random_state=0))
        single = {
            "identical": ("one/reference.png", "one/same.png"),
            "different, --measures-only": ("one/reference.png", "one/noisy.png", "--measures-only"),
            "different, fault named": ("one/reference.png", "one/noisy.png"),
        }
        print("| one pair of 512 x 512, with start-up | processor time | on the clock |\n|---|---|---|")
        for title, arguments in single.items():
            runs = [run(folder, *arguments) for _ in range(options.repeats)]
            clock, processor = (median(values) for values in zip(*runs))
            print(f"| {title} | {processor:.2f} s | {clock:.2f} s |")
        write_pairs(folder, options.pairs, reference)
        print(
            f"\n| {options.pairs} pairs of {SIDE} x {SIDE}, {options.jobs} processes | each, processor | on the clock |"
        )
        print("|---|---|---|")
        for title, arguments in {
            "identical": ("--pairs", "old", "old"),
            "different, --measures-only": ("--pairs", "old", "new", "--measures-only"),
            "different, faults named": ("--pairs", "old", "new"),
        }.items():
            each = [1000 * seconds / options.pairs for seconds in run(folder, *arguments, "--jobs", str(options.jobs))]
            print(f"| {title} | {each[1]:.1f} ms | {each[0]:.1f} ms |")


if __name__ == "__main__":
    main()
