"""The power of noise at each grey level, from the side that 8 bits do not clip."""

from __future__ import annotations

import numpy as np

from llise.kinds.fitting import ROUNDING

MID_GREY = 128.0
"""Grey level at which the standard deviation of the noise is stated."""


def noise_by_grey(
    error: np.ndarray, expected: np.ndarray, mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Measure the power of noise at each of up to 32 grey levels, from the side that 8 bits do not clip."""
    r, m = error[mask].astype(np.float64), expected[mask].astype(np.float64)
    if m.size == 0:
        return np.array([MID_GREY]), np.array([ROUNDING]), np.ones(1)
    index = np.clip(m / 8, 0, 31).astype(int)
    count = np.bincount(index, minlength=32).astype(float)
    known = np.maximum(count, 1)
    grey = np.bincount(index, m, 32) / known
    both = np.bincount(index, r * r, 32) / known
    below = 2 * np.bincount(index, np.where(r < 0, r * r, 0), 32) / known
    above = 2 * np.bincount(index, np.where(r > 0, r * r, 0), 32) / known
    reach = 3 * np.sqrt(np.maximum(np.maximum(below, above), 0.1))
    clipped_above, clipped_below = grey + reach > 255, grey - reach < 0
    power = np.where(clipped_above & ~clipped_below, below, np.where(clipped_below & ~clipped_above, above, both))
    used = count >= max(16, 0.002 * m.size)
    if not used.any():
        used = count == count.max()
    return grey[used], power[used], count[used]
