"""Writing files so that they are either complete or unchanged: a temporary file is written, then renamed.

A temporary file has a name that ends with :data:`TEMPORARY`, and is locked while it is written. One that is not locked
was left by a process that was killed; the next process that writes in the same folder removes it.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TEMPORARY = ".llise-tmp"
"""End of the name of a temporary file."""

STALE_NAME = re.compile(r"\..*\.[0-9a-f]{8}" + re.escape(TEMPORARY), re.DOTALL)

STALE_SECONDS = 24 * 3600
"""Age of an abandoned temporary file where the file system has no locks."""

_cleaned: set[str] = set()
_unfinished: set[Path] = set()


class OutputError(OSError):
    """A file cannot be written; the message names it and says what to do."""


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """A temporary file in the folder of ``path``, renamed to it when the block ends without an error."""
    target = Path(os.path.realpath(path))
    check_writable(target)
    _remove_stale(target.parent)
    if "b" not in mode:
        options = {"encoding": "utf-8", "errors": "backslashreplace", **options}
    # The name is cut so that prefix and suffix still fit into the 255 bytes of a file name.
    start = f".{os.fsdecode(os.fsencode(target.name)[:100])}"
    temporary = target.with_name(f"{start}.{os.urandom(4).hex()}{TEMPORARY}")
    lock = -1
    _unfinished.add(temporary)
    try:
        # "x", so that a file of the same name is never overwritten.
        with open(temporary, mode.replace("w", "x"), opener=_opened, **options) as file:
            lock = os.dup(file.fileno())  # the lock belongs to the open file, and outlasts the first number
            yield file
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (str(temporary), None) and error.errno:
            raise OutputError(f"cannot write {target}: {error.strerror}; choose another place") from error
        raise
    finally:
        _unfinished.discard(temporary)
        if lock >= 0:
            os.close(lock)


def remove_unfinished() -> None:
    """Remove the temporary files of this process, which must end right after it."""
    for temporary in list(_unfinished):
        temporary.unlink(missing_ok=True)


def _opened(path: str, flags: int) -> int:
    """Create a file with the usual permissions, and lock it."""
    while True:
        number = os.open(path, flags, 0o666)
        _lock(number, wait=True)
        if os.path.exists(path):
            return number
        os.close(number)  # another process took it for an abandoned one before it was locked


def _lock(number: int, wait: bool = False) -> bool | None:
    """Lock an open file; False where another process has locked it, None where the file system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _remove_stale(folder: Path) -> None:
    """Remove temporary files that killed processes have left in a folder; done once for each folder."""
    if str(folder) in _cleaned:
        return
    _cleaned.add(str(folder))
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if STALE_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_if_stale(entry.path)


def _remove_if_stale(path: str) -> None:
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    try:
        free = _lock(number)
        if free or (free is None and time.time() - os.fstat(number).st_mtime > STALE_SECONDS):
            os.unlink(path)
    finally:
        os.close(number)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path where no file can be written, so that this is found before any long work."""
    target = Path(os.path.realpath(path))
    if os.path.isdir(target):  # os.path, unlike Path, answers for impossible names too
        raise OutputError(f"cannot write {path}: it is a folder; name a file in it")
    if os.path.exists(target) and not os.path.isfile(target):
        raise OutputError(f"cannot write {path}: it is not an ordinary file; name another one")
    if not os.path.isdir(target.parent):
        raise OutputError(f"cannot write {path}: there is no folder {target.parent}; create it first")
    try:
        os.lstat(target)
    except FileNotFoundError:
        pass
    except OSError as error:  # such as a name that is too long
        raise OutputError(f"cannot write {path}: {error.strerror}; choose another place") from None
    if not os.access(target.parent, os.W_OK):
        raise OutputError(f"cannot write {path}: the folder {target.parent} is read-only; choose another place")


def printable(text: str) -> str:
    """Text on one line that any terminal can show: control characters and invalid Unicode are escaped."""
    safe = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in safe)
