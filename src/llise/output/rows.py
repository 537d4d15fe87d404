"""Diagnoses as rows: a table for people, CSV and JSON for programs.

Each row is written as soon as its image is diagnosed.
"""

from __future__ import annotations

import csv
import json
import math
import shutil
import tempfile
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Any, Protocol

from llise.labels import KINDS, LABELS
from llise.storage.files import printable

if TYPE_CHECKING:
    from llise.diagnosis import Diagnosis

SCHEMA = 1
"""Version of the JSON output, described by diagnose.schema.json."""


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
        "shares": {label: float(diagnosis.shares.get(label, 0.0)) for label in LABELS},
        "severity": {kind: float(mse) for kind, mse in diagnosis.severity.items()},
        "mse": float(diagnosis.mse),
        "psnr": float(diagnosis.psnr) if math.isfinite(diagnosis.psnr) else None,
        "ssim": float(diagnosis.ssim),
        "block_grid": list(diagnosis.block_grid),
        "block_labels": [[LABELS[code] for code in row] for row in diagnosis.block_labels],
    }


class Table:
    """Aligned columns; the first is as wide as the longest name.

    Parameters
    ----------
    out : file
        Text is written to it.
    names : iterable of str
        Names of all images, which decide the width of the first column.

    Examples
    --------
    >>> import sys
    >>> table = Table(sys.stdout, ["a.png", "b.png"])
    >>> table.add(diagnosis)  # doctest: +SKIP
    FILE   VERDICT                          SURE  SEVERITY (MSE)    PSNR    SSIM
    a.png  blur                             93 %             312   23.19  0.7100
    """

    HEAD = ("VERDICT", "SURE", "SEVERITY (MSE)", "PSNR", "SSIM")
    WIDTHS = (30, 5, 14, 6, 6)

    def __init__(self, out: IO[str], names: Iterable[str]):
        self.out = out
        self.width = max([4, *(len(printable(name)) for name in names)])
        self._started = False

    def add(self, diagnosis: Diagnosis) -> None:
        """Print one row; the first is preceded by the head.

        Parameters
        ----------
        diagnosis : Diagnosis
            The diagnosis of one image.
        """
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

    def _print(self, name: str, verdict: str, *numbers: str) -> None:
        cells = [f"{verdict:{self.WIDTHS[0]}}"] + [f"{text:>{w}}" for text, w in zip(numbers, self.WIDTHS[1:])]
        print(f"{name:{self.width}}", *cells, sep="  ", file=self.out, flush=True)


class Csv:
    """Comma-separated values, one line for each image; a failed image has only its name and the error.

    Parameters
    ----------
    out : file
        Text is written to it, beginning with the names of the columns.

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
    )  # fmt: skip

    def __init__(self, out: IO[str]):
        self.out = out
        self.writer = csv.DictWriter(out, self.COLUMNS, restval="", lineterminator="\n")
        self.writer.writeheader()

    def add(self, diagnosis: Diagnosis) -> None:
        """Write one line.

        Parameters
        ----------
        diagnosis : Diagnosis
            The diagnosis of one image.
        """
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
        """Write a line with the error.

        Parameters
        ----------
        file : str
            Name of the image.
        message : str
            What is wrong with it.
        """
        self.writer.writerow({"file": printable(file), "error": printable(message)})
        self.out.flush()

    def close(self) -> None:
        """Do nothing: everything is written already."""


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
    >>> json.loads(rows.out.getvalue())
    {'schema': 1, 'reference': 'original.png', 'images': []}
    """

    def __init__(self, out: IO[str], reference: str):
        self.out = out
        self._buffer = tempfile.SpooledTemporaryFile(max_size=16_000_000, mode="w+", encoding="ascii")  # noqa: SIM115
        self._buffer.write(f'{{"schema": {SCHEMA}, "reference": {json.dumps(reference)}, "images": [')
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
        self._buffer.write(self._separator + json.dumps(entry, allow_nan=False))
        self._separator = ",\n"
