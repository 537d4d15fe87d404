"""What the sums of blocks need of the reference alone: computed once, used for all copies of it.

The filters and the JPEG codings of the reference cost twice as much as everything that is measured of a copy.  The
values of a block are the same to the last bit whether they are kept, or computed again for any box around the block.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from llise.diagnosis.features.block_values import (
    block_pixels,
    flat_counts,
    full_blocks,
    small_detail_counts,
    squared_steps,
    with_halo,
)
from llise.diagnosis.features.wavelet import code_wavelet
from llise.differences import BLOCK
from llise.filters import gaussian
from llise.kinds.jpeg import STANDARD_TABLE, code_jpeg
from llise.kinds.jpeg_tables import COSINES

BLUR_SIGMAS = (0.6, 1.2, 2.4, 4.8, 9.6)
"""Widths of the Gaussian filters whose effect on the reference is compared with the error of the copy."""

JPEG_FACTORS = (0.3, 0.8, 2.0, 5.0, 12.0)
"""Multiples of the standard quantiser table with which the reference is coded for the same comparison."""

WAVELET_STEPS = (12.0, 36.0, 108.0)
"""Quantiser steps with which the reference is coded by a wavelet transform for the same comparison."""

REFERENCE_FUNCTIONS = (
    "one", "grey", "grey2", "grey3", *(f"blur{i}" for i in range(5)), *(f"jpeg{i}" for i in range(5)),
    *(f"wavelet{i}" for i in range(3)),
)  # fmt: skip
"""Functions of a pixel of the reference by which the error of a copy may be explained."""

TEXTURE_BOUNDS = (1.0, 3.0, 8.0, 20.0)
AMPLITUDE_BOUNDS = (3.0, 10.0, 30.0)
N_BANDS = 4
N_AMPLITUDES = len(AMPLITUDE_BOUNDS) + 1

HALO = 40
"""Pixels around blocks that the widest filter sees."""

MOST_KEPT = 2**14
"""Blocks of the largest reference for which the results are kept, about 4.5 kB for each of them."""

DCT = COSINES.astype(np.float32)
_ROW, _COLUMN = np.divmod(np.arange(BLOCK * BLOCK), BLOCK)
_RADIUS = np.hypot(_ROW, _COLUMN)
_BAND = np.digitize(_RADIUS, (0.5, 2.1, 3.7, 5.5)) - 1  # -1 is the mean, then four bands of rising frequency
_DIRECTION = np.where(_ROW > 2 * _COLUMN, 0, np.where(_COLUMN > 2 * _ROW, 1, 2))
BANDS = np.stack([band == _BAND for band in range(N_BANDS)], axis=1).astype(np.float32)
"""Which coefficient (64, n_bands) lies in which band of frequencies."""

DIRECTED_BANDS = np.stack(
    [(band == _BAND) & (direction == _DIRECTION) for band in range(N_BANDS) for direction in range(3)], axis=1
).astype(np.float32)
"""Which coefficient (64, 3 * n_bands) lies in which band and direction."""

PRODUCTS = np.triu_indices(len(REFERENCE_FUNCTIONS) + 1)
"""Rows and columns of the products of functions, the last of which is the error of a copy."""

OF_REFERENCE = np.flatnonzero(PRODUCTS[1] < len(REFERENCE_FUNCTIONS))
"""Which of them do not need the copy."""

_PLACES = (len(REFERENCE_FUNCTIONS) * PRODUCTS[0] + PRODUCTS[1])[OF_REFERENCE]


@dataclass(frozen=True, eq=False)
class BlockValues:
    """Values of blocks of the reference; every array begins with the axes of the blocks.

    Attributes
    ----------
    pixels : ndarray of float32, shape (..., 64)
        Grey levels.
    functions : ndarray of float32, shape (..., n_functions, 64)
        The functions of :data:`REFERENCE_FUNCTIONS`.
    products : ndarray of float32, shape (..., n_products)
        Their inner products over the block, upper triangle row by row, with zeros for those with the error of a copy.
    texture : ndarray of int8, shape (...)
        Class of the deviation in the block, see :data:`TEXTURE_BOUNDS`.
    coefficients : ndarray of float32, shape (..., 64)
        Cosine coefficients.
    amplitudes : ndarray of int8, shape (..., 64)
        Class of each coefficient: band and size; the mean has a class of its own behind all others.
    amplitude_power, amplitude_count : ndarray of float32, shape (..., n_classes)
        Sum of squared coefficients of each class, and their number.
    band_power : ndarray of float32, shape (..., 3 * n_bands)
        Sum of squared coefficients of each band and direction.
    steps : ndarray of float32, shape (..., 4)
        Squared steps between neighbours, see :func:`squared_steps`.
    order : ndarray of int8, shape (..., 64)
        Pixels in the order of their grey level.
    levels : ndarray of float32, shape (..., 2)
        Number of grey levels, and their range.
    same_level : ndarray of bool, shape (..., 63)
        Whether a pixel has the same grey level as the one before it in this order.
    flat : ndarray of float32, shape (..., 12)
        Equal neighbours and details that vanish, see :func:`flat_counts` and :func:`small_detail_counts`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.reference_blocks import ReferenceBlocks
    >>> values = ReferenceBlocks(np.full((16, 24), 9, np.uint8)).values(0, 0, 2, 3)
    >>> values.pixels.shape, values.texture
    ((6, 64), array([0, 0, 0, 0, 0, 0], dtype=int8))
    """

    pixels: np.ndarray
    functions: np.ndarray
    products: np.ndarray
    texture: np.ndarray
    coefficients: np.ndarray
    amplitudes: np.ndarray
    amplitude_power: np.ndarray
    amplitude_count: np.ndarray
    band_power: np.ndarray
    steps: np.ndarray
    order: np.ndarray
    levels: np.ndarray
    same_level: np.ndarray
    flat: np.ndarray


class ReferenceBlocks:
    """The blocks of one reference.

    Parameters
    ----------
    reference : ndarray of uint8, shape (h, w)
        The reference; its last row and column are repeated where blocks are not full.

    Attributes
    ----------
    picture : ndarray of uint8, shape (8 * rows, 8 * cols)
        The reference in full blocks.
    shape : tuple of int
        Rows and columns of blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.reference_blocks import ReferenceBlocks
    >>> ReferenceBlocks(np.zeros((20, 8), np.uint8)).shape
    (3, 1)
    """

    def __init__(self, reference: np.ndarray) -> None:
        self.picture = full_blocks(reference)
        self.shape = self.picture.shape[0] // BLOCK, self.picture.shape[1] // BLOCK
        self._kept: BlockValues | None = None

    def keep(self, chunk_rows: int = 32) -> None:
        """Compute the values of all blocks and keep them, unless they are too many.

        Parameters
        ----------
        chunk_rows : int
            Rows of blocks that are worked on together.

        Examples
        --------
        >>> import numpy as np
        >>> from llise.diagnosis.features.reference_blocks import ReferenceBlocks
        >>> ReferenceBlocks(np.zeros((16, 8), np.uint8)).keep()
        """
        rows, cols = self.shape
        if self._kept is not None or rows * cols > MOST_KEPT:
            return
        chunks = [self._compute(top, 0, min(top + chunk_rows, rows), cols) for top in range(0, rows, chunk_rows)]
        joined = {
            name: np.concatenate([getattr(chunk, name) for chunk in chunks]).reshape(rows, cols, *shape)
            for name, shape in ((field.name, getattr(chunks[0], field.name).shape[1:]) for field in fields(BlockValues))
        }
        self._kept = BlockValues(**joined)

    def values(self, top: int, left: int, bottom: int, right: int) -> BlockValues:
        """Return the values of the blocks in a box.

        Parameters
        ----------
        top, left, bottom, right : int
            Bounds in blocks; bottom and right are exclusive.

        Returns
        -------
        BlockValues
            With one axis for the blocks, row by row.

        Examples
        --------
        >>> import numpy as np
        >>> from llise.diagnosis.features.reference_blocks import ReferenceBlocks
        >>> ReferenceBlocks(np.zeros((16, 24), np.uint8)).values(1, 0, 2, 3).functions.shape
        (3, 17, 64)
        """
        if self._kept is None:
            return self._compute(top, left, bottom, right)
        box = {}
        for field in fields(BlockValues):
            part = getattr(self._kept, field.name)[top:bottom, left:right]
            box[field.name] = part.reshape(-1, *part.shape[2:])
        return BlockValues(**box)

    def _compute(self, top: int, left: int, bottom: int, right: int) -> BlockValues:
        levels, inner = with_halo(self.picture, (top, left, bottom, right), HALO)
        reference = levels.astype(np.float32)
        pixels = block_pixels(reference[inner])
        functions = _functions(levels, reference, inner, pixels)
        gram = np.matmul(functions, functions.swapaxes(1, 2)).reshape(len(pixels), -1)
        products = np.zeros((len(pixels), len(PRODUCTS[0])), np.float32)
        products[:, OF_REFERENCE] = gram.take(_PLACES, axis=1)
        coefficients = _times(pixels, DCT)
        size = np.sum([np.abs(coefficients) >= bound for bound in AMPLITUDE_BOUNDS], axis=0, dtype=np.int8)
        amplitudes = np.where(_BAND < 0, N_BANDS * N_AMPLITUDES, _BAND * N_AMPLITUDES + size).astype(np.int8)
        power = coefficients * coefficients
        amplitude_power, amplitude_count = sums_by_class(amplitudes, power, np.ones_like(power))
        ranked, order = _ranked(block_pixels(levels[inner]))
        same_level = ranked[:, 1:] == ranked[:, :-1]
        levels_and_range = [ranked.shape[1] - np.count_nonzero(same_level, axis=1), ranked[:, -1] - ranked[:, 0]]
        return BlockValues(
            pixels=pixels,
            functions=functions,
            products=products,
            texture=np.digitize(pixels.std(axis=1), TEXTURE_BOUNDS).astype(np.int8),
            coefficients=coefficients,
            amplitudes=amplitudes,
            amplitude_power=amplitude_power,
            amplitude_count=amplitude_count,
            band_power=_times(power, DIRECTED_BANDS),
            steps=squared_steps(reference, inner),
            order=order,
            levels=np.stack(levels_and_range, axis=1).astype(np.float32),
            same_level=same_level,
            flat=np.concatenate([flat_counts(reference, inner), small_detail_counts(reference, inner)], axis=1),
        )


def _functions(levels: np.ndarray, reference: np.ndarray, inner: tuple[slice, slice], pixels: np.ndarray) -> np.ndarray:
    """The functions of :data:`REFERENCE_FUNCTIONS` of each block."""
    blurred = (gaussian(reference, sigma, truncate=3.5) for sigma in BLUR_SIGMAS)
    coded = (code_jpeg(levels, factor * STANDARD_TABLE) for factor in JPEG_FACTORS)
    functions = np.empty((len(pixels), len(REFERENCE_FUNCTIONS), BLOCK * BLOCK), np.float32)
    grey = (pixels - 128) / 64
    for i, values in enumerate((np.ones_like(grey), grey, grey * grey, grey * grey * grey)):
        functions[:, i] = values
    for i, changed in enumerate((*blurred, *coded, *code_wavelet(reference, WAVELET_STEPS)), 4):
        np.subtract(block_pixels(changed[inner]), pixels, out=functions[:, i])
    return functions


def _ranked(levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Grey levels of each block in rising order, and which pixels these are, the first of equal ones first."""
    places = np.sort(levels * np.int16(BLOCK * BLOCK) + np.arange(BLOCK * BLOCK, dtype=np.int16), axis=1)
    return places // (BLOCK * BLOCK), (places % (BLOCK * BLOCK)).astype(np.int8)


def _times(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Each row times a matrix, one by one: in one product, the rounding of a row would depend on how many there are."""
    return np.matmul(rows[:, None], matrix)[:, 0]


def sums_by_class(classes: np.ndarray, *values: np.ndarray) -> list[np.ndarray]:
    """Return sums of the values of coefficients by their class in each block.

    Parameters
    ----------
    classes : ndarray of int8, shape (blocks, 64)
        Class of each coefficient, as in :class:`BlockValues`.
    *values : ndarray, shape (blocks, 64)
        Values to add.

    Returns
    -------
    list of ndarray of float32, shape (blocks, n_classes)
        Sums in each block, for each of the values.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.reference_blocks import sums_by_class
    >>> sums_by_class(np.full((1, 64), 3, np.int8), np.ones((1, 64)))[0][0, 2:5]
    array([ 0., 64.,  0.], dtype=float32)
    """
    count = N_BANDS * N_AMPLITUDES + 1
    places = (count * np.arange(len(classes))[:, None] + classes).ravel()
    sums = (np.bincount(places, part.ravel(), count * len(classes)) for part in values)
    return [part.reshape(len(classes), count).astype(np.float32) for part in sums]
