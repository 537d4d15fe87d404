"""Where a copy has something that is not in the reference: compact places that differ strongly from what is around."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from llise.kinds.fitting import Fit, robust_scale

STRONG = 4.0
"""How many times the deviation of other differences a damaged pixel must differ by, at least."""

DENSE = 0.4, 0.75
"""Least share of differing pixels in the 5 x 5 pixels around one, and along a line of 9."""

CONNECTED = 24
"""Number of differing pixels that touch each other from which they count as compact."""

LINE = 0.12, 5.0
"""Least share of differing pixels in a dead row or column, and how many times that of most others it must be."""

APART = 3.0
"""How many times the difference of the pixels around it that of a damaged place must be."""

KEPT = 0.8
"""Gain between reference and copy from which a large place still shows the reference, and so is no other content."""

FOLLOWS = 0.5
"""Share of the variance of a place in the copy that may follow the reference."""

_LARGE = 150
_STRUCTURE = 9.0


def content_fit(after: np.ndarray, damaged: np.ndarray, mask: np.ndarray) -> Fit:
    """Return damaged places as the result of an estimate."""
    share = float(np.count_nonzero(damaged & mask)) / max(int(np.count_nonzero(mask)), 1)
    return Fit({"coverage": share}, lambda image: np.where(damaged, after, image))


def find_content(expected: np.ndarray, after: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Find compact places that differ strongly from what is expected, and from their surroundings."""
    difference = np.abs(after - expected).astype(np.float32)
    around = difference[~mask] if np.count_nonzero(~mask) > 0.2 * mask.size else difference
    scale = min(robust_scale(around[around <= np.quantile(around, 0.9)]), robust_scale(difference[mask]))
    changed = difference > STRONG * scale + 0.5
    if not changed.any():
        return changed
    share = changed.astype(np.float32)
    lines = [scipy.ndimage.uniform_filter(share, size, mode="constant") for size in ((1, 9), (9, 1))]
    dense = scipy.ndimage.uniform_filter(share, 5, mode="constant") >= DENSE[0]
    joined, _ = scipy.ndimage.label(changed, np.ones((3, 3), bool))
    large = np.bincount(joined.ravel()) >= CONNECTED
    damaged = changed & (dense | (np.maximum(*lines) >= DENSE[1]) | large[joined] | _odd_lines(changed, mask))
    return damaged & _apart(difference, damaged, expected, after)


