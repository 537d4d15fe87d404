"""Train the colour judge that is shipped: ``python -m llise.diagnosis.colour_train``.

Random colour scenes are drawn from the colour pictures that come with the dependencies. Each of five networks is
trained without two of the ten pictures; its answers on these set the temperatures. The same seed gives the same file on
the same machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from llise.diagnosis.colour.areas import colour_areas
from llise.diagnosis.colour.blocks import measure_blocks
from llise.diagnosis.colour.features import fit_area
from llise.diagnosis.colour.judge import ANSWERS, FILE, ColourJudge
from llise.diagnosis.judging import network
from llise.diagnosis.judging.judge import standardised
from llise.diagnosis.training.colour_scenes import NAMES, draw_scene

SCENES = 14000
FOLDS = 5
EPOCHS = 60
CHUNK = 50
HIDDEN = (128, 64)

Sample = tuple[np.ndarray, int, bool]
"""Features of an area, its answer, and whether its luma has a fault besides."""


@click.command()
@click.option("--out", type=click.Path(path_type=Path), help="File to write; the package's own if left out.")
@click.option("--without", default="", metavar="NAMES", help="Pictures to leave out, separated by commas.")
@click.option("--scenes", default=SCENES, show_default=True, type=click.IntRange(100), help="Random scenes to draw.")
@click.option("-j", "--jobs", default=-1, show_default=True, help="Processor cores to use; -1 for all.")
@click.option("--seed", default=0, show_default=True, help="Seed for all random numbers.")
def main(out: Path | None, without: str, scenes: int, jobs: int, seed: int) -> None:
    """Train the colour judge on random scenes and write it to a file."""
    left_out = [name for name in without.split(",") if name]
    if unknown := set(left_out) - set(NAMES):
        raise click.UsageError(f"no picture {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    names = tuple(name for name in NAMES if name not in left_out)
    judge, report = train(names, scenes=scenes, jobs=jobs, seed=seed)
    path = out or Path(__file__).with_name(FILE)
    judge.save(path)
    click.echo(f"{path}: {path.stat().st_size / 1e6:.2f} MB\n{report}")


def train(names: tuple[str, ...], *, scenes: int = SCENES, jobs: int = -1, seed: int = 0) -> tuple[ColourJudge, str]:
    """Train a colour judge on some of the pictures.

    Parameters
    ----------
    names : tuple of str
        Pictures to draw scenes from; at least as many as there are folds.
    scenes : int
        Random scenes in all.
    jobs : int
        Processor cores, as joblib counts them; the result does not depend on it.
    seed : int
        Seed for all random numbers.

    Returns
    -------
    judge : ColourJudge
        The judge.
    report : str
        How well the networks name areas of the pictures that they were trained without.

    Examples
    --------
    >>> from llise.diagnosis.colour_train import NAMES, train
    >>> judge, report = train(NAMES)  # doctest: +SKIP
    """
    folds = [names[number::FOLDS] for number in range(FOLDS)]
    tasks = [
        (number, fold, [(seed, number, i) for i in range(start, min(start + CHUNK, scenes // FOLDS))])
        for number, fold in enumerate(folds)
        for start in range(0, scenes // FOLDS, CHUNK)
    ]
    parts = Parallel(n_jobs=jobs, return_as="generator")(delayed(draw_samples)(fold, seeds) for _, fold, seeds in tasks)
    samples: list[list[Sample]] = [[] for _ in folds]
    for (number, _, _), part in zip(tasks, tqdm(parts, "colour scenes", len(tasks), file=sys.stderr)):
        samples[number] += part
    x = [np.array([sample[0] for sample in part]) for part in samples]
    whole = np.concatenate(x)
    mean, scale = whole.mean(axis=0).astype(np.float32), (whole.std(axis=0) + 1e-3).astype(np.float32)
    x = [standardised(part, mean, scale) for part in x]
    networks, temperatures, reports = [], [], []
    for place, n in ((1, len(ANSWERS)), (2, 2)):
        codes = [np.array([int(sample[place]) for sample in part]) for part in samples]
        fitted = Parallel(n_jobs=jobs)(delayed(_train_fold)(x, codes, number, n, seed) for number in range(FOLDS))
        outside, truth = np.concatenate([answer for _, answer in fitted]), np.concatenate(codes)
        temperatures.append(network.temperature(outside, truth))
        networks.append([weights for weights, _ in fitted])
        reports.append(_report(outside, truth, ANSWERS if place == 1 else ("luma clean", "luma faulty")))
    training = {"pictures": list(names), "scenes": scenes, "seed": seed}
    colours, lumas = networks
    judge = ColourJudge(mean, scale, colours, lumas, np.array(temperatures, np.float32), training)
    return judge, "\n".join(reports)


def draw_samples(names: tuple[str, ...], seeds: list[tuple[int, ...]]) -> list[Sample]:
    """Draw scenes and measure the area of each in which colours differ.

    Parameters
    ----------
    names : tuple of str
        Pictures to draw from.
    seeds : list of tuple of int
        One for each scene.

    Returns
    -------
    list of Sample
        Scenes whose faults are too weak to be seen are left out.

    Examples
    --------
    >>> from llise.diagnosis.colour_train import draw_samples
    >>> len(draw_samples(("coffee",), [(0, 1)])) <= 1
    True
    """
    samples = []
    with threadpool_limits(1, user_api="blas"):
        for seed in seeds:
            scene = draw_scene(names, np.random.default_rng(seed))
            if scene is None:
                continue
            blocks = measure_blocks(scene.reference, scene.copy)
            areas = colour_areas(blocks)
            if areas:
                fit = fit_area(scene.reference, scene.copy, blocks, np.any(areas, axis=0))
                samples.append((fit.features, scene.answer, scene.luma))
    return samples


def _train_fold(
    x: list[np.ndarray], codes: list[np.ndarray], number: int, n_classes: int, seed: int
) -> tuple[network.Weights, np.ndarray]:
    """Weights of the network that never saw one fold, and its outputs there."""
    inputs, wanted = (np.concatenate([part for i, part in enumerate(parts) if i != number]) for parts in (x, codes))
    with threadpool_limits(1, user_api="blas"):
        weights = network.train(
            inputs, wanted, n_classes, hidden=HIDDEN, epochs=EPOCHS, batch=256, dropout=0.15, seed=seed + number
        )
        return weights, network.logits(weights, x[number].astype(np.float32))


def _report(outputs: np.ndarray, codes: np.ndarray, names: tuple[str, ...]) -> str:
    right = outputs.argmax(axis=1) == codes
    shares = ", ".join(f"{name} {right[codes == i].mean():.3f}" for i, name in enumerate(names))
    return f"named rightly on pictures kept aside: {right.mean():.3f} ({shares})"


if __name__ == "__main__":
    main()
