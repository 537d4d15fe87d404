"""Large pictures and many copies: memory stays bounded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from attacks.picture_bytes import scene

NAME = "size"
MEGAPIXELS = 24
LARGEST = 1.5e9
"""Bytes that a pair of 24 megapixels may take, interpreter and libraries included."""

COPIES = 2000
GROWTH = 30e6
"""Bytes by which the peak may grow from a tenth of the copies to all of them: names and rows are kept."""

COMMAND = """
import contextlib, sys
from llise.cli.main import main
with contextlib.suppress(SystemExit):
    main(sys.argv[1:])
status = open("/proc/self/status").read()
sys.stderr.write(status.partition("VmHWM:")[2].split()[0])
"""
"""The command line, which writes its peak memory in kB to standard error."""


def peak(arguments: list[str], folder: Path) -> tuple[float, str]:
    """Peak memory in bytes of a command, and its standard output."""
    command = [sys.executable, "-c", COMMAND, *arguments, "--quiet"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return 1024 * float(done.stderr.split()[-1]), done.stdout


def large_pair(folder: Path, megapixels: float) -> None:
    """A picture and a copy with noise in one part, as PNG and JPEG."""
    width = round((megapixels * 1e6 * 1.5) ** 0.5)
    picture = scene(round(width / 1.5), width)
    Image.fromarray(picture).save(folder / "large.png", compress_level=1)
    noise = np.random.default_rng(0).normal(0, 12, (len(picture) // 3, width // 3))
    part = picture[: len(picture) // 3, : width // 3]
    part[:] = np.clip(part + noise, 0, 255)
    Image.fromarray(picture).save(folder / "large.jpg", quality=90)


def run(scale: float, rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """A pair of 24 megapixels and 2000 copies at full scale; smaller and fewer at a smaller one."""
    failures = []
    large_pair(folder, max(0.25, MEGAPIXELS * scale))
    used, out = peak(["diagnose", "large.png", "large.jpg", "--csv"], folder)
    if used > LARGEST or out.count("\n") != 2:
        failures.append(f"a pair of {MEGAPIXELS * scale:g} megapixels took {used / 1e6:.0f} MB: {out[-200:]}")
    print(f"a pair of {MEGAPIXELS * scale:g} megapixels: {used / 1e6:.0f} MB", file=sys.stderr)
    copies = folder / "copies"
    copies.mkdir()
    picture = scene(64, 64)
    Image.fromarray(picture).save(folder / "small.png")
    count = max(20, round(COPIES * scale))
    peaks = []
    for start, end in ((0, count // 10), (count // 10, count)):
        for number in range(start, end):
            noisy = picture + rng.normal(0, 1 + number % 20, picture.shape)
            Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(copies / f"{number:05}.png")
        used, out = peak(["diagnose", "small.png", "copies", "--csv", "--html", "r.html"], folder)
        peaks.append(used)
        if out.count("\n") != end + 1:
            failures.append(f"{out.count(chr(10)) - 1} rows for {end} copies")
    print(f"{count // 10} and {count} copies: {peaks[0] / 1e6:.0f} and {peaks[1] / 1e6:.0f} MB", file=sys.stderr)
    if peaks[1] - peaks[0] > GROWTH:
        failures.append(f"{count} copies took {(peaks[1] - peaks[0]) / 1e6:.0f} MB more than {count // 10}")
    return 3, failures
