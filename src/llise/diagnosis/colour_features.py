"""What the colour judge sees of an area: fits of its mean colours, and how errors of chroma and luma look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from llise.colours import WEIGHTS, pixels_of, planes_of
from llise.diagnosis.colour_blocks import ColourBlocks
from llise.diagnosis.colour_models import (
    Model,
    Samples,
    cast_model,
    curve_misfit,
    free_model,
    saturation_model,
)
from llise.diagnosis.region_pixels import region_pixels
from llise.kinds.chroma_blur import subsampled_chroma

TILES = 2
"""Most tiles of 16 x 16 blocks whose pixels are measured."""

CHROMA_SIGMAS = (0.7, 1.3, 2.4, 4.5, 8.0, 14.0)
LUMA_SIGMAS = (0.8, 1.8, 4.0)
"""Blurs that are tried, in pixels."""

SIDES = (4, 8)
"""Squares of coarse chroma that are tried, in pixels."""

LEAST_NOISE, NOISE_RATIO, MOST_ALIKE = 4.0, 4.0, 0.3
"""Least variance of chroma noise beside another fault, against that of the luma, and correlation of neighbours."""

OUTLIER = 48.0
"""Error of the luma from which a pixel counts as an impulse."""


@dataclass(frozen=True, eq=False)
class AreaFit:
    """What was fitted to an area.

    Attributes
    ----------
    features : ndarray of float32, shape (n_features,)
        What the judge sees.
    models : dict of str to Model
        ``saturation``, ``color_cast`` and ``unknown``: rules for the mean colours.
    samples : Samples
        The mean colours.
    sigma : float
        Blur of the chroma, in pixels, that accounts for most of its error.
    noise : float
        Mean squared chroma error that this blur leaves.
    planes : tuple of ndarray
        Y, Cb and Cr of the reference and of the copy, and the pixels that were measured.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour_blocks import measure_blocks
    >>> from llise.diagnosis.colour_features import fit_area
    >>> image = np.random.default_rng(0).integers(40, 200, (96, 96, 3), dtype=np.uint8)
    >>> copy = image // 2 + 60
    >>> fit = fit_area(image, copy, measure_blocks(image, copy), np.ones((12, 12), bool))
    >>> sorted(fit.models)
    ['color_cast', 'saturation', 'unknown']
    """

    features: np.ndarray
    models: dict[str, Model]
    samples: Samples
    sigma: float
    noise: float
    planes: tuple[np.ndarray, np.ndarray, np.ndarray]

    def finer_sigma(self) -> float:
        """Return the blur of the chroma between those that were tried first.

        Returns
        -------
        float
            Standard deviation in pixels.

        Examples
        --------
        >>> fit.finer_sigma()  # doctest: +SKIP
        2.1
        """
        before, after, mask = self.planes
        before, error = before[..., 1:], (after - before)[..., 1:]
        candidates = tuple(self.sigma * factor for factor in (0.55, 0.65, 0.77, 0.88, 1.0, 1.13, 1.3, 1.5, 1.75))
        return _blur(before, error, mask, candidates, ())[1] or self.sigma

    def luma_error(self, kind: str) -> float:
        """Return the mean squared error of the luma that a kind of colour fault leaves.

        Parameters
        ----------
        kind : str
            Kind of the fault; its rule is applied to the luma where it has one.

        Returns
        -------
        float
            Mean over the pixels that were measured.

        Examples
        --------
        >>> fit.luma_error("saturation")  # doctest: +SKIP
        0.3
        """
        before, after, mask = self.planes
        wanted, own = after[..., 0][mask], before[mask]
        if kind in self.models:
            left = wanted - np.clip(self.models[kind].apply(pixels_of(own)), 0, 255) @ WEIGHTS
        else:
            left = wanted - own[:, 0]
        return float((left * left).mean())

    def noise_beside(self) -> float:
        """Return the variance of chroma noise beside a change of all channels alike, 0 where there is none.

        What a line leaves of the luma and a factor of the chroma is noise of the chroma if it is much stronger in the
        chroma than in the luma, and neighbouring pixels are not alike.

        Returns
        -------
        float
            Mean squared error of the chroma that a factor leaves.

        Examples
        --------
        >>> fit.noise_beside()  # doctest: +SKIP
        30.2
        """
        before, after, mask = self.planes
        luma, copy = before[..., 0][mask], after[..., 0][mask]
        gain = float(np.cov(luma, copy)[0, 1] / max(float(luma.var()), 1e-3))
        in_luma = float(np.var(copy - gain * luma))
        chroma = before[..., 1:]
        factor = float((chroma * after[..., 1:])[mask].sum() / max(float((chroma * chroma)[mask].sum()), 1e-3))
        rest = after[..., 1:] - factor * chroma
        rest = rest - rest[mask].mean(axis=0)
        power = float((rest[mask] ** 2).mean())
        alike = max(abs(value) for value in _grain(rest, mask))
        return power if power > max(LEAST_NOISE, NOISE_RATIO * in_luma) and alike < MOST_ALIKE else 0.0


def fit_area(reference: np.ndarray, copy: np.ndarray, blocks: ColourBlocks, area: np.ndarray) -> AreaFit:
    """Fit rules and measure errors of an area.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w, 3)
        The two pictures.
    blocks : ColourBlocks
        Their measurements.
    area : ndarray of bool, shape (rows, cols)
        Blocks of the area.

    Returns
    -------
    AreaFit
        Features and models.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour_blocks import measure_blocks
    >>> from llise.diagnosis.colour_features import fit_area
    >>> image = np.random.default_rng(0).integers(40, 200, (96, 96, 3), dtype=np.uint8)
    >>> copy = image // 2 + 60
    >>> bool(np.isfinite(fit_area(image, copy, measure_blocks(image, copy), np.ones((12, 12), bool)).features).all())
    True
    """
    samples = _samples(blocks, area)
    luma = blocks.reference[area] @ WEIGHTS
    spread, middle = float(luma.std()), float(luma.mean())
    models = {
        "saturation": saturation_model(samples, spread, middle),
        "color_cast": cast_model(samples, spread, middle),
        "unknown": free_model(samples),
    }
    pixels = region_pixels(reference, copy, area, TILES)
    of_pixels, sigma, noise, planes = _pixel_features(*pixels, models)
    features = [*_mean_features(samples, blocks, area, models, spread), *of_pixels]
    return AreaFit(np.array(features, np.float32), models, samples, sigma, noise, planes)


def _samples(blocks: ColourBlocks, area: np.ndarray) -> Samples:
    """Mean colours of the blocks of an area, those that no rule explains with little weight."""
    chosen = area & (blocks.clipped < 0.08)
    if np.count_nonzero(chosen) < max(6, 0.1 * np.count_nonzero(area)):
        chosen = area
    before, after = (values[chosen].astype(np.float64) for values in (blocks.reference, blocks.copy))
    largest, smallest = (values[chosen].astype(np.float64) for values in (blocks.largest, blocks.smallest))
    base = 1.0 / (0.3 + blocks.doubt[chosen].astype(np.float64))
    samples = Samples(before, after, largest, smallest, base)
    for _ in range(2):
        error = samples.after - free_model(samples).apply(samples.before)
        length = np.sqrt((error * error).mean(axis=1))
        weight = base * np.minimum(1, 2.5 * (np.median(length) + 0.3) / (length + 1e-6))
        samples = Samples(before, after, largest, smallest, weight)
    return samples


def _log(value: float, least: float = 0.05) -> float:
    return float(np.log(max(value, 0.0) + least))


def _mean_features(
    samples: Samples, blocks: ColourBlocks, area: np.ndarray, models: dict[str, Model], spread: float
) -> list[float]:
    """Of the mean colours of blocks."""
    alone = samples.before + ((samples.after - samples.before) @ WEIGHTS)[:, None]
    unchanged, curve = samples.chroma_misfit(alone), curve_misfit(samples)
    misfits = [curve, *(model.chroma_misfit for model in models.values())]
    doubt = float((blocks.doubt[area] ** 2).mean())
    factor = models["saturation"].parameters["saturation"]["factor"]
    settings = models["color_cast"].parameters["color_cast"]
    gains = [float(np.clip(settings.get(f"{name}_gain", 1.0), 0, 4)) for name in ("red", "green", "blue")]
    offsets = [float(np.clip(settings.get(f"{name}_offset", 0.0), -99, 99)) for name in ("red", "green", "blue")]
    luma = samples.misfit(samples.before)
    return [
        _log(unchanged),
        *(min(misfit / (unchanged + 0.02), 2.0) for misfit in misfits),
        *(_log(misfit / (min(misfits[:1] + [unchanged]) + 0.02), 0.01) for misfit in misfits[1:]),
        min(doubt / (unchanged + 0.02), 3.0),
        float(np.clip(factor, -1, 4)),
        min(gains), max(gains), np.ptp(gains), np.ptp(offsets) / 20, abs(sum(offsets)) / 60,
        models["saturation"].remainder[0], models["color_cast"].remainder[0],
        _log(luma), _log(unchanged / (luma + 0.05)),
        float(np.log(len(samples.weight))), float(np.log(spread + 1)),
        float(blocks.clipped[area].mean()),
    ]  # fmt: skip


def _pixel_features(
    reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, models: dict[str, Model]
) -> tuple[list[float], float, float, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Of single pixels; also the blur of the chroma, the error that it leaves, and what they were measured on."""
    before, after = planes_of(reference), planes_of(copy)
    error = after - before
    ends = (copy <= 0) | (copy >= 255)
    partly: np.ndarray = np.logical_and(ends.any(axis=-1), ~ends.all(axis=-1))
    inside = mask & ~partly
    if np.count_nonzero(inside) < 0.15 * np.count_nonzero(mask):
        inside = mask
    luma, chroma = error[..., 0], error[..., 1:]
    impulse: np.ndarray = np.greater(np.abs(luma), OUTLIER)
    usable = inside & ~impulse if np.count_nonzero(inside & ~impulse) > 16 else inside
    of_chroma, sigma, rest = _blur(before[..., 1:], chroma, usable, CHROMA_SIGMAS, SIDES)
    of_luma, _, luma_rest = _blur(before[..., :1], error[..., :1], usable, LUMA_SIGMAS, ())
    inner_luma, inner = luma[usable], chroma[usable]
    power, luma_power = float((inner * inner).mean()), float((inner_luma * inner_luma).mean())
    noise = float((rest[usable] ** 2).mean())
    features = [
        _log(power), _log(luma_power), _log(power, 0.2) - _log(luma_power, 0.2),
        *of_chroma, *of_luma,
        *_grain(rest, usable), *_grain(luma_rest, usable),
        *_covariances(luma_rest[..., 0], rest, usable),
        float(np.abs(inner).mean() / np.sqrt(power + 0.01)),
        float(np.abs(inner_luma).mean() / np.sqrt(luma_power + 0.01)),
        float((np.abs(inner).max(axis=-1) < 0.8).mean()), float((np.abs(inner_luma) < 0.8).mean()),
        float(impulse[inside].mean()), float(partly[mask].mean()),
        *(_steps(values, usable, side) for values, side in ((luma, 8), (chroma[..., 0], 8), (chroma[..., 0], 16))),
        *(_detail(after[..., i], usable) - _detail(before[..., i], usable) for i in range(3)),
        _detail(before[..., 1], usable), _detail(before[..., 0], usable),
        _log(float((before[..., 1:][usable] ** 2).mean())),
        *_luma_left(reference, after[..., 0], usable, models, luma_power, power),
    ]  # fmt: skip
    return features, sigma, noise, (before, after, usable)


