"""The outcomes of a gate in files and on standard output: what all forms share, the lines and the JSON.

Every form is written pair by pair; what cannot be known before the end, such as the number of failures, stands at the
beginning all the same, because the pairs wait in a temporary file. Memory does not grow with their number.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from pathlib import Path
from typing import IO, Any

from llise.gate.outcome import Measures, Outcome, Status, gravest
from llise.output.gate_words import outcome_line, reason, summary
from llise.output.text import json_text
from llise.storage.files import atomic_write, printable

SCHEMA = 1
"""Version of the JSON output, described by check.schema.json."""

IN_MEMORY = 4_000_000
"""Characters that are held in memory before a temporary file is used."""


class GateReport(ABC):
    """A form of output to which outcomes are added one after the other."""

    def __init__(self) -> None:
        self.counts: Counter[Status] = Counter()
        self._body = tempfile.SpooledTemporaryFile(  # noqa: SIM115
            IN_MEMORY, "w+", encoding="utf-8", errors="backslashreplace"
        )

    def add(self, outcome: Outcome) -> None:
        """Add a pair."""
        self._body.write(self.entry(outcome))
        self.counts[outcome.status] += 1

    def print_to(self, out: IO[str]) -> None:
        """Print everything; nothing can be added after that."""
        out.write(self.head())
        self._body.seek(0)
        shutil.copyfileobj(self._body, out)
        out.write(self.tail())
        self._body.close()

    def write(self, path: Path) -> None:
        """Write everything to a file, which is complete or not there."""
        with atomic_write(path, "w") as file:
            self.print_to(file)

    @property
    def status(self) -> Status:
        """Status of all pairs together."""
        return gravest(self.counts)

    @abstractmethod
    def entry(self, outcome: Outcome) -> str:
        """Return the text of one pair."""

    @abstractmethod
    def head(self) -> str:
        """Return what comes before the pairs."""

    @abstractmethod
    def tail(self) -> str:
        """Return what comes after the pairs."""


class GateLines:
    """A line for each pair, printed at once, and the number of failures if there are several pairs."""

    def __init__(self, out: IO[str]) -> None:
        self.out = out
        self.counts: Counter[Status] = Counter()

    def add(self, outcome: Outcome) -> None:
        """Print the line of a pair."""
        print(printable(outcome_line(outcome)), file=self.out, flush=True)
        self.counts[outcome.status] += 1

    def close(self) -> None:
        """Print the summary."""
        if self.counts.total() != 1:
            print(summary(self.counts), file=self.out, flush=True)


class GateJson(GateReport):
    """One JSON object."""

    def entry(self, outcome: Outcome) -> str:
        return f"{',' if self.counts.total() else ''}\n{json_text(outcome_dict(outcome))}"

    def head(self) -> str:
        counts = {status.value: self.counts[status] for status in Status}
        status = {"status": self.status.value, "exit_status": self.status.exit_status}
        values = {"schema": SCHEMA, **status, "counts": counts}
        return f'{json_text(values)[:-1]}, "pairs": ['

    def tail(self) -> str:
        return "\n]}\n"


def outcome_dict(outcome: Outcome) -> dict[str, Any]:
    """Make one entry of the JSON output."""
    return {
        "name": outcome.name,
        "reference": outcome.reference,
        "copy": outcome.copy,
        "status": outcome.status.value,
        "reason": reason(outcome),
        "measures": _measures_dict(outcome.measures) if outcome.measures else None,
        "broken_limits": list(outcome.broken),
        "is_copy": outcome.is_copy,
        "faults": [_fault_dict(judged) for judged in outcome.faults],
    }


def _measures_dict(measures: Measures) -> dict[str, float | None]:
    return {
        "mse": measures.mse,
        "psnr": measures.psnr if math.isfinite(measures.psnr) else None,
        "ssim": measures.ssim,
        "area": 100 * measures.area,
        "color_difference": measures.color_difference,
    }


def _fault_dict(judged: Any) -> dict[str, Any]:
    from llise.output.rows import fault_dict

    return {**fault_dict(judged.fault), "allowed": judged.status is Status.PASS}
