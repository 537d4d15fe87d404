"""The cases that users ask about, on a page rendered by a browser and on a photograph, as a folder that judge.py takes.

python benchmarks/asked.py FOLDER [--photograph FILE]
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SIZE = 900, 620
"""Width and height of the page in pixels."""

COLOURS = ("#dbe7f6", "#f6e7d3", "#dff1e0")
CARDS = "".join(
    f"<article><div style='background:linear-gradient(135deg, {colour}, #5b6b8c)'></div>"
    f"<h2>{title}</h2><p>{text}</p></article>"
    for colour, title, text in zip(
        COLOURS,
        ("Harbour", "Market", "Gardens"),
        ("Ferries leave every hour from eight in the morning.", "Open on Saturdays; bread, fruit and flowers.",
         "Free entry until the end of October."),
    )
)  # fmt: skip
PAGE = f"""<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; font: 16px/1.5 sans-serif; color: #1d2433; background: #f7f8fa }}
header {{ background: #1f3a5f; color: white; padding: 14px 32px; font-weight: bold }}
main {{ padding: 20px 32px }} h1 {{ margin: 0 0 6px; font-size: 30px }}
section {{ display: grid; grid-template-columns: repeat(3, 1fr); gap: 20px; margin-top: 20px }}
article {{ background: white; border: 1px solid #d5dae3; border-radius: 8px; overflow: hidden; padding: 0 14px 10px }}
article div {{ height: 130px; margin: 0 -14px }} h2 {{ margin: 10px 0 0; font-size: 19px }} p {{ margin: 4px 0 }}
button {{ background: #2563eb; color: white; border: 0; border-radius: 6px; padding: 10px 22px; font: inherit }}
aside {{ background: #ffe08a; padding: 12px 32px }}
</style><header>City guide</header><main><h1>A weekend by the river</h1>
<p>Three places that are worth the walk, and a map with all ferries.</p><button>Book a tour</button>
<section>{CARDS}</section></main>"""


def render(html: str, path: Path) -> None:
    """Take a picture of a page."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"no browser found: none of {', '.join(BROWSERS)} is installed")
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "page.html"
        source.write_text(html, encoding="utf-8")
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={name}/profile",
        ]
        size = f"--window-size={SIZE[0]},{SIZE[1]}"
        subprocess.run(
            [browser, *options, size, f"--screenshot={path}", source.as_uri()], check=True, capture_output=True
        )
    Image.open(path).convert("RGB").save(path)


def _change(old: str, new: str) -> Callable[[str], str]:
    """A change of the page's source, which must be there once."""

    def changed(html: str) -> str:
        if html.count(old) != 1:
            raise ValueError(f"{old!r} is {html.count(old)} times in the page; expected once")
        return html.replace(old, new)

    return changed


LAST_CARD = CARDS[CARDS.rindex("<article>") :]
ON_PAGE: dict[str, tuple[str, Callable[[str], str], list[list[str]]]] = {
    "page moved by a pixel": (
        "Everything lies one pixel further to the right.",
        _change("<style>", "<style>html { position: relative; left: 1px }"),
        [["misalignment"]],
    ),
    "one card moved by a pixel": (
        "The second card lies one pixel further to the right.",
        _change("<style>", "<style>article:nth-child(2) { position: relative; left: 1px }"),
        [["misalignment"], ["content"]],
    ),
    "recoloured button": (
        "The button is green instead of blue.",
        _change("button { background: #2563eb", "button { background: #15803d"),
        [["color_cast"], ["content"]],
    ),
    "changed text": ("A line of text says something else.", _change("on Saturdays", "on Thursdays"), [["content"]]),
    "removed card": ("The third card is gone.", _change(LAST_CARD, ""), [["content"]]),
    "added banner": (
        "A banner at the top pushes all else down.",
        _change("<header>", "<aside>The ferries do not run on Monday.</aside><header>"),
        [["misalignment", "content"], ["content"]],
    ),
}
"""Changes of the page: what is changed, how, and the verdicts that are right."""


def _coded(pixels: np.ndarray, form: str, **options: int) -> np.ndarray:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, form, **options)
    return np.asarray(Image.open(stream).convert("RGB"))


def _resized(pixels: np.ndarray, width: int, height: int) -> np.ndarray:
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.LANCZOS))


def _half(pixels: np.ndarray) -> np.ndarray:
    return _resized(pixels, pixels.shape[1] // 2, pixels.shape[0] // 2)


def _limited(pixels: np.ndarray) -> np.ndarray:
    """Grey levels of video: black is 16 and white 235 (ITU-R BT.601)."""
    return np.round(16 + pixels * (219 / 255)).astype(np.uint8)


def _dithered(pixels: np.ndarray) -> np.ndarray:
    """Noise of triangular distribution over two grey levels, then rounding."""
    rng = np.random.default_rng(0)
    noise = rng.random(pixels.shape) + rng.random(pixels.shape) - 1
    return np.clip(np.round(pixels + noise), 0, 255).astype(np.uint8)


def _less_chroma(pixels: np.ndarray) -> np.ndarray:
    """Chroma at half the width and height, as video and most JPEG files have it."""
    luma, *chroma = Image.fromarray(pixels).convert("YCbCr").split()
    halves = [plane.resize((-(-plane.width // 2), -(-plane.height // 2)), Image.Resampling.BOX) for plane in chroma]
    whole = [plane.resize(luma.size, Image.Resampling.BILINEAR) for plane in halves]
    return np.asarray(Image.merge("YCbCr", (luma, *whole)).convert("RGB"))


ON_PIXELS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray], list[list[str]]]] = {
    "moved by a pixel": (
        "Everything lies one pixel further to the right.",
        lambda a: np.concatenate([a[:, :1], a[:, :-1]], axis=1),
        [["misalignment"]],
    ),
    "rounding of one level": (
        "To the range of video and back: no value differs by more than one.",
        lambda a: np.round((_limited(a) - 16.0) * (255 / 219)).astype(np.uint8),
        [["original"]],
    ),
    "dither": ("Dither of one grey level.", _dithered, [["original"]]),
    "JPEG": ("JPEG of quality 80.", lambda a: _coded(a, "JPEG", quality=80), [["jpeg"]]),
    "resized and back": (
        "Half the size by Lanczos, and back.",
        lambda a: _resized(_half(a), a.shape[1], a.shape[0]),
        [["blur"]],
    ),
    "half size": ("Half as wide and half as high.", _half, [["misalignment"], ["original"]]),
    "limited range": ("Black is 16 and white 235, as in video.", _limited, [["contrast"], ["contrast", "luminance"]]),
    "4:2:0": ("Chroma has half the width and height.", _less_chroma, [["chroma_blur"]]),
    "dark copy": (
        "All values are 0.6 times as large.",
        lambda a: np.round(a * 0.6).astype(np.uint8),
        [["contrast"], ["contrast", "luminance"]],
    ),
    "WebP": ("WebP of quality 75.", lambda a: _coded(a, "WEBP", quality=75), [["unknown"], ["modern_codec"]]),
    "coded twice": (
        "JPEG of quality 90, then of quality 60.",
        lambda a: _coded(_coded(a, "JPEG", quality=90), "JPEG", quality=60),
        [["jpeg"]],
    ),
}
"""Changes of the pixels of any picture."""


def make(folder: Path, photograph: Path | None = None) -> list[dict[str, Any]]:
    """Write all cases; return the rows of the truth."""
    folder.mkdir(parents=True, exist_ok=True)
    render(PAGE, folder / "page.png")
    if photograph is None:
        from sklearn.datasets import load_sample_image

        Image.fromarray(load_sample_image("china.jpg")).save(folder / "photograph.png")
    else:
        Image.open(photograph).convert("RGB").save(folder / "photograph.png")
    rows = []
    for number, (name, (what, change, expected)) in enumerate(ON_PAGE.items()):
        copy = f"page-{number:02d}.png"
        render(change(PAGE), folder / copy)
        rows.append(_row(folder, name, what, "page", copy, "changes", expected))
    for picture in ("page", "photograph"):
        pixels = np.asarray(Image.open(folder / f"{picture}.png"))
        for number, (name, (what, alter, expected)) in enumerate(ON_PIXELS.items(), len(ON_PAGE)):
            if picture == "page" and name == "moved by a pixel":
                continue  # rendered above
            copy = f"{picture}-{number:02d}.png"
            Image.fromarray(alter(pixels)).save(folder / copy)
            rows.append(_row(folder, name, what, picture, copy, "whole", expected))
    part = folder / "truth.jsonl.part"
    part.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    os.replace(part, folder / "truth.jsonl")
    return rows


def _row(
    folder: Path, name: str, what: str, picture: str, copy: str, group: str, expected: list[list[str]]
) -> dict[str, Any]:
    """One row of the truth; the mask of a change of the page are the pixels that differ."""
    row = {"id": f"{picture}: {name}", "half": "asked", "split": "look", "picture": picture, "family": picture}
    row |= {"group": group, "own": False, "programs": [name], "tools": [], "note": what, "expected": expected}
    row |= {"reference": f"{picture}.png", "copy": copy, "faults": []}
    if expected == [["original"]]:
        return row
    fault = {"kinds": expected[0], "form": "whole", "mask": None, "settings": {}}
    if group == "changes":
        reference, changed = (np.asarray(Image.open(folder / row[key])) for key in ("reference", "copy"))
        fault |= {"form": "changed pixels", "mask": f"mask-{copy}"}
        Image.fromarray((reference != changed).any(axis=-1)).save(folder / f"mask-{copy}")
    return row | {"faults": [fault]}


def main() -> None:
    """Make the cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder for truth.jsonl and the pictures")
    parser.add_argument("--photograph", type=Path, help="photograph to use instead of scikit-learn's china.jpg")
    options = parser.parse_args()
    print(f"{len(make(options.folder, options.photograph))} cases in {options.folder}", file=sys.stderr)


if __name__ == "__main__":
    main()
