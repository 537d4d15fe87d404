"""Random labelled copies of a reference, on which the diagnosis learns.

Programs that distort images differ: their kernels, tables, curves and pivots are not ours. So each kind is
drawn from a wide family of implementations, pairs are applied in either order and in unequal shares, and
the error is spread over the whole range that matters. Copies are made of windows only, see
:mod:`llise.diagnosis.window_features`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from PIL import Image
from scipy import fft

from llise.diagnosis.window_features import BLOCK, MARGIN, Windows
from llise.distortions import STANDARD_TABLE, code_jpeg, mse, quantise
from llise.labels import KINDS

SETS: tuple[tuple[str, ...], ...] = (*((kind,) for kind in KINDS), *combinations(KINDS, 2))
"""The 21 sets of kinds that are told apart: six singles and fifteen pairs."""

# Singles come three times as often as pairs: there are fewer sets of them, and they are met more often.
_TURNS = (*range(len(SETS)), *range(len(KINDS)), *range(len(KINDS)))
_BRANCH = 3  # of the tree of seeds; the image sets of the paper have their own

LEAST_TRACE = 0.02
"""Least share of the error that the first part of a pair must still cause after the second."""

Path = Callable[[float], np.ndarray]
Gain = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Sample:
    """A random copy: its windows, the kinds in it, and the error that each contributes."""

    windows: np.ndarray
    kinds: tuple[str, ...]
    parts: dict[str, float]


class Scene:
    """The reference as the random copies need it: windows with a margin, and a small version of the whole.

    Strong blur mixes in what lies far outside a window. So the reference is split into a coarse part, known
    everywhere and blurred as a whole, and the detail of each window, which blur does not carry far.

    Parameters
    ----------
    reference : ndarray of uint8, shape (h, w)
    places : Windows
    """

    def __init__(self, reference: np.ndarray, places: Windows) -> None:
        self.windows = places.cut(reference, MARGIN)
        self.places = places
        self.mean, self.spread = float(reference.mean()), float(reference.std())
        self.middle = float(np.median(reference))
        self.step = max(4, -(-max(reference.shape) // 192))
        padded = np.pad(reference, [(0, -n % self.step) for n in reference.shape], mode="edge")
        self.shape = padded.shape
        small = padded.reshape(self.shape[0] // self.step, self.step, -1, self.step).mean(axis=(1, 3))
        self.spectrum = fft.dctn(small.astype(np.float32), norm="ortho")
        coarse = self.blur_coarse(lambda fy, fx: np.ones((fy.size, fx.size), np.float32))
        self.coarse_spectrum = fft.dctn(coarse, axes=(1, 2), norm="ortho")

    def blur_coarse(self, gain: Gain) -> np.ndarray:
        """Return the windows of the coarse part after a filter."""
        fy, fx = (_frequencies(n) / self.step for n in self.spectrum.shape)
        small = fft.idctn(self.spectrum * gain(fy, fx), norm="ortho")
        return self.places.cut(_enlarged(small, self.step), MARGIN)

    def blur(self, spectrum: np.ndarray, gain: Gain, far: bool) -> np.ndarray:
        """Filter windows, given by their cosine transform; `far` takes in what lies beyond their margin."""
        response = gain(*(_frequencies(n) for n in spectrum.shape[1:]))
        if not far:
            return fft.idctn(spectrum * response, axes=(1, 2), norm="ortho")
        detail = (spectrum - self.coarse_spectrum) * response
        return fft.idctn(detail, axes=(1, 2), norm="ortho") + self.blur_coarse(gain)


def _frequencies(n: int) -> np.ndarray:
    """Angular frequencies of the cosine transform."""
    return np.arange(n, dtype=np.float32) * np.float32(np.pi / n)


def _enlarged(small: np.ndarray, step: int) -> np.ndarray:
    """Interpolate linearly between the centres of cells of `step` pixels."""
    for axis in (0, 1):
        n = small.shape[axis]
        at = np.clip((np.arange(n * step) + 0.5) / step - 0.5, 0, n - 1).astype(np.float32)
        low = np.minimum(at.astype(np.int64), max(n - 2, 0))
        part = (at - low)[:, None] if axis == 0 else at - low
        high = np.minimum(low + 1, n - 1)
        small = np.take(small, low, axis) * (1 - part) + np.take(small, high, axis) * part
    return small


def draw(scene: Scene, kinds: tuple[str, ...], wanted: float, rng: np.random.Generator) -> Sample:
    """Make one random copy of a scene's windows with about the wanted error.

    Parameters
    ----------
    scene : Scene
    kinds : tuple of str
        One kind or two; the order of application is drawn.
    wanted : float
        Mean squared error to aim at; a kind that cannot reach it stops at its end.
    rng : Generator
    """
    windows = scene.windows
    if len(kinds) == 1:
        copy, _ = _apply(kinds[0], scene, windows, windows, wanted, int(rng.integers(2**32)))
        return Sample(copy, kinds, {kinds[0]: mse(windows, copy)})
    if {"contrast", "blur"} & set(kinds):
        # Beyond, next to nothing of the image is left, and either kind alone would do that as well.
        wanted = min(wanted, 0.6 * scene.spread**2)
    first_kind, second_kind = (kinds[i] for i in rng.permutation(2))
    for _ in range(2):
        sample, trace = _draw_pair(scene, (first_kind, second_kind), wanted, rng)
        if trace >= LEAST_TRACE * mse(windows, sample.windows):
            break
        # The second kind has wiped out the first (noise, then strong blur): nobody could name both.
        first_kind, second_kind = second_kind, first_kind
    return Sample(sample.windows, kinds, sample.parts)


def _draw_pair(scene: Scene, order: tuple[str, str], wanted: float, rng: np.random.Generator) -> tuple[Sample, float]:
    """Make a pair, and measure what trace its first part leaves in the end."""
    windows, share = scene.windows, _draw_share(order, rng)
    seeds = rng.integers(2**32, size=2).tolist()
    first, _ = _apply(order[0], scene, windows, windows, wanted * share, seeds[0])
    if rng.random() < 0.5:  # the second part's own error is the rest, or the whole error is the wanted one
        second, strength = _apply(order[1], scene, first, first, wanted * (1 - share), seeds[1])
    else:
        second, strength = _apply(order[1], scene, first, windows, wanted, seeds[1])
    trace = np.inf
    if order[1] in ("blur", "jpeg"):
        path, _ = _FAMILIES[order[1]](scene, windows, np.random.default_rng(seeds[1]))
        trace = mse(second, quantise(path(strength)))
    own = mse(windows, first), mse(first, second)
    return Sample(second, order, dict(zip(order, own))), trace


def _draw_share(order: tuple[str, str], rng: np.random.Generator) -> float:
    """Share of the first kind in the error of a pair."""
    if set(order) == {"contrast", "luminance"}:
        # With less of a shift it would be a contrast change about another pivot.
        shift = rng.uniform(0.38, 0.75)
        return shift if order[0] == "luminance" else 1 - shift
    return rng.uniform(0.25, 0.75)


def _apply(
    kind: str, scene: Scene, image: np.ndarray, reference: np.ndarray, wanted: float, seed: int
) -> tuple[np.ndarray, float]:
    """Distort windows until their error against `reference` is about the wanted one: the copy, its strength."""
    rng = np.random.default_rng(seed)
    path, end = _FAMILIES[kind](scene, image, rng)
    if rng.random() < 0.3:  # programs that dither, or round on the way
        path = _dithered(path, (rng.random(image.shape, dtype=np.float32) - 0.5) * rng.uniform(0.5, 1.5))
    return _walk(path, reference, mse(reference, image), wanted, end)


def _dithered(path: Path, dither: np.ndarray) -> Path:
    def dithered(strength: float) -> np.ndarray:
        copy = path(strength)
        return copy if copy.dtype == np.uint8 else copy + dither

    return dithered


def draw_nth(scene: Scene, number: int, seed: int) -> Sample:
    """Make the copy of this number: its set of kinds by turns, everything else from its own seed."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_BRANCH, number)))
    return draw(scene, SETS[_TURNS[number % len(_TURNS)]], draw_error(rng), rng)


