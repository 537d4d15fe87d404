"""What it takes to find the settings of a kind from a reference and a copy: the result of a fit, and shared tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

ROUNDING = 1 / 12
"""Variance of the error of rounding to whole grey levels."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Settings of a kind that were found by comparing an image before it and an image after it.

    Attributes
    ----------
    parameters : dict of str to float
        The settings in the kind's own units, those of ``settings.words()`` among them.
    apply : callable
        ``apply(image)`` gives the image after the kind, as floats and without any random part.
    draw : callable, optional
        ``draw(image, rng)`` gives the image after the kind with a random part; only random kinds have it.
    settings : Settings, optional
        Complete settings, from which ``Kind.apply`` makes a copy.
    intervals : dict of str to tuple of float
        Interval of each word that holds the true value in 90 % of copies.
    noise : callable, optional
        ``noise(image)`` gives the mean square of what the random part adds to each pixel of ``apply(image)``, after
        rounding and clipping, in the image's shape.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.registry import get
    >>> image = np.arange(64, dtype=np.float32).reshape(8, 8) + 90
    >>> fit = get("luminance").fit(image, image + 7, np.ones((8, 8), bool))
    >>> fit.parameters, float(fit.apply(image)[0, 0])
    ({'offset': 7.0}, 97.0)
    """

    parameters: dict[str, float]
    apply: Callable[[np.ndarray], np.ndarray] = field(default_factory=lambda: _unchanged)
    draw: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None
    settings: Any = None
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    noise: Callable[[np.ndarray], np.ndarray] | None = None


def exact_fit(
    kind: Any, settings: Any, intervals: dict[str, tuple[float, float]], parameters: dict[str, float] | None = None
) -> Fit:
    """A fit of a kind without a random part: it applies what ``kind.apply`` makes of the settings."""

    def apply(image: np.ndarray) -> np.ndarray:
        return kind.apply(as_bytes(image), settings).astype(np.float32)

    return Fit(parameters or settings.words(), apply, settings=settings, intervals=intervals)


def random_fit(
    kind: Any,
    settings: Any,
    intervals: dict[str, tuple[float, float]],
    noise: Callable[[np.ndarray], np.ndarray] | None,
    parameters: dict[str, float] | None = None,
) -> Fit:
    """A fit of a random kind: it draws what ``kind.apply`` makes of the settings with any seed."""

    def draw(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return kind.apply(as_bytes(image), replace(settings, seed=int(rng.integers(2**32)))).astype(np.float32)

    return Fit(parameters or settings.words(), draw=draw, settings=settings, intervals=intervals, noise=noise)


def _unchanged(image: np.ndarray) -> np.ndarray:
    return image


PLACE = 16
"""Side in pixels of the squares in which the power of noise is compared with what is expected there."""


def explained(fit: Fit, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray) -> float:
    """Share of the squared error, over all channels, that a fit accounts for, 0 to 1; of equal images 1."""
    before, after = (image.astype(np.float32) for image in (reference, copy))
    total = float(_sum_of_channels((after - before) ** 2)[mask].sum(dtype=np.float64))
    model = fit.apply(before)
    rest = np.where(mask, _sum_of_channels((after - model) ** 2), np.float32(0))
    left = float(rest.sum(dtype=np.float64))
    if fit.noise is not None:
        expected = np.where(mask, _sum_of_channels(fit.noise(model)), np.float32(0))
        values = np.maximum(_sum_of_places(mask.astype(np.float32)) * before[0, 0].size, 1)
        chance = 1 + 3 * np.sqrt(2 / values)
        known = np.minimum(_sum_of_places(rest), chance * _sum_of_places(expected)).sum(dtype=np.float64)
        left -= min(float(known), float(expected.sum(dtype=np.float64)) * (1 + 3 * (2 / float(values.sum())) ** 0.5))
    if total == 0:
        return float(left == 0)
    return min(max(1 - left / total, 0.0), 1.0)


def _sum_of_channels(values: np.ndarray) -> np.ndarray:
    return values if values.ndim == 2 else values.sum(axis=2)


def _sum_of_places(values: np.ndarray) -> np.ndarray:
    rows, cols = (np.arange(0, size, PLACE) for size in values.shape)
    return np.add.reduceat(np.add.reduceat(values, rows, axis=0), cols, axis=1)


def clipped_power(level: np.ndarray, sigma: np.ndarray | float) -> np.ndarray:
    """Mean square of normal noise on grey levels after clipping to 0..255 and rounding; nothing where sigma is 0."""
    from scipy.special import ndtr  # only here: slow to import

    level = np.clip(level, 0, 255).astype(np.float32)
    sigma = np.maximum(np.asarray(sigma, np.float32), np.float32(1e-6))
    power = np.zeros(np.broadcast_shapes(level.shape, sigma.shape), np.float32)
    for reach in (level / sigma, (255 - level) / sigma):  # E[min(n, a)^2, n > 0] of n ~ N(0, 1), on either side
        density = np.exp(-0.5 * np.minimum(reach, 9) ** 2) * np.float32((2 * np.pi) ** -0.5)
        tail = ndtr(-reach)
        power += 0.5 - tail - reach * density + reach**2 * tail
    return power * sigma**2 + np.float32(ROUNDING) * (sigma > 0.3)


def shared_power(error: np.ndarray, covariance: np.ndarray, power: np.ndarray) -> float:
    """Share of the power that noise of a covariance of the channels has in common with errors (n, channels)."""
    measured = error.T.astype(np.float64) @ error / max(len(error), 1)
    values, axes = np.linalg.eigh(measured)
    clipped = np.sqrt(power / np.maximum(np.diag(covariance), 1e-9))
    own = np.einsum("ji,jk,ki->i", axes, covariance * np.outer(clipped, clipped), axes)
    return float(np.minimum(np.maximum(values, 0) + ROUNDING, own).sum() / max(float(own.sum()), 1e-9))


def deviation_by_places(power: np.ndarray, mask: np.ndarray) -> float:
    """Relative deviation of the square root of a mean power (h, w), from how much the power of places differs."""
    counts = _sum_of_places(mask.astype(np.float64))
    sums = _sum_of_places(np.where(mask, power, 0).astype(np.float64))
    mean = float(sums.sum()) / max(float(counts.sum()), 1.0)
    apart = float(((sums - counts * mean) ** 2).sum()) ** 0.5 / max(float(counts.sum()), 1.0)
    return 0.5 * apart / max(mean, 1e-9)


def in_colour(image: np.ndarray) -> np.ndarray:
    """An image as float32 (h, w, channels)."""
    image = image.astype(np.float32)
    return image[..., None] if image.ndim == 2 else image


def as_bytes(image: np.ndarray) -> np.ndarray:
    """An image rounded and clipped to uint8."""
    return image if image.dtype == np.uint8 else np.clip(np.rint(image), 0, 255).astype(np.uint8)


def interval(value: float, deviation: float, least: float = 0.0) -> tuple[float, float]:
    """Interval of 90 % about a value with a normal error, at least so wide on either side."""
    reach = max(1.645 * deviation, least)
    return float(value - reach), float(value + reach)


def robust_scale(values: np.ndarray) -> float:
    """Return the standard deviation that the inner 80 % of values around zero have if they are normal."""
    return float(np.quantile(np.abs(values), 0.8)) / 1.2816 if values.size else 0.0


def fit_line(before: np.ndarray, after: np.ndarray, mask: np.ndarray, *, slope: bool) -> tuple[float, float]:
    """Fit ``after = gain * before + offset`` where 8 bits do not clip it."""
    x, y = (values[mask].astype(np.float64) for values in (before, after))
    if x.size == 0:
        return 1.0, 0.0
    x, y = x[:: -(-x.size // MOST)], y[:: -(-y.size // MOST)]
    usable = (y > 0.5) & (y < 254.5)
    gain, offset = _line(x, y, usable, slope)
    for _ in range(4):
        line = gain * x + offset
        left = np.abs(y - line)[usable]
        scale = float(np.quantile(left, 0.8)) / 1.2816 if left.size else 0.0
        reach = 2.5 * min(scale, 40.0) + 0.5
        usable = (line - reach > -0.5) & (line + reach < 255.5)
        if np.count_nonzero(usable) < max(8, 0.02 * x.size):
            break
        gain, offset = _line(x, y, usable, slope)
    return gain, offset


MOST = 30_000
"""Values from which a line is found; of more, an even choice is taken."""


def _line(x: np.ndarray, y: np.ndarray, usable: np.ndarray, slope: bool) -> tuple[float, float]:
    if np.count_nonzero(usable) >= 8:
        x, y = x[usable], y[usable]
    mean_x, mean_y = float(x.mean()), float(y.mean())
    x = x - mean_x
    variance = float(x @ x) / x.size
    if not slope or variance < 0.25:
        return 1.0, mean_y - mean_x
    gain = min(max(float(x @ (y - mean_y)) / x.size / variance, 0.02), 20.0)
    return gain, mean_y - gain * mean_x


def residual_power(error: np.ndarray, expected: np.ndarray, mask: np.ndarray) -> float:
    """Return the variance of noise that is clipped to 8 bits, from the side of it that is not clipped."""
    m, r = expected[mask], error[mask].astype(np.float64)
    if r.size == 0:
        return 0.0
    square = r * r
    sigma = max(float(square.mean()) ** 0.5, 0.3)
    for _ in range(4):
        up, down = m + 3 * sigma < 255, m - 3 * sigma > 0
        half = 0.5 * float(np.count_nonzero(up) + np.count_nonzero(down))
        if half < 8:
            break
        power = (square[up & (r > 0)].sum() + square[down & (r < 0)].sum()) / half
        sigma = float(np.sqrt(max(power, 0.09)))
    else:
        return max(float(power) - ROUNDING, 0.0)
    return max(float(square.mean()) - ROUNDING, 0.0)
