"""JPEG 2000: the image is coded as wavelet coefficients by OpenJPEG and decoded."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from PIL import Image

from llise.colours import WEIGHTS
from llise.kinds.base import Draw, Kind, Path, SolvablePath, drawn
from llise.kinds.estimation import Pair, pair_of
from llise.kinds.fitting import Fit, as_bytes
from llise.kinds.grey import mse, quantise

TOLERANCE = 0.004
"""Relative error of the MSE that counts as reached."""

_START_OF_DATA = b"\xff\x93"
_STRONGEST = 128.0
_TRIES = 8
_CLOSE, _FAR = 0.05, 0.9
"""Shares of the error that is left between which a fit tries other options of the coder."""

WINDOW = 192
"""Most rows and columns on which codings are compared."""


@dataclass(frozen=True)
class Jpeg2000Settings:
    """A coding by OpenJPEG, in its words: `mode` "dB" or "rates" with a value for each of the quality `layers`.

    `rate` is the size of the data in bits per pixel; it came out and need not be known. A tile of (0, 0) is the image.
    """

    layers: tuple[float, ...]
    mode: str = "dB"
    irreversible: bool = True
    mct: bool = True
    block: tuple[int, int] = (64, 64)
    resolutions: int = 6
    tile: tuple[int, int] = (0, 0)
    progression: str = "LRCP"
    rate: float = 0.0

    def words(self) -> dict[str, float]:
        return {"rate": self.rate}

    def options(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """As Pillow's writer calls them, for an image of a shape."""
        side = min([*shape[:2], *(n for n in self.tile if n)])
        options = {
            "quality_mode": self.mode,
            "quality_layers": list(self.layers),
            "irreversible": self.irreversible,
            "codeblock_size": self.block,
            "num_resolutions": min(self.resolutions, int(np.log2(side)) + 1),
            "progression": self.progression,
        }
        if self.tile[0]:
            options["tile_size"] = self.tile
        return options if len(shape) == 2 else {**options, "mct": int(self.mct)}


class Jpeg2000(Kind):
    """JPEG 2000; the strength is the root of the mean squared error that the coder is asked for.

    At random, the wavelets are the reversible or the irreversible ones of the standard, with three to six resolutions,
    code blocks of 16 to 64 pixels, in one tile or in several, in one quality layer or in several, and the coder is
    asked for an error or, with tiles, for a file size. The parameter of a draw is ``rate``, the size of the coded data
    in bits per pixel, without the file's header.
    """

    name = "jpeg2000"
    title = "JPEG 2000 compression"
    short_title = "JPEG 2000"
    strongest = _STRONGEST
    Settings = Jpeg2000Settings
    exact = hides = wipes = True
    units: ClassVar = {"rate": (" bits per pixel", 1.0)}
    narrow = ("rate", "{} bits per pixel", 1.0)
    letter, page_color = "W", "#332288"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _ByError(image, Jpeg2000Settings((1.0,)))

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        one = _draw_settings(image.shape, rng)
        layers = int(rng.choice([1, 1, 1, 2, 3, 5]))
        by_size = bool(rng.random() < 0.4) and min(image.shape[:2]) >= 32

        def unrated(strength: float) -> Jpeg2000Settings:
            if strength <= 0:
                return replace(one, layers=(1.0,), mode="rates", irreversible=False)  # without loss
            if by_size:
                return replace(one, mode="rates", layers=tuple(_ratio(strength) * 2.0**i for i in range(layers))[::-1])
            decibels = 20 * float(np.log10(255 / strength))
            steps = np.linspace(decibels, max(decibels - 12.0, 1.0), layers)[::-1]
            return replace(one, layers=tuple(steps.tolist()))

        def settings(strength: float) -> Jpeg2000Settings:
            found = unrated(strength)
            return replace(found, rate=code_jpeg2000(image, **found.options(image.shape))[1])

        first = None if by_size else _first_try
        end = (
            min(self.strongest, image.size / 100) if by_size else self.strongest
        )  # less than some bytes cannot be asked
        path: Callable[[float], np.ndarray] = lambda strength: self.apply(image, unrated(strength))
        return drawn(self, image, settings, end, first, path)

    def apply(self, image: np.ndarray, settings: Jpeg2000Settings) -> np.ndarray:
        return code_jpeg2000(image, **settings.options(image.shape))[0]

    def fit(
        self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: Jpeg2000Settings | None = None
    ) -> Fit | None:
        pair = pair_of(reference, copy, mask)
        if pair is None:
            return None
        # Outside the pixels to compare, the image may be mirrored; the coder shall not see that.
        rows, cols = (slice(int(at[0]), int(at[-1]) + 1) for at in (np.flatnonzero(mask.any(axis=i)) for i in (1, 0)))
        box = rows, cols
        part = Pair(*(image[box] for image in pair))
        if min(part.mask.shape) < 16:
            return None
        settings, interval = find_jpeg2000(part.cut(WINDOW), start)

        def apply(image: np.ndarray) -> np.ndarray:
            made = image.astype(np.float32, copy=True)
            made[box] = code_jpeg2000(as_bytes(image[box]), **settings.options(made[box].shape))[0]
            return made

        return Fit(settings.words(), apply, settings=settings, intervals={"rate": interval})


