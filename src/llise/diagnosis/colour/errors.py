"""What the colour judge sees of single pixels of an area: how the errors of luma and chroma look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llise.colours import WEIGHTS
from llise.diagnosis.colour.blurs import blur_features, blurred, left_by
from llise.diagnosis.colour.coding import coded_shares
from llise.diagnosis.colour.models import Model
from llise.diagnosis.colour.planes import AreaPlanes, area_planes

OUTLIER = 48.0
"""Error of the luma from which a pixel counts as an impulse."""

LEAST_USABLE, LEAST_LEFT = 0.15, 16
"""Share of the pixels that must not be clipped in some channels, and number of pixels that must be no impulses, for the
others to be left out."""

ROUNDING = 0.8
"""Error of a plane, in levels, that rounding of the channels leaves."""

FINER = (0.55, 0.65, 0.77, 0.88, 1.0, 1.13, 1.3, 1.5, 1.75)
"""Multiples of a blur of the chroma that are tried after it."""


@dataclass(frozen=True, eq=False)
class PixelErrors:
    """What was measured of the pixels of an area.

    Attributes
    ----------
    features : list of float
        What the judge sees.
    sigma : float
        Blur of the chroma, in pixels, that accounts for most of its error.
    noise : float
        Mean squared chroma error that this blur leaves.
    luma_power : float
        Mean squared error of the luma.
    luma_left : dict of str to float
        Mean squared error of the luma that each rule leaves.
    coded : list of float
        Shares of the errors that a JPEG accounts for (:func:`llise.diagnosis.colour.coding.coded_shares`).
    beside : tuple
        Mean squared errors that a factor leaves of the chroma and a line of the luma, the line as gain and offset, how
        alike neighbouring pixels of the former are, and their mean size as a share of their deviation.
    area, mask : AreaPlanes and ndarray of bool, shape (h, w)
        The pixels, and which of them were measured.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.errors import pixel_errors
    >>> image = np.random.default_rng(0).uniform(40, 200, (96, 96, 3)).astype(np.float32)
    >>> round(pixel_errors(image, image + 3, np.ones((96, 96), bool), {}).luma_power, 2)
    9.0
    """

    features: list[float]
    sigma: float
    noise: float
    luma_power: float
    luma_left: dict[str, float]
    coded: list[float]
    beside: tuple[float, float, tuple[float, float], list[float], float]
    area: AreaPlanes
    mask: np.ndarray

    def finer_sigma(self) -> float:
        """Return the blur of the chroma between those that were tried first.

        Returns
        -------
        float
            Standard deviation in pixels.
        """
        sigmas = [self.sigma * factor for factor in FINER if self.sigma]
        weight = self.mask.astype(np.float32)
        left = [left_by(blurred(self.area, sigma, 1), self.area, weight, 1).sum() for sigma in sigmas]
        return sigmas[int(np.argmin(left))] if left else 0.0


def log_of(value: float, least: float = 0.05) -> float:
    """Return the logarithm of a power to which a little is added.

    Parameters
    ----------
    value : float
        The power; negative ones count as 0.
    least : float
        What is added.

    Returns
    -------
    float
        Logarithm.

    Examples
    --------
    >>> from llise.diagnosis.colour.errors import log_of
    >>> log_of(0.0, 1.0)
    0.0
    """
    return float(np.log(max(value, 0.0) + least))


def pixel_errors(reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, models: dict[str, Model]) -> PixelErrors:
    """Measure the errors of the pixels of an area.

    Parameters
    ----------
    reference, copy : ndarray of float32, shape (height, width, 3)
        Pixels of both pictures, with margins, cut on the grid of blocks.
    mask : ndarray of bool, shape (height, width)
        Pixels of the area.
    models : dict of str to Model
        Rules for colours, see :func:`llise.diagnosis.colour.features.fit_area`.

    Returns
    -------
    PixelErrors
        Features, and what else is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.errors import pixel_errors
    >>> image = np.random.default_rng(0).uniform(40, 200, (96, 96, 3)).astype(np.float32)
    >>> bool(np.isfinite(pixel_errors(image, image + 3, np.ones((96, 96), bool), {}).features).all())
    True
    """
    area = area_planes(reference, copy, mask)
    colours, mask, columns = area.crop(reference), area.crop(mask), area.places(area.columns)
    before, after, error = area.before, area.after, area.after - area.before
    partly = _partly_clipped(area.crop(copy))
    inside = mask & ~partly
    inside = inside if np.count_nonzero(inside) >= LEAST_USABLE * np.count_nonzero(mask) else mask
    impulse = np.abs(error[0]) > OUTLIER
    usable = inside & ~impulse
    usable = usable if np.count_nonzero(usable) > LEAST_LEFT else inside
    of_blurs, sigma, rest = blur_features(area, usable)
    weight = usable.astype(np.float32)
    chosen = np.flatnonzero(usable)
    own, other, inner = (values.reshape(3, -1)[:, chosen] for values in (before, after, error))
    size, (luma_power, *chroma_power) = np.abs(inner), [float(np.vdot(plane, plane)) / plane.size for plane in inner]
    power = float(np.mean(chroma_power))
    beside = _beside_levels(own, other, area, weight)
    in_chroma, in_luma, _, grain, _ = beside
    coded = coded_shares(colours, area, mask, models)
    left, of_left = _luma_left(colours.reshape(-1, 3)[chosen], other[0], models, luma_power, power)
    of_rest, noise = _covariances(rest.reshape(3, -1)[:, chosen])
    detail, fine = _detail(before, weight), _detail(error, weight)
    change = [one - two for one, two in zip(_detail(after, weight), detail)]
    features = [
        log_of(power), log_of(luma_power), log_of(power, 0.2) - log_of(luma_power, 0.2),
        *of_blurs,
        *_grain(rest[1:], weight), *_grain(rest[:1], weight),
        *of_rest,
        float(size[1:].mean() / np.sqrt(power + 0.01)), float(size[0].mean() / np.sqrt(luma_power + 0.01)),
        _share_below(np.maximum(size[1], size[2])), _share_below(size[0]),
        _share(impulse, inside), _share(partly, mask),
        *_steps(error[0], weight, columns, (8,)), *_steps(error[1], weight, columns, (8, 16)),
        *change, detail[1], detail[0],
        log_of(float(np.vdot(own[1:], own[1:])) / own[1:].size),
        log_of(in_chroma), log_of(in_chroma, 0.2) - log_of(in_luma, 0.2), *grain[:2],
        *fine, fine[1] - fine[0], fine[2] - fine[0],
        *coded[:-1],
        *of_left,
    ]  # fmt: skip
    return PixelErrors(features, sigma, noise, luma_power, left, coded, beside, area, usable)


def _partly_clipped(copy: np.ndarray) -> np.ndarray:
    """Pixels with one or two channels at 0 or 255."""
    ends = (copy <= 0) | (copy >= 255)
    red, green, blue = (ends[..., i] for i in range(3))
    return np.asarray((red | green | blue) & ~(red & green & blue))


def _share(chosen: np.ndarray, among: np.ndarray) -> float:
    return np.count_nonzero(chosen & among) / np.count_nonzero(among)


def _share_below(size: np.ndarray) -> float:
    """Share of errors that are no more than what rounding leaves."""
    return np.count_nonzero(size < ROUNDING) / size.size


def _beside_levels(
    own: np.ndarray, other: np.ndarray, area: AreaPlanes, weight: np.ndarray
) -> tuple[float, float, tuple[float, float], list[float], float]:
    """What a factor leaves of the chroma and a line of the luma; the line; grain and size of the former."""
    luma, copy = own[0] - own[0].mean(), other[0] - other[0].mean()
    n = luma.size
    gain = float(np.vdot(luma, copy)) / max(n - 1, 1) / max(float(np.vdot(luma, luma)) / n, 1e-3)
    in_luma = float(np.var(copy - gain * luma))
    line = gain, float(other[0].mean()) - gain * float(own[0].mean())
    chroma, chroma_copy = own[1:], other[1:]
    factor = float(np.vdot(chroma, chroma_copy) / max(float(np.vdot(chroma, chroma)), 1e-3))
    inner = chroma_copy - factor * chroma
    middle = inner.mean(axis=1, keepdims=True)
    inner -= middle
    power = float(np.vdot(inner, inner)) / inner.size
    rest = area.after[1:] - factor * area.before[1:] - middle[..., None]
    size = float(np.abs(inner).mean()) / max(float(np.sqrt(power)), 1e-3)
    return power, in_luma, line, _grain(rest, weight), size


def _grain(rest: np.ndarray, weight: np.ndarray) -> list[float]:
    """How much neighbouring pixels of an error are alike, to the right, downwards and two apart."""
    values = rest * weight
    count = max(float(weight.sum()) * len(rest), 1)
    power = float(np.vdot(values, values)) / count + 0.02
    pairs = (
        (values[..., 1:], values[..., :-1]),
        (values[:, 1:], values[:, :-1]),
        (values[..., 2:], values[..., :-2]),
    )
    return [float(np.einsum("ihw,ihw->", *pair)) / count / power for pair in pairs]


def _covariances(values: np.ndarray) -> tuple[list[float], float]:
    """Correlations of the errors of luma, Cb and Cr, and ratios of their powers; the power of the chroma's."""
    covariance = values @ values.T / max(values.shape[1], 1)
    deviation = np.sqrt(np.diagonal(covariance) + 0.05)
    correlation = covariance / np.outer(deviation, deviation)
    return [
        correlation[0, 1], correlation[0, 2], correlation[1, 2],
        float(np.log(deviation[1] / deviation[0])), float(np.log(deviation[2] / deviation[0])),
    ], float(np.diagonal(covariance)[1:].mean())  # fmt: skip


