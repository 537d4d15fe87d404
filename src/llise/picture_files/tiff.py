"""TIFF files: whether every strip or tile of the picture lies within the file, and what its samples are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

WIDTH, HEIGHT, BITS, COMPRESSION, SAMPLES, ROWS_PER_STRIP, PLANAR = 256, 257, 258, 259, 277, 278, 284
STRIPS, STRIP_SIZES, TILE_WIDTH, TILE_HEIGHT, TILES, TILE_SIZES = 273, 279, 322, 323, 324, 325
UNCOMPRESSED, SEPARATE_PLANES = 1, 2

DEFAULTS = ((BITS, 1), (262, 1))
"""Numbers of the tags BitsPerSample and PhotometricInterpretation, with their default values."""

SAMPLE_FORMAT, UNSIGNED, UNDEFINED = 339, 1, 4
"""Number of the tag SampleFormat, and its values for whole numbers from 0 on and for what is taken for them."""


def check_tiff(tags: Mapping[int, Any], size: int) -> None:
    """Refuse a TIFF file that lacks a part of its picture."""
    width, height = _number(tags, WIDTH, 0), _number(tags, HEIGHT, 0)
    tiled = TILES in tags
    if tiled:
        rows, columns = _number(tags, TILE_HEIGHT, 0), _number(tags, TILE_WIDTH, 0)
    else:
        rows, columns = min(_number(tags, ROWS_PER_STRIP, height), height), width
    if min(width, height, rows, columns) < 1:
        raise ValueError("the TIFF picture or its parts have no size")
    places, sizes = (
        np.ravel(tags.get(tag, ())).astype(np.int64)
        for tag in ((TILES, TILE_SIZES) if tiled else (STRIPS, STRIP_SIZES))
    )
    samples = _number(tags, SAMPLES, 1)
    planes = samples if _number(tags, PLANAR, 1) == SEPARATE_PLANES else 1
    down = -(-height // rows)
    parts = down * -(-width // columns) * planes
    if len(places) < parts or len(sizes) < parts:
        raise ValueError(f"the TIFF file has {min(len(places), len(sizes))} of {parts} strips or tiles")
    places, sizes = places[:parts], sizes[:parts]
    if places.min() < 1 or sizes.min() < 1:
        raise ValueError("a strip or tile of the TIFF file is missing")
    if (places + sizes).max() > size:
        raise ValueError("a part of the TIFF picture lies beyond the end of the file")
    if _number(tags, COMPRESSION, UNCOMPRESSED) == UNCOMPRESSED:
        bits = int(np.max(tags.get(BITS, 1))) * (samples // planes)
        in_part = np.full(down, rows) if tiled else np.minimum(rows, height - rows * np.arange(down))
        needed = np.resize(np.repeat(in_part, -(-width // columns)), parts) * -(-columns * bits // 8)
        if (sizes < needed).any():
            raise ValueError("a strip or tile of the TIFF file is too short")


def _number(tags: Mapping[int, Any], tag: int, default: int) -> int:
    """The value of a tag that has a single one."""
    return int(np.ravel(tags.get(tag, default))[0])


def bits_per_sample(tags: Mapping[int, Any]) -> int:
    """Return the bits of a sample."""
    bits, photometric = (np.ravel(tags.get(tag, default)) for tag, default in DEFAULTS)
    return 32 if bits.max() > 8 and photometric[0] == 0 else int(bits.max())


def is_signed(tags: Mapping[int, Any]) -> bool:
    """Return whether samples have a sign or are no whole numbers."""
    return not set(np.ravel(tags.get(SAMPLE_FORMAT, UNSIGNED))) <= {UNSIGNED, UNDEFINED}
