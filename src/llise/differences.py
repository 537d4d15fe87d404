"""What differs between a picture and its copy, block by block, by NumPy alone so that it is known at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

BLOCK = 8
"""Side of a block in pixels."""

ROUNDING = 1
"""Largest difference of grey levels that rounding leaves."""

ROUNDING_MSE = 0.5
"""Mean squared error of a block that is more than rounding, even where no pixel differs by more than one level."""


@dataclass(frozen=True, eq=False)
class Differences:
    """Errors of a copy against its reference.

    Attributes
    ----------
    squared_error : int
        Sum of the squared errors of all pixels.
    block_mse : ndarray of float32, shape (rows, cols)
        Mean squared error of each block.
    differs : ndarray of bool, shape (rows, cols)
        Blocks in which any pixel differs.
    changed : ndarray of bool, shape (rows, cols)
        Blocks that differ beyond rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.differences import measure_differences
    >>> measure_differences(np.zeros((16, 16), np.uint8), np.full((16, 16), 3, np.uint8)).block_mse.tolist()
    [[9.0, 9.0], [9.0, 9.0]]
    """

    squared_error: int
    block_mse: np.ndarray
    differs: np.ndarray
    changed: np.ndarray


def measure_differences(reference: np.ndarray, copy: np.ndarray) -> Differences:
    """Measure the errors of a copy.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.

    Returns
    -------
    Differences
        Errors of the whole picture and of each block.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.differences import measure_differences
    >>> picture = np.arange(256, dtype=np.uint8).reshape(16, 16)
    >>> copy = picture.copy()
    >>> copy[0, 0] = 80
    >>> measure_differences(picture, copy).changed.tolist()
    [[True, False], [False, False]]
    """
    error = np.abs(np.subtract(copy, reference, dtype=np.int16))
    blocks = by_block(error, mode="constant")
    largest = blocks.max(axis=-1)
    sums = np.einsum("rcp,rcp->rc", blocks, blocks, dtype=np.int64)
    block_mse = sums / _block_sizes(error.shape)
    return Differences(
        squared_error=int(sums.sum()),
        block_mse=block_mse.astype(np.float32),
        differs=largest > 0,
        changed=(largest > ROUNDING) | (block_mse >= ROUNDING_MSE),
    )


def _block_sizes(shape: tuple[int, ...]) -> np.ndarray:
    """Number of pixels of each block that lie in the picture."""
    rows, cols = (np.minimum(BLOCK, n - np.arange(0, n, BLOCK)) for n in shape)
    return np.outer(rows, cols).astype(np.float32)


def by_block(values: np.ndarray, mode: Literal["edge", "constant"] = "edge") -> np.ndarray:
    """Return the pixels of each block.

    Parameters
    ----------
    values : ndarray, shape (h, w)
        A picture or a map.
    mode : {"edge", "constant"}
        What fills blocks where the picture ends early: its last row and column, or zeros.

    Returns
    -------
    ndarray, shape (rows, cols, 64)
        Pixels of each block, row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.differences import by_block
    >>> by_block(np.zeros((20, 8))).shape
    (3, 1, 64)
    """
    rows, cols = (-(-n // BLOCK) for n in values.shape)
    padded = np.pad(values, [(0, rows * BLOCK - values.shape[0]), (0, cols * BLOCK - values.shape[1])], mode=mode)
    return padded.reshape(rows, BLOCK, cols, BLOCK).swapaxes(1, 2).reshape(rows, cols, BLOCK * BLOCK)
