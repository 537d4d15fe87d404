"""Distorted copies of an image at a wanted mean squared error.

A distortion is a *path* of images that starts at the image itself: ``path(strength)`` is the copy at that
strength, ``path(0)`` the image. The strength is searched at which the rounded 8-bit copy has the wanted error; so
copies of every kind lie on one sphere of equal error around the image. :func:`register` adds a kind in a few lines.
The kinds themselves and the search are in :mod:`llise.kinds`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from llise.kinds import registry
from llise.kinds.base import FunctionKind, Kind, Path
from llise.kinds.color_base import suited
from llise.kinds.grey import check_image, mse, quantise
from llise.kinds.jpeg import STANDARD_TABLE, code_jpeg
from llise.kinds.search import TOLERANCE, Search
from llise.kinds.seeds import as_seed
from llise.kinds.shared_paths import SharedPaths

__all__ = [
    "STANDARD_TABLE",
    "TOLERANCE",
    "Distorted",
    "Path",
    "SharedPaths",
    "UnreachableWarning",
    "apply",
    "as_seed",
    "check_image",
    "code_jpeg",
    "is_two_sided",
    "kinds",
    "make",
    "mse",
    "quantise",
    "reach",
    "register",
    "warn_of_misses",
]


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
        In the kind's own unit: the gain about the mean (contrast), the standard deviation (Gaussian noise), the
        offset in grey levels (luminance), the standard deviation of the kernel in pixels (blur), the share of
        pixels hit (impulse noise), the factor on the standard quantiser table (JPEG; 1 is quality 50); each class
        in :mod:`llise.kinds` says it for its kind. If `amplified`, the factor on the coding error.
    wanted, measured : float
        Mean squared error that was asked for and that of `image`.
    seed : int
        Seed of the random numbers; with it the copy can be made again exactly.
    amplified : bool
        Whether a JPEG's coding error was multiplied because the strongest coding falls short of the wanted error.

    Examples
    --------
    >>> from llise import datasets, distortions
    >>> copy = distortions.make(datasets.reference(), "gaussian_noise", mse=25, random_state=0)
    >>> copy.kind, round(copy.strength), copy.reached
    ('gaussian_noise', 5, True)
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
        """Whether the wanted error was reached to within 0.5 %."""
        return abs(self.measured - self.wanted) <= TOLERANCE * self.wanted


def register(
    name: str, *, strongest: float, two_sided: bool = False
) -> Callable[[Callable[..., Path]], Callable[..., Path]]:
    """Add a kind of distortion that is given by a function.

    A kind with titles, units or several ways of making it is a subclass of :class:`llise.kinds.base.Kind` instead.

    Parameters
    ----------
    name : str
        Name of the kind.
    strongest : float
        Strength at which the path ends.
    two_sided : bool
        Whether there are two directions; the function then takes ``direction=1`` or ``-1`` besides.

    Returns
    -------
    callable
        Decorator for a function of ``(image, rng)``, the image as float32 on the 0..255 scale and a seeded
        ``numpy.random.Generator``, that returns the path: a function of the strength that gives the copy as floats
        (rounded and clipped afterwards) or uint8. Its error should grow with the strength. Random fields have
        to be drawn once, outside the path.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import datasets, distortions
    >>> @distortions.register("stripes", strongest=255)
    ... def stripes(image, rng):
    ...     pattern = np.where(np.arange(image.shape[1]) % 4 < 2, 1.0, -1.0)
    ...     return lambda strength: image + strength * pattern
    >>> round(distortions.make(datasets.reference(), "stripes", mse=100).measured)
    100
    >>> from llise.kinds.registry import unregister
    >>> unregister("stripes")
    """

    def add(build: Callable[..., Path]) -> Callable[..., Path]:
        registry.register(FunctionKind(name, build, strongest, two_sided))
        return build

    return add


def kinds() -> tuple[str, ...]:
    """Return the names of the registered kinds.

    Returns
    -------
    tuple of str
        In the order of registration.

    Examples
    --------
    >>> from llise import distortions
    >>> distortions.kinds()[:6]
    ('contrast', 'gaussian_noise', 'luminance', 'blur', 'impulse_noise', 'jpeg')
    """
    return registry.names()


def is_two_sided(kind: str) -> bool:
    """Return whether a kind has two directions, as contrast and luminance have.

    Parameters
    ----------
    kind : str
        One of :func:`kinds`.

    Returns
    -------
    bool
        Whether `direction` can be given.

    Examples
    --------
    >>> from llise import distortions
    >>> distortions.is_two_sided("luminance"), distortions.is_two_sided("blur")
    (True, False)
    """
    return registry.get(kind).two_sided


def apply(image: np.ndarray, kind: str, mse: float, random_state: Any = None, **options: Any) -> np.ndarray:
    """Distort an image to the wanted error and return the 8-bit copy.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w) or (h, w, 3)
        Grey or colour image, as for :func:`make`.
    kind : str
        One of :func:`kinds`.
    mse : float
        Wanted mean squared error on the 0..255 scale.
    random_state : int, Generator, RandomState or None
        Seed of the random numbers.
    **options
        The other parameters of :func:`make`.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        The distorted copy.

    See Also
    --------
    make : Returns the strength, the measured error and the seed as well.

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
    paths: SharedPaths | None = None,
) -> Distorted:
    """Distort an image so that its mean squared error is the wanted one.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w) or (h, w, 3)
        Grey image, or colour, where kinds of the luma change all channels alike and the error is the mean over them.
    kind : str
        One of :func:`kinds`.
    mse : float
        Wanted error on the 0..255 scale, reached to within 0.5 % after rounding to 8 bits. Where that
        cannot be done, the nearest copy is returned with an :class:`UnreachableWarning`.
    random_state : int, Generator, RandomState or None
        Seed of the random numbers; global generators are neither read nor changed.
    direction : {1, -1} or None
        Contrast: stretched or reduced. Luminance: lighter or darker. None takes 1, or -1 where only that comes nearer.
    amplify : bool
        Where JPEG cannot reach the error, multiply the coding error until it has the wanted size (marked
        ``amplified``) instead of stopping there.
    reference : ndarray, optional
        Image against which the error is measured; `image` if left out. A mixture's second kind needs it.
    warn : bool
        Whether to warn of an error that could not be reached; ``reached`` of the result tells it too.
    paths : SharedPaths, optional
        Made for `image` and `reference`, and given to every call that makes a copy of them: these take less time then.

    Returns
    -------
    Distorted
        The copy and how it was made.

    Examples
    --------
    >>> from llise import datasets, distortions
    >>> copy = distortions.make(datasets.reference(), "contrast", mse=200, direction=-1, random_state=0)
    >>> copy.strength < 1, copy.reached
    (True, True)
    """
    distortion, image = suited(registry.get(kind), image)
    target = image if reference is None else suited(distortion, reference, "reference")[1]
    if target.shape != image.shape:
        raise ValueError(f"image is {image.shape} and reference is {target.shape}; both must have the same size")
    directions = _directions(distortion, direction)
    if not (np.isfinite(mse) and mse >= 0):
        raise ValueError(f"mse={mse!r}: expected a finite number, 0 or more")
    paths = SharedPaths(image, target) if paths is None else paths
    result = _nearest(distortion, paths, float(mse), as_seed(random_state), directions)
    if amplify and distortion.amplifiable and not result.reached and result.measured < mse:
        result = _amplify(result, paths)
    if warn:
        warn_of_misses([result], stacklevel=3)
    return result


