"""Gaussian noise: an independent normal number is added to every pixel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from llise.colours import TO_RGB
from llise.kinds.base import Draw, Kind, Path, drawn
from llise.kinds.fitting import (
    ROUNDING,
    Fit,
    clipped_power,
    deviation_by_places,
    in_colour,
    random_fit,
    residual_power,
    shared_power,
)
from llise.kinds.noise_by_grey import noise_by_grey
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
    title = short_title = "Gaussian noise"
    strongest = 1e4
    Settings = GaussianNoiseSettings
    exact = True
    units: ClassVar = {"sigma": (" grey levels", 1.0)}
    letter, page_color = "G", "#56b4e9"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _added(image, rng.standard_normal(image.shape, dtype=np.float32))

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        law = str(rng.choice(["normal", "triangular"], p=[0.92, 0.08]))
        common = float(rng.choice([0.0, 1.0, rng.uniform(0, 1)], p=[0.62, 0.28, 0.1]))
        growth = str(rng.choice(["even", "tilt", "middle", "light"], p=[0.84, 0.1, 0.03, 0.03]))
        tilt = float(rng.uniform(-0.4, 0.4)) if growth == "tilt" else 0.0
        space = "rgb"
        if growth == "even" and rng.random() < 0.1:
            space, common = str(rng.choice(["ycbcr", "ycbcr420"])), 0.0
        settings = GaussianNoiseSettings(
            0.0, draw_seed(rng), law, common, space, growth, tilt, rounding=draw_rounding(rng)
        )
        if growth in ("even", "middle") and law == "normal" and rng.random() < 0.25:
            pattern = float(rng.choice([0.0, 0.6]))
            settings = replace(settings, rows=True, whole=True, pattern=pattern, rounding="nearest")
        return drawn(self, image, lambda s: replace(settings, sigma=s), 90.0, lambda e: e**0.5)

    def apply(self, image: np.ndarray, settings: GaussianNoiseSettings) -> np.ndarray:
        noise = np.float32(settings.sigma) * noise_field(image.shape, settings)
        if settings.whole:
            noise = np.rint(noise)
        base = image.astype(np.float32)
        if settings.growth == "light":
            light = to_light(image) + noise * np.float32(1 / (255 * _LIGHT_SLOPE))
            return finish(from_light(light), settings.rounding, settings.seed + 1)
        return finish(base + noise * local_deviation(base, settings), settings.rounding, settings.seed + 1)

    def fit(self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: object = None) -> Fit | None:
        before, after = in_colour(reference), in_colour(copy)
        if not mask.any():
            return None
        noise = measure_noise(before, after, mask)
        spread = _channel_spread(noise.errors, noise.law)
        space = "rgb" if np.ptp(spread) == 0 else "ycbcr"
        settings = GaussianNoiseSettings(
            noise.sigma / (1 + float(CHROMA_SPREAD.mean())) ** 0.5 if space == "ycbcr" else noise.sigma,
            0,
            noise.law,
            noise.common if space == "rgb" else 0.0,
            space,
            "tilt" if noise.tilt else "even",
            noise.tilt,
            rounding=noise.rounding,
        )
        common, expected = settings.common, before[mask]

        def deviation(image: np.ndarray) -> np.ndarray:
            local = noise.sigma * np.abs(local_deviation(image, settings)) * np.ones_like(image)
            return local * spread if image.ndim == 3 else local

        def power(image: np.ndarray) -> np.ndarray:
            return np.float32(share) * clipped_power(image, deviation(image))

        covariance: np.ndarray = np.outer(spread, spread) * ((1 - common) * np.eye(len(spread)) + common)
        if space == "ycbcr":
            covariance = TO_RGB @ TO_RGB.T.astype(np.float64)
        clipped = clipped_power(expected[None], deviation(expected[None]))[0].mean(axis=0)
        share = shared_power(noise.errors, covariance, clipped)

        reach = max(1.645 * noise.deviation, 0.008) * noise.sigma + 0.06
        words = {"sigma": (max(noise.sigma - reach, 0.0), noise.sigma + reach)}
        return random_fit(self, settings, words, power, {"sigma": noise.sigma})


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


_SHIFTS = 1024
"""Number of places at which a row may start in the line of noise of ffmpeg's filter."""


