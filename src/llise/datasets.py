"""The paper's image sets, made from any reference: 121 training images and 12 test images at equal error."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel
from PIL import Image

from llise import distortions
from llise.distortions import Distorted, UnreachableWarning
from llise.engine.tasks import task
from llise.kinds import registry
from llise.labels import KINDS, PAPER_MIXTURES
from llise.storage.files import atomic_write

TRAINING_LEVELS = tuple(range(45, 901, 45))
"""The paper's twenty errors of a training class."""

MANIFEST = "manifest.json"
_FORMAT = 1
# Seeds of the two sets come from different branches of one seed sequence, so that they share no noise field.
_TRAINING_BRANCH, _TEST_BRANCH = 1, 2


@dataclass(eq=False)
class ImageSet:
    """Distorted copies of one reference; ``images`` and ``labels`` are an estimator's X and y.

    Attributes
    ----------
    reference : ndarray of uint8, shape (h, w)
    images : ndarray of uint8, shape (n, h, w)
    kinds : list of tuple of str
        Kinds of each image in order of application; empty for the original.
    strengths : list of tuple of float
        Strength of each kind, see :class:`llise.distortions.Distorted`.
    wanted_mse, mse : ndarray, shape (n,)
        Error asked for and measured.
    seeds : list of tuple of int
        Seed of each kind's random numbers.
    amplified : ndarray of bool, shape (n,)
        Whether a JPEG's coding error was multiplied because the strongest coding falls short of the wanted error.

    Examples
    --------
    >>> from llise import datasets
    >>> images = datasets.training_set(datasets.reference()[:64, :64], levels=[100], kinds=["luminance"])
    >>> images
    ImageSet(2 images of 64 x 64, MSE 0 to 100)
    >>> images.labels.tolist()
    ['original', 'luminance']
    """

    reference: np.ndarray
    images: np.ndarray
    kinds: list[tuple[str, ...]]
    strengths: list[tuple[float, ...]]
    wanted_mse: np.ndarray
    mse: np.ndarray
    seeds: list[tuple[int, ...]]
    amplified: np.ndarray

    @property
    def labels(self) -> np.ndarray:
        """Label of each image: ``original``, a kind, or the kinds of a mixture joined by ``+``."""
        return np.array(["+".join(kinds) or "original" for kinds in self.kinds])

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        height, width = self.reference.shape
        span = f", MSE {self.mse.min():.0f} to {self.mse.max():.0f}" if len(self) else ""
        return f"ImageSet({len(self)} images of {height} x {width}{span})"


def reference() -> np.ndarray:
    """Return the built-in reference, the image `camera` of scikit-image.

    Returns
    -------
    ndarray of uint8, shape (512, 512)
        Grey image.

    Examples
    --------
    >>> from llise import datasets
    >>> datasets.reference().shape
    (512, 512)
    """
    from skimage import data

    return data.camera()


def training_set(
    image: np.ndarray | None = None,
    *,
    levels: Sequence[float] = TRAINING_LEVELS,
    kinds: Sequence[str] = KINDS,
    direction: int | str = 1,
    beyond_reach: str = "amplify",
    random_state: Any = 0,
    n_jobs: int | None = None,
    warn: bool = True,
) -> ImageSet:
    """Make the paper's training images: the original and every kind at every level of error.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w), optional
        The reference; the built-in one if left out.
    levels : sequence of float
        Wanted MSE of the images of one kind; the paper's 45 to 900 in steps of 45.
    kinds : sequence of str
        Registered kinds of distortion.
    direction : {1, -1, "both"}
        Of contrast and luminance: stretched and lighter (the paper), reduced and darker, or alternately.
    beyond_reach : {"amplify", "respace"}
        JPEG cannot exceed an MSE of 200 to 400 on most images. "amplify" multiplies its coding error to get the
        levels above; "respace" makes as many real JPEGs, evenly spaced up to the highest error that it can reach.
        Other kinds are always respaced.
    random_state : int, Generator, RandomState or None
        Each image gets its own seed from it.
    n_jobs : int or None
        Number of threads, as joblib counts them.
    warn : bool
        Whether to warn of errors that cannot be reached on this image.

    Returns
    -------
    ImageSet
        Images, labels, strengths, errors and seeds.

    Examples
    --------
    >>> from llise import datasets
    >>> images = datasets.training_set(datasets.reference()[128:192, 128:192], levels=[50, 100], kinds=["blur"])
    >>> images.images.shape, images.mse.round().tolist()
    ((3, 64, 64), [0.0, 50.0, 100.0])
    """
    image = distortions.check_image(reference() if image is None else image)
    if beyond_reach not in ("amplify", "respace"):
        raise ValueError(f"beyond_reach={beyond_reach!r}: expected 'amplify' or 'respace'")
    if direction not in (1, -1, "both"):
        raise ValueError(f"direction={direction!r}: expected 1, -1 or 'both'")
    root = distortions.as_seed(random_state)
    amplify = beyond_reach == "amplify"
    jobs = []
    for k, kind in enumerate(kinds):
        # With "both", every second image of a kind has the other direction, so that both cover the range of errors.
        directions = {1: (1, 1), -1: (-1, -1), "both": (1, -1)}[direction]
        for j, level in enumerate(_reachable_levels(image, kind, levels, directions, amplify, warn)):
            own_direction = directions[j % 2] if distortions.is_two_sided(kind) else None
            jobs.append((kind, level, _seed(root, _TRAINING_BRANCH, k, j), own_direction))
    paths = distortions.SharedPaths(image)
    copies = Parallel(n_jobs=n_jobs, prefer="threads")(task(_single, paths, *job, amplify) for job in jobs)
    if warn:
        distortions.warn_of_misses(copies, stacklevel=3)
    return _collect(image, [[], *([copy] for copy in copies)])


