"""A map of images as one self-contained HTML page: thumbnails at their places, classes as colours, zoom and search."""

from __future__ import annotations

import base64
import html
import io
import math
import os
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from PIL import Image

from llise import __version__
from llise.output.class_colours import class_colours, in_order
from llise.output.policy import sealed
from llise.output.text import json_text
from llise.output.thumbnails import eight_bits
from llise.storage.files import atomic_write

SHEET_PIXELS = 4_000_000
"""Most pixels of the sheet of thumbnails; with very many images only some, evenly chosen, have one."""

LARGEST, SMALLEST = 96, 28
"""Sides of thumbnails in pixels."""


def write_map(
    path: str | os.PathLike[str],
    places: np.ndarray,
    names: Sequence[str],
    classes: Sequence[str] | None = None,
    images: np.ndarray | None = None,
    *,
    background: np.ndarray | None = None,
    ranks: bool = False,
    title: str = "Map of images",
    about: str = "",
) -> None:
    """Write the page."""
    known = in_order(set(classes or ()))
    data: dict[str, Any] = {
        "places": _rounded(places),
        "names": list(names),
        "classes": known,
        "codes": None if classes is None else [known.index(name) for name in classes],
        "colours": class_colours(len(known)),
        "background": None if background is None else _rounded(background),
        "ranks": ranks,
        "thumbnails": None if images is None else _sheet(images),
    }
    folder = files("llise.output") / "templates"
    page = (folder / "map_page.html").read_text("utf-8")
    style = (folder / "base.css").read_text("utf-8") + (folder / "map_page.css").read_text("utf-8")
    page = page.replace("/*style*/", style).replace("/*script*/", (folder / "map_page.js").read_text("utf-8"))
    page = sealed(page).replace("<!--version-->", __version__).replace("<!--about-->", html.escape(about))
    page = page.replace("<!--title-->", html.escape(title))
    with atomic_write(path, "w") as file:
        file.write(page.replace("<!--data-->", json_text(data).replace("<", "\\u003c")))


def _rounded(places: np.ndarray) -> list[list[float]]:
    """Places in the plane with as many digits as a screen can show."""
    plane = np.zeros((len(places), 2))
    plane[:, : places.shape[1]] = places
    return [[float(f"{value:.6g}") for value in row] for row in plane]


def _sheet(images: np.ndarray) -> dict[str, Any]:
    """One picture with the thumbnails in rows, and which images have one."""
    height, width = images.shape[1:3]
    count = min(len(images), SHEET_PIXELS // SMALLEST**2)
    side = int(np.clip(math.sqrt(SHEET_PIXELS / count), SMALLEST, LARGEST))
    factor = side / max(height, width)
    if factor > 1:  # small images are enlarged by whole numbers, so that their pixels stay squares
        factor = float(max(1, int(factor)))
    size = max(1, round(width * factor)), max(1, round(height * factor))
    shown = np.linspace(0, len(images) - 1, count).round().astype(int)
    columns = max(1, min(count, 4096 // size[0]))
    rows = -(-count // columns)
    sheet = Image.new("L" if images.ndim == 3 else "RGB", (columns * size[0], rows * size[1]))
    for number, i in enumerate(shown):
        row, column = divmod(number, columns)
        how = Image.Resampling.NEAREST if factor >= 1 else Image.Resampling.BOX
        sheet.paste(Image.fromarray(eight_bits(images[i])).resize(size, how), (column * size[0], row * size[1]))
    buffer = io.BytesIO()
    sheet.save(buffer, "WEBP", quality=80, method=4)
    uri = "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
    return {"uri": uri, "width": size[0], "height": size[1], "columns": columns, "images": shown.tolist()}
