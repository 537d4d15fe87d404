"""The paper's experiments, end to end: eight methods on one reference, each result beside the paper's own.

:func:`reproduce` writes into a folder

- ``results.json``: every number, see :func:`reproduce` for its shape; the same bytes for the same seed;
- ``timings.json``: what may differ between two runs, seconds and memory;
- ``figures/*.png``, ``report.md`` and ``report.html``: pictures and pages made from the results alone;
- ``parts/*.json``: the result of each method, which an interrupted run takes up again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from llise import __version__, datasets
from llise.baselines import LLE, KernelLLE
from llise.blocks import BlockGrid
from llise.datasets import ImageSet
from llise.estimators import LLISE, KernelLLISE
from llise.images import check_reference
from llise.labels import KINDS, LABELS
from llise.recognition import DistortionRecognizer
from llise.reproduction import authors_data as released
from llise.reproduction.convergence import convergence
from llise.storage.files import atomic_write, check_writable

SCHEMA = 1
SETTINGS = {"n_neighbors": 10, "n_components": 4}
"""The paper's k and p; all methods have them."""

BLOCK_SIZE = 8
TEST_MSE = 500
QUICK_SIDE = 128
DIGITS = 6  # significant digits of the results, beyond which rounding errors begin

# Modules that only show results: a change of theirs leaves finished parts valid.
_SHOWING = {"cli", "output", "report.py", "figures.py", "pages.py", "documents.py"}


@dataclass(frozen=True)
class Method:
    """One row of the paper's table."""

    name: str
    short: str
    kernel: str | None
    blockwise: bool


def _methods() -> tuple[Method, ...]:
    kernels = (("poly", "polynomial"), ("rbf", "RBF"), ("sigmoid", "sigmoid"))
    rows = []
    for name, blockwise in (("LLISE", True), ("LLE", False)):
        rows.append(Method(name, name.lower(), None, blockwise))
        rows += [Method(f"kernel {name} ({said})", f"{name.lower()}-{k}", k, blockwise) for k, said in kernels]
    return tuple(rows)


METHODS = _methods()
"""The paper's eight methods, in the order of its table."""


@dataclass(frozen=True)
class Run:
    """A method with a solver; ``name`` is its key in the results."""

    method: Method
    solver: str

    @property
    def name(self) -> str:
        """The paper's name of the method; a solved one says so."""
        return f"{self.method.name}, solved" if self.solver == "exact" else self.method.name

    def learner(self, seed: int, n_jobs: int | None, verbose: bool) -> Any:
        """The estimator, with the paper's settings."""
        kernel = {"kernel": self.method.kernel} if self.method.kernel else {}
        if not self.method.blockwise:
            return (KernelLLE if kernel else LLE)(**SETTINGS, **kernel)
        return (KernelLLISE if kernel else LLISE)(
            **SETTINGS,
            **kernel,
            block_size=BLOCK_SIZE,
            constraint="sphere",
            solver=self.solver,
            as_published=self.solver == "admm",
            random_state=seed,
            n_jobs=n_jobs,
            verbose=int(verbose),
        )


def runs(names: Sequence[str] | None = None) -> list[Run]:
    """What is run for these methods (all if None): the LLISE methods as published and solved, LLE once."""
    known = {word: method for method in METHODS for word in (method.short, method.name.lower())}
    if unknown := [name for name in names or () if name.strip().lower() not in known]:
        shorts = ", ".join(method.short for method in METHODS)
        raise ValueError(f"{unknown[0]!r} is not a method of the paper; choose from {shorts}.")
    chosen = METHODS if names is None else {known[name.strip().lower()] for name in names}
    if not chosen:
        raise ValueError("no method was named; leave methods out for all of them.")
    return [
        Run(method, solver)
        for method in METHODS
        if method in chosen
        for solver in (("admm", "exact") if method.blockwise else ("eigen",))
    ]


