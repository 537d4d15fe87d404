"""JPEG: the image is coded as a JPEG file and decoded."""

from __future__ import annotations

import io
from collections.abc import Hashable
from typing import Any, Unpack

import numpy as np
from PIL import Image

from llise.kinds.base import CoderPath, Draw, GreyStatistics, Kind, Path
from llise.kinds.fitting import Fit
from llise.kinds.grey import quantise
from llise.kinds.jpeg_quality import CoefficientPairs
from llise.kinds.jpeg_tables import COSINES, STANDARD_TABLE, quality_of, quality_table

_SIDE = len(STANDARD_TABLE)
_COSINES = COSINES.astype(np.float32)
_FREQUENCY = np.add.outer(np.arange(_SIDE), np.arange(_SIDE))
_QUALITIES = 2, 95


class Jpeg(Kind):
    """JPEG with the standard quantiser table times the strength; 1 is quality 50.

    Qualities are whole numbers, but the table they stand for can be scaled finely. At 25.5 every step is 255, the
    most that 8 bits hold: quality 1, the end of baseline JPEG.

    At random, the coder is Pillow at a whole quality, or has the standard table or another one, scaled; with another
    table it may round more coefficients to zero. The parameter
    of a draw is ``quality`` for Pillow and the standard table; other tables have none.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.jpeg import Jpeg
    >>> image = np.arange(256, dtype=np.uint8).reshape(16, 16)
    >>> copy = Jpeg().path(image, np.random.default_rng(0))(4.0)
    >>> copy.dtype, bool((copy == image).all())
    (dtype('uint8'), False)
    """

    name = "jpeg"
    title = "JPEG compression"
    short_title = "JPEG"
    strongest = 25.5
    amplifiable = True
    random = False

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _ScaledTable(image)

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        if rng.random() < 0.3:
            return _pillow_quality(image)
        if rng.random() < 0.25:
            return Draw(_ScaledTable(image), self.strongest, lambda strength: {"quality": quality_of(strength)})
        table = _draw_table(rng)
        rounding = rng.uniform(0.3, 0.48) if rng.random() < 0.35 else 0.5
        return Draw(lambda strength: code_jpeg(image, strength * table, rounding), 255.0 / table.min())

    def estimate(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> Fit:
        return jpeg_fit(*CoefficientPairs(before, after, mask).nearest_table())


def jpeg_fit(quality: float, table: np.ndarray | None = None, rounding: float = 0.5) -> Fit:
    """Return a JPEG of a quality as the result of an estimate.

    Parameters
    ----------
    quality : float
        Quality from 1 to 100.
    table : ndarray, shape (8, 8), optional
        Quantiser steps; those of the quality if left out.
    rounding : float
        Part of a step from which the coder rounds up, see :func:`code_jpeg`.

    Returns
    -------
    Fit
        Its ``apply`` codes and decodes an image.

    Examples
    --------
    >>> from llise.kinds.jpeg import jpeg_fit
    >>> jpeg_fit(30.0).parameters
    {'quality': 30.0}
    """
    steps = quality_table(round(quality)) if table is None else table
    return Fit({"quality": quality}, lambda image: code_jpeg(quantise(image), steps, rounding).astype(np.float32))


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
    steps = _whole_steps(table)
    if rounding == 0.5:
        return _decoded(Image.fromarray(image), qtables=[steps.ravel().tolist()])
    rows, cols = image.shape
    padded = np.pad(image, [(0, -n % _SIDE) for n in image.shape], mode="edge").astype(np.float32) - 128
    blocks = padded.reshape(padded.shape[0] // _SIDE, _SIDE, -1, _SIDE).swapaxes(1, 2)
    numbers = blocks.reshape(-1, _SIDE * _SIDE) @ _COSINES / steps.ravel()
    numbers = np.sign(numbers) * np.floor(np.abs(numbers) + rounding) * steps.ravel()
    decoded = (numbers.astype(np.float32) @ _COSINES.T).reshape(blocks.shape).swapaxes(1, 2).reshape(padded.shape)
    return quantise(decoded[:rows, :cols] + 128)


def _whole_steps(table: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(table), 1, 255).astype(int)


class _ScaledTable(CoderPath):
    """JPEG with the standard table times the strength, and a fixed step of the block means if one is given."""

    def __init__(self, image: np.ndarray, mean_step: float | None = None) -> None:
        self.image = image
        self.mean_step = mean_step

    def __call__(self, strength: float) -> np.ndarray:
        return code_jpeg(self.image, self._table(strength)) if strength > 0 else self.image.copy()

    def settings(self, strength: float) -> Hashable:
        """Return the quantiser steps, None where nothing is coded."""
        return _whole_steps(self._table(strength)).tobytes() if strength > 0 else None

    def _table(self, strength: float) -> np.ndarray:
        table = strength * STANDARD_TABLE
        if self.mean_step is not None:
            table[0, 0] = self.mean_step
        return table

    def alternatives(self, wanted: float) -> list[Path]:
        """Return paths with a fixed step of the block means, whose own error is just below the wanted one.

        In smooth images it is this one step that makes the error jump; with it fixed, the others change the error
        finely.
        """
        padded = np.pad(self.image, [(0, -n % _SIDE) for n in self.image.shape], mode="edge")
        rows, cols = (n // _SIDE for n in padded.shape)
        means = padded.reshape(rows, _SIDE, cols, _SIDE).mean(axis=(1, 3)) - 128.0
        steps = np.arange(1, 256)
        errors = np.array([np.mean((means - step / 8 * np.rint(8 * means / step)) ** 2) for step in steps])
        below = steps[errors < 0.99 * wanted]
        nearest_first = below[np.argsort(-errors[below - 1])]
        return [_ScaledTable(self.image, float(step)) for step in nearest_first[:24:2]]


def _pillow_quality(image: np.ndarray) -> Draw:
    """JPEG as Pillow writes it at whole qualities; the strength is the factor on the standard table."""
    picture = Image.fromarray(image)

    def quality(strength: float) -> int:
        return int(np.clip(round(quality_of(strength)), *_QUALITIES))

    return Draw(
        lambda strength: _decoded(picture, quality=quality(strength)) if strength > 0 else image.copy(),
        50 / _QUALITIES[0],
        lambda strength: {"quality": float(quality(strength))},
    )


def _decoded(picture: Image.Image, **options: Any) -> np.ndarray:
    """Code with Pillow's options and decode."""
    stream = io.BytesIO()
    picture.save(stream, "JPEG", **options)
    stream.seek(0)
    with Image.open(stream) as coded:
        return np.array(coded)


def _draw_table(rng: np.random.Generator) -> np.ndarray:
    """Draw a quantiser table that is not the standard one: like its chroma table, ramps, a power of the standard."""
    shape = rng.integers(3)
    if shape == 0:
        table = np.minimum(17 * (1 + 0.5 * _FREQUENCY**1.3), 99)
    elif shape == 1:
        table = 16 * (1 + _FREQUENCY * rng.uniform(0.02, 0.5)) ** rng.uniform(0.7, 1.3)
    else:
        table = STANDARD_TABLE ** rng.uniform(0.4, 1.15)
    table *= np.exp(rng.normal(0, 0.12, table.shape))
    table[0, 0] *= rng.uniform(0.5, 1.1)
    return table * (16 / table[0, 0])
