"""Blur: every pixel becomes a weighted mean of its surroundings."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import scipy

from llise.kinds.base import Draw, Kind, Path, drawn
from llise.kinds.blur_programs import BlurSettings, blurred
from llise.kinds.blur_search import MARGIN, WINDOW, fields_of, find_blur, trials_of
from llise.kinds.estimation import RESOLUTION, Pair, pair_of
from llise.kinds.fitting import Fit, exact_fit, interval
from llise.kinds.resize import ENLARGING_NAMES, REDUCING_NAMES

WIDEST = 40.0
"""Largest standard deviation that is drawn, in pixels."""


class Blur(Kind):
    """Gaussian blur with mirrored borders; the strength is the standard deviation of the kernel in pixels.

    At random it is one of the ways of :mod:`llise.kinds.blur_programs`: Gaussian, box, disc, motion, trail,
    low-pass filters of other shapes, or a reduction in size and back.
    """

    name = "blur"
    title = short_title = "blur"
    strongest = 256.0
    random = False
    Settings = BlurSettings
    exact = hides = wipes = True
    units: ClassVar = {"angle": ("°", 1.0)} | dict.fromkeys(("sigma", "radius", "length", "size"), (" px", 1.0))
    letter, page_color = "B", "#0072b2"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        # A Gaussian kernel with mirrored borders is a product in the cosine domain:
        # exp(-(strength * frequency)^2 / 2).
        spectrum = scipy.fft.dctn(image.astype(np.float32), norm="ortho")
        rows, cols = (-0.5 * (np.pi * np.arange(n, dtype=np.float32) / n) ** 2 for n in image.shape)

        def path(strength: float) -> np.ndarray:
            square = np.float32(strength) ** 2
            gain = np.exp(square * rows)[:, None] * np.exp(square * cols)
            return scipy.fft.idctn(spectrum * gain, norm="ortho")

        return path

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        name = rng.choice(list(_WAYS), p=[share for share, _ in _WAYS.values()])
        at, end = _WAYS[name][1](rng, image.shape[:2])
        return drawn(self, image, at, end)

    def apply(self, image: np.ndarray, settings: BlurSettings) -> np.ndarray:
        return blurred(image, settings)

    def fit(
        self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: BlurSettings | None = None
    ) -> Fit | None:
        pair = pair_of(reference, copy, mask)
        if pair is None or min(mask.shape) < 8:
            return None
        settings, near = find_blur(pair, start)
        settings, intervals = _polished(pair.plane().inside(MARGIN).cut(WINDOW, MARGIN), settings, near)
        return exact_fit(self, settings, intervals)


def _polished(
    part: Pair, settings: BlurSettings, near: list[BlurSettings]
) -> tuple[BlurSettings, dict[str, tuple[float, float]]]:
    """The settings after Gauss-Newton steps, and intervals of the words; others that are about as near are in them."""
    words = settings.words()
    if settings.way == "resampled":
        step = 0.5 * settings.size / min(settings.small)
        return settings, {"factor": (settings.size - step, settings.size + step)}
    if settings.way == "boxes":
        return settings, {name: (value - 0.5, value + 0.5) for name, value in words.items()}
    settings, deviations = trials_of(part).polished(settings, fields_of(settings), 3)
    relative, found = deviations["size"] / settings.size, {}
    for name, value in settings.words().items():
        found[name] = interval(value, deviations["angle"] if name == "angle" else relative * value, RESOLUTION * value)
    others = [one.sigma() for one in near if one.way != "resampled"]
    if "sigma" in found:
        found["sigma"] = min([found["sigma"][0], *others]), max([found["sigma"][1], *others])
    return settings, found


Way = tuple[Callable[[float], BlurSettings], float]
"""Settings by strength, and the strength at which they end."""


def _border(rng: np.random.Generator) -> str:
    return str(rng.choice(["reflect", "nearest", "mirror", "constant"], p=[0.4, 0.3, 0.2, 0.1]))


def _linear(rng: np.random.Generator) -> bool:
    return bool(rng.random() < 0.12)


def _gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Way:
    border, linear, cut = _border(rng), _linear(rng), float(rng.choice([4.0, 4.0, 3.0, 2.5]))
    return lambda s: BlurSettings("gaussian", max(s, 0.05), shape=cut, border=border, linear=linear), WIDEST


def _pillow_gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Way:
    return lambda s: BlurSettings("pillow_gaussian", s), WIDEST


def _elliptic(rng: np.random.Generator, shape: tuple[int, ...]) -> Way:
    stretch, border, linear = float(np.exp(rng.uniform(-1.2, -0.1))), _border(rng), _linear(rng)
    angle = float(rng.choice([0.0, 90.0])) if rng.random() < 0.4 else float(rng.uniform(0, 180))
    return lambda s: BlurSettings("elliptic", max(s, 0.05), stretch, angle, border=border, linear=linear), 20.0


def _low_pass(rng: np.random.Generator, shape: tuple[int, ...]) -> Way:
    way, power = str(rng.choice(["heavy", "exponential", "cut_off"])), float(rng.uniform(1.2, 4.0))
    stretch = float(np.exp(rng.uniform(-0.7, 0.0))) if rng.random() < 0.2 else 1.0
    return lambda s: BlurSettings(way, s, stretch, shape=power), WIDEST


def _box(rng: np.random.Generator, shape: tuple[int, ...]) -> Way:
    border, linear = _border(rng), _linear(rng)
    return lambda s: BlurSettings("box", 1 + s, border=border, linear=linear), 60.0


def _pillow_box(rng: np.random.Generator, shape: tuple[int, ...]) -> Way:
    return lambda s: BlurSettings("pillow_box", s), 30.0


def _boxes(rng: np.random.Generator, shape: tuple[int, ...]) -> Way:
    """Boxes of whole pixels one after the other; an even side moves the picture by half a pixel."""
    count, border, odd = int(rng.choice([1, 1, 2, 3])), _border(rng), rng.random() < 0.7
    count = 1 if not odd else count

    def side(s: float) -> int:
        return 2 * max(round(s / 2), 1) + 1 if odd else 2 * max(round(s / 2), 1)

    return lambda s: BlurSettings("boxes", float(side(s)), shape=float(count), border=border), 40.0


def _disc(rng: np.random.Generator, shape: tuple[int, ...]) -> Way:
    border, linear = _border(rng), bool(rng.random() < 0.3)
    return lambda s: BlurSettings("disc", 0.5 + s, border=border, linear=linear), 30.0


def _motion(rng: np.random.Generator, shape: tuple[int, ...]) -> Way:
    """Mean along a line; a third of the lines are horizontal, vertical or diagonal."""
    angle = float(rng.choice([0, 45, 90, 135])) if rng.random() < 1 / 3 else float(rng.uniform(0, 180))
    border, linear = _border(rng), _linear(rng)
    return lambda s: BlurSettings("motion", 1 + s, angle=angle, border=border, linear=linear), 60.0


def _trail(rng: np.random.Generator, shape: tuple[int, ...]) -> Way:
    angle, fading, border = float(rng.uniform(0, 360)), float(rng.uniform(0.0, 3.0)), _border(rng)
    return lambda s: BlurSettings("trail", 1 + s, angle=angle, shape=fading, border=border), 40.0


def _resampled(rng: np.random.Generator, shape: tuple[int, ...]) -> Way:
    """Make the image smaller, then enlarge it to the size it had."""
    reducing, enlarging = str(rng.choice(REDUCING_NAMES)), str(rng.choice(ENLARGING_NAMES))

    def at(s: float) -> BlurSettings:
        small = max(round(shape[0] / (1 + s)), 2), max(round(shape[1] / (1 + s)), 2)
        factor = float(np.sqrt(np.prod(shape) / np.prod(small)))
        return BlurSettings("resampled", factor, small=small, reducing=reducing, enlarging=enlarging)

    return at, 24.0


_WAYS: dict[str, tuple[float, Callable[[np.random.Generator, tuple[int, ...]], Way]]] = {
    "gaussian": (0.29, _gaussian),
    "pillow_gaussian": (0.08, _pillow_gaussian),
    "elliptic": (0.06, _elliptic),
    "low_pass": (0.08, _low_pass),
    "box": (0.05, _box),
    "pillow_box": (0.04, _pillow_box),
    "boxes": (0.05, _boxes),
    "disc": (0.07, _disc),
    "motion": (0.08, _motion),
    "trail": (0.03, _trail),
    "resampled": (0.17, _resampled),
}
"""How often each way is drawn."""
