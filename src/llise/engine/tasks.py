"""Calls for joblib that carry all they need, so that any worker can do them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from joblib import delayed


def task(function: Callable, *arguments: Any, **options: Any) -> Any:
    """``function(*arguments, **options)``, delayed.

    On a cluster joblib scatters every large argument to one worker, and it is lost if that worker ends.  Arguments
    packed in a tuple travel with the call instead.
    """
    return delayed(_apply)(function, arguments, options)


def _apply(function: Callable, arguments: tuple, options: dict[str, Any]) -> Any:
    return function(*arguments, **options)
