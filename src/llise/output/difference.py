"""Pictures of what differs in a pair: the difference with the regions of faults outlined, and a small strip."""

from __future__ import annotations

import io
from collections.abc import Collection

import numpy as np
from PIL import Image, ImageDraw

from llise.differences import BLOCK, ROUNDING, pixels_of
from llise.gate.judging import Comparison
from llise.gate.outcome import Outcome, Status

FADED = 0.3
"""How much of the reference's contrast is left behind the differences."""

WEAKEST = 0.4
"""Strength of the colour of the smallest difference; the largest ones, of 64 levels or more, have 1."""

DIFFERENCE = np.array([214, 0, 110], np.float32)
"""Colour of pixels that differ."""

NEUTRAL = (60, 60, 60)
"""Colour of outlines where no fault was named."""

SMALL = 256
"""Shorter side of a picture below which outlines are thin and regions have no names."""

THUMB = 160
"""Longest side of each picture in a strip."""

GAP = 6
"""Pixels between the pictures of a strip."""


def illustrate(outcome: Outcome, comparison: Comparison, wanted: Collection[str]) -> dict[str, bytes]:
    """Draw the pictures of a pair."""
    with_strip = "strip" in wanted and outcome.status is not Status.PASS
    if not with_strip and "difference" not in wanted:
        return {}
    pictures = {}
    if "difference" in wanted:
        pictures["difference"] = _encoded(difference_picture(outcome, comparison), "PNG")
    if with_strip:
        difference = difference_picture(outcome, comparison, names=False)  # which could not be read
        pair = comparison.colors or (comparison.reference, comparison.copy)
        pictures["strip"] = _encoded(_strip([*map(Image.fromarray, pair), difference]), "WEBP", quality=85)
    return pictures


def difference_picture(outcome: Outcome, comparison: Comparison, names: bool = True) -> Image.Image:
    """Draw the pixels that differ over the faded reference, and outline the region of each fault."""
    pair = comparison.colors or (comparison.reference[..., None], comparison.copy[..., None])
    error = np.abs(np.subtract(*pair, dtype=np.int16)).max(axis=-1)
    strength = np.where(error > ROUNDING, np.clip(error / 64, WEAKEST, 1), 0)[..., None].astype(np.float32)
    faded = 255 - FADED * (255 - comparison.reference[..., None].astype(np.float32))
    pixels = np.rint(faded * (1 - strength) + DIFFERENCE * strength).astype(np.uint8)
    thin = min(error.shape) < SMALL
    regions = _regions(outcome, comparison)
    for region, colour, _ in regions:
        _outline(pixels, region, colour, thin)
    picture = Image.fromarray(pixels)
    if names and not thin:
        for region, colour, name in regions:
            _write_name(picture, region, colour, name)
    return picture


def _regions(outcome: Outcome, comparison: Comparison) -> list[tuple[np.ndarray, tuple[int, ...], str]]:
    """Blocks, colour and name of each fault, or of the changed blocks."""
    if not outcome.faults:
        return [(comparison.differences.changed, NEUTRAL, "")]
    from llise.diagnosis.result import BLOCK_LABELS
    from llise.kinds.sources import names
    from llise.output.label_words import label_colours, label_name

    labels = (*BLOCK_LABELS, *names())
    colours = dict(zip(labels, label_colours(labels)))
    regions = []
    for judged in outcome.faults:
        colour = colours[judged.fault.kinds[0]]
        rgb = tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
        regions.append((judged.fault.region, rgb, " + ".join(label_name(kind) for kind in judged.fault.kinds)))
    return regions


def _outline(pixels: np.ndarray, region: np.ndarray, colour: tuple[int, ...], thin: bool) -> None:
    """Draw a line in a colour along the inner edge of a region, with a dark one around it unless it is thin."""
    inside = pixels_of(region, pixels.shape)
    if thin:
        pixels[inside & ~_shrunk(inside, 1)] = colour
        return
    inner = _shrunk(inside, 1)
    pixels[inside & ~inner] = 0
    pixels[inner & ~_shrunk(inner, 2)] = colour


def _shrunk(mask: np.ndarray, by: int) -> np.ndarray:
    """The pixels of a mask whose neighbours up to a distance are in it too; beyond the picture there is nothing."""
    for _ in range(by):
        padded = np.pad(mask, 1)
        mask = mask & padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
    return mask


def _write_name(picture: Image.Image, region: np.ndarray, colour: tuple[int, ...], name: str) -> None:
    """Write the name of a fault at the first block of its region."""
    if not name:
        return
    draw = ImageDraw.Draw(picture)
    row, col = np.argwhere(region)[0]
    left, top, right, bottom = draw.textbbox((0, 0), name)
    x = max(0, min(int(col) * BLOCK + 4, picture.width - int(right - left) - 8))
    y = max(0, min(int(row) * BLOCK + 4, picture.height - int(bottom - top) - 8))
    draw.rectangle((x, y, x + right - left + 6, y + bottom - top + 6), fill="black", outline=colour)
    draw.text((x + 3 - left, y + 3 - top), name, fill="white")


def _strip(pictures: list[Image.Image]) -> Image.Image:
    """Small pictures beside each other; tiny ones are enlarged so that their pixels can be seen."""
    width, height = pictures[0].size
    scale = THUMB / max(width, height)
    size = max(1, round(scale * width)), max(1, round(scale * height))
    method = Image.Resampling.BOX if scale < 1 else Image.Resampling.NEAREST
    strip = Image.new("RGB", (3 * size[0] + 2 * GAP, size[1]), "white")
    for number, picture in enumerate(pictures):
        strip.paste(picture.convert("RGB").resize(size, method), (number * (size[0] + GAP), 0))
    return strip


def _encoded(picture: Image.Image, form: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()
