"""Programs of scikit-image, and two of a few lines: an arctangent curve, JPEG with MPEG's quantiser table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from skimage import exposure, filters, util

from faults.programs import Copies, Program
from llise.kinds.jpeg import code_jpeg

TITLE = "scikit-image"
MPEG_TABLE = np.array(
    [
        [8, 16, 19, 22, 26, 27, 29, 34],
        [16, 16, 22, 24, 27, 29, 34, 37],
        [19, 22, 26, 27, 29, 34, 34, 38],
        [22, 22, 26, 27, 29, 34, 37, 40],
        [22, 26, 27, 29, 32, 35, 40, 48],
        [26, 27, 29, 32, 35, 40, 48, 58],
        [26, 27, 29, 34, 38, 46, 56, 69],
        [27, 29, 35, 38, 46, 56, 69, 83],
    ],
    dtype=float,
)


def programs() -> list[Program]:
    """Return the programs."""
    return [
        Program("scikit-image gaussian", "blur", _gaussian),
        Program("JPEG, MPEG table", "jpeg", _mpeg),
        Program("scikit-image rescale_intensity", "contrast", _rescale),
        Program("arctangent about mid-grey", "contrast", _arctangent(lambda image: 127.5)),
        Program("arctangent about the mean", "contrast", _arctangent(lambda image: float(image.mean()))),
        Program("scikit-image random_noise gaussian", "gaussian_noise", _random_gaussian),
        Program("scikit-image random_noise s&p", "impulse_noise", _salt_and_pepper(0.5)),
        Program("scikit-image random_noise s&p, salt 0.2", "impulse_noise", _salt_and_pepper(0.2)),
        Program("scikit-image random_noise s&p, salt 0.9", "impulse_noise", _salt_and_pepper(0.9)),
    ]


def _gaussian(image: np.ndarray, seed: int, direction: int) -> Copies:
    return Copies(lambda s: 255 * filters.gaussian(image / 255.0, s, mode="reflect"), 20, lambda s: {"sigma": s})


def _mpeg(image: np.ndarray, seed: int, direction: int) -> Copies:
    return Copies(lambda s: code_jpeg(image, s * MPEG_TABLE) if s > 0 else image, 32)


def _rescale(image: np.ndarray, seed: int, direction: int) -> Copies:
    """Stretch or squeeze the grey levels about 128."""

    def path(strength: float) -> np.ndarray:
        low, high = 128 - 128 / (1 + strength), 128 + 127 / (1 + strength)
        inner, whole = (low, high), (0.0, 255.0)
        ranges = (inner, whole) if direction > 0 else (whole, inner)
        return exposure.rescale_intensity(image.astype(float), in_range=ranges[0], out_range=ranges[1])

    return Copies(path, 3, lambda s: {"gain": (1 + s) ** direction, "pivot": 128.0})


def _arctangent(middle: Callable[[np.ndarray], float]) -> Callable[[np.ndarray, int, int], Copies]:
    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        levels, pivot = np.linspace(0, 1, 256), middle(image) / 255

        def path(strength: float) -> np.ndarray:
            if strength < 1e-6:
                return image
            raw = np.arctan(strength * (levels - pivot))
            curve = (raw - raw[0]) / (raw[-1] - raw[0])
            table = curve if direction > 0 else np.interp(levels, curve, levels)
            return (255 * table)[image]

        return Copies(path, 60)

    return build


def _random_gaussian(image: np.ndarray, seed: int, direction: int) -> Copies:
    def path(strength: float) -> np.ndarray:
        return 255 * util.random_noise(image, "gaussian", rng=seed, var=(strength / 255) ** 2)

    return Copies(path, 80, lambda s: {"sigma": s})


def _salt_and_pepper(salt: float) -> Callable[[np.ndarray, int, int], Copies]:
    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        def path(strength: float) -> np.ndarray:
            return 255 * util.random_noise(image, "s&p", rng=seed, amount=strength, salt_vs_pepper=salt)

        return Copies(path, 0.5, lambda s: {"share": s, "salt": salt})

    return build