def draw_error(rng: np.random.Generator) -> float:
    """Draw a wanted error: mostly 20 to 1100, a quarter of them 1.5 to 20, evenly in the logarithm."""
    low, high = (1.5, 20.0) if rng.random() < 0.25 else (20.0, 1100.0)
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _walk(path: Path, reference: np.ndarray, start: float, wanted: float, end: float) -> tuple[np.ndarray, float]:
    """Return the copy on the path whose error is about the wanted one: within 8 %, or the nearest of few tries.

    The error starts at `start` and grows about with the square of the strength, which gives the next try;
    where that leaves the bracket known so far, the bracket is halved.
    """
    low, high, at = 0.0, np.inf, 1e-2 * end
    best, nearest, strength = reference, np.inf, 0.0
    for _ in range(10):
        copy = quantise(path(at))
        error = mse(reference, copy)
        miss = abs(np.log((error + 0.05) / (wanted + 0.05)))
        if miss < nearest:
            best, nearest, strength = copy, miss, at
        if nearest < 0.08 or (error < wanted and at >= end):
            break
        low, high = (at, high) if error < wanted else (low, at)
        guess = at * np.sqrt(max(wanted - start, 0.05) / max(error - start, 0.02))
        inside = low * 1.001 < guess < high * 0.999
        at = min(guess if inside else (low + min(high, end)) / 2, end)
    return best, strength


