"""Pictures on which the judge is trained: those that come with the dependencies, and synthetic ones.

Everybody who has installed llise has these pictures, so that the training can be repeated anywhere.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

SCIKIT_IMAGE = (
    "astronaut.png", "brick.png", "camera.png", "cell.png", "chelsea.png", "clock_motion.png", "coffee.png",
    "coins.png", "grass.png", "gravel.png", "hubble_deep_field.jpg", "ihc.png", "moon.png", "motorcycle_left.png",
    "page.png", "retina.jpg", "rocket.jpg", "text.png",
)  # fmt: skip
"""Files in scikit-image's data folder."""

SCIKIT_LEARN = ("china.jpg", "flower.jpg")
"""Files in scikit-learn's folder of sample images."""

NAMES = tuple(Path(name).stem for name in (*SCIKIT_IMAGE, *SCIKIT_LEARN))
"""Names of the pictures, as :func:`load` takes them."""

SYNTHETIC_SHARE = 0.25
"""Share of synthetic pictures in the training."""

LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz     ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;:-"))


@cache
def load(name: str) -> np.ndarray:
    """Load one of the pictures as 8-bit grey.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        The picture.

    Examples
    --------
    >>> from llise.diagnosis.training.pictures import load
    >>> load("camera").shape
    (512, 512)
    """
    import skimage.data
    import sklearn.datasets

    folders = {
        Path(skimage.data.__file__).parent: SCIKIT_IMAGE,
        Path(sklearn.datasets.__file__).parent / "images": SCIKIT_LEARN,
    }
    for folder, files in folders.items():
        for file in files:
            if Path(file).stem == name:
                with Image.open(folder / file) as picture:
                    return np.asarray(picture.convert("L"))
    raise ValueError(f"there is no picture {name!r}; choose from {', '.join(NAMES)}")


