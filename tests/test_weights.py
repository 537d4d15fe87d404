"""Reconstruction weights: the objective's gradient, the global optimum on the sphere, the affine closed form."""

import numpy as np
import oracle
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from problems import (
    KERNELS,
    blocks_of,
    callable_parts,
    centred,
    constant_of,
    degenerate_problems,
    local_problem,
    local_problems,
    photographs,
    random_problems,
)
from scipy.optimize import check_grad
from sklearn.manifold._locally_linear import barycenter_weights

from llise.engine import numba_eigen
from llise.manifold.gram import Kernel
from llise.manifold.objectives import reconstruction_gradient, reconstruction_value, ssim_distance
from llise.manifold.weights import RIDGE, exact_weights, semidefinite

C = constant_of(16)
DEGENERATE = degenerate_problems(np.random.default_rng(0))


def solve(problem, constraint="sphere", c=C, **options):
    K, kv, a = problem
    return exact_weights(K[None], kv[None], np.array([a]), c, constraint, **options)[0]


def value(w, problem, c=C):
    return reconstruction_value(w, *(np.asarray(part) for part in problem), c)


def projected_gradient(problem, starts, c=C, rounds=2000):
    """The best value on the sphere found from many starts at once, by gradient steps that shrink until they help."""
    K, kv, a = problem
    w = starts / np.linalg.norm(starts, axis=1, keepdims=True)
    step = np.full(len(w), (a + c) / max(np.linalg.norm(K, 2), np.linalg.norm(kv), 1e-12))
    best = reconstruction_value(w, K, kv, a, c)
    for _ in range(rounds):
        trial = w - step[:, None] * reconstruction_gradient(w, K, kv, a, c)
        trial /= np.linalg.norm(trial, axis=1, keepdims=True)
        reached = reconstruction_value(trial, K, kv, a, c)
        better = reached < best
        w[better], best[better] = trial[better], reached[better]
        step = np.where(better, 1.3 * step, 0.5 * step)
        if step.max() < 1e-18:
            break
    return best.min()


def starts_for(k, rng, count=20):
    """Random directions, the neighbours themselves and their opposites."""
    return np.vstack([rng.standard_normal((count, k)), np.eye(k), -np.eye(k), np.ones((1, k))])


# ------------------------------------------------------------------------------------------------- the objective


def test_value_is_the_ssim_distance_of_block_and_reconstruction():
    rng = np.random.default_rng(0)
    x, X, w = centred(rng.standard_normal(16)), centred(rng.standard_normal((5, 16))), rng.standard_normal(5)
    problem = local_problem(x, X)
    assert value(w, problem) == pytest.approx(ssim_distance(x, w @ X, zero_mean=True))
    assert value(w, problem) == pytest.approx(oracle.f(w, *problem, C))
    assert value(w, problem) == pytest.approx(oracle.f_of_blocks(w, x, X.T, C))


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_gradient_agrees_with_finite_differences(scale):
    rng = np.random.default_rng(0)
    for problem in random_problems(rng, 10, 6, 16):
        w = scale * rng.standard_normal(6)
        gradient = reconstruction_gradient(w, *map(np.asarray, problem), C)
        error = check_grad(value, lambda w, p: reconstruction_gradient(w, *map(np.asarray, p), C), w, problem)
        assert error < 1e-5 * max(1.0, np.linalg.norm(gradient))
        assert np.linalg.norm(gradient) > 1e-9
        np.testing.assert_allclose(gradient, oracle.gradient_f(w, *problem, C), rtol=1e-12)


def test_gradient_in_pixels_is_the_gradient_in_products():
    rng = np.random.default_rng(1)
    x, X, w = centred(rng.standard_normal(16)), centred(rng.standard_normal((5, 16))), rng.standard_normal(5)
    in_products = oracle.gradient_f(w, *local_problem(x, X), C)
    np.testing.assert_allclose(oracle.gradient_f_of_blocks(w, x, X.T, C), in_products, rtol=1e-12)


# ------------------------------------------------------------------------------------------------------ the sphere


@pytest.mark.parametrize(("k", "q"), [(1, 16), (2, 16), (6, 16), (10, 64), (10, 8), (20, 16)])
def test_sphere_weights_are_no_worse_than_the_best_of_many_starts(k, q):
    rng = np.random.default_rng(k)
    for problem in random_problems(rng, 8, k, q):
        w = solve(problem)
        assert np.linalg.norm(w) == pytest.approx(1, abs=1e-14)
        assert value(w, problem) <= projected_gradient(problem, starts_for(k, rng)) + 1e-8


