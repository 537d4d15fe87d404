"""Pictures moved, turned and scaled: where each pixel comes from, and the ways in which programs interpolate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llise.filters import spline_coefficients

ROWS = 128
"""Rows of a picture that are interpolated at once, so that large pictures need little memory."""

Weights = Callable[[np.ndarray], list[np.ndarray]]
"""Weights of the pixels around a place, from its distance (0 to 1) to the pixel before it."""


@dataclass(frozen=True)
class Transform:
    """A shift, a rotation about the middle of the picture, and a change of size.

    Attributes
    ----------
    shift_x, shift_y : float
        Pixels by which the content of the copy lies further right and further down.
    rotation : float
        Degrees by which it is turned counter-clockwise, as seen.
    scale : float
        Per cent by which it is larger.
    """

    shift_x: float = 0.0
    shift_y: float = 0.0
    rotation: float = 0.0
    scale: float = 0.0

    @property
    def values(self) -> tuple[float, float, float, float]:
        """The shifts, the rotation and the scale."""
        return self.shift_x, self.shift_y, self.rotation, self.scale

    @property
    def is_shift(self) -> bool:
        """Whether nothing is turned or scaled."""
        return self.rotation == 0 and self.scale == 0

    @property
    def is_whole(self) -> bool:
        """Whether it is a shift by whole pixels."""
        return self.is_shift and self.shift_x == round(self.shift_x) and self.shift_y == round(self.shift_y)

    @property
    def linear(self) -> tuple[float, float]:
        """Factors ``a, b`` of the way back: offsets ``u`` and ``v`` become ``a u - b v`` and ``b u + a v``."""
        size = 1 / (1 + self.scale / 100)
        angle = np.radians(self.rotation)
        return float(size * np.cos(angle)), float(size * np.sin(angle))

    def sources(
        self, shape: tuple[int, ...], rows: np.ndarray | float, cols: np.ndarray | float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the places in the reference from which pixels of the copy come."""
        middle_y, middle_x = ((side - 1) / 2 for side in shape)
        v, u = rows - (middle_y + self.shift_y), cols - (middle_x + self.shift_x)
        a, b = self.linear
        if b == 0:  # rows and columns stay apart, which is quicker to interpolate
            return np.asarray(middle_y + a * v), np.asarray(middle_x + a * u)
        return np.asarray(middle_y + (b * u + a * v)), np.asarray(middle_x + (a * u - b * v))


def _nearest(t: np.ndarray) -> list[np.ndarray]:
    return [(t < 0.5).astype(np.float32), (t >= 0.5).astype(np.float32)]


def _linear(t: np.ndarray) -> list[np.ndarray]:
    return [1 - t, t]


def _cubic(slope: float) -> Weights:
    """Cubic convolution: programs differ in the slope of the kernel at a distance of one pixel."""

    def near(t: np.ndarray) -> np.ndarray:
        return ((slope + 2) * t - (slope + 3)) * t * t + 1

    def far(t: np.ndarray) -> np.ndarray:
        return ((slope * t - 5 * slope) * t + 8 * slope) * t - 4 * slope

    return lambda t: [far(1 + t), near(t), near(1 - t), far(2 - t)]


def _lanczos(t: np.ndarray) -> list[np.ndarray]:
    distances = [t + 2, t + 1, t, 1 - t, 2 - t, 3 - t]
    weights = [np.sinc(distance) * np.sinc(distance / 3) for distance in distances]
    total = sum(weights)
    return [weight / total for weight in weights]


def _spline(t: np.ndarray) -> list[np.ndarray]:
    s = 1 - t
    return [s**3 / 6, 2 / 3 - t * t * (2 - t) / 2, 2 / 3 - s * s * (2 - s) / 2, t**3 / 6]


METHODS: dict[str, Weights] = {
    "nearest": _nearest,
    "bilinear": _linear,
    "bicubic": _cubic(-0.5),
    "bicubic, sharper": _cubic(-0.75),
    "bicubic, sharpest": _cubic(-1.0),
    "lanczos": _lanczos,
    "spline": _spline,
}
"""Ways of interpolation: Pillow resizes with a slope of -0.5 and turns with -1, OpenCV has -0.75, SciPy splines."""


class Interpolator:
    """Grey levels of a picture, or of several of the same size, between their pixels."""

    def __init__(self, picture: np.ndarray, method: str) -> None:
        self.weights = METHODS[method]
        self.reach = len(self.weights(np.zeros(1, np.float32))) // 2
        levels = picture.astype(np.float32)
        if method == "spline":
            planes = levels.reshape(-1, *levels.shape[-2:])
            levels = np.stack([spline_coefficients(plane) for plane in planes]).reshape(levels.shape)
        self.shape = picture.shape[-2:]
        sides = [(0, 0)] * (picture.ndim - 2) + 2 * [(self.reach, self.reach)]
        padded = np.pad(levels, sides, mode="reflect" if method == "spline" else "edge")
        self._width = padded.shape[-1]
        self._levels = padded.reshape(*picture.shape[:-2], -1)

    def __call__(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the grey levels at places."""
        (top, down), (left, right) = (_split(at, side) for at, side in zip((y, x), self.shape))
        corner = (top + 1) * self._width + (left + 1)  # the first pixel of the kernel, in the padded picture
        down_weights, right_weights = self.weights(down), self.weights(right)
        if self._levels.ndim > 1:
            return np.stack([self._weighed(levels, corner, down_weights, right_weights) for levels in self._levels])
        return self._weighed(self._levels, corner, down_weights, right_weights)

    def _weighed(
        self, levels: np.ndarray, corner: np.ndarray, down: list[np.ndarray], right: list[np.ndarray]
    ) -> np.ndarray:
        result = np.zeros(corner.shape, np.float32)
        for row, below in enumerate(down):
            line = right[0] * levels[row * self._width :].take(corner)
            for col, beside in enumerate(right[1:], 1):
                line += beside * levels[row * self._width + col :].take(corner)
            line *= below
            result += line
        return result


def _split(at: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole and fractional part of places; those beyond the border are on it."""
    inside = np.clip(at, 0, side - 1)
    whole = inside.astype(np.int64)
    return whole, (inside - whole).astype(np.float32)


def warp(image: np.ndarray, transform: Transform, method: str = "bicubic") -> np.ndarray:
    """Move, turn and scale a picture."""
    levels = Interpolator(image, method)
    cols = np.arange(image.shape[1], dtype=np.float64)
    chunks = [np.arange(top, min(top + ROWS, image.shape[0]))[:, None] for top in range(0, image.shape[0], ROWS)]
    return np.concatenate([levels(*transform.sources(image.shape, rows, cols)) for rows in chunks])
