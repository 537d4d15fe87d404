"""Types of arguments that name files: what a command reads, and what it writes.

A command declares each of its paths as :class:`Input`, :class:`Output` or :class:`OutputFolder`. While click reads the
command line, every output is compared with every input, so that a command whose output would overwrite one of its
inputs ends before any work.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

INPUTS, OUTPUTS = "llise.inputs", "llise.outputs"
"""Names of the lists in click's context: the paths that were read so far, and the files that will be written."""


class Input(click.Path):
    """A file or folder that a command reads."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, readable=False)  # one that cannot be read is reported and skipped

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert a value to a path that no output of the same command names."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if ctx is not None and not ctx.resilient_parsing:  # completion in a shell does not look at files
            _refuse_overwriting(ctx.meta.setdefault(OUTPUTS, []), [path], ctx)
            ctx.meta.setdefault(INPUTS, []).append(path)
        return path


class Output(click.Path):
    """A file that a command writes."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, readable=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert a value to a path where files can be written without changing an input."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if ctx is not None and not ctx.resilient_parsing:
            files, others = self.written(path), ctx.meta.setdefault(OUTPUTS, [])
            _refuse_overwriting(files, ctx.meta.setdefault(INPUTS, []), ctx)
            if any(is_input(path, other) for other in others):
                raise click.UsageError(f"{path}: two outputs of the command have this name; name another file", ctx)
            others.extend(files)
        return path

    def written(self, path: Path) -> list[Path]:
        """List the files that the command will write or remove, after checking that it can write there."""
        from llise.storage.files import check_writable

        check_writable(path)
        return [path]


class OutputFolder(Output):
    """A folder into which a command writes; the command creates it."""

    def __init__(self, *patterns: str) -> None:
        super().__init__()
        self.patterns = patterns

    def written(self, path: Path) -> list[Path]:
        """List the existing files that the command may replace or remove."""
        return [file for pattern in self.patterns for file in path.glob(pattern)]


def _refuse_overwriting(outputs: Iterable[Path], inputs: Iterable[Path], ctx: click.Context) -> None:
    for output in outputs:
        for source in inputs:
            if is_input(output, source):
                raise click.UsageError(f"{output}: this would overwrite an input file; name another file", ctx)


def is_input(file: Path, source: Path) -> bool:
    """Tell whether a file is one that a command reads: the same file by any path, or an image in a folder."""
    place, folder = os.path.realpath(file), os.path.realpath(source)
    if place == folder or _same(file, source):
        return True
    if not os.path.isdir(source):
        return False
    from llise.images import SUFFIXES, ImageError, image_files

    if place.lower().endswith(SUFFIXES) and place.startswith(os.path.join(folder, "")):
        return True
    try:
        return any(_same(file, image) for image in image_files([source]))
    except ImageError:  # the folder holds no images or cannot be read
        return False


def _same(first: Path, second: Path) -> bool:
    """Whether two paths lead to one file: by links, relative paths, or another case where case does not matter."""
    try:
        return os.path.samefile(first, second)
    except (OSError, ValueError):  # one of them does not exist or cannot be a name
        return False