@pytest.mark.parametrize("name", DEGENERATE)
def test_sphere_weights_are_globally_optimal_on_degenerate_problems(name):
    problem = DEGENERATE[name]
    w = solve(problem)
    assert np.linalg.norm(w) == pytest.approx(1, abs=1e-14)
    rng = np.random.default_rng(0)
    assert value(w, problem) <= projected_gradient(problem, starts_for(len(w), rng)) + 1e-8


def test_the_starts_find_what_is_known():
    """Guard: the search above reaches an optimum worked out by hand, so passing it means something."""
    problem = DEGENERATE["all neighbours equal"]
    K, kv, a = problem
    norm, inner, k = K[0, 0], kv[0], len(kv)
    totals = np.linspace(-np.sqrt(k), np.sqrt(k), 100_001)  # only s = sum(w) matters
    by_hand = ((a + norm * totals**2 - 2 * totals * inner) / (a + norm * totals**2 + C)).min()
    assert projected_gradient(problem, starts_for(k, np.random.default_rng(0))) == pytest.approx(by_hand, abs=1e-8)
    assert value(solve(problem), problem) == pytest.approx(by_hand, abs=1e-8)


@pytest.mark.parametrize("name", KERNELS)
def test_sphere_weights_of_real_blocks_are_globally_optimal(name):
    K, kv, a, _ = local_problems(blocks_of(photographs()), 10, Kernel(name))
    if not Kernel(name).is_definite:
        K, kv, a = semidefinite(K, kv, a)
    w = exact_weights(K, kv, a, constant_of(64), "sphere")
    np.testing.assert_allclose(np.linalg.norm(w, axis=-1), 1, atol=1e-14)
    reached = reconstruction_value(w, K, kv, a, constant_of(64))
    rng = np.random.default_rng(0)
    for i, j in [(0, 0), (1, 7), (2, 14), (3, 21)]:
        problem = K[i, j], kv[i, j], a[i, j]
        assert reached[i, j] <= projected_gradient(problem, starts_for(10, rng), constant_of(64)) + 1e-8


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 7),
    st.integers(1, 9),
    st.integers(-6, 3),
    st.sampled_from([1e-6, 1e-2, 10]),
)
def test_sphere_weights_beat_random_ones_whatever_the_rank_and_scale(seed, k, rank, power, c):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((k + 1, rank)) * 10.0**power
    factor[rng.random(k + 1) < 0.2] = 0
    factor[rng.integers(0, k + 1)] = factor[rng.integers(0, k + 1)]
    problem = local_problem(factor[0], factor[1:])
    w = solve(problem, c=c)
    assert np.linalg.norm(w) == pytest.approx(1, abs=1e-14)
    others = starts_for(k, rng, 300)
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    assert value(w, problem, c) <= reconstruction_value(others, *map(np.asarray, problem), c).min() + 1e-8


def test_a_neighbour_equal_to_the_block_is_reconstructed_without_error():
    w = solve(DEGENERATE["one equals the block"])
    assert value(w, DEGENERATE["one equals the block"]) == pytest.approx(0, abs=1e-12)


def test_where_the_optimum_is_free_weights_sum_to_one_then_lean_on_the_nearest():
    """All neighbours equal the block: f = 0 for sum(w) = 1, and of those the nearest to e_1 is e_1 itself."""
    np.testing.assert_allclose(solve(DEGENERATE["all equal the block"]), np.eye(6)[0], atol=1e-7)
    # nothing to see at all: f = 0 for every w
    np.testing.assert_allclose(solve(DEGENERATE["zero block and neighbours"]), np.eye(6)[0], atol=1e-7)


def test_weights_of_a_problem_do_not_depend_on_the_other_problems():
    problems = random_problems(np.random.default_rng(0), 40, 6, 16) + [p for p in DEGENERATE.values() if len(p[1]) == 6]
    K, kv, a = (np.array([p[i] for p in problems]) for i in range(3))
    for constraint in ("sphere", "affine"):
        together = exact_weights(K, kv, a, C, constraint)
        alone = np.array([solve(p, constraint) for p in problems])
        values = [reconstruction_value(w, K, kv, a, C) for w in (together, alone)]
        np.testing.assert_allclose(*values, atol=1e-13)
        np.testing.assert_allclose(together, alone, atol=1e-9)


# ------------------------------------------------------------------------- eigenvectors of non-zero eigenvalues


