"""Coordinates of images of one's own: from a learner, and to a file, as CSV, Parquet or NumPy's .npz."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from llise.output.text import csv_cell
from llise.storage.files import atomic_write, check_writable

SUFFIXES = (".csv", ".parquet", ".npz")


@dataclass(frozen=True)
class Coordinates:
    """Coordinates (n, b*p) of images with the names of their columns, and places (n, 2) in the map of whole images."""

    columns: list[str]
    rows: np.ndarray
    places: np.ndarray


def coordinates_of(learner: Any, images: Any, *, fit: bool) -> Coordinates:
    """Fit a learner to images and return their coordinates, or place images on a manifold that was learned before."""
    rows = learner.fit_transform(images) if fit else learner.transform(images)
    b, _, p = learner.embedding_.shape
    places = learner.place(rows.reshape(len(rows), b, p).transpose(1, 0, 2))
    return Coordinates([str(name) for name in learner.get_feature_names_out()], rows, places)


def check_table(path: str | os.PathLike[str]) -> None:
    """Refuse, before any work, a table that could not be written."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{path}: a table ends with {', '.join(SUFFIXES)}; name it so")
    if suffix == ".parquet":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise ImportError(
                f"{path}: Parquet is written with pyarrow; pip install pyarrow, or name a .csv or .npz file"
            ) from None
    check_writable(path)


def write_table(
    path: str | os.PathLike[str], names: Sequence[str], found: Coordinates, classes: Sequence[str] | None = None
) -> None:
    """Write one row an image: its file, its class if there is one, its place in the map, its coordinates."""
    suffix, coordinates, places = Path(path).suffix.lower(), found.rows, found.places
    plane = np.column_stack([places, np.zeros((len(places), 2 - places.shape[1]))])
    text = {"file": list(names)} | ({} if classes is None else {"class": list(classes)})
    if suffix == ".npz":
        with atomic_write(path) as file:
            arrays: Any = {"names": names, "columns": found.columns, "coordinates": coordinates, "map": plane}
            labels: Any = {} if classes is None else {"labels": classes}
            np.savez_compressed(file, **arrays, **labels)
    elif suffix == ".csv":
        digits = 9 if coordinates.dtype == np.float32 else 17
        with atomic_write(path, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*text, "map_x", "map_y", *found.columns])
            for i, row in enumerate(coordinates):
                words = [csv_cell(column[i]) for column in text.values()]
                writer.writerow(words + [f"{value:.{digits}g}" for value in (*plane[i], *row)])
    else:
        import pyarrow
        from pyarrow import parquet

        values = {"map_x": plane[:, 0], "map_y": plane[:, 1]} | dict(zip(found.columns, coordinates.T))
        with atomic_write(path) as file:
            parquet.write_table(pyarrow.table(text | values), file)
