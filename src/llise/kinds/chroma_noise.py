"""Chroma noise: independent normal numbers are added to both chroma planes, the luma stays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from llise.colours import TO_RGB
from llise.kinds.base import Draw, Path, drawn
from llise.kinds.color_base import ColorKind
from llise.kinds.curve_fit import SAMPLE
from llise.kinds.fitting import (
    ROUNDING,
    Fit,
    clipped_power,
    deviation_by_places,
    in_colour,
    random_fit,
    shared_power,
)
from llise.kinds.programs import (
    CHROMA_SPREAD,
    TO_CHROMA,
    draw_rounding,
    draw_seed,
    finish,
    from_lab,
    lab_of,
    unit_noise,
)


@dataclass(frozen=True)
class ChromaNoiseSettings:
    """Noise of the deviation `sigma` in Cb and Cr, or in a* and b*; `lean` is how much stronger it is in the second.

    The noise is that of squares of `size` pixels, as of planes of half resolution, or drawn out evenly between them.
    """

    sigma: float
    seed: int = 0
    law: str = "normal"
    space: str = "ycbcr"
    size: int = 1
    even: bool = False
    lean: float = 0.0
    rounding: str = "nearest"

    def words(self) -> dict[str, float]:
        return {"sigma": self.sigma}


class ChromaNoise(ColorKind):
    """Noise of the chroma planes; the strength is its standard deviation in levels of Cb and Cr."""

    name = "chroma_noise"
    title = short_title = "chroma noise"
    strongest = 1e3
    Settings = ChromaNoiseSettings
    exact = needs_color = True
    units: ClassVar = {"sigma": (" levels", 1.0)}
    letter, page_color = "N", "#b07d62"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        base = image.astype(np.float32)
        noise = rng.standard_normal((*image.shape[:2], 2), dtype=np.float32) @ TO_RGB[:, 1:].T
        return lambda strength: base + np.float32(strength) * noise

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        law = str(rng.choice(["normal", "uniform", "laplace"], p=[0.75, 0.17, 0.08]))
        size = int(rng.choice([1, 2, 3, 4, 6], p=[0.55, 0.27, 0.06, 0.08, 0.04]))
        even = size > 1 and bool(rng.random() < 0.5)
        lean = float(rng.uniform(-0.5, 0.5)) if rng.random() < 0.3 else 0.0
        space = "lab" if rng.random() < 0.06 else "ycbcr"
        settings = ChromaNoiseSettings(0.0, draw_seed(rng), law, space, size, even, lean, draw_rounding(rng))
        return drawn(self, image, lambda s: replace(settings, sigma=s), 70.0, lambda e: e**0.5)

    def apply(self, image: np.ndarray, settings: ChromaNoiseSettings) -> np.ndarray:
        if image.ndim == 2:
            return image.copy()
        noise = np.float32(settings.sigma) * _field(image.shape, settings)
        if settings.space == "lab":
            lab = lab_of(image)
            lab[..., 1:] += noise
            return finish(from_lab(lab), settings.rounding, settings.seed + 1)
        return finish(image.astype(np.float32) + noise @ TO_RGB[:, 1:].T, settings.rounding, settings.seed + 1)

    def fit(self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: object = None) -> Fit | None:
        if reference.ndim == 2 or not mask.any():
            return None
        before, after = in_colour(reference), in_colour(copy)
        error = after - before
        chroma = error @ TO_CHROMA.T
        power = (chroma**2).sum(axis=2)
        used, sigma = mask, 0.0
        for _ in range(3):  # clipping makes luma of chroma: pixels that are far from the ends tell more
            sigma = max(float(power[used].mean()) / 2 - ROUNDING * float((TO_CHROMA**2).mean()), 0.0) ** 0.5
            reach = 3 * sigma * np.sqrt(CHROMA_SPREAD).astype(np.float32)
            inside = mask & ((before > reach) & (before < 255 - reach)).all(axis=2)
            used = inside if np.count_nonzero(inside) > 0.1 * np.count_nonzero(mask) else mask
        if used is mask:
            sigma = _clipped_sigma(before[mask], float((error[mask] ** 2).sum(axis=1).mean()))
        matrix = TO_RGB[:, 1:].astype(np.float64)
        first, second = (float(np.mean(chroma[used][:, i] ** 2)) for i in (0, 1))
        lean = float(np.clip((second - first) / max(first + second, 1e-6), -0.6, 0.6))
        lean = lean if abs(lean) > 0.1 else 0.0
        size, even = _grain(chroma, used)
        settings = ChromaNoiseSettings(sigma, size=size, even=even, lean=lean)
        covariance = sigma**2 * (matrix * [1 - lean, 1 + lean]) @ matrix.T
        deviation = np.sqrt(np.diag(covariance)).astype(np.float32)
        clipped = clipped_power(before[used], deviation).mean(axis=0)
        share = shared_power(error[used], covariance, clipped)

        def spread(image: np.ndarray) -> np.ndarray:
            return np.float32(share) * clipped_power(image, deviation)

        reach = (1.645 * deviation_by_places(power, used) + 0.01) * sigma + 0.05
        words = {"sigma": (max(sigma - reach, 0.0), sigma + reach)}
        return random_fit(self, settings, words, spread)


def _clipped_sigma(levels: np.ndarray, power: float) -> float:
    """Deviation of noise whose power is so large after clipping, by halving intervals."""
    levels = levels[:: -(-len(levels) // SAMPLE)]
    spread = np.sqrt(CHROMA_SPREAD).astype(np.float32)
    low, high = 0.0, 160.0
    for _ in range(14):
        middle = (low + high) / 2
        more = float(clipped_power(levels, middle * spread).sum(axis=1).mean()) < power
        low, high = (middle, high) if more else (low, middle)
    return (low + high) / 2


def _grain(chroma: np.ndarray, used: np.ndarray) -> tuple[int, bool]:
    """Side of the squares of the noise, from how alike neighbours are, and whether it is drawn out between them."""
    values = np.where(used[..., None], chroma - chroma[used].mean(axis=0), 0)
    power = float((values**2).sum()) / max(int(used.sum()), 1)

    def alike(lag: int) -> float:
        pairs = used[:, lag:] & used[:, :-lag]
        return float((values[:, lag:] * values[:, :-lag]).sum()) / max(int(pairs.sum()), 1) / max(power, 1e-9)

    near = [alike(lag) for lag in range(1, min(7, chroma.shape[1]))]
    size = next((lag for lag, value in enumerate(near, 1) if value < 0.12), 6)
    squares = [max(1 - lag / size, 0) for lag in range(1, len(near) + 1)]
    return size, size > 1 and near[0] > squares[0] + 0.08


def _field(shape: tuple[int, ...], settings: ChromaNoiseSettings) -> np.ndarray:
    """Noise (h, w, 2) whose mean square over both planes is 1."""
    rng, size = np.random.default_rng(settings.seed), settings.size
    small = (-(-shape[0] // size) + 1, -(-shape[1] // size) + 1)
    noise = unit_noise((*small, 2), settings.law, rng)
    noise *= np.sqrt(np.array([1 - settings.lean, 1 + settings.lean], np.float32))
    if size == 1:
        return noise[: shape[0], : shape[1]]
    for axis in (0, 1):
        at = np.arange(shape[axis]) / size
        first = at.astype(int)
        share = (at - first).astype(np.float32) if settings.even else np.zeros(len(at), np.float32)
        share = share.reshape(-1, *[1] * (2 - axis))
        noise = noise.take(first, axis) * (1 - share) + noise.take(first + 1, axis) * share
    if settings.even:  # the mean of two neighbours has less power
        noise /= np.float32(np.mean([(k / size) ** 2 + (1 - k / size) ** 2 for k in range(size)]))
    return noise
