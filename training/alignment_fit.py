"""Fit the confidence in a misalignment: ``python -m training.alignment_fit MODEL.json``.

Pictures of the dependencies are misaligned, many with another kind besides, or get one or two other kinds; a logistic
regression on the columns of :mod:`llise.diagnosis.alignment.evidence` tells which. Pairs that are soon seen to lie well take
no part. Blurs along a line, mosaics and content count double: these look like shifts.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from llise.images import as_uint8
from llise.kinds import registry
from llise.kinds.grey import quantise
from llise.kinds.search import Search
from llise.labels import MISALIGNMENT
from llise.diagnosis.alignment import Aligner
from llise.diagnosis.custom_kinds import draw_piece
from training.tuned import DEFAULTS

LIKE_SHIFTS = ("blur", "pixelation", "content")
RIDGE = 0.01


def draw_pair(rng: np.random.Generator, misaligned: bool) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """Reference, copy, and the misalignment in words, empty if there is none."""
    reference = draw_piece(rng, least=12, most=40)
    names = [
        name for name in registry.names() if name != MISALIGNMENT and not name.startswith(("chroma", "color", "sat"))
    ]
    copy, words = reference, dict[str, float]()
    if misaligned:
        draw = registry.get(MISALIGNMENT).draw(reference, rng)
        strength = float(np.exp(rng.uniform(np.log(0.03), 0)))
        copy, words = quantise(np.asarray(draw.path(strength))), draw.parameters(strength)
    for _ in range(int(rng.choice([0, 1], p=[0.5, 0.5])) if misaligned else int(rng.choice([1, 2], p=[0.7, 0.3]))):
        kind = registry.get(str(rng.choice([*names, *LIKE_SHIFTS])))
        draw = kind.draw(copy, rng)
        search = Search(draw.path, copy, float(np.exp(rng.uniform(np.log(20), np.log(400)))), 0.1)
        search.bisect(draw.end, first=draw.end / 100, steps=8)
        copy = quantise(np.asarray(search.image))
    return reference, copy, words


def columns_of(pairs: int, seed: int, tuned: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, list[dict[str, float]]]:
    """Columns of the pairs that are looked at to the end, which of them are misaligned, how far off the place is."""
    rows, truth, off = [], [], []
    for number in range(pairs):
        rng = np.random.default_rng((seed, number))
        reference, copy, words = draw_pair(rng, number % 2 == 0)
        aligner = Aligner(np.ascontiguousarray(as_uint8(reference)), tuned)
        place = aligner.find(as_uint8(copy))
        if place is None:
            off.append({"found": 0.0, "truth": float(bool(words))})
            continue
        rows.append(aligner.columns(place))
        truth.append(bool(words))
        miss = (
            {
                name: float(value - words[name])
                for name, value in zip(("shift_x", "shift_y", "rotation", "scale"), place.at)
            }
            if words
            else {}
        )
        off.append({"found": 1.0, "truth": float(bool(words)), **miss})
    return np.array(rows), np.array(truth), off


def fit(table: np.ndarray, truth: np.ndarray) -> list[float]:
    """Weights of the columns, of which the first is the constant; both answers count alike."""
    from sklearn.linear_model import LogisticRegression

    scale = table.std(axis=0) + (table.std(axis=0) == 0)
    model = LogisticRegression(C=1 / (RIDGE * len(table)), class_weight="balanced", fit_intercept=False, max_iter=1000)
    return (model.fit(table / scale, truth).coef_[0] / scale).tolist()


def main() -> None:
    """Draw, fit, and write the weights into the model's numbers."""
    parser = argparse.ArgumentParser(description="Fit the confidence in a misalignment.")
    parser.add_argument("model", type=Path)
    parser.add_argument("--pairs", type=int, default=2000)
    given = parser.parse_args()
    content = json.loads(given.model.read_text())
    tuned = {**DEFAULTS, **content["tuned"]}
    table, truth, _ = columns_of(given.pairs, 0, tuned["alignment"])
    content["tuned"] = {**tuned, "alignment": {**tuned["alignment"], "weights": fit(table, truth)}}
    temporary = given.model.with_suffix(".tmp")
    temporary.write_text(json.dumps(content, indent=1))
    os.replace(temporary, given.model)


if __name__ == "__main__":
    main()
