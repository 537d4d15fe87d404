"""Reading the Huffman codes of JPEG scans: how far each code goes, and which coefficients are not zero.

The loops are plain Python, because compiled ones would take longer to load than most files take to read: about 10 ms
for a file of 40 kB.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import cached_property

import numpy as np

CHUNK = 1 << 18
"""Bytes of coded data that are prepared at once."""

SPARE = 8192
"""Bytes beyond a chunk that the last unit in it may reach into; a unit has at most some 2 kB."""

DAMAGED = "a part of the JPEG data is missing or damaged"


END = 1000
"""What the end of a block adds to the number of its coefficients."""


class CodeTable:
    """A Huffman code as lists with an entry for every 16 bits that can come next."""

    def __init__(self, counts: bytes, symbols: bytes) -> None:
        lengths = [length for length, count in enumerate(counts, 1) for _ in range(count)]
        self._entries = list(zip(symbols, lengths))
        self._used = sum(1 << 16 - length for length in lengths)
        if self._used > 1 << 16 or len(symbols) < len(lengths):
            raise ValueError("a code table of the JPEG file is damaged")

    def _expanded(self, value: Callable[[int, int], int], otherwise: int) -> list[int]:
        """One value for each symbol and length of its code, and another one where there is no code."""
        table: list[int] = []
        for symbol, length in self._entries:
            table += [value(symbol, length)] * (1 << 16 - length)
        return table + [otherwise] * ((1 << 16) - self._used)

    @cached_property
    def codes(self) -> list[int]:
        """The symbol times 32, plus the length of its code; 0 for no code."""
        return self._expanded(lambda symbol, length: symbol << 5 | length, 0)

    @cached_property
    def lengths(self) -> list[int]:
        """For a first coefficient: bits of its code and of the value that follows; 0 for no code."""
        return self._expanded(lambda symbol, length: length + symbol if symbol <= 11 else 0, 0)

    @cached_property
    def steps(self) -> list[int]:
        """For the others: the number of coefficients times 32, plus bits of code and value; no code goes too far."""

        def step(symbol: int, length: int) -> int:
            run, size = symbol >> 4, symbol & 15
            return (run + 1 if size or run == 15 else END) << 5 | length + size

        return self._expanded(step, 500 << 5)


class Bits:
    """Coded data, looked at 16 bits at a time from any bit on.

    Attributes
    ----------
    window : array of int
        The 16 bits from each bit of the present chunk on.
    at : int
        The next bit in ``window``.
    limit : int
        The bit from which on :meth:`advance` is needed.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.start = 0
        self.at = 0
        self._prepare()

    def _prepare(self) -> None:
        part = self.data[self.start : self.start + CHUNK + SPARE]
        # Four bytes after the end: whoever reads beyond these meets an IndexError.
        values = np.frombuffer(part + bytes(6), np.uint8).astype(np.uint32)
        three = values[:-2] << 16 | values[1:-1] << 8 | values[2:]
        shifts = np.arange(8, 0, -1, dtype=np.uint32)
        self.window = array("H", (three[:, None] >> shifts & 0xFFFF).astype(np.uint16).tobytes())
        self.limit = 8 * CHUNK

    def advance(self, at: int) -> int:
        """Prepare the next chunk."""
        self.start += at >> 3
        self._prepare()
        return at & 7

    def skip(self, count: int) -> None:
        """Skip bits."""
        self.at = self.advance(self.at + count)

    def check_end(self) -> None:
        """Refuse data that end before the last code, or that go on after it with more than bytes to fill up."""
        left = 8 * (len(self.data) - self.start) - self.at
        surplus = self.data[len(self.data) - left // 8 :] if left >= 8 else b""
        if left < 0 or len(set(surplus)) > 1:
            raise ValueError(DAMAGED)


def read_sequential(bits: Bits, unit: list[tuple[CodeTable | None, CodeTable | None]], units: int) -> None:
    """Read blocks whose first coefficient, and all others where there is a table for them, are coded one by one."""
    blocks = [(_present(dc).lengths, ac.steps if ac else None) for dc, ac in unit]
    window, at = bits.window, bits.at
    try:
        for _ in range(units):
            if at > bits.limit:
                at = bits.advance(at)
                window = bits.window
            for lengths, step in blocks:
                length = lengths[window[at]]
                if not length:
                    raise ValueError(DAMAGED)
                at += length
                if step is None:
                    continue
                k = 1
                while k < 64:
                    value = step[window[at]]
                    at += value & 31
                    k += value >> 5
                if 64 < k < END:
                    raise ValueError(DAMAGED)
    except IndexError:
        raise ValueError(DAMAGED) from None
    bits.at = at


def _present(table: CodeTable | None) -> CodeTable:
    if table is None:
        raise ValueError("a code table of the JPEG file is missing")
    return table


def read_run_lengths(
    bits: Bits, table: CodeTable | None, nonzero: list[int], first: int, units: int, band: tuple[int, int]
) -> None:
    """Read the first scan of a band of coefficients of a progressive file."""
    codes = _present(table).codes
    window, at, (start, last) = bits.window, bits.at, band
    block, end = first, first + units
    try:
        while block < end:
            if at > bits.limit:
                at = bits.advance(at)
                window = bits.window
            k, mask, run_of_blocks = start, 0, 1
            while k <= last:
                value = codes[window[at]]
                at += value & 31
                run, size = value >> 9, value >> 5 & 15
                if size:
                    k += run
                    mask |= 1 << k
                    at += size
                elif run == 15 and value:
                    k += 15
                elif value:
                    run_of_blocks = (1 << run) + (window[at] >> 16 - run if run else 0)
                    at += run
                    break
                else:
                    raise ValueError(DAMAGED)
                k += 1
            if mask >> last + 1:
                raise ValueError(DAMAGED)
            nonzero[block] |= mask
            block += run_of_blocks
    except IndexError:
        raise ValueError(DAMAGED) from None
    if block > end:
        raise ValueError(DAMAGED)
    bits.at = at


def read_refinement(
    bits: Bits, table: CodeTable | None, nonzero: list[int], first: int, units: int, band: tuple[int, int]
) -> None:
    """Read a scan of a progressive file that adds one bit to coefficients, and coefficients that were zero before."""
    codes = _present(table).codes
    at, left = bits.at, 0  # blocks that follow without new coefficients
    whole = (1 << band[1] + 1) - (1 << band[0])
    try:
        for block in range(first, first + units):
            if at > bits.limit:
                at = bits.advance(at)
            if not left:
                at, left = _refine_block(bits.window, at, codes, nonzero, block, band)
            else:
                at += (nonzero[block] & whole).bit_count()
            left = max(left - 1, 0)
    except IndexError:
        raise ValueError(DAMAGED) from None
    if left:
        raise ValueError(DAMAGED)
    bits.at = at


def _refine_block(
    window: array, at: int, codes: list[int], nonzero: list[int], block: int, band: tuple[int, int]
) -> tuple[int, int]:
    """Read one block; return the next bit, and for how many blocks, with this one, no new coefficients follow."""
    (k, last), before, new = band, nonzero[block], 0
    below = (1 << last + 1) - 1
    while k <= last:
        value = codes[window[at]]
        run, size = value >> 9, value >> 5 & 15
        at += (value & 31) + size
        if size > 1 or not value:
            raise ValueError(DAMAGED)
        if not size and run < 15:
            blocks = (1 << run) + (window[at] >> 16 - run if run else 0)
            at += run + ((before & below) >> k).bit_count()
            nonzero[block] |= new
            return at, blocks
        place = k + run
        if before >> k & (2 << run) - 1:  # coefficients that were not zero lie between: a bit follows for each
            zeros = ~before & -(1 << k)
            for _ in range(run):
                zeros &= zeros - 1
            place = (zeros & -zeros).bit_length() - 1
            at += ((before & below & (2 << place) - 1) >> k).bit_count()
        if place > last and size:
            raise ValueError(DAMAGED)
        new |= size << place
        k = place + 1
    nonzero[block] |= new
    return at, 1
