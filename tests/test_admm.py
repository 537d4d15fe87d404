"""The paper's iterations: the fast code equals their literal transcription from the same start."""

from dataclasses import replace

import numpy as np
import oracle
import pytest
from problems import KERNELS, blocks_of, bytes_of, centred, constant_of, local_problems, photographs

from llise import ADMM, LLISE, KernelLLISE
from llise.manifold.admm import PUBLISHED_ITERATIONS, embedding_start, weight_start
from llise.manifold.embedding import admm_embedding
from llise.manifold.gram import Kernel
from llise.manifold.weights import admm_weights, exact_weights, semidefinite

C = constant_of(64)
IMAGES = photographs(14, 16, 8)
NEW = photographs(3, 16, 8, seed=9)
K_NEAR, P = 5, 3
FEW = 30  # rounds after which rounding has not been blown up yet


def start_of(b, n, k, seed=3):
    return np.ascontiguousarray(weight_start(seed, np.arange(b), n, k).transpose(1, 0, 2, 3))


# -------------------------------------------------------------------------------------------------------- weights


def transcribed(problems, kernel, count, start, affine=False):
    """The literal iterations on all problems K, kv, a."""
    K, kv, a = problems
    admm = ADMM().resolved(kernel)
    out = np.empty_like(kv)
    for at in np.ndindex(a.shape):
        problem = K[at], kv[at], a[at]
        out[at] = oracle.admm_weights(*problem, C, admm.rho, admm.eta, count, start[:, *at], affine)
    return out


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("constraint", ["sphere", "affine"])
def test_fast_weights_equal_the_transcription(kernel, constraint):
    *problems, _ = local_problems(blocks_of(IMAGES), K_NEAR, Kernel(kernel))
    start = start_of(*problems[1].shape)
    fast, n_iter = admm_weights(*problems, C, constraint, ADMM().resolved(kernel), start, FEW)
    assert (n_iter == FEW).all()
    slow = transcribed(problems, kernel, FEW, start, constraint == "affine")
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-10)
    assert np.abs(fast - start[0]).max() > 0.01  # the iterations have gone somewhere


@pytest.mark.parametrize("kernel", KERNELS)
def test_fast_weights_equal_the_transcription_as_long_as_rounding_lets_it_be_repeated(kernel):
    """The projection blows rounding up where w + j comes near zero, round after round: after the released code's

    counts some weights are not determined by their start to more than a few digits, in any arithmetic.  Those are
    found by shaking the start in its last digit; all others agree.
    """
    *problems, _ = local_problems(blocks_of(IMAGES), K_NEAR, Kernel(kernel))
    start = start_of(*problems[1].shape)
    count = PUBLISHED_ITERATIONS[kernel][0]
    fast, _ = admm_weights(*problems, C, "sphere", ADMM().resolved(kernel), start, count)
    slow = transcribed(problems, kernel, count, start)
    rng = np.random.default_rng(0)
    shaken = [
        transcribed(problems, kernel, count, start * (1 + 1e-15 * rng.choice([-1, 1], start.shape))) for _ in "123"
    ]
    unsettled = np.max([np.abs(other - slow) for other in shaken], axis=(0, -1))
    settled = unsettled < 1e-11
    assert settled.mean() > 0.6
    np.testing.assert_allclose(fast[settled], slow[settled], rtol=0, atol=1e-10)
    assert (np.abs(fast - slow).max(axis=-1) < 1e-10 + 100 * unsettled).all()


def test_weights_in_products_equal_the_printed_iterations_in_pixels():
    raw = blocks_of(IMAGES)
    K, kv, a, near = local_problems(raw, K_NEAR)
    start = start_of(*kv.shape)
    fast, _ = admm_weights(K, kv, a, C, "sphere", ADMM().resolved("linear"), start, FEW)
    for i, j in np.ndindex(a.shape):
        x = centred(raw[i])
        slow = oracle.admm_weights_of_blocks(x[j], x[near[i, j]].T, C, 0.1, 0.1, FEW, start[:, i, j])
        np.testing.assert_allclose(fast[i, j], slow, rtol=0, atol=1e-10)


