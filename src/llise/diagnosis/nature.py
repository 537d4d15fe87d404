"""How the error of a fault looks, which can be said of a fault that has no name too."""

from __future__ import annotations

import numpy as np

from llise.diagnosis.estimates.region_pixels import region_pixels
from llise.diagnosis.features.block_sums import BLOCK

NATURES = ("smooth", "noisy", "periodic", "on the 8x8 grid")
"""What the error of a fault may be called."""

SMOOTH, NOISY = 0.85, 0.3
"""Correlation of neighbouring pixels of the error above which it is smooth, and below which it is noisy."""

PERIODIC = 0.25
"""Share of the error's power at one frequency, and its multiples, from which it is periodic."""

ON_GRID = 1.6
"""Squared steps of the error across lines of the 8 x 8 grid, against those elsewhere, from which it follows them."""

TILES = 4
"""Tiles of the region that are looked at."""


def nature_of(reference: np.ndarray, copy: np.ndarray, region: np.ndarray) -> tuple[str, ...]:
    """Say how the error in a region looks.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    region : ndarray of bool, shape (rows, cols)
        Blocks of the region.

    Returns
    -------
    tuple of str
        Some of :data:`NATURES`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.nature import nature_of
    >>> picture = np.full((64, 64), 100, np.uint8)
    >>> wave = (20 * np.sin(np.arange(64) / 1.5)).astype(int)
    >>> nature_of(picture, (picture + wave).astype(np.uint8), np.ones((8, 8), bool))
    ('periodic',)
    """
    pixels = region_pixels(reference, copy, region, TILES)
    error = np.where(pixels.mask, pixels.copy - pixels.reference, 0).astype(np.float64)
    inside = error[pixels.mask]
    power = float(inside.var())
    if inside.size < 2 * BLOCK * BLOCK or power < 0.05:
        return ()
    error = np.where(pixels.mask, error - inside.mean(), 0)
    alike = _alike(error, pixels.mask) / power
    if _peak(error) > PERIODIC:
        found = ["periodic"]
    else:
        found = ["smooth"] if alike > SMOOTH else ["noisy"] if alike < NOISY else []
    if _grid(error, pixels.mask) > ON_GRID:
        found.append("on the 8x8 grid")
    return tuple(found)


def _alike(error: np.ndarray, mask: np.ndarray) -> float:
    """Mean product of neighbouring pixels."""
    across, down = mask[:, 1:] & mask[:, :-1], mask[1:] & mask[:-1]
    total = float(np.sum((error[:, 1:] * error[:, :-1])[across])) + float(np.sum((error[1:] * error[:-1])[down]))
    return total / max(int(np.count_nonzero(across)) + int(np.count_nonzero(down)), 1)


def _peak(error: np.ndarray) -> float:
    """Largest share of the power within one cell of the spectrum and its neighbours, beyond the lowest frequencies."""
    window = np.outer(*(np.hanning(n) for n in error.shape))
    spectrum = np.abs(np.fft.rfft2(error * window)) ** 2
    spectrum[1:, 0] *= 0.5  # the first column holds both signs of a frequency
    total = float(spectrum.sum())
    y = np.minimum(np.arange(len(spectrum)), len(spectrum) - np.arange(len(spectrum)))
    spectrum[np.hypot(y[:, None], np.arange(spectrum.shape[1])) < LOWEST] = 0
    at = np.unravel_index(int(spectrum.argmax()), spectrum.shape)
    rows = np.arange(at[0] - 1, at[0] + 2) % len(spectrum)
    around = spectrum[rows][:, max(at[1] - 1, 0) : at[1] + 2]
    return float(around.sum()) / max(total, 1e-12)


LOWEST = 4
"""Waves over the picture below which an error is smooth rather than periodic."""


def _grid(error: np.ndarray, mask: np.ndarray) -> float:
    """Squared steps across the lines of the grid, against those elsewhere."""
    on = off = on_count = off_count = 0.0
    for values, inside in ((error, mask), (error.T, mask.T)):
        step = np.diff(values, axis=0) ** 2
        both = inside[1:] & inside[:-1]
        line = np.arange(1, len(values)) % BLOCK == 0
        on, on_count = on + float(step[line][both[line]].sum()), on_count + np.count_nonzero(both[line])
        off, off_count = off + float(step[~line][both[~line]].sum()), off_count + np.count_nonzero(both[~line])
    return (on / max(on_count, 1) + 0.1) / (off / max(off_count, 1) + 0.1)
