"""One pair through the gate: equal, measured, and only then diagnosed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from llise.differences import BLOCK, Differences, add_colours, measure_differences
from llise.gate.measures import color_difference, colors_differ, measure_pair
from llise.gate.outcome import JudgedFault, Measures, Outcome, Status, gravest
from llise.gate.pairs import Pair
from llise.gate.rules import Rules
from llise.images import ImageError, as_uint8, check_same_size, read_image, read_pixels
from llise.labels import UNKNOWN


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two pictures as they were compared, and which pixels took part.

    Attributes
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        Grey levels; where pixels are ignored, the copy has those of the reference.
    colors : tuple of two ndarrays of uint8, shape (h, w, 3), or None
        The same in colour, unless both pictures are grey.
    compared : ndarray of bool, shape (h, w), or None
        Pixels that took part; None for all.
    differences : Differences
        What differs by block.
    """

    reference: np.ndarray
    copy: np.ndarray
    colors: tuple[np.ndarray, np.ndarray] | None
    compared: np.ndarray | None
    differences: Differences


Illustrate = Callable[[Outcome, Comparison], dict[str, bytes]]
"""Draws the pictures of a pair that differs."""


def judge_pair(pair: Pair, rules: Rules, measures_only: bool = False, illustrate: Illustrate | None = None) -> Outcome:
    """Judge a pair of files."""
    start = time.perf_counter()
    outcome = Outcome(pair.name, str(pair.reference), str(pair.copy), Status.PASS)
    try:
        outcome, comparison = _judge(outcome, rules, measures_only)
        if comparison and illustrate:
            outcome = replace(outcome, pictures=illustrate(outcome, comparison))
    except (ImageError, OSError) as error:
        outcome = replace(outcome, status=Status.ERROR, message=str(error))
    except MemoryError:
        message = f"{pair.copy}: out of memory; use a smaller image or fewer jobs"
        outcome = replace(outcome, status=Status.ERROR, message=message)
    return replace(outcome, seconds=time.perf_counter() - start)


def unmatched(pair: Pair, missing_ok: bool, extra_ok: bool) -> Outcome:
    """Return the outcome of a file that has no partner."""
    passes, message = missing_ok, "there is no copy of this reference"
    if pair.reference is None:
        passes, message = extra_ok, "there is no reference of this copy"
    reference, copy = (str(path) if path else None for path in (pair.reference, pair.copy))
    return Outcome(pair.name, reference, copy, Status.PASS if passes else Status.FAIL, message)


def _judge(outcome: Outcome, rules: Rules, measures_only: bool) -> tuple[Outcome, Comparison | None]:
    reference, copy = (read_pixels(path or "", rules.background) for path in (outcome.reference, outcome.copy))
    outcome = replace(outcome, size=reference.shape[:2])
    try:
        check_same_size(_plane(reference), _plane(copy))
    except ImageError as error:  # it can be read, but is surely no faithful copy
        return replace(outcome, status=Status.FAIL, message=str(error).removeprefix("image: ")), None
    compared = compared_pixels(reference.shape[:2], rules)
    comparison = compare(reference, copy, compared)
    if comparison is None:
        return replace(outcome, message="identical", measures=Measures()), None
    measures = _measures(comparison, rules)
    broken = rules.broken_by(measures)
    outcome = replace(outcome, measures=measures, broken=broken, status=Status.FAIL if broken else Status.PASS)
    if not comparison.differences.changed.any():
        return replace(outcome, message="no difference beyond rounding"), comparison
    if (measures_only or rules.max_color_difference is not None) and _only_colors_differ(comparison):
        return _colours_measured(outcome, rules), comparison
    if measures_only:
        return _only_measured(outcome, rules), comparison
    return _diagnosed(outcome, comparison, rules), comparison


def _plane(pixels: np.ndarray) -> np.ndarray:
    """One channel of a picture."""
    return pixels[..., 0] if pixels.ndim == 3 else pixels


