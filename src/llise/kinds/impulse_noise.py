"""Impulse noise: some pixels become black or white."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from llise.kinds.base import Draw, GreyStatistics, Kind, Path, SolvablePath


class ImpulseNoise(Kind):
    """Pixels at random places become black or white with equal chance; the strength is the share of pixels hit.

    At random, the share of white pixels among those that are hit is one half or anything between none and all.
    Parameters of a draw are ``share``, the share of pixels hit, and ``salt``, the chance that one of them is
    white. The strength of a draw is the root of the share, since the error grows in proportion to the share.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.impulse_noise import ImpulseNoise
    >>> image = np.full((10, 10), 100, np.uint8)
    >>> copy = ImpulseNoise().path(image, np.random.default_rng(0))(0.07)
    >>> int(np.count_nonzero(copy != 100))
    7
    """

    name = "impulse_noise"
    title = "impulse noise"
    short_title = "impulse noise"
    strongest = 1.0

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _OrderedImpulses(image, rng)

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        salt = 0.5 if rng.random() < 0.4 else rng.uniform(0.0, 1.0)
        order = rng.random(image.shape, dtype=np.float32)
        values = np.where(rng.random(image.shape, dtype=np.float32) < salt, np.uint8(255), np.uint8(0))
        return Draw(
            lambda strength: np.where(order < strength**2, values, image),
            0.6,
            lambda strength: {"share": strength**2, "salt": salt},
        )


class _OrderedImpulses(SolvablePath):
    """Pixels become 0 or 255 in a random order; a stronger copy hits the same pixels and more."""

    def __init__(self, image: np.ndarray, rng: np.random.Generator) -> None:
        self.image = image
        self.order = rng.permutation(image.size)
        self.values = np.where(rng.random(image.size) < 0.5, np.uint8(255), np.uint8(0))

    def __call__(self, strength: float) -> np.ndarray:
        hit = self.order[: round(strength * self.image.size)]
        copy = self.image.copy()
        copy.flat[hit] = self.values[hit]
        return copy

    def solve(self, reference: np.ndarray, wanted: float) -> float:
        """Return the share of pixels whose error comes nearest: the error is a running sum along the order.

        A running sum misses the wanted error by up to one pixel's worth, which is much in a small image. So the last
        two pixels are not the next in the order but the two, of all that are left, whose errors fill the gap best.
        """
        clean = reference.ravel().astype(np.float64)
        before = (self.image.ravel() - clean) ** 2
        gain = ((self.values - clean) ** 2 - before)[self.order]
        need = wanted * clean.size - before.sum()
        total = np.cumsum(gain)
        if total[-1] <= need or need <= 0:
            return float(need > 0)
        count = max(int(np.argmax(total > need)) - 1, 0)
        gap = need - (total[count - 1] if count else 0.0)
        left = gain[count:]
        ranks = np.argsort(left, kind="stable")
        partner = np.searchsorted(left[ranks], gap - left).clip(max=left.size - 1)
        chosen = _best_fill(left, ranks[partner], gap)
        rest = np.delete(self.order[count:], chosen)
        self.order[count:] = np.concatenate([self.order[count:][chosen], rest])
        return (count + len(chosen)) / clean.size


def _best_fill(values: np.ndarray, partner: np.ndarray, gap: float) -> list[int]:
    """Indices of no value, one value, or one value and its partner, whichever sum lies nearest to `gap`."""
    alone = int(np.argmin(np.abs(values - gap)))
    misses = np.abs(values + values[partner] - gap)
    misses[partner == np.arange(values.size)] = np.inf
    first = int(np.argmin(misses))
    options = [[], [alone], [first, int(partner[first])]]
    if not np.isfinite(misses[first]):
        options.pop()
    return min(options, key=lambda option: abs(values[option].sum() - gap))
