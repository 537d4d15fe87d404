"""What a diagnoser does with the colours of its reference and of copies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Self

import numpy as np

from llise.colours import stacked, without_colour
from llise.diagnosis.colour.colour_copy import diagnose_colours
from llise.diagnosis.colour.judge import shipped_colour_judge
from llise.diagnosis.result import Diagnosis
from llise.images import as_pixels, as_uint8, check_same_size

if TYPE_CHECKING:
    from llise.diagnosis.manifold import ReferenceManifold


class ColourReference(ABC):
    """A diagnoser as far as colours are concerned; :class:`llise.Diagnoser` judges the luma.

    Attributes
    ----------
    pixels : ndarray of uint8, shape (h, w) or (h, w, 3)
        The reference with its colours; without channels where it has none.
    reference : ndarray of uint8, shape (h, w)
        Its luma.

    Examples
    --------
    >>> import numpy as np
    >>> import llise
    >>> colours = np.random.default_rng(0).integers(0, 255, (16, 16, 3), dtype=np.uint8)
    >>> llise.Diagnoser(llise.images.as_uint8(colours)).with_colours(colours).pixels.shape
    (16, 16, 3)
    """

    pixels: np.ndarray
    reference: np.ndarray
    align: bool
    manifold: ReferenceManifold | None

    def with_colours(self, pixels: np.ndarray) -> Self:
        """Give a diagnoser of a luma, such as one that was read from a file, the colours of its reference.

        Parameters
        ----------
        pixels : array (h, w) or (h, w, 3)
            The reference; ValueError where its luma is another one.

        Returns
        -------
        ColourReference
            This object.
        """
        pixels = without_colour(as_pixels(pixels, "reference"))
        if not np.array_equal(as_uint8(pixels), self.reference):
            raise ValueError("the luma of these pixels is not that of the reference; pass the reference itself")
        self.pixels = pixels
        return self

    @abstractmethod
    def diagnose(self, images: Iterable[np.ndarray]) -> Iterator[Diagnosis]:
        """Judge images one after the other.

        Parameters
        ----------
        images : iterable of array
            Copies of the reference.

        Yields
        ------
        Diagnosis
            One for each image, in order.
        """

    @abstractmethod
    def _diagnose_grey(self, image: np.ndarray) -> Diagnosis:
        """Judge a luma against that of the reference."""

    @abstractmethod
    def _like(self, reference: np.ndarray, align: bool) -> ColourReference:
        """A diagnoser of another reference with the same settings."""

    def _diagnose(self, image: np.ndarray) -> Diagnosis:
        pixels = without_colour(as_pixels(image))
        if pixels.ndim == 2 and self.pixels.ndim == 2:
            return self._diagnose_grey(pixels)
        check_same_size(self.reference, pixels)
        copy = stacked(pixels)
        diagnosis = diagnose_colours(stacked(self.pixels), copy, shipped_colour_judge(), self._judge_luma)
        if self.manifold:
            diagnosis.nearest, diagnosis.position = self.manifold.place(as_uint8(copy))
        return diagnosis

    def _judge_luma(self, reference: np.ndarray, copy: np.ndarray) -> Diagnosis:
        if np.array_equal(reference, self.reference):
            return self._diagnose_grey(copy)
        return next(iter(self._like(reference, self.align).diagnose([copy])))
