"""Where pixels of a misaligned copy come from, and two pictures reduced by halves.

A misalignment is five numbers, as in :mod:`llise.kinds.misalignment`: shift_x and shift_y in pixels,
rotation in degrees, scale and stretch in per cent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NAMES = ("shift_x", "shift_y", "rotation", "scale", "stretch")
NOTHING = np.zeros(5)

SEARCHED_SIDE = 96
"""Longest side of the smallest pictures: on these all shifts are compared."""


def sources(
    at: np.ndarray, shape: tuple[int, ...], rows: np.ndarray, cols: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Row and column in the reference from which pixels of the copy come; they can be broadcast."""
    shift_x, shift_y, rotation, scale, stretch = at
    middle_y, middle_x = ((side - 1) / 2 for side in shape[:2])
    v, u = rows - (middle_y + shift_y), cols - (middle_x + shift_x)
    cosine, sine = np.cos(np.radians(rotation)), np.sin(np.radians(rotation))
    down, across = 1 + (scale - stretch) / 100, 1 + (scale + stretch) / 100
    if sine == 0:
        return middle_y + v / down, middle_x + u / across
    return middle_y + (sine * u + cosine * v) / down, middle_x + (cosine * u - sine * v) / across


def derivatives(at: np.ndarray, shape: tuple[int, ...], rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Derivatives (2, 5, n) of the sources (y, then x) by the five numbers."""
    shift_x, shift_y, rotation, scale, stretch = at
    v, u = rows - ((shape[0] - 1) / 2 + shift_y), cols - ((shape[1] - 1) / 2 + shift_x)
    c, s = np.cos(np.radians(rotation)), np.sin(np.radians(rotation))
    down, across = 1 + (scale - stretch) / 100, 1 + (scale + stretch) / 100
    one, degree = np.ones_like(u), np.radians(1.0)
    y, x = (s * u + c * v) / down, (c * u - s * v) / across
    by_y = [-s / down * one, -c / down * one, degree * (c * u - s * v) / down, -y / down / 100, y / down / 100]
    by_x = [
        -c / across * one,
        s / across * one,
        -degree * (s * u + c * v) / across,
        -x / across / 100,
        -x / across / 100,
    ]
    return np.stack([np.stack(by_y), np.stack(by_x)])


def way(change: np.ndarray, shape: tuple[int, ...]) -> float:
    """Root mean square of the way that pixels of a picture move, in pixels."""
    height, width = shape[:2]
    turned = np.radians(change[2]) ** 2 * (height**2 + width**2)
    grown = ((change[3] - change[4]) / 100 * height) ** 2 + ((change[3] + change[4]) / 100 * width) ** 2
    return float(np.sqrt(change[0] ** 2 + change[1] ** 2 + (turned + grown) / 12))


def is_whole(at: np.ndarray) -> bool:
    """Whether it is a shift by whole pixels."""
    return not at[2:].any() and bool((at[:2] == np.rint(at[:2])).all())


@dataclass(frozen=True, eq=False)
class Level:
    """Two lumas (float32), reduced by a factor; `shape` is that of the originals."""

    reference: np.ndarray
    copy: np.ndarray
    factor: int
    shape: tuple[int, ...]

    def sources(self, at: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places in the reduced reference from which pixels of the reduced copy come."""
        first = (self.factor - 1) / 2
        y, x = sources(at, self.shape, self.factor * rows + first, self.factor * cols + first)
        return (y - first) / self.factor, (x - first) / self.factor


def reductions(picture: np.ndarray) -> list[np.ndarray]:
    """A picture (h, w) reduced by halves, the smallest first."""
    found = [picture.astype(np.float32)]
    while max(found[-1].shape) > SEARCHED_SIDE and min(found[-1].shape) >= 32:
        rows, cols = (side // 2 * 2 for side in found[-1].shape)
        cells = found[-1][:rows, :cols].reshape(rows // 2, 2, cols // 2, 2)
        found.append(cells.mean(axis=(1, 3), dtype=np.float32))
    return found[::-1]


def pyramid(reference: list[np.ndarray], copy: list[np.ndarray]) -> list[Level]:
    """Levels of two pictures that were reduced, the smallest first."""
    last = len(copy) - 1
    pairs = zip(reference, copy)
    return [Level(own, other, 2 ** (last - number), copy[-1].shape) for number, (own, other) in enumerate(pairs)]
