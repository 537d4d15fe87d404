"""The page of ``peers.py``: for each case the pictures, and what each tool said; all in one file."""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

WIDTH, CROP, ZOOM = 300, (132, 90), 3
"""Width of a whole picture, width and height of a detail in its own pixels, and how often a detail is enlarged."""

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882 }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 24px; max-width: 1320px }
h1 { margin-bottom: 0 } h2 { margin: 48px 0 0; padding-bottom: 4px; border-bottom: 2px solid var(--line) }
h3 { margin: 28px 0 0 } p { margin: 4px 0 10px; max-width: 80ch }
.pictures { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 12px }
figure { margin: 0 } figcaption { font-size: 13px; opacity: .75 }
img { width: 100%; height: auto; display: block; border: 1px solid var(--line); box-sizing: border-box }
table { border-collapse: collapse; margin: 10px 0; width: 100%; font-size: 14px }
th, td { text-align: left; vertical-align: top; padding: 4px 10px; border-bottom: 1px solid var(--line) }
td.number { white-space: nowrap } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
td:first-child { white-space: nowrap; width: 1% } tr.own { background: var(--soft) }
tr.own td:first-child { font-weight: 600 }
@media (max-width: 700px) { .pictures { grid-template-columns: 1fr 1fr } td:first-child { white-space: normal } }
"""


def write_page(folder: Path, rows: list[dict[str, Any]], results: dict[str, Any]) -> None:
    """Write peers.html."""
    parts = [_times(results)]
    for picture in dict.fromkeys(row["picture"] for row in rows):
        parts.append(f"<h2>On a {html.escape(picture)}</h2>")
        parts += [_case(folder, row, results) for row in rows if row["picture"] == picture]
    left_out = "".join(f"<li>{html.escape(reason)}</li>" for reason in results["left_out"])
    body = "\n".join(
        [
            "<h1>What comparison tools say</h1>",
            "<p>Each tool got the same two PNG files, in one run. llise's training has seen scikit-learn's photograph, "
            "but not the page. The details show the place with the greatest difference.</p>",
            *parts,
            f"<h2>Left out</h2><ul>{left_out}</ul>" if left_out else "",
        ]
    )
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>What comparison tools say</title><style>{STYLE}</style><body>{body}</body></html>"
    )
    (folder / "peers.html").write_text(page, encoding="utf-8")


def _times(results: dict[str, Any]) -> str:
    head = "<tr><th>tool<th>version<th class=number>start-up, ms<th class=number>clock, ms a megapixel"
    lines = [head + "<th class=number>processor, ms a megapixel"]
    for tool in results["tools"]:
        numbers = [tool[key] for key in ("start", "clock", "processor")]
        cells = "".join(f"<td class=number>{'' if n is None else n}" for n in numbers)
        lines.append(f"<tr{_own(tool)}><td>{html.escape(tool['name'])}<td>{html.escape(tool['version'])}{cells}")
    note = "Median over all cases, without start-up, which libraries do not have. "
    note += "Times on the clock are longer while the machine does other work."
    return f"<p>{html.escape(results['machine'])}. {note}</p><table>{''.join(lines)}</table>"


def _own(tool: dict[str, Any]) -> str:
    return " class=own" if tool["name"] == "llise" else ""


def _case(folder: Path, row: dict[str, Any], results: dict[str, Any]) -> str:
    title = row["id"].partition(": ")[2]
    lines = "".join(
        f"<tr{_own(tool)}><td>{html.escape(tool['name'])}<td>{html.escape(said['says'])}"
        f"<td class=number>{said['ms']:.0f} ms"
        for tool in results["tools"]
        for said in [tool["cases"][row["id"]]]
    )
    truth = f"<h3>{html.escape(title[:1].upper() + title[1:])}</h3><p>{html.escape(row['note'])}</p>"
    return f"{truth}<div class=pictures>{_pictures(folder, row)}</div><table>{lines}</table>"


def _pictures(folder: Path, row: dict[str, Any]) -> str:
    """The copy, how it differs, and a detail of both."""
    reference, copy = (Image.open(folder / row[key]).convert("RGB") for key in ("reference", "copy"))
    fitted = copy if copy.size == reference.size else copy.resize(reference.size, Image.Resampling.BICUBIC)
    difference = np.abs(np.asarray(reference, int) - np.asarray(fitted, int)).max(axis=-1)
    box = _place(difference)
    marked = copy.copy() if copy.size == reference.size else fitted
    ImageDraw.Draw(marked).rectangle(box, outline=(230, 0, 90), width=3)
    most = int(difference.max())
    root = Image.fromarray((255 * np.sqrt(difference / max(most, 1))).astype(np.uint8))
    scaled = " (enlarged)" if copy.size != reference.size else ""
    pictures = [
        _figure(_thumbnail(marked), f"copy{scaled}"),
        _figure(_thumbnail(root), f"root of the difference, which is {most} at most"),
        _figure(_detail(reference, box), "detail of the reference", "detail"),
        _figure(_detail(fitted, box), "detail of the copy", "detail"),
    ]
    return "".join(pictures)


def _place(difference: np.ndarray) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of the detail in which most differs."""
    width, height = (min(sides) for sides in zip(CROP, difference.shape[::-1]))
    sums = np.pad(difference.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    rows = sums[height:] - sums[:-height]
    inside = rows[:, width:] - rows[:, :-width]
    places = np.argwhere(inside == inside.max())
    top, left = places[
        np.abs(places - places.mean(axis=0)).sum(axis=1).argmin()
    ]  # the middle one, so that it is central
    return int(left), int(top), int(left) + width, int(top) + height


def _thumbnail(image: Image.Image) -> Image.Image:
    scale = 2 * WIDTH / image.width
    return image.resize((2 * WIDTH, round(image.height * scale)), Image.Resampling.LANCZOS)


def _detail(image: Image.Image, box: tuple[int, int, int, int]) -> Image.Image:
    cut = image.crop(box)
    return cut.resize((cut.width * ZOOM, cut.height * ZOOM), Image.Resampling.NEAREST)


def _figure(image: Image.Image, caption: str, kind: str = "whole") -> str:
    stream = io.BytesIO()
    options = {"format": "PNG", "optimize": True} if kind == "detail" else {"format": "WEBP", "quality": 90}
    image.save(stream, **options)
    data = base64.b64encode(stream.getvalue()).decode()
    source = f"data:image/{options['format'].lower()};base64,{data}"
    return f'<figure><img class={kind} alt="{caption}" src="{source}"><figcaption>{caption}</figcaption></figure>'
