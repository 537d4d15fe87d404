"""Distorted copies of an image at a wanted mean squared error.

A distortion is a *path* of images that starts at the image itself: ``path(strength)`` is the copy at that
strength, ``path(0)`` the image. Walking along it until the error of the rounded 8-bit copy is the wanted
one puts copies of every kind on one iso-error sphere. A new kind is a few lines::

    @register("posterise", strongest=128)
    def posterise(image, rng):
        return lambda strength: np.round(image / max(strength, 1)) * max(strength, 1)
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from PIL import Image
from scipy import fft

TOLERANCE = 0.005
"""Relative error of the MSE that counts as reached."""

Path = Callable[[float], np.ndarray]


class UnreachableWarning(UserWarning):
    """The wanted error lies beyond what the distortion can do to this image."""


@dataclass(frozen=True, eq=False)
class Distorted:
    """A distorted copy and how it was made.

    Attributes
    ----------
    image : ndarray of uint8, shape (h, w)
    kind : str
    strength : float
        Place on the kind's path: the gain about the mean (contrast), the deviation (Gaussian noise), the
        shift in grey levels (luminance), the deviation of the kernel in pixels (blur), the share of pixels
        hit (impulse noise), the factor on the standard quantiser table (JPEG; 1 is quality 50).
    wanted, measured : float
        Mean squared error that was asked for and that of `image`.
    seed : int
        Seed of the random draw; with it the copy is made again exactly.
    amplified : bool
        Whether a JPEG's coding error was multiplied to go beyond the coder's own reach.
    """

    image: np.ndarray = field(repr=False)
    kind: str
    strength: float
    wanted: float
    measured: float
    seed: int
    amplified: bool = False

    @property
    def reached(self) -> bool:
        """Whether the wanted error was met to within 0.5 %."""
        return abs(self.measured - self.wanted) <= TOLERANCE * self.wanted


@dataclass(frozen=True)
class Family:
    """A registered kind: how its path is built, where it ends, whether it has two directions."""

    name: str
    build: Callable[..., Path]
    strongest: float
    two_sided: bool = False


_FAMILIES: dict[str, Family] = {}


def register(name: str, *, strongest: float, two_sided: bool = False):
    """Add a kind of distortion under `name`.

    The decorated function takes ``(image, rng)``, the image as float32 on the 0..255 scale and a seeded
    ``numpy.random.Generator``, and returns the path: a function of the strength (0 to `strongest`) that
    gives the copy as floats (rounded and clipped for it) or uint8. Its error should grow with the strength.
    Random fields are to be drawn once, outside the path. A `two_sided` kind takes ``direction=1`` or ``-1``
    besides.
    """

    def add(build: Callable[..., Path]) -> Callable[..., Path]:
        _FAMILIES[name] = Family(name, build, float(strongest), two_sided)
        return build

    return add


def kinds() -> tuple[str, ...]:
    """Names of the registered kinds."""
    return tuple(_FAMILIES)


def is_two_sided(kind: str) -> bool:
    """Whether `kind` has two directions (contrast, luminance)."""
    return _family(kind).two_sided


def apply(image: np.ndarray, kind: str, mse: float, random_state: Any = None, **options: Any) -> np.ndarray:
    """Distort `image` to the wanted error and return the 8-bit copy; see :func:`make` for all of its properties.

    Examples
    --------
    >>> from llise import datasets, distortions
    >>> camera = datasets.reference()
    >>> copy = distortions.apply(camera, "jpeg", mse=100, random_state=0)
    >>> round(distortions.mse(camera, copy))
    100
    """
    result = make(image, kind, mse, random_state, **{"warn": False, **options})
    if options.get("warn", True):
        warn_of_misses([result], stacklevel=3)
    return result.image


def make(
    image: np.ndarray,
    kind: str,
    mse: float,
    random_state: Any = None,
    *,
    direction: int | None = None,
    amplify: bool = False,
    reference: np.ndarray | None = None,
    warn: bool = True,
) -> Distorted:
    """Distort `image` so that its mean squared error is the wanted one.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w)
        Grey image.
    kind : str
        One of :func:`kinds`.
    mse : float
        Wanted error on the 0..255 scale, reached to within 0.5 % after rounding to 8 bits. Where that
        cannot be done, the nearest copy is returned with an :class:`UnreachableWarning`.
    random_state : int, Generator, RandomState or None
        Seeds the draw; global generators are neither read nor changed.
    direction : {1, -1} or None
        Contrast: stretched or reduced. Luminance: lighter or darker. None takes 1, or -1 where only that
        comes nearer.
    amplify : bool
        Beyond the reach of JPEG, multiply the coding error until it has the wanted size (marked
        ``amplified``) instead of stopping there.
    reference : ndarray, optional
        Image against which the error counts when `image` is distorted already: a mixture's second part.
    warn : bool
        Whether to warn of an error that could not be reached; ``reached`` of the result tells it too.

    Returns
    -------
    Distorted
    """
    image = check_image(image)
    target = image if reference is None else check_image(reference, "reference")
    if target.shape != image.shape:
        raise ValueError(f"image is {image.shape} and reference is {target.shape}; both must have one size")
    family = _family(kind)
    if direction not in (None, 1, -1):
        raise ValueError(f"direction={direction!r}: expected 1, -1 or None")
    if direction is not None and not family.two_sided:
        raise ValueError(f"direction={direction!r}: {kind!r} has no direction; leave it out")
    wanted = float(mse)
    if not (np.isfinite(wanted) and wanted >= 0):
        raise ValueError(f"mse={mse!r}: expected a finite number, 0 or more")
    seed = as_seed(random_state)

    best = None
    for options in _variants(family, direction):
        path = family.build(image.astype(np.float32), np.random.default_rng(seed), **options)
        search = _Search(path, target, wanted)
        search.run(_end(path, family))
        if best is None or search.miss < best.miss:
            best = search
        if best.miss <= TOLERANCE:
            break
    assert best is not None
    amplified = False
    if best.miss > TOLERANCE and kind == "jpeg" and amplify and best.measured < wanted:
        best, amplified = _amplified(image, target, best, wanted)
    result = Distorted(best.image, kind, best.signed_strength, wanted, best.measured, seed, amplified)
    if warn:
        warn_of_misses([result], stacklevel=3)
    return result


def warn_of_misses(results: Iterable[Distorted], stacklevel: int = 2) -> None:
    """Warn once of all results whose error could not be reached, with the nearest that was."""
    misses = [f"{r.kind} {r.wanted:g} (nearest {r.measured:.4g})" for r in results if not r.reached]
    if misses:
        shown = ", ".join(misses[:6]) + (f" and {len(misses) - 6} more" if len(misses) > 6 else "")
        warnings.warn(f"MSE unreachable on this image: {shown}", UnreachableWarning, stacklevel=stacklevel)


def reach(image: np.ndarray, kind: str, random_state: Any = None, *, direction: int | None = None) -> float:
    """Return the error of the strongest copy that `kind` can make of `image`."""
    image = check_image(image)
    family = _family(kind)
    errors = []
    for options in _variants(family, direction):
        path = family.build(image.astype(np.float32), np.random.default_rng(as_seed(random_state)), **options)
        errors.append(mse(image, quantise(path(_end(path, family)))))
    return max(errors)


def mse(a: np.ndarray, b: np.ndarray) -> float:
    """Mean squared error of two images, on their own scale."""
    difference = np.subtract(a, b, dtype=np.float64).ravel()
    # Not a BLAS product: its threads would wait for one another far longer than the sum takes.
    return float(np.einsum("i,i", difference, difference)) / difference.size


def quantise(values: np.ndarray, threshold: np.ndarray | None = None) -> np.ndarray:
    """Round to 8 bits: to the nearest level, or up wherever the fraction exceeds 1 - `threshold`."""
    if values.dtype == np.uint8:
        return values
    rounded = np.rint(values) if threshold is None else np.floor(values + threshold)
    return np.clip(rounded, 0, 255, out=rounded).astype(np.uint8)


def check_image(image: Any, name: str = "image") -> np.ndarray:
    """Return `image` as an array after making sure that it is grey and has 8 bits."""
    array = np.asarray(image)
    if array.ndim != 2 or array.dtype != np.uint8 or array.size == 0:
        raise ValueError(
            f"{name} has shape {array.shape} and dtype {array.dtype}; expected a grey 8-bit image, "
            "(h, w) of uint8: llise.read_image reads files of any depth and colour as that"
        )
    return array


def as_seed(random_state: Any) -> int:
    """Return an integer seed: the integer given, a draw from the generator given, or fresh entropy for None."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**32, dtype=np.uint32))
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    raise ValueError(f"random_state={random_state!r}: expected None, a non-negative int, a Generator or a RandomState")


