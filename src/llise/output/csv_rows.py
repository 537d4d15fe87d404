"""Diagnoses as comma-separated values."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import IO, Any

from llise.diagnosis.color_measures import ColorMeasures
from llise.diagnosis.result import Diagnosis, Fault
from llise.labels import COLOR_KINDS, FURTHER_KINDS, KINDS, LABELS, MISALIGNMENT, UNKNOWN
from llise.output.text import csv_cell
from llise.output.words import verdict_sentence

ALIGNMENT = ("shift_x", "shift_y", "rotation", "scale")
"""Settings of a misalignment, each a column of its own in CSV output."""


class Csv:
    """Comma-separated values, one line for each image; a failed image has only its name and the error.

    The columns of version 0.1 come first and are unchanged. A cell that a spreadsheet would take for a formula has
    an apostrophe in front.
    """

    COLUMNS = (
        "file", "verdict", "confidence", *(f"share_{label}" for label in LABELS),
        *(f"severity_{kind}" for kind in KINDS), "mse", "psnr", "ssim", "error",
        f"share_{UNKNOWN}", f"severity_{UNKNOWN}", "is_copy", "n_faults", "faults", "sentence",
        *(f"share_{kind}" for kind in FURTHER_KINDS), *(f"severity_{kind}" for kind in FURTHER_KINDS),
        f"share_{MISALIGNMENT}", f"severity_{MISALIGNMENT}", *ALIGNMENT,
    )  # fmt: skip

    COLOR_COLUMNS = (
        *(f"share_{kind}" for kind in COLOR_KINDS), *(f"severity_{kind}" for kind in COLOR_KINDS),
        "color_difference", "color_difference_p95", "psnr_rgb", "psnr_cb", "psnr_cr", "ssim_cb", "ssim_cr",
    )  # fmt: skip

    def __init__(self, out: IO[str], color: bool = False, own: Sequence[str] = ()):
        self.out = out
        columns = (*self.COLUMNS, *self.COLOR_COLUMNS) if color else self.COLUMNS
        columns += tuple(f"{what}_{kind}" for what in ("share", "severity") for kind in own)
        self.color = color
        self.writer = csv.DictWriter(out, columns, restval="", lineterminator="\n", extrasaction="ignore")
        self.writer.writeheader()

    def add(self, diagnosis: Diagnosis) -> None:
        """Write one line."""
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
        if self.color and diagnosis.color is not None:
            row |= _color_cells(diagnosis.color)
        moved = next((fault.estimate[MISALIGNMENT] for fault in diagnosis.faults if MISALIGNMENT in fault.estimate), {})
        row |= {name: f"{setting.value:.4f}" for name, setting in moved.items()}
        self._write(row)

    def add_failure(self, file: str, message: str) -> None:
        """Write a line with the error."""
        self._write({"file": file, "error": message})

    def close(self) -> None:
        """Do nothing: everything is written already."""

    def _write(self, row: dict[str, Any]) -> None:
        self.writer.writerow({column: csv_cell(value) for column, value in row.items()})
        self.out.flush()


def _color_cells(measures: ColorMeasures) -> dict[str, str]:
    planes = measures.planes
    return {
        "color_difference": f"{measures.difference_mean:.4f}",
        "color_difference_p95": f"{measures.difference_p95:.4f}",
        "psnr_rgb": f"{measures.psnr:.4f}",
        **{f"psnr_{name}": f"{planes[name]['psnr']:.4f}" for name in ("cb", "cr")},
        **{f"ssim_{name}": f"{planes[name]['ssim']:.6f}" for name in ("cb", "cr")},
    }


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