def _steps(error: np.ndarray, weight: np.ndarray, columns: np.ndarray, sides: tuple[int, ...]) -> list[float]:
    """How much larger the steps of an error are at the borders of squares than elsewhere."""
    both = weight[:, 1:] * weight[:, :-1]
    step = error[:, 1:] - error[:, :-1]
    np.abs(step, out=step)
    step *= both
    steps, counts = step.sum(axis=0), both.sum(axis=0)
    out = []
    for side in sides:
        border = columns[1:] % side == 0
        here = float(counts[border].sum())
        mean, of_all = steps[border].sum() / max(here, 1), steps.sum() / max(float(counts.sum()), 1)
        out.append(float(np.log((mean + 0.1) / (of_all + 0.1))) if here else 0.0)
    return out


def _detail(planes: np.ndarray, weight: np.ndarray) -> list[float]:
    """Logarithms of the powers of the detail of planes."""
    laplacian = 4 * planes[:, 1:-1, 1:-1]
    laplacian -= planes[:, :-2, 1:-1]
    laplacian -= planes[:, 2:, 1:-1]
    laplacian -= planes[:, 1:-1, :-2]
    laplacian -= planes[:, 1:-1, 2:]
    inside = weight[1:-1, 1:-1]
    laplacian *= inside
    count = max(float(inside.sum()), 1)
    return [log_of(float(np.vdot(plane, plane)) / count, 0.3) for plane in laplacian]


def _luma_left(
    colours: np.ndarray, luma: np.ndarray, models: dict[str, Model], power: float, chroma: float
) -> tuple[dict[str, float], list[float]]:
    """Errors of the luma that each rule leaves, also against that of the chroma and of the luma without the rule."""
    errors, out = {}, []
    for name, model in models.items():
        left = luma - np.clip(model.apply(colours), 0, 255) @ WEIGHTS
        errors[name] = error = float((left * left).mean())
        gain, offset = model.remainder
        level = left - ((gain - 1) * (luma - left) + offset)
        out += [log_of(error), log_of(error, 0.2) - log_of(power, 0.2), log_of(error, 0.2) - log_of(chroma, 0.2)]
        out.append(log_of(float((level * level).mean()), 0.2) - log_of(chroma, 0.2))
    return errors, out
