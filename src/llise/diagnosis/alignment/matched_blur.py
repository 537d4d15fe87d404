"""The reference blurred as much as a copy is, so that the two can be brought to the same place exactly.

Against a blurred copy the sharp reference fits badly wherever it lies, and fits best between its pixels, where
interpolation blurs it. A coder that drops fine detail does the same. Both are described well by one factor for each
spatial frequency, the same in all directions: it changes how sharp a picture is and moves nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import fft

from llise.diagnosis.alignment.places import Level
from llise.kinds.warping import Interpolator

RINGS = 24
"""Rings of spatial frequencies up to half a cycle in a pixel, each with a factor of its own."""

SIDE, PADDING = 256, 32
"""Longest sides of the middle from which the factors are measured; pixels by which a picture goes on, mirrored."""


def match_blur(level: Level, at: np.ndarray) -> Level:
    """Make the reference as blurred as the copy, which is moved by `at`; half a pixel beside it does little harm."""
    factors = _transfer(level, at)
    sides = [fft.next_fast_len(side + 2 * PADDING, real=True) for side in level.reference.shape]
    pads = [(PADDING, long - short - PADDING) for long, short in zip(sides, level.reference.shape)]
    padded = np.pad(level.reference, pads, mode="symmetric")
    spectrum = fft.rfft2(padded)
    centres = (np.arange(len(factors)) + 0.5) / (2 * RINGS)
    spectrum *= np.interp(_frequencies(padded.shape), centres, factors).astype(np.float32)
    rows, cols = (slice(PADDING, PADDING + side) for side in level.reference.shape)
    return replace(level, reference=np.ascontiguousarray(fft.irfft2(spectrum, s=padded.shape)[rows, cols]))


def _transfer(level: Level, at: np.ndarray) -> np.ndarray:
    """The factors that bring the moved reference nearest to the copy, by ring."""
    places = [np.arange(max(side - SIDE, 0) // 2, (side + min(side, SIDE)) // 2) for side in level.copy.shape]
    rows, cols = places[0][:, None], places[1]
    y, x = np.broadcast_arrays(*level.sources(at, rows.astype(float), cols.astype(float)))
    height, width = level.reference.shape
    moved = Interpolator(level.reference, "spline")(y, x)
    distance = np.minimum(np.minimum(y, height - 1 - y), np.minimum(x, width - 1 - x))
    # The window falls off to the border of the picture and to that of the reference.
    window = np.outer(*(_faded(len(place)) for place in places)) * np.clip(distance / PADDING, 0, 1) ** 2
    pictures = moved, level.copy[rows, cols]
    means = [float((window * picture).sum() / max(window.sum(), 1e-9)) for picture in pictures]
    before, after = (fft.rfft2((window * (one - mean)).astype(np.float32)) for one, mean in zip(pictures, means))
    ring = np.minimum(2 * RINGS * _frequencies(moved.shape), 1.3 * RINGS).astype(np.intp).ravel()
    power = np.bincount(ring, (np.abs(before) ** 2).ravel())
    return np.bincount(ring, (np.conj(before) * after).real.ravel()) / np.maximum(power, 1e-9)


def _faded(length: int) -> np.ndarray:
    """A window that rises within an eighth of a side."""
    edge = max(length // 8, 1)
    return np.sin(np.pi / 2 * np.clip((np.minimum(np.arange(length), np.arange(length)[::-1]) + 0.5) / edge, 0, 1)) ** 2


def _frequencies(shape: tuple[int, ...]) -> np.ndarray:
    """Spatial frequency of each number of a spectrum, in cycles for a pixel."""
    return np.asarray(np.hypot(np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])))
