"""The paper's table of test images as data, and what a table of that form comes to in counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from llise.reproduction.methods import METHODS


def paper_table() -> dict[str, Any]:
    """Read the paper's Table 1."""
    return json.loads((files("llise.reproduction") / "data" / "paper_table1.json").read_text(encoding="utf-8"))


def summary(answers: Sequence[tuple[Sequence[str], Sequence, dict[str, float]]], blockwise: bool) -> dict[str, Any]:
    """Count over the test images how often the votes are right."""
    tops = [(true, [label for label, _ in top]) for true, top, _ in answers]
    singles = [(true[0], shares) for true, _, shares in answers if len(true) == 1]
    return {
        "n": len(answers),
        "n_single": len(singles),
        "n_mixtures": len(answers) - len(singles),
        "hits": sum(bool(set(true) & set(labels)) for true, labels in tops),
        "top_right": sum(labels[0] in true for true, labels in tops),
        "pairs": sum(len(true) > 1 and set(true) == set(labels) for true, labels in tops) if blockwise else None,
        "single_share": float(np.mean([shares.get(kind, 0.0) for kind, shares in singles])) if blockwise else None,
        "share_unknown": sum(kind not in shares for kind, shares in singles) if blockwise else None,
    }


def paper_summaries() -> dict[str, Any]:
    """Summarise each method of the paper's table."""
    table = paper_table()
    true = [entry["true"] for entry in table["images"]]
    blockwise = {method.name: method.blockwise for method in METHODS}
    return {
        name: summary([(kinds, votes, dict(votes)) for kinds, votes in zip(true, rows)], blockwise[name])
        for name, rows in table["methods"].items()
    }
