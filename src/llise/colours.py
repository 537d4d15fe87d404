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
    """Return luma and chroma of colours.

    Parameters
    ----------
    pixels : ndarray, shape (..., 3)
        Red, green and blue, 0 to 255.

    Returns
    -------
    ndarray of float32, shape (..., 3)
        Y (0 to 255), Cb and Cr (-127.5 to 127.5).

    Examples
    --------
    >>> import numpy as np
    >>> from llise.colours import planes_of
    >>> planes_of(np.array([[90, 90, 90], [255, 0, 0]], np.uint8)).round().tolist()
    [[90.0, 0.0, 0.0], [76.0, -43.0, 128.0]]
    """
    return np.asarray(pixels, np.float32) @ TO_PLANES.T


def pixels_of(planes: np.ndarray) -> np.ndarray:
    """Return the colours of luma and chroma, neither rounded nor clipped.

    Parameters
    ----------
    planes : ndarray, shape (..., 3)
        Y, Cb and Cr.

    Returns
    -------
    ndarray of float32, shape (..., 3)
        Red, green and blue.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.colours import pixels_of, planes_of
    >>> pixels_of(planes_of(np.array([[10, 200, 30]]))).round().tolist()
    [[10.0, 200.0, 30.0]]
    """
    return np.asarray(planes, np.float32) @ TO_RGB.T


def stacked(pixels: np.ndarray) -> np.ndarray:
    """Return a picture with three channels; those of a grey picture are equal.

    Parameters
    ----------
    pixels : ndarray, shape (h, w) or (h, w, 3)
        Grey levels or colours.

    Returns
    -------
    ndarray, shape (h, w, 3)
        The array itself where it has three channels.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.colours import stacked
    >>> stacked(np.array([[7]], np.uint8)).tolist()
    [[[7, 7, 7]]]
    """
    return np.stack([pixels] * 3, axis=-1) if pixels.ndim == 2 else pixels


def without_colour(pixels: np.ndarray) -> np.ndarray:
    """Return a picture without channels if all of its pixels are grey, and as it is otherwise.

    Parameters
    ----------
    pixels : ndarray, shape (h, w) or (h, w, 3)
        Grey levels or colours.

    Returns
    -------
    ndarray, shape (h, w) or (h, w, 3)
        Grey levels where red, green and blue are equal everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.colours import without_colour
    >>> without_colour(np.full((8, 8, 3), 90, np.uint8)).shape
    (8, 8)
    """
    if pixels.ndim == 3 and _is_grey(pixels[::FEW_ROWS]) and _is_grey(pixels):  # a few rows tell most colour pictures
        return np.ascontiguousarray(pixels[..., 0])
    return pixels


def _is_grey(pixels: np.ndarray) -> bool:
    return bool((pixels[..., :1] == pixels[..., 1:]).all())
