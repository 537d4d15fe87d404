"""Images as small pictures."""

from __future__ import annotations

import numpy as np


def eight_bits(image: np.ndarray) -> np.ndarray:
    """Grey levels for the eye: 8 bits as they are, others from their least to their largest."""
    if image.dtype == np.uint8:
        return np.ascontiguousarray(image)
    values = np.asarray(image, float)
    low, high = float(values.min()), float(values.max())
    low, high = (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)
    return np.rint((values - low) * (255 / ((high - low) or 1))).astype(np.uint8)
