"""Settings that ask for too much, kernels that fail, iterations that diverge, and interrupts: each has a clear end."""

import os
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from problems import photographs
from samples import picture

import llise
from llise import ADMM, LLE, LLISE, KernelLLE, KernelLLISE
from llise.cli.main import commands
from llise.diagnosis.diagnoser import Diagnoser
from llise.engine import backend
from llise.engine.tasks import interruptible
from llise.storage.models import ModelError

IMAGES = photographs(12, 16, 16)
NEW = photographs(3, 16, 16, seed=5)


@pytest.mark.parametrize("name", ["rho", "eta", "rho_embedding", "eta_embedding", "tol"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, "0.1", True, [0.1]], ids=str)
def test_a_setting_of_the_iterations_that_is_no_usable_number_is_named(name, value):
    with pytest.raises(ValueError, match=f"{name} of ADMM must be"):
        ADMM(**{name: value})


@pytest.mark.parametrize("value", [(1, 1), (1, 1, 0), (1, 1, 1.5), (10**6,) * 3, "123", 5, (True, 1, 1)], ids=str)
def test_counts_of_iterations_must_be_three_and_not_a_million(value):
    with pytest.raises(ValueError, match=r"max_iter must be three positive counts .* of at most 100000"):
        ADMM(max_iter=value)


@pytest.mark.parametrize(
    "steps", [{"eta": 1e9}, {"eta_embedding": 1e9}, {"rho": 1e200}, {"rho_embedding": 1e200}], ids=str
)
def test_iterations_that_diverge_are_an_error_not_a_result(steps):
    learner = LLISE(2, n_neighbors=4, solver=ADMM(**steps, max_iter=(60, 60, 60)), random_state=0)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"diverged; use smaller steps"):
        learner.fit(IMAGES)


def test_iterations_that_diverge_on_new_images_are_an_error():
    learner = LLISE(2, n_neighbors=4, random_state=0, solver=ADMM(max_iter=(5, 5, 5))).fit(IMAGES)
    learner._fitted_settings.admm.__dict__["eta"] = 1e200
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="diverged"):
        learner.transform(NEW)


@pytest.mark.parametrize("value", [0, 30_000, 1.5, "2", True], ids=str)
def test_a_number_of_threads_that_makes_no_sense_is_refused(value):
    with pytest.raises(ValueError, match="n_jobs must be None or an integer of at most 1024 other than 0"):
        LLISE(2, n_neighbors=4, n_jobs=value).fit(IMAGES)


def test_a_missing_cupy_names_the_extra(monkeypatch):
    monkeypatch.setattr(backend, "cupy", lambda: None)
    with pytest.raises(ImportError, match=r"device='cuda' needs CuPy; install it with pip install 'llise\[gpu\]'"):
        LLISE(2, n_neighbors=4, device="cuda").fit(IMAGES)


@pytest.mark.parametrize("device", ["cuda:99", "nonsense", "meta", 3.5], ids=str)
def test_a_device_that_is_not_there_is_named(monkeypatch, device):
    runtime = SimpleNamespace(getDeviceCount=lambda: 1)
    monkeypatch.setattr(backend, "cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    with pytest.raises(ValueError, match=r"device=.* cannot be used"):
        LLISE(2, n_neighbors=4, device=device).fit(IMAGES)


def failing_kernel(x, y):
    raise ZeroDivisionError("no such kernel")


@pytest.mark.parametrize("learner", [KernelLLISE, KernelLLE])
def test_a_kernel_that_raises_is_named(learner):
    with pytest.raises(ValueError, match=r"the kernel <function failing_kernel .* failed .*ZeroDivisionError: no such"):
        learner(2, n_neighbors=4, kernel=failing_kernel).fit(IMAGES)


@pytest.mark.parametrize(
    ("name", "value"),
    [("gamma", "x"), ("gamma", float("inf")), ("degree", "3"), ("degree", 0), ("coef0", np.nan)],
)
@pytest.mark.parametrize("learner", [KernelLLISE, KernelLLE])
def test_a_setting_of_a_kernel_that_is_no_usable_number_is_named(learner, name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        learner(2, n_neighbors=4, kernel="poly", **{name: value}).fit(IMAGES)


def test_more_images_than_can_be_compared_in_pairs_are_refused():
    with pytest.raises(ValueError, match="n_samples=10001 images are more than 10000"):
        LLE(2).fit(np.zeros((10_001, 4), np.uint8))


def test_many_images_that_are_all_equal_give_coordinates_all_the_same():
    learner = LLISE(2, n_neighbors=3).fit(np.zeros((1001, 4), np.uint8))
    assert np.isfinite(learner.embedding_).all() and learner.constraint_violation_ < 1e-12


# ------------------------------------------------------------------------------- files with a right digest


def saved(name, state, path):
    """A model file of a class with any state, and a right digest."""
    llise.save(type(name, (), {"to_state": lambda self: state})(), path)
    return path


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("n_jobs", 30_000, "n_jobs must be"),
        ("device", "meta", "device='meta'"),
        ("solver", {"max_iter": [10**6] * 3}, "max_iter must be"),
        ("solver", {"rho": float("nan")}, "rho of ADMM"),
        ("gamma", 1e400, "gamma must be"),
        ("degree", "x", "degree must be"),
        ("ridge", float("nan"), "ridge must be"),
        ("n_components", 10**9, "n_components=1000000000 needs"),
        ("block_size", -1, "block_size must be"),
    ],
)
def test_hostile_settings_in_a_model_file_are_refused(tmp_path, name, value, reason):
    arrays, settings = KernelLLISE(2, n_neighbors=4).fit(IMAGES).to_state()
    hostile = {**settings, "parameters": {**settings["parameters"], name: value}}
    path = saved("KernelLLISE", (arrays, hostile), tmp_path / "m")
    with pytest.raises(ModelError, match=reason):
        llise.load(path)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("norms", -1.0, "norms has values that are not positive"),
        ("norms", 0.0, "norms has values that are not positive"),
        ("means", 1e300, "means has values beyond 1e"),
        ("coordinates", -1e300, "coordinates has values beyond 1e"),
    ],
)
def test_values_that_would_make_nan_are_refused(tmp_path, name, value, reason):
    arrays, settings = KernelLLISE(2, n_neighbors=4).fit(IMAGES).to_state()
    path = saved("KernelLLISE", ({**arrays, name: np.full_like(arrays[name], value)}, settings), tmp_path / "m")
    with pytest.raises(ModelError, match=reason):
        llise.load(path)


