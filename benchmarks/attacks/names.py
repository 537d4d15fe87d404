"""Hostile names of files in every form of output: table, CSV, JSON, report, document, messages."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
from PIL import Image

from attacks.program import call, picture, prepare
from llise import Diagnoser
from llise.output.markup import Text, code_span, to_html
from llise.output.page import HtmlReport

NAME = "hostile names"
COUNT = 60

FIXED = [
    "=1+1", "+1", "-1+2", "--json", "@SUM(1)", "\t=1", "\r=1", "\n=1", " =1", "\uff1d1", "=cmd|' calc'!A0", '"=1"',
    ";=1", "a,b", 'a"b', "a'b", "a\nb", "a\r\nb", "a\tb", "\x1b[31mred", "\x1b]0;title\x07", "\x1b[2J", "\x07",
    "\x08\x08", "\x7f", "\x9b31m", "\u202egnp", "\u2066x\u2069", "\u200b", "\u2028", "\u2029", "\ufeff", "\ufffe",
    "e\u0301", "\U0001f600", "\u4e2d\u6587", "caf\udce9", "\udcff\udcfe", "\udced\udca0\udc80", "<script>x()",
    "<\u200b!--", "]]>", "<img src=x onerror=x()>", "<!--data-->", "<!--policy-->", "<!--title-->", "<!--body-->",
    "&lt;b&gt;", "&#60;b&#62;", "' onclick='x()", '" style="x', "`x`", "``", "`[a](javascript:x())`", "![i](http:x)",
    "[a]: http:x", "<http:x>", "**b**", "|a|b|", "{{7*7}}", "${x}", "%s%n", "\\", "\\n", "$(x)", "~", "*", "n" * 251,
]  # fmt: skip
"""Names without their suffix, each for a weakness of one form."""

PATHS = ["</script><script>x()</script>", "</title><b>", "</style><b>", "--></h1><a href='x'>", "`</code><a href=x>`"]
"""Paths for the pages; a name cannot hold a slash."""


def run(scale: float, rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Send names through every form of output; return how many pairs of name and form, and what went wrong."""
    names = list(hostile_names(round(COUNT * scale), rng))
    prepare(folder)
    for name in names:
        Image.fromarray(picture()).save(os.fsencode(folder / name), "PNG")
        (folder / f"bad{name}"[:100]).write_bytes(b"no picture")
    checks = (check_rows, check_failures, check_messages, check_pages)
    failures = [f"{check.__name__}: {text}" for check in checks for text in check(names, folder)]
    return 12 * len(names), failures


def hostile_names(count: int, rng: np.random.Generator) -> Iterator[str]:
    """The fixed names, then random bytes; all can be names of files."""
    yield from (f"{name}.png" for name in FIXED)
    for _ in range(count - len(FIXED)):
        data = bytes(rng.integers(1, 256, rng.integers(1, 60), dtype=np.uint8)).replace(b"/", b"<")
        yield f"{os.fsdecode(data).lstrip('.')}x.png"


def shown(text: str) -> bool:
    """Whether a text can be shown on a terminal as it is: lines of printable characters."""
    return all(line.isprintable() for line in text.split("\n"))


def check_rows(names: list[str], folder: Path) -> Iterator[str]:
    """A row for each name in the table, in CSV and in JSON."""
    yield from _check_forms(names, folder, status=0)


def check_failures(names: list[str], folder: Path) -> Iterator[str]:
    """The same for files that are no pictures, besides a line on standard error for each."""
    yield from _check_forms([f"bad{name}"[:100] for name in names], folder, status=1)


def _check_forms(names: list[str], folder: Path, status: int) -> Iterator[str]:
    good = [] if status == 0 else ["copies/a.png"]
    for form in ("table", "csv", "json"):
        option = [] if form == "table" else [f"--{form}"]
        found, out, errors = call(folder, ["diagnose", *option, "--quiet", "--", "ref.png", *names, *good])
        if found != status or not shown(out) or not shown(errors):
            yield f"{form}: status {found}, or control characters on a stream"
        if status == 1 and errors.count("\n") != len(names):
            yield f"{form}: {errors.count(chr(10))} messages for {len(names)} bad files"
        expected = len(good) if form == "table" and status else len(names) + len(good)
        yield from (f"{form}: {problem}" for problem in READERS[form](out, expected))


def _read_table(out: str, expected: int) -> Iterator[str]:
    if len(out.splitlines()) != 1 + expected:
        yield f"{len(out.splitlines()) - 1} rows instead of {expected}"


def _read_csv(out: str, expected: int) -> Iterator[str]:
    rows = list(csv.DictReader(io.StringIO(out)))
    if len(rows) != expected:
        yield f"{len(rows)} rows instead of {expected}"
    for cell in (cell for row in rows for cell in row.values()):
        if re.match(r"\s*[=+\-@\uff1d]", cell) and not re.fullmatch(r"-?[\d.]+", cell):
            yield f"a cell begins a formula: {cell!a}"


def _read_json(out: str, expected: int) -> Iterator[str]:
    images = json.loads(out)["images"]
    if len(images) != expected or not out.isascii():
        yield f"{len(images)} entries instead of {expected}, or text that is not ASCII"
    try:
        json.dumps(images, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        yield f"a text that other parsers refuse: {error}"


READERS = {"table": _read_table, "csv": _read_csv, "json": _read_json}


def check_messages(names: list[str], folder: Path) -> Iterator[str]:
    """A name as the output, as a damaged picture, as a command and as a file that is absent."""
    for name in names:
        for arguments in (
            ["distort", "ref.png", "--kind", "blur", "--mse", "20", "-o", f"out-{name}"[-100:]],
            ["diagnose", "--", "ref.png", f"bad{name}"[:100]],
            ["--", name],
            ["diagnose", "--", "ref.png", f"absent{name}"],
        ):
            status, out, errors = call(folder, arguments)
            if status != (0 if arguments[0] == "distort" else 2 if arguments[0] == "--" else 1):
                yield f"{arguments[:1]} {name!a}: status {status} {errors!a}"
            if not shown(out + errors) or (out + errors).count("\n") != 1:
                yield f"{arguments[:1]} {name!a}: not one line that can be shown: {out + errors!a}"


class Elements(HTMLParser):
    """The elements of a page with their attributes' names, and where links lead."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))


def check_pages(names: list[str], folder: Path) -> Iterator[str]:
    """A name as the title and in the data of a report, and in a document: no element more than for a harmless name."""
    diagnoser = Diagnoser(picture())
    diagnosis = next(iter(diagnoser.diagnose([picture()])))

    def report(name: str) -> str:
        diagnosis.file = name
        with HtmlReport(folder / "report.html", diagnoser, f"Diagnosis against {name}") as page:
            page.add(diagnosis)
            page.add_failure(f"{name}: damaged")
        return (folder / "report.html").read_text(encoding="utf-8")

    def document(name: str) -> str:
        return to_html([Text(f"The reference is {code_span(name)}, once.")], folder)

    for make in (report, document):
        harmless = Elements(make("a.png")).elements
        for name in [*names, *PATHS]:
            page = make(name)
            if Elements(page).elements != harmless:
                yield f"{make.__name__}: {name!a} changes the elements of the page"
            if page.count('<meta http-equiv="Content-Security-Policy"') != 1 or "unsafe" in page.split("<title>")[0]:
                yield f"{make.__name__}: {name!a} has no policy"
