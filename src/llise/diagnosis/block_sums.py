"""Sums over each 8 x 8 block of a copy and its reference, from which any region can be judged.

Every number here is a sum over the pixels, or over the cosine coefficients, of one block.  The sums of a region are
the sums of its blocks, whatever its shape and size, so one pass over the picture serves tiles of all sizes and all
regions that are found later.  :mod:`llise.diagnosis.features` turns the sums of a region into what the judge sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
from scipy import fft, ndimage

from llise.kinds.fitting import median_of_neighbours
from llise.kinds.jpeg import STANDARD_TABLE, code_jpeg

BLOCK = 8
"""Side of a block: that of JPEG's grid."""

BLUR_SIGMAS = (0.6, 1.2, 2.4, 4.8, 9.6)
"""Widths of the Gaussian filters whose effect on the reference is compared with the error of the copy."""

JPEG_FACTORS = (0.3, 0.8, 2.0, 5.0, 12.0)
"""Multiples of the standard quantiser table with which the reference is coded for the same comparison."""

HALO = 40
"""Rows above and below a strip that the widest filter sees."""

FUNCTIONS = (
    "one", "grey", "grey2", "grey3", *(f"blur{i}" for i in range(5)), *(f"jpeg{i}" for i in range(5)), "error",
)  # fmt: skip
"""Functions of a pixel whose inner products over each block are taken."""

MEAN_FUNCTIONS = ("one", "mean", "mean2", "mean3", "shift")
"""Functions of a block: powers of the reference's mean, and how far the copy's mean lies from it."""

LONELY_BOUNDS = (2, 4, 8, 16, 32, 64, 128)
ERROR_BOUNDS = (0, 1, 2, 4, 8, 16, 32, 64)
TEXTURE_BOUNDS = (1.0, 3.0, 8.0, 20.0)
AMPLITUDE_BOUNDS = (3.0, 10.0, 30.0)
COMB_STEPS = np.geomspace(5, 110, 20)
COMB_COEFFICIENTS = (1, 8, 9, 2, 16)  # (0,1), (1,0), (1,1), (0,2), (2,0)

_DCT_1D = fft.dct(np.eye(BLOCK), norm="ortho", axis=0)
_DCT = np.kron(_DCT_1D, _DCT_1D).T.astype(np.float32)
_ROW, _COLUMN = np.divmod(np.arange(BLOCK * BLOCK), BLOCK)
_RADIUS = np.hypot(_ROW, _COLUMN)
_BAND = np.digitize(_RADIUS, (0.5, 2.1, 3.7, 5.5)) - 1  # -1 is the mean, then four bands of rising frequency
_DIRECTION = np.where(_ROW > 2 * _COLUMN, 0, np.where(_COLUMN > 2 * _ROW, 1, 2))
N_BANDS = 4


@cache
def names() -> tuple[str, ...]:
    """Return the names of the sums.

    Returns
    -------
    tuple of str
        In the order of the last axis of what :func:`measure` returns.

    Examples
    --------
    >>> from llise.diagnosis import block_sums
    >>> block_sums.names()[0]
    'pixels'
    """
    picture = np.zeros((BLOCK, BLOCK), np.uint8)
    parts = _Strip(picture, picture, (slice(0, BLOCK), slice(0, BLOCK))).named()
    return tuple(f"{name} {i}" if part.shape[1] > 1 else name for name, part in parts for i in range(part.shape[1]))


