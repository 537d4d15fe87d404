"""Settings of the paper's iterative solver (ADMM) and the random numbers that it starts from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

PUBLISHED_ITERATIONS = {
    "linear": (230, 60, 590),
    "rbf": (160, 110, 500),
    "sigmoid": (70, 200, 30),
    "poly": (150, 270, 500),
}
"""Iteration counts of the authors' released code by kernel: weights, embedding, weights of new images."""


MOST_ITERATIONS = 100_000
"""Largest number of iterations that can be asked for; the paper uses up to 590."""


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


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
        Keep the errors in the paper: a gradient of the embedding that is not symmetric, singular values set to n.

    Examples
    --------
    >>> from llise import ADMM, LLISE
    >>> LLISE(solver=ADMM(tol=1e-4), random_state=0).solver.tol
    0.0001
    """

    rho: float | None = None
    eta: float | None = None
    rho_embedding: float = 0.01
    eta_embedding: float = 0.01
    max_iter: tuple[int, int, int] | None = None
    tol: float | None = None
    as_published: bool = False

    def __post_init__(self) -> None:
        """Refuse settings that no iteration can use."""
        for name in ("rho", "eta", "rho_embedding", "eta_embedding"):
            value = getattr(self, name)
            left_out = value is None and name in ("rho", "eta")
            if not left_out and not (_is_number(value) and 0 < value < np.inf):
                raise ValueError(f"{name} of ADMM must be a positive number, got {value!r}; the paper has 0.01 or 0.1.")
        if self.tol is not None and not (_is_number(self.tol) and 0 <= self.tol < np.inf):
            raise ValueError(f"tol of ADMM must be None or a number of at least 0, got {self.tol!r}; use 1e-4 or so.")
        if not isinstance(self.as_published, bool | np.bool_):
            raise ValueError(f"as_published of ADMM must be True or False, got {self.as_published!r}.")
        if self.max_iter is not None:
            self._check_counts()

    def _check_counts(self) -> None:
        counts: Any = self.max_iter
        if (
            not isinstance(counts, tuple | list)
            or len(counts) != 3
            or not all(isinstance(count, Integral) and not isinstance(count, bool) for count in counts)
            or not 1 <= min(counts) <= max(counts) <= MOST_ITERATIONS
        ):
            raise ValueError(
                "max_iter must be three positive counts (weights, embedding, new images) of at most "
                f"{MOST_ITERATIONS}, got {counts!r}; use for example max_iter=(230, 60, 590)."
            )

    def resolved(self, kernel: object) -> ADMM:
        """Return the settings with the paper's values for a kernel filled in.

        Parameters
        ----------
        kernel : str or callable
            Name of the kernel; a callable takes the counts of ``"linear"``.

        Returns
        -------
        ADMM

        Examples
        --------
        >>> from llise import ADMM
        >>> ADMM().resolved("rbf").max_iter
        (160, 110, 500)
        """
        linear = kernel == "linear"
        counts: tuple[int, ...] = PUBLISHED_ITERATIONS.get(
            kernel if isinstance(kernel, str) else "", PUBLISHED_ITERATIONS["linear"]
        )
        if self.tol is not None:
            counts = (10_000, 10_000, 10_000)
        counts = tuple(self.max_iter) if self.max_iter is not None else counts
        return replace(
            self,
            rho=(0.1 if linear else 0.01) if self.rho is None else float(self.rho),
            eta=0.1 if self.eta is None else float(self.eta),
            rho_embedding=float(self.rho_embedding),
            eta_embedding=float(self.eta_embedding),
            tol=None if self.tol is None else float(self.tol),
            max_iter=(int(counts[0]), int(counts[1]), int(counts[2])),
        )


def weight_start(seed: int, blocks: np.ndarray, m: int, k: int, *, new: bool = False) -> np.ndarray:
    """Return the start of the weights' iterations: uniform numbers divided by their sum, drawn for every block."""
    if new:
        return np.repeat(weight_start(seed + 1, blocks, 1, k), m, axis=2)
    values = _uniform(seed, blocks, 3 * m * k).reshape(len(blocks), 3, m, k)
    return values / values.sum(axis=-1, keepdims=True)


def embedding_start(seed: int, blocks: np.ndarray, n: int, p: int) -> np.ndarray:
    """Return the start of the embedding's iterations: uniform numbers in [0, 1), drawn for every block."""
    return _uniform(seed + 2, blocks, 3 * n * p).reshape(len(blocks), 3, n, p)


def _uniform(seed: int, blocks: np.ndarray, count: int) -> np.ndarray:
    """Numbers (b, count) in [0, 1) that depend only on the seed, the block's position and their own index."""
    steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    # the seed is mixed first: unmixed, the streams of successive seeds are one stream, shifted by a step
    start = _mixed(_mixed(np.array([seed], np.uint64)) + blocks.astype(np.uint64))
    numbers = _mixed(start[:, None] + steps)
    numbers >>= np.uint64(11)
    return numbers * 2.0**-53


def _mixed(z: np.ndarray) -> np.ndarray:
    """The output function of SplitMix64, in place."""
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z