def test_weights_of_a_problem_do_not_depend_on_the_other_problems():
    K, kv, a, _ = local_problems(blocks_of(photographs(40)), K_NEAR)
    start = start_of(*kv.shape)
    admm = ADMM(tol=1e-6).resolved("linear")
    together, rounds = admm_weights(K, kv, a, C, "sphere", admm, start, 500)
    rounds = rounds.reshape(a.shape)
    for i, j in [(0, 0), (1, 17), (3, 39)]:
        one = np.s_[i : i + 1, j : j + 1]
        alone, own = admm_weights(K[one], kv[one], a[one], C, "sphere", admm, start[:, *one], 500)
        np.testing.assert_allclose(alone[0, 0], together[i, j], atol=1e-12)
        assert own[0] == rounds[i, j]


def test_a_tolerance_stops_each_problem_where_the_transcription_rests():
    """The first round after which neither |w - xi| nor the change of xi exceeds it."""
    K, kv, a, _ = local_problems(blocks_of(IMAGES), K_NEAR)
    start = start_of(*kv.shape)
    admm = ADMM(tol=0.01, rho=5.0).resolved("linear")
    fast, rounds = admm_weights(K, kv, a, C, "sphere", admm, start, 40)
    rounds = rounds.reshape(a.shape)
    assert len(np.unique(rounds)) > 3  # problems stop apart
    for i, j in np.ndindex(a.shape):
        problem = K[i, j], kv[i, j], a[i, j]
        w, xi, dual = (part[i, j] for part in start)
        done = 0
        for _ in range(40):
            done += 1
            w = w - 0.1 * oracle.gradient_f(w, *problem, C) - 0.1 * 5.0 * (w - xi + dual)
            projected = (w + dual) / np.linalg.norm(w + dual)
            dual = dual + w - projected
            gap = max(np.abs(w - projected).max(), np.abs(projected - xi).max())
            xi = projected
            if gap <= 0.01:
                break
        assert rounds[i, j] == done
        np.testing.assert_allclose(fast[i, j], w, atol=1e-10)


def test_exact_weights_are_what_the_iterations_would_reach():
    """From the exact optimum, with xi = w and j such that the step is zero, the iterations do not move."""
    K, kv, a, _ = local_problems(blocks_of(IMAGES), K_NEAR)
    w = exact_weights(K, kv, a, C, "sphere")
    rho = 0.1
    rest = np.zeros_like(w)
    for i, j in np.ndindex(a.shape):
        rest[i, j] = -oracle.gradient_f(w[i, j], K[i, j], kv[i, j], a[i, j], C) / rho
    start = np.stack([w, w, rest])
    # w + j is a positive multiple of w, as the gradient is a multiple of w: so xi stays
    weights, _ = admm_weights(K, kv, a, C, "sphere", ADMM().resolved("linear"), start, 1)
    np.testing.assert_allclose(weights, w, atol=1e-10)


# ------------------------------------------------------------------------------------------------------ embedding


@pytest.mark.parametrize("as_published", [False, True])
def test_fast_embedding_equals_the_transcription(as_published):
    K, kv, a, near = local_problems(blocks_of(IMAGES), K_NEAR)
    weights = exact_weights(K, kv, a, C, "affine")
    b, n, _ = weights.shape
    admm = replace(ADMM().resolved("linear"), as_published=as_published)
    start = embedding_start(3, np.arange(b), n, P)
    fast = admm_embedding(weights, near, C, admm, start)
    assert (fast.n_iter == 60).all()
    for i in range(b):
        W = oracle.dense(weights[i], near[i])
        slow = oracle.admm_embedding(W, C, 0.01, 0.01, 60, start[i], as_published)
        np.testing.assert_allclose(fast.coordinates[i], slow, rtol=0, atol=1e-10)
        assert np.abs(slow - start[i, 0]).max() > 0.01
        value = sum(oracle.theta(slow, W[j], j, C) for j in range(n))
        assert fast.objective[i] == pytest.approx(value, abs=1e-9)
        gap = np.abs(slow.T @ slow / n - np.eye(P)).max()
        assert fast.violation[i] == pytest.approx(max(gap, np.abs(slow.mean(axis=0)).max()), abs=1e-9)