def measure(
    reference: np.ndarray, copy: np.ndarray, area: np.ndarray | None = None, cell: int = 1, strip_rows: int = 32
) -> np.ndarray:
    """Return the sums of every block, or of cells of several blocks.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    area : ndarray of bool, shape (rows, cols), optional
        Blocks to measure; the result covers the box around them, and other blocks count nothing. All if left out.
    cell : int
        Side of a cell in blocks.
    strip_rows : int
        Rows of blocks that are worked on at once, so that memory beyond the result stays small.

    Returns
    -------
    ndarray of float32, shape (rows, cols, n_sums)
        Sums of the cells of the box, in the order of :func:`names`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis import block_sums
    >>> picture = np.arange(1024, dtype=np.uint8).reshape(32, 32)
    >>> block_sums.measure(picture, picture).shape == (4, 4, len(block_sums.names()))
    True
    >>> block_sums.measure(picture, picture, cell=2)[0, 0, 0]  # pixels of a cell
    np.float32(256.0)
    """
    rows, cols = (-(-n // BLOCK) for n in reference.shape)
    area = np.ones((rows, cols), bool) if area is None else area
    top, left, bottom, right = box_of(area)
    pad = [(0, rows * BLOCK - reference.shape[0]), (0, cols * BLOCK - reference.shape[1])]
    reference, copy = (np.pad(picture, pad, mode="edge") for picture in (reference, copy))
    height, width = -(-(bottom - top) // cell), -(-(right - left) // cell)
    out = np.zeros((height, width, len(names())), np.float32)
    west, east = max(left * BLOCK - HALO, 0), min(right * BLOCK + HALO, cols * BLOCK)
    step = max(strip_rows // cell, 1) * cell
    for first in range(top, bottom, step):
        last = min(first + step, bottom)
        north, south = max(first * BLOCK - HALO, 0), min(last * BLOCK + HALO, rows * BLOCK)
        inner = (
            slice(first * BLOCK - north, last * BLOCK - north),
            slice(left * BLOCK - west, right * BLOCK - west),
        )
        strip = _Strip(reference[north:south, west:east], copy[north:south, west:east], inner)
        sums = np.concatenate(list(strip.sums()), axis=-1).reshape(last - first, right - left, -1)
        sums *= area[first:last, left:right, None]
        start = (first - top) // cell
        out[start : start + -(-(last - first) // cell)] = _by_cell(sums, cell)
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
    >>> from llise.diagnosis.block_sums import box_of
    >>> box_of(np.eye(5, dtype=bool)[1:])
    (0, 1, 4, 5)
    """
    rows, cols = (np.flatnonzero(mask.any(axis)) for axis in (1, 0))
    return int(rows[0]), int(cols[0]), int(rows[-1]) + 1, int(cols[-1]) + 1


def _by_cell(sums: np.ndarray, cell: int) -> np.ndarray:
    if cell == 1:
        return sums
    rows, cols = (np.arange(0, n, cell) for n in sums.shape[:2])
    return np.add.reduceat(np.add.reduceat(sums, rows, axis=0), cols, axis=1)


class _Strip:
    """One strip of the picture: pixel functions, computed once and summed by block."""

    def __init__(self, reference: np.ndarray, copy: np.ndarray, inner: tuple[slice, slice]) -> None:
        self.inner = inner
        self.levels = reference
        self.reference = reference.astype(np.float32)
        self.copy = copy.astype(np.float32)
        self.error = self.copy - self.reference

    def sums(self) -> Iterator[np.ndarray]:
        for _, part in self.named():
            yield part

    def named(self) -> Iterator[tuple[str, np.ndarray]]:
        """Name and sums (blocks, k) of each group."""
        yield "pixels", np.full((self.blocks(self.error).shape[0], 1), 64, np.float32)
        yield from self.impulses()
        yield from self.errors()
        yield from self.regressions()
        yield from self.textures()
        yield from self.coefficients()
        yield from self.steps()

    def blocks(self, values: np.ndarray) -> np.ndarray:
        """Rows of 64 pixels of the blocks inside the strip."""
        part = values[self.inner]
        rows, cols = part.shape[0] // BLOCK, part.shape[1] // BLOCK
        return part.reshape(rows, BLOCK, cols, BLOCK).swapaxes(1, 2).reshape(rows * cols, BLOCK * BLOCK)

    def impulses(self) -> Iterator[tuple[str, np.ndarray]]:
        """Pixels whose error is far from that of their neighbours; afterwards ``clean`` is the copy without them."""
        around = median_of_neighbours(self.error)
        lonely = self.error - around
        size = np.abs(lonely)
        peak = self.copy - median_of_neighbours(self.copy)
        far = (size > 4.5 * self._scale(size) + 3) & (peak * np.sign(lonely) > 0.5 * size)
        self.clean = np.where(far, self.reference + around, self.copy)
        hit, lonely, copy, reference = (self.blocks(a) for a in (far, lonely, self.copy, self.reference))
        size = np.abs(lonely)
        black, white = copy <= 0, copy >= 255
        counted = [hit, hit & black, hit & white, hit & (lonely > 0), black, white, reference <= 0, reference >= 255]
        yield "impulse count", _counts(counted)
        square = lonely * lonely
        yield (
            "lonely",
            np.stack(
                [
                    square.sum(1),
                    (square * hit).sum(1),
                    (size * hit).sum(1),
                    size.sum(1),
                    (square * square).sum(1) / 1e4,
                ],
                1,
            ),
        )
        yield "lonely above", _counts([size > bound for bound in LONELY_BOUNDS])

    def _scale(self, size: np.ndarray) -> np.ndarray:
        """Typical size of the lonely part around each pixel: 1.48 times the median of its block, smoothed."""
        rows, cols = size.shape[0] // BLOCK, size.shape[1] // BLOCK
        inner = size[: rows * BLOCK].reshape(rows, BLOCK, cols, BLOCK).swapaxes(1, 2).reshape(rows, cols, -1)
        middle = 1.4826 * np.partition(inner[..., ::2], 16, axis=-1)[..., 16] + 0.4
        middle = ndimage.uniform_filter(middle, 3, mode="nearest")
        grown = np.repeat(np.repeat(middle, BLOCK, 0), BLOCK, 1)
        return np.pad(grown, [(0, size.shape[0] - grown.shape[0]), (0, 0)], mode="edge")

    def errors(self) -> Iterator[tuple[str, np.ndarray]]:
        error = self.blocks(self.error)
        size = np.abs(error)
        yield "error", np.stack([error.sum(1), (error * error).sum(1), size.sum(1), (error**4).sum(1) / 1e4], 1)
        yield "error within", _counts([size <= bound for bound in ERROR_BOUNDS])

    def regressions(self) -> Iterator[tuple[str, np.ndarray]]:
        """Inner products of the functions of a pixel where nothing is clipped, and of those of a block."""
        grey = (self.reference - 128) / 64
        error = self.clean - self.reference
        usable = ((self.clean > 0.5) & (self.clean < 254.5)).astype(np.float32)
        functions: list[np.ndarray] = [np.ones_like(grey), grey, grey**2, grey**3]
        functions += [
            ndimage.gaussian_filter(self.reference, s, mode="nearest", truncate=3.5) - self.reference
            for s in BLUR_SIGMAS
        ]
        functions += [code_jpeg(self.levels, f * STANDARD_TABLE) - self.reference for f in JPEG_FACTORS]
        stack = np.stack([self.blocks(f * usable) for f in (*functions, error)], axis=1)
        products = np.matmul(stack, stack.swapaxes(1, 2))
        upper = np.triu_indices(len(FUNCTIONS))
        yield "product", products[:, upper[0], upper[1]]
        mean = self.blocks(grey).mean(1)
        shift = self.blocks(error).mean(1)
        powers = np.stack([np.ones_like(mean), mean, mean**2, mean**3, shift], 1)
        weight = (self.blocks(usable).min(1) > 0)[:, None]
        yield (
            "mean product",
            np.stack(
                [powers[:, i] * powers[:, j] * weight[:, 0] for i, j in combinations_with_replacement(range(5), 2)], 1
            ),
        )

    def textures(self) -> Iterator[tuple[str, np.ndarray]]:
        """The error inside blocks, apart for blocks of the reference from smooth to rough."""
        error = self.blocks(self.clean - self.reference)
        error = error - error.mean(1, keepdims=True)
        raw = self.blocks(self.error)
        texture = self.blocks(self.reference).std(1)
        kind = np.digitize(texture, TEXTURE_BOUNDS)
        square = error * error
        power = square.mean(1)
        grid = error.reshape(-1, BLOCK, BLOCK)
        across = (grid[:, :, 1:] * grid[:, :, :-1]).mean((1, 2))
        down = (grid[:, 1:] * grid[:, :-1]).mean((1, 2))
        across2 = (grid[:, :, 2:] * grid[:, :, :-2]).mean((1, 2))
        down2 = (grid[:, 2:] * grid[:, :-2]).mean((1, 2))
        peak = np.abs(raw).max(1)
        tails = (square * square).mean(1) / (power + 0.1) ** 2
        columns = [np.ones_like(power), power, np.log(power + 0.1), np.log(tails + 0.1), np.log(peak + 0.5)]
        values = np.stack([*columns, across, down, across2, down2, peak < 0.5], 1)
        for i in range(len(TEXTURE_BOUNDS) + 1):
            yield f"texture {i}", values * (kind == i)[:, None]

    def coefficients(self) -> Iterator[tuple[str, np.ndarray]]:
        """Powers and products of cosine coefficients by frequency, direction and size, zeros, and combs."""
        own, copy = self.blocks(self.reference) @ _DCT, self.blocks(self.clean) @ _DCT
        parts = (own * own, own * copy, copy * copy)
        for band in range(N_BANDS):
            for direction in range(3):
                chosen = (band == _BAND) & (direction == _DIRECTION)
                yield f"band {band} {direction}", np.stack([a[:, chosen].sum(1) for a in parts], 1)
        size = np.abs(own)
        level = np.digitize(size, AMPLITUDE_BOUNDS)
        small = np.abs(copy) < 1
        for band in range(N_BANDS):
            chosen = band == _BAND
            for amplitude in range(len(AMPLITUDE_BOUNDS) + 1):
                here = level[:, chosen] == amplitude
                sums = [(a[:, chosen] * here).sum(1) for a in parts] + [here.sum(1), (small[:, chosen] & here).sum(1)]
                yield f"amplitude {band} {amplitude}", np.stack(sums, 1).astype(np.float32)
        shifted = self._off_grid() @ _DCT
        for name, values in (("zeros", copy), ("zeros off grid", shifted)):
            tiny = np.abs(values) < 1
            yield name, np.stack([tiny[:, band == _BAND].sum(1) for band in range(N_BANDS)], 1).astype(np.float32)
        for number in COMB_COEFFICIENTS:
            value = copy[:, number, None]
            here = np.abs(value) > 0.6 * COMB_STEPS
            yield f"comb {number}", (np.cos(2 * np.pi * value / COMB_STEPS) * here).astype(np.float32)
            yield f"comb count {number}", here.astype(np.float32)

    def _off_grid(self) -> np.ndarray:
        """Blocks of a grid that lies half a block further down and to the right."""
        half = BLOCK // 2
        return self.blocks(np.pad(self.clean[half:, half:], [(0, half), (0, half)], mode="symmetric"))

    def steps(self) -> Iterator[tuple[str, np.ndarray]]:
        """Squared steps between neighbours, across the grid's lines and elsewhere."""
        for name, values in (
            ("copy", self.clean),
            ("reference", self.reference),
            ("error", self.clean - self.reference),
        ):
            across = np.diff(values, axis=1, append=values[:, -1:]) ** 2
            down = np.diff(values, axis=0, append=values[-1:]) ** 2
            across, down = (self.blocks(a).reshape(-1, BLOCK, BLOCK) for a in (across, down))
            yield (
                f"steps {name}",
                np.stack(
                    [across[:, :, 7].sum(1), across[:, :, :7].sum((1, 2)), down[:, 7].sum(1), down[:, :7].sum((1, 2))],
                    1,
                ),
            )


def _counts(masks: list[np.ndarray]) -> np.ndarray:
    return np.stack([np.count_nonzero(mask, axis=1) for mask in masks], 1).astype(np.float32)