def eigen(K):
    """d (problems, k) and U (problems, k, k), vectors in rows, of one lane a problem; zeros beyond the rank."""
    problems, k, _ = K.shape
    parts = callable_parts(numba_eigen)
    factors = np.zeros_like(K)
    ranks = [parts.pivoted_cholesky(K, j, factors, np.empty(k)) for j in range(problems)]
    for factor, rank in zip(factors, ranks):
        factor[rank:] = 0
    X = np.ascontiguousarray(factors.transpose(1, 2, 0))
    d = np.zeros((k, problems))
    parts.one_sided_jacobi(X, max(ranks), d)
    return d.T, X.transpose(2, 0, 1)


def assert_eigen(K, d, U, rank):
    """K = U' diag(d) U, with as many orthonormal rows in U as K has non-zero eigenvalues, and zeros."""
    size = np.linalg.norm(K, 2)
    np.testing.assert_allclose(U.T @ np.diag(d) @ U, K, atol=1e-13 * size)
    np.testing.assert_allclose(np.sort(d), np.linalg.eigvalsh(K), atol=1e-13 * size)
    assert np.count_nonzero(d) == rank
    np.testing.assert_allclose(U @ U.T, np.diag(np.where(d > 0, 1.0, 0.0)), atol=1e-13)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 11), st.integers(1, 12), st.integers(-4, 3))
def test_factor_and_rotations_give_the_eigenvectors_whatever_the_rank_and_scale(seed, k, rank, power):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3, k, rank)) * 10.0 ** rng.uniform(-2, 0, rank) * 10.0**power
    X[1, rng.random(k) < 0.3] = 0
    X[2] = X[2, rng.integers(0, k, k)]  # duplicates
    K = X @ X.transpose(0, 2, 1)
    ranks = np.linalg.matrix_rank(X, tol=1e-6 * 10.0**power)
    assume((ranks == np.linalg.matrix_rank(X, tol=1e-4 * 10.0**power)).all())  # no doubt about it
    for problem, d, U, expected in zip(K, *eigen(K), ranks):
        assert_eigen(problem, d, U, expected)


def test_plain_matrices_have_their_eigenvectors():
    k = 5
    plain = [np.zeros((k, k)), np.eye(k), np.ones((k, k)), np.diag([3.0, 0, 1e-7, 2, 0])]
    for K, d, U, rank in zip(plain, *eigen(np.array(plain)), [0, 5, 1, 3]):
        assert_eigen(K, d, U, rank)
    d, U = eigen(np.full((1, 1, 1), 4.0))
    assert d.item() == pytest.approx(4)
    assert abs(U.item()) == pytest.approx(1)


def test_small_eigenvalues_of_a_graded_matrix_have_small_relative_errors():
    """D L L' D with D powers of 16 and L of ones: no rounding in K, whose determinant is that of D D."""
    scales = 16.0 ** -np.array([3, 5, 1, 0, 4, 2])
    K = scales[:, None] * (np.tri(6) @ np.tri(6).T) * scales
    determinant = np.prod(scales**2)
    assert np.prod(eigen(K[None])[0][0]) / determinant == pytest.approx(1, abs=1e-13)
    assert np.prod(np.linalg.eigvalsh(K)) / determinant != pytest.approx(1, abs=1e-7)  # errors of K's norm


@pytest.mark.parametrize("spectrum", [[1, 1, 2, 3, 4, 5], [0, 0, 0, 1, 2, 3], [0, 0, 0, 0, 0, 0]])
@pytest.mark.parametrize("outside", [0.0, 1e-9, 1e-3, 3.0])
def test_sphere_weights_are_optimal_whether_or_not_kv_reaches_the_least_eigenvalues(spectrum, outside):
    """The hard case and its neighbourhood, for the least eigenvalue zero and not."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        Q, _ = np.linalg.qr(rng.standard_normal((6, 6)))
        K = (Q * spectrum) @ Q.T
        K = (K + K.T) / 2
        kv = Q @ (rng.uniform(0, 3, 6) * np.where(np.array(spectrum) > min(spectrum), 1.0, outside))
        problem = K, kv, 2.0
        best = projected_gradient(problem, starts_for(6, rng))
        assert value(solve(problem), problem) <= best + 1e-8


@pytest.mark.parametrize("small", [1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-6])
@pytest.mark.parametrize("zeros", [0, 1, 3])
def test_sphere_weights_are_optimal_where_the_rank_is_in_doubt(small, zeros):
    """Kernels' eigenvalues fall into rounding without a gap."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        Q, _ = np.linalg.qr(rng.standard_normal((6, 6)))
        spectrum = np.where(np.arange(6) < zeros, 0, np.geomspace(small, 1, 6))
        K = (Q * spectrum) @ Q.T
        K = (K + K.T) / 2
        kv = K @ rng.standard_normal(6) * rng.choice([0.1, 1.0])
        problem = K, kv, 0.5
        best = projected_gradient(problem, starts_for(6, rng))
        assert value(solve(problem), problem) <= best + 1e-8


