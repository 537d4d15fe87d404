"""Image sets like those of the authors' released code, which differ from what the paper's text says.

In that code, the contrast stretch only darkens the image, blur and impulse noise are applied to a darkened image, and
most of the error of a JPEG image is a shift of its mean (docs/math.md). These sets show what that does to the
baselines.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llise import distortions
from llise.datasets import TRAINING_LEVELS
from llise.labels import KINDS, PAPER_MIXTURES

JPEG_SHIFT = 0.88
"""Share of the JPEG images' error that is a shift of the mean."""


def training_images(image: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Make the training images: the original, and every kind at every level of wanted error."""
    recipes = [(kind, level) for kind in KINDS for level in TRAINING_LEVELS]
    copies = [_distort(image, kind, level, seed + i) for i, (kind, level) in enumerate(recipes)]
    return np.stack([image, *copies]), np.array(["original", *(kind for kind, _ in recipes)])


def test_images(image: np.ndarray, mse: float, seed: int = 0) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    """Make the test images: single distortions, and mixtures of two that have half the error each."""
    recipes: list[tuple[str, ...]] = [*((kind,) for kind in KINDS), *PAPER_MIXTURES]
    return np.stack([_mixture(image, kinds, mse, seed + 1000 + i) for i, kinds in enumerate(recipes)]), recipes


def _mixture(image: np.ndarray, kinds: Sequence[str], mse: float, seed: int) -> np.ndarray:
    for kind in kinds:
        image = _distort(image, kind, mse / len(kinds), seed)
    return image


def _distort(image: np.ndarray, kind: str, mse: float, seed: int) -> np.ndarray:
    if kind == "contrast":
        return _shift(image, -mse)
    if kind == "luminance":
        return _shift(image, mse)
    if kind == "jpeg":
        coded = distortions.make(image, kind, (1 - JPEG_SHIFT) * mse, seed, amplify=True, warn=False).image
        return _shift(coded, -JPEG_SHIFT * mse)
    base = image if kind == "gaussian_noise" else _shift(image, -mse)
    return distortions.make(base, kind, mse, seed, warn=False).image


def _shift(image: np.ndarray, mse: float) -> np.ndarray:
    """Make the image lighter by an error of `mse`, or darker where `mse` is negative."""
    offset = np.sign(mse) * np.sqrt(abs(mse))
    return np.clip(np.rint(image + offset), 0, 255).astype(np.uint8)