def compared_pixels(shape: tuple[int, ...], rules: Rules) -> np.ndarray | None:
    """Return the pixels that are not ignored."""
    if not rules.ignore and rules.mask is None:
        return None
    compared = np.ones(shape, bool)
    for x, y, width, height in rules.ignore:
        if x >= shape[1] or y >= shape[0]:
            size = f"{shape[1]} x {shape[0]} pixels"
            raise ImageError(f"ignored region {x},{y},{width},{height} lies outside the picture of {size}; correct it")
        compared[y : y + height, x : x + width] = False
    if rules.mask:
        mask = read_image(rules.mask)
        check_same_size(compared, mask, f"mask {rules.mask}")
        compared &= mask < 128
    if not compared.any():
        raise ImageError("all pixels are ignored; leave some to compare")
    return compared


def compare(reference: np.ndarray, copy: np.ndarray, compared: np.ndarray | None) -> Comparison | None:
    """Find out what differs between two pictures."""
    if reference.ndim != copy.ndim:
        reference, copy = (np.stack([p] * 3, axis=-1) if p.ndim == 2 else p for p in (reference, copy))
    if compared is not None:
        chosen = compared if reference.ndim == 2 else compared[..., None]
        copy = np.where(chosen, copy, reference)
    if np.array_equal(reference, copy):
        return None
    greys = as_uint8(reference), as_uint8(copy)
    colors = (reference, copy) if reference.ndim == 3 else None
    differences = measure_differences(*greys)
    return Comparison(*greys, colors, compared, add_colours(differences, *colors) if colors else differences)


def _measures(comparison: Comparison, rules: Rules) -> Measures:
    """All measures; that of colour only where it decides something."""
    reference, copy, compared = comparison.reference, comparison.copy, comparison.compared
    measures = measure_pair(reference, copy, comparison.differences, compared)
    if rules.max_color_difference is None and not _only_colors_differ(comparison):
        return measures
    colors = comparison.colors or (np.stack([reference] * 3, axis=-1), np.stack([copy] * 3, axis=-1))
    return replace(measures, color_difference=color_difference(*colors, compared))


def _only_colors_differ(comparison: Comparison) -> bool:
    """Whether the luma is equal up to rounding while the colours are not."""
    if comparison.colors is None or measure_differences(comparison.reference, comparison.copy).changed.any():
        return False
    return colors_differ(*comparison.colors)


def _colours_measured(outcome: Outcome, rules: Rules) -> Outcome:
    """A copy whose luma is that of the reference while its colours are not, and whose faults are not named."""
    message = "colours differ while the luma does not"
    if rules.max_color_difference is not None or UNKNOWN in (rules.allow or {}):
        return replace(outcome, message=message)
    message = f"{message} (--max-color-difference can limit that)"
    return replace(outcome, message=message, status=gravest([outcome.status, Status.UNKNOWN]))


def _only_measured(outcome: Outcome, rules: Rules) -> Outcome:
    if rules.has_limits:
        return outcome
    return replace(outcome, status=Status.FAIL, message="differs beyond rounding, and no limit allows it")


def _diagnosed(outcome: Outcome, comparison: Comparison, rules: Rules) -> Outcome:
    """The faults of a copy, each allowed or not."""
    reference = comparison.reference
    if min(reference.shape) < BLOCK or reference.min() == reference.max():
        reason = f"smaller than {BLOCK} x {BLOCK} pixels" if min(reference.shape) < BLOCK else "of one colour"
        status = Status.PASS if UNKNOWN in (rules.allow or {}) else Status.UNKNOWN
        message = f"differs, but no fault can be named: the reference is {reason}"
        return replace(outcome, status=gravest([outcome.status, status]), message=message)
    from llise.diagnosis import Diagnoser

    pictures = comparison.colors or (reference, comparison.copy)
    diagnosis = next(Diagnoser(pictures[0], align=rules.align).diagnose([pictures[1]]))
    faults: tuple[JudgedFault, ...] = tuple(rules.judge(fault) for fault in diagnosis.faults)
    status = gravest([outcome.status, *(judged.status for judged in faults)])
    return replace(outcome, faults=faults, status=status, is_copy=diagnosis.is_copy)
