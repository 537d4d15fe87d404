"""Train the judge that is shipped: ``python -m llise.diagnosis.train``.

Random scenes are drawn from the pictures that come with the dependencies.  Each of four networks is trained without
a quarter of these pictures; its answers on that quarter set the temperature that makes all probabilities honest.
Other scenes give the weights of the second look at doubtful parts and the scores from which faults without a name are
told, and others again the errors of the estimates, from which their 90 % intervals are made.
The same seed gives the same file on the same machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from llise.diagnosis.estimates.errors import EstimateErrors
from llise.diagnosis.judging import network
from llise.diagnosis.judging.judge import BACKGROUND_SCALE, FILE, Judge, standardised
from llise.diagnosis.second_look.novelty import Novelty, fit_novelty
from llise.diagnosis.second_look.verification import NO_EVIDENCE
from llise.diagnosis.second_look.weighing import EvidenceWeights, fit_weights
from llise.diagnosis.sets import SETS
from llise.diagnosis.training import pictures
from llise.diagnosis.training.calibration import ErrorSample, draw_errors, estimate_errors
from llise.diagnosis.training.part_evidence import PartEvidence, draw_evidence
from llise.diagnosis.training.samples import Samples, draw_samples

SCENES = 56_000
FOLDS = 4
EPOCHS = 24
BACKGROUND = 3000
"""Samples that are kept for kinds that are taught later."""
CHUNK = 50
"""Scenes that are drawn by one task."""
ERROR_SHARE = 20
"""One scene for so many of the training is drawn to measure the errors of estimates."""
SECOND_LOOK_SHARE = 7
"""One scene for so many of the training is drawn for the weights of the second look."""


@click.command()
@click.option("--out", type=click.Path(path_type=Path), help="File to write; the package's own if left out.")
@click.option("--without", default="", metavar="NAMES", help="Pictures to leave out, separated by commas.")
@click.option("--scenes", default=SCENES, show_default=True, type=click.IntRange(100), help="Random scenes to draw.")
@click.option("--epochs", default=EPOCHS, show_default=True, type=click.IntRange(1), help="Passes over the samples.")
@click.option("--networks", type=click.Path(exists=True, path_type=Path), help="Keep the networks of this judge.")
@click.option("--networks-only", is_flag=True, help="Train the networks and leave out all else.")
@click.option("-j", "--jobs", default=-1, show_default=True, help="Processor cores to use; -1 for all.")
@click.option("--seed", default=0, show_default=True, help="Seed for all random numbers.")
def main(
    out: Path | None, without: str, scenes: int, epochs: int, networks: Path | None, networks_only: bool, jobs: int,
    seed: int,
) -> None:  # fmt: skip
    """Train the judge on random scenes and write it to a file."""
    left_out = [name for name in without.split(",") if name]
    if unknown := set(left_out) - set(pictures.NAMES):
        raise click.UsageError(f"no picture {', '.join(sorted(unknown))}; there are {', '.join(pictures.NAMES)}")
    names = tuple(name for name in pictures.NAMES if name not in left_out)
    if networks:
        judge, report = look_again(Judge.load(networks), jobs=jobs), "the networks are those of the file"
    else:
        steps = train_networks if networks_only else train
        judge, report = steps(names, scenes=scenes, epochs=epochs, jobs=jobs, seed=seed)
    path = out or Path(__file__).with_name(FILE)
    judge.save(path)
    click.echo(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {judge!r}")
    click.echo(report)


def train(
    names: tuple[str, ...], *, scenes: int = SCENES, epochs: int = EPOCHS, jobs: int = -1, seed: int = 0
) -> tuple[Judge, str]:
    """Train a judge on some of the pictures.

    Parameters
    ----------
    names : tuple of str
        Pictures to draw scenes from; at least as many as there are folds.
    scenes : int
        Random scenes in all.
    epochs : int
        Passes over the samples.
    jobs : int
        Processor cores, as joblib counts them; the result does not depend on it.
    seed : int
        Seed for all random numbers.

    Returns
    -------
    judge : Judge
        The judge.
    report : str
        How well the networks name samples of the pictures that they were trained without.

    Examples
    --------
    >>> from llise.diagnosis.training import pictures
    >>> from llise.diagnosis.train import train
    >>> judge, report = train(pictures.NAMES)  # doctest: +SKIP
    """
    judge, report = train_networks(names, scenes=scenes, epochs=epochs, jobs=jobs, seed=seed)
    return look_again(judge, jobs=jobs), report


def train_networks(
    names: tuple[str, ...], *, scenes: int = SCENES, epochs: int = EPOCHS, jobs: int = -1, seed: int = 0
) -> tuple[Judge, str]:
    """Train the networks of a judge, which then names kinds but does not look a second time.

    Parameters
    ----------
    names, scenes, epochs, jobs, seed
        As for :func:`train`.

    Returns
    -------
    judge : Judge
        Without errors of estimates, weights of evidence and scores of known parts.
    report : str
        As of :func:`train`.

    Examples
    --------
    >>> from llise.diagnosis.training import pictures
    >>> from llise.diagnosis.train import train_networks
    >>> judge, report = train_networks(pictures.NAMES)  # doctest: +SKIP
    """
    if len(names) < FOLDS:
        raise ValueError(f"{len(names)} pictures: expected {FOLDS} or more, one for each fold")
    folds = _folds(names)
    samples = [draw_chunks(fold, scenes // FOLDS, (seed, number), jobs) for number, fold in enumerate(folds)]
    inputs = [part.inputs for part in samples]
    codes = [part.codes.astype(np.int64) for part in samples]
    whole = np.concatenate(inputs)
    mean = whole.mean(axis=0, dtype=np.float64).astype(np.float32)
    scale = (whole.std(axis=0, dtype=np.float64) + 1e-3).astype(np.float32)
    inputs = [standardised(part, mean, scale).astype(np.float16) for part in inputs]
    with threadpool_limits(1, user_api="blas"):  # sums in one order on any number of cores
        tasks = (delayed(_train_fold)(inputs, codes, number, epochs, seed) for number in range(FOLDS))
        answers = Parallel(n_jobs=jobs, return_as="generator")(tasks)
        trained = list(_shown(answers, FOLDS, "training networks"))
    networks = [weights for weights, _ in trained]
    outside = np.concatenate([logits for _, logits in trained])
    # The mean over networks is less sure than each of them: half of the correction, in the logarithm, is left to do.
    temperature = float(np.sqrt(network.temperature(outside, np.concatenate(codes))))
    chosen = np.random.default_rng(seed).choice(len(whole), min(BACKGROUND, len(whole)), replace=False)
    background = np.rint(BACKGROUND_SCALE * standardised(whole[chosen], mean, scale)).astype(np.int8)
    training = {"pictures": list(names), "scenes": scenes, "epochs": epochs, "seed": seed}
    judge = Judge(mean, scale, networks, temperature, {}, EvidenceWeights.only(NO_EVIDENCE), None, background, training)
    return judge, _report(outside, samples, temperature)


def look_again(judge: Judge, *, jobs: int = -1) -> Judge:
    """Measure what a judge with trained networks needs besides.

    Parameters
    ----------
    judge : Judge
        Its networks are kept.
    jobs : int
        Processor cores, as joblib counts them; the result does not depend on it.

    Returns
    -------
    Judge
        With errors of estimates, weights of the evidence for doubtful parts and scores of known parts.

    Examples
    --------
    >>> from llise.diagnosis.judging.judge import shipped_judge
    >>> from llise.diagnosis.train import look_again
    >>> judge = look_again(shipped_judge())  # doctest: +SKIP
    """
    names, scenes, seed = tuple(judge.training["pictures"]), judge.training["scenes"], judge.training["seed"]
    errors = _errors(names, scenes // ERROR_SHARE, seed, jobs)
    verification, novelty = _second_look(single_judges(judge), scenes // SECOND_LOOK_SHARE, seed, jobs)
    return replace(judge, errors=errors.to_arrays(), verification=verification, novelty=novelty)


def single_judges(judge: Judge) -> list[tuple[tuple[str, ...], Judge]]:
    """Return each network of a judge as a judge of its own, with the pictures that it has not seen.

    Parameters
    ----------
    judge : Judge
        As :func:`train_networks` returned it.

    Returns
    -------
    list of (tuple of str, Judge)
        Names of pictures, and the judge that was trained without them.

    Examples
    --------
    >>> from llise.diagnosis.judging.judge import shipped_judge
    >>> from llise.diagnosis.train import single_judges
    >>> [len(names) for names, _ in single_judges(shipped_judge())]
    [5, 5, 5, 5]
    """
    alone = judge.temperature**2
    single = [replace(judge, networks=[weights], temperature=alone) for weights in judge.networks]
    return list(zip(_folds(tuple(judge.training["pictures"])), single))


def _folds(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [names[number::FOLDS] for number in range(FOLDS)]


def draw_chunks(names: tuple[str, ...], scenes: int, seed: tuple[int, int], jobs: int = -1) -> Samples:
    """Draw samples from random scenes on several cores, and show the progress.

    Parameters
    ----------
    names : tuple of str
        Pictures to draw from.
    scenes : int
        Number of scenes.
    seed : tuple of int
        Beginning of the seed of each scene.
    jobs : int
        Processor cores, as joblib counts them; the result does not depend on it.

    Returns
    -------
    Samples
        Some for each scene.

    Examples
    --------
    >>> from llise.diagnosis.train import draw_chunks
    >>> len(draw_chunks(("camera",), 2, (0, 0), jobs=1).codes) > 0
    True
    """
    chunks = [[(*seed, i) for i in range(start, min(start + CHUNK, scenes))] for start in range(0, scenes, CHUNK)]
    parts = Parallel(n_jobs=jobs, return_as="generator")(delayed(_chunk)(names, chunk) for chunk in chunks)
    return Samples.joined(list(_shown(parts, len(chunks), f"scenes of {names[0]} and others")))


def _errors(names: tuple[str, ...], scenes: int, seed: int, jobs: int) -> EstimateErrors:
    """Errors of the estimates on scenes of their own, from which the 90 % intervals are made."""
    chunks = [[(seed, FOLDS, i) for i in range(start, min(start + CHUNK, scenes))] for start in range(0, scenes, CHUNK)]
    parts = Parallel(n_jobs=jobs, return_as="generator")(delayed(_error_chunk)(names, chunk) for chunk in chunks)
    return estimate_errors(sample for part in _shown(parts, len(chunks), "errors of estimates") for sample in part)


def _second_look(
    judges: list[tuple[tuple[str, ...], Judge]], scenes: int, seed: int, jobs: int
) -> tuple[EvidenceWeights, Novelty]:
    """Weights of the evidence and scores of known parts, from scenes that each network never saw."""
    tasks = [
        (fold, judge, [(seed, FOLDS + 1, number, i) for i in range(start, min(start + CHUNK, scenes // FOLDS))])
        for number, (fold, judge) in enumerate(judges)
        for start in range(0, scenes // FOLDS, CHUNK)
    ]
    chunks = Parallel(n_jobs=jobs, return_as="generator")(delayed(_evidence_chunk)(*task) for task in tasks)
    parts = [part for chunk in _shown(chunks, len(tasks), "second look at parts") for part in chunk]
    doubtful = ((part.table, part.true) for part in parts if part.table is not None and not part.strange)
    clues, strange, blocks = zip(*((part.clues, part.strange, part.blocks) for part in parts))
    return fit_weights(doubtful, NO_EVIDENCE), fit_novelty(np.array(clues), np.array(strange), np.array(blocks))


def _evidence_chunk(names: tuple[str, ...], judge: Judge, seeds: list[tuple[int, ...]]) -> list[PartEvidence]:
    with threadpool_limits(1, user_api="blas"):
        return list(draw_evidence(names, judge, seeds))


def _error_chunk(names: tuple[str, ...], seeds: list[tuple[int, ...]]) -> list[ErrorSample]:
    with threadpool_limits(1, user_api="blas"):
        return list(draw_errors(names, seeds))


def _chunk(names: tuple[str, ...], seeds: list[tuple[int, ...]]) -> Samples:
    with threadpool_limits(1, user_api="blas"):
        return draw_samples(names, seeds)


def _train_fold(
    inputs: list[np.ndarray], codes: list[np.ndarray], number: int, epochs: int, seed: int
) -> tuple[network.Weights, np.ndarray]:
    """Weights of the network that never saw one fold, and its outputs there."""
    x, y = (np.concatenate([part for i, part in enumerate(parts) if i != number]) for parts in (inputs, codes))
    weights = network.train(x, y, len(SETS), epochs=epochs, seed=seed + number)
    return weights, network.logits(weights, inputs[number].astype(np.float32))


def _report(logits: np.ndarray, samples: list[Samples], temperature: float) -> str:
    """Share of samples named rightly by networks that never saw their picture, by size of the region."""
    joined = Samples.joined(samples)
    probabilities = network.softmax(logits / temperature)
    right = probabilities.argmax(axis=1) == joined.codes
    single = np.array([len(kinds) == 1 for kinds in SETS])[joined.codes]
    sure = probabilities.max(axis=1) >= 0.9
    lines = [f"temperature {temperature:.2f}; of the answers with .9 or more, {right[sure].mean():.3f} are right"]
    for low, high in ((1, 5), (5, 20), (20, 60), (60, 250), (250, 2000)):
        here = (joined.sizes >= low) & (joined.sizes < high)
        lines.append(
            f"regions of {low} to {high} blocks: one kind {right[here & single].mean():.3f}, "
            f"two kinds {right[here & ~single].mean():.3f}"
        )
    return "\n".join(lines)


def _shown(items: Iterable[Any], total: int, what: str) -> Iterable[Any]:
    return tqdm(items, what, total, file=sys.stderr)


if __name__ == "__main__":
    main()