@dataclass(frozen=True)
class Reproduction:
    """What :func:`reproduce` found: ``results`` as in results.json, ``timings`` as in timings.json."""

    folder: Path
    results: dict[str, Any]
    timings: dict[str, Any]


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
    """Run the paper's experiments and write results, figures and pages into a folder.

    Parameters
    ----------
    image : uint8 array (h, w), optional
        The reference; scikit-image's `camera` if left out.
    out : path
        The folder; made if it is not there.  Methods it already holds for the same settings are not run again.
    name : str, optional
        What the pages call the image.
    methods : sequence of str, optional
        Some of the paper's methods, by their names or short names (``METHODS``).
    quick : bool
        Take the middle of the image only.
    seed : int
        Of all random draws.
    n_jobs : int, optional
        As in joblib; the results do not depend on it.
    quiet : bool
        No progress bars.

    Returns
    -------
    Reproduction
        Its ``results["methods"]`` has an entry for each method under the paper's name, for the LLISE methods *as
        published* (ADMM, its slips and iteration counts included), and another, "..., solved", by the exact solver::

            {"schema": 1, "image": {...}, "settings": {...}, "data": {"training": {...}, "test": [...]},
             "methods": {"LLISE": {"method": "LLISE", "solver": "admm",
                                   "train": {"accuracy": ..., "block_accuracy": ..., "confusion": 7 x 7 counts,
                                             "recall": {label: share}, "block_confusion": 7 x 7 shares},
                                   "test": [{"true": [...], "shares": {label: share}, "top": [[label, share], ...]}],
                                   "solution": {objectives, violation, stationarity, iterations},
                                   "summary": {what the test images come to}, "map": {"train": ..., "test": ...}},
                         "LLISE, solved": {...}, ..., "LLE": {...}, ...},
             "paper": {method: summary of the paper's table},
             "convergence": {...}, "released_data": {method: {...} on images as the authors' code makes them}}

        Rows and columns of 7 are in the order of ``llise.LABELS``; LLE has no blocks and there null.
    """
    from llise.reproduction import (
        figures,
        pages,  # figures need an extra: say so before the work, not after it
    )

    started = time.perf_counter()
    planned = runs(methods)
    folder = _prepared(Path(out))
    image, description = _reference(image, name, quick)
    bar = tqdm(total=len(planned) + 3, desc="images", unit="step", disable=True if quiet else None, leave=False)
    with bar:
        training = datasets.training_set(image, random_state=seed, n_jobs=n_jobs)
        test = datasets.test_set(image, TEST_MSE, random_state=seed, n_jobs=n_jobs)
        bar.update()
        common = {"image": description, "seed": seed, "source": _source_digest()}
        parts = _Parts(folder / "parts", common, bar)
        judged = (training, test, seed, n_jobs, not quiet)
        found = {run.name: parts.get(run.name, [], partial(judge, run, *judged)) for run in planned}
        course = as_released = None
        traced = next((run for run in planned if run.method.blockwise), None)
        if traced:
            trace = partial(_convergence, traced.method, training, seed)
            course = parts.get("convergence", [traced.name], trace)
        if baselines := [run for run in planned if not run.method.blockwise]:
            compared = [traced, *baselines] if traced else baselines
            compare = partial(_on_released_data, compared, image, seed, n_jobs)
            as_released = parts.get("released data", [run.name for run in compared], compare)
    results = {
        "schema": SCHEMA,
        "llise": __version__,
        "image": description,
        "seed": seed,
        "settings": {**SETTINGS, "block_size": BLOCK_SIZE, "test_mse": TEST_MSE},
        "data": _data(training, test),
        "methods": found,
        "paper": paper_summaries(),
        "convergence": course,
        "released_data": as_released,
    }
    results = rounded(results)
    _write_json(folder / "results.json", results)
    figures.draw(folder / "figures", results, training, test)
    pages.write(folder, results)
    timings = {
        "wall_seconds": round(time.perf_counter() - started, 2),
        "cpu_seconds": round(time.process_time(), 2),
        "peak_memory_mb": round(_peak_memory() / 1e6),
        "parts_seconds": parts.seconds,
    }
    _write_json(folder / "timings.json", timings)
    return Reproduction(folder, results, timings)


