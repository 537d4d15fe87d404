"""Rules in a settings file: ``.llise.toml``, or ``[tool.llise]`` in ``pyproject.toml``, for all paths and by pattern.

.. code-block:: toml

    [check]
    min-ssim = 0.95
    allow = ["jpeg:60", "luminance:2"]

    [check.paths."icons/**"]
    max-mse = 0
    allow = []
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from llise.gate.rules import READERS, RuleError, Rules, make_rules, read_rule, suggestion

FILE_NAME = ".llise.toml"
PROJECT_FILE = "pyproject.toml"
PROJECT_TABLE = ("tool", "llise")


class SettingsError(ValueError):
    """A settings file cannot be used; the message names the file, the line and the key."""


@dataclass(frozen=True)
class Settings:
    """The rules of a settings file.

    Attributes
    ----------
    common : dict
        Rules for all paths, by key.
    by_pattern : dict of str to dict
        Rules for the paths that match a pattern; a later pattern outweighs an earlier one.
    file : Path or None
        Where they come from.
    """

    common: Mapping[str, Any] = field(default_factory=dict)
    by_pattern: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    file: Path | None = None

    def rules_for(self, name: str, options: Mapping[str, Any] | None = None) -> Rules:
        """Return the rules for a path."""
        values = dict(self.common)
        for pattern, rules in self.by_pattern.items():
            if matches(name, pattern):
                values |= rules
        return make_rules(values | {key: value for key, value in (options or {}).items() if value is not None})


def matches(name: str, pattern: str) -> bool:
    """Tell whether a path matches a pattern."""
    subject = name if "/" in pattern else name.rpartition("/")[2]
    return _expression(pattern).fullmatch(subject) is not None


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(parts.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)


def find_settings(start: Path) -> Settings:
    """Read the settings file of a folder, or of the nearest folder above it that has one."""
    for folder in (start, *start.parents):
        for name in (FILE_NAME, PROJECT_FILE):
            path = folder / name
            if path.is_file() and (name == FILE_NAME or _has_table(path)):
                return read_settings(path)
        if (folder / ".git").exists():
            break
    return Settings()


def _has_table(path: Path) -> bool:
    """Whether the file mentions the table; one that is not valid TOML is the concern of others unless it does."""
    try:
        return re.search(r"^\s*\[+\s*tool\s*\.\s*llise\b", path.read_text("utf-8"), re.MULTILINE) is not None
    except (OSError, ValueError):
        return False


def read_settings(path: Path) -> Settings:
    """Read a settings file."""
    try:
        text = path.read_text("utf-8")
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not valid TOML ({_located(str(error), text)}); correct it") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror}); check name and permissions") from None
    prefix = PROJECT_TABLE if path.name == PROJECT_FILE else ()
    return _Reader(path, text).read(content, prefix)


class _Reader:
    """Checks the content of a settings file and names the line of what is wrong."""

    def __init__(self, path: Path, text: str):
        self.path = path
        self.text = text

    def read(self, content: Any, prefix: tuple[str, ...]) -> Settings:
        for part in prefix:
            content = self.table(content, prefix).get(part, {})
        place = (*prefix, "check")
        for key in self.table(content, prefix):
            if key != "check":
                raise self.error((*prefix, key), f"is not a setting; {suggestion(key, ['check'])}")
        check = self.table(content.get("check", {}), place)
        common = self.rules({key: value for key, value in check.items() if key != "paths"}, place)
        by_pattern = {}
        for pattern, rules in self.table(check.get("paths", {}), (*place, "paths")).items():
            here = (*place, "paths", pattern)
            by_pattern[pattern] = self.rules(self.table(rules, here), here)
        return Settings(common, by_pattern, self.path)

    def table(self, value: Any, place: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.error(place, f"is {value!r}; expected a table of rules")
        return value

    def rules(self, values: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
        """The values, of which each must be a rule; a mask becomes relative to the current folder."""
        for key, value in values.items():
            if key not in READERS:
                known = (*READERS, "paths") if place[-1] == "check" else READERS
                raise self.error((*place, key), f"is not a setting; {suggestion(key, known)}")
            try:
                read_rule(key, value)
            except RuleError as error:
                raise self.error((*place, key), str(error).removeprefix(f"{key} ")) from None
        masks = {"mask": str(self.path.parent / values["mask"])} if "mask" in values else {}
        return values | masks

    def error(self, place: tuple[str, ...], problem: str) -> SettingsError:
        line = line_of(self.text, place)
        return SettingsError(f"{self.path}, line {line}: {'.'.join(place)} {problem}")


def line_of(text: str, place: Sequence[str]) -> int:
    """Find the line of a TOML file that defines a key; tomllib does not tell."""
    table: list[str] = []
    best, depth = 1, 0
    for number, line in enumerate(text.splitlines(), start=1):
        key = _keys(line)
        if key is None:
            continue
        if line.lstrip().startswith("["):
            table = key
            key = []
        here = [*table, *key]
        if len(here) > depth and here == list(place[: len(here)]):
            best, depth = number, len(here)
    return best


def _keys(line: str) -> list[str] | None:
    """Names of the table or key that a line begins with; None for other lines."""
    head = re.match(r"""\s*(?:\[[^#]*\]|(?:"[^"]*"|'[^']*'|[\w.\s-])+=)""", line)
    if head is None:
        return None
    try:
        content = tomllib.loads(head[0] + ("0" if head[0].endswith("=") else ""))
    except tomllib.TOMLDecodeError:
        return None
    names = []
    while isinstance(content, dict) and content:
        ((name, content),) = content.items()
        names.append(name)
    return names


def _located(message: str, text: str) -> str:
    """tomllib's message with the line and its text: "line 3, 'max-mse 4': Expected '=' after a key"."""
    place = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", message, re.DOTALL)
    lines = text.rstrip().splitlines()
    if not place or not lines:
        return message
    number = min(int(place[2] or len(lines)), len(lines))
    return f"line {number}, {lines[number - 1].strip()[:60]!r}: {place[1]}"
