"""Random colour scenes for the training of the colour judge: a piece of a picture and a faulty copy of it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

from llise.colours import pixels_of, planes_of
from llise.diagnosis.colour_judge import ANSWERS, NONE
from llise.distortions import mse, quantise
from llise.kinds import registry
from llise.kinds.saturation import saturated
from llise.kinds.search import Search
from llise.labels import UNKNOWN

NAMES = ("astronaut", "chelsea", "coffee", "hubble_deep_field", "ihc", "motorcycle_left", "retina", "rocket", "china",
         "flower")  # fmt: skip
"""Colour pictures that come with scikit-image and scikit-learn."""

LEAST_ERROR = 5.0
"""Mean squared error of a fault that can be seen."""

Change = Callable[[float], np.ndarray]


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
    >>> from llise.diagnosis.colour_scenes import draw_scene
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
    >>> from llise.diagnosis.colour_scenes import load_colours
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
    >>> from llise.diagnosis.colour_scenes import ANSWERS, draw_scene
    >>> scenes = [draw_scene(("coffee", "rocket"), np.random.default_rng(seed)) for seed in range(4)]
    >>> all(ANSWERS[scene.answer] in ANSWERS for scene in scenes if scene)
    True
    """
    reference = _piece(names, rng)
    answer = int(rng.choice(len(ANSWERS), p=[0.32, 0.14, 0.14, 0.14, 0.14, 0.12]))
    with_luma = ANSWERS[answer] == NONE or bool(rng.random() < 0.55)
    steps: list[Callable[[np.ndarray, np.random.Generator], tuple[Change, float]]] = []
    if ANSWERS[answer] != NONE:
        steps.append(_unknown if ANSWERS[answer] == UNKNOWN else _colour_kind(ANSWERS[answer]))
    if with_luma:
        count = 2 if ANSWERS[answer] == NONE and rng.random() < 0.3 else 1
        steps += [LUMA[rng.choice(len(LUMA), p=LUMA_SHARES)] for _ in range(count)]
    if rng.random() < 0.4:
        steps.reverse()
    copy, level = reference, float(np.exp(rng.uniform(np.log(8), np.log(1000))))
    for number, step in enumerate(steps):
        before = copy
        copy = _at_error(step(copy, rng), copy, reference, level * (number + 1) / len(steps))
        if mse(before, copy) < max(LEAST_ERROR, 0.12 * level / len(steps)):
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


def _at_error(made: tuple[Change, float], image: np.ndarray, reference: np.ndarray, wanted: float) -> np.ndarray:
    change, end = made
    search = Search(change, reference, wanted, 0.1)
    search.bisect(end, first=end / 60, steps=7, at_zero=mse(reference, image))
    return search.image


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


def _colour_kind(name: str) -> Callable[[np.ndarray, np.random.Generator], tuple[Change, float]]:
    def build(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
        draw = registry.get(name).draw(image, rng)
        path = draw.path
        if name in ("saturation", "color_cast") and rng.random() < 0.35:
            path = _in_light(name, image, rng)
        if name in ("chroma_noise", "chroma_blur") and rng.random() < 0.3:
            path = _with_luma_error(path, image, float(rng.uniform(-0.25, 0.25)))
        return path, draw.end

    return build


def _in_light(name: str, image: np.ndarray, rng: np.random.Generator) -> Change:
    """The kind applied to other values than those of the file, as programs do that work in another colour space."""
    power = float(np.exp(rng.uniform(-0.8, 0.8)))
    draw = registry.get(name).draw(255 * (image / 255.0) ** power, rng)
    return lambda strength: 255 * (np.clip(draw.path(strength), 0, 255) / 255.0) ** (1 / power)


def _with_luma_error(path: Change, image: np.ndarray, share: float) -> Change:
    """Chroma faults of programs whose luma is another one, so that some of the error is in ours."""
    chroma = planes_of(image)

    def change(strength: float) -> np.ndarray:
        planes = planes_of(path(strength))
        planes[..., 0] += share * ((planes - chroma)[..., 1] - 0.5 * (planes - chroma)[..., 2])
        return pixels_of(planes)

    return change


def _unknown(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    """Changes of colours by other rules."""
    planes = planes_of(image)
    base = image.astype(np.float32)
    way = rng.integers(4)
    if way == 0:
        sign = rng.choice([-1.0, 1.0])

        def turned(strength: float) -> np.ndarray:
            a = sign * strength
            turn = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]], np.float32)
            return pixels_of(np.concatenate([planes[..., :1], planes[..., 1:] @ turn.T], axis=-1))

        return turned, np.pi
    if way == 1:
        other = base[..., rng.permutation(3)]
        return lambda strength: base + np.float32(min(strength, 1.0)) * (other - base), 1.0
    if way == 2:
        matrix = rng.normal(0, 1, (3, 3)).astype(np.float32)
        return lambda strength: base + np.float32(strength) * ((base - 128) @ matrix.T), 2.0
    scale = np.array([1.0, -1.0], np.float32) if rng.random() < 0.5 else np.array([-1.0, 1.0], np.float32)
    change = pixels_of(np.concatenate([0 * planes[..., :1], planes[..., 1:] * scale], axis=-1))
    return lambda strength: base + np.float32(strength) * change, 2.0


