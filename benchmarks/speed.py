"""How fast and how large: ratios measured side by side in one run, compile time excluded.

    python benchmarks/speed.py [--quick] [--only fit,admm,transform,blocks,threads,memory,convergence,start]
    python benchmarks/speed.py --only compile    # the first fit with an empty cache of compiled kernels
    python benchmarks/speed.py --only training   # making the 121 images, beside version 0.1 (needs its commit)
    python benchmarks/speed.py --only large      # 3840 x 2160, 121 images: minutes
    python benchmarks/speed.py --only demo       # the first and later runs of llise demo

Prints Markdown tables, the target beside each result.  The problem is the paper's: the built-in image, 121 training
images, blocks of 8 x 8, k = 10.  Times are the least of repeated calls, on all cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.manifold import LocallyLinearEmbedding
from threadpoolctl import threadpool_limits

from llise import LLISE, datasets
from llise.manifold.admm import embedding_start, weight_start
from llise.manifold.blocks import BlockGrid

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import oracle

CASES = {
    "affine, p = 4": ({"constraint": "affine"}, (65, 40)),
    "sphere, p = 4": ({"constraint": "sphere"}, (50, 34)),
    "affine, p = 8": ({"constraint": "affine", "n_components": 8}, None),
    "sphere, p = 8": ({"constraint": "sphere", "n_components": 8}, None),
}
"""Settings of each fit, and how many times as fast as scikit-learn's loop it must be: as that comes, on one thread."""

BASE = "ac0d20c"
"""The commit of version 0.1."""

USUAL = ("fit", "admm", "transform", "blocks", "threads", "memory", "convergence", "start")
MORE = ("compile", "training", "large", "demo")


def seconds(function: Callable, repeats: int) -> float:
    """Least wall clock of some calls, since whatever else runs only adds; the first is not counted (compilation).

    Short calls are repeated for a second: threads that start late weigh more in them.
    """
    function()
    times: list[float] = []
    while len(times) < repeats or sum(times) < 1.0:
        times.append(once(function))
    return min(times)


def once(function: Callable) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def table(title: str, head: list[str], rows: list[list[object]]) -> None:
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |", flush=True)


def met(is_met: bool) -> str:
    return "met" if is_met else "**missed**"


