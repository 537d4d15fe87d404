"""Seeds of random numbers; ``llise.distortions`` has this name too."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_seed(random_state: Any) -> int:
    """Return an integer seed.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        What scikit-learn and NumPy take as a source of random numbers.

    Returns
    -------
    int
        The integer that was given, a number drawn from the generator, or a fresh random number for None.

    Examples
    --------
    >>> from llise import distortions
    >>> distortions.as_seed(7)
    7
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**32, dtype=np.uint32))
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    raise ValueError(f"random_state={random_state!r}: expected None, a non-negative int, a Generator or a RandomState")
