"""Image sets like those of the authors' released code, which differ from what the paper's text says.

There, the contrast stretch only darkens, blur and impulse noise come on top of that darkening, and most of a JPEG
image's error is a shift of its mean (docs/math.md).  They serve to see what that does to the baselines.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llise import distortions
from llise.datasets import TRAINING_LEVELS
from llise.labels import KINDS, PAPER_MIXTURES

JPEG_SHIFT = 0.88  # share of the JPEG images' error that is a shift of the mean


def training_images(image: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Images and labels: the original, and every kind at every level of wanted error."""
    recipes = [(kind, level) for kind in KINDS for level in TRAINING_LEVELS]
    made = [_distorted(image, kind, level, seed + i) for i, (kind, level) in enumerate(recipes)]
    return np.stack([image, *made]), np.array(["original", *(kind for kind, _ in recipes)])


def test_images(image: np.ndarray, mse: float, seed: int = 0) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    """Images and their kinds: singles, and mixtures whose parts have half the error each."""
    recipes: list[tuple[str, ...]] = [*((kind,) for kind in KINDS), *PAPER_MIXTURES]
    return np.stack([_mixture(image, kinds, mse, seed + 1000 + i) for i, kinds in enumerate(recipes)]), recipes


def _mixture(image: np.ndarray, kinds: Sequence[str], mse: float, seed: int) -> np.ndarray:
    for kind in kinds:
        image = _distorted(image, kind, mse / len(kinds), seed)
    return image


def _distorted(image: np.ndarray, kind: str, mse: float, seed: int) -> np.ndarray:
    if kind == "contrast":
        return _shifted(image, -mse)
    if kind == "luminance":
        return _shifted(image, mse)
    if kind == "jpeg":
        coded = distortions.make(image, kind, (1 - JPEG_SHIFT) * mse, seed, amplify=True, warn=False).image
        return _shifted(coded, -JPEG_SHIFT * mse)
    base = image if kind == "gaussian_noise" else _shifted(image, -mse)
    return distortions.make(base, kind, mse, seed, warn=False).image


def _shifted(image: np.ndarray, mse: float) -> np.ndarray:
    """Lighter by an error of ``mse``, or darker where it is negative; clipped."""
    shift = np.sign(mse) * np.sqrt(abs(mse))
    return np.clip(np.rint(image + shift), 0, 255).astype(np.uint8)
