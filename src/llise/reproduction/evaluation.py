"""One method's results: training images judged leave-one-out, test images, and how good the solution is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from llise.datasets import ImageSet
from llise.labels import KINDS, LABELS
from llise.manifold.blocks import BlockGrid
from llise.manifold.estimators import LLISE
from llise.manifold.recognition import DistortionRecognizer
from llise.reproduction import authors_data
from llise.reproduction.methods import BLOCK_SIZE, TEST_MSE, Run
from llise.reproduction.paper import summary


def judge(
    run: Run, training: ImageSet, test: ImageSet, seed: int = 0, n_jobs: int | None = None, verbose: bool = False
) -> dict[str, Any]:
    """Fit one method and judge the training images leave-one-out and the test images as new images.

    Parameters
    ----------
    run : Run
        Method and solver.
    training, test : ImageSet
        The paper's images.
    seed : int
        Seed for all random numbers.
    n_jobs : int, optional
        Number of threads, as in joblib.
    verbose : bool
        Whether to show progress.

    Returns
    -------
    dict
        The method's entry in results.json, see :func:`llise.experiments.reproduce`.

    Examples
    --------
    >>> from llise import datasets
    >>> from llise.experiments import runs
    >>> image = datasets.reference()[192:256, 192:256]
    >>> result = judge(runs(["lle"])[0], datasets.training_set(image), datasets.test_set(image, mse=100))
    >>> sorted(result)
    ['map', 'method', 'solution', 'solver', 'summary', 'test', 'train']
    """
    recognizer = DistortionRecognizer(run.learner(seed, n_jobs, verbose)).fit(training.images, training.labels)
    learner, blockwise = recognizer.manifold_, run.method.blockwise
    votes = recognizer.block_labels(test.images).reshape(len(test), -1)
    shares = np.stack([(votes == label).mean(axis=1) for label in LABELS], axis=1)
    answers = [_answer(kinds, row, 2 if blockwise else 1) for kinds, row in zip(test.kinds, shares)]
    if blockwise:
        for answer, labels, same in zip(answers, votes, _unchanged(test.images, test.reference)):
            answer["unchanged_luminance"] = float((labels[same] == "luminance").mean()) if same.any() else None
    return {
        "method": run.method.name,
        "solver": run.solver,
        "train": _training_results(recognizer, training.labels, blockwise),
        "test": answers,
        "summary": summary([(answer["true"], answer["top"], answer["shares"]) for answer in answers], blockwise),
        "solution": _block_solution(learner) if blockwise else {"reconstruction_error": learner.reconstruction_error_},
        "map": {"train": learner.image_map().tolist(), "test": learner.image_map(test.images).tolist()},
    }


def _training_results(recognizer: DistortionRecognizer, labels: np.ndarray, blockwise: bool) -> dict[str, Any]:
    confusion = _over_labels(recognizer.confusion_, recognizer)
    block_confusion = _over_labels(_block_confusion(recognizer, labels), recognizer).tolist() if blockwise else None
    return {
        "accuracy": recognizer.image_accuracy_,
        "block_accuracy": recognizer.block_accuracy_ if blockwise else None,
        "confusion": confusion.astype(int).tolist(),
        "recall": _recall(confusion),
        "block_confusion": block_confusion,
    }


def _over_labels(matrix: np.ndarray, recognizer: DistortionRecognizer) -> np.ndarray:
    """A matrix over the recogniser's classes as one over all labels; an image may lack a kind it cannot have."""
    codes = [LABELS.index(label) for label in recognizer.classes_]
    whole = np.zeros((len(LABELS), len(LABELS)))
    whole[np.ix_(codes, codes)] = matrix
    return whole


def _block_confusion(recognizer: DistortionRecognizer, labels: np.ndarray) -> np.ndarray:
    """Mean shares of votes (true, voted) over the training images of each class."""
    shares = recognizer.leave_one_out_shares_
    return np.array([shares[labels == label].mean(axis=0) for label in recognizer.classes_])


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


def _block_solution(learner: LLISE) -> dict[str, Any]:
    """Objectives as means over blocks and images, and how far the answer is from a solution."""
    fitted = learner.blocks_
    assert fitted.weights is not None
    b, n, _ = learner.embedding_.shape
    norms = np.linalg.norm(fitted.weights.astype(float), axis=-1)
    # Singular values of Y at each block: the constraint Y'Y = nI asks for sqrt(n).
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


def judge_on_authors_data(
    compared: Sequence[Run], image: np.ndarray, seed: int = 0, n_jobs: int | None = None
) -> dict[str, Any]:
    """Judge methods on images made as the authors' released code makes them."""
    training, labels = authors_data.training_images(image, seed)
    test, kinds = authors_data.test_images(image, TEST_MSE, seed)
    results = {}
    for run in compared:
        recognizer = DistortionRecognizer(run.learner(seed, n_jobs, False)).fit(training, labels)
        recognised = recognizer.predict(test)
        results[run.name] = {
            "accuracy": recognizer.image_accuracy_,
            "recall": _recall(_over_labels(recognizer.confusion_, recognizer)),
            "top": recognised.tolist(),
            "top_right": sum(label in true for label, true in zip(recognised, kinds)),
        }
    return results


def describe_images(training: ImageSet, test: ImageSet) -> dict[str, Any]:
    """Describe the training and test images: kinds, errors, and blocks that equal the reference's but for the mean."""
    labels = training.labels
    lighter = training.images[labels == "luminance"]
    shift = test.images.mean(axis=(1, 2)) - test.reference.mean()
    unchanged = _unchanged(test.images, test.reference).mean(axis=1)
    return {
        "training": {
            "n": len(training),
            "labels": labels.tolist(),
            "mse": training.mse.tolist(),
            "n_by_kind": {kind: int((labels == kind).sum()) for kind in KINDS},
            "n_amplified": int(training.amplified[labels == "jpeg"].sum()),
            "lowest_mse": float(training.wanted_mse[1:].min()),
            "highest_mse": float(training.wanted_mse.max()),
            "luminance_unchanged": float(_unchanged(lighter, training.reference).mean()) if len(lighter) else 0.0,
        },
        "test": [
            {
                "number": i + 1,
                "true": list(test.kinds[i]),
                "mse": float(test.mse[i]),
                "mean_shift": float(shift[i]),
                "unchanged": float(unchanged[i]),
                "amplified": bool(test.amplified[i]),
            }
            for i in range(len(test))
        ],
    }


def _unchanged(images: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Which of each image's blocks (n, b) equal the reference's after their means are subtracted."""
    grid = BlockGrid.of_images(reference.shape, BLOCK_SIZE)
    return (np.ptp(grid.cut(images.astype(np.int16) - reference), axis=-1) == 0).T
