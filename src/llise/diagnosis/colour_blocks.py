"""Means of the colours of each block, and which blocks of a colour copy differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llise.colours import TO_PLANES
from llise.differences import BLOCK, COLOR_ROUNDING

ROWS = 8 * BLOCK
"""Rows of pixels that are measured at once, so that large pictures need little memory."""


def block_means(values: np.ndarray) -> np.ndarray:
    """Return the mean of each block of 8 x 8 pixels.

    Parameters
    ----------
    values : ndarray, shape (h, w, n)
        Maps.

    Returns
    -------
    ndarray of float32, shape (rows, cols, n)
        Means; blocks that the border cuts are means of what is left of them.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour_blocks import block_means
    >>> block_means(np.ones((8, 20, 2))).shape
    (1, 3, 2)
    """
    height, width, n = values.shape
    rows, cols = -(-height // BLOCK), -(-width // BLOCK)
    if (rows * BLOCK, cols * BLOCK) != (height, width):
        values = np.pad(values, [(0, rows * BLOCK - height), (0, cols * BLOCK - width), (0, 0)])
    # Whole rows of pixels are added first, which is several times faster than adding squares.
    sums = values.reshape(rows, BLOCK, -1).sum(axis=1, dtype=np.float32).reshape(rows, cols, BLOCK, n).sum(axis=2)
    sizes = [np.minimum(BLOCK, side - np.arange(0, side, BLOCK)) for side in (height, width)]
    return sums / np.outer(*sizes).astype(np.float32)[..., None]


@dataclass(frozen=True, eq=False)
class ColourBlocks:
    """What is measured of the blocks of a reference and its copy.

    Attributes
    ----------
    reference, copy : ndarray of float32, shape (rows, cols, 3)
        Mean colours.
    largest, smallest : ndarray of float32, shape (rows, cols)
        Mean of the largest and of the smallest channel of the reference's pixels.
    mse : ndarray of float32, shape (rows, cols)
        Mean squared error over the three channels.
    chroma_mse : ndarray of float32, shape (rows, cols)
        Mean squared error over the two chroma planes.
    differs, changed : ndarray of bool, shape (rows, cols)
        Blocks in which any channel of any pixel differs; in which one differs beyond rounding.
    clipped : ndarray of float32, shape (rows, cols)
        Share of the pixels that differ and whose copy has a channel at 0 or 255, where changes are cut off.
    doubt : ndarray of float32, shape (rows, cols)
        Standard error of the difference of the chroma means.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour_blocks import measure_blocks
    >>> image = np.full((8, 16, 3), 90, np.uint8)
    >>> copy = image.copy()
    >>> copy[:, 8:, 2] += 6
    >>> measure_blocks(image, copy).mse.tolist()
    [[0.0, 12.0]]
    """

    reference: np.ndarray
    copy: np.ndarray
    largest: np.ndarray
    smallest: np.ndarray
    mse: np.ndarray
    chroma_mse: np.ndarray
    differs: np.ndarray
    changed: np.ndarray
    clipped: np.ndarray
    doubt: np.ndarray


def measure_blocks(reference: np.ndarray, copy: np.ndarray) -> ColourBlocks:
    """Measure the blocks of a copy.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w, 3)
        The two pictures.

    Returns
    -------
    ColourBlocks
        Means and errors.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour_blocks import measure_blocks
    >>> image = np.zeros((8, 8, 3), np.uint8)
    >>> measure_blocks(image, image).changed.tolist()
    [[False]]
    """
    strips = range(0, len(reference), ROWS)
    means = np.concatenate([_strip_means(reference[top : top + ROWS], copy[top : top + ROWS]) for top in strips])
    squares, shift, chroma_squares, rest = means[..., :3], means[..., 3:5], means[..., 5:7], means[..., 7:11]
    colours = means[..., 11:14]
    within = np.maximum(chroma_squares - shift * shift, 0).mean(axis=-1)
    return ColourBlocks(
        reference=colours,
        copy=colours + means[..., 14:],
        largest=rest[..., 2],
        smallest=rest[..., 3],
        mse=squares.mean(axis=-1),
        chroma_mse=chroma_squares.mean(axis=-1),
        differs=np.asarray((squares > 0).any(axis=-1)),
        changed=rest[..., 1] > 0,
        clipped=rest[..., 0],
        doubt=np.sqrt(within / BLOCK**2),
    )


def _strip_means(reference: np.ndarray, copy: np.ndarray) -> np.ndarray:
    """Means by block of everything that is measured, of some rows of the pictures."""
    error = np.subtract(copy, reference, dtype=np.float32)
    chroma = error @ TO_PLANES[1:].T
    red, green, blue = (reference[..., i] for i in range(3))
    differs = copy != reference
    ends = (copy == 0) | (copy == 255)
    beyond = np.abs(error) > COLOR_ROUNDING
    stack = np.empty((*reference.shape[:2], 17), np.float32)
    np.multiply(error, error, out=stack[..., :3])
    stack[..., 3:5] = chroma
    np.multiply(chroma, chroma, out=stack[..., 5:7])
    stack[..., 7] = _any_channel(differs) & _any_channel(ends)
    stack[..., 8] = _any_channel(beyond)
    stack[..., 9] = np.maximum(np.maximum(red, green), blue)
    stack[..., 10] = np.minimum(np.minimum(red, green), blue)
    stack[..., 11:14] = reference
    stack[..., 14:] = error
    return block_means(stack)


def _any_channel(values: np.ndarray) -> np.ndarray:
    """Which pixels have a channel for which something holds; several times faster than ``any`` of the last axis."""
    return np.asarray(values[..., 0] | values[..., 1] | values[..., 2])