def _blur(
    before: np.ndarray, error: np.ndarray, mask: np.ndarray, sigmas: tuple[float, ...], sides: tuple[int, ...]
) -> tuple[list[float], float, np.ndarray]:
    """Shares of the error that blurs account for; the blur that accounts for most, and what it leaves."""
    inside = mask[..., None].astype(np.float32) / (np.count_nonzero(mask) * before.shape[-1])
    power = float((error * error * inside).sum()) + 0.02
    candidates = [(sigma, _blurred(before, sigma)) for sigma in sigmas]
    for side in sides:
        padded = np.concatenate([before[..., :1], before], axis=-1)
        candidates.append((float(np.sqrt((side**2 - 1) / 12)), subsampled_chroma(padded, side)[..., 1:]))
    best, shares = (0.0, 0.0, np.zeros_like(before)), []
    twice = 2 * error
    for sigma, blurred in candidates:
        change = blurred - before
        share = float(((twice - change) * change * inside).sum()) / power
        shares.append(max(share, -1.0))
        if share > best[0]:
            best = share, sigma, change
    return [*shares, best[0], float(np.log(best[1] + 0.3))], best[1], error - best[2]


def _blurred(planes: np.ndarray, sigma: float) -> np.ndarray:
    """Planes blurred by a Gaussian, or by three boxes in a row, which are faster, where it is wide."""
    if sigma < 2:
        return ndimage.gaussian_filter(planes, (sigma, sigma, 0), mode="nearest", truncate=3.0)
    side = round(float(np.sqrt(4 * sigma**2 + 1)))
    for _ in range(3):
        planes = ndimage.uniform_filter(planes, (side, side, 1), mode="nearest")
    return planes


