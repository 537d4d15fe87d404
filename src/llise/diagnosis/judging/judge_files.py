"""Files of judges: plain arrays (safetensors) with a JSON header that says what the judge was trained for."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from llise.storage.files import atomic_write


class JudgeError(ValueError):
    """A judge file cannot be used; the message names it and says what to do."""


def write_judge(path: str | os.PathLike[str], key: str, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a judge to one file, which is replaced as a whole when everything is written.

    Parameters
    ----------
    path : str or path
        The file.
    key : str
        Entry of the metadata for the header.
    header : dict
        Plain data.
    arrays : dict of str to ndarray
        The arrays by name.

    Examples
    --------
    >>> write_judge("judge.safetensors", "llise", {}, {})  # doctest: +SKIP
    """
    from safetensors.numpy import save

    contiguous = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    with atomic_write(path) as file:
        file.write(save(contiguous, metadata={key: json.dumps(header)}))


def read_judge(
    path: str | os.PathLike[str], key: str, noun: str, advice: str
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read the header and the arrays of a judge.

    Parameters
    ----------
    path : str or path
        The file.
    key : str
        Entry of the metadata for the header.
    noun : str
        What such a file is called.
    advice : str
        What to do about a damaged one.

    Returns
    -------
    header : dict
        Plain data; the caller checks it.
    arrays : dict of str to ndarray
        The arrays by name.

    Raises
    ------
    JudgeError
        The file is missing, damaged or none of this sort.

    Examples
    --------
    >>> header, arrays = read_judge("judge.safetensors", "llise", "a judge", "train it again")  # doctest: +SKIP
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            header = json.loads((file.metadata() or {})[key])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if not isinstance(header, dict):
                raise TypeError("its header is not a dictionary")
    except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
        raise JudgeError(f"{path}: not {noun} ({error}); {advice}") from None
    return header, arrays
