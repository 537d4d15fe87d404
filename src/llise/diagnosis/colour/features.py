"""What the colour judge sees of an area: fits of its mean colours, and how errors of chroma and luma look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llise.colours import WEIGHTS
from llise.diagnosis.colour.blocks import ColourBlocks
from llise.diagnosis.colour.errors import PixelErrors, log_of, pixel_errors
from llise.diagnosis.colour.models import (
    Model,
    Samples,
    cast_model,
    curve_misfit,
    free_model,
    saturation_model,
)
from llise.diagnosis.estimates.region_pixels import region_pixels

TILES = 2
"""Most tiles of 16 x 16 blocks whose pixels are measured."""

LEAST_NOISE, NOISE_RATIO, MOST_ALIKE, LEAST_EVEN = 4.0, 4.0, 0.3, 0.4
"""Least variance of chroma noise beside another fault, also against that of the luma, largest correlation of
neighbours, and least mean size as a share of the deviation: that of noise is 0.8, and that of impulses much smaller."""

LINE_LEAVES, LUMA_LEAK = 0.15, 0.25
"""Shares of the luma's error, and of the chroma's, below which what a line leaves of the luma comes from the chroma."""

MOST_CLIPPED, LEAST_ERROR = (0.08, 0.4), 0.15
"""Shares of clipped pixels up to which blocks are taken, as soon as they have this share of the area's error."""


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
    errors : PixelErrors
        What was measured of single pixels.
    noise : float
        Mean squared chroma error that the best blur leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.blocks import measure_blocks
    >>> from llise.diagnosis.colour.features import fit_area
    >>> image = np.random.default_rng(0).integers(40, 200, (96, 96, 3), dtype=np.uint8)
    >>> copy = image // 2 + 60
    >>> fit = fit_area(image, copy, measure_blocks(image, copy), np.ones((12, 12), bool))
    >>> sorted(fit.models)
    ['color_cast', 'saturation', 'unknown']
    """

    features: np.ndarray
    models: dict[str, Model]
    samples: Samples
    errors: PixelErrors
    noise: float

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
        return self.errors.luma_left.get(kind, self.errors.luma_power)

    def noise_beside(self) -> float:
        """Return the variance of chroma noise beside a change of all channels alike, 0 where there is none.

        What a line leaves of the luma and a factor of the chroma is noise of the chroma if it is much stronger in the
        chroma than in the luma, and neighbouring pixels are not alike; a few large errors are impulses.

        Returns
        -------
        float
            Mean squared error of the chroma that a factor leaves.

        Examples
        --------
        >>> fit.noise_beside()  # doctest: +SKIP
        30.2
        """
        power, in_luma, _, grain, size = self.errors.beside
        alike = max(abs(value) for value in grain)
        is_noise = alike < MOST_ALIKE and size > LEAST_EVEN
        return power if power > max(LEAST_NOISE, NOISE_RATIO * in_luma) and is_noise else 0.0

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
        in_chroma, left, line, _, _ = self.errors.beside
        return line if left < LINE_LEAVES * self.errors.luma_power and left < LUMA_LEAK * in_chroma else None


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
    >>> from llise.diagnosis.colour.blocks import measure_blocks
    >>> from llise.diagnosis.colour.features import fit_area
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
    errors = pixel_errors(*pixels, models)
    features = [*_mean_features(samples, blocks, area, models, spread), *errors.features]
    return AreaFit(np.array(features, np.float32), models, samples, errors, errors.noise)


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
        log_of(unchanged),
        *(min(misfit / (unchanged + 0.02), 2.0) for misfit in misfits),
        *(log_of(misfit / (min(misfits[:1] + [unchanged]) + 0.02), 0.01) for misfit in misfits[1:]),
        min(doubt / (unchanged + 0.02), 3.0),
        float(np.clip(factor, -1, 4)),
        min(gains), max(gains), np.ptp(gains), np.ptp(offsets) / 20, abs(sum(offsets)) / 60,
        models["saturation"].remainder[0], models["color_cast"].remainder[0],
        log_of(luma), log_of(unchanged / (luma + 0.05)),
        float(np.log(len(samples.weight))), float(np.log(spread + 1)),
        float(blocks.clipped[area].mean()),
    ]  # fmt: skip
