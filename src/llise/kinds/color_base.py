"""What the kinds of colour faults share: they take pictures of red, green and blue."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.colours import planes_of
from llise.kinds.base import Kind, Path
from llise.kinds.grey import check_image


class ColorKind(Kind):
    """A kind that changes colours; its images are (h, w, 3), and its error is the mean over the three channels."""


class LumaKind(ColorKind):
    """A kind of the luma for colour images: what it adds to the luma is added to red, green and blue alike."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.name, self.title, self.short_title = kind.name, kind.title, kind.short_title
        self.strongest, self.two_sided = kind.strongest, kind.two_sided

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        luma = np.rint(planes_of(image)[..., 0]).astype(np.uint8)
        path = self.kind.path(luma, rng, direction)
        return lambda strength: image + (path(strength).astype(np.float32) - luma)[..., None]

    def end(self, direction: int = 1) -> float:
        return self.kind.end(direction)

    def reported_strength(self, strength: float, direction: int = 1) -> float:
        return self.kind.reported_strength(strength, direction)


def suited(kind: Kind, image: Any, name: str = "image") -> tuple[Kind, np.ndarray]:
    """Return a kind that can change an image, and the image after a check."""
    if isinstance(kind, ColorKind) or np.ndim(image) == 3:
        return kind if isinstance(kind, ColorKind) else LumaKind(kind), check_color_image(image, name)
    return kind, check_image(image, name)


def check_color_image(image: Any, name: str = "image") -> np.ndarray:
    """Return an image as an array after making sure that it is 8-bit colour."""
    array = np.asarray(image)
    if array.ndim != 3 or array.shape[-1] != 3 or array.dtype != np.uint8 or array.size == 0:
        raise ValueError(
            f"{name} has shape {array.shape} and dtype {array.dtype}; this kind changes colours and needs an 8-bit "
            "colour image, (h, w, 3) of uint8: llise.read_image(file, color=True) reads one"
        )
    return array
