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

    Parameters
    ----------
    folder : Path
        Where the parts are kept; it must exist.
    common : dict
        Settings that all parts depend on.
    bar : tqdm
        Progress bar, advanced by one step a part.

    Attributes
    ----------
    seconds : dict of str to float
        Time that each part took to compute, whether in this run or in an earlier one.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> Parts(folder, {"seed": 0}, tqdm(disable=True)).get("LLE", [], lambda: {"accuracy": 0.5})
    {'accuracy': 0.5}
    >>> Parts(folder, {"seed": 0}, tqdm(disable=True)).get("LLE", [], lambda: {"accuracy": 0.9})
    {'accuracy': 0.5}
    """

    def __init__(self, folder: Path, common: dict[str, Any], bar: tqdm) -> None:
        self.folder, self.common, self.bar = folder, common, bar
        self.seconds: dict[str, float] = {}

    def get(self, name: str, details: list[str], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Read a part from its file, or compute and keep it.

        Parameters
        ----------
        name : str
            Name of the part; it gives the file's name.
        details : list of str
            What the result depends on besides the common settings.
        compute : callable
            Returns the result as plain data.

        Returns
        -------
        dict
            The result, rounded.
        """
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
    """Read a part that was kept as a file.

    Parameters
    ----------
    path : Path
        The file.
    key : str
        What the part depends on, in any form that is the same only if all of it is.

    Returns
    -------
    dict or None
        The part, with its ``result``; None for a missing or damaged one, or one with another key.

    Examples
    --------
    >>> stored_part(Path("absent.json"), "key") is None
    True
    """
    try:
        part = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return part if isinstance(part, dict) and part.get("key") == key and "result" in part else None


def source_digest() -> str:
    """Hash the package's version and the source of all modules that compute results.

    Parts that another version of the code has computed are thus not mixed with new ones.

    Returns
    -------
    str
        SHA-256 in hexadecimal digits.

    Examples
    --------
    >>> len(source_digest())
    64
    """
    digest = hashlib.sha256(__version__.encode())
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in SHOWING and path.name not in SHOWING:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def rounded(value: Any) -> Any:
    """Round all floats in plain data, so that it equals what is read back from its file.

    Parameters
    ----------
    value : dict, list, tuple, number, str or None
        Plain data, nested in any way.

    Returns
    -------
    dict, list, number, str or None
        The same data with floats of ``DIGITS`` significant digits and tuples as lists.

    Examples
    --------
    >>> rounded({"share": 1 / 3, "pair": (1, 2.00000001)})
    {'share': 0.333333, 'pair': [1, 2.0]}
    """
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def write_json(path: Path, value: Any) -> None:
    """Write plain data as indented JSON, with each list of plain values on one line.

    Parameters
    ----------
    path : Path
        The file.
    value : dict, list, number, str or None
        Plain data.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "value.json"
    >>> write_json(path, {"b": [1, 2], "a": None})
    >>> print(path.read_text(), end="")
    {
     "a": null,
     "b": [ 1, 2 ]
    }
    """
    text = json_text(value, indent=1, sort_keys=True)
    text = re.sub(r"\[\n\s+[^\[\]{}]*\n\s+\]", lambda match: re.sub(r"\n\s*", " ", match[0]), text)
    with atomic_write(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(f"{text}\n")
