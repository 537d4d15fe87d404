"""Kinds of one's own in a diagnosis: how they are told from the named kinds.

A linear discriminant analysis of the features of a region: the named kinds have their means in the judge's background,
which is a sample of its training, and a kind of one's own has that of its samples.  All share one covariance, that
within the kinds, so that a few examples are enough.  How much nearer a region is to a taught kind than to every named
one becomes a probability by samples that were left out, and a threshold for each size of regions keeps false alarms
rare.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import scipy

from llise.diagnosis.features.region_features import feature_names
from llise.diagnosis.judging.judge import BACKGROUND_SCALE, Judge, standardised
from llise.diagnosis.second_look.novelty import SIZES
from llise.diagnosis.sets import UNKNOWN_CODE
from llise.kinds.sources import Source

if TYPE_CHECKING:
    from llise.diagnosis.taught.taught_samples import TaughtSamples

SHRINKAGE = 0.03
"""Share of the diagonal in the covariance."""

FALSE_ALARMS = 0.004
"""Share of regions with named kinds that may lie beyond the threshold."""

UNKNOWN_ALARMS = 0.1
"""Share of regions with other unknown faults that may lie beyond the low threshold; some of them may be of the kind."""

LEAST_CLASS = 8
"""Fewest regions of the background from which a set of kinds has a mean."""

LEAST_REGIONS = 150
"""Fewest regions of a size from which it has a threshold of its own."""

FOLDS = 5


@dataclass(frozen=True, eq=False)
class TaughtKinds:
    """What tells kinds of one's own from the named ones, and from each other.

    Attributes
    ----------
    names : tuple of str
        The kinds of one's own.
    directions : ndarray of float32, shape (n_features, n_means)
        Directions of the means: first those of the taught kinds, then those of the named ones.
    offsets : ndarray of float32, shape (n_means,)
        What is added along each direction.
    slopes : ndarray, shape (n_taught,)
        Log odds for a unit of the margin.
    thresholds : ndarray, shape (n_taught, n_sizes)
        Margin at which a region is as likely to be of the taught kind as not, for each class of sizes.
    low : ndarray, shape (n_taught,)
        The same where the judge is sure that no named kind fits.
    most : ndarray, shape (n_taught,)
        Largest probability: with few examples nothing is sure.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.taught.taught_kinds import TaughtKinds
    >>> axes = np.float32([[1, -1]])
    >>> limits = np.zeros((1, 4)), np.zeros(1), np.full(1, 0.9)
    >>> kinds = TaughtKinds(("fog",), axes, np.zeros(2, np.float32), np.ones(1), *limits)
    >>> kinds.probabilities(np.float32([[2.0], [-2.0]]), np.array([50, 50]), np.zeros(2)).round(2)
    array([[0.9 ],
           [0.02]])
    """

    names: tuple[str, ...]
    directions: np.ndarray
    offsets: np.ndarray
    slopes: np.ndarray
    thresholds: np.ndarray
    low: np.ndarray
    most: np.ndarray

    def probabilities(self, values: np.ndarray, blocks: np.ndarray, unknown: np.ndarray) -> np.ndarray:
        """Return the probability of each taught kind.

        Parameters
        ----------
        values : ndarray, shape (n, n_features)
            Standardised features of regions.
        blocks : ndarray, shape (n,)
            Sizes of the regions in blocks.
        unknown : ndarray, shape (n,)
            Probabilities of faults without a name, as the judge says.

        Returns
        -------
        ndarray, shape (n, n_taught)
            The rest is the probability of all named kinds and of unknown ones.
        """
        scores = values @ self.directions + self.offsets
        own, named = scores[:, : len(self.names)], scores[:, len(self.names) :]
        margins = own - named.max(axis=1, keepdims=True)
        thresholds = self.thresholds[:, np.digitize(blocks, SIZES)].T
        # Where no named kind would lose the region, less is asked for.
        thresholds = thresholds + unknown[:, None] * (np.minimum(self.low, thresholds) - thresholds)
        alone = np.minimum(scipy.special.expit(self.slopes * (margins - thresholds)), self.most)
        # Taught kinds compete with one another for the region; the nearest one decides how probable any of them is.
        nearest = own.argmax(axis=1)
        return alone[np.arange(len(own)), nearest][:, None] * scipy.special.softmax(
            self.slopes[nearest][:, None] * own, axis=1
        )


def taught_kinds(judge: Judge, sources: tuple[Source, ...]) -> TaughtKinds | None:
    """Learn to tell kinds of one's own from those that a judge names.

    Parameters
    ----------
    judge : Judge
        With a background.
    sources : tuple
        What the kinds are given by, see :func:`llise.kinds.sources.sources`.

    Returns
    -------
    TaughtKinds or None
        None where there are no such kinds. The same judge and sources are learned once.

    Raises
    ------
    KindError
        A function fails on one of the pictures to which it is applied.
    ExampleError
        An example cannot be read any more.

    Examples
    --------
    >>> from llise.diagnosis.judging.judge import shipped_judge
    >>> from llise.diagnosis.taught.taught_kinds import taught_kinds
    >>> taught_kinds(shipped_judge(), ()) is None
    True
    """
    return _learned(judge, sources) if sources else None


@lru_cache(maxsize=4)
def _learned(judge: Judge, sources: tuple[Source, ...]) -> TaughtKinds:
    from llise.diagnosis.taught.taught_samples import samples_of  # it loads what the training needs

    return fit_taught(judge, [samples_of(source) for source in sources])


def fit_taught(judge: Judge, samples: list[TaughtSamples]) -> TaughtKinds:
    """Learn to tell kinds from those that a judge names, and from each other.

    Parameters
    ----------
    judge : Judge
        With a background.
    samples : list of TaughtSamples
        Samples of each kind.

    Returns
    -------
    TaughtKinds
        One for all of them.

    Examples
    --------
    >>> from llise.diagnosis.judging.judge import shipped_judge
    >>> from llise.diagnosis.taught.taught_kinds import fit_taught
    >>> from llise.diagnosis.taught.taught_samples import function_samples
    >>> from llise.kinds.own import OwnKind
    >>> fog = OwnKind("fog", lambda image, strength, rng: image + strength * (230 - image))
    >>> fit_taught(shipped_judge(), [function_samples(fog, copies=6)]).names
    ('fog',)
    """
    background = _background(judge)
    n = len(feature_names())
    values = [standardised(one.values, judge.mean[:n], judge.scale[:n]).astype(np.float64) for one in samples]
    calibrations = [_calibrated(background, own, one.groups) for own, one in zip(values, samples)]
    slopes, thresholds, low = (np.array(column) for column in zip(*calibrations))
    directions, offsets = background.directions(values)
    slopes, thresholds, low = (np.array(column) for column in zip(*calibrations))
    return TaughtKinds(
        tuple(one.name for one in samples),
        directions.astype(np.float32),
        offsets.astype(np.float32),
        slopes,
        thresholds,
        low,
        np.array([1 - 1 / (len(np.unique(one.groups)) + 2) for one in samples]),
    )


@dataclass(frozen=True, eq=False)
class _Background:
    """Regions with named kinds."""

    values: np.ndarray
    codes: np.ndarray
    classes: np.ndarray
    scatter: np.ndarray
    unknown: np.ndarray

    def directions(self, taught: list[np.ndarray], chosen: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Directions and offsets of the means of taught and named kinds; those of the chosen regions if given."""
        scatter, count = self.scatter.copy(), len(self.values)
        for own in taught:
            away = own - own.mean(axis=0)
            scatter += away.T @ away
            count += len(own)
        covariance = scatter / count
        variances = covariance.diagonal()
        covariance = (1 - SHRINKAGE) * covariance + np.diag(SHRINKAGE * variances + 1e-3 * variances.mean())
        means = np.array([own.mean(axis=0) for own in taught] + self._means(chosen))
        directions = np.linalg.solve(covariance, means.T)
        return directions, -0.5 * np.einsum("kd,dk->k", means, directions)

    def _means(self, chosen: np.ndarray | None) -> list[np.ndarray]:
        everything = np.ones(len(self.codes), bool) if chosen is None else chosen
        members = [self.values[everything & (self.codes == code)] for code in np.unique(self.codes)]
        means = [values.mean(axis=0) for values in members if len(values) >= LEAST_CLASS]
        return means or [self.values.mean(axis=0)]


