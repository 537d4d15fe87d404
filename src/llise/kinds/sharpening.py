"""Sharpening: what a low-pass filter removes is added to the image once more, so that edges overshoot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Unpack

import numpy as np
import scipy

from llise.filters import from_spectrum, spectrum_of
from llise.kinds.base import Draw, GreyStatistics, Kind, Path, drawn, exact_fit
from llise.kinds.estimation import pair_of
from llise.kinds.fitting import Fit
from llise.kinds.frequency_filter import filtered
from llise.kinds.sharpening_programs import FIXED, KERNELS, SharpeningSettings, sharpened
from llise.kinds.sharpening_search import find_sharpening


class Sharpening(Kind):
    """Unsharp mask with a Gaussian of radius 1; the strength is the amount.

    At random it is one of the ways of :mod:`llise.kinds.sharpening_programs`: on all channels or on the luma, with a
    Gaussian, a small kernel, a median or another response, by Pillow, or by deconvolution.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.sharpening import Sharpening
    >>> edge = np.repeat(np.array([100, 150], np.uint8), 4)[None]
    >>> Sharpening().path(edge, np.random.default_rng(0))(0.5).round()
    array([[100., 100.,  99.,  92., 158., 151., 150., 150.]], dtype=float32)
    """

    name = "sharpening"
    title = "sharpening"
    short_title = "sharpening"
    strongest = 500.0
    Settings = SharpeningSettings
    exact = True
    hides = True
    units: ClassVar = {"radius": (" px", 1.0)}
    narrow = ("amount", "amount {}", 1.0)
    letter, page_color = "H", "#aa4499"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _boosted(image, image - low_pass(image, 1.0))

    def draw_program(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        way = list(_WAYS)[rng.choice(len(_WAYS), p=list(_WAYS.values()))]
        one = way(rng)
        luma = image.ndim == 3 and bool(rng.random() < 0.4)

        def at(strength: float) -> SharpeningSettings:
            amount = round(100 * strength) / 100 if one.way == "pillow_unsharp" else strength
            return replace(one, amount=amount, luma=luma)

        return drawn(self, image, at, 40.0)

    draw_grey = draw_program

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

    def estimate(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> Fit:
        return _Unsharp(before, after, mask).run() if mask.any() else Fit({})


_RADII = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6)
"""Radii of unsharp masks from which the estimate starts; a sum of some follows other filters."""


class _Unsharp:
    """The unsharp mask that comes nearest in the sense of least squares, where 8 bits do not clip it."""

    def __init__(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> None:
        self.shape = before.shape
        self.pixels = np.flatnonzero(mask & (after > 0.5) & (after < 254.5))
        if self.pixels.size < 0.05 * np.count_nonzero(mask):
            self.pixels = np.flatnonzero(mask)
        self.base = before.ravel()[self.pixels].astype(np.float32)
        self.change = after.ravel()[self.pixels].astype(np.float32) - self.base
        self.spectrum = spectrum_of(before.astype(np.float32))
        y, x = np.fft.fftfreq(self.shape[0])[:, None], np.fft.rfftfreq(self.shape[1])
        self.square = (-2 * np.pi**2 * (y * y + x * x)).astype(np.float32)
        self.used = np.ones(self.pixels.size, bool)

    def run(self) -> Fit:
        details = {radius: self.detail(radius) for radius in _RADII}
        for _ in range(2):  # without the pixels that would be clipped, although they were not
            radius = min(_RADII, key=lambda r: self.fit(details[r])[1])
            expected = self.base + self.fit(details[radius])[0] * details[radius]
            inside = (expected > 0) & (expected < 255)
            self.used = inside if np.count_nonzero(inside) > 0.2 * inside.size else self.used
        radius = self.refine(radius)
        amount, error = self.fit(self.detail(radius))
        response = amount * self.highs(radius)
        mixed, mixed_error = self.mixture(details)
        if mixed_error < 0.8 * error:
            response = mixed
        return Fit({"amount": max(amount, 0.0), "radius": radius}, lambda image: self.apply(image, response))

    def highs(self, radius: float) -> np.ndarray:
        """What a Gaussian low-pass filter removes, by frequency."""
        return 1 - np.exp(np.float32(radius * radius) * self.square)

    def detail(self, radius: float) -> np.ndarray:
        return from_spectrum(self.spectrum * self.highs(radius), self.shape).ravel()[self.pixels]

    def fit(self, detail: np.ndarray) -> tuple[float, float]:
        """Amount and mean squared error that is left."""
        x, y = detail[self.used], self.change[self.used]
        power = float(x @ x)
        amount = float(x @ y) / power if power > 1e-3 * x.size else 0.0
        rest = y - np.float32(amount) * x
        return amount, float(rest @ rest) / max(rest.size, 1)

    def refine(self, start: float) -> float:
        """Radius of the least error near a start, by parabolas through the errors at three radii."""
        step, at = 0.17, float(np.log(start))
        for _ in range(2):
            low, middle, high = (self.fit(self.detail(float(np.exp(at + d))))[1] for d in (-step, 0.0, step))
            bend = low + high - 2 * middle
            if bend <= 0:
                break
            at += float(np.clip(0.5 * step * (low - high) / bend, -1.5 * step, 1.5 * step))
            step /= 3
        return float(np.exp(np.clip(at, np.log(0.2), np.log(20.0))))

    def mixture(self, details: dict[float, np.ndarray]) -> tuple[np.ndarray, float]:
        """Response and error of the best sum of unsharp masks."""
        chosen = _RADII[::2]
        columns = np.stack([details[radius][self.used] for radius in chosen], axis=1)
        gram = (columns.T @ columns).astype(np.float64)
        gram[np.diag_indices(len(gram))] += 1e-4 * np.trace(gram) / len(gram) + 1e-6
        weights = np.linalg.solve(gram, (columns.T @ self.change[self.used]).astype(np.float64)).astype(np.float32)
        rest = self.change[self.used] - columns @ weights
        response = sum(weight * self.highs(radius) for weight, radius in zip(weights, chosen))
        return np.asarray(response), float(rest @ rest) / max(rest.size, 1)

    def apply(self, image: np.ndarray, response: np.ndarray) -> np.ndarray:
        detail = filtered(image.astype(np.float32), response, self.shape)
        return np.clip(image + detail, 0, 255).astype(np.float32)


def low_pass(image: np.ndarray, radius: float) -> np.ndarray:
    """Blur an image with a Gaussian kernel and mirrored borders.

    Parameters
    ----------
    image : ndarray, shape (h, w)
        Image to blur.
    radius : float
        Standard deviation of the kernel in pixels.

    Returns
    -------
    ndarray of float32, shape (h, w)
        The blurred image.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.sharpening import low_pass
    >>> low_pass(np.array([[0, 0, 200, 0, 0]], np.uint8), 1.0).round()
    array([[12., 48., 80., 48., 12.]], dtype=float32)
    """
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
