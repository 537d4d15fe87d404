"""Train, for each training picture, a judge that has not seen it.

    python benchmarks/left_out.py FOLDER                      # one file for each picture; needs torch, best with a GPU
    python benchmarks/recognition.py --left-out FOLDER        # judges each training picture by the judge without it

The networks are trained as those of the shipped judge are (``python -m llise.diagnosis.train``): as many scenes, the
same settings, and each network lacks a quarter of the pictures besides. So three of the four networks of a judge were
trained for this picture alone, 64 in all for 20 pictures; they are trained side by side, which a GPU does in a minute.
Scenes are drawn picture by picture. The temperature, the weights of the second look and the scores of known parts are
those of the shipped judge, which were measured with networks that had not seen a picture either.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from llise.diagnosis.judging import network
from llise.diagnosis.judging.judge import Judge, shipped_judge, standardised
from llise.diagnosis.judging.network import BATCH, DECAY, DROPOUT, HIDDEN, RATE, one_cycle
from llise.diagnosis.sets import SETS
from llise.diagnosis.train import EPOCHS, FOLDS, SCENES, draw_chunks
from llise.diagnosis.training import pictures
from llise.diagnosis.training.samples import Samples

Inputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Standardised inputs, codes and number of the picture of each sample."""

Lack = tuple[int, int | None]
"""Fold of pictures that a network is trained without, and one more picture, if any."""


def main() -> None:
    """Draw scenes, train all networks, write the judges."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder for the judges, NAME.safetensors each")
    parser.add_argument("--scenes", type=int, default=SCENES, help="random scenes in all")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="passes over the samples")
    parser.add_argument("--jobs", type=int, default=-1, help="processor cores to use; -1 for all")
    parser.add_argument("--seed", type=int, default=0, help="seed for all random numbers")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="where to train")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    shipped, names = shipped_judge(), pictures.NAMES
    each = options.scenes // len(names)
    samples = [draw_chunks((name,), each, (options.seed, i), options.jobs) for i, name in enumerate(names)]
    inputs = np.concatenate([standardised(part.inputs, shipped.mean, shipped.scale) for part in samples])
    data = (
        torch.tensor(inputs.astype(np.float16), device=options.device),
        torch.tensor(np.concatenate([part.codes for part in samples]).astype(np.int64), device=options.device),
        torch.tensor(np.repeat(np.arange(len(names)), [len(part.codes) for part in samples]), device=options.device),
    )
    lacking = [(fold, None) for fold in range(FOLDS)]
    lacking += [(fold, i) for fold in range(FOLDS) for i in range(len(names)) if i % FOLDS != fold]
    networks = dict(zip(lacking, train(data, lacking, options.epochs, options.seed)))
    training = {"scenes": options.scenes, "epochs": options.epochs, "seed": options.seed}
    for i, name in enumerate(names):
        own = [networks[fold, None if i % FOLDS == fold else i] for fold in range(FOLDS)]
        others = [other for other in names if other != name]
        judge = replace(shipped, networks=own, training={"pictures": others, **training})
        judge.save(options.folder / f"{name}.safetensors")
        print(f"{name}: {right_of(judge, samples[i]):.3f} of its samples are named rightly")


def train(data: Inputs, lacking: list[Lack], epochs: int, seed: int) -> list[network.Weights]:
    """Train one network for each lack of pictures, all side by side."""
    x, codes, owners = data
    torch.manual_seed(seed)
    seen = [(owners % FOLDS != fold) & (owners != (-1 if picture is None else picture)) for fold, picture in lacking]
    own = [torch.nonzero(mask)[:, 0] for mask in seen]
    weights = _first_weights((x.shape[1], *HIDDEN, len(SETS)), len(lacking), x.device)
    steps = min(len(indices) for indices in own) // BATCH
    optimiser = torch.optim.AdamW(weights, lr=RATE, betas=(0.9, 0.999), weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: one_cycle(min((step + 1) / (epochs * steps), 1))
    )
    for _ in tqdm(range(epochs), "training networks", file=sys.stderr):
        orders = torch.stack(
            [indices[torch.randperm(len(indices), device=x.device)[: steps * BATCH]] for indices in own]
        )
        for chosen in orders.split(BATCH, dim=1):
            loss = torch.nn.functional.cross_entropy(
                _outputs(weights, x[chosen].float()).flatten(0, 1), codes[chosen].flatten(), reduction="sum"
            )
            optimiser.zero_grad(set_to_none=True)
            (loss / BATCH).backward()
            optimiser.step()
            schedule.step()
    # Offsets have an axis for the samples besides, along which they are repeated.
    arrays = [values.detach().squeeze(1).cpu().numpy() for values in weights]
    return [[array[number] for array in arrays] for number in range(len(lacking))]


def _first_weights(sizes: tuple[int, ...], count: int, device: torch.device) -> list[torch.Tensor]:
    """Matrices (count, n_in, n_out) and offsets (count, 1, n_out) of all networks."""
    weights = []
    for n_in, n_out in pairwise(sizes):
        weights.append(torch.randn(count, n_in, n_out, device=device) * (1.3 / n_in) ** 0.5)
        weights.append(torch.zeros(count, 1, n_out, device=device))
    return [values.requires_grad_() for values in weights]


def _outputs(weights: list[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    for matrix, offset in zip(weights[:-2:2], weights[1:-2:2]):
        x = torch.nn.functional.dropout(torch.relu(torch.baddbmm(offset, x, matrix)), DROPOUT)
    return torch.baddbmm(weights[-1], x, weights[-2])


def right_of(judge: Judge, samples: Samples) -> float:
    """Return the share of samples that a judge names rightly."""
    return float((judge.probabilities(samples.inputs).argmax(axis=1) == samples.codes).mean())


if __name__ == "__main__":
    main()
