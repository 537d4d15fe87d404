"""What other tools say of the cases that users ask about, and how long they take, in one run with llise.

    python benchmarks/peers.py FOLDER [--photograph FILE]

Writes the cases (``asked.py``), ``results.json`` and ``peers.html``, one page with the pictures, to FOLDER and prints
Markdown. Tools that are not installed are left out, which is said: ``pip install blazediff-interpret ssimulacra2``,
``npm install odiff-bin pixelmatch`` (found on the path or in ./node_modules), butteraugli_main of libjxl
(Debian: libjxl-devtools), dssim (Rust: ``cargo install dssim``).

All get the same PNG files. A time is the least of up to three runs, from files to answer with one run at a time, less
the time of a pair of 64 x 64 pixels, which is mostly start-up; a tool may use several threads.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from tqdm import tqdm

import asked
from figure_tables import Table, put
from judge import commit_of
from peers_page import write_page

RUNS, SECONDS = 3, 2.0
"""Most runs of a tool on a case; no further one after so much time."""


class Missing(Exception):
    """A tool is not installed; the text says how to install it."""


class Peer(NamedTuple):
    """A tool: its version, whether it is a process of its own, and what it says of two files."""

    name: str
    version: str
    process: bool
    say: Callable[[Path, Path], str]


class Told(NamedTuple):
    """What a tool said, with seconds on the clock and of the processor."""

    text: str
    clock: float
    processor: float


def _package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        raise Missing(f"{name} is not installed: pip install {name}") from None


def _program(name: str, install: str) -> str:
    path = os.pathsep.join([os.environ.get("PATH", ""), str(Path("node_modules/.bin").resolve())])
    found = shutil.which(name, path=path)
    if found is None:
        raise Missing(f"{name} is not installed: {install}")
    return found


def _output(*command: str, fine: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in fine:
        raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1])
    return done.stdout.strip() or done.stderr.strip()


def llise() -> Peer:
    """This package."""
    import llise as package

    def say(reference: Path, copy: Path) -> str:
        pixels, image = (package.read_image(path, color=True) for path in (reference, copy))
        diagnosis = next(iter(package.Diagnoser(pixels).diagnose([image])))
        return "; ".join(map(_fault, diagnosis.faults)) or "original"

    return Peer("llise", commit_of(Path(__file__).parents[1]) or package.__version__, False, say)


def _fault(fault: Any) -> str:
    """A fault in a line."""
    told = [(name, value[0]) for kind in fault.kinds for name, value in fault.estimate.get(kind, {}).items()]
    settings = "".join(f", {name} {value:.3g}" for name, value in told[:4]) + ", ..." * (len(told) > 4)
    place = "" if fault.area == 1 else f" in {max(100 * fault.area, 0.1):.2g} % of the picture"
    return f"{' + '.join(fault.kinds)}{place} (confidence {fault.confidence:.2f}{settings})"


def blazediff() -> Peer:
    """Kinds of change and boxes."""
    installed = _package("blazediff-interpret")
    from blazediff_interpret import interpret_images

    def say(reference: Path, copy: Path) -> str:
        found = interpret_images(str(reference), str(copy))
        return " ".join(found["summary"].split("\n")) or "no change"

    return Peer("BlazeDiff", installed, False, say)


def odiff() -> Peer:
    """Number of pixels that differ."""
    program = _program("odiff", "npm install odiff-bin")

    def say(reference: Path, copy: Path) -> str:
        answer = _output(program, str(reference), str(copy), "--parsable-stdout", fine=(0, 21, 22))
        count, _, percent = answer.partition(";")
        return f"{percent} % of the pixels differ" if percent else "no pixel differs" if not int(count or 0) else count

    return Peer("odiff", _output(program, "--version").split()[1], True, say)


def pixelmatch() -> Peer:
    """Number of pixels that differ."""
    program = _program("pixelmatch", "npm install pixelmatch")
    about = json.loads((Path(program).resolve().parents[1] / "package.json").read_text())

    def say(reference: Path, copy: Path) -> str:
        lines = _output(program, str(reference), str(copy), fine=(0, 65, 66)).splitlines()
        if lines[-1].startswith("error: "):
            return f"{lines[-1].removeprefix('error: ').removesuffix('%')} % of the pixels differ"
        return lines[-1]

    return Peer("pixelmatch", about["version"], True, say)


def butteraugli() -> Peer:
    """Distance; 1 is just visible."""
    program = _program("butteraugli_main", "apt install libjxl-devtools")

    def say(reference: Path, copy: Path) -> str:
        return f"distance {float(_output(program, str(reference), str(copy)).split()[0]):.2f}; 1 is just visible"

    return Peer("Butteraugli", "of libjxl", True, say)


def ssimulacra2() -> Peer:
    """Score; 100 is equal."""
    installed = _package("ssimulacra2")
    from ssimulacra2 import compute_ssimulacra2

    def say(reference: Path, copy: Path) -> str:
        return f"score {compute_ssimulacra2(str(reference), str(copy)):.1f} of 100"

    return Peer("SSIMULACRA 2 (Python)", installed, False, say)


def dssim() -> Peer:
    """Structural dissimilarity; 0 is equal."""
    program = _program("dssim", "cargo install dssim (the package dssim of PyPI is another program)")
    return Peer("dssim", _output(program, "--version"), True, lambda a, b: _output(program, str(a), str(b)).split()[0])


def ssim() -> Peer:
    """The usual SSIM."""
    from skimage.metrics import structural_similarity

    def say(reference: Path, copy: Path) -> str:
        pixels, image = (np.asarray(Image.open(path)) for path in (reference, copy))
        return f"SSIM {structural_similarity(pixels, image, channel_axis=-1, data_range=255):.4f}"

    return Peer("SSIM of scikit-image", _package("scikit-image"), False, say)


PEERS = (llise, blazediff, odiff, pixelmatch, butteraugli, ssimulacra2, dssim, ssim)


def installed() -> tuple[list[Peer], list[str]]:
    """Tools that are there, and why others are not."""
    found, missing = [], []
    for peer in PEERS:
        try:
            found.append(peer())
        except (Missing, ImportError, OSError, RuntimeError) as error:
            missing.append(f"{peer.__name__}: {error}")
    return found, missing


def ask(peer: Peer, reference: Path, copy: Path) -> Told:
    """Let a tool compare two files; the least time of a few runs."""
    taken: list[tuple[float, float]] = []
    while len(taken) < RUNS and sum(clock for clock, _ in taken) < SECONDS:
        start, before = time.perf_counter(), os.times()
        try:
            text = peer.say(reference, copy)
        except Exception as error:
            text = f"error: {str(error).strip() or type(error).__name__}"
        clock, after = time.perf_counter() - start, os.times()
        taken.append((clock, sum(after[:4]) - sum(before[:4])))
    return Told(text, *map(min, zip(*taken)))


def measure(folder: Path, rows: list[dict[str, Any]], peers: list[Peer]) -> dict[str, Any]:
    """Ask all tools about all cases."""
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    tiny = folder / "tiny-a.png", folder / "tiny-b.png"
    for path, pixels in zip(tiny, (noise, noise ^ 8)):
        Image.fromarray(pixels).save(path)
    results = []
    for peer in peers:
        ask(peer, *tiny)
        start = ask(peer, *tiny)
        said, clock, processor = {}, [], []
        for row in tqdm(rows, peer.name, file=sys.stderr):
            reference, copy = folder / row["reference"], folder / row["copy"]
            told = ask(peer, reference, copy)
            said[row["id"]] = {"says": told.text, "ms": round(1e3 * told.clock, 1)}
            if not told.text.startswith("error"):
                megapixels = np.prod(Image.open(reference).size) / 1e6
                clock.append(1e3 * (told.clock - start.clock) / megapixels)
                processor.append(1e3 * (told.processor - start.processor) / megapixels)
        begun = round(1e3 * start.clock, 1) if peer.process else None
        taken = {"start": begun, "clock": _middle(clock), "processor": _middle(processor)}
        results.append({"name": peer.name, "version": peer.version, **taken, "cases": said})
    return {"machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}", "tools": results}


def _middle(values: list[float]) -> float | None:
    return round(statistics.median(values), 1) if values else None


def times(results: dict[str, Any]) -> Table:
    """Time a megapixel of each tool."""
    columns = ["tool", "start-up, ms", "clock, ms a megapixel", "processor, ms a megapixel"]
    table = Table("Time", columns, note=f"{results['machine']}.")
    for tool in results["tools"]:
        table.rows.append(
            [f"{tool['name']} {tool['version']}", *(tool[key] for key in ("start", "clock", "processor"))]
        )
    return table


def answers(results: dict[str, Any], rows: list[dict[str, Any]]) -> Table:
    """What each tool said of each case."""
    tools = results["tools"]
    table = Table("Answers", ["case", *(tool["name"] for tool in tools)])
    table.rows = [[row["id"], *(tool["cases"][row["id"]]["says"] for tool in tools)] for row in rows]
    return table


def main() -> None:
    """Make the cases, ask the tools, write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder for the cases, results.json and peers.html")
    parser.add_argument("--photograph", type=Path, help="photograph to use instead of scikit-learn's china.jpg")
    parser.add_argument("--docs", type=Path, help="document to write the times into, such as docs/recognition.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    peers, missing = installed()
    for reason in missing:
        print(f"Left out: {reason}")
    rows = asked.make(options.folder, options.photograph)
    results = {**measure(options.folder, rows, peers), "left_out": missing}
    (options.folder / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    write_page(options.folder, rows, results)
    print(times(results).markdown(), answers(results, rows).markdown(), sep="\n\n")
    if options.docs:
        put(times(results).markdown(), options.docs, "peers")


if __name__ == "__main__":
    main()
