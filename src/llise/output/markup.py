"""A page of headings, paragraphs, tables and pictures, as Markdown or as one self-contained HTML file; tables as text.

Text may hold Markdown; a line break in a table's cell is a line break.  Markdown becomes HTML through markdown-it-py
(extra ``plot``).
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from llise.output.policy import sealed
from llise.storage.files import printable

try:
    from markdown_it import MarkdownIt
except ImportError as error:
    raise ImportError("pages are made with markdown-it-py; install it with pip install 'llise[plot]'") from error


@dataclass(frozen=True)
class Heading:
    """A heading; the first one, of level 1, is the title of the page."""

    text: str
    level: int = 2

    @property
    def markdown(self) -> str:
        """The heading as Markdown."""
        return f"{'#' * self.level} {self.text}"


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str

    @property
    def markdown(self) -> str:
        """The paragraph as Markdown."""
        return self.text


@dataclass(frozen=True)
class Items:
    """A list of points."""

    items: Sequence[str]

    @property
    def markdown(self) -> str:
        """The list as Markdown."""
        return "\n".join(f"- {item}" for item in self.items)


@dataclass(frozen=True)
class Code:
    """Commands to copy."""

    text: str

    @property
    def markdown(self) -> str:
        """The commands as Markdown."""
        return f"```\n{self.text}\n```"


@dataclass(frozen=True)
class Table:
    """A table; its first column holds the names of the rows."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def markdown(self) -> str:
        """The table as Markdown."""
        rule = "|".join(["---"] + ["---:"] * (len(self.head) - 1))
        head, *rows = (" | ".join(row).replace("\n", "<br>") for row in (self.head, *self.rows))
        return "\n".join([f"| {head} |", f"|{rule}|", *(f"| {row} |" for row in rows)])


@dataclass(frozen=True)
class Picture:
    """A PNG file with a caption."""

    file: str
    caption: str

    @property
    def markdown(self) -> str:
        """A link to the picture, and its caption, as Markdown."""
        return f"![{self.caption}]({self.file})\n\n*{self.caption}*"


Part = Heading | Text | Items | Code | Table | Picture


def to_markdown(parts: Sequence[Part]) -> str:
    """Write a page as Markdown; pictures are linked."""
    return "\n\n".join(part.markdown for part in parts) + "\n"


def to_text(table: Table) -> str:
    """Write a table for a terminal."""
    rows = [[_plain(cell) for cell in row] for row in (table.head, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:]))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _plain(cell: str) -> str:
    return cell.replace("\n", " ").replace("**", "").replace("→", "   ")


def to_html(parts: Sequence[Part], folder: Path) -> str:
    """Write a page as HTML with style and pictures inside."""
    page = (files("llise.output") / "templates" / "document.html").read_text(encoding="utf-8")
    title = next((part.text for part in parts if isinstance(part, Heading)), "llise")
    markdown = _renderer()
    body = [_figure(part, folder, markdown) if isinstance(part, Picture) else _render(part, markdown) for part in parts]
    return sealed(page).replace("<!--title-->", html.escape(title)).replace("<!--body-->", "\n".join(body))


def code_span(text: str) -> str:
    """Write any text, such as a file's name, as a Markdown code span that it cannot leave."""
    line = printable(text)
    longest = max(map(len, re.findall("`+", line)), default=0)
    fence, space = "`" * (longest + 1), " " if longest or line != line.strip() else ""
    return f"{fence}{space}{line}{space}{fence}"


def _renderer() -> MarkdownIt:
    """CommonMark with tables; HTML in the text is shown as it is written, line breaks excepted."""
    markdown = MarkdownIt("commonmark").enable("table")

    def shown(renderer: Any, tokens: Sequence[Any], index: int, *_: Any) -> str:
        content = tokens[index].content
        return content if content == "<br>" else html.escape(content)

    for rule in ("html_inline", "html_block"):
        markdown.add_render_rule(rule, shown)
    return markdown


def _render(part: Part, markdown: MarkdownIt) -> str:
    tokens = markdown.parse(part.markdown)
    if isinstance(part, Table):
        _mark_heads(tokens)
    text = markdown.renderer.render(tokens, markdown.options, {}).strip()
    return f'<div class="frame" tabindex="0">{text}</div>' if isinstance(part, Table) else text


def _mark_heads(tokens: Sequence[Any]) -> None:
    """Make the first cell of each row its head, and leave the alignment to the style sheet."""
    first = False
    for token in tokens:
        if token.type in ("th_open", "td_open"):
            token.attrs = {"scope": "col"} if token.type == "th_open" else {"scope": "row"} if first else {}
        if token.type in ("td_open", "td_close") and first:
            token.tag = "th"
            first = token.type == "td_open"
        if token.type == "tr_open":
            first = True


def _figure(picture: Picture, folder: Path, markdown: MarkdownIt) -> str:
    """A picture with its caption; in dark mode the file of the same name in the subfolder ``dark``, if there is one."""
    light = folder / picture.file
    dark = light.parent / "dark" / light.name
    source = (
        f'<source media="screen and (prefers-color-scheme: dark)" srcset="{_png_uri(dark)}">' if dark.is_file() else ""
    )
    image = f'<img alt="{html.escape(picture.caption)}" src="{_png_uri(light)}">'
    caption = markdown.renderInline(picture.caption)
    return f"<figure><picture>{source}{image}</picture><figcaption>{caption}</figcaption></figure>"


def _png_uri(path: Path) -> str:
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
