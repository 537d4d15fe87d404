"""Hostile calls of the Python API: each gives finite numbers or an error that says what is wrong."""

from __future__ import annotations

import itertools
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

import llise
from attacks.picture_bytes import scene
from llise.images import as_uint8

NAME = "api"
IMAGES = np.stack([scene(16, 16, seed) for seed in range(8)])
VALUES: list[Any] = [
    *(None, True, -1, 0, 1, 2, 3, 10**6, 2**64, 0.5, float("nan"), float("inf"), -float("inf"), 1e300, -1e300, 1e-300),
    *("", "x", "cuda:99", b"bytes", [], (), {}, [1, 2], (8, 8), object(), np.array([1.0, 2.0]), np.nan, np.int64(3)),
    lambda *arguments: None,
]
Call = tuple[str, Callable[[], Any]]


def _learner(kind: type, **settings: Any) -> Any:
    return kind().set_params(**{"n_components": 2, "n_neighbors": 3, **settings})


def settings_of_learners() -> Iterator[Call]:
    """Every parameter of every learner with every value."""
    for kind in (llise.LLISE, llise.KernelLLISE, llise.LLE, llise.KernelLLE):
        for name, value in itertools.product(kind().get_params(), VALUES):
            learner = _learner(kind, **{name: value})
            yield f"{kind.__name__}({name}={value!r})", lambda l=learner: l.fit(IMAGES).transform(IMAGES)


def settings_of_iterations() -> Iterator[Call]:
    """Every setting of ADMM with every value, and steps that diverge."""
    for name, value in itertools.product(
        ("rho", "eta", "rho_embedding", "eta_embedding", "tol", "as_published"), VALUES
    ):
        yield f"ADMM({name}={value!r})", lambda name=name, value=value: iterated({name: value, "max_iter": (9, 9, 9)})
    for value in [*VALUES, (0, 1, 1), (1, 1, -1), (1.5, 1, 1), (10**6,) * 3, ("a", 1, 1), (1, 1), (True, 1, 1)]:
        yield f"ADMM(max_iter={value!r})", lambda value=value: iterated({"max_iter": value})
    for eta, rho in itertools.product((1.0, 10.0, 1e3, 1e9, 1e200), (1e-3, 1.0, 1e6)):
        for name in ("", "_embedding"):
            steps = {f"eta{name}": eta, f"rho{name}": rho, "max_iter": (50, 50, 50)}
            yield f"ADMM({steps})", lambda steps=steps: iterated(steps)


def iterated(settings: dict[str, Any]) -> Any:
    """Coordinates of the paper's iterations with these settings."""
    learner = _learner(llise.LLISE, solver=llise.ADMM(**settings), random_state=0).fit(IMAGES)
    measured = [learner.constraint_violation_, learner.embedding_error_]
    return [learner.transform(IMAGES[:2, ::-1]), learner.embedding_, np.array(measured)]


def _raises(x: Any, y: Any) -> Any:
    raise ZeroDivisionError("a kernel that fails")


KERNELS: dict[str, Callable] = {
    "raises": _raises,
    "nothing": lambda x, y: None,
    "text": lambda x, y: "x",
    "scalar": lambda x, y: 1.0,
    "wrong shape": lambda x, y: np.ones((len(y), len(x) + 1)),
    "nan": lambda x, y: np.full((len(x), len(y)), np.nan),
    "huge": lambda x, y: np.full((len(x), len(y)), 1e300),
    "negative": lambda x, y: -np.ones((len(x), len(y))),
    "asymmetric": lambda x, y: np.abs(x[:, :1] - 2 * y[:, :1].T) + 1,
    "complex": lambda x, y: (x @ y.T) * 1j,
    "ragged": lambda x, y: [[1.0], [1.0, 2.0]],
    "exits": lambda x, y: (_ for _ in ()).throw(StopIteration),
}
IMAGE_INPUTS: dict[str, Any] = {
    "none": None,
    "text": "x",
    "empty": np.zeros((0, 16, 16)),
    "nan": np.full((8, 16, 16), np.nan),
    "infinite": np.full((8, 16, 16), np.inf),
    "negative": -IMAGES.astype(float),
    "complex": IMAGES * 1j,
    "objects": np.array([[object()] * 4] * 8),
    "colour": np.zeros((8, 16, 16, 3), np.uint8),
    "one": IMAGES[:1],
    "constant": np.zeros((8, 16, 16), np.uint8),
    "lists": IMAGES.tolist(),
    "one axis": np.zeros(16),
    "other size": IMAGES[:, :8],
    "texts": np.array([["a", "b"]] * 8),
    "int64": IMAGES.astype(np.int64),
    "float16": (IMAGES / 255).astype(np.float16),
    "big-endian": IMAGES.astype(">u2"),
    "strided": IMAGES[:, ::2, ::2],
    "read-only": np.broadcast_to(IMAGES[:1], IMAGES.shape),
    "five axes": np.zeros((2, 2, 2, 2, 2)),
}


