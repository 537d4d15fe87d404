"""Kinds in the order in which they were applied, with the settings that were found for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llise.kinds.fitting import Fit

Step = tuple[str, Fit]
"""A kind and its settings."""


@dataclass(frozen=True, eq=False)
class Chain:
    """Kinds in the order in which they were applied, with their settings.

    Attributes
    ----------
    steps : tuple of (str, Fit)
        Kinds and settings.
    hit : ndarray of bool, shape (h, w), or None
        Pixels that impulses replaced, where they can be told.
    is_whole : bool
        Whether the steps depend on the place in the picture, so that they can be made again only on the whole of it.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.fitted_chain import Chain
    >>> from llise.kinds.fitting import Fit
    >>> chain = Chain((("luminance", Fit({"offset": 5.0}, lambda image: image + 5)),))
    >>> [float(image[0, 0]) for image in chain.images(np.full((1, 1), 100.0))]
    [100.0, 105.0]
    """

    steps: tuple[Step, ...]
    hit: np.ndarray | None = None
    is_whole: bool = False

    def images(self, reference: np.ndarray) -> list[np.ndarray]:
        """Return the reference and what it becomes after each step, without random parts.

        Parameters
        ----------
        reference : ndarray of float32, shape (h, w)
            Image to start from.

        Returns
        -------
        list of ndarray
            One image more than there are steps.
        """
        images = [reference]
        for _, fit in self.steps:
            images.append(fit.apply(images[-1]))
        return images

    def draw(self, reference: np.ndarray) -> list[np.ndarray]:
        """Return the reference and what it becomes after each step, with random parts.

        Parameters
        ----------
        reference : ndarray of float32, shape (h, w)
            Image to start from.

        Returns
        -------
        list of ndarray
            One image more than there are steps; always the same for the same settings.
        """
        rng = np.random.default_rng(0)
        images = [reference]
        for _, fit in self.steps:
            images.append(fit.draw(images[-1], rng) if fit.draw else fit.apply(images[-1]))
        return images
