"""Mutated model files: each is refused with one line, or gives a model that works as any other does."""

from __future__ import annotations

import copy
import json
import struct
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import llise
from attacks.picture_bytes import scene
from llise.storage.models import ModelError

NAME = "models"
COUNT = 100_000
SLOWEST = 5.0
"""Seconds that loading and using a model may take; compiling a kernel for another type is not counted."""

State = tuple[str, dict[str, np.ndarray], dict[str, Any]]
Mutation = Callable[[bytes, State, np.random.Generator, Path], None]

VALUES: list[Any] = [
    *(None, True, False, -1, 0, 1, 2, 7, 255, 30_000, 1_000_000, 2**31, 2**32, 2**63, 2**64, 10**30, -(10**9)),
    *(float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 1e-308, 5e-324, 0.5, -0.5, 1e20),
    *("", "x", "cuda", "cuda:99", "cpu:5", "meta", "admm", "exact", "linear", "poly", "rbf", "sigmoid", "affine"),
    *("sphere", "LLE", "Popen", "\n\x1b[31m", "é" * 500, "../../etc/passwd", "__class__"),
    *([], {}, [1], [8, 8], [-1, -1], [2**40, 2**40], [1_000_000, 1_000_000, 1_000_000], [0.5, "x", None]),
    *({"rho": float("nan")}, {"max_iter": [10**6] * 3}, {"tol": -1.0}, {"eta": 1e9}, {"rho": 0.1, "eta": 1e300}),
]


def models() -> dict[str, Any]:
    """Small fitted models of every class that can be saved."""
    images = np.stack([scene(16, 24, seed) for seed in range(10)])
    few = {"n_components": 2, "n_neighbors": 4}
    labels = ["a", "b"] * 5
    return {
        "LLISE": llise.LLISE(**few).fit(images),
        "luminance": llise.LLISE(**few, luminance=0.5, constraint="affine").fit(images),
        "ADMM": llise.LLISE(**few, solver=llise.ADMM(max_iter=(5, 5, 5)), random_state=0).fit(images),
        "rows": llise.LLISE(**few, image_shape=(16, 24)).fit(images.reshape(10, -1)),
        "floats": llise.LLISE(**few).fit(images / 255.0),
        "rbf": llise.KernelLLISE(**few).fit(images),
        "poly": llise.KernelLLISE(**few, kernel="poly", degree=2).fit(images),
        "sigmoid": llise.KernelLLISE(**few, kernel="sigmoid", constraint="affine").fit(images),
        "LLE": llise.LLE(**few).fit(images),
        "kernel LLE": llise.KernelLLE(**few).fit(images),
        "recognizer": llise.DistortionRecognizer(llise.LLISE(**few)).fit(images, labels),
    }


def write(state: State, path: Path) -> None:
    """Save a state under the name of a class, with a right digest."""
    name, arrays, settings = state
    llise.save(type(name, (), {"to_state": lambda self: (arrays, settings)})(), path)


def _flip(whole: bytes, state: State, rng: np.random.Generator, path: Path) -> None:
    content = bytearray(whole)
    # Half of the bytes are in the header, which is the smaller part.
    header = 8 + struct.unpack("<Q", whole[:8])[0]
    for _ in range(rng.integers(1, 6)):
        content[rng.integers(header if rng.random() < 0.5 else len(content))] ^= rng.integers(1, 256)
    path.write_bytes(content)


def _cut(whole: bytes, state: State, rng: np.random.Generator, path: Path) -> None:
    start, end = sorted(rng.integers(0, len(whole) + 1, 2))
    kind = rng.integers(4)
    content = [whole[:start], whole[:start] + whole[end:], whole + whole[start:end], whole[end:]][kind]
    path.write_bytes(content)


def _edit_header(whole: bytes, state: State, rng: np.random.Generator, path: Path) -> None:
    """Another value anywhere in the header, with its length made right."""
    length = struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8 : 8 + length])
    content = json.loads(header["__metadata__"]["llise"])
    change_value(rng.choice([header, content]), rng)
    if isinstance(header.get("__metadata__"), dict):
        header["__metadata__"]["llise"] = json.dumps(content)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + whole[8 + length :])


def _hostile_settings(whole: bytes, state: State, rng: np.random.Generator, path: Path) -> None:
    name, arrays, settings = state
    settings = json.loads(json.dumps(settings))
    for _ in range(rng.integers(1, 3)):
        change_value(settings, rng)
    write((name, arrays, settings), path)


