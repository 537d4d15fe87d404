"""Custom kinds: learned from a function or from 1 to 20 examples, and named beside the built-in ones.

A logistic regression tells what the network says of regions with the kind (its features and log-odds, pooled over the
region) from what it says of regions with the built-in kinds, which the training kept in the model file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from llise.colours import stacked
from llise.diagnosis.measures import likeness
from llise.diagnosis.refit import Refit, cut_piece
from llise.diagnosis.regions import Look, Model
from llise.diagnosis.scoring import Candidate, Scored
from llise.images import as_uint8
from llise.kinds import registry
from llise.kinds.examples import ExampleError, Examples
from llise.kinds.own import OwnKind, OwnSettings
from llise.kinds.search import draw_copy
from llise.kinds.sources import KindError, Source

COPIES, WEAKEST, STRONGEST = 80, 20.0, 1100.0
"""Copies that are made with a function, and their mean squared errors: from hardly seen to strong."""

TILES, MOST_TILES = 4, 60
"""Tiles of each copy of a function, and of an example."""

FOLDS = 5


@dataclass(frozen=True, eq=False)
class CustomSamples:
    """What the network of a model says of regions with one kind, and the number of the copy that each comes from."""

    name: str
    title: str
    values: np.ndarray
    groups: np.ndarray
    digest: str


@dataclass(frozen=True, eq=False)
class CustomKinds:
    """What tells custom kinds from the built-in ones and from each other.

    mean, scale : (p,) of the background; weights : (kinds, p); offsets : (kinds,); most : largest probability of each.
    """

    names: tuple[str, ...]
    mean: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray
    most: np.ndarray
    refit: dict[str, Any]

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """Probability of each custom kind (n, kinds); the rest is that of the built-in ones."""
        odds = (values - self.mean) / self.scale @ self.weights.T + self.offsets
        with_none = np.concatenate([odds, np.zeros((len(odds), 1))], axis=1)
        shares = np.exp(with_none - np.logaddexp.reduce(with_none, axis=1, keepdims=True))[:, :-1]
        return np.minimum(shares, self.most)

    def weighed(self, scored: Scored, look: Look, pictures: tuple[np.ndarray, np.ndarray]) -> Scored:
        """A scored region with the custom kinds among its candidates."""
        shares = self.probabilities(pooled(look, scored.region.mask)[None])[0]
        rest = max(1 - float(shares.sum()), 0.0)
        built_in = [replace(one, probability=rest * one.probability) for one in scored.candidates]
        custom = [
            Candidate((name,), float(np.log(share + 1e-9)), probability=float(share))
            for name, share in zip(self.names, shares)
        ]
        best = max([*built_in, *custom], key=lambda one: one.probability)
        ordered = tuple(sorted([*built_in, *custom], key=lambda one: -one.probability))
        if best.kinds[0] not in self.names:
            return replace(scored, candidates=ordered, confidence=rest * scored.confidence)
        chain = None
        if best.kinds[0] in registry.names():  # not one of examples
            chain = Refit(cut_piece(*pictures, scored.region.mask, self.refit["pixels"]), self.refit).of(best.kinds)
        if chain is not None:
            fitted = replace(
                best, chain=chain, explained=chain.explained, settings={best.kinds[0]: chain.steps[0][1].parameters}
            )
            ordered = tuple(fitted if one is best else one for one in ordered)
        return Scored(scored.region, ordered, best.kinds, best.probability, 1.0, {best.kinds[0]: 1.0})


def pooled(look: Look, mask: np.ndarray) -> np.ndarray:
    """What the network says of a region: means of its features and of its log-odds, in float32."""
    return np.concatenate([look.features[mask].mean(axis=0), look.kinds[mask].mean(axis=0)]).astype(np.float32)


def learned(model: Model, sources: tuple[Source, ...]) -> CustomKinds | None:
    """What tells the registered kinds; None if there are none."""
    return _learned(model, sources) if sources else None


@lru_cache(maxsize=4)
def _learned(model: Model, sources: tuple[Source, ...]) -> CustomKinds:
    return fit_kinds(model, [samples_of(model, source) for source in sources])


def fit_kinds(model: Model, samples: list[CustomSamples]) -> CustomKinds:
    """Learn to tell kinds from the built-in ones, and from each other."""
    if model.background is None or not len(model.background):
        raise KindError(f"model {model.name!r} holds no regions with built-in kinds to tell others from; train it anew")
    background = model.background.astype(np.float64)
    mean, scale = background.mean(axis=0), background.std(axis=0) + 1e-3
    own = [(one.values - mean) / scale for one in samples]
    none = (background - mean) / scale
    weights, offsets = _regression([*own, none], model.tuned["custom"]["ridge"])
    offsets = offsets + [_shift(number, own, none, samples, model.tuned["custom"]) for number in range(len(own))]
    most = np.array([1 - 1 / (len(np.unique(one.groups)) + 2) for one in samples])  # Laplace's rule of succession
    return CustomKinds(tuple(one.name for one in samples), mean, scale, weights, offsets, most, model.tuned["refit"])


def _regression(classes: list[np.ndarray], ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights and offsets of the log-odds of each class against the last; all classes count alike."""
    from sklearn.linear_model import LogisticRegression

    values, codes = np.concatenate(classes), np.repeat(np.arange(len(classes)), [len(one) for one in classes])
    found = LogisticRegression(C=1 / (ridge * len(values)), class_weight="balanced", max_iter=500).fit(values, codes)
    if len(classes) == 2:
        return -found.coef_, -found.intercept_  # its one row is for the last class
    return found.coef_[:-1] - found.coef_[-1], found.intercept_[:-1] - found.intercept_[-1]


