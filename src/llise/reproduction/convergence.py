"""How the paper's iterations approach a solution, step by step, compared with the exact solver."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from llise.engine.tasks import interruptible
from llise.manifold.admm import ADMM
from llise.manifold.blocks import BlockGrid
from llise.manifold.gram import Kernel
from llise.manifold.pipeline import Fitted, Settings, fit_chunk
from llise.manifold.weights import RIDGE

N_BLOCKS = 32
"""Number of blocks that the curves are computed on."""

MAX_COUNT = 1000
"""Number of iterations shown, well beyond the published counts."""

PERCENTILES = (25, 50, 75)
"""Percentiles over blocks."""


def convergence(
    images: np.ndarray, *, kernel: str = "linear", n_neighbors: int, n_components: int, block_size: int, seed: int = 0
) -> dict[str, Any]:
    """Compute objective and constraint violation by iteration, on blocks spread evenly over the images.

    Parameters
    ----------
    images : ndarray of uint8, shape (n, h, w)
        Training images.
    kernel : {"linear", "poly", "rbf", "sigmoid"}
        Kernel of the method.
    n_neighbors, n_components, block_size : int
        As for the estimators.
    seed : int
        Seed for all random numbers.

    Returns
    -------
    dict
        ``weights`` and ``embedding``, each with one curve a solver: ``iteration``, and ``objective`` and
        ``violation`` as the quartiles over blocks at each of these.  The weights' violation is the mean over images
        of ``| |w| - 1 |``, the embedding's that of eq. 31.

    Examples
    --------
    >>> images = np.random.default_rng(0).integers(0, 256, (8, 8, 8)).astype(np.uint8)
    >>> curves = convergence(images, n_neighbors=3, n_components=2, block_size=8)
    >>> curves["n_blocks"], sorted(curves["embedding"])
    (1, ['corrected', 'exact', 'published'])
    """
    mosaic, grid = _sample(images, block_size)
    exact = Settings(
        kernel=Kernel(kernel).resolved(grid.q),
        n_neighbors=n_neighbors,
        n_components=n_components,
        constraint="sphere",
        ridge=RIDGE,
        luminance=0.0,
        data_range=255.0,
        q=grid.q,
        admm=None,
        seed=seed,
    )
    published = ADMM(as_published=True).resolved(kernel)
    corrected = replace(published, as_published=False)

    def solve(admm: ADMM | None, history: int = 0) -> Fitted:
        return interruptible(fit_chunk, mosaic, grid, 0, replace(exact, admm=admm, history=history))

    solved = solve(None, history=MAX_COUNT)
    return {
        "n_blocks": grid.n_blocks,
        "published_iterations": list(published.max_iter or ()),
        "weights": {
            "admm": _weight_curve([(count, solve(_stopped(published, weights=count))) for count in _counts()]),
            "exact": _weight_curve([(1, solved)]),
        },
        "embedding": {
            "published": _embedding_curve(solve(_stopped(published, embedding=MAX_COUNT), MAX_COUNT)),
            "corrected": _embedding_curve(solve(_stopped(corrected, embedding=MAX_COUNT), MAX_COUNT)),
            "exact": _exact_curve(solved),
        },
    }


def _sample(images: np.ndarray, block_size: int) -> tuple[np.ndarray, BlockGrid]:
    """Images of one row of blocks: a sample of the whole images' blocks side by side."""
    whole = BlockGrid.of_images(images.shape[1:], block_size)
    chosen = np.unique(np.linspace(0, whole.n_blocks - 1, min(N_BLOCKS, whole.n_blocks)).astype(int))
    row = BlockGrid.of_images((block_size, block_size * len(chosen)), block_size)
    return np.ascontiguousarray(row.join(whole.cut(images)[chosen])), row


def _counts() -> list[int]:
    """Iterations that are shown, evenly spaced on a logarithmic scale."""
    return sorted({round(count) for count in np.geomspace(1, MAX_COUNT, 19)})


def _stopped(admm: ADMM, *, weights: int | None = None, embedding: int = 1) -> ADMM:
    """The same iterations, stopped at these counts instead of the published ones."""
    assert admm.max_iter is not None
    return replace(admm, max_iter=(weights or admm.max_iter[0], embedding, 1))


def _weight_curve(stages: list[tuple[int, Fitted]]) -> dict[str, Any]:
    objective, violation = [], []
    for _, fitted in stages:
        assert fitted.weights is not None
        norms = np.linalg.norm(fitted.weights.astype(float), axis=-1)
        objective.append(fitted.reconstruction_error / norms.shape[1])
        violation.append(np.abs(norms - 1).mean(axis=1))
    return _curve([count for count, _ in stages], np.array(objective), np.array(violation))


def _embedding_curve(fitted: Fitted) -> dict[str, Any]:
    """The history at the chosen counts; it holds the state before each iteration, so that 1 is the start."""
    chosen = np.array(_counts()) - 1
    n = fitted.coordinates.shape[1]
    steps = np.moveaxis(fitted.history[:, chosen], 0, 1)
    return _curve(_counts(), steps[..., 0] / n, steps[..., 1])


def _exact_curve(fitted: Fitted) -> dict[str, Any]:
    """Every step up to the last of the slowest block; a block that has converged keeps its value."""
    n = fitted.coordinates.shape[1]
    objective = fitted.history[..., 0]
    last = int(np.isfinite(objective).sum(axis=1).max())
    steps = [np.where(np.isfinite(objective[:, t]), objective[:, t], fitted.objective) for t in range(last)]
    # Every step satisfies the constraints, so that the last violation holds for all of them.
    violation = np.broadcast_to(fitted.violation, (last, len(fitted.violation)))
    return _curve(list(range(1, last + 1)), np.array(steps) / n, violation)


def _curve(iterations: list[int], objective: np.ndarray, violation: np.ndarray) -> dict[str, Any]:
    """Quartiles over blocks (steps, blocks) at each iteration."""
    return {
        "iteration": iterations,
        "objective": np.percentile(objective, PERCENTILES, axis=1).tolist(),
        "violation": np.percentile(violation, PERCENTILES, axis=1).tolist(),
    }
