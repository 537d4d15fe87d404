"""Whether the named kinds account for a part, or it is a fault that has no name.

The judge was trained with many faults that have no name, so it gives "unknown" a probability.  The part is also made
again from the reference with the most probable kinds, and what that leaves unexplained is measured.  A linear score of
both (logistic regression) says how strange a part is.  The scores of parts with named kinds, which were kept aside in
the training, turn it into a p-value: the share of such parts that are at least as strange.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from llise.diagnosis.estimates.copy_estimates import FaultEstimate
from llise.diagnosis.second_look.verification import FIT, fit_of
from llise.diagnosis.sets import SETS, UNKNOWN_CODE

FALSE_ALARMS = 0.01
"""Share of the parts with named kinds that may be called unknown."""

SIZES = (6, 30, 200)
"""Numbers of blocks that divide parts into classes with scores of their own."""

WEAK = 25.0
"""Mean squared error below which parts are classes of their own: less can be told of them."""

RANKS = np.concatenate([np.linspace(0, 0.9, 91), 1 - np.geomspace(0.1, 1e-4, 110)[1:]])
"""Quantiles of the scores that are kept for each class."""

CLUES = ("one", "log odds of unknown", "log probability", *FIT, "two kinds", "log error")
"""What the score of a part is made of."""

SHARPER = 0.5
"""Factor on small p-values: the scores come from networks that judged alone, and all of them together are mistaken half
as often (of 280 faults with named kinds on photographs kept aside, 1.1 % had a share below .02)."""


@dataclass(frozen=True, eq=False)
class Novelty:
    """Weights of the score, and the scores of parts with named kinds.

    Attributes
    ----------
    weights : ndarray of float32, shape (n_clues,)
        Weights of :data:`CLUES`.
    scores : ndarray of float32, shape (n_classes, n_ranks)
        Scores at :data:`RANKS` for each class, see :func:`class_of`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.second_look.novelty import CLUES, RANKS, SIZES, Novelty
    >>> scores = np.tile(np.linspace(0, 1, len(RANKS)), (2 * len(SIZES) + 2, 1))
    >>> novelty = Novelty(np.zeros(len(CLUES)), scores)
    >>> novelty.p_value(2.0, 50, 100.0) < 0.001, novelty.p_value(-1.0, 50, 100.0)
    (True, 1.0)
    """

    weights: np.ndarray
    scores: np.ndarray

    def score(self, clues: np.ndarray) -> float:
        """Return how strange a part is.

        Parameters
        ----------
        clues : ndarray, shape (n_clues,)
            From :func:`clues_of`.

        Returns
        -------
        float
            Log odds of a fault without a name.
        """
        return float(clues @ self.weights.astype(np.float64))

    def p_value(self, score: float, blocks: int, error: float) -> float:
        """Return the share of parts with named kinds that are at least as strange.

        Parameters
        ----------
        score : float
            From :meth:`score`.
        blocks : int
            Size of the part.
        error : float
            Its mean squared error.

        Returns
        -------
        float
            Between 0 and 1.
        """
        known = self.scores[int(class_of(blocks, error))]
        if score <= known[0]:
            return 1.0
        share = float(1 - np.interp(score, known, RANKS)) if score < known[-1] else float(1 - RANKS[-1]) / 2
        return share * (SHARPER + (1 - SHARPER) * share)


def class_of(blocks: np.ndarray | int, error: np.ndarray | float) -> np.ndarray:
    """Return the class of parts by size and strength.

    Parameters
    ----------
    blocks : int or ndarray
        Sizes in blocks.
    error : float or ndarray
        Mean squared errors.

    Returns
    -------
    ndarray of int
        Numbers of the classes.

    Examples
    --------
    >>> from llise.diagnosis.second_look.novelty import class_of
    >>> class_of([3, 500], [10.0, 80.0])
    array([0, 7])
    """
    return 2 * np.digitize(blocks, SIZES) + (np.asarray(error) >= WEAK)


def clues_of(probabilities: np.ndarray, estimate: FaultEstimate, error: float) -> np.ndarray:
    """Return what the score of a part is made of.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,)
        What the judge says of the part.
    estimate : FaultEstimate
        Settings of the most probable named kinds there.
    error : float
        Mean squared error of the part.

    Returns
    -------
    ndarray, shape (n_clues,)
        In the order of :data:`CLUES`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import FaultEstimate
    >>> from llise.diagnosis.second_look.novelty import CLUES, clues_of
    >>> from llise.diagnosis.sets import SETS
    >>> even = np.full(len(SETS), 1 / len(SETS))
    >>> clues_of(even, FaultEstimate(explained=1.0), 100.0).shape == (len(CLUES),)
    True
    """
    strange = float(np.clip(probabilities[UNKNOWN_CODE], 1e-6, 1 - 1e-6))
    code = named(probabilities)
    return np.array(
        [
            1.0,
            np.log(strange / (1 - strange)),
            np.log(max(float(probabilities[code]) / (1 - strange), 1e-6)),
            *fit_of(SETS[code], estimate),
            float(len(SETS[code]) > 1),
            np.log(error + 1.0),
        ]
    )


def named(probabilities: np.ndarray) -> int:
    """Return the most probable set of named kinds.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,)
        What the judge says.

    Returns
    -------
    int
        Index into :data:`llise.diagnosis.sets.SETS`, never that of unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.second_look.novelty import named
    >>> from llise.diagnosis.sets import SETS
    >>> named(np.eye(len(SETS))[-1] + 0.1 * np.eye(len(SETS))[3])
    3
    """
    return int(np.argmax(probabilities[:UNKNOWN_CODE]))


def check_false_alarms(rate: Any) -> float:
    """Check a false-alarm rate.

    Parameters
    ----------
    rate : object
        What a user gave.

    Returns
    -------
    float
        The rate.

    Raises
    ------
    ValueError
        It is not a number from 0 to below 1.

    Examples
    --------
    >>> from llise.diagnosis.second_look.novelty import check_false_alarms
    >>> check_false_alarms(0.01)
    0.01
    """
    if isinstance(rate, bool) or not isinstance(rate, numbers.Real) or not 0 <= float(rate) < 1:
        raise ValueError(f"false_alarms must be a number from 0 to below 1, such as 0.01, got {rate!r}.")
    return float(rate)


def fit_novelty(clues: np.ndarray, strange: np.ndarray, blocks: np.ndarray, penalty: float = 1e-3) -> Novelty:
    """Find the weights of the score by logistic regression, and the scores of known parts.

    Parameters
    ----------
    clues : ndarray, shape (n, n_clues)
        Parts of scenes that the judge has not seen.
    strange : ndarray of bool, shape (n,)
        Whether the fault has no name.
    blocks : ndarray, shape (n,)
        Sizes of the parts.
    penalty : float
        Factor on the squared weights.

    Returns
    -------
    Novelty
        The scores of each half of the known parts come from a regression that has seen the other half only.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.second_look.novelty import CLUES, fit_novelty
    >>> clues = np.random.default_rng(0).normal(size=(400, len(CLUES)))
    >>> novelty = fit_novelty(clues, clues[:, 1] > 0, np.full(400, 50))
    >>> int(np.argmax(np.abs(novelty.weights)))
    1
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    def weights_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
            score = x @ weights
            value = float(np.mean(np.logaddexp(0, score) - y * score)) + penalty * float(weights @ weights)
            return value, x.T @ (expit(score) - y) / len(x) + 2 * penalty * weights

        return minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x

    even = np.arange(len(clues)) % 2 == 0
    scores = np.empty(len(clues))
    for half in (even, ~even):
        scores[~half] = clues[~half] @ weights_of(clues[half], strange[half].astype(float))
    known = scores[~strange]
    classes = class_of(blocks, np.exp(clues[:, CLUES.index("log error")]) - 1)[~strange]
    rows = []
    for number in range(2 * len(SIZES) + 2):
        own = known[classes == number]
        rows.append(np.quantile(own if len(own) >= LEAST_PARTS else known, RANKS))
    return Novelty(weights_of(clues, strange.astype(float)).astype(np.float32), np.array(rows, np.float32))


LEAST_PARTS = 200
"""Parts of a class from which it gets scores of its own."""
