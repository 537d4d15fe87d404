"""Where files that can be made again are kept."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_folder() -> Path:
    """Return the user's cache folder of this package, which need not exist yet."""
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "llise"
    return user_cache_path("llise", appauthor=False)
