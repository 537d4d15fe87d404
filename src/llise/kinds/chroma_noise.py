"""Chroma noise: independent normal numbers are added to both chroma planes, the luma stays."""

from __future__ import annotations

import numpy as np

from llise.colours import TO_RGB
from llise.kinds.base import Draw, Path
from llise.kinds.color_base import ColorKind


class ChromaNoise(ColorKind):
    """Noise of the chroma planes; the strength is its standard deviation in levels of Cb and Cr."""

    name = "chroma_noise"
    title = "chroma noise"
    short_title = "chroma noise"
    strongest = 1e3

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        base = image.astype(np.float32)
        noise = rng.standard_normal((*image.shape[:2], 2), dtype=np.float32) @ TO_RGB[:, 1:].T
        return lambda strength: base + np.float32(strength) * noise

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: float) -> Draw:
        return Draw(self.path(image, rng), 60.0, lambda strength: {"sigma": strength})
