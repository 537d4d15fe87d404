"""Fitted models as one safetensors file: arrays and a JSON header, no pickle, checked before use.

The header, in the file's metadata under ``llise``, has the name and version of the format, the model's class, its
settings, the versions of the libraries that wrote it, the hash of the reference image and a digest of all of it and
of the arrays.  safetensors checks the file's structure (the sizes, dtypes and positions of the arrays); this module
checks the header and the digest.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import llise
from llise.storage.array_files import FileForm, digest_of, read_arrays
from llise.storage.files import atomic_write, printable
from llise.storage.registry import SAVABLE, savable_class

FORMAT = "llise-model"
FORMAT_VERSION = 1
LIBRARIES = ("llise", "numpy", "scipy", "scikit-learn", "scikit-image", "numba")


@cache
def version(name: str) -> str:
    """The version of a library; looking it up takes milliseconds, so it is done once."""
    return llise.__version__ if name == "llise" else metadata.version(name)


class ModelError(ValueError):
    """A model cannot be saved or loaded; the message names the file and says what to do."""


FORM = FileForm("llise", "a model of llise", "llise.save", "fit it again", ModelError)


class Savable(Protocol):
    """What a class needs so that its objects can be saved; it must be in :data:`llise.storage.registry.SAVABLE` too."""

    def to_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return all from which :meth:`from_state` restores the object."""

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Any:
        """Restore an object; any exception means that the state cannot be used."""


@dataclass(frozen=True)
class Header:
    """What a model file says about itself.

    Attributes
    ----------
    format_version : int
        Version of the file format.
    class_name : str
        One of :data:`llise.storage.registry.SAVABLE`.
    settings : dict
        Parameters and small fitted values.
    versions : dict of str to str
        Versions of Python and of the libraries that wrote the file.
    reference_sha256 : str or None
        Hash of the reference image, where the model has one.
    arrays : dict of str to (str, tuple of int)
        Dtype and shape of each array.
    digest : str
        SHA-256 of everything above and of the arrays' bytes.
    """

    format_version: int
    class_name: str
    settings: dict[str, Any] = field(repr=False)
    versions: dict[str, str] = field(repr=False)
    reference_sha256: str | None
    arrays: dict[str, tuple[str, tuple[int, ...]]] = field(repr=False)
    digest: str


def save(model: Savable, path: str | os.PathLike[str]) -> None:
    """Save a fitted model to a file.

    The same model gives the same bytes.  An existing file is replaced only when the new one is complete.

    Parameters
    ----------
    model : LLISE, KernelLLISE, LLE, KernelLLE, DistortionRecognizer or Diagnoser
        The fitted model.
    path : str or path
        The file to write.

    Raises
    ------
    ModelError
        The object is not one of these models, or a setting is not plain data (a function, for instance).
    OutputError
        The file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import llise
    >>> model = llise.LLE(2, n_neighbors=3).fit(np.random.default_rng(0).random((9, 4, 5)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     llise.save(model, os.path.join(folder, "model.llise"))
    ...     llise.load(os.path.join(folder, "model.llise"))
    LLE(n_components=2, n_neighbors=3)
    """
    from safetensors.numpy import save as to_bytes

    name = type(model).__name__
    if name not in SAVABLE:
        raise ModelError(f"{path}: a {name} cannot be saved; expected one of {', '.join(SAVABLE)}")
    state, settings = model.to_state()
    arrays = {key: _plain(value) for key, value in state.items()}
    content: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "class": name,
        "settings": settings,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        "reference_sha256": _reference_hash(arrays),
    }
    try:
        content = json.loads(json.dumps(content, default=_plain_scalar))
    except (TypeError, ValueError) as error:
        raise ModelError(f"{path}: {error}; use settings that are numbers, names or None") from None
    content["digest"] = digest_of(content, arrays)
    data = to_bytes(arrays, metadata={"llise": json.dumps(content)})
    with atomic_write(path) as file:
        file.write(data)


def load(path: str | os.PathLike[str], check: Callable[[Header], None] | None = None) -> Any:
    """Load a model that :func:`save` wrote.

    Nothing in the file is executed.  Memory is bounded by the size of the file.

    Parameters
    ----------
    path : str or path
        The file to read.
    check : callable, optional
        Takes the header before the model is built, and raises ``ModelError`` for a model that is not wanted.

    Returns
    -------
    LLISE, KernelLLISE, LLE, KernelLLE, DistortionRecognizer or Diagnoser
        The fitted model.

    Raises
    ------
    ModelError
        The file is missing, truncated, changed, of a newer format or of another program.

    Examples
    --------
    >>> import llise
    >>> llise.load("absent.llise")
    Traceback (most recent call last):
    llise.storage.models.ModelError: absent.llise: no such file; name a file made by llise.save
    """
    header, arrays = _read(Path(path))
    if check is not None:
        check(header)
    try:
        saved_class: Any = savable_class(header.class_name)
        return saved_class.from_state(arrays, header.settings)
    except Exception as error:  # whatever a state of the wrong shape provokes
        reason = printable(" ".join(str(error).split())) or type(error).__name__
        raise ModelError(
            f"{path}: not a usable {header.class_name} ({reason}); fit it again, and save it with llise.save"
        ) from error


def read_header(path: str | os.PathLike[str]) -> Header:
    """Read and check a model file without building the model."""
    return _read(Path(path))[0]


def content_hash(image: np.ndarray) -> str:
    """SHA-256 of an image's dtype, size and pixels."""
    return hashlib.sha256(repr((image.dtype.str, image.shape)).encode() + image.tobytes()).hexdigest()


def _reference_hash(arrays: dict[str, np.ndarray]) -> str | None:
    """Hash of a model's reference image, where it has one."""
    return content_hash(arrays["reference"]) if "reference" in arrays else None


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


def _read(path: Path) -> tuple[Header, dict[str, np.ndarray]]:
    """Header and arrays of a file whose structure, header and digest are right."""
    content, arrays = read_arrays(path, FORM)
    _check_content(path, content)
    if digest_of(content, arrays) != content["digest"]:
        raise ModelError(f"{path}: changed or damaged since it was saved; fit the model again")
    if content["reference_sha256"] != _reference_hash(arrays):
        raise ModelError(f"{path}: its header names another reference than it holds; fit the model again")
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


def _check_content(path: Path, content: Any) -> None:
    """Refuse the file of another program, a newer format, an unknown class, or missing entries."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FORM.none_of_ours(path)
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
        raise ModelError(f"{path}: holds a {printable(content['class'])!r}, unknown to this llise; upgrade llise")
