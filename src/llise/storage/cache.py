"""The cache of fitted diagnosers: one model file per reference image, settings and version of the package."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llise import __version__
from llise.storage.folders import cache_folder
from llise.storage.models import FORMAT_VERSION, ModelError, content_hash, load, save

if TYPE_CHECKING:
    import numpy as np

    from llise.diagnosis.diagnoser import Diagnoser

MOST = 12
"""Largest number of models in the cache; the one that was not used for the longest time is deleted first."""


def folder() -> Path:
    """Folder of the cached models.

    Returns
    -------
    Path
        ``models`` in :func:`llise.storage.folders.cache_folder`; it need not exist yet.

    Examples
    --------
    >>> folder().name
    'models'
    """
    return cache_folder() / "models"


def place(reference: np.ndarray, settings: dict[str, Any]) -> Path:
    """File of the model of a reference.

    Parameters
    ----------
    reference : ndarray
        The reference image.
    settings : dict
        Parameters of the Diagnoser; JSON can hold them.

    Returns
    -------
    Path
        The same for the same reference, settings and version of the package only.

    Examples
    --------
    >>> import numpy as np
    >>> place(np.zeros((8, 8)), {}) == place(np.ones((8, 8)), {})
    False
    """
    key = [content_hash(reference), settings, __version__, FORMAT_VERSION]
    return folder() / f"{hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:32]}.safetensors"


def lookup(reference: np.ndarray, settings: dict[str, Any]) -> Diagnoser | None:
    """Load a model from the cache.

    Parameters
    ----------
    reference : ndarray
        The reference image.
    settings : dict
        Parameters of the Diagnoser.

    Returns
    -------
    Diagnoser or None
        None where the cache has no usable model.

    Examples
    --------
    >>> import numpy as np
    >>> lookup(np.zeros((8, 8)), {"never": "saved"}) is None
    True
    """
    path = place(reference, settings)
    try:
        if not path.is_file():
            return None
        model = load(path)
        os.utime(path)  # the time of the last use decides which model is deleted first
    except (ModelError, OSError):  # a damaged file is replaced when the model has been fitted again
        return None
    return model


def keep(model: Diagnoser, reference: np.ndarray, settings: dict[str, Any]) -> bool:
    """Save a model in the cache; errors of the file system are ignored, as the next run can fit again.

    Parameters
    ----------
    model : Diagnoser
        The fitted model.
    reference : ndarray
        Its reference image.
    settings : dict
        Its parameters, as passed to :func:`lookup` later.

    Returns
    -------
    bool
        Whether it was saved.

    Examples
    --------
    >>> keep(model, reference, {"random_state": 0})  # doctest: +SKIP
    True
    """
    path = place(reference, settings)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save(model, path)
        by_age = sorted(path.parent.glob("*.safetensors"), key=lambda file: file.stat().st_mtime)
        for old in by_age[:-MOST]:
            old.unlink()
    except OSError:
        return False
    return True


def model_files() -> list[Path]:
    """List the files of the cached models.

    Returns
    -------
    list of Path
        The one that was not used for the longest time first; empty without a cache.

    Examples
    --------
    >>> all(path.suffix == ".safetensors" for path in model_files())
    True
    """
    used = []
    for path in folder().glob("*.safetensors"):
        with contextlib.suppress(OSError):  # another process may have deleted it
            used.append((path.stat().st_mtime_ns, path))
    return [path for _, path in sorted(used)]


def clear() -> int:
    """Delete all cached models.

    Returns
    -------
    int
        How many were deleted.

    Raises
    ------
    OSError
        A file cannot be deleted.

    Examples
    --------
    >>> clear()  # doctest: +SKIP
    3
    """
    files = model_files()
    for path in files:
        path.unlink(missing_ok=True)
    return len(files)
