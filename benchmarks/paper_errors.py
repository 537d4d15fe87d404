"""What the errors in the paper do, measured: the figures of docs/math.md, section "Where we depart from the paper".

Run ``python benchmarks/paper_errors.py [--rows 6]``.
"""

from __future__ import annotations

import argparse

import numpy as np

from llise import LLISE, KernelLLISE, datasets, distortions
from llise.engine import numba_linalg, numba_objective
from llise.engine.jit import python_callable
from llise.manifold.blocks import BlockGrid, prepare
from llise.manifold.objectives import embedding_value


def singular_values(embedding: np.ndarray) -> np.ndarray:
    """Singular values (b, p) of centred coordinates (b, n, p)."""
    return np.linalg.svd(embedding - embedding.mean(axis=1, keepdims=True), compute_uv=False)


def published_gradient_error(weights: np.ndarray, neighbors: np.ndarray, c: float) -> tuple[float, float]:
    """Norm of the true gradient at a random Y, by finite differences, and the published one's distance from it."""
    n = weights.shape[0]
    p = 4
    rng = np.random.default_rng(0)
    Y = rng.random((p, n)).T
    S = np.zeros((n, n))
    np.put_along_axis(S, neighbors.astype(int), weights, axis=1)
    sparse = numba_objective.Sparse(weights.astype(np.float64), neighbors.astype(np.int64))
    tall = python_callable(numba_linalg.tall)
    at, work, G, published = python_callable(numba_objective.point)(n, p), tall(n, p), tall(n, p), np.empty((n, p))
    python_callable(numba_linalg.set_tall)(np.ascontiguousarray(Y), at.Y)
    python_callable(numba_objective.objective)(sparse, c, at)
    python_callable(numba_objective.published_gradient)(sparse, at, work, G)
    python_callable(numba_linalg.get_rows)(G, published)
    true = np.empty((n, p))
    for index in np.ndindex(n, p):
        shifted = []
        for step in (1e-6, -1e-6):
            Z = Y.copy()
            Z[index] += step
            shifted.append(embedding_value(Z, S @ Z, c))
        true[index] = (shifted[0] - shifted[1]) / 2e-6
    return float(np.linalg.norm(true)), float(np.linalg.norm(published - true))


def unchanged_blocks(reference: np.ndarray, shift: int) -> float:
    """Share of blocks that a luminance shift leaves as they were, once centred."""
    grid = BlockGrid.of_images(reference.shape, 8)
    moved = np.clip(reference.astype(int) + shift, 0, 255).astype(np.uint8)
    blocks, _ = prepare(grid.cut(np.stack([reference, moved])), 255, centre=True)
    centred = blocks.values - blocks.sums[..., None] / 64
    return float((centred[:, 0] == centred[:, 1]).all(axis=-1).mean())


def main() -> None:
    """Fit a sample of blocks in five ways and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=6, help="rows of blocks, spread over the image")
    options = parser.parse_args()
    reference = datasets.reference()
    training = datasets.training_set(reference, n_jobs=-1)
    tops = np.linspace(0, 63, options.rows).astype(int)
    images = np.concatenate([training.images[:, 8 * t : 8 * t + 8] for t in tops], axis=1)
    print(f"{len(images)} images, {options.rows * 64} blocks of the built-in image\n")
    print("| fit | median norm of w | singular values of Y (0.05..0.95) | violation | median objective |")
    print("|---|---|---|---|---|")
    cases = {
        "ADMM as published": LLISE.as_in_paper(solver="admm", as_published=True, random_state=0),
        "ADMM, errors 1 and 2 corrected": LLISE.as_in_paper(solver="admm", random_state=0),
        "exact, sphere": LLISE.as_in_paper(),
        "exact, affine": LLISE.as_in_paper(constraint="affine"),
        "exact, sphere, RBF kernel": KernelLLISE.as_in_paper(),
    }
    for title, learner in cases.items():
        learner.fit(images)
        low, high = np.quantile(singular_values(learner.embedding_), [0.05, 0.95])
        norms = np.linalg.norm(learner.weights_, axis=-1)
        print(
            f"| {title} | {np.median(norms):.2f} | {low:.1f}..{high:.1f} | {learner.constraint_violation_:.1e} | "
            f"{np.median(learner.blocks_.objective):.1e} |"
        )
        if title == "exact, sphere":
            block = min(100, len(learner.weights_) - 1)
            sphere = learner.weights_[block], learner.neighbors_[block]
    true, error = published_gradient_error(*sphere, 63 * 0.03**2)
    print(f"\ngradient of the embedding objective: norm {true:.2f}; the published one is off by {error:.2f}")
    for shift in (20, -20):
        print(f"luminance {shift:+d}: {unchanged_blocks(reference, shift):.1%} of the blocks unchanged after centring")
    mixed = distortions.apply(reference, "luminance", mse=400)
    print(f"luminance at MSE 400: mean shift {mixed.astype(float).mean() - reference.mean():+.2f}")


if __name__ == "__main__":
    main()
