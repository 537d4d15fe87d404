"""Colour pictures as luma and two chroma planes, by the matrix of JPEG files (ITU-R BT.601, full range).

    Y  =  0.299 R + 0.587 G + 0.114 B
    Cb = (B - Y) / 1.772
    Cr = (R - Y) / 1.402

Chroma is zero for grey here; JPEG files add 128 to it.
"""

from __future__ import annotations

import numpy as np

WEIGHTS = np.array([0.299, 0.587, 0.114], np.float32)
"""Shares of red, green and blue in the luma."""

TO_PLANES = np.array(
    [
        [0.299, 0.587, 0.114],
        [-0.299 / 1.772, -0.587 / 1.772, 0.886 / 1.772],
        [0.701 / 1.402, -0.587 / 1.402, -0.114 / 1.402],
    ],
    np.float32,
)
"""Matrix from red, green and blue to Y, Cb and Cr."""

TO_RGB = np.linalg.inv(TO_PLANES.astype(np.float64)).astype(np.float32)
"""Matrix from Y, Cb and Cr to red, green and blue."""

FEW_ROWS = 32
"""Distance of the rows that are looked at first."""

PLANES = ("luma", "cb", "cr")
"""Names of the planes."""


def planes_of(pixels: np.ndarray) -> np.ndarray:
    """Return luma and chroma of colours."""
    return np.asarray(pixels, np.float32) @ TO_PLANES.T


def pixels_of(planes: np.ndarray) -> np.ndarray:
    """Return the colours of luma and chroma, neither rounded nor clipped."""
    return np.asarray(planes, np.float32) @ TO_RGB.T


def stacked(pixels: np.ndarray) -> np.ndarray:
    """Return a picture with three channels; those of a grey picture are equal."""
    return np.stack([pixels] * 3, axis=-1) if pixels.ndim == 2 else pixels


def without_colour(pixels: np.ndarray) -> np.ndarray:
    """Return a picture without channels if all of its pixels are grey, and as it is otherwise."""
    if pixels.ndim == 3 and _is_grey(pixels[::FEW_ROWS]) and _is_grey(pixels):  # a few rows tell most colour pictures
        return np.ascontiguousarray(pixels[..., 0])
    return pixels


def _is_grey(pixels: np.ndarray) -> bool:
    return bool((pixels[..., :1] == pixels[..., 1:]).all())
