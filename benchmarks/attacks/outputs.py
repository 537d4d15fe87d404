"""Outputs that name inputs, by any path and in any order of the arguments; folders that cannot be written."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import llise
from attacks.program import call, prepare, start

NAME = "outputs and read-only folders"

PACKAGE = Path(llise.__file__).parent


def run(scale: float, rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Try every command with every name of its inputs; return how many, and what was destroyed or not refused."""
    prepare(folder)
    (folder / "figures").mkdir()
    for name in ("confusion.png", "manifold.png"):
        shutil.copyfile(folder / "ref.png", folder / "figures" / name)
    (folder / "elsewhere").mkdir()
    (folder / "shortcut").symlink_to(folder / "copies")
    before = contents(folder)
    cases = list(command_lines(folder))
    rng.shuffle(cases)
    cases = cases[: max(10, round(len(cases) * scale))]
    failures = []
    for arguments in cases:
        status, _, errors = call(folder, arguments)
        if status != 2 or "overwrite an input" not in errors:
            failures.append(f"{' '.join(arguments)}: status {status}: {errors.strip()}")
        if {path: data for path, data in contents(folder).items() if path in before} != before:
            return len(cases), [*failures, f"{' '.join(arguments)}: an input was changed"]
    read_only = list(read_only_runs(folder, complete=scale >= 1))
    return len(cases) + len(read_only), failures + [problem for problem in read_only if problem]


def contents(folder: Path) -> dict[Path, bytes]:
    """All files below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names_of(folder: Path, name: str) -> Iterator[str]:
    """Paths that lead to one file: relative, absolute, with detours, through links."""
    path = folder / name
    yield name
    yield f"./{name}"
    yield str(path)
    yield f"elsewhere/../{name}"
    yield f"{folder}/./{name}"
    number = len(list((folder / "elsewhere").iterdir()))
    (folder / "elsewhere" / f"link{number}").symlink_to(path)
    yield f"elsewhere/link{number}"
    (folder / "elsewhere" / f"second{number}").symlink_to(folder / "elsewhere" / f"link{number}")
    yield f"elsewhere/second{number}"
    os.link(path, folder / "elsewhere" / f"hard{number}")
    yield f"elsewhere/hard{number}"
    if name.startswith("copies/"):
        yield name.replace("copies", "shortcut")


def command_lines(folder: Path) -> Iterator[list[str]]:
    """Command lines of which each has an output that is an input."""
    for out in names_of(folder, "ref.png"):
        yield ["diagnose", "ref.png", "copies", "--html", out]
        yield ["diagnose", "--html", out, "ref.png", "copies"]
        if out.endswith(".png"):
            yield ["distort", "ref.png", "--kind", "blur", "--mse", "20", "-o", out]
            yield ["distort", out, "--kind", "blur", "--mse", "20", "-o", "ref.png"]
    for out in names_of(folder, "copies/b.png"):
        for images in (["copies"], ["shortcut"], [f"{folder}/copies"], ["copies/"], ["copies/a.png", "copies/b.png"]):
            yield ["diagnose", "ref.png", *images, "--html", out]
            yield ["diagnose", "--html", out, "--", "ref.png", *images]
        yield ["teach", "fog", "copies", "-o", out]
        yield ["teach", "-o", out, "--", "fog", "shortcut"]
    for image in names_of(folder, "figures/manifold.png"):
        yield ["reproduce", "--image", image, "--out", "."]
        yield ["reproduce", "--out", str(folder), "--image", image]


def as_ordinary_user() -> None:
    """Give up root's right to write everywhere, where this runs as root; for the process to be started."""
    if os.geteuid() == 0 and sys.platform.startswith("linux"):
        for capability in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def read_only_runs(folder: Path, complete: bool) -> Iterator[str]:
    """Run with a read-only folder for the output, and with read-only package and cache; yield a problem or ''."""
    (folder / "elsewhere").chmod(0o555)
    for arguments in (
        ["diagnose", "ref.png", "copies", "--html", "elsewhere/r.html"],
        ["distort", "ref.png", "--kind", "blur", "--mse", "20", "-o", "elsewhere/x.png"],
    ):
        status, out, errors = _finished(folder, arguments)
        good = status == 1 and not out and errors.count("\n") == 1 and "read-only; choose another" in errors
        yield "" if good else f"{' '.join(arguments)}: status {status}: {errors.strip()}"
    (folder / "elsewhere").chmod(0o755)
    if complete:
        yield _with_read_only_package(folder)


def _with_read_only_package(folder: Path) -> str:
    """What is wrong with a run of a package that was never compiled and cannot be cached anywhere."""
    shutil.copytree(PACKAGE, folder / "package" / "llise", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "home").mkdir()
    places = [path for path in [folder / "home", *(folder / "package").rglob("*"), folder / "package"] if path.is_dir()]
    for place in places:
        place.chmod(0o555)
    variables = {**os.environ, "PYTHONPATH": str(folder / "package"), "HOME": str(folder / "home")}
    variables |= {"XDG_CACHE_HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}
    variables.pop("NUMBA_CACHE_DIR", None)
    status, _, errors = _finished(folder, ["diagnose", "ref.png", "copies", "--html", "r.html"], env=variables)
    for place in places:
        place.chmod(0o755)
    once = errors.count("cannot be kept on disk") == 1
    said = "is cached" in errors
    whole = (folder / "r.html").exists()
    return "" if status == 0 and once and whole and not said else f"read-only package and cache: {status} {errors}"


def _finished(folder: Path, arguments: list[str], **options: object) -> tuple[int, str, str]:
    process = start(folder, arguments, preexec_fn=as_ordinary_user, **options)
    out, errors = process.communicate()
    return process.returncode, out.decode(), errors.decode()
