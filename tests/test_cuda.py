"""The CUDA kernels against the compiled engine: on a GPU where there is one, and emulated on the CPU everywhere.

Emulated, the sources run as C++ with one fiber for each thread (``cuda_emulation.py``): their logic is checked, not the
GPU's compiler.  Then, what happens where kernels cannot be used.
"""

import sys
import warnings
from types import ModuleType, SimpleNamespace

import cuda_emulation
import numpy as np
import pytest
from cuda_emulation import emulated_launch
from problems import blocks_of, bytes_of, constant_of, degenerate_problems, local_problems, photographs

from llise import ADMM, LLISE, KernelLLISE
from llise.engine import (
    backend,
    cuda_embedding,
    cuda_engine,
    cuda_gram,
    cuda_launch,
    cuda_neighbors,
    cuda_weights,
    numba_engine,
)
from llise.engine.backend import to_numpy
from llise.manifold.blocks import prepare
from llise.manifold.embedding import content_start
from llise.manifold.recognition import nearest_labels

C = constant_of(64)
K_NEAR, P = 6, 3
IMAGES = photographs(22, 16, 24)  # 6 blocks
MODULES = (cuda_embedding, cuda_gram, cuda_neighbors, cuda_weights)
NO_COMPILER = pytest.mark.skipif(cuda_emulation.COMPILER is None, reason="no C++ compiler to emulate CUDA with")


def has_gpu():
    try:
        return backend.cupy() is not None and backend.cupy().cuda.runtime.getDeviceCount() > 0
    except Exception:  # no driver
        return False


ON_GPU = pytest.mark.skipif(not has_gpu(), reason="needs an NVIDIA GPU and CuPy")


@pytest.fixture(params=[pytest.param("emulated", marks=NO_COMPILER), pytest.param("gpu", marks=ON_GPU)])
def put(request, monkeypatch):
    """From NumPy to an array that the kernels serve, on the GPU or, emulated, a NumPy array still."""
    if request.param == "gpu":
        return backend.cupy().asarray
    emulate(monkeypatch)
    return np.ascontiguousarray


def emulate(monkeypatch):
    for module in MODULES:
        monkeypatch.setattr(module, "launch", emulated_launch)


@pytest.fixture(autouse=True)
def no_fallback(request, monkeypatch):
    """A step that quietly leaves its kernel for the CPU would make these tests pass."""
    cuda_launch.say_on_cpu.cache_clear()
    if "put" in request.fixturenames:
        warnings.simplefilter("error", RuntimeWarning)
        for module in MODULES:
            monkeypatch.setattr(module, "Unsuitable", AssertionError, raising=False)


def flat(problem):
    return [np.ascontiguousarray(v.reshape(-1, *v.shape[2:])) for v in problem]


# ----------------------------------------------------------------------------------------------- step by step


