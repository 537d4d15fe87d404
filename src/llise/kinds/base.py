"""What a kind of distortion has to offer: copies at a strength, random copies with their settings, fits of settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from llise.kinds.fitting import Fit
from llise.kinds.limits import LIMITS, Limit
from llise.kinds.paths import CoderPath, LevelPath, Path, SolvablePath

__all__ = ["CoderPath", "Draw", "FunctionKind", "Kind", "LevelPath", "Path", "Settings"]
__all__ += ["SolvablePath", "drawn"]


class Settings(Protocol):
    """Settings of a kind: a frozen dataclass of numbers, texts and tuples, from which ``Kind.apply`` makes the copy."""

    def words(self) -> dict[str, float]:
        """The few numbers that people are told, which ``Kind.fit`` finds: ``{"sigma": 12.0}``."""


@dataclass(frozen=True, eq=False)
class Draw:
    """One of the many ways in which programs make a kind, drawn at random.

    Attributes
    ----------
    path : Path
        Copies of the image by strength.
    end : float
        Strength at which the path ends.
    parameters : callable
        ``parameters(strength)`` gives the copy's settings in the kind's own units, such as ``{"sigma": 2.1}``;
        empty where this way of making the kind has no such settings.
    first : callable, optional
        ``first(wanted)`` gives the strength to try first for a wanted mean squared error. A hundredth of `end` is
        tried first if it is left out; a path that is slow to follow should have a better guess.
    settings : callable, optional
        ``settings(strength)`` gives the complete settings: ``path(strength) == kind.apply(image, settings(strength))``.
        Pictures of three channels have them.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.luminance import Luminance
    >>> image = np.full((16, 16, 3), 100, np.uint8)
    >>> draw = Luminance().draw(image, np.random.default_rng(0))
    >>> draw.parameters(5.0)
    {'offset': 5.0}
    """

    path: Path
    end: float
    parameters: Callable[[float], dict[str, float]] = field(default_factory=lambda: _no_parameters)
    first: Callable[[float], float] | None = None
    settings: Callable[[float], Any] | None = None


def drawn(
    kind: Kind,
    image: np.ndarray,
    settings: Callable[[float], Any],
    end: float,
    first: Callable[[float], float] | None = None,
    path: Path | None = None,
) -> Draw:
    """A draw whose copies are what ``kind.apply`` makes of the settings, or a quicker `path` that is equal to it."""
    path = path or (lambda strength: kind.apply(image, settings(strength)) if strength > 0 else image.copy())
    return Draw(path, end, lambda strength: settings(strength).words(), first, settings)


def _no_parameters(strength: float) -> dict[str, float]:
    return {}


class Kind(ABC):
    """A kind of distortion.

    A subclass sets the attributes and writes :meth:`path`. The other methods have defaults that suit a kind
    which is made in one way only and whose strength is its own unit.

    Attributes
    ----------
    name : str
        Name in labels, commands and files, such as ``"jpeg"``.
    title : str
        How a sentence calls it, such as ``"JPEG compression"``.
    short_title : str
        How a table or a legend calls it, such as ``"JPEG"``.
    strongest : float
        Strength at which paths end.
    two_sided : bool
        Whether there are two directions, such as lighter and darker.
    amplifiable : bool
        Whether the error may be multiplied where the strongest copy falls short of the wanted error.
    random : bool
        Whether the copy depends on random numbers. Where it does not, all copies of an image are made on one path.
    Settings : type
        Class of the settings, see :class:`Settings`.
    exact : bool
        Whether ``apply`` makes the very copy again from what ``fit`` found, but for the random part.
    hides : bool
        Whether it looks beyond a pixel, so that it changes what was there before it.
    wipes : bool
        Whether it may wipe out what was there before it.
    needs_color : bool
        Whether only pictures with colours can have it.
    units : dict of str to tuple
        Unit of each setting that has one, and the factor from its value to that unit.
    narrow : tuple, optional
        The one setting that a narrow column shows, how, and the factor: ``("sigma", "sigma {}", 1.0)``.
    limit : Limit, optional
        What a gate may limit.
    letter, page_color : str
        Letter of the kind in maps of text, and its colour on pages.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.base import Kind
    >>> class Inversion(Kind):
    ...     name = "inversion"
    ...     title = short_title = "inversion"
    ...     strongest = 1.0
    ...     def path(self, image, rng, direction=1):
    ...         return lambda strength: image + strength * (255.0 - 2.0 * image)
    >>> image = np.array([[0, 100], [200, 255]], np.uint8)
    >>> Inversion().path(image, np.random.default_rng(0))(1.0)
    array([[255., 155.],
           [ 55.,   0.]])
    """

    name: str
    title: str
    short_title: str
    strongest: float
    two_sided: bool = False
    amplifiable: ClassVar[bool] = False
    random: ClassVar[bool] = True
    Settings: ClassVar[type]
    exact: ClassVar[bool] = False
    hides: ClassVar[bool] = False
    wipes: ClassVar[bool] = False
    needs_color: ClassVar[bool] = False
    units: ClassVar[dict[str, tuple[str, float]]] = {}
    narrow: ClassVar[tuple[str, str, float] | None] = None
    limit: ClassVar[Limit | None] = None
    letter: ClassVar[str] = "?"
    page_color: ClassVar[str] = "#888888"

    def __init_subclass__(cls) -> None:
        cls.limit = LIMITS.get(getattr(cls, "name", ""), cls.limit)

    @abstractmethod
    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        """Copies of an image by strength; random numbers are drawn here, so that one field serves all strengths."""

    def end(self, direction: int = 1) -> float:
        """Strength at which the path in a direction ends."""
        return self.strongest

    def reported_strength(self, strength: float, direction: int = 1) -> float:
        """A strength of the path in the kind's own unit, such as a gain below 1 where the contrast is reduced."""
        return strength

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        """Draw one of the ways in which programs make this kind.

        Parameters
        ----------
        image : ndarray of uint8, shape (h, w) or (h, w, 3)
            Image to distort, 16 pixels or more on each side; a grey picture may have three equal channels.
        rng : numpy.random.Generator
            Source of all random numbers.

        Returns
        -------
        Draw
            The path, where it ends, and the settings at a strength.

        Examples
        --------
        >>> import numpy as np
        >>> from llise.kinds.registry import get
        >>> image = np.full((16, 16, 3), 100, np.uint8)
        >>> draw = get("gaussian_noise").draw(image, np.random.default_rng(0))
        >>> draw.path(3.0).shape, draw.settings(3.0).sigma
        ((16, 16, 3), 3.0)
        """
        direction = int(rng.choice([-1, 1])) if self.two_sided else 1
        return Draw(self.path(image, rng, direction), self.end(direction))

    def apply(self, image: np.ndarray, settings: Any) -> np.ndarray:
        """The copy of an image of uint8, (h, w) or (h, w, 3), that settings make; the same each time."""
        raise NotImplementedError(f"{self.name} has no settings")

    def fit(self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: Any = None) -> Fit | None:
        """Find the settings with which this kind turned a reference into a copy.

        Parameters
        ----------
        reference, copy : ndarray of uint8 or float32, shape (h, w) or (h, w, 3)
            On the scale 0 to 255; rows and columns start on the grid of 8 x 8 blocks of the whole picture.
        mask : ndarray of bool, shape (h, w)
            Pixels to compare. The others are there for filters that look beyond the region.
        start : Settings, optional
            Where to start.

        Returns
        -------
        Fit or None
            The settings, their intervals and how to apply them; None if the kind cannot have done this.
        """
        return None


class FunctionKind(Kind):
    """A kind whose paths come from a function, as :func:`llise.distortions.register` adds them.

    Parameters
    ----------
    name : str
        Name of the kind; its titles are the same with spaces instead of underscores.
    build : callable
        ``build(image, rng)`` returns the path of an image, which it gets as float32 on the 0..255 scale; with
        ``direction=1`` or ``-1`` besides if the kind is two-sided.
    strongest : float
        Strength at which paths end.
    two_sided : bool
        Whether there are two directions.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.base import FunctionKind
    >>> fog = FunctionKind("white_fog", lambda image, rng: lambda s: image + s * (255 - image), strongest=1.0)
    >>> fog.title
    'white fog'
    >>> fog.path(np.array([[55, 155]], np.uint8), np.random.default_rng(0))(0.5)
    array([[155., 205.]], dtype=float32)
    """

    def __init__(self, name: str, build: Callable[..., Path], strongest: float, two_sided: bool = False) -> None:
        self.name = name
        self.title = self.short_title = name.replace("_", " ")
        self.build = build
        self.strongest = float(strongest)
        self.two_sided = two_sided

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        options = {"direction": direction} if self.two_sided else {}
        return self.build(image.astype(np.float32), rng, **options)
