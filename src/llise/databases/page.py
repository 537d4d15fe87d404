"""The results on a database as tables: for a terminal and as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llise.databases.summary import MEASURES
from llise.output.markup import Heading, Items, Part, Table, Text, code_span, to_html
from llise.storage.files import atomic_write

OUTSIDE = "outside"
NONE = "–"
"""Cell of what does not exist."""

MOST_ANSWERS = 4
MOST_FAILURES = 100
SETS = {"all": "all types", "ours": "types that are kinds of ours", "outside": "types outside"}


def share(part: int, whole: int) -> str:
    """Write a count of a number of images.

    Parameters
    ----------
    part, whole : int
        Counts.

    Returns
    -------
    str
        Both, or a dash where there are no images.

    Examples
    --------
    >>> share(3, 4), share(0, 0)
    ('3 / 4', '–')
    """
    return f"{part} / {whole}" if whole else NONE


def verdict_table(results: dict[str, Any]) -> Table:
    """Make the table of right verdicts by type and level.

    Parameters
    ----------
    results : dict
        The content of results.json.

    Returns
    -------
    Table
        A row for each type of the database that is a kind of ours.

    Examples
    --------
    >>> blur = {"title": "Gaussian blur", "kind": "blur", "images": 2, "right": 1, "levels": {}}
    >>> verdict_table({"types": {"08": blur}}).rows
    [['Gaussian blur', 'blur', '1 / 2']]
    """
    ours = [entry for entry in results["types"].values() if entry["kind"]]
    levels = sorted({level for entry in ours for level in entry["levels"]}, key=int)
    rows = []
    for entry in ours:
        cells = [entry["levels"].get(level, {"right": 0, "images": 0}) for level in levels]
        counts = [share(cell["right"], cell["images"]) for cell in cells]
        rows.append([entry["title"], entry["kind"], *counts, share(entry["right"], entry["images"])])
    return Table(["type", "our kind", *(f"level {level}" for level in levels), "all"], rows)


def answer_table(results: dict[str, Any]) -> Table:
    """Make the table of what is said of each type.

    Parameters
    ----------
    results : dict
        The content of results.json.

    Returns
    -------
    Table
        A row for each type with the most frequent answers.

    Examples
    --------
    >>> noise = {"title": "masked noise", "kind": None, "images": 3, "unknown": 1, "not_a_copy": 0, "original": 0,
    ...          "answers": {"gaussian_noise": 2, "unknown": 1}}
    >>> answer_table({"types": {"04": noise}}).rows
    [['masked noise', 'outside', '3', '1', '0', '0', 'gaussian_noise 2, unknown 1']]
    """
    rows = []
    for entry in results["types"].values():
        answers = [f"{text} {count}" for text, count in entry["answers"].items()]
        shown = answers[:MOST_ANSWERS] + (["..."] if len(answers) > MOST_ANSWERS else [])
        counts = [str(entry[name]) for name in ("images", "unknown", "not_a_copy", "original")]
        rows.append([entry["title"], entry["kind"] or OUTSIDE, *counts, ", ".join(shown)])
    return Table(["type", "our kind", "images", "unknown", "not a copy", "original", "answers"], rows)


def correlation_table(results: dict[str, Any]) -> Table:
    """Make the table of rank correlations with the scores of people.

    Parameters
    ----------
    results : dict
        The content of results.json.

    Returns
    -------
    Table
        Spearman's and Kendall's coefficients of severity, PSNR and SSIM; 1 is perfect agreement.

    Examples
    --------
    >>> values = {"spearman": 0.5, "kendall": None}
    >>> entry = {"images": 9, "severity": values, "psnr": values, "ssim": values}
    >>> correlation_table({"types": {}, "correlation": {"all": entry}}).rows
    [['all types', '9', '.500', '.500', '.500', '–', '–', '–']]
    """
    titles = SETS | {key: entry["title"] for key, entry in results["types"].items()}
    rows = [
        [titles[key], str(entry["images"])]
        + [_coefficient(entry[measure][name]) for name in ("spearman", "kendall") for measure in MEASURES]
        for key, entry in results["correlation"].items()
    ]
    names = ["severity", "PSNR", "SSIM"]
    return Table(["type", "images", *(f"Spearman {n}" for n in names), *(f"Kendall {n}" for n in names)], rows)


def _coefficient(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}".replace("0.", ".", 1)


def totals_sentence(results: dict[str, Any]) -> str:
    """Say in one line how many images were judged, and how.

    Parameters
    ----------
    results : dict
        The content of results.json.

    Returns
    -------
    str
        Plain text.

    Examples
    --------
    >>> outside = {"images": 5, "unknown": 1, "not_a_copy": 0, "original": 2}
    >>> totals = {"images": 9, "failed": 0, "ours": {"images": 4, "right": 3}, "outside": outside}
    >>> totals_sentence({"totals": totals})
    '9 images judged, 0 failed. Types that are kinds of ours: exact verdict for 3 / 4. Types outside: unknown 1 / 5, \
not a copy 0 / 5, original 2 / 5, a kind of ours 2 / 5.'
    """
    totals = results["totals"]
    ours, outside = totals["ours"], totals["outside"]
    count = outside["images"]
    doubts = [outside[name] for name in ("unknown", "not_a_copy", "original")]
    unknown, foreign, original = (share(doubt, count) for doubt in doubts)
    return (
        f"{totals['images']} images judged, {totals['failed']} failed. Types that are kinds of ours: exact verdict for "
        f"{share(ours['right'], ours['images'])}. Types outside: unknown {unknown}, not a copy {foreign}, original "
        f"{original}, a kind of ours {share(count - sum(doubts), count)}."
    )


def write_page(path: Path, results: dict[str, Any]) -> None:
    """Write the results as an HTML page.

    Parameters
    ----------
    path : Path
        The file.
    results : dict
        The content of results.json.

    Examples
    --------
    >>> write_page(Path("report.html"), results)  # doctest: +SKIP
    """
    with atomic_write(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(to_html(_parts(results), path.parent))


def _parts(results: dict[str, Any]) -> list[Part]:
    database = results["database"]
    first = "" if results["complete"] else f" Only the first {results['references']} references were judged."
    return [
        Heading(f"llise on {database['title']}", 1),
        Text(f"{database['source']}. Folder: {code_span(results['folder'])}.{first}"),
        Text(totals_sentence(results)),
        Heading("Exact verdicts by type and level"),
        Text(
            "Types of the database that are a kind of ours. A verdict is right if it names this kind and no other. "
            "Images are judged as grey."
        ),
        verdict_table(results),
        Heading("What is said of each type"),
        Text(
            "*Outside* are types that no kind of ours is: the right answer is *unknown*. *Original* means that no "
            "difference beyond rounding is left in grey, as with changes of colour alone."
        ),
        answer_table(results),
        Heading("Agreement with people"),
        Text(
            f"Rank correlation with the scores of people ({database['score']}); 1 is perfect agreement. Severity is "
            "the mean squared error of the picture that its faults contribute. All are measured on grey images."
        ),
        correlation_table(results),
        *_failures(results["images"]),
        Text(f"Made by llise {results['llise']}; all verdicts are in results.json."),
    ]


def _failures(records: Sequence[dict[str, Any]]) -> list[Part]:
    errors = [code_span(record["error"]) for record in records if "error" in record]
    if not errors:
        return []
    more = [f"and {len(errors) - MOST_FAILURES} more, see results.json"] if len(errors) > MOST_FAILURES else []
    return [Heading("Images that could not be judged"), Items(errors[:MOST_FAILURES] + more)]
