"""Writing files so that they are either complete or unchanged: a temporary file is written, then renamed."""

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
    """Open a temporary file in the folder of ``path`` and rename it to ``path`` when the block ends without an error.

    Parameters
    ----------
    path : str or path
        The file to write.  A link is followed; a device, pipe or folder is refused.
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

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "a.txt", "w", encoding="utf-8") as file:
    ...         _ = file.write("complete")
    ...     (Path(folder) / "a.txt").read_text()
    'complete'
    """
    target = Path(os.path.realpath(path))
    check_writable(target)
    # The name is cut so that prefix and suffix still fit into the 255 bytes of a file name.
    temporary = target.with_name(f".{os.fsdecode(os.fsencode(target.name)[:100])}.{secrets.token_hex(4)}.tmp")
    try:
        # Opened with the usual permissions; "x" so that a file of the same name is never overwritten.
        with open(temporary, mode.replace("w", "x"), **options) as file:
            yield file
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (str(temporary), None) and error.errno:
            raise OutputError(f"cannot write {target}: {error.strerror}; choose another place") from error
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path where no file can be written, so that this is found before any long work.

    Parameters
    ----------
    path : str or path
        The file to be written later.

    Raises
    ------
    OutputError
        With the reason and what to do.

    Examples
    --------
    >>> check_writable("/")
    Traceback (most recent call last):
    llise.storage.files.OutputError: cannot write /: it is a folder; name a file in it
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
    """Text on one line that any terminal can show: control characters and invalid Unicode are escaped.

    Parameters
    ----------
    text : str
        Any text, such as the name of a file.

    Returns
    -------
    str

    Examples
    --------
    >>> print(printable("two\\nlines"))
    two\\nlines
    """
    safe = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in safe)
