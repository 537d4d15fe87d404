"""What a diagnosis says: faults, each with its kinds, its region, its strength and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from llise.diagnosis.color_measures import ColorMeasures
from llise.diagnosis.scoring import Candidate
from llise.differences import BLOCK
from llise.labels import COLOR_KINDS, FURTHER_KINDS, LABELS, MISALIGNMENT, UNKNOWN

BLOCK_LABELS = (*LABELS, UNKNOWN, *FURTHER_KINDS, MISALIGNMENT, *COLOR_KINDS)
"""Labels of blocks; the position of a name is its code in :attr:`Diagnosis.block_labels`."""


class Interval(NamedTuple):
    """An estimated value with the bounds between which the true one lies with a probability of 90 %.

    Attributes
    ----------
    value, low, high : float
        Estimate and bounds.

    Examples
    --------
    >>> from llise.diagnosis.result import Interval
    >>> Interval(2.1, 1.9, 2.3).value
    2.1
    """

    value: float
    low: float
    high: float


class ModelName(NamedTuple):
    """The model that answered: its name, and the digest of its numbers."""

    name: str
    digest: str


class Rounding(NamedTuple):
    """What differs by rounding only: the share of such pixels, and their largest difference in levels."""

    share: float
    largest: int


@dataclass(frozen=True, eq=False)
class Reason:
    """Why a region got its kinds: its blocks, box in pixels and what was tried in it, the most probable first."""

    blocks: int
    box: tuple[int, int, int, int]
    candidates: tuple[Candidate, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.blocks} blocks in {self.box}:", *(f"  {one}" for one in self.candidates)])


@dataclass(frozen=True, eq=False)
class Fault:
    """One thing that is wrong with a copy.

    Attributes
    ----------
    kinds : tuple of str
        One kind, the two or three kinds of a mixture in the same place, or ``("unknown",)``.
    confidence : float
        Probability that `kinds` are right, as calibrated by the training.
    region : ndarray of bool, shape (rows, cols)
        Blocks over which the fault extends.
    box : tuple of int
        Top, left, bottom and right of the region in pixels.
    area : float
        Share of the picture that the region covers.
    severity : dict of str to float
        Mean squared error over all channels that each kind contributes inside the region.
    estimate : dict of str to dict of str to Interval
        For each kind its settings in its own units, such as ``{"jpeg": {"quality": Interval(12, 10, 14)}}``.
    explained : float
        Share of the error in the region that the estimate accounts for, between 0 and 1.
    p_value : float
        Share of faults with named kinds that are at least as strange as this one, measured on copies kept aside in
        the training; below the false-alarm rate of the diagnoser, the fault is ``("unknown",)``.
    nature : tuple of str
        How the error of an unknown fault looks: smooth, noisy, periodic, on the 8x8 grid.
    nearest_kinds : tuple of str
        The named kinds to which an unknown fault is nearest.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.result import Fault, Interval
    >>> region = np.array([[True, False]])
    >>> estimate = {"blur": {"sigma": Interval(2.1, 1.9, 2.3)}}
    >>> Fault(("blur",), 0.97, region, (0, 0, 8, 8), 0.5, {"blur": 80.0}, estimate, 0.98)
    <Fault blur, confidence 0.97, 50.0 % of the area>
    """

    kinds: tuple[str, ...]
    confidence: float
    region: np.ndarray
    box: tuple[int, int, int, int]
    area: float
    severity: dict[str, float]
    estimate: dict[str, dict[str, Interval]] = field(default_factory=dict)
    explained: float = 0.0
    p_value: float = 1.0
    nature: tuple[str, ...] = ()
    nearest_kinds: tuple[str, ...] = ()

    @property
    def boxes(self) -> list[tuple[int, int, int, int]]:
        """Top, left, bottom and right in pixels of each connected piece of the region, the largest first."""
        pieces, _ = ndimage.label(self.region, np.ones((3, 3)))
        found = [
            (int((pieces[place] == number).sum()), place)
            for number, place in enumerate(ndimage.find_objects(pieces), 1)
        ]
        bottom, right = self.box[2], self.box[3]
        boxes = [
            (BLOCK * y.start, BLOCK * x.start, min(BLOCK * y.stop, bottom), min(BLOCK * x.stop, right))
            for _, (y, x) in sorted(found, key=lambda one: -one[0])
        ]
        return boxes

    @property
    def is_whole(self) -> bool:
        """Whether the region is the whole picture."""
        return bool(self.region.all())

    def __repr__(self) -> str:
        kinds = " + ".join(self.kinds)
        return f"<Fault {kinds}, confidence {self.confidence:.2f}, {100 * self.area:.1f} % of the area>"


def box_of(region: np.ndarray, shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Top, left, bottom and right in pixels of blocks in a picture of a shape."""
    rows, cols = (np.flatnonzero(region.any(axis=axis)) for axis in (1, 0))
    bottom, right = min(BLOCK * (int(rows[-1]) + 1), shape[0]), min(BLOCK * (int(cols[-1]) + 1), shape[1])
    return BLOCK * int(rows[0]), BLOCK * int(cols[0]), bottom, right


