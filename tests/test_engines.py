"""One method, two engines: compiled kernels for NumPy and the array namespace for all else give equal results.

The array namespace runs twice, on array-api-strict, which has nothing but what the standard has, and on torch.
Tolerances: in float64 the engines differ by the order of sums, which ill-conditioned steps enlarge; what is float32
at the input is exact in float64 from there on, and the coordinates are rounded to float32 at the end.
"""

import inspect
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from problems import KERNELS, blocks_of, bytes_of, constant_of, degenerate_problems, local_problems, photographs

import llise
from llise import ADMM, LLISE, KernelLLISE, engine
from llise.engine import array_embedding, array_engine, cuda_engine, numba_engine
from llise.engine.backend import to_numpy
from llise.engine.numba_embedding import exact_embedding as compiled_embedding
from llise.engine.steps import Steps
from llise.manifold.admm import embedding_start, weight_start
from llise.manifold.blocks import prepare
from llise.manifold.embedding import admm_embedding, content_start, exact_embedding
from llise.manifold.gram import Kernel, local_gram, new_gram, take_local, training_gram
from llise.manifold.neighbors import new_neighbors, training_neighbors
from llise.manifold.objectives import reconstruction_value
from llise.manifold.weights import admm_weights, exact_weights, semidefinite

strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")

C = constant_of(64)
K_NEAR, P = 6, 3
FEW = 20  # rounds of the paper's iterations after which rounding has not been blown up yet
IMAGES = photographs(22, 16, 24)  # 6 blocks
NEW = np.concatenate([photographs(3, 16, 24, seed=9), IMAGES[4:5]])
EXACT = 1e-12  # products and sums
SOLVED = 1e-8  # solutions of linear systems and eigenproblems
STATIONARY = 1e-5  # coordinates: both engines stop at a relative gradient of 5e-7
ROUNDED = {"float64": STATIONARY, "uint8": STATIONARY, "float32": 1e-4}


def torch_or_skip():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.set_num_threads(1)
    return torch


def to_strict(array):
    return strict.asarray(np.ascontiguousarray(array))


def to_torch(array):
    return torch_or_skip().as_tensor(np.ascontiguousarray(array))


@pytest.fixture(params=["array-api-strict", "torch"])
def convert(request):
    """From NumPy into the other engine's arrays."""
    if request.param == "torch":
        torch_or_skip()
    return to_torch if request.param == "torch" else to_strict


def same(result, expected, tolerance):
    """The other engine's result is of its own kind, and equal."""
    assert not isinstance(result, np.ndarray)
    np.testing.assert_allclose(to_numpy(result), expected, rtol=tolerance, atol=tolerance)


# ----------------------------------------------------------------------------------------------- step by step


@pytest.mark.parametrize("images", [bytes_of(IMAGES), IMAGES, IMAGES.astype(np.float32)], ids=lambda v: str(v.dtype))
@pytest.mark.parametrize("kernel", KERNELS)
def test_gram_matrices_and_neighbours_are_the_same(convert, images, kernel):
    raw = blocks_of(images)
    kernel = Kernel(kernel).resolved(64)
    results = []
    for values in (raw, convert(raw)):
        how = {"centre": kernel.is_linear, "luminance": 0.5 if kernel.is_linear else 0.0}
        blocks, _ = prepare(values, 255.0 if raw.dtype == np.uint8 else 1.0, **how)
        gram, _ = training_gram(blocks, kernel)
        near = training_neighbors(gram, K_NEAR)
        results.append((gram, near, take_local(gram, near)))
    (gram, near, K), (other, other_near, other_K) = results
    same(other, gram, EXACT)
    same(other_near, near, 0)
    same(other_K, K, EXACT)


