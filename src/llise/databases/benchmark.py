"""Judging a database from end to end: its images, results.json and a page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tqdm import tqdm

from llise import __version__
from llise.databases.judging import judge_items
from llise.databases.layout import Database, Item
from llise.databases.summary import summarize
from llise.reproduction.parts import write_json
from llise.storage.files import check_writable

SCHEMA = 1


def run(
    database: Database,
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    references: int | None = None,
    n_jobs: int = 1,
    quiet: bool = True,
) -> dict[str, Any]:
    """Judge all images of a database against their references and write the results into a folder.

    Parameters
    ----------
    database : Database
        Which one it is, see :data:`llise.databases.registry.DATABASES`.
    folder : str or path
        The database as its authors distribute it.
    out : str or path
        Folder for ``results.json``, ``report.html`` and ``parts``, from which an interrupted run continues; created if
        missing.
    references : int, optional
        Judge only the images of so many references, the first by name.
    n_jobs : int
        Number of processes, as in joblib; the results do not depend on it.
    quiet : bool
        Show no progress bar.

    Returns
    -------
    dict
        The content of results.json, see ``docs/databases.md``.

    Raises
    ------
    DatabaseError
        The folder is not this database.

    Examples
    --------
    >>> from llise.databases.registry import DATABASES
    >>> results = run(DATABASES["tid2013"], "tid2013", "results", n_jobs=-1)  # doctest: +SKIP
    >>> results["totals"]["ours"]  # doctest: +SKIP
    """
    from llise.databases.page import write_page  # it needs an extra: a missing one is reported before the work

    items = database.read(folder)
    chosen = _first(items, references)
    target = Path(out)
    (target / "parts").mkdir(parents=True, exist_ok=True)
    for name in ("results.json", "report.html"):
        check_writable(target / name)
    records = _records(chosen, Path(folder), target / "parts", n_jobs, quiet)
    results = {
        "schema": SCHEMA,
        "llise": __version__,
        "database": {
            "name": database.name,
            "title": database.title,
            "source": database.source,
            "score": database.score,
            "higher_is_better": database.higher_is_better,
        },
        "folder": str(folder),
        "references": len({item.reference for item in chosen}),
        "complete": len(chosen) == len(items),
        **summarize(database, records),
        "images": records,
    }
    write_json(target / "results.json", results)
    write_page(target / "report.html", results)
    return results


def _first(items: list[Item], references: int | None) -> list[Item]:
    """The images of the first references by name."""
    names = sorted({item.reference for item in items})[:references]
    return [item for item in items if item.reference in set(names)]


def _records(items: list[Item], folder: Path, parts: Path, n_jobs: int, quiet: bool) -> list[dict[str, Any]]:
    records = [
        {
            "file": item.file.relative_to(folder).as_posix(),
            "reference": item.reference.relative_to(folder).as_posix(),
            "type": item.distortion,
            "level": item.level,
            "score": item.score,
        }
        for item in items
    ]
    with tqdm(total=len(items), desc="judging", unit="image", disable=True if quiet else None, leave=False) as bar:
        for group, answers in judge_items(items, parts, n_jobs):
            for position, answer in zip(group.positions, answers):
                records[position] |= answer
            bar.update(len(answers))
    return records
