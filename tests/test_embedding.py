"""The embedding: gradient and Hessian, feasible and stationary on every block, reproducible, and new images."""

import numpy as np
import oracle
import pytest
from problems import KERNELS, blocks_of, bytes_of, callable_parts, constant_of, local_problems, photographs
from scipy.optimize import check_grad

from llise.engine import numba_admm, numba_linalg, numba_objective
from llise.manifold.embedding import content_start, exact_embedding, reconstruct
from llise.manifold.gram import Kernel
from llise.manifold.objectives import embedding_gradient, embedding_value
from llise.manifold.weights import exact_weights, semidefinite

C = constant_of(64)
kernels = callable_parts(numba_objective)
get_rows, set_tall, tall = (getattr(callable_parts(numba_linalg), name) for name in ("get_rows", "set_tall", "tall"))


def weights_of(raw, k=6, kernel="linear", constraint="affine"):
    K, kv, a, near = local_problems(raw, k, Kernel(kernel))
    if not Kernel(kernel).is_definite:
        K, kv, a = semidefinite(K, kv, a)
    return exact_weights(K, kv, a, C, constraint), near


def embedded(raw, k=6, p=4, kernel="linear", constraint="affine", **options):
    weights, near = weights_of(raw, k, kernel, constraint)
    start = content_start(raw - raw.mean(axis=-1, keepdims=True), p)
    return weights, near, exact_embedding(weights, near, C, start, **options)


def dense(weights, near):
    return np.stack([oracle.dense(w, r) for w, r in zip(weights, near)])


def riemannian_gradient(Y, S, c=C):
    """|projected gradient| against |gradient|, where that vanishes against 1e-8 of its terms; from dense matrices."""
    n = len(Y)
    G = embedding_gradient(Y, S @ Y, S, c)
    H = np.eye(n) - 1 / n
    tangent = H @ G - Y @ (Y.T @ (H @ G)) / n
    beta = (Y**2).sum(axis=1) + ((S @ Y) ** 2).sum(axis=1) + c
    scale = max(np.linalg.norm(G), 2e-8 * np.sqrt(Y.shape[1]) * np.linalg.norm(1 / beta))
    return np.linalg.norm(tangent) / scale


def random_case(seed=0, n=9, k=4, p=3):
    rng = np.random.default_rng(seed)
    near = np.array([rng.permutation(np.delete(np.arange(n), j))[:k] for j in range(n)])
    return rng.standard_normal((n, k)), near, rng.standard_normal((n, p))


# ------------------------------------------------------------------------------------------------- the objective


def test_value_is_the_papers():
    weights, near, Y = random_case()
    S = oracle.dense(weights, near)
    expected = sum(oracle.theta(Y, S[j], j, 0.1) for j in range(len(Y)))
    assert embedding_value(Y, S @ Y, 0.1) == pytest.approx(expected)


def flat_value(y, S, c):
    Y = y.reshape(len(S), -1)
    return embedding_value(Y, S @ Y, c)


def flat_gradient(y, S, c):
    Y = y.reshape(len(S), -1)
    return embedding_gradient(Y, S @ Y, S, c).ravel()


@pytest.mark.parametrize("c", [1e-3, 0.1, 10.0])
def test_gradient_agrees_with_finite_differences(c):
    for seed in range(5):
        weights, near, Y = random_case(seed)
        S = oracle.dense(weights, near)
        assert check_grad(flat_value, flat_gradient, Y.ravel(), S, c) < 1e-5
        assert np.linalg.norm(flat_gradient(Y.ravel(), S, c)) > 0.1


def test_symmetric_part_gives_the_gradient_and_the_printed_matrix_does_not():
    """The second error in the paper: 2 M_j Y is not the gradient of tr(Y' M_j Y), as M_j is not symmetric."""
    weights, near, Y = random_case()
    S = oracle.dense(weights, near)
    n = len(Y)
    right = sum(oracle.gradient_theta(Y, S[j], j, 0.1) for j in range(n))
    printed = sum(oracle.gradient_theta(Y, S[j], j, 0.1, as_printed=True) for j in range(n))
    gradient = embedding_gradient(Y, S @ Y, S, 0.1)
    np.testing.assert_allclose(right, gradient, atol=1e-12)
    assert np.linalg.norm(printed - gradient) > 0.1 * np.linalg.norm(gradient)


