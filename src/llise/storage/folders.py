"""Folders that belong to the user's account."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """Folder for files that can be made again: ``llise`` in the user's cache folder.

    The environment variable ``XDG_CACHE_HOME`` names another cache folder on every system.

    Returns
    -------
    Path
        The folder, which need not exist yet.

    Examples
    --------
    >>> cache_folder().name
    'llise'
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or platformdirs.user_cache_dir()) / "llise"
