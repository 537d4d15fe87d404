"""The cache of fitted diagnosers: one model file per reference image, settings and version of the package.

Only the user can read or write it.  The models that were not used for the longest time are deleted when all of them
together become too large.  A file that is damaged, or that does not belong to the reference, is deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llise import __version__
from llise.storage.folders import cache_folder
from llise.storage.models import FORMAT_VERSION, Header, ModelError, content_hash, load, save

if TYPE_CHECKING:
    import numpy as np

    from llise.diagnosis.diagnoser import Diagnoser

MAX_BYTES = 1_000_000_000
"""Largest size of all cached models together, about 25 models of 512 x 512 references; a larger model is not cached."""


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

    def check(header: Header) -> None:
        belongs = header.class_name == "Diagnoser" and header.versions.get("llise") == __version__
        belongs = belongs and header.reference_sha256 == content_hash(reference)
        if not belongs or any(header.settings.get(name, value) != value for name, value in settings.items()):
            raise ModelError(f"{path}: not the model of this reference and version")

    try:
        if not path.is_file() or not _only_ours(path.parent):
            return None
        model = load(path, check)
        os.utime(path)  # the time of the last use decides which model is deleted first
    except ModelError:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        return None
    except OSError:
        return None
    return model


def keep(model: Diagnoser, reference: np.ndarray, settings: dict[str, Any]) -> bool:
    """Save a model in the cache, and delete the oldest ones where the cache becomes too large.

    Errors of the file system are ignored, because the next run can fit again.

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
        Whether it was saved: False for a model of more than :data:`MAX_BYTES`, and where nothing can be written.

    Examples
    --------
    >>> keep(model, reference, {"random_state": 0})  # doctest: +SKIP
    True
    """
    path = place(reference, settings)
    if sum(array.nbytes for array in model.to_state()[0].values()) > MAX_BYTES:
        return False
    try:
        for private in (cache_folder(), folder()):
            private.mkdir(mode=0o700, parents=True, exist_ok=True)
            private.chmod(0o700)
        save(model, path)
        path.chmod(0o600)
        _delete_oldest(MAX_BYTES)
    except OSError:
        return False
    return path.exists()


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


def _delete_oldest(limit: int) -> None:
    """Delete models, those not used for the longest time first, until all together have at most ``limit`` bytes."""
    files = model_files()
    sizes = [path.stat().st_size for path in files]
    excess = sum(sizes) - limit
    for path, size in zip(files, sizes):
        if excess <= 0:
            return
        path.unlink(missing_ok=True)
        excess -= size


def _only_ours(path: Path) -> bool:
    """Whether a folder belongs to this user and nobody else can put files into it."""
    status = path.stat()
    return os.name == "nt" or (status.st_uid == os.getuid() and not status.st_mode & 0o022)
