"""The settings of a colour fault in its own units, the error that it causes, and the blocks that it would change."""

from __future__ import annotations

import numpy as np

from llise.colours import TO_PLANES
from llise.diagnosis.colour.blocks import ColourBlocks
from llise.diagnosis.colour.features import AreaFit
from llise.diagnosis.result import Interval
from llise.kinds.color_cast import mired_shift

CHROMA_TO_RGB = 2.0
"""About the mean squared error of the channels for one of the chroma planes of one."""

LEAST_SHIFT = 1.2
"""Change of a block's chroma, in levels, that cannot be overlooked."""


def settings_of(kind: str, fit: AreaFit, blocks: ColourBlocks, region: np.ndarray) -> tuple[dict[str, Interval], float]:
    """Return the settings of a fault and the mean squared error, over the channels, that it causes.

    Parameters
    ----------
    kind : str
        Kind of the fault.
    fit : AreaFit
        What was fitted to its area.
    blocks : ColourBlocks
        Measurements of reference and copy.
    region : ndarray of bool, shape (rows, cols)
        Its blocks.

    Returns
    -------
    settings : dict of str to Interval
        Settings with 90 % intervals.
    error : float
        Mean squared error.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.blocks import measure_blocks
    >>> from llise.diagnosis.colour.features import fit_area
    >>> from llise.diagnosis.colour.settings import settings_of
    >>> image = np.random.default_rng(0).integers(40, 200, (12, 12, 3)).repeat(8, 0).repeat(8, 1).astype(np.uint8)
    >>> blocks, everywhere = measure_blocks(image, image + np.array([20, 0, 0], np.uint8)), np.ones((12, 12), bool)
    >>> fit = fit_area(image, image + np.array([20, 0, 0], np.uint8), blocks, everywhere)
    >>> settings, error = settings_of("color_cast", fit, blocks, everywhere)
    >>> round(settings["red_offset"].value), round(error)
    (20, 133)
    """
    if kind == "chroma_noise":
        sigma = float(np.sqrt(max(fit.noise, 0.0)))
        margin = 0.05 * sigma + 0.2
        return {"sigma": Interval(sigma, sigma - margin, sigma + margin)}, CHROMA_TO_RGB * fit.noise
    if kind == "chroma_blur":
        sigma = fit.errors.finer_sigma()
        left = CHROMA_TO_RGB * max(float(blocks.chroma_mse[region].mean()) - fit.noise, 0.0)
        return {"sigma": Interval(sigma, 0.8 * sigma, 1.25 * sigma)}, left
    model = fit.models[kind]
    change = model.apply(blocks.reference[region]) - blocks.reference[region]
    error = float((change * change).mean())
    return _intervals(fit, kind), error


def _intervals(fit: AreaFit, kind: str) -> dict[str, Interval]:
    model, samples = fit.models[kind], fit.samples
    error = np.sqrt(model.chroma_misfit / max(len(samples.weight), 1))
    chroma = samples.before @ TO_PLANES[1:].T
    margins = {
        "factor": 2 * error / max(float(np.sqrt((chroma * chroma).mean())), 1.0) + 0.012,
        "gain": 2 * error / max(float(samples.before.std()), 5.0) + 0.012,
        "offset": 2 * error + 0.6,
    }
    settings = model.parameters.get(kind, {})
    out = {}
    for name, value in settings.items():
        margin = margins[name.rpartition("_")[2]]
        out[name] = Interval(value, value - margin, value + margin)
    if kind == "color_cast" and len(settings) == 3 and "red_gain" in settings:
        mired = mired_shift(np.array(list(settings.values())))
        if mired is not None:
            margin = 0.1 * abs(mired) + 4
            out["mired"] = Interval(mired, mired - margin, mired + margin)
    return out


def reach(kind: str, fit: AreaFit, blocks: ColourBlocks) -> np.ndarray:
    """Return the blocks of the picture that a fault would surely change if it lay over all of it.

    Parameters
    ----------
    kind : str
        Kind of the fault.
    fit : AreaFit
        What was fitted to its area.
    blocks : ColourBlocks
        Measurements of reference and copy.

    Returns
    -------
    ndarray of bool, shape (rows, cols)
        All blocks for noise; for a blur those whose chroma differs much from that of their neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.blocks import measure_blocks
    >>> from llise.diagnosis.colour.settings import reach
    >>> image = np.zeros((16, 16, 3), np.uint8)
    >>> reach("chroma_noise", None, measure_blocks(image, image)).all()
    np.True_
    """
    if kind == "chroma_noise":
        return np.ones(blocks.changed.shape, bool)
    chroma = blocks.reference @ TO_PLANES[1:].T
    if kind == "chroma_blur":
        steps = [np.abs(np.diff(chroma, axis=axis)).max(axis=-1) for axis in (0, 1)]
        rough = np.zeros(blocks.changed.shape)
        rough[1:], rough[:-1] = np.maximum(rough[1:], steps[0]), np.maximum(rough[:-1], steps[0])
        rough[:, 1:] = np.maximum(rough[:, 1:], steps[1])
        rough[:, :-1] = np.maximum(rough[:, :-1], steps[1])
        return rough > 10 * LEAST_SHIFT
    change = (fit.models[kind].apply(blocks.reference) - blocks.reference) @ TO_PLANES[1:].T
    return np.hypot(change[..., 0], change[..., 1]) > LEAST_SHIFT + 3.5 * blocks.doubt