def _shift(
    number: int, own: list[np.ndarray], none: np.ndarray, samples: list[CustomSamples], tuned: dict[str, float]
) -> float:
    """What is added to the log-odds of a kind so that no more of the background is called so than is allowed."""
    groups = samples[number].groups % FOLDS
    aside = np.arange(len(none)) % FOLDS
    odds = []
    for fold in range(FOLDS):
        kept = own[number][groups != fold] if np.any(groups != fold) else own[number]
        weights, offsets = _regression([kept, none[aside != fold]], tuned["ridge"])
        odds.append(none[aside == fold] @ weights[0] + offsets[0])
    return -max(float(np.quantile(np.concatenate(odds), 1 - tuned["false_alarms"])), 0.0)


def samples_of(model: Model, source: Source) -> CustomSamples:
    """What the network says of a kind, whatever the kind is given by; that of a function is drawn once."""
    if isinstance(source, CustomSamples):
        if source.digest != model.digest:
            raise KindError(f"kind {source.name!r} was taught with another model than {model.name}; teach it again")
        return source
    if isinstance(source, OwnKind | Examples):
        return _drawn(model, source)
    raise KindError(f"kind {source.name!r}: cannot be learned from a {type(source).__name__}; register it again")


@cache
def _drawn(model: Model, source: OwnKind | Examples) -> CustomSamples:
    return function_samples(model, source) if isinstance(source, OwnKind) else example_samples(model, source)


