"""Which parts of an area have which kinds: tiles are judged, and neighbours of one judgement become a part.

The judge sees the features of a tile and those of the whole area around it.  Tiles that lie side by side are judged
first; tiles that overlap them are judged only where these are not sure to be like the whole, and all of those only if
some find other kinds.  Large areas are divided by cells of several blocks, so that the cost is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt

import numpy as np
import scipy

from llise.diagnosis.estimates.chains import GREY
from llise.diagnosis.features.block_sums import box_of, measure, names
from llise.diagnosis.features.reference_blocks import ReferenceBlocks
from llise.diagnosis.features.region_features import curve_misfit
from llise.diagnosis.regions import core_of
from llise.diagnosis.sets import CONTENT, SETS, UNKNOWN
from llise.filters import mean_around
from llise.masks import boxes, closed, dilated, islands

Judge = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Probabilities (n, n_sets) of regions from their sums (n, n_sums) and those of the area around them (n_sums,)."""

MOST_CELLS = 6000
"""Most cells into which an area is divided."""

LEAST_PART = 8
"""Fewest blocks of a part that is told apart inside an area."""

CURVES_DIFFER = 120.0
"""Parts follow two curves where one curve for both leaves so much more than two, against a block's typical misfit."""

SURE_OF_KIND = 0.75
"""Probability with which a part must have, or lack, a kind to be told apart from the rest of its area."""

NOISES = {"gaussian_noise", "speckle_noise"}
"""Kinds that the judge confuses where grey levels vary little: a part that surely has one of them is told apart."""

HARDLY_MAIN, LEAST_APART, MOST_APART = 0.1, 24, 0.5
"""Probability of the kinds of an area up to which a place in it surely has others, whatever they are, the fewest blocks
of such a place, and its largest share of the area."""

MOST_TILES = 1600
"""Most tiles of one size that are judged in an area; larger areas are sampled more coarsely."""

SURE_TILE = 0.9
"""Probability of the kinds of the whole area from which a tile needs no second look."""

LEAST_SAMPLED = 4
"""Side of tiles, in cells, from which every second one along each side is looked at before all of them are."""

FAR_SHIFT = 5.0
"""Shift of the mean of 3 x 3 cells, against a typical one, from which they are taken for a place of their own."""

LEAST_SHIFT = 2.0
"""The least such shift, in grey levels."""


