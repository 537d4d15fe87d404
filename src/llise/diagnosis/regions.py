"""From what the network says of blocks to regions with one set of kinds each: the minimum of one energy.

    E = - sum of the log-probabilities of the blocks' labels + border * length of borders + price * number of labels

A label is a set of kinds, kept as an integer whose bit k stands for kind k of :data:`KINDS`; 0 is the original. The
energy is minimised by :mod:`llise.diagnosis.energy`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import ndimage

from llise.diagnosis.energy import EIGHT, Energy
from llise.labels import NETWORK_KINDS as KINDS
from llise.labels import UNKNOWN

UNKNOWN_BIT = 1 << KINDS.index(UNKNOWN)

MOST_KINDS = 3
"""Kinds in one place, at most."""


class Look(Protocol):
    """What the network says by block: log-odds of kinds, log-probabilities of sets, features, what differs."""

    @property
    def kinds(self) -> np.ndarray: ...

    @property
    def sets(self) -> np.ndarray: ...

    @property
    def features(self) -> np.ndarray: ...

    @property
    def changed(self) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class Model:
    """A trained network and all numbers that were learned with it.

    background : (n, ...) what it says of regions with built-in kinds, see :func:`llise.diagnosis.custom_kinds.pooled`.
    """

    name: str
    digest: str
    tuned: dict[str, Any]
    sets: tuple[tuple[str, ...], ...]
    look: Callable[[np.ndarray, np.ndarray], Look]
    background: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Region:
    """Blocks with one set of kinds, and the number of the area of changed blocks in which they lie."""

    kinds: tuple[str, ...]
    mask: np.ndarray
    area: int


def label_of(kinds: Iterable[str]) -> int:
    """Integer of a set of kinds."""
    return sum(1 << KINDS.index(kind) for kind in kinds)


def kinds_of(label: int) -> tuple[str, ...]:
    """Kinds of an integer, in the order of :data:`KINDS`."""
    return tuple(kind for number, kind in enumerate(KINDS) if label >> number & 1)


class Likelihood:
    """Log-probability of any set of kinds in each block: a mixture of the two answers of the network.

    One is its distribution over the sets that it knows; the other holds kinds for independent of one another.
    """

    def __init__(self, look: Look, sets: tuple[tuple[str, ...], ...], tuned: dict[str, Any]) -> None:
        self.odds = look.kinds.astype(np.float32)
        self.none = -np.logaddexp(0, self.odds).sum(axis=-1)
        self.sets, self.known = look.sets, {label_of(kinds): number for number, kinds in enumerate(sets)}
        self.share, self.floor = tuned["sets_share"], tuned["floor"]

    def of(self, labels: list[int] | np.ndarray, place: Any = ...) -> np.ndarray:
        """Log-probability (..., labels) of sets of kinds in all blocks, or in some of them; not below the floor."""
        member = (np.asarray(labels)[:, None] >> np.arange(len(KINDS)) & 1).astype(np.float32)
        value = self.odds[place] @ member.T + self.none[place][..., None]
        known = [(number, self.known[int(label)]) for number, label in enumerate(labels) if int(label) in self.known]
        if known:
            columns, codes = (list(pair) for pair in zip(*known))
            told = self.sets[place][..., codes] + np.float32(np.log(self.share))
            value[..., columns] = np.logaddexp(value[..., columns] + np.float32(np.log1p(-self.share)), told)
        return np.maximum(value, np.float32(self.floor))

    def labels(self, odds: np.ndarray) -> list[int]:
        """Sets that may be meant where kinds have these log-odds (n, 17): those the network knows, and likely ones."""
        order = np.argsort(-odds, axis=-1)[:, :MOST_KINDS]
        likely = np.take_along_axis(odds, order, -1) > 0
        found = np.unique(np.where(likely, 1 << order, 0).sum(axis=-1))
        extra = [int(label) for label in found if not label & UNKNOWN_BIT]
        return sorted({0, UNKNOWN_BIT, *self.known, *extra})


def find_regions(look: Look, sets: tuple[tuple[str, ...], ...], tuned: dict[str, Any]) -> list[Region]:
    """Regions of a copy; blocks that equal the reference, or that are labelled original, belong to none."""
    likelihood = Likelihood(look, sets, tuned)
    areas, _ = ndimage.label(ndimage.binary_dilation(look.changed, EIGHT, iterations=tuned["gap"]), EIGHT)
    regions = []
    for number, place in enumerate(ndimage.find_objects(areas), 1):
        mask = look.changed[place] & (areas[place] == number)
        labels = label_area(likelihood, place, mask, tuned)
        for label in np.unique(labels[mask & (labels > 0)]):
            everywhere = np.zeros(look.changed.shape, bool)
            everywhere[place] = labels == label
            regions.append(Region(kinds_of(int(label)), everywhere, number))
    return regions


def label_area(likelihood: Likelihood, place: Any, mask: np.ndarray, tuned: dict[str, Any]) -> np.ndarray:
    """Labels of the blocks of one area, -1 outside."""
    odds = likelihood.odds[place]
    inside = odds[mask]
    seen = np.concatenate([inside, _smoothed(odds, mask)[mask], inside.mean(axis=0, keepdims=True)])
    labels = np.array(likelihood.labels(seen))
    logp = likelihood.of(labels, place)
    # Those with most votes of blocks and then of smoothed blocks are tried, and the best ones for the whole area.
    whole = np.argsort(-logp[mask].sum(axis=0, dtype=np.float64), kind="stable")[: tuned["candidates"]]
    some = np.union1d(_voted(logp[mask], 2 * tuned["candidates"]), whole)
    tried = np.union1d(some[_voted(_smoothed(logp[..., some], mask)[mask], tuned["candidates"])], whole[:1])
    labels, logp = labels[tried], np.moveaxis(logp[..., tried], -1, 0)
    energy = Energy(-logp, mask, tuned["price"] * (labels > 0), tuned["border"])
    out = np.full(mask.shape, -1, np.int64)
    out[mask] = labels[energy.minimised()[mask]]
    return out


def _voted(logp: np.ndarray, most: int) -> np.ndarray:
    """The labels (n, labels) that are best in most blocks."""
    votes = np.bincount(logp.argmax(axis=1), minlength=logp.shape[1])
    return np.flatnonzero(votes) if np.count_nonzero(votes) <= most else np.argsort(-votes, kind="stable")[:most]


def _smoothed(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Means (rows, cols, n) over the 3 x 3 blocks around each, of those inside the mask."""
    weight = mask.astype(np.float32)
    total = ndimage.uniform_filter(values * weight[..., None], (3, 3, 1), mode="constant")
    return total / np.maximum(ndimage.uniform_filter(weight, 3, mode="constant"), 1e-6)[..., None]