def label_blocks(faults: list[Fault], differs: np.ndarray, labels: tuple[str, ...] = BLOCK_LABELS) -> np.ndarray:
    """Code of each block: the strongest kind of the strongest fault there; equal blocks are the original."""
    codes = np.zeros(differs.shape, np.int8)
    strongest = np.full(differs.shape, -1.0)
    for fault in faults:
        kind = max(fault.severity, key=lambda kind: fault.severity[kind])
        here = fault.region & differs & (fault.severity[kind] > strongest)
        codes[here] = labels.index(kind)
        strongest[here] = fault.severity[kind]
    return codes


@dataclass(eq=False)
class Diagnosis:
    """The diagnosis of one copy.

    Attributes
    ----------
    faults : list of Fault
        What is wrong, the worst first; empty for a pristine copy.
    is_copy : bool
        Whether the image looks like a copy of the reference at all; if not, its only fault is ``("unknown",)``.
    mse, psnr, ssim : float
        The usual full-reference measures of the luma (PSNR is infinite for an equal luma).
    block_labels : ndarray of int8, shape (rows, cols)
        Kind of each block, as index into `labels`: the strongest kind of the fault there. A block that
        equals the reference is always ``original``.
    block_severity : ndarray of float32, shape (rows, cols)
        Measured mean squared error of each block over all channels.
    color : ColorMeasures or None
        Colour difference, and measures of each plane, where the copy or the reference has colours.
    image : ndarray of uint8, shape (h, w) or (h, w, 3)
        The image as it was judged, in colour where it or the reference has colours.
    ssim_map : ndarray of float32, shape (h, w)
        Local SSIM of the luma.
    file : str or None
        Where the image came from.
    aligned_reference : ndarray of uint8, shape (h, w) or (h, w, 3), or None
        The reference as it was brought to the grid of a misaligned copy, with the pixels of the copy at the borders
        that are not judged; None where the copy lies as it should.
    labels : tuple of str
        The labels that `block_labels` counts: :data:`BLOCK_LABELS`, then the custom kinds.
    rounding : Rounding or None
        Pixels that differ by rounding only, outside all faults; None if there are none.
    model : ModelName or None
        The model that answered.
    why : tuple of Reason
        For each region what the network said, which sets of kinds were fitted again, and their scores.

    Examples
    --------
    >>> import llise
    >>> reference = llise.datasets.reference()[:64, :64]
    >>> llise.diagnose(reference, [reference])[0]
    <Diagnosis original, confidence 1.00, PSNR inf dB, no fault>
    """

    faults: list[Fault]
    mse: float
    psnr: float
    ssim: float
    block_labels: np.ndarray
    block_severity: np.ndarray
    image: np.ndarray
    ssim_map: np.ndarray
    is_copy: bool = True
    file: str | None = None
    aligned_reference: np.ndarray | None = None
    labels: tuple[str, ...] = BLOCK_LABELS
    color: ColorMeasures | None = None
    rounding: Rounding | None = None
    model: ModelName | None = None
    why: tuple[Reason, ...] = ()

    @property
    def n_pixels(self) -> int:
        """Number of pixels of the picture."""
        return self.image.shape[0] * self.image.shape[1]

    @property
    def verdict(self) -> tuple[str, ...]:
        """The kinds of all faults in the order of the labels; ``("original",)`` if there is no fault."""
        kinds = {kind for fault in self.faults for kind in fault.kinds}
        return tuple(label for label in self.labels if label in kinds) or ("original",)

    @property
    def confidence(self) -> float:
        """Probability that all faults are named rightly: the least of theirs, 1 if there is no fault."""
        return min((fault.confidence for fault in self.faults), default=1.0)

    @property
    def severity(self) -> dict[str, float]:
        """Mean squared error of the whole picture that each kind contributes."""
        total: dict[str, float] = {}
        for fault in self.faults:
            for kind, error in fault.severity.items():
                total[kind] = total.get(kind, 0.0) + error * fault.area
        return total

    @property
    def shares(self) -> dict[str, float]:
        """Share of the blocks with each label; sums to one."""
        counts = np.bincount(self.block_labels.ravel(), minlength=len(self.labels)) / self.block_labels.size
        return {label: float(share) for label, share in zip(self.labels, counts)}

    @property
    def block_grid(self) -> tuple[int, int]:
        """Rows and columns of blocks."""
        rows, cols = self.block_labels.shape
        return rows, cols

    def __repr__(self) -> str:
        count = {0: "no fault", 1: "1 fault"}.get(len(self.faults), f"{len(self.faults)} faults")
        name = f"{self.file}: " if self.file else ""
        answer = f"{' + '.join(self.verdict)}, confidence {self.confidence:.2f}"
        return f"<Diagnosis {name}{answer}, PSNR {self.psnr:.1f} dB, {count}>"