def _blur(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    base = image.astype(np.float32)
    if rng.random() < 0.3:
        return lambda s: ndimage.uniform_filter(base, (max(int(s), 1), max(int(s), 1), 1), mode="nearest"), 30.0
    return lambda s: ndimage.gaussian_filter(base, (s, s, 0), mode="nearest"), 15.0


def _noise(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    base = image.astype(np.float32)
    field = rng.standard_normal(image.shape if rng.random() < 0.7 else (*image.shape[:2], 1), dtype=np.float32)
    if rng.random() < 0.2:
        field = (field * (0.3 + base / 128)).astype(np.float32)
    return lambda s: base + np.float32(s) * field, 80.0


def _luminance(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    sign = np.float32(rng.choice([-1, 1]))
    return lambda s: image.astype(np.float32) + sign * np.float32(s), 80.0


def _contrast(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    if rng.random() < 0.25:  # of the luma alone
        planes = planes_of(image)
        sign, middle = rng.choice([-1, 1]), planes[..., :1].mean()
        shift = planes[..., :1] - middle
        return lambda s: image + sign * np.float32(s) * shift, 0.9 if sign < 0 else 3.0
    draw = registry.get("contrast").draw(image, rng)
    return draw.path, draw.end


def _impulses(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    shape = image.shape if rng.random() < 0.5 else (*image.shape[:2], 1)
    order = rng.random(shape)
    value = rng.choice([0, 255], shape) if rng.random() < 0.7 else rng.integers(0, 256, shape)
    return lambda s: np.where(order < s, value, image).astype(np.uint8), 0.6


def _jpeg(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    picture, subsampling = Image.fromarray(image), int(rng.choice([0, 2, 2]))
    form = "WEBP" if rng.random() < 0.15 else "JPEG"

    def coded(strength: float) -> np.ndarray:
        buffer = io.BytesIO()
        options = {"subsampling": subsampling} if form == "JPEG" else {"method": 1}
        picture.save(buffer, form, quality=int(np.clip(round(100 - strength), 1, 100)), **options)
        with Image.open(buffer) as decoded:
            return np.asarray(decoded.convert("RGB"))

    return coded, 98.0


def _sharper(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    base = image.astype(np.float32)
    detail = base - ndimage.gaussian_filter(base, (w := rng.uniform(0.7, 3), w, 0), mode="nearest")
    return lambda s: base + np.float32(s) * detail, 6.0


def _coarse(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    """Large pixels, or few levels."""
    if rng.random() < 0.5:
        base = image.astype(np.float32)

        def mosaic(strength: float) -> np.ndarray:
            side = max(int(strength), 1)
            return base[::side, ::side].repeat(side, 0).repeat(side, 1)[: base.shape[0], : base.shape[1]]

        return mosaic, 16.0
    return lambda s: np.rint(image / np.float32(1 + s)) * np.float32(1 + s), 80.0


def _moved(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    angle, base = rng.uniform(0, 2 * np.pi), image.astype(np.float32)
    return lambda s: ndimage.shift(base, (s * np.sin(angle), s * np.cos(angle), 0), order=1, mode="nearest"), 6.0


LUMA = (_blur, _noise, _luminance, _contrast, _impulses, _jpeg, _sharper, _coarse, _moved)
"""Faults of the luma as programs make them, in all channels."""

LUMA_SHARES = (0.14, 0.16, 0.12, 0.14, 0.12, 0.2, 0.04, 0.04, 0.04)
"""How often each of them is drawn."""
