"""The parts of a copy's areas with their kinds: divided, named by the judge, looked at again, told from the unknown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from llise.diagnosis.chains import RANDOM
from llise.diagnosis.estimates import CopyEstimates
from llise.diagnosis.findings import Part
from llise.diagnosis.grey_law import with_measured_line
from llise.diagnosis.judge import Judge, greys
from llise.diagnosis.left_over import has_fault_of_its_own, is_worth_a_look, left_over
from llise.diagnosis.noise_law import with_hidden_noise, with_measured_noise
from llise.diagnosis.novelty import FALSE_ALARMS, clues_of, named
from llise.diagnosis.outliers import outliers
from llise.diagnosis.parts import split
from llise.diagnosis.reference_blocks import ReferenceBlocks
from llise.diagnosis.sets import CONTENT, SETS, UNKNOWN, UNKNOWN_CODE
from llise.diagnosis.simpler_kinds import simplest
from llise.diagnosis.taught import TaughtKinds
from llise.diagnosis.verification import accounts_for, evidence, likely_sets, with_greys_as_judged
from llise.diagnosis.weighing import weighed

UNUSUAL, LEAST_USUAL = 0.2, 0.4
"""p-value below which named kinds are said with less confidence, and the factor on it where the p-value vanishes. Two
thirds (p below .05) to nine tenths of such faults were right on photographs, but most confident mistakes were there."""

MADE_EXACTLY, LEAST_EXACT = 0.99, 0.83
"""Share of the error from which kinds without noise leave so little that it counts less how usual a part looks, and the
least factor on their confidence then."""

LIKELY = 0.5
"""Probability below which the kinds of a part are doubtful after the second look."""

NOT_ACCOUNTED = 0.65
"""Factor on the confidence in kinds that leave much of a part unexplained, though they are usually found exactly."""

SMALL_CONTENT, LARGEST_CONTENT = 0.05, 0.3
"""Share of the picture below which strange content is still content: in any case, and where it stands out from an area
or is more probable than a fault without a name."""

MADE_AGAIN = 0.97
"""Share of the error from which kinds without noise account for a part, however strange it looks to the judge; they are
said with little confidence then. Content always explains everything."""

LEAST_STRANGE = 0.51
"""Least confidence with which a fault is called unknown."""


class PartNaming:
    """Finds and names the parts of areas in copies of one reference.

    Parameters
    ----------
    reference : ndarray of uint8, shape (h, w)
        The reference.
    judge : Judge
        Names the kinds of regions.
    taught : TaughtKinds, optional
        Kinds of one's own.
    false_alarms : float
        Share of the parts with named kinds that may be called unknown.

    Examples
    --------
    >>> import llise
    >>> import numpy as np
    >>> from llise.diagnosis.estimates import CopyEstimates
    >>> from llise.diagnosis.judge import shipped_judge
    >>> from llise.diagnosis.part_naming import PartNaming
    >>> reference = llise.datasets.reference()[100:292, 100:292]
    >>> copy = llise.distortions.apply(reference, "gaussian_noise", mse=100, random_state=0)
    >>> naming = PartNaming(reference, shipped_judge())
    >>> parts = naming.parts(copy, [np.ones((24, 24), bool)], CopyEstimates(reference, copy))
    >>> [part.kinds for part in parts]
    [('gaussian_noise',)]
    """

    def __init__(
        self,
        reference: np.ndarray,
        judge: Judge,
        taught: TaughtKinds | None = None,
        false_alarms: float = FALSE_ALARMS,
    ) -> None:
        self.reference = reference
        self.judge = judge
        self.false_alarms = false_alarms
        self._taught = taught
        self._sets = (*SETS, *((kind,) for kind in (taught.names if taught else ())))
        self._blocks = ReferenceBlocks(reference)
        self._greys = greys(reference)

    def parts(self, image: np.ndarray, areas: Iterable[np.ndarray], estimates: CopyEstimates) -> list[Part]:
        """Return the parts of all areas.

        Parameters
        ----------
        image : ndarray of uint8, shape (h, w)
            The copy.
        areas : iterable of ndarray of bool, shape (rows, cols)
            Blocks of each area.
        estimates : CopyEstimates
            Estimates of the copy's faults.

        Returns
        -------
        list of Part
            Each with the probabilities of its kinds.
        """
        return [
            self._named(part, estimates)
            for number, area in enumerate(areas)
            for main in self._divided(number, image, area)
            for part in self._with_places(main, image, estimates)
        ]

    def _judge(self, regions: np.ndarray, context: np.ndarray) -> np.ndarray:
        return self.judge(regions, context, self._greys, self._taught)

    def _divided(self, number: int, image: np.ndarray, area: np.ndarray) -> list[Part]:
        """Parts of an area with the probabilities of their kinds; what stands out from the area is judged by itself."""
        strange = outliers(self.reference, image, area)
        if strange.any():
            added = self._split(number, image, strange)
            if all({CONTENT, UNKNOWN} & set(part.kinds) for part in added):
                rest = self._split(number, image, area & ~strange)
                return [*rest, *(replace(part, stands_out=True) for part in added)]
        return self._split(number, image, area)

    def _split(self, area: int, image: np.ndarray, mask: np.ndarray) -> list[Part]:
        """Parts of some blocks of an area."""
        parts = split(self._blocks, image, mask, self._judge, self._sets)
        return [Part(area, own, probabilities, sets=self._sets) for own, probabilities in parts]

    def _with_places(self, part: Part, image: np.ndarray, estimates: CopyEstimates) -> list[Part]:
        """The part looked at a second time, and places in it for which its kinds do not account."""
        if part.is_taught:
            return [part]
        places = self._places(part, part.kinds, image, estimates)
        if not places:
            named = self._look_again(part, estimates)
            others = {named.kinds} - {part.kinds}
            if len(named.kinds) > 1 and self._is_doubtful(named, estimates):
                others |= {(kind,) for kind in named.kinds}
            for kinds in sorted(others):
                places = places or self._places(part, kinds, image, estimates)
            if not places:
                return [named]
        rest = part.mask & ~np.any([place.mask for place in places], axis=0)
        return [*(self._look_again(other, estimates) for other in self._split(part.area, image, rest)), *places]

    def _is_doubtful(self, part: Part, estimates: CopyEstimates) -> bool:
        """Whether the kinds of a part are not likely, or do not account for it."""
        return part.confidence < LIKELY or not accounts_for(part.kinds, estimates.of(part.mask, part.kinds))

    def _places(self, part: Part, kinds: tuple[str, ...], image: np.ndarray, estimates: CopyEstimates) -> list[Part]:
        """Places in a part that have others besides or instead of the kinds that most of it may have."""
        left = left_over(estimates, part.mask, kinds)
        if not left.any():
            return []
        found = (place for place in self._split(part.area, image, left) if is_worth_a_look(place, kinds, estimates))
        places = (self._look_again(place, estimates, thorough=False) for place in found)
        return [
            replace(place, stands_out=True)
            for place in places
            if has_fault_of_its_own(place, part.mask, kinds, estimates)
        ]

    def _look_again(self, part: Part, estimates: CopyEstimates, thorough: bool = True) -> Part:
        """A part after the copy was made again with each likely set of kinds, where it is doubtful."""
        if part.is_taught:
            return part
        probabilities = with_hidden_noise(self._weighed(part, estimates, thorough), part.mask, estimates)
        probabilities = with_measured_noise(probabilities, part.mask, estimates)
        probabilities = with_measured_line(probabilities, part.mask, self._greys[0], estimates)
        return replace(part, probabilities=probabilities)

    def _weighed(self, part: Part, estimates: CopyEstimates, thorough: bool) -> np.ndarray:
        codes = likely_sets(part.probabilities, part.mask, estimates, thorough)
        if not codes:
            return part.probabilities
        table = evidence(estimates, part.mask, part.probabilities, codes, self._greys)
        probabilities = weighed(part.probabilities, codes, table, self.judge.verification)
        probabilities = with_greys_as_judged(part.probabilities, probabilities, codes, table)
        if probabilities.argmax() < len(SETS):
            probabilities = simplest(probabilities, part.mask, estimates)
        return probabilities

    def _named(self, part: Part, estimates: CopyEstimates) -> Part:
        """The part as unknown where the named kinds do not account for it, otherwise without that possibility."""
        novelty = self.judge.novelty
        if novelty is None or part.is_taught:
            return part
        nearest = SETS[named(part.probabilities)]
        blocks = int(part.mask.sum())
        error = estimates.error(part.mask)
        estimate = estimates.of(part.mask, nearest)
        score = novelty.score(clues_of(part.probabilities, estimate, error))
        p_value, strange = novelty.p_value(score, blocks, error), 0.5 + 0.5 * float(np.tanh(0.5 * score))
        is_unknown = np.arange(len(self._sets)) == UNKNOWN_CODE
        known = part.probabilities * ~is_unknown
        known /= known.sum()
        # What is not in the reference may look like anything, so that nothing is too strange for it in a small place.
        likely = part.is_content or part.stands_out or part.mask.mean() < SMALL_CONTENT
        added = CONTENT in nearest and likely and part.mask.mean() < LARGEST_CONTENT
        accounted = estimate.explained >= MADE_AGAIN and not set(nearest) & {CONTENT, *RANDOM}
        if p_value < self.false_alarms and not added and not accounted:
            strange = max(strange, LEAST_STRANGE)
            probabilities = (1 - strange) * known + strange * is_unknown
            return replace(part, probabilities=probabilities, p_value=p_value, nearest_kinds=nearest)
        usual = (LEAST_USUAL + (1 - LEAST_USUAL) * min(1.0, p_value / UNUSUAL) ** 1.5) * (1 - strange)
        if accounted and estimate.explained >= MADE_EXACTLY:
            usual = max(usual, LEAST_EXACT)
        if not accounts_for(nearest, estimate):
            usual *= NOT_ACCOUNTED
        return replace(part, probabilities=known * usual, p_value=p_value)
