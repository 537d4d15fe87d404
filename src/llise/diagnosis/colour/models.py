"""Changes of colour from point to point: which rule turned the mean colours of blocks into those of the copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from llise.colours import TO_PLANES, WEIGHTS
from llise.kinds.saturation import GREYS, grey_of, saturated

Apply = Callable[[np.ndarray], np.ndarray]
"""Takes colours (..., 3) and returns changed ones, neither rounded nor clipped."""

LEAST_PART = 0.15
"""Share of the error that a change of all channels alike must have to be a fault of its own beside the colour's."""

EXACT, LEAST_EXACT_PART = 0.02, 0.04
"""Share of the error that is left where gains with one offset, or offsets with one gain, are the rule, and the share
that the change of all channels alike must have then."""

PLAIN = 0.02
"""Share of the error that a rule may leave in the luma before a change of all channels alike is taken for the cause."""

STILL, LUMA_STAYS = 0.6, 0.2
"""Change of a channel, in levels, that rounding leaves of none; share of the largest change of a channel below which a
change of the luma is none."""

ALL_GREY = 1e-3
"""Factor of saturation that rounding leaves of none."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Mean colours of blocks before and after.

    Attributes
    ----------
    before, after : ndarray, shape (n, 3)
        Mean red, green and blue.
    largest, smallest : ndarray, shape (n,)
        Mean of the largest and of the smallest channel of each pixel before.
    weight : ndarray, shape (n,)
        How much each block counts.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.models import Samples
    >>> before = np.array([[10.0, 20.0, 30.0]])
    >>> Samples(before, before, np.array([30.0]), np.array([10.0]), np.ones(1)).greys["value"]
    array([30.])
    """

    before: np.ndarray
    after: np.ndarray
    largest: np.ndarray
    smallest: np.ndarray
    weight: np.ndarray

    @property
    def greys(self) -> dict[str, np.ndarray]:
        """Mean of each grey with which programs mix colours."""
        mixed = {"value": self.largest, "lightness": 0.5 * (self.largest + self.smallest)}
        return {name: mixed[name] if name in mixed else grey_of(self.before, name) for name in GREYS}

    def chroma_misfit(self, model: np.ndarray) -> float:
        """Return the mean squared chroma error of predicted colours.

        Parameters
        ----------
        model : ndarray, shape (n, 3)
            What a rule predicts.

        Returns
        -------
        float
            Weighted mean over the blocks.
        """
        error = (self.after - model) @ TO_PLANES[1:].T
        return float(self.weight @ (error * error).sum(axis=1)) / float(self.weight.sum())

    def misfit(self, model: np.ndarray) -> float:
        """Return the mean squared error of predicted colours.

        Parameters
        ----------
        model : ndarray, shape (n, 3)
            What a rule predicts.

        Returns
        -------
        float
            Weighted mean over the blocks, and mean over the channels.
        """
        error = self.after - model
        return float(self.weight @ (error * error).mean(axis=1)) / float(self.weight.sum())


@dataclass(frozen=True, eq=False)
class Model:
    """A rule that was fitted.

    Attributes
    ----------
    kinds : tuple of str
        Kinds of colour faults that it stands for; empty for a change of all channels alike.
    apply : callable
        The rule, without the change of all channels alike that goes with it.
    parameters : dict of str to dict of str to float
        Settings of each kind.
    chroma_misfit : float
        Mean squared error of the chroma means that it leaves.
    remainder : tuple of float
        Gain and offset of a change of all channels alike that follows; (1, 0) if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.models import Model
    >>> Model(("saturation",), lambda colours: colours, {"saturation": {"factor": 1.0}}, 0.1).remainder
    (1.0, 0.0)
    """

    kinds: tuple[str, ...]
    apply: Apply
    parameters: dict[str, dict[str, float]] = field(default_factory=dict)
    chroma_misfit: float = 0.0
    remainder: tuple[float, float] = (1.0, 0.0)


def curve_misfit(samples: Samples) -> float:
    """Return the chroma error that the best curve leaves if it is the same for all channels.

    Parameters
    ----------
    samples : Samples
        Mean colours.

    Returns
    -------
    float
        Mean squared error.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.models import Samples, curve_misfit
    >>> before = np.random.default_rng(0).uniform(0, 255, (50, 3))
    >>> curve_misfit(Samples(before, 0.8 * before + 9, before.max(1), before.min(1), np.ones(50))) < 1e-6
    True
    """
    x = (samples.before.ravel() - 128) / 128
    square = x * x
    powers = np.stack([np.ones_like(x), x, square, square * x], axis=1)
    curve = powers @ _solve(powers, samples.after.ravel(), np.repeat(samples.weight, 3), 1e-6)
    return samples.chroma_misfit(curve.reshape(-1, 3))


