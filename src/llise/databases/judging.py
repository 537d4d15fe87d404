"""Judging the images of a database, some of one reference at a time, on several cores."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from llise.databases.layout import Item
from llise.diagnosis import Diagnoser, Diagnosis
from llise.diagnosis.judging.judge import shipped_judge
from llise.images import ImageError, check_reference, check_same_size, read_image
from llise.reproduction.parts import rounded, source_digest, stored_part, write_json

GROUP = 25
"""Images of one reference that are judged together: enough to use what was computed of the reference alone."""


@dataclass(frozen=True)
class Group:
    """Images that are judged together, by their positions in the list of all images.

    Parameters
    ----------
    reference : Path
        Their reference.
    files : tuple of Path
        The images.
    positions : tuple of int
        Their positions.

    Examples
    --------
    >>> Group(Path("I01.png"), (Path("I01_01_01.png"),), (0,)).positions
    (0,)
    """

    reference: Path
    files: tuple[Path, ...]
    positions: tuple[int, ...]


Judge = Callable[[Group], list[dict[str, Any]]]


def groups(items: Sequence[Item]) -> list[Group]:
    """Divide images into groups of the same reference.

    Parameters
    ----------
    items : sequence of Item
        Images.

    Returns
    -------
    list of Group
        Together they hold every image once.

    Examples
    --------
    >>> [group.positions for group in groups([Item(Path("a"), Path(r), "01", 1, 3.0) for r in "xyx"])]
    [(0, 2), (1,)]
    """
    positions: dict[Path, list[int]] = {}
    for position, item in enumerate(items):
        positions.setdefault(item.reference, []).append(position)
    return [
        Group(reference, tuple(items[i].file for i in chosen), tuple(chosen))
        for reference, everything in positions.items()
        for start in range(0, len(everything), GROUP)
        for chosen in [everything[start : start + GROUP]]
    ]


def judge_group(group: Group) -> list[dict[str, Any]]:
    """Judge the images of a group; only one of them is in memory at a time.

    Parameters
    ----------
    group : Group
        Images of one reference.

    Returns
    -------
    list of dict
        For each image what was found, or ``{"error": message}`` where a file cannot be used.

    Examples
    --------
    >>> judge_group(Group(Path("absent.png"), (Path("copy.png"),), (0,)))
    [{'error': 'absent.png: no such file; check the name'}]
    """
    try:
        reference = read_image(group.reference)
        check_reference(reference, name=str(group.reference))
    except ImageError as error:
        return [{"error": str(error)} for _ in group.files]
    diagnoser = Diagnoser(reference)
    return [_judged(diagnoser, file) for file in group.files]


def _judged(diagnoser: Diagnoser, file: Path) -> dict[str, Any]:
    try:
        image = read_image(file)
        check_same_size(diagnoser.reference, image, str(file))
    except ImageError as error:
        return {"error": str(error)}
    return rounded(_record(next(diagnoser.diagnose([image]))))


def _record(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "verdict": list(diagnosis.verdict),
        "confidence": diagnosis.confidence,
        "is_copy": diagnosis.is_copy,
        "severity": float(sum(diagnosis.severity.values())),
        "psnr": None if math.isinf(diagnosis.psnr) else diagnosis.psnr,
        "ssim": diagnosis.ssim,
    }


def judge_items(items: Sequence[Item], parts: Path, n_jobs: int) -> Iterator[tuple[Group, list[dict[str, Any]]]]:
    """Judge all images; what an earlier run has judged with the same files and the same program is read instead.

    Parameters
    ----------
    items : sequence of Item
        Images.
    parts : Path
        Folder in which the results of each group are kept; it must exist.
    n_jobs : int
        Number of processes, as in joblib; the results do not depend on it.

    Yields
    ------
    Group, list of dict
        A group and what :func:`judge_group` returned for it, in any order.

    Examples
    --------
    >>> import tempfile
    >>> list(judge_items([], Path(tempfile.mkdtemp()), 1))
    []
    """
    program = source_digest() + shipped_judge().fingerprint()
    waiting = []
    for group in groups(items):
        path, key = _part(group, parts, program)
        stored = stored_part(path, key)
        if stored:
            yield group, stored["result"]
        else:
            waiting.append(group)
    for group, records in _judged_in_parallel(waiting, n_jobs):
        path, key = _part(group, parts, program)
        if not any("error" in record for record in records):
            write_json(path, {"key": key, "result": records})
        yield group, records


def _judged_in_parallel(waiting: Sequence[Group], n_jobs: int) -> Iterator[tuple[Group, list[dict[str, Any]]]]:
    parallel = Parallel(n_jobs=n_jobs, backend="loky", return_as="generator_unordered")
    results: Iterable[Any] = parallel(delayed(_with_group)(judge_group, group) for group in waiting)
    try:
        yield from results
    except BrokenProcessPool:
        raise OSError(
            "a process ended before its images were judged, perhaps for lack of memory; run the command again with "
            "fewer jobs: it continues where it stopped"
        ) from None


def _with_group(judge: Judge, group: Group) -> tuple[Group, list[dict[str, Any]]]:
    return group, judge(group)


def _part(group: Group, parts: Path, program: str) -> tuple[Path, str]:
    """File of a group's results, and the key of all that they depend on."""
    files = [(str(file), *_identity(file)) for file in (group.reference, *group.files)]
    key = hashlib.sha256(json.dumps([program, files]).encode()).hexdigest()
    name = hashlib.sha256(json.dumps([str(file) for file in (group.reference, *group.files)]).encode()).hexdigest()
    return parts / f"{name[:16]}.json", key


def _identity(file: Path) -> tuple[int, int]:
    """Size and time of a file, which change when it does."""
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns
