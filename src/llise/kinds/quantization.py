"""Quantization: only a few grey levels are left, as posterising and too few bits leave them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from llise.kinds.base import Draw, Kind, Path, drawn
from llise.kinds.fitting import Fit
from llise.kinds.posterizing import QuantizationSettings, draw_settings, evenly, posterized


class Quantization(Kind):
    """Grey levels rounded to multiples of a step; the strength is the step less one.

    At random, the levels lie evenly between black and white or between the darkest and the brightest grey of the image,
    with rounding to the nearest one, rounding down or the middle of each range; low bits are cut off; or the levels are
    fitted to the image. Errors are never spread to neighbours (dithering), which looks like noise. The parameter of
    a draw is ``levels``, the number of levels from which the image is made: also those in a step's gaps count.
    """

    name = "quantization"
    title = "quantization of the grey levels"
    short_title = "quantization"
    strongest = 254.0
    random = False
    Settings = QuantizationSettings
    exact = wipes = True
    narrow = ("levels", "{} levels", 1.0)
    units: ClassVar = {}
    letter, page_color = "Q", "#ddcc77"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return lambda strength: evenly(1 + 255 / (1 + strength), "nearest", 0.0, 255.0).astype(np.float32)[image]

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        settings, end, first = draw_settings(image, rng)
        return drawn(self, image, settings, end, first)

    def apply(self, image: np.ndarray, settings: QuantizationSettings) -> np.ndarray:
        return posterized(image, settings)

    def fit(self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: object = None) -> Fit | None:
        from llise.kinds.quantization_fit import fit_quantization  # only here: copies are made without it

        return fit_quantization(reference, copy, mask)
