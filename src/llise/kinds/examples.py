"""Examples of a kind: pairs of a reference and a copy that shows the kind, in a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from llise.colours import stacked
from llise.differences import ROUNDING
from llise.images import SUFFIXES, ImageError, as_uint8, check_reference, check_same_size, image_files, read_image

FOLDERS = ("reference", "copy")
"""Sub-folders in which the files of a pair have the same name."""

FILE = re.compile(r"(?P<stem>.+)\.(?P<role>ref|copy)(?P<number>\d*)", re.DOTALL)
"""Names of files in one folder, without their suffix."""

WAYS = (
    "put them into the sub-folders reference and copy under the same names, or name them NAME.ref.png and "
    "NAME.copy.png (NAME.copy2.png for a second copy)"
)


class ExampleError(ValueError):
    """A folder of examples cannot be used; the message names the file and says what to do."""


class Example(NamedTuple):
    """The files of one example."""

    reference: Path
    copy: Path


@dataclass(frozen=True, eq=False)
class Examples:
    """The examples of one kind."""

    name: str
    title: str
    files: tuple[Example, ...]

    def pictures(self, color: bool = False) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Read the pairs one after the other, as grey levels unless their colours are asked for."""
        for example in self.files:
            yield read_example(example, color)


def find_examples(folder: Path) -> tuple[Example, ...]:
    """Find the pairs of a folder, read them and check that each is a reference and a changed copy of it."""
    if not folder.is_dir():
        reason = "is no folder" if folder.exists() else "no such folder"
        raise ExampleError(f"{folder}: {reason}; name a folder with examples of the kind")
    try:
        folders = [folder / name for name in FOLDERS]
        pairs = _in_folders(*folders) if any(path.is_dir() for path in folders) else _in_one_folder(folder)
    except ImageError as error:
        raise ExampleError(str(error)) from None
    except OSError as error:
        raise ExampleError(f"{folder}: cannot be read ({error.strerror}); check permissions") from None
    if not pairs:
        raise ExampleError(f"{folder}: there are no examples in it; {WAYS}")
    for pair in pairs:
        read_example(pair)
    return tuple(pairs)


def _in_folders(references: Path, copies: Path) -> list[Example]:
    """Pairs of files that have the same name, apart from the suffix, in two folders."""
    files, others = _by_stem(references), _by_stem(copies)
    for own, folder, partners in ((files, copies, others), (others, references, files)):
        for stem, path in own.items():
            if stem not in partners:
                raise ExampleError(f"{path}: has no partner in {folder}; add it under the same name or remove this one")
    return [Example(files[stem], others[stem]) for stem in sorted(files)]


def _by_stem(folder: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for path in image_files([folder]):
        if path.stem in files:
            raise ExampleError(f"{path}: {files[path.stem].name} has the same name; remove or rename one of them")
        files[path.stem] = path
    return files


def _in_one_folder(folder: Path) -> list[Example]:
    references: dict[str, Path] = {}
    copies: list[tuple[str, Path]] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.suffix.lower() not in SUFFIXES:
            continue
        match = FILE.fullmatch(path.stem)
        if not match or (match["role"] == "ref" and match["number"]):
            raise ExampleError(f"{path}: neither a reference nor a copy by its name; {WAYS}")
        if match["role"] == "copy":
            copies.append((match["stem"], path))
        elif match["stem"] in references:
            raise ExampleError(f"{path}: {references[match['stem']].name} is a reference of the same name; remove one")
        else:
            references[match["stem"]] = path
    for stem, path in copies:
        if stem not in references:
            raise ExampleError(f"{path}: has no reference {stem}.ref.png; add it or remove this one")
    for stem in references.keys() - {stem for stem, _ in copies}:
        raise ExampleError(f"{references[stem]}: has no copy {stem}.copy.png; add it or remove this one")
    return [Example(references[stem], path) for stem, path in copies]


def read_example(example: Example, color: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Read a pair and check it."""
    try:
        reference, copy = (read_image(path, color=color) for path in example)
        if reference.ndim != copy.ndim:
            reference, copy = stacked(reference), stacked(copy)
        check_reference(as_uint8(reference), name=str(example.reference))
        check_same_size(reference, copy, str(example.copy))
    except ImageError as error:
        raise ExampleError(str(error)) from None
    if np.abs(np.subtract(copy, reference, dtype=np.int16)).max() <= ROUNDING:
        raise ExampleError(
            f"{example.copy}: equals its reference {example.reference.name} up to rounding, so that nothing can be "
            "learned from it; remove the pair"
        )
    return reference, copy
