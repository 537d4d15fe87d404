"""The way of a copy: it is aligned, the network looks at it, regions are found and scored, and faults made of them."""

from __future__ import annotations

import numbers
import threading
from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from llise import network
from llise.colours import stacked, without_colour
from llise.diagnosis.alignment import AlignedReference, Aligner, misalignment_fault
from llise.diagnosis.color_measures import ColorMeasures
from llise.diagnosis.custom_kinds import CustomKinds, learned
from llise.diagnosis.faults import faults_of, reasons
from llise.diagnosis.measures import Measures, block_errors, likeness, measure_copy, rounding_of
from llise.diagnosis.regions import Likelihood, Model, find_regions
from llise.diagnosis.result import BLOCK_LABELS, Diagnosis, Fault, ModelName, Rounding, box_of, label_blocks
from llise.diagnosis.scoring import Scored, score_region
from llise.differences import BLOCK, by_block
from llise.images import as_pixels, as_uint8, check_reference, check_same_size
from llise.kinds.sources import sources
from llise.labels import UNKNOWN
from llise.memory import keep_freed_memory

FALSE_ALARMS = 0.01
"""Share of the faults with named kinds that may be called unknown, unless the user asks for another one."""


@cache
def shipped_model() -> Model:
    """The model that comes with the package."""
    model = network.model()
    look = partial(network.look, using=model)
    return Model(model.name, model.digest, model.tuned, model.sets, look, model.weights.get("background"))


class Diagnoser:
    """Judges copies of one reference.

    Nothing is learned for a verdict: the model comes with the package. Custom kinds that are registered when the
    diagnoser is made (:func:`llise.kinds.register`) are learned then.

    Parameters
    ----------
    reference : array (h, w) or (h, w, 3)
        The pristine image, grey or red, green and blue; other than 8 bits is converted by the rules of
        :mod:`llise.images`.
    model : Model, optional
        Another model than the shipped one.
    false_alarms : float
        Share of the faults with named kinds that may be called unknown.
    align : bool
        Measure whether a copy is shifted, turned or scaled, and judge what remains after aligning. If False, copies
        are judged as they lie.

    Attributes
    ----------
    pixels : ndarray of uint8, shape (h, w) or (h, w, 3)
        The reference with its colours; without channels where it has none.
    reference : ndarray of uint8, shape (h, w)
        Its luma.
    custom_kinds, labels : tuple of str
        Custom kinds that it names; labels of blocks, which end with them.

    Examples
    --------
    >>> import llise
    >>> reference = llise.datasets.reference()[100:292, 100:292]
    >>> copy = llise.distortions.apply(reference, "gaussian_noise", mse=100, random_state=0)
    >>> diagnosis = next(llise.Diagnoser(reference).diagnose([copy]))
    >>> diagnosis.verdict
    ('gaussian_noise',)
    """

    block_size = BLOCK
    """Side of the blocks in pixels."""

    def __init__(
        self,
        reference: np.ndarray,
        *,
        model: Model | None = None,
        false_alarms: float = FALSE_ALARMS,
        align: bool = True,
    ) -> None:
        self.pixels = without_colour(as_pixels(reference, "reference"))
        self.reference = np.ascontiguousarray(as_uint8(self.pixels))
        check_reference(self.reference, BLOCK)
        keep_freed_memory()
        self.model = model or shipped_model()
        self.false_alarms = false_alarms
        self.align = align
        self.custom: CustomKinds | None = learned(self.model, sources())
        self.custom_kinds = self.custom.names if self.custom else ()
        self.labels = (*BLOCK_LABELS, *self.custom_kinds)
        self._aligner = Aligner(self.reference, self.model.tuned["alignment"])

    def __repr__(self) -> str:
        rows, cols = self.reference.shape
        return f"<Diagnoser of a {rows} x {cols} reference>"

    @property
    def false_alarms(self) -> float:
        """Share of the faults with named kinds that may be called unknown."""
        return self._false_alarms

    @false_alarms.setter
    def false_alarms(self, rate: float) -> None:
        self._false_alarms = check_false_alarms(rate)

    def diagnose(self, images: Iterable[np.ndarray]) -> Iterator[Diagnosis]:
        """Judge images one after the other; only one is held at a time.

        Parameters
        ----------
        images : iterable of array (h, w) or (h, w, 3)
            Copies of the reference.

        Yields
        ------
        Diagnosis
            One for each image, in order.

        Examples
        --------
        >>> import llise
        >>> reference = llise.datasets.reference()[100:164, 100:164]
        >>> [diagnosis.verdict for diagnosis in llise.Diagnoser(reference).diagnose([reference])]
        [('original',)]
        """
        for image in images:
            # The products are small: threads of BLAS would spend more time waiting for one another than they save.
            with _ONE_THREAD:
                diagnosis = self._diagnose(image)
            yield diagnosis

    def _diagnose(self, image: np.ndarray) -> Diagnosis:
        copy = without_colour(as_pixels(image))
        check_same_size(self.reference, copy)
        reference = self.pixels
        if reference.ndim != copy.ndim:
            reference, copy = stacked(reference), stacked(copy)
        copy = np.ascontiguousarray(copy)
        measures = measure_copy(reference, copy)
        aligned = self._aligner.align(reference, copy) if self.align and measures.differs.any() else None
        scored = self._scored(aligned.picture if aligned else reference, copy) if measures.differs.any() else []
        is_copy = aligned is not None or self._is_copy(copy, scored)
        faults = self._faults(aligned, scored, reference, copy, measures) if is_copy else []
        if not is_copy:
            faults = [self._not_a_copy(copy, scored, measures)]
        within = np.any([fault.region for fault in faults], axis=0) if faults else np.zeros_like(measures.differs)
        outside = ~within.repeat(BLOCK, 0).repeat(BLOCK, 1)[: copy.shape[0], : copy.shape[1]]
        rounding = rounding_of(reference, copy, outside)
        return Diagnosis(
            faults=faults,
            mse=measures.mse,
            psnr=measures.psnr,
            ssim=measures.ssim,
            block_labels=label_blocks(faults, measures.differs, self.labels),
            block_severity=measures.block_mse,
            image=copy,
            ssim_map=measures.ssim_map,
            is_copy=is_copy,
            aligned_reference=aligned.picture if aligned else None,
            labels=self.labels,
            color=ColorMeasures(reference, copy) if copy.ndim == 3 else None,
            rounding=Rounding(*rounding) if rounding else None,
            model=ModelName(self.model.name, self.model.digest),
            why=reasons(scored, copy.shape),
        )

    def _scored(self, reference: np.ndarray, copy: np.ndarray) -> list[Scored]:
        """Regions of a copy with their kinds."""
        tuned, sets = self.model.tuned, self.model.sets
        look = self.model.look(stacked(reference), stacked(copy))
        likelihood = Likelihood(look, sets, tuned["regions"])
        found = []
        for region in find_regions(look, sets, tuned["regions"]):
            scored = score_region(region, likelihood, (reference, copy), tuned, self.false_alarms)
            if self.custom:
                scored = self.custom.weighed(scored, look, (reference, copy))
            found.append(scored)
        return found

    def _is_copy(self, copy: np.ndarray, scored: list[Scored]) -> bool:
        """False where most of the picture has no name and does not look like the reference."""
        unknown = sum(int(one.region.mask.sum()) for one in scored if one.kinds == (UNKNOWN,))
        if not scored or 2 * unknown < scored[0].region.mask.size:
            return True
        return likeness(self.reference, as_uint8(copy)) >= self.model.tuned["faults"]["not_a_copy"]

    def _faults(
        self,
        aligned: AlignedReference | None,
        scored: list[Scored],
        reference: np.ndarray,
        copy: np.ndarray,
        measures: Measures,
    ) -> list[Fault]:
        """Everything that is wrong, the misalignment first, then the worst."""
        own = aligned.picture if aligned else reference
        error = block_errors(own, copy)[0] if aligned else measures.block_mse
        texture = by_block(as_uint8(own)).std(axis=-1, dtype=np.float32)
        faults = faults_of(scored, (own, copy), error, texture, self.model.tuned)
        return [misalignment_fault(aligned, reference, copy), *faults] if aligned else faults

    def _not_a_copy(self, copy: np.ndarray, scored: list[Scored], measures: Measures) -> Fault:
        """The fault of an image that is not a copy."""
        everywhere = np.ones_like(measures.differs)
        return Fault(
            kinds=(UNKNOWN,),
            confidence=1 - max(likeness(self.reference, as_uint8(copy)), 0.0),
            region=everywhere,
            box=box_of(everywhere, copy.shape),
            area=1.0,
            severity={UNKNOWN: float(measures.block_mse.mean())},
            p_value=min(one.p_value for one in scored),
        )


