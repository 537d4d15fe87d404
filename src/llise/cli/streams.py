"""Standard output and standard error that cannot end the work.

A reader that leaves early (``| head -1``), a closed stream (``>&-``) or a full disk must not keep a command from
writing its files. :func:`guard` replaces the streams once, before the command runs; what cannot be written any more is
dropped, and :func:`failure` tells the program of it at the end.
"""

from __future__ import annotations

import io
import os
import select
import sys
from typing import Any

_failures: dict[int, OSError] = {}


class _Descriptor(io.FileIO):
    """A file descriptor that remembers the first error and drops everything after it."""

    def write(self, data: Any) -> int:
        """Write bytes, waiting where a reader is slow."""
        number = self.fileno()
        while number not in _failures:
            try:
                count = super().write(data)
            except OSError as error:
                _failures[number] = error
                break
            if count is not None:
                return count
            select.select([], [number], [])  # a pipe that does not block and is full
        return memoryview(data).nbytes


def guard() -> None:
    """Open closed standard streams on the null device, and let no error of the others reach the commands."""
    _failures.clear()
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    sys.stdout = _stream(sys.stdout, 1)
    sys.stderr = _stream(sys.stderr, 2)


def failure() -> OSError | None:
    """Return the error that kept results from standard output."""
    return _failures.get(1)


def _stream(old: Any, number: int) -> io.TextIOWrapper:
    descriptor = _Descriptor(number, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(descriptor),
        encoding=old.encoding if old else "utf-8",
        errors="backslashreplace",
        line_buffering=old.line_buffering if old else True,
        write_through=old.write_through if old else False,
    )
