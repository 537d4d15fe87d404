"""Paths: the copies of one image by strength, and what a search may ask of some of them besides the copies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable

import numpy as np

from llise.kinds.grey import quantise

Path = Callable[[float], np.ndarray]
"""Copies of one image by strength: ``path(0)`` is the image, and the error grows with the strength.

A copy is an array of the image's shape: of floats, which are then rounded and clipped to 8 bits, or of uint8.
"""


class SolvablePath(ABC):
    """A path that computes the strength for a wanted error directly, so that no search is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.base import SolvablePath
    >>> class Shift(SolvablePath):
    ...     def __init__(self, image):
    ...         self.image = image
    ...     def __call__(self, strength):
    ...         return self.image + strength
    ...     def solve(self, reference, wanted):
    ...         return float(np.sqrt(wanted))
    >>> image = np.array([[10, 20]], np.uint8)
    >>> Shift(image).solve(image, wanted=9.0)
    3.0
    """

    @abstractmethod
    def __call__(self, strength: float) -> np.ndarray:
        """Return the copy at a strength."""

    @abstractmethod
    def solve(self, reference: np.ndarray, wanted: float) -> float:
        """Return the strength whose copy comes nearest to a wanted error.

        Parameters
        ----------
        reference : ndarray of uint8, shape (h, w)
            Image against which the error is measured.
        wanted : float
            Wanted mean squared error.

        Returns
        -------
        float
            Argument for a call of this path.

        Examples
        --------
        >>> import numpy as np
        >>> from llise.kinds.impulse_noise import ImpulseNoise
        >>> image = np.zeros((10, 10), np.uint8)
        >>> path = ImpulseNoise().path(image, np.random.default_rng(0))
        >>> strength = path.solve(image, wanted=3 * 255**2 / 100)
        >>> int(np.count_nonzero(path(strength)))  # three of the hundred pixels become white
        3
        """


class LevelPath:
    """A path on which a pixel of the copy depends on that pixel's grey level alone.

    The search then measures errors by the number of pixels of each grey level, without making a copy.
    """

    def __init__(self, image: np.ndarray, levels: Callable[[float], np.ndarray]) -> None:
        self.image = image
        self.levels = levels
        self._sums: _LevelSums | None = None

    def __call__(self, strength: float) -> np.ndarray:
        """Return the copy at a strength."""
        return np.take(self.levels(strength), self.image)

    def error(self, strength: float, reference: np.ndarray) -> float:
        """Return the mean squared error of the rounded copy."""
        sums = self._sums
        if sums is None or sums.reference is not reference:
            sums = self._sums = _LevelSums(self.image, reference)
        return sums.error(quantise(self.levels(strength)))

    @classmethod
    def between(cls, first: np.ndarray, second: np.ndarray) -> LevelPath:
        """Return the straight line through two images: the first at strength 0, the second at 1."""
        pairs = 256 * first.astype(np.intp) + second
        used = np.flatnonzero(np.bincount(pairs.ravel(), minlength=256**2))
        numbers = np.zeros(256**2, np.intp)
        numbers[used] = np.arange(used.size)
        start = (used // 256).astype(np.float32)
        change = (used % 256).astype(np.float32) - start
        return cls(np.take(numbers, pairs), lambda strength: start + np.float32(strength) * change)


class _LevelSums:
    """Sums over the pixels of each grey level of an image, whole numbers that float64 holds exactly."""

    def __init__(self, image: np.ndarray, reference: np.ndarray) -> None:
        grey, wanted = image.ravel(), reference.ravel().astype(np.float64)
        self.reference = reference
        self.counts = np.bincount(grey).astype(np.float64)
        self.sums = np.bincount(grey, wanted)
        self.squares = float(np.einsum("i,i", wanted, wanted))

    def error(self, levels: np.ndarray) -> float:
        """Mean squared error of a copy with these grey levels."""
        levels = levels[: self.counts.size].astype(np.float64)
        return float((levels * (self.counts * levels - 2 * self.sums)).sum() + self.squares) / self.reference.size


class CoderPath(ABC):
    """A path of decoded 8-bit images, whose error jumps between strengths instead of growing smoothly.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.jpeg import Jpeg
    >>> path = Jpeg().path(np.arange(256, dtype=np.uint8).reshape(16, 16), np.random.default_rng(0))
    >>> alternatives = path.alternatives(wanted=30.0)  # with a fixed quantiser step of the block means
    >>> alternatives[0](2.0).shape
    (16, 16)
    """

    @abstractmethod
    def __call__(self, strength: float) -> np.ndarray:
        """Return the copy at a strength."""

    def settings(self, strength: float) -> Hashable:
        """Return the coder's settings at a strength; equal settings give equal copies."""
        return strength

    @abstractmethod
    def alternatives(self, wanted: float) -> Iterable[Path]:
        """Return paths with other coder settings, to be tried where this one jumps over the wanted error.

        Parameters
        ----------
        wanted : float
            Wanted mean squared error.

        Returns
        -------
        iterable of Path
            The most promising one first.

        Examples
        --------
        >>> import numpy as np
        >>> from llise.kinds.jpeg import Jpeg
        >>> path = Jpeg().path(np.arange(256, dtype=np.uint8).reshape(16, 16), np.random.default_rng(0))
        >>> len(path.alternatives(wanted=30.0))
        12
        """