@lru_cache(maxsize=4)
def _background(judge: Judge) -> _Background:
    """The judge's background without the regions that it calls unknown."""
    n = len(feature_names())
    inputs = judge.background.astype(np.float32) / BACKGROUND_SCALE
    codes = judge.probabilities(inputs * judge.scale + judge.mean).argmax(axis=1)
    named = codes != UNKNOWN_CODE
    values, codes = inputs[named, :n].astype(np.float64), codes[named]
    blocks = np.exp(values[:, 0] * judge.scale[0] + judge.mean[0])
    away = values.copy()
    for code in np.unique(codes):
        away[codes == code] -= values[codes == code].mean(axis=0)
    return _Background(values, codes, np.digitize(blocks, SIZES), away.T @ away, inputs[~named, :n].astype(np.float64))


def _calibrated(background: _Background, own: np.ndarray, groups: np.ndarray) -> tuple[float, np.ndarray, float]:
    """Slope of the log odds, thresholds of the sizes, and the low threshold, from samples that were left out."""
    numbers = np.unique(groups)
    # The tiles of a single example have to serve as if they were of several.
    parts = np.searchsorted(numbers, groups) if len(numbers) > 1 else np.arange(len(own))
    margins, others = np.zeros(len(own)), np.zeros(len(background.values))
    folds = min(FOLDS, int(parts.max()) + 1)
    for fold in range(folds):
        left_out, aside = parts % folds == fold, np.arange(len(others)) % folds == fold
        kept = own[~left_out] if folds > 1 else own
        directions, offsets = background.directions([kept], ~aside if folds > 1 else None)
        for values, chosen, out in ((own, left_out, margins), (background.values, aside, others)):
            scores = values[chosen] @ directions + offsets
            out[chosen] = scores[:, 0] - scores[:, 1:].max(axis=1)
    rows = [others[background.classes == number] for number in range(len(SIZES) + 1)]
    thresholds = [np.quantile(row if len(row) >= LEAST_REGIONS else others, 1 - FALSE_ALARMS) for row in rows]
    slope, middle = _logistic(margins, others)
    directions, offsets = background.directions([own])
    scores = background.unknown @ directions + offsets
    strange = scores[:, 0] - scores[:, 1:].max(axis=1)
    low = float(np.quantile(strange, 1 - UNKNOWN_ALARMS)) if len(strange) >= LEAST_REGIONS else middle
    return slope, np.maximum(thresholds, middle), max(low, middle)


def _logistic(positive: np.ndarray, negative: np.ndarray) -> tuple[float, float]:
    """Slope and middle of the logistic curve that tells margins of a taught kind from others, both equally likely."""
    from scipy.optimize import minimize

    unit = float(np.median(np.abs(np.concatenate([positive, negative])))) + 1e-6

    def loss(parameters: np.ndarray) -> float:
        slope, middle = np.exp(parameters[0]), parameters[1]
        right, wrong = slope * (positive / unit - middle), slope * (negative / unit - middle)
        return float(np.logaddexp(0, -right).mean() + np.logaddexp(0, wrong).mean() + 1e-3 * slope**2)

    slope, middle = minimize(loss, np.zeros(2), method="Nelder-Mead").x
    return float(np.exp(slope)) / unit, float(middle) * unit
