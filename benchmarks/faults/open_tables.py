"""Markdown tables of the open world: further kinds, what is called unknown, confident errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from sklearn.metrics import roc_auc_score

from faults.cases import OTHER_SCENE
from faults.markdown import head, row, share
from faults.measures import Record
from faults.open_cases import (
    CONTENT,
    CONTENT_OVER,
    CONTENT_UNDER,
    FAR,
    FAR_REGION,
    FURTHER,
    FURTHER_PAIR,
    FURTHER_REGION,
    NEAR,
    NEAR_REGION,
    OPEN_GROUPS,
    UNKNOWN_GROUPS,
)  # fmt: skip
from llise.labels import UNKNOWN

GOALS = {
    FURTHER: "own .95, foreign .90; .99, .97",
    FURTHER_PAIR: ".80; .92",
    CONTENT: "own .95, foreign .90; .99, .97",
    CONTENT_OVER: ".80; .92",
    CONTENT_UNDER: ".80; .92",
    NEAR: ".80; .90",
    FAR: ".90; .97",
}
"""Exact verdicts, of unknown faults those that are caught: what must hold, and the aim."""

METHODS_IN_TRAINING = frozenset(
    (
        "ImageMagick webp", "imagecodecs webp", "ffmpeg libwebp", "ffmpeg libvpx", "ImageMagick +noise Laplacian",
        "ImageMagick +noise Uniform", "OpenCV randu", "ffmpeg noise, even", "SciPy correlated noise", "NumPy row noise",
        "NumPy hum", "ffmpeg geq, hum", "ImageMagick -statistic Median", "ffmpeg median", "OpenCV medianBlur",
        "ffmpeg erosion", "OpenCV morphologyEx open", "OpenCV morphologyEx close", "ImageMagick -morphology Smooth",
        "SciPy percentile_filter", "ImageMagick -kuwahara", "ImageMagick -ordered-dither",
        "ImageMagick -ordered-dither h4x4a", "ImageMagick -colors, dithered", "ImageMagick -swirl",
        "scikit-image swirl", "ImageMagick -spread", "ImageMagick -emboss", "ImageMagick -negate",
        "ImageMagick -solarize", "ImageMagick -vignette", "ffmpeg vignette", "ffmpeg geq, moved lines",
        "ffmpeg geq, waves", "OpenCV remap, ripples", "ImageMagick -wave", "imagecorruptions elastic_transform",
        "NumPy ghost", "NumPy jitter of lines", "NumPy exchanged blocks", "ffmpeg shufflepixels",
        "ImageMagick -wavelet-denoise", "ffmpeg vaguedenoiser", "ffmpeg bilateral", "OpenCV bilateralFilter",
        "ffmpeg nlmeans", "OpenCV fastNlMeansDenoising", "scikit-image denoise_tv_chambolle",
        "ffmpeg noise, patterned", "ffmpeg lenscorrection",
    )
)  # fmt: skip
"""Programs of unknown faults whose method the training draws too, by its own code (llise.diagnosis.training)."""

CONFIDENT = 0.7
"""Confidence from which on a wrong answer counts as a confident one."""


def report(records: list[Record]) -> None:
    """Print all tables of the open world; nothing where there is no case of it.

    Parameters
    ----------
    records : list of dict
        As :func:`faults.measures.measure` makes them, with "set" and "picture" added.
    """
    if not any(record["group"] in OPEN_GROUPS for record in records):
        return
    _verdicts(records)
    _summary(records)
    one = (FURTHER, FURTHER_REGION, CONTENT)
    pairs = (FURTHER_PAIR, CONTENT_OVER, CONTENT_UNDER)
    _by("Exact verdict by further kind", records, one, lambda r: r["kinds"])
    _by("Exact verdict by pair with a further kind", records, pairs, lambda r: r["kinds"])
    foreign = [record for record in records if record["set"] != "own"]
    _by("Exact verdict by program: further kind", foreign, one, lambda r: r["programs"][0])
    _unknown_programs(records)
    _confident_errors(records)


def _verdicts(records: list[Record]) -> None:
    sets = list(dict.fromkeys(record["set"] for record in records))
    head("Open world: exact verdict (number of images)", ["", *sets, "must; aim"])
    for group in OPEN_GROUPS:
        chosen = [record for record in records if record["group"] == group]
        cells = [share(record["exact"] for record in chosen if record["set"] == name) for name in sets]
        if any(cells):
            row([group, *cells, GOALS.get(group, "")])


def is_known(record: Record) -> bool:
    """Whether all that is wrong with an image has a name."""
    return bool(record["programs"]) and record["group"] not in UNKNOWN_GROUPS


def is_caught(record: Record) -> bool:
    """Whether most of an unknown fault is called unknown."""
    return record["called_unknown"] >= 0.5


def strangeness(record: Record) -> tuple[float, float]:
    """Return how strange an image is: 1 less the least p-value of its faults; equal ones are ordered by confidence."""
    if record["verdict"] == "not a copy":
        return 1.0, 1.0
    faults = record["faults"]
    least = min((fault["p_value"] for fault in faults), default=1.0)
    unknown = max((fault["confidence"] for fault in faults if fault["kinds"] == UNKNOWN), default=0.0)
    named = min((fault["confidence"] for fault in faults if fault["kinds"] != UNKNOWN), default=1.0)
    return 1 - least, unknown or -named


def auroc(known: list[Record], unknown: list[Record]) -> float:
    """Return how often an unknown fault is stranger than a known one; equal ones count half."""
    values = sorted({strangeness(record) for record in (*known, *unknown)})
    ranks = [values.index(strangeness(record)) for record in (*known, *unknown)]
    return float(roc_auc_score([0] * len(known) + [1] * len(unknown), ranks))


def _summary(records: list[Record]) -> None:
    head("Open world: known and unknown (number of images)", ["", "", "must; aim"])
    known = [record for record in records if is_known(record)]
    row(["known, anything called `unknown`", share(UNKNOWN in _said(record) for record in known), ".02; .01"])
    row(["known, most of the damage called `unknown`", share(is_caught(record) for record in known), ".02; .01"])
    for name, groups, goal in (
        ("near", (NEAR,), ".80; .90"), ("far", (FAR,), ".90; .97"),
        ("near, in a region", (NEAR_REGION,), ""), ("far, in a region", (FAR_REGION,), ""),
    ):  # fmt: skip
        unknown = [record for record in records if record["group"] in groups]
        row([f"unknown, {name}: caught", share(is_caught(record) for record in unknown), goal])
        new = [record for record in unknown if record["programs"][0] not in METHODS_IN_TRAINING]
        row([f"unknown, {name}, by methods that the training does not draw: caught", share(map(is_caught, new)), goal])
        if known and unknown:
            row([f"unknown, {name}: AUROC against known", f"{auroc(known, unknown):.4f}", ".96; .99"])
    unknown = [record for record in records if record["group"] in UNKNOWN_GROUPS]
    if known and unknown:
        row(["unknown, all: AUROC against known", f"{auroc(known, unknown):.4f}", ".96; .99"])
    judged = [record for record in records if record["group"] != OTHER_SCENE]
    faults = [_is_confident_error(fault) for record in judged for fault in record["faults"]]
    images = [any(map(_is_confident_error, record["faults"])) for record in judged]
    row([f"faults that are wrong with confidence {CONFIDENT} or more", share(faults), ".01; .002"])
    row(["images with such a fault", share(images), ""])


def _said(record: Record) -> set[str]:
    return {kind for fault in record["faults"] for kind in fault["kinds"].split("+")}


def _is_confident_error(fault: Record) -> bool:
    return fault["confidence"] >= CONFIDENT and not fault["right"]


def _by(title: str, records: list[Record], groups: tuple[str, ...], name: Callable[[Record], str]) -> None:
    """Print exact verdicts by a property of the records, for each group and set of programs."""
    chosen = [record for record in records if record["group"] in groups]
    columns = [
        (group, key) for group in groups for key in ("own", "foreign")
        if any(record["group"] == group and record["set"] == key for record in chosen)
    ]  # fmt: skip
    if not chosen:
        return
    head(title, ["", *(f"{group} ({key})" for group, key in columns)])
    for value in sorted({name(record) for record in chosen}):
        here = [record for record in chosen if name(record) == value]
        row([value, *(share(r["exact"] for r in here if (r["group"], r["set"]) == column) for column in columns)])


def _unknown_programs(records: list[Record]) -> None:
    chosen = [record for record in records if record["group"] in UNKNOWN_GROUPS]
    if not chosen:
        return
    columns = ["", "near or far", "method in training", "caught", "median p-value", "said instead (confidence)"]
    head("Unknown faults by program", columns)
    for program in sorted({record["programs"][0] for record in chosen}):
        here = [record for record in chosen if record["programs"][0] == program]
        missed = [record for record in here if not is_caught(record)]
        said = "; ".join(f"{r['verdict']} ({_confidence(r):.2f})" for r in missed[:6])
        p_value = np.median([1 - strangeness(record)[0] for record in here])
        nearness = "near" if here[0]["group"] in (NEAR, NEAR_REGION) else "far"
        trained = "yes" if program in METHODS_IN_TRAINING else "no"
        row([program, nearness, trained, share(map(is_caught, here)), f"{p_value:.4f}", said])


def _confidence(record: Record) -> float:
    return min((fault["confidence"] for fault in record["faults"]), default=1.0)


def _confident_errors(records: list[Record], most: int = 40) -> None:
    wrong = [
        (record, fault) for record in records for fault in record["faults"]
        if record["group"] != OTHER_SCENE and _is_confident_error(fault)
    ]  # fmt: skip
    if not wrong:
        return
    head(f"Faults that are wrong with confidence {CONFIDENT} or more", ["picture", "group", "programs", "said"])
    for record, fault in wrong[:most]:
        said = f"{fault['kinds']} {fault['confidence']:.2f} ({100 * fault['area']:.1f} %)"
        row([record["picture"], record["group"], _programs(record), said])
    if len(wrong) > most:
        print(f"\n{len(wrong) - most} more are left out.")


def _programs(record: Record) -> str:
    parts: Iterable[tuple[str, float]] = zip(record["programs"], record["errors"])
    return "; ".join(f"{program} ({error:.0f})" for program, error in parts)