def split(
    reference: np.ndarray | ReferenceBlocks,
    copy: np.ndarray,
    area: np.ndarray,
    judge: Judge,
    sets: tuple[tuple[str, ...], ...] = SETS,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Divide an area into parts with one set of kinds each.

    Parameters
    ----------
    reference : ndarray of uint8, shape (h, w), or ReferenceBlocks
        The reference; :class:`ReferenceBlocks` make further copies of it cheaper.
    copy : ndarray of uint8, shape (h, w)
        The copy.
    area : ndarray of bool, shape (rows, cols)
        Blocks of the area.
    judge : Judge
        Names the kinds of regions.
    sets : tuple of tuple of str
        The sets of kinds that it tells apart.

    Returns
    -------
    list of (ndarray of bool, ndarray)
        Blocks of each part, and the probabilities (n_sets,) of its kinds.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.sets import SETS
    >>> from llise.diagnosis.parts import split
    >>> picture = np.arange(64 * 64, dtype=np.uint8).reshape(64, 64)
    >>> sure = np.eye(1, len(SETS))
    >>> parts = split(picture, picture // 2, np.ones((8, 8), bool), lambda sums, context: sure.repeat(len(sums), 0))
    >>> len(parts), bool(parts[0][0].all())
    (1, True)
    """
    return _Split(reference, copy, area, judge, sets).parts()


class _Split:
    """The division of one area; masks of cells have the shape of the box around the area."""

    def __init__(
        self,
        reference: np.ndarray | ReferenceBlocks,
        copy: np.ndarray,
        area: np.ndarray,
        judge: Judge,
        sets: tuple[tuple[str, ...], ...],
    ) -> None:
        self.whole, self.judge, self.sets = area, judge, sets
        self.core = core_of(area)
        self.cell = ceil(sqrt(self.core.sum() / MOST_CELLS))
        self.sums = measure(reference, copy, self.core, self.cell)
        self.area = self.sums[..., 0] > 0
        self.context = self.total(self.area)

    def total(self, mask: np.ndarray) -> np.ndarray:
        return np.sum([row[chosen].sum(axis=0, dtype=np.float64) for row, chosen in zip(self.sums, mask)], axis=0)

    def name(self, mask: np.ndarray) -> np.ndarray:
        return self.judge(self.total(mask)[None], self.context)[0]

    def parts(self) -> list[tuple[np.ndarray, np.ndarray]]:
        tiles = _Tiles(self, int(np.clip(round(np.sqrt(self.area.sum()) / 4), 2, 6)))
        divisible = self.area.sum() >= 3 * LEAST_PART
        whole = tiles.judge(tiles.filled & tiles.apart & divisible)
        labels = self._divide(int(whole.argmax()), tiles) if divisible else None
        if labels is not None:
            masks = [(labels == code) & self.area for code in np.unique(labels[self.area])]
            return [(self._with_rim(mask), self.name(mask)) for mask in masks]
        return self._with_shift(self.sets[int(whole.argmax())]) or [(self.whole, whole)]

    def _with_shift(self, kinds: tuple[str, ...]) -> list[tuple[np.ndarray, np.ndarray]] | None:
        """The place where means of blocks are shifted by contrast or luminance over other kinds, and the rest."""
        shifted = None if set(GREY) & set(kinds) else self._shifted()
        if shifted is None:
            return None
        here = self.name(shifted)
        besides = set(self.sets[int(here.argmax())]) - set(kinds)
        if not besides or not besides <= set(GREY):
            return None
        rest = self.area & ~shifted
        return [(self._with_rim(rest), self.name(rest)), (self._with_rim(shifted), here)]

    def _shifted(self) -> np.ndarray | None:
        """Cells, side by side, whose mean has moved much further than those of others; None if there are few.

        Blur, coders and noise leave the mean over some blocks nearly as it was.
        """
        pixels = self.sums[..., 0]
        shift = self.sums[..., names().index("error 0")] / np.maximum(pixels, 1)
        shift = np.where(self.area, shift - np.median(shift[self.area]), 0)
        weight = mean_around(self.area, 3, "constant")
        smooth = mean_around(shift, 3, "constant") / np.maximum(weight, 0.1)
        typical = 1.4826 * float(np.median(np.abs(smooth[self.area]))) + LEAST_SHIFT / FAR_SHIFT
        far = (np.abs(smooth) > FAR_SHIFT * typical) & self.area
        numbers, _ = islands(closed(far) & self.area)
        sizes = np.bincount(numbers.ravel())
        sizes[0] = 0
        largest = numbers == int(sizes.argmax())
        enough = max(1.5 * LEAST_PART, 0.01 * self.area.sum()) <= sizes.max() <= 0.6 * self.area.sum()
        return largest if enough else None

    def _with_rim(self, mask: np.ndarray) -> np.ndarray:
        """Blocks of a part, with those of the rim whose nearest judged block belongs to it."""
        top, left, bottom, right = box_of(self.core)
        full = np.zeros(self.whole.shape, bool)
        blocks = np.repeat(np.repeat(mask, self.cell, axis=0), self.cell, axis=1)
        full[top:bottom, left:right] = blocks[: bottom - top, : right - left]
        rows, cols = scipy.ndimage.distance_transform_edt(~self.core, return_distances=False, return_indices=True)
        return full[rows, cols] & self.whole

    def _divide(self, main: int, tiles: _Tiles) -> np.ndarray | None:
        """Codes of the parts (rows, cols), or None where the area is of one kind; tiles side by side are judged."""
        size = int(self.area.sum())
        sure = tiles.total[..., main] >= np.log(SURE_TILE) * tiles.count
        unsure = tiles.filled & ~tiles.judged & tiles.touching(self.area & ~(sure & (tiles.count > 0)))
        if unsure.any():
            # Where some of these tiles see nothing but the kinds of the whole, the others see nothing else either.
            some = unsure & tiles.every_second if tiles.side >= LEAST_SAMPLED else unsure
            tiles.judge(some)
            rest = unsure & ~some
            if rest.any() and (tiles.evidence().argmax(axis=-1) != main)[self.area].any():
                tiles.judge(rest)
        evidence = tiles.evidence()
        counts = np.bincount(evidence.argmax(axis=-1)[self.area], minlength=len(self.sets))
        least = max(LEAST_PART, 0.015 * size)
        candidates = [int(code) for code in np.argsort(-counts)[:5] if counts[code] >= least]
        if not set(candidates) - {main}:
            return self._apart_from(main, evidence, least)
        candidates = list(dict.fromkeys([*candidates, main]))
        for _ in range(4):
            labels = self._label(evidence, candidates, least)
            kept = self._confirmed(labels, main)
            if kept == set(candidates):
                break
            candidates = sorted(kept)
        if len(candidates) < 2:
            return self._apart_from(main, evidence, least)
        small = _Tiles(self, 2 if tiles.wanted_side > 2 else 1)
        small.judge(small.filled)
        return self._label(evidence + small.evidence(), candidates, least)

    def _apart_from(self, main: int, evidence: np.ndarray, least: float) -> np.ndarray | None:
        """Codes of the area's kinds and of whatever is surely not of these kinds, though tiles differ about what it is.

        None where there is no such place.
        """
        if not (evidence.argmax(axis=-1) != main)[self.area].any():
            return None
        weight = self.area.astype(float)
        smooth = np.stack([mean_around(values * weight, 3, "constant") for values in np.moveaxis(evidence, -1, 0)])
        others = _without_islands((smooth.argmax(axis=0) != main).astype(int), self.area, least)
        place = (others > 0) & self.area
        if not max(LEAST_APART, least) <= place.sum() <= MOST_APART * self.area.sum():
            return None
        named = self.name(place)
        alike = [_family(members) == _family(self.sets[main]) for members in self.sets]
        best = int(named.argmax())
        if named[alike].sum() > HARDLY_MAIN or {CONTENT, UNKNOWN, *GREY} & set(self.sets[best]):
            return None
        return np.where(place, best, main)

    def _label(self, evidence: np.ndarray, candidates: list[int], least: float) -> np.ndarray:
        """Best candidate of each block after smoothing; islands smaller than ``least`` go to what surrounds them."""
        weight = self.area.astype(float)
        scores = [mean_around(evidence[..., code] * weight, 3, "constant") for code in candidates]
        labels = np.array(candidates)[np.argmax(scores, axis=0)]
        return _without_islands(labels, self.area, least)

    def _confirmed(self, labels: np.ndarray, main: int) -> set[int]:
        """Candidates whose own part, judged as a whole, is surely of these kinds."""
        kept: set[int] = set()
        present = [int(code) for code in np.unique(labels[self.area])]
        largest = max(present, key=lambda code: np.count_nonzero((labels == code) & self.area))
        if len(present) > 1 and self._one_curve([(labels == code) & self.area for code in present], present):
            return {main}
        rest = self._presence((labels == largest) & self.area)
        for code in present:
            if code == largest or _differs(self._presence((labels == code) & self.area), rest):
                kept.add(code)
        return kept

    def _presence(self, mask: np.ndarray) -> np.ndarray:
        """Probability of each kind in a part; last, that of noise of either sort, which may look alike."""
        names = list(dict.fromkeys(name for members in self.sets for name in members))
        columns = [[name in members for name in names] + [bool(NOISES & set(members))] for members in self.sets]
        return self.name(mask) @ np.array(columns, np.float32)

    def _one_curve(self, masks: list[np.ndarray], codes: list[int]) -> bool:
        """Whether parts that differ only in contrast and luminance follow one curve of grey values all the same."""
        others = {frozenset(self.sets[code]) - set(GREY) for code in codes}
        if len(others) > 1:
            return False
        left = curve_misfit(np.stack([self.total(mask) for mask in (*masks, self.area)]))
        apart, together = left[:-1].sum(), left[-1]
        return bool(together - apart <= CURVES_DIFFER * (apart / self.area.sum() + 0.1))


class _Tiles:
    """Square tiles over the cells of an area, and what the judged ones say of each cell.

    Masks of tiles have one entry for each pair of ``tops`` and ``lefts``.
    """

    def __init__(self, split: _Split, side: int) -> None:
        self.split, self.wanted_side = split, side
        rows, cols = split.area.shape
        self.side = side = min(side, rows, cols)
        stride = min(max(1, side // 3, int(np.sqrt(split.area.sum() / MOST_TILES))), side)
        self.tops, self.lefts = (np.array([*range(0, n - side, stride), n - side]) for n in (rows, cols))
        apart = [np.arange(len(starts)) % (side // stride) == 0 for starts in (self.tops, self.lefts)]
        apart[0][-1] = apart[1][-1] = True
        self.apart = np.logical_and.outer(*apart)
        self.every_second = np.zeros_like(self.apart)
        self.every_second[::2, ::2] = True
        self.filled = self._over(split.sums[..., 0]) / 64 >= max(1, 0.25 * (side * split.cell) ** 2)
        self.judged = np.zeros_like(self.filled)
        # Which rows and columns of cells (rows, tops), (cols, lefts) a tile covers.
        self._covered = [
            ((starts <= at) & (at < starts + side)).astype(np.float32)
            for starts, at in ((self.tops, np.arange(rows)[:, None]), (self.lefts, np.arange(cols)[:, None]))
        ]
        self.total, self.count = np.zeros((rows, cols, len(split.sets))), np.zeros((rows, cols))

    def _over(self, values: np.ndarray) -> np.ndarray:
        """Sums over all tiles of the values of cells (rows, cols)."""
        sums = np.pad(values.cumsum(0, dtype=np.float64).cumsum(1), [(1, 0), (1, 0)])
        below, right = self.tops + self.side, self.lefts + self.side
        return (
            sums[np.ix_(below, right)]
            - sums[np.ix_(self.tops, right)]
            - (sums[np.ix_(below, self.lefts)] - sums[np.ix_(self.tops, self.lefts)])
        )

    def touching(self, cells: np.ndarray) -> np.ndarray:
        """Tiles in which some of these cells lie."""
        return self._over(cells) > 0.5

    def evidence(self) -> np.ndarray:
        """Mean log probability (rows, cols, n_sets) of the judged tiles that cover each cell."""
        return self.total / np.maximum(self.count, 1)[..., None]

    def judge(self, chosen: np.ndarray) -> np.ndarray:
        """Judge tiles, and the whole area in the same go; return the probabilities (n_sets,) of the area's kinds."""
        self.judged |= chosen
        regions = np.concatenate([self.split.context[None], self._sums(chosen)])
        answers = self.split.judge(regions, self.split.context)
        said = np.zeros((*chosen.shape, answers.shape[1]))
        said[chosen] = np.log(answers[1:] + 1e-4)
        down, across = self._covered
        self.total += across @ np.tensordot(down, said, 1)
        self.count += down @ chosen @ across.T
        return answers[0]

    def _sums(self, chosen: np.ndarray) -> np.ndarray:
        """Sums (n, n_sums) of the chosen tiles, row by row."""
        down, across = self._covered
        used = chosen.any(axis=1)
        along = np.tensordot(down[:, used].T, self.split.sums, 1)
        return np.matmul(across.T, along)[chosen[used]]


def _family(kinds: tuple[str, ...]) -> frozenset[str]:
    """Kinds with one name for those that are easily taken for one another: both noises, both changes of the greys."""
    return frozenset("noise" if kind in NOISES else "grey" if kind in GREY else kind for kind in kinds)


def _differs(part: np.ndarray, rest: np.ndarray) -> bool:
    """Whether a part surely has a kind that the rest of its area hardly has, or surely lacks one that it has."""
    has, lacks = part > SURE_OF_KIND, part < 1 - SURE_OF_KIND
    return bool((has & (rest < 0.5)).any() or (lacks & (rest > 0.5)).any())


def _without_islands(labels: np.ndarray, area: np.ndarray, least: float) -> np.ndarray:
    """Give islands smaller than ``least`` cells the label that is most frequent around them."""
    labels = labels.copy()
    for _ in range(3):
        done = True
        for code in np.unique(labels[area]):
            numbers, count = islands((labels == code) & area)
            sizes = np.bincount(numbers.ravel(), minlength=count + 1)
            for number, (rows, cols) in enumerate(boxes(numbers), 1):
                if sizes[number] >= least:
                    continue
                box = slice(max(rows.start - 1, 0), rows.stop + 1), slice(max(cols.start - 1, 0), cols.stop + 1)
                island = numbers[box] == number
                around = dilated(island) & ~island & area[box]
                if around.any():
                    labels[box][island] = np.bincount(labels[box][around]).argmax()
                    done = False
        if done:
            break
    return labels
