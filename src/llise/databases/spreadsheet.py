"""Reading a sheet of an xlsx file, which is a zip archive of XML files, without a library for spreadsheets."""

from __future__ import annotations

import posixpath
import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

from llise.databases.layout import DatabaseError

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
LARGEST = 50_000_000
"""Most bytes of a file in the archive: one that is larger when unpacked is not a list of scores."""


def sheet_rows(path: Path, sheet: str) -> list[list[str]]:
    """Read the cells of a sheet as text.

    Parameters
    ----------
    path : Path
        The xlsx file.
    sheet : str
        Name of the sheet.

    Returns
    -------
    list of lists of str
        The rows from the first to the last, with an empty text for each empty cell before the last of its row.

    Raises
    ------
    DatabaseError
        The file is damaged or has no such sheet.

    Examples
    --------
    >>> sheet_rows(Path("csiq.DMOS.xlsx"), "all_by_image")[3][3:5]  # doctest: +SKIP
    ['image', 'dst_idx']
    """
    try:
        with zipfile.ZipFile(path) as archive:
            root = _parsed(archive, _sheet_file(archive, path, sheet))
            shared = _shared_texts(archive)
            return _rows(root, shared)
    except (OSError, zipfile.BadZipFile, ElementTree.ParseError, KeyError, IndexError, ValueError, EOFError) as error:
        if isinstance(error, DatabaseError):
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DatabaseError(f"{path}: damaged, or not an xlsx file ({reason}); copy it again") from None


def _parsed(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    if archive.getinfo(name).file_size > LARGEST:
        raise ValueError(f"{name} has more than {LARGEST} bytes")
    return ElementTree.fromstring(archive.read(name))


def _sheet_file(archive: zipfile.ZipFile, path: Path, sheet: str) -> str:
    """Name of the sheet's file in the archive."""
    sheets = {
        entry.get("name"): entry.get(RELATION) for entry in _parsed(archive, "xl/workbook.xml").iter(f"{MAIN}sheet")
    }
    if sheet not in sheets:
        names = ", ".join(str(name) for name in sheets)
        raise DatabaseError(f"{path}: has no sheet {sheet}, but {names or 'none'}; copy it again")
    for relation in _parsed(archive, "xl/_rels/workbook.xml.rels"):
        if relation.get("Id") == sheets[sheet]:
            return posixpath.normpath(posixpath.join("/xl", relation.get("Target", ""))).lstrip("/")
    raise ValueError(f"the sheet {sheet} has no file")


def _shared_texts(archive: zipfile.ZipFile) -> list[str]:
    """Texts that cells refer to by their number."""
    name = "xl/sharedStrings.xml"
    if name not in archive.namelist():
        return []
    return ["".join(text.text or "" for text in entry.iter(f"{MAIN}t")) for entry in _parsed(archive, name)]


def _rows(root: ElementTree.Element, shared: list[str]) -> list[list[str]]:
    rows = []
    for row in root.iter(f"{MAIN}row"):
        cells: list[str] = []
        for cell in row.iter(f"{MAIN}c"):
            column = _column(cell.get("r", ""), len(cells))
            cells += [""] * (column - len(cells))
            cells.append(_text(cell, shared))
        rows.append(cells)
    return rows


def _column(place: str, following: int) -> int:
    """Column of a cell from its place, such as 3 for D7; the following one if it has no place."""
    letters = re.match("[A-Z]{1,3}", place)
    if not letters:
        return following
    number = 0
    for letter in letters[0]:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def _text(cell: ElementTree.Element, shared: list[str]) -> str:
    if cell.get("t") == "inlineStr":
        return "".join(text.text or "" for text in cell.iter(f"{MAIN}t"))
    value = cell.findtext(f"{MAIN}v", "")
    return shared[int(value)] if cell.get("t") == "s" and value else value
