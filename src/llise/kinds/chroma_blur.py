"""Chroma blur: both chroma planes lose detail, the luma stays; coarse subsampling of chroma does the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import ClassVar

import numpy as np
import scipy

from llise.colours import WEIGHTS, pixels_of, planes_of
from llise.kinds.base import Draw, Path, drawn
from llise.kinds.blur_programs import box_kernel
from llise.kinds.color_base import ColorKind
from llise.kinds.estimation import AS_GOOD, RESOLUTION, Pair, Trials, pair_of
from llise.kinds.fitting import ROUNDING, Fit, exact_fit
from llise.kinds.grey import quantise
from llise.kinds.resize import ENLARGING_NAMES, REDUCING_NAMES, resize

REDUCED = ("box", "tent", "point")
"""How values of chroma are taken: as the mean, with the neighbours, or at a place."""

HD_WEIGHTS = np.array([0.2126, 0.7152, 0.0722], np.float32)
"""Shares of red, green and blue in the luma of ITU-R BT.709."""


@dataclass(frozen=True)
class ChromaBlurSettings:
    """Chroma without detail: a Gaussian or a box of deviation `sigma` in pixels, or subsampled.

    Of a subsampling, a value of chroma stands for `factors` rows and columns; it is taken as their mean ("box"), with
    the neighbours ("tent") or at a place ("point"), lies in their middle or at the first column ("left") and row
    ("corner"), and is enlarged by a straight line or repeated. "resized" goes through another picture by the filters
    `reducing` and `enlarging`. With `hd`, luma is that of BT.709.
    """

    way: str
    sigma: float
    factors: tuple[int, int] = (1, 1)
    reducing: str = "box"
    enlarging: str = "linear"
    siting: str = "middle"
    hd: bool = False

    def words(self) -> dict[str, float]:
        return {"sigma": self.sigma}


class ChromaBlur(ColorKind):
    """Gaussian blur of the chroma planes; the strength is the standard deviation of the kernel in pixels.

    At random, half of the draws subsample the chroma instead, as coders do; the word of a draw is ``sigma``, for a
    subsampling that of a box of its sides.
    """

    name = "chroma_blur"
    title = short_title = "chroma blur"
    strongest = 60.0
    random = False
    Settings = ChromaBlurSettings
    exact = hides = needs_color = True
    units: ClassVar = {"sigma": (" px", 1.0)}
    letter, page_color = "U", "#888866"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        planes = planes_of(image)
        return lambda strength: pixels_of(blurred_chroma(planes, strength))

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        hd = bool(rng.random() < 0.25)
        if rng.random() < 0.45:
            way = str(rng.choice(["gaussian", "gaussian", "box"]))
            return drawn(self, image, lambda strength: ChromaBlurSettings(way, max(strength, 0.05), hd=hd), 30.0)
        shape = image.shape[:2]
        one_axis = bool(rng.random() < 0.3)
        reducing, enlarging = str(rng.choice(REDUCED)), str(rng.choice(["linear", "linear", "repeat"]))
        siting, resized = str(rng.choice(["middle", "middle", "left", "corner"])), bool(rng.random() < 0.3)
        if resized:
            reducing, enlarging = str(rng.choice(REDUCING_NAMES)), str(rng.choice(ENLARGING_NAMES))

        def at(strength: float) -> ChromaBlurSettings:
            factor = max(round(1 + strength), 2)
            factors = (1 if one_axis else min(factor, shape[0] // 4), min(factor, shape[1] // 4))
            sigma = _sigma_of(factors)
            return ChromaBlurSettings(
                "resized" if resized else "subsampled", sigma, factors, reducing, enlarging, siting, hd
            )

        return drawn(self, image, at, 7.0)

    def fit(
        self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: ChromaBlurSettings | None = None
    ) -> Fit | None:
        pair = pair_of(reference, copy, mask) if reference.ndim == 3 else None
        found = find_chroma_blur(pair, start) if pair is not None else None
        if found is None:
            return None
        settings, reach = found
        intervals = {"sigma": (settings.sigma - reach, settings.sigma + reach)}
        return exact_fit(self, settings, intervals)

    def apply(self, image: np.ndarray, settings: ChromaBlurSettings) -> np.ndarray:
        weights = HD_WEIGHTS if settings.hd else WEIGHTS
        luma, chroma = split(image, weights)
        return quantise(joined(luma, coarse(chroma, settings), weights))


def _sigma_of(factors: tuple[int, int]) -> float:
    """Standard deviation of a box of these sides, the mean of both axes."""
    return float(np.sqrt(sum(n * n - 1 for n in factors) / 24))


def split(image: np.ndarray, weights: np.ndarray = WEIGHTS) -> tuple[np.ndarray, np.ndarray]:
    """Luma and the differences of blue and red to it, of which all chroma is a multiple."""
    levels = image.astype(np.float32)
    luma = levels @ weights
    return luma, np.stack([levels[..., 2] - luma, levels[..., 0] - luma], axis=-1)


def joined(luma: np.ndarray, chroma: np.ndarray, weights: np.ndarray = WEIGHTS) -> np.ndarray:
    """The inverse of :func:`split`."""
    red, green, blue = weights
    rest = -(red * chroma[..., 1] + blue * chroma[..., 0]) / green
    return luma[..., None] + np.stack([chroma[..., 1], rest, chroma[..., 0]], axis=-1)


def coarse(chroma: np.ndarray, settings: ChromaBlurSettings) -> np.ndarray:
    """Chroma (h, w, 2) without its detail."""
    if settings.way == "gaussian":
        return scipy.ndimage.gaussian_filter(chroma, (settings.sigma, settings.sigma, 0), mode="nearest")
    if settings.way == "box":
        return _boxed(chroma, float(np.sqrt(12 * settings.sigma**2 + 1)))
    shape = chroma.shape[:2]
    if settings.way == "resized":
        small = tuple(max(-(-n // factor), 1) for n, factor in zip(shape, settings.factors))
        whole = quantise(chroma / 2 + 128)  # programs store chroma in 8 bits
        planes = [resize(resize(whole[..., i], small, settings.reducing), shape, settings.enlarging) for i in (0, 1)]
        return 2 * (np.stack(planes, axis=-1).astype(np.float32) - 128)
    for axis, (n, factor) in enumerate(zip(shape, settings.factors)):
        first = settings.siting == "corner" or (settings.siting == "left" and axis == 1)
        matrix = _subsampling(n, factor, settings.reducing, settings.enlarging, first)
        chroma = np.moveaxis(np.tensordot(matrix, chroma, axes=(1, axis)), 0, axis)
    return chroma


def _boxed(chroma: np.ndarray, width: float) -> np.ndarray:
    kernel = box_kernel(width).sum(axis=0)
    for axis in (0, 1):
        chroma = scipy.ndimage.convolve1d(chroma, kernel / kernel.sum(), axis=axis, mode="nearest")
    return chroma


@lru_cache(256)
def _subsampling(n: int, factor: int, reducing: str, enlarging: str, first: bool) -> np.ndarray:
    """Matrix (n, n) that reduces the chroma along an axis to a value for `factor` pixels and enlarges it."""
    if factor == 1:
        return np.eye(n, dtype=np.float32)
    places = np.arange(n)
    centres = np.arange(-(-n // factor)) * factor + (0.0 if first else (factor - 1) / 2)
    distance = np.abs(places - centres[:, None])
    if reducing == "point":
        down = places == np.minimum(np.floor(centres), n - 1)[:, None]
    elif reducing == "tent":
        down = np.maximum(1 - distance / factor, 0)
    else:
        down = np.clip((factor + 1) / 2 - distance, 0, 1)
    down = down / down.sum(axis=1, keepdims=True)
    if enlarging == "repeat":
        up = np.eye(len(centres))[places // factor]
    else:
        at = np.clip(places, centres[0], centres[-1])
        up = np.maximum(1 - np.abs(at[:, None] - centres) / factor, 0)
    return (up / up.sum(axis=1, keepdims=True) @ down).astype(np.float32)


def blurred_chroma(planes: np.ndarray, sigma: float) -> np.ndarray:
    """Blur Cb and Cr (h, w, 3) by a Gaussian; Y stays."""
    if sigma <= 1e-3:
        return planes
    blurred = scipy.ndimage.gaussian_filter(planes[..., 1:], (sigma, sigma, 0), mode="nearest")
    return np.concatenate([planes[..., :1], blurred], axis=-1)


WINDOW, MARGIN = 128, 16
"""Most rows and columns on which ways are compared, from the first pixel on, since subsampling depends on the place,
and how far from where they are cut off pixels count."""

SIGMAS = (0.5, 0.85, 1.4, 2.4, 4.0, 6.8, 11.5, 20.0)
"""Deviations from which the search starts."""

LESSENS = 0.9
"""Share of the change of chroma that the first trial may leave at most."""

KEPT = 4
"""Pairs of factors of a subsampling that are compared closely, and ways that are compared with clipping."""


def find_chroma_blur(pair: Pair, start: ChromaBlurSettings | None = None) -> tuple[ChromaBlurSettings, float] | None:
    """The way that comes nearest and the reach of an interval of sigma; None where chroma changed little or not so."""
    part, here = pair, np.s_[:WINDOW, :WINDOW]
    if np.count_nonzero(pair.mask[here]) > 0.3 * min(int(np.count_nonzero(pair.mask)), WINDOW**2):
        part = Pair(*(image[here] for image in pair))
        mask = part.mask.copy()
        for axis, n in enumerate(pair.mask.shape):
            np.moveaxis(mask, axis, 0)[WINDOW - MARGIN if n > WINDOW else n :] = False
        part = part._replace(mask=mask)
    hd = _is_hd(part)
    weights = HD_WEIGHTS if hd else WEIGHTS
    luma, chroma = split(part.before, weights)
    planes = Pair(chroma, split(part.after, weights)[1], part.mask)
    trials = Trials(planes, lambda one: coarse(chroma, one))
    first = trials.best(ChromaBlurSettings("gaussian", sigma, hd=hd) for sigma in SIGMAS)
    if trials.left(first) > LESSENS * planes.change or planes.change < ROUNDING:
        return None
    gaussian = trials.improved(first, ("sigma",), 4)
    box = trials.improved(replace(gaussian, way="box"), ("sigma",), 2)
    ways = [gaussian, box, *([replace(start, hd=hd)] if start is not None else [])]
    if trials.left(trials.best(ways)) > 2 * ROUNDING:
        ways += _coarser(trials, gaussian.sigma, part.mask.shape, hd)
    whole = Trials(part, lambda one: quantise(joined(luma, coarse(chroma, one), weights)))
    best: ChromaBlurSettings = whole.best(sorted(ways, key=trials.left)[:KEPT])
    if whole.left(best) >= part.change:
        return None
    if best.way in ("subsampled", "resized"):
        most = AS_GOOD * trials.left(best)
        alike = [one.sigma for one in trials.known if one.way == best.way and trials.left(one) <= most]
        return best, max([RESOLUTION * best.sigma, *(abs(sigma - best.sigma) for sigma in alike)])
    best, deviations = whole.polished(best, ("sigma",), 4)
    return best, max(1.645 * deviations["sigma"], 2 * RESOLUTION * best.sigma)


def _coarser(trials: Trials, sigma: float, shape: tuple[int, ...], hd: bool) -> list[ChromaBlurSettings]:
    """Subsamplings that look as if blurred by a Gaussian, and the pictures of other sizes that come nearest."""
    side = max(float(np.sqrt(12 * sigma**2 + 1)), 2.0)
    sides = [n for n in range(2, 17) if 0.4 * side <= n <= 1.6 * side and n <= min(shape) // 4] or [2]
    factors = [(n, n) for n in sides] + [(1, n) for n in range(2, 17) if 0.6 * side <= n <= 2.2 * side]

    sitings = ("middle", "left", "corner")

    def way(both: tuple[int, int], reducing: str, enlarging: str, siting: str) -> ChromaBlurSettings:
        return ChromaBlurSettings("subsampled", _sigma_of(both), both, reducing, enlarging, siting, hd)

    def resized(both: tuple[int, int], reducing: str, enlarging: str) -> ChromaBlurSettings:
        return ChromaBlurSettings("resized", _sigma_of(both), both, reducing, enlarging, hd=hd)

    def roughly(both: tuple[int, int]) -> float:
        siting = [trials.left(way(both, "tent", "linear", siting)) for siting in sitings]
        return min(*siting, trials.left(resized(both, "bicubic", "bicubic")))

    factors = sorted(factors, key=roughly)[:KEPT]
    found = [way(both, r, e, s) for both in factors for r, e, s in product(REDUCED, ("linear", "repeat"), sitings)]
    if trials.left(trials.best(found)) > 2 * ROUNDING:
        enlarged = [resized(both, "box", name) for both in factors for name in ENLARGING_NAMES]
        nearest = trials.best(enlarged)
        found += [*enlarged, *(replace(nearest, reducing=name) for name in REDUCING_NAMES)]
    return found


def _is_hd(pair: Pair) -> bool:
    """Whether the luma of BT.709 changed less than that of BT.601."""
    free = pair.mask & ((pair.after > 0) & (pair.after < 255)).all(axis=2)
    change = (pair.after - pair.before)[free if free.any() else pair.mask]
    return bool(np.mean((change @ HD_WEIGHTS) ** 2) < np.mean((change @ WEIGHTS) ** 2))
