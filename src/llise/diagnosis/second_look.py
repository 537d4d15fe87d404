"""Parts of random scenes with the evidence for each likely set of kinds, from which its weights are learned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from llise.diagnosis import block_sums
from llise.diagnosis.estimates import CopyEstimates
from llise.diagnosis.judge import Judge, greys
from llise.diagnosis.samples import LEAST_ERROR, draw_picture_scene
from llise.diagnosis.verification import evidence, likely_sets


def draw_evidence(
    names: tuple[str, ...], judge: Judge, seeds: Iterable[tuple[int, ...]]
) -> Iterator[tuple[np.ndarray, int]]:
    """Make a random scene for each seed, and collect the evidence on its doubtful parts.

    Parameters
    ----------
    names : tuple of str
        Pictures to draw from (:mod:`llise.diagnosis.pictures`); the judge should not have seen them.
    judge : Judge
        Judges the parts.
    seeds : iterable of tuple of int
        Seed of each scene.

    Yields
    ------
    table : ndarray, shape (n_codes, n_evidence)
        Evidence for each likely set of kinds.
    true : int
        Row of the true one.

    Examples
    --------
    >>> from llise.diagnosis.judge import shipped_judge
    >>> from llise.diagnosis.second_look import draw_evidence
    >>> samples = list(draw_evidence(("camera",), shipped_judge(), [(seed,) for seed in range(3)]))
    >>> all(0 <= true < len(table) for table, true in samples)
    True
    """
    error = block_sums.names().index("error 1")
    for seed in seeds:
        scene = draw_picture_scene(names, np.random.default_rng(seed))
        if scene is None:
            continue
        reference = scene.reference
        faulty = scene.labels >= 0
        sums = block_sums.measure(reference, scene.copy) * faulty[..., None]
        level = greys(reference)
        for code in np.unique(scene.labels[faulty]):
            region = scene.labels == code
            own = sums[region].sum(0, dtype=np.float64)
            if own[error] < LEAST_ERROR * own[0]:
                continue
            probabilities = judge(own[None], sums.sum((0, 1), dtype=np.float64), level)[0]
            codes = likely_sets(probabilities, int(region.sum()))
            if code in codes:
                estimates = CopyEstimates(reference, scene.copy)
                yield evidence(estimates, region, probabilities, codes, level), codes.index(int(code))
