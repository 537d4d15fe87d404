"""Misalignment: the whole picture is shifted, turned, scaled, or cut and enlarged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
import scipy

from llise.kinds.base import Draw, GreyStatistics, Kind, Path, drawn
from llise.kinds.grey import quantise
from llise.kinds.resize import ENLARGING_NAMES, resize
from llise.kinds.warping import METHODS, Interpolator, Transform, warp

FILLS = ("repeated", "black", "mirrored", "wrapped")
"""What programs put where the picture has moved away from the border."""


@dataclass(frozen=True)
class Settings:
    """A shift in pixels, positive where the content lies further right and down, a rotation about the middle in
    degrees, counter-clockwise as seen, and a size in per cent, of which columns get `stretch` more and rows less.

    With `crop`, rows and columns (top, left, bottom, right) are cut off and the rest is enlarged by the filter
    `method`; the other numbers then say the same and are not used.
    """

    shift_x: float = 0.0
    shift_y: float = 0.0
    rotation: float = 0.0
    scale: float = 0.0
    stretch: float = 0.0
    method: str = "bicubic"
    fill: str = "repeated"
    crop: tuple[int, int, int, int] = (0, 0, 0, 0)

    def words(self) -> dict[str, float]:
        return {"shift_x": self.shift_x, "shift_y": self.shift_y, "rotation": self.rotation, "scale": self.scale}


class Misalignment(Kind):
    """A picture that is shifted to the right, with repeated borders; the strength is the shift in pixels.

    At random it is shifted in any direction, turned about its middle, scaled, or all of it, by up to 16 pixels, 3
    degrees and 3 per cent, with one of several interpolations and borders, or it is cut and enlarged.

    How a copy is misaligned is found by :mod:`llise.look.alignment.placing`, before anything else is judged.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.misalignment import Misalignment
    >>> image = np.array([[0, 0, 200, 0, 0]], np.uint8)
    >>> Misalignment().path(image, np.random.default_rng(0))(1.0)
    array([[  0.,   0.,   0., 200.,   0.]], dtype=float32)
    """

    name = "misalignment"
    title = "misalignment"
    short_title = "misaligned"
    strongest = 16.0
    random = False
    Settings = Settings

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return lambda strength: warp(image, Transform(shift_x=strength), "bicubic")

    def draw_program(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        if rng.random() < 0.2:
            return _draw_crop(self, image, rng)
        direction = rng.uniform(0, 2 * np.pi)
        moved, turned, scaled = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1))[rng.choice(4, p=[0.5, 0.15, 0.15, 0.2])]
        ends = (
            float(16 * moved * np.cos(direction)),
            float(16 * moved * np.sin(direction)),
            float(3 * turned * rng.choice([-1.0, 1.0])),
            float(3 * scaled * rng.choice([-1.0, 1.0])),
        )
        method, fill, whole = str(rng.choice(list(METHODS))), str(rng.choice(FILLS)), bool(rng.random() < 0.3)

        def at(strength: float) -> Settings:
            x, y, rotation, scale = (strength * end for end in ends)
            x, y = (float(round(x)), float(round(y))) if whole else (x, y)
            return Settings(x, y, rotation, scale, 0.0, method, fill)

        return drawn(self, image, at, 1.0)

    draw_grey = draw_program

    def apply(self, image: np.ndarray, settings: Settings) -> np.ndarray:
        if any(settings.crop):
            top, left, bottom, right = settings.crop
            rows, cols = image.shape[:2]
            return resize(
                np.ascontiguousarray(image[top : rows - bottom, left : cols - right]), (rows, cols), settings.method
            )
        return quantise(moved(image, settings))


def _draw_crop(kind: Misalignment, image: np.ndarray, rng: np.random.Generator) -> Draw:
    """Up to a tenth of each side is cut off, here more and there less, and the rest enlarged."""
    shares, method = rng.dirichlet(np.ones(4)) * 0.2, str(rng.choice(ENLARGING_NAMES))
    (rows, cols), least = image.shape[:2], int(rng.integers(4))

    def at(strength: float) -> Settings:
        cut = np.rint(strength * shares * [rows, cols, rows, cols]).astype(int)
        if not cut.any():
            cut[least] = 1
        top, left, bottom, right = (int(n) for n in cut)
        down, across = rows / (rows - top - bottom), cols / (cols - left - right)
        return Settings(
            across * (right - left) / 2,
            down * (bottom - top) / 2,
            scale=50 * (down + across) - 100,
            stretch=50 * (across - down),
            method=method,
            crop=(top, left, bottom, right),
        )

    return drawn(kind, image, at, 1.0)


def sources(shape: tuple[int, ...], settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of the reference from which each pixel of the copy comes; they can be broadcast."""
    middle_y, middle_x = (shape[0] - 1) / 2, (shape[1] - 1) / 2
    v = (np.arange(shape[0], dtype=np.float64) - (middle_y + settings.shift_y))[:, None]
    u = np.arange(shape[1], dtype=np.float64) - (middle_x + settings.shift_x)
    angle = np.radians(settings.rotation)
    cosine, sine = float(np.cos(angle)), float(np.sin(angle))
    down, across = (1 + (settings.scale + sign * settings.stretch) / 100 for sign in (-1, 1))
    if sine == 0:  # rows and columns stay apart, which is quicker to interpolate
        return middle_y + v / down, middle_x + u / across
    return middle_y + (sine * u + cosine * v) / down, middle_x + (cosine * u - sine * v) / across


def moved(image: np.ndarray, settings: Settings) -> np.ndarray:
    """The moved picture (float32), with the border filled in one of the usual ways."""
    planes = image[None] if image.ndim == 2 else np.moveaxis(image, -1, 0)
    y, x = sources(planes.shape[1:], settings)
    result = Interpolator(planes, settings.method)(y, x)
    if settings.fill != "repeated":
        y, x = np.broadcast_arrays(y, x)
        outside = (y < 0) | (y > image.shape[0] - 1) | (x < 0) | (x > image.shape[1] - 1)
        mode = {"mirrored": "reflect", "wrapped": "grid-wrap"}.get(settings.fill)
        for made, plane in zip(result, planes):
            made[outside] = (
                0.0
                if mode is None
                else scipy.ndimage.map_coordinates(
                    plane.astype(np.float32), [y[outside], x[outside]], order=1, mode=mode
                )
            )
    return result[0] if image.ndim == 2 else np.moveaxis(result, 0, -1)
