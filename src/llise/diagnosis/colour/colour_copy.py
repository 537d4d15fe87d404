"""The way of a colour copy: areas of other colours are judged, their change is undone, then the luma is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy

from llise.colours import WEIGHTS
from llise.diagnosis.colour.blocks import ColourBlocks, measure_blocks
from llise.diagnosis.colour.errors import OUTLIER
from llise.diagnosis.colour.findings import ColourFinding, colour_findings
from llise.diagnosis.colour.judge import ColourJudge
from llise.diagnosis.colour.measures import ColorMeasures
from llise.diagnosis.colour.settings import settings_of
from llise.diagnosis.features.block_sums import box_of
from llise.diagnosis.result import Diagnosis, Fault, Interval, label_blocks
from llise.differences import BLOCK, measure_differences, pixels_of, psnr_of, ssim_of
from llise.images import as_uint8
from llise.labels import UNKNOWN

JudgeLuma = Callable[[np.ndarray, np.ndarray], Diagnosis]
"""Judges a grey copy of a grey reference."""

LEAST_SHARE, LEAST_SHARE_OF_ALL = 0.12, 0.04
"""Shares of the error of its own region, and of that of a colour fault in the same place, that a fault of the luma must
have: programs that change colours in other spaces leave some error in the luma."""

SURE, SURE_SHARE = 0.95, 0.05
"""Probability of a fault of the luma from which a smaller share is enough, and that share."""

UNKNOWN_SHARE = 0.35
"""Share of the error that a fault of the luma of no known kind must have: a rule that is not quite right leaves one."""

DOUBTFUL, TINY_SHARE = 0.3, 0.01
"""Confidence below which a fault of the luma beside a fault of colour is left out where the colour judge is not sure
of one, and share of the error of all faults of colour below which it is left out in any case."""

LEAST_IMPULSES = 0.002
"""Share of the pixels with a large error of the luma from which they may be impulses beside a colour fault."""

LEVELS = ("contrast", "luminance")
"""Faults of the luma that are changes of all levels alike."""

SMALL = 4
"""Changed blocks without a fault that are an unknown fault beside others, at least."""


@dataclass(frozen=True, eq=False)
class ColourAnswer:
    """Faults of a colour copy.

    Attributes
    ----------
    faults : list of Fault
        The worst first.
    luma : Diagnosis
        Of the luma after the changes of colours were undone.
    blocks : ColourBlocks
        Measurements of reference and copy.
    as_they_are : bool
        Whether the luma was judged as it is in both pictures.

    Examples
    --------
    >>> judge_colours(reference, copy, judge, judge_luma).faults  # doctest: +SKIP
    """

    faults: list[Fault]
    luma: Diagnosis
    blocks: ColourBlocks
    as_they_are: bool


def diagnose_colours(reference: np.ndarray, copy: np.ndarray, judge: ColourJudge, judge_luma: JudgeLuma) -> Diagnosis:
    """Diagnose a colour copy.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w, 3)
        The two pictures.
    judge : ColourJudge
        Names colour faults.
    judge_luma : callable
        Judges the luma.

    Returns
    -------
    Diagnosis
        With measures of luma and colour.

    Examples
    --------
    >>> import numpy as np
    >>> import llise
    >>> image = np.random.default_rng(0).integers(40, 200, (12, 12, 3)).repeat(8, 0).repeat(8, 1).astype(np.uint8)
    >>> llise.diagnose(image, [image + np.array([20, 0, 0], np.uint8)])[0].verdict  # calls it
    ('color_cast',)
    """
    answer = judge_colours(reference, copy, judge, judge_luma)
    measured = answer.luma if answer.as_they_are else _luma_measures(reference, copy, answer.luma)
    return Diagnosis(
        faults=answer.faults,
        mse=measured.mse,
        psnr=measured.psnr,
        ssim=measured.ssim,
        block_labels=label_blocks(answer.faults, answer.blocks.differs),
        block_severity=answer.blocks.mse,
        image=copy,
        ssim_map=measured.ssim_map,
        is_copy=answer.luma.is_copy,
        color=ColorMeasures(reference, copy),
    )


def _luma_measures(reference: np.ndarray, copy: np.ndarray, luma: Diagnosis) -> Diagnosis:
    """The diagnosis of the luma with measures of the two pictures as they are."""
    own, other = as_uint8(reference), as_uint8(copy)
    ssim_map, ssim = ssim_of(own, other)
    mse = measure_differences(own, other).squared_error / own.size
    return replace(luma, mse=mse, psnr=psnr_of(mse), ssim=ssim, ssim_map=ssim_map)


def judge_colours(reference: np.ndarray, copy: np.ndarray, judge: ColourJudge, judge_luma: JudgeLuma) -> ColourAnswer:
    """Find everything that is wrong with a colour copy.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w, 3)
        The two pictures.
    judge : ColourJudge
        Names colour faults.
    judge_luma : callable
        Judges the luma.

    Returns
    -------
    ColourAnswer
        Faults of luma and colour.

    Examples
    --------
    >>> import numpy as np
    >>> import llise
    >>> from llise.diagnosis.colour.colour_copy import judge_colours
    >>> from llise.diagnosis.colour.judge import shipped_colour_judge
    >>> image = np.random.default_rng(0).integers(40, 200, (12, 12, 3)).repeat(8, 0).repeat(8, 1).astype(np.uint8)
    >>> copy = image + np.array([20, 0, 0], np.uint8)
    >>> answer = judge_colours(image, copy, shipped_colour_judge(), lambda a, b: llise.diagnose(a, [b])[0])
    >>> [fault.kinds for fault in answer.faults]
    [('color_cast',)]
    """
    blocks = measure_blocks(reference, copy)
    findings = colour_findings(reference, copy, blocks, judge)
    own, other = _lumas_to_judge(reference, copy, blocks, findings)
    luma = judge_luma(own, other)
    if not luma.is_copy:
        return ColourAnswer(luma.faults, luma, blocks, not findings)
    faults = [_fault(finding, blocks, reference.shape) for finding in findings]
    beside = [_beside(fault, findings, blocks) for fault in luma.faults]
    faults += [fault for fault in beside if fault is not None]
    faults += _missed(faults, blocks, reference.shape)
    faults.sort(key=lambda fault: -fault.area * sum(fault.severity.values()))
    return ColourAnswer(faults, luma, blocks, not findings)


def _lumas_to_judge(
    reference: np.ndarray, copy: np.ndarray, blocks: ColourBlocks, findings: list[ColourFinding]
) -> tuple[np.ndarray, np.ndarray]:
    """The lumas of the reference after the changes of colours and of the copy, without what these changes leave."""
    own, other = as_uint8(_predicted(reference, findings)), as_uint8(copy)
    for finding in findings:
        if finding.luma_is_clean:  # what is left comes from clipping, or from a rule that is not quite right
            inside = pixels_of(scipy.ndimage.binary_dilation(finding.region, np.ones((3, 3), bool)), own.shape)
            large = np.abs(np.subtract(other, own, dtype=np.int16)) >= OUTLIER
            if large[inside].mean() < LEAST_IMPULSES:  # a few pixels that clipping made so
                large = np.zeros_like(large)
            other = np.where(inside & ~large, own, other)
        elif not finding.is_rule:
            inside = pixels_of(finding.region, own.shape)
            line = finding.fit.levels_beside()
            if line is None and finding.luma < SURE:
                other = _without_clipping(own, other, copy, inside)
            elif line is not None:
                other = np.where(inside, np.clip(np.rint(line[0] * own + line[1]), 0, 255), other).astype(np.uint8)
        elif not finding.changes_levels:
            inside = pixels_of(finding.region, own.shape)
            own = np.where(inside, _corrected(own, reference, blocks, finding), own)
    if findings:  # elsewhere, programs that convert colours leave rounding
        other = np.where(pixels_of(blocks.changed, own.shape), other, own)
    return own, other


def _without_clipping(own: np.ndarray, other: np.ndarray, copy: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The luma of a copy in which pixels with one or two channels cut off have the error of the next one to the left.

    Where changes of the chroma are cut off at 0 or 255, the luma changes too.
    """
    ends = (copy == 0) | (copy == 255)
    red, green, blue = (ends[..., i] for i in range(3))
    cut = inside & (red | green | blue) & ~(red & green & blue)
    if not cut.any():
        return other
    columns = np.where(cut, 0, np.arange(cut.shape[1]))
    nearest = np.maximum.accumulate(columns, axis=1)
    error = np.take_along_axis(np.subtract(other, own, dtype=np.int16), nearest, axis=1)
    return np.clip(own + error, 0, 255).astype(np.uint8)


