"""Which few levels or colours a copy was made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from llise.kinds.curve_fit import SAMPLE, Levels
from llise.kinds.fitting import Fit, as_bytes
from llise.kinds.posterizing import COUNTS, METHODS, RULES, QuantizationSettings, even_tables, evenly, posterized
from llise.kinds.programs import plane_of

MOST_LEVELS, MOST_COLORS = 64, 256
NEAR = 1.05, 0.05
"""How much worse, as a factor and in squared levels, what is tried first may be than what is tried later."""


@dataclass(frozen=True, eq=False)
class Trial:
    """Settings, their mean squared error, the interval of their word, and the noise of a dither that is not known."""

    settings: QuantizationSettings
    error: float
    interval: tuple[float, float]
    noise: Callable[[np.ndarray], np.ndarray] | None = None


def fit_quantization(reference: np.ndarray, copy: np.ndarray, mask: np.ndarray) -> Fit | None:
    """The simplest settings that come about as near as any."""
    if np.count_nonzero(mask) < 8:
        return None
    image = as_bytes(reference)
    before, after = (pixels[mask].reshape(np.count_nonzero(mask), -1) for pixels in (image, copy.astype(np.float32)))
    trials = [_even(before, after)]
    total = float(np.mean((after - before) ** 2))
    good = 0.02 * total + NEAR[1]
    if trials[0].error > good:
        trials += _ordered(image, copy, mask, after) + _planes(image, copy, mask) + _bits(before, after)
    if min(trial.error for trial in trials) > good:
        dithered = _dithered(before, after)
        trials += dithered + _palettes(image, copy, mask, before, after, not dithered) + _steps(before, after)
    least = min(trial.error for trial in trials)
    best = next(trial for trial in trials if trial.error <= NEAR[0] * least + NEAR[1])
    words = dict.fromkeys(best.settings.words(), best.interval)
    if best.noise is not None:
        return Fit(best.settings.words(), settings=best.settings, intervals=words, noise=best.noise)

    def apply(picture: np.ndarray) -> np.ndarray:
        return posterized(as_bytes(picture), best.settings).astype(np.float32)

    return Fit(best.settings.words(), apply, settings=best.settings, intervals=words)


def _even(before: np.ndarray, after: np.ndarray) -> Trial:
    """Even levels between black and white, or between the ends of the picture."""
    levels = Levels.of(before, after)
    size = float(levels.count.sum())
    inside = float(levels.count @ levels.variance) / size
    known = np.flatnonzero(levels.count)
    best: Trial | None = None
    for low, high in dict.fromkeys([(0.0, 255.0), (float(known[0]), float(max(known[-1], known[0] + 1)))]):
        errors = (even_tables(low, high) - levels.mean) ** 2 @ levels.count / size
        trial = _nearest_even(levels, errors, low, high, inside)
        if best is None or trial.error < 0.8 * best.error - NEAR[1]:
            best = trial
    assert best is not None
    return best


def _nearest_even(levels: Levels, errors: np.ndarray, low: float, high: float, inside: float) -> Trial:
    size = float(levels.count.sum())
    at = int(errors.argmin())
    count, rule, error = float(COUNTS[at % len(COUNTS)]), RULES[at // len(COUNTS)], float(errors[at])
    near = [COUNTS[i % len(COUNTS)] for i in np.flatnonzero(errors <= NEAR[0] * error + NEAR[1])]
    if error > 0.02:  # some programs take steps that leave a fraction of a level
        finer = np.linspace(max(count - 1, 2), count + 1, 81)
        fine_errors = (np.rint(evenly(finer[:, None], rule, low, high)) - levels.mean) ** 2 @ levels.count / size
        if fine_errors.min() < 0.5 * error:
            error, count = float(fine_errors.min()), float(finer[fine_errors.argmin()])
            near = finer[fine_errors <= NEAR[0] * error + NEAR[1]].tolist()
    settings = QuantizationSettings(count, "even", rule, low, high)
    return Trial(settings, error + inside, (float(min(near)) - 0.02, float(max(near)) + 0.02))


def _ordered(image: np.ndarray, copy: np.ndarray, mask: np.ndarray, after: np.ndarray) -> list[Trial]:
    """Even levels with Bayer's matrix, whose number the levels of the copy tell."""
    count = _even_count(after)
    if count is None:
        return []
    ways = [QuantizationSettings(float(count), "even", dither="ordered")]
    bits = int(np.log2(count))
    if count == 2**bits:
        ways += [
            QuantizationSettings(float(count), "bits", rule, bits=(bits, bits, bits), dither="ordered")
            for rule in ("repeated", "zero", "middle")
        ]
    return [_tried(image, copy, mask, way, (count - 0.5, count + 0.5)) for way in ways]


