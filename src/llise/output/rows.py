"""Diagnoses as rows: a table for people, CSV and JSON for programs.

Each row is written as soon as its image is diagnosed.
"""

from __future__ import annotations

import csv
import math
import shutil
import tempfile
from collections.abc import Sequence
from typing import IO, Any, Protocol

from llise.diagnosis.result import Diagnosis, Fault
from llise.diagnosis.sets import UNKNOWN
from llise.labels import FURTHER_KINDS, KINDS, LABELS, MISALIGNMENT
from llise.output.runs import block_runs
from llise.output.settings import impulse_count, setting_words
from llise.output.text import csv_cell, json_text
from llise.output.words import area_words, place_words, verdict_sentence
from llise.storage.files import printable

SCHEMA = 2
"""Version of the JSON output, described by diagnose.schema.json."""

ALIGNMENT = ("shift_x", "shift_y", "rotation", "scale")
"""Settings of a misalignment, each a column of its own in CSV output."""

LINE = 120
"""Columns of a terminal that a table should not exceed."""


class Rows(Protocol):
    """A form of output to which diagnoses and failures are added one after the other."""

    def add(self, diagnosis: Diagnosis) -> None:
        """Add the diagnosis of one image.

        Parameters
        ----------
        diagnosis : Diagnosis
            The diagnosis of one image.
        """

    def add_failure(self, file: str, message: str) -> None:
        """Add an image that could not be diagnosed.

        Parameters
        ----------
        file : str
            Name of the image.
        message : str
            Why it could not be diagnosed.
        """

    def close(self) -> None:
        """Finish the output."""


def as_dict(diagnosis: Diagnosis) -> dict[str, Any]:
    """Make one entry of the JSON output.

    Parameters
    ----------
    diagnosis : Diagnosis
        The diagnosis of one image.

    Returns
    -------
    dict
        Plain data; an infinite PSNR becomes None, since JSON has no infinity.

    Examples
    --------
    >>> as_dict(diagnosis)["verdict"]  # doctest: +SKIP
    ['blur', 'gaussian_noise']
    """
    return {
        "file": diagnosis.file,
        "verdict": list(diagnosis.verdict),
        "confidence": float(diagnosis.confidence),
        "shares": {label: float(diagnosis.shares.get(label, 0.0)) for label in diagnosis.labels},
        "severity": {kind: float(mse) for kind, mse in diagnosis.severity.items()},
        "mse": float(diagnosis.mse),
        "psnr": _finite(diagnosis.psnr),
        "ssim": float(diagnosis.ssim),
        "block_grid": list(diagnosis.block_grid),
        "block_labels": [[diagnosis.labels[code] for code in row] for row in diagnosis.block_labels],
        "is_copy": bool(diagnosis.is_copy),
        "faults": [fault_dict(fault) for fault in diagnosis.faults],
    }


def fault_dict(fault: Fault) -> dict[str, Any]:
    """Make the entry of a fault in JSON output.

    Parameters
    ----------
    fault : Fault
        The fault.

    Returns
    -------
    dict
        Plain data.

    Examples
    --------
    >>> import numpy as np
    >>> fault_dict(Fault(("blur",), 0.9, np.ones((1, 1), bool), (0, 0, 8, 8), 1.0, {"blur": 80.0}))["blocks"]
    [[0, 0, 0]]
    """
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
    """Aligned columns of at most 120 characters, one line for each fault.

    Parameters
    ----------
    out : file
        Text is written to it.
    names : sequence of str
        Names of all images, which decide the width of the first column. Where the lines would be too long, the folder
        that all images share is left out; a name that is still too long is shortened in its middle.

    Examples
    --------
    >>> import sys
    >>> table = Table(sys.stdout, ["a.png", "b.png"])
    >>> table.add(diagnosis)  # doctest: +SKIP
    FILE   VERDICT                   WHERE             ESTIMATE              SURE  SEVERITY   PSNR    SSIM
    a.png  jpeg                      whole picture     quality 12             97%       312  23.19  0.7100
           blur                      lower left 15%    2.1 px                 91%        80
    """

    HEAD = ("VERDICT", "WHERE", "ESTIMATE", "SURE", "SEVERITY", "PSNR", "SSIM")
    WIDTHS = (24, 16, 20, 4, 8, 5, 6)
    WIDEST = LINE - sum(WIDTHS) - 2 * len(WIDTHS)  # of the names
    N_WORDS = 3  # columns of words, aligned at the left; the numbers are aligned at the right

    def __init__(self, out: IO[str], names: Sequence[str]):
        self.out = out
        too_long = max((len(printable(name)) for name in names), default=0) > self.WIDEST
        self.folder = _shared_folder(names) if too_long else ""
        self.width = max([len("FILE"), *(len(self._short(name)) for name in names)])
        self._started = False

    def add(self, diagnosis: Diagnosis) -> None:
        """Print the lines of one image; the first is preceded by the head.

        Parameters
        ----------
        diagnosis : Diagnosis
            The diagnosis of one image.
        """
        if not self._started:
            self._print("FILE", *self.HEAD)
            self._started = True
        measures = f"{diagnosis.psnr:.2f}", f"{diagnosis.ssim:.4f}"
        name = self._short(diagnosis.file or "")
        if not diagnosis.faults:
            self._print(name, "original", "-", "-", _percent(diagnosis.confidence), "-", *measures)
        for number, fault in enumerate(diagnosis.faults):
            cells = self._cells(fault, diagnosis)
            self._print(*((name, *cells, *measures) if number == 0 else ("", *cells)))

    def add_failure(self, file: str, message: str) -> None:
        """Print nothing: the message goes to standard error.

        Parameters
        ----------
        file : str
            Name of the image.
        message : str
            What is wrong with it.
        """

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
        count = impulse_count(fault, diagnosis.image.size)
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


