"""The reference blurred as much as a copy is, so that the two can be brought to the same place exactly.

Against a blurred copy the sharp reference fits badly wherever it lies, and fits best between its pixels, where
interpolation blurs it.  A coder that drops fine detail does the same.  Both are described well by one factor for each
spatial frequency, the same in all directions: it changes how sharp a picture is and moves nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from llise.diagnosis.alignment.reduced_pictures import Level
from llise.filters import from_spectrum, spectrum_of
from llise.kinds.warping import Interpolator, Transform

RINGS = 24
"""Rings of spatial frequencies up to half a cycle in a pixel, each with a factor of its own."""

SIDE = 256
"""Longest sides of the middle of the pictures from which the factors are measured."""

AROUND = 16
"""Pixels around this middle on which a spline depends, up to rounding."""

PADDING = 32
"""Pixels by which a picture goes on beyond its border, mirrored, when it is blurred."""


def match_blur(level: Level, at: Transform) -> Level:
    """Make the reference as blurred as the copy.

    Parameters
    ----------
    level : Level
        The pictures.
    at : Transform
        How the copy is moved, as far as that is known; half a pixel beside it does little harm.

    Returns
    -------
    Level
        With the blurred reference.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import ndimage
    >>> from llise.diagnosis.alignment.matched_blur import match_blur
    >>> from llise.diagnosis.alignment.reduced_pictures import levels
    >>> picture = np.random.default_rng(0).uniform(0, 255, (96, 96))
    >>> blurred = ndimage.gaussian_filter(picture, 1.0, mode="mirror")
    >>> matched = match_blur(levels(picture, blurred)[-1], Transform()).reference
    >>> bool(np.abs(matched - blurred)[8:-8, 8:-8].mean() < 0.05 * np.abs(picture - blurred).mean())
    True
    """
    frequencies, factors = _transfer(level, at)
    reference = level.reference
    sides = (_fast_length(side + 2 * PADDING) for side in reference.shape)
    pads = [(PADDING, long - short - PADDING) for long, short in zip(sides, reference.shape)]
    padded = np.pad(reference, pads, mode="symmetric")
    spectrum = spectrum_of(padded)
    spectrum *= np.interp(_frequencies(padded.shape), frequencies, factors).astype(np.float32)
    rows, cols = (slice(PADDING, PADDING + side) for side in reference.shape)
    return replace(level, reference=np.ascontiguousarray(from_spectrum(spectrum, padded.shape)[rows, cols]))


def _fast_length(least: int) -> int:
    """The next length without other prime factors than 2, 3 and 5, which is transformed quickly."""
    twos, threes, fives = np.ogrid[: least.bit_length() + 1, : least.bit_length(), : least.bit_length()]
    lengths = 2**twos * 3**threes * 5**fives
    return int(lengths[lengths >= least].min())


def _transfer(level: Level, at: Transform) -> tuple[np.ndarray, np.ndarray]:
    """Spatial frequencies, and the factors on them that bring the moved reference nearest to the copy."""
    places = [np.arange(max(side - SIDE, 0) // 2, (side + min(side, SIDE)) // 2) for side in level.copy.shape]
    rows, cols = places[0][:, None], places[1]
    y, x = np.broadcast_arrays(*level.sources(at, rows.astype(np.float64), cols.astype(np.float64)))
    height, width = level.reference.shape
    top, left = (int(np.clip(at.min() - AROUND, 0, side - 1)) for at, side in ((y, height), (x, width)))
    bottom, right = (int(np.clip(at.max() + AROUND + 1, 1, side)) for at, side in ((y, height), (x, width)))
    moved = Interpolator(level.reference[top:bottom, left:right], "spline")(y - top, x - left)
    distance = np.minimum(np.minimum(y, height - 1 - y), np.minimum(x, width - 1 - x))
    # The window falls off to the border of the picture and to that of the reference.
    window = np.outer(*(_faded(len(place)) for place in places)) * np.clip(distance / PADDING, 0, 1) ** 2
    before, after = (_spectrum(picture, window) for picture in (moved, level.copy[rows, cols]))
    ring = np.minimum(2 * RINGS * _frequencies(moved.shape), 1.3 * RINGS).astype(np.intp).ravel()
    power = np.bincount(ring, (np.abs(before) ** 2).ravel())
    shared = np.bincount(ring, (np.conj(before) * after).real.ravel())
    return (np.arange(len(power)) + 0.5) / (2 * RINGS), shared / np.maximum(power, 1e-9)


def _faded(length: int) -> np.ndarray:
    """A window that rises within an eighth of a side."""
    rise = np.sin(np.pi * (np.arange(max(length // 8, 1)) + 0.5) / (2 * max(length // 8, 1))) ** 2
    window = np.ones(length)
    window[: len(rise)], window[-len(rise) :] = rise, rise[::-1]
    return window


def _spectrum(picture: np.ndarray, window: np.ndarray) -> np.ndarray:
    mean = float((window * picture).sum() / max(window.sum(), 1e-9))
    return spectrum_of((window * (picture - mean)).astype(np.float32))


def _frequencies(shape: tuple[int, ...]) -> np.ndarray:
    """Spatial frequency of each number of a spectrum, in cycles for a pixel."""
    down, across = np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])
    return np.asarray(np.hypot(down, across))
