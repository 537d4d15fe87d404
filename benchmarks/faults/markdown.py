"""Markdown: rows and heads of tables, and shares in their cells."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def share(values: Iterable[bool]) -> str:
    """Return the share of true values and their number; nothing where there is none."""
    values = list(values)
    return f"{np.mean(values):.3f} ({len(values)})" if values else ""


def row(cells: Iterable[str]) -> None:
    """Print one row."""
    print("| " + " | ".join(cells) + " |")


def head(title: str, cells: list[str]) -> None:
    """Print a title and the first row of a table."""
    print(f"\n### {title}\n")
    row(cells)
    print("|" + "---|" * len(cells))
