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
    """Find the minimum of a function between two bounds by Brent's method: parabolas and golden sections.

    Parameters
    ----------
    function : callable
        Function of a number, with one minimum between the bounds.
    low, high : float
        The bounds.
    tolerance : float
        Distance from the minimum that is near enough.
    most : int
        Most values of the function that are computed.

    Returns
    -------
    at, value : float
        The best place and the function there.

    Examples
    --------
    >>> from llise.kinds.minimum import bounded_minimum
    >>> at, value = bounded_minimum(lambda x: (x - 2) ** 2 + 1, 0.0, 5.0, tolerance=1e-3, most=20)
    >>> round(at, 3), round(value, 3)
    (2.0, 1.0)
    """
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
    """Find a minimum of a function by the simplex of Nelder and Mead.

    Parameters
    ----------
    function : callable
        Function of an array of n numbers.
    corners : ndarray, shape (n + 1, n)
        Where the search starts.
    near, alike : float
        The search ends where all corners, and the values at them, differ by no more than this from the best.
    most : int
        Most values of the function that are computed.

    Returns
    -------
    at : ndarray, shape (n,)
        The best corner.
    value : float
        The function there.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.minimum import simplex_minimum
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> at, value = simplex_minimum(lambda x: float(np.sum((x - [3, -1]) ** 2)), corners, 1e-3, 1e-6, most=200)
    >>> at.round(2)
    array([ 3., -1.])
    """
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


def non_negative_solution(matrix: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, float]:
    """Find the numbers, none below zero, with which columns come nearest to a target, as Lawson and Hanson do.

    Parameters
    ----------
    matrix : ndarray, shape (m, n)
        Columns, few of them.
    target : ndarray, shape (m,)
        What they should add up to.

    Returns
    -------
    numbers : ndarray, shape (n,)
        Factors of the columns.
    distance : float
        Root of the sum of squares that is left.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.minimum import non_negative_solution
    >>> numbers, distance = non_negative_solution(np.eye(2), np.array([3.0, -4.0]))
    >>> numbers, round(distance, 6)
    (array([3., 0.]), 4.0)
    """
    count = matrix.shape[1]
    numbers, used = np.zeros(count), np.zeros(count, bool)
    least = 10 * max(matrix.shape) * np.spacing(1.0) * np.abs(matrix).sum(axis=0).max()
    for _ in range(3 * count):
        slope = matrix.T @ (target - matrix @ numbers)
        if used.all() or slope[~used].max() <= least:
            break
        used[np.flatnonzero(~used)[slope[~used].argmax()]] = True
        trial = _solved(matrix, target, used)
        while trial[used].min() <= 0:  # as far as the first number that reaches zero, which is then no longer used
            falling = used & (trial <= 0)
            part = (numbers[falling] / (numbers[falling] - trial[falling])).min()
            numbers += part * (trial - numbers)
            used &= numbers > least
            numbers[~used] = 0
            if not used.any():
                break
            trial = _solved(matrix, target, used)
        numbers = np.where(used, trial, 0.0)
    return numbers, float(np.linalg.norm(target - matrix @ numbers))


def _solved(matrix: np.ndarray, target: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Least squares with some of the columns; zero for the others."""
    numbers = np.zeros(matrix.shape[1])
    numbers[used] = np.linalg.lstsq(matrix[:, used], target, rcond=None)[0]
    return numbers
