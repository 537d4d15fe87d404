"""Luma and chroma of the pixels of an area, one plane after the other, without the margins that only blurs need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llise.colours import TO_PLANES
from llise.differences import BLOCK

Runs = tuple[tuple[int, int], ...]
"""Beginnings and ends of rows, or of columns, that follow one another."""


@dataclass(frozen=True, eq=False)
class AreaPlanes:
    """Y, Cb and Cr of the pixels of an area.

    Attributes
    ----------
    before, after : ndarray of float32, shape (3, h, w)
        Of the reference and of the copy: blocks of the area, and those around them.
    whole, half : ndarray of float32, shape (3, height, width) and (3, height // 2, width // 2)
        Of the reference with all of its margins, and means of its squares of 2 x 2 pixels.
    rows, columns : tuple of tuple of int
        Which rows and columns of ``whole`` are those of ``before``.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.planes import area_planes
    >>> image, mask = np.zeros((80, 80, 3), np.float32), np.zeros((80, 80), bool)
    >>> mask[32:48, 32:48] = True
    >>> area_planes(image, image, mask).before.shape
    (3, 32, 32)
    """

    before: np.ndarray
    after: np.ndarray
    whole: np.ndarray
    half: np.ndarray
    rows: Runs
    columns: Runs

    def crop(self, values: np.ndarray) -> np.ndarray:
        """Return the pixels of a picture that are those of ``before``.

        Parameters
        ----------
        values : ndarray, shape (height, width, ...)
            A picture with all margins.

        Returns
        -------
        ndarray, shape (h, w, ...)
            Without the margins.
        """
        return values[self.places(self.rows)][:, self.places(self.columns)]

    @staticmethod
    def places(runs: Runs) -> np.ndarray:
        """Return the numbers of all rows, or columns.

        Parameters
        ----------
        runs : tuple of tuple of int
            Their beginnings and ends.

        Returns
        -------
        ndarray of int
            In order.
        """
        return np.concatenate([np.arange(start, stop) for start, stop in runs])


def area_planes(reference: np.ndarray, copy: np.ndarray, mask: np.ndarray) -> AreaPlanes:
    """Convert the pixels of an area.

    Parameters
    ----------
    reference, copy : ndarray of float32, shape (height, width, 3)
        Pixels of both pictures, cut on the grid of blocks.
    mask : ndarray of bool, shape (height, width)
        Pixels of the area.

    Returns
    -------
    AreaPlanes
        Planes of both.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.planes import area_planes
    >>> image = np.full((16, 16, 3), 90, np.float32)
    >>> area_planes(image, image, np.ones((16, 16), bool)).half[0, 0, 0]
    np.float32(90.0)
    """
    rows, columns = (_runs(np.asarray(mask.any(axis=axis))) for axis in (1, 0))
    whole = planar(reference)
    pairs = whole[:, ::2] + whole[:, 1::2]
    half = np.float32(0.25) * (pairs[..., ::2] + pairs[..., 1::2])
    out = AreaPlanes(whole, whole, whole, half, rows, columns)
    places = out.places(columns)
    before = whole[:, out.places(rows)][..., places]
    return AreaPlanes(before, planar(out.crop(copy)), whole, half, rows, columns)


def planar(pixels: np.ndarray) -> np.ndarray:
    """Return luma and chroma, one plane after the other.

    Parameters
    ----------
    pixels : ndarray of float32, shape (h, w, 3)
        Red, green and blue.

    Returns
    -------
    ndarray of float32, shape (3, h, w)
        Y, Cb and Cr.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.planes import planar
    >>> planar(np.array([[[255, 0, 0]]], np.float32)).round().tolist()
    [[[76.0]], [[-43.0]], [[128.0]]]
    """
    return (TO_PLANES @ pixels.reshape(-1, 3).T).reshape(3, *pixels.shape[:2])


def _runs(used: np.ndarray) -> Runs:
    """Blocks that are used, with one more on each side."""
    blocks = np.pad(used.reshape(-1, BLOCK).any(axis=1), 2)
    blocks = blocks[:-2] | blocks[1:-1] | blocks[2:]  # begins one block further up
    blocks[[0, -1]] = False
    edges = np.flatnonzero(np.diff(blocks.astype(np.int8))) * BLOCK
    return tuple((int(start), int(stop)) for start, stop in edges.reshape(-1, 2))
