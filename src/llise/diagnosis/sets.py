"""The sets of kinds that are told apart in one place."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from llise.labels import FURTHER_KINDS, KINDS, NAMED_KINDS, UNKNOWN

CONTENT = "content"
"""Name of what is not in the reference; it is somewhere by itself, whatever the kinds around it."""

SETS: tuple[tuple[str, ...], ...] = (
    *((kind,) for kind in NAMED_KINDS),
    *combinations(KINDS, 2),
    *((kind, other) for kind in KINDS for other in FURTHER_KINDS),
    (UNKNOWN,),
)
"""Each kind, each pair of the paper's six kinds, each of these with each further kind, and none of all that."""

UNKNOWN_CODE = len(SETS) - 1
"""Index of what is not known."""

_CODES = {frozenset(kinds): code for code, kinds in enumerate(SETS)}


def code_of(*kinds: str) -> int:
    """Return the index of a set of kinds.

    Parameters
    ----------
    *kinds : str
        Kinds in any order.

    Returns
    -------
    int
        Index into :data:`SETS`.

    Raises
    ------
    KeyError
        These kinds are not told apart in one place; :func:`is_set` asks that.

    Examples
    --------
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> SETS[code_of("jpeg", "blur")]
    ('blur', 'jpeg')
    """
    return _CODES[frozenset(kinds)]


def is_set(*kinds: str) -> bool:
    """Return whether kinds are one of :data:`SETS`.

    Parameters
    ----------
    *kinds : str
        Kinds in any order.

    Returns
    -------
    bool
        False for three kinds, or for two of the further ones.

    Examples
    --------
    >>> from llise.diagnosis.sets import is_set
    >>> is_set("jpeg", "blur"), is_set("pixelation", "sharpening")
    (True, False)
    """
    return frozenset(kinds) in _CODES


def exchanged(probabilities: np.ndarray, one: int, other: int) -> np.ndarray:
    """Return probabilities with those of two sets exchanged.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,) or more
        Probabilities of a part; not changed.
    one, other : int
        Indices into :data:`SETS`.

    Returns
    -------
    ndarray
        A copy.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.sets import exchanged
    >>> exchanged(np.array([0.1, 0.2, 0.7]), 0, 2)
    array([0.7, 0.2, 0.1])
    """
    result = probabilities.copy()
    result[[one, other]] = probabilities[[other, one]]
    return result
