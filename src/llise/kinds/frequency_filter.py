"""Filters that are given by a factor on each frequency of an image."""

from __future__ import annotations

import numpy as np

from llise.filters import from_spectrum, spectrum_of


def filtered(image: np.ndarray, response: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Filter an image; it goes on at the opposite border."""
    if image.shape != tuple(shape):
        response = _for_shape(response, shape, image.shape)
    return from_spectrum(spectrum_of(image) * response, image.shape)


def _for_shape(response: np.ndarray, shape: tuple[int, ...], other: tuple[int, ...]) -> np.ndarray:
    """The response of the same kernel for images of another shape; what of the kernel is wider than these is cut."""
    kernel = from_spectrum(response, shape)
    places = [np.arange(-(n // 2), n - n // 2) for n in (min(sides) for sides in zip(shape, other))]
    moved = np.zeros(other, kernel.dtype)
    moved[np.ix_(*(at % n for at, n in zip(places, other)))] = kernel[np.ix_(*(at % n for at, n in zip(places, shape)))]
    # A spectrum is scaled by the root of the number of pixels, a response is not scaled.
    return spectrum_of(moved) * np.float32(np.sqrt(moved.size / kernel.size))
