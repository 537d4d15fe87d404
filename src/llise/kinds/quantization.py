"""Quantization: only a few grey levels are left, as posterising and too few bits leave them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

import numpy as np
from PIL import Image

from llise.kinds.base import Draw, GreyStatistics, Kind, Path

_ROUNDS = 12
"""Most rounds in which adaptive levels are moved to the means of their pixels."""


class Quantization(Kind):
    """Grey levels rounded to multiples of a step; the strength is the step less one.

    At random, the levels lie evenly between black and white or between the darkest and the brightest grey of the image,
    with rounding to the nearest one, rounding down or the middle of each range; low bits are cut off; or the levels are
    fitted to the image. Errors are never spread to neighbours (dithering), which looks like noise. The parameter of
    a draw is ``levels``, the number of levels from which the image is made: also those in a step's gaps count.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.quantization import Quantization
    >>> image = np.array([[0, 20, 60, 100, 255]], np.uint8)
    >>> Quantization().path(image, np.random.default_rng(0))(50.0)  # six levels
    array([[  0.,   0.,  51., 102., 255.]], dtype=float32)
    """

    name = "quantization"
    title = "quantization of the grey levels"
    short_title = "quantization"
    strongest = 254.0

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return lambda strength: _evenly(1 + 255 / (1 + strength), "nearest", 0.0, 255.0).astype(np.float32)[image]

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        way = rng.choice(4, p=[0.5, 0.18, 0.12, 0.2])
        if way == 1:
            return _low_bits(image, rng)
        if way == 3:
            return _adaptive(image, rng)
        low, high = (0.0, 255.0) if way == 0 else (float(image.min()), float(max(image.max(), image.min() + 1)))
        rule = str(rng.choice(["nearest", "floor", "middle", "stretched"]))
        whole = bool(rng.random() < 0.8)

        def levels(strength: float) -> float:
            count = 1 + (high - low) / (1 + strength)
            return float(max(round(count), 2)) if whole else max(count, 2.0)

        return Draw(
            lambda strength: (
                _evenly(levels(strength), rule, low, high).astype(np.float32)[image] if strength > 0 else image.copy()
            ),
            max(high - low - 1, 1.0),
            lambda strength: {"levels": levels(strength)},
        )


def _evenly(levels: float, rule: str, low: float, high: float) -> np.ndarray:
    """Table of 256 greys: the nearest of `levels` even levels, or ranges of equal width and what stands for each."""
    greys = np.clip(np.arange(256.0), low, high)
    if rule == "nearest":
        step = (high - low) / (levels - 1)
        return low + np.minimum(np.floor((greys - low) / step + 0.5) * step, high - low)
    width = (high - low + 1) / levels
    index = np.floor((greys - low) / width + 1e-9)
    if rule == "stretched":  # black and white stay black and white
        return low + np.minimum(index * (high - low) / (np.ceil(levels) - 1), high - low)
    return low + np.minimum((index + (0.5 if rule == "middle" else 0.0)) * width, high - low)


def _low_bits(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """Cut off low bits; those that are left may be repeated below, filled with the middle or left at 0."""
    rule = str(rng.choice(["zero", "middle", "repeated"]))

    def bits(strength: float) -> int:
        return int(np.clip(np.ceil(strength), 0, 7))

    def path(strength: float) -> np.ndarray:
        cut = bits(strength)
        kept = (image >> cut) << cut
        if rule == "middle" and cut:
            return kept | np.uint8(1 << (cut - 1))
        if rule == "repeated":
            return np.rint((image >> cut) * (255 / ((256 >> cut) - 1))).astype(np.uint8)
        return kept

    return Draw(path, 7.0, lambda strength: {"levels": float(256 >> bits(strength))})


def _adaptive(image: np.ndarray, rng: np.random.Generator) -> Draw:
    """Levels that are fitted to the image: by Pillow, by equal shares of the pixels, or by k-means."""
    tables: tuple[Callable[[np.ndarray, int], np.ndarray], ...] = _pillow_levels, _equal_shares, _k_means
    table = tables[rng.integers(3)]
    known = int(np.count_nonzero(np.bincount(image.ravel())))

    def levels(strength: float) -> int:
        return max(round(256 / (1 + strength)), 2)

    def path(strength: float) -> np.ndarray:
        return image.copy() if levels(strength) >= known else table(image, levels(strength))

    return Draw(path, 127.0, lambda strength: {"levels": float(min(levels(strength), known))})


def _pillow_levels(image: np.ndarray, levels: int) -> np.ndarray:
    picture = Image.fromarray(image).convert("RGB")
    coded = picture.quantize(levels, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    return np.asarray(coded.convert("L"))


def _equal_shares(image: np.ndarray, levels: int) -> np.ndarray:
    """Ranges that hold equally many pixels, each with its mean."""
    count = np.bincount(image.ravel(), minlength=256)
    share = (np.cumsum(count) - 0.5 * count) / image.size
    return _range_means(count, np.minimum((share * levels).astype(int), levels - 1), levels)[image]


def _k_means(image: np.ndarray, levels: int) -> np.ndarray:
    """Levels that are the means of the greys nearest to them."""
    count = np.bincount(image.ravel(), minlength=256)
    low, high = (int(grey) for grey in np.flatnonzero(count)[[0, -1]])
    centres = np.linspace(low, high, 2 * levels + 1)[1::2]
    greys = np.arange(256)
    for _ in range(_ROUNDS):
        index = np.searchsorted((centres[1:] + centres[:-1]) / 2, greys)
        moved = np.bincount(index, count * greys, levels)[:levels]
        weight = np.bincount(index, count, levels)[:levels]
        centres = np.where(weight > 0, moved / np.maximum(weight, 1), centres)
    index = np.searchsorted((centres[1:] + centres[:-1]) / 2, greys)
    return _range_means(count, index, levels)[image]


def _range_means(count: np.ndarray, index: np.ndarray, levels: int) -> np.ndarray:
    """Table of 256 greys: the rounded mean of the pixels in each range."""
    greys = np.arange(256)
    weight = np.bincount(index, count + 1e-9, levels)
    mean = np.bincount(index, (count + 1e-9) * greys, levels) / np.maximum(weight, 1e-12)
    return np.rint(mean[index]).astype(np.uint8)
