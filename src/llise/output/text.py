"""Text from outside, such as the names of files, in the forms of output: JSON and cells of a spreadsheet.

Lines for a terminal go through :func:`llise.storage.files.printable`, HTML through :func:`llise.output.policy.sealed`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from llise.storage.files import printable

FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]")
"""Begin of a cell that a spreadsheet may compute; also in full-width characters."""

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?(e[+-]?\d+)?|inf|nan)")

UNUSUAL = re.compile("[\x7f-\U0010ffff]")


def csv_cell(value: object) -> str:
    """Write a cell of a CSV file that no spreadsheet takes for a formula."""
    text = str(value)
    cell = printable(text)
    return f"'{cell}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else cell


def json_text(value: Any, **options: Any) -> str:
    """Write JSON in ASCII that every parser accepts."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, **options)
    return text if text.isascii() and "\x7f" not in text else UNUSUAL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xD800 <= code < 0xE000:  # half of a character: the escape is shown, not read
        return f"\\\\u{code:04x}"
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