def _hostile_arrays(whole: bytes, state: State, rng: np.random.Generator, path: Path) -> None:
    name, arrays, settings = state
    arrays = dict(arrays)
    key = rng.choice(sorted(arrays))
    values = arrays[key].copy()
    kind = rng.integers(7)
    if kind == 0:
        del arrays[key]
    elif kind == 1:
        arrays[key] = values.astype(rng.choice(["int8", "int64", "uint16", "float16", "float32", "float64", "bool"]))
    elif kind == 2:
        arrays[key] = values[..., : rng.integers(0, values.shape[-1] + 1)]
    elif kind == 3:
        arrays[key] = np.concatenate([values] * int(rng.integers(2, 4)), axis=int(rng.integers(values.ndim)))
    elif kind == 4:
        arrays[key] = values.T
    elif np.issubdtype(values.dtype, np.floating):
        extreme = rng.choice([np.nan, np.inf, -np.inf, 1e300, -1e300, 1e29, -1.0, 0.0])
        with np.errstate(over="ignore"):
            values[rng.random(values.shape) < rng.choice([0.01, 1.0])] = extreme
        arrays[key] = values
    else:
        arrays[key] = rng.integers(-3, 300, values.shape).astype(values.dtype)
    write((name, arrays, settings), path)


MUTATIONS: list[tuple[float, Mutation]] = [
    (0.40, _flip),
    (0.20, _cut),
    (0.10, _edit_header),
    (0.22, _hostile_settings),
    (0.08, _hostile_arrays),
]
"""Share of each mutation; the last two have a right digest."""


def change_value(tree: Any, rng: np.random.Generator) -> None:
    """Replace, delete or add a value anywhere in a tree of dicts and lists."""
    places = list(_places(tree))
    owner, key = places[rng.integers(len(places))]
    kind = rng.random()
    if kind < 0.85:
        owner[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
    elif kind < 0.95:
        del owner[key]
    elif isinstance(owner, dict):
        owner["more"] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])


def _places(tree: Any) -> Any:
    """Every container in a tree with a key of it."""
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], dict | list):
            yield from _places(tree[key])


def wrong_answer(path: Path) -> str | None:
    """What is wrong with how a model file is loaded and used, or None."""
    try:
        model = llise.load(path)
    except ModelError as error:
        one_line = str(error).startswith(f"{path}: ") and str(error).isprintable()
        return None if one_line else f"the message {str(error)!r} is not one line with the name"
    except BaseException as error:
        return f"loading: {type(error).__name__}: {error}"
    try:
        values = _use(model)
    except (ValueError, ImportError):
        return None
    except BaseException as error:
        return f"using {model!r}: {type(error).__name__}: {error}"
    return None if all(np.isfinite(v).all() for v in values) else f"{model!r} gives NaN or infinity"


def _use(model: Any) -> list[np.ndarray]:
    """Numbers that a model gives for a new image."""
    learner = getattr(model, "manifold_", model)
    new = learner.training_images_[:2, ::-1]
    new = new.reshape(2, -1) if learner.image_shape_ is None else new
    if learner is not model:
        return [model.predict_shares(new)]
    return [model.transform(new), model.image_map()]


def run(scale: float, rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Load 100 000 mutated files at full scale."""
    states, files = [], []
    for number, model in enumerate(models().values()):
        llise.save(model, folder / str(number))
        files.append((folder / str(number)).read_bytes())
        states.append((type(model).__name__, *model.to_state()))
    shares = np.array([share for share, _ in MUTATIONS])
    path = folder / "mutated"
    failures = []
    count = max(1, round(COUNT * scale))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in range(count):
            which = rng.integers(len(states))
            mutation = MUTATIONS[rng.choice(len(MUTATIONS), p=shares)][1]
            mutation(files[which], states[which], rng, path)
            begin = time.process_time()
            wrong = wrong_answer(path)
            seconds = time.process_time() - begin
            if not wrong and seconds > SLOWEST:  # again: the first time may have compiled a kernel
                begin = time.process_time()
                wrong = wrong_answer(path)
                seconds = time.process_time() - begin
                wrong = wrong or (f"took {seconds:.0f} s" if seconds > SLOWEST else None)
            if wrong:
                failures.append(f"{number}: {states[which][0]}, {mutation.__name__[1:]}: {wrong}")
    return count, failures
