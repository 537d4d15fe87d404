"""Arrays of NumPy and torch give equal results, each its own kind; both engines have the same steps."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from problems import bytes_of, photographs

import llise
from llise import ADMM, LLISE, KernelLLISE, engine
from llise.engine import cuda_engine, numba_engine
from llise.engine.backend import as_input, to_numpy, working
from llise.engine.steps import Steps

K_NEAR, P = 6, 3
FEW = 20  # rounds of the paper's iterations
IMAGES = photographs(22, 16, 24)  # 6 blocks
NEW = np.concatenate([photographs(3, 16, 24, seed=9), IMAGES[4:5]])


def torch_or_skip():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.set_num_threads(1)
    return torch


LEARNERS = {
    "sphere": LLISE.as_in_paper(P, n_neighbors=K_NEAR),
    "affine": LLISE(P, n_neighbors=K_NEAR, constraint="affine", luminance=0.5),
    "rbf": KernelLLISE.as_in_paper(P, n_neighbors=K_NEAR),
    "poly": KernelLLISE(P, n_neighbors=K_NEAR, kernel="poly", constraint="affine"),
    "sigmoid": KernelLLISE(P, n_neighbors=K_NEAR, kernel="sigmoid", constraint="affine"),
    "admm": LLISE.as_in_paper(P, n_neighbors=K_NEAR, solver=ADMM(max_iter=(FEW, FEW, FEW)), random_state=0),
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
    np.testing.assert_array_equal(to_numpy(other.embedding_), one.embedding_)
    np.testing.assert_array_equal(to_numpy(other.neighbors_), one.neighbors_)
    placed = other.transform(torch.as_tensor(new))
    assert isinstance(placed, torch.Tensor) and placed.dtype == other.embedding_.dtype
    np.testing.assert_array_equal(to_numpy(placed), one.transform(new))


def test_an_identical_image_gets_the_same_coordinates_on_torch_too():
    torch = torch_or_skip()
    images = torch.as_tensor(bytes_of(IMAGES))
    learner = clone_of("affine").fit(images)
    np.testing.assert_allclose(learner.embed(images[4:6]), learner.embedding_[:, 4:6], atol=1e-12)


def test_tensors_share_their_memory_with_what_is_worked_on():
    torch = torch_or_skip()
    tensor = torch.zeros(3)
    working(tensor)[1] = 5
    assert tensor[1] == 5
    assert as_input(tensor, working(tensor)).data_ptr() == tensor.data_ptr()


def test_numpy_arrays_are_served_by_numba():
    assert engine.of(np.zeros(2)) is numba_engine


def test_all_engines_have_every_step_with_equal_parameters():
    steps = {name for name in vars(Steps) if not name.startswith("_")}
    assert steps == set(numba_engine.__all__) == set(cuda_engine.__all__)
    for name in steps:
        _, *described = inspect.signature(getattr(Steps, name)).parameters
        for module in (numba_engine, cuda_engine):
            function = getattr(module, name)
            parameters = inspect.signature(getattr(function, "py_func", function)).parameters
            assert list(parameters) == described, (name, module.__name__)


def test_no_other_module_asks_which_engine_it_is():
    source = Path(llise.__file__).parent
    asking = [
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if path.parent.name != "engine" and re.search(r"uses_numba|numba_\w+ import|cuda_engine", path.read_text())
    ]
    assert asking == []
