"""What it takes to find the settings of a kind from a reference and a copy: the result of a fit, and shared tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

ROUNDING = 1 / 12
"""Variance of the error of rounding to whole grey levels."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Settings of a kind that were found by comparing an image before it and an image after it.

    Attributes
    ----------
    parameters : dict of str to float
        The settings in the kind's own units.
    apply : callable
        ``apply(image)`` gives the image after the kind, as floats and without any random part.
    draw : callable, optional
        ``draw(image, rng)`` gives the image after the kind with a random part; only random kinds have it.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.registry import get
    >>> image = np.arange(64, dtype=np.float32).reshape(8, 8) + 90
    >>> fit = get("luminance").estimate(image, image + 7, np.ones((8, 8), bool))
    >>> fit.parameters, float(fit.apply(image)[0, 0])
    ({'offset': 7.0}, 97.0)
    """

    parameters: dict[str, float]
    apply: Callable[[np.ndarray], np.ndarray] = field(default_factory=lambda: _unchanged)
    draw: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None


def _unchanged(image: np.ndarray) -> np.ndarray:
    return image


def robust_scale(values: np.ndarray) -> float:
    """Return the standard deviation that the inner 80 % of values around zero have if they are normal.

    Parameters
    ----------
    values : ndarray
        Values about zero, some of which may be outliers.

    Returns
    -------
    float
        Standard deviation; 0 if there are no values.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.fitting import robust_scale
    >>> values = np.random.default_rng(0).normal(0, 3, 10000)
    >>> values[:100] = 255
    >>> round(robust_scale(values), 1)
    3.0
    """
    return float(np.quantile(np.abs(values), 0.8)) / 1.2816 if values.size else 0.0


def median_of_neighbours(values: np.ndarray) -> np.ndarray:
    """Return the median of the four neighbours of each pixel.

    Parameters
    ----------
    values : ndarray, shape (h, w)
        Image.

    Returns
    -------
    ndarray, shape (h, w)
        Mean of the second and the third of the four values; at the border, the opposite one replaces the missing one.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.fitting import median_of_neighbours
    >>> image = np.full((3, 3), 10.0)
    >>> image[1, 1] = 255
    >>> float(median_of_neighbours(image)[1, 1])
    10.0
    """
    return 0.5 * sum_of_middle_neighbours(values)


def sum_of_middle_neighbours(values: np.ndarray) -> np.ndarray:
    """Return twice the median of the four neighbours of each pixel, in the type of the pixels.

    Parameters
    ----------
    values : ndarray, shape (h, w)
        Image; whole numbers are compared most quickly.

    Returns
    -------
    ndarray, shape (h, w)
        Sum of the second and the third of the four values, see :func:`median_of_neighbours`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.fitting import sum_of_middle_neighbours
    >>> int(sum_of_middle_neighbours(np.array([[0, 1, 0], [2, 9, 4], [0, 7, 0]]))[1, 1])
    6
    """
    padded = np.pad(values, 1, mode="reflect")
    n, s, w, e = padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]
    low = np.maximum(np.minimum(n, s), np.minimum(w, e))
    high = np.minimum(np.maximum(n, s), np.maximum(w, e))
    return low + high


def fit_line(before: np.ndarray, after: np.ndarray, mask: np.ndarray, *, slope: bool) -> tuple[float, float]:
    """Fit ``after = gain * before + offset`` where 8 bits do not clip it.

    Parameters
    ----------
    before, after : ndarray, shape (h, w)
        Images before and after a change of the grey levels.
    mask : ndarray of bool, shape (h, w)
        Pixels to use.
    slope : bool
        Whether the gain is free; otherwise it is 1.

    Returns
    -------
    gain, offset : float
        The line.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.fitting import fit_line
    >>> image = np.arange(0, 256, 4, dtype=np.float32).reshape(8, 8)
    >>> gain, offset = fit_line(image, np.clip(1.5 * image - 60, 0, 255), np.ones((8, 8), bool), slope=True)
    >>> round(gain, 2), round(offset)
    (1.5, -60)
    """
    x, y, count = _distinct_pairs(before[mask], after[mask])
    if x.size == 0:
        return 1.0, 0.0
    usable = (y > 0.5) & (y < 254.5)
    gain, offset = _line(x, y, count, usable, slope)
    for _ in range(4):
        line = gain * x + offset
        scale = _quantile(np.abs(y - line)[usable], count[usable], 0.8) / 1.2816
        reach = 2.5 * min(scale, 40.0) + 0.5
        usable = (line - reach > -0.5) & (line + reach < 255.5)
        if count[usable].sum() < max(8, 0.02 * count.sum()):
            break
        gain, offset = _line(x, y, count, usable, slope)
    return gain, offset


def _distinct_pairs(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of values, and how often each occurs: pairs of whole grey levels are far fewer than pixels."""
    if x.size > _MANY and all(np.array_equal(values, np.rint(values)) for values in (x, y)):
        first, second = int(x.min()), int(y.min())
        span = int(y.max()) - second + 1
        codes = (x.astype(np.int32) - first) * span + (y.astype(np.int32) - second)
        if codes.max() < 4 * x.size:
            counts = np.bincount(codes)
            pairs = np.flatnonzero(counts)
            return pairs // span + float(first), pairs % span + float(second), counts[pairs].astype(np.float64)
    return x.astype(np.float64), y.astype(np.float64), np.ones(x.size)