# ------------------------------------------------------------------------------------------------------ affine sum


def ridged(problem, ridge=RIDGE):
    """K with the ridge of the affine problem: ridge times the mean squared distance to the neighbours."""
    K, kv, a = problem
    k = len(kv)
    return K + ridge * (k * a + np.trace(K) - 2 * kv.sum()) / k * np.eye(k)


@pytest.mark.parametrize(("k", "q"), [(1, 16), (2, 16), (6, 16), (10, 64), (10, 8)])
def test_affine_weights_satisfy_the_optimality_conditions(k, q):
    """The gradient of f with the ridged K is a multiple of ones, and no other affine weights do better."""
    rng = np.random.default_rng(k)
    for problem in random_problems(rng, 12, k, q):
        w = solve(problem, "affine")
        assert w.sum() == pytest.approx(1, abs=1e-9)
        lifted = ridged(problem), problem[1], problem[2]
        gradient = reconstruction_gradient(w, *map(np.asarray, lifted), C)
        size = max(np.linalg.norm(gradient), np.linalg.norm(problem[1]) / (problem[2] + C))
        np.testing.assert_allclose(gradient - gradient.mean(), 0, atol=1e-8 * size)
        moves = centred(rng.standard_normal((200, k))) * 10 ** rng.uniform(-3, 1, (200, 1))
        others = reconstruction_value(w + moves, *map(np.asarray, lifted), C)
        assert value(w, lifted) <= others.min() + 1e-12


@pytest.mark.parametrize("name", DEGENERATE)
def test_affine_weights_of_degenerate_problems_are_finite_and_sum_to_one(name):
    w = solve(DEGENERATE[name], "affine")
    assert np.isfinite(w).all()
    assert w.sum() == pytest.approx(1, abs=1e-9)


def test_affine_weights_tend_to_scikit_learns_barycentric_weights_as_c_grows():
    """With c large, f is |x - Xw|^2 / c.  scikit-learn's ridge is reg tr(local Gram), ours ridge tr(local Gram) / k.

    Theirs is on the local Gram matrix, ours on K: with sum(w) = 1 both add the same multiple of |w|^2.
    """
    rng = np.random.default_rng(0)
    k = 5
    X = centred(rng.standard_normal((12, 16)))
    near = np.array([np.argsort(((X - x) ** 2).sum(axis=1))[1 : k + 1] for x in X])
    theirs = barycenter_weights(X, X, near, reg=1e-3)
    gaps = []
    for c in (1e2, 1e4, 1e6):
        ours = [solve(local_problem(X[j], X[near[j]]), "affine", c=c, ridge=1e-3 * k) for j in range(12)]
        gaps.append(np.abs(np.array(ours) - theirs).max())
    assert gaps[0] > 1e-3 > gaps[1] > gaps[2]  # it is not the same problem at small c
    assert gaps[2] < 1e-4
    assert gaps[1] / gaps[2] == pytest.approx(100, rel=0.1)


def test_affine_weights_of_equal_neighbours_are_even():
    np.testing.assert_allclose(solve(DEGENERATE["all equal the block"], "affine"), np.full(6, 1 / 6), atol=1e-6)


# ------------------------------------------------------------------------------------------------------- indefinite


def test_an_indefinite_problem_becomes_the_nearest_semidefinite_one():
    rng = np.random.default_rng(0)
    whole = rng.standard_normal((7, 6, 6))
    whole = whole + whole.transpose(0, 2, 1)
    K, kv, a = semidefinite(whole[:, 1:, 1:], whole[:, 0, 1:], whole[:, 0, 0])
    for i, matrix in enumerate(whole):
        spectrum, vectors = np.linalg.eigh(matrix)
        assert spectrum[0] < -0.1
        nearest = vectors @ np.diag(np.maximum(spectrum, 0)) @ vectors.T
        np.testing.assert_allclose(K[i], nearest[1:, 1:], atol=1e-10)
        np.testing.assert_allclose(kv[i], nearest[0, 1:], atol=1e-10)
        assert a[i] == pytest.approx(nearest[0, 0], abs=1e-10)


def test_a_semidefinite_problem_is_left_as_it_is():
    K, kv, a, _ = local_problems(blocks_of(photographs()), 6)
    for mended, given_ in zip(semidefinite(K, kv, a), (K, kv, a)):
        np.testing.assert_allclose(mended, given_, atol=1e-13)
