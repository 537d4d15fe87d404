"""Two pictures reduced by halves, from sizes on which much can be compared quickly up to the pictures themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llise.kinds.warping import Transform

SEARCHED_SIDE = 96
"""Longest side of the pictures on which shifts are compared."""


@dataclass(frozen=True, eq=False)
class Level:
    """Two pictures, reduced by a factor.

    Attributes
    ----------
    reference, copy : ndarray of float32, shape (h, w)
        The reduced pictures.
    factor : int
        Pixels of the originals along one of theirs.
    shape : tuple of int
        Height and width of the originals.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.reduced_pictures import levels
    >>> picture = np.zeros((200, 400), np.uint8)
    >>> [level.factor for level in levels(picture, picture)]
    [8, 4, 2, 1]
    """

    reference: np.ndarray
    copy: np.ndarray
    factor: int
    shape: tuple[int, int]

    def sources(self, transform: Transform, rows: np.ndarray, cols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return places in the reduced reference from which pixels of the reduced copy come.

        Parameters
        ----------
        transform : Transform
            In pixels of the originals.
        rows, cols : ndarray
            Pixels of the reduced copy.

        Returns
        -------
        y, x : ndarray
            Row and column in the reduced reference.
        """
        first = (self.factor - 1) / 2
        y, x = transform.sources(self.shape, self.factor * rows + first, self.factor * cols + first)
        return (y - first) / self.factor, (x - first) / self.factor


def levels(reference: np.ndarray, copy: np.ndarray) -> list[Level]:
    """Reduce two pictures by halves.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The pictures.

    Returns
    -------
    list of Level
        The smallest first; the last one has the pictures themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.reduced_pictures import levels
    >>> levels(np.zeros((64, 64), np.uint8), np.zeros((64, 64), np.uint8))[0].factor
    1
    """
    height, width = reference.shape
    pyramid = [Level(reference.astype(np.float32), copy.astype(np.float32), 1, (height, width))]
    while max(pyramid[-1].reference.shape) > SEARCHED_SIDE and min(pyramid[-1].reference.shape) >= 32:
        last = pyramid[-1]
        pyramid.append(Level(_halved(last.reference), _halved(last.copy), 2 * last.factor, last.shape))
    return pyramid[::-1]


def _halved(picture: np.ndarray) -> np.ndarray:
    rows, cols = (side // 2 * 2 for side in picture.shape)
    even, odd = picture[:rows:2], picture[1:rows:2]
    columns = even + odd
    return (columns[:, :cols:2] + columns[:, 1:cols:2]) / 4
