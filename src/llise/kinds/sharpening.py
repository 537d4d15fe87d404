"""Sharpening: what a low-pass filter removes is added to the image once more, so that edges overshoot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import numpy as np
import scipy

from llise.kinds.base import Draw, Kind, Path, drawn
from llise.kinds.estimation import pair_of
from llise.kinds.fitting import Fit, exact_fit
from llise.kinds.sharpening_programs import FIXED, KERNELS, SharpeningSettings, sharpened
from llise.kinds.sharpening_search import find_sharpening


class Sharpening(Kind):
    """Unsharp mask with a Gaussian of radius 1; the strength is the amount.

    At random it is one of the ways of :mod:`llise.kinds.sharpening_programs`: on all channels or on the luma, with a
    Gaussian, a small kernel, a median or another response, by Pillow, or by deconvolution.
    """

    name = "sharpening"
    title = short_title = "sharpening"
    strongest = 500.0
    Settings = SharpeningSettings
    exact = hides = True
    units: ClassVar = {"radius": (" px", 1.0)}
    narrow = ("amount", "amount {}", 1.0)
    letter, page_color = "H", "#aa4499"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _boosted(image, image - low_pass(image, 1.0))

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        way = list(_WAYS)[rng.choice(len(_WAYS), p=list(_WAYS.values()))]
        one = way(rng)
        luma = image.ndim == 3 and bool(rng.random() < 0.4)

        def at(strength: float) -> SharpeningSettings:
            amount = round(100 * strength) / 100 if one.way == "pillow_unsharp" else strength
            return replace(one, amount=amount, luma=luma)

        return drawn(self, image, at, 40.0)

    def apply(self, image: np.ndarray, settings: SharpeningSettings) -> np.ndarray:
        return sharpened(image, settings)

    def fit(
        self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: SharpeningSettings | None = None
    ) -> Fit | None:
        pair = pair_of(reference, copy, mask)
        found = find_sharpening(pair, start) if pair is not None and min(mask.shape) >= 8 else None
        if found is None:
            return None
        settings, intervals = found
        return exact_fit(self, settings, intervals)


def low_pass(image: np.ndarray, radius: float) -> np.ndarray:
    """Blur an image with a Gaussian kernel and mirrored borders."""
    return _filtered(image, lambda r: np.exp(-0.5 * r * r), radius)


def _filtered(image: np.ndarray, response: Callable[[np.ndarray], np.ndarray], radius: float) -> np.ndarray:
    """Multiply in the cosine domain, by a function of the frequency times the radius."""
    spectrum = scipy.fft.dctn(image.astype(np.float32), norm="ortho")
    y, x = (np.arange(n, dtype=np.float32) * np.float32(np.pi * radius / n) for n in image.shape)
    return scipy.fft.idctn(spectrum * response(np.hypot(y[:, None], x)).astype(np.float32), norm="ortho")


def _boosted(image: np.ndarray, detail: np.ndarray) -> Path:
    base, detail = image.astype(np.float32), detail.astype(np.float32)
    return lambda strength: base + np.float32(strength) * detail


def _draw_radius(rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(np.log(0.4), np.log(5.0))))


def _unsharp(rng: np.random.Generator) -> SharpeningSettings:
    """Unsharp mask with a Gaussian; in one of five, differences below a threshold are left alone."""
    threshold = float(rng.uniform(1, 6)) if rng.random() < 0.2 else 0.0
    return SharpeningSettings(
        "unsharp", 1.0, _draw_radius(rng), threshold, border=str(rng.choice(["nearest", "reflect"]))
    )


def _pillow_unsharp(rng: np.random.Generator) -> SharpeningSettings:
    """Unsharp mask of Pillow, in whole per cent and on 8 bits."""
    return SharpeningSettings("pillow_unsharp", 1.0, _draw_radius(rng), float(rng.choice([0, 0, 2, 3, 5])))


def _kernel(rng: np.random.Generator) -> SharpeningSettings:
    """The distance from the mean of the neighbours is added, some times over."""
    return SharpeningSettings("kernel", 1.0, kernel=str(rng.choice(list(KERNELS))))


def _fixed(rng: np.random.Generator) -> SharpeningSettings:
    """One of Pillow's fixed filters, once, mixed with the image up to the strength and beyond."""
    return SharpeningSettings("fixed", 1.0, kernel=str(rng.choice(list(FIXED))))


def _frequencies(rng: np.random.Generator) -> SharpeningSettings:
    """High frequencies raised by a response that is not Gaussian."""
    order = float(rng.uniform(1.0, 3.0)) if rng.random() < 0.5 else 0.0
    return SharpeningSettings("frequencies", 1.0, _draw_radius(rng), shape=order)


def _median(rng: np.random.Generator) -> SharpeningSettings:
    """The distance from the median of the surroundings is added."""
    return SharpeningSettings("median", 1.0, float(rng.choice([3, 5])))


def _deconvolution(rng: np.random.Generator) -> SharpeningSettings:
    """What some rounds of deconvolution add, mixed with the image."""
    return SharpeningSettings("deconvolution", 1.0, float(rng.uniform(0.5, 2.0)), shape=float(rng.integers(2, 9)))


_WAYS = {
    _unsharp: 0.4,
    _pillow_unsharp: 0.18,
    _kernel: 0.19,
    _fixed: 0.04,
    _frequencies: 0.09,
    _median: 0.05,
    _deconvolution: 0.05,
}
"""How often each way is drawn."""
