"""JPEG coders: Pillow's, and one with other ways of rounding and of enlarging chroma; grey and colour."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from llise.colours import pixels_of, planes_of
from llise.kinds.grey import quantise
from llise.kinds.jpeg_tables import COSINES, STANDARD_TABLE
from llise.kinds.resampling_weights import ENLARGING
from llise.kinds.resize import along

SIDE = len(STANDARD_TABLE)
FACTORS = {"4:4:4": (1, 1), "4:2:2": (1, 2), "4:2:0": (2, 2)}
"""Rows and columns of pixels for which there is one value of chroma."""

_COSINES = COSINES.astype(np.float32)
_TRIANGLE = ENLARGING[0]
_CENTRE = 128
_CHROMA_AT = np.array([0, 128, 128], np.float32)


@dataclass(frozen=True)
class JpegSettings:
    """A JPEG: quantiser steps row by row (none of chroma for a grey picture), and the quality they come nearest to.

    `rounding` is added to the size of a coefficient, in steps, before its fraction is cut off; `smooth` chroma is
    enlarged by a triangle, other by repeating; the first whole coded unit begins at the `offset`, as in a picture that
    was cut after it was coded.
    """

    quality: float
    luma: tuple[int, ...]
    chroma: tuple[int, ...] = ()
    subsampling: str = "4:4:4"
    rounding: float = 0.5
    smooth: bool = True
    offset: tuple[int, int] = (0, 0)

    def words(self) -> dict[str, float]:
        return {"quality": self.quality}


def steps_of(table: np.ndarray) -> tuple[int, ...]:
    """Whole quantiser steps from 1 to 255, row by row."""
    return tuple(np.clip(np.rint(table), 1, 255).astype(int).ravel().tolist())


def coded(image: np.ndarray, settings: JpegSettings) -> np.ndarray:
    """Code an 8-bit image and decode it."""
    down, across = (SIDE * n for n in FACTORS[settings.subsampling]) if image.ndim == 3 else (SIDE, SIDE)
    top, left = -settings.offset[0] % down, -settings.offset[1] % across
    rows, cols = image.shape[:2]
    if top or left:
        image = np.pad(image, [(top, 0), (left, 0), (0, 0)][: image.ndim], mode="edge")
    return _coded(image, settings)[top : top + rows, left : left + cols]


def _coded(image: np.ndarray, settings: JpegSettings) -> np.ndarray:
    if image.ndim == 2:
        if settings.rounding == 0.5:
            return decoded(Image.fromarray(image), qtables=[list(settings.luma)])
        return quantise(rounded_plane(image.astype(np.float32), settings.luma, settings.rounding))
    chroma = settings.chroma or settings.luma
    if settings.rounding == 0.5 and settings.smooth:
        tables = [list(settings.luma), list(chroma)]
        return decoded(Image.fromarray(image), qtables=tables, subsampling=settings.subsampling)
    planes = np.rint(planes_of(image)) + _CHROMA_AT
    down, across = FACTORS[settings.subsampling]
    luma = quantise(rounded_plane(planes[..., 0], settings.luma, settings.rounding))
    made = [luma]
    for plane in (planes[..., 1], planes[..., 2]):
        small = rounded_plane(reduced(plane, down, across), chroma, settings.rounding)
        made.append(quantise(enlarged(np.clip(np.rint(small), 0, 255), plane.shape, down, across, settings.smooth)))
    return quantise(pixels_of(np.stack(made, axis=-1) - _CHROMA_AT))


def reduced(plane: np.ndarray, down: int, across: int) -> np.ndarray:
    """Whole means of down x across pixels; at the border, the last pixels are repeated."""
    padded = np.pad(plane, [(0, -plane.shape[0] % down), (0, -plane.shape[1] % across)], mode="edge")
    rows, cols = padded.shape[0] // down, padded.shape[1] // across
    means = padded.reshape(rows, down, cols, across).mean(axis=(1, 3), dtype=np.float32)
    return np.asarray(np.floor(means + np.float32(0.5)))


def enlarged(small: np.ndarray, shape: tuple[int, ...], down: int, across: int, smooth: bool) -> np.ndarray:
    """Chroma at all pixels."""
    if not smooth:
        return small.repeat(down, 0).repeat(across, 1)[: shape[0], : shape[1]]
    for axis, factor in enumerate((down, across)):
        if factor > 1:
            small = along(small, _TRIANGLE.taps(small.shape[axis], factor * small.shape[axis]), axis)
    return small[: shape[0], : shape[1]]


def rounded_plane(plane: np.ndarray, steps: tuple[int, ...], rounding: float) -> np.ndarray:
    """Code a plane with another part of a step from which it is rounded up; neither rounded nor clipped to 8 bits."""
    rows, cols = plane.shape
    table = np.asarray(steps, np.float32)
    padded = np.pad(plane, [(0, -n % SIDE) for n in plane.shape], mode="edge").astype(np.float32) - _CENTRE
    blocks = padded.reshape(padded.shape[0] // SIDE, SIDE, -1, SIDE).swapaxes(1, 2)
    numbers = blocks.reshape(-1, SIDE * SIDE) @ _COSINES / table
    numbers = np.sign(numbers) * np.floor(np.abs(numbers) + np.float32(rounding)) * table
    levels = (numbers @ _COSINES.T).reshape(blocks.shape).swapaxes(1, 2).reshape(padded.shape)
    return levels[:rows, :cols] + _CENTRE


def decoded(picture: Image.Image, **options: Any) -> np.ndarray:
    """Code with Pillow's options and decode."""
    stream = io.BytesIO()
    picture.save(stream, "JPEG", **options)
    stream.seek(0)
    with Image.open(stream) as code:
        return np.array(code)
