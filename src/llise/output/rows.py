"""Diagnoses as rows: a table for people, CSV and JSON for programs.

Each row is written as soon as its image is diagnosed.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Sequence
from typing import IO, Any, Protocol

from llise.diagnosis.color_measures import ColorMeasures
from llise.diagnosis.result import Diagnosis, Fault
from llise.labels import COLOR_KINDS
from llise.output.csv_rows import Csv
from llise.output.runs import block_runs
from llise.output.settings import impulse_count, setting_words
from llise.output.text import json_text
from llise.output.words import area_words, place_words
from llise.storage.files import printable

__all__ = ["Csv", "Json", "Rows", "Table", "as_dict", "color_dict", "fault_dict"]

SCHEMA = 2
"""Version of the JSON output, described by diagnose.schema.json."""

LINE = 120
"""Columns of a terminal that a table should not exceed."""


class Rows(Protocol):
    """A form of output to which diagnoses and failures are added one after the other."""

    def add(self, diagnosis: Diagnosis) -> None:
        """Add the diagnosis of one image."""

    def add_failure(self, file: str, message: str) -> None:
        """Add an image that could not be diagnosed."""

    def close(self) -> None:
        """Finish the output."""


def as_dict(diagnosis: Diagnosis) -> dict[str, Any]:
    """Make one entry of the JSON output."""
    more: dict[str, Any] = {} if diagnosis.color is None else {"color": color_dict(diagnosis.color)}
    if diagnosis.model is not None:
        more["model"] = diagnosis.model._asdict()
    if diagnosis.rounding is not None:
        more["rounding"] = {"share": float(diagnosis.rounding.share), "largest": int(diagnosis.rounding.largest)}
    return {
        "file": diagnosis.file,
        "verdict": list(diagnosis.verdict),
        "confidence": float(diagnosis.confidence),
        "shares": {label: float(diagnosis.shares.get(label, 0.0)) for label in _labels(diagnosis)},
        "severity": {kind: float(mse) for kind, mse in diagnosis.severity.items()},
        "mse": float(diagnosis.mse),
        "psnr": _finite(diagnosis.psnr),
        "ssim": float(diagnosis.ssim),
        "block_grid": list(diagnosis.block_grid),
        "block_labels": [[diagnosis.labels[code] for code in row] for row in diagnosis.block_labels],
        "is_copy": bool(diagnosis.is_copy),
        "faults": [fault_dict(fault) for fault in diagnosis.faults],
        **more,
    }


def _labels(diagnosis: Diagnosis) -> list[str]:
    """Labels that blocks can have; those of colour faults only where there are colours."""
    return [label for label in diagnosis.labels if diagnosis.color is not None or label not in COLOR_KINDS]


def color_dict(measures: ColorMeasures) -> dict[str, Any]:
    """Make the entry of colour measures in JSON output."""
    return {
        "difference": {"mean": measures.difference_mean, "p95": measures.difference_p95},
        "mse": measures.mse,
        "psnr": _finite(measures.psnr),
        "planes": {
            name: {"psnr": _finite(values["psnr"]), "ssim": float(values["ssim"])}
            for name, values in measures.planes.items()
        },
    }


def fault_dict(fault: Fault) -> dict[str, Any]:
    """Make the entry of a fault in JSON output."""
    return {
        "kinds": list(fault.kinds),
        "confidence": float(fault.confidence),
        "box": [int(side) for side in fault.box],
        "area": float(fault.area),
        "severity": {kind: float(mse) for kind, mse in fault.severity.items()},
        "estimate": {
            kind: {
                name: {"value": _finite(setting.value), "low": _finite(setting.low), "high": _finite(setting.high)}
                for name, setting in settings.items()
            }
            for kind, settings in fault.estimate.items()
        },
        "explained": float(fault.explained),
        "p_value": float(fault.p_value),
        "nature": list(fault.nature),
        "nearest_kinds": list(fault.nearest_kinds),
        "boxes": [[int(side) for side in box] for box in fault.boxes],
        "blocks": block_runs(fault.region),
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


class Table:
    """Aligned columns of at most 120 characters, one line for each fault."""

    HEAD: tuple[str, ...] = ("VERDICT", "WHERE", "ESTIMATE", "SURE", "SEVERITY", "PSNR", "SSIM")
    WIDTHS: tuple[int, ...] = (24, 16, 20, 4, 8, 5, 6)
    WIDEST = LINE - sum(WIDTHS) - 2 * len(WIDTHS)  # of the names
    COLOR = ("DE00", 5)  # the column of colour pictures
    N_WORDS = 3  # columns of words, aligned at the left; the numbers are aligned at the right

    def __init__(self, out: IO[str], names: Sequence[str], color: bool = False):
        self.out = out
        self.color = color
        if color:
            self.HEAD, self.WIDTHS = (*self.HEAD, self.COLOR[0]), (*self.WIDTHS, self.COLOR[1])
            self.WIDEST -= self.COLOR[1] + 2
        too_long = max((len(printable(name)) for name in names), default=0) > self.WIDEST
        self.folder = _shared_folder(names) if too_long else ""
        self.width = max([len("FILE"), *(len(self._short(name)) for name in names)])
        self._started = False

    def add(self, diagnosis: Diagnosis) -> None:
        """Print the lines of one image; the first is preceded by the head."""
        if not self._started:
            self._print("FILE", *self.HEAD)
            self._started = True
        measures: tuple[str, ...] = f"{diagnosis.psnr:.2f}", f"{diagnosis.ssim:.4f}"
        if self.color:
            measures += (f"{diagnosis.color.difference_mean:.2f}" if diagnosis.color else "-",)
        name = self._short(diagnosis.file or "")
        if not diagnosis.faults:
            self._print(name, "original", "-", "-", _percent(diagnosis.confidence), "-", *measures)
        for number, fault in enumerate(diagnosis.faults):
            cells = self._cells(fault, diagnosis)
            self._print(*((name, *cells, *measures) if number == 0 else ("", *cells)))

    def add_failure(self, file: str, message: str) -> None:
        """Print nothing: the message goes to standard error."""

    def close(self) -> None:
        """Do nothing: everything is written already."""

    def _short(self, name: str) -> str:
        text = printable(name.removeprefix(self.folder))
        half = self.WIDEST // 2
        return text if len(text) <= self.WIDEST else f"{text[: self.WIDEST - half - 3]}...{text[-half:]}"

    def _cells(self, fault: Fault, diagnosis: Diagnosis) -> tuple[str, ...]:
        place = place_words(fault)
        if place != "whole picture":
            place = f"{place} {area_words(fault.area).replace(' ', '')}"
        count = impulse_count(fault, diagnosis.n_pixels)
        settings = [setting_words(kind, fault.estimate.get(kind, {}), count) for kind in fault.kinds]
        return (
            "+".join(fault.kinds) if diagnosis.is_copy else "not a copy",
            place,
            ", ".join(filter(None, settings)) or "-",
            _percent(fault.confidence),
            "+".join(f"{mse:.0f}" for mse in fault.severity.values()) or "-",
        )

    def _print(self, name: str, *cells: str) -> None:
        words = [f"{text:{width}}" for text, width in zip(cells[: self.N_WORDS], self.WIDTHS)]
        numbers = [f"{text:>{width}}" for text, width in zip(cells[self.N_WORDS :], self.WIDTHS[self.N_WORDS :])]
        print("  ".join([f"{name:{self.width}}", *words, *numbers]).rstrip(), file=self.out, flush=True)


def _shared_folder(names: Sequence[str]) -> str:
    """The folder in which all files lie, with a slash at its end; empty if there is none."""
    folder = names[0].rpartition("/")[0]
    while folder and not all(name.startswith(f"{folder}/") for name in names):
        folder = folder.rpartition("/")[0]
    return f"{folder}/" if folder else ""


class Json:
    """One JSON object, printed as a whole at the end; until then it is kept in a temporary file, not in memory."""

    def __init__(self, out: IO[str], reference: str):
        self.out = out
        self._buffer = tempfile.SpooledTemporaryFile(max_size=16_000_000, mode="w+", encoding="ascii")  # noqa: SIM115
        self._buffer.write(f'{{"schema": {SCHEMA}, "reference": {json_text(reference)}, "images": [')
        self._separator = "\n"

    def add(self, diagnosis: Diagnosis) -> None:
        """Add one image."""
        self._write(as_dict(diagnosis))

    def add_failure(self, file: str, message: str) -> None:
        """Add an image that could not be diagnosed."""
        self._write({"file": file, "error": message})

    def close(self) -> None:
        """Print the object."""
        self._buffer.write("\n]}\n")
        self._buffer.seek(0)
        shutil.copyfileobj(self._buffer, self.out)
        self._buffer.close()

    def _write(self, entry: dict[str, Any]) -> None:
        self._buffer.write(self._separator + json_text(entry))
        self._separator = ",\n"
