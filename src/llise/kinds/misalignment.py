"""Misalignment: the whole picture is shifted, turned or scaled."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import scipy

from llise.kinds.base import Draw, GreyStatistics, Kind, Path
from llise.kinds.warping import METHODS, Transform, warp

FILLS = ("repeated", "black", "mirrored", "wrapped")
"""What programs put where the picture has moved away from the border."""


class Misalignment(Kind):
    """A picture that is shifted to the right, with repeated borders; the strength is the shift in pixels.

    At random it is shifted in any direction, turned about its middle, scaled, or all of it, by up to 16 pixels, 3
    degrees and 3 per cent, with one of several interpolations and borders. The parameters of a draw are ``shift_x``
    and ``shift_y`` in pixels, positive where the content lies further right and further down, ``rotation`` in degrees,
    positive counter-clockwise as seen, and ``scale`` in per cent, positive where the content is larger.

    How a copy is misaligned is found by :mod:`llise.diagnosis.alignment.placing`, before anything else is judged.

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

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return lambda strength: warp(image, Transform(shift_x=strength), "bicubic")

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        direction = rng.uniform(0, 2 * np.pi)
        moved, turned, scaled = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1))[rng.choice(4, p=[0.5, 0.15, 0.15, 0.2])]
        ends = (
            16 * moved * np.cos(direction),
            16 * moved * np.sin(direction),
            3 * turned * rng.choice([-1.0, 1.0]),
            3 * scaled * rng.choice([-1.0, 1.0]),
        )
        method, fill = str(rng.choice(list(METHODS))), str(rng.choice(FILLS))

        def transform(strength: float) -> Transform:
            return Transform(*(float(strength * end) for end in ends))

        return Draw(
            lambda strength: _moved(image, transform(strength), method, fill),
            1.0,
            lambda strength: dict(
                zip(("shift_x", "shift_y", "rotation", "scale"), transform(strength).values, strict=True)
            ),
        )


def _moved(image: np.ndarray, transform: Transform, method: str, fill: str) -> np.ndarray:
    """The moved picture, with the border filled in one of the usual ways."""
    result = warp(image, transform, method)
    if fill == "repeated":
        return result
    rows, cols = (np.arange(side, dtype=np.float64) for side in image.shape)
    y, x = np.broadcast_arrays(*transform.sources(image.shape, rows[:, None], cols))
    outside = (y < 0) | (y > image.shape[0] - 1) | (x < 0) | (x > image.shape[1] - 1)
    if fill == "black":
        return np.where(outside, np.float32(0), result)
    mode = "reflect" if fill == "mirrored" else "grid-wrap"
    result[outside] = scipy.ndimage.map_coordinates(
        image.astype(np.float32), [y[outside], x[outside]], order=1, mode=mode
    )
    return result
