"""Files that are either whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


class OutputError(OSError):
    """A file cannot be written; the message names it and says what to do."""


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file beside ``path`` and move it there when the block ends without an error.

    Parameters
    ----------
    path : str or path
        Where the file shall be. A link is followed; a device, pipe or folder is refused.
    mode : {"wb", "w"}
        Binary or text.
    **options
        Passed to :func:`open`, such as ``encoding`` and ``newline``.

    Yields
    ------
    file
        The open temporary file.

    Raises
    ------
    OutputError
        The folder is missing or cannot be written, or ``path`` is not an ordinary file.
    """
    target = Path(os.path.realpath(path))
    check_writable(target)
    # The name is cut so that prefix and suffix still fit into the 255 bytes of a file name.
    temporary = target.with_name(f".{os.fsdecode(os.fsencode(target.name)[:100])}.{secrets.token_hex(4)}.tmp")
    try:
        # Opened with the usual permissions less the umask; "x" because nobody else's file may be taken.
        with open(temporary, mode.replace("w", "x"), **options) as file:
            yield file
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (str(temporary), None) and error.errno:
            raise OutputError(f"cannot write {target}: {error.strerror}; choose another place") from error
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse early, before any long work, a place where no file can be written.

    Raises
    ------
    OutputError
        With the reason and the remedy.
    """
    target = Path(os.path.realpath(path))
    if os.path.isdir(target):  # os.path, unlike Path, answers for impossible names too
        raise OutputError(f"cannot write {path}: it is a folder; name a file in it")
    if os.path.exists(target) and not os.path.isfile(target):
        raise OutputError(f"cannot write {path}: it is not an ordinary file; name another one")
    if not os.path.isdir(target.parent):
        raise OutputError(f"cannot write {path}: there is no folder {target.parent}; create it first")
    if not os.access(target.parent, os.W_OK):
        raise OutputError(f"cannot write {path}: the folder {target.parent} is read-only; choose another place")


def printable(text: str) -> str:
    """Text on one line that any terminal and encoding can take: no control characters, no half characters."""
    safe = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in safe)
