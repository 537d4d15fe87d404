"""Kinds and sets of kinds that the network tells apart, and labels of blocks as bits."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from llise.labels import NETWORK_KINDS as KINDS

SETS = ((), *((k,) for k in KINDS), *combinations(KINDS[:-1], 2))
"""What a block may be called: nothing, one kind or unknown, two kinds. Three kinds are told by the kinds alone."""

IGNORED = 31
"""Bit of blocks that are left out of the loss."""

_CODES = {sum(1 << KINDS.index(k) for k in kinds): number for number, kinds in enumerate(SETS)}
MEMBER = np.array([[kind in kinds for kind in KINDS] for kinds in SETS], np.float32)
"""Which kinds a set has, (sets, kinds)."""


def set_of(bits: np.ndarray) -> np.ndarray:
    """The number of the set of each label; -1 for three kinds and for blocks to leave out."""
    values, where = np.unique(bits, return_inverse=True)
    return np.array([_CODES.get(int(v), -1) for v in values], np.int16)[where].reshape(bits.shape)
