"""Faults from scored regions: a kind that goes through several regions is one fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from llise.diagnosis.measures import nature_of
from llise.diagnosis.result import Fault, Interval, Reason, box_of
from llise.diagnosis.scoring import Scored
from llise.differences import pixels_of
from llise.labels import UNKNOWN


def assemble(scored: list[Scored]) -> list[tuple[tuple[str, ...], list[Scored]]]:
    """Kinds that are in the same regions, with these regions, the largest first."""
    where: dict[str, tuple[int, ...]] = {}
    for number, one in enumerate(scored):
        for kind in one.kinds:
            where[kind] = (*where.get(kind, ()), number)
    groups: dict[tuple[int, ...], tuple[str, ...]] = {}
    for kind, numbers in where.items():
        groups[numbers] = (*groups.get(numbers, ()), kind)
    size = {number: int(one.region.mask.sum()) for number, one in enumerate(scored)}
    return [(kinds, [scored[n] for n in sorted(numbers, key=lambda n: -size[n])]) for numbers, kinds in groups.items()]


def faults_of(
    scored: list[Scored],
    pictures: tuple[np.ndarray, np.ndarray],
    error: np.ndarray,
    texture: np.ndarray,
    tuned: dict[str, Any],
) -> list[Fault]:
    """All faults, the worst first; `error`, `texture`: mean squared error, deviation of the reference, by block."""
    groups = assemble(scored)
    taken = np.sum([one.region.mask for one in scored], axis=0) > 0 if scored else np.zeros(error.shape, bool)
    faults = []
    for kinds, parts in groups:
        region = np.any([one.region.mask for one in parts], axis=0)
        region = _extended(region, texture, taken & ~region, tuned["faults"])
        faults.append(_fault(kinds, parts, region, pictures, error, tuned))
    return sorted(faults, key=lambda fault: -fault.area * sum(fault.severity.values()))


def _fault(
    kinds: tuple[str, ...],
    parts: list[Scored],
    region: np.ndarray,
    pictures: tuple[np.ndarray, np.ndarray],
    error: np.ndarray,
    tuned: dict[str, Any],
) -> Fault:
    sizes = np.array([np.count_nonzero(one.region.mask) for one in parts], float)
    powers = np.array([float(error[one.region.mask].sum()) for one in parts]) / max(float(sizes.sum()), 1.0)
    severity = {kind: float(sum(power * one.shares[kind] for power, one in zip(powers, parts))) for kind in kinds}
    best = parts[0].chosen
    unknown = kinds == (UNKNOWN,)
    named = [one.kinds for one in parts[0].candidates if one.kinds != (UNKNOWN,)]
    explained = [one.chosen.explained or 0.0 for one in parts]
    weights = np.maximum(powers, 1e-12)
    return Fault(
        kinds=tuple(kind for kind in best.kinds if kind in kinds),
        confidence=float(sizes @ [one.confidence for one in parts] / sizes.sum()),
        region=region,
        box=box_of(region, pictures[0].shape),
        area=float(region.mean()),
        severity=severity,
        estimate={kind: _intervals(kind, parts[0]) for kind in kinds if not unknown},
        explained=float(weights @ explained / weights.sum()),
        p_value=float(min(one.p_value for one in parts)),
        nature=_nature(region, pictures, tuned["nature"]) if unknown else (),
        nearest_kinds=named[0] if unknown and named else (),
    )


def _intervals(kind: str, one: Scored) -> dict[str, Interval]:
    """Settings of a kind with their intervals, from the fit of a region; none without a fit."""
    if one.chosen.chain is None:
        return {}
    fit = dict(one.chosen.chain.steps)[kind]
    words = fit.settings.words() if fit.settings is not None else fit.parameters
    return {word: Interval(value, *fit.intervals.get(word, (value, value))) for word, value in words.items()}


def _nature(
    region: np.ndarray, pictures: tuple[np.ndarray, np.ndarray], thresholds: dict[str, float]
) -> tuple[str, ...]:
    top, left, bottom, right = box_of(region, pictures[0].shape)
    reference, copy = (picture[top:bottom, left:right].astype(np.float32) for picture in pictures)
    error = copy - reference if copy.ndim == 2 else (copy - reference).mean(axis=2)
    return nature_of(error, pixels_of(region, pictures[0].shape)[top:bottom, left:right], thresholds)


def _extended(region: np.ndarray, texture: np.ndarray, others: np.ndarray, tuned: dict[str, float]) -> np.ndarray:
    """The region, over the whole picture but for other faults where it has nearly all blocks with texture."""
    rough = texture >= min(tuned["texture"], float(np.median(texture)))
    covers = np.count_nonzero(region & rough) >= tuned["whole"] * np.count_nonzero(rough & ~others)
    return region | ~others if covers and region.mean() > tuned["most"] else region


def reasons(scored: list[Scored], shape: tuple[int, ...]) -> tuple[Reason, ...]:
    """Why the regions have their kinds."""
    return tuple(
        Reason(
            int(one.region.mask.sum()),
            box_of(one.region.mask, shape),
            tuple(replace(candidate, chain=None) for candidate in one.candidates),
        )
        for one in scored
    )
