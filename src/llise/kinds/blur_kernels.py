"""Kernels of motion, lens and box blur."""

from __future__ import annotations

import numpy as np


def motion_kernel(length: float, angle: float) -> np.ndarray:
    """Return the mean along a line."""
    # Points one pixel apart on the line, each shared between the four pixels around it.
    cosine, sine = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    offsets = _offsets(length / 2)
    rows, cols = (np.clip(1 - np.abs(offsets - at[:, None]), 0, 1) for at in (-sine * offsets, cosine * offsets))
    return (_coverage(length / 2, offsets)[:, None] * rows).T @ cols


def disc_kernel(radius: float) -> np.ndarray:
    """Return the mean over a disc."""
    offsets = _offsets(radius)
    return _coverage(radius, np.hypot(offsets[:, None], offsets))


def box_kernel(width: float) -> np.ndarray:
    """Return the mean over a square."""
    weights = _coverage(width / 2, _offsets(width / 2))
    return np.outer(weights, weights)


def _offsets(reach: float) -> np.ndarray:
    """Offsets of the pixels of a kernel along one axis, at least as far as `reach`."""
    n = int(np.ceil(reach))
    return np.arange(-n, n + 1, dtype=np.float32)


def _coverage(reach: float, distance: np.ndarray) -> np.ndarray:
    """Share of a pixel at `distance` that lies within `reach` of the centre."""
    return np.clip(reach + 0.5 - np.abs(distance), 0, 1)
