"""The paper's image sets, made from any reference: 121 training images and 12 test images at equal error."""

from __future__ import annotations

import io
import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel
from PIL import Image

from llise import distortions
from llise.distortions import Distorted, UnreachableWarning
from llise.engine.tasks import task
from llise.labels import KINDS, PAPER_MIXTURES

TRAINING_LEVELS = tuple(range(45, 901, 45))
"""The paper's twenty errors of a training class."""

MANIFEST = "manifest.json"
_FORMAT = 1
# Seeds of the two sets come from different branches of one tree, so that no noise field is shared between
# them.
_TRAINING_BRANCH, _TEST_BRANCH = 1, 2


@dataclass(eq=False)
class ImageSet:
    """Images made from one reference; ``set.images`` and ``set.labels`` are an estimator's X and y.

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
        Seed of each kind's draw.
    amplified : ndarray of bool, shape (n,)
        Whether a JPEG's coding error was multiplied beyond the coder's reach.
    """

    reference: np.ndarray = field(repr=False)
    images: np.ndarray = field(repr=False)
    kinds: list[tuple[str, ...]]
    strengths: list[tuple[float, ...]]
    wanted_mse: np.ndarray
    mse: np.ndarray
    seeds: list[tuple[int, ...]]
    amplified: np.ndarray

    @property
    def labels(self) -> np.ndarray:
        """One name an image: ``original``, a kind, or the kinds of a mixture joined by ``+``."""
        return np.array(["+".join(kinds) or "original" for kinds in self.kinds])

    def __len__(self) -> int:
        return len(self.images)


def reference() -> np.ndarray:
    """Return the built-in reference, scikit-image's `camera`: 512 x 512, grey, 8 bits."""
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
        Of contrast and luminance: stretched and lighter (the paper), reduced and darker, or in turn.
    beyond_reach : {"amplify", "respace"}
        JPEG ends at an MSE of 200 to 400 on most images. "amplify" multiplies its coding error to the levels
        beyond; "respace" spaces as many real JPEGs evenly up to its reach. Other kinds are always respaced.
    random_state : int, Generator, RandomState or None
        Each image gets its own seed from it.
    n_jobs : int or None
        Threads, as joblib counts them.

    Returns
    -------
    ImageSet
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
        # The odd images of a kind go the other way, so that both directions cover the whole range of errors.
        turns = {1: (1, 1), -1: (-1, -1), "both": (1, -1)}[direction]
        for j, level in enumerate(_reachable(image, kind, levels, turns, amplify)):
            turn = turns[j % 2] if distortions.is_two_sided(kind) else None
            jobs.append((kind, level, _seed(root, _TRAINING_BRANCH, k, j), turn))
    made = _parallel(n_jobs, [task(_single, image, *job, amplify) for job in jobs])
    distortions.warn_of_misses(made, stacklevel=3)
    return _collect(image, [[], *([copy] for copy in made)])


