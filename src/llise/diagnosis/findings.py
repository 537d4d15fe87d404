"""Parts of areas with the probabilities of their kinds, and faults before they are estimated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llise.diagnosis.sets import CONTENT, SETS


@dataclass(frozen=True, eq=False)
class Part:
    """A part of an area with one set of kinds.

    Attributes
    ----------
    area : int
        Number of the area in which it lies.
    mask : ndarray of bool, shape (rows, cols)
        Its blocks.
    probabilities : ndarray, shape (n_sets,)
        What the judge says of it.
    p_value : float
        Share of parts with named kinds that are at least as strange.
    nearest_kinds : tuple of str
        The named kinds that an unknown part is most like.
    sets : tuple of tuple of str
        The sets of kinds to which the probabilities belong.
    stands_out : bool
        Whether it is a place that differs from the area around it far more than is typical there.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.findings import Part
    >>> Part(0, np.ones((2, 2), bool), np.eye(64)[3]).kinds
    ('blur',)
    """

    area: int
    mask: np.ndarray
    probabilities: np.ndarray
    p_value: float = 1.0
    nearest_kinds: tuple[str, ...] = ()
    sets: tuple[tuple[str, ...], ...] = SETS
    stands_out: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The most probable set of kinds."""
        return self.sets[int(self.probabilities.argmax())]

    @property
    def confidence(self) -> float:
        """Its probability."""
        return float(self.probabilities.max())

    @property
    def is_taught(self) -> bool:
        """Whether the most probable kind is one of one's own."""
        return int(self.probabilities.argmax()) >= len(SETS)

    @property
    def is_content(self) -> bool:
        """Whether it is probably content, alone or with another kind: content is somewhere by itself, however small."""
        has = np.array([CONTENT in kinds for kinds in self.sets])
        return bool(self.probabilities[has].sum() > 0.5 * self.probabilities.sum())

    def probability_of(self, kinds: tuple[str, ...]) -> float:
        """Return the probability of a set of kinds.

        Parameters
        ----------
        kinds : tuple of str
            One of the sets.

        Returns
        -------
        float
            What the judge says.
        """
        return float(self.probabilities[self.sets.index(kinds)])


@dataclass(eq=False)
class Finding:
    """Kinds and region of a fault before it is estimated.

    Attributes
    ----------
    kinds : tuple of str
        Kinds in this place.
    mask : ndarray of bool, shape (rows, cols)
        Blocks over which the fault extends.
    confidence : float
        Probability that the kinds are right.
    p_value, nearest_kinds
        As of :class:`Part`, of its largest part.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.findings import Finding
    >>> Finding(("blur",), np.ones((2, 2), bool), 0.9).kinds
    ('blur',)
    """

    kinds: tuple[str, ...]
    mask: np.ndarray
    confidence: float
    p_value: float = 1.0
    nearest_kinds: tuple[str, ...] = ()
