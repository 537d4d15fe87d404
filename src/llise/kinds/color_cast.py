"""Colour cast: red, green and blue are multiplied by different gains, or move by different offsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from llise.colours import TO_RGB
from llise.kinds.base import Draw, Path, drawn
from llise.kinds.cast_fit import CHANNELS, ONES, ZEROS, ColorCastSettings, Three, find_cast
from llise.kinds.color_base import ColorKind
from llise.kinds.fitting import Fit, as_bytes, exact_fit
from llise.kinds.programs import draw_rounding, draw_seed, finish, from_light, to_light


class ColorCast(ColorKind):
    """A warmer (direction 1) or colder (direction -1) image; the reported strength is the gain of red.

    Blue gets the inverse of the gain of red, and green stays. At random, the gains or the offsets of the channels are
    any that differ. Parameters of a draw are ``red_gain``, ``green_gain`` and ``blue_gain``, or ``red_offset`` and so
    on in grey levels.
    """

    name = "color_cast"
    title = short_title = "colour cast"
    strongest = 20.0
    two_sided = True
    random = False
    Settings = ColorCastSettings
    exact = needs_color = True
    units: ClassVar = {"mired": (" mired", 1.0)} | {f"{channel}_offset": (" levels", 1.0) for channel in CHANNELS}
    letter, page_color = "K", "#5d8aa8"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        base = image.astype(np.float32)
        return lambda strength: base * _warm(strength, direction)

    def reported_strength(self, strength: float, direction: int = 1) -> float:
        return float(_warm(strength, direction)[0])

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        settings, end = _draw_cast(rng)
        rounding, seed = draw_rounding(rng), draw_seed(rng)

        def at(strength: float) -> ColorCastSettings:
            gains, offsets, gammas, light = settings(strength)
            return ColorCastSettings(_three(gains), _three(offsets), _three(gammas), light, rounding, seed)

        return drawn(self, image, at, end)

    def apply(self, image: np.ndarray, settings: ColorCastSettings) -> np.ndarray:
        if image.ndim == 2:
            return image.copy()
        return finish(cast(image, settings), settings.rounding, settings.seed)

    def fit(self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: object = None) -> Fit | None:
        if reference.ndim == 2 or np.count_nonzero(mask) < 8:
            return None
        settings, intervals = find_cast(as_bytes(reference)[mask], copy[mask])
        return exact_fit(self, settings, intervals)


def _three(values: np.ndarray | Three) -> Three:
    red, green, blue = (float(value) for value in values)
    return red, green, blue


def cast(image: np.ndarray, settings: ColorCastSettings) -> np.ndarray:
    """Colours with a cast, neither rounded nor clipped."""
    base = image.astype(np.float32)
    if settings.gammas != ONES:
        base = np.float32(255) * (np.clip(base, 0, 255) / np.float32(255)) ** np.array(settings.gammas, np.float32)
    if settings.light:
        base = from_light(to_light(base) * np.array(settings.gains, np.float32))
    elif settings.gains != ONES:
        base = base * np.array(settings.gains, np.float32)
    return base + np.array(settings.offsets, np.float32)


Cast = tuple[np.ndarray | Three, np.ndarray | Three, np.ndarray | Three, bool]


def _draw_cast(rng: np.random.Generator) -> tuple[Callable[[float], Cast], float]:
    """Gains, offsets, powers and whether they are of the light, by strength; and the strength at which it ends."""
    way = rng.choice(8, p=[0.14, 0.2, 0.15, 0.15, 0.1, 0.1, 0.1, 0.06])
    direction = int(rng.choice([-1, 1]))
    shift = rng.uniform(-1, 1, 3)
    shift[rng.integers(3)] = 0.0
    shift /= max(np.abs(shift).max(), 0.1)
    light = bool(rng.random() < 0.3)
    if way == 0:
        return lambda s: (_warm(s, direction), ZEROS, ONES, False), 2.0
    if way == 1:  # another temperature of the light, in which green stays

        def temperature(strength: float) -> np.ndarray:
            white = _white(1e6 / (1e6 / 6504 + (strength if direction > 0 else -0.4 * strength))) / _white(6504.0)
            return (white / white[1]) ** (2.2 if light else 1.0)

        return lambda s: (temperature(s), ZEROS, ONES, light), 250.0
    if way == 2:
        return lambda s: (ONES, s * shift, ONES, False), 80.0
    if way == 3:
        return lambda s: (np.exp(s * shift), ZEROS, ONES, light), 1.5
    if way == 4:
        return lambda s: (ONES, ZEROS, np.exp(s * shift), False), 1.5
    if way == 5:  # a filter of one colour over the picture
        colour = rng.permutation([rng.uniform(150, 255), rng.uniform(0, 255), rng.uniform(0, 120)])
        return lambda s: (np.full(3, 1 - s), s * colour, ONES, False), 0.7
    if way == 6:  # the mean of the chroma planes moves
        angle = rng.uniform(0, 2 * np.pi)
        move = TO_RGB[:, 1:] @ np.array([np.cos(angle), np.sin(angle)])
        return lambda s: (ONES, s * move, ONES, False), 60.0
    low, high = rng.uniform(0, 60, 3), rng.uniform(0, 60, 3)  # black and white of each channel apart

    def stretched(strength: float) -> Cast:
        gains = 255 / (255 - strength * (low + high))
        return gains, -gains * strength * low, ONES, False

    return stretched, 1.0


def _warm(strength: float, direction: int) -> np.ndarray:
    gain = (1 + strength) ** direction
    return np.array([gain, 1.0, 1 / gain], np.float32)


def _white(kelvin: float) -> np.ndarray:
    """Red, green and blue, with the transfer curve of sRGB (as a power of 1 / 2.2), of a black body."""
    t = 1e3 / kelvin
    if kelvin <= 4000:
        x = -0.2661239 * t**3 - 0.2343589 * t**2 + 0.8776956 * t + 0.179910
    else:
        x = -3.0258469 * t**3 + 2.1070379 * t**2 + 0.2226347 * t + 0.240390
    if kelvin <= 2222:
        y = -1.1063814 * x**3 - 1.34811020 * x**2 + 2.18555832 * x - 0.20219683
    elif kelvin <= 4000:
        y = -0.9549476 * x**3 - 1.37418593 * x**2 + 2.09137015 * x - 0.16748867
    else:
        y = 3.0817580 * x**3 - 5.87338670 * x**2 + 3.75112997 * x - 0.37001483
    xyz = np.array([x / y, 1.0, (1 - x - y) / y])
    matrix = [[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]]
    return np.maximum(np.array(matrix) @ xyz, 1e-3) ** (1 / 2.2)
