"""The pixels of a region on which its faults are measured: few enough that the cost is bounded.

A small region is cut out with a margin. Of a large one a few tiles are taken, each with a margin, and laid side by
side in one picture. A filter that looks less far than the margin then gives what it would give in the whole picture,
and the grid of JPEG stays where it was.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from llise.diagnosis.features.block_sums import BLOCK, box_of
from llise.differences import measure_differences, pixels_of
from llise.kinds.jpeg_quality import CoefficientPairs
from llise.masks import eroded

MARGIN = 4
"""Blocks around each tile."""

TILE = 16
"""Side of a tile in blocks, without its margin."""

ROWS = 64
"""Rows of blocks whose errors are measured at once, so that large pictures need little memory."""

FEW_BLOCKS, LEAST_INSIDE = 600, 0.25
"""Number of blocks up to which a region may consist of thin lines, and the least error of the blocks that are not at
its edge, against that of all, with which they are enough."""


class _Arrays(NamedTuple):
    reference: np.ndarray
    copy: np.ndarray
    mask: np.ndarray


class RegionPixels(_Arrays):
    """Pixels of a region.

    Attributes
    ----------
    reference, copy : ndarray of float32, shape (h, w)
        The two images.
    mask : ndarray of bool, shape (h, w)
        Which of the pixels belong to the region.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.region_pixels import RegionPixels
    >>> picture = np.zeros((8, 8), np.float32)
    >>> RegionPixels(picture, picture, picture == 0).mask.all()
    np.True_
    """

    is_whole = False
    """Whether these are all pixels of the picture, with nothing mirrored around them."""

    def equal(self, other: RegionPixels) -> bool:
        """Return whether these are the same pixels.

        Parameters
        ----------
        other : RegionPixels
            Pixels of another region.

        Returns
        -------
        bool
            Whether all three arrays are equal.
        """
        return all(np.array_equal(one, two) for one, two in zip(self, other))

    def window(self, side: int) -> RegionPixels:
        """Return the square piece with the most pixels of the region.

        Parameters
        ----------
        side : int
            Its side in pixels.

        Returns
        -------
        RegionPixels
            The piece, cut on the grid of blocks; all of the pixels where there are no more.
        """
        sums = np.pad(self.mask.cumsum(0).cumsum(1), [(1, 0), (1, 0)])
        tops, lefts = (np.arange(0, max(n - side, 0) + 1, BLOCK) for n in self.mask.shape)
        bottoms, rights = (np.minimum(starts + side, n) for starts, n in zip((tops, lefts), self.mask.shape))
        ends = sums[bottoms][:, rights] - sums[bottoms][:, lefts]
        inside = ends - (sums[tops][:, rights] - sums[tops][:, lefts])
        row, column = np.unravel_index(int(inside.argmax()), inside.shape)
        piece = slice(tops[row], bottoms[row]), slice(lefts[column], rights[column])
        return RegionPixels(*(values[piece] for values in self))

    @cached_property
    def coefficients(self) -> CoefficientPairs:
        """Cosine coefficients of their blocks."""
        return CoefficientPairs(*self)


class WholePixels(RegionPixels):
    """All pixels of a picture.

    Attributes
    ----------
    reference, copy, mask
        As of :class:`RegionPixels`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.region_pixels import WholePixels
    >>> WholePixels(*np.zeros((2, 8, 8), np.float32), np.ones((8, 8), bool)).is_whole
    True
    """

    is_whole = True


def whole_pixels(reference: np.ndarray, copy: np.ndarray, region: np.ndarray) -> RegionPixels:
    """Take the whole picture, for kinds that depend on the place in it.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two images.
    region : ndarray of bool, shape (rows, cols)
        Blocks of the region.

    Returns
    -------
    RegionPixels
        Both images, and the pixels of the region.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.region_pixels import whole_pixels
    >>> image = np.zeros((20, 16), np.uint8)
    >>> whole_pixels(image, image, np.eye(3, 2, dtype=bool)).mask.shape
    (20, 16)
    """
    mask = pixels_of(inner_blocks(region), reference.shape)
    return WholePixels(reference.astype(np.float32), copy.astype(np.float32), mask)


def region_pixels(
    reference: np.ndarray, copy: np.ndarray, region: np.ndarray, tiles: int, side: int = TILE, *, fill: bool = False
) -> RegionPixels:
    """Choose the pixels on which the faults of a region are measured.

    Blocks at the edge of a region may be faulty in part only, so they are left out if enough others remain.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two images.
    region : ndarray of bool, shape (rows, cols)
        Blocks of the region.
    tiles : int
        Most tiles to take.
    side : int
        Side of a tile in blocks.
    fill : bool
        Whether the picture goes on beyond its borders as a JPEG coder sees it, see :func:`with_margin`.

    Returns
    -------
    RegionPixels
        Cut-outs of both images and the pixels to compare.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.region_pixels import region_pixels
    >>> image = np.zeros((800, 800), np.uint8)
    >>> pixels = region_pixels(image, image, np.ones((100, 100), bool), tiles=4)
    >>> pixels.reference.shape, int(pixels.mask.sum()) // 64
    ((384, 384), 1024)
    """
    blocks = _faulty_blocks(reference, copy, region)
    rows, cols = np.flatnonzero(blocks.any(axis=1)), np.flatnonzero(blocks.any(axis=0))
    box = rows[0], cols[0], rows[-1] + 1, cols[-1] + 1
    if (box[2] - box[0]) * (box[3] - box[1]) <= tiles * side**2:
        places = [box]
    else:
        places = _choose_tiles(reference, blocks, box, tiles, side)
    inside = pixels_of(blocks, reference.shape)
    before, after = (_mosaic(image, places, fill=fill) for image in (reference, copy))
    return RegionPixels(before, after, _mosaic(inside, places, mask=True))


def _faulty_blocks(reference: np.ndarray, copy: np.ndarray, region: np.ndarray) -> np.ndarray:
    """Blocks of a region that are not at its edge; all of them where the faults are at the edge, as of thin lines."""
    inner = inner_blocks(region)
    if np.count_nonzero(region) > FEW_BLOCKS or inner is region or reference.ndim > 2:
        return inner
    top, left, bottom, right = box_of(region)
    box = slice(top * BLOCK, bottom * BLOCK), slice(left * BLOCK, right * BLOCK)
    error = measure_differences(reference[box], copy[box]).block_mse
    whole, inside = (float(error[blocks[top:bottom, left:right]].mean()) for blocks in (region, inner))
    return inner if inside >= LEAST_INSIDE * whole else region


def inner_blocks(region: np.ndarray) -> np.ndarray:
    """Return the blocks of a region that are not at its edge, or all of them where few would be left.

    Parameters
    ----------
    region : ndarray of bool, shape (rows, cols)
        Blocks of the region; the edge of the picture is no edge of the region.

    Returns
    -------
    ndarray of bool, shape (rows, cols)
        Blocks that are surely all faulty.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.region_pixels import inner_blocks
    >>> region = np.zeros((12, 12), bool)
    >>> region[2:10, 2:10] = True
    >>> int(region.sum()), int(inner_blocks(region).sum())
    (64, 36)
    """
    inner = eroded(region)
    return inner if np.count_nonzero(inner) >= max(9, 0.1 * np.count_nonzero(region)) else region


def _choose_tiles(
    reference: np.ndarray, blocks: np.ndarray, box: tuple[int, int, int, int], count: int, side: int
) -> list[tuple[int, int, int, int]]:
    """Tiles that hold many blocks of the region and much structure, and do not overlap."""
    top, left, bottom, right = box
    step = side // 2
    places = [
        (i, j)
        for i in sorted({*range(top, max(bottom - side, top) + 1, step), max(bottom - side, 0)})
        for j in sorted({*range(left, max(right - side, left) + 1, step), max(right - side, 0)})
    ]

    # Sums of the steps above and to the left of each place, on every second pixel along each side.
    steps = np.abs(np.diff(reference[::2, ::2].astype(np.int16), axis=1))
    steps = steps if steps.ndim == 2 else (steps[..., 0] + steps[..., 1] + steps[..., 2]) / 3
    sums = np.pad(steps.cumsum(0, dtype=np.float64).cumsum(1), [(1, 0), (1, 0)])

    def score(place: tuple[int, int]) -> float:
        top, left = (at * BLOCK // 2 for at in place)
        bottom, right = (min(first + side * BLOCK // 2, len(line)) for first, line in ((top, steps), (left, sums[0])))
        right -= 1
        count = (bottom - top) * (right - left)
        total = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
        i, j = place
        structure = total / count if count > 0 else 0.0
        return float(blocks[i : i + side, j : j + side].sum() * (2.0 + min(structure, 20.0)))

    chosen: list[tuple[int, int]] = []
    for i, j in sorted(places, key=score, reverse=True):
        if len(chosen) == count:
            break
        if all(abs(i - other) >= side or abs(j - beside) >= side for other, beside in chosen):
            chosen.append((int(i), int(j)))
    return [(i, j, i + side, j + side) for i, j in chosen]


def with_margin(image: np.ndarray, tile: tuple[int, int, int, int], *, fill: bool = False) -> np.ndarray:
    """Cut a tile with its margin out of a picture, which goes on mirrored beyond its borders.

    Parameters
    ----------
    image : ndarray, shape (h, w) or (h, w, 3)
        The picture.
    tile : tuple of int
        Top, left, bottom and right in blocks.
    fill : bool
        Whether the last block is filled with the last pixel before the picture is mirrored, as JPEG coders do.

    Returns
    -------
    ndarray
        The tile with :data:`MARGIN` blocks on each side.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.region_pixels import with_margin
    >>> image = np.tile(np.arange(12), (8, 1))
    >>> [with_margin(image, (0, 0, 1, 2), fill=fill)[0, 40:50].tolist() for fill in (False, True)]
    [[8, 9, 10, 11, 11, 10, 9, 8, 7, 6], [8, 9, 10, 11, 11, 11, 11, 11, 11, 11]]
    """
    lines = _lines(tile)
    down, across = (_mirrored(index, n, fill) for index, n in zip(lines, image.shape))
    return image.take(down, axis=0).take(across, axis=1)


def _lines(tile: tuple[int, int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows and columns of a tile with its margin, also beyond the picture."""
    top, left, bottom, right = tile
    rows, cols = (
        np.arange((first - MARGIN) * BLOCK, (last + MARGIN) * BLOCK) for first, last in ((top, bottom), (left, right))
    )
    return rows, cols


