"""Fitted diagnosers of earlier runs, found by the reference's content and the settings."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llise import __version__
from llise.storage.models import FORMAT_VERSION, ModelError, content_hash, load, save

if TYPE_CHECKING:
    import numpy as np

    from llise.diagnosis.diagnoser import Diagnoser

MOST = 12
"""Models that are kept; the one that was not used for longest goes first."""


def folder() -> Path:
    """Where models are kept: ``llise`` in ``$XDG_CACHE_HOME``, by default ``~/.cache``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "llise"


def place(reference: np.ndarray, settings: dict[str, Any]) -> Path:
    """File of the model of this reference, these settings and this version of the package."""
    key = [content_hash(reference), settings, __version__, FORMAT_VERSION]
    return folder() / f"{hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:32]}.safetensors"


def lookup(reference: np.ndarray, settings: dict[str, Any]) -> Diagnoser | None:
    """The model from the cache, or None where there is none that can be used."""
    path = place(reference, settings)
    try:
        if not path.is_file():
            return None
        model = load(path)
        os.utime(path)
    except (ModelError, OSError):  # as good as absent: it is fitted again and replaced
        return None
    return model


def keep(model: Diagnoser, reference: np.ndarray, settings: dict[str, Any]) -> None:
    """Put a model into the cache; where that cannot be done, the next run fits again."""
    path = place(reference, settings)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        save(model, path)
        kept = sorted(path.parent.glob("*.safetensors"), key=lambda p: p.stat().st_mtime)
        for old in kept[:-MOST]:
            old.unlink()
