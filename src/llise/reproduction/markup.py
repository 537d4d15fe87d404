"""A page of headings, paragraphs, tables and figures, written as Markdown or as one self-contained HTML file.

Text may hold ``**bold**``, ``*emphasis*``, ```code``` and ``[links](address)``; a line break in a table's cell is
a line break.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path


@dataclass(frozen=True)
class Heading:
    """A heading; the first one, of level 1, is the title."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Items:
    """A list of points."""

    items: Sequence[str]


@dataclass(frozen=True)
class Code:
    """Commands to copy."""

    text: str


@dataclass(frozen=True)
class Table:
    """Cells as text; the first column holds the names of the rows."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    """A PNG file, by its name in the page's folder, and what it shows."""

    file: str
    caption: str


Part = Heading | Text | Items | Code | Table | Picture


def to_markdown(parts: Sequence[Part]) -> str:
    """The page as Markdown; pictures are linked."""
    return "\n\n".join(_markdown(part) for part in parts) + "\n"


def _markdown(part: Part) -> str:
    match part:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Text(text):
            return text
        case Items(items):
            return "\n".join(f"- {item}" for item in items)
        case Code(text):
            return f"```\n{text}\n```"
        case Table(head, rows):
            rule = "|".join(["---"] + ["---:"] * (len(head) - 1))
            lines = [" | ".join(row).replace("\n", "<br>") for row in (head, *rows)]
            return "\n".join([f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])])
        case Picture(file, caption):
            return f"![{caption}]({file})\n\n*{caption}*"
    raise TypeError(f"{part!r} is no part of a page")


def to_html(parts: Sequence[Part], folder: Path) -> str:
    """The page as HTML with style and pictures, which are read from ``folder``, inside."""
    templates = files("llise.output") / "templates"
    page = (templates / "document.html").read_text(encoding="utf-8")
    title = next((part.text for part in parts if isinstance(part, Heading)), "llise")
    page = page.replace("<!--title-->", html.escape(title))
    return page.replace("<!--body-->", "\n".join(_html(part, folder) for part in parts))


def _html(part: Part, folder: Path) -> str:
    match part:
        case Heading(text, level):
            return f"<h{level}>{_inline(text)}</h{level}>"
        case Text(text):
            return f"<p>{_inline(text)}</p>"
        case Items(items):
            return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>"
        case Code(text):
            return f"<pre><code>{html.escape(text)}</code></pre>"
        case Table(head, rows):
            top = "".join(f'<th scope="col">{_inline(cell)}</th>' for cell in head)
            body = "".join(f"<tr>{_html_row(row)}</tr>\n" for row in rows)
            return (
                f'<div class="frame" tabindex="0"><table><thead><tr>{top}</tr></thead>\n'
                f"<tbody>{body}</tbody></table></div>"
            )
        case Picture(file, caption):
            data = base64.b64encode((folder / file).read_bytes()).decode("ascii")
            said = _inline(caption)
            picture = f'<img alt="{html.escape(caption)}" src="data:image/png;base64,{data}">'
            return f"<figure>{picture}<figcaption>{said}</figcaption></figure>"
    raise TypeError(f"{part!r} is no part of a page")


def _html_row(row: Sequence[str]) -> str:
    first, *others = (_inline(cell) for cell in row)
    return f'<th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in others)


def _inline(text: str) -> str:
    """Bold, code, links and line breaks of a text whose other characters mean themselves."""
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"(?<!\*)\*([^*\s][^*]*)\*", r"<em>\1</em>", text)
    text = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", r'<a href="\2">\1</a>', text)
    return text.replace("\n", "<br>")