def _mirrored(index: np.ndarray, length: int, fill: bool) -> np.ndarray:
    """Indices of a picture that goes on mirrored beyond its borders, after its last block was filled or not."""
    whole = length + -length % BLOCK if fill else length
    folded = np.mod(index, 2 * whole)
    return np.minimum(np.minimum(folded, 2 * whole - 1 - folded), length - 1)


def _mosaic(
    image: np.ndarray, tiles: list[tuple[int, int, int, int]], *, fill: bool = False, mask: bool = False
) -> np.ndarray:
    """Tiles with their margins side by side; no mask goes on beyond the picture."""
    parts = []
    for tile in tiles:
        part = with_margin(image, tile, fill=fill)
        if mask:
            edge = MARGIN * BLOCK
            inner = np.zeros(part.shape, bool)
            inner[edge:-edge, edge:-edge] = True
            rows, cols = _lines(tile)
            inner &= ((rows >= 0) & (rows < image.shape[0]))[:, None] & (cols >= 0) & (cols < image.shape[1])
            part = part & inner
        parts.append(part if mask else part.astype(np.float32))
    across = int(np.ceil(np.sqrt(len(parts))))
    parts += [np.zeros_like(parts[0])] * (-len(parts) % across)
    return np.vstack([np.hstack(parts[i : i + across]) for i in range(0, len(parts), across)])


def region_error(reference: np.ndarray, copy: np.ndarray, region: np.ndarray) -> float:
    """Return the mean squared error of the pixels of a region.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two images.
    region : ndarray of bool, shape (rows, cols)
        Blocks of 8 x 8 pixels.

    Returns
    -------
    float
        Mean squared difference.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.region_pixels import region_error
    >>> image = np.zeros((8, 16), np.uint8)
    >>> region_error(image, image + np.repeat(np.uint8([0, 3]), 8), np.array([[False, True]]))
    9.0
    """
    total, count = 0, 0
    for top in range(0, len(region), ROWS):
        rows, chosen = slice(top * BLOCK, (top + ROWS) * BLOCK), region[top : top + ROWS]
        if chosen.any():
            errors = measure_differences(reference[rows], copy[rows])
            total += int(errors.block_squared_error[chosen].sum())
            count += int(errors.block_pixels[chosen].sum())
    return total / max(count, 1)