def _family(kind: str) -> Family:
    try:
        return _FAMILIES[kind]
    except (KeyError, TypeError):
        raise ValueError(f"unknown kind {kind!r}; the known ones are {', '.join(_FAMILIES)}") from None


def _variants(family: Family, direction: int | None) -> list[dict[str, int]]:
    if not family.two_sided:
        return [{}]
    return [{"direction": d} for d in ((1, -1) if direction is None else (direction,))]


def _end(path: Path, family: Family) -> float:
    """Strength at which a path ends: its own, or that of its family."""
    return getattr(path, "strongest", family.strongest)


# The walk along a path


class _Search:
    """Looks for the strength at which a path's rounded copy has the wanted error; keeps the nearest copy seen."""

    def __init__(self, path: Path, reference: np.ndarray, wanted: float) -> None:
        self.path = path
        self.reference = reference
        self.wanted = wanted
        self.image = reference
        self.strength = 0.0
        self.measured = np.inf
        self.threshold: np.ndarray | None = None

    @property
    def miss(self) -> float:
        """Relative distance of the best copy's error from the wanted one."""
        if self.wanted == 0:
            return 0.0 if self.measured == 0 else np.inf
        return abs(self.measured - self.wanted) / self.wanted

    @property
    def signed_strength(self) -> float:
        return float(getattr(self.path, "shown", lambda s: s)(self.strength))

    def error(self, strength: float) -> float:
        """Error at `strength`; the copy is kept if it is the nearest so far."""
        strength = float(strength)
        image = quantise(self.path(strength), self.threshold)
        measured = mse(self.reference, image)
        if abs(measured - self.wanted) < abs(self.measured - self.wanted):
            self.image, self.strength, self.measured = image, strength, measured
        return measured

    def run(self, strongest: float) -> None:
        """Walk until the error is met: directly, by rounding along a ramp, or by trying strengths near the jump."""
        solve = getattr(self.path, "solve", None)
        if solve is not None:
            self.error(solve(self.reference, self.wanted))
            return
        jump = self.bisect(strongest)
        if self.miss <= TOLERANCE:
            return
        if self.path(strongest).dtype == np.uint8:
            self.walk_discrete(jump, strongest)
            return
        if jump is None:
            return
        # Whole grey levels are too coarse (a shift by 6.7 must be 6 or 7): the threshold of the rounding
        # falls from the first pixel to the last, so that one part of the image gets 7 and the rest 6, and
        # no noise is added.
        size = self.reference.size
        ramp = (np.arange(size, 0, -1, dtype=np.float32) - 0.5) / size
        self.threshold = ramp.reshape(self.reference.shape)
        self.bisect(strongest)

    def bisect(self, strongest: float, steps: int = 40) -> float | None:
        """Bracket the wanted error and halve; None if even the strongest copy falls short of it."""
        low, high = 0.0, min(strongest, 1e-3)
        at_low, at_high = self.error(0.0), self.error(high)
        if self.miss <= TOLERANCE / 4:
            return None
        while at_high < self.wanted:
            if high >= strongest:
                return None
            low, at_low = high, at_high
            # The error grows about with the square of the strength.
            guess = high * np.sqrt(self.wanted / max(at_high, 1e-9)) * 1.02
            high = min(strongest, max(2 * high, min(guess, 16 * high)))
            at_high = self.error(high)
        for step in range(steps):
            if self.miss <= TOLERANCE / 4 or high - low <= 1e-7 * high:
                break
            middle = _between(low, high, at_low, at_high, self.wanted) if step % 3 else (low + high) / 2
            at_middle = self.error(middle)
            if at_middle < self.wanted:
                low, at_low = middle, at_middle
            else:
                high, at_high = middle, at_middle
        return (low + high) / 2

    def walk_discrete(self, jump: float | None, strongest: float) -> None:
        """Meet the error on a path of whole steps: near the jump, then on the path's variants.

        A coder's error does not grow steadily; a path that falls short is tried all along its length.
        """
        self.scan(np.geomspace(strongest / 1000, strongest, 48) if jump is None else _around(jump))
        if jump is None:
            return
        for variant in getattr(self.path, "variants", lambda wanted: [])(self.wanted):
            if self.miss <= TOLERANCE:
                return
            self.path = variant
            jump = self.bisect(strongest)
            self.scan(_around(jump or 0.0)[:8])

    def scan(self, strengths: np.ndarray) -> None:
        """Try strengths in turn until one meets the error."""
        for strength in strengths:
            if self.miss <= TOLERANCE:
                return
            self.error(float(strength))


