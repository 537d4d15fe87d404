"""Saturation: colours move towards the grey of the same lightness, or away from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llise.colours import WEIGHTS
from llise.kinds.base import Draw, Path, drawn
from llise.kinds.color_base import ColorKind
from llise.kinds.curve_fit import sample_of
from llise.kinds.fitting import Fit, as_bytes, exact_fit
from llise.kinds.programs import chroma_scaled, draw_rounding, draw_seed, finish, from_lab, hsv_scaled, lab_of

GREYS = ("luma", "bt709", "mean", "value", "lightness", "light")
"""Greys with which programs mix colours: the luma of BT.601 or BT.709, the mean of the channels, the largest channel
(the value of HSV), the mean of the largest and the smallest one (the lightness of HSL), or the grey that gives off as
much light as the colour (as in Lab)."""

BT709 = np.array([0.2126, 0.7152, 0.0722], np.float32)
"""Shares of red, green and blue in the luma of BT.709, and in the light."""


@dataclass(frozen=True)
class SaturationSettings:
    """The factor of the distance of colours from a grey, one of :data:`GREYS`.

    Or of the chroma in 8 bits ("ycbcr"), of S in 8 bits ("hsv") or of a* and b* ("lab"). With `limit`, no colour gets
    more saturated than one whose smallest channel is 0 (of "value") or that its lightness allows.
    """

    factor: float
    grey: str = "luma"
    limit: bool = False
    rounding: str = "nearest"
    seed: int = 0

    def words(self) -> dict[str, float]:
        return {"factor": self.factor}


class Saturation(ColorKind):
    """More (direction 1) or less (direction -1) saturated colours; the reported strength is the factor.

    A factor of 1 leaves the image as it is, one of 0 leaves grey. At random, the grey that colours are mixed with is
    one of :data:`GREYS`. The parameter of a draw is ``factor``.
    """

    name = "saturation"
    title = "saturation change"
    short_title = "saturation"
    strongest = 20.0
    two_sided = True
    random = False
    Settings = SaturationSettings
    exact = needs_color = True
    letter, page_color = "T", "#fe6100"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _mixed(image, direction, "luma")

    def end(self, direction: int = 1) -> float:
        return self.strongest if direction > 0 else 1.0

    def reported_strength(self, strength: float, direction: int = 1) -> float:
        return 1 + direction * strength

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        direction = int(rng.choice([-1, 1]))
        grey = str(rng.choice(WAYS, p=[0.28, 0.14, 0.1, 0.09, 0.1, 0.06, 0.09, 0.07, 0.07]))
        limit = grey in ("value", "lightness") and bool(rng.random() < 0.7)
        rounding, seed = draw_rounding(rng), draw_seed(rng)
        end = 4.0 if direction > 0 else 1.0
        return drawn(self, image, lambda s: SaturationSettings(1 + direction * s, grey, limit, rounding, seed), end)

    def apply(self, image: np.ndarray, settings: SaturationSettings) -> np.ndarray:
        if image.ndim == 2:
            return image.copy()
        factor, grey = settings.factor, settings.grey
        if grey in ("ycbcr", "hsv"):
            return (chroma_scaled if grey == "ycbcr" else hsv_scaled)(image, factor)
        if grey == "lab":
            changed = from_lab(lab_of(image) * np.array([1, factor, factor], np.float32))
        elif settings.limit:
            changed = _limited(image, factor, grey)
        else:
            changed = saturated(image, factor, grey)
        return finish(changed, settings.rounding, settings.seed)

    def fit(self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: object = None) -> Fit | None:
        if reference.ndim == 2:
            return None
        before, after = as_bytes(reference)[mask], copy[mask].astype(np.float32)
        if len(before) < 8 or not (before != before[:, :1]).any():
            return None
        few, copies = sample_of(before, after, 3000)
        trials = [
            SaturationSettings(_factor(few, copies, grey, limit), grey, limit)
            for grey in WAYS
            for limit in ((False, True) if grey in ("value", "lightness") else (False,))
        ]
        trials += [
            SaturationSettings(trial.factor + step, trial.grey)
            for trial in trials
            if trial.grey in ("ycbcr", "hsv")
            for step in (-0.03, -0.015, 0.015, 0.03)
        ]

        def error_of(trial: SaturationSettings) -> float:
            return float(np.mean((self.apply(few, trial) - copies) ** 2))

        errors = [error_of(trial) for trial in trials]
        floor = SaturationSettings(**{**vars(trials[int(np.argmin(errors))]), "rounding": "floor"})
        trials, errors = [*trials, floor], [*errors, error_of(floor)]
        least = int(np.argmin(errors))
        settings = trials[least]
        near = [trial.factor for trial, error in zip(trials, errors) if error < 1.02 * errors[least] + 0.01]
        middle = grey_of(before, settings.grey if settings.grey in GREYS else "luma")[:, None]
        distance = float(((before - middle) ** 2).sum()) ** 0.5
        reach = 1.645 * errors[least] ** 0.5 / max(distance, 1.0) + 0.004
        if settings.grey in ("ycbcr", "hsv"):  # rounded on the way
            reach += 0.015
        return exact_fit(self, settings, {"factor": (min(near) - reach, max(near) + reach)})


def _factor(before: np.ndarray, after: np.ndarray, grey: str, limit: bool) -> float:
    """Factor of the distance from a grey, by least squares where nothing is clipped."""
    if grey == "lab":
        x, y = lab_of(before)[..., 1:], lab_of(after)[..., 1:]
    else:
        middle = grey_of(before, {"ycbcr": "luma", "hsv": "value"}.get(grey, grey))[..., None]
        x, y = before - middle, after - middle
    free = ((after > 0.5) & (after < 254.5)).all(axis=-1)
    free = free if np.count_nonzero(free) > 0.02 * free.size else np.ones(free.shape, bool)
    x, y = x[free].astype(np.float64), y[free].astype(np.float64)
    return float(max((x * y).sum() / max((x * x).sum(), 1e-9), 0.0))


WAYS = (*GREYS, "ycbcr", "hsv", "lab")
"""All that colours are mixed or scaled by."""


def _limited(image: np.ndarray, factor: float, grey: str) -> np.ndarray:
    """As :func:`saturated` by HSV ("value") or HLS ("lightness"), whose saturation ends at 1."""
    base = image.astype(np.float32)
    middle = grey_of(base, grey)
    chroma = base.max(axis=-1) - base.min(axis=-1)
    most = middle if grey == "value" else 255 - np.abs(2 * middle - 255)
    factors = np.minimum(np.float32(factor), most / np.maximum(chroma, 1e-3))
    return middle[..., None] + factors[..., None] * (base - middle[..., None])


def grey_of(image: np.ndarray, name: str) -> np.ndarray:
    """Return the grey with which colours are mixed."""
    base = image.astype(np.float32)
    if name in ("value", "lightness"):
        largest = base.max(axis=-1)
        return largest if name == "value" else 0.5 * (largest + base.min(axis=-1))
    if name == "light":
        return 255 * ((base / 255) ** np.float32(2.2) @ BT709) ** np.float32(1 / 2.2)
    weights = {"luma": WEIGHTS, "bt709": BT709, "mean": np.full(3, 1 / 3, np.float32)}
    return base @ weights[name]


def saturated(image: np.ndarray, factor: float, grey: str = "luma") -> np.ndarray:
    """Multiply the distance of all colours from their grey."""
    middle = grey_of(image, grey)[..., None]
    return middle + np.float32(factor) * (image.astype(np.float32) - middle)


def _mixed(image: np.ndarray, direction: int, grey: str) -> Path:
    return lambda strength: saturated(image, 1 + direction * strength, grey)
