"""Diagnoses as rows: a table for people, CSV and JSON for programs; each is written while images come."""

from __future__ import annotations

import csv
import json
import math
import shutil
import tempfile
from collections.abc import Iterable
from typing import IO, Any, Protocol

from llise.diagnosis.diagnoser import Diagnosis
from llise.labels import KINDS, LABELS
from llise.storage.files import printable

SCHEMA = 1


class Rows(Protocol):
    """What takes diagnoses and failures, one after the other."""

    def add(self, diagnosis: Diagnosis) -> None: ...

    def add_failure(self, file: str, message: str) -> None: ...

    def close(self) -> None: ...


def as_dict(diagnosis: Diagnosis) -> dict[str, Any]:
    """One entry of the JSON output; an infinite PSNR becomes None, since JSON has no infinity."""
    return {
        "file": diagnosis.file,
        "verdict": list(diagnosis.verdict),
        "confidence": float(diagnosis.confidence),
        "shares": {label: float(diagnosis.shares.get(label, 0.0)) for label in LABELS},
        "severity": {kind: float(mse) for kind, mse in diagnosis.severity.items()},
        "mse": float(diagnosis.mse),
        "psnr": float(diagnosis.psnr) if math.isfinite(diagnosis.psnr) else None,
        "ssim": float(diagnosis.ssim),
        "block_grid": list(diagnosis.block_grid),
        "block_labels": [[LABELS[code] for code in row] for row in diagnosis.block_labels],
    }


class Table:
    """Aligned columns; the first is as wide as the longest name."""

    HEAD = ("VERDICT", "SURE", "SEVERITY (MSE)", "PSNR", "SSIM")
    WIDTHS = (30, 5, 14, 6, 6)

    def __init__(self, out: IO[str], names: Iterable[str]):
        self.out = out
        self.width = max([4, *(len(printable(name)) for name in names)])
        self._started = False

    def add(self, diagnosis: Diagnosis) -> None:
        """Print one row, the head before the first."""
        if not self._started:
            self._print("FILE", *self.HEAD)
            self._started = True
        severity = " + ".join(f"{diagnosis.severity[kind]:.0f}" for kind in diagnosis.verdict if kind in KINDS)
        self._print(
            printable(diagnosis.file or ""),
            " + ".join(diagnosis.verdict),
            f"{100 * diagnosis.confidence:.0f} %",
            severity or "-",
            f"{diagnosis.psnr:.2f}",
            f"{diagnosis.ssim:.4f}",
        )

    def add_failure(self, file: str, message: str) -> None:
        """Leave the row out: the message goes to standard error."""

    def close(self) -> None:
        """Nothing is left to write."""

    def _print(self, name: str, verdict: str, *numbers: str) -> None:
        cells = [f"{verdict:{self.WIDTHS[0]}}"] + [f"{text:>{w}}" for text, w in zip(numbers, self.WIDTHS[1:])]
        print(f"{name:{self.width}}", *cells, sep="  ", file=self.out, flush=True)


class Csv:
    """One line an image; what failed has only its name and the error."""

    COLUMNS = (
        "file", "verdict", "confidence", *(f"share_{label}" for label in LABELS),
        *(f"severity_{kind}" for kind in KINDS), "mse", "psnr", "ssim", "error",
    )  # fmt: skip

    def __init__(self, out: IO[str]):
        self.out = out
        self.writer = csv.DictWriter(out, self.COLUMNS, restval="", lineterminator="\n")
        self.writer.writeheader()

    def add(self, diagnosis: Diagnosis) -> None:
        """Write one line."""
        row: dict[str, Any] = {
            "file": printable(diagnosis.file or ""),
            "verdict": "+".join(diagnosis.verdict),
            "confidence": f"{diagnosis.confidence:.4f}",
            **{f"share_{label}": f"{diagnosis.shares.get(label, 0.0):.6f}" for label in LABELS},
            **{f"severity_{kind}": f"{mse:.2f}" for kind, mse in diagnosis.severity.items() if kind in KINDS},
            "mse": f"{diagnosis.mse:.4f}",
            "psnr": f"{diagnosis.psnr:.4f}",
            "ssim": f"{diagnosis.ssim:.6f}",
        }
        self.writer.writerow(row)
        self.out.flush()

    def add_failure(self, file: str, message: str) -> None:
        """Write a line with the error."""
        self.writer.writerow({"file": printable(file), "error": printable(message)})
        self.out.flush()

    def close(self) -> None:
        """Nothing is left to write."""


class Json:
    """One object, printed as a whole at the end; until then it waits in a file, not in memory."""

    def __init__(self, out: IO[str], reference: str):
        self.out = out
        self._waiting = tempfile.SpooledTemporaryFile(max_size=16_000_000, mode="w+", encoding="ascii")  # noqa: SIM115
        self._waiting.write(f'{{"schema": {SCHEMA}, "reference": {json.dumps(reference)}, "images": [')
        self._between = "\n"

    def add(self, diagnosis: Diagnosis) -> None:
        """Take one image."""
        self._write(as_dict(diagnosis))

    def add_failure(self, file: str, message: str) -> None:
        """Take an image that could not be judged."""
        self._write({"file": file, "error": message})

    def close(self) -> None:
        """Print the object."""
        self._waiting.write("\n]}\n")
        self._waiting.seek(0)
        shutil.copyfileobj(self._waiting, self.out)
        self._waiting.close()

    def _write(self, entry: dict[str, Any]) -> None:
        self._waiting.write(self._between + json.dumps(entry, allow_nan=False))
        self._between = ",\n"