def _around(strength: float, steps: int = 16) -> np.ndarray:
    """Strengths ever farther from `strength`, on both sides."""
    offsets = 0.0015 * np.arange(1, steps + 1)
    return strength * (1 + np.stack([offsets, -offsets], axis=1).ravel())


def _between(low: float, high: float, at_low: float, at_high: float, wanted: float) -> float:
    """Secant on the root of the error, kept off the ends of the bracket."""
    part = (np.sqrt(wanted) - np.sqrt(at_low)) / max(np.sqrt(at_high) - np.sqrt(at_low), 1e-12)
    return low + (high - low) * min(max(part, 0.05), 0.95)


def _amplified(image: np.ndarray, reference: np.ndarray, coded: _Search, wanted: float) -> tuple[_Search, bool]:
    """Multiply the coding error of `coded` until the wanted error is met."""
    base = image.astype(np.float32)
    coding_error = coded.image.astype(np.float32) - base
    search = _Search(lambda factor: base + factor * coding_error, reference, wanted)
    search.run(1e3)
    if search.miss >= coded.miss:
        return coded, False
    return search, True


# The six kinds of the paper


class _Contrast:
    """mean + gain (x - mean); a point operation, so a table of 256 levels."""

    def __init__(self, image: np.ndarray, direction: int) -> None:
        self.direction = direction
        self.strongest = 1e3 if direction > 0 else 1.0  # a gain of 0 leaves the mean alone
        self.mean = float(image.mean(dtype=np.float64))
        self.levels = image.astype(np.uint8)

    def shown(self, strength: float) -> float:
        """Gain of the contrast at `strength`."""
        return 1 + self.direction * strength

    def __call__(self, strength: float) -> np.ndarray:
        table = self.mean + self.shown(strength) * (np.arange(256) - self.mean)
        return table.astype(np.float32)[self.levels]


