"""One self-contained HTML file from diagnoses: pictures, faults with their regions, block maps, and why.

Nothing is computed here. Each image is written when it is added, so that a report of many images needs the memory of
one; only what the summary shows of each image is held until the end.
"""

from __future__ import annotations

import base64
import html
import math
import os
import zlib
from contextlib import AbstractContextManager
from importlib.resources import files
from typing import IO, Any, Protocol

import numpy as np

from llise import __version__
from llise.colours import stacked
from llise.diagnosis.result import Diagnosis, Fault, Reason
from llise.labels import LETTERS, UNKNOWN
from llise.output.label_words import label_colours, label_name
from llise.output.pictures import (
    DIFFERENCE_BYTES_PER_PIXEL,
    DIFFERENCE_SIDE,
    difference_picture,
    patch_boxes,
    picture_uri,
)
from llise.output.policy import sealed
from llise.output.runs import block_runs
from llise.output.settings import setting_rows
from llise.output.text import json_text
from llise.output.words import (
    DOUBTFUL,
    area_words,
    fault_phrase,
    place_words,
    strength_word,
    verdict_sentence,
)
from llise.storage.files import atomic_write

MAX_BYTES = 60_000_000
"""Size of the pictures of a report that is told how many images it will have."""

SCRIPTS = ("helpers", "data", "table", "outlines", "picture", "detail", "printing", "report")
"""Files of the page's script in the order in which they are put together."""


class Context(Protocol):
    """What a report needs besides the diagnoses; a :class:`llise.Diagnoser` has it."""

    @property
    def reference(self) -> np.ndarray:
        """The luma of the reference, uint8 (h, w)."""

    @property
    def pixels(self) -> np.ndarray:
        """The reference with its colours, uint8 (h, w) or (h, w, 3)."""

    @property
    def block_size(self) -> int:
        """Side of the blocks in pixels."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of blocks, which the maps count."""


class HtmlReport:
    """A report to which diagnoses are added one after the other; a context manager.

    The file appears under its name only when the ``with`` block ends without an error.

    Parameters
    ----------
    path : str or path
        The HTML file.
    context : Diagnoser
        Gives the reference.
    title : str
        Heading of the page.
    n_images : int
        How many images will be added, as far as known. The pictures of very many images are shown smaller, so that the
        file stays below some 100 MB.

    Examples
    --------
    >>> with HtmlReport("report.html", diagnoser) as report:  # doctest: +SKIP
    ...     for diagnosis in diagnoser.diagnose(images):
    ...         report.add(diagnosis)
    """

    def __init__(
        self, path: str | os.PathLike[str], context: Context, title: str = "Image diagnosis", n_images: int = 1
    ):
        self.context = context
        self.title = title
        self.n_images = n_images
        self._target: AbstractContextManager[IO[Any]] = atomic_write(path, "w", encoding="utf-8")
        self._images: list[dict[str, Any]] = []
        self._failures: list[str] = []

    def __enter__(self) -> HtmlReport:
        head, self._tail = _page(self.title).split("<!--data-->")
        self._file = self._target.__enter__()
        self._file.write(head)
        self._write_json("context", _context_data(self.context))
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            if error[0] is None:
                self._write_json("results", {"images": self._images, "failures": self._failures})
                self._file.write(self._tail)
        except BaseException as failure:
            self._target.__exit__(type(failure), failure, failure.__traceback__)
            raise
        self._target.__exit__(*error)

    def add(self, diagnosis: Diagnosis) -> None:
        """Append one image.

        Parameters
        ----------
        diagnosis : Diagnosis
            Its diagnosis.
        """
        self._write_json(f"image-{len(self._images)}", self._image_data(diagnosis))
        self._images.append(_summary_data(diagnosis, f"image {len(self._images) + 1}"))

    def add_failure(self, message: str) -> None:
        """Mention an image that could not be diagnosed.

        Parameters
        ----------
        message : str
            The reason, beginning with the file's name.
        """
        self._failures.append(message)

    def _image_data(self, diagnosis: Diagnosis) -> dict[str, Any]:
        """Pictures, faults and block maps, which the page reads when the image is opened."""
        rows, cols = diagnosis.block_grid
        severity = np.sqrt(diagnosis.block_severity.astype(float)) * 256
        data = {
            **self._pictures(diagnosis),
            "rows": rows,
            "cols": cols,
            "labels": _packed(diagnosis.block_labels.astype(np.uint8)),
            # Roots of the MSE in units of 1/256: the largest possible MSE fits into 16 bits.
            "severity": _packed(np.rint(severity).astype("<u2")),
            "faults": [_fault_data(fault, diagnosis) for fault in diagnosis.faults],
            "why": [_why_data(reason, diagnosis) for reason in diagnosis.why],
        }
        return data

    def _pictures(self, diagnosis: Diagnosis) -> dict[str, Any]:
        """The copy, the difference, the map of the SSIM, and patches at full resolution."""
        share = MAX_BYTES / self.n_images * 0.75  # base64 writes three bytes as four
        image, moved = diagnosis.image, diagnosis.aligned_reference
        reference = _reference(self.context, diagnosis) if moved is None else moved
        difference, largest = difference_picture(reference, image)
        pixels = min(diagnosis.n_pixels, DIFFERENCE_SIDE**2)
        ssim = np.rint(np.clip(diagnosis.ssim_map, 0.0, 1.0) * 255.0).astype(np.uint8)
        boxes = patch_boxes(diagnosis)

        def patch(picture: np.ndarray, box: tuple[int, int, int, int]) -> str:
            x, y, width, height = box
            return picture_uri(picture[y : y + height, x : x + width], quality=92, most_bytes=0.3 * share / len(boxes))

        return {
            "picture": picture_uri(image, most_bytes=0.4 * share),
            "difference": picture_uri(
                difference, DIFFERENCE_SIDE, 70, most_bytes=min(0.2 * share, DIFFERENCE_BYTES_PER_PIXEL * pixels)
            ),
            "differenceRange": largest,
            **_color_data(diagnosis, 0.1 * share),
            # Half the resolution is enough for a map that is smooth over several pixels.
            "ssim": picture_uri(ssim, longest=256, quality=60, most_bytes=0.1 * share),
            "patches": [
                {"box": box, "fault": fault, "copy": patch(image, box), "reference": patch(reference, box)}
                for fault, box in boxes
            ],
        }

    def _write_json(self, name: str, value: Any) -> None:
        self._file.write(f'<script type="application/json" id="{name}">{script_json(value)}</script>\n')


