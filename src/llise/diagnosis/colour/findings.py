"""Which colour faults a copy has, and where: its areas of other colours are judged together and one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from llise.diagnosis.colour.areas import colour_areas, inner_part
from llise.diagnosis.colour.blocks import ColourBlocks
from llise.diagnosis.colour.features import AreaFit, fit_area
from llise.diagnosis.colour.judge import ANSWERS, NONE, ColourJudge
from llise.diagnosis.colour.models import curve_misfit
from llise.diagnosis.colour.settings import reach
from llise.labels import UNKNOWN

LARGE_AREA = 20
"""Blocks from which an area is judged by itself; smaller ones get the answer of all areas together."""

MOST_AREAS = 6
"""Most areas that are judged by themselves, the largest first."""

MOST_OF_ALL = 0.5
"""Share of the picture from which other colours may come from a fault of the luma that is everywhere."""

CURVE_LEAVES = 0.05
"""Share of the shifts of chroma that a curve leaves where it is the only change."""

EXCLUDED = 0.1
"""Probability below which an area contradicts the answer of all areas together."""

SIMPLE_ENOUGH = 0.1
"""Share of the shifts of chroma that a known rule may leave where the judge sees another rule."""

FLAT_GAIN = 0.15
"""Largest gain of a colour cast that leaves nothing of the reference."""

LEAST_FACTOR = -0.05
"""Least factor of saturation; below it colours turn into their opposites."""

UNSEEN = 0.8
"""Confidence in an answer that is not the judge's own."""

SURE_CODER, ALL_CODED, MOST_CODED = 0.85, 0.97, 0.88
"""Share of the luma's error that makes a JPEG sure; shares of the chroma's that it accounts for where it is the only
fault, and where it is not."""

LEAST_LEFT, MOST_LEFT = 0.015, 0.2
"""Error of the luma, as a share of that of the area, below which it is surely clean, and above which it is not."""


@dataclass(frozen=True, eq=False)
class ColourFinding:
    """What is wrong with the colours of an area.

    Attributes
    ----------
    kind : str
        One of :data:`llise.diagnosis.colour.judge.ANSWERS` but ``none``.
    region : ndarray of bool, shape (rows, cols)
        Blocks.
    confidence : float
        Probability of the kind.
    luma : float
        Probability that the luma has a fault besides.
    fit : AreaFit
        What was fitted to the area.
    left : float
        Error of the luma that the fault leaves, as a share of the error of the area.

    Examples
    --------
    >>> ColourFinding("saturation", region, 0.9, 0.1, fit, 0.02)  # doctest: +SKIP
    """

    kind: str
    region: np.ndarray
    confidence: float
    luma: float
    fit: AreaFit
    left: float

    @property
    def remainder(self) -> tuple[float, float]:
        """Gain and offset of a change of all channels alike beside the fault; (1, 0) if there is none."""
        return self.fit.models[self.kind].remainder if self.is_rule else (1.0, 0.0)

    @property
    def changes_levels(self) -> bool:
        """Whether all channels change alike beside the fault."""
        return self.remainder != (1.0, 0.0)

    @property
    def luma_is_clean(self) -> bool:
        """Whether the luma has no fault besides."""
        if self.changes_levels or self.left > MOST_LEFT:
            return False
        return self.luma < 0.5 or self.left < LEAST_LEFT

    @property
    def is_rule(self) -> bool:
        """Whether the fault is a rule for colours, which can be applied to the reference."""
        return self.kind in self.fit.models


def colour_findings(
    reference: np.ndarray, copy: np.ndarray, blocks: ColourBlocks, judge: ColourJudge
) -> list[ColourFinding]:
    """Find the colour faults of a copy.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w, 3)
        The two pictures.
    blocks : ColourBlocks
        Their measurements.
    judge : ColourJudge
        Names colour faults.

    Returns
    -------
    list of ColourFinding
        One for each kind, with regions that do not overlap.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.blocks import measure_blocks
    >>> from llise.diagnosis.colour.judge import shipped_colour_judge
    >>> image = np.random.default_rng(0).integers(40, 200, (12, 12, 3)).repeat(8, 0).repeat(8, 1).astype(np.uint8)
    >>> copy = image + np.array([20, 0, 0], np.uint8)
    >>> [f.kind for f in colour_findings(image, copy, measure_blocks(image, copy), shipped_colour_judge())]
    ['color_cast']
    """
    areas = colour_areas(blocks)
    if not areas:
        return []
    union = np.any(areas, axis=0)
    whole = _judged(reference, copy, blocks, union, judge)
    inner = None
    if union.mean() > MOST_OF_ALL and whole[2] > 0.5 and not _is_curve(whole[3]):
        inner = inner_part(union, blocks)
        areas = areas if inner is None else [inner, union & ~inner]
    parts = _contradicting(reference, copy, blocks, areas, judge, int(whole[1].argmax()))
    if not parts:
        return _named([whole], blocks)
    answers = [_answer(probabilities, fit) for _, probabilities, _, fit in parts]
    if inner is not None and all(kind != NONE for kind, _ in answers):
        # One colour fault inside another is less likely than a mistake: the answer that is surer holds for both.
        surest = max(range(len(parts)), key=lambda number: answers[number][1])
        return _named([(union, *parts[surest][1:])], blocks)
    best = max(parts, key=lambda part: int(part[0].sum()))
    rest = union & ~np.any([area for area, _, _, _ in parts], axis=0)
    joined = [(area | rest if area is best[0] else area, *other) for area, *other in parts]
    return _named(joined, blocks)


