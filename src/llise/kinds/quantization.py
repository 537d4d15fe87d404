"""Quantization: only a few grey levels are left, as posterising and too few bits leave them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import ClassVar, Unpack

import numpy as np
from PIL import Image

from llise.kinds.base import Draw, GreyStatistics, Kind, Path, drawn
from llise.kinds.fitting import Fit
from llise.kinds.posterizing import COUNTS, RULES, QuantizationSettings, draw_settings, even_tables, evenly, posterized

_ROUNDS = 12
"""Most rounds in which adaptive levels are moved to the means of their pixels."""


class Quantization(Kind):
    """Grey levels rounded to multiples of a step; the strength is the step less one.

    At random, the levels lie evenly between black and white or between the darkest and the brightest grey of the image,
    with rounding to the nearest one, rounding down or the middle of each range; low bits are cut off; or the levels are
    fitted to the image. Errors are never spread to neighbours (dithering), which looks like noise. The parameter of
    a draw is ``levels``, the number of levels from which the image is made: also those in a step's gaps count.
    """

    name = "quantization"
    title = "quantization of the grey levels"
    short_title = "quantization"
    strongest = 254.0
    random = False
    Settings = QuantizationSettings
    exact = wipes = True
    narrow = ("levels", "{} levels", 1.0)
    units: ClassVar = {}
    letter, page_color = "Q", "#ddcc77"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return lambda strength: evenly(1 + 255 / (1 + strength), "nearest", 0.0, 255.0).astype(np.float32)[image]

    def draw_grey(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
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
                evenly(levels(strength), rule, low, high).astype(np.float32)[image] if strength > 0 else image.copy()
            ),
            max(high - low - 1, 1.0),
            lambda strength: {"levels": levels(strength)},
        )

    def draw_program(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        settings, end, first = draw_settings(image, rng)
        return drawn(self, image, settings, end, first)

    def apply(self, image: np.ndarray, settings: QuantizationSettings) -> np.ndarray:
        return posterized(image, settings)

    def fit(self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: object = None) -> Fit | None:
        from llise.kinds.quantization_fit import fit_quantization  # only here: copies are made without it

        return fit_quantization(reference, copy, mask)

    def estimate(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> Fit:
        index = np.clip(np.rint(before[mask]), 0, 255).astype(int)
        if index.size == 0:
            return Fit({})
        greys, values = index, after[mask].astype(np.float64)
        count = np.bincount(greys, minlength=256).astype(float)
        mean = np.bincount(greys, values, 256) / np.maximum(count, 1)
        spread = max(float(np.sum(values**2) - np.sum(count * mean**2)), 0.0) / values.size
        table, levels, error = _nearest_even_table(mean, count)
        own = _steps_of(greys, values)
        own_error = float(np.sum(count * (own - mean) ** 2)) / values.size
        if error > 0.1 + 2 * own_error + 0.02 * spread:
            table, levels = own, float(len(np.unique(own[count > 0])))
        return _table_fit(table, levels)


def even_levels_fit(before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> tuple[Fit, float, float]:
    """Find even levels that a straight line of the grey levels came after."""
    greys = np.clip(np.rint(before[mask]), 0, 255).astype(int)
    count = np.bincount(greys, minlength=256).astype(float)
    mean = np.bincount(greys, after[mask], 256) / np.maximum(count, 1)
    weight = count * ((mean > 0.5) & (mean < 254.5))
    weight = weight if weight.sum() > 0.2 * count.sum() else count
    weight = weight / max(float(weight.sum()), 1.0)
    tables = even_tables(0.0, 255.0)
    centres, target = tables @ weight, float(weight @ mean)
    centred = tables - centres[:, None]
    powers = centred**2 @ weight
    gains = np.divide(centred @ (weight * (mean - target)), powers, out=np.ones_like(powers), where=powers > 1e-6)
    errors = (mean - target - gains[:, None] * centred) ** 2 @ weight
    best = 0
    for number, error in enumerate(errors):  # of tables that do equally well, the first
        if error < errors[best] - 1e-9:
            best = number
    gain = float(gains[best])
    levels = float(COUNTS[best % len(COUNTS)])
    return _table_fit(tables[best], levels), gain, target - gain * float(centres[best])


def levels_before(step: Fit, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> Fit:
    """Find even levels that a known step came after, by trying many."""
    inside = np.flatnonzero(mask)
    target = after.ravel()[inside]

    def fit(trial: tuple[float, str]) -> Fit:
        levels, rule = trial
        return _table_fit(np.rint(evenly(levels, rule, 0.0, 255.0)), float(levels))

    def error(trial: tuple[float, str]) -> float:
        rest = step.apply(fit(trial).apply(before)).ravel()[inside] - target
        return float(rest @ rest)

    without = step.apply(before).ravel()[inside] - target
    rough = {trial: error(trial) for trial in product((*range(2, 9), *_ROUGHCOUNTS), RULES[:2])}
    near, rule = min(rough, key=rough.__getitem__)
    if rough[near, rule] >= _NO_BETTER * float(without @ without):
        return fit((near, rule))  # all levels do worse than none: there is nothing to find more exactly
    whole = [max(round(near) + i, 2) for i in (-1, 0, 1)]
    near, rule = min(product((*whole, *np.clip(near * _NEAR, 2.0, None)), RULES), key=error)
    return fit(min(product((near, *np.clip(near * _NEARER, 2.0, None)), (rule,)), key=error))


def levels_fit(after: np.ndarray, mask: np.ndarray) -> Fit | None:
    """Find the levels of an image from the greys that it has, where rounding to them came last."""
    count = np.bincount(np.clip(np.rint(after[mask]), 0, 255).astype(int), minlength=256)
    present = np.flatnonzero(count)
    if not 2 <= present.size <= _MOST_LEVELS or present.size > 0.6 * (present[-1] - present[0] + 1):
        return None
    ranges = [(0.0, 255.0), (float(present[0]), float(present[-1]))]
    for low, high in ranges:
        for number in range(present.size, _MOST_LEVELS + 1):
            for rule in RULES:
                table = np.rint(evenly(number, rule, low, high))
                if np.isin(present, table).all():
                    return _table_fit(table, float(number))
    borders = (present[1:] + present[:-1]) / 2
    return _table_fit(present[np.searchsorted(borders, np.arange(256))], float(present.size))


def _table_fit(table: np.ndarray, levels: float) -> Fit:
    values = table.astype(np.float32)
    return Fit({"levels": levels}, lambda image: values[np.clip(np.rint(image), 0, 255).astype(int)])


_MOST_LEVELS = 96
_ROUGHCOUNTS, _NEAR, _NEARER = np.geomspace(2.2, 40, 60), np.linspace(0.96, 1.04, 9), np.linspace(0.992, 1.008, 9)
_NO_BETTER = 0.98


def _nearest_even_table(mean: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Of all tables of even levels, the one nearest to the mean grey after each grey; its levels and its error."""
    known = np.flatnonzero(count)
    ranges = [(0.0, 255.0)]
    if known[0] > 0 or known[-1] < 255:
        ranges.append((float(known[0]), float(max(known[-1], known[0] + 1))))

    def errors_of(tables: np.ndarray) -> np.ndarray:
        return np.sum(count * (tables - mean) ** 2, axis=-1)

    ways = [(number, rule, low, high) for low, high in ranges for rule in RULES for number in COUNTS]
    tables = np.concatenate([even_tables(low, high) for low, high in ranges])
    errors = errors_of(tables)
    best = int(errors.argmin())
    (number, rule, low, high), table, error = ways[best], tables[best], errors[best]
    if error > 0.02 * count.sum():  # some programs take steps that leave a fraction of a level
        near = np.linspace(max(number - 1, 2), number + 1, 81)
        finer = np.rint(evenly(near[:, None], rule, low, high))
        errors = errors_of(finer)
        if errors.min() < 0.5 * error:
            best = int(errors.argmin())
            number, table, error = near[best], finer[best], errors[best]
    return table.astype(np.float32), float(number), float(error / count.sum())


def _steps_of(greys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Table of 256 greys: the most frequent grey after each grey; where there is none, that of the nearest one."""
    pairs = np.bincount(greys * 256 + np.clip(np.rint(values), 0, 255).astype(int), minlength=65536)
    table = pairs.reshape(256, 256).argmax(axis=1).astype(np.float32)
    known = np.flatnonzero(np.bincount(greys, minlength=256))
    nearest = np.abs(np.arange(256)[:, None] - known).argmin(axis=1)
    return table[known][nearest]


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