class Csv:
    """Comma-separated values, one line for each image; a failed image has only its name and the error.

    The columns of version 0.1 come first and are unchanged. A cell that a spreadsheet would take for a formula has
    an apostrophe in front.

    Parameters
    ----------
    out : file
        Text is written to it, beginning with the names of the columns.
    own : sequence of str
        Kinds of one's own, which have columns too.

    Examples
    --------
    >>> import io
    >>> rows = Csv(io.StringIO())
    >>> rows.add_failure("a.png", "a.png: truncated")
    >>> rows.out.getvalue().splitlines()[1].startswith("a.png,,")
    True
    """

    COLUMNS = (
        "file", "verdict", "confidence", *(f"share_{label}" for label in LABELS),
        *(f"severity_{kind}" for kind in KINDS), "mse", "psnr", "ssim", "error",
        f"share_{UNKNOWN}", f"severity_{UNKNOWN}", "is_copy", "n_faults", "faults", "sentence",
        *(f"share_{kind}" for kind in FURTHER_KINDS), *(f"severity_{kind}" for kind in FURTHER_KINDS),
        f"share_{MISALIGNMENT}", f"severity_{MISALIGNMENT}", *ALIGNMENT,
    )  # fmt: skip

    def __init__(self, out: IO[str], own: Sequence[str] = ()):
        self.out = out
        columns = (*self.COLUMNS, *(f"{what}_{kind}" for what in ("share", "severity") for kind in own))
        self.writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
        self.writer.writeheader()

    def add(self, diagnosis: Diagnosis) -> None:
        """Write one line.

        Parameters
        ----------
        diagnosis : Diagnosis
            The diagnosis of one image.
        """
        row: dict[str, Any] = {
            "file": diagnosis.file or "",
            "verdict": "+".join(diagnosis.verdict),
            "confidence": f"{diagnosis.confidence:.4f}",
            **{f"share_{label}": f"{diagnosis.shares.get(label, 0.0):.6f}" for label in diagnosis.labels},
            **{f"severity_{kind}": f"{mse:.2f}" for kind, mse in diagnosis.severity.items()},
            "mse": f"{diagnosis.mse:.4f}",
            "psnr": f"{diagnosis.psnr:.4f}",
            "ssim": f"{diagnosis.ssim:.6f}",
            "is_copy": "yes" if diagnosis.is_copy else "no",
            "n_faults": len(diagnosis.faults),
            "faults": "; ".join(_fault_text(fault) for fault in diagnosis.faults),
            "sentence": verdict_sentence(diagnosis),
        }
        moved = next((fault.estimate[MISALIGNMENT] for fault in diagnosis.faults if MISALIGNMENT in fault.estimate), {})
        self._write(row | {name: f"{setting.value:.4f}" for name, setting in moved.items()})

    def add_failure(self, file: str, message: str) -> None:
        """Write a line with the error.

        Parameters
        ----------
        file : str
            Name of the image.
        message : str
            What is wrong with it.
        """
        self._write({"file": file, "error": message})

    def close(self) -> None:
        """Do nothing: everything is written already."""

    def _write(self, row: dict[str, Any]) -> None:
        self.writer.writerow({column: csv_cell(value) for column, value in row.items()})
        self.out.flush()


def _fault_text(fault: Fault) -> str:
    """Kinds, then settings, area, box (top, left, bottom, right), severity and confidence as ``name=value``."""
    settings = [
        f"{kind}.{name}={setting.value:.6g}"
        for kind, values in fault.estimate.items()
        for name, setting in values.items()
    ]
    return " ".join(
        [
            "+".join(fault.kinds),
            *settings,
            f"area={fault.area:.6g}",
            f"box={':'.join(str(int(side)) for side in fault.box)}",
            *(f"{kind}.severity={mse:.2f}" for kind, mse in fault.severity.items()),
            f"confidence={fault.confidence:.4f}",
        ]
    )


class Json:
    """One JSON object, printed as a whole at the end; until then it is kept in a temporary file, not in memory.

    Parameters
    ----------
    out : file
        Text is written to it.
    reference : str
        Name of the reference.

    Examples
    --------
    >>> import io
    >>> rows = Json(io.StringIO(), "original.png")
    >>> rows.close()
    >>> print(rows.out.getvalue(), end="")
    {"schema": 2, "reference": "original.png", "images": [
    ]}
    """

    def __init__(self, out: IO[str], reference: str):
        self.out = out
        self._buffer = tempfile.SpooledTemporaryFile(max_size=16_000_000, mode="w+", encoding="ascii")  # noqa: SIM115
        self._buffer.write(f'{{"schema": {SCHEMA}, "reference": {json_text(reference)}, "images": [')
        self._separator = "\n"

    def add(self, diagnosis: Diagnosis) -> None:
        """Add one image.

        Parameters
        ----------
        diagnosis : Diagnosis
            The diagnosis of one image.
        """
        self._write(as_dict(diagnosis))

    def add_failure(self, file: str, message: str) -> None:
        """Add an image that could not be diagnosed.

        Parameters
        ----------
        file : str
            Name of the image.
        message : str
            What is wrong with it.
        """
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
