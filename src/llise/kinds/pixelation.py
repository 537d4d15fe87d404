"""Pixelation: the image becomes a mosaic of cells of one grey level each."""

from __future__ import annotations

from typing import Unpack

import numpy as np
from PIL import Image

from llise.kinds.base import CoderPath, Draw, GreyStatistics, Kind, Path
from llise.kinds.cells import cell_means, cell_medians, cell_of, cell_samples, find_grid, nearest_mosaic
from llise.kinds.fitting import Fit
from llise.kinds.grey import quantise

LONGEST = 1.5
"""Largest ratio of the sides of a cell."""

FINE = 3
"""Parts of a pixel between which the border of a cell may lie, where pixels are mixed there."""

LEAST = 1.5
"""Smallest side of a cell that is drawn at random; with smaller ones, most pixels would stay as they are."""


class Pixelation(Kind):
    """Mosaic of square cells, each with the mean of its pixels; the strength is the side of a cell less one.

    Sides need not be whole numbers: borders of cells are then rounded to whole pixels. At random, a cell has the mean
    of its pixels, their median or one of them, its sides may differ, the mosaic begins anywhere, or the image is made
    smaller by Pillow and larger again. The parameter of a draw is ``cell``, the side of a cell in pixels; of cells
    that are not square, the root of their area.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.pixelation import Pixelation
    >>> image = np.array([[0, 10, 20, 30]] * 2, np.uint8)
    >>> Pixelation().path(image, np.random.default_rng(0))(1.0)
    array([[ 5,  5, 25, 25],
           [ 5,  5, 25, 25]], dtype=uint8)
    """

    name = "pixelation"
    title = "pixelation"
    short_title = "pixelation"
    strongest = 127.0

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _MeanCells(image)

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        stretch = float(np.exp(rng.uniform(-0.5, 0.5) * np.log(LONGEST))) if rng.random() < 0.25 else 1.0
        whole = bool(rng.random() < 0.6)
        end = max(min(image.shape) / 2 - 1, 2.0)

        def sides(strength: float) -> tuple[float, float]:
            height, width = (1 + strength) * stretch, (1 + strength) / stretch
            if whole:
                return float(max(round(height), 2)), float(max(round(width), 2))
            return max(height, LEAST), max(width, LEAST)

        def parameters(strength: float) -> dict[str, float]:
            height, width = sides(strength)
            return {"cell": float(np.sqrt(height * width))}

        if rng.random() < 0.35:
            return _resized(image, rng, stretch)
        start = (0.0, 0.0) if rng.random() < 0.6 else tuple(rng.random(2))
        value = int(rng.choice(3, p=[0.6, 0.3, 0.1]))

        def path(strength: float) -> np.ndarray:
            if strength <= 0:
                return image.copy()
            height, width = sides(strength)
            grid = [cell_of(n, side, at) for n, side, at in zip(image.shape, (height, width), start)]
            return (cell_means, cell_samples, cell_medians)[value](image, *grid)

        return Draw(path, end, parameters)

    def estimate(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> Fit:
        down, across = find_grid(after, mask), find_grid(after.T, mask.T)
        if down is None or across is None:
            return Fit({})  # no cells are to be seen
        return Fit({"cell": float(np.sqrt(down[0] * across[0]))}, nearest_mosaic(before, after, mask, (down, across)))


class _MeanCells(CoderPath):
    """Mosaic of cell means; the error jumps where the border of a cell passes a pixel."""

    def __init__(self, image: np.ndarray, start: tuple[float, float] = (0.0, 0.0)) -> None:
        self.image = image
        self.start = start

    def __call__(self, strength: float) -> np.ndarray:
        grid = [cell_of(n, 1 + strength, at) for n, at in zip(self.image.shape, self.start)]
        return quantise(cell_means(self.image, *grid))

    def alternatives(self, wanted: float) -> list[Path]:
        """Return mosaics that begin elsewhere."""
        shares = np.arange(1, 6) / 6
        return [_MeanCells(self.image, (float(y), float(x))) for y in shares for x in shares]


def _resized(image: np.ndarray, rng: np.random.Generator, stretch: float) -> Draw:
    """The image is made smaller, then larger by repeating pixels; programs may mix them at borders or round down."""
    filters = Image.Resampling.BOX, Image.Resampling.NEAREST, Image.Resampling.BILINEAR
    down = filters[rng.choice(3, p=[0.4, 0.3, 0.3])]
    mixed, begun = rng.random() < 0.3, rng.random() < 0.4
    picture = Image.fromarray(image)
    rows, cols = image.shape

    def size(strength: float) -> tuple[int, int]:
        height, width = max((1 + strength) * stretch, LEAST), max((1 + strength) / stretch, LEAST)
        return max(round(cols / width), 1), max(round(rows / height), 1)

    def path(strength: float) -> np.ndarray:
        if strength <= 0:
            return image.copy()
        across, along = size(strength)
        if begun and down == Image.Resampling.NEAREST:
            small = Image.fromarray(image[_begun(rows, along)][:, _begun(cols, across)])
        else:
            small = picture.resize((across, along), down)
        if begun:
            return np.asarray(small)[_begun(along, rows)][:, _begun(across, cols)]
        if mixed:
            small = small.resize((FINE * cols, FINE * rows), Image.Resampling.NEAREST)
        return np.asarray(small.resize((cols, rows), Image.Resampling.BOX if mixed else Image.Resampling.NEAREST))

    def parameters(strength: float) -> dict[str, float]:
        across, down = size(strength)
        return {"cell": float(np.sqrt(cols / across * rows / down))}

    return Draw(path, max(min(image.shape) / 2 - 1, 2.0), parameters)


def _begun(length: int, wanted: int) -> np.ndarray:
    """Pixels that programs take which round down to the beginning of a cell instead of to its middle."""
    return (np.arange(wanted) * length) // wanted
