"""Pixelation: the image becomes a mosaic of cells of one grey level or colour each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from llise.kinds.base import CoderPath, Draw, Kind, Path, drawn
from llise.kinds.cells import cell_means, cell_medians, cell_of, cell_samples, find_grid, nearest_mosaic
from llise.kinds.estimation import pair_of
from llise.kinds.fitting import Fit, exact_fit
from llise.kinds.grey import quantise
from llise.kinds.resize import resize

LONGEST = 1.5
"""Largest ratio of the sides of a cell."""

FINE = 3
"""Parts of a pixel between which the border of a cell may lie, where pixels are mixed there."""

LEFT = 0.02
"""Share of the change from which mosaics of other programs are tried."""

_REDUCING = ("box", "nearest", "bilinear", "bicubic", "lanczos", "area", "plain bilinear")

LEAST = 1.5
"""Smallest side of a cell that is drawn at random; with smaller ones, most pixels would stay as they are."""


@dataclass(frozen=True)
class PixelationSettings:
    """A mosaic: `sides` of a cell in pixels, down and across, and the share of a cell that the first one lacks.

    A cell has the mean or the median of its pixels or the one `at` a place in it, or the picture is reduced to a
    `small` one and enlarged by repeating its pixels, which may be mixed at borders; `begun` ones are rounded down.
    """

    way: str
    sides: tuple[float, float]
    start: tuple[float, float] = (0.0, 0.0)
    at: tuple[float, float] = (0.5, 0.5)
    small: tuple[int, int] = (0, 0)
    reducing: str = ""
    mixed: bool = False
    begun: bool = False

    def words(self) -> dict[str, float]:
        return {"cell": float(np.sqrt(self.sides[0] * self.sides[1]))}


def mosaic(image: np.ndarray, settings: PixelationSettings) -> np.ndarray:
    """The copy of an 8-bit image, grey or colour."""
    if settings.way == "resized":
        return _resized(image, settings)
    rows, cols = (cell_of(n, side, at) for n, side, at in zip(image.shape, settings.sides, settings.start))
    ways: dict[str, Callable[..., np.ndarray]] = {
        "mean": cell_means,
        "median": cell_medians,
        "sample": partial(cell_samples, at=settings.at),
    }
    return quantise(by_channel(lambda plane: ways[settings.way](plane, rows, cols), image))


def by_channel(function: Callable[[np.ndarray], np.ndarray], image: np.ndarray) -> np.ndarray:
    """Apply a function of grey images to each channel."""
    if image.ndim == 2:
        return function(image)
    return np.stack([function(image[..., i]) for i in range(image.shape[-1])], axis=-1)


def _resized(image: np.ndarray, settings: PixelationSettings) -> np.ndarray:
    """The image is made smaller, then larger by repeating pixels; programs may mix them at borders or round down."""
    (rows, cols), (down, across) = image.shape[:2], settings.small
    if settings.begun and settings.reducing == "nearest":
        small = image[_begun(rows, down)][:, _begun(cols, across)]
    else:
        small = resize(image, (down, across), settings.reducing)
    if settings.begun:
        return small[_begun(down, rows)][:, _begun(across, cols)]
    if settings.mixed:
        small = resize(small, (FINE * rows, FINE * cols), "nearest")
    return resize(small, (rows, cols), "box" if settings.mixed else "nearest")


def _begun(length: int, wanted: int) -> np.ndarray:
    """Pixels that programs take which round down to the beginning of a cell instead of to its middle."""
    return (np.arange(wanted) * length) // wanted


def _ways_with(
    shape: tuple[int, ...], down: tuple[float, float], across: tuple[float, float]
) -> list[PixelationSettings]:
    """The ways to make a mosaic with cells (side, start)."""
    sides, start = (down[0], across[0]), (down[1], across[1])
    starts = [start] if start == (0.0, 0.0) else [start, (0.0, 0.0)]
    trials = [PixelationSettings(way, sides, at) for way in ("mean", "median") for at in starts]
    places = [(y, x) for y in (0.0, 0.5, 0.99) for x in (0.0, 0.5, 0.99)]
    trials += [PixelationSettings("sample", sides, at, place) for at in starts for place in places]
    return trials + _resized_ways(shape, down, across, 0)


def _resized_ways(
    shape: tuple[int, ...], down: tuple[float, float], across: tuple[float, float], more: int
) -> list[PixelationSettings]:
    """The ways to make a mosaic through a small picture, of the size that the cells tell or of one row more or less."""
    trials = []
    for change in range(-more, more + 1):
        rows, cols = (max(round(n / grid[0]) + change, 1) for n, grid in zip(shape, (down, across)))
        made = shape[0] / rows, shape[1] / cols
        for begun, mixed in ((False, False), (True, False), (False, True)):
            for reducing in _REDUCING:
                one = PixelationSettings(
                    "resized", made, small=(rows, cols), reducing=reducing, mixed=mixed, begun=begun
                )
                trials.append(one)
    return trials


class Pixelation(Kind):
    """Mosaic of square cells, each with the mean of its pixels; the strength is the side of a cell less one.

    Sides need not be whole numbers: borders of cells are then rounded to whole pixels. At random, a cell has the mean
    of its pixels, their median or one of them, its sides may differ, the mosaic begins anywhere, or the image is made
    smaller by Pillow and larger again. The parameter of a draw is ``cell``, the side of a cell in pixels; of cells
    that are not square, the root of their area.
    """

    name = "pixelation"
    title = short_title = "pixelation"
    strongest = 127.0
    Settings = PixelationSettings
    exact = hides = wipes = True
    units: ClassVar = {"cell": (" px", 1.0)}
    narrow = ("cell", "{} px", 1.0)
    letter, page_color = "P", "#882255"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _MeanCells(image)

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        shape = image.shape[:2]
        stretch = float(np.exp(rng.uniform(-0.5, 0.5) * np.log(LONGEST))) if rng.random() < 0.25 else 1.0
        at = _draw_resized(rng, stretch, shape) if rng.random() < 0.4 else _draw_cells(rng, stretch)
        return drawn(self, image, at, max(min(shape) / 2 - 1, 2.0))

    def apply(self, image: np.ndarray, settings: PixelationSettings) -> np.ndarray:
        return mosaic(image, settings)

    def fit(
        self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: PixelationSettings | None = None
    ) -> Fit | None:
        pair = pair_of(reference, copy, mask)
        if pair is None:
            return None
        plane = pair.plane()
        down, across = find_grid(plane.after, mask), find_grid(plane.after.T, mask.T)
        trials = [start] if start is not None else []
        if down is not None and across is not None:
            trials += _ways_with(mask.shape, down, across)
        if not trials:
            return None  # no cells are to be seen
        known = {one: plane.error(mosaic(plane.before, one)) for one in trials}
        if min(known.values()) > LEFT * plane.change and down is not None and across is not None:
            known |= {one: plane.error(mosaic(plane.before, one)) for one in _resized_ways(mask.shape, down, across, 1)}
        settings = min(known, key=lambda one: known[one])
        fit = exact_fit(self, settings, {})
        if known[settings] > LEFT * plane.change and down is not None and across is not None:  # cut out of a picture
            nearest = nearest_mosaic(plane.before.astype(np.float32), plane.after, mask, (down, across))
            if plane.error(nearest(plane.before.astype(np.float32))) < 0.8 * known[settings]:
                fit = replace(fit, apply=lambda image: by_channel(nearest, image.astype(np.float32)))
        cell = settings.words()["cell"]
        reach = cell / min(mask.shape)  # a pixel over all cells
        return replace(fit, intervals={"cell": (cell - reach, cell + reach)})


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


def _draw_cells(rng: np.random.Generator, stretch: float) -> Callable[[float], PixelationSettings]:
    whole = bool(rng.random() < 0.6)
    start = (0.0, 0.0) if rng.random() < 0.6 else (float(rng.random()), float(rng.random()))
    way = str(rng.choice(["mean", "sample", "median"], p=[0.6, 0.3, 0.1]))
    place = (0.5, 0.5) if rng.random() < 0.6 else (0.0, 0.0)

    def sides(strength: float) -> tuple[float, float]:
        height, width = (1 + strength) * stretch, (1 + strength) / stretch
        if whole:
            return float(max(round(height), 2)), float(max(round(width), 2))
        return max(height, LEAST), max(width, LEAST)

    return lambda strength: PixelationSettings(way, sides(strength), start, place)


def _draw_resized(
    rng: np.random.Generator, stretch: float, shape: tuple[int, ...]
) -> Callable[[float], PixelationSettings]:
    reducing = str(rng.choice(_REDUCING, p=[0.3, 0.3, 0.1, 0.08, 0.08, 0.08, 0.06]))
    begun = bool(rng.random() < 0.4)
    mixed = not begun and bool(rng.random() < 0.3)

    def at(strength: float) -> PixelationSettings:
        wanted = max((1 + strength) * stretch, LEAST), max((1 + strength) / stretch, LEAST)
        rows, cols = (max(round(n / side), 1) for n, side in zip(shape, wanted))
        sides = shape[0] / rows, shape[1] / cols
        return PixelationSettings("resized", sides, small=(rows, cols), reducing=reducing, mixed=mixed, begun=begun)

    return at
