"""Evidence on the parts of random scenes, from which the training learns how to look a second time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.estimates.region_pixels import region_error
from llise.diagnosis.features import block_sums
from llise.diagnosis.judging.judge import Judge, greys
from llise.diagnosis.second_look.novelty import clues_of, named
from llise.diagnosis.second_look.verification import evidence, likely_sets
from llise.diagnosis.sets import SETS, UNKNOWN_CODE
from llise.diagnosis.training.samples import AREAS, LEAST_ERROR, draw_picture_scene, found_areas


class PartEvidence(NamedTuple):
    """What is known of one part of a scene.

    Attributes
    ----------
    table : ndarray of shape (n_codes, n_evidence), or None
        Evidence for each likely set of kinds; None where the part is not doubtful, or none of the sets is right.
    true : int
        Row of the right set.
    clues : ndarray, shape (n_clues,)
        What tells whether the fault has a name.
    strange : bool
        Whether it has none.
    blocks : int
        Size of the part.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.part_evidence import PartEvidence
    >>> PartEvidence(None, 0, np.zeros(3), True, 12).blocks
    12
    """

    table: np.ndarray | None
    true: int
    clues: np.ndarray
    strange: bool
    blocks: int


def draw_evidence(names: tuple[str, ...], judge: Judge, seeds: Iterable[tuple[int, ...]]) -> Iterator[PartEvidence]:
    """Make a random scene for each seed, and collect the evidence on its parts.

    Parameters
    ----------
    names : tuple of str
        Pictures to draw from (:mod:`llise.diagnosis.training.pictures`); the judge should not have seen them.
    judge : Judge
        Judges the parts.
    seeds : iterable of tuple of int
        Seed of each scene.

    Yields
    ------
    PartEvidence
        One for each part.

    Examples
    --------
    >>> from llise.diagnosis.judging.judge import shipped_judge
    >>> from llise.diagnosis.training.part_evidence import draw_evidence
    >>> parts = list(draw_evidence(("camera",), shipped_judge(), [(seed,) for seed in range(3)]))
    >>> all(part.blocks > 0 for part in parts)
    True
    """
    error = block_sums.names().index("error 1")
    for seed in seeds:
        scene = draw_picture_scene(names, np.random.default_rng(seed))
        if scene is None:
            continue
        sums = block_sums.measure(scene.reference, scene.copy)
        level = greys(scene.reference)
        estimates = CopyEstimates(scene.reference, scene.copy)
        for area, core, codes in islice(found_areas(scene), AREAS):
            for code in np.unique(codes[core]):
                own = sums[core & (codes == code)].sum(0, dtype=np.float64)
                if own[error] < LEAST_ERROR * own[0]:
                    continue
                region = area & (codes == code)
                probabilities = judge(own[None], sums[core].sum(0, dtype=np.float64), level)[0]
                likely = likely_sets(probabilities, region, estimates)
                table = evidence(estimates, region, probabilities, likely, level) if code in likely else None
                estimate = estimates.of(region, SETS[named(probabilities)])
                clues = clues_of(probabilities, estimate, region_error(scene.reference, scene.copy, region))
                true = likely.index(int(code)) if table is not None else 0
                yield PartEvidence(table, true, clues, bool(code == UNKNOWN_CODE), int(region.sum()))