def _even_count(after: np.ndarray) -> int | None:
    """Least number of even levels, of any rule, that all levels of a copy are among; None if they are too many."""
    present = np.flatnonzero(np.bincount(np.rint(after).astype(np.intp).ravel(), minlength=256))
    if len(present) > MOST_LEVELS or len(present) < 2:
        return None
    for count in range(len(present), MOST_LEVELS + 1):
        for rule in RULES:
            if np.isin(present, np.rint(evenly(float(count), rule, 0.0, 255.0))).all():
                return count
    return None


def _tried(
    image: np.ndarray, copy: np.ndarray, mask: np.ndarray, settings: QuantizationSettings, interval: tuple[float, float]
) -> Trial:
    error = float(np.mean((posterized(image, settings)[mask].astype(np.float32) - copy[mask]) ** 2))
    return Trial(settings, error, interval)


def _planes(image: np.ndarray, copy: np.ndarray, mask: np.ndarray) -> list[Trial]:
    """Even levels of one plane of the colours."""
    if image.ndim == 2 or (image[..., :1] == image[..., 1:]).all():
        return []
    step = -(-np.count_nonzero(mask) // SAMPLE)
    x, y = image[mask][::step, None], copy[mask].astype(np.float32)[::step, None]
    trials = []
    for plane in ("luma", "value", "lightness"):
        found = _even(np.rint(plane_of(x, plane)), plane_of(y, plane))
        for each in (plane, "ycbcr") if plane == "luma" else (plane,):
            settings = replace(found.settings, plane=each)
            trials.append(Trial(settings, float(np.mean((posterized(x, settings) - y) ** 2)), found.interval))
    return trials


def _bits(before: np.ndarray, after: np.ndarray) -> list[Trial]:
    """Low bits cut off, of one channel more than of another."""
    if before.shape[1] < 3:
        return []
    trials = []
    for rule in ("zero", "middle", "repeated"):
        left, errors = [], []
        for channel in range(3):
            x, y = before[:, channel], after[:, channel]
            levels = Levels.of(x, y)
            size = float(levels.count.sum())
            grey = np.arange(256, dtype=np.uint8)[:, None]
            tables = [
                posterized(grey, QuantizationSettings(0.0, "bits", rule, bits=(bits, 8, 8)))[:, 0]
                for bits in range(1, 9)
            ]
            misses = [float(levels.count @ (table - levels.mean) ** 2) / size for table in tables]
            left.append(int(np.argmin(misses)) + 1)
            errors.append(min(misses) + float(levels.count @ levels.variance) / size)
        settings = QuantizationSettings(2.0 ** min(left), "bits", rule, bits=(left[0], left[1], left[2]))
        trials.append(Trial(settings, float(np.mean(errors)), (settings.levels - 0.5, settings.levels + 0.5)))
    return trials


def _colors(after: np.ndarray) -> np.ndarray | None:
    """The colours of a copy (n, channels), the most frequent first; None if they are more than a palette has."""
    whole = np.rint(after).astype(np.uint32)
    codes = whole[:, 0] if whole.shape[1] == 1 else (whole[:, 0] << 16) + (whole[:, 1] << 8) + whole[:, 2]
    few = np.unique(codes[:: max(len(codes) // 2000, 1)])
    if len(few) > MOST_COLORS:
        return None
    codes, counts = np.unique(codes, return_counts=True)
    if not 2 <= len(codes) <= MOST_COLORS:
        return None
    codes = codes[np.argsort(-counts)]
    if whole.shape[1] == 1:
        return np.repeat(codes[:, None], 3, axis=1)
    return np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=1)


def _palettes(
    image: np.ndarray, copy: np.ndarray, mask: np.ndarray, before: np.ndarray, after: np.ndarray, dither: bool
) -> list[Trial]:
    """The palette that the copy shows, and those that Pillow would choose if the picture is whole."""
    colors = _colors(after)
    if colors is None or (_colors(before) is not None and len(_colors(before)) <= len(colors)):  # type: ignore[arg-type]
        return []
    count = len(colors)
    palette = tuple((int(red), int(green), int(blue)) for red, green, blue in colors)
    interval = (count - 0.5, max(1.3 * count, 2.0 ** np.ceil(np.log2(count))) + 0.5)
    shown = QuantizationSettings(float(count), "palette", palette=palette)
    trials = [_tried(image, copy, mask, shown, interval)]
    if mask.all():
        ways = [QuantizationSettings(float(count), "palette", method=method) for method in METHODS]
        exact = [_tried(image, copy, mask, way, interval) for way in ways]  # a method may choose fewer than it may
        trials = [trial for trial in exact if trial.error == 0] + trials
    if dither and trials[0].error > 0.1 * float(np.mean((after - before) ** 2)):
        trials += [_palette_noise(image, mask, after, shown, interval)]
    return trials


def _palette_noise(
    image: np.ndarray, mask: np.ndarray, after: np.ndarray, shown: QuantizationSettings, interval: tuple[float, float]
) -> Trial:
    """Dither between the colours of a palette, whose error is some times that of the nearest colour."""
    nearest = posterized(image, shown)[mask].astype(np.float32).reshape(after.shape)
    base = image[mask].astype(np.float32).reshape(after.shape)
    total, least = float(np.mean((after - base) ** 2)), float(np.mean((nearest - base) ** 2))
    times = min(total / max(least, 1e-3), 8.0)

    def noise(picture: np.ndarray) -> np.ndarray:
        return np.float32(times) * (posterized(as_bytes(picture), shown) - picture) ** 2

    return Trial(replace(shown, dither="floyd"), abs(total - times * least) + 0.03 * total, interval, noise)


def _steps(before: np.ndarray, after: np.ndarray) -> list[Trial]:
    """The most frequent level after each level, of each channel: levels that were fitted to the picture."""
    tables, counts, errors = [], [], []
    for channel in range(before.shape[1]):
        x, y = before[:, channel].astype(np.intp), np.clip(np.rint(after[:, channel]), 0, 255).astype(np.intp)
        pairs = np.bincount(x * 256 + y, minlength=65536).reshape(256, 256)
        known = np.flatnonzero(pairs.any(axis=1))
        table = pairs.argmax(axis=1)
        errors.append(float(np.mean((table[x] - after[:, channel]) ** 2)))
        counts.append(len(np.unique(table[known])))
        if counts[-1] > 0.4 * len(known) + 1:
            return []
        tables.append(table[known[np.abs(np.arange(256)[:, None] - known).argmin(axis=1)]])
    count = float(max(counts))
    settings = QuantizationSettings(count, "table", table=tuple(int(level) for level in np.concatenate(tables)))
    error = float(np.mean(errors)) * (1 + count / 64) + 0.1 * count / 64
    return [Trial(settings, error, (count - 0.5, 1.5 * count + 2))]


def _dithered(before: np.ndarray, after: np.ndarray) -> list[Trial]:
    """Even levels with errors that were spread to neighbours, or dithered by chance: only their power is known."""
    count = _even_count(after)
    if count is None or count > 48:
        return []
    levels = np.linspace(0, 255, count)
    total = float(np.mean((after - before) ** 2))

    def noise(picture: np.ndarray) -> np.ndarray:
        above = np.clip(np.searchsorted(levels, picture, side="right"), 1, count - 1)
        return np.maximum((picture - levels[above - 1]) * (levels[above] - picture), 0).astype(np.float32)

    expected = float(np.mean(noise(before.astype(np.float32))))
    settings = QuantizationSettings(float(count), "even", dither="floyd")
    if not np.isin(np.unique(np.rint(after)), np.rint(levels)).all():
        return []
    return [Trial(settings, abs(total - expected) + 0.03 * total, (count - 0.5, count + 0.5), noise)]