def _prepared(folder: Path) -> Path:
    for part in (folder, folder / "parts", folder / "figures"):
        part.mkdir(parents=True, exist_ok=True)
    check_writable(folder / "results.json")
    return folder


def _reference(image: np.ndarray | None, name: str | None, quick: bool) -> tuple[np.ndarray, dict[str, Any]]:
    """The image that is worked on, and how the results speak of it."""
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


# ----------------------------------------------------------------------------------------- one method


def judge(
    run: Run, training: ImageSet, test: ImageSet, seed: int = 0, n_jobs: int | None = None, verbose: bool = False
) -> dict[str, Any]:
    """One method's entry in the results: training images leave-one-out, test images out of sample."""
    recognizer = DistortionRecognizer(run.learner(seed, n_jobs, verbose)).fit(training.images, training.labels)
    learner, blockwise, codes = recognizer.manifold_, run.method.blockwise, _codes(recognizer)
    votes = recognizer.block_labels(test.images).reshape(len(test), -1)
    shares = np.stack([(votes == label).mean(axis=1) for label in LABELS], axis=1)
    confusion = _over_labels(recognizer.confusion_, codes)
    block_confusion = _over_labels(_block_confusion(recognizer, training.labels), codes).tolist() if blockwise else None
    answers = [_answer(kinds, row, 2 if blockwise else 1) for kinds, row in zip(test.kinds, shares)]
    if blockwise:
        for answer, mine, same in zip(answers, votes, _unchanged(test.images, test.reference)):
            answer["unchanged_luminance"] = float((mine[same] == "luminance").mean()) if same.any() else None
    return {
        "method": run.method.name,
        "solver": run.solver,
        "train": {
            "accuracy": recognizer.image_accuracy_,
            "block_accuracy": recognizer.block_accuracy_ if blockwise else None,
            "confusion": confusion.astype(int).tolist(),
            "recall": _recall(confusion),
            "block_confusion": block_confusion,
        },
        "test": answers,
        "summary": summary([(answer["true"], answer["top"], answer["shares"]) for answer in answers], blockwise),
        "solution": _block_solution(learner) if blockwise else {"reconstruction_error": learner.reconstruction_error_},
        "map": {"train": learner.image_map().tolist(), "test": learner.image_map(test.images).tolist()},
    }


def _codes(recognizer: DistortionRecognizer) -> list[int]:
    """Places of the recogniser's classes among the labels: a kind that an image cannot have is missing."""
    return [LABELS.index(label) for label in recognizer.classes_]


def _recall(confusion: np.ndarray) -> dict[str, float]:
    """Share of each label's images that is recognised."""
    return dict(zip(LABELS, (confusion.diagonal() / np.maximum(confusion.sum(axis=1), 1)).tolist()))


def _answer(kinds: Sequence[str], shares: np.ndarray, n_top: int) -> dict[str, Any]:
    order = [i for i in np.argsort(-shares, kind="stable")[:n_top] if shares[i] > 0]
    return {
        "true": list(kinds),
        "shares": dict(zip(LABELS, shares.tolist())),
        "top": [[LABELS[i], float(shares[i])] for i in order],
    }


def _block_confusion(recognizer: DistortionRecognizer, labels: np.ndarray) -> np.ndarray:
    """Mean shares of votes (true, voted) over the training images of each class."""
    shares = recognizer.leave_one_out_shares_
    return np.array([shares[labels == label].mean(axis=0) for label in recognizer.classes_])


def _over_labels(matrix: np.ndarray, codes: list[int]) -> np.ndarray:
    """A matrix over the classes found as one over all labels."""
    whole = np.zeros((len(LABELS), len(LABELS)))
    whole[np.ix_(codes, codes)] = matrix
    return whole


