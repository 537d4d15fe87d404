"""Sums over each 8 x 8 block of a copy and its reference, from which any region can be judged.

Every number here is a sum over the pixels, or over the cosine coefficients, of one block.  The sums of a region are
the sums of its blocks, whatever its shape and size, so one pass over the picture serves tiles of all sizes and all
regions that are found later.  What the reference alone decides comes from
:mod:`llise.diagnosis.features.reference_blocks`; :mod:`llise.diagnosis.features.region_features` turns the sums of a
region into what the judge sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

from llise.diagnosis.features import changed_sums
from llise.diagnosis.features.block_values import block_pixels, count_true, full_blocks, squared_steps, with_halo
from llise.diagnosis.features.level_sums import flat_and_small, levels_left, noise_by_level
from llise.diagnosis.features.reference_blocks import (
    BANDS,
    BLOCK,
    DCT,
    DIRECTED_BANDS,
    N_AMPLITUDES,
    N_BANDS,
    OF_REFERENCE,
    PRODUCTS,
    REFERENCE_FUNCTIONS,
    TEXTURE_BOUNDS,
    BlockValues,
    ReferenceBlocks,
    sums_by_class,
)
from llise.filters import mean_around
from llise.kinds.fitting import sum_of_middle_neighbours

HALO = 2 * BLOCK
"""Pixels around blocks of a copy on which their sums depend."""

FUNCTIONS = (*REFERENCE_FUNCTIONS, "error")
"""Functions of a pixel whose inner products over each block are taken."""

MEAN_FUNCTIONS = ("one", "mean", "mean2", "mean3", "shift")
"""Functions of a block: powers of the reference's mean, and how far the copy's mean lies from it."""

Group = tuple[str | tuple[str, ...], np.ndarray]
"""Name and sums (blocks, k) of a group, or of several that are equally large, side by side."""

LONELY_BOUNDS = (2, 4, 8, 16, 32, 64, 128)
ERROR_BOUNDS = (0, 1, 2, 4, 8, 16, 32, 64)
COMB_STEPS = np.geomspace(5, 110, 20)
COMB_COEFFICIENTS = (1, 8, 9, 2, 16)  # (0,1), (1,0), (1,1), (0,2), (2,0)

_OF_ERROR = np.flatnonzero(PRODUCTS[1] == len(REFERENCE_FUNCTIONS))
_ONES = np.ones(BLOCK * BLOCK, np.float32)
_MEAN_PAIRS = np.array(list(combinations_with_replacement(range(len(MEAN_FUNCTIONS)), 2))).T


@cache
def names() -> tuple[str, ...]:
    """Return the names of the sums.

    Returns
    -------
    tuple of str
        In the order of the last axis of what :func:`measure` returns.

    Examples
    --------
    >>> from llise.diagnosis.features import block_sums
    >>> block_sums.names()[0]
    'pixels'
    """
    picture = np.zeros((BLOCK, BLOCK), np.uint8)
    parts = list(_Chunk(ReferenceBlocks(picture), picture, (0, 0, 1, 1)).named())
    several = [((group,) if isinstance(group, str) else group, part.shape[1]) for group, part in parts]
    sizes = [(name, size // len(group)) for group, size in several for name in group]
    return tuple(f"{name} {i}" if size > 1 else name for name, size in sizes for i in range(size))


def measure(
    reference: np.ndarray | ReferenceBlocks,
    copy: np.ndarray,
    area: np.ndarray | None = None,
    cell: int = 1,
    chunk_rows: int = 32,
) -> np.ndarray:
    """Return the sums of every block, or of cells of several blocks.

    Parameters
    ----------
    reference : ndarray of uint8, shape (h, w), or ReferenceBlocks
        The reference; :class:`ReferenceBlocks` keep what serves further copies once a copy differs in half of it.
    copy : ndarray of uint8, shape (h, w)
        The copy.
    area : ndarray of bool, shape (rows, cols), optional
        Blocks to measure; the result covers the box around them, and other blocks count nothing. All if left out.
    cell : int
        Side of a cell in blocks.
    chunk_rows : int
        Rows of blocks that are worked on together, so that memory beyond the result stays small.

    Returns
    -------
    ndarray of float32, shape (rows, cols, n_sums)
        Sums of the cells of the box, in the order of :func:`names`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features import block_sums
    >>> picture = np.arange(1024, dtype=np.uint8).reshape(32, 32)
    >>> block_sums.measure(picture, picture).shape == (4, 4, len(block_sums.names()))
    True
    >>> block_sums.measure(picture, picture, cell=2)[0, 0, 0]  # pixels of a cell
    np.float32(256.0)
    """
    blocks = reference if isinstance(reference, ReferenceBlocks) else ReferenceBlocks(reference)
    copy = full_blocks(copy)
    area = np.ones(blocks.shape, bool) if area is None else area
    top, left, bottom, right = box_of(area)
    if blocks is reference and 2 * (bottom - top) * (right - left) >= area.size:
        blocks.keep(chunk_rows)
    height, width = -(-(bottom - top) // cell), -(-(right - left) // cell)
    out = np.zeros((height, width, len(names())), np.float32)
    step = max(chunk_rows // cell, 1) * cell
    for first in range(top, bottom, step):
        last = min(first + step, bottom)
        parts = [part for _, part in _Chunk(blocks, copy, (first, left, last, right)).named()]
        start = (first - top) // cell
        here = out[start : start + -(-(last - first) // cell)]
        sums = here if cell == 1 else np.empty((last - first, right - left, out.shape[-1]), np.float32)
        np.concatenate(parts, axis=-1, out=sums.reshape(-1, out.shape[-1]), casting="same_kind")
        sums[~area[first:last, left:right]] = 0
        if cell > 1:
            here[:] = _by_cell(sums, cell)
    return out


def box_of(mask: np.ndarray) -> tuple[int, int, int, int]:
    """Return top, left, bottom and right of the true entries of a mask.

    Parameters
    ----------
    mask : ndarray of bool, shape (rows, cols)
        At least one entry is true.

    Returns
    -------
    tuple of int
        Bounds; bottom and right are exclusive.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.block_sums import box_of
    >>> box_of(np.eye(5, dtype=bool)[1:])
    (0, 1, 4, 5)
    """
    rows, cols = (np.flatnonzero(mask.any(axis)) for axis in (1, 0))
    return int(rows[0]), int(cols[0]), int(rows[-1]) + 1, int(cols[-1]) + 1


def _by_cell(sums: np.ndarray, cell: int) -> np.ndarray:
    rows, cols = (np.arange(0, n, cell) for n in sums.shape[:2])
    return np.add.reduceat(np.add.reduceat(sums, rows, axis=0), cols, axis=1)


class _Chunk:
    """A run of block rows: functions of pixels, computed once and summed by block."""

    def __init__(self, reference: ReferenceBlocks, copy: np.ndarray, box: tuple[int, int, int, int]) -> None:
        levels, self.inner = with_halo(reference.picture, box, HALO)
        self.of_reference: BlockValues = reference.values(*box)
        self.reference = levels.astype(np.float32)
        self.levels = with_halo(copy, box, HALO)[0].astype(np.int16)
        self.copy = self.levels.astype(np.float32)
        self.error = self.levels - levels

    def named(self) -> Iterator[Group]:
        """All groups of sums."""
        yield "pixels", np.full((len(self.of_reference.pixels), 1), BLOCK * BLOCK, np.float32)
        yield from self.impulses()
        yield from self.errors()
        yield from self.regressions()
        yield from self.textures()
        yield from self.coefficients()
        yield from self.combs()
        yield from self.steps()
        yield from self.grey_levels()
        yield from zip(changed_sums.GROUPS, changed_sums.changed_sums(self.reference, self.copy, self.inner))

    def blocks(self, values: np.ndarray) -> np.ndarray:
        """Rows of 64 pixels of the blocks of the chunk."""
        return block_pixels(values[self.inner])

    def impulses(self) -> Iterator[Group]:
        """Pixels whose error is far from that of their neighbours; afterwards ``clean`` is the copy without them."""
        around = sum_of_middle_neighbours(self.error)  # twice their median, as all that follows: whole numbers
        lonely = 2 * self.error - around
        size = np.abs(lonely)
        peak = 2 * self.levels - sum_of_middle_neighbours(self.levels)
        towards = np.where(lonely > 0, peak, -peak)
        far = (size > self._far_from(size)) & (2 * towards > size)
        self.clean = np.where(far, self.reference + np.float32(0.5) * around, self.copy) if far.any() else self.copy
        hit, lonely, size, copy = (values[self.inner] for values in (far, lonely, size, self.levels))
        black, white = copy <= 0, copy >= 255
        own = self.reference[self.inner]
        masks = [hit, hit & black, hit & white, hit & (lonely > 0), black, white, own <= 0, own >= 255]
        yield "impulse count", count_true(masks)
        bounds = [size > 2 * bound for bound in LONELY_BOUNDS]
        size = np.float32(0.5) * block_pixels(size)
        square = size * size
        hit = block_pixels(hit).astype(np.float32)
        sums = [_sum(square), _sum(square, hit), _sum(size, hit), _sum(size), _sum(square, square) / 1e4]
        yield "lonely", np.stack(sums, 1)
        yield "lonely above", count_true(bounds)

    def _far_from(self, size: np.ndarray) -> np.ndarray:
        """Size from which a pixel is far: 1.48 times the median of its block, smoothed; all sizes are doubled."""
        rows, cols = size.shape[0] // BLOCK, size.shape[1] // BLOCK
        some = np.float32(0.5) * block_pixels(size)[:, ::2]
        middle = 1.4826 * np.partition(some, 16, axis=-1)[:, 16].reshape(rows, cols) + 0.4
        bound = 4.5 * mean_around(middle, 3) + 3
        return np.floor(2 * bound).astype(np.int16).repeat(BLOCK, 0).repeat(BLOCK, 1)

    def errors(self) -> Iterator[Group]:
        error = self.blocks(self.error).astype(np.float32)
        size, square = np.abs(error), error * error
        yield "error", np.stack([_sum(error), _sum(square), _sum(size), _sum(square, square) / 1e4], 1)
        size = np.abs(self.error[self.inner])
        yield "error within", count_true([size <= bound for bound in ERROR_BOUNDS])
        self.largest_error = block_pixels(size).max(axis=1).astype(np.float32)

    def regressions(self) -> Iterator[Group]:
        """Inner products of the functions of a pixel where nothing is clipped, and of those of a block."""
        clean, own = self.blocks(self.clean), self.of_reference
        usable = (clean > 0.5) & (clean < 254.5)
        error = clean - own.pixels
        self.clean_blocks, self.clean_error = clean, error
        usable_error = error * usable
        products = own.products.copy()
        products[:, _OF_ERROR[:-1]] = np.matmul(own.functions, usable_error[..., None])[..., 0]
        products[:, _OF_ERROR[-1]] = _sum(usable_error, usable_error)
        whole = usable.min(axis=1)
        clipped = np.flatnonzero(~whole)
        part = own.functions[clipped] * usable[clipped, None]
        of_part = np.matmul(part, part.swapaxes(1, 2))[:, PRODUCTS[0][OF_REFERENCE], PRODUCTS[1][OF_REFERENCE]]
        products[np.ix_(clipped, OF_REFERENCE)] = of_part
        yield "product", products
        mean = _sum(own.functions[:, 1]) / BLOCK**2
        powers = np.stack([np.ones_like(mean), mean, mean**2, mean**3, _sum(error) / BLOCK**2], 1) * whole[:, None]
        yield "mean product", powers[:, _MEAN_PAIRS[0]] * powers[:, _MEAN_PAIRS[1]]

    def textures(self) -> Iterator[Group]:
        """The error inside blocks, apart for blocks of the reference from smooth to rough."""
        error = self.clean_error - _sum(self.clean_error)[:, None] / BLOCK**2
        square = error * error
        power = _sum(square) / BLOCK**2
        grid = error.reshape(-1, BLOCK, BLOCK)
        alike = [_sum(grid[..., :-lag], grid[..., lag:]) / (BLOCK * (BLOCK - lag)) for lag in (1, 2)]
        alike_below = [_sum(grid[:, :-lag], grid[:, lag:]) / (BLOCK * (BLOCK - lag)) for lag in (1, 2)]
        peak = self.largest_error
        tails = _sum(square, square) / BLOCK**2 / (power + 0.1) ** 2
        columns = [np.ones_like(power), power, np.log(power + 0.1), np.log(tails + 0.1), np.log(peak + 0.5)]
        columns += [alike[0], alike_below[0], alike[1], alike_below[1], peak < 0.5]
        values = np.zeros((len(error), len(TEXTURE_BOUNDS) + 1, len(columns)), np.float32)
        values[np.arange(len(error)), self.of_reference.texture] = np.stack(columns, 1)
        yield tuple(f"texture {i}" for i in range(len(TEXTURE_BOUNDS) + 1)), values.reshape(len(error), -1)

    def coefficients(self) -> Iterator[Group]:
        """Powers and products of cosine coefficients by frequency, direction and size, and zeros."""
        own, copy = self.of_reference.coefficients, self.clean_blocks @ DCT
        both, power = own * copy, copy * copy
        directed = np.stack([self.of_reference.band_power, both @ DIRECTED_BANDS, power @ DIRECTED_BANDS], 2)
        yield tuple(f"band {i // 3} {i % 3}" for i in range(3 * N_BANDS)), directed.reshape(len(own), -1)
        small = np.abs(copy) < 1
        both, power, zeros = sums_by_class(self.of_reference.amplitudes, both, power, small)
        by_class = [self.of_reference.amplitude_power, both, power, self.of_reference.amplitude_count, zeros]
        sizes = range(N_BANDS * N_AMPLITUDES)
        names_of_sizes = tuple(f"amplitude {i // N_AMPLITUDES} {i % N_AMPLITUDES}" for i in sizes)
        yield names_of_sizes, np.stack(by_class, 2)[:, : len(sizes)].reshape(len(own), -1)
        yield "zeros", small @ BANDS
        yield "zeros off grid", (np.abs(self._off_grid() @ DCT) < 1) @ BANDS
        self.comb_coefficients = copy[:, COMB_COEFFICIENTS]

    def _off_grid(self) -> np.ndarray:
        """Blocks of a grid that lies half a block further down and to the right."""
        half = BLOCK // 2
        return self.blocks(np.pad(self.clean[half:, half:], [(0, half), (0, half)], mode="symmetric"))

    def combs(self) -> Iterator[Group]:
        """How near coefficients are to multiples of a step, of those that are large enough to tell."""
        for number, values in zip(COMB_COEFFICIENTS, self.comb_coefficients.T):
            here = np.abs(values)[:, None] > 0.6 * COMB_STEPS
            turns = values[:, None] / COMB_STEPS
            turns -= np.rint(turns)
            yield f"comb {number}", np.cos((2 * np.pi * turns).astype(np.float32)) * here
            yield f"comb count {number}", here

    def steps(self) -> Iterator[Group]:
        """Squared steps between neighbours, across the grid's lines and elsewhere."""
        yield "steps copy", squared_steps(self.clean, self.inner)
        yield "steps reference", self.of_reference.steps
        yield "steps error", squared_steps(self.clean - self.reference, self.inner)

    def grey_levels(self) -> Iterator[Group]:
        """Noise by grey level, levels that are left, equal neighbours, vanishing details of wavelets."""
        yield "noise by level", noise_by_level(self.of_reference, self.clean_error)
        yield "levels", levels_left(self.of_reference, self.blocks(self.copy))
        yield "flat copy", flat_and_small(self.copy, self.inner)
        yield "flat reference", self.of_reference.flat


def _sum(values: np.ndarray, factor: np.ndarray | None = None) -> np.ndarray:
    """Sum of each block, of the product with a factor if one is given."""
    if factor is None:
        return values @ _ONES
    return np.einsum("bi,bi->b" if values.ndim == 2 else "bij,bij->b", values, factor)
