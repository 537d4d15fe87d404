"""Results of single methods kept as files, so that an interrupted run continues where it stopped."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tqdm import tqdm

from llise import __version__
from llise.output.text import json_text
from llise.storage.files import atomic_write

DIGITS = 6
"""Significant digits of the results; rounding errors begin beyond them."""

SHOWING = {"cli", "output", "report.py"} | {
    f"{name}.py" for name in ("claims", "figures", "findings", "narrative", "pages")
}
"""Files and folders that only show results: a change there leaves finished parts valid."""


class Parts:
    """Finished parts in a folder, each kept with a key made of everything that decides its result.

    Attributes
    ----------
    seconds : dict of str to float
        Time that each part took to compute, whether in this run or in an earlier one.
    """

    def __init__(self, folder: Path, common: dict[str, Any], bar: tqdm) -> None:
        self.folder, self.common, self.bar = folder, common, bar
        self.seconds: dict[str, float] = {}

    def get(self, name: str, details: list[str], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Read a part from its file, or compute and keep it."""
        self.bar.set_description(name)
        path = self.folder / f"{name.replace(', ', ' ').replace(' ', '-').lower()}.json"
        key = hashlib.sha256(json.dumps([self.common, name, details], sort_keys=True).encode()).hexdigest()
        part = stored_part(path, key)
        if part is None:
            started = time.perf_counter()
            result = rounded(compute())
            part = {"key": key, "result": result, "seconds": round(time.perf_counter() - started, 2)}
            write_json(path, part)
        self.seconds[name] = part["seconds"]
        self.bar.update()
        return part["result"]


def stored_part(path: Path, key: str) -> dict[str, Any] | None:
    """Read a part that was kept as a file."""
    try:
        part = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return part if isinstance(part, dict) and part.get("key") == key and "result" in part else None


def source_digest() -> str:
    """Hash the package's version and the source of all modules that compute results."""
    digest = hashlib.sha256(__version__.encode())
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in SHOWING and path.name not in SHOWING:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def rounded(value: Any) -> Any:
    """Round all floats in plain data, so that it equals what is read back from its file."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def write_json(path: Path, value: Any) -> None:
    """Write plain data as indented JSON, with each list of plain values on one line."""
    text = json_text(value, indent=1, sort_keys=True)
    text = re.sub(r"\[\n\s+[^\[\]{}]*\n\s+\]", lambda match: re.sub(r"\n\s*", " ", match[0]), text)
    with atomic_write(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(f"{text}\n")
