"""The energy of labels on a grid of blocks, and labels of low energy.

    E = sum of the blocks' costs + border * length of borders + price of each label that is used

It is lowered by moves that never raise it, of single blocks, of islands and of whole labels, until none of them helps.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

EIGHT = np.ones((3, 3), bool)

STRAIGHT, DIAGONAL = np.pi / 8, np.pi / 8 / 2**0.5
"""Length of border that a pair of neighbours cuts, in sides of a block: Boykov and Kolmogorov (2003)."""

LEAST = 1e-9


class Energy:
    """The energy of labels of the blocks inside a mask (rows, cols).

    costs : (n labels, rows, cols); prices : (n labels,), each paid once if the label is used.
    """

    def __init__(self, costs: np.ndarray, mask: np.ndarray, prices: np.ndarray, border: float) -> None:
        self.mask, self.prices, self.border = np.pad(mask, 1), np.asarray(prices, np.float64), border
        self.costs = (
            np.pad(np.where(mask, costs, 0), [(0, 0), (1, 1), (1, 1)]).reshape(len(costs), -1).astype(np.float64)
        )
        self.inside = np.flatnonzero(self.mask)
        width, flat = self.mask.shape[1], self.mask.ravel()
        rows, cols = np.divmod(np.arange(flat.size), width)
        self.parity = 2 * (rows % 2) + cols % 2
        self.steps = [(1, STRAIGHT), (width, STRAIGHT), (width + 1, DIAGONAL), (width - 1, DIAGONAL)]
        pairs = [(self.inside[flat[self.inside + step]], step, length) for step, length in self.steps]
        self.at = np.concatenate([at for at, _, _ in pairs])
        self.beside = np.concatenate([at + step for at, step, _ in pairs])
        self.length = border * np.concatenate([np.full(len(at), length) for at, _, length in pairs])

    def of(self, labels: np.ndarray) -> float:
        """Energy of labels (rows, cols); what lies outside the mask does not count."""
        return self._of(np.pad(labels, 1).ravel())

    def minimised(self) -> np.ndarray:
        """Labels of low energy, never above that of one label everywhere; 0 outside the mask."""
        smooth = ndimage.uniform_filter(self.costs.reshape(-1, *self.mask.shape), (1, 3, 3), mode="constant")
        everywhere = int((self.costs.sum(axis=1) + self.prices).argmin())
        starts = [self._relaxed(costs.argmin(axis=0)) for costs in (self.costs, smooth.reshape(self.costs.shape))]
        labels, energy = self._best([*starts, np.full(self.mask.size, everywhere)])
        while True:
            best, lower = self._best([self._with_islands_moved(labels), *self._label_moves(labels)])
            best = self._relaxed(best)
            if lower >= energy - LEAST:
                return np.where(self.mask, labels.reshape(self.mask.shape), 0)[1:-1, 1:-1]
            labels, energy = best, self._of(best)

    def _of(self, labels: np.ndarray) -> float:
        used = labels[self.inside]
        cut = self.length[labels[self.at] != labels[self.beside]].sum()
        return float(self.costs[used, self.inside].sum() + cut + self.prices[np.unique(used)].sum())

    def _best(self, trials: list[np.ndarray]) -> tuple[np.ndarray, float]:
        values = [self._of(trial) for trial in trials]
        return trials[int(np.argmin(values))], min(values)

    def _relaxed(self, labels: np.ndarray, active: np.ndarray | None = None) -> np.ndarray:
        """Blocks change to the best label in use, no neighbours at the same time, until none wants to."""
        labels = labels.copy()
        used = np.unique(labels[self.inside])
        active = self.inside if active is None else self._around(active)
        while active.size and len(used) > 1:
            changed = []
            for parity in range(4):
                places = active[self.parity[active] == parity]
                value = self.costs[used][:, places] if len(places) else np.zeros((len(used), 0))
                for step, length in self.steps:
                    for beside in (places + step, places - step):
                        agrees = self.mask.ravel()[beside] & (labels[beside] == used[:, None])
                        value -= self.border * length * agrees
                own = value[np.searchsorted(used, labels[places]), np.arange(len(places))]
                better = value.min(axis=0) < own - LEAST
                labels[places[better]] = used[value.argmin(axis=0)[better]]
                changed.append(places[better])
            active = self._around(np.concatenate(changed))
        return labels

    def _around(self, places: np.ndarray) -> np.ndarray:
        """These blocks and their neighbours."""
        steps = [0, *(sign * step for step, _ in self.steps for sign in (1, -1))]
        near = np.unique(np.add.outer(places, steps))
        return near[self.mask.ravel()[near]]

    def _with_islands_moved(self, labels: np.ndarray) -> np.ndarray:
        """Islands of one label get the label that is best for them, those first that gain most."""
        islands, own = np.zeros(self.mask.shape, np.int64), [0]
        for label in np.unique(labels[self.inside]):
            found, more = ndimage.label((labels.reshape(self.mask.shape) == label) & self.mask, EIGHT)
            islands[found > 0] = found[found > 0] + len(own) - 1
            own += [int(label)] * more
        number, label_of, count = islands.ravel(), np.array(own), len(own)
        change = np.stack([np.bincount(number[self.inside], costs[self.inside], count) for costs in self.costs], axis=1)
        cut = labels[self.at] != labels[self.beside]
        one, other, length = number[self.at[cut]], number[self.beside[cut]], self.length[cut]
        np.subtract.at(change, (one, label_of[other]), length)
        np.subtract.at(change, (other, label_of[one]), length)
        members = np.bincount(label_of[1:], minlength=len(self.costs))
        change += self.prices * (members == 0)
        change[np.arange(count), label_of] += self.prices[label_of] * (members[label_of] == 1)
        change -= change[np.arange(count), label_of][:, None]
        change[0] = 0
        touching: dict[int, set[int]] = {}
        for a, b in np.unique(np.stack([one, other], axis=1), axis=0).tolist():
            touching.setdefault(a, set()).add(b)
            touching.setdefault(b, set()).add(a)
        order = np.argsort(change.min(axis=1), kind="stable")
        moved, still = label_of.copy(), set[int]()
        for island in order.tolist():
            if change[island].min() < -LEAST and island not in still:
                moved[island] = int(change[island].argmin())
                still |= touching.get(island, set())
        first = label_of.copy()
        first[order[0]] = moved[order[0]]
        return self._best([np.where(number > 0, new[number], labels) for new in (moved, first)] + [labels])[0]

    def _label_moves(self, labels: np.ndarray) -> list[np.ndarray]:
        """Without one of the labels, with another one where it is better, and with one exchanged for another."""
        used = np.unique(labels[self.inside])
        trials = []
        for label in used if len(used) > 1 else ():
            rest, places = used[used != label], self.inside[labels[self.inside] == label]
            trial = labels.copy()
            trial[places] = rest[self.costs[rest][:, places].argmin(axis=0)]
            trials.append(self._relaxed(trial, places))
        own = self.costs[labels, np.arange(labels.size)]
        for label in np.setdiff1d(np.arange(len(self.costs)), used):
            places = self.inside[(self.costs[label] < own)[self.inside]]
            trial = labels.copy()
            trial[places] = label
            trials.append(self._relaxed(trial, places))
        return [*trials, self._with_best_exchange(labels)]

    def _with_best_exchange(self, labels: np.ndarray) -> np.ndarray:
        """All blocks of one label get another one, which may be in use."""
        own, n = labels[self.inside], len(self.costs)
        change = np.stack([np.bincount(own, costs[self.inside], n) for costs in self.costs], axis=1)
        np.subtract.at(change, (labels[self.at], labels[self.beside]), self.length)
        np.subtract.at(change, (labels[self.beside], labels[self.at]), self.length)
        change += self.prices * (np.bincount(own, minlength=n) == 0)
        np.fill_diagonal(change, np.bincount(own, self.costs[own, self.inside], n) + self.prices)
        change -= np.diagonal(change).copy()[:, None]
        change[np.setdiff1d(np.arange(n), own)] = 0
        label, other = np.unravel_index(int(change.argmin()), change.shape)
        return np.where(labels == label, other, labels)
