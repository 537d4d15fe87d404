"""Speckle noise: noise that follows the signal, stronger where the image is brighter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from llise.kinds.base import Draw, Kind, Path, drawn
from llise.kinds.fitting import ROUNDING, Fit, clipped_power, in_colour, random_fit, shared_power
from llise.kinds.noise_by_grey import MID_GREY, noise_by_grey
from llise.kinds.programs import draw_rounding, draw_seed, finish, unit_noise


@dataclass(frozen=True)
class SpeckleNoiseSettings:
    """Noise whose deviation is `sigma` at mid-grey and grows with a power of the grey level, of each channel its own.

    `common` noise is one field for all channels. The laws "gamma", "root" (of a gamma) and "lognormal" multiply the
    levels, "poisson" counts photons. `floor` is the deviation of noise that is everywhere, as of a camera's sensor.
    """

    sigma: float
    exponent: float = 1.0
    seed: int = 0
    law: str = "normal"
    common: bool = False
    floor: float = 0.0
    rounding: str = "nearest"

    def words(self) -> dict[str, float]:
        return {"sigma": self.sigma, "exponent": self.exponent}


class SpeckleNoise(Kind):
    """Multiplicative Gaussian noise; the strength is its standard deviation at mid-grey (128), in grey levels."""

    name = "speckle_noise"
    title = "signal-dependent noise"
    short_title = "speckle noise"
    strongest = 1e4
    Settings = SpeckleNoiseSettings
    exact = True
    units: ClassVar = {"sigma": (" grey levels", 1.0)}
    narrow = ("sigma", "sigma {}", 1.0)
    letter, page_color = "S", "#117733"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        base, noise = image.astype(np.float32), rng.standard_normal(image.shape, dtype=np.float32)
        return lambda strength: base + np.float32(strength / MID_GREY) * base * noise

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        laws = ["normal", "uniform", "gamma", "root", "lognormal", "poisson", "power"]
        law = str(rng.choice(laws, p=[0.27, 0.14, 0.08, 0.06, 0.05, 0.28, 0.12]))
        exponent = {"poisson": 0.5, "power": float(rng.choice([0.5, 0.75, 1.25]))}.get(law, 1.0)
        common = law != "poisson" and bool(rng.random() < 0.3)
        floor = float(rng.uniform(0, 0.25)) if law in ("poisson", "normal") and rng.random() < 0.2 else 0.0
        law = "normal" if law == "power" else law
        settings = SpeckleNoiseSettings(0.0, exponent, draw_seed(rng), law, common, 0.0, draw_rounding(rng))
        return drawn(self, image, lambda s: replace(settings, sigma=s, floor=floor * s), 128.0, lambda e: 1.3 * e**0.5)

    def apply(self, image: np.ndarray, settings: SpeckleNoiseSettings) -> np.ndarray:
        rng = np.random.default_rng(settings.seed)
        base = image.astype(np.float32)
        shape = (*image.shape[:2], *[1] * (image.ndim - 2)) if settings.common else image.shape
        if settings.law == "poisson":
            photons = MID_GREY / max(settings.sigma, 1e-2) ** 2
            copy = (rng.poisson(base * photons) / photons).astype(np.float32)
        elif settings.law in ("gamma", "root"):
            root = settings.law == "root"
            third = np.float32(max(settings.sigma, 1e-6) / MID_GREY * (2 if root else 1) / 3)  # a root halves it
            # Wilson and Hilferty's cubic makes gamma-distributed numbers of normal ones.
            factor = np.maximum(1 - third * third + third * rng.standard_normal(shape, np.float32), 0) ** 3
            copy = base * (np.sqrt(factor) if root else factor)
        elif settings.law == "lognormal":
            spread = np.float32(np.log1p((settings.sigma / MID_GREY) ** 2) ** 0.5)
            copy = base * np.exp(spread * rng.standard_normal(shape, np.float32) - spread * spread / 2)
        else:
            noise = unit_noise(shape, settings.law, rng)
            local = (np.arange(256, dtype=np.float32) / np.float32(MID_GREY)) ** np.float32(settings.exponent)
            copy = base + np.float32(settings.sigma) * local.take(image) * noise
        if settings.floor > 0:
            copy += np.float32(settings.floor) * rng.standard_normal(image.shape, np.float32)
        return finish(copy, settings.rounding, settings.seed + 1)

    def fit(self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: object = None) -> Fit | None:
        before, after = in_colour(reference), in_colour(copy)
        if not mask.any():
            return None
        expected, errors = before[mask], (after - before)[mask]
        settings, intervals = _find_law(errors, expected)
        channels = before.shape[2]
        common = 0.0
        if channels > 1 and errors.std(axis=0).min() > 0:
            relative = errors / np.maximum(_deviation(expected, settings), 0.3)
            common = float(np.clip(np.corrcoef(relative, rowvar=False)[np.triu_indices(3, 1)].mean(), 0, 1))
        settings = replace(settings, common=common > 0.5)
        power_of = clipped_power(expected, _deviation(expected, settings)).mean(axis=0)
        share = shared_power(errors, (1 - common) * np.eye(channels) + common, power_of)

        def power(image: np.ndarray) -> np.ndarray:
            return np.float32(share) * clipped_power(image, _deviation(image, settings))

        return random_fit(self, settings, intervals, power)


def _deviation(grey: np.ndarray, settings: SpeckleNoiseSettings) -> np.ndarray:
    grow = settings.sigma * (np.clip(grey, 0, 255) / np.float32(MID_GREY)) ** np.float32(settings.exponent)
    return np.sqrt(grow**2 + np.float32(settings.floor**2)).astype(np.float32)


def _find_law(errors: np.ndarray, expected: np.ndarray) -> tuple[SpeckleNoiseSettings, dict[str, tuple[float, float]]]:
    """The likeliest law and its intervals: all exponents whose likelihood is near the greatest one."""
    measured = noise_by_grey(errors, expected, np.ones(errors.shape, bool))
    fits = [(*_fit_power(*measured, exponent), exponent) for exponent in EXPONENTS.tolist()]
    likelihood, power, exponent = min(fits)
    spread = _overdispersion(measured, power, exponent)
    near = [(fit[1] ** 0.5, fit[2]) for fit in fits if fit[0] - likelihood < 2.71 * spread]
    deviation = 1.645 * (spread / (2 * float(measured[2].sum()))) ** 0.5 + 0.01
    roots, exponents = zip(*near)
    intervals = {
        "sigma": (min(roots) * (1 - deviation) - 0.05, max(roots) * (1 + deviation) + 0.05),
        "exponent": (min(exponents) - 0.05, max(exponents) + 0.05),
    }
    settings = SpeckleNoiseSettings(power**0.5, exponent, law="poisson" if 0.4 <= exponent <= 0.6 else "normal")
    even, growing, two, step = _two_noises(measured)
    if two < likelihood - 3 * spread and even < 0.6 * growing:  # noise of the sensor besides
        low, high = growing * (1 - 2 * deviation) - 0.1, growing * (1 + 2 * deviation) + 0.1
        settings = replace(settings, sigma=growing, exponent=step, floor=even)
        intervals = {"sigma": (low, high), "exponent": (step - 0.05, step + 0.05)}
    return settings, intervals


def _overdispersion(measured: tuple[np.ndarray, np.ndarray, np.ndarray], power: float, exponent: float) -> float:
    """How much more the powers of grey levels vary than those of normal noise do: heavy tails and wrong laws."""
    greys, powers, counts = measured
    model = power * (np.maximum(greys, 0.5) / MID_GREY) ** (2 * exponent) + _FLOOR
    apart = counts / 2 * ((powers - ROUNDING + _FLOOR) / model - 1) ** 2
    return max(float(apart.sum()) / max(len(greys) - 2, 1), 1.0)


EXPONENTS = np.arange(0, 33) / 20
"""Powers of the grey level that an estimate tries."""

_FLOOR = 0.35
"""Added to powers before they are compared, so that rounding on the way does not matter where the image is black."""


def _two_noises(measured: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[float, float, float, float]:
    """Deviations of even and of growing noise, times minus two the logarithm of their likelihood, and the exponent."""
    from scipy.optimize import nnls  # only here: slow to import

    greys, powers, counts = measured
    fits = []
    for exponent in (0.5, 1.0):
        columns = np.stack([np.ones_like(greys), (np.maximum(greys, 0.5) / MID_GREY) ** (2 * exponent)], axis=1)
        variance = np.maximum(powers, 0.1)
        for _ in range(4):
            weight = np.sqrt(counts) / variance
            parts = nnls(columns * weight[:, None], (powers - ROUNDING) * weight)[0]
            variance = columns @ parts + _FLOOR
        likelihood = float(np.sum(counts * (np.log(variance) + (powers - ROUNDING + _FLOOR) / variance)))
        fits.append((likelihood, exponent, *np.sqrt(parts).tolist()))
    likelihood, exponent, even, growing = min(fits)
    return even, growing, likelihood, exponent


def _fit_power(greys: np.ndarray, powers: np.ndarray, counts: np.ndarray, exponent: float) -> tuple[float, float]:
    """Negative log-likelihood and power at mid-grey of noise that grows with a power of the grey level."""
    shape = np.maximum(greys, 0.5) ** (2 * exponent) / MID_GREY ** (2 * exponent)
    power = float(np.sum(counts * powers) / np.sum(counts))
    for _ in range(6):  # weighted least squares: the deviation of a measured power is in proportion to the power
        weight = counts / (power * shape + _FLOOR) ** 2
        power = max(float(np.sum(weight * shape * (powers - ROUNDING)) / np.sum(weight * shape * shape)), 1e-4)
    expected, measured = power * shape + _FLOOR, powers - ROUNDING + _FLOOR
    return float(np.sum(counts * (np.log(expected) + measured / expected))), power
