"""Regions of random scenes as the judge sees them: features of the region, features of all that surrounds it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from scipy import ndimage

from llise.diagnosis.features import block_sums
from llise.diagnosis.features.region_features import features
from llise.diagnosis.judging.judge import greys
from llise.diagnosis.regions import connected_areas, core_of
from llise.diagnosis.training import pictures, scenes
from llise.differences import measure_differences

REGIONS, AREAS = 8, 3
"""Regions that are taken from one scene, and areas from which they are taken."""

LEAST_SPREAD = 3.0
"""Least deviation of the greys of a piece of a picture that can teach something."""

LEAST_ERROR = 1.0
"""Mean squared error below which a region teaches nothing."""

PURE = 0.85
"""Share of a tile's blocks that must have the same kinds."""


@dataclass(frozen=True)
class Samples:
    """Inputs and answers for the training.

    Attributes
    ----------
    inputs : ndarray of float16, shape (n, 2 * n_features)
        Features of the region, then those of the whole faulty area around it.
    codes : ndarray of int16, shape (n,)
        Index into :data:`llise.diagnosis.sets.SETS`.
    sizes, errors : ndarray, shape (n,)
        Blocks and mean squared error of the region.
    parts : ndarray of float32, shape (n,)
        Share of the first kind of a pair in the error of both.

    Examples
    --------
    >>> from llise.diagnosis.training.samples import draw_samples
    >>> draw_samples(("camera",), [(0, 0), (0, 1)]).codes.dtype
    dtype('int16')
    """

    inputs: np.ndarray
    codes: np.ndarray
    sizes: np.ndarray
    errors: np.ndarray
    parts: np.ndarray

    @classmethod
    def joined(cls, samples: list[Samples]) -> Samples:
        """Return several sets of samples as one.

        Parameters
        ----------
        samples : list of Samples
            In order.

        Returns
        -------
        Samples
            All of them.

        Examples
        --------
        >>> from llise.diagnosis.training.samples import Samples, draw_samples
        >>> one = draw_samples(("camera",), [(0, 0)])
        >>> len(Samples.joined([one, one]).codes) == 2 * len(one.codes)
        True
        """
        return cls(*(np.concatenate([getattr(part, name.name) for part in samples]) for name in fields(cls)))


def draw_picture_scene(names: tuple[str, ...], rng: np.random.Generator) -> scenes.Scene | None:
    """Make a random faulty copy of a piece of a random picture.

    Parameters
    ----------
    names : tuple of str
        Pictures to draw from, see :data:`llise.diagnosis.training.pictures.NAMES`.
    rng : numpy.random.Generator
        Source of all random numbers.

    Returns
    -------
    Scene or None
        None where the piece is too even, or the faults that were drawn leave no trace.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.samples import draw_picture_scene
    >>> scene = draw_picture_scene(("camera",), np.random.default_rng(0))
    >>> scene.reference.shape == scene.copy.shape
    True
    """
    reference = pictures.draw_crop(names, rng)
    return scenes.draw_scene(reference, rng) if reference.std() > LEAST_SPREAD else None


def draw_samples(names: tuple[str, ...], seeds: list[tuple[int, ...]]) -> Samples:
    """Make one scene for each seed and take samples from it.

    Parameters
    ----------
    names : tuple of str
        Pictures to draw from, see :data:`llise.diagnosis.training.pictures.NAMES`.
    seeds : list of tuple of int
        One for each scene.

    Returns
    -------
    Samples
        Some for each scene.

    Examples
    --------
    >>> from llise.diagnosis.training.samples import draw_samples
    >>> samples = draw_samples(("camera", "coins"), [(0, 0), (0, 1)])
    >>> len(samples.codes) == len(samples.inputs)
    True
    """
    parts = [sample for seed in seeds for sample in _from_scene(names, np.random.default_rng(seed))]
    regions, contexts, levels, codes, shares = (np.array(column) for column in zip(*parts))
    n = regions[:, 0] / 64
    errors = regions[:, block_sums.names().index("error 1")] / np.maximum(regions[:, 0], 1)
    inputs = np.concatenate([features(regions, levels), features(contexts, levels)], axis=1)
    keep = errors >= LEAST_ERROR
    return Samples(
        inputs[keep].astype(np.float16),
        codes[keep].astype(np.int16),
        n[keep],
        errors[keep],
        shares[keep].astype(np.float32),
    )


