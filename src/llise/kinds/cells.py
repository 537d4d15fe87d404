"""Mosaics: which cell a pixel belongs to, grey levels of cells, and the cells that a copy was made of."""

from __future__ import annotations

import numpy as np
import scipy

LARGEST = 0.34
"""Largest cell that an estimate finds, as a share of the side of the image."""

MOST_PIXELS = 200
"""Largest cell with a whole number of pixels that is looked for."""

_PEAKS = 24
_HIGHEST = 0.7
"""Number of peaks of a spectrum that are tried as frequencies of cells, and the highest frequency."""

LEAST_SCORE = 0.25
"""Least share of the steps between pixels, beyond chance, that must lie between cells."""


def cell_of(length: int, side: float, start: float = 0.0) -> np.ndarray:
    """Return the number of the cell to which each pixel along one axis belongs."""
    cells = np.floor((np.arange(length) + 0.5) / side + start).astype(int)
    return np.cumsum(np.diff(cells, prepend=cells[0]) > 0)


def cell_means(image: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Replace each pixel by the mean of its cell."""
    first_row, first_col = (np.flatnonzero(np.diff(cells, prepend=-1)) for cells in (rows, cols))
    sums = np.add.reduceat(np.add.reduceat(image.astype(np.float32), first_row, axis=0), first_col, axis=1)
    return (sums / np.outer(np.bincount(rows), np.bincount(cols)).astype(np.float32))[np.ix_(rows, cols)]


def cell_samples(
    image: np.ndarray, rows: np.ndarray, cols: np.ndarray, at: tuple[float, float] = (0.5, 0.5)
) -> np.ndarray:
    """Replace each pixel by one pixel of its cell."""
    chosen = []
    for cells, share in zip((rows, cols), at):
        count = np.bincount(cells)
        chosen.append(np.cumsum(count) - count + np.minimum((share * count).astype(int), count - 1))
    return image[np.ix_(*chosen)][np.ix_(rows, cols)]


def cell_medians(image: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Replace each pixel by the median of its cell, the lower one of the two in the middle."""
    cells = (rows[:, None] * (cols[-1] + 1) + cols).ravel()
    order = np.lexsort((image.ravel(), cells))
    count = np.bincount(cells)
    middle = image.ravel()[order[np.cumsum(count) - count + (count - 1) // 2]]
    return middle[cells].reshape(image.shape)


def find_grid(image: np.ndarray, mask: np.ndarray) -> tuple[float, float] | None:
    """Find the height of the cells of a mosaic, and where they begin, from the steps between rows."""
    inside = mask[1:] & mask[:-1]
    count = np.count_nonzero(inside, axis=1)
    places = np.flatnonzero(count > 0)
    if places.size < 8:
        return None
    steps = np.where(inside, np.abs(np.diff(image, axis=0)), 0).sum(axis=1)[places] / count[places]
    steps = np.maximum(steps - np.quantile(steps, 0.25), 0)  # noise after the mosaic makes steps everywhere
    total = float(steps.sum())
    if total <= 0:
        return None
    steps, middle = steps / total, places + 1.5  # the pixel after a step is a whole number and a half from the border
    largest = max(LARGEST * places.size, 4.0)
    whole_score, whole_start, side = max(
        (*_score(steps, middle, 1 / side), side) for side in range(2, int(min(largest, MOST_PIXELS)) + 1)
    )
    if whole_score > 0.97 * (1 - 1 / side):
        return float(side), whole_start
    frequency = _any_frequency(steps, middle, 1 / largest)
    score, start = _score(steps, middle, frequency)
    if max(score, whole_score) < LEAST_SCORE:
        return None
    return (float(side), whole_start) if whole_score >= score - 0.005 else (1 / frequency, start)


def _any_frequency(steps: np.ndarray, middle: np.ndarray, lowest: float) -> float:
    """Cells per pixel of the highest score, among the peaks of the spectrum of the steps and what lies near them."""
    length = int(middle[-1] - middle[0]) + 1
    signal = np.zeros(length)
    signal[(middle - middle[0]).astype(int)] = steps - steps.mean()
    n = scipy.fft.next_fast_len(8 * length)
    spectrum = np.abs(scipy.fft.rfft(signal, n))
    peaks = 1 + np.flatnonzero((spectrum[1:-1] >= spectrum[:-2]) & (spectrum[1:-1] > spectrum[2:]))
    highest = peaks[np.argsort(-spectrum[peaks])][:_PEAKS] / n
    around = np.linspace(-0.5, 0.5, 9) / n
    trials = np.concatenate([highest, 1 - highest])[:, None] + around  # cells below two pixels show at 1 - frequency
    trials = trials[(trials >= lowest) & (trials < _HIGHEST)]
    if trials.size == 0:
        return lowest
    best = max(trials.tolist(), key=lambda trial: _score(steps, middle, trial)[0])
    for width in (0.2 / length, 0.3 * min(1.0, best) / length):
        near = best + np.linspace(-width, width, 41)
        scores = np.array([_score(steps, middle, trial)[0] for trial in near.tolist()])
        equal = near[scores >= scores.max() - 1e-3]
        best = float(equal[len(equal) // 2])
    return best


def _score(steps: np.ndarray, middle: np.ndarray, frequency: float) -> tuple[float, float]:
    """Share of the steps between cells, less the share of places there, for the best start; and this start."""
    phase = middle * frequency % 1.0
    order = np.argsort(phase)
    phase, weight = phase[order], steps[order]
    sums = np.concatenate([[0.0], np.cumsum(np.concatenate([weight, weight]))])
    ends = np.searchsorted(np.concatenate([phase, phase + 1]), phase + frequency - 1e-9)
    between = sums[ends] - sums[: len(phase)]
    first = int(between.argmax())
    last = (ends[first] - 1) % len(phase)
    # The start may lie anywhere between the last phase that is just inside and the first one.
    slack = (frequency - (phase[last] - phase[first]) % 1.0) / 2
    return float(between[first]) - frequency, float((slack - phase[first]) % 1.0)