def draw_crop(names: tuple[str, ...], rng: np.random.Generator, least: int = 64, most: int = 272) -> np.ndarray:
    """Draw a piece of a random picture: scaled, turned, mirrored, with another gamma, or synthetic.

    Parameters
    ----------
    names : tuple of str
        Pictures to choose from.
    rng : numpy.random.Generator
        Source of all random numbers.
    least, most : int
        Bounds of the sides, which are multiples of 8.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        The piece.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.pictures import draw_crop
    >>> piece = draw_crop(("camera",), np.random.default_rng(0))
    >>> piece.shape[0] % 8, piece.dtype
    (0, dtype('uint8'))
    """
    shape = tuple(int(rng.integers(least // 8, most // 8 + 1)) * 8 for _ in range(2))
    if rng.random() < SYNTHETIC_SHARE:
        return _synthetic((shape[0], shape[1]), rng)
    picture = load(names[rng.integers(len(names))])
    if min(picture.shape) > 500 and rng.random() < 0.6:
        factor = rng.uniform(0.4, 1.0)
        size = (round(picture.shape[1] * factor), round(picture.shape[0] * factor))
        picture = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))
    rows, cols = (min(side, length // 8 * 8) for side, length in zip(shape, picture.shape))
    top, left = (int(rng.integers(length - side + 1)) for length, side in zip(picture.shape, (rows, cols)))
    piece = np.rot90(picture[top : top + rows, left : left + cols], int(rng.integers(4)))
    if rng.random() < 0.5:
        piece = piece[:, ::-1]
    if rng.random() < 0.4:
        # Other exposures: a gamma, and sometimes a darker or paler picture, as at night or in haze.
        table = (np.arange(256) / 255) ** np.exp(rng.uniform(-0.6, 0.6))
        if rng.random() < 0.4:
            range_ = rng.uniform(0.25, 0.8)
            table = range_ * table + (1 - range_) * rng.choice([0.0, 0.05, rng.random()])
        piece = (255 * table + 0.5).astype(np.uint8)[piece]
    return np.ascontiguousarray(piece)


def _synthetic(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    maker = (_text, _texture, _shapes, _leaves, _dusk)[rng.integers(5)]
    return np.clip(np.rint(maker(shape, rng)), 0, 255).astype(np.uint8)


def _text(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Lines of random letters on paper, or on a slope of grey."""
    from PIL import ImageDraw, ImageFont  # only here: a diagnosis imports this module, but draws nothing

    paper, ink = (245, 20) if rng.random() < 0.7 else (30, 220)
    page = Image.new("L", shape[::-1], paper)
    pen, size = ImageDraw.Draw(page), float(rng.uniform(9, 34))
    font = ImageFont.load_default(size)
    for top in np.arange(rng.uniform(0, size), shape[0], 1.4 * size):
        line = "".join(rng.choice(LETTERS, int(2.2 * shape[1] / size)))
        pen.text((rng.uniform(0, size), top), line, ink, font)
    return np.asarray(page) + _slope(shape, rng, 12)


def _texture(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Noise whose power falls with a power of the frequency, as in natural textures."""
    fy, fx = np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])[None, :]
    power = np.hypot(fy, fx) + 1 / max(shape)
    spectrum = np.fft.rfft2(rng.standard_normal(shape)) * power ** -rng.uniform(0.6, 1.8)
    field = np.fft.irfft2(spectrum, s=shape)
    return 128 + rng.uniform(-30, 30) + rng.uniform(10, 50) * (field - field.mean()) / field.std()


def _shapes(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Rectangles and ellipses of even greys on a slope, as in drawings and screens."""
    from PIL import ImageDraw

    page = Image.new("L", shape[::-1], int(rng.integers(256)))
    pen = ImageDraw.Draw(page)
    for _ in range(int(rng.integers(6, 40))):
        x, y = (rng.uniform(-0.2, 1) * n for n in shape[::-1])
        width, height = rng.uniform(4, 0.5 * max(shape), 2)
        draw = pen.rectangle if rng.random() < 0.5 else pen.ellipse
        draw([x, y, x + width, y + height], fill=int(rng.integers(256)))
    return np.asarray(page) + _slope(shape, rng, 40)


def _leaves(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Discs of all sizes that hide one another, each with a texture: edges and sizes as in photographs."""
    y, x = np.ogrid[: shape[0], : shape[1]]
    picture = np.full(shape, rng.uniform(0, 255))
    middle, spread = rng.uniform(40, 215), rng.uniform(15, 70)
    for radius in rng.uniform(2, 8) / rng.uniform(0.03, 1.0, 500) ** 0.7:
        cy, cx = rng.uniform(-0.2, 1.2, 2) * shape
        picture[(y - cy) ** 2 + (x - cx) ** 2 < radius**2] = rng.normal(middle, spread)
    grain = _texture(shape, rng) - 128
    soft = ndimage.gaussian_filter(picture, rng.uniform(0, 1.2))
    return soft + rng.uniform(0, 0.4) * grain


def _dusk(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """A smooth sky over a dark shore with lights, with the grain of a camera: little texture, few strong edges."""
    sky = ndimage.gaussian_filter(rng.normal(0, 1, shape), max(shape) / rng.uniform(4, 16))
    picture = rng.uniform(30, 200) + rng.uniform(5, 40) * sky / (np.abs(sky).max() + 1e-9) + _slope(shape, rng, 120)
    rough = ndimage.gaussian_filter1d(rng.normal(0, 1, shape[1]), rng.uniform(1, 12))
    shore = shape[0] * (rng.uniform(0.4, 1.1) + 0.15 * rough / (np.abs(rough).max() + 1e-9))
    land = np.arange(shape[0])[:, None] > shore
    picture = np.where(land, rng.uniform(0, 60) + 0.2 * (_texture(shape, rng) - 128), picture)
    lights = rng.random(shape) < rng.uniform(0, 0.002)
    picture += rng.uniform(100, 1500) * ndimage.gaussian_filter(lights.astype(float), rng.uniform(0.6, 2.0))
    return ndimage.gaussian_filter(picture, rng.uniform(0, 1)) + rng.normal(0, rng.uniform(0, 2), shape)


def _slope(shape: tuple[int, int], rng: np.random.Generator, most: float) -> np.ndarray:
    down, across = rng.uniform(-most, most, 2)
    return down * np.linspace(-0.5, 0.5, shape[0])[:, None] + across * np.linspace(-0.5, 0.5, shape[1])
