"""Chroma blur: both chroma planes lose detail, the luma stays; coarse subsampling of chroma does the same."""

from __future__ import annotations

import numpy as np
import scipy

from llise.colours import pixels_of, planes_of
from llise.kinds.base import Draw, Path
from llise.kinds.color_base import ColorKind


class ChromaBlur(ColorKind):
    """Gaussian blur of the chroma planes; the strength is the standard deviation of the kernel in pixels.

    At random, one draw in three keeps the mean of each square of chroma instead, as coders with coarse subsampling do;
    the parameter of a draw is ``sigma``, for a square that of a box of its side.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.chroma_blur import ChromaBlur
    >>> image = np.zeros((16, 16, 3), np.uint8)
    >>> image[:, 8:] = 200, 60, 60
    >>> copy = ChromaBlur().path(image, np.random.default_rng(0))(2.0)
    >>> bool(copy[0, 6, 0] > copy[0, 6, 2])
    True
    """

    name = "chroma_blur"
    title = "chroma blur"
    short_title = "chroma blur"
    strongest = 60.0

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        planes = planes_of(image)
        return lambda strength: pixels_of(blurred_chroma(planes, strength))

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: float) -> Draw:
        if rng.random() < 2 / 3:
            return Draw(self.path(image, rng), 30.0, lambda strength: {"sigma": strength})
        planes = planes_of(image)
        return Draw(
            lambda strength: pixels_of(subsampled_chroma(planes, max(round(strength), 1))),
            32.0,
            lambda strength: {"sigma": float(np.sqrt((max(round(strength), 1) ** 2 - 1) / 12))},
        )


def blurred_chroma(planes: np.ndarray, sigma: float) -> np.ndarray:
    """Blur Cb and Cr by a Gaussian.

    Parameters
    ----------
    planes : ndarray, shape (h, w, 3)
        Y, Cb and Cr.
    sigma : float
        Standard deviation in pixels.

    Returns
    -------
    ndarray of float32, shape (h, w, 3)
        Y as it was, and blurred chroma.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.chroma_blur import blurred_chroma
    >>> planes = np.zeros((9, 9, 3), np.float32)
    >>> planes[4, 4] = 90
    >>> blurred_chroma(planes, 1.0)[4, 4].round().tolist()
    [90.0, 14.0, 14.0]
    """
    if sigma <= 1e-3:
        return planes
    blurred = scipy.ndimage.gaussian_filter(planes[..., 1:], (sigma, sigma, 0), mode="nearest")
    return np.concatenate([planes[..., :1], blurred], axis=-1)


def subsampled_chroma(planes: np.ndarray, side: int) -> np.ndarray:
    """Replace Cb and Cr by their means over squares.

    Parameters
    ----------
    planes : ndarray, shape (h, w, 3)
        Y, Cb and Cr.
    side : int
        Side of the squares in pixels.

    Returns
    -------
    ndarray of float32, shape (h, w, 3)
        Y as it was, and coarse chroma.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.chroma_blur import subsampled_chroma
    >>> planes = np.zeros((2, 2, 3), np.float32)
    >>> planes[0, 0] = 8
    >>> subsampled_chroma(planes, 2)[..., 1].tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """
    return np.concatenate([planes[..., :1], square_means(planes[..., 1:], side)], axis=-1)


def square_means(values: np.ndarray, side: int) -> np.ndarray:
    """Replace values by their means over squares.

    Parameters
    ----------
    values : ndarray, shape (h, w, n)
        Planes.
    side : int
        Side of the squares in pixels; squares that the border cuts are filled with the values at it.

    Returns
    -------
    ndarray, shape (h, w, n)
        One value in each square.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.chroma_blur import square_means
    >>> square_means(np.arange(4.0).reshape(1, 4, 1), 2)[0, :, 0].tolist()
    [0.5, 0.5, 2.5, 2.5]
    """
    height, width, n = values.shape
    if height % side or width % side:
        values = np.pad(values, [(0, -height % side), (0, -width % side), (0, 0)], mode="edge")
    rows, cols = values.shape[0] // side, values.shape[1] // side
    # Whole rows of pixels are added first, which is several times faster than adding squares.
    means = values.reshape(rows, side, -1).mean(axis=1).reshape(rows, cols, side, n).mean(axis=2)
    return means.repeat(side, 0).repeat(side, 1)[:height, :width]