def function_samples(model: Model, kind: OwnKind, copies: int = COPIES, seed: int = 0) -> CustomSamples:
    """Regions of copies that a function makes of pieces of pictures, half of them in colour."""
    parts = []
    for number in range(copies):
        rng = np.random.default_rng((seed, number))
        piece = draw_piece(rng)
        wanted = np.exp(rng.uniform(np.log(WEAKEST), np.log(STRONGEST)))
        strength = draw_copy(kind, as_uint8(piece), wanted, rng).strength
        copy = kind.apply(piece, OwnSettings(strength, int(rng.integers(2**31))))
        parts += [(number, values) for values in _regions_of(model, piece, copy, TILES, rng)]
    if len({number for number, _ in parts}) < max(1, copies // 3):
        raise KindError(
            f"kind {kind.name!r}: the function changed few of {copies} pictures; make it stronger, or give a larger "
            "strongest"
        )
    return _joined(model, kind.name, kind.title, parts)


def example_samples(model: Model, examples: Examples, seed: int = 0) -> CustomSamples:
    """Regions of the examples of a kind, as many of each."""
    tiles = max(1, MOST_TILES // max(len(examples.files) // 4, 1))
    parts = []
    for number, (reference, copy) in enumerate(examples.pictures(color=True)):
        file = examples.files[number].copy
        found = list(_regions_of(model, reference, copy, tiles, np.random.default_rng((seed, number))))
        if likeness(as_uint8(reference), as_uint8(copy)) < model.tuned["faults"]["not_a_copy"]:
            name = examples.files[number].reference.name
            raise ExampleError(f"{file}: does not look like a copy of {name}; check which files belong together")
        if not found:
            raise ExampleError(f"{file}: differs from its reference too little to learn from; remove the pair")
        parts += [(number, values) for values in found]
    return _joined(model, examples.name, examples.title, parts)


def _joined(model: Model, name: str, title: str, parts: list[tuple[int, np.ndarray]]) -> CustomSamples:
    groups = np.array([number for number, _ in parts], np.int32)
    return CustomSamples(name, title, np.stack([values for _, values in parts]), groups, model.digest)


def _regions_of(
    model: Model, reference: np.ndarray, copy: np.ndarray, tiles: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Pooled answers of the changed blocks of a copy, and of those in random tiles of 2 blocks a side or more."""
    look = model.look(stacked(reference), stacked(copy))
    if not look.changed.any():
        return
    yield pooled(look, look.changed)
    rows, cols = look.changed.shape
    for _ in range(tiles):
        high, wide = (int(np.exp(rng.uniform(np.log(min(2, n)), np.log(n + 1)))) for n in (rows, cols))
        top, left = (int(rng.integers(n - side + 1)) for n, side in ((rows, high), (cols, wide)))
        tile = np.zeros_like(look.changed)
        tile[top : top + high, left : left + wide] = look.changed[top : top + high, left : left + wide]
        if tile.any():
            yield pooled(look, tile)


def draw_piece(rng: np.random.Generator, least: int = 12, most: int = 24) -> np.ndarray:
    """A piece, so many blocks a side, of a picture that comes with the dependencies, in colour or grey."""
    names = sorted(_pictures())
    picture = _picture(names[int(rng.integers(len(names)))])
    if rng.random() < 0.3:
        picture = ndimage.zoom(picture, (0.5, 0.5, 1), order=1)
    high, wide = (min(8 * int(rng.integers(least, most + 1)), n // 8 * 8) for n in picture.shape[:2])
    top, left = (int(rng.integers(n - side + 1)) for n, side in zip(picture.shape, (high, wide)))
    piece = np.ascontiguousarray(picture[top : top + high, left : left + wide])
    return np.ascontiguousarray(as_uint8(piece)) if rng.random() < 0.5 else piece


@cache
def _pictures() -> dict[str, Path]:
    """Colour pictures in the folders of scikit-image and scikit-learn."""
    import skimage.data
    import sklearn.datasets

    folders = Path(skimage.data.__file__).parent, Path(sklearn.datasets.__file__).parent / "images"
    names = ("astronaut", "chelsea", "coffee", "motorcycle_left", "rocket", "hubble_deep_field", "china", "flower")
    files = [file for folder in folders for file in folder.iterdir() if file.suffix in (".png", ".jpg")]
    return {file.stem: file for file in files if file.stem in names}


@cache
def _picture(name: str) -> np.ndarray:
    from PIL import Image

    with Image.open(_pictures()[name]) as picture:
        return np.asarray(picture.convert("RGB"))