# One family of implementations per kind: (scene, windows, rng) -> (path, its end)


def _contrast(scene: Scene, windows: np.ndarray, rng: np.random.Generator) -> tuple[Path, float]:
    """Straight and S-shaped curves about mid-grey or a pivot near the middle of the image's greys, either way."""
    mean, spread = scene.mean, scene.spread
    pivot = [mean, mean + rng.normal(0, 0.3 * spread), 128.0, scene.middle][rng.integers(4)]
    if pivot != 128.0:  # mid-grey is what programs take, whatever the image; elsewhere far off it is luminance as well
        pivot = float(np.clip(pivot, mean - 0.7 * spread, mean + 0.7 * spread))
    direction = rng.choice([-1.0, 1.0])
    family = (_line, _line, _sigmoid, _logistic)[rng.integers(4)]
    curve, end = family(pivot, direction)
    return lambda strength: curve(strength).astype(np.float32)[windows], end


def _line(pivot: float, direction: float) -> tuple[Path, float]:
    levels = np.arange(256) - pivot
    return lambda strength: pivot + (1 + direction * strength) * levels, 4.0 if direction > 0 else 0.97


def _sigmoid(pivot: float, direction: float) -> tuple[Path, float]:
    """Two powers that meet at the pivot and keep black and white."""
    levels = np.linspace(0, 1, 256)
    p = min(max(pivot / 255, 0.05), 0.95)

    def curve(strength: float) -> np.ndarray:
        power = (1 + strength) ** direction
        below = p * (np.minimum(levels, p) / p) ** power
        above = 1 - (1 - p) * ((1 - np.maximum(levels, p)) / (1 - p)) ** power
        return 255 * np.where(levels < p, below, above)

    return curve, 4.0


def _logistic(pivot: float, direction: float) -> tuple[Path, float]:
    """Logistic curve from black to white, steepest at the pivot, or its inverse function."""
    levels = np.linspace(0, 1, 256)

    def curve(strength: float) -> np.ndarray:
        raw = 1 / (1 + np.exp((strength + 1e-3) * (pivot / 255 - levels)))
        table = (raw - raw[0]) / (raw[-1] - raw[0])
        return 255 * (table if direction > 0 else np.interp(levels, table, levels))

    return curve, 20.0


def _gaussian_noise(scene: Scene, windows: np.ndarray, rng: np.random.Generator) -> tuple[Path, float]:
    noise = rng.standard_normal(windows.shape, dtype=np.float32)
    if rng.random() < 0.15:  # slightly stronger in bright or in dark parts
        noise *= 1 + rng.uniform(-0.4, 0.4) * (windows.astype(np.float32) - 128) / 128
    return lambda strength: windows + np.float32(strength) * noise, 80.0


def _luminance(scene: Scene, windows: np.ndarray, rng: np.random.Generator) -> tuple[Path, float]:
    direction = rng.choice([-1.0, 1.0])
    # Programs shift by whole levels, or spread a fraction of a level over the image in some way.
    uneven = np.zeros(windows.shape, np.float32)
    if rng.random() < 0.4:
        rows = np.linspace(-0.5, 0.5, len(windows) * windows.shape[1], dtype=np.float32)
        uneven += rng.permutation(rows.reshape(len(windows), -1))[:, :, None] * rng.choice([-1, 1])
    return lambda strength: windows + (np.float32(direction * strength) + uneven), 80.0


