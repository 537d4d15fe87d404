"""Means of the colours of each block, and which blocks of a colour copy differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llise.colours import TO_PLANES
from llise.differences import BLOCK, COLOR_ROUNDING

ROWS = 8 * BLOCK
"""Rows of pixels that are measured at once, so that large pictures need little memory."""

CHANNELS = np.tile(np.eye(3, dtype=np.float32), (BLOCK, 1))
"""Adds the numbers of a row of a block that belong to the same channel."""


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
    >>> from llise.diagnosis.colour.blocks import measure_blocks
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
    >>> from llise.diagnosis.colour.blocks import measure_blocks
    >>> image = np.zeros((8, 8, 3), np.uint8)
    >>> measure_blocks(image, image).changed.tolist()
    [[False]]
    """
    shape = reference.shape[:2]
    bottom, right = (-length % BLOCK for length in shape)
    if bottom or right:  # what lies beyond the border is equal in both
        reference, copy = (np.pad(pixels, [(0, bottom), (0, right), (0, 0)]) for pixels in (reference, copy))
    strips = [
        _measure_strip(*(np.ascontiguousarray(pixels[top : top + ROWS]) for pixels in (reference, copy)))
        for top in range(0, len(reference), ROWS)
    ]
    changed = np.concatenate([beyond for _, beyond in strips])
    sizes = [np.minimum(BLOCK, length - np.arange(0, length, BLOCK)) for length in shape]
    means = np.concatenate([sums for sums, _ in strips], axis=1) / np.outer(*sizes)[..., None]
    colours, shift, squares, products, others = means[0], means[1], means[2], means[3:5], means[5:, ..., 0]
    chroma = TO_PLANES[1:].astype(np.float64)
    of_squares, of_products = chroma**2, 2 * chroma * np.roll(chroma, -1, axis=1)
    neighbours = np.stack([products[0, ..., 0], products[0, ..., 1], products[1, ..., 0]], axis=-1)
    chroma_squares = squares @ of_squares.T + neighbours @ of_products.T
    within = np.maximum(chroma_squares - (shift @ chroma.T) ** 2, 0).mean(axis=-1)
    parts = (colours, colours + shift, *others[:2], squares.mean(axis=-1), chroma_squares.mean(axis=-1))
    before, after, largest, smallest, mse, chroma_mse = (part.astype(np.float32) for part in parts)
    return ColourBlocks(
        reference=before,
        copy=after,
        largest=largest,
        smallest=smallest,
        mse=mse,
        chroma_mse=chroma_mse,
        differs=np.asarray((squares > 0).any(axis=-1)),
        changed=changed,
        clipped=others[2].astype(np.float32),
        doubt=np.sqrt(within / BLOCK**2).astype(np.float32),
    )


def _measure_strip(reference: np.ndarray, copy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums by block of everything that is measured, of some rows of the pictures, and which blocks changed.

    The channels of a pixel lie side by side in a row of numbers, so what concerns two channels is computed from such
    a row and the same one a place or two further on, which is several times faster than taking the channels apart;
    only every third result has a meaning.
    """
    height, width = reference.shape[0], 3 * reference.shape[1]
    own, other = reference.reshape(height, width), copy.reshape(height, width)
    levels = own.astype(np.float32)
    error = other.astype(np.float32)
    error -= levels
    square = error * error
    products = np.zeros((2, height, width), np.float32)
    for further, product in enumerate(products, 1):
        np.multiply(error[:, :-further], error[:, further:], out=product[:, :-further])
    differs, ends = _of_pixels(np.logical_or, error != 0), _of_pixels(np.logical_or, other + np.uint8(1) <= 1)
    largest, smallest = _of_pixels(np.maximum, own), _of_pixels(np.minimum, own)
    planes = (levels, error, square, *products, largest, smallest, differs & ends)
    rows = height // BLOCK
    # Whole rows of numbers are added first, which is several times faster than adding squares.
    down = np.stack([plane.astype(np.float32, copy=False).reshape(rows, BLOCK, width).sum(axis=1) for plane in planes])
    sums = (down.reshape(-1, 3 * BLOCK) @ CHANNELS).reshape(len(planes), rows, -1, 3)
    beyond = np.logical_or.reduce((square > COLOR_ROUNDING**2).reshape(rows, BLOCK, width), axis=1)
    return sums, beyond.reshape(rows, -1, 3 * BLOCK).any(axis=-1)


def _of_pixels(join: np.ufunc, values: np.ndarray) -> np.ndarray:
    """One value of the three channels of a pixel, in the place of the first of them."""
    joined = values.copy()
    join(values[:, :-2], values[:, 1:-1], out=joined[:, :-2])
    join(joined[:, :-2], values[:, 2:], out=joined[:, :-2])
    return joined
