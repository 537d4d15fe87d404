"""Ten kinds that are not built in, each a function of an image, a strength and a generator, as users write them."""

from __future__ import annotations

import io

import numpy as np
from numpy.random import Generator
from PIL import Image
from scipy import ndimage

BAYER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 16 - 0.47


def fog(image: np.ndarray, strength: float, rng: Generator) -> np.ndarray:
    """A veil of light grey."""
    return image + strength * (225 - image)


def vignette(image: np.ndarray, strength: float, rng: Generator) -> np.ndarray:
    """Darker towards the corners."""
    y, x = (np.linspace(-1, 1, n) for n in image.shape)
    return image * (1 - 0.5 * strength * np.add.outer(y**2, x**2))


def scan_lines(image: np.ndarray, strength: float, rng: Generator) -> np.ndarray:
    """Every other row darker."""
    return image * (1 - strength * (np.arange(len(image)) % 2))[:, None]


def median_filter(image: np.ndarray, strength: float, rng: Generator) -> np.ndarray:
    """Medians of ever larger windows."""
    steps = [image, *(ndimage.median_filter(image, size, mode="nearest") for size in (3, 5, 7))]
    number = min(int(3 * strength), 2)
    share = 3 * strength - number
    return (1 - share) * steps[number] + share * steps[number + 1]


def emboss(image: np.ndarray, strength: float, rng: Generator) -> np.ndarray:
    """Relief of the diagonal slope."""
    return image + 1.5 * strength * (image - np.roll(image, (1, 1), (0, 1)))


def solarise(image: np.ndarray, strength: float, rng: Generator) -> np.ndarray:
    """Light greys reversed."""
    turn = 255 * (1 - 0.7 * strength)
    return np.where(image > turn, 2 * turn - image, image)


def film_grain(image: np.ndarray, strength: float, rng: Generator) -> np.ndarray:
    """Soft noise, strongest in the middle greys."""
    field = ndimage.gaussian_filter(rng.standard_normal(image.shape), 0.9)
    grey = np.clip(image / 255, 0, 1)
    return image + 60 * strength * field / field.std() * np.sqrt(np.clip(4 * grey * (1 - grey), 0.02, 1))


def webp(image: np.ndarray, strength: float, rng: Generator) -> np.ndarray:
    """WebP coding, quality 80 to 0."""
    stream = io.BytesIO()
    picture = Image.fromarray(np.clip(np.rint(image), 0, 255).astype(np.uint8)).convert("RGB")
    picture.save(stream, "WEBP", quality=round(80 * (1 - strength)), method=2)
    return np.asarray(Image.open(stream).convert("L"))


def ghosting(image: np.ndarray, strength: float, rng: Generator) -> np.ndarray:
    """A fainter copy beside the picture."""
    return image + 0.5 * strength * (np.roll(image, (3, 9), (0, 1)) - image)


def ordered_dither(image: np.ndarray, strength: float, rng: Generator) -> np.ndarray:
    """Few grey levels, with the pattern of Bayer."""
    pattern = np.tile(BAYER, [n // 4 + 1 for n in image.shape])[: image.shape[0], : image.shape[1]]
    step = 1 + 100 * strength
    return np.rint(image / step + pattern) * step


FUNCTIONS = {
    function.__name__: function
    for function in (
        fog, vignette, scan_lines, median_filter, emboss, solarise, film_grain, webp, ghosting, ordered_dither,
    )
}  # fmt: skip
"""The functions by the name of their kind."""
