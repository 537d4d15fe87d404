"""Kernels of any form without negative weights: what a blur of unknown form did, by least squares."""

from __future__ import annotations

import numpy as np

from llise.filters import from_spectrum, spectrum_of

MOST_PIXELS = 16_000
"""Most pixels on which the weights are found."""

PIXELS_A_WEIGHT = 30
"""Fewest pixels for each weight."""

LARGEST_REACH = 7
"""Most rows and columns of the kernel on each side of its centre."""

CLEARLY_ALIKE = 6.0
"""How far what is left must go along with the moved picture, against what noise does by chance, to tell anything."""

STEADYING = 1e-6
"""Share of the mean power that is added to the power of each column, so that alike columns share their weight."""

ROUNDS = 12
"""How often negative weights are left out and the others found again, at most."""


def reach_for(deviation: float, shift: tuple[float, float], pixels: int) -> int | None:
    """Return how far a free kernel has to reach."""
    reach = int(np.ceil(2.2 * deviation + max(abs(move) for move in shift) + 0.5))
    return reach if reach <= LARGEST_REACH and PIXELS_A_WEIGHT * (2 * reach + 1) ** 2 <= pixels else None


def is_alike(before: np.ndarray, rest: np.ndarray, pixels: np.ndarray, reach: int) -> bool:
    """Return whether what a blur leaves goes along with the picture moved by a few pixels."""
    left = np.zeros(before.size, np.float32)
    left[pixels] = rest
    spectrum = spectrum_of(before - before.mean())
    scale = np.sqrt(before.size)  # of the spectra, so that products of them give plain sums
    along = scale * from_spectrum(spectrum_of(left.reshape(before.shape)) * spectrum.conj(), before.shape)
    power = scale * from_spectrum(np.abs(spectrum) ** 2, before.shape) * (pixels.size / before.size)
    places = np.ix_(*[np.arange(-reach, reach + 1) % side for side in before.shape])
    spread = np.sqrt(2 * np.maximum(power[0, 0] - power[places], 1e-6 * power[0, 0] + 1e-9))
    by_chance = float(np.sqrt(np.mean(rest * rest))) * spread
    return bool((np.abs(along[places] - along[0, 0]) > CLEARLY_ALIKE * by_chance).any())


def free_kernel(
    before: np.ndarray, target: np.ndarray, pixels: np.ndarray, reach: int, *, line: bool = False
) -> np.ndarray | None:
    """Find the kernel without negative weights whose blur comes nearest to a copy."""
    every = -(-pixels.size // MOST_PIXELS)
    chosen, values = pixels[::every], target[::every]
    rows, cols = np.unravel_index(chosen, before.shape)
    offsets = np.arange(-reach, reach + 1)
    wrapped = np.pad(before, reach, mode="wrap")
    here = before[rows, cols]
    columns = np.stack([wrapped[rows + reach - i, cols + reach - j] for i in offsets for j in offsets], axis=1)
    middle = columns.shape[1] // 2
    if line:
        columns, values = columns - columns.mean(axis=0), values - values.mean()
    else:  # the weight of the middle is what the others leave of 1
        columns, values = columns - here[:, None], values - here
    weights = _without_negative(columns, values, None if line else middle)
    if not line:
        weights[middle] = 1 - weights.sum()
    total = float(weights.sum())
    if total < 0.02 or weights[middle] < -0.02:
        return None
    return weights.reshape(2 * reach + 1, -1) / total


def _without_negative(columns: np.ndarray, values: np.ndarray, left_out: int | None) -> np.ndarray:
    """Least squares with weights that are not negative: negative ones are left out until there are none."""
    gram = (columns.T @ columns).astype(np.float64)
    gram[np.diag_indices(len(gram))] += STEADYING * np.trace(gram) / len(gram) + 1e-6
    along = (columns.T @ values).astype(np.float64)
    used = np.ones(len(gram), bool)
    if left_out is not None:
        used[left_out] = False
    weights = np.zeros(len(gram))
    for _ in range(ROUNDS):
        weights[:] = 0
        weights[used] = np.linalg.solve(gram[np.ix_(used, used)], along[used])
        negative = weights < 0
        if not negative.any():
            break
        used &= ~negative
    return np.maximum(weights, 0)
