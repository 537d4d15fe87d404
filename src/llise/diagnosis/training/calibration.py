"""How far estimates lie from the truth, measured on random faulty copies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from llise.diagnosis.estimates.copy_estimates import estimate_fault
from llise.diagnosis.estimates.errors import (
    ERROR_BOUNDS,
    SIZE_BOUNDS,
    EstimateErrors,
    cell_name,
    error_of,
    size_class,
    strength_class,
)
from llise.diagnosis.estimates.region_pixels import region_error
from llise.diagnosis.sets import SETS
from llise.diagnosis.training.samples import draw_picture_scene
from llise.diagnosis.training.scenes import Scene

TAILS = 0.04, 0.96
"""Quantiles of the errors that bound an interval; a little more than 90 %, for pictures that were not calibrated on."""

LEAST_SAMPLES = 40
"""Errors that a class needs to have bounds of its own."""

REGIONS = 3
"""Regions that are taken from one scene."""

LEAST_ERROR = 1.5
"""Mean squared error below which a region is left out."""


class ErrorSample(NamedTuple):
    """The error of one estimate.

    Attributes
    ----------
    name : str
        Setting, see :func:`llise.diagnosis.estimates.errors.cell_name`.
    size, strength : int
        Classes of the region.
    error : float
        Error in the unit of the setting's scale.
    truth, estimate : float
        The values.

    Examples
    --------
    >>> from llise.diagnosis.training.calibration import ErrorSample
    >>> ErrorSample("jpeg.quality.alone", 2, 1, 0.5, 30.5, 30.0).error
    0.5
    """

    name: str
    size: int
    strength: int
    error: float
    truth: float
    estimate: float


def estimate_errors(samples: Iterable[ErrorSample]) -> EstimateErrors:
    """Turn errors into bounds; a class with few of them has those of all classes of its size, or of all sizes.

    Parameters
    ----------
    samples : iterable of ErrorSample
        What :func:`draw_errors` gave.

    Returns
    -------
    EstimateErrors
        Bounds by setting, size and strength.

    Examples
    --------
    >>> from llise.diagnosis.training.calibration import ErrorSample, estimate_errors
    >>> samples = [ErrorSample("jpeg.quality.alone", 3, 1, i / 50 - 1, 0.0, 0.0) for i in range(101)]
    >>> estimate_errors(samples).bounds["jpeg.quality.alone"][3, 1].round(2)
    array([-0.93,  0.93], dtype=float32)
    """
    by_name: dict[str, list[ErrorSample]] = defaultdict(list)
    for sample in samples:
        by_name[sample.name].append(sample)
    bounds = {}
    for name, own in by_name.items():
        group = own if len(own) >= LEAST_SAMPLES else _related(name, by_name)
        sizes, strengths = np.array([s.size for s in group]), np.array([s.strength for s in group])
        errors = np.array([s.error for s in group])
        table = np.zeros((len(SIZE_BOUNDS) + 1, len(ERROR_BOUNDS) + 1, 2), np.float32)
        for size, strength in np.ndindex(table.shape[:2]):
            same_size, same_strength = sizes == size, strengths == strength
            choices = (same_size & same_strength, same_strength & (np.abs(sizes - size) <= 1), same_size)
            chosen = next((c for c in choices if np.count_nonzero(c) >= LEAST_SAMPLES), None)
            table[size, strength] = _tails(errors if chosen is None else errors[chosen])
        if len(group) >= 10:
            bounds[name] = table
    return EstimateErrors(bounds)


def _related(name: str, by_name: dict[str, list[ErrorSample]]) -> list[ErrorSample]:
    """Errors of the same setting beside any other kind; for a kind alone, only its own."""
    setting, partner = name.rsplit(".", 1)
    if partner == "alone":
        return by_name[name]
    others = (key for key in by_name if key.rsplit(".", 1)[0] == setting and not key.endswith(".alone"))
    return [sample for key in others for sample in by_name[key]]


def _tails(errors: np.ndarray) -> np.ndarray:
    """Quantiles, a little wider for few errors."""
    slack = 0.5 / (len(errors) + 1)
    return np.quantile(errors, [max(TAILS[0] - slack, 0.0), min(TAILS[1] + slack, 1.0)])


def draw_errors(names: tuple[str, ...], seeds: Iterable[tuple[int, ...]]) -> Iterator[ErrorSample]:
    """Make a random scene for each seed, estimate its faults from the true regions and kinds, compare with the truth.

    Parameters
    ----------
    names : tuple of str
        Pictures to draw from (:mod:`llise.diagnosis.training.pictures`).
    seeds : iterable of tuple of int
        Seed of each scene.

    Yields
    ------
    ErrorSample
        One for each setting that is known.

    Examples
    --------
    >>> from llise.diagnosis.training.calibration import draw_errors
    >>> samples = [sample for sample in draw_errors(("camera",), [(seed,) for seed in range(4)])]
    >>> all(0 <= sample.size <= 3 for sample in samples)
    True
    """
    for seed in seeds:
        rng = np.random.default_rng(seed)
        scene = draw_picture_scene(names, rng)
        if scene is None:
            continue
        reference = scene.reference
        for code, region in _draw_regions(scene, rng):
            kinds, error = SETS[code], region_error(reference, scene.copy, region)
            if error < LEAST_ERROR or not any(scene.parameters[code].values()):
                continue
            found = estimate_fault(reference, scene.copy, region, kinds)
            for kind in found.parameters:
                values = {name: interval.value for name, interval in found.parameters[kind].items()}
                classes = size_class(kind, int(region.sum()), values), strength_class(error)
                partner = next((other for other in kinds if other != kind), None)
                for name, truth in _known(kind, scene.parameters[code].get(kind, {})).items():
                    if name in values:
                        miss = error_of(kind, name, truth, values[name])
                        yield ErrorSample(cell_name(kind, name, partner), *classes, miss, truth, values[name])


def _known(kind: str, parameters: dict[str, float]) -> dict[str, float]:
    """True settings, with the equivalent deviation of motion and lens blur.

    The share of pixels that other content covers is that of the whole picture, not that of a region, and so not known.
    """
    if kind == "content":
        return {}
    if kind == "blur" and "length" in parameters:
        return {**parameters, "sigma": parameters["length"] / np.sqrt(24)}
    if kind == "blur" and "radius" in parameters:
        return {**parameters, "sigma": parameters["radius"] / 2}
    return parameters


def _draw_regions(scene: Scene, rng: np.random.Generator) -> Iterator[tuple[int, np.ndarray]]:
    """The whole region of each set of kinds, and rectangles inside it."""
    for code in np.unique(scene.labels[scene.labels >= 0]):
        own = scene.labels == code
        yield int(code), own
        rows, cols = own.shape
        for _ in range(REGIONS - 1):
            height, width = (int(np.exp(rng.uniform(np.log(2), np.log(max(n, 3))))) for n in (rows, cols))
            top, left = int(rng.integers(rows - height + 1)), int(rng.integers(cols - width + 1))
            part = np.zeros_like(own)
            part[top : top + height, left : left + width] = True
            part &= own
            if np.count_nonzero(part) > 0.7 * height * width:
                yield int(code), part
