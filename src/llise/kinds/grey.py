"""Grey 8-bit images: checking that an array is one, rounding to one, comparing two."""

from __future__ import annotations

from typing import Any

import numpy as np

_EXACT = 256  # squares of 8-bit differences whose sum float32 holds exactly, in any order


def check_image(image: Any, name: str = "image") -> np.ndarray:
    """Return an image as an array after making sure that it is grey and has 8 bits.

    Parameters
    ----------
    image : array-like
        Image to check.
    name : str
        What the error message calls it.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        The image as an array.

    Raises
    ------
    ValueError
        If the image has colours, another depth or no pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import distortions
    >>> distortions.check_image(np.zeros((4, 6), np.uint8)).shape
    (4, 6)
    """
    array = np.asarray(image)
    if array.ndim != 2 or array.dtype != np.uint8 or array.size == 0:
        raise ValueError(
            f"{name} has shape {array.shape} and dtype {array.dtype}; expected a grey 8-bit image, "
            "(h, w) of uint8: llise.read_image reads files of any depth and colour as that"
        )
    return array


def mse(a: np.ndarray, b: np.ndarray) -> float:
    """Return the mean squared error of two images, on their own scale.

    Parameters
    ----------
    a, b : ndarray
        Images of one shape.

    Returns
    -------
    float
        Mean of the squared differences.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.distortions import mse
    >>> mse(np.array([0, 10], np.uint8), np.array([2, 6], np.uint8))
    10.0
    """
    # Not a BLAS product: waiting for its threads would take far longer than the sum itself.
    if a.dtype == b.dtype == np.uint8 and a.size % _EXACT == 0:
        rows = np.subtract(a, b, dtype=np.int16).astype(np.float32).reshape(-1, _EXACT)
        return float(np.einsum("ij,ij->i", rows, rows).sum(dtype=np.float64)) / a.size
    difference = np.subtract(a, b, dtype=np.float64).ravel()
    return float(np.einsum("i,i", difference, difference)) / difference.size


def quantise(values: np.ndarray, threshold: np.ndarray | None = None) -> np.ndarray:
    """Round and clip grey levels to 8 bits.

    Parameters
    ----------
    values : ndarray
        Grey levels; an array of uint8 is returned as it is.
    threshold : ndarray, optional
        Round up where the fraction is at least 1 - `threshold`, else down; to the nearest level if left out.

    Returns
    -------
    ndarray of uint8
        Grey levels 0 to 255.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.distortions import quantise
    >>> quantise(np.array([-3.0, 6.4, 6.7, 300.0]))
    array([  0,   6,   7, 255], dtype=uint8)
    """
    if values.dtype == np.uint8:
        return values
    rounded = np.rint(values) if threshold is None else np.floor(values + threshold)
    return np.clip(rounded, 0, 255, out=rounded).astype(np.uint8)