def free_model(samples: Samples) -> Model:
    """Fit any affine change of the channels, their largest and their smallest one.

    Parameters
    ----------
    samples : Samples
        Mean colours.

    Returns
    -------
    Model
        Of the kind ``unknown``.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.models import Samples, free_model
    >>> before = np.random.default_rng(0).uniform(0, 255, (50, 3))
    >>> samples = Samples(before, before[:, ::-1], before.max(1), before.min(1), np.ones(50))
    >>> free_model(samples).apply(np.array([10.0, 20.0, 30.0])).round().tolist()
    [30.0, 20.0, 10.0]
    """
    features = np.column_stack([samples.before, samples.largest, samples.smallest, np.full(len(samples.before), 255.0)])
    beta = _solve(features / 255, samples.after, samples.weight, 1e-5).astype(np.float32)

    def apply(colours: np.ndarray) -> np.ndarray:
        base = np.asarray(colours, np.float32) / 255
        red, green, blue = (base[..., i] for i in range(3))
        largest, smallest = (end(end(red, green), blue) for end in (np.maximum, np.minimum))
        return base @ beta[:3] + largest[..., None] * beta[3] + smallest[..., None] * beta[4] + beta[5]

    return Model(("unknown",), apply, chroma_misfit=samples.chroma_misfit(features / 255 @ beta))


def saturation_model(samples: Samples) -> Model:
    """Fit a factor of the chroma, and find the grey with which colours were mixed.

    Parameters
    ----------
    samples : Samples
        Mean colours.

    Returns
    -------
    Model
        With the factor.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.models import Samples, saturation_model
    >>> from llise.kinds.saturation import saturated
    >>> before = np.random.default_rng(0).uniform(0, 255, (50, 3))
    >>> samples = Samples(before, saturated(before, 0.4, "bt709"), before.max(1), before.min(1), np.ones(50))
    >>> round(saturation_model(samples).parameters["saturation"]["factor"], 3)
    0.4
    """
    chroma, copy = (values @ TO_PLANES[1:].T for values in (samples.before, samples.after))
    weight = samples.weight[:, None]
    factor = float((weight * chroma * copy).sum() / max(float((weight * chroma * chroma).sum()), 1e-9))
    luma, luma_copy = samples.before @ WEIGHTS, samples.after @ WEIGHTS
    features, best, plain = np.column_stack([np.ones(len(luma)), luma / 255]), (np.inf, "", 0.0, 0.0), (np.inf, "")
    for name, grey in samples.greys.items():
        rest = luma_copy - luma - (0 if name == "luma" else (1 - factor) * (grey - luma))
        offset, slope = _solve(features, rest, samples.weight, 1e-6)
        left, whole = (float(samples.weight @ r**2) for r in (rest - features @ (offset, slope), rest))
        best = (left, name, 1 + slope / 255, offset) if left < 0.8 * best[0] else best
        plain = (whole, name) if whole < 0.8 * plain[0] else plain
    left, grey_name, gain, offset = best
    total = samples.misfit(samples.before) * float(samples.weight.sum())
    exact = left < EXACT * total
    remainder = _worth_naming(gain, offset, samples, LEAST_EXACT_PART if exact else LEAST_PART)
    if plain[0] < 2 * left + PLAIN * total:  # another grey says it without a change of all channels alike
        grey_name, remainder = plain[1], (1.0, 0.0)
    if remainder != (1.0, 0.0):
        factor = factor / gain if gain > 0.1 else factor
    factor = 0.0 if abs(factor) < ALL_GREY else factor
    misfit = float(samples.weight @ ((copy - factor * remainder[0] * chroma) ** 2).sum(axis=1) / samples.weight.sum())
    return Model(
        ("saturation",),
        lambda colours: saturated(colours, factor, grey_name),
        {"saturation": {"factor": factor}},
        misfit,
        remainder,
    )