def _beside(fault: Fault, findings: list[ColourFinding], blocks: ColourBlocks) -> Fault | None:
    """A fault of the luma without what a colour fault in the same place accounts for; None if none is left."""
    size = fault.region.sum()
    doubtful = bool(findings) and fault.confidence < DOUBTFUL
    of_colours = sum(float(blocks.mse[f.region].sum()) for f in findings)
    if doubtful and size * sum(fault.severity.values()) < TINY_SHARE * of_colours:
        return None
    finding = next((f for f in findings if (fault.region & f.region).sum() >= 0.5 * size), None)
    if finding is None:
        return fault
    if doubtful and finding.luma < SURE:
        return None
    in_place, in_all = float(blocks.mse[fault.region].mean()), float(blocks.mse[finding.region].sum())
    least = max(LEAST_SHARE_OF_ALL * in_all / size, LEAST_SHARE_OF_ALL * in_place)
    kinds = [kind for kind in fault.kinds if fault.severity[kind] >= least]
    if finding.is_rule:
        levels = [kind for kind in kinds if kind in LEVELS]
        # Beside a change of levels, how much of another one belongs to the rule is not known: one of them is enough.
        kept = max(levels, key=lambda kind: fault.severity[kind], default=None) if finding.changes_levels else None
        kinds = [kind for kind in kinds if kind not in LEVELS or kind == kept]
    severity = {kind: fault.severity[kind] for kind in kinds}
    least = SURE_SHARE if finding.luma >= SURE or finding.changes_levels else LEAST_SHARE
    if sum(severity.values()) < (UNKNOWN_SHARE if UNKNOWN in kinds else least) * in_place:
        return None
    estimate = {kind: settings for kind, settings in fault.estimate.items() if kind in kinds}
    return replace(fault, kinds=tuple(kinds), severity=severity, estimate=estimate) if kinds else None


