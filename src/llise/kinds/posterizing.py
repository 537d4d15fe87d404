"""How programs leave few levels or colours: even levels, low bits, levels fitted to the picture, palettes, dither."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from PIL import Image

from llise.kinds.programs import draw_plane, draw_seed, finish, look_up, on_plane

RULES = "nearest", "floor", "middle", "stretched"

COUNTS = (*range(2, 65), *range(66, 130, 2), 144, 160, 192, 256)
"""Numbers of even levels that fits try."""

METHODS = {
    "median_cut": Image.Quantize.MEDIANCUT,
    "max_coverage": Image.Quantize.MAXCOVERAGE,
    "octree": Image.Quantize.FASTOCTREE,
}
"""Pillow's ways to choose a palette."""


@dataclass(frozen=True)
class QuantizationSettings:
    """Few levels of each channel or of one plane, or few colours.

    `way` is "even" for even levels from `low` to `high` by one of the RULES, "bits" for low bits that are cut off of
    each channel, "adaptive" for levels that are means of equal shares of the pixels, "table" for `table`, the level
    after each of 256 ones, or "palette" for colours by `method`, moved by so many `rounds` of k-means, or those of
    `palette`. `dither` is "none", "floyd" (Floyd and Steinberg), "ordered" (Bayer) or "random".
    """

    levels: float
    way: str = "even"
    rule: str = "nearest"
    low: float = 0.0
    high: float = 255.0
    plane: str = "rgb"
    bits: tuple[int, int, int] = (8, 8, 8)
    dither: str = "none"
    method: str = "median_cut"
    rounds: int = 0
    palette: tuple[tuple[int, int, int], ...] = ()
    table: tuple[int, ...] = ()
    seed: int = 0

    def words(self) -> dict[str, float]:
        return {"colors" if self.way == "palette" else "levels": self.levels}


def evenly(levels: float | np.ndarray, rule: str, low: float, high: float) -> np.ndarray:
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


@lru_cache(4)
def even_tables(low: float, high: float) -> np.ndarray:
    """Tables of 256 levels (n, 256) of all COUNTS of levels by each of the RULES in turn."""
    counts = np.array(COUNTS, float)[:, None]
    return np.concatenate([np.rint(evenly(counts, rule, low, high)) for rule in RULES])


def draw_settings(
    image: np.ndarray, rng: np.random.Generator
) -> tuple[Callable[[float], QuantizationSettings], float, Callable[[float], float]]:
    """Settings by strength, the strength at which they end, and the strength to try first for an error."""
    way = rng.choice(["even", "bits", "adaptive", "palette"], p=[0.42, 0.14, 0.1, 0.34])
    seed = draw_seed(rng)
    if way == "palette":
        method, rounds = str(rng.choice(list(METHODS))), int(rng.choice([0, 0, 0, 1, 3]))
        dither = str(rng.choice(["none", "floyd", "ordered"], p=[0.55, 0.35, 0.1]))
        start = QuantizationSettings(256.0, "palette", method=method, rounds=rounds, dither=dither, seed=seed)
        return lambda s: replace(start, levels=float(max(round(256 / (1 + s)), 2))), 127.0, lambda e: 0.4 * e**0.5
    if way == "bits":
        rule, uneven = str(rng.choice(["zero", "middle", "repeated"])), rng.permutation([0, 0, 1])
        uneven = uneven if image.ndim == 3 and rng.random() < 0.35 else np.zeros(3, int)  # such as 5, 6 and 5 bits
        dither = str(rng.choice(["none", "ordered"], p=[0.85, 0.15]))

        def cut(strength: float) -> QuantizationSettings:
            left = np.clip(8 - int(np.clip(np.ceil(strength), 0, 7)) + uneven, 1, 8)
            bits = (int(left[0]), int(left[1]), int(left[2]))
            return QuantizationSettings(2.0 ** min(bits), "bits", rule, bits=bits, dither=dither, seed=seed)

        return cut, 7.0, lambda e: 0.5 * np.log2(1 + 3 * e)
    if way == "adaptive":
        start = QuantizationSettings(256.0, "adaptive", seed=seed)
        return lambda s: replace(start, levels=float(max(round(256 / (1 + s)), 2))), 127.0, lambda e: 2 * e**0.5
    low, high = 0.0, 255.0
    rule, whole = str(rng.choice(RULES, p=[0.4, 0.25, 0.15, 0.2])), bool(rng.random() < 0.85)
    dither = str(rng.choice(["none", "floyd", "ordered", "random"], p=[0.74, 0.14, 0.08, 0.04]))
    plane = draw_plane(rng, image, 0.12) if dither == "none" else "rgb"
    whole = whole or dither != "none" or rule == "stretched"
    if dither == "none" and rng.random() < 0.2:
        low = min(float(image.min()), 254.0)
        high = max(float(image.max()), low + 1)
    start = QuantizationSettings(256.0, "even", rule, low, high, "rgb" if plane == "lab" else plane, dither=dither)

    def even(strength: float) -> QuantizationSettings:
        count = 1 + (high - low) / (1 + strength)
        return replace(start, levels=float(max(round(count), 2) if whole else max(count, 2.0)), seed=seed)

    return even, max(high - low - 1, 1.0), lambda e: (12 * e) ** 0.5


