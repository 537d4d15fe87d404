"""What the judge sees of a region: logarithms, ratios and regressions of its sums.

Input are the sums of :mod:`llise.diagnosis.features.block_sums` added up over the blocks of each region, (n, n_sums);
output are the features, float32 of shape (n, n_features), never NaN and never large.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from llise.diagnosis.features import block_sums
from llise.diagnosis.features.band_features import band_features
from llise.diagnosis.features.block_sums import (
    COMB_COEFFICIENTS,
    COMB_STEPS,
    ERROR_BOUNDS,
    FUNCTIONS,
    LONELY_BOUNDS,
    MEAN_FUNCTIONS,
)
from llise.diagnosis.features.changed_sums import changed_features
from llise.diagnosis.features.level_features import level_features
from llise.diagnosis.features.reference_blocks import N_AMPLITUDES, N_BANDS, TEXTURE_BOUNDS

ROUNDING = 0.1
"""Power of about one rounding to whole grey levels: below it a measurement tells programs apart, not faults."""

LARGEST = 12.0

_GREY = ("one", "grey", "grey2", "grey3")
_BLUR = tuple(name for name in FUNCTIONS if name.startswith("blur"))
_JPEG = tuple(name for name in FUNCTIONS if name.startswith("jpeg"))
_WAVELET = tuple(name for name in FUNCTIONS if name.startswith("wavelet"))
_MODELS = {
    "shift": _GREY[:1],
    "line": _GREY[:2],
    "curve": _GREY,
    "blur": _BLUR,
    "jpeg": _JPEG,
    "line blur": (*_GREY[:2], *_BLUR),
    "curve blur": (*_GREY, *_BLUR),
    "curve jpeg": (*_GREY, *_JPEG),
    "blur jpeg": (*_BLUR, *_JPEG),
    "all": (*_GREY, *_BLUR, *_JPEG),
    "wavelet": _WAVELET,
    "blur wavelet": (*_BLUR, *_WAVELET),
    "curve wavelet": (*_GREY, *_WAVELET),
    "jpeg wavelet": (*_JPEG, *_WAVELET),
}


_COMPARED = (
    ("curve", "curve blur"), ("curve", "curve jpeg"), ("blur", "blur jpeg"), ("jpeg", "blur jpeg"),
    ("curve blur", "all"), ("curve jpeg", "all"), ("line", "curve"), ("shift", "line"), ("blur", "curve blur"),
    ("jpeg", "curve jpeg"), ("blur", "blur wavelet"), ("wavelet", "blur wavelet"), ("jpeg", "jpeg wavelet"),
    ("wavelet", "jpeg wavelet"), ("wavelet", "curve wavelet"),
)  # fmt: skip


@cache
def _places() -> dict[str, slice]:
    """Where each group of sums stands."""
    places: dict[str, slice] = {}
    for i, name in enumerate(block_sums.names()):
        group = name
        head, _, tail = name.rpartition(" ")
        places.setdefault(group, slice(i, i + 1))
        if tail.isdigit():
            start = places.get(head, slice(i, i)).start
            if head not in places or places[head].stop == i:
                places[head] = slice(start, i + 1)
    return places


def features(sums: np.ndarray, greys: tuple[float, float, float] | np.ndarray) -> np.ndarray:
    """Return the features of regions.

    Parameters
    ----------
    sums : ndarray, shape (n, n_sums)
        Sums over the blocks of each region.
    greys : tuple of float or ndarray of shape (n, 3)
        Mean, deviation and median of the whole reference, or one row of them for each region: contrast is a change
        about a grey value in the middle of the whole picture.

    Returns
    -------
    ndarray of float32, shape (n, n_features)
        In the order of :func:`feature_names`; finite whatever the input.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features import block_sums
    >>> from llise.diagnosis.features.region_features import feature_names, features
    >>> picture = np.arange(1024).astype(np.uint8).reshape(32, 32)
    >>> sums = block_sums.measure(picture, 255 - picture).sum((0, 1))
    >>> features(sums[None], (127.5, 73.9, 127.5)).shape == (1, len(feature_names()))
    True
    """
    values = _Features(np.asarray(sums, np.float64), np.broadcast_to(np.asarray(greys, np.float64), (len(sums), 3)))
    table = np.stack(list(values.measured().values()), axis=1)
    return np.clip(np.nan_to_num(table, nan=0.0, posinf=LARGEST, neginf=-LARGEST), -LARGEST, LARGEST).astype(np.float32)


def feature_names() -> list[str]:
    """Return the names of the features.

    Returns
    -------
    list of str
        In the order in which :func:`features` gives them.

    Examples
    --------
    >>> from llise.diagnosis.features.region_features import feature_names
    >>> feature_names()[0]
    'size'
    """
    return list(_Features(np.ones((1, len(block_sums.names()))), np.ones((1, 3))).measured())


def curve_misfit(sums: np.ndarray) -> np.ndarray:
    """Return how far the block means of regions are from a curve of grey values.

    Parameters
    ----------
    sums : ndarray, shape (n, n_sums)
        Sums over the blocks of each region.

    Returns
    -------
    ndarray, shape (n,)
        Squared distance from the cubic curve that fits best, summed over the blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features import block_sums
    >>> from llise.diagnosis.features.region_features import curve_misfit
    >>> picture = (np.arange(1024).reshape(32, 32) // 8).astype(np.uint8)
    >>> sums = block_sums.measure(picture, picture + np.uint8(5)).sum((0, 1))
    >>> bool(curve_misfit(sums[None])[0] < 0.1)
    True
    """
    group = np.asarray(sums, np.float64)[:, _places()["mean product"]]
    return _fit(_symmetric(group, len(MEAN_FUNCTIONS)), list(range(4)), np.array([1e-3, 1e-3, 1e-2, 1e-2]))[1]


class _Features:
    def __init__(self, sums: np.ndarray, greys: np.ndarray) -> None:
        self.sums = sums
        self.mean, self.spread, self.middle = (
            (greys[:, 0] - 128) / 64, np.maximum(greys[:, 1], 2) / 64, (greys[:, 2] - 128) / 64
        )  # fmt: skip
        self.n = self.group("pixels")[:, 0]
        self.out: dict[str, np.ndarray] = {}

    def group(self, name: str) -> np.ndarray:
        return self.sums[:, _places()[name]]

    def measured(self) -> dict[str, np.ndarray]:
        self.out["size"] = np.minimum(np.log(self.n / 64), 6.5)
        self.impulses()
        self.errors()
        self.regressions()
        self.means()
        self.textures()
        self.coefficients()
        self.combs()
        self.steps()
        self.out |= level_features(self.group, self.n)
        self.out |= changed_features(self.group, self.n)
        return self.out

    def impulses(self) -> None:
        out, n = self.out, self.n
        count, lonely, above = self.group("impulse count"), self.group("lonely"), self.group("lonely above")
        far = count[:, 0]
        out["impulse share"] = np.log(far / n + 1e-5)
        for i, name in enumerate(("black", "white", "lighter"), 1):
            out[f"impulse {name}"] = (count[:, i] + 0.1) / (far + 0.3)
        out["impulse extreme"] = (count[:, 1] + count[:, 2] + 0.05) / (far + 0.1)
        for i, name in ((4, "black"), (5, "white")):
            more = (count[:, i] - count[:, i + 2]) / n
            out[f"more {name}"] = np.sign(more) * np.log1p(1e4 * np.abs(more))
            out[f"{name}"] = np.log(count[:, i] / n + 1e-4)
        out["impulse energy"] = lonely[:, 1] / (lonely[:, 0] + 1e-3)
        out["impulse height"] = np.log(lonely[:, 2] / (far + 1e-3) + 1)
        scale = (lonely[:, 3] - lonely[:, 2]) / (n - far + 1)
        out["lonely scale"] = np.log(scale + 0.3)
        out["impulse contrast"] = np.where(far > 0, out["impulse height"] - out["lonely scale"], 0)
        power = lonely[:, 0] / n
        out["lonely power"] = np.log(power + ROUNDING)
        out["lonely kurtosis"] = np.log(lonely[:, 4] * 1e4 / n / (power + ROUNDING) ** 2 + 0.1)
        for bound, column in zip(LONELY_BOUNDS, above.T):
            out[f"lonely above {bound}"] = np.log(column / n + 1e-4)

    def errors(self) -> None:
        out, n = self.out, self.n
        error, within = self.group("error"), self.group("error within")
        power = error[:, 1] / n
        out["mse"] = np.log(power + ROUNDING)
        out["error mean"] = np.sign(error[:, 0]) * np.log1p(np.abs(error[:, 0] / n))
        out["error mean part"] = (error[:, 0] / n) ** 2 / (power + ROUNDING)
        out["error tails"] = error[:, 2] / n / np.sqrt(power + ROUNDING)
        out["error kurtosis"] = np.log(error[:, 3] * 1e4 / n / (power + ROUNDING) ** 2 + 0.1)
        for bound, column in zip(ERROR_BOUNDS, within.T):
            out[f"error within {bound}"] = column / n

    def regressions(self) -> None:
        """Share of the error that grey curves, blur and JPEG of the reference explain, and with which coefficients."""
        out = self.out
        gram = _symmetric(self.group("product"), len(FUNCTIONS))
        n = gram[:, 0, 0] + 1
        total = gram[:, -1, -1]
        out["clean mse"] = np.log(total / n + ROUNDING)
        out["clean part"] = out["clean mse"] - out["mse"]
        out["usable"] = n / (self.n + 1)
        # The prior of a coefficient has a deviation of about 1 against an error of about 1 grey level.
        prior = np.array([1e-3, 1e-3, 1e-2, 1e-2] + [2.0] * 13)
        left: dict[str, np.ndarray] = {}
        for name, functions in _MODELS.items():
            coefficients, left[name] = _fit(gram, [FUNCTIONS.index(f) for f in functions], prior)
            out[f"left {name}"] = np.log(left[name] / n + ROUNDING)
            out[f"part {name}"] = out[f"left {name}"] - out["clean mse"]
            if name == "line":
                self._line(coefficients, gram, n)
            if name == "curve":
                self._curve("curve", coefficients)
            if name == "line blur":
                out["gain beside blur"] = coefficients[:, 1] / 64
            if name in ("blur", "all"):
                first = 0 if name == "blur" else 4
                for i in range(5):
                    out[f"{name} blur coefficient {i}"] = np.arcsinh(coefficients[:, first + i])
            if name == "all":
                out["gain of all"] = coefficients[:, 1] / 64
                for i in range(5):
                    out[f"jpeg coefficient {i}"] = np.arcsinh(coefficients[:, 9 + i])
            if name == "wavelet":
                for i in range(3):
                    out[f"wavelet coefficient {i}"] = np.arcsinh(coefficients[:, i])
        for a, b in _COMPARED:
            out[f"{a} against {b}"] = out[f"left {b}"] - out[f"left {a}"]
        for i, name in enumerate((*_BLUR, *_JPEG, *_WAVELET)):
            k = FUNCTIONS.index(name)
            out[f"likeness {name}"] = gram[:, k, -1] / np.sqrt((gram[:, k, k] + n) * (total + n * ROUNDING))
            if i < 5:
                out[f"power {name}"] = np.log(gram[:, k, k] / n + ROUNDING)

    def _line(self, coefficients: np.ndarray, gram: np.ndarray, n: np.ndarray) -> None:
        out = self.out
        mean = gram[:, 0, 1] / n
        spread = np.sqrt(np.maximum(gram[:, 1, 1] / n - mean**2, 1e-4))
        slope, shift = coefficients[:, 1], coefficients[:, 0] + coefficients[:, 1] * mean
        at_grey = coefficients[:, 0]
        out["grey mean"], out["grey spread"] = mean, np.log(spread)
        out["slope"] = slope / 64
        out["slope strength"] = np.sign(slope) * np.log1p(np.abs(slope * spread))
        out["shift at mean"] = np.sign(shift) * np.log1p(np.abs(shift))
        out["shift at mid-grey"] = np.sign(at_grey) * np.log1p(np.abs(at_grey))
        out["shift against slope"] = np.log((shift**2 + 0.3) / ((slope * spread) ** 2 + 0.3))
        # A line about a pivot p is zero there: p = 128 - 64 a / b, in units of the picture's own spread.
        pivot = -coefficients[:, 0] / np.where(np.abs(slope) < 0.3, 0.3 * np.sign(slope + 1e-9), slope)
        out["pivot"] = np.clip(pivot, -8, 8)
        out["pivot from mean"] = np.clip((pivot - mean) / spread, -8, 8)
        out["pivot from picture's mean"] = np.clip((pivot - self.mean) / self.spread, -8, 8)
        at_picture, at_middle = (coefficients[:, 0] + slope * grey for grey in (self.mean, self.middle))
        out["shift at picture's mean"] = np.sign(at_picture) * np.log1p(np.abs(at_picture))
        strength = np.log((slope * spread) ** 2 + 0.3)
        out["picture's shift against slope"] = np.log(at_picture**2 + 0.3) - strength
        least = np.min(np.abs([shift, at_grey, at_picture, at_middle]), axis=0)
        out["least shift against slope"] = np.log(least**2 + 0.3) - strength
        out["spread against picture's"] = np.log(spread / self.spread)

    def _curve(self, name: str, coefficients: np.ndarray) -> None:
        """Where the curve of grey values leaves a grey as it was: contrast does so at its pivot, often at the ends."""
        places = {"black": -2.0, "mid-grey": 0.0, "white": 2.0, "picture's mean": self.mean, "median": self.middle}
        for place, grey in places.items():
            powers = np.power.outer(np.asarray(grey), np.arange(4))
            shift = (coefficients[:, :4] * powers).sum(axis=1)
            self.out[f"{name} at {place}"] = np.sign(shift) * np.log1p(np.abs(shift))

    def means(self) -> None:
        """The curve that takes the reference's block means to the copy's."""
        out = self.out
        gram = _symmetric(self.group("mean product"), len(MEAN_FUNCTIONS))
        n = gram[:, 0, 0] + 0.1
        prior = np.array([1e-3, 1e-3, 1e-2, 1e-2])
        out["mean shift power"] = np.log(gram[:, -1, -1] / n + 0.03)
        for name, count in (("shift", 1), ("line", 2), ("curve", 4)):
            coefficients, left = _fit(gram, list(range(count)), prior)
            out[f"means left {name}"] = np.log(left / n + 0.03)
            out[f"means part {name}"] = out[f"means left {name}"] - out["mean shift power"]
            if name == "line":
                out["means slope"] = coefficients[:, 1] / 64
            if name == "curve":
                out["means bend 2"], out["means bend 3"] = (np.arcsinh(coefficients[:, i]) for i in (2, 3))
                self._curve("means curve", coefficients)

    def textures(self) -> None:
        out = self.out
        for i in range(len(TEXTURE_BOUNDS) + 1):
            group = self.group(f"texture {i}")
            count = group[:, 0]
            there = count > 0
            safe = np.maximum(count, 1)
            power = group[:, 1] / safe
            out[f"texture {i} share"] = count / (self.n / 64)
            out[f"texture {i} power"] = np.where(there, np.log(power + ROUNDING), -3)
            out[f"texture {i} typical"] = np.where(there, group[:, 2] / safe, -3)
            out[f"texture {i} contrast"] = np.where(there, np.log(power + 0.1) - group[:, 2] / safe, 0)
            out[f"texture {i} kurtosis"] = np.where(there, group[:, 3] / safe, 0)
            out[f"texture {i} peak"] = np.where(there, group[:, 4] / safe, 0)
            for j, name in enumerate(("across", "down", "across 2", "down 2"), 5):
                out[f"texture {i} {name}"] = np.where(there, group[:, j] / safe / (power + ROUNDING), 0)
            out[f"texture {i} equal"] = group[:, 9] / safe

    def coefficients(self) -> None:
        zeros = self.group("zeros"), self.group("zeros off grid")
        self.out |= band_features(self._of_bands("band", 3), self._of_bands("amplitude", N_AMPLITUDES), zeros, self.n)

    def _of_bands(self, name: str, parts: int) -> np.ndarray:
        """Sums of the groups of all bands, which stand side by side."""
        first, last = _places()[f"{name} 0 0"], _places()[f"{name} {N_BANDS - 1} {parts - 1}"]
        return self.sums[:, first.start : last.stop]

    def combs(self) -> None:
        """How well coefficients sit on multiples of a step: 1 after JPEG coding, about 0 otherwise."""
        best = []
        for number in COMB_COEFFICIENTS:
            count = self.group(f"comb count {number}")
            value = self.group(f"comb {number}") / (count + 2)
            enough = count > 2
            value = np.where(enough, value, -1)
            best.append(np.where(enough.any(1), value.max(1), 0))
            self.out[f"comb {number}"] = best[-1]
            at = np.log(COMB_STEPS)[value.argmax(1)]
            self.out[f"comb step {number}"] = np.where(best[-1] > 0.6, at, 0)
        ranked = np.sort(np.stack(best, 1), axis=1)
        self.out["comb most"], self.out["comb mean"], self.out["comb middle"] = (
            ranked[:, -1],
            ranked.mean(1),
            ranked[:, 2],
        )

    def steps(self) -> None:
        ratios = {}
        for name in ("copy", "reference", "error"):
            across_line, across, down_line, down = self.group(f"steps {name}").T
            n = self.n / 64
            line, inside = (across_line + down_line) / (16 * n), (across + down) / (112 * n)
            ratios[name] = np.log((line + 0.1) / (inside + 0.1))
            self.out[f"blockiness {name}"] = ratios[name]
            self.out[f"steps {name}"] = np.log(inside + 0.1)
        self.out["blockiness more"] = ratios["copy"] - ratios["reference"]
        self.out["steps more"] = self.out["steps copy"] - self.out["steps reference"]


def _symmetric(upper: np.ndarray, size: int) -> np.ndarray:
    """Matrices (n, size, size) from their upper triangles, row by row."""
    rows, cols = np.triu_indices(size)
    out = np.empty((len(upper), size, size))
    out[:, rows, cols] = upper
    out[:, cols, rows] = upper
    return out


def _fit(gram: np.ndarray, functions: list[int], prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ridge regression of the last function on some others: coefficients, and what they leave of its power."""
    chosen = np.array(functions)
    part, right = gram[:, chosen[:, None], chosen], gram[:, chosen, -1]
    ridge = 10 * prior[chosen] + 1e-6
    part[:, range(len(chosen)), range(len(chosen))] += ridge
    coefficients = np.linalg.solve(part, right[..., None])[..., 0]
    # What is explained is 2 c r - c G c, and (G + ridge) c = r.
    explained = np.sum(coefficients * (right + ridge * coefficients), axis=1)
    return coefficients, np.maximum(gram[:, -1, -1] - explained, 0)
