"""Fit the numbers of the diagnosis behind the network: ``python -m training.score_fit MODEL.json SHARDS...``.

Scenes that took no part in the training are looked at, cut into regions and fitted again; from these regions come the
weights of the score, the calibration of its probabilities by region size, the thresholds, and the background from which
custom kinds are told. All goes into the ``tuned`` dict of the model file.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from safetensors.numpy import load_file, save_file
from scipy.optimize import minimize
from scipy.stats import beta
from sklearn.isotonic import IsotonicRegression
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from llise.colours import without_colour
from llise.diagnosis.custom_kinds import pooled
from llise.diagnosis.refit import Refit, cut_piece
from llise.diagnosis.regions import Likelihood, Model, find_regions, kinds_of
from llise.diagnosis.scoring import COLUMNS, candidates_of, likeliest
from llise.labels import UNKNOWN
from training.labels import IGNORED
from training.tuned import DEFAULTS

RIDGE = 0.003
FOLDS = 5
WRONG_WITH_CONFIDENCE = 0.01, 0.02, 0.05  # shares of what is said with .7 or more: the first that can be proved
WRONG_IF_SURE = 0.003, 0.01, 0.02, 0.05  # likewise, of answers for which one refit was enough
RISK = 0.1  # of a threshold that is tested to be worse than that (learn then test)
KNOWN_RANKS = 400  # quantiles of the strangeness of regions with named kinds that are kept
BACKGROUND = 2000  # regions that are kept to tell custom kinds from
LEAST_REGIONS = 150  # to fit the score on
LEAST_OF_SIZE = 400  # regions of a size, to have a calibration of its own


@dataclass(frozen=True, eq=False)
class Labelled:
    """A region: its candidates' kinds and columns, which of them is the truth, its size, and the reference it is from.

    pooled : what the network says of it, see :func:`llise.diagnosis.custom_kinds.pooled`.
    """

    kinds: tuple[tuple[str, ...], ...]
    table: np.ndarray
    right: np.ndarray
    blocks: int
    group: int
    pooled: np.ndarray
    truth: tuple[str, ...]

    @property
    def unknown(self) -> int:
        """Place of the candidate without a name."""
        return self.kinds.index((UNKNOWN,))


def labelled_regions(
    model: Model, reference: np.ndarray, copy: np.ndarray, labels: np.ndarray, group: int
) -> Iterator[Labelled]:
    """Regions of a scene with one true set of kinds in most of their blocks."""
    tuned, look = model.tuned, model.look(reference, copy)
    likelihood = Likelihood(look, model.sets, tuned["regions"])
    grey = without_colour(reference), without_colour(copy)
    pictures = grey if grey[0].ndim == grey[1].ndim == 2 else (reference, copy)
    for region in find_regions(look, model.sets, tuned["regions"]):
        inside = labels[region.mask]
        inside = inside[(inside >> IGNORED) == 0]
        values, counts = np.unique(inside, return_counts=True)
        if not len(inside) or counts.max() < 0.7 * len(inside) or values[counts.argmax()] == 0:
            continue
        truth = kinds_of(int(values[counts.argmax()]))
        said = likeliest(likelihood, region.mask, tuned["refit"]["candidates"])
        refit = Refit(cut_piece(*pictures, region.mask, tuned["refit"]["pixels"]), tuned["refit"])
        found = candidates_of(said, refit)
        right = np.array([set(one.kinds) == set(truth) for one in found])
        table = np.array([one.columns for one in found])
        kinds = tuple(one.kinds for one in found)
        yield Labelled(kinds, table, right, int(region.mask.sum()), group, pooled(look, region.mask), truth)


def fit_weights(regions: list[Labelled], ridge: float = RIDGE) -> np.ndarray:
    """Weights of the columns: conditional logit with a ridge, of the regions that hold the truth."""
    scale = np.concatenate([one.table for one in regions]).std(axis=0) + 1e-9
    used = [one for one in regions if one.right.any()]
    table = np.concatenate([one.table for one in used]) / scale
    counts = np.array([len(one.right) for one in used])
    starts, region = np.r_[0, np.cumsum(counts)[:-1]], np.repeat(np.arange(len(used)), counts)
    right = np.concatenate([one.right for one in used]).astype(float)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = table @ weights
        powers = np.exp(scores - np.maximum.reduceat(scores, starts)[region])
        every, those = np.add.reduceat(powers, starts), np.add.reduceat(right * powers, starts)
        slope = (powers / every[region] - right * powers / np.maximum(those, 1e-300)[region]) @ table
        value = np.log(every / np.maximum(those, 1e-300)).mean() + ridge * weights @ weights
        return float(value), slope / len(used) + 2 * ridge * weights

    return minimize(loss, np.zeros(len(COLUMNS)), jac=True, method="L-BFGS-B").x / scale


def calibration(probability: np.ndarray, right: np.ndarray) -> list[list[float]]:
    """A curve that never falls from the score's probability to the share of right answers; below .7 where not tested.

    .7 is said from the least probability on above which, with a risk of :data:`RISK`, no more than the first provable
    share of :data:`WRONG_WITH_CONFIDENCE` is wrong: learn then test, by the exact binomial bound. Few regions prove
    little.
    """
    curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(probability, right)
    at = np.unique(np.concatenate([np.linspace(0, 1, 41), 1 - np.geomspace(0.02, 1e-4, 12)]))
    shares = (curve.predict(at) * len(right) + 0.5) / (len(right) + 1)
    tested = (tested_threshold(probability, right, wrong) for wrong in WRONG_WITH_CONFIDENCE)
    said = next((threshold for threshold in tested if threshold is not None), None)
    if said is not None:
        at = np.unique(np.concatenate([at, [said - 1e-9, said]]))
        shares = (curve.predict(at) * len(right) + 0.5) / (len(right) + 1)
    return [
        [float(a), float(max(s, 0.7) if said is not None and a >= said else min(s, 0.69))] for a, s in zip(at, shares)
    ]


def tested_threshold(certainty: np.ndarray, right: np.ndarray, wrong: float) -> float | None:
    """Least certainty above which the share of wrong answers is tested to be at most `wrong`; None if there is none.

    Thresholds are tested from the strictest down, until one fails (fixed sequence).
    """
    order = np.argsort(-certainty, kind="stable")
    errors, found = np.cumsum(~right[order]), None
    for count in np.unique(np.geomspace(20, max(len(order), 21), 60).astype(int)):
        if count > len(order):
            break
        bound = beta.ppf(1 - RISK, errors[count - 1] + 1, max(count - errors[count - 1], 1e-9))
        if bound <= wrong:
            found = float(certainty[order[count - 1]])
        elif found is not None:
            break
    return found


def crossed(regions: list[Labelled], ridge: float = RIDGE) -> list[np.ndarray]:
    """Scores of the candidates of each region with weights that no region of the same reference took part in."""
    folds = np.array([one.group % FOLDS for one in regions])
    scores: list[np.ndarray] = [np.zeros(0)] * len(regions)
    for fold in np.unique(folds):
        others = [one for one, other in zip(regions, folds) if other != fold]
        weights = fit_weights(others or regions, ridge)
        for number in np.flatnonzero(folds == fold):
            scores[number] = regions[number].table @ weights
    return scores


def fit(regions: list[Labelled], tuned: dict[str, Any]) -> dict[str, Any]:
    """The numbers with weights, calibration, strangeness of known regions, and when one refit is enough."""
    scores = crossed(regions)
    shares = [np.exp(score - np.logaddexp.reduce(score)) for score in scores]
    probability = np.array([one.max() for one in shares])
    right = np.array([bool(one.right[share.argmax()]) for one, share in zip(regions, shares)])
    sizes = np.searchsorted(tuned["score"]["sizes"], [one.blocks for one in regions])
    whole = calibration(probability, right)
    curves = [
        calibration(probability[sizes == size], right[sizes == size])
        if np.count_nonzero(sizes == size) >= LEAST_OF_SIZE
        else whole
        for size in range(len(tuned["score"]["sizes"]) + 1)
    ]
    score = {
        **tuned["score"],
        "weights": fit_weights(regions).tolist(),
        "calibration": curves,
        "known": known_strangeness(regions, scores),
        "sure": sure(regions),
    }
    return {**tuned, "score": score}


def known_strangeness(regions: list[Labelled], scores: list[np.ndarray]) -> list[float]:
    """Quantiles of how much more `unknown` scores than the best named candidate, in regions with named kinds."""
    found = [
        score[one.unknown] - np.delete(score, one.unknown).max()
        for one, score in zip(regions, scores)
        if one.truth != (UNKNOWN,) and len(score) > 1
    ]
    ranks = np.linspace(0, 1, min(KNOWN_RANKS, max(len(found), 1)))
    return [float(value) for value in np.quantile(found, ranks)] if found else []


def sure(regions: list[Labelled]) -> dict[str, float]:
    """Least gap of log-probabilities, with an explained share, from which the first set is tested to be right."""
    gap_column, left_column = COLUMNS.index("gap to the best"), COLUMNS.index("log unexplained")
    usable = [one for one in regions if len(one.kinds) > 1 and one.kinds[0] != (UNKNOWN,)]
    gaps = np.array([-np.delete(one.table[:, gap_column], 0).max() for one in usable])
    explains = np.array([1 - np.exp(-one.table[0, left_column]) for one in usable])
    right = np.array([bool(one.right[0]) for one in usable])
    for wrong in WRONG_IF_SURE:
        best, most = {"gap": 1e9, "explained": 1.0, "confidence": 1 - wrong}, 0
        for explained in (0.8, 0.9, 0.95, 0.98):
            those = explains >= explained
            threshold = tested_threshold(gaps[those], right[those], wrong)
            count = np.count_nonzero(gaps[those] >= threshold) if threshold is not None else 0
            if count > most and threshold is not None:
                most, best = count, {"gap": threshold, "explained": explained, "confidence": 1 - wrong}
        if most:
            break
    return best


def background(regions: list[Labelled], seed: int = 0) -> np.ndarray:
    """What the network says of some regions, for :class:`llise.diagnosis.regions.Model.background`."""
    chosen = np.random.default_rng(seed).permutation(len(regions))[:BACKGROUND]
    return np.stack([regions[number].pooled for number in chosen]).astype(np.float32)


def scenes_of(shards: Iterable[Path]) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, int]]:
    """Reference, copy, labels and a number of the reference of each scene of shards, without the padding."""
    for shard in shards:
        with np.load(shard) as store:
            for reference, copy, labels in zip(store["ref"], store["cop"], store["lab"]):
                used = (labels >> IGNORED) == 0
                rows, cols = (8 * int(np.flatnonzero(used.any(axis=axis)).max(initial=-1) + 1) for axis in (1, 0))
                if rows and cols:
                    group = int(reference[::16, ::16].astype(np.int64).sum())
                    yield reference[:rows, :cols], copy[:rows, :cols], labels[: rows // 8, : cols // 8], group


def model_of(file: Path) -> Model:
    """The model of a model.json and the weights beside it."""
    from llise import network

    loaded = network.load(file.with_suffix(".safetensors"), file)
    tuned = {**DEFAULTS, **loaded.tuned}
    return Model(loaded.name, loaded.digest, tuned, loaded.sets, lambda a, b: network.look(a, b, loaded))


def regions_of(file: Path, shard: Path, most: int) -> list[Labelled]:
    """Regions of the first scenes of a shard."""
    warnings.simplefilter("ignore")
    model = model_of(file)
    with threadpool_limits(1):
        return [one for scene in islice(scenes_of([shard]), most) for one in labelled_regions(model, *scene)]


def add_background(file: Path, values: np.ndarray) -> None:
    """Put the background beside the weights."""
    arrays = load_file(file) | {"background": values.astype(np.float16)}
    temporary = file.with_suffix(".tmp")
    save_file(arrays, temporary)
    os.replace(temporary, file)


def main() -> None:
    """Read scenes, fit, and write the model's numbers as a whole or not at all."""
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("model", type=Path, help="model.json, beside model.safetensors")
    parser.add_argument(
        "shards", type=Path, nargs="+", help="scenes as training.draw writes them, of pictures kept aside"
    )
    parser.add_argument("--most", type=int, default=20_000, help="scenes to use")
    given = parser.parse_args()
    tuned = model_of(given.model).tuned
    each = -(-given.most // len(given.shards))
    tasks = Parallel(n_jobs=-1, return_as="generator")(
        delayed(regions_of)(given.model, shard, each) for shard in given.shards
    )
    regions = [region for found in tqdm(tasks, "refitting", len(given.shards)) for region in found]
    if len(regions) < LEAST_REGIONS:
        sys.exit(
            f"{len(regions)} regions in these scenes; expected {LEAST_REGIONS}: draw more of them, or train longer"
        )
    content = json.loads(given.model.read_text())
    content["tuned"] = fit(regions, tuned)
    temporary = given.model.with_suffix(".tmp")
    temporary.write_text(json.dumps(content, indent=1))
    os.replace(temporary, given.model)
    add_background(given.model.with_suffix(".safetensors"), background(regions))


if __name__ == "__main__":
    main()