@register("contrast", strongest=1e3, two_sided=True)
def _contrast(image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
    return _Contrast(image, direction)


@register("gaussian_noise", strongest=1e4)
def _gaussian_noise(image: np.ndarray, rng: np.random.Generator) -> Path:
    noise = rng.standard_normal(image.shape, dtype=np.float32)
    return lambda strength: image + np.float32(strength) * noise


class _Luminance:
    """x + shift."""

    def __init__(self, image: np.ndarray, direction: int) -> None:
        self.image = image
        self.direction = direction

    def shown(self, strength: float) -> float:
        """Shift in grey levels, negative if darker."""
        return self.direction * strength

    def __call__(self, strength: float) -> np.ndarray:
        return self.image + np.float32(self.shown(strength))


@register("luminance", strongest=255, two_sided=True)
def _luminance(image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
    return _Luminance(image, direction)


@register("blur", strongest=256)
def _blur(image: np.ndarray, rng: np.random.Generator) -> Path:
    # A Gaussian kernel with mirrored borders is a product in the cosine domain: exp(-(strength *
    # frequency)^2 / 2).
    spectrum = fft.dctn(image, norm="ortho")
    rows, cols = (-0.5 * (np.pi * np.arange(n, dtype=np.float32) / n) ** 2 for n in image.shape)

    def path(strength: float) -> np.ndarray:
        square = np.float32(strength) ** 2
        gain = np.exp(square * rows)[:, None] * np.exp(square * cols)
        return fft.idctn(spectrum * gain, norm="ortho")

    return path


class _Impulse:
    """Pixels in a random order become 0 or 255; a stronger copy hits the same pixels and more."""

    def __init__(self, image: np.ndarray, rng: np.random.Generator) -> None:
        self.image = image
        self.order = rng.permutation(image.size)
        self.values = np.where(rng.random(image.size) < 0.5, np.uint8(255), np.uint8(0))

    def __call__(self, strength: float) -> np.ndarray:
        hit = self.order[: round(strength * self.image.size)]
        copy = self.image.astype(np.uint8)
        copy.flat[hit] = self.values[hit]
        return copy

    def solve(self, reference: np.ndarray, wanted: float) -> float:
        """Share of pixels that comes nearest: the error is a running sum along the order.

        A running sum steps over the wanted error by up to one pixel's worth, much in a small image; so the
        last two pixels are not the next in order but the two, of all that are left, whose errors fill the
        gap best.
        """
        clean = reference.ravel().astype(np.float64)
        before = (self.image.ravel() - clean) ** 2
        gain = ((self.values - clean) ** 2 - before)[self.order]
        need = wanted * clean.size - before.sum()
        total = np.cumsum(gain)
        if total[-1] <= need or need <= 0:
            return float(need > 0)
        count = max(int(np.argmax(total > need)) - 1, 0)
        gap = need - (total[count - 1] if count else 0.0)
        left = gain[count:]
        ranks = np.argsort(left, kind="stable")
        partner = np.searchsorted(left[ranks], gap - left).clip(max=left.size - 1)
        chosen = _best_fill(left, ranks[partner], gap)
        rest = np.delete(self.order[count:], chosen)
        self.order[count:] = np.concatenate([self.order[count:][chosen], rest])
        return (count + len(chosen)) / clean.size


def _best_fill(values: np.ndarray, partner: np.ndarray, gap: float) -> list[int]:
    """Indices of no value, one, or one and its partner, whichever sum lies nearest to `gap`."""
    alone = int(np.argmin(np.abs(values - gap)))
    misses = np.abs(values + values[partner] - gap)
    misses[partner == np.arange(values.size)] = np.inf
    first = int(np.argmin(misses))
    options = [[], [alone], [first, int(partner[first])]]
    if not np.isfinite(misses[first]):
        options.pop()
    return min(options, key=lambda option: abs(values[option].sum() - gap))


@register("impulse_noise", strongest=1)
def _impulse_noise(image: np.ndarray, rng: np.random.Generator) -> Path:
    return _Impulse(image, rng)


# Luminance table of the JPEG standard (ITU-T T.81, Table K.1), row by row.
STANDARD_TABLE = np.array(
    [
        [16, 11, 10, 16, 24, 40, 51, 61],
        [12, 12, 14, 19, 26, 58, 60, 55],
        [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62],
        [18, 22, 37, 56, 68, 109, 103, 77],
        [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101],
        [72, 92, 95, 98, 112, 100, 103, 99],
    ],
    dtype=np.float64,
)


def code_jpeg(image: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Code an 8-bit image as a baseline JPEG with the quantiser `table` (64 steps, row by row) and decode it."""
    steps = np.clip(np.rint(table), 1, 255).astype(int).ravel().tolist()
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "JPEG", qtables=[steps])
    stream.seek(0)
    with Image.open(stream) as coded:
        return np.asarray(coded)


class _Jpeg:
    """JPEG with the standard table times the strength.

    Qualities are whole numbers; the table they stand for can be scaled finely. At 25.5 every step is 255, the
    most that 8 bits hold: quality 1, the end of baseline JPEG.
    """

    def __init__(self, image: np.ndarray, mean_step: float | None = None) -> None:
        self.levels = image.astype(np.uint8)
        self.mean_step = mean_step

    def __call__(self, strength: float) -> np.ndarray:
        if strength <= 0:
            return self.levels
        table = strength * STANDARD_TABLE
        if self.mean_step is not None:
            table[0, 0] = self.mean_step
        return code_jpeg(self.levels, table)

    def variants(self, wanted: float) -> list[_Jpeg]:
        """Paths on which the step of the block means stays, at an error of its own just below the wanted one.

        In smooth images it is this one step that makes the error jump; with it held, the others move it
        finely.
        """
        whole = np.pad(self.levels, [(0, -n % 8) for n in self.levels.shape], mode="edge")
        rows, cols = (n // 8 for n in whole.shape)
        means = whole.reshape(rows, 8, cols, 8).mean(axis=(1, 3)) - 128.0
        steps = np.arange(1, 256)
        shares = np.array([np.mean((means - step / 8 * np.rint(8 * means / step)) ** 2) for step in steps])
        below = steps[shares < 0.99 * wanted]
        nearest_first = below[np.argsort(-shares[below - 1])]
        return [_Jpeg(self.levels, float(step)) for step in nearest_first[:24:2]]


@register("jpeg", strongest=25.5)
def _jpeg(image: np.ndarray, rng: np.random.Generator) -> Path:
    return _Jpeg(image)
