"""Random labelled copies of a reference, on which the diagnosis learns.

Programs that distort images differ: their kernels, tables, curves and pivots are not ours. So each kind is
drawn from a wide family of implementations, pairs are applied in either order and in unequal shares, and
the error is spread over the whole range that matters. Copies are made of windows only, see
:mod:`llise.statistics`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import fft

from llise.distortions import STANDARD_TABLE, code_jpeg, mse, quantise
from llise.labels import KINDS
from llise.statistics import BLOCK

SETS: tuple[tuple[str, ...], ...] = (*((kind,) for kind in KINDS), *combinations(KINDS, 2))
"""The 21 sets of kinds that are told apart: six singles and fifteen pairs."""

# Singles come three times as often as pairs: there are fewer sets of them, and they are met more often.
_TURNS = (*range(len(SETS)), *range(len(KINDS)), *range(len(KINDS)))
_BRANCH = 3  # of the tree of seeds; the image sets of the paper have their own

Path = Callable[[float], np.ndarray]


@dataclass(frozen=True, eq=False)
class Sample:
    """A random copy: its windows, the kinds in it, and the error that each contributes."""

    windows: np.ndarray
    kinds: tuple[str, ...]
    parts: dict[str, float]


def draw(windows: np.ndarray, kinds: tuple[str, ...], wanted: float, rng: np.random.Generator) -> Sample:
    """Make one random copy of a stack of 8-bit windows with about the wanted error.

    Parameters
    ----------
    windows : ndarray of uint8, shape (m, h, w)
        The reference's windows, sides multiples of 8.
    kinds : tuple of str
        One kind or two; the order of application is drawn.
    wanted : float
        Mean squared error to aim at; a kind that cannot reach it stops at its end.
    rng : Generator
    """
    order = [kinds[i] for i in rng.permutation(len(kinds))]
    if len(order) == 1:
        copy = _apply(order[0], windows, windows, wanted, rng)
        return Sample(copy, kinds, {order[0]: mse(windows, copy)})
    first_share = _draw_share(order, rng)
    first = _apply(order[0], windows, windows, wanted * first_share, rng)
    second = _apply(order[1], first, windows, wanted, rng)
    errors = mse(windows, first), mse(windows, second)
    return Sample(second, kinds, {order[0]: errors[0], order[1]: max(errors[1] - errors[0], 0.0)})


def _draw_share(order: list[str], rng: np.random.Generator) -> float:
    """Share of the first kind in the error of a pair."""
    if set(order) == {"contrast", "luminance"}:
        # With less of a shift it would be a contrast change about another pivot.
        shift = rng.uniform(0.38, 0.75)
        return shift if order[0] == "luminance" else 1 - shift
    return rng.uniform(0.25, 0.75)


def _apply(kind: str, image: np.ndarray, reference: np.ndarray, wanted: float, rng: np.random.Generator) -> np.ndarray:
    path, end = _FAMILIES[kind](image, rng)
    return _walk(path, reference, mse(reference, image), wanted, end)


def draw_nth(windows: np.ndarray, number: int, seed: int) -> Sample:
    """Make the copy of this number: its set of kinds by turns, everything else from its own seed."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_BRANCH, number)))
    return draw(windows, SETS[_TURNS[number % len(_TURNS)]], draw_error(rng), rng)


def draw_error(rng: np.random.Generator) -> float:
    """Draw a wanted error: mostly 20 to 1100, a quarter of them 1.5 to 20, evenly in the logarithm."""
    low, high = (1.5, 20.0) if rng.random() < 0.25 else (20.0, 1100.0)
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _walk(path: Path, reference: np.ndarray, start: float, wanted: float, end: float) -> np.ndarray:
    """Return the copy on the path whose error is about the wanted one: within 8 %, or the nearest of few
    tries.

    The error starts at `start` and grows about with the square of the strength, which gives the next try;
    where that leaves the bracket known so far, the bracket is halved.
    """
    low, high, at = 0.0, np.inf, 1e-2 * end
    best, nearest = None, np.inf
    for _ in range(10):
        copy = quantise(path(at))
        error = mse(reference, copy)
        miss = abs(np.log((error + 0.05) / (wanted + 0.05)))
        if miss < nearest:
            best, nearest = copy, miss
        if nearest < 0.08 or (error < wanted and at >= end):
            break
        low, high = (at, high) if error < wanted else (low, at)
        guess = at * np.sqrt(max(wanted - start, 0.05) / max(error - start, 0.02))
        inside = low * 1.001 < guess < high * 0.999
        at = min(guess if inside else (low + min(high, end)) / 2, end)
    assert best is not None
    return best


