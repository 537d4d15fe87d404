"""What differs between a picture and its copy: errors by block and local SSIM, by NumPy alone, so without delay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, log10
from typing import Literal

import numpy as np

BLOCK = 8
"""Side of a block in pixels: that of JPEG's grid."""

ROUNDING = 1
"""Largest difference of grey levels that rounding leaves."""

ROUNDING_MSE = 0.5
"""Mean squared error of a block that is more than rounding, even where no pixel differs by more than one level."""

COLOR_ROUNDING = 2
"""Largest difference of a channel that rounding leaves, where a program has converted the colours."""

SSIM_ROWS = 64
"""Rows of the SSIM map that are computed at once, so that they stay in a processor's cache."""

SSIM_WINDOW = 7
SSIM_C1, SSIM_C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
"""Side of the window, and the constants that keep the ratios of even windows finite."""


@dataclass(frozen=True, eq=False)
class Differences:
    """Errors of a copy against its reference.

    Attributes
    ----------
    squared_error : int
        Sum of the squared errors of all pixels.
    block_squared_error, block_pixels : ndarray of int64, shape (rows, cols)
        Sum of the squared errors of each block, and the number of its pixels that lie in the picture.
    block_mse : ndarray of float32, shape (rows, cols)
        Mean squared error of each block.
    differs : ndarray of bool, shape (rows, cols)
        Blocks in which any pixel differs.
    changed : ndarray of bool, shape (rows, cols)
        Blocks that differ beyond rounding.
    """

    squared_error: int
    block_squared_error: np.ndarray
    block_pixels: np.ndarray
    block_mse: np.ndarray
    differs: np.ndarray
    changed: np.ndarray


def measure_differences(reference: np.ndarray, copy: np.ndarray) -> Differences:
    """Measure the errors of a copy."""
    error = np.abs(np.subtract(copy, reference, dtype=np.int16))
    blocks = by_block(error, mode="constant")
    largest = blocks.max(axis=-1)
    sums = np.einsum("rcp,rcp->rc", blocks, blocks, dtype=np.int64)
    sizes = _block_sizes(error.shape)
    block_mse = sums / sizes
    return Differences(
        squared_error=int(sums.sum()),
        block_squared_error=sums,
        block_pixels=sizes,
        block_mse=block_mse.astype(np.float32),
        differs=largest > 0,
        changed=(largest > ROUNDING) | (block_mse >= ROUNDING_MSE),
    )


def add_colours(differences: Differences, reference: np.ndarray, copy: np.ndarray) -> Differences:
    """Add the blocks whose colours differ to those whose luma does."""
    differs, changed = differences.differs, differences.changed
    for channel in range(3):
        error = np.abs(np.subtract(copy[..., channel], reference[..., channel], dtype=np.int16))
        largest = by_block(error, mode="constant").max(axis=-1)
        differs, changed = differs | (largest > 0), changed | (largest > COLOR_ROUNDING)
    return replace(differences, differs=differs, changed=changed)


def _block_sizes(shape: tuple[int, ...]) -> np.ndarray:
    """Number of pixels of each block that lie in the picture."""
    rows, cols = (np.minimum(BLOCK, n - np.arange(0, n, BLOCK)) for n in shape)
    return np.outer(rows, cols)


def pixels_of(blocks: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the pixels that lie in blocks."""
    return blocks.repeat(BLOCK, 0).repeat(BLOCK, 1)[: shape[0], : shape[1]]


def by_block(values: np.ndarray, mode: Literal["edge", "constant"] = "edge") -> np.ndarray:
    """Return the pixels of each block."""
    rows, cols = (-(-n // BLOCK) for n in values.shape)
    padded = np.pad(values, [(0, rows * BLOCK - values.shape[0]), (0, cols * BLOCK - values.shape[1])], mode=mode)
    return padded.reshape(rows, BLOCK, cols, BLOCK).swapaxes(1, 2).reshape(rows, cols, BLOCK * BLOCK)


def ssim_of(reference: np.ndarray, copy: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the map of the local SSIM and its mean, as scikit-image computes them."""
    rows, rim = reference.shape[0], SSIM_WINDOW // 2
    reference, copy = (np.pad(picture, rim, mode="symmetric") for picture in (reference, copy))
    chunks = [slice(top, min(top + SSIM_ROWS, rows) + 2 * rim) for top in range(0, rows, SSIM_ROWS)]
    out = np.concatenate([_local_ssim(reference[chunk], copy[chunk]) for chunk in chunks])
    return out, float(out[rim:-rim, rim:-rim].mean(dtype=np.float64))


def _local_ssim(reference: np.ndarray, copy: np.ndarray) -> np.ndarray:
    """SSIM of each whole window: sums over windows are exact in 32-bit integers, their ratios are not."""
    n = SSIM_WINDOW**2
    x, y = (picture.astype(np.int32) for picture in (reference, copy))
    sum_x, sum_y, sum_squares, sum_product = (_window_sums(values) for values in (x, y, x * x + y * y, x * y))
    means, squared_means = sum_x * sum_y, sum_x * sum_x + sum_y * sum_y
    covariance, variances = n * sum_product - means, n * sum_squares - squared_means
    means, squared_means, covariance, variances = (
        values.astype(np.float32) for values in (means, squared_means, covariance, variances)
    )
    above = (2 / n**2 * means + SSIM_C1) * (2 / (n * (n - 1)) * covariance + SSIM_C2)
    return above / ((1 / n**2 * squared_means + SSIM_C1) * (1 / (n * (n - 1)) * variances + SSIM_C2))


def _window_sums(values: np.ndarray) -> np.ndarray:
    """Sums over all windows of 7 x 7 pixels that lie inside the array."""
    for _ in range(2):
        two = values[:-1] + values[1:]
        four = two[:-2] + two[2:]
        values = (four[:-3] + two[4:-1] + values[6:]).T
    return values


def psnr_of(mse: float) -> float:
    """Return the peak signal-to-noise ratio of 8-bit pictures."""
    return 10 * log10(255**2 / mse) if mse else inf
