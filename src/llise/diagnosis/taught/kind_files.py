"""Files of kinds of one's own: ``.kind``, which holds what was learned, and ``.py``, which is code.

A ``.kind`` file has two plain arrays (safetensors): the features of regions with the kind, and the number of the copy
from which each was taken.  Nothing in it is run.  A ``.py`` file is run, because the user named it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from llise.diagnosis.features.region_features import LARGEST, feature_names
from llise.diagnosis.taught.taught_samples import TaughtSamples, samples_of
from llise.kinds import own, sources
from llise.kinds.sources import KindError
from llise.storage.array_files import FileForm, digest_of, read_arrays
from llise.storage.files import atomic_write

FORMAT_VERSION = 1
MOST_REGIONS = 10_000
"""Most regions of one kind."""

FORM = FileForm(
    "llise-kind", "a kind of llise", "llise teach", "teach it again", KindError, max_bytes=1000 * MOST_REGIONS
)

ARRAYS = {"values": (np.dtype("<f2"), 2), "groups": (np.dtype("<i4"), 1)}
"""Dtype and number of dimensions of each array."""


def save_kind(samples: TaughtSamples, path: str | os.PathLike[str]) -> None:
    """Write a kind that was learned to a file.

    Parameters
    ----------
    samples : TaughtSamples
        What was learned.
    path : str or path
        Replaced as a whole when everything is written. The same samples give the same bytes.

    Examples
    --------
    >>> from llise.diagnosis.taught.kind_files import save_kind
    >>> save_kind(samples, "fog.kind")  # doctest: +SKIP
    """
    from safetensors.numpy import save

    arrays = {"values": samples.values.astype("<f2"), "groups": samples.groups.astype("<i4")}
    content = {
        "version": FORMAT_VERSION,
        "name": samples.name,
        "title": samples.title,
        "features": _features(),
        "digest": None,
    }
    content["digest"] = digest_of(content, arrays)
    with atomic_write(path) as file:
        file.write(save(arrays, metadata={FORM.key: json.dumps(content)}))


def load_kind(path: str | os.PathLike[str]) -> TaughtSamples:
    """Read a kind that :func:`save_kind` wrote.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    TaughtSamples
        What was learned.

    Raises
    ------
    KindError
        The file is missing, damaged, changed, of another program or for other features than this llise has.

    Examples
    --------
    >>> from llise.diagnosis.taught.kind_files import load_kind
    >>> load_kind("absent.kind")
    Traceback (most recent call last):
    llise.kinds.sources.KindError: absent.kind: no such file; name a file made by llise teach
    """
    path = Path(path)
    content, arrays = read_arrays(path, FORM)
    if not isinstance(content, dict):
        raise FORM.none_of_ours(path)
    version = content.get("version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise KindError(f"{path}: format {version} of a newer llise; upgrade llise, or teach it again with this one")
    if version != FORMAT_VERSION or content.get("digest") != digest_of(content, arrays):
        raise KindError(f"{path}: changed or damaged since it was taught; teach it again")
    if content.get("features") != _features():
        raise KindError(f"{path}: was taught for other features than this llise measures; teach it again")
    _check_arrays(path, arrays)
    try:
        name = own.check_name(content.get("name"))
        title = own.check_title(name, content.get("title"))
    except KindError as error:
        raise KindError(f"{path}: {error}") from None
    return TaughtSamples(name, title, arrays["values"].astype(np.float32), arrays["groups"])


def _check_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    found = {name: (array.dtype, array.ndim) for name, array in arrays.items()}
    if found != ARRAYS:
        raise KindError(f"{path}: has other arrays than a kind of llise; teach it again")
    values, groups = arrays["values"], arrays["groups"]
    n = len(values)
    fits = 0 < n <= MOST_REGIONS and values.shape[1] == len(feature_names()) and groups.shape == (n,)
    if not fits or not (np.isfinite(values).all() and np.abs(values).max() <= LARGEST):
        shapes = f"{values.shape} and {groups.shape}"
        raise KindError(f"{path}: its arrays of shapes {shapes} are no features of regions; teach it again")
    if groups.min() < 0:
        raise KindError(f"{path}: has regions of copies with negative numbers; teach it again")


def _features() -> str:
    """Fingerprint of the names of the features."""
    return hashlib.sha256("\n".join(feature_names()).encode()).hexdigest()


def teach(name: str, source: str | os.PathLike[str], title: str | None = None) -> TaughtSamples:
    """Learn a kind from a folder of examples, or from the function of a Python file.

    Parameters
    ----------
    name : str
        Name of the kind.
    source : path
        A folder of examples, see :func:`llise.kinds.examples.find_examples`, or a Python file that registers a kind of
        this name.
    title : str, optional
        Name in sentences.

    Returns
    -------
    TaughtSamples
        What was learned; nothing stays registered.

    Raises
    ------
    KindError, ExampleError
        With the reason and what to do.

    Examples
    --------
    >>> from llise.diagnosis.taught.kind_files import teach
    >>> teach("fog", "examples/")  # doctest: +SKIP
    """
    own.check_free(name)
    names: tuple[str, ...] = (name,)
    if Path(source).suffix == ".py":
        names = register_file(source)
        if name not in names:
            _remove(names)
            raise KindError(f"{source}: registers {', '.join(names)}, but not {name}; name one of them")
    else:
        own.register(name, source, title=title)
    try:
        (found,) = (one for one in sources.sources() if one.name == name)
        samples = samples_of(found)
        return TaughtSamples(name, own.check_title(name, title or samples.title), samples.values, samples.groups)
    finally:
        _remove(names)


def register_file(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Register the kinds of a file.

    Parameters
    ----------
    path : str or path
        A ``.kind`` file, or a Python file, which is run and calls :func:`llise.kinds.register`.

    Returns
    -------
    tuple of str
        Names of its kinds.

    Raises
    ------
    KindError
        The file cannot be used; none of its kinds is registered then.

    Examples
    --------
    >>> from llise.diagnosis.taught.kind_files import register_file
    >>> register_file("kinds.txt")
    Traceback (most recent call last):
    llise.kinds.sources.KindError: kinds.txt: neither a .kind file of llise teach nor a Python file; name one of these
    """
    path = Path(path)
    if path.suffix not in (".kind", ".py"):
        raise KindError(f"{path}: neither a .kind file of llise teach nor a Python file; name one of these")
    if path.suffix == ".kind":
        samples = load_kind(path)
        try:
            own.add(samples)
        except KindError as error:
            raise KindError(f"{path}: {error}") from None
        return (samples.name,)
    before = set(sources.names())
    try:
        _run(path)
        names = tuple(name for name in sources.names() if name not in before)
        if not names:
            raise KindError(f"{path}: registers no kind; call llise.kinds.register in it")
    except BaseException:
        _remove(tuple(name for name in sources.names() if name not in before))
        raise
    return names


def _run(path: Path) -> None:
    """Run a Python file as a module of its own."""
    if not path.is_file():
        raise KindError(f"{path}: {'is a folder' if path.is_dir() else 'no such file'}; name a Python file")
    spec = importlib.util.spec_from_file_location("llise_own_kinds", path)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ValueError as error:
        raise KindError(f"{path}: {error}") from error
    except (Exception, SystemExit) as error:
        raise KindError(f"{path}: raised {type(error).__name__}: {error}; correct it") from error


def _remove(names: tuple[str, ...]) -> None:
    for name in names:
        own.unregister(name)