def _unit(shape: tuple[int, int], settings: GaussianNoiseSettings, rng: np.random.Generator) -> np.ndarray:
    if not settings.rows:
        return unit_noise(shape, settings.law, rng)
    line = unit_noise((shape[1] + _SHIFTS,), settings.law, rng)
    if settings.pattern:
        columns = np.tile(np.array([-1, 0, 1, 0], np.float32), -(-len(line) // 4))[: len(line)]
        line = np.float32((1 - settings.pattern**2 / 2) ** 0.5) * line + np.float32(settings.pattern) * columns
    line = (line - line.mean()) / line.std()  # its deviation is that of the rows that repeat it
    return line[rng.integers(_SHIFTS, size=shape[0])[:, None] + np.arange(shape[1])]


@dataclass(frozen=True, eq=False)
class Noise:
    """Noise as it was measured: `scale` is its deviation over the image against that at mid-grey."""

    sigma: float
    deviation: float
    errors: np.ndarray
    common: float = 0.0
    tilt: float = 0.0
    scale: float = 1.0
    law: str = "normal"
    rounding: str = "nearest"


def measure_noise(before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> Noise:
    """Measure noise of images (h, w, channels), whatever 8 bits clip of it."""
    expected, errors = before[mask], (after - before)[mask]
    sigma = residual_power(errors.ravel(), expected.ravel(), np.ones(errors.size, bool)) ** 0.5
    inside = (expected > 3 * sigma) & (expected < 255 - 3 * sigma)
    rounding = "nearest"
    if np.count_nonzero(inside) > 100:
        values = errors[inside].astype(np.float64)
        if -0.75 < values.mean() < -0.3 and abs(values.mean() + 0.5) < 4 * sigma / values.size**0.5 + 0.1:
            rounding, errors = "floor", errors + np.float32(0.5)
            sigma = residual_power(errors.ravel(), expected.ravel(), np.ones(errors.size, bool)) ** 0.5
    centre, tilt, scale = _tilt(errors, expected, sigma)
    common, law = 0.0, "normal"
    if errors.shape[1] > 1:
        apart = np.corrcoef(errors, rowvar=False) if errors.std(axis=0).min() > 0 else np.eye(3)
        common = float(np.clip(apart[np.triu_indices(3, 1)].mean(), 0, 1))
        common = 0.0 if common < 0.03 else 1.0 if common > 0.97 else common
    if np.count_nonzero(inside) > 400 and sigma > 0.5:
        values = errors[inside] / sigma
        peaked = float(np.mean(values**4)) / max(float(np.mean(values**2)) ** 2, 1e-9)
        law = min(KURTOSIS, key=lambda name: abs(np.log(peaked / KURTOSIS[name])))
    power = np.zeros(mask.shape, np.float32)
    power[mask] = (errors**2).sum(axis=1)
    return Noise(centre, deviation_by_places(power, mask), errors, common, tilt, scale, law, rounding)


def _channel_spread(errors: np.ndarray, law: str) -> np.ndarray:
    """Deviation of each channel against their mean: equal, or as noise of luma and chroma makes it."""
    count = errors.shape[1]
    even = np.ones(count, np.float32)
    if count == 1:
        return even
    planes = np.sqrt((1 + CHROMA_SPREAD) / (1 + CHROMA_SPREAD).mean()).astype(np.float32)
    root = np.maximum(errors.std(axis=0), 1e-3)
    apart = [float(np.square(np.log(root / model) - np.log(root / model).mean()).sum()) for model in (even, planes)]
    return planes if apart[1] < 0.3 * apart[0] else even


KURTOSIS = {"normal": 3.0, "triangular": 2.4}


def _tilt(errors: np.ndarray, expected: np.ndarray, sigma: float) -> tuple[float, float, float]:
    """Deviation at mid-grey, how much it tilts with the grey level if it clearly does, and its scale over the image."""
    greys, powers, counts = noise_by_grey(errors, expected, np.ones(errors.shape, bool))
    if len(greys) < 4 or sigma < 1:
        return sigma, 0.0, 1.0
    roots, level = np.sqrt(np.maximum(powers - ROUNDING, 0.01)), (greys - 128) / 128
    weight = np.sqrt(2 * counts) / sigma
    columns = np.stack([np.ones_like(level), level], axis=1) * weight[:, None]
    (centre, slope), misfit, *_ = np.linalg.lstsq(columns, roots * weight, rcond=None)
    spread = max(float(misfit[0]) / (len(greys) - 2), 1.0) if len(misfit) else 1.0
    deviation = (np.linalg.inv(columns.T @ columns)[1, 1] * spread) ** 0.5
    tilt = float(slope / max(centre, 1e-6))
    if abs(slope) < 4 * deviation or abs(tilt) > MOST_TILT or abs(tilt) < 0.05:
        return sigma, 0.0, 1.0
    local = 1 + tilt * (expected - 128) / 128
    return float(centre), tilt, float(np.sqrt(np.mean(local**2)))


MOST_TILT = 0.45
"""Tilt up to which noise is drawn as noise of one deviation."""


def _added(image: np.ndarray, noise: np.ndarray) -> Path:
    base = image.astype(np.float32)

    def path(strength: float) -> np.ndarray:
        copy = np.float32(strength) * noise
        copy += base
        return copy

    return path
