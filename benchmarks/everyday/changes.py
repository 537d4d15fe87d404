# ruff: noqa: E501 (lines of CSS)
"""Copies in which a thing was added, removed, replaced, moved or recoloured, and pages that were rendered otherwise."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from everyday import pages
from everyday.damage import draw_form, read

CHANGES = ("added", "removed", "replaced", "moved", "recoloured")
RENDERINGS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "no hinting": ("", ("--font-render-hinting=none",), ""),
    "sub-pixel positions": ("", ("--enable-font-subpixel-positioning", "--font-render-hinting=none"), ""),
    "grey smoothing": ("", ("--disable-lcd-text", "--disable-font-subpixel-positioning"), "body{-webkit-font-smoothing:antialiased;text-rendering:geometricPrecision}"),
    "drawn at twice the size": ("half", (), ""),
}  # fmt: skip
"""What is done after rendering, flags of the browser, and a style."""


class Change(NamedTuple):
    """A pair of pictures, where they differ by the change, and the truth about it."""

    reference: np.ndarray
    copy: np.ndarray
    settings: dict[str, Any]
    tool: str


def shot(source: str, flags: tuple[str, ...] = (), scale: float = 1.0) -> np.ndarray:
    """A page as an array."""
    with tempfile.TemporaryDirectory() as folder:
        pages.render(source, Path(folder) / "page.png", *flags, scale=scale)
        return read(Path(folder) / "page.png")


def render_otherwise(source: str, how: str) -> np.ndarray:
    """The page as another rasteriser draws it."""
    after, flags, style = RENDERINGS[how]
    source = source.replace("</style>", style + "</style>")
    if after != "half":
        return shot(source, flags)
    large = Image.fromarray(shot(source, flags, scale=2.0))
    return np.asarray(large.resize((large.width // 2, large.height // 2), Image.Resampling.BOX))


def change_page(reference: np.ndarray, source: str, change: str, rng: np.random.Generator) -> Change:
    """Change the source of a page and let the browser draw it again."""
    thing = str(rng.choice(re.findall(r"id=(\w+)", source)))
    dx, dy = (int(n) for n in rng.choice([-40, -13, -6, -3, -1, 1, 2, 5, 12, 40], 2))
    settings: dict[str, Any] = {"change": change}
    style, changed = "", source
    if change == "removed":
        style = f"#{thing}{{visibility:hidden}}"
    elif change == "moved" and rng.random() < 0.4:
        settings |= {"dx": 0, "dy": abs(dy), "pushed": True}
        style = f"body{{padding-top:{abs(dy)}px}}"
    elif change == "moved":
        settings |= {"dx": dx, "dy": dy}
        style = f"#{thing}{{transform:translate({dx}px,{dy}px)}}"
    elif change == "recoloured":
        style = f"#{thing}{{filter:hue-rotate({rng.integers(60, 300)}deg) saturate(1.5);background-color:{pages.hue(rng, 60)}!important}}"
    elif change == "replaced":
        found = [m for m in re.finditer(r">([A-Z][a-z]+(?: [a-z]+)*)", source) if m.start() > source.index("</style>")]
        if not found:
            raise RuntimeError("no words in this page to put others in their place")
        hit = found[rng.integers(len(found))]
        words = pages.words(rng, 1, max(len(hit[1].split()), 1))
        changed = source[: hit.start(1)] + words + source[hit.end(1) :]
    else:
        x, y = rng.integers(20, 500), rng.integers(20, 450)
        box = f"position:absolute;left:{x}px;top:{y}px;padding:{rng.integers(6, 24)}px;background:{pages.hue(rng)};color:white"
        changed = source + f"<div style='{box}'>{pages.words(rng, 1, 6)}</div>"
    copy = shot(changed.replace("</style>", style + "</style>"))
    if change == "recoloured":
        settings |= colours(reference, copy)
    return Change(reference, copy, settings, "Chromium")


def colours(reference: np.ndarray, copy: np.ndarray) -> dict[str, str]:
    """The most frequent colour of what changed, before and after."""
    changed = (reference != copy).any(axis=2)
    found = {}
    for name, image in (("from", reference), ("to", copy)):
        values, counts = np.unique(image[changed], axis=0, return_counts=True)
        found[name] = "#" + "".join(f"{int(v):02x}" for v in values[counts.argmax()]) if len(values) else ""
    return found


def change_picture(image: np.ndarray, pool: list[np.ndarray], change: str, rng: np.random.Generator) -> Change:
    """Put a thing into a picture: into the copy, into the reference, or another one into each."""
    height, width = (int(n * rng.uniform(0.1, 0.35)) for n in image.shape[:2])
    top, left = int(rng.integers(0, image.shape[0] - height)), int(rng.integers(0, image.shape[1] - width))
    settings: dict[str, Any] = {"change": change}
    first, second = (_thing(height, width, pool, rng, flat=change == "recoloured") for _ in range(2))
    at = (top, left)
    if change == "added":
        pair = image, _paste(image, first, at)
    elif change == "removed":
        pair = _paste(image, first, at), image
    elif change == "moved":
        reach = [(-start, n - start - side) for start, n, side in zip(at, image.shape[:2], (height, width))]
        dy, dx = (int(np.clip(rng.choice([-60, -17, -5, -2, -1, 1, 3, 8, 25, 60]), *limits)) for limits in reach)
        settings |= {"dx": dx, "dy": dy}
        pair = _paste(image, first, at), _paste(image, first, (top + dy, left + dx))
    elif change == "recoloured":
        pair = _paste(image, first, at), _paste(image, (second[0], first[1]), at)
        settings |= colours(*pair)
    else:
        pair = _paste(image, first, at), _paste(image, second, at)
    return Change(*pair, settings, "Pillow")


Thing = tuple[np.ndarray, np.ndarray]


def _thing(height: int, width: int, pool: list[np.ndarray], rng: np.random.Generator, flat: bool) -> Thing:
    """Colours and weights of a thing: a plate, words on a plate, or a cut-out of another picture."""
    if flat or rng.random() < 0.3:
        plate = Image.new("RGB", (width, height), tuple(int(v) for v in rng.integers(0, 256, 3)))
        weight = Image.new("L", (width, height), 0)
        ImageDraw.Draw(weight).rounded_rectangle((0, 0, width - 1, height - 1), min(height, width) // 6, fill=255)
        if not flat:
            font = ImageFont.load_default(max(height // 3, 9))
            ImageDraw.Draw(plate).text((width // 12, height // 4), pages.words(rng, 1, 3), "white", font)
        return np.asarray(plate), np.asarray(weight, np.float32) / 255
    other = pool[rng.integers(len(pool))]
    height_, width_ = min(height, other.shape[0]), min(width, other.shape[1])
    top, left = (int(rng.integers(0, n - m + 1)) for n, m in zip(other.shape, (height_, width_)))
    form = str(rng.choice(["rectangle", "ellipse", "blob"]))
    return other[top : top + height_, left : left + width_], draw_form((height_, width_), form, 0.7, rng)


def _paste(image: np.ndarray, thing: Thing, at: tuple[int, int]) -> np.ndarray:
    """The picture with a thing in it."""
    colours_, weight = thing
    height, width = weight.shape
    copy = image.copy()
    part = copy[at[0] : at[0] + height, at[1] : at[1] + width]
    part[:] = np.rint(part + weight[..., None] * (colours_[: part.shape[0], : part.shape[1]].astype(float) - part))
    return copy