def _grain(rest: np.ndarray, mask: np.ndarray) -> list[float]:
    """How much neighbouring pixels of an error are alike, to the right, downwards and two apart."""
    values = rest * mask[..., None]
    count = max(np.count_nonzero(mask) * rest.shape[-1], 1)
    power = float((values * values).sum()) / count + 0.02
    products = (values[:, 1:] * values[:, :-1], values[1:] * values[:-1], values[:, 2:] * values[:, :-2])
    return [float(product.sum()) / count / power for product in products]


def _covariances(luma: np.ndarray, rest: np.ndarray, mask: np.ndarray) -> list[float]:
    """Correlations of the errors of luma, Cb and Cr, and ratios of their powers."""
    values = np.column_stack([luma[mask], rest[mask]])
    covariance = values.T @ values / max(len(values), 1)
    deviation = np.sqrt(np.diagonal(covariance) + 0.05)
    correlation = covariance / np.outer(deviation, deviation)
    return [
        correlation[0, 1], correlation[0, 2], correlation[1, 2],
        float(np.log(deviation[1] / deviation[0])), float(np.log(deviation[2] / deviation[0])),
    ]  # fmt: skip


def _steps(error: np.ndarray, mask: np.ndarray, side: int) -> float:
    """How much larger the steps of an error are at the borders of squares than elsewhere."""
    step = np.abs(np.diff(error, axis=1))
    both = mask[:, 1:] & mask[:, :-1]
    border = (np.arange(1, error.shape[1]) % side == 0)[None, :] & both
    return float(np.log((step[border].mean() + 0.1) / (step[both].mean() + 0.1))) if border.any() else 0.0


