"""What a manifold of many images costs, beside scikit-learn's LLE looped over the same centred blocks.

    python benchmarks/scale.py                       # 2000 images of 16 blocks, 10 000 of 2
    python benchmarks/scale.py --rows 2000x16 10000x16 20000x4 100000x1
    python benchmarks/scale.py --landmarks 1000000 5000    # 32 x 32 pixels from a file on disk, 16 blocks
    python benchmarks/scale.py --error 2000 500      # landmarks against all images
    python benchmarks/scale.py --plot scale.png      # cost of a block by the number of images, fitted exponents

Prints Markdown tables.  Images are patches of scikit-image's photographs.  Each case runs in a process of its own, so
that its greatest memory is known; kernels are compiled (or loaded) before time is taken, BLAS has ``--threads`` threads
on both sides.  scikit-learn fits ``--reference-blocks`` blocks, and the time of all is taken in proportion.  Processor
time stands beside wall time: on a machine with other work only the ratio of processor times means something.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

TARGETS = {"2000x16": (4, 3), "10000x16": (4, 3), "20000x4": (5, 4)}
"""Times as fast as scikit-learn: affine and sphere weights."""

COMPONENTS, NEIGHBORS, BLOCK = 4, 10, 8
CURVE = (1000, 2000, 4000, 8000)


def patches(n: int, side: int, seed: int = 0) -> np.ndarray:
    """n square patches of photographs, uint8."""
    from skimage import data

    pictures = [getattr(data, name)() for name in ("camera", "moon", "coins", "brick", "grass", "gravel")]
    pictures += [getattr(data, name)().mean(axis=2).astype(np.uint8) for name in ("astronaut", "coffee", "chelsea")]
    rng = np.random.default_rng(seed)
    result = np.empty((n, side, side), np.uint8)
    for patch in result:
        picture = pictures[rng.integers(len(pictures))]
        y, x = (rng.integers(length - side) for length in picture.shape)
        patch[:] = picture[y : y + side, x : x + side]
    return result


def measured(function: Callable) -> dict[str, float]:
    """Wall and processor seconds of a call, and the greatest memory of the process so far, in MB."""
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return seconds | {"mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def side_of(blocks: int) -> int:
    return BLOCK * math.isqrt(blocks)


def ours(n: int, blocks: int, constraint: str, jobs: int) -> dict[str, float]:
    """A fit of LLISE."""
    from llise import LLISE

    images = patches(n, side_of(blocks))
    settings = {"n_neighbors": NEIGHBORS, "constraint": constraint, "n_jobs": jobs, "store_weights": False}
    LLISE(COMPONENTS, **settings).fit(images[:1100, :BLOCK, :BLOCK])
    learner = LLISE(COMPONENTS, **settings)
    result = measured(lambda: learner.fit(images))
    return result | {"stationarity": learner.stationarity_, "violation": learner.constraint_violation_}


def reference(n: int, blocks: int, fitted: int) -> dict[str, float]:
    """scikit-learn's LLE on the first centred blocks, in proportion to all."""
    from sklearn.manifold import LocallyLinearEmbedding

    images = patches(n, side_of(blocks)).astype(float) / 255
    cut = images.reshape(n, side_of(blocks) // BLOCK, BLOCK, -1, BLOCK).transpose(1, 3, 0, 2, 4).reshape(blocks, n, -1)
    cut = cut - cut.mean(axis=-1, keepdims=True)
    learner = LocallyLinearEmbedding(
        n_neighbors=NEIGHBORS, n_components=COMPONENTS, eigen_solver="arpack", random_state=0, max_iter=1000, tol=1e-6
    )
    fitted = min(fitted, blocks)

    def fit() -> None:
        for block in cut[:fitted]:
            learner.fit(block)

    result = measured(fit)
    return result | {"wall": result["wall"] * blocks / fitted, "cpu": result["cpu"] * blocks / fitted}


def placed(n: int, count: int, jobs: int) -> dict[str, float]:
    """A fit of landmarks and the placing of all images, which lie in a file."""
    from llise import LLISE

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "images.npy"
        file = np.lib.format.open_memmap(path, "w+", np.uint8, (n, 32, 32))
        for start in range(0, n, 100_000):
            file[start : start + 100_000] = patches(len(file[start : start + 100_000]), 32, seed=start)
        file.flush()
        images = np.load(path, mmap_mode="r")
        LLISE(COMPONENTS, constraint="affine", n_landmarks=1100).fit_transform(np.asarray(images[:1200, :8, :8]))
        learner = LLISE(COMPONENTS, constraint="affine", n_landmarks=count, n_jobs=jobs, store_weights=False, verbose=1)
        return measured(lambda: learner.fit_transform(images)) | {"stationarity": learner.stationarity_}


def error_of_landmarks(n: int, count: int) -> dict[str, float]:
    """How well neighbourhoods are kept with all images and with landmarks, and how far coordinates differ."""
    from scipy.linalg import orthogonal_procrustes

    from llise import LLISE, continuity, trustworthiness

    images = patches(n, BLOCK)
    centred = images.reshape(n, -1) - images.reshape(n, -1).mean(axis=1, keepdims=True)
    whole = LLISE(COMPONENTS, constraint="affine").fit_transform(images)
    few = LLISE(COMPONENTS, constraint="affine", n_landmarks=count).fit_transform(images)
    turn, _ = orthogonal_procrustes(few, whole)
    row = {"distance": float(np.linalg.norm(few @ turn - whole) / np.linalg.norm(whole))}
    for name, rows in (("all", whole), ("landmarks", few)):
        row[f"trustworthiness, {name}"] = trustworthiness(centred, rows)
        row[f"continuity, {name}"] = continuity(centred, rows)
    return row


CASES = {"ours": ours, "reference": reference, "placed": placed, "error": error_of_landmarks}


def run(name: str, *arguments: object, threads: int = 1, limit: float | None = None) -> dict[str, float] | None:
    """A case in a process of its own; None where it takes longer than the limit."""
    command = [sys.executable, __file__, "--case", json.dumps([name, *arguments])]
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(variables, str(threads))
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, timeout=limit, check=True)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout.splitlines()[-1])


