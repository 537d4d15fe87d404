"""Where files that can be made again are kept."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_folder() -> Path:
    """Return the user's cache folder of this package, which need not exist yet.

    Returns
    -------
    pathlib.Path
        ``llise`` in ``$XDG_CACHE_HOME`` where that is set, else in the folder that the operating system has for
        caches: ``~/.cache`` on Linux, ``~/Library/Caches`` on macOS, ``%LOCALAPPDATA%`` on Windows.

    Examples
    --------
    >>> from llise.storage.folders import cache_folder
    >>> "llise" in cache_folder().parts
    True
    """
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "llise"
    return user_cache_path("llise", appauthor=False)