# One family of implementations per kind: (windows, rng) -> (path, its end)


def _contrast(windows: np.ndarray, rng: np.random.Generator) -> tuple[Path, float]:
    """Straight and S-shaped curves about a pivot near the middle of the image's greys, either way."""
    mean, spread = float(windows.mean()), float(windows.std())
    pivot = [mean, mean + rng.normal(0, 0.3 * spread), 128.0, float(np.median(windows))][rng.integers(4)]
    # Farther away, a contrast change is a shift of luminance as well and no more a single distortion.
    pivot = float(np.clip(pivot, mean - 0.7 * spread, mean + 0.7 * spread))
    direction = rng.choice([-1.0, 1.0])
    curve, end = (_line if rng.random() < 0.55 else _sigmoid)(pivot, direction)
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


def _gaussian_noise(windows: np.ndarray, rng: np.random.Generator) -> tuple[Path, float]:
    noise = rng.standard_normal(windows.shape, dtype=np.float32)
    if rng.random() < 0.15:  # slightly stronger in bright or in dark parts
        noise *= 1 + rng.uniform(-0.4, 0.4) * (windows.astype(np.float32) - 128) / 128
    return lambda strength: windows + np.float32(strength) * noise, 80.0


def _luminance(windows: np.ndarray, rng: np.random.Generator) -> tuple[Path, float]:
    direction = rng.choice([-1.0, 1.0])
    # Programs shift by whole levels; some by fractions, which rounding turns into whole ones.
    return lambda strength: windows + np.float32(direction * strength), 80.0


def _blur(windows: np.ndarray, rng: np.random.Generator) -> tuple[Path, float]:
    """Low-pass filters of many shapes, as products in the cosine domain (mirrored borders)."""
    spectrum = fft.dctn(windows.astype(np.float32), axes=(1, 2), norm="ortho")
    fy, fx = (np.arange(n, dtype=np.float32) * np.float32(np.pi / n) for n in windows.shape[1:])
    shape = rng.integers(4)
    power = rng.uniform(1.2, 4.0)
    stretch = np.exp(rng.uniform(-0.6, 0.6)) if rng.random() < 0.3 else 1.0
    radius = np.hypot(fy[:, None] * np.float32(stretch), fx[None, :] / np.float32(stretch))

    def gain(strength: float) -> np.ndarray:
        r = np.float32(strength) * radius
        if shape == 0:  # Gaussian
            return np.exp(-0.5 * r**2)
        if shape == 1:  # a Gaussian with heavier tails
            return 0.6 * np.exp(-0.5 * (0.7 * r) ** 2) + 0.4 * np.exp(-0.5 * (1.7 * r) ** 2)
        if shape == 2:  # exponential kernel
            return (1 + r**2) ** np.float32(-1.5)
        return np.exp(-0.5 * r ** np.float32(power))  # from soft to sharp cut-off

    return lambda strength: fft.idctn(spectrum * gain(strength), axes=(1, 2), norm="ortho"), 24.0


def _impulse_noise(windows: np.ndarray, rng: np.random.Generator) -> tuple[Path, float]:
    salt = 0.5 if rng.random() < 0.4 else rng.uniform(0.0, 1.0)
    when = rng.random(windows.shape, dtype=np.float32)
    values = np.where(rng.random(windows.shape, dtype=np.float32) < salt, np.uint8(255), np.uint8(0))
    # The error grows with the share of pixels, so the strength is its root.
    return lambda strength: np.where(when < strength**2, values, windows), 0.6


def _jpeg(windows: np.ndarray, rng: np.random.Generator) -> tuple[Path, float]:
    table = _draw_table(rng)
    m, rows, cols = windows.shape
    tall = windows.reshape(m * rows, cols)
    return lambda strength: code_jpeg(tall, strength * table).reshape(m, rows, cols), 255.0 / table.min()


_FREQUENCY = np.add.outer(np.arange(BLOCK), np.arange(BLOCK))


def _draw_table(rng: np.random.Generator) -> np.ndarray:
    """Draw a quantiser table: the standard's, its chroma's, ramps of many slopes, flat, each a little
    uneven."""
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


_FAMILIES: dict[str, Callable[[np.ndarray, np.random.Generator], tuple[Path, float]]] = {
    "contrast": _contrast,
    "gaussian_noise": _gaussian_noise,
    "luminance": _luminance,
    "blur": _blur,
    "impulse_noise": _impulse_noise,
    "jpeg": _jpeg,
}