def _block_solution(learner: LLISE) -> dict[str, Any]:
    """How good the solver's answer is: objectives a block and image, and how far from a solution."""
    fitted = learner.blocks_
    assert fitted.weights is not None
    b, n, _ = learner.embedding_.shape
    norms = np.linalg.norm(fitted.weights.astype(float), axis=-1)
    # Singular values of Y at each block: the constraint Y'Y = nI wants sqrt(n).
    squares = np.linalg.eigvalsh(np.swapaxes(learner.embedding_, 1, 2) @ learner.embedding_)
    singular = np.sqrt(np.maximum(squares, 0))
    return {
        "n_blocks": b,
        "reconstruction_error": learner.reconstruction_error_ / (b * n),
        "embedding_error": learner.embedding_error_ / (b * n),
        "weight_norm": float(norms.mean()),
        "weight_norm_violation": float(np.abs(norms - 1).mean()),
        "singular_values": [float(singular[:, 0].mean()), float(singular[:, -1].mean())],
        "wanted_singular_value": float(np.sqrt(n)),
        "constraint_violation": _spread(fitted.violation),
        "stationarity": _spread(fitted.stationarity),
        "iterations": _spread(fitted.n_iter),
    }


def _spread(values: np.ndarray) -> dict[str, float]:
    return {"median": float(np.median(values)), "max": float(np.max(values))}


def _convergence(method: Method, training: ImageSet, seed: int) -> dict[str, Any]:
    course = convergence(
        training.images, kernel=method.kernel or "linear", block_size=BLOCK_SIZE, seed=seed, **SETTINGS
    )
    return {"method": method.name, **course}


def _on_released_data(compared: Sequence[Run], image: np.ndarray, seed: int, n_jobs: int | None) -> dict[str, Any]:
    """The same on images as the authors' code makes them: training images, and top votes on the test images."""
    training, labels = released.training_images(image, seed)
    test, kinds = released.test_images(image, TEST_MSE, seed)
    found = {}
    for run in compared:
        recognizer = DistortionRecognizer(run.learner(seed, n_jobs, False)).fit(training, labels)
        recognised = recognizer.predict(test)
        found[run.name] = {
            "accuracy": recognizer.image_accuracy_,
            "recall": _recall(_over_labels(recognizer.confusion_, _codes(recognizer))),
            "top": recognised.tolist(),
            "top_right": sum(label in true for label, true in zip(recognised, kinds)),
        }
    return found


# --------------------------------------------------------------------------------------- what it comes to


def summary(answers: Sequence[tuple[Sequence[str], Sequence, dict[str, float]]], blockwise: bool) -> dict[str, Any]:
    """Counts over test images from (true kinds, top votes, shares).

    ``hits``: at least one of the top votes is a true kind; ``top_right``: the first one is; ``pairs``: the top two
    are a mixture's two kinds; ``single_share``: mean share of the true kind on single distortions, where a share
    that is not known counts nothing (``share_unknown`` says how many).
    """
    tops = [(true, [label for label, _ in top]) for true, top, _ in answers]
    singles = [(true[0], shares) for true, _, shares in answers if len(true) == 1]
    return {
        "n": len(answers),
        "n_single": len(singles),
        "n_mixtures": len(answers) - len(singles),
        "hits": sum(bool(set(true) & set(labels)) for true, labels in tops),
        "top_right": sum(labels[0] in true for true, labels in tops),
        "pairs": sum(len(true) > 1 and set(true) == set(labels) for true, labels in tops) if blockwise else None,
        "single_share": float(np.mean([shares.get(kind, 0.0) for kind, shares in singles])) if blockwise else None,
        "share_unknown": sum(kind not in shares for kind, shares in singles) if blockwise else None,
    }


def paper_table() -> dict[str, Any]:
    """The paper's table of test images as data, with its source."""
    return json.loads((files("llise.reproduction") / "data" / "paper_table1.json").read_text(encoding="utf-8"))


