"""Compare the answers of ``judge.py`` with the truth about the cases; each case gives plain numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from judge import read_rows

BLOCK = 8
SURE = 0.7
"""Confidence from which on a wrong answer counts as a sure one."""


class Overlap(NamedTuple):
    """Intersection over union of the pixels of one true fault and of those said to have its kind."""

    form: str
    iou: float


class Setting(NamedTuple):
    """One setting whose true value is known; `said` is (value, low, high), or None where the kind was not named."""

    kind: str
    name: str
    truth: float
    said: tuple[float, float, float] | None


@dataclass(eq=False)
class Measured:
    """What is right and wrong in the answer to one case."""

    truth: dict[str, Any]
    answer: dict[str, Any]
    exact: bool = False
    confidence: float = 0.0
    overlaps: list[Overlap] = field(default_factory=list)
    outside: tuple[int, int] = (0, 0)
    """Blocks outside of all true faults: in a fault of the answer, and in all."""
    faults: list[tuple[float, bool]] = field(default_factory=list)
    """Confidence of each fault, and whether its kinds are right in half of its blocks or more."""
    settings: list[Setting] = field(default_factory=list)

    @property
    def expected(self) -> list[str]:
        """The labels that are wanted first."""
        return self.truth["expected"][0]

    @property
    def verdict(self) -> str:
        """What was said, or the error."""
        return "+".join(self.answer["verdict"]) if "verdict" in self.answer else "error"

    @property
    def without_name(self) -> list[str]:
        """Rows of the table of unknown faults in which this one counts: near or far, never drawn in a training."""
        told = [said for fault in self.truth["faults"] for said in fault["settings"].values()]
        rows = [{True: "near", False: "far", None: "no name"}[said.get("near")] for said in told]
        rows += ["families that are never drawn in a training" for said in told if said.get("held_out")]
        return list(dict.fromkeys(rows))

    @property
    def called_unknown(self) -> bool:
        """Whether anything was called unknown."""
        return "unknown" in self.answer.get("verdict", ())

    @property
    def sure_and_wrong(self) -> bool:
        """Whether the verdict is wrong and was said with confidence; an error says nothing."""
        return not self.exact and self.confidence >= SURE

    @property
    def megapixels(self) -> float:
        """Size of the copy."""
        height, width = self.answer["size"]
        return height * width / 1e6


def measure_all(folder: Path, answers: Path) -> list[Measured]:
    """Measure all cases of a folder; a case without an answer is an error."""
    said = {row["id"]: row for row in read_rows(answers) if "id" in row}
    missing = {"error": "not judged"}
    return [measure(truth, said.get(truth["id"], missing), folder) for truth in read_rows(folder / "truth.jsonl")]


def measure(truth: dict[str, Any], answer: dict[str, Any], folder: Path) -> Measured:
    """Measure the answer to one case."""
    measured = Measured(truth, answer)
    if "error" in answer:
        measured.settings = [Setting(kind, name, value, None) for _, kind, name, value in _known_settings(truth)]
        return measured
    accepted = [set(labels) for labels in truth["expected"]]
    measured.exact, measured.confidence = set(answer["verdict"]) in accepted, answer["confidence"]
    shape = tuple(answer["size"])
    soft = [_mask(fault, folder, shape) for fault in truth["faults"]]
    masks = [mask >= 0.5 for mask in soft]
    regions = [_region(fault) for fault in answer["faults"]]
    blocks = [by_block(mask > 0) for mask in soft]
    measured.faults = _judge_faults(truth["faults"], blocks, answer["faults"], regions, accepted)
    nowhere = np.zeros(tuple(-(-side // BLOCK) for side in shape), bool)
    outside = ~np.any([nowhere, *blocks], axis=0)
    measured.outside = int((outside & np.any([nowhere, *regions], axis=0)).sum()), int(outside.sum())
    nearest = min(accepted, key=lambda labels: len(labels ^ set(answer["verdict"])))
    for fault, mask in zip(truth["faults"], masks):
        said = [_said(label, answer["faults"], regions, shape) for label in _labels(fault, truth["faults"], nearest)]
        if said:
            iou = np.mean([(mask & pixels).sum() / max((mask | pixels).sum(), 1) for pixels in said])
            measured.overlaps.append(Overlap(fault["form"], float(iou)))
    for number, kind, name, value in _known_settings(truth):
        measured.settings.append(Setting(kind, name, value, _estimate(kind, name, blocks[number], answer, regions)))
    return measured


def _mask(fault: dict[str, Any], folder: Path, shape: tuple[int, ...]) -> np.ndarray:
    """Share of the damage in each pixel."""
    if not fault.get("mask"):
        return np.ones(shape, np.float32)
    with Image.open(folder / fault["mask"]) as image:
        mask = np.asarray(image.convert("L"), np.float32) / 255
    # A misaligned copy may have another size than the reference, to which the mask belongs.
    return mask if mask.shape == shape else np.ones(shape, np.float32)


def _region(fault: dict[str, Any]) -> np.ndarray:
    runs = fault["runs"]
    return np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(fault["grid"])


def by_block(pixels: np.ndarray) -> np.ndarray:
    """Blocks of which any pixel is marked."""
    height, width = pixels.shape
    padded = np.pad(pixels, [(0, -height % BLOCK), (0, -width % BLOCK)])
    return padded.reshape(-(-height // BLOCK), BLOCK, -1, BLOCK).any(axis=(1, 3))


def _said(label: str, faults: list[dict[str, Any]], regions: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """Pixels that are said to have a label."""
    pixels = np.zeros(shape, bool)
    for fault, region in zip(faults, regions):
        if label in fault["kinds"]:
            pixels |= region.repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)[: shape[0], : shape[1]]
    return pixels


def _labels(fault: dict[str, Any], faults: list[dict[str, Any]], accepted: set[str]) -> set[str]:
    """Labels of an accepted verdict that stand for a true fault: its kinds, else those which are no other fault's."""
    own = accepted & set(fault["kinds"])
    return own or accepted - {kind for other in faults for kind in other["kinds"]} - {"original"}


