"""Fitted models as one safetensors file: arrays and a JSON header, no pickle, checked before use.

The header, in the file's metadata under ``llise``, has the name and version of the format, the model's class,
its settings, the versions of the libraries that made it, the hash of the reference image and a digest of all
of it. A file is read only after its header agrees with its size, and used only where the digest agrees too.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import struct
from dataclasses import dataclass
from importlib.metadata import version
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from llise.storage.files import atomic_write
from llise.storage.registry import SAVABLE, savable_class

FORMAT = "llise-model"
FORMAT_VERSION = 1

DTYPES = {
    np.dtype(name).str: code
    for name, code in {
        "bool": "BOOL", "u1": "U8", "i1": "I8", "<u2": "U16", "<i2": "I16", "<u4": "U32", "<i4": "I32",
        "<u8": "U64", "<i8": "I64", "<f4": "F32", "<f8": "F64",
    }.items()
}  # fmt: skip
MAX_HEADER = 4_000_000
LIBRARIES = ("llise", "numpy", "scipy", "scikit-learn", "scikit-image", "numba")


class ModelError(ValueError):
    """A model cannot be saved or loaded; the message names the file and says what to do."""


@dataclass(frozen=True)
class Header:
    """What a model file says of itself.

    Attributes
    ----------
    format_version : int
    class_name : str
        One of ``SAVABLE``.
    settings : dict
        Parameters and small fitted values.
    versions : dict of str to str
        Python and libraries that made the file.
    reference_sha256 : str or None
        Hash of the reference image, where the model has one.
    arrays : dict of str to (str, tuple of int)
        Dtype and shape of each array.
    digest : str
        SHA-256 of everything above and of the arrays' bytes.
    """

    format_version: int
    class_name: str
    settings: dict[str, Any]
    versions: dict[str, str]
    reference_sha256: str | None
    arrays: dict[str, tuple[str, tuple[int, ...]]]
    digest: str


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted model to one file.

    Parameters
    ----------
    model : LLISE, KernelLLISE, DistortionRecognizer, Diagnoser, ...
        Fitted.
    path : str or path
        Replaced as a whole when everything is written.

    Raises
    ------
    ModelError
        The model is of another class, or a setting is not plain data, such as a function.
    """
    from safetensors.numpy import save as to_bytes

    name = type(model).__name__
    if name not in SAVABLE:
        raise ModelError(f"{path}: a {name} cannot be saved; expected one of {', '.join(SAVABLE)}")
    arrays, settings = model.to_state()
    arrays = {key: _plain(value) for key, value in arrays.items()}
    content: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "class": name,
        "settings": settings,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        "reference_sha256": content_hash(arrays["reference"]) if "reference" in arrays else None,
    }
    try:
        content = json.loads(json.dumps(content, default=_plain_scalar))
    except (TypeError, ValueError) as error:
        raise ModelError(f"{path}: {error}; use settings that are numbers, names or None") from None
    content["digest"] = _digest(content, arrays)
    data = to_bytes(arrays, metadata={"llise": json.dumps(content)})
    with atomic_write(path) as file:
        file.write(data)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that :func:`save` wrote.

    Nothing in the file is executed. Memory is bounded by the size of the file.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    The fitted model.

    Raises
    ------
    ModelError
        The file is missing, truncated, changed, of a newer format or of another program.
    """
    header, arrays = _read(Path(path))
    try:
        saved_class: Any = savable_class(header.class_name)
        return saved_class.from_state(arrays, header.settings)
    except Exception as error:  # whatever a state of the wrong shape provokes
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(f"{path}: not a usable {header.class_name} ({reason}); fit it again") from error


def read_header(path: str | os.PathLike[str]) -> Header:
    """Read and check a model file without building the model.

    Raises
    ------
    ModelError
        As for :func:`load`.
    """
    return _read(Path(path))[0]


def content_hash(image: np.ndarray) -> str:
    """SHA-256 of an image's size and pixels."""
    return hashlib.sha256(repr((image.dtype.str, image.shape)).encode() + image.tobytes()).hexdigest()


