"""Minima of functions of one number or a few, as SciPy finds them, without the long import of ``scipy.optimize``."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

GOLDEN = 0.5 * (3 - sqrt(5))
"""Part of the larger side of the best place at which the next one lies, if no parabola tells better."""

ROUNDING = sqrt(2.2e-16)
"""Distance of two places, against their size, below which rounding decides which value is smaller."""


def bounded_minimum(
    function: Callable[[float], float], low: float, high: float, tolerance: float, most: int
) -> tuple[float, float]:
    """Find the minimum of a function between two bounds by Brent's method: parabolas and golden sections."""
    best = second = third = low + GOLDEN * (high - low)
    value = second_value = third_value = function(best)
    step = before = 0.0
    for _ in range(most - 1):
        middle = 0.5 * (low + high)
        least = ROUNDING * abs(best) + tolerance / 3
        if abs(best - middle) <= 2 * least - 0.5 * (high - low):
            break
        parabola = None
        if abs(before) > least:
            r = (best - second) * (value - third_value)
            q = (best - third) * (value - second_value)
            p = (best - third) * q - (best - second) * r
            q = 2 * (q - r)
            p, q = (-p if q > 0 else p), abs(q)
            if abs(p) < abs(0.5 * q * before) and q * (low - best) < p < q * (high - best):
                parabola = p / q
        before = step
        if parabola is None:
            before = low - best if best >= middle else high - best
            step = GOLDEN * before
        else:
            step = parabola
            if min(best + step - low, high - best - step) < 2 * least:
                step = least if middle >= best else -least
        at = best + (max(abs(step), least) if step >= 0 else -max(abs(step), least))
        trial = function(at)
        if trial <= value:
            low, high = (best, high) if at >= best else (low, best)
            third, third_value, second, second_value, best, value = second, second_value, best, value, at, trial
            continue
        low, high = (at, high) if at < best else (low, at)
        if trial <= second_value or second == best:
            third, third_value, second, second_value = second, second_value, at, trial
        elif trial <= third_value or third in (best, second):
            third, third_value = at, trial
    return best, value


def simplex_minimum(
    function: Callable[[np.ndarray], float],
    corners: np.ndarray,
    near: float,
    alike: float,
    most: int,
) -> tuple[np.ndarray, float]:
    """Find a minimum of a function by the simplex of Nelder and Mead."""
    left = most

    def value_at(place: np.ndarray) -> float:
        nonlocal left
        if left <= 0:
            raise StopIteration
        left -= 1
        return function(place)

    corners = np.array(corners, float)
    values = np.array([value_at(corner) for corner in corners])
    while True:
        order = np.argsort(values)
        corners, values = corners[order], values[order]
        if left <= 0 or (np.abs(corners[1:] - corners[0]).max() <= near and values[-1] - values[0] <= alike):
            return corners[0], float(values[0])
        try:
            _move_worst(corners, values, value_at)
        except StopIteration:
            continue


def _move_worst(corners: np.ndarray, values: np.ndarray, value_at: Callable[[np.ndarray], float]) -> None:
    """One step: the worst corner is mirrored, moved further or nearer, or all corners move towards the best."""
    middle, worst = corners[:-1].mean(axis=0), corners[-1].copy()

    def place(part: float) -> np.ndarray:
        return (1 + part) * middle - part * worst

    mirrored = place(1.0)
    value = value_at(mirrored)
    if value < values[0]:
        further = place(2.0)
        of_further = value_at(further)
        corners[-1], values[-1] = (further, of_further) if of_further < value else (mirrored, value)
        return
    if value < values[-2]:
        corners[-1], values[-1] = mirrored, value
        return
    nearer = place(0.5 if value < values[-1] else -0.5)
    of_nearer = value_at(nearer)
    if of_nearer <= value if value < values[-1] else of_nearer < values[-1]:
        corners[-1], values[-1] = nearer, of_nearer
        return
    for number in range(1, len(corners)):
        corners[number] = corners[0] + 0.5 * (corners[number] - corners[0])
        values[number] = value_at(corners[number])


def _solved(matrix: np.ndarray, target: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Least squares with some of the columns; zero for the others."""
    numbers = np.zeros(matrix.shape[1])
    numbers[used] = np.linalg.lstsq(matrix[:, used], target, rcond=None)[0]
    return numbers
