"""The parts of a copy's areas with their kinds: divided, named by the judge, looked at again, told from the unknown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from llise.diagnosis.estimates.chains import GREY, HIDING, RANDOM
from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.features.block_sums import measure
from llise.diagnosis.features.reference_blocks import ReferenceBlocks
from llise.diagnosis.findings import Part
from llise.diagnosis.greys.grey_law import with_measured_curve
from llise.diagnosis.greys.grey_tables import TablePart, divided_by_tables
from llise.diagnosis.greys.odd_greys import turns_greys_round
from llise.diagnosis.judging.judge import Judge, greys
from llise.diagnosis.naming.exact_kinds import exactly_made
from llise.diagnosis.naming.kinds_around import with_kinds_around
from llise.diagnosis.naming.measured_kinds import with_measurements
from llise.diagnosis.naming.noise_law import leaves_just_noise
from llise.diagnosis.naming.oddities import is_odd
from llise.diagnosis.naming.simpler_kinds import simplest
from llise.diagnosis.parts import split
from llise.diagnosis.places.content_signs import is_even_patch, is_from_elsewhere, without_clear_ground
from llise.diagnosis.places.dead_lines import dead_lines
from llise.diagnosis.places.left_over import has_fault_of_its_own, is_worth_a_look, left_over
from llise.diagnosis.places.outliers import outliers, without_ends
from llise.diagnosis.places.shifted_places import may_be_moved, shifted_place, with_moved_greys
from llise.diagnosis.regions import core_of
from llise.diagnosis.second_look.novelty import FALSE_ALARMS, clues_of, named
from llise.diagnosis.second_look.verification import accounts_for, evidence, likely_sets, with_greys_as_judged
from llise.diagnosis.second_look.weighing import weighed
from llise.diagnosis.sets import CONTENT, SETS, UNKNOWN, UNKNOWN_CODE, code_of, exchanged
from llise.diagnosis.taught.taught_kinds import TaughtKinds
from llise.differences import by_block
from llise.masks import dilated

UNUSUAL, LEAST_USUAL = 0.2, 0.4
"""p-value below which named kinds are said with less confidence, and the factor on it where the p-value vanishes. Two
thirds (p below .05) to nine tenths of such faults were right on photographs, but most confident mistakes were there."""

MADE_EXACTLY, LEAST_EXACT = 0.99, 0.83
"""Share of the error from which kinds without noise leave so little that it counts less how usual a part looks, and the
least factor on their confidence then."""

LIKELY = 0.5
"""Probability below which the kinds of a part are doubtful after the second look."""

NOTHING_LEFT = 0.998
"""Share of the error from which a filter or coder leaves no room for a second kind in some place."""

NOT_ACCOUNTED = 0.65
"""Factor on the confidence in kinds that leave much of a part unexplained, though they are usually found exactly."""

CODED_AGAIN = 0.96
"""Share of the error that most JPEG 2000 coders explain when they are repeated; other wavelet coders explain less."""

LEAST_FOUND = 0.1
"""Share of the error in the very pixels of content that were found."""

SMALL_CONTENT, LARGEST_CONTENT = 0.05, 0.3
"""Share of the picture below which strange content is still content: in any case, and where it stands out from an area
or is more probable than a fault without a name."""

MADE_AGAIN = 0.97
"""Share of the error from which kinds without noise account for a part, however strange it looks to the judge; they are
said with little confidence then. Content always explains everything."""

LEAST_SURE_OF_COPY, LEFT_OF_COPY = 0.4, 0.3
"""Least confidence of kinds that make an image from the reference, and the share of its variance that they may leave.
Of 319 other scenes and 100 flipped, shuffled or redrawn pictures none was made by named kinds."""

SURE_OF_LINES = 0.97
"""Probability of content where a row or column is dead."""

LEAST_STRANGE, SURELY_STRANGE = 0.51, 0.97
"""Least confidence with which a fault is called unknown, and that where no named kind can have made the copy."""

RARE = 1e-3
"""Greatest p-value of parts with settings or details that named kinds never had."""


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
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.judging.judge import shipped_judge
    >>> from llise.diagnosis.naming.part_naming import PartNaming
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
        areas = [without_clear_ground(self.reference, image, area) for area in areas]
        odd = bool(areas) and turns_greys_round(self.reference, image, np.any(areas, axis=0))
        looked_at = [
            part
            for number, area in enumerate(areas if self._taught or not odd else [])
            for main in self._divided(number, image, area, estimates)
            for part in self._with_places(main, image, estimates)
        ]
        parts = [self._named(part, estimates) for part in with_kinds_around(looked_at, estimates)]
        if odd and not any(part.is_taught for part in parts):  # a kind of one's own may turn greys round
            return [self._strange(number, area) for number, area in enumerate(areas)]
        return parts

    def _strange(self, number: int, area: np.ndarray) -> Part:
        """An area that no named kind makes."""
        probabilities = np.zeros(len(self._sets))
        probabilities[[UNKNOWN_CODE, code_of("contrast")]] = SURELY_STRANGE, 1 - SURELY_STRANGE
        return Part(number, area, probabilities, 0.0, ("contrast",), self._sets)

    def _judge(self, regions: np.ndarray, context: np.ndarray) -> np.ndarray:
        return self.judge(regions, context, self._greys, self._taught)

    def _divided(self, number: int, image: np.ndarray, area: np.ndarray, estimates: CopyEstimates) -> list[Part]:
        """Parts of an area with the probabilities of their kinds; what stands out from the area is judged by itself."""
        lines = dead_lines(self.reference, image, area)
        if lines.any():
            return self._beside_lines(number, image, area, lines, estimates)
        tables = divided_by_tables(self.reference, image, area)
        if tables:
            return self._by_tables(number, image, tables)
        strange = outliers(self.reference, image, without_ends(self.reference, image, area))
        if strange.any():
            added = self._split(number, image, strange)
            if all({CONTENT, UNKNOWN} & set(part.kinds) for part in added):
                rest = self._split(number, image, area & ~strange)
                return [*rest, *(replace(part, stands_out=True) for part in added)]
        parts = self._split(number, image, area)
        return self._under_greys(parts, image, area, estimates) or parts

    def _under_greys(
        self, parts: list[Part], image: np.ndarray, area: np.ndarray, estimates: CopyEstimates
    ) -> list[Part]:
        """Parts of an area that has contrast or luminance over its kind in one place; none if there is no such one."""
        alone = len(parts) == 1 and (set(parts[0].kinds) <= set(GREY) or _is_made_exactly(parts[0], estimates))
        place = None if alone else shifted_place(self.reference, image, area)
        if place is None:
            return []
        number, rest = parts[0].area, area & ~place
        around = self._name(number, image, rest).kinds
        if not may_be_moved(around):
            return []
        own = with_moved_greys(self._name(number, image, place), rest, around, estimates)
        if own.confidence < LIKELY or not set(GREY) & set(own.kinds):
            return []
        return [*self._split(number, image, rest), replace(own, stands_out=True)]

    def _beside_lines(
        self, number: int, image: np.ndarray, area: np.ndarray, lines: np.ndarray, estimates: CopyEstimates
    ) -> list[Part]:
        """Dead lines as content, and the parts of the rest, which are judged at some distance from the lines."""
        probabilities = np.zeros(len(self._sets))
        probabilities[[code_of(CONTENT), code_of("impulse_noise")]] = SURE_OF_LINES, 1 - SURE_OF_LINES
        dead = Part(number, lines, probabilities, sets=self._sets, stands_out=True)
        own = self._name(number, image, lines) if self._taught else dead
        parts = [own if own.is_taught else dead]
        rest = area & ~dilated(lines)
        if not rest.any():
            return parts
        others = self._divided(number, image, rest, estimates)
        largest = max(others, key=lambda part: part.mask.sum())
        beside = area & ~rest & ~lines
        return [*parts, *(replace(part, mask=part.mask | beside) if part is largest else part for part in others)]

    def _by_tables(self, area: int, image: np.ndarray, tables: list[TablePart]) -> list[Part]:
        """Parts that follow tables of grey levels; a table that is a shift of the largest one has luminance besides."""
        largest = max(tables, key=lambda table: table.mask.sum())
        main = self._name(area, image, largest.mask)
        parts = [main]
        for table in tables:
            if table is largest:
                continue
            part = self._name(area, image, table.mask)
            if main.kinds == ("contrast",) and set(part.kinds) <= set(GREY) and table.is_shift_of(largest):
                both = exchanged(part.probabilities, int(part.probabilities.argmax()), code_of(*GREY))
                part = replace(part, probabilities=both, stands_out=True)
            parts.append(part)
        return parts

    def _name(self, area: int, image: np.ndarray, mask: np.ndarray) -> Part:
        """A part that is not divided, with the probabilities of its kinds."""
        sums = measure(self._blocks, image, core_of(mask)).sum((0, 1), dtype=np.float64)
        return Part(area, mask, self._judge(sums[None], sums)[0], sets=self._sets)

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
        probabilities = with_measurements(self._weighed(part, estimates, thorough), part.mask, estimates)
        if not part.stands_out:  # two curves, one after the other, may leave any grey as it is
            probabilities = with_measured_curve(probabilities, part.mask, self._greys[0], estimates)
            probabilities = self._with_sure_content(probabilities, part.mask, estimates)
        return replace(part, probabilities=probabilities)

    def _with_sure_content(self, probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
        """Probabilities with content first where a part is an even patch, or strange but found elsewhere."""
        top = int(probabilities.argmax())
        if top == code_of(CONTENT):
            return probabilities
        if {"blur", "jpeg"} & set(SETS[top]) and estimates.of(region, SETS[top]).explained >= MADE_AGAIN:
            return probabilities  # a strong coder or a wide blur leaves one grey of a smooth place
        pictures = self.reference, estimates.copy, region
        strange = UNKNOWN in SETS[top] or probabilities[top] < LIKELY
        sure = is_even_patch(*pictures) or (strange and is_from_elsewhere(*pictures))
        return exchanged(probabilities, top, code_of(CONTENT)) if sure else probabilities

    def _weighed(self, part: Part, estimates: CopyEstimates, thorough: bool) -> np.ndarray:
        codes = likely_sets(part.probabilities, part.mask, estimates, thorough)
        if not codes:
            return part.probabilities
        table = evidence(estimates, part.mask, part.probabilities, codes, self._greys)
        probabilities = weighed(part.probabilities, codes, table, self.judge.verification)
        probabilities = with_greys_as_judged(part.probabilities, probabilities, codes, table)
        if probabilities.argmax() < len(SETS):
            probabilities = simplest(probabilities, part.mask, estimates)
            probabilities = exactly_made(probabilities, codes, part.mask, estimates)
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
        if p_value < self.false_alarms and not accounted:
            accounted = leaves_just_noise(nearest, part.mask, estimates)
        if is_odd(part.mask, nearest, estimates):
            p_value, accounted = min(p_value, RARE), False
        if p_value < self.false_alarms and not added and not accounted:
            strange = max(strange, LEAST_STRANGE)
            probabilities = (1 - strange) * known + strange * is_unknown
            return replace(part, probabilities=probabilities, p_value=p_value, nearest_kinds=nearest)
        usual = (LEAST_USUAL + (1 - LEAST_USUAL) * min(1.0, p_value / UNUSUAL) ** 1.5) * (1 - strange)
        if accounted and estimate.explained >= MADE_EXACTLY:
            usual = max(usual, LEAST_EXACT)
        coded_otherwise = nearest == ("jpeg2000",) and estimate.explained < CODED_AGAIN
        not_found = nearest == (CONTENT,) and estimate.explained < LEAST_FOUND
        if coded_otherwise or not_found or not accounts_for(nearest, estimate):
            usual *= NOT_ACCOUNTED
        return replace(part, probabilities=known * usual, p_value=p_value)


def _is_made_exactly(part: Part, estimates: CopyEstimates) -> bool:
    """Whether one filter or coder makes all of a part."""
    if part.is_taught or len(part.kinds) > 1 or part.kinds[0] not in HIDING:
        return False
    return estimates.of(part.mask, part.kinds).explained >= NOTHING_LEFT


def is_made_from_reference(part: Part, estimates: CopyEstimates) -> bool:
    """Return whether named kinds make most of an image from the reference, however little it looks like a copy.

    Large cells and strong coders leave little that is alike in a smooth picture.

    Parameters
    ----------
    part : Part
        A part of the image.
    estimates : CopyEstimates
        Estimates of its faults.

    Returns
    -------
    bool
        False for content and faults without a name, which may be anything.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.findings import Part
    >>> from llise.diagnosis.naming.part_naming import is_made_from_reference
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> image = np.random.default_rng(0).integers(60, 190, (64, 64)).astype(np.uint8)
    >>> darker = Part(0, np.ones((8, 8), bool), np.eye(len(SETS))[code_of("luminance")])
    >>> [is_made_from_reference(darker, CopyEstimates(image, copy)) for copy in (image - 20, image[::-1])]
    [True, False]
    """
    if {CONTENT, UNKNOWN} & set(part.kinds) or part.is_taught or part.confidence < LEAST_SURE_OF_COPY:
        return False
    if part.mask.mean() < 0.5:
        return False
    blocks = by_block(estimates.copy)[part.mask]
    left = (1 - estimates.of(part.mask, part.kinds).explained) * estimates.error(part.mask)
    return bool(left <= LEFT_OF_COPY * float(blocks.var(dtype=np.float64)))
