"""Pairs of files: a reference and its copy, or the files of two folders by their paths inside them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from llise.images import SUFFIXES, ImageError


@dataclass(frozen=True)
class Pair:
    """A reference and its copy.

    Attributes
    ----------
    name : str
        Path of the files inside their folders, or that of the copy, with ``/`` between its parts.
    reference, copy : Path or None
        The files; None for the one that is missing.
    """

    name: str
    reference: Path | None
    copy: Path | None


def match_folders(references: Path, copies: Path) -> list[Pair]:
    """Match the images of two folders and their subfolders by their paths inside the folders."""
    old, new = _images(references), _images(copies)
    if not old:
        raise ImageError(f"{references}: folder without images; expected files named {', '.join(SUFFIXES)}")
    pairs = [Pair(name, old.pop(name), new.pop(name)) for name in sorted(old.keys() & new.keys())]
    stems, other_stems = _by_stem(old), _by_stem(new)
    for stem in stems.keys() & other_stems.keys():
        if len(stems[stem]) == len(other_stems[stem]) == 1:
            name = other_stems[stem][0]
            pairs.append(Pair(name, old.pop(stems[stem][0]), new.pop(name)))
    pairs += [Pair(name, path, None) for name, path in old.items()]
    pairs += [Pair(name, None, path) for name, path in new.items()]
    return sorted(pairs, key=lambda pair: pair.name)


def _by_stem(names: dict[str, Path]) -> dict[str, list[str]]:
    """Names by their path without suffix."""
    stems: dict[str, list[str]] = {}
    for name in names:
        stems.setdefault(str(PurePosixPath(name).with_suffix("")), []).append(name)
    return stems


def _images(folder: Path) -> dict[str, Path]:
    """Images below a folder by their path in it."""
    if not folder.is_dir():
        problem = "not a folder" if folder.exists() else "no such folder"
        raise ImageError(f"{folder}: {problem}; name a folder of images")
    return {path.relative_to(folder).as_posix(): path for path in _walk(folder, ())}


def _walk(folder: Path, above: tuple[str, ...]) -> Iterator[Path]:
    """Image files of a folder and its subfolders; a link to a folder above it, which would never end, is left out."""
    place = os.path.realpath(folder)
    if place in above:
        return
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise ImageError(f"{folder}: folder cannot be read ({error.strerror}); check permissions") from None
    for path in entries:
        if path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _walk(path, (*above, place))
        elif path.suffix.lower() in SUFFIXES:
            yield path
