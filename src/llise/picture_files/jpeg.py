"""Completeness of JPEG files: every scan is read code by code, as a decoder does, without computing pixels.

libjpeg goes on after damage: it fills what is missing with grey and decodes what follows as something else, and Pillow
does not pass on its warnings.  Here the codes of a file must be valid, fill every block exactly and end where the data
end.  What this cannot notice is damage that leaves a valid file, such as one other bit in the value of a coefficient.
Files with arithmetic coding, which are very rare, are checked for their markers only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from llise.picture_files.huffman import Bits, CodeTable, read_refinement, read_run_lengths, read_sequential

MARKER = re.compile(rb"\xff+[^\x00\xff]")
"""The next marker in coded data, where a value of 255 is written as ff 00; ff may be repeated before a marker."""

RESTARTS = range(0xD0, 0xD8)
WITHOUT_LENGTH = (0x01, 0xD8, *RESTARTS)
START_OF_SCAN, END_OF_IMAGE, HUFFMAN_TABLES, RESTART_INTERVAL = 0xDA, 0xD9, 0xC4, 0xDD
SEQUENTIAL, PROGRESSIVE = (0xC0, 0xC1), 0xC2
OTHER_FRAMES = (0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF)


@dataclass
class _Component:
    """One colour channel of a JPEG file: its sampling, its size in blocks, and what was read of it so far.

    Attributes
    ----------
    horizontal, vertical : int
        Sampling factors.
    columns, rows : int
        Blocks of this channel.
    missing_bits : list of int
        For each of the 64 coefficients, how many low bits are still to come; -1 before the first scan of it.
    nonzero : list of int
        For each block, bit k is set where coefficient k is not 0; used by progressive files only.
    """

    horizontal: int
    vertical: int
    columns: int = 0
    rows: int = 0
    missing_bits: list[int] = field(default_factory=lambda: [-1] * 64, repr=False)
    nonzero: list[int] = field(default_factory=list, repr=False)


@dataclass
class _Scan:
    """Parameters of one scan: its components with their tables, the band of coefficients and the bits.

    Attributes
    ----------
    components : list of _Component
        Channels in the scan.
    dc_tables, ac_tables : list of CodeTable or None
        Code tables of each component; None where the file did not define the table.
    first, last : int
        The coefficients.
    high, low : int
        Bits that were read before (0: none), and low bits that are still to come.
    """

    components: list[_Component]
    dc_tables: list[CodeTable | None]
    ac_tables: list[CodeTable | None]
    first: int
    last: int
    high: int
    low: int


def check_jpeg(data: bytes) -> None:
    """Refuse a JPEG file that lacks a part of its picture."""
    _Reader(data).check()


class _Reader:
    """Walks through the segments of one file."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.tables: dict[tuple[int, int], CodeTable] = {}
        self.components: dict[int, _Component] = {}
        self.interval = 0
        self.mcu_columns = self.mcu_rows = 0
        self.coding = 0  # the marker of the frame

    def check(self) -> None:
        at = 2
        while True:
            found = MARKER.match(self.data, at)
            if not found:
                raise ValueError("the JPEG file ends before its end-of-image marker")
            marker, at = self.data[found.end() - 1], found.end()
            if marker == END_OF_IMAGE:
                break
            if marker in WITHOUT_LENGTH:
                continue
            end = at + int.from_bytes(self.data[at : at + 2], "big")
            if end < at + 2 or end > len(self.data):
                raise ValueError("the JPEG file ends within its header")
            at = self._segment(marker, self.data[at + 2 : end], end)
        self._check_all_read()

    def _segment(self, marker: int, content: bytes, end: int) -> int:
        """Read one segment; return where the next one begins."""
        if marker == HUFFMAN_TABLES:
            self._read_tables(content)
        elif marker == RESTART_INTERVAL:
            self.interval = int.from_bytes(content[:2], "big")
        elif marker in (*SEQUENTIAL, PROGRESSIVE, *OTHER_FRAMES):
            self._read_frame(marker, content)
        elif marker == START_OF_SCAN:
            parts, end = self._coded_data(end)
            if self.coding in (*SEQUENTIAL, PROGRESSIVE):
                self._read_scan(self._scan(content), parts)
        return end

    def _read_tables(self, content: bytes) -> None:
        while len(content) >= 17:
            counts, n = content[1:17], sum(content[1:17])
            self.tables[content[0] >> 4, content[0] & 15] = CodeTable(counts, content[17 : 17 + n])
            content = content[17 + n :]

    def _read_frame(self, marker: int, content: bytes) -> None:
        height, width = int.from_bytes(content[1:3], "big"), int.from_bytes(content[3:5], "big")
        self.coding = marker
        for number in range(content[5]):
            name, sampling = content[6 + 3 * number], content[7 + 3 * number]
            self.components[name] = _Component(sampling >> 4, sampling & 15)
        across = max(component.horizontal for component in self.components.values())
        down = max(component.vertical for component in self.components.values())
        self.mcu_columns, self.mcu_rows = -(-width // (8 * across)), -(-height // (8 * down))
        for component in self.components.values():
            component.columns = -(-width * component.horizontal // (8 * across))
            component.rows = -(-height * component.vertical // (8 * down))
            component.nonzero = [0] * (component.columns * component.rows if marker == PROGRESSIVE else 0)

    def _scan(self, content: bytes) -> _Scan:
        n = content[0]
        names, choices = content[1 : 1 + 2 * n : 2], content[2 : 2 + 2 * n : 2]
        first, last, bits = content[1 + 2 * n : 4 + 2 * n]
        if self.coding != PROGRESSIVE:
            first, last, bits = 0, 63, 0
        return _Scan(
            [self.components[name] for name in names],
            [self.tables.get((0, choice >> 4)) for choice in choices],
            [self.tables.get((1, choice & 15)) for choice in choices],
            first,
            last,
            bits >> 4,
            bits & 15,
        )

    def _coded_data(self, at: int) -> tuple[list[bytes], int]:
        """The coded data of a scan, divided at its restart markers, and where the next marker is."""
        parts = []
        while True:
            found = MARKER.search(self.data, at)
            if not found:
                raise ValueError("the JPEG file ends before its end-of-image marker")
            parts.append(self.data[at : found.start()].replace(b"\xff\x00", b"\xff"))
            marker = self.data[found.end() - 1]
            if marker not in RESTARTS:
                return parts, found.start()
            if marker != RESTARTS[(len(parts) - 1) % 8]:
                raise ValueError("a part of the JPEG data between two restart markers is missing")
            at = found.end()

    def _read_scan(self, scan: _Scan, parts: list[bytes]) -> None:
        alone = scan.components[0] if len(scan.components) == 1 else None
        units = alone.columns * alone.rows if alone else self.mcu_columns * self.mcu_rows
        interval = self.interval or units
        if len(parts) != -(-units // interval):
            raise ValueError("a part of the JPEG data between two restart markers is missing")
        for number, part in enumerate(parts):
            first = number * interval
            _read_part(scan, Bits(part), first, min(interval, units - first))
        for component in scan.components:
            component.missing_bits[scan.first : scan.last + 1] = [scan.low] * (scan.last + 1 - scan.first)

    def _check_all_read(self) -> None:
        if not self.coding:
            raise ValueError("the JPEG file has no picture")
        if self.coding not in (*SEQUENTIAL, PROGRESSIVE):
            return
        if any(any(component.missing_bits) for component in self.components.values()):
            raise ValueError("a scan of the JPEG file is missing")


def _read_part(scan: _Scan, bits: Bits, first: int, units: int) -> None:
    """Read ``units`` blocks, or groups of blocks of several components, from number ``first`` on."""
    if scan.first > 0:
        component, table = scan.components[0], scan.ac_tables[0]
        if scan.high:
            read_refinement(bits, table, component.nonzero, first, units, (scan.first, scan.last))
        else:
            read_run_lengths(bits, table, component.nonzero, first, units, (scan.first, scan.last))
    else:
        alone = len(scan.components) == 1
        unit = []
        for component, dc, ac in zip(scan.components, scan.dc_tables, scan.ac_tables):
            blocks = 1 if alone else component.horizontal * component.vertical
            unit += [(dc, ac if scan.last > 0 else None)] * blocks
        if scan.high:
            bits.skip(units * len(unit))  # one bit for each block
        else:
            read_sequential(bits, unit, units)
    bits.check_end()