def test_integers_in_the_place_of_coordinates_are_refused(tmp_path):
    arrays, settings = LLISE(2, n_neighbors=4).fit(IMAGES).to_state()
    state = {**arrays, "coordinates": arrays["coordinates"].astype(np.int64)}
    with pytest.raises(ModelError, match="coordinates has the type int64"):
        llise.load(saved("LLISE", (state, settings), tmp_path / "m"))


@pytest.mark.parametrize(("name", "value"), [("solver", "admm"), ("constraint", "sphere"), ("verbose", 9)])
def test_the_manifold_of_a_diagnoser_has_the_learner_that_fit_makes(tmp_path, name, value):
    arrays, settings = Diagnoser(picture(24, 24)).fit().to_state()
    learner = settings["learner"]
    hostile = {**settings, "learner": {**learner, "parameters": {**learner["parameters"], name: value}}}
    with pytest.raises(ModelError, match="other settings than the manifold of a reference"):
        llise.load(saved("Diagnoser", (arrays, hostile), tmp_path / "m"))


# --------------------------------------------------------------------------------------------- interrupts


@pytest.fixture
def interrupts():
    """Ctrl-C raises KeyboardInterrupt, also where a shell runs the tests in the background."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


def test_an_interrupt_is_obeyed_while_compiled_code_runs(interrupts):
    """The compiled loop goes on in its thread: the interrupt did not wait for it."""
    few = LLISE(2, n_neighbors=6, solver=ADMM(max_iter=(1, 1, 1)), random_state=0)
    images = photographs(60, 32, 32)
    few.fit(images)  # compiled
    others = set(threading.enumerate())
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        few.set_params(solver=ADMM(max_iter=(60_000, 1, 1))).fit(images)
        timer.join()
    working = [thread for thread in threading.enumerate() if thread.name == "llise" and thread not in others]
    assert working
    for thread in working:
        thread.join(timeout=60)


def test_what_is_called_interruptibly_returns_and_raises_as_it_would_alone():
    assert interruptible(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        interruptible(divmod, 1, 0)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        interruptible(np.divide, 1.0, 0.0)
    released = threading.Event()
    with pytest.raises(TimeoutError):
        interruptible(released.wait, timeout=0.01)
    released.set()


# ------------------------------------------------------------------------------------ addresses of clusters


@pytest.mark.parametrize("address", ["", " "])
def test_an_empty_address_of_a_scheduler_is_wrong_usage(address, tmp_path):
    result = CliRunner().invoke(commands, ["fit", "a.png", "-o", str(tmp_path / "m"), "--scheduler", address])
    assert result.exit_code == 2 and "--scheduler is empty; give the address" in result.output


def test_thirty_thousand_cores_are_wrong_usage(tmp_path):
    result = CliRunner().invoke(commands, ["fit", "a.png", "-o", str(tmp_path / "m"), "-j", "30000"])
    assert result.exit_code == 2 and "30000 is not in the range" in result.output
