"""The paper's table of test images as data, and what a table of that form comes to in counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from llise.reproduction.methods import METHODS


def paper_table() -> dict[str, Any]:
    """Read the paper's Table 1.

    Returns
    -------
    dict
        ``source``: the publication; ``images``: number and true kinds of each test image; ``methods``: for each
        method and image the top votes as (label, share).

    Examples
    --------
    >>> paper_table()["methods"]["LLISE"][0]
    [['contrast', 0.429], ['luminance', 0.228]]
    """
    return json.loads((files("llise.reproduction") / "data" / "paper_table1.json").read_text(encoding="utf-8"))


def summary(answers: Sequence[tuple[Sequence[str], Sequence, dict[str, float]]], blockwise: bool) -> dict[str, Any]:
    """Count over the test images how often the votes are right.

    Parameters
    ----------
    answers : sequence of (true kinds, top votes, shares)
        For each test image: its kinds, its first votes as (label, share), and the known shares by label.
    blockwise : bool
        Whether there are votes of blocks; otherwise the counts that need shares are None.

    Returns
    -------
    dict
        ``hits``: images with at least one true kind among the top votes; ``top_right``: images whose first vote is a
        true kind; ``pairs``: mixtures whose two kinds are the top two votes; ``single_share``: mean share of the true
        kind on single distortions, an unknown share counted as zero; ``share_unknown``: number of such shares; ``n``,
        ``n_single`` and ``n_mixtures``: numbers of images.

    Examples
    --------
    >>> counts = summary([(["blur"], [("jpeg", 0.5), ("blur", 0.4)], {"jpeg": 0.5, "blur": 0.4})], blockwise=True)
    >>> counts["hits"], counts["top_right"], counts["single_share"]
    (1, 0, 0.4)
    """
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
    """Summarise each method of the paper's table.

    Returns
    -------
    dict
        For each method what :func:`summary` counts.

    Examples
    --------
    >>> paper_summaries()["LLISE"]["hits"]
    12
    """
    table = paper_table()
    true = [entry["true"] for entry in table["images"]]
    blockwise = {method.name: method.blockwise for method in METHODS}
    return {
        name: summary([(kinds, votes, dict(votes)) for kinds, votes in zip(true, rows)], blockwise[name])
        for name, rows in table["methods"].items()
    }