def warn_of_misses(results: Iterable[Distorted], stacklevel: int = 2) -> None:
    """Warn once of all copies whose wanted error could not be reached, and name the nearest error.

    Parameters
    ----------
    results : iterable of Distorted
        Copies to look at.
    stacklevel : int
        Which caller the warning points to, as for :func:`warnings.warn`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import distortions
    >>> copy = distortions.make(np.full((16, 16), 9, np.uint8), "luminance", mse=100)
    >>> distortions.warn_of_misses([copy])  # reached: no warning
    """
    misses = [f"{r.kind} {r.wanted:g} (nearest {r.measured:.4g})" for r in results if not r.reached]
    if misses:
        shown = ", ".join(misses[:6]) + (f" and {len(misses) - 6} more" if len(misses) > 6 else "")
        warnings.warn(f"MSE unreachable on this image: {shown}", UnreachableWarning, stacklevel=stacklevel)


def reach(image: np.ndarray, kind: str, random_state: Any = None, *, direction: int | None = None) -> float:
    """Return the error of the strongest copy that a kind can make of an image.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w)
        Grey image.
    kind : str
        One of :func:`kinds`.
    random_state : int, Generator, RandomState or None
        Seed of the random numbers.
    direction : {1, -1} or None
        Of contrast and luminance; None takes the one that reaches farther.

    Returns
    -------
    float
        Mean squared error.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import distortions
    >>> distortions.reach(np.full((16, 16), 250, np.uint8), "luminance", direction=1)
    25.0
    """
    distortion, image = suited(registry.get(kind), image)
    errors = []
    for turn in _directions(distortion, direction):
        path = distortion.path(image, np.random.default_rng(as_seed(random_state)), turn)
        errors.append(mse(image, quantise(path(distortion.end(turn)))))
    return max(errors)


def _directions(kind: Kind, direction: int | None) -> tuple[int, ...]:
    """Directions to try, in order."""
    if direction not in (None, 1, -1):
        raise ValueError(f"direction={direction!r}: expected 1, -1 or None")
    if not kind.two_sided:
        if direction is not None:
            raise ValueError(f"direction={direction!r}: {kind.name!r} has no direction; leave it out")
        return (1,)
    return (1, -1) if direction is None else (direction,)


def _nearest(kind: Kind, paths: SharedPaths, wanted: float, seed: int, directions: tuple[int, ...]) -> Distorted:
    """Distort in the first direction that reaches the wanted error, or in the one that comes nearest to it."""
    searches = []
    for direction in directions:
        search = paths.search(kind, wanted, seed, direction)
        search.run(kind.end(direction))
        searches.append((search, direction))
        if search.miss <= TOLERANCE:
            break
    best, direction = min(searches, key=lambda entry: entry[0].miss)
    strength = float(kind.reported_strength(best.strength, direction))
    return Distorted(best.image, kind.name, strength, wanted, best.measured, seed)


def _amplify(coded: Distorted, paths: SharedPaths) -> Distorted:
    """Multiply the coding error, the difference between the coded image and the image, to meet the wanted error."""
    search = Search(paths.line_to(coded.image), paths.reference, coded.wanted)
    search.run(1e3)
    if abs(search.measured - coded.wanted) >= abs(coded.measured - coded.wanted):
        return coded
    return replace(coded, image=search.image, strength=search.strength, measured=search.measured, amplified=True)
