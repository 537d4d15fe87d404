"""Images of one's own for a manifold: folders, lists of files and NumPy files as one array, with names and classes."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from llise.images import SUFFIXES, ImageError, as_uint8, read_image
from llise.picture_files.decoding import Background

Source = str | os.PathLike[str]
ARRAYS = (".npy", ".npz")
LISTS = (".txt",)


@dataclass(frozen=True)
class Collection:
    """Images with a name each, and the class of each where they have classes."""

    names: list[str]
    images: np.ndarray
    classes: list[str] | None = None


def is_source(X: Any) -> TypeGuard[Source | Sequence[Source]]:
    """Whether images are named by paths instead of passed as arrays."""
    if isinstance(X, str | os.PathLike):
        return True
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(path, str | os.PathLike) for path in X)


def images_at(X: Any) -> Any:
    """Images of folders and files, grey; anything but paths is returned as it is."""
    return read_collection([X] if isinstance(X, str | os.PathLike) else X).images if is_source(X) else X


def read_collection(
    sources: Iterable[Source],
    *,
    color: bool = False,
    size: tuple[int, int] | None = None,
    background: Background | None = None,
    progress: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> Collection:
    """Read images of equal size, or resized to ``size`` (width, height)."""
    paths = [Path(os.path.expanduser(source)) for source in sources]
    arrays = [path for path in paths if path.suffix.lower() in ARRAYS]
    if arrays and len(paths) > 1:
        raise ImageError(f"{arrays[0]}: an array beside {len(paths) - 1} other sources; give one array alone")
    if arrays:
        return _of_array(arrays[0], color, size)
    files = [entry for path in paths for entry in _files(path)]
    if not files:
        raise ImageError("no images: name a folder, image files, a .txt list, or a .npy or .npz file")
    images: Any = None
    for number, (file, _) in enumerate(progress(files)):
        image = _resized(read_image(file, color=color, background=background), size)
        if color and image.ndim == 2:
            image = np.repeat(image[..., None], 3, axis=2)
        if number == 0:
            images = np.empty((len(files), *image.shape), np.uint8)
        if image.shape != images.shape[1:]:
            raise ImageError(
                f"{file}: {image.shape[1]} x {image.shape[0]} pixels, but {files[0][0]} has {images.shape[2]} x "
                f"{images.shape[1]}; images of a manifold have one size: crop them, or resize all (--size, size=)"
            )
        images[number] = image
    classes = [group for _, group in files]
    return Collection([str(file) for file, _ in files], images, classes if len(set(classes)) > 1 else None)


def read_labels(path: Source, names: Sequence[str]) -> list[str]:
    """Classes from a text file: one a line in the order of the images, or lines ``file,class`` in any order."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError) as error:
        raise ImageError(f"{path}: cannot be read as text ({error}); check the name") from None
    if all(len(row) == 1 for row in rows):
        if len(rows) != len(names):
            raise ImageError(f"{path}: {len(rows)} labels for {len(names)} images; write one for each, or file,class")
        return [row[0] for row in rows]
    by_name = {row[0]: row[1] for row in rows if len(row) > 1}
    by_end = {Path(name).name: label for name, label in by_name.items()}
    found = [by_name.get(name, by_end.get(Path(name).name)) for name in names]
    if None in found:
        raise ImageError(f"{path}: no label for {names[found.index(None)]}; add a line: file name, comma, class")
    return [str(label) for label in found]


def _files(path: Path) -> list[tuple[Path, str]]:
    """Image files of a source, sorted, each with its class."""
    if path.is_dir():
        found = sorted(
            Path(folder, name)
            for folder, folders, names in os.walk(path)
            if not any(part.startswith(".") for part in Path(folder).relative_to(path).parts)
            for name in names
            if name.lower().endswith(SUFFIXES) and not name.startswith(".")
        )
        if not found:
            raise ImageError(f"{path}: no images in this folder; expected files named {', '.join(SUFFIXES)}")
        return [(file, _class(file, path)) for file in found]
    if path.suffix.lower() in LISTS:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ImageError(f"{path}: cannot be read as a list of images ({error}); write one path a line") from None
        named = [path.parent / line.strip() for line in lines if line.strip() and not line.startswith("#")]
        if not named:
            raise ImageError(f"{path}: an empty list; write the path of one image a line")
        return [(file, file.parent.name) for file in named]
    return [(path, path.absolute().parent.name)]


def _class(file: Path, folder: Path) -> str:
    """First subfolder below the folder, or the folder itself."""
    parts = file.relative_to(folder).parts
    return parts[0] if len(parts) > 1 else folder.absolute().name


def _of_array(path: Path, color: bool, size: tuple[int, int] | None) -> Collection:
    """Images of a .npy or .npz file; an .npz may have classes, ``labels`` or ``y``, and names, ``names``."""
    try:
        content = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise ImageError(f"{path}: no such file; check the name") from None
    except (OSError, ValueError, EOFError) as error:
        raise ImageError(f"{path}: not a NumPy file that can be read ({error}); write it with numpy.save") from None
    classes = names = key = None
    if isinstance(content, np.lib.npyio.NpzFile):
        entries = {name: content[name] for name in content.files}
        key = next((name for name in ("images", "X") if name in entries), None)
        if key is None and len(entries) > 1:
            raise ImageError(f"{path}: arrays {', '.join(entries)}; name that of the images 'images'")
        array = next(iter(entries.values())) if key is None else entries[key]
        classes = next((entries[name] for name in ("labels", "y") if name in entries), None)
        names = entries.get("names")
    else:
        array = content
    if not (array.ndim in (2, 3) or (array.ndim == 4 and array.shape[3] == 3)) or array.size == 0:
        raise ImageError(f"{path}: shape {array.shape}; expected images (n, h, w), (n, h, w, 3), or rows (n, q)")
    for name, values in (("labels", classes), ("names", names)):
        if values is not None and len(values) != len(array):
            raise ImageError(f"{path}: {len(values)} {name} for {len(array)} images; give one for each")
    if array.ndim == 4 and not color:
        array = np.stack([as_uint8(image, f"{path}, image {i}") for i, image in enumerate(array)])
    if size is not None:
        if array.ndim == 2 or array.dtype != np.uint8:
            raise ImageError(f"{path}: {array.ndim - 1}-d entries of {array.dtype}; only 8-bit images can be resized")
        array = np.stack([_resized(np.asarray(image), size) for image in array])
    named = [f"{path.name}:{i}" for i in range(len(array))] if names is None else [str(name) for name in names]
    return Collection(named, array, None if classes is None else [str(label) for label in classes])


def _resized(image: np.ndarray, size: tuple[int, int] | None) -> np.ndarray:
    if size is None or size == image.shape[1::-1]:
        return image
    from PIL import Image

    return np.asarray(Image.fromarray(image).resize(size, Image.Resampling.LANCZOS))
