"""The outcomes of a gate as Markdown for a comment on a pull request, with small pictures of what failed.

Sites such as GitHub show no pictures that are part of the text, so the pictures are files in a folder beside it.
"""

from __future__ import annotations

import html
from pathlib import Path
from urllib.parse import quote

from llise.gate.outcome import Outcome, Status
from llise.output.gate_reports import GateReport
from llise.output.gate_words import TITLES, reason, summary
from llise.storage.files import atomic_write, printable

MOST_ROWS = 50
"""Pairs that are listed: a comment on GitHub holds 65 536 characters."""

MOST_TEXT = 500
"""Characters of a name or reason that are shown."""

SYMBOLS = {Status.PASS: "✅", Status.FAIL: "❌", Status.UNKNOWN: "❓", Status.ERROR: "⚠️"}


class Markdown(GateReport):
    """A heading, and a table of the pairs that did not pass."""

    def __init__(self, path: Path, picture_url: str | None = None) -> None:
        super().__init__()
        self.folder = path.with_name(f"{path.stem}-pictures")
        self.picture_url = quote(self.folder.name) if picture_url is None else picture_url.rstrip("/")
        self.rows = 0
        self.pictures: dict[str, bytes] = {}

    def entry(self, outcome: Outcome) -> str:
        if outcome.status is Status.PASS:
            return ""
        self.rows += 1
        if self.rows > MOST_ROWS:
            return ""
        words = _escaped(reason(outcome))
        if outcome.status is Status.ERROR:  # the message may hold names of files, in which an @ would notify somebody
            words = f"<code>{words}</code>"
        cells = f"{SYMBOLS[outcome.status]} {TITLES[outcome.status]}", f"<code>{_escaped(outcome.name)}</code>", words
        row = "".join(f"<td>{cell}</td>" for cell in (*cells, self._picture(outcome)))
        return f"<tr>{row}</tr>\n"

    def head(self) -> str:
        title = f"### {SYMBOLS[self.status]} llise check: {summary(self.counts)}\n"
        if not self.rows:
            return title
        names = "".join(f"<th>{name}</th>" for name in ("Result", "File", "Why", "Reference, copy, difference"))
        return f"{title}\n<table>\n<tr>{names}</tr>\n"

    def tail(self) -> str:
        if not self.rows:
            return ""
        more = self.rows - MOST_ROWS
        return "</table>\n" + (f"\nand {more} more that did not pass.\n" if more > 0 else "")

    def write(self, path: Path) -> None:
        if self.pictures:
            self.folder.mkdir(exist_ok=True)
        for name, content in self.pictures.items():
            with atomic_write(self.folder / name) as file:
                file.write(content)
        super().write(path)

    def _picture(self, outcome: Outcome) -> str:
        """The element that shows the picture of a pair, which is written with the file."""
        if "strip" not in outcome.pictures:
            return ""
        name = f"{self.rows}.webp"
        self.pictures[name] = outcome.pictures["strip"]
        address = html.escape(f"{self.picture_url}/{name}")
        return f'<img src="{address}" alt="reference, copy and difference" width="480">'


def _escaped(text: str) -> str:
    """Text in an HTML element, on one line and of moderate length."""
    line = printable(text)
    return html.escape(line if len(line) <= MOST_TEXT else f"{line[: MOST_TEXT - 3]}...")
