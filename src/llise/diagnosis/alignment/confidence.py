"""What speaks for a misalignment and against it, measured at full size.

A blur to one side moves a picture too, but smears it along the way; a warp or a moved region leaves parts of it beside
their place; a filter that blurs lets it fit as well where it lies.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from llise.diagnosis.alignment.evidence import ROUNDING
from llise.diagnosis.alignment.matched_blur import match_blur
from llise.diagnosis.alignment.registration import Registration
from llise.diagnosis.alignment.robust_line import fit_line, robust_weights, usual_size
from llise.kinds.minimum import non_negative_solution
from llise.kinds.warping import Transform

PART = 32
"""Side in pixels of the parts of a picture that are looked at one by one."""

TRAIL_ENDS, TRAIL_PLACES = (-2.0, 4.0), (13, 37)
"""A blur along a line has the reference at several places at the same time: from behind the pixel to beyond the middle
of the blur, in ways of the misalignment; and the least and greatest number of places, about one for each pixel."""

TRAIL_POINTS = 20_000
"""Pixels on which it is measured, at most."""

MAY_BE_TRAIL, LEAST_OF_TRAIL = 3.0, 0.005
"""How many times as much as the moved reference a trail may leave before it is blurred besides, and the least share of
a place that counts."""


COEFFICIENTS = (-3.9, -2.0, -8.9)
"""Constant of the logit of the confidence, and factors on the features. Fitted by logistic regression to 231 misaligned
copies and 52 others that pass the quick looks, with programs that warp, smear or pixelate four times as often as the
rest; ``benchmarks/alignment_confidence.py --fit`` shows what they are worth and what other copies give."""

LEAST_FALL = 0.1
"""Fall below which nothing speaks for a misalignment."""

LEAST_STRAIN, LONG_SMEAR, MOST_CONFIDENCE = 0.01, 0.5, 0.99
"""Strain that counts as none, the least length of a trail to one side (an even one from the pixel on has 0.58), and the
greatest confidence that is said."""


NEARLY_AS_WELL, MOST_IF_SMEARED = -0.06, 0.69
"""Smear from which a long trail fits nearly as well as a shift of a blurred reference, as under a strong coder, and the
greatest confidence then. Of 230 shifted, blurred and coded copies of photographs none had more than -.01; of three
blurs to one side under a coder two had .09 or more, one -.05."""

MUCH_SMEAR = 0.02
"""Share of what aligning removes that a long trail removes besides if it is a blur to one side: under noise such blurs
had .018 or more on eight photographs, misaligned copies none."""


class Grounds:
    """What speaks for a misalignment and against it.

    Parameters
    ----------
    plain : Registration
        The pictures as they are.
    found : Registration
        The pictures with which the place was found: as they are, or with the reference as blurred as the copy.
    at : Transform
        How the reference is moved.
    method : str
        How it is interpolated.

    Attributes
    ----------
    fall : float
        How much of the error aligning removes, against what remains. The unmoved reference may be blurred besides.
    strain : float
        Error that goes if each part of the picture is moved by itself or not at all, against what aligning removes.
    smear : float
        Share of the rest that is removed if the reference is smeared along its way instead of moved.
    smear_length : float
        Standard deviation of that trail against the way.
    is_blurred : bool
        Whether the place was found with a reference as blurred as the copy.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.alignment.reduced_pictures import levels
    >>> picture = np.random.default_rng(0).integers(0, 255, (64, 64)).astype(np.uint8)
    >>> registration = Registration(levels(picture, np.roll(picture, 3, axis=1))[0])
    >>> grounds = Grounds(registration, registration, Transform(shift_x=3.0), "bilinear")
    >>> grounds.fall > 100, grounds.strain < 0.01
    (True, True)
    """

    def __init__(self, plain: Registration, found: Registration, at: Transform, method: str) -> None:
        places, chosen, slopes = found.steep(at)
        target = found.target[chosen]
        values = found.interpolated(method)(*places)
        gain, offset, weights = fit_line(values, target, robust=True)
        rest = target - gain * values - offset
        error = _mean_square(rest, weights)

        def rest_of(picture: np.ndarray) -> np.ndarray:
            gain, offset, _ = fit_line(picture, target, robust=False, weights=weights)
            return np.asarray(target - gain * picture - offset)

        # Interpolation smooths too: of a blurred copy, the way back lowers the error as much as the way there.
        back = Transform(*(-value for value in at.values))
        rows, cols = found.rows[chosen], found.cols[chosen]
        blurred = found.at_points(match_blur(plain.level, Transform()).reference)[chosen]
        opposite = found.interpolated(method)(*found.level.sources(back, rows, cols))
        others = [rest_of(picture) for picture in (plain.unmoved[chosen], blurred, opposite)]
        errors = [_mean_square(other, weights) for other in others]
        unmoved = min(errors)
        self.fall = (unmoved + ROUNDING) / (error + ROUNDING) - 1
        before = others[int(np.argmin(errors))]
        better = _removed_by_parts(found.cells(chosen, PART), gain * slopes, before, rest)
        self.strain = better / max(unmoved - error, 1e-9)
        self.smear, self.smear_length = _smear(plain, found, at, method)
        self.is_blurred = found is not plain

    @property
    def confidence(self) -> float:
        """Probability that the copy is misaligned."""
        if self.fall < LEAST_FALL:
            return 0.0
        logit = float(np.dot(COEFFICIENTS, [1.0, *self.features]))
        may_be_smeared = self.is_blurred and self.is_long and self.smear > NEARLY_AS_WELL
        most = MOST_IF_SMEARED if may_be_smeared else MOST_CONFIDENCE
        return float(np.clip(1 / (1 + np.exp(-logit)), 0.0, most))

    @property
    def is_long(self) -> bool:
        """Whether the trail is as long as that of a blur to one side."""
        return self.smear_length >= LONG_SMEAR

    @property
    def features(self) -> tuple[float, float]:
        """Logarithm of the strain, and the smear if it is long, at most 1.

        Noise hides most of a trail: what it removes counts against the rest, or against what aligning removes.
        """
        smear = self.smear * max(1.0, 1 / (MUCH_SMEAR * max(self.fall, 1e-9)))
        return float(np.log(self.strain + LEAST_STRAIN)), float(np.clip(smear, 0, 1)) * self.is_long


def _removed_by_parts(part: np.ndarray, slopes: np.ndarray, before: np.ndarray, rest: np.ndarray) -> float:
    """Mean squared error that goes if each part is moved a little further by itself, or not moved at all.

    Pixels that fit neither before aligning nor after it, such as impulses, count little.
    """
    usual = max(usual_size(before), usual_size(rest))
    weights = robust_weights(np.minimum(np.abs(before), np.abs(rest)), usual)

    def sums(values: np.ndarray) -> np.ndarray:
        return np.bincount(part, weights * values)

    down, across = slopes
    gram = np.array([[sums(down * down), sums(down * across)], [sums(down * across), sums(across * across)]])
    right = np.array([sums(down * rest), sums(across * rest)])
    inverse = np.linalg.pinv(np.moveaxis(gram, -1, 0), rcond=1e-6, hermitian=True)
    moved_further = np.einsum("ip,pij,jp->p", right, inverse, right)
    not_moved = sums(rest**2) - sums(before**2)
    return float(np.maximum(moved_further, not_moved).sum()) / max(float(weights.sum()), 1.0)


def _smear(plain: Registration, found: Registration, at: Transform, method: str) -> tuple[float, float]:
    """Share of the rest that goes if the reference is at places along its way in shares that fit best, and how far
    these places spread against the way."""
    plain, found = (registration.with_points(TRAIL_POINTS) for registration in (plain, found))
    places, chosen, _ = found.steep(at)
    rows, cols, target = found.rows[chosen], found.cols[chosen], found.target[chosen]
    values = found.interpolated(method)(*places)
    gain, offset, weights = fit_line(values, target, robust=True)
    error = _mean_square(target - gain * values - offset, weights)
    parts = _trail_places(found.way(np.array(at.values)))
    steps = (Transform(*(float(part) * value for value in at.values)) for part in parts)
    trail = [plain.interpolated("bilinear")(*plain.level.sources(step, rows, cols)) for step in steps]
    ones = np.ones_like(target)
    matrix = np.stack([*trail, ones, -ones, target])  # the offset may have any sign
    triangle = np.asarray(np.linalg.qr((matrix * np.sqrt(weights)).T, mode="r"), np.float64)
    fitted, rest = non_negative_solution(triangle[:, :-1], triangle[:, -1])
    shares = fitted[: len(parts)] / max(float(fitted[: len(parts)].sum()), 1e-9)
    mean = float(shares @ parts)
    spread = float(np.sqrt(max(float(shares @ (parts - mean) ** 2), 0.0))) / max(abs(mean), 1e-9)
    trail_error = float(rest**2) / max(float(weights.sum()), 1.0)
    if spread >= LONG_SMEAR and trail_error <= MAY_BE_TRAIL * error:
        trail_error = min(trail_error, _blurred_trail_error(plain, target, weights, chosen, (at, parts, shares)))
    return 1 - (trail_error + ROUNDING) / (error + ROUNDING), spread


def _blurred_trail_error(
    plain: Registration,
    target: np.ndarray,
    weights: np.ndarray,
    chosen: np.ndarray,
    trail: tuple[Transform, np.ndarray, np.ndarray],
) -> float:
    """Error that is left by a trail if what came after it, such as a coder, blurred the picture besides.

    Only so can it be compared with the moved reference, which is made as blurred as the copy too.
    """
    at, parts, shares = trail
    reference = plain.level.reference
    smeared = np.zeros_like(reference)
    for part, share in zip(parts, shares):
        if share > LEAST_OF_TRAIL:
            step = Transform(*(float(part) * value for value in at.values))
            places = plain.level.sources(step, *(np.indices(reference.shape, dtype=np.float64)))
            smeared += np.float32(share) * plain.interpolated("bilinear")(*places)
    level = match_blur(replace(plain.level, reference=smeared), Transform())
    values = plain.at_points(level.reference)[chosen]
    gain, offset, _ = fit_line(values, target, robust=False, weights=weights)
    return _mean_square(target - gain * values - offset, weights)


def _trail_places(way: float) -> np.ndarray:
    number = int(np.clip((TRAIL_ENDS[1] - TRAIL_ENDS[0]) * way, *TRAIL_PLACES))
    return np.linspace(*TRAIL_ENDS, number // 6 * 6 + 1)  # no move at all and the whole way are among them


def _mean_square(rest: np.ndarray, weights: np.ndarray) -> float:
    return float((weights * rest) @ rest) / max(float(weights.sum()), 1.0)
