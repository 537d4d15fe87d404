"""What the results on a database show: right verdicts, what is said of foreign types, agreement with people."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from scipy import stats

from llise.databases.layout import UNCHANGED, Database
from llise.labels import UNKNOWN

NOT_A_COPY = "not a copy"
MEASURES = ("severity", "psnr", "ssim")
FEWEST = 3
"""Fewest images of which a rank correlation is given."""


def answer(record: dict[str, Any]) -> str:
    """Write the answer for an image as one text.

    Parameters
    ----------
    record : dict
        With ``verdict`` and ``is_copy``.

    Returns
    -------
    str
        The kinds of the verdict, or that the image is not a copy.

    Examples
    --------
    >>> answer({"verdict": ["blur", "jpeg"], "is_copy": True}), answer({"verdict": ["unknown"], "is_copy": False})
    ('blur + jpeg', 'not a copy')
    """
    return " + ".join(record["verdict"]) if record["is_copy"] else NOT_A_COPY


def summarize(database: Database, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Sum up the results of all images.

    Parameters
    ----------
    database : Database
        Where the images come from.
    records : sequence of dict
        The images of results.json.

    Returns
    -------
    dict
        ``totals``, ``types`` and ``correlation`` of results.json.

    Examples
    --------
    >>> from llise.databases.csiq import CSIQ
    >>> record = {"type": "blur", "level": 1, "score": 0.1, "verdict": ["blur"], "is_copy": True, "severity": 3.0,
    ...           "psnr": 40.0, "ssim": 0.9}
    >>> summarize(CSIQ, [record])["types"]["blur"]["levels"]
    {'1': {'images': 1, 'right': 1}}
    """
    judged = [record for record in records if "error" not in record]
    by_type: dict[str, list[dict[str, Any]]] = {key: [] for key in database.distortions}
    for record in judged:
        by_type[record["type"]].append(record)
    types = {key: _type_summary(database, key, chosen) for key, chosen in by_type.items() if chosen}
    distorted = [record for record in judged if record["type"] != UNCHANGED]
    ours = [record for record in distorted if database.distortions[record["type"]].kind]
    outside = [record for record in distorted if not database.distortions[record["type"]].kind]
    sets = {"all": distorted, "ours": ours, "outside": outside}
    sets |= {key: chosen for key, chosen in by_type.items() if key != UNCHANGED}
    return {
        "totals": {
            "images": len(judged),
            "failed": len(records) - len(judged),
            "ours": {"images": len(ours), "right": sum(_is_right(database, record) for record in ours)},
            "outside": {"images": len(outside), **_doubts(outside)},
        },
        "types": types,
        "correlation": {key: _correlations(database, chosen) for key, chosen in sets.items() if chosen or key == "all"},
    }


def _is_right(database: Database, record: dict[str, Any]) -> bool:
    return record["is_copy"] and record["verdict"] == [database.distortions[record["type"]].kind]


def _doubts(records: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How often something else than a kind of ours was said."""
    return {
        "unknown": sum(record["is_copy"] and UNKNOWN in record["verdict"] for record in records),
        "not_a_copy": sum(not record["is_copy"] for record in records),
        "original": sum(record["verdict"] == ["original"] for record in records),
    }


def _type_summary(database: Database, key: str, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    kind = database.distortions[key].kind
    levels: dict[str, dict[str, int]] = {}
    for level in sorted({record["level"] for record in records if record["level"] is not None}):
        chosen = [record for record in records if record["level"] == level]
        right = sum(_is_right(database, record) for record in chosen)
        levels[str(level)] = {"images": len(chosen)} | ({"right": right} if kind else {})
    return {
        "title": database.distortions[key].title,
        "kind": kind,
        "images": len(records),
        "right": sum(_is_right(database, record) for record in records) if kind else None,
        **_doubts(records),
        "levels": levels,
        "answers": dict(Counter(map(answer, records)).most_common()),
    }


def _correlations(database: Database, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Rank correlations with the scores; the sign of scores and severity is such that 1 is perfect agreement."""
    quality = [record["score"] if database.higher_is_better else -record["score"] for record in records]
    result: dict[str, Any] = {"images": len(records)}
    for measure in MEASURES:
        values = [math.inf if record[measure] is None else record[measure] for record in records]
        if measure == "severity":
            values = [-value for value in values]
        result[measure] = {"spearman": None, "kendall": None}
        if len(records) >= FEWEST and len(set(values)) > 1 and len(set(quality)) > 1:
            result[measure] = {
                "spearman": round(float(stats.spearmanr(values, quality).statistic), 4),
                "kendall": round(float(stats.kendalltau(values, quality).statistic), 4),
            }
    return result
