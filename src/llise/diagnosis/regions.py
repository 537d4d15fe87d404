"""Where a copy differs from its reference, and which parts of that area have which kinds.

    changed blocks -> connected areas -> tiles judged inside each area -> parts with one set of kinds each

What differs is measured, not judged.  Inside an area, tiles are judged in the light of the whole area: the judge sees
the features of the tile and those of all changed blocks around it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import ndimage

from llise.diagnosis.copies import SETS
from llise.diagnosis.features import curve_misfit

Judge = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Probabilities (n, n_sets) of regions from their sums (n, n_sums) and those of the area around them (n_sums,)."""

GAPS = (1, 2, 3, 5, 8)
"""Distances in blocks that are bridged between changed blocks; a larger one is taken while small islands remain."""

SMALL_ISLAND = 4
"""Islands of fewer changed blocks are small."""

MOST_IN_ISLANDS = 0.05
"""Share of the changed blocks that may lie in small islands."""

NEAR = 4
"""Distance in blocks at which a small island belongs to a larger area."""

LEAST_PART = 8
"""Fewest blocks of a part that is told apart inside an area."""

CURVES_DIFFER = 120.0
"""Parts follow two curves where one curve for both leaves so much more than two, against a block's typical misfit."""

SURE_OF_PART = 0.4
"""Least probability of the kinds of a part that is told apart from the rest of its area."""

SURE_OF_DIFFERENCE = 0.1
"""Largest probability that such a part has the kinds of the rest."""

MOST_TILES = 1600
"""Most tiles of one size that are judged in an area; larger areas are sampled more coarsely."""

POINT_KINDS = frozenset(("contrast", "luminance"))
"""Kinds that change each grey value by itself."""

ALL_AROUND = np.ones((3, 3), bool)


def disc(radius: int) -> np.ndarray:
    """Blocks within a radius."""
    y, x = np.ogrid[-radius : radius + 1, -radius : radius + 1]
    return x * x + y * y <= radius * radius + radius


def connected_areas(changed: np.ndarray) -> list[np.ndarray]:
    """Group changed blocks into areas, with the unchanged blocks between them.

    Impulses and flat parts leave blocks unchanged, so gaps are bridged: narrow ones first, wider ones while more than
    a few of the changed blocks lie in small islands.  Islands beside a larger area belong to it.
    """
    for gap in GAPS:
        labels, count = ndimage.label(ndimage.binary_dilation(changed, disc(gap)), ALL_AROUND)
        sizes = np.bincount(labels[changed], minlength=count + 1)[1:]
        if sizes[sizes < SMALL_ISLAND].sum() <= MOST_IN_ISLANDS * sizes.sum():
            break
    labels = _with_islands(np.where(changed, labels, 0), sizes)
    return [_closed(changed & (labels == number), 2 * gap) for number in np.unique(labels[changed])]


def _with_islands(labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Give small islands the number of a larger area within :data:`NEAR` blocks."""
    large = np.isin(labels, np.flatnonzero(sizes >= SMALL_ISLAND) + 1)
    if not large.any() or large.sum() == np.count_nonzero(labels):
        return labels
    distance, (rows, cols) = ndimage.distance_transform_edt(~large, return_indices=True)
    near = (labels > 0) & ~large & (distance <= NEAR)
    return np.where(near, labels[rows, cols], labels)


def _closed(mask: np.ndarray, radius: int) -> np.ndarray:
    """The mask with gaps narrower than twice the radius filled, as far as the picture's border."""
    rows, cols = (np.flatnonzero(mask.any(axis)) for axis in (1, 0))
    box = slice(rows[0], rows[-1] + 1), slice(cols[0], cols[-1] + 1)
    padded = np.pad(mask[box], radius + 1)
    closed = ndimage.binary_closing(padded, disc(radius))[radius + 1 : -radius - 1, radius + 1 : -radius - 1]
    out = mask.copy()
    out[box] |= ndimage.binary_fill_holes(closed) if radius > 2 else closed
    return out


def split(sums: np.ndarray, area: np.ndarray, judge: Judge) -> list[tuple[np.ndarray, np.ndarray]]:
    """Divide an area into parts with one set of kinds each: their masks and probabilities (n_sets,)."""
    return _Split(sums, area, judge).parts()


class _Split:
    def __init__(self, sums: np.ndarray, area: np.ndarray, judge: Judge) -> None:
        rows, cols = (np.flatnonzero(area.any(axis)) for axis in (1, 0))
        self.box = slice(rows[0], rows[-1] + 1), slice(cols[0], cols[-1] + 1)
        self.whole = area
        # Blocks on the rim may be faulty only in part; they are not judged where there are enough others.
        core = ndimage.binary_erosion(area, ALL_AROUND, border_value=1)
        self.core = core if core.sum() >= max(LEAST_PART, 0.3 * area.sum()) else area
        self.sums, self.area, self.judge = sums[self.box], self.core[self.box], judge
        self.context = self.total(self.area)

    def total(self, mask: np.ndarray) -> np.ndarray:
        return self.sums[mask].sum(axis=0, dtype=np.float64)

    def name(self, mask: np.ndarray) -> np.ndarray:
        return self.judge(self.total(mask)[None], self.context)[0]

    def parts(self) -> list[tuple[np.ndarray, np.ndarray]]:
        whole = self.name(self.area)
        labels = self._divide(int(whole.argmax())) if self.area.sum() >= 3 * LEAST_PART else None
        if labels is None:
            return [(self.whole, whole)]
        masks = [(labels == code) & self.area for code in np.unique(labels[self.area])]
        return [(self._with_rim(mask), self.name(mask)) for mask in masks]

    def _with_rim(self, mask: np.ndarray) -> np.ndarray:
        """A part with those blocks of the rim whose nearest judged block belongs to it."""
        full = np.zeros(self.whole.shape, bool)
        full[self.box] = mask
        rows, cols = ndimage.distance_transform_edt(~self.core, return_distances=False, return_indices=True)
        return full[rows, cols] & self.whole

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
            kept = self._confirmed(labels, main)
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

    def _confirmed(self, labels: np.ndarray, main: int) -> set[int]:
        """Candidates whose own part, judged as a whole, is surely of these kinds."""
        kept: set[int] = set()
        present = [int(code) for code in np.unique(labels[self.area])]
        largest = max(present, key=lambda code: np.count_nonzero((labels == code) & self.area))
        if len(present) > 1 and self._one_curve([(labels == code) & self.area for code in present], present):
            return {main}
        for code in present:
            found = self.name((labels == code) & self.area)
            if code == largest or (found.max() > SURE_OF_PART and found[largest] < SURE_OF_DIFFERENCE):
                kept.add(code)
        return kept

    def _one_curve(self, masks: list[np.ndarray], codes: list[int]) -> bool:
        """Whether parts that differ only in contrast and luminance follow one curve of grey values all the same."""
        others = {frozenset(SETS[code]) - POINT_KINDS for code in codes}
        if len(others) > 1:
            return False
        left = curve_misfit(np.stack([self.total(mask) for mask in (*masks, self.area)]))
        apart, together = left[:-1].sum(), left[-1]
        return bool(together - apart <= CURVES_DIFFER * (apart / self.area.sum() + 0.1))


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
