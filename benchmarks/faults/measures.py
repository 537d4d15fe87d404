"""Compare a diagnosis with the truth about a case; the result is a record of plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from faults.cases import OTHER_SCENE, Case, Recipe
from faults.masks import BLOCK, by_block
from llise.labels import UNKNOWN
from llise.look.result import BLOCK_LABELS, Diagnosis, Fault

Record = dict[str, Any]


def measure(case: Case, recipe: Recipe, reference: np.ndarray, diagnosis: Diagnosis) -> Record:
    """Return what is right and what is wrong in a diagnosis.

    Parameters
    ----------
    case : Case
        Truth.
    recipe : Recipe
        What was made.
    reference : ndarray of uint8, shape (h, w)
    diagnosis : Diagnosis
        Answer.

    Returns
    -------
    dict
        Plain values that JSON can hold.
    """
    kinds = tuple(sorted({damage.kind for damage in case.damages}, key=BLOCK_LABELS.index)) or ("original",)
    exact = diagnosis.verdict == kinds
    if recipe.group == OTHER_SCENE:
        kinds, exact = ("not a copy",), not diagnosis.is_copy
    return {
        "group": recipe.group,
        "kinds": "+".join(kinds),
        "programs": [damage.program for damage in case.damages],
        "errors": [round(damage.error, 1) for damage in case.damages],
        "areas": [round(float(damage.mask.mean()), 4) for damage in case.damages],
        "form": case.form,
        "seed": recipe.seed,
        "verdict": "+".join(diagnosis.verdict) if diagnosis.is_copy else "not a copy",
        "exact": exact,
        "called_unknown": _called_unknown(case, diagnosis),
        "faults": _faults(case, diagnosis),
        "regions": _regions(case, diagnosis),
        **_blocks(case, reference, diagnosis),
        "estimates": list(_estimates(case, diagnosis)),
    }


def _faults(case: Case, diagnosis: Diagnosis) -> list[Record]:
    """Each fault with its confidence, and whether it is right.

    A fault is right if, in at least half of its blocks, the kinds of all faults that cover the block are the true ones.
    Where content lies over or under another kind, that kind may be said there or not.
    """
    truth = _sets(((damage.kind,), damage.region) for damage in case.damages) if case.damages else None
    answer = _sets((fault.kinds, fault.region) for fault in diagnosis.faults)
    records = []
    for fault in diagnosis.faults:
        equal = truth is not None and np.mean(_are_right(truth, answer)[fault.region]) >= 0.5
        records.append(
            {
                "kinds": "+".join(fault.kinds),
                "confidence": round(float(fault.confidence), 4),
                "area": round(float(fault.area), 4),
                "p_value": round(float(fault.p_value), 5),
                "right": bool(equal),
            }
        )
    return records


def _called_unknown(case: Case, diagnosis: Diagnosis) -> float:
    """Share of the damaged blocks that lie in a fault of no named kind."""
    damaged = [damage.region for damage in case.damages]
    unknown = [fault.region for fault in diagnosis.faults if UNKNOWN in fault.kinds]
    if not damaged or not unknown:
        return 0.0
    return round(float(np.any(unknown, axis=0)[np.any(damaged, axis=0)].mean()), 4)


def _are_right(truth: np.ndarray, answer: np.ndarray) -> np.ndarray:
    """Whether the kinds that are said are the true ones, by block."""
    content = 1 << BLOCK_LABELS.index("content")
    with_content = (truth & answer & content > 0) & (answer & ~truth == 0)
    return (truth == answer) | with_content


def _sets(parts: Any) -> np.ndarray | None:
    """Set of kinds of each block, as bits."""
    bits = None
    for kinds, region in parts:
        own = sum(1 << BLOCK_LABELS.index(kind) for kind in kinds)
        bits = np.zeros(region.shape, int) if bits is None else bits
        bits |= np.where(region, own, 0)
    return bits


def _regions(case: Case, diagnosis: Diagnosis) -> list[Record]:
    """Intersection over union for each kind that is true or named, by blocks and by pixels."""
    truth = {damage.kind: damage for damage in case.damages}
    named = {kind for fault in diagnosis.faults for kind in fault.kinds}
    records = []
    for kind in sorted({*truth, *named}, key=BLOCK_LABELS.index):
        regions = [fault.region for fault in diagnosis.faults if kind in fault.kinds]
        said = np.any(regions, axis=0) if regions else np.zeros(diagnosis.block_labels.shape, bool)
        blocks = pixels = 0.0
        if kind in truth:
            blocks = _overlap(truth[kind].region, said)
            pixels = _overlap(truth[kind].mask, _spread(said, truth[kind].mask.shape))
        records.append(
            {"kind": kind, "true": kind in truth, "named": kind in named, "blocks": blocks, "pixels": pixels}
        )
    return records


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    return round(float((a & b).sum() / max((a | b).sum(), 1)), 4)


def _spread(blocks: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return blocks.repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)[: shape[0], : shape[1]]


def _blocks(case: Case, reference: np.ndarray, diagnosis: Diagnosis) -> Record:
    """Labels of blocks: how many of the changed ones are right, how many of the untouched ones are `original`."""
    changed = by_block(case.image != reference).any(axis=2)
    right = np.zeros(changed.shape, bool)
    touched = np.zeros(changed.shape, bool)
    for damage in case.damages:
        touched |= by_block(damage.mask).any(axis=2)
        right |= damage.region & (diagnosis.block_labels == BLOCK_LABELS.index(damage.kind))
    original = diagnosis.block_labels == BLOCK_LABELS.index("original")
    return {
        "inside": [int((right & changed).sum()), int(changed.sum())],
        "outside": [int((original & ~touched).sum()), int((~touched).sum())],
        "equal_not_original": int((~original & ~changed).sum()),
    }


def _estimates(case: Case, diagnosis: Diagnosis) -> Any:
    """Each setting whose true value is known, with what the diagnosis says about it."""
    for damage in case.damages:
        fault = _fault_of(damage.kind, damage.region, diagnosis)
        if fault is None:
            continue
        said = fault.estimate.get(damage.kind, {})
        for setting, value in damage.parameters.items():
            if setting == "coverage":
                value = _coverage(damage.mask, fault.region)
            interval = [round(float(v), 5) for v in said[setting]] if setting in said else None
            yield {
                "kind": damage.kind,
                "setting": setting,
                "alone": damage.alone and len(fault.kinds) == 1,
                "area": round(float(damage.mask.mean()), 4),
                "program": damage.program,
                "truth": round(float(value), 5),
                "said": interval,
                "instead": sorted(said),
            }


def _coverage(mask: np.ndarray, region: np.ndarray) -> float:
    """Share of the pixels of a fault's blocks that content truly covers: that is what the fault says."""
    pixels = _spread(region, mask.shape)
    return float(mask[pixels].mean())


def _fault_of(kind: str, region: np.ndarray, diagnosis: Diagnosis) -> Fault | None:
    """The fault of a kind that covers most of a region."""
    candidates = [fault for fault in diagnosis.faults if kind in fault.kinds and (fault.region & region).any()]
    return max(candidates, key=lambda fault: int((fault.region & region).sum()), default=None)
