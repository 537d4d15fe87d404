"""Where a copy differs from its reference, and which parts of that area have which kinds.

    changed blocks -> connected areas -> tiles judged inside each area -> parts with one set of kinds each

What differs is measured, not judged.  Inside an area, tiles are judged in the light of the whole area: the judge sees
the features of the tile and those of all changed blocks around it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import ndimage

from llise.diagnosis.block_sums import BLOCK
from llise.diagnosis.copies import SETS

Judge = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Probabilities (n, n_sets) of regions from their sums (n, n_sums) and those of the area around them (n_sums,)."""

GAPS = (1, 2, 3, 5, 8)
"""Distances in blocks that are bridged between changed blocks; a larger one is taken while small islands remain."""

LEAST_PART = 8
"""Fewest blocks of a part that is told apart inside an area."""

MOST_TILES = 1600
"""Most tiles of one size that are judged in an area; larger areas are sampled more coarsely."""

ALL_AROUND = np.ones((3, 3), bool)


def by_block(values: np.ndarray) -> np.ndarray:
    """Pixels of each block (rows, cols, 64); the last row and column are repeated where the picture ends early."""
    rows, cols = (-(-n // BLOCK) for n in values.shape)
    padded = np.pad(values, [(0, rows * BLOCK - values.shape[0]), (0, cols * BLOCK - values.shape[1])], mode="edge")
    return padded.reshape(rows, BLOCK, cols, BLOCK).swapaxes(1, 2).reshape(rows, cols, BLOCK * BLOCK)


def disc(radius: int) -> np.ndarray:
    """Blocks within a radius."""
    y, x = np.ogrid[-radius : radius + 1, -radius : radius + 1]
    return x * x + y * y <= radius * radius + radius


def connected_areas(changed: np.ndarray) -> list[np.ndarray]:
    """Group changed blocks into areas, with the unchanged blocks between them.

    Impulses and flat parts leave blocks unchanged, so gaps are bridged: narrow ones first, wider ones while there
    still are islands of few blocks.
    """
    for gap in GAPS:
        labels, count = ndimage.label(ndimage.binary_dilation(changed, disc(gap)), ALL_AROUND)
        sizes = np.bincount(labels[changed], minlength=count + 1)[1:]
        if count <= 1 or sizes.min() >= 4 or gap == GAPS[-1]:
            break
    pad = 2 * gap + 1
    areas = []
    for number in range(1, count + 1):
        own = changed & (labels == number)
        areas.append(ndimage.binary_closing(np.pad(own, pad), disc(2 * gap))[pad:-pad, pad:-pad] | own)
    return areas


def split(sums: np.ndarray, area: np.ndarray, judge: Judge) -> list[tuple[np.ndarray, np.ndarray]]:
    """Divide an area into parts with one set of kinds each: their masks and probabilities (n_sets,)."""
    return _Split(sums, area, judge).parts()


class _Split:
    def __init__(self, sums: np.ndarray, area: np.ndarray, judge: Judge) -> None:
        rows, cols = (np.flatnonzero(area.any(axis)) for axis in (1, 0))
        self.box = slice(rows[0], rows[-1] + 1), slice(cols[0], cols[-1] + 1)
        self.shape = area.shape
        self.sums, self.area, self.judge = sums[self.box], area[self.box], judge
        self.context = self.total(self.area)

    def total(self, mask: np.ndarray) -> np.ndarray:
        return self.sums[mask].sum(axis=0, dtype=np.float64)

    def name(self, mask: np.ndarray) -> np.ndarray:
        return self.judge(self.total(mask)[None], self.context)[0]

    def parts(self) -> list[tuple[np.ndarray, np.ndarray]]:
        whole = self.name(self.area)
        labels = self._divide(int(whole.argmax())) if self.area.sum() >= 3 * LEAST_PART else None
        if labels is None:
            return [(self._full(self.area), whole)]
        masks = [(labels == code) & self.area for code in np.unique(labels[self.area])]
        return [(self._full(mask), self.name(mask)) for mask in masks]

    def _full(self, mask: np.ndarray) -> np.ndarray:
        full = np.zeros(self.shape, bool)
        full[self.box] = mask
        return full

    def _divide(self, main: int) -> np.ndarray | None:
        """Codes of the parts (rows, cols), or None where the area is of one kind."""
        size = int(self.area.sum())
        side = int(np.clip(round(np.sqrt(size) / 4), 2, 6))
        evidence = self._evidence(side)
        counts = np.bincount(evidence.argmax(axis=-1)[self.area], minlength=len(SETS))
        least = max(LEAST_PART, 0.015 * size)
        candidates = [int(code) for code in np.argsort(-counts)[:5] if counts[code] >= least]
        if not set(candidates) - {main}:
            return None
        candidates = list(dict.fromkeys([*candidates, main]))
        for _ in range(4):
            labels = self._label(evidence, candidates, least)
            kept = self._confirmed(labels)
            if kept == set(candidates):
                break
            candidates = sorted(kept)
        if len(candidates) < 2:
            return None
        fine = evidence + self._evidence(2 if side > 2 else 1)
        return self._label(fine, candidates, least)

    def _evidence(self, side: int) -> np.ndarray:
        """Mean log probability (rows, cols, n_sets) of the tiles that cover each block."""
        rows, cols = self.area.shape
        side = min(side, rows, cols)
        stride = max(1, side // 3, int(np.sqrt(self.area.sum() / MOST_TILES)))
        tops, lefts = (np.unique([*range(0, n - side, stride), n - side]) for n in (rows, cols))
        blocks = np.pad(
            (self.sums * self.area[..., None]).cumsum(0, dtype=np.float64).cumsum(1), [(1, 0), (1, 0), (0, 0)]
        )
        below, right = tops + side, lefts + side
        tiles = blocks[below][:, right] - blocks[tops][:, right] - blocks[below][:, lefts] + blocks[tops][:, lefts]
        filled = tiles[..., 0] / 64 >= max(1, 0.25 * side * side)
        found = np.log(self.judge(tiles[filled], self.context) + 1e-4)
        total, count = np.zeros((rows, cols, len(SETS))), np.zeros((rows, cols, 1))
        for (i, j), value in zip(np.argwhere(filled), found):
            here = slice(tops[i], tops[i] + side), slice(lefts[j], lefts[j] + side)
            total[here] += value
            count[here] += 1
        return total / np.maximum(count, 1)

    def _label(self, evidence: np.ndarray, candidates: list[int], least: float) -> np.ndarray:
        """Best candidate of each block after smoothing; islands smaller than ``least`` go to what surrounds them."""
        weight = self.area.astype(float)
        scores = [ndimage.uniform_filter(evidence[..., code] * weight, 3, mode="constant") for code in candidates]
        labels = np.array(candidates)[np.argmax(scores, axis=0)]
        return _without_islands(labels, self.area, least)

    def _confirmed(self, labels: np.ndarray) -> set[int]:
        """Candidates whose own part, judged as a whole, is surely of these kinds."""
        kept = set()
        present = [int(code) for code in np.unique(labels[self.area])]
        largest = max(present, key=lambda code: np.count_nonzero((labels == code) & self.area))
        for code in present:
            found = self.name((labels == code) & self.area)
            best = int(found.argmax())
            if best == code and (code == largest or found[code] > 0.6):
                kept.add(code)
            elif code == largest:
                kept.add(best)
        return kept


def _without_islands(labels: np.ndarray, area: np.ndarray, least: float) -> np.ndarray:
    labels = labels.copy()
    for _ in range(3):
        done = True
        for code in np.unique(labels[area]):
            islands, count = ndimage.label((labels == code) & area, ALL_AROUND)
            sizes = np.bincount(islands.ravel(), minlength=count + 1)
            for number in np.flatnonzero(sizes < least):
                if number == 0:
                    continue
                island = islands == number
                around = ndimage.binary_dilation(island, ALL_AROUND) & ~island & area
                if around.any():
                    labels[island] = np.bincount(labels[around]).argmax()
                    done = False
        if done:
            break
    return labels
