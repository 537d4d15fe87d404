"""A stand-in for the trained network: it says the truth, with noise, and measures a few things for custom kinds."""

from itertools import combinations

import numpy as np
from training.tuned import DEFAULTS

from llise.diagnosis.regions import KINDS, Model, label_of
from llise.differences import by_block

SETS = ((), *((kind,) for kind in KINDS), *combinations(KINDS[:-1], 2))


class Look:
    """As the network's."""

    def __init__(self, kinds, sets, features, changed):
        self.kinds, self.sets, self.features, self.changed = kinds, sets, features, changed


def look_of(labels, changed, features=None, noise=1.0, seed=0):
    """What a network would say of blocks with these labels (bits of kinds), right but for noise."""
    rng = np.random.default_rng(seed)
    bits = (np.asarray(labels)[..., None] >> np.arange(len(KINDS))) & 1
    odds = np.where(bits == 1, 4.0, -4.0) + rng.normal(0, noise, bits.shape)
    member = np.array([[kind in kinds for kind in KINDS] for kinds in SETS], float)
    scores = odds @ member.T
    sets = scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)
    features = np.zeros((*changed.shape, 1)) if features is None else features
    return Look(odds.astype(np.float32), sets.astype(np.float32), features.astype(np.float32), changed)


def features_of(reference, copy):
    """Moments of the blocks: enough to tell fog from noise."""
    own, other = (
        np.stack([by_block(image[..., c]) for c in range(3)], -1).astype(float) for image in (reference, copy)
    )
    error = other - own
    spread = own.std(axis=2) + 1
    parts = [error.mean(2) / 16, error.std(2) / 8, (own * error).mean(2) / 2000 - own.mean(2) * error.mean(2) / 2000]
    return np.concatenate([*parts, np.log(spread), np.log(other.std(axis=2) + 1)], axis=-1)


def changed_of(reference, copy):
    """Blocks that differ."""
    return by_block((reference != copy).any(axis=-1)).any(axis=-1)


def model_of(kinds=(), where=None, noise=1.0, background=None, **tuned):
    """A model that says `kinds` of all blocks, or of those in `where`, or what a dict of masks says; nothing elsewhere.

    `kinds` is a set of kinds, or a list of (kinds, mask of blocks).
    """
    pairs = kinds if isinstance(kinds, list) else [(kinds, where)]

    def look(reference, copy):
        changed = changed_of(reference, copy)
        labels = np.zeros(changed.shape, np.int64)
        for names, mask in pairs:
            labels |= np.where(np.ones_like(changed) if mask is None else mask, label_of(names), 0)
        return look_of(labels, changed, features_of(reference, copy), noise)

    numbers = {**DEFAULTS, **tuned}
    return Model("stand-in", "0" * 64, numbers, SETS, look, background)
