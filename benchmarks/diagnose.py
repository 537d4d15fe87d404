"""What ``llise diagnose`` costs, side by side with an earlier commit: processor time and memory.

    python benchmarks/diagnose.py                    # all rows; the earlier commit takes about 15 minutes
    python benchmarks/diagnose.py --skip-large-base  # without the earlier commit's 3840x2160 pair

Each figure is that of a process of its own, started from the same files, in one run on one machine; Python's bytecode
and Numba's compiled functions are cached before. Prints Markdown.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from skimage import data

from llise import distortions

BASE = "ac0d20c"
"""Commit to compare with."""

ROOT = Path(__file__).resolve().parents[1]
LARGE = 3840, 2160
SOME_COPIES = (("jpeg", 100), ("blur", 200), ("gaussian_noise", 150), ("impulse_noise", 120), ("contrast", 80))
GOALS = {
    "first answer on a new reference": "25 times less",
    "a later answer": "6 (aim: 12) times less",
    "twelve copies, reference known": "5 times less",
    "3840x2160 pair": "30 times less, 1 GB",
}


@dataclass(frozen=True)
class Cost:
    """What a process used.

    Attributes
    ----------
    processor : float
        Seconds of processor time, of child processes as well.
    wall : float
        Seconds that it took.
    memory : float
        Greatest resident memory of one process in gigabytes.
    """

    processor: float
    wall: float
    memory: float


@dataclass(frozen=True)
class Version:
    """A version of llise in a process environment of its own: source folder, and caches that are empty at first."""

    source: Path
    folder: Path

    def diagnose(self, *arguments: str | Path) -> Cost:
        """Run ``llise diagnose`` once and return its cost."""
        environment = os.environ | {
            "PYTHONPATH": str(self.source),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "NUMBA_CACHE_DIR": str(self.folder / "numba"),
            "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode"),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        command = [sys.executable, "-m", "llise", "diagnose", "--quiet", *map(str, arguments)]
        start = time.perf_counter()
        process = subprocess.Popen(command, env=environment, cwd=self.folder, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)} failed with status {process.returncode}")
        return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - start, used.ru_maxrss / 1e6)

    def forget(self) -> None:
        """Empty the cache of references; the Numba cache stays."""
        shutil.rmtree(self.folder / "cache", ignore_errors=True)


def write_files(folder: Path) -> dict[str, list[Path]]:
    """Write references and copies; each list has the reference first."""
    camera = data.camera()
    astronaut = np.asarray(Image.fromarray(data.astronaut()).convert("L"))
    rows = -(-LARGE[1] // 512)
    large = np.tile(np.hstack([astronaut, camera, astronaut[:, ::-1], camera[::-1]]), (rows, 2))[: LARGE[1], : LARGE[0]]
    files: dict[str, list[Path]] = {"copies": [_save(folder / "camera.png", camera)]}
    for i in range(12):
        kind, error = SOME_COPIES[i % len(SOME_COPIES)]
        copy = distortions.apply(camera, kind, error * (1 + i // len(SOME_COPIES)), i, warn=False)
        files["copies"].append(_save(folder / f"camera-{i}.png", copy))
    other = distortions.apply(astronaut, "blur", 100, 0)
    files["warm"] = [_save(folder / "astronaut.png", astronaut), _save(folder / "astronaut-blur.png", other)]
    noisy = distortions.apply(np.ascontiguousarray(large), "gaussian_noise", 100, 0)
    files["large"] = [_save(folder / "large.png", large), _save(folder / "large-noise.png", noisy)]
    return files


def _save(path: Path, image: np.ndarray) -> Path:
    Image.fromarray(image).save(path)
    return path


def measure(version: Version, files: dict[str, list[Path]], repeats: int, large: bool) -> dict[str, Cost]:
    """Return the cost of each row of the table."""
    costs: dict[str, Cost] = {}
    version.diagnose(*files["warm"])  # compiles
    version.diagnose(*files["warm"])
    version.forget()
    reference, *copies = files["copies"]
    first, later, twelve, large_pair = GOALS
    costs[first] = version.diagnose(reference, copies[0])
    costs[later] = _median([version.diagnose(reference, copies[0]) for _ in range(repeats)])
    costs[twelve] = _median([version.diagnose(reference, *copies) for _ in range(repeats)])
    if large:
        costs[large_pair] = version.diagnose(*files["large"])
    return costs


def _median(costs: list[Cost]) -> Cost:
    return sorted(costs, key=lambda cost: cost.processor)[len(costs) // 2]


@contextmanager
def checkout(base: Path | None, folder: Path) -> Iterator[Path]:
    """Give the folder of the earlier commit: the one that was given, or a worktree that is removed afterwards."""
    if base:
        yield base
        return
    tree = folder / "base-tree"
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--detach", str(tree), BASE], check=True, stdout=sys.stderr)
    try:
        yield tree
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, help=f"checkout of the earlier commit; a worktree of {BASE} if left out")
    parser.add_argument("--skip-base", action="store_true", help="measure this version only")
    parser.add_argument("--skip-large-base", action="store_true", help="no 3840x2160 pair with the earlier commit")
    parser.add_argument("--repeats", type=int, default=3, help="runs of the quick rows; the median counts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files = write_files(folder)
        now = measure(_version(ROOT, folder / "now"), files, options.repeats, large=True)
        before: dict[str, Cost] = {}
        if not options.skip_base:
            with checkout(options.base, folder) as tree:
                old = _version(tree, folder / "before")
                before = measure(old, files, options.repeats, large=not options.skip_large_base)
    print(f"Command: `{' '.join(['python', *sys.argv])}`; {os.cpu_count()} processors\n")
    print(f"| 512x512 unless said otherwise | {BASE}: processor, wall, memory | now | processor time | must |")
    print("|---|---|---|---|---|")
    for row, goal in GOALS.items():
        ratio = f"{before[row].processor / now[row].processor:.1f} times less" if row in before else "not measured"
        print(f"| {row} | {_text(before.get(row))} | {_text(now[row])} | {ratio} | {goal} |")


def _version(tree: Path, folder: Path) -> Version:
    folder.mkdir()
    return Version(tree / "src", folder)


def _text(cost: Cost | None) -> str:
    return f"{cost.processor:.2f} s, {cost.wall:.2f} s, {cost.memory:.2f} GB" if cost else ""


if __name__ == "__main__":
    main()