class Compiled:
    """The compiled objective at Y, with everything in the tall matrices it wants."""

    def __init__(self, weights, near, Y, c):
        self.S, self.shape = kernels.Sparse(weights, near), Y.shape
        self.at = kernels.point(*Y.shape)
        set_tall(Y, self.at.Y)
        self.value = kernels.objective(self.S, c, self.at)

    def rows(self, Y):
        out = np.empty(self.shape)
        get_rows(Y, out)
        return out

    def gradient(self, function=kernels.gradient):
        G, work = tall(*self.shape), tall(*self.shape)
        function(self.S, self.at, work, G)
        return self.rows(G)

    def hessian(self, U):
        along, work, H = (tall(*self.shape) for _ in range(3))
        set_tall(U, along)
        kernels.hessian(self.S, self.at, along, work, H)
        return self.rows(H)


@pytest.mark.parametrize("c", [1e-3, 0.1, 10.0])
def test_compiled_objective_gradient_and_hessian(c):
    weights, near, Y = random_case()
    S = oracle.dense(weights, near)
    here = Compiled(weights, near, Y, c)
    assert here.value == pytest.approx(embedding_value(Y, S @ Y, c), rel=1e-12)
    np.testing.assert_allclose(here.gradient(), embedding_gradient(Y, S @ Y, S, c), atol=1e-11)
    U, h = random_case(1)[2], 1e-5
    ahead, behind = (embedding_gradient(Y + s * h * U, S @ (Y + s * h * U), S, c) for s in (1, -1))
    difference = (ahead - behind) / (2 * h)
    np.testing.assert_allclose(here.hessian(U), difference, atol=1e-5 * np.abs(difference).max())


def test_compiled_published_gradient_is_the_papers():
    weights, near, Y = random_case()
    S = oracle.dense(weights, near)
    expected = sum(oracle.gradient_theta(Y, S[j], j, 0.1, as_printed=True) for j in range(len(Y)))
    compiled = Compiled(weights, near, Y, 0.1).gradient(kernels.published_gradient)
    np.testing.assert_allclose(compiled, expected, atol=1e-12)


@pytest.mark.parametrize("singular_value", [3.0, 121.0])
def test_projection_is_the_papers_singular_value_decomposition(singular_value):
    for seed in range(5):
        A = np.random.default_rng(seed).standard_normal((20, 4)) @ np.diag([10, 1, 1, 1e-3])
        B = np.ascontiguousarray(A.T)
        callable_parts(numba_admm).polar(B, singular_value)
        np.testing.assert_allclose(B.T, oracle.project(A, singular_value), atol=1e-9 * singular_value)


# ------------------------------------------------------------------------------------------------- exact solutions


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("constraint", ["sphere", "affine"])
@pytest.mark.parametrize(("k", "p"), [(10, 4), (5, 2), (12, 8), (3, 1)])
def test_exact_embedding_is_feasible_and_stationary_on_every_block(kernel, constraint, k, p):
    raw = blocks_of(photographs(40, 24, 16))
    weights, near, embedding = embedded(raw, k, p, kernel, constraint)
    S, n = dense(weights, near), raw.shape[1]
    for i, Y in enumerate(embedding.coordinates):
        np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-8)
        np.testing.assert_allclose(Y.T @ Y, n * np.eye(p), atol=1e-8)
        assert riemannian_gradient(Y, S[i]) < 1e-6
        assert embedding.objective[i] == pytest.approx(embedding_value(Y, S[i] @ Y, C), rel=1e-6, abs=1e-14)
    assert embedding.violation.max() < 1e-10
    assert embedding.stationarity.max() < 1e-6


def test_reported_stationarity_is_the_true_one():
    raw = blocks_of(photographs(40))
    weights, near, embedding = embedded(raw, 10)
    S = dense(weights, near)
    true = np.array([riemannian_gradient(Y, s) for Y, s in zip(embedding.coordinates, S)])
    assert (true < 2 * embedding.stationarity + 1e-9).all()


def test_stationarity_measured_here_sees_a_point_that_is_not_stationary():
    weights, near, embedding = embedded(blocks_of(photographs(40)), 10)
    noisy = embedding.coordinates[0] + 1e-3 * np.random.default_rng(0).standard_normal((40, 4))
    noisy = oracle.project(noisy, np.sqrt(40))
    assert riemannian_gradient(noisy, dense(weights, near)[0]) > 1e-4


