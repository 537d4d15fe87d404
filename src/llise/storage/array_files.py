"""Safetensors files of llise: plain arrays and a JSON header, read without running anything and checked before use.

safetensors checks the sizes, dtypes and positions of the arrays; this module tells what is wrong with a file that is
none of ours, and computes the digest of header and arrays.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from llise.storage.files import printable

MAX_HEADER = 4_000_000
"""Most bytes of the file's header."""


@dataclass(frozen=True)
class FileForm:
    """What distinguishes one sort of files from another.

    Attributes
    ----------
    key : str
        Entry of the metadata with our part of the header.
    noun : str
        What such a file is called, such as ``"a model of llise"``.
    made_by : str
        The command that makes one.
    again : str
        What to do about a damaged one, such as ``"fit it again"``.
    error : type
        The exception to raise.
    max_bytes : int or None
        Largest file that is read.
    """

    key: str
    noun: str
    made_by: str
    again: str
    error: type[ValueError]
    max_bytes: int | None = None

    def none_of_ours(self, path: Path) -> ValueError:
        """Return the error for a file that is none of this form."""
        return self.error(f"{path}: not {self.noun}; make one with {self.made_by}")


def read_arrays(path: Path, form: FileForm) -> tuple[Any, dict[str, np.ndarray]]:
    """Read our part of the header and all arrays."""
    from safetensors import SafetensorError, safe_open

    _check_start(path, form)
    try:
        with safe_open(path, "numpy") as file:
            try:
                content = json.loads((file.metadata() or {})[form.key])
            except (ValueError, KeyError, RecursionError):
                raise form.none_of_ours(path) from None
            return content, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except form.error:
        raise
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        reason = printable(shorten(str(error), 200))
        raise form.error(
            f"{path}: truncated or damaged (header and arrays disagree: {reason}); copy it or {form.again}"
        ) from None


def digest_of(content: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """Return the SHA-256 of the header's content and of all arrays in order of their names."""
    return _digest(json.dumps({**content, "digest": None}, sort_keys=True).encode(), arrays)


def _digest(start: bytes, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(start)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(repr((name, array.dtype.str, array.shape)).encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def _check_start(path: Path, form: FileForm) -> None:
    """Refuse what is not a safetensors file at all, and one that ends within its header."""
    try:
        if not path.is_file():
            reason = "is a folder" if path.is_dir() else "not an ordinary file" if path.exists() else "no such file"
            raise form.error(f"{path}: {reason}; name a file made by {form.made_by}")
        with path.open("rb") as file:
            start, size = file.read(9), os.fstat(file.fileno()).st_size
    except form.error:
        raise
    except (OSError, ValueError) as error:
        raise form.error(f"{path}: cannot be read ({error}); check name and permissions") from None
    length = struct.unpack("<Q", start[:8])[0] if len(start) >= 8 else 0
    if not 0 < length <= MAX_HEADER or start[8:] not in (b"", b"{"):
        raise form.none_of_ours(path)
    if form.max_bytes is not None and size > form.max_bytes:
        raise form.error(f"{path}: {size} bytes, more than {form.noun} can have; make one with {form.made_by}")
    if 8 + length > size:
        raise form.error(f"{path}: truncated within its header; copy it or {form.again}")
