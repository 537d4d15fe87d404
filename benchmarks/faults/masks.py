"""Regions at pixel precision: rectangles, ellipses and irregular blobs, inside the picture or cut by its border."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

BLOCK = 8
SHAPES = ("rectangle", "ellipse", "blob")
LEAST_GAP = 16
"""Pixels between two regions that are apart."""


def draw_mask(shape: tuple[int, int], area: float, form: str, at_border: bool, rng: np.random.Generator) -> np.ndarray:
    """Draw a region of a form that covers a share of the picture; at the border its centre lies on an edge."""
    centre = rng.uniform(0.2, 0.8, 2)
    if at_border:
        centre[rng.integers(2)] = rng.choice([0.0, 1.0])
    stretch = np.exp(rng.normal(0, 0.3))
    y = (np.arange(shape[0])[:, None] - centre[0] * shape[0]) * stretch
    x = (np.arange(shape[1])[None, :] - centre[1] * shape[1]) / stretch
    distance = np.maximum(np.abs(y), np.abs(x)) if form == "rectangle" else np.hypot(y, x)
    if form != "blob":
        return distance <= np.quantile(distance, area)
    noise = ndimage.gaussian_filter(rng.standard_normal(shape), 0.2 * np.sqrt(area * distance.size), mode="nearest")
    distance = distance * np.exp(0.3 * noise / noise.std())
    labels, _ = ndimage.label(distance <= np.quantile(distance, area))
    return ndimage.binary_fill_holes(labels == np.bincount(labels.ravel())[1:].argmax() + 1)


def draw_apart(
    shape: tuple[int, int], areas: tuple[float, float], forms: tuple[str, str], rng: np.random.Generator
) -> list[np.ndarray] | None:
    """Draw two regions with a gap between them; None where no place was found for the second one."""
    first = draw_mask(shape, areas[0], forms[0], bool(rng.random() < 0.3), rng)
    near = ndimage.distance_transform_edt(~first) < LEAST_GAP
    for _ in range(100):
        second = draw_mask(shape, areas[1], forms[1], bool(rng.random() < 0.3), rng)
        if not (second & near).any():
            return [first, second]
    return None


def cut_in_two(mask: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Cut a region by a line through its middle."""
    y, x = np.indices(mask.shape)
    angle = rng.uniform(0, np.pi)
    along = (y - y[mask].mean()) * np.cos(angle) + (x - x[mask].mean()) * np.sin(angle)
    half = along < np.median(along[mask])
    return [mask & half, mask & ~half]


def by_block(pixels: np.ndarray) -> np.ndarray:
    """Return the pixels of each block, shape (rows, cols, 64), where blocks at the end are filled up with zeros."""
    rows, cols = (-(-n // BLOCK) for n in pixels.shape)
    padded = np.pad(pixels, [(0, rows * BLOCK - pixels.shape[0]), (0, cols * BLOCK - pixels.shape[1])])
    return padded.reshape(rows, BLOCK, cols, BLOCK).swapaxes(1, 2).reshape(rows, cols, BLOCK * BLOCK)
