"""Settings of the two solvers, and the random starts of the iterative one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from llise.engine.jit import jit

# Iteration counts of the authors' released code: weights, embedding, weights of new images.
PUBLISHED_ITERATIONS = {
    "linear": (230, 60, 590),
    "rbf": (160, 110, 500),
    "sigmoid": (70, 200, 30),
    "poly": (150, 270, 500),
}


@dataclass(frozen=True)
class ADMM:
    """The paper's alternating direction method of multipliers.

    Parameters
    ----------
    rho, eta : float or None
        Penalty and step of the weights' iterations; None is the paper's: 0.1 and 0.1 for LLISE, 0.01 and 0.1 for
        kernel LLISE.
    rho_embedding, eta_embedding : float
        The same for the embedding.
    max_iter : tuple of three int, or None
        Iterations for weights, embedding and the weights of new images.  None is the count of the authors'
        released code for the kernel, or 10000 when ``tol`` is given.
    tol : float or None
        Stop when no primal residual and no change exceeds it; None runs the fixed counts.
    as_published : bool
        Keep the paper's slips: a gradient of the embedding that is not symmetric, singular values set to n.
    """

    rho: float | None = None
    eta: float | None = None
    rho_embedding: float = 0.01
    eta_embedding: float = 0.01
    max_iter: tuple[int, int, int] | None = None
    tol: float | None = None
    as_published: bool = False

    def resolved(self, kernel: object) -> ADMM:
        """The settings with the paper's values for this kernel filled in."""
        linear = kernel == "linear"
        counts: tuple[int, ...] = PUBLISHED_ITERATIONS.get(
            kernel if isinstance(kernel, str) else "", PUBLISHED_ITERATIONS["linear"]
        )
        if self.tol is not None:
            counts = (10_000, 10_000, 10_000)
        counts = tuple(self.max_iter) if self.max_iter is not None else counts
        if len(counts) != 3 or min(counts) < 1:
            raise ValueError(
                f"max_iter must be three positive counts (weights, embedding, new images), got {self.max_iter!r}."
            )
        return replace(
            self,
            rho=(0.1 if linear else 0.01) if self.rho is None else self.rho,
            eta=0.1 if self.eta is None else self.eta,
            max_iter=(counts[0], counts[1], counts[2]),
        )


def weight_start(seed: int, blocks: np.ndarray, m: int, k: int, *, new: bool = False) -> np.ndarray:
    """w, xi, j (b, 3, m, k): uniform [0, 1) divided by their sum, drawn apart for every block.

    New images all start alike, so that an image's result does not depend on its company.
    """
    if new:
        return np.repeat(weight_start(seed + 1, blocks, 1, k), m, axis=2)
    values = _uniform(seed, blocks, 3 * m * k).reshape(len(blocks), 3, m, k)
    return values / values.sum(axis=-1, keepdims=True)


def embedding_start(seed: int, blocks: np.ndarray, n: int, p: int) -> np.ndarray:
    """Y, V, J (b, 3, n, p): uniform [0, 1)."""
    return _uniform(seed + 2, blocks, 3 * n * p).reshape(len(blocks), 3, n, p)


@jit()
def _uniform(seed, blocks, count):
    """Numbers in [0, 1) that depend on the seed, the block's position and their place alone (SplitMix64)."""
    out = np.empty((blocks.size, count))
    for i in range(blocks.size):
        # mixed first: unmixed, the streams of neighbouring seeds are one stream, a step apart
        state = _mixed(_mixed(np.uint64(seed)) + np.uint64(blocks[i]))
        for t in range(count):
            state += np.uint64(0x9E3779B97F4A7C15)
            out[i, t] = (_mixed(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
    return out


@jit()
def _mixed(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
