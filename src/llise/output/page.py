"""One self-contained HTML file from diagnoses: pictures, block maps, verdicts and the manifold map.

Nothing is computed here. Pictures are written while they come, so that a report of many images needs the
memory of one; what the summary shows of each is all that is kept.
"""

from __future__ import annotations

import base64
import html
import io
import json
import math
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from importlib.resources import files
from typing import IO, Any, Protocol

import numpy as np

from llise import __version__
from llise.diagnosis.diagnoser import Diagnosis
from llise.labels import LABELS, LETTERS
from llise.storage.files import atomic_write

COLOURS = ("#009e73", "#e69f00", "#56b4e9", "#f0e442", "#0072b2", "#d55e00", "#cc79a7")
"""The palette of Okabe and Ito, told apart with every kind of colour vision; in the order of LABELS."""

NAMES = dict(zip(LABELS, ("original", "contrast", "Gaussian noise", "luminance", "blur", "impulse noise", "JPEG")))
"""How a label reads in a table."""

NOUNS = {**NAMES, "contrast": "contrast change", "luminance": "luminance shift", "jpeg": "JPEG compression"}
"""How a distortion reads after a word for its strength."""

STRENGTHS = ((30, "slight"), (150, "moderate"), (600, "strong"), (math.inf, "severe"))
"""Words for an MSE up to each bound."""

DISPLAY_SIDE = 1024
DISPLAY_BYTES_PER_PIXEL = 0.42
N_NEAREST = 3


class Manifold(Protocol):
    """What a report needs to know of a fitted :class:`llise.Diagnoser`."""

    reference: np.ndarray
    block_size: int
    training_labels: list[str]
    training_mse: np.ndarray
    map_positions: np.ndarray


class HtmlReport:
    """A report that takes one diagnosis after the other; a context manager.

    The file appears under its name only when the block ends without an error.

    Parameters
    ----------
    path : str or path
        The HTML file.
    manifold : Diagnoser
        Fitted; gives the reference, the training images' labels, MSE and places in the map.
    title : str
        Heading of the page.
    """

    def __init__(self, path: str | os.PathLike[str], manifold: Manifold, title: str = "Image diagnosis"):
        self.manifold = manifold
        self.title = title
        self._target: AbstractContextManager[IO[Any]] = atomic_write(path, "w", encoding="utf-8")
        self._images: list[dict[str, Any]] = []
        self._failures: list[str] = []

    def __enter__(self) -> HtmlReport:
        head, self._tail = _page(self.title).split("<!--data-->")
        self._file = self._target.__enter__()
        self._file.write(head)
        self._write_json("manifold", _manifold_data(self.manifold))
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            if error[0] is None:
                self._write_json("results", {"images": self._images, "failures": self._failures})
                self._file.write(self._tail)
        except BaseException as failed:
            self._target.__exit__(type(failed), failed, failed.__traceback__)
            raise
        self._target.__exit__(*error)

    def add(self, diagnosis: Diagnosis) -> None:
        """Append one image."""
        self._write_json(f"image-{len(self._images)}", _image_data(diagnosis))
        self._images.append(_summary_data(diagnosis, f"image {len(self._images) + 1}"))

    def add_failure(self, message: str) -> None:
        """Mention an image that could not be judged."""
        self._failures.append(message)

    def _write_json(self, name: str, value: Any) -> None:
        self._file.write(f'<script type="application/json" id="{name}">{script_json(value)}</script>\n')


def write_html(
    path: str | os.PathLike[str],
    manifold: Manifold,
    diagnoses: Iterable[Diagnosis],
    title: str = "Image diagnosis",
) -> None:
    """Write a report of all diagnoses, which may come from a generator."""
    with HtmlReport(path, manifold, title) as report:
        for diagnosis in diagnoses:
            report.add(diagnosis)


def verdict_sentence(diagnosis: Diagnosis) -> str:
    """Say in one sentence what is wrong, how strongly, where, and how sure that is."""
    sure = f"{100 * diagnosis.confidence:.0f} % confident"
    if diagnosis.verdict == ("original",):
        return f"No distortion found: a faithful copy of the reference, {sure}."
    found = []
    for kind in diagnosis.verdict:
        mse = diagnosis.severity[kind]
        found.append(f"{strength_word(mse)} {NOUNS[kind]} (MSE {mse:.0f})")
    text = " and ".join(found)
    return f"{text[0].upper()}{text[1:]}{_where(diagnosis.block_severity)}, {sure}."


def strength_word(mse: float) -> str:
    """Word for a severity."""
    return next(word for bound, word in STRENGTHS if mse < bound)