_MANY = 20_000
"""Pixels from which it is worth while to count equal pairs of grey levels."""


def _quantile(values: np.ndarray, count: np.ndarray, share: float) -> float:
    """As :func:`numpy.quantile`, of values that occur several times; 0 if there are none."""
    if not values.size:
        return 0.0
    if count.max() == 1:
        return float(np.quantile(values, share))
    order = np.argsort(values)
    reached = np.cumsum(count[order])
    place = share * (reached[-1] - 1)
    low, high = values[order[np.searchsorted(reached, [np.floor(place), np.ceil(place)], side="right")]]
    return float(low + (high - low) * (place % 1))


def line_fit(kind: str, gain: float, offset: float, mean: float = 128.0) -> Fit:
    """Return a straight line of the grey levels as a change of contrast or luminance.

    Parameters
    ----------
    kind : {"contrast", "luminance"}
        What the line is called.
    gain, offset : float
        The line.
    mean : float
        Pivot of a contrast that changes nothing.

    Returns
    -------
    Fit
        Gain and pivot, or offset; its ``apply`` clips to 8 bits.

    Examples
    --------
    >>> from llise.kinds.fitting import line_fit
    >>> line_fit("contrast", 0.5, 60.0).parameters
    {'gain': 0.5, 'pivot': 120.0}
    """

    def apply(image: np.ndarray) -> np.ndarray:
        return np.clip(np.float32(gain) * image + np.float32(offset), 0, 255)

    if kind == "luminance":
        return Fit({"offset": offset}, apply)
    pivot = offset / (1 - gain) if abs(1 - gain) > 1e-3 else mean
    return Fit({"gain": gain, "pivot": float(np.clip(pivot, 0.0, 255.0))}, apply)


def _line(x: np.ndarray, y: np.ndarray, count: np.ndarray, usable: np.ndarray, slope: bool) -> tuple[float, float]:
    if count[usable].sum() < 8:
        usable = np.ones(x.size, bool)
    x, y, count = x[usable], y[usable], count[usable]
    total = float(count.sum())
    mean_x, mean_y = float(count @ x) / total, float(count @ y) / total
    x = x - mean_x
    variance = float(count @ (x * x)) / total
    if not slope or variance < 0.25:
        return 1.0, mean_y - mean_x
    gain = float((count * x) @ (y - mean_y)) / total / variance
    gain = min(max(gain, 0.02), 20.0)
    return gain, mean_y - gain * mean_x


def residual_power(error: np.ndarray, expected: np.ndarray, mask: np.ndarray) -> float:
    """Return the variance of noise that is clipped to 8 bits, from the side of it that is not clipped.

    Parameters
    ----------
    error : ndarray, shape (h, w)
        Copy less `expected`.
    expected : ndarray, shape (h, w)
        Grey levels to which the noise was added.
    mask : ndarray of bool, shape (h, w)
        Pixels to use.

    Returns
    -------
    float
        Variance of the noise; that of rounding is taken off.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.fitting import residual_power
    >>> dark = np.zeros((100, 100))
    >>> copy = np.clip(np.rint(dark + np.random.default_rng(0).normal(0, 10, dark.shape)), 0, 255)
    >>> round(residual_power(copy - dark, dark, np.ones(dark.shape, bool)) ** 0.5)
    10
    """
    m, r, count = _distinct_pairs(expected[mask], error[mask])
    if r.size == 0:
        return 0.0
    square = count * r * r
    total = float(square.sum())
    sigma = max(float(np.sqrt(total / count.sum())), 0.3)
    for _ in range(4):
        up, down = m + 3 * sigma < 255, m - 3 * sigma > 0
        half = 0.5 * float(count[up].sum() + count[down].sum())
        if half < 8:
            break
        power = (square[up & (r > 0)].sum() + square[down & (r < 0)].sum()) / half
        sigma = float(np.sqrt(max(power, 0.09)))
    else:
        return max(float(power) - ROUNDING, 0.0)
    return max(total / float(count.sum()) - ROUNDING, 0.0)