def posterized(image: np.ndarray, settings: QuantizationSettings) -> np.ndarray:
    """The copy that settings make."""
    if settings.way == "palette":
        return _with_palette(image, settings)
    if settings.way == "bits":
        channels = image if image.ndim == 3 else image[..., None]
        copies = [_cut(channels[..., i], settings, bits) for i, bits in zip(range(channels.shape[2]), settings.bits)]
        return np.stack(copies, axis=2).reshape(image.shape)
    if settings.way == "adaptive":
        channels = image if image.ndim == 3 else image[..., None]
        copies = [_equal_shares(channels[..., i], round(settings.levels)) for i in range(channels.shape[2])]
        return np.stack(copies, axis=2).reshape(image.shape)
    if settings.dither != "none" and settings.way == "even":
        return _dithered(image, settings)
    if settings.way == "table":  # one for all channels, or one for each
        tables = np.array(settings.table, np.uint8).reshape(-1, 256)
        if len(tables) == 3 and image.ndim == 3:
            return np.stack([table[image[..., i]] for i, table in enumerate(tables)], axis=2)
        return tables[0][image]
    table = even_table(settings)
    return finish(on_plane(image, settings.plane, lambda plane: look_up(table, finish(plane))))


def even_table(settings: QuantizationSettings) -> np.ndarray:
    """Level after each of the 256 levels."""
    return finish(evenly(max(settings.levels, 2.0), settings.rule, settings.low, settings.high))


def _dithered(image: np.ndarray, settings: QuantizationSettings) -> np.ndarray:
    count = max(round(settings.levels), 2)
    levels = np.linspace(settings.low, settings.high, count)
    if settings.dither == "floyd":
        sheet = Image.new("P", (1, 1))
        palette = np.rint(levels).astype(np.uint8)[np.minimum(np.arange(256), count - 1)]
        sheet.putpalette(np.repeat(palette, 3).tolist())
        channels = image if image.ndim == 3 else image[..., None]
        copies = []
        for i in range(channels.shape[2]):
            grey = Image.fromarray(np.repeat(channels[..., i, None], 3, axis=2))
            copies.append(np.asarray(grey.quantize(palette=sheet, dither=Image.Dither.FLOYDSTEINBERG).convert("L")))
        return np.stack(copies, axis=2).reshape(image.shape)
    step = (settings.high - settings.low) / (count - 1)
    threshold = threshold_of(image.shape, settings)
    index = np.clip(np.floor((image - np.float32(settings.low)) / np.float32(step) + threshold), 0, count - 1)
    return finish(settings.low + index * np.float32(step))


def threshold_of(shape: tuple[int, ...], settings: QuantizationSettings) -> np.ndarray:
    """Numbers from 0 to 1 that are added before rounding down: Bayer's matrix of 8 x 8, or random ones."""
    if settings.dither == "random":
        return np.random.default_rng(settings.seed).random(shape, np.float32)
    bayer = np.zeros((1, 1))
    for _ in range(3):
        bayer = np.block([[4 * bayer, 4 * bayer + 2], [4 * bayer + 3, 4 * bayer + 1]])
    rows, cols = np.arange(shape[0]) % 8, np.arange(shape[1]) % 8
    tile = ((bayer + 0.5) / 64).astype(np.float32)[np.ix_(rows, cols)]
    return tile.reshape(*shape[:2], *[1] * (len(shape) - 2))


def _cut(image: np.ndarray, settings: QuantizationSettings, bits: int) -> np.ndarray:
    cut = 8 - bits
    if settings.dither == "ordered" and cut:
        step = np.float32(1 << cut)
        image = finish(image + (threshold_of(image.shape, settings) - np.float32(0.5)) * step)
    if settings.rule == "repeated":
        return np.rint((image >> cut) * (255 / ((256 >> cut) - 1))).astype(np.uint8)
    kept = (image >> cut) << cut
    return kept | np.uint8(1 << (cut - 1)) if settings.rule == "middle" and cut else kept


def _equal_shares(image: np.ndarray, levels: int) -> np.ndarray:
    """Ranges that hold equally many pixels, each with its rounded mean."""
    count = np.bincount(image.ravel(), minlength=256)
    share = (np.cumsum(count) - 0.5 * count) / image.size
    index = np.minimum((share * levels).astype(int), levels - 1)
    weight = np.bincount(index, count + 1e-9, levels)
    mean = np.bincount(index, (count + 1e-9) * np.arange(256), levels) / np.maximum(weight, 1e-12)
    return np.rint(mean[index]).astype(np.uint8)[image]


def _with_palette(image: np.ndarray, settings: QuantizationSettings) -> np.ndarray:
    picture = Image.fromarray(image).convert("RGB")
    if settings.palette:
        sheet = Image.new("P", (1, 1))
        colours = np.array(settings.palette, np.uint8)
        sheet.putpalette(colours[np.minimum(np.arange(256), len(colours) - 1)].ravel().tolist())
    else:
        colors = int(np.clip(round(settings.levels), 2, 256))
        sheet = picture.quantize(colors, METHODS[settings.method], settings.rounds, dither=Image.Dither.NONE)
        if settings.dither == "none":
            return _pixels(sheet, image.ndim)
    if settings.dither == "ordered":
        step = 255 / max(settings.levels ** (1 / 3), 1.5)
        moved = image.astype(np.float32) + (threshold_of(image.shape, settings) - np.float32(0.5)) * np.float32(step)
        picture = Image.fromarray(finish(moved)).convert("RGB")
    dither = Image.Dither.FLOYDSTEINBERG if settings.dither == "floyd" else Image.Dither.NONE
    return _pixels(picture.quantize(palette=sheet, dither=dither), image.ndim)


def _pixels(picture: Image.Image, ndim: int) -> np.ndarray:
    return np.asarray(picture.convert("RGB" if ndim == 3 else "L"))
