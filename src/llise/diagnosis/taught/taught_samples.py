"""What a kind of one's own looks like: features of many regions in which it lies.

A function is applied to pieces of the pictures that the judge was trained on; examples are taken as they are.  Regions
are whole faulty areas and tiles of many sizes in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import ceil, sqrt

import numpy as np

from llise.diagnosis.features import block_sums
from llise.diagnosis.features.region_features import features
from llise.diagnosis.judging.judge import greys
from llise.diagnosis.measures import LEAST_LIKENESS, likeness
from llise.diagnosis.parts import MOST_CELLS
from llise.diagnosis.regions import connected_areas
from llise.diagnosis.training import pictures
from llise.diagnosis.training.samples import LEAST_ERROR, LEAST_SPREAD, draw_tile
from llise.differences import measure_differences
from llise.kinds.examples import ExampleError, Examples
from llise.kinds.own import OwnKind
from llise.kinds.search import draw_copy
from llise.kinds.sources import KindError, Source

COPIES = 150
"""Copies that are made with a function."""

WEAKEST, STRONGEST = 20.0, 1100.0
"""Least and largest mean squared error of these copies."""

TILES = 7
"""Tiles that are taken from each copy that a function made."""

MOST_TILES, MOST_SAMPLES = 60, 3000
"""Most tiles of one example, and most samples of all examples."""

LARGEST_PIECE = 208
"""Largest side of the pieces of pictures to which a function is applied."""

TRIES = 3
"""Pieces of pictures that are drawn for each copy, at most."""


@dataclass(frozen=True, eq=False)
class TaughtSamples:
    """Features of regions with one kind.

    Attributes
    ----------
    name, title : str
        Name of the kind, and how sentences call it.
    values : ndarray of float32, shape (n, n_features)
        Features of the regions, see :mod:`llise.diagnosis.features.region_features`.
    groups : ndarray of int32, shape (n,)
        Number of the copy from which each region was taken.

    Examples
    --------
    >>> from llise.diagnosis.taught.taught_samples import function_samples
    >>> from llise.kinds.own import OwnKind
    >>> fog = OwnKind("fog", lambda image, strength, rng: image + strength * (230 - image))
    >>> samples = function_samples(fog, copies=2)
    >>> len(samples.values) == len(samples.groups), samples.groups.max()
    (True, np.int32(1))
    """

    name: str
    title: str
    values: np.ndarray
    groups: np.ndarray


def samples_of(source: Source) -> TaughtSamples:
    """Take samples of a kind, whatever it is given by.

    Parameters
    ----------
    source : OwnKind, Examples or TaughtSamples
        One of :func:`llise.kinds.sources.sources`; samples are returned as they are.

    Returns
    -------
    TaughtSamples
        Those of a function are drawn once and kept.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.taught.taught_samples import TaughtSamples, samples_of
    >>> samples = TaughtSamples("fog", "fog", np.zeros((1, 3), np.float32), np.zeros(1, np.int32))
    >>> samples_of(samples) is samples
    True
    """
    if isinstance(source, TaughtSamples):
        return source
    if isinstance(source, OwnKind | Examples):
        return _drawn(source)
    raise KindError(f"kind {source.name!r}: cannot be learned from a {type(source).__name__}; register it again")


@cache
def _drawn(source: OwnKind | Examples) -> TaughtSamples:
    return function_samples(source, COPIES) if isinstance(source, OwnKind) else example_samples(source)


def function_samples(
    kind: OwnKind, copies: int = COPIES, seed: int = 0, names: tuple[str, ...] = pictures.NAMES
) -> TaughtSamples:
    """Apply a function to pieces of the training pictures, and take samples of the copies.

    Parameters
    ----------
    kind : OwnKind
        The kind.
    copies : int
        Number of copies.
    seed : int
        Seed of all random numbers.
    names : tuple of str
        Pictures to draw from.

    Returns
    -------
    TaughtSamples
        Some for each copy.

    Raises
    ------
    KindError
        The function fails, or hardly changes anything.

    Examples
    --------
    >>> from llise.diagnosis.taught.taught_samples import function_samples
    >>> from llise.kinds.own import OwnKind
    >>> fog = OwnKind("fog", lambda image, strength, rng: image + strength * (230 - image))
    >>> function_samples(fog, copies=1).values.dtype
    dtype('float32')
    """
    parts = []
    for number in range(copies):
        rng = np.random.default_rng((seed, number))
        for _ in range(TRIES):
            piece = pictures.draw_crop(names, rng, most=LARGEST_PIECE)
            if piece.std() <= LEAST_SPREAD:
                continue
            wanted = np.exp(rng.uniform(np.log(WEAKEST), np.log(STRONGEST)))
            copy = draw_copy(kind, piece, wanted, rng).image
            values = _of_pair(piece, copy, TILES, rng)
            if len(values):
                parts.append((number, values))
                break
    if len(parts) < max(1, copies // 3):
        raise KindError(
            f"kind {kind.name!r}: the function changed only {len(parts)} of {copies} pictures beyond rounding; make it "
            "stronger, or give a larger strongest"
        )
    return _joined(kind.name, kind.title, parts)


def example_samples(examples: Examples, seed: int = 0) -> TaughtSamples:
    """Take samples of the examples of a kind.

    Parameters
    ----------
    examples : Examples
        Pairs of pictures.
    seed : int
        Seed for the places of the tiles.

    Returns
    -------
    TaughtSamples
        Up to 60 of each pair, fewer if there are many pairs.

    Raises
    ------
    ExampleError
        A pair can no longer be read, or is no copy of its reference.

    Examples
    --------
    >>> from llise.diagnosis.taught.taught_samples import example_samples
    >>> example_samples(examples)  # doctest: +SKIP
    """
    tiles = min(MOST_TILES, max(1, MOST_SAMPLES // len(examples.files) - 1))
    parts = []
    for number, (reference, copy) in enumerate(examples.pictures()):
        file = examples.files[number].copy
        if likeness(reference, copy) < LEAST_LIKENESS:
            raise ExampleError(
                f"{file}: does not look like a copy of {examples.files[number].reference.name}; check which files "
                "belong together"
            )
        values = _of_pair(reference, copy, tiles, np.random.default_rng((seed, number)))
        if not len(values):
            raise ExampleError(f"{file}: differs from its reference too little to learn from; remove the pair")
        parts.append((number, values))
    return _joined(examples.name, examples.title, parts)


def _joined(name: str, title: str, parts: list[tuple[int, np.ndarray]]) -> TaughtSamples:
    groups = np.concatenate([np.full(len(values), number, np.int32) for number, values in parts])
    return TaughtSamples(name, title, np.concatenate([values for _, values in parts]), groups)


def _of_pair(reference: np.ndarray, copy: np.ndarray, tiles: int, rng: np.random.Generator) -> np.ndarray:
    """Features of the faulty area of a copy, and of tiles in it; none where it hardly differs."""
    changed = measure_differences(reference, copy).changed
    if not changed.any():
        return np.empty((0, 0), np.float32)
    area = np.any(connected_areas(changed), axis=0)
    sums = block_sums.measure(reference, copy, area, cell=ceil(sqrt(area.sum() / MOST_CELLS)))
    regions = np.array([sums.sum((0, 1), dtype=np.float64), *_tiles(sums, tiles, rng)])
    error = regions[:, block_sums.names().index("error 1")] / np.maximum(regions[:, 0], 1)
    regions = regions[error >= LEAST_ERROR]
    return features(regions, greys(reference)) if len(regions) else np.empty((0, 0), np.float32)


def _tiles(sums: np.ndarray, tiles: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Sums of random tiles that have blocks of the area."""
    for _ in range(tiles):
        top, left, bottom, right = draw_tile(sums.shape[:2], rng)
        tile = sums[top:bottom, left:right].sum((0, 1), dtype=np.float64)
        if tile[0] > 0:
            yield tile
