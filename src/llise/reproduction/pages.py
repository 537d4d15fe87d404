"""The report of a reproduction as files, and its overview as a table for a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llise.output.markup import to_html, to_markdown, to_text
from llise.reproduction.findings import Findings
from llise.reproduction.narrative import overview, report
from llise.storage.files import atomic_write


def write(folder: Path, results: dict[str, Any]) -> None:
    """Write report.md and report.html beside the figures.

    Parameters
    ----------
    folder : Path
        The folder of the reproduction; its ``figures`` must be drawn already.
    results : dict
        The content of results.json.

    Examples
    --------
    >>> write(done.folder, done.results)  # doctest: +SKIP
    """
    parts = report(results)
    pages = {"report.md": to_markdown(parts), "report.html": to_html(parts, folder)}
    for name, page in pages.items():
        with atomic_write(folder / name, "w", encoding="utf-8", newline="\n") as file:
            file.write(page)


def copy(folder: Path, docs: Path) -> None:
    """Copy the Markdown page of a reproduction, its figures and its results into a folder of documents.

    Parameters
    ----------
    folder : Path
        The folder of the reproduction.
    docs : Path
        The folder of documents; created if missing.

    Examples
    --------
    >>> copy(done.folder, Path("docs"))  # doctest: +SKIP
    """
    (docs / "figures").mkdir(parents=True, exist_ok=True)
    copies = {"report.md": "reproduction.md", "results.json": "reproduction.json"}
    copies |= {f"figures/{figure.name}": f"figures/{figure.name}" for figure in (folder / "figures").glob("*.png")}
    for source, target in sorted(copies.items()):
        with atomic_write(docs / target) as file:
            file.write((folder / source).read_bytes())


def as_text(results: dict[str, Any]) -> str:
    """Write the overview as a table for a terminal.

    Parameters
    ----------
    results : dict
        The content of results.json.

    Returns
    -------
    str
        Lines with aligned columns.

    Examples
    --------
    >>> as_text({"paper": {}, "methods": {}})
    'method  true kind in top two  top vote is true ...'
    """
    return to_text(overview(Findings(results)))
