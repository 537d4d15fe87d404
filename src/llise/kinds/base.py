"""What a kind of distortion has to offer: names, copies at a strength, random copies, how to find its settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, TypedDict, Unpack

import numpy as np

from llise.kinds.fitting import Fit
from llise.kinds.paths import CoderPath, LevelPath, Path, SolvablePath

__all__ = ["CoderPath", "Draw", "FunctionKind", "GreyStatistics", "Kind", "LevelPath", "Path", "SolvablePath"]


class GreyStatistics(TypedDict, total=False):
    """Statistics of the grey levels of the image that a crop was taken from.

    Attributes
    ----------
    mean, spread, middle : float
        Mean, standard deviation and median.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.contrast import Contrast
    >>> crop = np.zeros((16, 16), np.uint8)
    >>> draw = Contrast().draw(crop, np.random.default_rng(2), mean=100.0, spread=30.0, middle=90.0)
    >>> draw.parameters(0.5)["pivot"]
    90.0
    """

    mean: float
    spread: float
    middle: float


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

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.luminance import Luminance
    >>> image = np.full((16, 16), 100, np.uint8)
    >>> draw = Luminance().draw(image, np.random.default_rng(0))
    >>> draw.parameters(5.0)
    {'offset': 5.0}
    """

    path: Path
    end: float
    parameters: Callable[[float], dict[str, float]] = field(default_factory=lambda: _no_parameters)
    first: Callable[[float], float] | None = None


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
        Whether paths depend on random numbers. Where they do not, all copies of an image are made on one path.

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

    @abstractmethod
    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        """Return the copies of an image by strength.

        Parameters
        ----------
        image : ndarray of uint8, shape (h, w)
            Image to distort.
        rng : numpy.random.Generator
            Source of all random numbers. Draw them here and not in the path, so that one noise field serves
            all strengths.
        direction : {1, -1}
            Which way to go; a kind that is not two-sided ignores it.

        Returns
        -------
        Path
            A function of the strength.

        Examples
        --------
        >>> import numpy as np
        >>> from llise.kinds.registry import get
        >>> path = get("luminance").path(np.array([[80, 120]], np.uint8), np.random.default_rng(0))
        >>> path(5.0)
        array([[ 85., 125.]], dtype=float32)
        """

    def end(self, direction: int = 1) -> float:
        """Return the strength at which the path in a direction ends.

        Parameters
        ----------
        direction : {1, -1}
            Direction of a two-sided kind.

        Returns
        -------
        float
            `strongest`, unless the kind says otherwise.

        Examples
        --------
        >>> from llise.kinds.registry import get
        >>> get("contrast").end(direction=-1)
        1.0
        """
        return self.strongest

    def reported_strength(self, strength: float, direction: int = 1) -> float:
        """Convert a strength on the path to the kind's own unit.

        Parameters
        ----------
        strength : float
            Argument of the path.
        direction : {1, -1}
            Direction of a two-sided kind.

        Returns
        -------
        float
            For example a gain below 1 where the contrast is reduced, a negative offset where the image is darker.

        Examples
        --------
        >>> from llise.kinds.registry import get
        >>> get("luminance").reported_strength(5.0, direction=-1)
        -5.0
        """
        return strength

    def draw(self, image: np.ndarray, rng: np.random.Generator, **statistics: Unpack[GreyStatistics]) -> Draw:
        """Draw one of the ways in which programs make this kind.

        Parameters
        ----------
        image : ndarray of uint8, shape (h, w)
            Image to distort, 16 pixels or more on each side.
        rng : numpy.random.Generator
            Source of all random numbers.
        **statistics : float
            ``mean``, ``spread`` and ``middle``: mean, standard deviation and median of the grey levels of the larger
            image from which `image` was cut. Those left out are taken from `image`.

        Returns
        -------
        Draw
            The path, where it ends, and what a strength means in the kind's own units.

        Examples
        --------
        >>> import numpy as np
        >>> from llise.kinds.registry import get
        >>> draw = get("gaussian_noise").draw(np.full((16, 16), 100, np.uint8), np.random.default_rng(0))
        >>> draw.path(3.0).shape, draw.parameters(3.0)
        ((16, 16), {'sigma': 3.0})
        """
        direction = int(rng.choice([-1, 1])) if self.two_sided else 1
        return Draw(self.path(image, rng, direction), self.end(direction))

    def estimate(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> Fit | None:
        """Find the settings with which this kind turned one image into another.

        Parameters
        ----------
        before, after : ndarray of float32, shape (h, w)
            Grey levels before and after; rows and columns start on the grid of 8 x 8 blocks.
        mask : ndarray of bool, shape (h, w)
            Pixels to compare. The others are there for filters that look beyond the region.

        Returns
        -------
        Fit or None
            The settings and how to apply them; None if the kind cannot tell, which is the default.

        Examples
        --------
        >>> import numpy as np
        >>> from llise.kinds.registry import get
        >>> image = np.arange(64, dtype=np.float32).reshape(8, 8) + 90
        >>> get("contrast").estimate(image, 2 * image - 100, np.ones((8, 8), bool)).parameters
        {'gain': 2.0, 'pivot': 100.0}
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
