"""Luminance: all grey levels move by the same offset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from llise.kinds.base import Draw, Kind, LevelPath, Path, drawn
from llise.kinds.curve_fit import nearest_plane
from llise.kinds.fitting import Fit, as_bytes, exact_fit, fit_line
from llise.kinds.programs import draw_plane, draw_rounding, draw_seed, finish, on_plane, plane_of


@dataclass(frozen=True)
class LuminanceSettings:
    """An offset of all channels or of one plane of the colours; `ramp` is added to it from the top to the bottom."""

    offset: float
    plane: str = "rgb"
    ramp: tuple[float, float] = (0.0, 0.0)
    rounding: str = "nearest"
    seed: int = 0

    def words(self) -> dict[str, float]:
        return {"offset": self.offset}


class Luminance(Kind):
    """A lighter (direction 1) or darker (direction -1) image; the reported strength is the signed offset.

    Programs that add a fraction of a grey level differ in where they round up and where down. At random, four
    draws in ten therefore have an offset that changes by up to one level from the top row to the bottom row. The
    parameter of a draw is ``offset`` in grey levels.
    """

    name = "luminance"
    title = "luminance shift"
    short_title = "luminance"
    strongest = 255.0
    two_sided = True
    random = False
    Settings = LuminanceSettings
    exact = True
    units: ClassVar = {"offset": (" grey levels", 1.0)}
    letter, page_color = "L", "#f0e442"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        greys = np.arange(256, dtype=np.float32)
        return LevelPath(image, lambda strength: greys + np.float32(direction * strength))

    def reported_strength(self, strength: float, direction: int = 1) -> float:
        return direction * strength

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        direction, plane = int(rng.choice([-1, 1])), draw_plane(rng, image)
        top, bottom = rng.uniform(-0.5, 0.5, 2).tolist() if plane == "rgb" and rng.random() < 0.25 else (0.0, 0.0)
        rounding, seed = draw_rounding(rng), draw_seed(rng)
        return drawn(
            self,
            image,
            lambda s: LuminanceSettings(direction * s, plane, (top, bottom), rounding, seed),
            100.0,
            lambda e: e**0.5,
        )

    def apply(self, image: np.ndarray, settings: LuminanceSettings) -> np.ndarray:
        offset = np.float32(settings.offset)
        changed = on_plane(image, settings.plane, lambda plane: plane.astype(np.float32) + offset)
        if any(settings.ramp):
            ramp = np.linspace(*settings.ramp, len(image), dtype=np.float32)
            changed = changed.astype(np.float32) + ramp.reshape(-1, *[1] * (image.ndim - 1))
        return finish(changed, settings.rounding, settings.seed)

    def fit(self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: object = None) -> Fit | None:
        if not mask.any():
            return None
        before, after = (image[mask].reshape(np.count_nonzero(mask), -1) for image in (as_bytes(reference), copy))

        def moved(x: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
            offset = np.float32(_offset(x, y))
            return lambda plane: plane + offset

        plane = nearest_plane(before, after, moved)
        if plane != "rgb":
            before, after = (plane_of(pixels, plane) for pixels in (before, after))
        offset = _offset(before, after)
        # Rounded to the nearest level or cut off: nothing in the copy tells.
        error = np.asarray(after, np.float32) - before - np.float32(offset)
        deviation = 1.645 * float(error.std()) / before.size**0.5
        return exact_fit(
            self, LuminanceSettings(offset, plane), {"offset": (offset - 0.5 - deviation, offset + 0.95 + deviation)}
        )


def _offset(x: np.ndarray, y: np.ndarray) -> float:
    x, y = (np.asarray(values, np.float32).ravel() for values in (x, y))
    return fit_line(x, y, np.ones(x.shape, bool), slope=False)[1]
