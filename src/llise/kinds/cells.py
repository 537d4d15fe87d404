"""Mosaics: which cell a pixel belongs to, grey levels of cells, and the cells that a copy was made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy

LARGEST = 0.34
"""Largest cell that an estimate finds, as a share of the side of the image."""

MOST_PIXELS = 200
"""Largest cell with a whole number of pixels that is looked for."""

_WINDOW = 160
"""Side of the part of an image on which mosaics are compared."""

_PEAKS = 24
_HIGHEST = 0.7
"""Number of peaks of a spectrum that are tried as frequencies of cells, and the highest frequency."""

LEAST_SCORE = 0.25
"""Least share of the steps between pixels, beyond chance, that must lie between cells."""


CELLS_A_CHOICE = 7
"""Cells for each row and column of cells from which the row or column that it repeats can be found by comparing."""


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


def _triangles(image: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Mean with weights that fall from the centre of a cell to the centres of the next, as a linear filter has them."""
    mosaic = image.astype(np.float32)
    for cells in (rows, cols):
        count = np.bincount(cells)
        centre = np.cumsum(count) - (count + 1) / 2
        side = (len(cells) - 1) / max(len(count) - 1, 1)
        weight = np.maximum(1 - np.abs(np.arange(len(cells)) - centre[:, None]) / max(side, 1.0), 0).astype(np.float32)
        mosaic = ((weight / weight.sum(axis=1, keepdims=True)) @ mosaic)[cells].T
    return mosaic


def nearest_mosaic(
    before: np.ndarray,
    after: np.ndarray,
    mask: np.ndarray,
    grids: tuple[tuple[float, float], tuple[float, float]],
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the mosaic with given cells that comes nearest to a copy: of means, medians, single pixels or others."""
    rows, cols = (cell_of(length, *grid) for length, grid in zip(before.shape, grids))
    # A part of the image, cut between cells, is enough to tell which it is.
    window = _middle(rows, np.any(mask, axis=1)), _middle(cols, np.any(mask, axis=0))
    part = rows[window[0]] - rows[window[0]][0], cols[window[1]] - cols[window[1]][0]
    target, inside = after[window], mask[window]

    def error(mosaic: np.ndarray) -> float:
        rest = (mosaic - target)[inside]
        return float(rest @ rest)

    shares = [0.0, 0.25, 0.5, 0.75, 0.99]
    samples = [partial(cell_samples, at=(y, x)) for y in shares for x in shares]
    makers: list[Callable[..., np.ndarray]] = [cell_means, _triangles, cell_medians, *samples]
    errors = [error(make(before[window], *part)) for make in makers]
    best = makers[int(np.argmin(errors))]
    choices: list[tuple[float, Callable[[np.ndarray], np.ndarray]]] = [
        (min(errors), partial(best, rows=rows, cols=cols))
    ]
    sampled = list(zip(*map(_sampled, before.shape, grids)))
    if np.count_nonzero(mask) > CELLS_A_CHOICE * (rows[-1] + cols[-1]) * grids[0][0] * grids[1][0]:
        sampled.append(_found_samples(before, after, mask, rows, cols))
    for pixels in sampled:
        choices.append((error(before[np.ix_(*pixels)][window]), partial(_taken, pixels=np.ix_(*pixels))))
    for form in ("nearest", "by area", "rounded down"):
        down, across = (_area_means(n, *grid, form) for n, grid in zip(before.shape, grids))
        mosaic = down[window[0]] @ before.astype(np.float32) @ across[window[1]].T
        choices.append((error(mosaic), partial(_product, down=down, across=across)))
    _, chosen = min(choices, key=lambda choice: choice[0])
    return lambda image: chosen(image).astype(np.float32)


def _taken(image: np.ndarray, pixels: tuple[np.ndarray, ...]) -> np.ndarray:
    return image[pixels]


def _product(image: np.ndarray, down: np.ndarray, across: np.ndarray) -> np.ndarray:
    return down @ image @ across.T


def _area_means(length: int, side: float, start: float, form: str) -> np.ndarray:
    """Matrix (length, length) of the means of cells along one axis, whose borders cut pixels."""
    rows = cell_of(length, side, start)
    first = np.floor(0.5 / side + start)
    borders = (first + np.arange(rows[-1] + 2) - start) * side - (0.5 if form == "rounded down" else 0.0)
    borders[0], borders[-1] = 0, length
    pixels = np.arange(length)
    overlap = np.clip(np.minimum(borders[1:, None], pixels + 1) - np.maximum(borders[:-1, None], pixels), 0, 1)
    means = (overlap / np.maximum(overlap.sum(axis=1, keepdims=True), 1e-6)).astype(np.float32)
    if form != "by area":
        return means[rows]
    return (overlap / np.maximum(overlap.sum(axis=0), 1e-6)).astype(np.float32).T @ means


def _sampled(length: int, grid: tuple[float, float]) -> list[np.ndarray]:
    """For each pixel along one axis, the pixel that its cell repeats, by several conventions."""
    side, start = grid
    whole = length / max(round(length / side), 1)
    pixels = np.arange(length)
    centred = [(grid, 0.5, 0.0), ((whole, 0.0), 0.5, 0.0)]
    begun = [((whole, -0.5 / whole), 0.0, -0.5), *((grid, 0.0, shift) for shift in (-0.7, -0.5, -0.3))]
    found = []
    for (side, start), share, shift in (*centred, *begun):
        cells = np.floor((pixels + 0.5) / side + start + 1e-9)
        places = np.floor((cells + share - start) * side + shift + 1e-6)
        found.append(np.clip(places, 0, length - 1).astype(int))
    return found


def _found_samples(
    before: np.ndarray, after: np.ndarray, mask: np.ndarray, rows: np.ndarray, cols: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """For each row and each column, the one of the reference that its cells repeat, by comparing in turn."""
    centres = [np.searchsorted(cells, np.arange(cells[-1] + 1)) + np.bincount(cells) // 2 for cells in (rows, cols)]
    wanted, weight = after[np.ix_(*centres)], mask[np.ix_(*centres)].astype(np.float32)
    chosen = list(centres)
    for _ in range(2):
        for axis, cells in enumerate((rows, cols)):
            picture, target, share = (a if axis == 0 else a.T for a in (before, wanted, weight))
            reach = int(np.bincount(cells).max()) // 2 + 2
            trials = np.clip(centres[axis][:, None] + np.arange(-reach, reach + 1), 0, len(cells) - 1)
            there = picture[:, chosen[1 - axis]]
            errors = np.stack([(share * (there[trial] - target) ** 2).sum(axis=1) for trial in trials.T], axis=1)
            chosen[axis] = np.take_along_axis(trials, errors.argmin(axis=1)[:, None], 1)[:, 0]
    return chosen[0][rows], chosen[1][cols]


def _middle(cells: np.ndarray, inside: np.ndarray) -> slice:
    """Pixels along one axis, about :data:`_WINDOW` of them or four cells in the middle of those inside."""
    used = np.flatnonzero(inside)
    centre = (used[0] + used[-1]) // 2 if used.size else len(cells) // 2
    half = max(_WINDOW, 4 * int(np.bincount(cells).max())) // 2
    first, last = max(centre - half, 0), min(centre + half, len(cells) - 1)
    return slice(int(np.searchsorted(cells, cells[first])), int(np.searchsorted(cells, cells[last], side="right")))


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
