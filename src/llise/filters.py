"""Filters of pictures as SciPy's ``ndimage`` and ``fft`` compute them, by NumPy alone.

SciPy takes longer to import than a diagnosis takes, so what every diagnosis needs is here; what few of them need is
taken from SciPy where it is needed.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np

ROWS = 128
"""Rows that are filtered at once, so that they stay in a processor's cache."""

SPLINE_POLE, SPLINE_REACH = np.sqrt(3.0) - 2, 13
"""Ratio of each weight to the next in the filter that gives the coefficients of a cubic spline, and the distance in
pixels from which on they are below the rounding of 32-bit numbers."""


def gaussian(values: np.ndarray, sigma: float, truncate: float = 4.0) -> np.ndarray:
    """Return a picture smoothed by a Gaussian kernel; beyond the border it goes on as its last pixels.

    Parameters
    ----------
    values : ndarray of float, shape (h, w)
        The picture.
    sigma : float
        Width of the kernel in pixels, above 0.
    truncate : float
        Widths at which the kernel is cut off.

    Returns
    -------
    ndarray, shape (h, w)
        The smoothed picture, of the same type.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.filters import gaussian
    >>> gaussian(np.eye(3), 0.5).round(2)
    array([[0.81, 0.18, 0.01],
           [0.18, 0.64, 0.18],
           [0.01, 0.18, 0.81]])
    """
    weights = np.exp(-0.5 * (np.arange(int(truncate * sigma + 0.5) + 1) / sigma) ** 2)
    return _filtered(values, weights / (2 * weights.sum() - weights[0]), "edge")


def spline_coefficients(picture: np.ndarray) -> np.ndarray:
    """Return the coefficients of the cubic spline through the pixels of a picture, which is mirrored at its borders.

    Parameters
    ----------
    picture : ndarray of float, shape (h, w)
        The picture.

    Returns
    -------
    ndarray, shape (h, w)
        Coefficients, of the same type; the values at the pixels are (1/6, 4/6, 1/6) of them, down and across.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.filters import spline_coefficients
    >>> spline_coefficients(np.full((4, 4), 5, np.float32))[0].round(3)
    array([5., 5., 5., 5.], dtype=float32)
    """
    return _filtered(picture, np.sqrt(3.0) * SPLINE_POLE ** np.arange(SPLINE_REACH + 1), "reflect")


def _filtered(values: np.ndarray, weights: np.ndarray, outside: Literal["edge", "reflect"]) -> np.ndarray:
    """The picture filtered along both axes; weights are those of the pixel itself, the next ones, and so on."""
    weights = weights.astype(values.dtype)
    reach = len(weights) - 1
    padded = np.pad(values, [(reach, reach), (0, 0)], mode=outside)
    out = np.empty_like(values)
    for top in range(0, len(values), ROWS):
        rows = slice(top, min(top + ROWS, len(values)))
        part = _weighed(padded[rows.start : rows.stop + 2 * reach].T, weights).T
        out[rows] = _weighed(np.pad(part, [(0, 0), (reach, reach)], mode=outside), weights)
    return out


def _weighed(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sums along the last axis of a kernel times the values, where all of it lies inside; its weights sum to 1.

    What is added are the differences from the middle: rounding then is as small as these.
    """
    reach, count = len(weights) - 1, values.shape[-1] - 2 * len(weights) + 2
    middle = values[..., reach : reach + count]
    twice, change = 2 * middle, np.zeros_like(middle)
    for distance in range(1, reach + 1):
        pair = values[..., reach - distance :][..., :count] + values[..., reach + distance :][..., :count]
        pair -= twice
        pair *= weights[distance]
        change += pair
    return middle + change


@cache
def gaussian_matrix(length: int, sigma: float) -> np.ndarray:
    """Return the matrix by which a Gaussian kernel smooths short signals, which is quicker for several of them.

    Parameters
    ----------
    length : int
        Length of the signals.
    sigma : float
        Width of the kernel, above 0.

    Returns
    -------
    ndarray, shape (length, length)
        Weights; rows sum to 1.

    Examples
    --------
    >>> from llise.filters import gaussian_matrix
    >>> gaussian_matrix(3, 0.5).round(2)
    array([[0.89, 0.11, 0.  ],
           [0.11, 0.79, 0.11],
           [0.  , 0.11, 0.89]])
    """
    reach = int(4 * sigma + 0.5)
    offsets = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * (offsets / sigma) ** 2)
    matrix = np.zeros((length, length))
    rows = np.arange(length)[:, None]
    np.add.at(matrix, (rows, np.clip(rows + offsets, 0, length - 1)), weights / weights.sum())
    return matrix


def spectrum_of(picture: np.ndarray) -> np.ndarray:
    """Return the spectrum of a picture, to be turned back by :func:`from_spectrum`.

    Both are scaled alike ("ortho"): NumPy computes a transform that is not scaled with 64 bits, also of 32-bit numbers,
    which takes several times as long.

    Parameters
    ----------
    picture : ndarray of float, shape (h, w)
        The picture.

    Returns
    -------
    ndarray of complex, shape (h, w // 2 + 1)
        Its coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.filters import spectrum_of
    >>> abs(spectrum_of(np.ones((2, 2), np.float32))).round(3)
    array([[2., 0.],
           [0., 0.]], dtype=float32)
    """
    spectrum = np.fft.rfft(picture, norm="ortho")
    return np.fft.fft(spectrum, axis=0, norm="ortho", out=spectrum)


def from_spectrum(spectrum: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the picture that has a spectrum.

    Parameters
    ----------
    spectrum : ndarray of complex, shape (h, w // 2 + 1)
        As :func:`spectrum_of` gives it.
    shape : tuple of int
        Height and width of the picture.

    Returns
    -------
    ndarray, shape (h, w)
        The picture.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.filters import from_spectrum, spectrum_of
    >>> from_spectrum(spectrum_of(np.array([[1.0, 3.0, 2.0]])), (1, 3)).round(6)
    array([[1., 3., 2.]])
    """
    return np.fft.irfft2(spectrum, s=shape, norm="ortho")


def mean_around(values: np.ndarray, side: int, outside: Literal["edge", "constant"] = "edge") -> np.ndarray:
    """Return the mean of the square around each pixel.

    Parameters
    ----------
    values : ndarray, shape (h, w)
        A picture.
    side : int
        Side of the square in pixels, odd.
    outside : {"edge", "constant"}
        What lies beyond the border: the last pixels, or zeros.

    Returns
    -------
    ndarray of float64, shape (h, w)
        Means.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.filters import mean_around
    >>> mean_around(np.array([[0, 9, 0]]), 3)
    array([[3., 3., 3.]])
    """
    values = np.pad(np.asarray(values, np.float64), side // 2, mode=outside)
    for _ in range(2):
        count = len(values) - side + 1
        values = sum((values[first : first + count] for first in range(1, side)), start=values[:count]).T
    return values / side**2


def greatest_around(values: np.ndarray) -> np.ndarray:
    """Return the greatest value of each pixel and the eight around it.

    Parameters
    ----------
    values : ndarray, shape (h, w)
        A picture.

    Returns
    -------
    ndarray, shape (h, w)
        Greatest values.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.filters import greatest_around
    >>> greatest_around(np.array([[1, 0, 0, 2, 0]]))
    array([[1, 1, 2, 2, 2]])
    """
    for _ in range(2):
        padded = np.pad(values, [(1, 1), (0, 0)], mode="edge")
        values = np.maximum(np.maximum(padded[:-2], padded[2:]), values).T
    return values