def in_words(result: dict[str, float] | None) -> str:
    return "not within the limit" if result is None else f"{result['wall']:.3g} ({result['cpu']:.3g})"


def compare(rows: list[str], options: argparse.Namespace) -> None:
    """The table beside scikit-learn."""
    print("| images x blocks | weights | LLISE, s (CPU) | scikit-learn | times as fast | wanted | MB | stationarity |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        n, blocks = (int(part) for part in row.split("x"))
        other = run("reference", n, blocks, options.reference_blocks, threads=options.threads, limit=options.limit)
        for index, constraint in enumerate(("affine", "sphere")):
            result = run("ours", n, blocks, constraint, options.jobs, threads=options.threads)
            assert result is not None
            ratio = "" if other is None else " ({:.1f})".format(other["cpu"] / result["cpu"])
            ratio = "" if other is None else f"{other['wall'] / result['wall']:.1f}{ratio}"
            wanted = TARGETS[row][index] if row in TARGETS else ""
            cells = row, constraint, in_words(result), in_words(other), ratio, wanted, f"{result['mb']:.0f}"
            print(f"| {' | '.join(map(str, cells))} | {result['stationarity']:.1e} |", flush=True)


def curve(path: str, options: argparse.Namespace) -> None:
    """Processor time of one block by the number of images, with the exponents of straight lines in logarithms."""
    import matplotlib.pyplot as plt

    lines: dict[str, Callable[[int], dict[str, float] | None]] = {
        "LLISE, affine": lambda n: run("ours", n, 1, "affine", 1),
        "LLISE, sphere": lambda n: run("ours", n, 1, "sphere", 1),
        "scikit-learn's LLE": lambda n: run("reference", n, 1, 1, limit=options.limit),
    }
    _, axes = plt.subplots(layout="constrained")
    for name, case in lines.items():
        seconds = {n: result["cpu"] for n in options.curve if (result := case(n)) is not None}
        exponent = np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0]
        axes.loglog(list(seconds), list(seconds.values()), "o-", label=f"{name}: $n^{{{exponent:.1f}}}$")
        print(f"{name}: exponent {exponent:.2f}; {seconds}", flush=True)
    axes.set(xlabel="images", ylabel="processor time of a block [s]")
    axes.legend()
    plt.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", nargs="*", default=["2000x16", "10000x2"], help="images x blocks of 8 x 8")
    parser.add_argument("--reference-blocks", type=int, default=1, help="blocks that scikit-learn fits")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--threads", type=int, default=1, help="of BLAS, on both sides")
    parser.add_argument("--limit", type=float, default=1800, help="seconds after which scikit-learn is given up")
    parser.add_argument("--landmarks", nargs=2, type=int, metavar=("IMAGES", "LANDMARKS"))
    parser.add_argument("--error", nargs=2, type=int, metavar=("IMAGES", "LANDMARKS"))
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--curve", nargs="*", type=int, default=list(CURVE), help="numbers of images of the plot")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        name, *arguments = json.loads(options.case)
        print(json.dumps(CASES[name](*arguments)))
    elif options.landmarks:
        print(run("placed", *options.landmarks, options.jobs))
    elif options.error:
        print(run("error", *options.error))
    elif options.plot:
        curve(options.plot, options)
    else:
        compare(options.rows, options)


if __name__ == "__main__":
    main()
