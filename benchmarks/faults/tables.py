"""Markdown tables of the records."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from faults.cases import (
    GROUPS,
    OTHER_PAIR,
    OTHER_SCENE,
    OVER,
    PAPER_PAIR,
    REGION,
    REGION_PAIR,
    SINGLE,
    SMALL_REGION,
    TOUCHING,
    TWO_REGIONS,
)  # fmt: skip
from faults.markdown import head, row, share
from faults.measures import Record

GOALS = {
    SINGLE: ".985; .995",
    PAPER_PAIR: ".975; .99",
    OTHER_PAIR: ".95; .97",
    REGION: ".95; .99",
    SMALL_REGION: ".85; .95",
    TWO_REGIONS: ".90; .97",
    REGION_PAIR: ".85; .95",
    OVER: ".80; .92",
}
"""Exact verdicts: what must hold, and the aim."""

IN_REGIONS = (REGION, SMALL_REGION, TWO_REGIONS, REGION_PAIR, OVER, TOUCHING)
RELATIVE = {
    "sigma", "gain", "share", "length", "radius", "factor", "width", "amount", "cell", "levels", "rate", "coverage",
}  # fmt: skip
"""Settings whose error is given as a share of the true value; that of the others is in their own unit."""

ESTIMATE_GOALS = {
    ("blur", "sigma"): "10 %",
    ("gaussian_noise", "sigma"): "10 %",
    ("contrast", "gain"): "10 %",
    ("luminance", "offset"): "1",
    ("impulse_noise", "share"): "10 %",
    ("jpeg", "quality"): "4",
}


def report(records: list[Record]) -> None:
    """Print all tables: of the groups in :mod:`faults.cases`, and estimates and confidence of all images.

    Parameters
    ----------
    records : list of dict
        As :func:`faults.measures.measure` makes them, with "set" and "picture" added.
    """
    sets = list(dict.fromkeys(record["set"] for record in records))
    six = [record for record in records if record["group"] in GROUPS]
    if six:
        _verdicts(six, sets)
        _regions(six, sets)
    for name in sets:
        own = [record for record in records if record["set"] == name]
        _estimates(own, name)
        _confidence(own, name)
    if six:
        _details(six)


def _details(records: list[Record]) -> None:
    """Print the tables by kind, pair, region, program and picture."""
    one_kind = (SINGLE, REGION, SMALL_REGION)
    pairs = (PAPER_PAIR, OTHER_PAIR, REGION_PAIR, TWO_REGIONS, OVER)
    _shares("Exact verdict by kind: one kind", records, one_kind, lambda r: r["kinds"])
    _shares("Exact verdict by pair", records, pairs, lambda r: r["kinds"])
    _shares("Exact verdict by form of the region", records, IN_REGIONS, lambda r: r["form"].split("+")[0], _extent)
    _shares("Exact verdict by program: one kind", _foreign(records), one_kind, lambda r: r["programs"][0])
    _shares("Exact verdict by picture", records, GROUPS, lambda r: r["picture"], _extent)
    _mistakes(records)


def list_failures(records: list[Record]) -> None:
    """Print one line for each case that was judged wrongly.

    Parameters
    ----------
    records : list of dict
    """
    head("Failures", ["picture", "set", "group", "programs (error, area)", "verdict", "faults"])
    for record in records:
        if record["exact"]:
            continue
        made = "; ".join(
            f"{program} ({error:.0f}, {100 * area:.1f} %)"
            for program, error, area in zip(record["programs"], record["errors"], record["areas"])
        )
        faults = "; ".join(f"{f['kinds']} {f['confidence']:.2f} ({100 * f['area']:.1f} %)" for f in record["faults"])
        row([record["picture"], record["set"], record["group"], made, record["verdict"], faults])


def _foreign(records: list[Record]) -> list[Record]:
    return [record for record in records if record["set"] != "own"]


def _verdicts(records: list[Record], sets: list[str]) -> None:
    head("Exact verdict (number of images)", ["", *sets, "must; aim"])
    for group in GROUPS:
        cells = [share(r["exact"] for r in records if r["set"] == name and r["group"] == group) for name in sets]
        if any(cells):
            row([group, *cells, GOALS.get(group, "")])
    for name in sets:
        wrong = sum(r["equal_not_original"] for r in records if r["set"] == name and r["group"] != OTHER_SCENE)
        print(f"\nBlocks equal to the reference that are not `original` ({name}): {wrong}")


def _regions(records: list[Record], sets: list[str]) -> None:
    columns = ["", "set", "mIoU", "mIoU in pixels", "F1 at IoU .5", "right kind inside", "`original` outside"]
    head("Regions (must: .80, -, -, .95, .999; aim: .90, -, -, .98, 1)", columns)
    for group in (SINGLE, *IN_REGIONS, "all regions"):
        for name in sets:
            chosen = [r for r in records if r["set"] == name]
            chosen = [r for r in chosen if r["group"] == group or (group == "all regions" and r["group"] in IN_REGIONS)]
            if chosen:
                row([group, name, *_region_measures(chosen)])


def _region_measures(records: list[Record]) -> list[str]:
    regions = [region for record in records for region in record["regions"]]
    true = [region for region in regions if region["true"]]
    hits = sum(region["blocks"] >= 0.5 for region in true)
    named = sum(region["named"] for region in regions)
    inside, outside = (np.sum([record[key] for record in records], axis=0) for key in ("inside", "outside"))
    return [
        f"{np.mean([region['blocks'] for region in true]):.3f}",
        f"{np.mean([region['pixels'] for region in true]):.3f}",
        f"{2 * hits / max(len(true) + named, 1):.3f}",
        f"{inside[0] / max(inside[1], 1):.4f}",
        f"{outside[0] / outside[1]:.5f}" if outside[1] else "",
    ]


def _estimates(records: list[Record], name: str) -> None:
    columns = ["kind, setting", "median error", "goal", "90 % interval holds", "cases", "not said"]
    head(f"Estimates ({name}), one kind in its place / two kinds", columns)
    rows: dict[tuple[str, str, bool], list[Record]] = defaultdict(list)
    for record in records:
        for estimate in record["estimates"]:
            rows[estimate["kind"], estimate["setting"], estimate["alone"]].append(estimate)
    held_goals = []
    for kind, setting in sorted({key[:2] for key in rows}):
        both = [_estimate_cells(setting, rows.get((kind, setting, alone), [])) for alone in (True, False)]
        goal = ESTIMATE_GOALS.get((kind, setting), "")
        if goal:
            held_goals += [held for alone in (True, False) for held in _held(rows.get((kind, setting, alone), []))]
        error, held, count, missing = (" / ".join(pair) for pair in zip(*both))
        row([f"{kind}, {setting}", error, goal, held, count, missing])
    if held_goals:
        print(
            f"\nIntervals of the settings with a goal hold the truth in {np.mean(held_goals):.3f} of {len(held_goals)}."
        )


def _held(estimates: list[Record]) -> list[bool]:
    return [e["said"][1] <= e["truth"] <= e["said"][2] for e in estimates if e["said"] is not None]


def _estimate_cells(setting: str, estimates: list[Record]) -> tuple[str, str, str, str]:
    said = [e for e in estimates if e["said"] is not None]
    missing = f"{len(estimates) - len(said)}"
    if not said:
        return "-", "-", "0", missing
    truth, value = np.array([(e["truth"], e["said"][0]) for e in said]).T
    error = np.abs(value - truth)
    if setting == "angle":
        error = np.minimum(error, np.abs(180 - error))
    if setting in RELATIVE:
        text = f"{100 * np.median(error / np.maximum(np.abs(truth), 1e-9)):.1f} %"
    else:
        text = f"{np.median(error):.2f}"
    return text, f"{np.mean(_held(said)):.3f}", f"{len(said)}", missing


def _confidence(records: list[Record], name: str) -> None:
    faults = [fault for record in records if record["group"] != OTHER_SCENE for fault in record["faults"]]
    head(
        f"Faults by confidence ({name}; must: .95 of those with .9 or more, aim .98)", ["confidence", "faults", "right"]
    )
    edges = (0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.001)
    for low, high in (*pairwise(edges), (0.9, 1.001)):
        here = [fault["right"] for fault in faults if low <= fault["confidence"] < high]
        if here:
            label = f"{low} to {min(high, 1)}" if (low, high) != (0.9, 1.001) else "**.9 or more**"
            row([label, str(len(here)), f"{np.mean(here):.3f}"])


def _shares(
    title: str,
    records: list[Record],
    groups: tuple[str, ...],
    name_of: Callable[[Record], str],
    column: Callable[[Record], str] = lambda record: record["group"],
) -> None:
    """Print exact verdicts by two properties of the records, for each set of programs."""
    table: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    columns: dict[str, None] = {}
    for record in sorted(records, key=lambda record: GROUPS.index(record["group"])):
        if record["group"] in groups and record["programs"]:
            name = f"{column(record)} ({record['set']})"
            columns[name] = None
            table[name_of(record)][name].append(record["exact"])
    if table:
        head(title, ["", *columns])
        for name, cells in sorted(table.items()):
            row([name, *(share(cells[column]) for column in columns)])


def _extent(record: Record) -> str:
    return "regions" if record["group"] in IN_REGIONS else "whole picture"


def _mistakes(records: list[Record], most: int = 25) -> None:
    counts = Counter((r["group"], r["set"], r["kinds"], r["verdict"]) for r in records if not r["exact"])
    head("Commonest mistakes", ["group", "set", "true", "said", "images"])
    for *names, count in ((*key, n) for key, n in counts.most_common(most)):
        row([*map(str, names), str(count)])
