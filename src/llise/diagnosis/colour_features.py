"""What the colour judge sees of an area: fits of its mean colours, and how errors of chroma and luma look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from llise.colours import WEIGHTS, pixels_of, planes_of
from llise.diagnosis.colour_blocks import ColourBlocks
from llise.diagnosis.colour_blurs import blur_features, blurred, explained_by
from llise.diagnosis.colour_coding import coded_shares
from llise.diagnosis.colour_models import (
    Model,
    Samples,
    cast_model,
    curve_misfit,
    free_model,
    saturation_model,
)
from llise.diagnosis.region_pixels import region_pixels

TILES = 2
"""Most tiles of 16 x 16 blocks whose pixels are measured."""

LEAST_NOISE, NOISE_RATIO, MOST_ALIKE = 4.0, 4.0, 0.3
"""Least variance of chroma noise beside another fault, against that of the luma, and correlation of neighbours."""

LINE_LEAVES, LUMA_LEAK = 0.15, 0.25
"""Shares of the luma's error, and of the chroma's, below which what a line leaves of the luma comes from the chroma."""

MOST_CLIPPED, LEAST_ERROR = (0.08, 0.4), 0.15
"""Shares of clipped pixels up to which blocks are taken, as soon as they have this share of the area's error."""

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
    coded : list of float
        Shares of the errors that a JPEG accounts for (:func:`llise.diagnosis.colour_coding.coded_shares`).
    beside : tuple
        Mean squared errors that a factor leaves of the chroma and a line of the luma, the line as gain and offset, and
        how alike neighbouring pixels of the former are.

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
    coded: list[float]
    beside: tuple[float, float, tuple[float, float], list[float]]

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
        before, after, mask = (values[..., 1:] if values.ndim == 3 else values for values in self.planes)
        sigmas = [self.sigma * factor for factor in (0.55, 0.65, 0.77, 0.88, 1.0, 1.13, 1.3, 1.5, 1.75)]
        falls = explained_by(before, after - before, [blurred(before, sigma) for sigma in sigmas], mask)
        return sigmas[int(falls[:-1].sum(axis=1).argmax())]

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
        power, in_luma, _, grain = self.beside
        alike = max(abs(value) for value in grain)
        return power if power > max(LEAST_NOISE, NOISE_RATIO * in_luma) and alike < MOST_ALIKE else 0.0

    def levels_beside(self) -> tuple[float, float] | None:
        """Return the change of levels that accounts for nearly all of the luma's error beside a fault of the chroma.

        What it leaves is so little, against the fault of the chroma, that it comes from that: where changes of the
        chroma are cut off, and from programs whose luma is another one.

        Returns
        -------
        tuple of float or None
            Gain and offset; None where there is none, or another fault beside it.

        Examples
        --------
        >>> fit.levels_beside()  # doctest: +SKIP
        (1.0, 12.0)
        """
        before, after, mask = self.planes
        in_chroma, left, line, _ = self.beside
        error = (after - before)[..., 0][mask]
        whole = float((error * error).mean())
        return line if left < LINE_LEAVES * whole and left < LUMA_LEAK * in_chroma else None


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
    spread = float((blocks.reference[area] @ WEIGHTS).std())
    models = {
        "saturation": saturation_model(samples),
        "color_cast": cast_model(samples),
        "unknown": free_model(samples),
    }
    pixels = region_pixels(reference, copy, area, TILES)
    of_pixels, found = _pixel_features(*pixels, models)
    features = [*_mean_features(samples, blocks, area, models, spread), *of_pixels]
    return AreaFit(np.array(features, np.float32), models, samples, **found)


def _samples(blocks: ColourBlocks, area: np.ndarray) -> Samples:
    """Mean colours of the blocks of an area, those that no rule explains with little weight."""
    choices = (area & (blocks.clipped < limit) for limit in MOST_CLIPPED)
    chosen = next((choice for choice in choices if _tells_enough(choice, area, blocks)), area)
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


def _tells_enough(chosen: np.ndarray, area: np.ndarray, blocks: ColourBlocks) -> bool:
    """Whether some blocks of an area are enough to tell how its colours changed."""
    if np.count_nonzero(chosen) < max(6, 0.1 * np.count_nonzero(area)):
        return False
    return bool(blocks.mse[chosen].sum() >= LEAST_ERROR * blocks.mse[area].sum())


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
) -> tuple[list[float], dict[str, Any]]:
    """Of single pixels; also what else is kept of them."""
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
    of_blurs, sigma, left = blur_features(before, error, usable)
    luma_rest, rest = left[..., :1], left[..., 1:]
    inner_luma, inner = luma[usable], chroma[usable]
    power, luma_power = float((inner * inner).mean()), float((inner_luma * inner_luma).mean())
    noise = float((rest[usable] ** 2).mean())
    beside = _beside_levels(before, after, usable)
    in_chroma, in_luma, _, grain = beside
    coded = coded_shares(reference, after, mask, models)
    fine = [_detail(error[..., i], usable) for i in range(3)]
    features = [
        _log(power), _log(luma_power), _log(power, 0.2) - _log(luma_power, 0.2),
        *of_blurs,
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
        _log(in_chroma), _log(in_chroma, 0.2) - _log(in_luma, 0.2), *grain[:2],
        *fine, fine[1] - fine[0], fine[2] - fine[0],
        *coded[:-1],
        *_luma_left(reference, after[..., 0], usable, models, luma_power, power),
    ]  # fmt: skip
    found = {"sigma": sigma, "noise": noise, "planes": (before, after, usable), "coded": coded, "beside": beside}
    return features, found


def _beside_levels(
    before: np.ndarray, after: np.ndarray, mask: np.ndarray
) -> tuple[float, float, tuple[float, float], list[float]]:
    """What a factor leaves of the chroma and a line of the luma; the line; how alike neighbours in the former are."""
    own, other = before[mask], after[mask]
    luma, copy = own[:, 0], other[:, 0]
    gain = float(np.cov(luma, copy)[0, 1] / max(float(luma.var()), 1e-3))
    in_luma = float(np.var(copy - gain * luma))
    line = gain, float((copy - gain * luma).mean())
    chroma, chroma_copy = own[:, 1:], other[:, 1:]
    factor = float(np.vdot(chroma, chroma_copy) / max(float(np.vdot(chroma, chroma)), 1e-3))
    inner = chroma_copy - factor * chroma
    middle = inner.mean(axis=0)
    rest = after[..., 1:] - factor * before[..., 1:] - middle
    return float(((inner - middle) ** 2).mean()), in_luma, line, _grain(rest, mask)


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
