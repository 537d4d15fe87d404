"""Wavelet transforms of JPEG 2000 by lifting, to see whether a copy was coded by it.

A signal of even length is divided into even and odd samples; each lifting step adds to one half a multiple of the sum
of the two neighbours in the other half.  At the ends the signal is mirrored, as JPEG 2000 does.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType

import numpy as np

REVERSIBLE = (-0.5, 0.25)
"""Lifting steps of the 5/3 transform: odd samples first, then even ones, and so on."""

IRREVERSIBLE = (-1.586134342, -0.052980118, 0.882911076, 0.443506852)
"""Lifting steps of the 9/7 transform."""

LEVELS = 3
NORMS = ((1.038, 0.7186), (1.592, 0.9218), (2.919, 1.586))
"""Size of the change in the picture by a unit of a 5/3 detail: of both mixed bands and of the last, by level."""


def lift(values: np.ndarray, steps: tuple[float, ...], axis: int) -> np.ndarray:
    """Divide pictures along an axis into their smooth half and their details.

    Parameters
    ----------
    values : ndarray of float32, shape (..., h, w)
        One picture or more; the length of the axis is even.
    steps : tuple of float
        :data:`REVERSIBLE` or :data:`IRREVERSIBLE`.
    axis : {0, 1}
        Down or across.

    Returns
    -------
    ndarray of float32, shape (2, ...)
        The smooth half and the details, half as long along the axis.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.wavelet import REVERSIBLE, lift
    >>> smooth, details = lift(np.float32([[1, 2, 3, 4]]), REVERSIBLE, 1)
    >>> details
    array([[0., 1.]], dtype=float32)
    """
    halves = np.stack([values[_along(axis, slice(first, None, 2))] for first in (0, 1)])
    smooth, details = halves
    for number, step in enumerate(steps):
        _step(smooth, details, number, step, axis)
    return halves


def unlift(smooth: np.ndarray, details: np.ndarray, steps: tuple[float, ...], axis: int) -> np.ndarray:
    """Put a picture together again that :func:`lift` divided.

    Parameters
    ----------
    smooth, details : ndarray of float32
        The two halves.
    steps : tuple of float
        As for :func:`lift`.
    axis : {0, 1}
        As for :func:`lift`.

    Returns
    -------
    ndarray of float32
        Twice as long along the axis.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.wavelet import REVERSIBLE, lift, unlift
    >>> unlift(*lift(np.float32([[1, 2, 3, 4]]), REVERSIBLE, 1), REVERSIBLE, 1)
    array([[1., 2., 3., 4.]], dtype=float32)
    """
    smooth, details = smooth.copy(), details.copy()
    for number in range(len(steps) - 1, -1, -1):
        _step(smooth, details, number, -steps[number], axis)
    height, width = smooth.shape
    values = np.empty((2 * height, width) if axis == 0 else (height, 2 * width), np.float32)
    values[_along(axis, slice(0, None, 2))], values[_along(axis, slice(1, None, 2))] = smooth, details
    return values


def _along(axis: int, part: slice) -> tuple[EllipsisType | slice, ...]:
    """The part of an axis, all of the other ones."""
    return (..., part, slice(None)) if axis == 0 else (..., part)


def _step(smooth: np.ndarray, details: np.ndarray, number: int, step: float, axis: int) -> None:
    """Add a multiple of both neighbours: the steps of even number change the odd samples."""
    before, after, first, last = (
        _along(axis, part) for part in (slice(None, -1), slice(1, None), slice(None, 1), slice(-1, None))
    )
    if number % 2 == 0:
        details[before] += np.float32(step) * (smooth[before] + smooth[after])
        details[last] += np.float32(2 * step) * smooth[last]
    else:
        smooth[after] += np.float32(step) * (details[after] + details[before])
        smooth[first] += np.float32(2 * step) * details[first]


def small_details(values: np.ndarray, steps: tuple[float, ...]) -> list[np.ndarray]:
    """Return where the details of the first two levels vanish up to rounding.

    Parameters
    ----------
    values : ndarray of float32, shape (h, w)
        Picture; sides are multiples of 8.
    steps : tuple of float
        :data:`REVERSIBLE` or :data:`IRREVERSIBLE`.

    Returns
    -------
    list of ndarray of uint8
        For both levels, the number of small details of the two mixed bands, and of the diagonal band.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.wavelet import REVERSIBLE, small_details
    >>> [band.shape for band in small_details(np.zeros((16, 16), np.float32), REVERSIBLE)]
    [(8, 8), (8, 8), (4, 4), (4, 4)]
    """
    bands: list[np.ndarray] = []
    for _ in range(2):
        (values, down), (across, diagonal) = lift(lift(values, steps, 0), steps, 1)
        mixed, other, last = ((np.abs(band) < SMALL).view(np.uint8) for band in (across, down, diagonal))
        bands += [mixed + other, last]
    return bands


SMALL = 0.7
"""Details below this may come from rounding to whole grey levels."""


def code_wavelet(picture: np.ndarray, quantiser_steps: tuple[float, ...]) -> list[np.ndarray]:
    """Return a picture as the 5/3 transform with coarsely quantised details makes it.

    Parameters
    ----------
    picture : ndarray of float32, shape (h, w)
        Picture; sides are multiples of 8.
    quantiser_steps : tuple of float
        Steps in grey levels of the picture.

    Returns
    -------
    list of ndarray of float32, shape (h, w)
        One for each step.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.wavelet import code_wavelet
    >>> picture = np.zeros((16, 16), np.float32)
    >>> picture[3, 3] = 100
    >>> fine, coarse = code_wavelet(picture, (1e-4, 1e4))
    >>> float(np.abs(fine - picture).max()) < 0.01, float(coarse.max()) < 10
    (True, True)
    """
    smooth, details = picture, []
    for _ in range(LEVELS):
        (smooth, down), (across, diagonal) = lift(lift(smooth, REVERSIBLE, 0), REVERSIBLE, 1)
        details.append((across, down, diagonal))
    return [_decoded(smooth, details, step) for step in quantiser_steps]


def _decoded(smooth: np.ndarray, details: Sequence[tuple[np.ndarray, ...]], step: float) -> np.ndarray:
    for (across, down, diagonal), (mixed, last) in zip(reversed(details), reversed(NORMS)):
        low = unlift(smooth, _quantised(across, step / mixed), REVERSIBLE, 1)
        high = unlift(_quantised(down, step / mixed), _quantised(diagonal, step / last), REVERSIBLE, 1)
        smooth = unlift(low, high, REVERSIBLE, 0)
    return smooth


def _quantised(values: np.ndarray, step: float) -> np.ndarray:
    """Quantiser with a dead zone of two steps; levels are restored in their middle."""
    number = np.trunc(values / np.float32(step))
    return (number + np.float32(0.5) * np.sign(number)) * np.float32(step)