def cast_model(samples: Samples) -> Model:
    """Fit gains and offsets of the channels, as few of them as will do.

    Parameters
    ----------
    samples : Samples
        Mean colours.

    Returns
    -------
    Model
        With gains, offsets or both.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.models import Samples, cast_model
    >>> before = np.random.default_rng(0).uniform(0, 255, (50, 3))
    >>> samples = Samples(before, before * [1.2, 1, 0.8], before.max(1), before.min(1), np.ones(50))
    >>> {name: round(value, 2) for name, value in cast_model(samples).parameters["color_cast"].items()}
    {'red_gain': 1.2, 'green_gain': 1.0, 'blue_gain': 0.8}
    """
    x, y, w = samples.before, samples.after, samples.weight
    total = w.sum()
    mean_x, mean_y = w @ x / total, w @ y / total
    gains = w @ ((x - mean_x) * (y - mean_y)) / np.maximum(w @ (x - mean_x) ** 2, 1e-3 * total)
    gains = np.where(w @ (x - mean_x) ** 2 < total, 1.0, gains)
    forms = {
        "offsets": (np.ones(3), mean_y - mean_x),
        "gains": (w @ (x * y) / np.maximum(w @ (x * x), 1e-9), np.zeros(3)),
        "equal gains": _equal_gains(x, y, w),
        "equal offsets": _equal_offsets(x, y, w),
        "all": (gains, mean_y - gains * mean_x),
    }
    misfits = {name: samples.misfit(x * g + o) for name, (g, o) in forms.items()}
    limit = 1.3 * misfits["all"] + 0.001 * samples.misfit(x) + 0.05
    pairs = ("offsets", "gains"), ("equal gains", "equal offsets")
    simplest = (min(pair, key=lambda name: misfits[name]) for pair in pairs)
    chosen = next((name for name in simplest if misfits[name] <= limit), "all")
    g, o = forms[chosen]
    common = _common_part(chosen, g, o, float(WEIGHTS @ mean_y))
    exact = chosen.startswith("equal") and misfits[chosen] < EXACT * samples.misfit(x)
    remainder = _worth_naming(*common, samples, LEAST_EXACT_PART if exact else LEAST_PART)
    own_gain, own_offset = g / remainder[0], (o - remainder[1]) / remainder[0]
    settings: dict[str, float] = {}
    if chosen != "offsets" and not (chosen == "equal gains" and remainder != (1.0, 0.0)):
        settings |= {f"{name}_gain": float(v) for name, v in zip(("red", "green", "blue"), own_gain)}
    if chosen != "gains" and not (chosen == "equal offsets" and remainder != (1.0, 0.0)):
        settings |= {f"{name}_offset": float(v) for name, v in zip(("red", "green", "blue"), own_offset)}
    gain32, offset32 = own_gain.astype(np.float32), own_offset.astype(np.float32)
    return Model(
        ("color_cast",),
        lambda colours: np.asarray(colours, np.float32) * gain32 + offset32,
        {"color_cast": settings},
        samples.chroma_misfit(x * g + o),
        remainder,
    )


def _common_part(form: str, gains: np.ndarray, offsets: np.ndarray, mean: float) -> tuple[float, float]:
    """Gain and offset that all channels share, given the mean luma of the copy, about which contrast changes.

    A cast leaves one channel, or the luma, as it is; what all channels share beyond that is no part of it.
    """
    if form == "offsets":
        return 1.0, _shared(offsets)
    if form == "gains":
        return float(np.exp(_nearest_to_zero(np.log(np.maximum(gains, 1e-3))))), 0.0
    if form == "equal gains":
        gain = float(gains[0])
        about = (1 - gain) * mean
        return gain, about + _shared(offsets - about)
    if form == "equal offsets":  # a shift of all levels, or a change of contrast
        offset = float(offsets[0])
        common = (1.0, max(1 - offset / max(mean, 1.0), 0.05))
        return min(common, key=lambda gain: float(np.abs(np.log(np.maximum(gains, 1e-3) / gain)).min())), offset
    return 1.0, 0.0


def _shared(offsets: np.ndarray) -> float:
    """The offset that all channels share: none where one channel, or the luma, stays as it is, else the median."""
    largest = float(np.abs(offsets).max())
    one_stays = float(np.abs(offsets).min()) <= STILL + 0.03 * largest
    luma_stays = abs(float(WEIGHTS @ offsets)) <= LUMA_STAYS * largest
    return 0.0 if one_stays or luma_stays else float(np.median(offsets))


def _nearest_to_zero(values: np.ndarray) -> float:
    """The value nearest to zero where all have one sign, else zero."""
    if (values > 0).all() or (values < 0).all():
        return float(values[np.abs(values).argmin()])
    return 0.0


def _worth_naming(gain: float, offset: float, samples: Samples, least: float = LEAST_PART) -> tuple[float, float]:
    """Gain and offset, or (1, 0) where they are a small part of the change."""
    change = (gain - 1) * samples.before + offset
    error = float(samples.weight @ (change * change).mean(axis=1)) / float(samples.weight.sum())
    whole = samples.misfit(samples.before)
    return (float(gain), float(offset)) if error > max(2.0, least * whole) and gain > 0.05 else (1.0, 0.0)


def _equal_gains(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = w.sum()
    mean_x, mean_y = w @ x / total, w @ y / total
    gain = float((w @ ((x - mean_x) * (y - mean_y))).sum() / max(float((w @ (x - mean_x) ** 2).sum()), 1e-9))
    return np.full(3, gain), mean_y - gain * mean_x


def _equal_offsets(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = len(x)
    features = np.zeros((3 * n, 4))
    for i in range(3):
        features[i * n : (i + 1) * n, i] = x[:, i] / 255
    features[:, 3] = 1
    beta = _solve(features, y.T.ravel(), np.tile(w, 3), 1e-9)
    return beta[:3] / 255, np.full(3, beta[3])


def _solve(features: np.ndarray, values: np.ndarray, weight: np.ndarray, ridge: float) -> np.ndarray:
    """Weighted least squares with a little regularisation."""
    weighted = features * weight[:, None]
    gram = weighted.T @ features
    gram[np.diag_indices_from(gram)] += ridge * weight.sum()
    return np.linalg.solve(gram, weighted.T @ values)