def _where(severity: np.ndarray) -> str:
    """Name the ninth of the picture that stands out, if one does."""
    if min(severity.shape) < 3:
        return ""
    ninths = np.array(
        [[part.mean() for part in np.array_split(band, 3, axis=1)] for band in np.array_split(severity, 3)]
    )
    row, col = np.unravel_index(ninths.argmax(), ninths.shape)
    if ninths[row, col] < 1.5 * severity.mean():
        return ""
    place = " ".join(filter(None, [("top", "", "bottom")[row], ("left", "", "right")[col]])) or "centre"
    return f", most at the {place}"


def script_json(value: Any) -> str:
    """JSON that cannot end or open an HTML element, for a script element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _page(title: str) -> str:
    """The template with style, script and title filled in, data still to come."""
    templates = files("llise.output") / "templates"
    page = (templates / "report.html").read_text(encoding="utf-8")
    style, script = ((templates / f"report.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    filled = {"style": style.strip(), "script": script.strip(), "version": __version__}
    for name, text in filled.items():
        page = page.replace(f"<!--{name}-->", text)
    # The title comes last, and cannot contain a mark because its "<" is escaped.
    return page.replace("<!--title-->", html.escape(title))


def _manifold_data(manifold: Manifold) -> dict[str, Any]:
    height, width = manifold.reference.shape
    n, size = len(manifold.training_labels), manifold.block_size
    return {
        "about": f"Reference of {width} × {height} pixels, {n} training images, blocks of {size} × {size}",
        "labels": LABELS,
        "names": [NAMES[label] for label in LABELS],
        "letters": [LETTERS[label] for label in LABELS],
        "colours": COLOURS,
        "size": [height, width],
        "blockSize": size,
        "reference": picture_uri(manifold.reference),
        "training": {
            "labels": [LABELS.index(label) for label in manifold.training_labels],
            "mse": [round(float(mse), 1) for mse in manifold.training_mse],
            "positions": np.round(manifold.map_positions, 4).tolist(),
        },
    }


def _image_data(diagnosis: Diagnosis) -> dict[str, Any]:
    """Pictures and block maps, which the page reads when the image is opened."""
    rows, cols = diagnosis.block_grid
    nearest = diagnosis.nearest[..., :N_NEAREST]
    ssim = np.clip(diagnosis.ssim_map, 0.0, 1.0) * 255.0
    return {
        "picture": picture_uri(diagnosis.image),
        # Half the resolution will do for a map that is smooth over its window of several pixels.
        "ssim": picture_uri(np.rint(ssim).astype(np.uint8), longest=256, quality=60),
        "rows": rows,
        "cols": cols,
        "m": nearest.shape[-1],
        "labels": _base64(diagnosis.block_labels.astype(np.uint8)),
        # Tenths of MSE units.
        "severity": _base64(np.rint(np.clip(diagnosis.block_severity, 0, 6500) * 10).astype("<u2")),
        "nearest": _base64(nearest.astype("<u2")),
    }


def _summary_data(diagnosis: Diagnosis, name: str) -> dict[str, Any]:
    """What the table, the map and the heading show."""
    return {
        "file": str(diagnosis.file or name),
        "sentence": verdict_sentence(diagnosis),
        "verdict": [LABELS.index(label) for label in diagnosis.verdict],
        "confidence": round(float(diagnosis.confidence), 4),
        "shares": [round(float(diagnosis.shares.get(label, 0.0)), 4) for label in LABELS],
        "severity": [[LABELS.index(label), round(float(mse), 2)] for label, mse in diagnosis.severity.items()],
        "mse": round(float(diagnosis.mse), 3),
        "psnr": round(float(diagnosis.psnr), 3) if math.isfinite(diagnosis.psnr) else None,
        "ssim": round(float(diagnosis.ssim), 5),
        "position": np.round(diagnosis.position, 4).tolist(),
        "thumb": picture_uri(diagnosis.image, longest=80, quality=70),
    }


def picture_uri(image: np.ndarray, longest: int = DISPLAY_SIDE, quality: int = 88) -> str:
    """A compressed copy for display as data URI, at most ``DISPLAY_BYTES_PER_PIXEL``."""
    from PIL import Image

    picture = Image.fromarray(image)
    picture.thumbnail((longest, longest), Image.Resampling.BOX)
    budget = max(4096, DISPLAY_BYTES_PER_PIXEL * picture.width * picture.height)
    while True:
        buffer = io.BytesIO()
        picture.save(buffer, "WEBP", quality=quality, method=3)
        # Noise is dear: it is given fewer bytes until the picture is within its budget.
        if buffer.tell() <= budget or quality <= 20:
            return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
        quality -= 12


def _base64(values: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")