class Benchmark:
    """The problem, and one method a table."""

    def __init__(self, quick: bool) -> None:
        self.quick = quick
        self.repeats = 1 if quick else 3
        images = datasets.training_set(datasets.reference(), n_jobs=-1).images
        side = 256 if quick else 512
        self.images = np.ascontiguousarray(images[:, :side, :side])
        self.new = self.images[20:32] // 2 + self.images[60:72] // 2
        self.grid = BlockGrid.of_images(self.images.shape[1:], 8)
        self.cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def fit(self) -> None:
        """Against scikit-learn's LLE, one block after another, on a sample of them.

        BLAS threads hinder it on matrices this small, so that it is measured as it comes and with one of them.
        """
        b = self.grid.n_blocks
        sample = np.linspace(0, b - 1, 32 if self.quick else 64).astype(int)
        blocks = self.grid.cut(self.images)[sample] / 255.0
        rows = []
        for title, (settings, target) in CASES.items():
            p = settings.get("n_components", 4)
            loop = lambda: self._scikit_learn(blocks, p)  # noqa: B023
            as_it_comes = seconds(loop, 1) * b / len(sample)
            with threadpool_limits(1):
                one_thread = seconds(loop, 1) * b / len(sample)
            ours = seconds(lambda: LLISE.as_in_paper(n_jobs=-1, **settings).fit(self.images), self.repeats)  # noqa: B023
            row = [title, f"{as_it_comes:.1f}", f"{one_thread:.1f}", f"{ours:.2f}"]
            for theirs, wanted in zip((as_it_comes, one_thread), target or (None, None)):
                row += [f"{theirs / ours:.0f}", f"{wanted}: {met(theirs / ours >= wanted)}" if wanted else "-"]
            rows.append(row)
        head = ["fit", "scikit-learn [s]", "with one BLAS thread [s]", "LLISE [s]", "times as fast", "target"]
        head += ["than with one BLAS thread", "target"]
        table(f"Fit of {b} blocks (scikit-learn's LLE looped over {len(sample)} of them, scaled)", head, rows)

    @staticmethod
    def _scikit_learn(blocks: np.ndarray, p: int) -> None:
        for block in blocks:
            centred = block - block.mean(axis=1, keepdims=True)
            LocallyLinearEmbedding(n_neighbors=10, n_components=p, random_state=0).fit(centred)

    def admm(self) -> None:
        """Against the literal transcription of the paper at one block, a few iterations of it."""
        blocks = self.grid.cut(self.images)[self.grid.n_blocks // 2] / 255.0
        n, k, p, c = len(blocks), 10, 4, oracle.ssim_constant(64)
        K = oracle.gram(blocks)
        near = oracle.neighbours(K, k)
        starts = weight_start(0, np.array([0]), n, k)[0], embedding_start(0, np.array([0]), n, p)[0]
        W = oracle.dense(starts[0][0], near)

        def weights(count: int) -> None:
            for j in range(n):
                oracle.admm_weights(*oracle.local(K, near, j), c, 0.1, 0.1, count, starts[0][:, j])

        few = 10, 2
        a_weight = seconds(lambda: weights(few[0]), self.repeats) / few[0]
        an_embedding = seconds(lambda: oracle.admm_embedding(W, c, 0.01, 0.01, few[1], starts[1]), 1) / few[1]
        theirs = 230 * a_weight + 60 * an_embedding
        ours = seconds(lambda: LLISE.as_in_paper(solver="admm", random_state=0, n_jobs=-1).fit(self.images), 1)
        ours /= self.grid.n_blocks
        rows = [[f"{theirs:.2f}", f"{1e3 * ours:.3f}", f"{theirs / ours:.0f}", f"1000: {met(theirs / ours >= 1000)}"]]
        head = ["literal transcription [s a block]", "LLISE [ms a block]", "times as fast", "target"]
        table("The paper's iterations (ADMM 230/60)", head, rows)
        print(
            f"\nOne iteration of the transcription takes {1e3 * a_weight:.1f} ms (weights of {n} images) or "
            f"{1e3 * an_embedding:.0f} ms (embedding); ours includes everything from the pixels on."
        )

    def transform(self) -> None:
        rows = []
        for title, (settings, _) in CASES.items():
            learner = LLISE.as_in_paper(n_jobs=-1, **settings)
            fit = seconds(lambda: learner.fit(self.images), self.repeats)  # noqa: B023
            transform = seconds(lambda: learner.transform(self.new), self.repeats)  # noqa: B023
            share = transform / fit
            rows.append([title, f"{fit:.2f}", f"{transform:.3f}", f"1/{1 / share:.0f}", f"1/10: {met(share <= 0.1)}"])
        head = ["", "fit of 121 [s]", "transform of 12 [s]", "share", "target"]
        table("New images", head, rows)

    def blocks(self) -> None:
        """Whole images, smaller or repeated: the time of a block must not depend on their number."""
        times = {}
        for side in (128, 256, 512) if self.quick else (128, 256, 512, 1024):
            times[(side // 8) ** 2] = self._time_a_block(side)
        counted = [t for b, t in times.items() if b >= 1024]
        spread = max(counted) / min(counted) - 1
        rows = [[b, f"{1e3 * t:.3f}", f"{t / times[1024]:.2f}"] for b, t in times.items()]
        table("Time a block by number of blocks (affine, p = 4)", ["blocks", "ms a block", "against 1024"], rows)
        print(f"\nSpread from 1024 blocks on: {100 * spread:.0f} % (target: 25 %, {met(spread <= 0.25)})")

    def _time_a_block(self, side: int) -> float:
        """Blocks of the same kind at every size: the middle of the image, tiled."""
        middle = self.images[:, -256:-128, -256:-128]
        images = np.tile(middle, (1, side // 128, side // 128))
        fit = seconds(lambda: LLISE.as_in_paper(constraint="affine", n_jobs=-1).fit(images), self.repeats)
        return fit / (side // 8) ** 2

    def threads(self) -> None:
        """One thread, two, four and so on up to all cores."""
        jobs = [2**i for i in range(self.cores.bit_length()) if 2**i <= self.cores]
        wanted = self.cores / 2  # 8 for 16 cores
        rows = []
        for title, (settings, _) in CASES.items():
            times = [
                seconds(lambda: LLISE.as_in_paper(n_jobs=n, **settings).fit(self.images), self.repeats)  # noqa: B023
                for n in jobs
            ]
            ratio = times[0] / times[-1]
            rows.append([title, *(f"{t:.2f}" for t in times), f"{ratio:.2f}", f"{wanted:g}: {met(ratio >= wanted)}"])
        head = ["fit", *(f"{n} thread{'s' * (n > 1)} [s]" for n in jobs), "times as fast", "target"]
        table(f"Threads ({self.cores} cores)", head, rows)

    def compile(self) -> None:
        """The first fit of a process with an empty cache, less a later one: what compiling takes."""
        rows = []
        for constraint, limit in (("sphere", 20), ("affine", None)):
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-c", textwrap.dedent(FIRST_FIT), constraint]
                environment = os.environ | {"NUMBA_CACHE_DIR": folder}
                output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
            processor, wall = (float(word) for word in output.split())
            verdict = f"{limit}: {met(processor <= limit)}" if limit else "-"
            rows.append([constraint, f"{processor:.1f}", f"{wall:.1f}", verdict])
        table("Compiling, once on a machine", ["first fit", "processor time [s]", "wall [s]", "target"], rows)

    def training(self) -> None:
        """The 121 training images of the built-in reference, in turn with version 0.1; the least of three runs."""
        root = Path(__file__).resolve().parents[1]
        with tempfile.TemporaryDirectory() as folder:
            archive = subprocess.run(["git", "archive", BASE, "src"], cwd=root, check=True, capture_output=True).stdout
            subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
            sources = {"old": f"{folder}/src", "new": str(root / "src")}
            times: dict[str, list[float]] = {"old": [], "new": []}
            for _ in range(3):
                for name, source in sources.items():
                    command = [sys.executable, "-c", textwrap.dedent(TRAINING_SET)]
                    environment = os.environ | {"PYTHONPATH": source}
                    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                    times[name].append(float(run.stdout))
        old, new = min(times["old"]), min(times["new"])
        row = [f"{old:.2f}", f"{new:.2f}", f"1/{old / new:.1f}", f"1/4: {met(new <= old / 4)}"]
        table("Processor time of 121 training images", [f"{BASE} [s]", "now [s]", "share", "target"], [row])

    def convergence(self) -> None:
        rows = []
        for title, (settings, _) in CASES.items():
            blocks = LLISE.as_in_paper(n_jobs=-1, **settings).fit(self.images).blocks_
            good = (blocks.stationarity < 1e-6) & (blocks.violation < 1e-8)
            worst = f"{blocks.stationarity.max():.1e}", f"{blocks.violation.max():.1e}"
            rows.append([title, f"{good.sum()} of {good.size}", *worst, f"all: {met(good.all())}"])
        head = ["fit", "blocks converged", "worst stationarity", "worst violation", "target"]
        table("Convergence (relative gradient < 1e-6, violation < 1e-8)", head, rows)

    def memory(self) -> None:
        """Peak of a process of its own, which reads the images from a memory map."""
        sides = [(256, 256), (512, 512)] if self.quick else [(256, 256), (512, 512), (1024, 1024), (2048, 2048)]
        settings = {"solver": "admm", "random_state": 0, "store_weights": False, "n_jobs": -1}
        head = ["image", "input [MB]", "fitted [MB]", "peak [MB]", "beyond both [MB]", "target"]
        self._measured((64, 64), settings, rounds=1)  # compiles
        rows = [self._measured(shape, settings, rounds=1) for shape in sides]
        table("Memory by image size (121 images, interpreter and libraries included)", head, [r[:6] for r in rows])

    def large(self) -> None:
        """The exact solver on a 4K reference."""
        settings = {"constraint": "affine", "store_weights": False, "n_jobs": -1}
        self._measured((64, 64), settings)  # compiles
        row = self._measured((2160, 3840), settings)
        head = ["image", "input [MB]", "fitted [MB]", "peak [MB]", "beyond both [MB]", "target", "fit [s]"]
        table("A 3840 x 2160 reference, 121 images in a memory map (affine, p = 4)", head, [row])

    def _measured(self, shape: tuple[int, int], settings: dict[str, object], rounds: int | None = None) -> list[object]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "images.npy"
            self._write_tiled(path, shape)
            words = [str(path), json.dumps(settings), str(rounds or 0)]
            command = [sys.executable, "-c", textwrap.dedent(MEASURE), *words]
            measured = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        beyond = measured["peak"] - measured["input"] - measured["fitted"]
        sizes = [f"{measured[name] / 1e6:.0f}" for name in ("input", "fitted", "peak")]
        verdict = f"300: {met(beyond < 300e6)}"
        return [f"{shape[1]} x {shape[0]}", *sizes, f"{beyond / 1e6:.0f}", verdict, f"{measured['seconds']:.0f}"]

    def _write_tiled(self, path: Path, shape: tuple[int, int]) -> None:
        """The training images repeated to a shape, one at a time."""
        out = np.lib.format.open_memmap(path, "w+", np.uint8, (len(self.images), *shape))
        repeats = [-(-wanted // have) for wanted, have in zip(shape, self.images.shape[1:])]
        for image, place in zip(self.images, out):
            place[...] = np.tile(image, repeats)[: shape[0], : shape[1]]
        out.flush()

    def start(self) -> None:
        command = [sys.executable, "-m", "llise", "--help"]
        took = seconds(lambda: subprocess.run(command, capture_output=True, check=True), 5)
        table("The command", ["", "[s]", "target"], [["llise --help", f"{took:.2f}", f"0.5: {met(took < 0.5)}"]])

    def demo(self) -> None:
        """On a machine that knows nothing yet: caches of kernels and models in a new folder."""
        with tempfile.TemporaryDirectory() as folder:
            fresh = {"XDG_CACHE_HOME": f"{folder}/cache", "NUMBA_CACHE_DIR": f"{folder}/numba"}
            command = [sys.executable, "-m", "llise", "demo", "--quiet", "--out", f"{folder}/out"]
            run = lambda: once(lambda: subprocess.run(command, env={**os.environ, **fresh}, check=True, stdout=-3))
            times = {"first, compilation included": (run(), 90), "later": (run(), 45)}
        rows = [[name, f"{took:.0f}", f"{limit}: {met(took <= limit)}"] for name, (took, limit) in times.items()]
        table("llise demo", ["run", "[s]", "target"], rows)


FIRST_FIT = """
    import sys, time
    import numpy as np
    from llise import LLISE

    images = np.random.default_rng(0).integers(0, 256, (121, 32, 64), dtype=np.uint8)
    times = []
    for _ in range(2):
        start = time.process_time(), time.perf_counter()
        LLISE.as_in_paper(constraint=sys.argv[1]).fit(images)
        times.append((time.process_time() - start[0], time.perf_counter() - start[1]))
    print(*(first - later for first, later in zip(*times)))
"""

TRAINING_SET = """
    import time
    from llise import datasets

    image = datasets.reference()
    datasets.training_set(image[:64, :64], levels=[50])  # imports
    start = time.process_time()
    datasets.training_set(image)
    print(time.process_time() - start)
"""

MEASURE = """
    import json, sys, time
    import numpy as np
    from llise import ADMM, LLISE

    path, settings, rounds = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
    if rounds:  # what is held at once does not depend on how often it is improved
        settings["solver"] = ADMM(max_iter=(rounds,) * 3)
    images = np.load(path, mmap_mode="r")
    learner = LLISE.as_in_paper(**settings)
    start = time.perf_counter()
    learner.fit(images)
    took = time.perf_counter() - start
    fitted = sum(v.nbytes for v in vars(learner.blocks_).values() if v is not None)
    # not ru_maxrss, which counts the process that started this one
    peak = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(json.dumps({"peak": peak, "input": images.nbytes, "fitted": fitted, "seconds": took}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of the image, fewer repeats")
    parser.add_argument("--only", help=f"tables by comma, of {', '.join(USUAL + MORE)}; the last {len(MORE)} only so")
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else list(USUAL)
    if unknown := set(chosen) - set(USUAL + MORE):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose of {', '.join(USUAL + MORE)}")
    benchmark = Benchmark(options.quick)
    n, height, width = benchmark.images.shape
    print(f"{n} images of {width} x {height}, {benchmark.grid.n_blocks} blocks; {benchmark.cores} cores")
    for name in chosen:
        getattr(benchmark, name)()


if __name__ == "__main__":
    main()
