"""Random colour scenes for the training of the colour judge: a piece of a picture and a faulty copy of it."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from llise.diagnosis.colour.judge import ANSWERS, NONE
from llise.diagnosis.training.colour_ways import Change, Way, colour_way, other_rule
from llise.diagnosis.training.luma_ways import LUMA, LUMA_SHARES
from llise.distortions import mse, quantise
from llise.kinds.saturation import saturated
from llise.kinds.search import Search
from llise.labels import UNKNOWN

NAMES = ("astronaut", "chelsea", "coffee", "hubble_deep_field", "ihc", "motorcycle_left", "retina", "rocket", "china",
         "flower")  # fmt: skip
"""Colour pictures that come with scikit-image and scikit-learn."""

LEAST_ERROR = 5.0
"""Mean squared error of a fault that can be seen."""

LEAST_TRACE = 0.1
"""Share of the error that the first of two faults must still cause after the second one: a blur may wipe out noise."""


@dataclass(frozen=True, eq=False)
class Scene:
    """A piece of a picture and a faulty copy of it.

    Attributes
    ----------
    reference, copy : ndarray of uint8, shape (h, w, 3)
        The two pictures.
    answer : int
        Index into :data:`ANSWERS`.
    luma : bool
        Whether the luma has a fault besides.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.colour_scenes import draw_scene
    >>> scene = draw_scene(("coffee",), np.random.default_rng(0))
    >>> scene is None or scene.reference.shape == scene.copy.shape
    True
    """

    reference: np.ndarray
    copy: np.ndarray
    answer: int
    luma: bool


@cache
def load_colours(name: str) -> np.ndarray:
    """Load one of the pictures.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`.

    Returns
    -------
    ndarray of uint8, shape (h, w, 3)
        Red, green and blue.

    Examples
    --------
    >>> from llise.diagnosis.training.colour_scenes import load_colours
    >>> load_colours("astronaut").shape
    (512, 512, 3)
    """
    import skimage.data
    import sklearn.datasets

    folders = Path(skimage.data.__file__).parent, Path(sklearn.datasets.__file__).parent / "images"
    for folder in folders:
        for file in folder.glob(f"{name}.*"):
            with Image.open(file) as picture:
                return np.array(picture.convert("RGB"))
    raise ValueError(f"there is no picture {name!r}; choose from {', '.join(NAMES)}")


def draw_scene(names: tuple[str, ...], rng: np.random.Generator) -> Scene | None:
    """Draw a scene.

    Parameters
    ----------
    names : tuple of str
        Pictures to choose from.
    rng : numpy.random.Generator
        Source of all random numbers.

    Returns
    -------
    Scene or None
        None where a fault came out too weak to be seen.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.colour_scenes import ANSWERS, draw_scene
    >>> scenes = [draw_scene(("coffee", "rocket"), np.random.default_rng(seed)) for seed in range(4)]
    >>> all(ANSWERS[scene.answer] in ANSWERS for scene in scenes if scene)
    True
    """
    reference = _piece(names, rng)
    answer = int(rng.choice(len(ANSWERS), p=[0.34, 0.14, 0.14, 0.14, 0.14, 0.1]))
    with_luma = ANSWERS[answer] == NONE or bool(rng.random() < 0.6)
    steps: list[Way] = []
    if ANSWERS[answer] != NONE:
        steps.append(other_rule if ANSWERS[answer] == UNKNOWN else colour_way(ANSWERS[answer]))
    if with_luma:
        count = 2 if ANSWERS[answer] == NONE and rng.random() < 0.3 else 1
        steps += [LUMA[rng.choice(len(LUMA), p=LUMA_SHARES)] for _ in range(count)]
    if rng.random() < 0.3:
        steps.reverse()
    copy, level = reference, float(np.exp(rng.uniform(np.log(8), np.log(1000))))
    for number, step in enumerate(steps):
        before, same = copy, deepcopy(rng)
        search = _at_error(step(copy, rng), copy, reference, level * (number + 1) / len(steps))
        copy = search.image
        if mse(before, copy) < max(LEAST_ERROR, 0.12 * level / len(steps)):
            return None
        alone = step(reference, same)[0](search.strength) if number else reference
        if mse(quantise(alone), copy) < LEAST_TRACE * mse(reference, copy):
            return None
    copy = _in_part(reference, copy, rng)
    return Scene(reference, copy, answer, with_luma)


def _in_part(reference: np.ndarray, copy: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The copy in a rectangle of the piece only, for one scene in three."""
    if rng.random() > 0.35:
        return copy
    height, width = reference.shape[:2]
    top, left = int(rng.integers(height // 2)), int(rng.integers(width // 2))
    out = reference.copy()
    rows, cols = slice(top, top + int(rng.integers(40, height))), slice(left, left + int(rng.integers(40, width)))
    out[rows, cols] = copy[rows, cols]
    return out


def _at_error(made: tuple[Change, float], image: np.ndarray, reference: np.ndarray, wanted: float) -> Search:
    change, end = made
    search = Search(change, reference, wanted, 0.1)
    search.bisect(end, first=end / 60, steps=7, at_zero=mse(reference, image))
    return search


def _piece(names: tuple[str, ...], rng: np.random.Generator) -> np.ndarray:
    """A piece of a picture: scaled, turned, mirrored, with other colours."""
    picture = load_colours(names[rng.integers(len(names))])
    sides = [int(rng.integers(8, 25)) * 8 for _ in range(2)]
    if min(picture.shape[:2]) > 380 and rng.random() < 0.5:
        factor = rng.uniform(0.45, 1.0)
        size = round(picture.shape[1] * factor), round(picture.shape[0] * factor)
        picture = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))
    rows, cols = (min(side, length // 8 * 8) for side, length in zip(sides, picture.shape))
    top, left = (int(rng.integers(length - side + 1)) for length, side in zip(picture.shape, (rows, cols)))
    piece = np.rot90(picture[top : top + rows, left : left + cols], int(rng.integers(4)))
    piece = piece[:, ::-1] if rng.random() < 0.5 else piece
    if rng.random() < 0.5:
        values = 255 * (piece / 255.0) ** np.exp(rng.uniform(-0.5, 0.5))
        piece = quantise(saturated(values[..., rng.permutation(3)], rng.uniform(0.3, 1.7)))
    return np.ascontiguousarray(piece)
