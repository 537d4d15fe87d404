"""Completeness of PNG files: every chunk that makes the picture has its checksum, and there is data for all rows."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Values per pixel by colour type."""

INTERLACED = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))
"""First row, first column, and steps between rows and columns, of the seven pictures of an interlaced file."""


def check_png(data: bytes) -> None:
    """Refuse a PNG file that lacks a part of its picture."""
    pixels, needed = [], 0
    for name, content in _chunks(data):
        if name == b"IHDR":
            needed = _bytes_of_pixels(content)
        elif name == b"IDAT":
            pixels.append(content)
    rows = zlib.decompressobj()
    have = 0
    for part in pixels:
        while part and not rows.eof:
            have += len(rows.decompress(part, 1 << 20))
            part = rows.unconsumed_tail
    have += len(rows.flush())
    if have < needed:
        raise ValueError(f"the PNG file has {have} of {needed} bytes of pixels")


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Name and content of each chunk; the checksums of those without which there is no picture are compared."""
    at = 8
    while True:
        length, name = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        end = at + 8 + length
        if end + 4 > len(data):
            raise ValueError("the PNG file ends before its last chunk")
        if name[:1].isupper() and zlib.crc32(data[at + 4 : end]) != int.from_bytes(data[end : end + 4], "big"):
            raise ValueError(f"the checksum of a PNG chunk ({name.decode('ascii', 'replace')}) is wrong")
        yield name, data[at + 8 : end]
        if name == b"IEND":
            return
        at = end + 4


def _bytes_of_pixels(header: bytes) -> int:
    """Uncompressed size of the rows, each with one byte before it that names its filter."""
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
    bits = header[8] * CHANNELS[header[9]]
    parts = INTERLACED if header[12] else ((0, 0, 1, 1),)
    total = 0
    for row, column, down, across in parts:
        rows, columns = -(-(height - row) // down), -(-(width - column) // across)
        total += rows * (1 + -(-columns * bits // 8)) if rows > 0 and columns > 0 else 0
    return total