def test_the_errors_in_the_paper_matter():
    published, corrected = (
        LLISE.as_in_paper(P, n_neighbors=K_NEAR, solver="admm", as_published=as_published, random_state=0)
        .fit(IMAGES)
        .embedding_
        for as_published in (True, False)
    )
    assert np.abs(published - corrected).max() > 0.1


def test_given_time_the_corrected_iterations_become_feasible():
    """With enough rounds Y meets Y'Y = nI; the published projection is onto n^2 I, so it cannot."""
    K, kv, a, near = local_problems(blocks_of(IMAGES), K_NEAR)
    weights = exact_weights(K, kv, a, C, "affine")
    b, n, _ = weights.shape
    start = embedding_start(3, np.arange(b), n, P)
    admm = ADMM(rho_embedding=1.0, eta_embedding=0.1, max_iter=(1, 5000, 1)).resolved("linear")
    assert admm_embedding(weights, near, C, admm, start).violation.max() < 1e-3
    assert admm_embedding(weights, near, C, replace(admm, as_published=True), start).violation.min() > 1


# -------------------------------------------------------------------------------------------------- whole learners


def learner(kernel, admm, **options):
    """KernelLLISE with the paper's iterations; ``linear`` is LLISE."""
    return KernelLLISE.as_in_paper(P, kernel=kernel, n_neighbors=K_NEAR, solver=admm, random_state=5, **options)


def mend_for(kernel, as_published):
    return (lambda *problem: problem) if as_published or Kernel(kernel).is_definite else mended


def mended(K, kv, a):
    K, kv, a = semidefinite(K[None], kv[None], np.array([a]))
    return K[0], kv[0], a[0]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("as_published", [False, True])
