"""How evidence on several sets of kinds is weighed: a score of each set, and probabilities from the scores.

The score is a linear function of the evidence and a small network of it, so that what a measurement means may depend on
the kinds: 5 % of the error that are left say much against a JPEG coder, which can be repeated exactly, and little
against noise.  The weights are those of greatest likelihood of the true sets on random scenes (a conditional logit).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

HIDDEN = 12
"""Units of the network."""


@dataclass(frozen=True, eq=False)
class EvidenceWeights:
    """Weights of the evidence.

    Attributes
    ----------
    mean, scale : ndarray, shape (n_evidence,)
        Mean and deviation of the evidence in the training.
    linear : ndarray, shape (n_evidence,)
        Weights of the standardised evidence.
    matrix : ndarray, shape (n_evidence, n_hidden)
        First layer of the network.
    offset, output : ndarray, shape (n_hidden,)
        Its offsets, and the weights of its units.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.second_look.weighing import EvidenceWeights
    >>> weights = EvidenceWeights.only(np.array([1.0, 0.0]))
    >>> weights.scores(np.array([[3.0, 7.0], [4.0, 1.0]]))
    array([3., 4.])
    """

    mean: np.ndarray
    scale: np.ndarray
    linear: np.ndarray
    matrix: np.ndarray
    offset: np.ndarray
    output: np.ndarray

    @classmethod
    def only(cls, linear: np.ndarray) -> EvidenceWeights:
        """Return linear weights without a network.

        Parameters
        ----------
        linear : ndarray, shape (n_evidence,)
            Weights of the evidence as it is.

        Returns
        -------
        EvidenceWeights
            The weights.
        """
        n = len(linear)
        nothing = np.zeros(0, np.float32)
        return cls(np.zeros(n), np.ones(n), linear, np.zeros((n, 0), np.float32), nothing, nothing)

    def scores(self, table: np.ndarray) -> np.ndarray:
        """Return the score of each set.

        Parameters
        ----------
        table : ndarray, shape (..., n_evidence)
            Evidence for sets of kinds.

        Returns
        -------
        ndarray, shape (...,)
            Logarithms of their probabilities, but for a constant.
        """
        x = (table - self.mean) / self.scale
        return x @ self.linear + np.tanh(x @ self.matrix + self.offset) @ self.output

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name.

        Returns
        -------
        dict of str to ndarray
            As the constructor takes them.
        """
        return {name: np.asarray(values, np.float32) for name, values in vars(self).items()}


def weighed(probabilities: np.ndarray, codes: list[int], table: np.ndarray, weights: EvidenceWeights) -> np.ndarray:
    """Return the probabilities of all sets after the evidence.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,)
        What the judge says.
    codes : list of int
        Sets that were tried; the others share what they had.
    table : ndarray, shape (n_codes, n_evidence)
        Evidence for these sets.
    weights : EvidenceWeights
        Weights of the evidence.

    Returns
    -------
    ndarray, shape (n_sets,)
        Probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.second_look.weighing import EvidenceWeights, weighed
    >>> p = np.array([0.2, 0.7, 0.1])
    >>> weighed(p, [0, 1], np.log(p[:2, None]), EvidenceWeights.only(np.ones(1))).round(3)
    array([0.2, 0.7, 0.1])
    """
    score = weights.scores(table.astype(np.float64))
    score = np.exp(score - score.max())
    result = np.array(probabilities, np.float64)
    result[codes] = score / score.sum() * probabilities[codes].sum()
    return result


def fit_weights(
    samples: Iterable[tuple[np.ndarray, int]],
    start: np.ndarray,
    *,
    hidden: int = HIDDEN,
    penalty: float = 1e-3,
    seed: int = 0,
) -> EvidenceWeights:
    """Find the weights with the greatest likelihood of the true sets.

    Parameters
    ----------
    samples : iterable of (ndarray of shape (n_codes, n_evidence), int)
        Evidence for the sets that were tried on a part, and which of them is true.
    start : ndarray, shape (n_evidence,)
        Linear weights to start from, and to return where there is no sample.
    hidden : int
        Units of the network.
    penalty : float
        Factor on the mean square of the network's weights.
    seed : int
        Seed of the first weights.

    Returns
    -------
    EvidenceWeights
        The weights.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.second_look.weighing import fit_weights
    >>> table = np.array([[-3.0, 1.0], [0.0, 1.0]])  # the first set leaves less unexplained
    >>> weights = fit_weights([(table, 0)] * 20, np.zeros(2))
    >>> float(np.subtract(*weights.scores(table))) > 1
    True
    """
    from scipy.optimize import minimize

    chosen = list(samples)
    if not chosen:
        return EvidenceWeights.only(start)
    problem = _Likelihood(chosen, hidden, penalty)
    rng = np.random.default_rng(seed)
    n = len(start)
    first = [
        start * problem.scale, 0.3 * rng.standard_normal((n, hidden)) / np.sqrt(n), np.zeros(hidden),
        0.1 * rng.standard_normal(hidden),
    ]  # fmt: skip
    best = minimize(
        problem.loss, np.concatenate([part.ravel() for part in first]), jac=True, method="L-BFGS-B",
        options={"maxiter": 400},
    )  # fmt: skip
    linear, matrix, offset, output = problem.parts(best.x)
    arrays = (problem.mean, problem.scale, linear, matrix, offset, output)
    return EvidenceWeights(*(values.astype(np.float32) for values in arrays))


class _Likelihood:
    """Mean negative log-likelihood of the true sets, and its gradient."""

    def __init__(self, samples: list[tuple[np.ndarray, int]], hidden: int, penalty: float) -> None:
        rows = np.concatenate([table for table, _ in samples]).astype(np.float64)
        self.mean, self.scale = rows.mean(axis=0), rows.std(axis=0) + 1e-3
        self.rows = (rows - self.mean) / self.scale
        sizes = np.array([len(table) for table, _ in samples])
        self.starts = np.cumsum(sizes) - sizes  # first row of each sample
        self.sample = np.repeat(np.arange(len(sizes)), sizes)
        self.true = self.starts + np.array([index for _, index in samples])
        self.hidden, self.penalty = hidden, penalty

    def parts(self, values: np.ndarray) -> tuple[np.ndarray, ...]:
        """Linear weights, first layer, offsets and output weights."""
        n, hidden = self.rows.shape[1], self.hidden
        linear, matrix, offset, output = np.split(values, np.cumsum([n, n * hidden, hidden]))
        return linear, matrix.reshape(n, hidden), offset, output

    def loss(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        linear, matrix, offset, output = self.parts(values)
        units = np.tanh(self.rows @ matrix + offset)
        score = self.rows @ linear + units @ output
        top = np.maximum.reduceat(score, self.starts)
        share = np.exp(score - top[self.sample])
        total = np.add.reduceat(share, self.starts)
        value = float(np.mean(np.log(total) + top - score[self.true]))
        slope = share / total[self.sample]  # derivative of the loss by the scores, times the number of samples
        slope[self.true] -= 1
        slope /= len(self.starts)
        inner = slope[:, None] * output * (1 - units**2)
        gradient = (self.rows.T @ slope, self.rows.T @ inner, inner.sum(axis=0), units.T @ slope)
        weights = (np.zeros_like(linear), matrix, np.zeros_like(offset), output)
        value += self.penalty * float(sum(np.sum(part**2) for part in weights))
        return value, np.concatenate([(own + 2 * self.penalty * part).ravel() for own, part in zip(gradient, weights)])