def check_false_alarms(rate: Any) -> float:
    """Check a false-alarm rate; ValueError if it is not a number from 0 to below 1."""
    if isinstance(rate, bool) or not isinstance(rate, numbers.Real) or not 0 <= float(rate) < 1:
        raise ValueError(f"false_alarms must be a number from 0 to below 1, such as 0.01, got {rate!r}.")
    return float(rate)


@cache
def _threadpools() -> ThreadpoolController:
    """The libraries with threads of their own; to look for them takes milliseconds."""
    return ThreadpoolController()


class _OneThread:
    """BLAS with one thread while any thread of the process is inside: the limit is one for all of them.

    A thread that is done first must not lift it from the others: sums in another order differ in their last digits.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _threadpools().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


_ONE_THREAD = _OneThread()


def diagnose(reference: np.ndarray, images: Iterable[np.ndarray], **options: Any) -> list[Diagnosis]:
    """Tell what is wrong with copies of a reference, where and how strongly.

    Parameters
    ----------
    reference : array (h, w) or (h, w, 3)
        The pristine image, grey or in colour.
    images : iterable of array (h, w) or (h, w, 3)
        Copies of it, of the same size.
    **options
        Of :class:`Diagnoser`.

    Returns
    -------
    list of Diagnosis
        One for each image, in order.

    Examples
    --------
    >>> import llise
    >>> reference = llise.datasets.reference()[100:292, 100:292]
    >>> copy = llise.distortions.apply(reference, "impulse_noise", mse=200, random_state=0)
    >>> llise.diagnose(reference, [copy])[0].verdict
    ('impulse_noise',)
    """
    return list(Diagnoser(reference, **options).diagnose(images))