def _from_scene(names: tuple[str, ...], rng: np.random.Generator) -> Iterator[tuple]:
    """Sums of a region and of the area around it, greys, code and share of the first kind."""
    scene = draw_picture_scene(names, rng)
    areas = list(found_areas(scene)) if scene is not None else []
    if scene is None or not areas:
        return
    sums, level = block_sums.measure(scene.reference, scene.copy), greys(scene.reference)
    chosen = [areas[i] for i in rng.permutation(len(areas))[:AREAS]]
    for _, core, codes in chosen:
        whole = sums[core].sum(0, dtype=np.float64)
        present = [int(code) for code in np.unique(codes[core])]
        regions = [(sums[core & (codes == code)].sum(0, dtype=np.float64), code) for code in present]
        tiles = _tiles(sums, core, codes, max(REGIONS // len(chosen) - len(present), 0), rng)
        for here, code in (*regions, *tiles):
            yield here, whole, level, code, _share(scene.parts[code])
        # What stands out from an area is judged by itself.
        for here, code in regions if len(regions) > 1 else ():
            yield here, here, level, code, _share(scene.parts[code])


def found_areas(scene: scenes.Scene) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Find the areas of a scene as a diagnosis does.

    Parameters
    ----------
    scene : Scene
        A faulty copy.

    Yields
    ------
    area, core : ndarray of bool, shape (rows, cols)
        Blocks of the area, with gaps that are bridged, and those of them that are judged.
    codes : ndarray of int, shape (rows, cols)
        Set of kinds of each block; where the scene has none, that of the nearest block.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.samples import draw_picture_scene, found_areas
    >>> scene = draw_picture_scene(("camera",), np.random.default_rng(0))
    >>> len(list(found_areas(scene))) > 0
    True
    """
    faulty = scene.labels >= 0
    changed = measure_differences(scene.reference, scene.copy).changed
    if not changed.any() or not faulty.any():
        return
    rows, cols = ndimage.distance_transform_edt(~faulty, return_distances=False, return_indices=True)
    codes = scene.labels[rows, cols]
    for area in connected_areas(changed):
        yield area, core_of(area), codes


def _tiles(
    sums: np.ndarray, core: np.ndarray, codes: np.ndarray, count: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, int]]:
    """Sums and codes of random tiles of an area that are mostly of one set of kinds."""
    north, west, south, east = block_sums.box_of(core)
    for _ in range(count):
        top, left, bottom, right = draw_tile((south - north, east - west), rng)
        tile = slice(north + top, north + bottom), slice(west + left, west + right)
        inside = codes[tile][core[tile]]
        if inside.size == 0:
            continue
        counts = np.bincount(inside)
        code = int(counts.argmax())
        if counts[code] >= PURE * inside.size:
            yield sums[tile][core[tile]].sum(0, dtype=np.float64), code


def draw_tile(shape: tuple[int, ...], rng: np.random.Generator) -> tuple[int, int, int, int]:
    """Draw a tile of up to 20 blocks a side, small ones as often as large ones.

    Parameters
    ----------
    shape : tuple of int
        Rows and columns of blocks.
    rng : numpy.random.Generator
        Source of all random numbers.

    Returns
    -------
    tuple of int
        Top, left, bottom and right, in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.samples import draw_tile
    >>> draw_tile((1, 1), np.random.default_rng(0))
    (0, 0, 1, 1)
    """
    side, ratio = np.exp(rng.uniform(0, np.log(20))), np.exp(rng.normal(0, 0.3))
    rows, cols = (int(np.clip(round(s), 1, n)) for s, n in zip((side * ratio, side / ratio), shape))
    top, left = (int(rng.integers(n - size + 1)) for n, size in zip(shape, (rows, cols)))
    return top, left, top + rows, left + cols


def _share(parts: tuple[float, ...]) -> float:
    return parts[0] / max(sum(parts), 1e-6)
