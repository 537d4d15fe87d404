"""Chroma noise: independent normal numbers are added to both chroma planes, the luma stays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Unpack

import numpy as np

from llise.colours import TO_RGB
from llise.kinds.base import Draw, GreyStatistics, Path, drawn
from llise.kinds.color_base import ColorKind
from llise.kinds.limits import LIMITS
from llise.kinds.programs import draw_rounding, draw_seed, finish, from_lab, lab_of, unit_noise


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
    title = "chroma noise"
    short_title = "chroma noise"
    strongest = 1e3
    Settings = ChromaNoiseSettings
    exact = True
    needs_color = True
    units: ClassVar = {"sigma": (" levels", 1.0)}
    limit = LIMITS["chroma_noise"]
    letter, page_color = "N", "#b07d62"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        base = image.astype(np.float32)
        noise = rng.standard_normal((*image.shape[:2], 2), dtype=np.float32) @ TO_RGB[:, 1:].T
        return lambda strength: base + np.float32(strength) * noise

    def draw_program(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        law = str(rng.choice(["normal", "uniform", "laplace"], p=[0.75, 0.17, 0.08]))
        size = int(rng.choice([1, 2, 3, 4, 6], p=[0.55, 0.27, 0.06, 0.08, 0.04]))
        even = size > 1 and bool(rng.random() < 0.5)
        lean = float(rng.uniform(-0.5, 0.5)) if rng.random() < 0.3 else 0.0
        space = "lab" if rng.random() < 0.12 else "ycbcr"
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