def find_jpeg2000(pair: Pair, start: Jpeg2000Settings | None = None) -> tuple[Jpeg2000Settings, tuple[float, float]]:
    """The coding that comes nearest to a copy, and an interval of its rate: first of the luma, which is quicker."""
    luma = pair
    if pair.before.ndim == 3:
        luma = Pair(quantise(pair.before @ WEIGHTS), pair.after @ WEIGHTS, pair.mask)
    trials = _Trials(luma)
    if start is not None and trials.left(start) <= 0.02 * luma.change:
        best = usual = start
    else:
        best = trials.matched(Jpeg2000Settings((trials.first(),)), 3)
        best = min(best, trials.matched(replace(best, irreversible=False), 2), key=trials.left)
        usual = best
        if _CLOSE * luma.change < trials.left(best) < _FAR * luma.change:
            best = _other_options(trials, best)
    if pair.before.ndim == 3:
        trials = _Trials(pair)
        ways = dict.fromkeys([best, replace(best, mct=False), replace(usual, mct=False)])
        best = min((trials.matched(replace(one, layers=(trials.first(),)), 3) for one in ways), key=trials.left)
    best = trials.matched(best, 3, near=0.02)
    decibels = best.layers[-1]
    other = replace(best, layers=(*best.layers[:-1], decibels + 1.0 if best.mode == "dB" else 0.9 * decibels))
    rate = trials.code(best).rate
    slope = abs(trials.code(other).rate - rate)  # for a decibel, as errors are off by a quarter
    share = trials.left(best) / max(pair.change, 1e-9)
    reach, highest = slope * min(0.2 + 8 * share, 6.0), rate
    if best.mode == "dB" and len(best.layers) == 1:  # layers show in the rate, hardly in the picture
        layers = tuple(max(decibels - 3.0 * i, 1.0) for i in (4, 3, 2, 1, 0))
        highest = max(highest, trials.code(replace(best, layers=layers)).rate)
    return replace(best, rate=rate), (max(rate - reach, 0.0), highest + reach)


def _other_options(trials: _Trials, best: Jpeg2000Settings) -> Jpeg2000Settings:
    """With other sizes of tiles and code blocks and numbers of resolutions, one after the other."""
    largest = max(trials.pair.mask.shape) / 2
    options: dict[str, list[Any]] = {
        "resolutions": [5, 4, 3],
        "tile": [(n, n) for n in (64, 128, 256) if n <= 2 * largest],
        "block": [(16, 16), (32, 32), (32, 64), (16, 32)],
    }
    for field, values in options.items():
        other = min((replace(best, **{field: value}) for value in values), key=trials.left, default=best)
        if trials.left(other) < trials.left(best):
            best = min(best, trials.matched(other, 2), key=trials.left)
    return best


class _Coded(NamedTuple):
    """A coding, the mean squared error that is left to the copy, and its own."""

    rate: float
    left: float
    own: float


