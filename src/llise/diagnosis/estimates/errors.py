"""How far estimated settings lie from the true ones, and the intervals that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from llise.diagnosis.result import Interval

SIZE_BOUNDS = (12, 48, 192)
"""Numbers of blocks that divide regions into four classes of size."""

ERROR_BOUNDS = (20.0, 100.0)
"""Mean squared errors that divide regions into three classes of strength."""


class Scale(NamedTuple):
    """How errors of a setting are measured.

    Attributes
    ----------
    relative : bool
        Whether the error is ``log((truth + floor) / (estimate + floor))``; otherwise ``truth - estimate``.
    floor : float
        Keeps relative errors of small values finite.
    low, high : float
        Bounds of the setting.
    rough : float
        Half of an interval, in the unit of the error, where nothing is known.
    least : float
        Least half of an interval.

    Examples
    --------
    >>> from llise.diagnosis.estimates.errors import SCALES
    >>> SCALES["jpeg", "quality"].relative
    False
    """

    relative: bool
    floor: float
    low: float
    high: float
    rough: float
    least: float


CUT_OFF = 0.9
"""Grey levels by which an offset may be wrong: a program may have rounded to whole grey levels or cut fractions off,
which nothing in the copy tells."""

SCALES = {
    ("gaussian_noise", "sigma"): Scale(True, 0.3, 0.0, 255.0, 0.1, 0.01),
    ("blur", "sigma"): Scale(True, 0.1, 0.0, 200.0, 0.1, 0.01),
    ("blur", "length"): Scale(True, 0.5, 0.0, 400.0, 0.15, 0.01),
    ("blur", "angle"): Scale(False, 0.0, -90.0, 270.0, 8.0, 0.5),
    ("blur", "radius"): Scale(True, 0.2, 0.0, 200.0, 0.1, 0.01),
    ("blur", "factor"): Scale(True, 0.0, 1.0, 1000.0, 0.03, 0.005),
    ("impulse_noise", "share"): Scale(True, 1e-5, 0.0, 1.0, 0.15, 0.02),
    ("impulse_noise", "salt"): Scale(False, 0.0, 0.0, 1.0, 0.1, 0.01),
    ("contrast", "gain"): Scale(True, 0.0, 0.0, 100.0, 0.05, 0.002),
    ("contrast", "pivot"): Scale(False, 0.0, 0.0, 255.0, 12.0, 0.2),
    ("luminance", "offset"): Scale(False, 0.0, -255.0, 255.0, 0.8, CUT_OFF),
    ("jpeg", "quality"): Scale(False, 0.0, 1.0, 100.0, 2.0, 0.5),
    ("jpeg2000", "rate"): Scale(True, 0.005, 0.0, 8.0, 0.15, 0.02),
    ("speckle_noise", "sigma"): Scale(True, 0.3, 0.0, 255.0, 0.1, 0.01),
    ("speckle_noise", "exponent"): Scale(False, 0.0, 0.0, 2.0, 0.15, 0.01),
    ("pixelation", "cell"): Scale(True, 0.0, 1.0, 1000.0, 0.02, 0.002),
    ("quantization", "levels"): Scale(True, 0.0, 1.0, 256.0, 0.05, 0.002),
    ("sharpening", "amount"): Scale(True, 0.05, 0.0, 1000.0, 0.1, 0.01),
    ("sharpening", "radius"): Scale(True, 0.1, 0.0, 100.0, 0.15, 0.01),
    ("content", "coverage"): Scale(True, 1e-5, 0.0, 1.0, 0.1, 0.01),
}
"""Scale of each setting of each kind; sizes in pixels or grey levels, shares, rates and gains have relative errors."""

LEAST_CONTRAST = 0.02
"""Least change of the gain that a contrast is taken to have."""

UNKNOWN_SCALE = Scale(True, 0.01, -np.inf, np.inf, 0.5, 0.05)

STRENGTH_SCALE = Scale(True, 0.0, 0.0, np.inf, 0.05, 0.01)
"""Scale of the strength of a function, at which it makes the measured error."""


def error_of(kind: str, name: str, truth: float, estimate: float) -> float:
    """Return the error of an estimate in the unit of its scale.

    Parameters
    ----------
    kind, name : str
        Kind and setting.
    truth, estimate : float
        True and estimated value.

    Returns
    -------
    float
        Relative or absolute error, see :data:`SCALES`; of angles, the shorter way around.

    Examples
    --------
    >>> from llise.diagnosis.estimates.errors import error_of
    >>> error_of("jpeg", "quality", 40, 38), error_of("blur", "angle", 2, 179)
    (2, 3)
    """
    if name == "angle":
        return (truth - estimate + 90) % 180 - 90
    scale = SCALES.get((kind, name), UNKNOWN_SCALE)
    if not scale.relative:
        return truth - estimate
    return float(np.log(max(truth + scale.floor, 1e-9) / max(estimate + scale.floor, 1e-9)))


def size_class(kind: str, blocks: int, parameters: dict[str, float]) -> int:
    """Return the class of a region by what an estimate rests on: its blocks; for impulses, half of those found.

    Parameters
    ----------
    kind : str
        Kind whose settings were estimated.
    blocks : int
        Size of the region.
    parameters : dict of str to float
        Estimated settings of the kind.

    Returns
    -------
    int
        Class from 0 to 3.

    Examples
    --------
    >>> from llise.diagnosis.estimates.errors import size_class
    >>> size_class("blur", 30, {"sigma": 2.0}), size_class("impulse_noise", 30, {"share": 0.001})
    (1, 0)
    """
    amount = blocks * 32 * parameters["share"] if kind == "impulse_noise" else blocks
    return int(np.searchsorted(SIZE_BOUNDS, amount, side="right"))


def strength_class(error: float) -> int:
    """Return the class of a region by its mean squared error.

    Parameters
    ----------
    error : float
        Mean squared error.

    Returns
    -------
    int
        Class from 0 to 2.

    Examples
    --------
    >>> from llise.diagnosis.estimates.errors import strength_class
    >>> strength_class(5.0), strength_class(500.0)
    (0, 2)
    """
    return int(np.searchsorted(ERROR_BOUNDS, error, side="right"))


def cell_name(kind: str, name: str, partner: str | None) -> str:
    """Return the name under which the errors of a setting are stored.

    Parameters
    ----------
    kind, name : str
        Kind and setting.
    partner : str or None
        The other kind of a pair; None if the kind is alone.

    Returns
    -------
    str
        The three parts with dots between them.

    Examples
    --------
    >>> from llise.diagnosis.estimates.errors import cell_name
    >>> cell_name("blur", "sigma", None)
    'blur.sigma.alone'
    """
    return f"{kind}.{name}.{partner or 'alone'}"


@dataclass(frozen=True, eq=False)
class EstimateErrors:
    """Bounds within which nine in ten errors of estimates lay in a simulation.

    Attributes
    ----------
    bounds : dict of str to ndarray, shape (sizes, strengths, 2)
        For each setting (:func:`cell_name`) the lower and the upper bound of errors by size and strength of a region.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.errors import EstimateErrors
    >>> bounds = {"jpeg.quality.alone": np.full((4, 3, 2), [-1.0, 0.5])}
    >>> EstimateErrors(bounds).intervals("jpeg", {"quality": 30.0}, None, blocks=400, error=50.0)
    {'quality': Interval(value=30.0, low=29.0, high=30.5)}
    """

    bounds: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], prefix: str = "estimate_errors/") -> EstimateErrors:
        """Take the bounds out of arrays that may hold other things as well.

        Parameters
        ----------
        arrays : dict of str to ndarray
            What :meth:`to_arrays` gave, and any other arrays.
        prefix : str
            Start of the names to take.

        Returns
        -------
        EstimateErrors
            The bounds.

        Examples
        --------
        >>> from llise.diagnosis.estimates.errors import EstimateErrors
        >>> EstimateErrors.from_arrays({}).bounds
        {}
        """
        return cls({name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)})

    def to_arrays(self, prefix: str = "estimate_errors/") -> dict[str, np.ndarray]:
        """Return the bounds as arrays to be stored.

        Parameters
        ----------
        prefix : str
            Start of the names.

        Returns
        -------
        dict of str to ndarray
            Arrays of float32.

        Examples
        --------
        >>> from llise.diagnosis.estimates.errors import EstimateErrors
        >>> EstimateErrors().to_arrays()
        {}
        """
        return {prefix + name: np.asarray(array, np.float32) for name, array in self.bounds.items()}

    def intervals(
        self, kind: str, parameters: dict[str, float], partner: str | None, blocks: int, error: float
    ) -> dict[str, Interval]:
        """Return the estimated settings of a kind with their intervals.

        Parameters
        ----------
        kind : str
            Kind of distortion.
        parameters : dict of str to float
            Estimates.
        partner : str or None
            The other kind of a pair.
        blocks : int
            Size of the region.
        error : float
            Its mean squared error.

        Returns
        -------
        dict of str to Interval
            Each estimate and the bounds between which the truth lies with a probability of 90 %.

        Examples
        --------
        >>> from llise.diagnosis.estimates.errors import EstimateErrors
        >>> EstimateErrors().intervals("luminance", {"offset": 5.0}, None, blocks=64, error=25.0)["offset"].value
        5.0
        """
        place = size_class(kind, blocks, parameters), strength_class(error)
        found = {
            name: self._interval(kind, name, float(value), partner, blocks, place) for name, value in parameters.items()
        }
        if kind == "contrast" and {"gain", "pivot"} <= set(found):
            # A shift of all greys by s moves the pivot by s / (1 - gain).
            moved = CUT_OFF / max(abs(1 - found["gain"].value), LEAST_CONTRAST)
            pivot, low, high = found["pivot"]
            found["pivot"] = Interval(pivot, min(low, max(pivot - moved, 0.0)), max(high, min(pivot + moved, 255.0)))
        return found

    def _interval(
        self, kind: str, name: str, value: float, partner: str | None, blocks: int, place: tuple[int, int]
    ) -> Interval:
        scale = SCALES.get((kind, name), STRENGTH_SCALE if name == "strength" else UNKNOWN_SCALE)
        table = self.bounds.get(cell_name(kind, name, partner))
        if table is None:
            half = scale.rough * (1 if partner is None else 3) * np.sqrt(1 + 64 / blocks)
            low, high = -half, half
        else:
            low, high = (float(v) for v in table[place])
        low, high = min(low, -scale.least), max(high, scale.least)
        if scale.relative:
            bounds = [(value + scale.floor) * np.exp(np.clip(v, -5, 5)) - scale.floor for v in (low, high)]
        else:
            bounds = [value + low, value + high]
        low, high = (float(np.clip(v, scale.low, scale.high)) for v in bounds)
        return Interval(value, min(low, value), max(high, value))