def _odd_lines(changed: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Rows and columns in which far more pixels differ than in most others."""
    odd = np.zeros(changed.shape, bool)
    for axis in (0, 1):
        count = np.count_nonzero(mask, axis=axis)
        share = np.count_nonzero(changed & mask, axis=axis) / np.maximum(count, 1)
        used = count > 0
        lines = used & (share > max(LINE[0], LINE[1] * float(np.median(share[used])) if used.any() else 1.0))
        odd |= lines if axis == 0 else lines[:, None]
    return odd


def _apart(difference: np.ndarray, damaged: np.ndarray, expected: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Pixels of places that differ much more than the pixels around them and do not show the reference."""
    square = np.ones((3, 3), bool)
    places, count = scipy.ndimage.label(scipy.ndimage.binary_dilation(damaged, square), square)
    if count == 0:
        return damaged
    numbers = np.arange(1, count + 1)
    power = difference.astype(np.float64) ** 2
    inside = scipy.ndimage.mean(power, np.where(damaged, places, 0), numbers)
    wider = scipy.ndimage.maximum_filter(places, size=5)
    ring = np.where(places > 0, 0, wider)
    size = np.bincount(ring.ravel(), minlength=count + 1)[1:]
    outside = np.bincount(ring.ravel(), power.ravel(), count + 1)[1:] / np.maximum(size, 1)
    good = np.concatenate([[False], inside > APART**2 * outside + 1])
    own = np.where(damaged, places, 0).ravel()
    area = np.bincount(own, minlength=count + 1)
    weight = np.maximum(area, 1)
    x, y = expected.ravel().astype(np.float64), after.ravel().astype(np.float64)
    mean_x, mean_y, square_x, square_y, product = (
        np.bincount(own, values, count + 1) / weight for values in (x, y, x * x, y * y, x * y)
    )
    spread_x, spread_y = np.maximum(square_x - mean_x**2, 1e-6), np.maximum(square_y - mean_y**2, 0)
    gain = (product - mean_x * mean_y) / spread_x
    by_line = gain * gain * spread_x  # variance of the copy that a straight line of the reference explains
    left = spread_y - by_line
    # A place still shows the reference if the copy follows it, though not on a line as under a transparent cover.
    follows = (gain > 0) & (by_line > FOLLOWS * spread_y) & (left > _STRUCTURE)
    shows = (area >= _LARGE) & (spread_x >= _STRUCTURE) & (gain >= KEPT)
    return (good & ~follows & ~shows)[places]


SAME, FADED = 0.2, 0.98
"""Least share of the pixels in view that nothing changed if covers are looked for by where they are; gain from which a
reference that shines through is not faded by a cover."""


@dataclass(frozen=True, eq=False)
class Cover:
    """Pixels of the copy that hide the reference, and places at which a colour that shines through lies over it."""

    pasted: np.ndarray
    copy: np.ndarray
    places: np.ndarray
    gains: np.ndarray
    offsets: np.ndarray

    @property
    def covered(self) -> np.ndarray:
        return self.pasted | (self.places > 0)

    @classmethod
    def of(cls, before: np.ndarray, after: np.ndarray, mask: np.ndarray, damaged: np.ndarray) -> Cover:
        """Covers of images (h, w, channels), of which some damaged pixels are known."""
        channels = before.shape[2]
        none = cls(damaged, after, np.zeros(mask.shape, np.intp), np.ones((1, channels)), np.zeros((1, channels)))
        error = after - before
        differs = (np.abs(error) > 0.5).any(axis=2)
        power = (error**2).sum(axis=2)
        if power[damaged & mask].sum() > 0.97 * power[mask].sum() or np.mean(differs) > 1 - SAME:
            return none
        near = scipy.ndimage.binary_dilation(differs, np.ones((3, 3)), iterations=2)
        labels, count = scipy.ndimage.label(near)
        places = np.where(differs, labels, 0)

        def mean(values: np.ndarray) -> np.ndarray:
            sums = [np.bincount(places.ravel(), values[..., i].ravel(), count + 1) for i in range(values.shape[2])]
            return np.stack(sums, axis=1) / np.maximum(np.bincount(places.ravel(), minlength=count + 1), 1)[:, None]

        x, y = before.astype(np.float64), after.astype(np.float64)
        mean_x, mean_y = mean(x), mean(y)
        spread_x, spread_y = np.maximum(mean(x * x) - mean_x**2, 1e-6), np.maximum(mean(y * y) - mean_y**2, 0)
        gains = (mean(x * y) - mean_x * mean_y) / spread_x
        line = (gains**2 * spread_x).sum(axis=1)
        around = scipy.ndimage.uniform_filter(error, (3, 3, 0)) * 9 - error
        alike = mean(error * around / 8).sum(axis=1) / np.maximum(mean(error**2).sum(axis=1), 1e-6)
        strong = (mean(error**2).max(axis=1) > 36) & (alike > 0.4)  # noise is not alike from pixel to pixel
        follows = (line > FOLLOWS * spread_y.sum(axis=1)) & (spread_x.sum(axis=1) > _STRUCTURE)
        faded = strong & follows & (gains.max(axis=1) < FADED) & (gains.min(axis=1) >= 0)
        known = np.bincount(places.ravel(), (power * damaged).ravel(), count + 1)
        edged = known > 0.6 * np.bincount(places.ravel(), power.ravel(), count + 1)  # the rest is the edge of a cover
        faded &= ~edged
        faded[0], strong[0], edged[0] = False, False, False
        gains = np.where(faded[:, None], gains, 1.0)
        pasted = damaged | (strong & ~follows | edged)[places]
        left = np.where(faded[places] & ~pasted, places, 0)
        return cls(pasted, after, left, gains, np.where(faded[:, None], mean_y - gains * mean_x, 0.0))

    def over(self, image: np.ndarray) -> np.ndarray:
        """An image (h, w, channels) under the covers."""
        faded = image * self.gains[self.places] + self.offsets[self.places]
        return np.where(self.pasted[..., None], self.copy, faded).astype(np.float32)