def test_set(
    image: np.ndarray | None = None,
    mse: float = 500,
    *,
    mixtures: Sequence[tuple[str, str]] = PAPER_MIXTURES,
    direction: int = 1,
    beyond_reach: str = "amplify",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> ImageSet:
    """Make the paper's test images: six single distortions and six mixtures at one error.

    The first kind of a mixture is applied at half the error; the second is then made as strong as the whole
    error needs. Seeds differ from those of :func:`training_set` with the same `random_state`.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w), optional
        The reference; the built-in one if left out.
    mse : float
        Error of every image.
    mixtures : sequence of pairs of str
        Pairs of kinds in order of application; the paper's six if left out.
    direction : {1, -1}
        Of contrast and luminance.
    beyond_reach : {"amplify", "stop"}
        Multiply a JPEG's coding error to reach `mse`, or stop at the coder's own reach.
    random_state, n_jobs
        As for :func:`training_set`.

    Returns
    -------
    ImageSet
    """
    image = distortions.check_image(reference() if image is None else image)
    if beyond_reach not in ("amplify", "stop"):
        raise ValueError(f"beyond_reach={beyond_reach!r}: expected 'amplify' or 'stop'")
    if direction not in (1, -1):
        raise ValueError(f"direction={direction!r}: expected 1 or -1")
    root = distortions.as_seed(random_state)
    recipes = [(kind,) for kind in KINDS] + [tuple(pair) for pair in mixtures]
    options = {"direction": direction, "amplify": beyond_reach == "amplify", "warn": False}
    seeds = [_seed(root, _TEST_BRANCH, i) for i in range(len(recipes))]
    made = _parallel(n_jobs, [task(mixture, image, kinds, mse, seed, **options) for kinds, seed in zip(recipes, seeds)])
    distortions.warn_of_misses([parts[-1] for parts in made], stacklevel=3)
    return _collect(image, made)


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
    """Apply `kinds` one after the other with equal shares of the error `mse`; the last entry is the mixture.

    A part that cannot reach its share is taken as strong as it gets and leaves the rest to the parts after
    it; only a miss of the whole error is warned about.
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
    """Write a set as PNG files with ``manifest.json`` (kinds, strengths, wanted and measured MSE, seeds).

    Returns
    -------
    Path
        The manifest. It is written last: a folder that has one is complete.
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
    _replace(path, text.encode())
    return path


def read(folder: str | os.PathLike[str]) -> ImageSet:
    """Read a set that :func:`write` wrote."""
    folder = Path(folder)
    path = folder / MANIFEST
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; expected a folder written by llise.datasets.write")
    manifest = json.loads(path.read_text())
    if manifest.get("format") != _FORMAT:
        raise ValueError(f"{path} has format {manifest.get('format')!r}; this version reads format {_FORMAT}")
    entries = manifest["images"]
    return ImageSet(
        reference=_read_png(folder / manifest["reference"]),
        images=np.stack([_read_png(folder / entry["file"]) for entry in entries]),
        kinds=[tuple(entry["kinds"]) for entry in entries],
        strengths=[tuple(entry["strengths"]) for entry in entries],
        wanted_mse=np.array([entry["wanted_mse"] for entry in entries]),
        mse=np.array([entry["mse"] for entry in entries]),
        seeds=[tuple(entry["seeds"]) for entry in entries],
        amplified=np.array([entry["amplified"] for entry in entries]),
    )


def _seed(root: int, *branch: int) -> int:
    return int(np.random.SeedSequence(root, spawn_key=branch).generate_state(1)[0])


def _reachable(
    image: np.ndarray, kind: str, levels: Sequence[float], turns: tuple[int, int], amplify: bool
) -> Sequence[float]:
    """Return `levels`, or as many spaced evenly up to what `kind` can do to this image."""
    if kind == "jpeg" and amplify:
        return levels
    if distortions.is_two_sided(kind):
        most = min(distortions.reach(image, kind, 0, direction=turn) for turn in set(turns))
    else:
        most = distortions.reach(image, kind, 0)
    if most >= max(levels):
        return levels
    if most == 0:
        warnings.warn(
            f"{kind} leaves this image as it is; the set has no {kind} images",
            UnreachableWarning,
            stacklevel=3,
        )
        return []
    return [level * 0.98 * most / max(levels) for level in levels]


def _single(image: np.ndarray, kind: str, level: float, seed: int, direction: int | None, amplify: bool) -> Distorted:
    return distortions.make(image, kind, level, seed, direction=direction, amplify=amplify, warn=False)


def _parallel(n_jobs: int | None, jobs: Iterable[Any]) -> list[Any]:
    return Parallel(n_jobs=n_jobs, prefer="threads")(jobs)


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
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "PNG", compress_level=3)
    _replace(path, stream.getvalue())


def _read_png(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return distortions.check_image(np.asarray(image), str(path))


def _replace(path: Path, content: bytes) -> None:
    """Write beside `path` and move into place, so that nobody ever sees half a file."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
