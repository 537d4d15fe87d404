"""Many images: sparse factors in place of dense ones, some products at a time, and the same answers.

The limit from which images are many is lowered, so that the two ways can be compared on few.
"""

import numpy as np
import pytest
from problems import blocks_of, bytes_of, constant_of, local_problems, photographs
from scipy.optimize import check_grad
from scipy.sparse import csr_array

from llise import ADMM, LLISE, KernelLLISE
from llise.engine import numba_embedding, sparse_embedding
from llise.manifold import block_values, execution, gram, pipeline
from llise.manifold.embedding import content_start
from llise.manifold.weights import exact_weights

C = constant_of(64)
IMAGES = photographs(60, 8, 16)  # 2 blocks
K_NEAR, P = 6, 3
MODULES = (pipeline, gram, execution, numba_embedding)


@pytest.fixture
def few_are_many(monkeypatch):
    for module in MODULES:
        monkeypatch.setattr(module, "MOST_DENSE", 10)
    monkeypatch.setattr(block_values, "PRODUCTS_AT_ONCE", 1)  # 16 images at a time


def weighted(constraint):
    raw = blocks_of(IMAGES)
    K, kv, a, near = local_problems(raw, K_NEAR)
    return exact_weights(K, kv, a, C, constraint), near, content_start(raw - raw.mean(axis=-1, keepdims=True), P)