def _detail(plane: np.ndarray, mask: np.ndarray) -> float:
    """Logarithm of the power of the detail of a plane."""
    laplacian = 4 * plane[1:-1, 1:-1] - plane[:-2, 1:-1] - plane[2:, 1:-1] - plane[1:-1, :-2] - plane[1:-1, 2:]
    inside = mask[1:-1, 1:-1]
    return _log(float((laplacian[inside] ** 2).mean()) if inside.any() else 0.0, 0.3)


def _luma_left(
    reference: np.ndarray, luma: np.ndarray, mask: np.ndarray, models: dict[str, Model], power: float, chroma: float
) -> list[float]:
    """Errors of the luma that each rule leaves, against that of the chroma and that of the luma without the rule."""
    out = []
    colours, wanted = reference[mask], luma[mask]
    for model in models.values():
        left = wanted - np.clip(model.apply(colours), 0, 255) @ WEIGHTS
        error = float((left * left).mean())
        gain, offset = model.remainder
        level = left - ((gain - 1) * (wanted - left) + offset)
        out += [_log(error), _log(error, 0.2) - _log(power, 0.2), _log(error, 0.2) - _log(chroma, 0.2)]
        out.append(_log(float((level * level).mean()), 0.2) - _log(chroma, 0.2))
    return out
