"""An image that was made smaller and enlarged again: the size that it had in between, and the filters.

Such a copy looks blurred, but each of its pixels depends on where it lies between the pixels of the small image. So it
is not made again by a kernel, but nearly exactly by resampling, once the small size is known. Both axes are resampled
one after the other by weights of their own. Means over many rows hardly depend on what happens along the columns, so
the size along one axis is looked for in a few such means, which is quick; only the right size leaves next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from llise.kinds.resampling_weights import ENLARGING, REDUCING, Resampler, Taps

WIDTHS = 0.3, 0.66
"""Least and greatest standard deviation of a fitted blur, against the factor of the resampling that it stands for."""

BANDS, BAND_WIDTHS = 8, 10
"""Most bands of rows whose means are compared, and their least height against the deviation of the fitted blur."""

SCANNED = (REDUCING[2],), (ENLARGING[0], ENLARGING[1])
"""Ways to make an image smaller and larger with which all sizes are tried: sums of the results come near to others."""

SIZES, PAIRS = 2, 4
"""Number of sizes, and of pairs of filters for each, that are compared more closely."""

SIZES_CODED, PAIRS_CODED = 6, 8
"""The same numbers where a coder came after the resampling, which hides most of what tells these apart."""

STRIPS, STRIP, CODED_STRIP = 6, 10, 16
"""Number of strips of rows on which few sizes and filters are compared, and their height, without and with a coder."""

LEAST_VALUES = 96
"""Least number of values in the means of bands."""


@dataclass(frozen=True)
class Resampling:
    """A reduction in size and back.

    Attributes
    ----------
    shape, small : tuple of int
        Rows and columns of the image, and of the small one.
    reducing, enlarging : Resampler
        The filters.
    """

    shape: tuple[int, int]
    small: tuple[int, int]
    reducing: Resampler
    enlarging: Resampler

    @property
    def factor(self) -> float:
        """The size before divided by the reduced size."""
        return float(np.sqrt(np.prod(self.shape) / np.prod(self.small)))

    def apply(self, image: np.ndarray) -> np.ndarray:
        """Make an image smaller and enlarge it again."""
        rows, cols = self.taps(0), self.taps(1)
        small = _both(image.astype(np.float32), rows[0], cols[0])
        return np.clip(_both(np.clip(np.rint(small), 0, 255), rows[1], cols[1]), 0, 255)

    def taps(self, axis: int) -> tuple[Taps, Taps]:
        """Return the weights of both steps along an axis."""
        n, m = self.shape[axis], self.small[axis]
        return self.reducing.taps(n, m), self.enlarging.taps(m, n)


def _both(image: np.ndarray, rows: Taps, cols: Taps) -> np.ndarray:
    return np.asarray(cols.apply(np.ascontiguousarray(rows.apply(image).T)).T)


def fit_resampling(
    before: np.ndarray,
    after: np.ndarray,
    mask: np.ndarray,
    sigma: float,
    left: float,
    coder: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Resampling | None:
    """Find the reduction in size and back that comes nearest to a copy."""
    image, copy = before.astype(np.float32), after.astype(np.float32)
    rows, cols = _Lines.of(image.T, copy.T, mask.T, sigma), _Lines.of(image, copy, mask, sigma)
    if rows is None or cols is None or sigma <= 0:
        return None
    sizes = _sizes(rows, cols, sigma, SIZES_CODED if coder else SIZES)
    found = _nearest(image, copy, mask, sizes, rows, cols, coder)
    if found is None:
        return None
    made = found.apply(image)
    rest = ((coder(made) if coder else made) - copy)[mask]
    return found if float(rest @ rest) <= left * rest.size else None


class _Lines(NamedTuple):
    """Means of an image and a copy over bands of lines, and which of their values are to be compared.

    Attributes
    ----------
    image : ndarray of float32, shape (n, bands)
        The means of the image, along the axis that is looked at.
    places : ndarray of int
        Places in the flattened means.
    target : ndarray of float32
        The means of the copy there.
    """

    image: np.ndarray
    places: np.ndarray
    target: np.ndarray

    @classmethod
    def of(cls, image: np.ndarray, copy: np.ndarray, mask: np.ndarray, sigma: float) -> _Lines | None:
        """Means over bands of rows; a band counts where all of its pixels are to be compared."""
        used = np.flatnonzero(mask.any(axis=1))
        if used.size == 0:
            return None
        first, last = int(used[0]), int(used[-1]) + 1
        height = min(max(int(BAND_WIDTHS * sigma), 16), last - first)
        bands = min(max(2 * (last - first) // height - 1, 1), BANDS)
        window = np.hanning(height + 2)[1:-1].astype(np.float32)
        weights = np.zeros((bands, len(image)), np.float32)
        for band, top in zip(weights, np.linspace(first, last - height, bands).astype(int)):
            band[top : top + height] = window / window.sum()
        full = (weights > 0).astype(np.float32) @ (~mask).astype(np.float32) == 0
        places = np.flatnonzero(full.T)
        if places.size < LEAST_VALUES:
            return None
        reference, target = (np.ascontiguousarray((weights @ picture).T) for picture in (image, copy))
        return cls(reference, places, target.ravel()[places])

    def made(self, reducing: tuple[Resampler, ...], enlarging: tuple[Resampler, ...], size: int) -> np.ndarray:
        """What each reduction to a size and each enlargement give at the places to compare; one row for each pair."""
        n, bands = self.image.shape
        small = np.concatenate([down.taps(n, size).apply(self.image) for down in reducing], axis=1)
        large = np.stack([up.taps(size, n).apply(small).reshape(n, -1, bands) for up in enlarging])
        return large.transpose(2, 0, 1, 3).reshape(len(reducing) * len(enlarging), -1).take(self.places, axis=1)

    def left(self, size: int) -> float:
        """Mean squared error that the best sum of two pairs of filters leaves at a size."""
        soft, sharp = self.made(SCANNED[0], SCANNED[1], size)
        rest, change = self.target - soft, sharp - soft
        along = float(change @ rest)
        return (float(rest @ rest) - along**2 / (float(change @ change) + 1e-6)) / rest.size

    def by_pair(self, size: int) -> np.ndarray:
        """Mean squared error that each pair of filters leaves at a size."""
        rest = self.target - self.made(REDUCING, ENLARGING, size)
        return np.einsum("ij,ij->i", rest, rest) / self.places.size


def _sizes(rows: _Lines, cols: _Lines, sigma: float, count: int) -> list[tuple[int, int]]:
    """The small sizes that leave least in the means."""
    turned = len(rows.image) > len(cols.image)
    long, short = (rows, cols) if turned else (cols, rows)
    n, other = len(long.image), len(short.image)
    least, most = max(int(WIDTHS[0] * n / sigma), 4), min(int(WIDTHS[1] * n / sigma), n - 1)
    scan = {m: long.left(m) for m in range(least, most + 1)}
    sizes = []
    for m in sorted(scan, key=scan.__getitem__)[: count + 1]:
        beside = range(max(other * (m - 1) // n, 2), min(-(-other * (m + 1) // n), other - 1) + 1)
        sizes += [(scan[m] + short.left(size), m, size) for size in beside]
    return [(m, size) if turned else (size, m) for _, m, size in sorted(sizes)[:count]]


def _nearest(
    image: np.ndarray,
    copy: np.ndarray,
    mask: np.ndarray,
    sizes: list[tuple[int, int]],
    rows: _Lines,
    cols: _Lines,
    coder: Callable[[np.ndarray], np.ndarray] | None,
) -> Resampling | None:
    """The best of the pairs of filters at some sizes, first in the means, then in strips of the picture."""
    trials = []
    for small in sizes:
        errors = rows.by_pair(small[0]) + cols.by_pair(small[1])
        for pair in np.argsort(errors)[: PAIRS_CODED if coder else PAIRS]:
            i, j = divmod(int(pair), len(ENLARGING))
            trials.append(Resampling(image.shape, small, REDUCING[i], ENLARGING[j]))
    strips = _strips(mask, CODED_STRIP if coder else STRIP)
    inside, target = mask[strips], copy[strips]

    def left(trial: Resampling) -> float:
        made = _rows_made(trial, image, strips)
        rest = ((coder(made) if coder else made) - target)[inside]
        return float(rest @ rest)

    return min(trials, key=left, default=None)


def _strips(mask: np.ndarray, height: int) -> np.ndarray:
    """Rows with pixels to compare, in some strips that start at multiples of 8."""
    used = np.flatnonzero(mask.any(axis=1))
    first, last = int(used[0]) // 8 * 8, int(used[-1]) + 1
    if last - first <= STRIPS * height:
        return np.arange(first, last)
    starts = np.linspace(first // 8, (last - height) // 8, STRIPS).astype(int) * 8
    return (starts[:, None] + np.arange(height)).ravel()


def _rows_made(trial: Resampling, image: np.ndarray, strips: np.ndarray) -> np.ndarray:
    """Some rows after a resampling; only those rows are made."""
    down, up = trial.taps(0)
    up = up.chosen(strips)
    needed, places = np.unique(up.places, return_inverse=True)
    lines = down.chosen(needed).apply(image)
    across = trial.taps(1)
    small = np.clip(np.rint(across[0].apply(np.ascontiguousarray(lines.T))), 0, 255)
    wide = across[1].apply(small).T
    made = Taps(places.reshape(up.places.shape), up.weights).apply(np.ascontiguousarray(wide))
    return np.clip(made, 0, 255)
