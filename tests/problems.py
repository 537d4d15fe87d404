"""Small image sets and weight problems: ordinary ones, and every degenerate one that images bring forth."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import numpy as np

from llise.engine.jit import python_callable
from llise.manifold.blocks import BlockGrid, prepare
from llise.manifold.gram import Kernel, take_local, training_gram
from llise.manifold.neighbors import training_neighbors
from llise.manifold.objectives import ssim_constant

KERNELS = ("linear", "poly", "rbf", "sigmoid")


def callable_parts(module: ModuleType) -> SimpleNamespace:
    """The compiled functions of a module as functions that Python can call, and its named tuples."""
    parts = {name: python_callable(v) for name, v in vars(module).items() if hasattr(v, "py_func")}
    return SimpleNamespace(**parts, **{name: v for name, v in vars(module).items() if isinstance(v, type)})


def photographs(n: int = 24, height: int = 16, width: int = 16, seed: int = 0) -> np.ndarray:
    """Grey images (n, h, w) in [0, 1] without ties: one smooth picture, distorted ever more along three ways."""
    rng = np.random.default_rng(seed)
    rows, cols = np.mgrid[:height, :width] / max(height, width)
    base = 0.5 + 0.2 * np.sin(9 * rows + 4 * cols) + 0.15 * np.cos(17 * cols * rows + 1)
    ways = rng.standard_normal((3, height, width)) * 0.06
    strength = np.arange(n) // 3 / max(n // 3, 1) + 0.1
    images = base + strength[:, None, None] * ways[np.arange(n) % 3] + 0.01 * rng.standard_normal((n, height, width))
    return np.clip(images, 0.0, 1.0)


def bytes_of(images: np.ndarray) -> np.ndarray:
    """The same as 8-bit images."""
    return np.rint(images * 255).astype(np.uint8)


def blocks_of(images: np.ndarray, block_size: int = 8) -> np.ndarray:
    """Raw blocks (b, n, q)."""
    return BlockGrid.of_images(images.shape[1:], block_size).cut(images)


def local_problem(x: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """K, kv, a of a centred block x (q,) and its neighbours, the rows of X (k, q)."""
    return X @ X.T, X @ x, float(x @ x)


def local_problems(raw: np.ndarray, k: int, kernel: Kernel | None = None):
    """K, kv, a and neighbours of all training blocks (b, n, q), as the pipeline makes them."""
    kernel = (kernel or Kernel("linear")).resolved(raw.shape[-1])
    gram, _ = training_gram(prepare(raw, 1.0, centre=kernel.is_linear)[0], kernel)
    near = training_neighbors(gram, k)
    diagonal = np.ascontiguousarray(np.diagonal(gram, axis1=1, axis2=2))
    return take_local(gram, near), np.take_along_axis(gram, near, axis=-1), diagonal, near


def random_problems(rng: np.random.Generator, count: int, k: int, q: int) -> list:
    """Blocks near their neighbours, of all scales."""
    out = []
    for _ in range(count):
        x = centred(rng.standard_normal(q)) * 10 ** rng.uniform(-2, 1)
        X = x + np.array([centred(rng.standard_normal(q)) for _ in range(k)]) * 10 ** rng.uniform(-2, 1)
        out.append(local_problem(x, X))
    return out


def degenerate_problems(rng: np.random.Generator, k: int = 6, q: int = 16) -> dict[str, tuple]:
    """The problems of flat, repeated and scaled blocks."""
    x = centred(rng.standard_normal(q))
    X = x + 0.3 * np.array([centred(rng.standard_normal(q)) for _ in range(k)])
    orthogonal = np.linalg.qr(np.column_stack([np.ones(q), rng.standard_normal((q, k + 1))]))[0].T[1:]
    pairs = X[np.arange(k) // 2]
    spread = np.diag([3.0, 2.0, 1.5, 1.0, 0.5, 0.5])[:k, :k]
    turned = np.linalg.qr(rng.standard_normal((k, k)))[0]
    return {
        "duplicate neighbours": local_problem(x, pairs),
        "all neighbours equal": local_problem(x, np.repeat(X[:1], k, axis=0)),
        "neighbours are multiples": local_problem(x, np.outer(rng.uniform(-2, 2, k), X[0])),
        "multiples of the block": local_problem(x, np.outer(np.linspace(0.5, 3, k), x)),
        "all equal the block": local_problem(x, np.repeat(x[None], k, axis=0)),
        "all opposite to the block": local_problem(x, np.repeat(-x[None], k, axis=0)),
        "one equals the block": local_problem(x, np.vstack([x, X[1:]])),
        "zero block": local_problem(np.zeros(q), X),
        "zero neighbours": local_problem(x, np.zeros((k, q))),
        "zero block and neighbours": local_problem(np.zeros(q), np.zeros((k, q))),
        "some zero neighbours": local_problem(x, np.vstack([X[:3], np.zeros((k - 3, q))])),
        "neighbours orthogonal to the block": local_problem(orthogonal[0], orthogonal[1 : k + 1]),
        "fewer directions than neighbours": local_problem(x, rng.standard_normal((k, 3)) @ X[:3]),
        "kv orthogonal to the smallest eigenspace": (
            turned @ spread @ turned.T,
            0.2 * turned @ np.array([1.0, -1.0, 0.5, 0.2, 0.0, 0.0])[:k],
            1.0,
        ),
        "kv hardly in the smallest eigenspace": (
            turned @ spread @ turned.T,
            0.2 * turned @ np.array([1.0, -1.0, 0.5, 0.2, 1e-9, 0.0])[:k],
            1.0,
        ),
        "huge": local_problem(1e3 * x, 1e3 * X),
        "tiny": local_problem(1e-6 * x, 1e-6 * X),
        "one neighbour": local_problem(x, X[:1]),
        "one neighbour, opposite": local_problem(x, -X[:1]),
    }  # fmt: skip


def centred(x: np.ndarray) -> np.ndarray:
    return x - x.mean(axis=-1, keepdims=True)


def constant_of(q: int = 16) -> float:
    return ssim_constant(q)
