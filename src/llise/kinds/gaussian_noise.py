"""Gaussian noise: an independent normal number is added to every pixel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Unpack

import numpy as np

from llise.colours import TO_RGB
from llise.kinds.base import Draw, GreyStatistics, Kind, Path, drawn
from llise.kinds.fitting import Fit, residual_power
from llise.kinds.limits import LIMITS
from llise.kinds.programs import CHROMA_SPREAD, draw_rounding, draw_seed, finish, from_light, to_light, unit_noise

_LIGHT_SLOPE = 1.075
"""Change of the level 128 of sRGB, as a share of 255, for a small change of the light as a share of white."""


@dataclass(frozen=True)
class GaussianNoiseSettings:
    """Noise of one deviation: in each channel, in luma and chroma, or `common` to the channels in a share of its power.

    `rows` repeats one line of noise at random places, as ffmpeg does; `pattern` is its pattern of every second column.
    `growth` is "even", a `tilt` of the deviation with the grey level, the "middle" of the levels, as ffmpeg's average,
    or "light" for noise that is added to the light. The deviation is that at mid-grey.
    """

    sigma: float
    seed: int = 0
    law: str = "normal"
    common: float = 0.0
    space: str = "rgb"
    growth: str = "even"
    tilt: float = 0.0
    rows: bool = False
    pattern: float = 0.0
    whole: bool = False
    rounding: str = "nearest"

    def words(self) -> dict[str, float]:
        spread = float(1 + CHROMA_SPREAD.mean()) if self.space != "rgb" else 1.0
        return {"sigma": self.sigma * spread**0.5}


class GaussianNoise(Kind):
    """Additive white Gaussian noise; the strength is its standard deviation in grey levels.

    At random, one draw in seven has noise that is a little stronger in the bright or in the dark parts. The
    parameter of a draw is ``sigma``, the standard deviation over the image before clipping.
    """

    name = "gaussian_noise"
    title = "Gaussian noise"
    short_title = "Gaussian noise"
    strongest = 1e4
    Settings = GaussianNoiseSettings
    exact = True
    units: ClassVar = {"sigma": (" grey levels", 1.0)}
    limit = LIMITS["gaussian_noise"]
    letter, page_color = "G", "#56b4e9"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _added(image, rng.standard_normal(image.shape, dtype=np.float32))

    def draw_grey(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        noise = rng.standard_normal(image.shape, dtype=np.float32)
        scale = 1.0
        if rng.random() < 0.15:
            local = 1 + rng.uniform(-0.4, 0.4) * (image.astype(np.float32) - 128) / 128
            noise *= local
            scale = float(np.sqrt(np.mean(local**2)))
        return Draw(_added(image, noise), 80.0, lambda strength: {"sigma": scale * strength})

    def draw_program(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        law = str(rng.choice(["normal", "uniform", "laplace", "triangular"], p=[0.7, 0.16, 0.08, 0.06]))
        common = float(rng.choice([0.0, 1.0, rng.uniform(0, 1)], p=[0.62, 0.28, 0.1]))
        growth = str(rng.choice(["even", "tilt", "middle", "light"], p=[0.82, 0.1, 0.03, 0.05]))
        tilt = float(rng.uniform(-0.4, 0.4)) if growth == "tilt" else 0.0
        space = "rgb"
        if growth == "even" and rng.random() < 0.1:
            space, common = str(rng.choice(["ycbcr", "ycbcr420"])), 0.0
        settings = GaussianNoiseSettings(
            0.0, draw_seed(rng), law, common, space, growth, tilt, rounding=draw_rounding(rng)
        )
        if growth in ("even", "middle") and law in ("normal", "uniform") and rng.random() < 0.25:
            pattern = float(rng.choice([0.0, 0.6]))
            settings = replace(settings, rows=True, whole=True, pattern=pattern, rounding="nearest")
        return drawn(self, image, lambda s: replace(settings, sigma=s), 90.0, lambda e: e**0.5)

    def apply(self, image: np.ndarray, settings: GaussianNoiseSettings) -> np.ndarray:
        noise = np.float32(settings.sigma) * noise_field(image.shape, settings)
        if settings.whole:
            noise = np.trunc(noise)
        base = image.astype(np.float32)
        if settings.growth == "light":
            light = to_light(image) + noise * np.float32(1 / (255 * _LIGHT_SLOPE))
            return finish(from_light(light), settings.rounding, settings.seed + 1)
        return finish(base + noise * local_deviation(base, settings), settings.rounding, settings.seed + 1)

    def estimate(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> Fit:
        return noise_fit(float(np.sqrt(residual_power(after - before, before, mask))))


def local_deviation(image: np.ndarray, settings: GaussianNoiseSettings) -> np.ndarray | np.float32:
    """How much stronger the noise is at each grey level than at mid-grey."""
    if settings.growth == "tilt":
        return 1 + np.float32(settings.tilt) * (image - 128) / 128
    if settings.growth == "middle":
        return np.minimum(image, 256 - image) / 128
    return np.float32(1)


def noise_field(shape: tuple[int, ...], settings: GaussianNoiseSettings) -> np.ndarray:
    """Noise of deviation 1 before it is rounded, in the shape of the image."""
    rng = np.random.default_rng(settings.seed)
    if len(shape) == 2:
        return _unit(shape, settings, rng)
    height, width, channels = shape
    if settings.space != "rgb":
        planes = np.stack([_unit((height, width), settings, rng) for _ in range(3)], axis=2)
        if settings.space == "ycbcr420":
            for axis, size in ((0, height), (1, width)):
                planes[..., 1:] = planes[..., 1:].take(np.arange(size) // 2 * 2, axis=axis)
        return planes @ TO_RGB.T
    field: np.ndarray = np.zeros((1, 1, 1), np.float32)
    if settings.common < 1:
        own = _unit((height, width * channels), settings, rng).reshape(shape)
        field = np.sqrt(np.float32(1 - settings.common)) * own
    if settings.common > 0:
        field = field + np.sqrt(np.float32(settings.common)) * _unit((height, width), settings, rng)[..., None]
    return np.broadcast_to(field, shape)


_LINE, _SHIFTS = 5120, 1024
"""Length of the line of noise of ffmpeg's filter, and number of places at which a row may start in it."""


def _unit(shape: tuple[int, int], settings: GaussianNoiseSettings, rng: np.random.Generator) -> np.ndarray:
    if not settings.rows:
        return unit_noise(shape, settings.law, rng)
    line = unit_noise((max(_LINE, shape[1] + _SHIFTS),), settings.law, rng)
    if settings.pattern:
        columns = np.tile(np.array([-1, 0, 1, 0], np.float32), -(-len(line) // 4))[: len(line)]
        line = np.float32((1 - settings.pattern**2 / 2) ** 0.5) * line + np.float32(settings.pattern) * columns
    return line[rng.integers(_SHIFTS, size=shape[0])[:, None] + np.arange(shape[1])]


def noise_fit(sigma: float) -> Fit:
    """Return noise of a standard deviation as the result of an estimate."""

    def draw(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.clip(np.rint(image + np.float32(sigma) * rng.standard_normal(image.shape, dtype=np.float32)), 0, 255)

    return Fit({"sigma": sigma}, draw=draw)


def _added(image: np.ndarray, noise: np.ndarray) -> Path:
    base = image.astype(np.float32)

    def path(strength: float) -> np.ndarray:
        copy = np.float32(strength) * noise
        copy += base
        return copy

    return path