def _judge_faults(
    truth: list[dict[str, Any]],
    blocks: list[np.ndarray],
    said: list[dict[str, Any]],
    regions: list[np.ndarray],
    accepted: list[set[str]],
) -> list[tuple[float, bool]]:
    """Confidence of each fault, and whether all that is said in its blocks is what any accepted verdict has there."""
    if not said:
        return []
    names = sorted({kind for fault in said for kind in fault["kinds"]}.union(*accepted))
    bits = {name: 1 << i for i, name in enumerate(names)}
    answer = np.zeros(regions[0].shape, np.int64)
    for fault, region in zip(said, regions):
        answer[region] |= sum(bits[kind] for kind in fault["kinds"])
    right = np.zeros(len(said), bool)
    for labels in accepted:
        wanted = np.zeros_like(answer)
        for fault, region in zip(truth, blocks):
            wanted[region] |= sum(bits[kind] for kind in _labels(fault, truth, labels))
        right |= [np.mean((answer == wanted)[region]) >= 0.5 for region in regions]
    return [(fault["confidence"], bool(is_right)) for fault, is_right in zip(said, right)]


def _known_settings(truth: dict[str, Any]) -> Iterator[tuple[int, str, str, float]]:
    """Number of the fault, kind, setting and true value."""
    for number, fault in enumerate(truth["faults"]):
        for kind, settings in (fault.get("settings") or {}).items():
            yield from ((number, kind, name, value) for name, value in settings.items() if type(value) in (int, float))


def _estimate(
    kind: str, name: str, blocks: np.ndarray, answer: dict[str, Any], regions: list[np.ndarray]
) -> tuple[float, float, float] | None:
    """What the fault of a kind that covers most of the true one says about a setting."""
    found = [(int((region & blocks).sum()), i) for i, region in enumerate(regions)]
    found = [(count, i) for count, i in found if count and kind in answer["faults"][i]["kinds"]]
    if not found:
        return None
    said = answer["faults"][max(found)[1]]["estimate"].get(kind, {}).get(name)
    return tuple(said) if said else None
