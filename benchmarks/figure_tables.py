"""Tables as Markdown and as JSON: shares with their intervals, numbers, words."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple


class Share(NamedTuple):
    """So many of so many."""

    right: int
    n: int

    def interval(self) -> tuple[float, float]:
        """Bounds of the true share, with 95 % (Wilson 1927)."""
        z, n, p = 1.959964, self.n, self.right / self.n
        middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max((middle - half) / (1 + z * z / n), 0.0), min((middle + half) / (1 + z * z / n), 1.0)


Cell = str | int | float | Share | None


@dataclass
class Table:
    """A table with its title and a sentence on how to read it."""

    title: str
    columns: list[str]
    rows: list[list[Cell]] = field(default_factory=list)
    note: str = ""

    def markdown(self) -> str:
        """The table as Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *([_text(cell) for cell in row] for row in self.rows)]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return "\n\n".join(part for part in (f"### {self.title}", self.note, body) if part)

    def plain(self) -> dict[str, Any]:
        """The table as JSON holds it."""
        rows = [[_plain(cell) for cell in row] for row in self.rows]
        return {"title": self.title, "note": self.note, "columns": self.columns, "rows": rows}


def _text(cell: Cell) -> str:
    if isinstance(cell, Share):
        if not cell.n:
            return ""
        low, high = cell.interval()
        return f"{cell.right / cell.n:.3f} [{low:.2f}, {high:.2f}] {cell.n}"
    return f"{cell:.3g}" if isinstance(cell, float) else "" if cell is None else str(cell).replace("|", "\\|")


def _plain(cell: Cell) -> Any:
    if not isinstance(cell, Share):
        return cell
    low, high = cell.interval() if cell.n else (None, None)
    return {
        "right": cell.right,
        "n": cell.n,
        "share": cell.right / cell.n if cell.n else None,
        "low": low,
        "high": high,
    }


def put(text: str, document: Path, name: str) -> None:
    """Replace what stands between the marks of a name in a document."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    whole = document.read_text(encoding="utf-8")
    if whole.count(begin) != 1 or whole.count(end) != 1:
        raise SystemExit(f"{document}: expected the lines {begin.strip()} and {end} once each")
    before, rest = whole.split(begin)
    part = document.with_name(document.name + ".part")
    part.write_text(before + begin + text.strip() + "\n" + end + rest.split(end)[1], encoding="utf-8")
    os.replace(part, document)