def script_json(value: Any) -> str:
    """Write JSON for a script element: nothing in it can close or open an HTML element."""
    text = json_text(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _page(title: str) -> str:
    """The template with style, script and title filled in, but not yet the data."""
    templates = files("llise.output") / "templates"

    def read(*names: str) -> str:
        return "\n".join((templates / name).read_text(encoding="utf-8").strip() for name in names)

    page = read("report.html")
    # One function around all files keeps their names apart from those of the browser.
    script = '(() => {\n"use strict";\n' + read(*(f"{name}.js" for name in SCRIPTS)) + "\n})();"
    contents = {"style": read("base.css", "report.css"), "script": script, "version": __version__}
    for name, text in contents.items():
        page = page.replace(f"<!--{name}-->", text)
    page = sealed(page)
    # The title comes last, and cannot contain a mark because its "<" is escaped.
    return page.replace("<!--title-->", html.escape(title))


def _context_data(context: Context) -> dict[str, Any]:
    """Names, colours and the reference; training images where there are any."""
    height, width = context.reference.shape
    size = context.block_size
    about = f"Reference of {width} × {height} pixels, blocks of {size} × {size}"
    return {
        "about": about,
        "names": [label_name(label) for label in context.labels],
        "letters": [LETTERS.get(label, "?" if label == UNKNOWN else label_name(label)[:2]) for label in context.labels],
        "colours": label_colours(context.labels),
        "doubtful": DOUBTFUL,
        "size": [height, width],
        "blockSize": size,
        "reference": picture_uri(context.pixels),
    }


def _reference(context: Context, diagnosis: Diagnosis) -> np.ndarray:
    """The reference, in colour where the image is."""
    return stacked(context.pixels) if diagnosis.image.ndim == 3 else context.reference


def _color_data(diagnosis: Diagnosis, most_bytes: float) -> dict[str, Any]:
    """The map of the colour difference and its measures, where there are colours."""
    if diagnosis.color is None:
        return {}
    measures = diagnosis.color
    largest = max(5.0, math.ceil(float(np.percentile(measures.difference_map, 99.8))))
    shown = np.rint(np.clip(measures.difference_map / largest, 0, 1) * 255).astype(np.uint8)
    return {
        "color": picture_uri(shown, longest=512, quality=70, most_bytes=most_bytes),
        "colorRange": largest,
        "colorMean": round(measures.difference_mean, 2),
        "colorP95": round(measures.difference_p95, 2),
    }


def _why_data(reason: Reason, diagnosis: Diagnosis) -> dict[str, Any]:
    """What was tried in a region: kinds, what the network said, what the fit left, the probability."""
    top, left, bottom, right = reason.box
    tried = [
        {
            "kinds": [label_name(kind) for kind in one.kinds],
            "network": round(one.logp, 2),
            "explained": None if one.explained is None else round(one.explained, 4),
            "probability": round(one.probability, 4),
        }
        for one in reason.candidates
    ]
    return {"blocks": reason.blocks, "box": [left, top, right - left, bottom - top], "tried": tried}


def _fault_data(fault: Fault, diagnosis: Diagnosis) -> dict[str, Any]:
    """What the list of faults and the outlines show."""
    phrase = _unbroken(fault_phrase(fault, diagnosis.image.size))
    code = diagnosis.labels.index
    return {
        "kinds": [code(kind) for kind in fault.kinds],
        "phrase": f"{phrase[0].upper()}{phrase[1:]}",
        "confidence": round(float(fault.confidence), 4),
        "place": place_words(fault),
        "area": _unbroken(area_words(fault.area)),
        "settings": [[code(kind), *texts] for kind, *texts in setting_rows(fault)],
        "severity": [[code(kind), round(float(mse), 2)] for kind, mse in fault.severity.items()],
        "strength": strength_word(sum(fault.severity.values())),
        "explained": round(float(fault.explained), 4) if fault.estimate else None,
        "runs": block_runs(fault.region),
    }


def _summary_data(diagnosis: Diagnosis, name: str) -> dict[str, Any]:
    """What the table, the map and the heading show."""
    return {
        "file": str(diagnosis.file or name),
        "sentence": _unbroken(verdict_sentence(diagnosis)),
        "verdict": [diagnosis.labels.index(label) for label in diagnosis.verdict],
        "isCopy": bool(diagnosis.is_copy),
        "confidence": round(float(diagnosis.confidence), 4),
        "mse": round(float(diagnosis.mse), 3),
        "psnr": round(float(diagnosis.psnr), 3) if math.isfinite(diagnosis.psnr) else None,
        "ssim": round(float(diagnosis.ssim), 5),
        "thumb": picture_uri(diagnosis.image, longest=80, quality=70),
    }


def _unbroken(text: str) -> str:
    """Keep numbers and their units on one line."""
    return text.replace(" %", "\u00a0%").replace(" px", "\u00a0px")


def _packed(values: np.ndarray) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(values).tobytes(), 9)).decode("ascii")
