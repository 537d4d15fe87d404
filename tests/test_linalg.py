"""The compiled linear algebra of the embedding: vectors of four, tall matrices, Cholesky factors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import callable_parts

from llise.engine import numba_linalg
from llise.engine.jit import jit
from llise.engine.simd import load, spread, store, total

linalg = callable_parts(numba_linalg)
SHAPES = [(5, 1), (8, 4), (9, 2), (12, 5), (121, 4), (40, 8), (30, 9)]


def made_tall(rows):
    out = linalg.tall(*rows.shape)
    linalg.set_tall(np.ascontiguousarray(rows), out)
    return out


def rows_of(Y, n, p):
    out = np.empty((n, p))
    linalg.get_rows(Y, out)
    return out


def random_rows(n, p, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


@jit()
def fours(x, factor, out):
    a, b = load(x, 0, 0), load(x, 1, 2)
    store(out, 0, 0, a + b)
    store(out, 1, 0, a - factor * b)
    store(out, 2, 0, a * b)
    a += b
    b -= spread(factor)
    store(out, 3, 0, a)
    store(out, 4, 0, b)
    return total(load(x, 0, 0))


def test_four_numbers_are_worked_on_like_each_of_them():
    x = random_rows(2, 6)
    out = np.empty((5, 4))
    a, b = x[0, :4], x[1, 2:6]
    assert fours(x, 3.0, out) == pytest.approx(a.sum(), rel=1e-14)
    np.testing.assert_allclose(out, [a + b, a - 3.0 * b, a * b, a + b, b - 3.0], rtol=1e-14)


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_tall_matrices_give_back_their_rows_and_pad_with_zeros(n, p):
    rows = random_rows(n, p)
    Y = made_tall(rows)
    assert Y.shape[1] % 4 == 0 and Y.shape[1] - n < 4 and 4 * Y.shape[0] - p < 4
    np.testing.assert_array_equal(rows_of(Y, n, p), rows)
    assert np.count_nonzero(Y) == n * p


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_products_of_tall_matrices(n, p):
    x, y = random_rows(n, p, 1), random_rows(n, p, 2)
    X, Y = made_tall(x), made_tall(y)
    assert linalg.inner(X, Y) == pytest.approx(np.sum(x * y), rel=1e-12)
    T = np.zeros((4 * X.shape[0],) * 2)
    linalg.cross(X, Y, 0.5, T)
    np.testing.assert_allclose(T[:p, :p], 0.5 * x.T @ y, atol=1e-12)
    assert not T[p:].any() and not T[:, p:].any()
    linalg.subtract_product(X, T, Y)
    np.testing.assert_allclose(rows_of(Y, n, p), y - x @ (0.5 * x.T @ y), atol=1e-11)
    linalg.combine(2.0, X, -1.0, Y)
    np.testing.assert_allclose(rows_of(Y, n, p), 2 * x - y + x @ (0.5 * x.T @ y), atol=1e-11)
    linalg.centre(Y, n)
    np.testing.assert_allclose(rows_of(Y, n, p).mean(axis=0), 0, atol=1e-13)
    assert not Y[:, n:].any()


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_projection_is_tangent_and_leaves_tangents_alone(n, p):
    Y, U = made_tall(random_rows(n, p, 3)), made_tall(random_rows(n, p, 4))
    linalg.orthonormalise(Y, n, p, 2)
    T = np.empty((4 * Y.shape[0],) * 2)
    linalg.project(Y, U, n, T)
    y, u = rows_of(Y, n, p), rows_of(U, n, p)
    np.testing.assert_allclose(y.T @ u / n, 0, atol=1e-13)
    np.testing.assert_allclose(u.mean(axis=0), 0, atol=1e-13)
    linalg.project(Y, U, n, T)
    np.testing.assert_allclose(rows_of(U, n, p), u, atol=1e-13)


@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize("grading", [0, 3, 9])
def test_orthonormalising_spans_what_it_was_given(n, p, grading):
    """Columns that differ in size by 1e9, nearly parallel, and with a mean."""
    rows = random_rows(n, p, 5)
    rows = rows * 10.0 ** -np.linspace(0, grading, p) + rows[:, :1] + 1
    Y = made_tall(rows)
    linalg.orthonormalise(Y, n, p, 2)
    y = rows_of(Y, n, p)
    assert linalg.violation(Y, n, p) < 1e-13
    centred = rows - rows.mean(axis=0)
    first = y[:, : min(p, 2)]  # the later ones are rounding when columns differ so much
    rest = centred[:, : min(p, 2)] - first @ (first.T @ centred[:, : min(p, 2)]) / n
    assert np.abs(rest).max() < 1e-8 * np.abs(centred).max()


def test_violation_is_the_largest_departure_from_the_constraints():
    n, p = 30, 5
    Y = made_tall(random_rows(n, p))
    linalg.orthonormalise(Y, n, p, 2)
    for change in (lambda y: y + 0.25, lambda y: y * np.r_[1, 1, 1, 1, 1.5]):
        y = change(rows_of(Y, n, p))
        expected = max(np.abs(y.mean(axis=0)).max(), np.abs(y.T @ y / n - np.eye(p)).max())
        assert linalg.violation(made_tall(y), n, p) == pytest.approx(expected, rel=1e-10)


def test_columns_that_vanish_are_replaced():
    n = 20
    rows = np.c_[np.ones(n), np.arange(n), 2.0 * np.arange(n), np.zeros(n), np.arange(n) ** 2]
    Y = made_tall(rows)
    linalg.orthonormalise(Y, n, 5, 2)
    assert linalg.violation(Y, n, 5) < 1e-13


@settings(max_examples=40, deadline=None)
@given(order=st.integers(1, 11), p=st.integers(1, 9), seed=st.integers(0, 100), grading=st.integers(0, 6))
def test_cholesky_factor_and_solutions(order, p, seed, grading):
    N = 4 * order
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((N, N)) * 10.0 ** -np.linspace(0, grading, N)
    M = half @ half.T + 1e-6 * np.eye(N)
    factor = np.triu(M) + np.tril(np.full((N, N), np.nan), -4)  # below the tiles on the diagonal nothing is read
    linalg.cholesky(factor, 0.0)
    U = np.triu(factor, 1) + np.diag(1 / np.diag(factor))
    np.testing.assert_allclose(U.T @ U, M, atol=1e-12 * np.abs(M).max())
    x = rng.standard_normal((N, p))
    X = made_tall(x)
    linalg.solve(factor, X)
    np.testing.assert_allclose(U.T @ (U @ rows_of(X, N, p)), x, atol=1e-6)


def test_pivots_are_kept_from_vanishing():
    M = np.ones((8, 8))
    linalg.cholesky(M, 1e-4)
    np.testing.assert_allclose(np.diag(M)[1:], 100.0)
    assert np.isfinite(np.triu(M)).all()
