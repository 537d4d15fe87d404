"""Minima are those that SciPy finds, after as many values of the function."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from llise.kinds.minimum import bounded_minimum, non_negative_solution, simplex_minimum


def counted(function):
    """A function that counts how often it is called."""

    def wrapped(at):
        wrapped.calls += 1
        return float(function(at))

    wrapped.calls = 0
    return wrapped


@pytest.mark.parametrize("most", [3, 7, 12, 60])
@pytest.mark.parametrize(
    "function", [lambda x: (x - 2) ** 2, lambda x: np.cos(x) + 0.1 * x, lambda x: abs(x - 3.3), abs]
)
def test_the_minimum_between_bounds_is_scipys(function, most):
    ours, theirs = counted(function), counted(function)
    found = bounded_minimum(ours, 1.5, 5.0, tolerance=0.02, most=most)
    expected = optimize.minimize_scalar(
        theirs, bounds=(1.5, 5.0), method="bounded", options={"maxiter": most, "xatol": 0.02}
    )
    assert_allclose(found, (expected.x, expected.fun), rtol=1e-12)
    assert ours.calls == theirs.calls


@pytest.mark.parametrize("most", [4, 9, 26, 27, 28, 200])
@pytest.mark.parametrize("seed", range(6))
def test_the_minimum_of_a_simplex_is_scipys(seed, most):
    rng = np.random.default_rng(seed)
    matrix, centre = rng.normal(size=(3, 2)), rng.normal(size=2)

    def function(at):
        return np.abs(matrix @ (at - centre)).sum() ** 1.5 + 0.3 * np.sin(5 * at[0])

    ours, theirs, corners = counted(function), counted(function), rng.normal(size=(3, 2))
    at, value = simplex_minimum(ours, corners, near=0.01, alike=1e-3, most=most)
    options = {"initial_simplex": corners, "maxfev": most, "xatol": 0.01, "fatol": 1e-3}
    expected = optimize.minimize(theirs, corners[0], method="Nelder-Mead", options=options)
    assert_allclose([*at, value], [*expected.x, expected.fun], rtol=1e-12)
    assert ours.calls == theirs.calls


@pytest.mark.parametrize("seed", range(30))
def test_the_numbers_that_are_not_negative_are_scipys(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(9, 7)) + rng.uniform(0, 2)
    matrix[:, 6] = -matrix[:, 5]  # one column of either sign
    target = rng.normal(size=9)
    numbers, distance = non_negative_solution(matrix, target)
    expected, expected_distance = optimize.nnls(matrix, target)
    assert_allclose(distance, expected_distance, atol=1e-9)
    assert_allclose(matrix @ numbers, matrix @ expected, atol=1e-8)
    assert (numbers >= 0).all()
