"""The way of a copy: what differs is measured, its regions are found and named, each fault is estimated."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import ThreadpoolController

from llise.colours import without_colour
from llise.diagnosis.alignment.aligned_faults import judge_aligned
from llise.diagnosis.colour.reference import ColourReference
from llise.diagnosis.estimates.copy_estimates import CopyEstimates, FaultEstimate
from llise.diagnosis.estimates.errors import EstimateErrors
from llise.diagnosis.faults import assemble, extend, in_place, with_caution
from llise.diagnosis.features.block_sums import BLOCK, box_of
from llise.diagnosis.findings import Finding
from llise.diagnosis.gaps import without_gaps
from llise.diagnosis.judging.judge import Judge, shipped_judge
from llise.diagnosis.measures import Measures, by_block, measure_copy
from llise.diagnosis.naming.part_naming import PartNaming, is_made_from_reference
from llise.diagnosis.naming.simpler_kinds import told_apart
from llise.diagnosis.nature import nature_of
from llise.diagnosis.places.impulse_places import impulses_in_place
from llise.diagnosis.regions import connected_areas
from llise.diagnosis.result import BLOCK_LABELS, Diagnosis, Fault, label_blocks
from llise.diagnosis.second_look.novelty import FALSE_ALARMS, check_false_alarms
from llise.diagnosis.taught.taught_kinds import taught_kinds
from llise.images import as_pixels, as_uint8, check_reference, check_same_size
from llise.kinds.sources import sources
from llise.labels import UNKNOWN
from llise.memory import keep_freed_memory

if TYPE_CHECKING:
    from llise.diagnosis.manifold import ReferenceManifold


class Diagnoser(ColourReference):
    """Judges copies of one reference.

    Nothing is learned for a verdict: the judge comes with the package.  Kinds of one's own that are registered when the
    diagnoser is made (:func:`llise.kinds.register`) are learned then.  :meth:`fit` learns the manifold of the
    reference, which adds the nearest training images of each block and the map of whole images.

    Parameters
    ----------
    reference : array (h, w) or (h, w, 3)
        The pristine image, grey or red, green and blue; other than 8 bits is converted by the rules of
        :mod:`llise.images`.
    judge : Judge, optional
        Another judge than the shipped one.
    false_alarms : float
        Share of the faults with named kinds that may be called unknown.
    align : bool
        Measure whether a copy is shifted, turned or scaled, and judge what remains after aligning. If False, copies
        are judged as they lie.
    random_state : int
        Seed for the training images of the manifold.
    n_jobs : int or None
        Threads of the manifold, as joblib counts them; results do not depend on it.

    Attributes
    ----------
    pixels : ndarray of uint8, shape (h, w) or (h, w, 3)
        The reference with its colours; without channels where it has none.
    reference : ndarray of uint8, shape (h, w)
        Its luma.
    manifold : ReferenceManifold or None
        The manifold, where it was learned.
    own_kinds, labels : tuple of str
        Kinds of one's own that it names; labels of blocks, which end with them.

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
        judge: Judge | None = None,
        false_alarms: float = FALSE_ALARMS,
        align: bool = True,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.pixels = without_colour(as_pixels(reference, "reference"))
        self.reference = np.ascontiguousarray(as_uint8(self.pixels))
        check_reference(self.reference, BLOCK)
        keep_freed_memory()
        self.judge = judge or shipped_judge()
        self.align = align
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.manifold: ReferenceManifold | None = None
        self._texture = by_block(self.reference).std(axis=-1, dtype=np.float32)
        self._errors = EstimateErrors.from_arrays(self.judge.errors) if self.judge.errors else None
        taught = taught_kinds(self.judge, sources())
        self.own_kinds = taught.names if taught else ()
        self.labels = (*BLOCK_LABELS, *self.own_kinds)
        self._naming = PartNaming(self.reference, self.judge, taught, check_false_alarms(false_alarms))

    def __repr__(self) -> str:
        rows, cols = self.reference.shape
        return f"<Diagnoser of a {rows} x {cols} reference, {'with' if self.manifold else 'without'} manifold>"

    @property
    def false_alarms(self) -> float:
        """Share of the faults with named kinds that may be called unknown."""
        return self._naming.false_alarms

    @false_alarms.setter
    def false_alarms(self, rate: float) -> None:
        self._naming.false_alarms = check_false_alarms(rate)

    @property
    def training_labels(self) -> list[str] | None:
        """Labels of the manifold's training images, or None without a manifold."""
        return self.manifold.training_labels if self.manifold else None

    @property
    def training_mse(self) -> np.ndarray | None:
        """Errors of the manifold's training images, or None without a manifold."""
        return self.manifold.training_mse if self.manifold else None

    @property
    def map_positions(self) -> np.ndarray | None:
        """Places of the training images in the map of whole images, or None without a manifold."""
        return self.manifold.map_positions if self.manifold else None

    def fit(self, progress: Callable[..., Iterable[Any]] | None = None) -> Diagnoser:
        """Learn the manifold of the reference; verdicts do not need it.

        Parameters
        ----------
        progress : callable, optional
            Wraps an iterable given its ``total``, as ``tqdm`` does.

        Returns
        -------
        Diagnoser
            This object.

        Examples
        --------
        >>> import llise
        >>> llise.Diagnoser(llise.datasets.reference()[200:232, 200:232]).fit()
        <Diagnoser of a 32 x 32 reference, with manifold>
        """
        from llise.diagnosis.manifold import ReferenceManifold

        manifold = ReferenceManifold(random_state=self.random_state, n_jobs=self.n_jobs)
        self.manifold = manifold.fit(self.reference, progress)
        return self

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

    def _diagnose_grey(self, image: np.ndarray) -> Diagnosis:
        check_same_size(self.reference, image)
        image = np.ascontiguousarray(image)
        measures = measure_copy(self.reference, image)
        judged = cache(lambda: self._faults(image, measures))
        not_a_copy = cache(lambda: [self._not_a_copy(image, measures)])
        as_it_lies = lambda: not_a_copy() if (found := judged()) is None else found
        # A kind of one's own may look like a small shift; so it is looked for before a copy is aligned.
        own = (fault.area for fault in as_it_lies() if fault.kinds[0] in self.own_kinds) if self.own_kinds else ()
        align = self.align and sum(own) <= 0.5
        aligned = judge_aligned(self.reference, image, self._judge_moved, as_it_lies) if align else None
        faults = aligned.faults if aligned else as_it_lies()
        is_copy = aligned is not None or judged() is not None
        nearest, position = self.manifold.place(image) if self.manifold else (None, None)
        return Diagnosis(
            faults=faults,
            mse=measures.mse,
            psnr=measures.psnr,
            ssim=measures.ssim,
            block_labels=label_blocks(faults, measures.differs, self.labels),
            labels=self.labels,
            block_severity=measures.block_mse,
            image=image,
            ssim_map=measures.ssim_map,
            is_copy=is_copy,
            nearest=nearest,
            position=position,
            aligned_reference=aligned.reference if aligned else None,
        )

    def _judge_moved(self, reference: np.ndarray, image: np.ndarray) -> Diagnosis:
        """Judge a part of a copy against the same part of the moved reference."""
        return next(self._like(reference, align=False).diagnose([image]))

    def _like(self, reference: np.ndarray, align: bool) -> Diagnoser:
        return Diagnoser(reference, judge=self.judge, false_alarms=self.false_alarms, align=align)

    def _faults(self, image: np.ndarray, measures: Measures) -> list[Fault] | None:
        """Everything that is wrong, the worst first; None if the image is not a copy."""
        if not measures.changed.any():
            return []
        estimates = CopyEstimates(self.reference, image, self._errors)
        parts = self._naming.parts(image, connected_areas(measures.changed), estimates)
        if not measures.is_copy and not any(is_made_from_reference(part, estimates) for part in parts):
            return None
        parts = without_gaps(told_apart(parts, estimates), measures.changed)
        findings = impulses_in_place(assemble(parts, measures.block_mse), estimates)
        for finding in findings:
            extend(finding, self._texture, findings)
        faults = [self._fault(finding, findings, estimates) for finding in findings]
        return sorted(faults, key=lambda fault: -fault.area * sum(fault.severity.values()))

    def _not_a_copy(self, image: np.ndarray, measures: Measures) -> Fault:
        """The fault of an image that is not a copy."""
        everywhere = Finding((UNKNOWN,), np.ones_like(measures.changed), 1 - max(measures.likeness, 0.0))
        return self._fault(everywhere, [everywhere], CopyEstimates(self.reference, image))

    def _fault(self, finding: Finding, findings: list[Finding], estimates: CopyEstimates) -> Fault:
        top, left, bottom, right = (BLOCK * side for side in box_of(finding.mask))
        height, width = self.reference.shape
        if finding.kinds == (UNKNOWN,):
            estimate = FaultEstimate(severity={UNKNOWN: estimates.error(finding.mask)})
        else:
            kinds, mask = in_place(finding, findings)
            estimate = estimates.of(mask, kinds)
        return Fault(
            kinds=finding.kinds,
            confidence=with_caution(finding, findings),
            region=finding.mask,
            box=(top, left, min(bottom, height), min(right, width)),
            area=float(finding.mask.mean()),
            severity={kind: estimate.severity[kind] for kind in finding.kinds},
            estimate={kind: estimate.parameters.get(kind, {}) for kind in finding.kinds if kind != UNKNOWN},
            explained=estimate.explained,
            p_value=finding.p_value,
            nature=nature_of(self.reference, estimates.copy, finding.mask) if finding.kinds == (UNKNOWN,) else (),
            nearest_kinds=finding.nearest_kinds,
        )

    def to_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return plain arrays, and settings that JSON can hold, from which :meth:`from_state` restores this object.

        Returns
        -------
        arrays : dict of str to ndarray
            The reference and the manifold; the judge is not saved.
        settings : dict
            Settings of the manifold.
        """
        from llise.storage.models import ModelError

        if self.manifold is None:
            raise ModelError("this Diagnoser has no manifold to save; call fit first")
        arrays, settings = self.manifold.to_state()
        return {"reference": self.reference, **arrays}, {"state": STATE, **settings}

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Diagnoser:
        """Restore a diagnoser with its manifold.

        Parameters
        ----------
        arrays : dict of str to ndarray
            As :meth:`to_state` returned them.
        settings : dict
            As :meth:`to_state` returned them.

        Returns
        -------
        Diagnoser
            With the shipped judge.

        Raises
        ------
        ValueError
            The model was made by another version, or its parts do not belong together.
        """
        from llise.diagnosis.manifold import ReferenceManifold

        if settings.get("state") != STATE:
            raise ValueError("it was made by llise 0.1, which learned a classifier for each reference")
        model = cls(arrays["reference"])
        if arrays["training_images"].shape[1:] != model.reference.shape:
            raise ValueError(f"training images of shape {arrays['training_images'].shape[1:]}, reference of another")
        model.manifold = ReferenceManifold.from_state(arrays, settings)
        return model


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


STATE = 2
"""Version of a saved diagnoser; 0.1.0 had none."""


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
