"""Image files, right and damaged, made byte by byte where Pillow cannot write them."""

from __future__ import annotations

import io
import struct
import zlib
from itertools import pairwise
from typing import Any

import numpy as np
from PIL import Image

INTERLACED = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))


def scene(height: int, width: int, seed: int = 0) -> np.ndarray:
    """A smooth picture with some noise, 8-bit grey."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:height, :width]
    waves = 110 + 50 * np.sin(rows / 7 + seed) + 45 * np.cos(columns / 9 + rows / 30)
    return np.clip(waves + rng.normal(0, 6, (height, width)), 0, 255).astype(np.uint8)


def encoded(image: np.ndarray | Image.Image, kind: str, **options: Any) -> bytes:
    """A picture as Pillow writes it."""
    file = io.BytesIO()
    picture = image if isinstance(image, Image.Image) else Image.fromarray(image)
    picture.save(file, kind, **options)
    return file.getvalue()


def chunk(name: bytes, content: bytes) -> bytes:
    """A chunk of a PNG file."""
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(
    values: np.ndarray,
    depth: int = 8,
    color: int = 0,
    *,
    interlaced: bool = False,
    rows: bytes | None = None,
    more: bytes = b"",
    parts: int = 1,
) -> bytes:
    """A PNG file of values (h, w) or (h, w, channels) with so many bits each; ``rows`` replaces its pixel data."""
    height, width = values.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, int(interlaced))
    pixels = png_rows(values, depth, interlaced) if rows is None else rows
    stream = zlib.compress(pixels, 6)
    cut = [len(stream) * number // parts for number in range(parts + 1)]
    data = b"".join(chunk(b"IDAT", stream[a:b]) for a, b in pairwise(cut))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + data + chunk(b"IEND", b"")


def png_rows(values: np.ndarray, depth: int, interlaced: bool = False) -> bytes:
    """The rows of a PNG file, each after a filter byte of 0."""
    parts = [values[a::c, b::d] for a, b, c, d in INTERLACED] if interlaced else [values]
    rows = []
    for part in parts:
        for row in part if part.size else []:
            if depth < 8:
                bits = (row.reshape(-1, 1) >> np.arange(depth - 1, -1, -1)) & 1
                packed = np.packbits(bits.reshape(-1).astype(np.uint8)).tobytes()
            else:
                packed = row.astype(">u2" if depth == 16 else np.uint8).tobytes()
            rows.append(b"\0" + packed)
    return b"".join(rows)


def tiff(image: np.ndarray, changes: dict[int, Any] | None = None, rows_per_strip: int = 16) -> bytes:
    """An uncompressed TIFF file in strips; ``changes`` replaces the values of tags, None leaves a tag out."""
    height, width = image.shape[:2]
    samples = 1 if image.ndim == 2 else image.shape[2]
    strips = [image[at : at + rows_per_strip].tobytes() for at in range(0, height, rows_per_strip)]
    places = list(np.cumsum([8, *map(len, strips)])[:-1])
    tags: dict[int, Any] = {
        256: width,
        257: height,
        258: [8 * image.dtype.itemsize] * samples,
        259: 1,
        262: 1 if samples == 1 else 2,
        273: places,
        277: samples,
        278: rows_per_strip,
        279: [len(strip) for strip in strips],
        339: [1] * samples,
    }
    tags = {tag: value for tag, value in sorted((tags | (changes or {})).items()) if value is not None}
    data = b"".join(strips)
    at = 8 + len(data)
    entries, extra = b"", b""
    after = at + 2 + 12 * len(tags) + 4
    for tag, value in tags.items():
        numbers = [int(v) for v in np.ravel(value)]
        content = struct.pack(f"<{len(numbers)}I", *numbers)
        if len(content) > 4:
            content, extra = struct.pack("<I", after + len(extra)), extra + content
        entries += struct.pack("<HHI", tag, 4, len(numbers)) + content
    return struct.pack("<2sHI", b"II", 42, at) + data + struct.pack("<H", len(tags)) + entries + bytes(4) + extra


def scan_data(jpeg: bytes) -> tuple[int, int]:
    """Where the coded data of the first scan of a JPEG file begin, and where the last marker is."""
    start = jpeg.index(b"\xff\xda")
    return start + 2 + int.from_bytes(jpeg[start + 2 : start + 4], "big"), jpeg.rindex(b"\xff\xd9")


def without(data: bytes, at: int, count: int) -> bytes:
    """The bytes without some of them."""
    return data[:at] + data[at + count :]


def zeroed(data: bytes, at: int, count: int) -> bytes:
    """The bytes with some of them zero."""
    return data[:at] + bytes(count) + data[at + count :]


def gif_of_rows(image: np.ndarray, rows: int) -> bytes:
    """A GIF file whose coded data end, in due form, after some of the rows."""
    height = struct.pack("<H", len(image))
    short = encoded(image[:rows], "GIF")
    at = short.index(b"\x2c\0\0\0\0" + short[6:10]) + 7
    return short[:8] + height + short[10:at] + height + short[at + 2 :]
