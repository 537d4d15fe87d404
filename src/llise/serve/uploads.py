"""Files that a browser sends: written to disk while they arrive, within limits, under names of our own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from llise.storage.files import printable

MAX_HEADER = 8192
"""Bytes of the headers of one part of an upload."""

MAX_NAME = 200
"""Characters of a file's name that are shown."""

FIELDS = ("reference", "copies")
"""Names of the fields of the form."""


@dataclass(frozen=True)
class Limits:
    """What one upload may need, and how its pictures are judged.

    Attributes
    ----------
    max_bytes : int
        Size of each file.
    max_files : int
        Number of copies.
    max_total : int
        Size of all files together.
    max_pixels : int
        Pixels of each picture.
    max_jobs : int
        Uploads that are held at the same time, those that wait and those that are done.
    patience : float
        Seconds without a byte after which an upload is given up.
    max_seconds : float
        Seconds that an upload may take.
    align : bool
        Judge copies that are shifted, turned or scaled after aligning; otherwise as they lie.
    """

    max_bytes: int = 50_000_000
    max_files: int = 200
    max_total: int = 1_000_000_000
    max_pixels: int = 50_000_000
    max_jobs: int = 8
    patience: float = 30.0
    max_seconds: float = 600.0
    align: bool = True


class UploadError(ValueError):
    """An upload is refused."""

    def __init__(self, message: str, status: int = 400):
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class StoredFile:
    """A received file.

    Attributes
    ----------
    field : str
        The field of the form, "reference" or "copies".
    name : str
        The name that the sender gave it, for display only: it is no part of any path.
    path : Path
        Where it is.
    """

    field: str
    name: str
    path: Path


async def receive(
    stream: AsyncIterator[bytes], content_type: str, folder: Path, limits: Limits
) -> tuple[StoredFile, list[StoredFile]]:
    """Write the files of a form to a folder while they arrive."""
    kind, options = parse_options_header(content_type)
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise UploadError("the request has no files; send a form with the fields reference and copies", 415)
    form = _Form(folder, limits)
    try:
        parser = MultipartParser(options[b"boundary"], form.callbacks)
        async with asyncio.timeout(limits.max_seconds):
            await _feed(parser, stream, limits.patience)
        parser.finalize()
    except TimeoutError:
        raise UploadError("the upload took too long; try again with fewer or smaller files", 408) from None
    except FormParserError:
        raise UploadError("the form is damaged; send it again") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UploadError(f"the files cannot be stored ({reason}); free some space and send them again", 507) from None
    finally:
        form.close()
    return form.result()


async def _feed(parser: MultipartParser, stream: AsyncIterator[bytes], patience: float) -> None:
    while True:
        try:
            chunk = await asyncio.wait_for(anext(stream), patience)
        except StopAsyncIteration:
            return
        # Writing is quick, but not always: other requests go on meanwhile.
        await asyncio.to_thread(parser.write, chunk)


class _Form:
    """What the parser reports becomes files."""

    def __init__(self, folder: Path, limits: Limits):
        self.folder, self.limits = folder, limits
        self.files: list[StoredFile] = []
        self.total = 0
        self.size = 0
        self.ended = False
        self.target: IO[bytes] | None = None
        self.headers: dict[bytes, bytes] = {}
        self.header = [b"", b""]
        self.callbacks: Any = {
            "on_part_begin": self.begin,
            "on_header_field": lambda data, start, end: self.add_header(0, data[start:end]),
            "on_header_value": lambda data, start, end: self.add_header(1, data[start:end]),
            "on_header_end": self.end_header,
            "on_headers_finished": self.open,
            "on_part_data": lambda data, start, end: self.write(data[start:end]),
            "on_part_end": self.close,
            "on_end": self.end,
        }

    def begin(self) -> None:
        self.headers, self.header, self.size = {}, [b"", b""], 0

    def add_header(self, part: int, data: bytes) -> None:
        self.header[part] += data
        if sum(map(len, [*self.header, *self.headers.values()])) > MAX_HEADER:
            raise UploadError("a part of the form has headers that are too long; use shorter file names")

    def end_header(self) -> None:
        self.headers[self.header[0].lower()] = self.header[1]
        self.header = [b"", b""]

    def open(self) -> None:
        _, options = parse_options_header(self.headers.get(b"content-disposition", b""))
        field = options.get(b"name", b"").decode("utf-8", "replace")
        if field not in FIELDS or b"filename" not in options:
            raise UploadError("the form has an unknown field; it may have reference and copies, both files")
        if len(self.files) > self.limits.max_files:
            raise UploadError(f"more than {self.limits.max_files} copies; send fewer at a time", 413)
        name = shown_name(options[b"filename"])
        self.files.append(StoredFile(field, name, self.folder / str(len(self.files))))
        self.target = open(self.files[-1].path, "xb")  # noqa: SIM115 (closed at the end of the part, or of the form)

    def write(self, data: bytes) -> None:
        self.size += len(data)
        self.total += len(data)
        if self.size > self.limits.max_bytes:
            name, most = self.files[-1].name, self.limits.max_bytes / 1e6
            raise UploadError(f"{name}: larger than {most:g} MB; shrink it, or start llise serve with --max-size", 413)
        if self.total > self.limits.max_total:
            raise UploadError(f"more than {self.limits.max_total / 1e6:g} MB together; send fewer at a time", 413)
        if self.target:
            self.target.write(data)

    def end(self) -> None:
        self.ended = True

    def close(self) -> None:
        if self.target:
            self.target.close()
            self.target = None

    def result(self) -> tuple[StoredFile, list[StoredFile]]:
        if not self.ended:
            raise UploadError("the upload stopped before its end; send it again")
        references = [file for file in self.files if file.field == "reference"]
        copies = [file for file in self.files if file.field == "copies"]
        if len(references) != 1 or not copies:
            message = f"{len(references)} references and {len(copies)} copies; send one reference and one copy or more"
            raise UploadError(message)
        return references[0], copies


def shown_name(raw: bytes) -> str:
    """Make a name for display of the name that a browser sends."""
    name = printable(re.split(r"[/\\]", raw.decode("utf-8", "replace"))[-1]).strip()
    return name[:MAX_NAME] if name.strip(".") else "unnamed"