def _predicted(reference: np.ndarray, findings: list[ColourFinding]) -> np.ndarray:
    """The reference after the changes of colours."""
    predicted = reference
    for finding in findings:
        if finding.is_rule:
            predicted = reference.copy() if predicted is reference else predicted
            inside = pixels_of(finding.region, reference.shape)
            values = finding.fit.models[finding.kind].apply(reference[inside])
            predicted[inside] = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return predicted


def _corrected(luma: np.ndarray, reference: np.ndarray, blocks: ColourBlocks, finding: ColourFinding) -> np.ndarray:
    """The luma after a rule that explains it only roughly, less the error that depends on the colour alone."""
    before = blocks.reference[finding.region]
    wanted = blocks.copy[finding.region] @ WEIGHTS
    predicted = np.clip(finding.fit.models[finding.kind].apply(before), 0, 255) @ WEIGHTS
    coefficients = _least_squares(_features(before), wanted - predicted)
    return np.clip(np.rint(luma + _features(reference) @ coefficients), 0, 255).astype(np.uint8)


def _features(colours: np.ndarray) -> np.ndarray:
    """Powers and products of red, green and blue."""
    x = np.asarray(colours, np.float32) / 128 - 1
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    return np.stack([np.ones_like(r), r, g, b, r * r, g * g, b * b, r * g, r * b, g * b], axis=-1)


def _least_squares(features: np.ndarray, values: np.ndarray) -> np.ndarray:
    gram = features.T @ features + 1e-3 * len(features) * np.eye(features.shape[1], dtype=np.float32)
    return np.linalg.solve(gram, features.T @ values).astype(np.float32)


def _fault(finding: ColourFinding, blocks: ColourBlocks, shape: tuple[int, ...]) -> Fault:
    settings, error = settings_of(finding.kind, finding.fit, blocks, finding.region)
    estimate = {finding.kind: settings} if finding.kind != UNKNOWN else {}
    total = float(blocks.mse[finding.region].mean())
    power = min(error, total)
    return _as_fault(finding.kind, finding.confidence, finding.region, power, shape, estimate, power / max(total, 1e-9))


def _as_fault(
    kind: str,
    confidence: float,
    region: np.ndarray,
    severity: float,
    shape: tuple[int, ...],
    estimate: dict[str, dict[str, Interval]],
    explained: float,
) -> Fault:
    top, left, bottom, right = (BLOCK * side for side in box_of(region))
    return Fault(
        kinds=(kind,),
        confidence=confidence,
        region=region,
        box=(top, left, min(bottom, shape[0]), min(right, shape[1])),
        area=float(region.mean()),
        severity={kind: severity},
        estimate=estimate,
        explained=float(np.clip(explained, 0, 1)),
    )


def _missed(faults: list[Fault], blocks: ColourBlocks, shape: tuple[int, ...]) -> list[Fault]:
    """An unknown fault of the changed blocks that no fault covers, unless others account for nearly all errors."""
    missed = blocks.changed.copy()
    for fault in faults:
        missed &= ~fault.region
    if not missed.any():
        return []
    error = blocks.mse[missed]
    if faults and (missed.sum() < max(SMALL, 0.01 * missed.size) or error.sum() < 0.1 * blocks.mse.sum()):
        return []
    return [_as_fault(UNKNOWN, 0.6, missed, float(error.mean()), shape, {}, 0.0)]
