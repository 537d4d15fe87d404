"""The paper's experiments from end to end: eight methods on one reference, each result beside the paper's own.

:func:`reproduce` writes into a folder

- ``results.json``: every number, see :func:`reproduce` for its structure; the same bytes for the same seed;
- ``timings.json``: seconds and memory, which differ from run to run;
- ``figures/*.png``, ``report.md`` and ``report.html``: made from the results alone;
- ``parts/*.json``: the result of each method, from which an interrupted run continues.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from llise import __version__, datasets
from llise.datasets import ImageSet
from llise.images import check_reference
from llise.reproduction.convergence import convergence
from llise.reproduction.evaluation import describe_images, judge, judge_on_authors_data
from llise.reproduction.methods import BLOCK_SIZE, SETTINGS, TEST_MSE, Method, Run, runs
from llise.reproduction.paper import paper_summaries
from llise.reproduction.parts import Parts, rounded, source_digest, write_json
from llise.storage.files import check_writable

SCHEMA = 1
QUICK_SIDE = 128


@dataclass(frozen=True)
class Reproduction:
    """What :func:`reproduce` returns.

    Parameters
    ----------
    folder : Path
        Where everything was written.
    results : dict
        The content of results.json.
    timings : dict
        The content of timings.json.

    Examples
    --------
    >>> reproduction = Reproduction(Path("out"), {"schema": 1}, {"wall_seconds": 12.3})
    >>> reproduction.results["schema"]
    1
    """

    folder: Path
    results: dict[str, Any] = field(repr=False)
    timings: dict[str, Any] = field(repr=False)


def reproduce(
    image: np.ndarray | None = None,
    out: str | os.PathLike[str] = "llise-reproduction",
    *,
    name: str | None = None,
    methods: Sequence[str] | None = None,
    quick: bool = False,
    seed: int = 0,
    n_jobs: int | None = None,
    quiet: bool = True,
) -> Reproduction:
    """Run the paper's experiments and write results, figures and a report into a folder.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w), optional
        The reference; scikit-image's `camera` if left out.
    out : str or path
        The folder; created if missing.  Methods whose results it already holds for the same settings are not run again.
    name : str, optional
        What the report calls the image.
    methods : sequence of str, optional
        Some of the paper's methods, by their names or short names (``METHODS``); all if left out.
    quick : bool
        Use only the middle of the image.
    seed : int
        Seed for all random numbers.
    n_jobs : int, optional
        Number of threads, as in joblib; the results do not depend on it.
    quiet : bool
        Show no progress bars.

    Returns
    -------
    Reproduction
        Its ``results["methods"]`` has an entry for each method under the paper's name, for the LLISE methods *as
        published* (ADMM, with the errors in the paper and its iteration counts), and another, "..., solved", by the
        exact solver::

            {"schema": 1, "image": {...}, "settings": {...}, "data": {"training": {...}, "test": [...]},
             "methods": {"LLISE": {"method": "LLISE", "solver": "admm",
                                   "train": {"accuracy": ..., "block_accuracy": ..., "confusion": 7 x 7 counts,
                                             "recall": {label: share}, "block_confusion": 7 x 7 shares},
                                   "test": [{"true": [...], "shares": {label: share}, "top": [[label, share], ...]}],
                                   "solution": {objectives, violation, stationarity, iterations},
                                   "summary": {counts over the test images}, "map": {"train": ..., "test": ...}},
                         "LLISE, solved": {...}, ..., "LLE": {...}, ...},
             "paper": {method: summary of the paper's table},
             "convergence": {...}, "released_data": {method: {...} on images as the authors' code makes them}}

        Rows and columns of 7 are in the order of ``llise.LABELS``; where LLE has no blocks, its entries are null.

    Raises
    ------
    ImportError
        The extra ``plot`` is not installed.
    ValueError
        A method is unknown, or the image is too small or constant.

    Examples
    --------
    >>> import llise
    >>> done = llise.experiments.reproduce(out="results")  # doctest: +SKIP
    >>> done.results["methods"]["LLISE"]["train"]["block_accuracy"]  # doctest: +SKIP
    0.362655
    """
    from llise.reproduction import figures, report  # they need an extra: a missing one is reported before the work

    started = time.perf_counter()
    planned = runs(methods)
    folder = _prepared(Path(out))
    image, description = _reference(image, name, quick)
    bar = tqdm(total=len(planned) + 3, desc="images", unit="step", disable=True if quiet else None, leave=False)
    with bar:
        training = datasets.training_set(image, random_state=seed, n_jobs=n_jobs)
        test = datasets.test_set(image, TEST_MSE, random_state=seed, n_jobs=n_jobs)
        bar.update()
        parts = Parts(folder / "parts", {"image": description, "seed": seed, "source": source_digest()}, bar)
        experiments = _run_all(parts, planned, training, test, seed, n_jobs, quiet)
    results = rounded(
        {
            "schema": SCHEMA,
            "llise": __version__,
            "image": description,
            "seed": seed,
            "settings": {**SETTINGS, "block_size": BLOCK_SIZE, "test_mse": TEST_MSE},
            "data": describe_images(training, test),
            "paper": paper_summaries(),
            **experiments,
        }
    )
    write_json(folder / "results.json", results)
    figures.draw(folder / "figures", results, training, test)
    report.write(folder, results)
    timings = {
        "wall_seconds": round(time.perf_counter() - started, 2),
        "cpu_seconds": round(time.process_time(), 2),
        "peak_memory_mb": round(_peak_memory() / 1e6),
        "parts_seconds": parts.seconds,
    }
    write_json(folder / "timings.json", timings)
    return Reproduction(folder, results, timings)


def _prepared(folder: Path) -> Path:
    for part in (folder, folder / "parts", folder / "figures"):
        part.mkdir(parents=True, exist_ok=True)
    check_writable(folder / "results.json")
    return folder


def _reference(image: np.ndarray | None, name: str | None, quick: bool) -> tuple[np.ndarray, dict[str, Any]]:
    """The image that is worked on, and its description in the results."""
    if image is None:
        image, name = datasets.reference(), "camera (scikit-image)"
    name = name or "image"
    if quick:
        top, left = (max(0, (side - QUICK_SIDE) // 2) for side in image.shape)
        image = np.ascontiguousarray(image[top : top + QUICK_SIDE, left : left + QUICK_SIDE])
    check_reference(image, BLOCK_SIZE, name)
    height, width = image.shape
    sha256 = hashlib.sha256(image.tobytes()).hexdigest()
    return image, {"name": name, "height": height, "width": width, "quick": quick, "sha256": sha256}


def _run_all(
    parts: Parts, planned: list[Run], training: ImageSet, test: ImageSet, seed: int, n_jobs: int | None, quiet: bool
) -> dict[str, Any]:
    """Every method, the course of the first LLISE method's iterations, and the baselines on the authors' data."""
    arguments = (training, test, seed, n_jobs, not quiet)
    methods = {run.name: parts.get(run.name, [], partial(judge, run, *arguments)) for run in planned}
    curves = authors_results = None
    traced = next((run for run in planned if run.method.blockwise), None)
    if traced:
        curves = parts.get("convergence", [traced.name], partial(_convergence, traced.method, training, seed))
    if baselines := [run for run in planned if not run.method.blockwise]:
        compared = [traced, *baselines] if traced else baselines
        compute = partial(judge_on_authors_data, compared, training.reference, seed, n_jobs)
        authors_results = parts.get("released data", [run.name for run in compared], compute)
    return {"methods": methods, "convergence": curves, "released_data": authors_results}


def _convergence(method: Method, training: ImageSet, seed: int) -> dict[str, Any]:
    curves = convergence(
        training.images, kernel=method.kernel or "linear", block_size=BLOCK_SIZE, seed=seed, **SETTINGS
    )
    return {"method": method.name, **curves}


def _peak_memory() -> float:
    """Largest number of bytes that this process has held."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