def _plain(values: Any) -> np.ndarray:
    """A little-endian array in C order, which is what the file holds."""
    array = np.asarray(values)
    return np.array(array, dtype=array.dtype.newbyteorder("<"), order="C", copy=None)


def _plain_scalar(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"a setting is a {type(value).__name__}, which cannot be saved")


def _digest(content: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 of the header's content and of all arrays in order of their names."""
    digest = hashlib.sha256(json.dumps({**content, "digest": None}, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(repr((name, array.dtype.str, array.shape)).encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def _read(path: Path) -> tuple[Header, dict[str, np.ndarray]]:
    """Header and arrays of a file that agrees with itself."""
    from safetensors import SafetensorError, safe_open

    content, tensors = _parse(path)
    try:
        with safe_open(path, "numpy") as file:
            arrays = {name: file.get_tensor(name) for name in tensors}
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise ModelError(f"{path}: damaged ({error}); fit the model again") from None
    if _digest(content, arrays) != content["digest"]:
        raise ModelError(f"{path}: changed or damaged since it was saved; fit the model again")
    header = Header(
        format_version=content["format_version"],
        class_name=content["class"],
        settings=content["settings"],
        versions=content["versions"],
        reference_sha256=content["reference_sha256"],
        arrays={name: (array.dtype.name, array.shape) for name, array in arrays.items()},
        digest=content["digest"],
    )
    return header, arrays


def _parse(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Our part of the header and the entries of the arrays, checked against the file's size."""
    head, room = _head(path)
    try:
        tensors = json.loads(head)
        content = json.loads(tensors.pop("__metadata__")["llise"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ModelError(f"{path}: not a model of llise; make one with llise fit") from None
    _check_content(path, content)
    try:
        sizes = [_checked_size(entry) for entry in tensors.values()]
    except (ValueError, TypeError, KeyError):
        raise ModelError(f"{path}: damaged (shapes and sizes disagree); fit the model again") from None
    if sum(sizes) != room:
        raise ModelError(
            f"{path}: truncated or damaged ({room} bytes of arrays, the header says {sum(sizes)}); "
            "copy it or fit it again"
        )
    return content, tensors


def _head(path: Path) -> tuple[bytes, int]:
    """The JSON text at the start of the file, and how many bytes follow it."""
    try:
        if not path.is_file():
            reason = "is a folder" if path.is_dir() else "not an ordinary file" if path.exists() else "no such file"
            raise ModelError(f"{path}: {reason}; name a file made by llise fit")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
            if not 0 < length <= MAX_HEADER:
                raise ModelError(f"{path}: not a model of llise; make one with llise fit")
            if 8 + length > size:
                raise ModelError(f"{path}: truncated within its header; copy it or fit it again")
            return file.read(length), size - 8 - length
    except ModelError:
        raise
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read ({error}); check name and permissions") from None


def _check_content(path: Path, content: Any) -> None:
    """Refuse another program's file, a newer format, an unknown class, or missing parts."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelError(f"{path}: not a model of llise; make one with llise fit")
    number = content.get("format_version")
    if isinstance(number, int) and number > FORMAT_VERSION:
        raise ModelError(
            f"{path}: format {number} of a newer llise, this one reads up to {FORMAT_VERSION}; upgrade llise"
        )
    expected = {"class": str, "settings": dict, "versions": dict, "digest": str}
    wrong = [key for key, kind in expected.items() if not isinstance(content.get(key), kind)]
    if number != FORMAT_VERSION or wrong or "reference_sha256" not in content:
        raise ModelError(f"{path}: damaged header; fit the model again")
    if content["class"] not in SAVABLE:
        raise ModelError(f"{path}: holds a {content['class']!r}, unknown to this llise; upgrade llise")


def _checked_size(entry: dict[str, Any]) -> int:
    """Bytes of one array, where its dtype, shape and offsets agree."""
    item = {code: np.dtype(name).itemsize for name, code in DTYPES.items()}[entry["dtype"]]
    shape, (begin, end) = entry["shape"], entry["data_offsets"]
    if not all(type(n) is int and n >= 0 for n in [*shape, begin, end]) or item * prod(shape) != end - begin:
        raise ValueError
    return end - begin