@pytest.mark.parametrize("kernel", KERNELS)
def test_new_blocks_have_the_same_neighbours_and_gram_matrices(convert, kernel):
    kernel = Kernel(kernel).resolved(64)
    identical = np.array([-1, -1, -1, 4])
    results = []
    for make in (np.asarray, convert):
        old, new = (prepare(make(blocks_of(v)), 1.0, centre=kernel.is_linear)[0] for v in (IMAGES, NEW))
        _, statistics = training_gram(old, kernel)
        products, own, norms = new_gram(new, old, kernel, statistics)
        near = new_neighbors(products, norms, K_NEAR, identical)
        results.append((products, own, norms, near, local_gram(old, near, kernel, statistics)))
    for other, one in zip(results[1], results[0]):
        same(other, one, EXACT)
    assert (results[0][3][:, 3, 0] == 4).all()


@pytest.mark.parametrize("constraint", ["sphere", "affine"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_exact_weights_are_the_same(convert, constraint, kernel):
    *problem, _ = local_problems(blocks_of(IMAGES), K_NEAR, Kernel(kernel))
    if not Kernel(kernel).is_definite:
        problem = semidefinite(*problem)
    weights = exact_weights(*problem, C, constraint)
    same(exact_weights(*map(convert, problem), C, constraint), weights, SOLVED)


@pytest.mark.parametrize("constraint", ["sphere", "affine"])
def test_exact_weights_of_degenerate_problems_are_as_good(convert, constraint):
    """Where the optimum is not unique, rounding may choose another one, of the same value and constraint."""
    problems = [p for p in degenerate_problems(np.random.default_rng(0)).values() if len(p[1]) == 6]
    problem = [np.array([p[i] for p in problems]) for i in range(3)]
    weights = exact_weights(*problem, C, constraint)
    other = to_numpy(exact_weights(*map(convert, problem), C, constraint))
    np.testing.assert_allclose(
        reconstruction_value(other, *problem, C), reconstruction_value(weights, *problem, C), atol=1e-9
    )
    size = np.linalg.norm(other, axis=-1) if constraint == "sphere" else other.sum(axis=-1)
    np.testing.assert_allclose(size, 1, atol=EXACT)


def test_indefinite_problems_become_the_same_semidefinite_ones(convert):
    whole = np.random.default_rng(0).standard_normal((40, 7, 7))
    whole = whole + whole.transpose(0, 2, 1)
    problem = whole[:, 1:, 1:], whole[:, 0, 1:], whole[:, 0, 0]
    assert (np.linalg.eigvalsh(whole)[:, 0] < -0.1).all()
    for other, one in zip(semidefinite(*map(convert, problem)), semidefinite(*problem)):
        same(other, one, EXACT)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_few_and_odd_numbers_of_neighbours_are_the_same(convert, k):
    *problem, _ = local_problems(blocks_of(IMAGES), k)
    for constraint in ("sphere", "affine"):
        same(exact_weights(*map(convert, problem), C, constraint), exact_weights(*problem, C, constraint), SOLVED)


@pytest.mark.parametrize("tol", [None, 0.1])
@pytest.mark.parametrize("constraint", ["sphere", "affine"])
def test_the_papers_weights_are_the_same(convert, constraint, tol):
    *problem, _ = local_problems(blocks_of(IMAGES), K_NEAR)
    admm = replace(ADMM().resolved("linear"), tol=tol)
    start = np.ascontiguousarray(weight_start(0, np.arange(6), len(IMAGES), K_NEAR).transpose(1, 0, 2, 3))
    weights, rounds = admm_weights(*problem, C, constraint, admm, start, FEW)
    other, other_rounds = admm_weights(*map(convert, problem), C, constraint, admm, convert(start), FEW)
    same(other, weights, 1e-10)
    np.testing.assert_array_equal(other_rounds, rounds)


def weighted(constraint="affine"):
    """Weights, neighbours and a start of the embedding."""
    raw = blocks_of(IMAGES)
    K, kv, a, near = local_problems(raw, K_NEAR)
    return exact_weights(K, kv, a, C, constraint), near, content_start(raw - raw.mean(axis=-1, keepdims=True), P)


@pytest.mark.parametrize("constraint", ["sphere", "affine"])
def test_exact_embeddings_are_the_same(convert, constraint):
    weights, near, start = weighted(constraint)
    one = exact_embedding(weights, near, C, start, history=5)
    other = exact_embedding(convert(weights), convert(near), C, convert(start), history=5)
    same(other.coordinates, one.coordinates, STATIONARY)
    np.testing.assert_allclose(other.objective, one.objective, rtol=1e-6)
    np.testing.assert_allclose(other.history[:, 0], one.history[:, 0], rtol=1e-6)
    for embedding in (one, other):
        assert embedding.stationarity.max() < 1e-6
        assert embedding.violation.max() < 1e-12


@pytest.mark.parametrize("steps", [0, 2])
def test_blocks_that_are_left_to_the_cores_end_where_the_others_do(convert, monkeypatch, steps):
    """A device hands its last blocks over to the compiled engine; here all of them, at once or after two steps."""
    asked, handed = [], []
    monkeypatch.setattr(
        array_embedding, "too_few_for_device", lambda array, blocks: asked.append(blocks) or len(asked) > steps
    )
    finish = array_embedding.Compiled.finish
    monkeypatch.setattr(
        array_embedding.Compiled, "finish", lambda self, active, Y: handed.extend(active) or finish(self, active, Y)
    )
    weights, near, start = weighted()
    expected = exact_embedding(weights, near, C, start)
    other = exact_embedding(convert(weights), convert(near), C, convert(start))
    assert handed == list(range(6))
    same(other.coordinates, expected.coordinates, STATIONARY)
    assert other.stationarity.max() < 1e-6
    np.testing.assert_allclose(other.objective, expected.objective, rtol=1e-9)


def test_a_block_that_stops_early_is_started_again(monkeypatch):
    weights, near, start = weighted()
    expected = exact_embedding(weights, near, C, start)
    stopped = []

    def stops_short(weights, neighbors, c, Y, tol, max_iter, out, results, history, solve=compiled_embedding):
        solve(weights, neighbors, c, Y, tol, max_iter, out, results, history)
        if not stopped:
            stopped.append(out.copy())
            results[:, 1] = 1e-3

    monkeypatch.setattr(array_embedding, "compiled_embedding", stops_short)
    monkeypatch.setattr(array_embedding, "cpu_count", lambda: 1)
    out, results = to_strict(np.zeros_like(start)), np.zeros((6, 4))
    problem = (to_strict(weights), to_strict(near), C, to_strict(start))
    rest = array_embedding.Compiled(*problem, 5e-7, 60, out, results)
    products = rest.finish(np.arange(6), to_strict(expected.coordinates))
    assert len(stopped) == 1 and results[:, 1].max() < 1e-6
    same(out, expected.coordinates, STATIONARY)
    np.testing.assert_array_equal(products, expected.n_iter)


@pytest.mark.parametrize("as_published", [False, True])
def test_the_papers_embeddings_are_the_same(convert, as_published):
    weights, near, _ = weighted()
    admm = ADMM(max_iter=(1, FEW, 1), as_published=as_published).resolved("linear")
    start = embedding_start(0, np.arange(6), len(IMAGES), P)
    one = admm_embedding(weights, near, C, admm, start, history=3)
    other = admm_embedding(convert(weights), convert(near), C, admm, convert(start), history=3)
    same(other.coordinates, one.coordinates, 1e-9)
    np.testing.assert_allclose(other.objective, one.objective, rtol=1e-9)
    np.testing.assert_allclose(other.violation, one.violation, rtol=1e-9)
    np.testing.assert_allclose(other.history, one.history, rtol=1e-9)


# ------------------------------------------------------------------------------------------------- estimators

LEARNERS = {
    "sphere": LLISE(P, n_neighbors=K_NEAR),
    "affine": LLISE(P, n_neighbors=K_NEAR, constraint="affine", luminance=0.5),
    "rbf": KernelLLISE(P, n_neighbors=K_NEAR),
    "poly": KernelLLISE(P, n_neighbors=K_NEAR, kernel="poly", constraint="affine"),
    "sigmoid": KernelLLISE(P, n_neighbors=K_NEAR, kernel="sigmoid", constraint="affine"),
    "admm": LLISE(P, n_neighbors=K_NEAR, solver=ADMM(max_iter=(FEW, FEW, FEW)), random_state=0),
}


def clone_of(name, **changes):
    learner = LEARNERS[name]
    return type(learner)(**{**learner.get_params(), **changes})


def in_dtype(images, dtype):
    return bytes_of(images) if dtype == "uint8" else images.astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", "uint8"])
@pytest.mark.parametrize("name", LEARNERS)
def test_torch_tensors_in_give_the_same_as_torch_tensors_out(name, dtype):
    torch = torch_or_skip()
    images, new = in_dtype(IMAGES, dtype), in_dtype(NEW, dtype)
    one = clone_of(name).fit(images)
    other = clone_of(name).fit(torch.as_tensor(images))
    assert isinstance(other.embedding_, torch.Tensor) and isinstance(other.weights_, torch.Tensor)
    assert other.embedding_.dtype == (torch.float32 if dtype == "float32" else torch.float64)
    assert other.embedding_error_ == pytest.approx(one.embedding_error_, rel=1e-6)
    assert other.reconstruction_error_ == pytest.approx(one.reconstruction_error_, rel=1e-9, abs=1e-9)
    assert other.constraint_violation_ == pytest.approx(one.constraint_violation_, abs=1e-12)
    same(other.embedding_, one.embedding_, ROUNDED[dtype])
    np.testing.assert_array_equal(to_numpy(other.neighbors_), one.neighbors_)
    placed, expected = other.transform(torch.as_tensor(new)), one.transform(new)
    assert isinstance(placed, torch.Tensor) and placed.dtype == other.embedding_.dtype
    same(placed, expected, ROUNDED[dtype])


@pytest.mark.parametrize("name", ["sphere", "rbf"])
def test_numpy_in_is_numpy_out_on_a_torch_device(name):
    torch_or_skip()
    images, new = bytes_of(IMAGES), bytes_of(NEW)
    one, other = clone_of(name).fit(images), clone_of(name, device="cpu").fit(images)
    for result, expected in (
        (other.embedding_, one.embedding_),
        (other.weights_, one.weights_),
        (other.embed(new), one.embed(new)),
        (other.transform(new), one.transform(new)),
        (other.image_map(new), one.image_map(new)),
    ):
        assert isinstance(result, np.ndarray) and result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=STATIONARY, atol=10 * STATIONARY)


def test_an_identical_image_gets_the_same_coordinates_on_torch_too():
    torch = torch_or_skip()
    images = torch.as_tensor(bytes_of(IMAGES))
    learner = clone_of("affine").fit(images)
    np.testing.assert_allclose(learner.embed(images[4:6]), learner.embedding_[:, 4:6], atol=1e-12)


def test_the_engine_of_an_array_is_chosen_by_the_array():
    assert engine.of(np.zeros(2)) is numba_engine
    assert engine.of(to_strict(np.zeros(2))) is array_engine


def test_all_engines_have_every_step_with_equal_parameters():
    steps = {name for name in vars(Steps) if not name.startswith("_")}
    assert steps == set(numba_engine.__all__) == set(array_engine.__all__) == set(cuda_engine.__all__)
    for name in steps:
        _, *described = inspect.signature(getattr(Steps, name)).parameters
        for module in (numba_engine, array_engine, cuda_engine):
            function = getattr(module, name)
            parameters = inspect.signature(getattr(function, "py_func", function)).parameters
            assert list(parameters) == described, (name, module.__name__)


def test_no_other_module_asks_which_engine_it_is():
    source = Path(llise.__file__).parent
    asking = [
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if path.parent.name != "engine"
        and re.search(r"uses_numba|numba_\w+ import|(array|cuda)_engine", path.read_text())
    ]
    assert asking == []
