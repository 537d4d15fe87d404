"""Files of custom kinds: ``.kind``, which holds what was learned, and ``.py``, which is code.

A ``.kind`` file has two plain arrays (safetensors): what the network of a model says of regions with the kind, and the
number of the copy from which each was taken. Nothing in it is run. A ``.py`` file is run, because the user named it.
"""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from llise.diagnosis.custom_kinds import CustomSamples, samples_of
from llise.diagnosis.diagnoser import shipped_model
from llise.diagnosis.regions import Model
from llise.kinds import own, sources
from llise.kinds.sources import KindError
from llise.storage.array_files import FileForm, digest_of, read_arrays
from llise.storage.files import atomic_write

FORMAT_VERSION = 2
"""1 held features that llise 0.2 measured itself."""

MOST_REGIONS, MOST_VALUES = 10_000, 4096
"""Most regions of a kind, and most numbers of a region, that a file may hold."""

FORM = FileForm("llise-kind", "a kind of llise", "llise teach", "teach it again", KindError, max_bytes=64_000_000)

ARRAYS = {"values": (np.dtype("<f4"), 2), "groups": (np.dtype("<i4"), 1)}
"""Dtype and number of dimensions of each array."""


def save_kind(samples: CustomSamples, path: str | os.PathLike[str]) -> None:
    """Write a kind that was learned to a file; the same samples give the same bytes."""
    from safetensors.numpy import save

    arrays = {"values": samples.values.astype("<f4"), "groups": samples.groups.astype("<i4")}
    content = {"version": FORMAT_VERSION, "name": samples.name, "title": samples.title, "model": samples.digest}
    content["digest"] = digest_of({**content, "digest": None}, arrays)
    with atomic_write(path) as file:
        file.write(save(arrays, metadata={FORM.key: json.dumps(content)}))


def load_kind(path: str | os.PathLike[str]) -> CustomSamples:
    """Read a kind that :func:`save_kind` wrote; KindError if that is not what the file holds."""
    path = Path(path)
    content, arrays = read_arrays(path, FORM)
    if not isinstance(content, dict):
        raise FORM.none_of_ours(path)
    version = content.get("version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise KindError(f"{path}: format {version} of a newer llise; upgrade llise, or teach it again with this one")
    if version == 1:
        raise KindError(f"{path}: was taught by llise 0.2, which had no network; teach it again")
    if version != FORMAT_VERSION or content.get("digest") != digest_of(content, arrays):
        raise KindError(f"{path}: changed or damaged since it was taught; teach it again")
    _check_arrays(path, arrays)
    try:
        name = own.check_name(content.get("name"))
        title = own.check_title(name, content.get("title"))
    except KindError as error:
        raise KindError(f"{path}: {error}") from None
    return CustomSamples(name, title, arrays["values"], arrays["groups"], str(content.get("model")))


def _check_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    if {name: (array.dtype, array.ndim) for name, array in arrays.items()} != ARRAYS:
        raise KindError(f"{path}: has other arrays than a kind of llise; teach it again")
    values, groups = arrays["values"], arrays["groups"]
    fits = 0 < len(values) <= MOST_REGIONS and 0 < values.shape[1] <= MOST_VALUES and groups.shape == values.shape[:1]
    if not fits or not np.isfinite(values).all() or groups.min() < 0:
        shapes = f"{values.shape} and {groups.shape}"
        raise KindError(f"{path}: its arrays of shapes {shapes} are no answers about regions; teach it again")


def teach(
    name: str, source: str | os.PathLike[str], title: str | None = None, model: Model | None = None
) -> CustomSamples:
    """Learn a kind from a folder of examples, or from the function that a Python file registers under this name."""
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
        samples = samples_of(model or shipped_model(), found)
        checked = own.check_title(name, title or samples.title)
        return CustomSamples(name, checked, samples.values, samples.groups, samples.digest)
    finally:
        _remove(names)


def register_file(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Register the kinds of a ``.kind`` file, or of a Python file, which is run; return their names."""
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
    spec = importlib.util.spec_from_file_location("llise_custom_kinds", path)
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
