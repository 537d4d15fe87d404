"""JPEG: the image is coded as a JPEG file and decoded."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

import numpy as np

from llise.kinds.base import CoderPath, Draw, Kind, Path, drawn
from llise.kinds.estimation import pair_of
from llise.kinds.fitting import Fit, exact_fit
from llise.kinds.jpeg_coder import FACTORS, SIDE, JpegSettings, coded, steps_of
from llise.kinds.jpeg_quality import nearest_quality
from llise.kinds.jpeg_search import find_jpeg
from llise.kinds.jpeg_tables import CHROMA_TABLE, FLATTER_TABLE, STANDARD_TABLE, VIDEO_TABLE, quality_of, quality_table

_FREQUENCY = np.add.outer(np.arange(SIDE), np.arange(SIDE))
_QUALITIES = 2, 95


class Jpeg(Kind):
    """JPEG with the standard quantiser table times the strength; 1 is quality 50.

    Qualities are whole numbers, but the table they stand for can be scaled finely. At 25.5 every step is 255, the
    most that 8 bits hold: quality 1, the end of baseline JPEG.

    At random, the coder is Pillow at a whole quality, or has the standard tables or those of other programs, scaled; it
    may round more coefficients to zero, and its grid may begin elsewhere. The parameter of a draw is ``quality``: that
    of the standard table which comes nearest.
    """

    name = "jpeg"
    title = "JPEG compression"
    short_title = "JPEG"
    strongest = 25.5
    amplifiable = True
    random = False
    Settings = JpegSettings
    exact = hides = wipes = True
    letter, page_color = "J", "#cc79a7"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _ScaledTable(image)

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        way = list(_WAYS)[rng.choice(len(_WAYS), p=list(_WAYS.values()))]
        at, end = way(rng)
        subsampling = str(rng.choice(list(FACTORS), p=[0.32, 0.16, 0.52])) if image.ndim == 3 else "4:4:4"
        offset = (0, 0)
        if rng.random() < 0.15:
            offset = int(rng.integers(16)), int(rng.integers(16))
        smooth = bool(rng.random() < 0.85)

        def settings(strength: float) -> JpegSettings:
            found = replace(at(strength), subsampling=subsampling, smooth=smooth, offset=offset)
            return found if image.ndim == 3 else replace(found, chroma=())

        return drawn(self, image, settings, end)

    def apply(self, image: np.ndarray, settings: JpegSettings) -> np.ndarray:
        return coded(image, settings)

    def fit(
        self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: JpegSettings | None = None
    ) -> Fit | None:
        pair = pair_of(reference, copy, mask)
        if pair is None or min(mask.shape) < 2 * SIDE:
            return None
        settings, qualities = find_jpeg(pair, start)
        return exact_fit(self, settings, {"quality": qualities})


def code_jpeg(image: np.ndarray, table: np.ndarray, rounding: float = 0.5) -> np.ndarray:
    """Code an 8-bit image as a baseline JPEG and decode it.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w)
        Grey image.
    table : ndarray, shape (8, 8)
        Quantiser steps by vertical and horizontal frequency; rounded and clipped to 1..255.
    rounding : float
        What is added to the size of a coefficient, in steps, before its fraction is cut off. Most coders add 0.5;
        some add less, so that more coefficients become zero and the file smaller.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        The decoded image.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.jpeg import STANDARD_TABLE, code_jpeg
    >>> code_jpeg(np.full((8, 8), 130, np.uint8), STANDARD_TABLE)[0]
    array([130, 130, 130, 130, 130, 130, 130, 130], dtype=uint8)
    """
    return coded(image, JpegSettings(0.0, steps_of(table), rounding=rounding))


class _ScaledTable(CoderPath):
    """JPEG with the standard table times the strength, and a fixed step of the block means if one is given."""

    def __init__(self, image: np.ndarray, mean_step: float | None = None) -> None:
        self.image = image
        self.mean_step = mean_step

    def __call__(self, strength: float) -> np.ndarray:
        return code_jpeg(self.image, self._table(strength)) if strength > 0 else self.image.copy()

    def settings(self, strength: float) -> Hashable:
        """Return the quantiser steps, None where nothing is coded."""
        return steps_of(self._table(strength)) if strength > 0 else None

    def _table(self, strength: float) -> np.ndarray:
        table = strength * STANDARD_TABLE
        if self.mean_step is not None:
            table[0, 0] = self.mean_step
        return table

    def alternatives(self, wanted: float) -> list[Path]:
        """Return paths with a fixed step of the block means, whose own error is just below the wanted one."""
        padded = np.pad(self.image, [(0, -n % SIDE) for n in self.image.shape], mode="edge")
        rows, cols = (n // SIDE for n in padded.shape)
        means = padded.reshape(rows, SIDE, cols, SIDE).mean(axis=(1, 3)) - 128.0
        steps = np.arange(1, 256)
        errors = np.array([np.mean((means - step / 8 * np.rint(8 * means / step)) ** 2) for step in steps])
        below = steps[errors < 0.99 * wanted]
        nearest_first = below[np.argsort(-errors[below - 1])]
        return [_ScaledTable(self.image, float(step)) for step in nearest_first[:24:2]]


Way = tuple[Callable[[float], JpegSettings], float]
"""Settings by strength, and the strength at which they end."""


def pillow_settings(quality: int) -> JpegSettings:
    """Settings of the standard tables at a whole quality."""
    return JpegSettings(
        float(quality), steps_of(quality_table(quality)), steps_of(quality_table(quality, CHROMA_TABLE))
    )


def _pillow(rng: np.random.Generator) -> Way:
    """JPEG as Pillow writes it at whole qualities; the strength is the factor on the standard table."""

    def at(strength: float) -> JpegSettings:
        return pillow_settings(int(np.clip(round(quality_of(strength)), *_QUALITIES)))

    return at, 50 / _QUALITIES[0]


def _scaled(luma: np.ndarray, chroma: np.ndarray, rounding: float = 0.5) -> Way:
    def at(strength: float) -> JpegSettings:
        steps = steps_of(strength * luma)
        return JpegSettings(nearest_quality(steps), steps, steps_of(strength * chroma), rounding=rounding)

    return at, 255.0 / luma.min()


def _standard(rng: np.random.Generator) -> Way:
    return _scaled(STANDARD_TABLE, CHROMA_TABLE, _draw_rounding(rng, 0.25))


def _flatter(rng: np.random.Generator) -> Way:
    """mozjpeg: one table for luma and chroma, and coefficients rounded to what costs few bits."""
    return _scaled(FLATTER_TABLE, FLATTER_TABLE, _draw_rounding(rng, 0.7))


def _video(rng: np.random.Generator) -> Way:
    """Programs for video, with 8 for block means at all qualities; larger steps all over are of other ones."""
    table = VIDEO_TABLE / 8

    def at(strength: float) -> JpegSettings:
        scaled = strength * table
        scaled[0, 0] = min(8.0, strength)
        steps = steps_of(scaled)
        return JpegSettings(nearest_quality(steps), steps, steps)

    return at, 80.0


def _own_tables(rng: np.random.Generator) -> Way:
    """A table that is not the standard one: ramps, a power of the standard; chroma coarser or with the same."""
    shape = rng.integers(3)
    if shape == 0:
        table = np.minimum(17 * (1 + 0.5 * _FREQUENCY**1.3), 99)
    elif shape == 1:
        table = 16 * (1 + _FREQUENCY * rng.uniform(0.02, 0.5)) ** rng.uniform(0.7, 1.3)
    else:
        table = STANDARD_TABLE ** rng.uniform(0.4, 1.15)
    table *= np.exp(rng.normal(0, 0.12, table.shape))
    table[0, 0] *= rng.uniform(0.5, 1.1)
    table *= 16 / table[0, 0]
    chroma = table * rng.uniform(1.0, 2.0) if rng.random() < 0.5 else CHROMA_TABLE * rng.uniform(0.7, 1.5)
    return _scaled(table, chroma, _draw_rounding(rng, 0.35))


def _draw_rounding(rng: np.random.Generator, share: float) -> float:
    return float(rng.uniform(0.3, 0.48)) if rng.random() < share else 0.5


_WAYS = {_pillow: 0.48, _standard: 0.12, _flatter: 0.14, _video: 0.06, _own_tables: 0.2}
"""How often each way is drawn."""