def _judged(
    reference: np.ndarray, copy: np.ndarray, blocks: ColourBlocks, area: np.ndarray, judge: ColourJudge
) -> tuple[np.ndarray, np.ndarray, float, AreaFit]:
    fit = fit_area(reference, copy, blocks, area)
    return (area, *judge(fit.features), fit)


def _contradicting(
    reference: np.ndarray,
    copy: np.ndarray,
    blocks: ColourBlocks,
    areas: list[np.ndarray],
    judge: ColourJudge,
    answer: int,
) -> list[tuple[np.ndarray, np.ndarray, float, AreaFit]]:
    """The large areas with what is wrong with each, if one of them contradicts the answer of all areas together.

    The largest one is judged last: where all together have no fault of colour, and none of the others contradicts
    that, it has none either.
    """
    large = [area for area in areas[:MOST_AREAS] if area.sum() >= LARGE_AREA]
    if len(large) < 2:
        return []
    large.sort(key=lambda area: int(area.sum()))
    parts = [_judged(reference, copy, blocks, area, judge) for area in large[:-1]]
    contradicted = any(probabilities[answer] < EXCLUDED for _, probabilities, _, _ in parts)
    if not contradicted and ANSWERS[answer] == NONE:
        return []
    parts.append(_judged(reference, copy, blocks, large[-1], judge))
    return parts if contradicted or parts[-1][1][answer] < EXCLUDED else []


def _named(parts: Iterable[tuple], blocks: ColourBlocks) -> list[ColourFinding]:
    """Findings of the areas whose colours have a fault; those of one kind are one."""
    findings: dict[str, ColourFinding] = {}
    for area, probabilities, luma, fit in sorted(parts, key=lambda part: -int(part[0].sum())):
        kind, sure = _answer(probabilities, fit)
        kind = _known_rule(fit) if kind == UNKNOWN else kind
        if kind == "saturation" and fit.models[kind].parameters[kind]["factor"] < LEAST_FACTOR:
            kind = UNKNOWN  # opposite colours are another hue, such as that of swapped channels
        if kind == "color_cast" and _is_flat(fit):
            kind = NONE  # the luma says what covers the picture there
        if kind == NONE and (noise := fit.noise_beside()):
            kind, sure, luma, fit = "chroma_noise", UNSEEN, 1.0, replace(fit, noise=noise)
        if kind == NONE:
            continue
        if kind in findings:
            first = findings[kind]
            area, sure, fit = first.region | area, min(first.confidence, sure), first.fit
            luma = min(first.luma, luma)
        left = fit.luma_error(kind) / max(float(blocks.mse[area].mean()), 1e-6)
        findings[kind] = ColourFinding(kind, area, sure, luma, fit, left)
    if len(findings) == 1:
        (finding,) = findings.values()
        return [replace(finding, region=_extended(finding, blocks))]
    return list(findings.values())


def _answer(probabilities: np.ndarray, fit: AreaFit) -> tuple[str, float]:
    """The most likely answer; where the luma is surely that of a JPEG, whether that accounts for the chroma decides."""
    luma, chroma = fit.errors.coded[-1], fit.errors.coded[1]
    if luma >= SURE_CODER and chroma >= ALL_CODED:
        return NONE, max(float(probabilities[0]), UNSEEN)
    best = int(probabilities.argmax())
    if luma >= SURE_CODER and chroma < MOST_CODED and ANSWERS[best] == NONE:
        best = 1 + int(probabilities[1:].argmax())
        return ANSWERS[best], min(float(probabilities[best] / probabilities[1:].sum()), UNSEEN)
    return ANSWERS[best], float(probabilities[best])


def _is_curve(fit: AreaFit) -> bool:
    """Whether one curve for all channels, such as a change of contrast, explains the shifts of chroma everywhere."""
    samples = replace(fit.samples, weight=np.ones_like(fit.samples.weight))
    return curve_misfit(samples) <= CURVE_LEAVES * samples.chroma_misfit(samples.before)


def _is_flat(fit: AreaFit) -> bool:
    """Whether a colour cast leaves nothing of the reference: a patch of one colour, not a cast."""
    settings = fit.models["color_cast"].parameters["color_cast"]
    gains = [value for name, value in settings.items() if name.endswith("_gain")]
    return bool(gains) and max(gains) < FLAT_GAIN


def _known_rule(fit: AreaFit) -> str:
    """The known rule that explains nearly all shifts of mean chroma, where the judge sees another one."""
    base = min(fit.samples.chroma_misfit(fit.samples.before), curve_misfit(fit.samples))
    for kind in ("saturation", "color_cast"):
        if fit.models[kind].chroma_misfit <= SIMPLE_ENOUGH * base:
            return kind
    return UNKNOWN


def _extended(finding: ColourFinding, blocks: ColourBlocks) -> np.ndarray:
    """The whole picture where the fault covers nearly all blocks that it would change."""
    would = reach(finding.kind, finding.fit, blocks)
    inside = np.count_nonzero(would & finding.region)
    if finding.region.mean() > 0.25 and inside >= 0.97 * np.count_nonzero(would):
        return np.ones_like(finding.region)
    return finding.region