def kernels_and_images() -> Iterator[Call]:
    """Callables that are no kernels, and things that are no images."""
    for kind in (llise.KernelLLISE, llise.KernelLLE):
        for name, kernel in KERNELS.items():
            call = lambda kind=kind, kernel=kernel: _learner(kind, kernel=kernel).fit(IMAGES).transform(IMAGES)
            yield f"{kind.__name__}(kernel {name})", call
    fitted = {kind: _learner(kind).fit(IMAGES) for kind in (llise.LLISE, llise.KernelLLISE, llise.LLE, llise.KernelLLE)}
    diagnoser = llise.Diagnoser(scene(16, 16))
    for name, images in IMAGE_INPUTS.items():
        for kind, learner in fitted.items():
            yield f"{kind.__name__}.fit({name})", lambda k=kind, i=images: _learner(k).fit(i).embedding_
            yield f"{kind.__name__}.transform({name})", lambda l=learner, i=images: l.transform(i)
        one = images[0] if isinstance(images, np.ndarray) and len(images) else images
        yield f"Diagnoser({name})", lambda one=one: llise.Diagnoser(one).reference
        yield f"diagnose({name})", lambda one=one: next(diagnoser.diagnose([one])).mse
        yield f"as_uint8({name})", lambda one=one: as_uint8(one)
        if name not in ("nan", "infinite"):  # as in NumPy, what is not a number stays so
            yield f"ssim({name})", lambda one=one: llise.ssim(one, one)


def unfitted() -> Iterator[Call]:
    """Methods that need a fit, of objects that have none: only NotFittedError is right."""
    objects = [llise.LLISE(), llise.KernelLLISE(), llise.LLE(), llise.KernelLLE()]
    for learner in objects:
        for method in ("transform", "embed", "image_map", "place"):
            yield f"unfitted {learner!r}.{method}", lambda l=learner, m=method: getattr(l, m)(IMAGES)
        yield f"unfitted {learner!r}.to_state", lambda l=learner: l.to_state()
        yield f"unfitted {learner!r}.get_feature_names_out", lambda l=learner: l.get_feature_names_out()
    recognizer = llise.DistortionRecognizer()
    for method in ("predict", "predict_shares", "block_labels"):
        yield f"unfitted recognizer.{method}", lambda m=method: getattr(recognizer, m)(IMAGES)
    yield "unfitted recognizer.to_state", recognizer.to_state
    yield "unfitted recognizer.score", lambda: recognizer.score(IMAGES, [0] * 8)


def wrong_outcome(name: str, call: Callable[[], Any]) -> str | None:
    """What is wrong with the outcome of a call, or None."""
    needs_fit = name.startswith("unfitted")
    try:
        result = call()
    except NotFittedError as error:
        return None if needs_fit and str(error) else f"{name}: {error!r}"
    except (ValueError, TypeError, ImportError, NotImplementedError) as error:
        return None if str(error) and not needs_fit else f"{name}: {error!r}"
    except Exception as error:
        return f"{name}: {type(error).__name__}: {error}"
    if needs_fit:
        return f"{name}: no error"
    values = result if isinstance(result, list) else [result]
    return None if all(np.isfinite(np.asarray(v)).all() for v in values) else f"{name}: NaN or infinity"


def wrong_filters(folder: Path, threads: int) -> list[str]:
    """What is wrong with the warning filters of the process after reading and judging in many threads at once."""
    from PIL import Image

    Image.fromarray(scene(32, 32)).save(folder / "a.png")
    before = list(warnings.filters)

    def work() -> None:
        for _ in range(3):
            llise.read_image(folder / "a.png")
        llise.diagnose(scene(16, 16), [scene(16, 16, 1)])

    working = [threading.Thread(target=work) for _ in range(threads)]
    for thread in working:
        thread.start()
    for thread in working:
        thread.join()
    return [] if list(warnings.filters) == before else ["threads changed the warning filters of the process"]


def run(scale: float, rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Make every hostile call at full scale, fewer of them at a smaller one."""
    tried, failures = 1, wrong_filters(folder, 4)
    calls = (settings_of_learners(), settings_of_iterations(), kernels_and_images(), unfitted())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, call in itertools.chain(*calls):
            if rng.random() <= scale:
                tried += 1
                wrong = wrong_outcome(name, call)
                failures += [wrong] if wrong else []
    return tried, failures