def as_matrix(weights, near):
    n, k = weights.shape
    return csr_array((weights.ravel(), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


@pytest.mark.parametrize("constraint", ["sphere", "affine"])
def test_the_factor_solves_the_problem_among_centred_vectors(constraint):
    """x minimises x'Mx / 2 - b'x where 1'x = 0: Mx - b is a multiple of 1."""
    weights, near, _ = weighted(constraint)
    S = as_matrix(weights[0], near[0])
    rng = np.random.default_rng(0)
    d, b = rng.uniform(0.1, 9, 60), rng.standard_normal((60, 2))
    b -= b.mean(axis=0)
    factor = sparse_embedding.Factor(S)
    x = factor.solve(b, d)
    A = (1 + factor.shift) * np.eye(60) - S.toarray()
    rest = A.T @ (d[:, None] * (A @ x)) - b
    np.testing.assert_allclose(x.sum(axis=0), 0, atol=1e-9 * np.abs(x).max())
    np.testing.assert_allclose(rest - rest.mean(axis=0), 0, atol=1e-6 * np.abs(x).max())


def test_gradient_and_hessian_agree_with_finite_differences():
    weights, near, _ = weighted("affine")
    S = as_matrix(weights[0], near[0])
    rng = np.random.default_rng(0)
    Y, U = rng.standard_normal((2, 60, P))

    def at(y):
        return sparse_embedding.Point(S, csr_array(S.T), C, y.reshape(60, P))

    assert check_grad(lambda y: at(y).value, lambda y: at(y).gradient().ravel(), Y.ravel()) < 1e-4
    step = 1e-5
    slope = (at(Y + step * U).gradient() - at(Y - step * U).gradient()) / (2 * step)
    np.testing.assert_allclose(at(Y).hessian(U), slope, atol=1e-6 * np.abs(slope).max())


@pytest.mark.parametrize("constraint", ["sphere", "affine"])
def test_coordinates_are_those_of_the_dense_factor(constraint, few_are_many):
    weights, near, start = weighted(constraint)
    outcomes = []
    for solve in (numba_embedding._dense_embedding, numba_embedding.exact_embedding):
        out, results, history = np.empty(start.shape), np.empty((2, 4)), np.full((2, 5, 2), np.nan)
        solve(weights, near, C, start, 5e-7, 400, out, results, history)
        assert results[:, 1].max() < 1e-6 and results[:, 3].max() < 1e-12
        outcomes.append((out, results))
    np.testing.assert_allclose(outcomes[1][1][:, 0], outcomes[0][1][:, 0], rtol=1e-7)
    np.testing.assert_allclose(outcomes[1][0], outcomes[0][0], atol=1e-4)


def test_with_a_large_constant_coordinates_are_the_lowest_eigenvectors(few_are_many):
    """As c grows, all terms have the same denominator, and what is left is the eigenproblem of LLE."""
    weights, near, start = weighted("affine")
    out, results = np.empty(start.shape), np.empty((2, 4))
    numba_embedding.exact_embedding(weights, near, 1e9, start, 1e-9, 400, out, results, np.empty((2, 0, 2)))
    for Y, w, index in zip(out, weights, near):
        A = np.eye(60) - as_matrix(w, index).toarray()
        centre = np.eye(60) - 1 / 60
        values, vectors = np.linalg.eigh(centre @ A.T @ A @ centre)
        lowest = vectors[:, 1 : P + 1]  # the first is the vector of ones
        np.testing.assert_allclose(np.linalg.svd(lowest.T @ Y / 60**0.5)[1], 1, atol=1e-6)
        np.testing.assert_allclose((A @ Y).T @ (A @ Y), np.diag(60 * values[1 : P + 1]), atol=1e-6)


LEARNERS = {
    "sphere": LLISE(P, n_neighbors=K_NEAR),
    "luminance": LLISE(P, n_neighbors=K_NEAR, constraint="affine", luminance=0.5),
    "rbf": KernelLLISE(P, n_neighbors=K_NEAR, constraint="affine"),
    "poly": KernelLLISE(P, n_neighbors=K_NEAR, kernel="poly"),
    "sigmoid": KernelLLISE(P, n_neighbors=K_NEAR, kernel="sigmoid", constraint="affine"),
    "callable": KernelLLISE(P, n_neighbors=K_NEAR, kernel=lambda x, y: (1 + x @ y.T) ** 2, constraint="affine"),
    "admm": LLISE(P, n_neighbors=K_NEAR, solver=ADMM(max_iter=(9, 8, 7)), random_state=0),
}


@pytest.mark.parametrize("dtype", ["uint8", "float64"])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_fit_is_the_same_whether_images_are_many_or_few(request, name, dtype):
    images = bytes_of(IMAGES) if dtype == "uint8" else IMAGES
    few = LEARNERS[name].fit(images)
    expected = few.neighbors_, few.weights_, few.embedding_error_, few.embed(images[:5] // 2)
    request.getfixturevalue("few_are_many")
    many = LEARNERS[name].fit(images)
    np.testing.assert_array_equal(many.neighbors_, expected[0])
    np.testing.assert_allclose(many.weights_, expected[1], atol=1e-6)
    assert many.embedding_error_ == pytest.approx(expected[2], rel=1e-5, abs=1e-9)
    np.testing.assert_allclose(many.embed(images[:5] // 2), expected[3], atol=1e-3)


@pytest.mark.parametrize("name", ["luminance", "rbf"])
def test_portions_and_threads_change_nothing(monkeypatch, few_are_many, name):
    one = LEARNERS[name].fit_transform(IMAGES)
    monkeypatch.setattr(block_values, "PRODUCTS_AT_ONCE", 60 * 25)
    np.testing.assert_array_equal(LEARNERS[name].fit_transform(IMAGES), one)
    learner = LEARNERS[name]
    np.testing.assert_array_equal(type(learner)(**{**learner.get_params(), "n_jobs": 3}).fit_transform(IMAGES), one)


def test_more_images_than_a_dense_factor_takes_are_certified():
    rng = np.random.default_rng(0)
    images = photographs(1100, 4, 4)
    learner = LLISE(2, block_size=4, constraint="affine").fit(images[rng.permutation(1100)])
    assert learner.stationarity_ < 1e-6 and learner.constraint_violation_ < 1e-12
    np.testing.assert_allclose(learner.transform(learner.training_images_[:9]), learner.embedding_[0, :9], atol=1e-9)