def _blur(scene: Scene, windows: np.ndarray, rng: np.random.Generator) -> tuple[Path, float]:
    """Low-pass filters of many shapes, as products in the cosine domain (mirrored borders), or resampling."""
    if rng.random() < 0.12:
        return _resampling(windows, rng)
    shape = rng.integers(4)
    power = np.float32(rng.uniform(1.2, 4.0))
    stretch = rng.choice([1.0, 1.0, np.exp(rng.uniform(-0.7, 0.7)), 1e-3, 1e3])  # the last two: along one axis
    narrow = np.float32(min(stretch, 1.0)), np.float32(1 / max(stretch, 1.0))

    def response(r: np.ndarray) -> np.ndarray:
        if shape == 0:  # Gaussian
            return np.exp(-0.5 * r**2)
        if shape == 1:  # a Gaussian with heavier tails
            return 0.6 * np.exp(-0.5 * (0.7 * r) ** 2) + 0.4 * np.exp(-0.5 * (1.7 * r) ** 2)
        if shape == 2:  # exponential kernel
            return (1 + r**2) ** np.float32(-1.5)
        return np.exp(-0.5 * r**power)  # from soft to sharp cut-off

    spectrum = fft.dctn(windows.astype(np.float32), axes=(1, 2), norm="ortho")

    def path(strength: float) -> np.ndarray:
        y, x = (np.float32(strength) * part for part in narrow)
        far = strength > MARGIN / 4
        return scene.blur(spectrum, lambda fy, fx: response(np.hypot(y * fy[:, None], x * fx[None, :])), far)

    return path, 120.0


def _resampling(windows: np.ndarray, rng: np.random.Generator) -> tuple[Path, float]:
    """Made smaller and large again."""
    down = rng.choice([Image.Resampling.BOX, Image.Resampling.BILINEAR, Image.Resampling.LANCZOS])
    up = rng.choice([Image.Resampling.BILINEAR, Image.Resampling.LANCZOS])
    rows, cols = windows.shape[1:]

    def path(strength: float) -> np.ndarray:
        small = max(round(cols / (1 + strength)), 2), max(round(rows / (1 + strength)), 2)
        pictures = (Image.fromarray(window).resize(small, down).resize((cols, rows), up) for window in windows)
        return np.stack([np.asarray(picture) for picture in pictures])

    return path, 24.0


def _impulse_noise(scene: Scene, windows: np.ndarray, rng: np.random.Generator) -> tuple[Path, float]:
    salt = 0.5 if rng.random() < 0.4 else rng.uniform(0.0, 1.0)
    when = rng.random(windows.shape, dtype=np.float32)
    values = np.where(rng.random(windows.shape, dtype=np.float32) < salt, np.uint8(255), np.uint8(0))
    # The error grows with the share of pixels, so the strength is its root.
    return lambda strength: np.where(when < strength**2, values, windows), 0.6


def _jpeg(scene: Scene, windows: np.ndarray, rng: np.random.Generator) -> tuple[Path, float]:
    table = _draw_table(rng)
    m, rows, cols = windows.shape
    tall = windows.reshape(m * rows, cols)
    return lambda strength: code_jpeg(tall, strength * table).reshape(m, rows, cols), 255.0 / table.min()


_FREQUENCY = np.add.outer(np.arange(BLOCK), np.arange(BLOCK))


def _draw_table(rng: np.random.Generator) -> np.ndarray:
    """Draw a quantiser table: the standard's, its chroma's, ramps of many slopes, flat, each a little uneven."""
    shape = rng.integers(4)
    if shape == 0:
        return STANDARD_TABLE
    if shape == 1:
        table = np.minimum(17 * (1 + 0.5 * _FREQUENCY**1.3), 99)
    elif shape == 2:
        table = 16 * (1 + _FREQUENCY * rng.uniform(0.02, 0.5)) ** rng.uniform(0.7, 1.3)
    else:
        table = STANDARD_TABLE ** rng.uniform(0.4, 1.15)
    uneven = np.exp(rng.normal(0, 0.12, (BLOCK, BLOCK)))
    table = table * uneven
    table[0, 0] *= rng.uniform(0.5, 1.1)
    return table * (16 / table[0, 0])


_FAMILIES: dict[str, Callable[[Scene, np.ndarray, np.random.Generator], tuple[Path, float]]] = {
    "contrast": _contrast,
    "gaussian_noise": _gaussian_noise,
    "luminance": _luminance,
    "blur": _blur,
    "impulse_noise": _impulse_noise,
    "jpeg": _jpeg,
}