@pytest.mark.parametrize("luminance", [0.0, 0.5])
@pytest.mark.parametrize("images", [bytes_of(IMAGES), IMAGES], ids=["uint8", "float64"])
def test_neighbours_and_problems_are_the_same(put, images, luminance):
    blocks, _ = prepare(blocks_of(images), 255.0 if images.dtype == np.uint8 else 1.0, centre=True, luminance=luminance)
    products = numba_engine.products(blocks.values, blocks.values)
    settings = (*blocks.factors(), blocks.sums)
    expected = numba_engine.training_problems(products, *settings, blocks.luminance, K_NEAR)
    lum = None if blocks.luminance is None else put(blocks.luminance)
    result = cuda_engine.training_problems(put(products), *settings[:2], put(blocks.sums), lum, K_NEAR)
    np.testing.assert_array_equal(to_numpy(result[0]), expected[0])
    for one, other in zip(result[1:], expected[1:]):
        np.testing.assert_allclose(to_numpy(one), other, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("exclude_self", [False, True])
def test_nearest_images_are_the_same(put, exclude_self):
    rng = np.random.default_rng(0)
    products, norms = rng.integers(0, 4, (3, 22, 22)).astype(float), rng.integers(0, 4, (3, 22)).astype(float)  # ties
    identical = np.full(22, -1)
    identical[[3, 8]] = 5, 0
    expected = numba_engine.nearest(products, norms, K_NEAR, identical, exclude_self)
    result = cuda_engine.nearest(put(products), put(norms), K_NEAR, identical, exclude_self)
    np.testing.assert_array_equal(to_numpy(result), expected)
    assert (expected[:, 3, 0] == 5).all()


@pytest.mark.parametrize("luminance", [False, True])
@pytest.mark.parametrize("images", [bytes_of(IMAGES), IMAGES], ids=["uint8", "float64"])
def test_products_of_neighbours_are_the_same(put, images, luminance):
    blocks, _ = prepare(blocks_of(images), 1.0, centre=True)
    near = np.random.default_rng(0).integers(0, 22, (6, 4, K_NEAR))
    gain = np.random.default_rng(1).random((6, 22)) if luminance else None
    products = numba_engine.local_products(blocks.values, near)
    result = cuda_engine.local_products(put(blocks.values), put(near))
    np.testing.assert_allclose(to_numpy(result), products, rtol=1e-12, atol=1e-12)
    expected = numba_engine.centred_local_products(products, near, 64, 0.5, blocks.sums, gain)
    arrays = put(blocks.sums), None if gain is None else put(gain)
    centred = cuda_engine.centred_local_products(result, put(near), 64, 0.5, *arrays)
    np.testing.assert_allclose(to_numpy(centred), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [1, K_NEAR])
def test_weights_and_their_values_are_the_same(put, k):
    problem = flat(local_problems(blocks_of(IMAGES), k)[:3])
    tensors = [put(v) for v in problem]
    for name, ridge in (("sphere_weights", ()), ("affine_weights", (1e-2,))):
        weights = getattr(cuda_engine, name)(*tensors, C, *ridge)
        expected = getattr(numba_engine, name)(*problem, C, *ridge)
        np.testing.assert_allclose(to_numpy(weights), expected, rtol=1e-8, atol=1e-8)
        values = cuda_engine.reconstruction_values(weights, *tensors, C)
        np.testing.assert_allclose(
            to_numpy(values), numba_engine.reconstruction_values(expected, *problem, C), rtol=1e-9, atol=1e-12
        )


def test_weights_of_degenerate_problems_are_as_good(put):
    problems = [p for p in degenerate_problems(np.random.default_rng(0)).values() if len(p[1]) == 6]
    problem = [np.array([p[i] for p in problems], float) for i in range(3)]
    for name, ridge in (("sphere_weights", ()), ("affine_weights", (1e-2,))):
        weights = to_numpy(getattr(cuda_engine, name)(*(put(v) for v in problem), C, *ridge))
        expected = getattr(numba_engine, name)(*problem, C, *ridge)
        values = [numba_engine.reconstruction_values(w, *problem, C) for w in (weights, expected)]
        np.testing.assert_allclose(*values, atol=1e-9)
        sizes = weights.sum(axis=-1) if ridge else np.linalg.norm(weights, axis=-1)
        np.testing.assert_allclose(sizes, 1, atol=1e-12)


def embedded(steps, weights, near, start, convert=np.asarray):
    """Coordinates, results and history of a start."""
    out, results, history = np.zeros(start.shape), np.full((len(start), 4), np.nan), np.full((len(start), 4, 2), np.nan)
    out = convert(out)
    steps.exact_embedding(convert(weights), convert(near), C, convert(start), 5e-7, 400, out, results, history)
    return to_numpy(out), results, history


def weighted(constraint, images=IMAGES):
    raw = blocks_of(images)
    *problem, near = local_problems(raw, K_NEAR)
    settings = (C,) if constraint == "sphere" else (C, 1e-2)
    weights = getattr(numba_engine, f"{constraint}_weights")(*flat(problem), *settings)
    return weights.reshape(near.shape), near, content_start(raw - raw.mean(axis=-1, keepdims=True), P)


@pytest.mark.parametrize("constraint", ["sphere", "affine"])
def test_coordinates_are_the_same(put, constraint):
    problem = weighted(constraint)
    expected, expected_results, expected_history = embedded(numba_engine, *problem)
    out, results, history = embedded(cuda_engine, *problem, put)
    np.testing.assert_allclose(out, expected, atol=1e-5)
    np.testing.assert_allclose(results[:, 0], expected_results[:, 0], rtol=1e-6)
    np.testing.assert_array_equal(results[:, 2], expected_results[:, 2])  # as many products: steps are forced alike
    np.testing.assert_allclose(history[:, 0], expected_history[:, 0], rtol=1e-6)
    assert results[:, 1].max() < 1e-6 and results[:, 3].max() < 1e-12


def test_more_images_than_a_warp_has_threads(put):
    problem = [part[:1] for part in weighted("affine", photographs(45, 8, 16))]
    np.testing.assert_allclose(embedded(cuda_engine, *problem, put)[0], embedded(numba_engine, *problem)[0], atol=1e-5)


def test_a_start_without_directions_is_filled_up(put):
    weights, near, start = (part[:2] for part in weighted("affine"))
    start = np.zeros_like(start)
    out, results, _ = embedded(cuda_engine, weights, near, start, put)
    expected = embedded(numba_engine, weights, near, start)
    np.testing.assert_allclose(results[:, 0], expected[1][:, 0], rtol=1e-6)
    np.testing.assert_allclose(out, expected[0], atol=1e-5)


@NO_COMPILER
def test_the_order_of_threads_changes_nothing(monkeypatch):
    """A barrier that is missing shows here: fibers run in another order between any two barriers."""
    emulate(monkeypatch)
    problem = [part[:2] for part in weighted("sphere", photographs(40, 8, 16))]
    expected = embedded(cuda_engine, *problem)
    monkeypatch.setattr(cuda_emulation, "seed", 1)
    for one, other in zip(embedded(cuda_engine, *problem), expected):
        np.testing.assert_array_equal(one, other)


# ------------------------------------------------------------------------------------------------- estimators


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize(
    "learner",
    [LLISE.as_in_paper(P), LLISE(P, luminance=0.5), KernelLLISE.as_in_paper(P)],
    ids=["sphere", "affine", "rbf"],
)
def test_learners_give_the_same(put, monkeypatch, learner, dtype):
    images = bytes_of(IMAGES) if dtype == "uint8" else IMAGES.astype(np.float32)
    one = learner.set_params(n_neighbors=K_NEAR).fit(images)
    expected = one.embedding_, one.embedding_error_, one.reconstruction_error_, one.transform(images[3:5] // 2)
    if isinstance(put(images), np.ndarray):
        monkeypatch.setattr(cuda_launch, "serves", lambda array: True)
    other = learner.fit(put(images))
    placed = other.transform(put(images[3:5] // 2))
    assert other.embedding_error_ == pytest.approx(expected[1], rel=1e-6)
    assert other.reconstruction_error_ == pytest.approx(expected[2], rel=1e-9, abs=1e-9)
    assert other.stationarity_ < 1e-6 and other.constraint_violation_ < 1e-8
    codes = np.arange(22) % 3
    labels = [nearest_labels(e, codes, 3) for e in (to_numpy(other.embedding_), expected[0])]
    assert (labels[0] == labels[1]).mean() > 0.999
    np.testing.assert_allclose(to_numpy(placed), expected[3], rtol=1e-4, atol=1e-4)


@ON_GPU
@pytest.mark.parametrize("library", ["cupy", "torch", "numpy"])
def test_results_on_a_gpu_are_in_the_library_of_the_input(library):
    images = bytes_of(IMAGES)
    expected = LLISE(P, n_neighbors=K_NEAR, constraint="affine").fit_transform(images)
    torch = pytest.importorskip("torch") if library == "torch" else None
    given = {
        "cupy": lambda: backend.cupy().asarray(images),
        "torch": lambda: torch.as_tensor(images, device="cuda"),
        "numpy": lambda: images,
    }[library]()
    learner = LLISE(P, n_neighbors=K_NEAR, constraint="affine", device="cuda" if library == "numpy" else None)
    result = learner.fit_transform(given)
    assert type(result) is type(given)
    np.testing.assert_allclose(to_numpy(result), expected, atol=1e-5)


# -------------------------------------------------------------------------------- where kernels cannot be used


@pytest.fixture
def cupy(monkeypatch):
    """A stand-in for CuPy that compiles nothing."""
    device = SimpleNamespace(attributes={"MaxSharedMemoryPerBlockOptin": 1000})
    module = ModuleType("cupy")
    module.cuda = SimpleNamespace(Device=lambda index: device, runtime=SimpleNamespace(getDevice=lambda: 0))
    monkeypatch.setitem(sys.modules, "cupy", module)
    cached = backend.cupy, cuda_launch.shared_memory_limit, cuda_launch.compiled_or_error
    for function in cached:
        function.cache_clear()
    yield module
    for function in cached:
        function.cache_clear()


def test_a_cupy_that_cannot_be_loaded_is_said(cupy, monkeypatch):
    class Broken:
        def find_spec(self, name, *_):
            if name == "cupy":
                raise OSError("libcudart.so: cannot open shared object file")

    monkeypatch.delitem(sys.modules, "cupy")
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    with pytest.warns(RuntimeWarning, match=r"CuPy cannot be used \(OSError: libcudart"):
        assert backend.cupy() is None


def both_weights():
    problem = flat(local_problems(blocks_of(IMAGES), K_NEAR)[:3])
    return cuda_engine.sphere_weights(*problem, C), numba_engine.sphere_weights(*problem, C)


def test_too_little_shared_memory_leaves_a_step_to_the_cpu_which_says_so_once(cupy):
    with pytest.warns(RuntimeWarning, match=r"the CPU computes sphere_weights for the GPU: .* bytes of shared memory"):
        np.testing.assert_array_equal(*both_weights())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(*both_weights())
    with pytest.warns(RuntimeWarning, match="the CPU computes exact_embedding"):
        out, results, _ = embedded(cuda_engine, *weighted("affine"))
    np.testing.assert_array_equal(out, embedded(numba_engine, *weighted("affine"))[0])
    assert results[:, 1].max() < 1e-6


def test_a_kernel_that_cannot_be_compiled_leaves_its_step_to_the_cpu(cupy, monkeypatch):
    compilations = []

    def fails(**_):
        compilations.append(1)
        raise RuntimeError("NVRTC_ERROR\nand more")

    cupy.RawModule = fails
    monkeypatch.setattr(cuda_launch, "shared_memory_limit", lambda device: 10**6)
    with pytest.warns(RuntimeWarning, match=r"sphere_weights .* cannot be used \(RuntimeError: NVRTC_ERROR\)"):
        results = both_weights()
    np.testing.assert_array_equal(*results)
    both_weights()
    assert len(compilations) == 1


def test_a_failing_launch_leaves_its_step_to_the_cpu(cupy, monkeypatch):
    class Kernel:
        def __call__(self, *_, **__):
            raise RuntimeError("CUDA_ERROR_OUT_OF_MEMORY: out of memory")

    cupy.RawModule = lambda **_: SimpleNamespace(get_function=lambda name: Kernel())
    monkeypatch.setattr(cuda_launch, "shared_memory_limit", lambda device: 10**6)
    with pytest.warns(RuntimeWarning, match="out of memory"):
        results = both_weights()
    np.testing.assert_array_equal(*results)


def test_more_coordinates_than_registers_are_left_to_the_cpu(put, monkeypatch):
    monkeypatch.setattr(cuda_embedding, "Unsuitable", cuda_launch.Unsuitable)
    raw = blocks_of(IMAGES)[:2]
    *_, near = local_problems(raw, K_NEAR)
    weights = np.full(near.shape, 1 / K_NEAR)
    start = content_start(raw - raw.mean(axis=-1, keepdims=True), cuda_embedding.MOST_COORDINATES + 1)
    with pytest.warns(RuntimeWarning, match="8 coordinates and 256 images at the most"):
        _, results, _ = embedded(cuda_engine, weights, near, start, put)
    np.testing.assert_allclose(results[:, 0], embedded(numba_engine, weights, near, start)[1][:, 0], rtol=1e-6)


@NO_COMPILER
@pytest.mark.parametrize(
    "learner",
    [
        LLISE.as_in_paper(P, solver=ADMM(max_iter=(9, 8, 7)), random_state=0),
        KernelLLISE.as_in_paper(P, kernel="sigmoid"),
    ],
    ids=["admm", "sigmoid"],
)
def test_what_has_no_kernel_is_computed_by_the_cpu(monkeypatch, learner):
    images = bytes_of(IMAGES)
    expected = learner.set_params(n_neighbors=K_NEAR).fit_transform(images)
    emulate(monkeypatch)
    monkeypatch.setattr(cuda_launch, "serves", lambda array: True)
    with pytest.warns(RuntimeWarning, match="no kernel"):
        np.testing.assert_allclose(learner.fit_transform(images), expected, atol=1e-5)


@NO_COMPILER
def test_a_block_that_the_kernel_leaves_unsolved_is_solved_by_the_cores(monkeypatch):
    def lost(name, constants, blocks, threads, shared, *arguments):
        """As a kernel whose second block has written nothing."""
        emulated_launch(name, constants, blocks, threads, shared, *arguments)
        coordinates, report = arguments[-3], arguments[-2]
        coordinates[1], report[1] = np.nan, np.nan

    monkeypatch.setattr(cuda_embedding, "launch", lost)
    problem = weighted("affine")
    out, results, _ = embedded(cuda_engine, *problem)
    np.testing.assert_allclose(out, embedded(numba_engine, *problem)[0], atol=1e-5)
    assert results[:, 1].max() < 1e-6


class OutOfMemoryError(MemoryError):
    """As CuPy's."""


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (OutOfMemoryError("Out of memory allocating 2 GiB"), MemoryError, "too little free memory"),
        (CUDARuntimeError("cudaErrorLaunchFailure: unspecified\nmore"), RuntimeError, "failed or was lost"),
        (ValueError("something else"), ValueError, "something else"),
    ],
    ids=["memory", "lost", "other"],
)
def test_errors_of_a_gpu_say_what_to_do(monkeypatch, error, kind, words):
    def fails(*_):
        raise error

    monkeypatch.setattr(cuda_launch, "serves", lambda array: True)
    monkeypatch.setattr(cuda_engine, "cut", fails)
    with pytest.raises(kind, match=words) as caught:
        LLISE(P, n_neighbors=K_NEAR).fit(IMAGES)
    assert caught.value is error or caught.value.__cause__ is error
