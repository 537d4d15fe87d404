"""CSIQ: 30 references, 6 types of distortion at 4 or 5 levels."""

from __future__ import annotations

import csv
from pathlib import Path

from llise.databases.layout import Database, DatabaseError, DistortionType, Folder, Item, as_score, text_lines
from llise.databases.spreadsheet import sheet_rows

DISTORTIONS = {
    "awgn": DistortionType("additive white Gaussian noise", "gaussian_noise"),
    "jpeg": DistortionType("JPEG compression", "jpeg"),
    "jpeg2000": DistortionType("JPEG 2000 compression", "jpeg2000"),
    "fnoise": DistortionType("additive pink Gaussian noise"),
    "blur": DistortionType("Gaussian blur", "blur"),
    "contrast": DistortionType("global contrast decrements", "contrast"),
}
"""Types of distortion by the names of their folders, and the kind of ours that is the same."""

SHEET_NAMES = {"noise": "awgn", "jpeg 2000": "jpeg2000"}
"""Types that the sheet of scores calls otherwise than the folders."""

SHEET = "all_by_image"
COLUMNS = ("image", "dst_type", "dst_lev", "dmos")


def items(folder: Folder) -> list[Item]:
    """List the images of CSIQ.

    Parameters
    ----------
    folder : Folder
        Holds ``src_imgs``, ``dst_imgs`` and ``csiq.DMOS.xlsx``, or its sheet all_by_image exported as
        ``csiq.DMOS.csv``.

    Returns
    -------
    list of Item
        All images.

    Raises
    ------
    DatabaseError
        The folder has another layout, or the sheet cannot be read.

    Examples
    --------
    >>> CSIQ.read("csiq")[0].level  # doctest: +SKIP
    1
    """
    scores = folder.file("csiq.DMOS.xlsx", "csiq.DMOS.csv")
    references, images = folder.folder("src_imgs"), folder.folder("dst_imgs")
    folders = {name: images.folder(name) for name in DISTORTIONS}
    listed = []
    for where, image, kind, level, score in _scores(scores):
        key = SHEET_NAMES.get(kind.casefold(), kind.casefold())
        if key not in DISTORTIONS:
            raise DatabaseError(f"{where}: dst_type is {kind!r}; expected one of noise, {', '.join(DISTORTIONS)}")
        strength = int(as_score(level, where))
        file = folders[key].place(f"{image}.{key}.{strength}.png")
        listed.append(Item(file, references.place(f"{image}.png"), key, strength, as_score(score, where)))
    return listed


def _scores(path: Path) -> list[tuple[str, str, str, str, str]]:
    """Place in the sheet, image, type, level and score of each line below the head, wherever the head is."""
    rows = sheet_rows(path, SHEET) if path.suffix.casefold() == ".xlsx" else _csv_rows(path)
    columns: list[int] = []
    lines = []
    for number, row in enumerate(rows, 1):
        cells = [cell.strip() for cell in row]
        names = [cell.casefold() for cell in cells]
        if not columns:
            columns = [names.index(name) for name in COLUMNS] if set(COLUMNS) <= set(names) else []
        elif any(cells):
            values = [cells[i] if i < len(cells) else "" for i in columns]
            if any(values):
                lines.append((f"{path}, line {number}", *values))
    if not columns:
        raise DatabaseError(
            f"{path}: no line with the columns {', '.join(COLUMNS)}; expected the sheet {SHEET} of csiq.DMOS.xlsx"
        )
    return lines  # type: ignore[return-value]


def _csv_rows(path: Path) -> list[list[str]]:
    """Rows of an exported sheet; programs separate cells by a comma, a semicolon or a tab."""
    lines = text_lines(path)
    head = next((line for line in lines if "dst_type" in line.casefold()), "")
    separator = max(",;\t", key=head.count)
    return list(csv.reader(lines, delimiter=separator))


CSIQ = Database(
    name="csiq",
    title="CSIQ",
    source="Categorical Subjective Image Quality database by E. Larson and D. Chandler; given out free "
    "for research by its authors",
    score="DMOS, 0 is best",
    higher_is_better=False,
    distortions=DISTORTIONS,
    layout=f"src_imgs, dst_imgs with the folders {', '.join(DISTORTIONS)}, and csiq.DMOS.xlsx (or its sheet {SHEET} "
    "as csiq.DMOS.csv)",
    items=items,
)
"""Categorical Subjective Image Quality database."""