def paper_summaries() -> dict[str, Any]:
    """:func:`summary` of each method in the paper's table."""
    table = paper_table()
    true = [entry["true"] for entry in table["images"]]
    blockwise = {method.name: method.blockwise for method in METHODS}
    return {
        name: summary([(kinds, votes, dict(votes)) for kinds, votes in zip(true, rows)], blockwise[name])
        for name, rows in table["methods"].items()
    }


def _data(training: ImageSet, test: ImageSet) -> dict[str, Any]:
    shift = (test.images.mean(axis=(1, 2)) - test.reference.mean()).tolist()
    unchanged = _unchanged(test.images, test.reference).mean(axis=1).tolist()
    lighter = training.images[training.labels == "luminance"]
    labels = training.labels
    amplified = {kind: int(training.amplified[labels == kind].sum()) for kind in KINDS}
    return {
        "training": {
            "n": len(training),
            "labels": labels.tolist(),
            "mse": training.mse.tolist(),
            "n_by_kind": {kind: int((labels == kind).sum()) for kind in KINDS},
            "n_amplified": amplified["jpeg"],
            "lowest_mse": float(training.wanted_mse[1:].min()),
            "highest_mse": float(training.wanted_mse.max()),
            "luminance_unchanged": float(_unchanged(lighter, training.reference).mean()) if len(lighter) else 0.0,
        },
        "test": [
            {
                "number": i + 1,
                "true": list(test.kinds[i]),
                "mse": float(test.mse[i]),
                "mean_shift": shift[i],
                "unchanged": unchanged[i],
                "amplified": bool(test.amplified[i]),
            }
            for i in range(len(test))
        ],
    }


def _unchanged(images: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Which of each image's blocks (n, b) equal the reference's once their means are taken off."""
    grid = BlockGrid.of_images(reference.shape, BLOCK_SIZE)
    return (np.ptp(grid.cut(images.astype(np.int16) - reference), axis=-1) == 0).T


# ------------------------------------------------------------------------------------------- files


class _Parts:
    """Finished parts in a folder, each kept with a key of all that decides it."""

    def __init__(self, folder: Path, common: dict[str, Any], bar: tqdm) -> None:
        self.folder, self.common, self.bar = folder, common, bar
        self.seconds: dict[str, float] = {}

    def get(self, name: str, details: list[str], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The part from its file, or computed and kept; ``details`` decide it besides the common settings."""
        self.bar.set_description(name)
        path = self.folder / f"{name.replace(', ', ' ').replace(' ', '-').lower()}.json"
        key = hashlib.sha256(json.dumps([self.common, name, details], sort_keys=True).encode()).hexdigest()
        part = _kept(path, key)
        if part is None:
            started = time.perf_counter()
            result = rounded(compute())
            part = {"key": key, "result": result, "seconds": round(time.perf_counter() - started, 2)}
            _write_json(path, part)
        self.seconds[name] = part["seconds"]
        self.bar.update()
        return part["result"]


def _kept(path: Path, key: str) -> dict[str, Any] | None:
    """The part at ``path`` if it has this key; a file of another origin is as good as none."""
    try:
        part = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return part if isinstance(part, dict) and part.get("key") == key and "result" in part else None


def _source_digest() -> str:
    """Version and content of the modules that compute, so that a changed solver's results are not mixed."""
    digest = hashlib.sha256(__version__.encode())
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in _SHOWING and path.name not in _SHOWING:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def rounded(value: Any) -> Any:
    """The same with floats to ``DIGITS`` significant digits, as it is read back from a file."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _write_json(path: Path, value: Any) -> None:
    """Indented, but a list of plain values on one line."""
    text = json.dumps(value, indent=1, sort_keys=True, allow_nan=False)
    text = re.sub(r"\[\n\s+[^\[\]{}]*\n\s+\]", lambda found: re.sub(r"\n\s*", " ", found[0]), text)
    with atomic_write(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(f"{text}\n")


def _peak_memory() -> float:
    """Most bytes this process held."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
