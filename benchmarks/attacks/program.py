"""The program under attack: pictures for it, and ways to run it in this process and as another one."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from llise.cli.main import main
from llise.datasets import reference

SIDE = 32


def picture() -> np.ndarray:
    """A small piece of the built-in reference."""
    return np.ascontiguousarray(reference()[200 : 200 + SIDE, 200 : 200 + SIDE])


def prepare(folder: Path) -> Path:
    """Write ref.png and a folder with two copies of it; return the folder."""
    (folder / "copies").mkdir(parents=True, exist_ok=True)
    for name, pixels in (("ref.png", picture()), ("copies/a.png", picture()), ("copies/b.png", picture() // 2)):
        Image.fromarray(pixels).save(folder / name)
    return folder


def call(folder: Path, arguments: Sequence[str]) -> tuple[int, str, str]:
    """Run a command in this process, with UTF-8 streams: status, standard output and standard error."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True) for _ in range(2)]
    with chdir(folder), redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        try:
            main(arguments)
        except SystemExit as end:
            status = int(end.code or 0)
    out, errors = (stream.buffer.getvalue().decode("utf-8") for stream in streams)  # type: ignore[attr-defined]
    return status, out, errors


def start(folder: Path, arguments: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a command as another process, with its streams as pipes."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(folder / "cache")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # A job that a shell started in the background ignores Ctrl-C, and so would its children.
    options = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), "env": variables, **pipes, **options}
    return subprocess.Popen([sys.executable, "-m", "llise", *arguments], cwd=folder, **options)


def left_behind(folder: Path) -> list[str]:
    """Temporary files of the program in a folder and below it."""
    from llise.storage.files import TEMPORARY

    return [str(path) for path in folder.rglob(f"*{TEMPORARY}")]