class _Trials:
    """Codings of a picture, each made once."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.known: dict[Jpeg2000Settings, _Coded] = {}

    def first(self) -> float:
        """Decibels for about the error of the copy."""
        return float(np.clip(10 * np.log10(255**2 / (0.92 * self.pair.change + 0.01)), 3.0, 70.0))

    def code(self, settings: Jpeg2000Settings) -> _Coded:
        if settings not in self.known:
            made, rate = code_jpeg2000(self.pair.before, **settings.options(self.pair.before.shape))
            own = (made.astype(np.float32) - self.pair.before)[self.pair.mask]
            self.known[settings] = _Coded(rate, self.pair.error(made), float(np.mean(own * own)))
        return self.known[settings]

    def left(self, settings: Jpeg2000Settings) -> float:
        return self.code(settings).left

    def matched(self, settings: Jpeg2000Settings, most: int, near: float = 0.1) -> Jpeg2000Settings:
        """Asked for the error with which its own error is that of the copy."""
        wanted, best = self.pair.change, settings
        for _ in range(most):
            coded = self.code(settings)
            if coded.left < self.left(best):
                best = settings
            miss = 10 * float(np.log10((coded.own + 0.01) / (wanted + 0.01)))
            if abs(miss) < near:
                break
            settings = replace(settings, layers=(float(np.clip(settings.layers[-1] + miss, 3.0, 70.0)),))
        return best


def _first_try(wanted: float) -> float:
    """Strength at which small images have about the wanted error: coders exceed what they are asked for."""
    return 0.96 * float(np.sqrt(wanted))


def code_jpeg2000(image: np.ndarray, **options: Any) -> tuple[np.ndarray, float]:
    """Code an 8-bit image as JPEG 2000 and decode it."""
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "JPEG2000", no_jp2=True, **options)
    code = stream.getvalue()
    stream.seek(0)
    with Image.open(stream) as picture:
        copy = np.array(picture)
    return copy, 8 * (len(code) - code.index(_START_OF_DATA)) / (image.shape[0] * image.shape[1])


class _ByError(SolvablePath):
    """JPEG 2000 that is asked for a mean squared error: the square of the strength."""

    def __init__(self, image: np.ndarray, settings: Jpeg2000Settings) -> None:
        self.image, self.settings = image, settings

    def __call__(self, strength: float) -> np.ndarray:
        if strength <= 0:
            return self.image.copy()
        settings = replace(self.settings, layers=(float(20 * np.log10(255 / strength)),))
        return code_jpeg2000(self.image, **settings.options(self.image.shape))[0]

    def solve(self, reference: np.ndarray, wanted: float) -> float:
        """Return the strength whose error comes nearest."""
        if wanted <= mse(reference, self.image):
            return 0.0
        best, nearest = (0.0, self.settings), np.inf
        for block, resolutions in _SIZES:
            self.settings = replace(self.settings, block=(block, block), resolutions=resolutions)
            strength = float(np.sqrt(wanted))
            for _ in range(_TRIES):
                error = mse(reference, self(strength))
                miss = abs(error / wanted - 1)
                if miss < nearest:
                    best, nearest = (strength, self.settings), miss
                if miss < TOLERANCE or error == 0:
                    break
                strength = float(np.clip(strength * np.sqrt(wanted / error), 0.01, _STRONGEST))
            if nearest < TOLERANCE:
                break
        strength, self.settings = best
        return strength


_SIZES = ((64, 6), (16, 6), (32, 6), (16, 5), (16, 4), (8, 6), (64, 5), (32, 5), (8, 5), (8, 4), (32, 4), (4, 5))
"""Sizes of code blocks and numbers of resolutions, the usual ones first."""


def _ratio(strength: float) -> float:
    """Ratio of the sizes before and after coding on paths that ask for a size."""
    return 1.5 + 1.5 * strength


def _draw_settings(shape: tuple[int, ...], rng: np.random.Generator) -> Jpeg2000Settings:
    """Draw wavelets, resolutions, code blocks, tiles and the order of the data."""
    side = min(shape[:2])
    irreversible, mct = bool(rng.random() < 0.65), bool(rng.random() < 0.75)
    size = int(rng.choice([16, 32, 64, 64, 64]))
    block = (size, size) if rng.random() < 0.8 else (size // 2, size)
    tile = 0
    if rng.random() < 0.25 and side >= 64:
        tile = int(rng.choice([n for n in (64, 128, 256) if n <= side]))
        side = tile
    most = min(6, int(np.log2(side)) + 1)
    resolutions = int(rng.integers(min(3, most), most + 1)) if rng.random() < 0.5 else most
    order = str(rng.choice(["LRCP", "RLCP", "RPCL", "PCRL", "CPRL"])) if rng.random() < 0.3 else "LRCP"
    return Jpeg2000Settings((), "dB", irreversible, mct, block, resolutions, (tile, tile), order)