def test_set(
    image: np.ndarray | None = None,
    mse: float = 500,
    *,
    beyond_reach: str = "amplify",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> ImageSet:
    """Make the paper's test images: six single distortions and six mixtures, all with the same error.

    The first kind of a mixture is applied at half the error; the strength of the second is then chosen so that
    the whole error is reached. Contrast is stretched and luminance is lighter. Seeds differ from those of
    :func:`training_set` with the same `random_state`.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w), optional
        The reference; the built-in one if left out.
    mse : float
        Error of every image.
    beyond_reach : {"amplify", "stop"}
        Multiply a JPEG's coding error to reach `mse`, or stop at the highest error that coding can reach.
    random_state, n_jobs : int
        As for :func:`training_set`.

    Returns
    -------
    ImageSet
        Images, labels, strengths, errors and seeds.

    Examples
    --------
    >>> from llise import datasets
    >>> images = datasets.test_set(datasets.reference()[128:192, 128:192], mse=200)
    >>> len(images), str(images.labels[6])
    (12, 'blur+gaussian_noise')
    """
    image = distortions.check_image(reference() if image is None else image)
    if beyond_reach not in ("amplify", "stop"):
        raise ValueError(f"beyond_reach={beyond_reach!r}: expected 'amplify' or 'stop'")
    root = distortions.as_seed(random_state)
    recipes: list[tuple[str, ...]] = [*((kind,) for kind in KINDS), *PAPER_MIXTURES]
    options = {"direction": 1, "amplify": beyond_reach == "amplify", "warn": False}
    mixtures = Parallel(n_jobs=n_jobs, prefer="threads")(
        task(mixture, image, kinds, mse, _seed(root, _TEST_BRANCH, i), **options) for i, kinds in enumerate(recipes)
    )
    distortions.warn_of_misses([parts[-1] for parts in mixtures], stacklevel=3)
    return _collect(image, mixtures)


def mixture(
    image: np.ndarray,
    kinds: Sequence[str],
    mse: float,
    random_state: Any = None,
    *,
    direction: int | None = None,
    amplify: bool = False,
    warn: bool = True,
) -> list[Distorted]:
    """Apply kinds one after the other, each with an equal share of the error.

    A kind that cannot reach its share is applied at its strongest, and the kinds after it make up for the rest. A
    warning is given only if the whole error is not reached.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w)
        The reference.
    kinds : sequence of str
        Kinds in order of application.
    mse : float
        Error of the mixture.
    random_state : int, Generator, RandomState or None
        Each kind gets its own seed from it.
    direction, amplify : int, bool
        As for :func:`llise.distortions.make`.
    warn : bool
        Whether to warn of an error that could not be reached.

    Returns
    -------
    list of Distorted
        The image after each kind; the last one is the mixture.

    Examples
    --------
    >>> from llise import datasets
    >>> parts = datasets.mixture(datasets.reference()[:64, :64], ("luminance", "gaussian_noise"), 100, 0)
    >>> [round(part.measured) for part in parts]
    [50, 100]
    """
    root = distortions.as_seed(random_state)
    parts: list[Distorted] = []
    for i, kind in enumerate(kinds):
        part = distortions.make(
            parts[-1].image if parts else image,
            kind,
            mse * (i + 1) / len(kinds),
            _seed(root, i),
            direction=direction if distortions.is_two_sided(kind) else None,
            amplify=amplify,
            reference=image,
            warn=False,
        )
        parts.append(part)
    if warn:
        distortions.warn_of_misses(parts[-1:], stacklevel=3)
    return parts


def write(images: ImageSet, folder: str | os.PathLike[str]) -> Path:
    """Write a set as PNG files with a manifest of kinds, strengths, wanted and measured MSE, and seeds.

    Parameters
    ----------
    images : ImageSet
        Set to write.
    folder : path
        Created if it does not exist.

    Returns
    -------
    Path
        The manifest, ``manifest.json`` in the folder. It is written last: a folder that has one is complete.

    Examples
    --------
    >>> import tempfile
    >>> from llise import datasets
    >>> images = datasets.training_set(datasets.reference()[:64, :64], levels=[100], kinds=["luminance"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     manifest = datasets.write(images, folder)
    ...     sorted(path.name for path in manifest.parent.iterdir())
    ['000-original.png', '001-luminance.png', 'manifest.json', 'reference.png']
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    _write_png(folder / "reference.png", images.reference)
    for i, (label, image) in enumerate(zip(images.labels, images.images)):
        name = f"{i:03d}-{label}.png"
        _write_png(folder / name, image)
        entries.append(
            {
                "file": name,
                "kinds": list(images.kinds[i]),
                "strengths": [float(s) for s in images.strengths[i]],
                "wanted_mse": float(images.wanted_mse[i]),
                "mse": float(images.mse[i]),
                "seeds": [int(s) for s in images.seeds[i]],
                "amplified": bool(images.amplified[i]),
            }
        )
    text = json.dumps({"format": _FORMAT, "reference": "reference.png", "images": entries}, indent=1)
    path = folder / MANIFEST
    with atomic_write(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _seed(root: int, *branch: int) -> int:
    return int(np.random.SeedSequence(root, spawn_key=branch).generate_state(1)[0])


def _reachable_levels(
    image: np.ndarray, kind: str, levels: Sequence[float], directions: tuple[int, int], amplify: bool, warn: bool
) -> Sequence[float]:
    """Return `levels`, or as many spaced evenly up to the highest error that `kind` can reach on this image."""
    if amplify and registry.get(kind).amplifiable:
        return levels
    if distortions.is_two_sided(kind):
        highest = min(distortions.reach(image, kind, 0, direction=direction) for direction in set(directions))
    else:
        highest = distortions.reach(image, kind, 0)
    if highest >= max(levels):
        return levels
    if highest == 0:
        if warn:
            message = f"{kind} leaves this image as it is; the set has no {kind} images"
            warnings.warn(message, UnreachableWarning, stacklevel=3)
        return []
    return [level * 0.98 * highest / max(levels) for level in levels]


def _single(
    paths: distortions.SharedPaths, kind: str, level: float, seed: int, direction: int | None, amplify: bool
) -> Distorted:
    options: dict[str, Any] = {"direction": direction, "amplify": amplify, "warn": False, "paths": paths}
    return distortions.make(paths.image, kind, level, seed, **options)


def _collect(image: np.ndarray, recipes: Sequence[Sequence[Distorted]]) -> ImageSet:
    return ImageSet(
        reference=image,
        images=np.stack([recipe[-1].image if recipe else image for recipe in recipes]),
        kinds=[tuple(part.kind for part in recipe) for recipe in recipes],
        strengths=[tuple(part.strength for part in recipe) for recipe in recipes],
        wanted_mse=np.array([recipe[-1].wanted if recipe else 0.0 for recipe in recipes]),
        mse=np.array([recipe[-1].measured if recipe else 0.0 for recipe in recipes]),
        seeds=[tuple(part.seed for part in recipe) for recipe in recipes],
        amplified=np.array([any(part.amplified for part in recipe) for recipe in recipes]),
    )


def _write_png(path: Path, image: np.ndarray) -> None:
    with atomic_write(path) as file:
        Image.fromarray(image).save(file, "PNG", compress_level=3)
