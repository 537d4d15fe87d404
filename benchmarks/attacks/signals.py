"""Kills and signals at any time of a run, most of them while it starts and while it writes; closed streams."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from attacks.program import left_behind, prepare, start

NAME = "kills, signals and closed streams"
COUNT = 200
NUMBERS = (signal.SIGKILL, signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

COMMANDS = {
    "report.html": ["diagnose", "ref.png", "copies", "copies", "--quiet", "--html", "out/report.html"],
    "copy.png": ["distort", "ref.png", "--kind", "blur", "--mse", "20", "-o", "out/copy.png"],
}
"""Commands by the file that each writes in the folder ``out``."""

REDIRECTIONS = (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "| head -n 1", "| true", "> /dev/full", "2> /dev/full")


def run(scale: float, rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Send signals to running commands and close their streams; return how many, and what was left in disorder."""
    prepare(folder)
    (folder / "out").mkdir()
    durations = {name: _duration(folder, name) for name in COMMANDS}
    failures: list[str] = []
    count = max(1, round(COUNT * scale))
    for _ in range(count):
        name = str(rng.choice(list(COMMANDS)))
        failures += attack(folder, name, durations[name], rng)
    for name in COMMANDS:  # what kills have left is removed by the next run
        _duration(folder, name)
    if left := left_behind(folder / "out"):
        failures.append(f"left behind after another run: {left}")
    closed = [*closed_streams(folder, complete=scale >= 1)]
    return count + len(closed), failures + [problem for problem in closed if problem]


def _duration(folder: Path, name: str) -> float:
    """Seconds of an undisturbed run."""
    began = time.perf_counter()
    process = start(folder, COMMANDS[name])
    process.communicate()
    if process.returncode or not is_whole(folder / "out" / name):
        raise RuntimeError(f"llise {' '.join(COMMANDS[name])} does not work even undisturbed")
    return time.perf_counter() - began


def attack(folder: Path, name: str, duration: float, rng: np.random.Generator) -> list[str]:
    """Send one signal, and look at the status, the messages and the files."""
    number = NUMBERS[rng.integers(len(NUMBERS))]
    before = rng.random() < 0.5
    path = folder / "out" / name
    path.unlink(missing_ok=True)
    if before:
        path.write_bytes(b"as before")
    # Temporary files that earlier kills have left are no fault of this run.
    known = set(left_behind(folder / "out"))
    moment = rng.choice(["start", "any", "write"])
    while True:
        process = start(folder, COMMANDS[name])
        if moment == "write":
            while process.poll() is None and not set(left_behind(folder / "out")) - known:
                time.sleep(0.001)
        else:
            time.sleep(rng.uniform(0, 0.15 if moment == "start" else duration))
        process.send_signal(number)
        _, errors = process.communicate()
        if not _before_the_program(process.returncode, errors):
            break
    problems = []
    if b"Traceback" in errors or b"Exception ignored" in errors:
        problems.append(f"traceback: {errors.decode()}")
    allowed = (0, -number) if number == signal.SIGKILL else (0, 128 + number, -number)
    if process.returncode not in allowed:
        problems.append(f"status {process.returncode}: {errors.decode()}")
    complete = path.exists() and is_whole(path)
    if not complete and (path.read_bytes() != b"as before" if before else path.exists()):
        problems.append("the file is neither whole nor as before")
    if number != signal.SIGKILL and set(left_behind(folder / "out")) - known:
        problems.append("a temporary file was left behind")
    return [f"{signal.Signals(number).name} to llise {COMMANDS[name][0]}: {problem}" for problem in problems]


def _before_the_program(status: int, errors: bytes) -> bool:
    """Whether an interrupt came while Python was starting, before it had found the program.

    What Python says then is beyond the reach of any program, so another attempt is made.
    """
    return b"KeyboardInterrupt" in errors and b"/llise/" not in errors


def is_whole(path: Path) -> bool:
    """Whether a report or picture is complete."""
    try:
        if path.suffix == ".html":
            return path.read_text(encoding="utf-8").rstrip().endswith("</html>")
        with Image.open(path) as picture:
            picture.load()
            return True
    except (OSError, ValueError):
        return False


def closed_streams(folder: Path, complete: bool) -> Iterator[str]:
    """Run commands with streams that are closed, full or not read; yield a problem or '' for each."""
    for name, arguments in COMMANDS.items() if complete else [*COMMANDS.items()][:1]:
        for redirection in REDIRECTIONS:
            path = folder / "out" / name
            path.unlink(missing_ok=True)
            command = shlex.join([sys.executable, "-m", "llise", *arguments])
            script = f"({command}; echo $? > status) {redirection}"
            variables = {**os.environ, "OMP_NUM_THREADS": "1"}
            done = subprocess.run(
                script, shell=True, cwd=folder, env=variables, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            status = (folder / "status").read_text().strip()
            good = status in ("0", "1") and is_whole(path) and b"Traceback" not in done.stderr
            good = good and (status == "0" or "|" in redirection or redirection == "> /dev/full")
            yield "" if good else f"{arguments[0]} {redirection}: status {status}: {done.stderr.decode()}"
