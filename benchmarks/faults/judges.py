"""Judges that are read once in each process; a cached function of the script itself could not be sent to workers."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from llise.diagnosis.judging.judge import Judge


@cache
def load_judge(file: Path) -> Judge:
    """Read a judge."""
    return Judge.load(file)
