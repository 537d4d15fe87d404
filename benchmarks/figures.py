"""Figures of one file of answers, or of two beside each other.

    python benchmarks/figures.py CASES answers.jsonl                 # Markdown
    python benchmarks/figures.py CASES answers.jsonl --json          # the same as JSON
    python benchmarks/figures.py CASES before.jsonl after.jsonl      # and which rows moved between them

Shares have 95 % intervals (Wilson 1927), which take the cases as independent; cases of one picture are less than that.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from figure_tables import Cell, Share, Table
from judge import read_rows
from measured import SURE, Measured, measure_all

EDGES = (0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
"""Bounds of confidence in the table of calibration."""

SIZES = (0, 0.1, 0.3, 1, 3, math.inf)
"""Bounds of megapixels in the table of times."""

COVER = 0.9
"""Probability with which an interval of a setting is to hold the truth."""


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path, help="folder with truth.jsonl")
    parser.add_argument("answers", type=Path, nargs="+", help="one or two files that judge.py wrote")
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    parser.add_argument(
        "--failures", action="store_true", help="list each case with a wrong verdict (the look half only)"
    )
    options = parser.parse_args()
    if len(options.answers) > 2:
        parser.error(f"{len(options.answers)} files of answers; expected one or two")
    print(report(options.cases, options.answers, as_json=options.json, failures=options.failures))


def report(cases: Path, answers: list[Path], *, as_json: bool = False, failures: bool = False) -> str:
    """Return the figures of each file of answers, and of two their difference."""
    about = [next((row["about"] for row in read_rows(file)[:1] if "about" in row), {}) for file in answers]
    sets = [measure_all(cases, file) for file in answers]
    parts = [
        {"answers": file.name, **facts, "tables": [*tables(measured), *([failed(measured)] if failures else [])]}
        for file, facts, measured in zip(answers, about, sets)
    ]
    if len(sets) == 2:
        parts.append({"answers": " against ".join(file.name for file in answers), "tables": [compare(*sets)]})
    if as_json:
        return json.dumps([{**part, "tables": [table.plain() for table in part["tables"]]} for part in parts], indent=1)
    return "\n\n".join(_markdown(part) for part in parts)


def _markdown(part: dict[str, Any]) -> str:
    facts = ", ".join(f"{key} {value}" for key, value in part.items() if key not in ("answers", "tables"))
    head = f"## {part['answers']}" + (f"\n\n{facts}" if facts else "")
    return "\n\n".join([head, *(table.markdown() for table in part["tables"] if table.rows)])


def tables(cases: list[Measured]) -> list[Table]:
    """All tables of one set of answers."""
    return [
        _verdicts(cases),
        *(_shares(title, cases, names) for title, names in GROUPINGS.items()),
        _calibration(cases),
        _overlaps(cases),
        _settings(cases),
        _unknown(cases),
        _times(cases),
        _mistakes(cases),
    ]


def _place(case: Measured) -> Iterable[str]:
    return [f"{case.truth['half']}: {case.truth['group']}"]


GROUPINGS: dict[str, Callable[[Measured], Iterable[str]]] = {
    "Exact verdicts by half": lambda case: [case.truth["half"]],
    "Exact verdicts by kind": lambda case: case.expected,
    "Exact verdicts by program": lambda case: case.truth["programs"],
    "Exact verdicts by tool": lambda case: dict.fromkeys(case.truth.get("tools") or ()),
    "Exact verdicts by family of picture": lambda case: [case.truth["family"]],
}
"""Names of the rows in which a case counts."""


def by_name(cases: list[Measured], names: Callable[[Measured], Iterable[str]]) -> dict[str, list[Measured]]:
    """Cases by the rows in which they count."""
    rows: dict[str, list[Measured]] = defaultdict(list)
    for case in cases:
        for name in names(case):
            rows[name].append(case)
    return dict(sorted(rows.items()))


def share(values: Iterable[bool]) -> Share:
    """How many are true."""
    flags = list(values)
    return Share(sum(map(bool, flags)), len(flags))


def _verdicts(cases: list[Measured]) -> Table:
    sure = f"said with {SURE} or more"
    table = Table(
        "Exact verdicts by group",
        [
            "group",
            "exact",
            "own programs",
            "foreign programs",
            sure,
            "of these wrong",
            "unchanged blocks called changed",
        ],
        note="Share [95 % interval] number of cases.",
    )
    for name, here in {**by_name(cases, _place), "all": cases}.items():
        own, foreign = ([c for c in here if bool(c.truth["own"]) is flag] for flag in (True, False))
        said = [case for case in here if case.confidence >= SURE]
        blocks = np.sum([case.outside for case in here], axis=0)
        table.rows.append(
            [
                name, *(share(case.exact for case in part) for part in (here, own, foreign)),
                share(case.confidence >= SURE for case in here), share(not case.exact for case in said),
                float(blocks[0] / blocks[1]) if blocks[1] else None,
            ]
        )  # fmt: skip
    return table


def _shares(title: str, cases: list[Measured], names: Callable[[Measured], Iterable[str]]) -> Table:
    table = Table(title, ["", "exact", "one label", "several labels", "commonest mistake"])
    for name, here in by_name(cases, names).items():
        one, several = ([c.exact for c in here if (len(c.expected) == 1) is flag] for flag in (True, False))
        wrong = Counter(case.verdict for case in here if not case.exact).most_common(1)
        mistake = f"{wrong[0][0]} ({wrong[0][1]})" if wrong else ""
        table.rows.append([name, share(case.exact for case in here), share(one), share(several), mistake])
    return table


def _calibration(cases: list[Measured]) -> Table:
    table = Table("Right by confidence", ["confidence", "verdicts", "faults"])
    verdicts = [(case.confidence, case.exact) for case in cases if "error" not in case.answer]
    faults = [fault for case in cases for fault in case.faults]
    for low, high in (*pairwise(EDGES), (SURE, 1)):
        cells = [share(right for sure, right in told if _within(sure, low, high)) for told in (verdicts, faults)]
        name = f"{low} to {high}" if low != SURE or high != 1 else f"**{SURE} or more**"
        if any(cell.n for cell in cells):
            table.rows.append([name, *cells])
    return table


def _within(value: float, low: float, high: float) -> bool:
    return low <= value < high or value == high == EDGES[-1]


def _overlaps(cases: list[Measured]) -> Table:
    table = Table(
        "Intersection over union of the pixels with the right kind, by form",
        ["form", "mean", "median", "at least .5", "faults"],
        note="A fault whose kind is not named counts 0.",
    )
    rows = defaultdict(list)
    for case in cases:
        for overlap in case.overlaps:
            rows[overlap.form].append(overlap.iou)
    for form, values in sorted(rows.items()):
        mean, middle = float(np.mean(values)), float(np.median(values))
        table.rows.append([form, mean, middle, share(value >= 0.5 for value in values), len(values)])
    return table


def _settings(cases: list[Measured]) -> Table:
    table = Table(
        "Settings",
        ["kind, setting", "median error", "relative", f"{COVER:.0%} interval holds the truth", "told", "not told"],
        note="Median error in the setting's own unit, and as a share of the true value.",
    )
    rows = defaultdict(list)
    for case in cases:
        for setting in case.settings:
            rows[f"{setting.kind}, {setting.name}"].append(setting)
    for name, settings in sorted(rows.items()):
        told = [(s.truth, *s.said) for s in settings if s.said is not None]
        row: list[Cell] = [name, None, None, None, len(told), len(settings) - len(told)]
        if told:
            truth, value, low, high = np.array(told).T
            error = np.abs(value - truth)
            if name.endswith(", angle"):
                error = np.minimum(error, np.abs(180 - error))
            relative = error[truth != 0] / np.abs(truth[truth != 0])
            row[1:4] = (
                float(np.median(error)),
                float(np.median(relative)) if relative.size else None,
                share((low <= truth) & (truth <= high)),
            )
        table.rows.append(row)
    return table


def _unknown(cases: list[Measured]) -> Table:
    table = Table("Unknown", ["", "called unknown", "promised"])
    known = [case for case in cases if not any("unknown" in labels for labels in case.truth["expected"])]
    rates = {case.answer.get("false_alarms") for case in known} - {None}
    if known:
        promised = max(rates) if rates else None
        table.rows.append(["named kinds (false alarms)", share(case.called_unknown for case in known), promised])
    unknown = [case for case in cases if "unknown" in case.expected]
    for name, here in by_name(unknown, lambda case: case.without_name).items():
        table.rows.append([f"{name} (caught)", share(case.called_unknown for case in here), None])
    return table


def _times(cases: list[Measured]) -> Table:
    table = Table(
        "Processor seconds a megapixel by size",
        ["megapixels", "median", "90 % are below", "cases"],
        note="Diagnosis of one pair with one thread, without start-up and the reading of files.",
    )
    judged = [case for case in cases if "seconds" in case.answer]
    for low, high in pairwise(SIZES):
        here = [case.answer["seconds"] / case.megapixels for case in judged if low <= case.megapixels < high]
        if here:
            row: list[Cell] = [float(np.median(here)), float(np.quantile(here, 0.9)), len(here)]
            table.rows.append([f"{low} to {high}", *row])
    return table


def _mistakes(cases: list[Measured], most: int = 25) -> Table:
    table = Table("Commonest mistakes", ["group", "true", "said", "cases"])
    wrong = Counter((*_place(c), "+".join(c.expected), _said(c)) for c in cases if not c.exact)
    table.rows = [[*key, count] for key, count in wrong.most_common(most)]
    return table


def _said(case: Measured) -> str:
    return case.answer.get("error") or case.verdict


def failed(cases: list[Measured]) -> Table:
    """Each case with a wrong verdict."""
    table = Table("Failures", ["case", "picture", "programs", "true", "said", "confidence"])
    for case in cases:
        if not case.exact:
            truth = case.truth
            made = [truth["id"], truth["picture"], "; ".join(truth["programs"]), "+".join(case.expected)]
            table.rows.append([*made, _said(case), case.confidence])
    return table


MEASURES: dict[str, Callable[[Measured], float | None]] = {
    "exact": lambda case: float(case.exact),
    "sure and wrong": lambda case: float(case.sure_and_wrong),
    "overlap of pixels": lambda case: float(np.mean([o.iou for o in case.overlaps])) if case.overlaps else None,
    "unchanged blocks called changed": lambda case: case.outside[0] / case.outside[1] if case.outside[1] else None,
    "processor seconds a megapixel": lambda c: c.answer["seconds"] / c.megapixels if "seconds" in c.answer else None,
}
"""What is compared, case by case."""


class Change(NamedTuple):
    """Mean of the second less that of the first, over the same cases."""

    before: float
    after: float
    error: float
    n: int

    @property
    def moved(self) -> bool:
        """Whether the change is greater than its standard error."""
        return abs(self.after - self.before) > self.error * (1 + 1e-9)  # equal ones differ by rounding


def change(before: Iterable[float | None], after: Iterable[float | None]) -> Change | None:
    """Compare pairs of values; the standard error is that of no change (for shares as in McNemar's test)."""
    pairs = np.array([pair for pair in zip(before, after) if None not in pair], float)
    if not len(pairs):
        return None
    error = math.sqrt(float(np.sum((pairs[:, 1] - pairs[:, 0]) ** 2))) / len(pairs)
    return Change(float(pairs[:, 0].mean()), float(pairs[:, 1].mean()), error, len(pairs))


def _changes(first: list[Measured], second: list[Measured]) -> Iterator[tuple[str, str, Change]]:
    """Each row of the tables in each measure; programs, tools and families in exact verdicts only."""
    other = {case.truth["id"]: case for case in second}
    groupings = {"all": lambda case: ["all"], "group": _place, **GROUPINGS}
    for number, (title, names) in enumerate(groupings.items()):
        for name, here in by_name(first, names).items():
            for measure, value in MEASURES.items():
                if number > 1 and measure != "exact":
                    continue
                found = change(map(value, here), (value(other[case.truth["id"]]) for case in here))
                if found:
                    yield measure, f"{title.removeprefix('Exact verdicts ')}: {name}", found


def compare(first: list[Measured], second: list[Measured]) -> Table:
    """The rows that moved by more than one standard error."""
    changes = list(_changes(first, second))
    moved = [(measure, name, found) for measure, name, found in changes if found.moved]
    unequal = sum(found.before != found.after for _, _, found in changes)
    table = Table(
        "Rows that moved by more than one standard error",
        ["measure", "row", "before", "after", "standard error", "cases"],
        note=f"{len(moved)} of {len(changes)} rows; {unequal} are not equal. Where nothing but chance is at work, "
        "a third of those would move as much.",
    )
    table.rows = [[measure, name, f.before, f.after, f.error, f.n] for measure, name, f in moved]
    return table


if __name__ == "__main__":
    main()