def test_a_fit_is_the_transcription_from_images_to_coordinates(kernel, as_published):
    counts = FEW, 60, FEW
    fitted = learner(kernel, ADMM(max_iter=counts, as_published=as_published)).fit(IMAGES)
    raw, seed = blocks_of(IMAGES), fitted._fitted_settings.seed
    for i, blocks in enumerate(raw):
        starts = (
            weight_start(seed, np.array([i]), len(IMAGES), K_NEAR)[0],
            embedding_start(seed, np.array([i]), len(IMAGES), P)[0],
        )
        weights, near, Y = oracle.embed_block(
            blocks,
            K_NEAR,
            kernel,
            *starts,
            rho=0.1 if kernel == "linear" else 0.01,
            eta=0.1,
            iterations=counts,
            as_published=as_published,
            mend=mend_for(kernel, as_published),
        )
        np.testing.assert_array_equal(fitted.neighbors_[i], near)
        np.testing.assert_allclose(fitted.weights_[i], weights, atol=1e-6)  # kept in single precision
        np.testing.assert_allclose(fitted.embedding_[i], Y, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_new_images_by_the_transcription(kernel):
    """As published: the same iterations on the new blocks' products with their training neighbours."""
    fitted = learner(kernel, ADMM(max_iter=(FEW, FEW, FEW), as_published=True)).fit(IMAGES)
    seed, count = fitted._fitted_settings.seed, FEW
    coordinates = fitted.embed(NEW)
    rho = 0.1 if kernel == "linear" else 0.01
    for i, (training, new) in enumerate(zip(blocks_of(IMAGES), blocks_of(NEW))):
        start = weight_start(seed, np.array([i]), len(NEW), K_NEAR, new=True)[0]
        for j, x in enumerate(new):
            K, products, a = centred_by_training(training, x, kernel)
            order = np.argsort(a - 2 * products + np.diag(K), kind="stable")[:K_NEAR]
            problem = K[np.ix_(order, order)], products[order], a
            w = oracle.admm_weights(*problem, C, rho, 0.1, count, start[:, j])
            np.testing.assert_allclose(coordinates[i, j], w @ fitted.embedding_[i, order], rtol=0, atol=1e-10)


def centred_by_training(training, x, kernel):
    """Training Gram matrix, products and squared norm of one new block, centred by training means in loops."""
    q = training.shape[1]
    if kernel == "linear":
        return oracle.gram(training), centred(training) @ centred(x), centred(x) @ centred(x)
    k = lambda u, v: (
        oracle.kernel_value(u, v, kernel, 1 / q)
        / np.sqrt(oracle.kernel_value(u, u, kernel, 1 / q) * oracle.kernel_value(v, v, kernel, 1 / q))
    )
    among = np.array([[k(u, v) for v in training] for u in training])
    with_x = np.array([k(x, v) for v in training])
    products = with_x - with_x.mean() - among.mean(axis=0) + among.mean()
    return oracle.gram(training, kernel), products, 1 - 2 * with_x.mean() + among.mean()


def test_8_bit_images_go_the_same_way():
    images = bytes_of(IMAGES)
    options = {"n_neighbors": K_NEAR, "solver": ADMM(max_iter=(FEW, 60, FEW)), "random_state": 5}
    np.testing.assert_allclose(
        LLISE(P, **options).fit(images).embedding_, LLISE(P, **options).fit(images / 255.0).embedding_, atol=1e-9
    )


# -------------------------------------------------------------------------------------------------------- settings


def test_defaults_are_the_papers():
    linear, kernel = ADMM().resolved("linear"), ADMM().resolved("rbf")
    assert (linear.rho, linear.eta, kernel.rho, kernel.eta) == (0.1, 0.1, 0.01, 0.1)
    assert (linear.rho_embedding, linear.eta_embedding) == (0.01, 0.01)
    assert linear.max_iter == (230, 60, 590)
    assert [ADMM().resolved(name).max_iter for name in ("rbf", "sigmoid", "poly")] == [
        (160, 110, 500),
        (70, 200, 30),
        (150, 270, 500),
    ]
    assert not linear.as_published


def test_given_settings_are_kept():
    admm = ADMM(rho=1.0, eta=0.5, max_iter=(1, 2, 3)).resolved("rbf")
    assert (admm.rho, admm.eta, admm.max_iter) == (1.0, 0.5, (1, 2, 3))


@pytest.mark.parametrize("counts", [(1, 2), (0, 1, 1), (1, 1, 1, 1)])
def test_bad_counts_are_refused(counts):
    with pytest.raises(ValueError, match="max_iter must be three positive counts"):
        LLISE(P, solver=ADMM(max_iter=counts), data_range=1.0).fit(IMAGES)


def test_as_published_needs_the_iterations():
    with pytest.raises(ValueError, match="as_published=True goes with solver='admm'"):
        LLISE(P, as_published=True).fit(IMAGES)


def test_starts_are_uniform_and_differ_by_seed_block_and_part():
    start = weight_start(0, np.arange(50), 20, 10)
    assert start.shape == (50, 3, 20, 10)
    np.testing.assert_allclose(start.sum(axis=-1), 1, atol=1e-12)
    values = embedding_start(0, np.arange(50), 20, 4)
    assert values.shape == (50, 3, 20, 4)
    assert 0 <= values.min() < 0.01 < 0.99 < values.max() < 1
    assert values.mean() == pytest.approx(0.5, abs=0.01)
    assert values.std() == pytest.approx(np.sqrt(1 / 12), abs=0.01)
    assert len(np.unique(values)) == values.size
    assert len(np.intersect1d(values, embedding_start(1, np.arange(50), 20, 4))) == 0


def test_the_start_of_a_block_depends_neither_on_its_chunk_nor_on_other_new_images():
    np.testing.assert_array_equal(weight_start(7, np.arange(9), 5, 3)[4:6], weight_start(7, np.arange(4, 6), 5, 3))
    many, one = (weight_start(7, np.arange(9), m, 3, new=True) for m in (5, 1))
    np.testing.assert_array_equal(many[:, :, 3:4], one)


def test_random_state_decides():
    fits = [LLISE(P, n_neighbors=5, solver="admm", random_state=seed).fit(IMAGES).embedding_ for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert np.abs(fits[0] - fits[2]).max() > 1e-3