def test_exact_embedding_improves_on_its_spectral_start_and_on_random_points():
    raw = blocks_of(photographs(40))
    weights, near, embedding = embedded(raw, 10, history=20)
    S, rng = dense(weights, near), np.random.default_rng(0)
    for i in range(len(raw)):
        steps = embedding.history[i, :, 0]
        steps = steps[~np.isnan(steps)]
        assert embedding.objective[i] == pytest.approx(steps[-1])
        assert (np.diff(steps) <= 1e-12).all()
        random = oracle.project(rng.standard_normal((40, 4)), np.sqrt(40))
        assert embedding.objective[i] < 0.1 * embedding_value(random, S[i] @ random, C)


def test_the_embedding_is_a_local_minimum_not_a_saddle():
    """No small feasible move lowers the objective."""
    weights, near, embedding = embedded(blocks_of(photographs(40)), 10)
    S, rng = dense(weights, near), np.random.default_rng(0)
    for i, Y in enumerate(embedding.coordinates):
        for _ in range(200):
            moved = oracle.project(Y + 1e-2 * rng.standard_normal(Y.shape), np.sqrt(40))
            assert embedding_value(moved, S[i] @ moved, C) > embedding.objective[i]


def test_equal_runs_give_equal_results():
    raw = blocks_of(photographs(30))
    for constraint in ("sphere", "affine"):
        first, second = (embedded(raw, constraint=constraint)[2] for _ in range(2))
        np.testing.assert_array_equal(first.coordinates, second.coordinates)


@pytest.mark.parametrize("constraint", ["sphere", "affine"])
def test_a_block_does_not_depend_on_the_other_blocks(constraint):
    raw = blocks_of(photographs(30))
    whole = embedded(raw, constraint=constraint)[2].coordinates
    for i in range(len(raw)):
        alone = embedded(raw[i : i + 1], constraint=constraint)[2].coordinates[0]
        np.testing.assert_allclose(alone, whole[i], atol=1e-9)


def test_rotation_is_fixed_by_rule():
    """Y'A'AY is diagonal and ascending, and every coordinate is skewed upwards."""
    weights, near, embedding = embedded(blocks_of(photographs(40)), 10)
    for Y, S in zip(embedding.coordinates, dense(weights, near)):
        T = (Y - S @ Y).T @ (Y - S @ Y)
        np.testing.assert_allclose(T - np.diag(np.diag(T)), 0, atol=1e-10 * np.trace(T))
        assert (np.diff(np.diag(T)) >= 0).all()
        assert ((Y**3).sum(axis=0) > 0).all()


@pytest.mark.parametrize("n", [2, 3, 5])
def test_as_few_images_as_there_can_be(n):
    raw = blocks_of(photographs(n))
    for p in range(1, n):
        _, _, embedding = embedded(raw, k=n - 1, p=p)
        for Y in embedding.coordinates:
            np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-8)
            np.testing.assert_allclose(Y.T @ Y, n * np.eye(p), atol=1e-8)


@pytest.mark.parametrize("constraint", ["sphere", "affine"])
@pytest.mark.parametrize("case", ["all flat", "all equal", "two kinds"])
def test_duplicates_and_flat_blocks_are_embedded_feasibly(constraint, case):
    images = bytes_of(photographs(20, 8, 8))
    if case == "all flat":
        images[:] = np.arange(20, dtype=np.uint8)[:, None, None]
    elif case == "all equal":
        images[:] = images[0]
    else:
        images[:10], images[10:] = images[0], images[15]
    raw = blocks_of(images) / 255.0
    _, _, embedding = embedded(raw, 6, 4, constraint=constraint)
    Y = embedding.coordinates[0]
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(Y.T @ Y, 20 * np.eye(4), atol=1e-8)
    assert np.isfinite([embedding.objective[0], embedding.stationarity[0]]).all()


# ------------------------------------------------------------------------------------------------------- new images


def test_reconstruction_is_the_weighted_sum_of_the_neighbours():
    rng = np.random.default_rng(0)
    Y, w, near = rng.standard_normal((3, 9, 2)), rng.standard_normal((3, 4, 5)), rng.integers(0, 9, (3, 4, 5))
    embedding = reconstruct(w, near, Y)
    for i in range(3):
        for j in range(4):
            expected = sum(w[i, j, r] * Y[i, near[i, j, r]] for r in range(5))
            np.testing.assert_allclose(embedding[i, j], expected, atol=1e-12)
