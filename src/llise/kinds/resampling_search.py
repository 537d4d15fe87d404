"""Which reduction in size, and back, comes nearest to a copy that looks blurred.

Both axes are resampled one after the other. Means over many rows hardly depend on what happens along the columns, so
the size along one axis is looked for in a few such means, which is quick; only the right size leaves next to nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from llise.kinds.blur_programs import BlurSettings, blurred
from llise.kinds.estimation import Pair, Trials
from llise.kinds.resampling_weights import ENLARGING, REDUCING, Resampler

WIDTHS = 0.3, 0.66
"""Least and greatest standard deviation of a fitted blur, against the factor of the resampling that it stands for."""

BANDS, BAND_WIDTHS = 8, 10
"""Most bands of rows whose means are compared, and their least height against the deviation of the fitted blur."""

SCANNED = (REDUCING[2],), (ENLARGING[0], ENLARGING[1])
"""Ways to make an image smaller and larger with which all sizes are tried: sums of the results come near to others."""

SIZES, PAIRS = 2, 4
"""Number of sizes, and of pairs of filters for each, that are compared more closely."""


def find_resampling(plane: Pair, sigma: float) -> BlurSettings | None:
    """The reduction in size and back that comes nearest on a whole picture, which a Gaussian blurs as much."""
    image = plane.before.astype(np.float32)
    rows, cols = _Lines.of(image.T, plane.after.T, sigma), _Lines.of(image, plane.after, sigma)
    trials = []
    for small in _sizes(rows, cols, sigma):
        errors = rows.by_pair(small[0]) + cols.by_pair(small[1])
        factor = float(np.sqrt(image.size / np.prod(small)))
        for pair in np.argsort(errors)[:PAIRS]:
            i, j = divmod(int(pair), len(ENLARGING))
            trial = BlurSettings("resampled", factor, small=small, reducing=REDUCING[i].name)
            trials.append(replace(trial, enlarging=ENLARGING[j].name))
    return Trials(plane, lambda one: blurred(plane.before, one)).best(trials) if trials else None


class _Lines(NamedTuple):
    """Means (n, bands) of an image and a copy over bands of lines."""

    image: np.ndarray
    target: np.ndarray

    @classmethod
    def of(cls, image: np.ndarray, copy: np.ndarray, sigma: float) -> _Lines:
        length = len(image)
        height = min(max(int(BAND_WIDTHS * sigma), 16), length)
        bands = min(max(2 * length // height - 1, 1), BANDS)
        window = np.hanning(height + 2)[1:-1].astype(np.float32)
        weights = np.zeros((bands, length), np.float32)
        for band, top in zip(weights, np.linspace(0, length - height, bands).astype(int)):
            band[top : top + height] = window / window.sum()
        reference, target = (np.ascontiguousarray((weights @ picture).T) for picture in (image, copy))
        return cls(reference, target)

    def rest(self, reducing: tuple[Resampler, ...], enlarging: tuple[Resampler, ...], size: int) -> np.ndarray:
        """What each reduction to a size and each enlargement leave; one row for each pair."""
        n, bands = self.image.shape
        small = np.concatenate([down.taps(n, size).apply(self.image) for down in reducing], axis=1)
        large = np.stack([up.taps(size, n).apply(small).reshape(n, -1, bands) for up in enlarging])
        return (self.target[:, None] - large).transpose(2, 0, 1, 3).reshape(len(reducing) * len(enlarging), -1)

    def left(self, size: int) -> float:
        """Mean squared error that the best sum of two pairs of filters leaves at a size."""
        soft, sharp = self.rest(*SCANNED, size)
        change = soft - sharp
        return float(soft @ soft - (change @ soft) ** 2 / (float(change @ change) + 1e-6)) / soft.size

    def by_pair(self, size: int) -> np.ndarray:
        """Mean squared error that each pair of filters leaves at a size."""
        return np.square(self.rest(REDUCING, ENLARGING, size)).mean(axis=1)


def _sizes(rows: _Lines, cols: _Lines, sigma: float) -> list[tuple[int, int]]:
    """The small sizes, of the same aspect, that leave least in the means."""
    turned = len(rows.image) > len(cols.image)
    long, short = (rows, cols) if turned else (cols, rows)
    n, other = len(long.image), len(short.image)
    least, most = max(int(WIDTHS[0] * n / sigma), 4), min(int(WIDTHS[1] * n / sigma), n - 1)
    scan = {m: long.left(m) for m in range(least, most + 1)}
    sizes = []
    for m in sorted(scan, key=scan.__getitem__)[: SIZES + 1]:
        beside = range(max(other * (m - 1) // n, 2), min(-(-other * (m + 1) // n), other - 1) + 1)
        sizes += [(scan[m] + short.left(size), m, size) for size in beside]
    return [(m, size) if turned else (size, m) for _, m, size in sorted(sizes)[:SIZES]]
