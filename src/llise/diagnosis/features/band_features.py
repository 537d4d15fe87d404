"""Features of a region from its cosine coefficients: how much of them is left by frequency, direction and size."""

from __future__ import annotations

import numpy as np

from llise.diagnosis.features.reference_blocks import N_AMPLITUDES, N_BANDS


def band_features(
    bands: np.ndarray, amplitudes: np.ndarray, zeros: tuple[np.ndarray, np.ndarray], pixels: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the features about bands of frequencies.

    Parameters
    ----------
    bands : ndarray, shape (n, n_bands * 3 * 3)
        Power of the reference, product with the copy, and power of the copy, by band and direction.
    amplitudes : ndarray, shape (n, n_bands * n_amplitudes * 5)
        The same by band and size, then the number of coefficients, and of those that vanish.
    zeros : tuple of ndarray, shape (n, n_bands)
        Coefficients that vanish on the grid of JPEG, and half a block beside it.
    pixels : ndarray, shape (n,)
        Pixels of each region.

    Returns
    -------
    dict of str to ndarray of shape (n,)
        Features by name.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.band_features import band_features
    >>> found = band_features(np.ones((1, 36)), np.ones((1, 80)), (np.zeros((1, 4)),) * 2, np.array([64.0]))
    >>> float(found["gain band 0 0"][0])
    0.0
    """
    n = len(pixels)
    blocks = (pixels / 64)[:, None, None]
    own, both, copy = np.moveaxis(bands.reshape(n, N_BANDS, 3, 3), -1, 0)
    gains = np.log(np.clip((both + blocks) / (own + blocks), 0.02, 4))
    powers = np.log((copy + blocks) / (own + blocks))
    free, free_of_band = (
        np.log(np.maximum(copy - both**2 / (own + 0.1), 0) / blocks + 0.5)
        for own, both, copy in ((own, both, copy), (part.sum(axis=2, keepdims=True) for part in (own, both, copy)))
    )
    own, both, copy, count, small = np.moveaxis(amplitudes.reshape(n, N_BANDS, N_AMPLITUDES, 5), -1, 0)
    sized_gains = np.clip((both + 0.5 * blocks) / (own + 0.5 * blocks), -1, 3)
    known = count + 0.1
    sized_powers = np.where(count > 0, np.log((copy / known + 0.1) / (own / known + 0.1)), 0)
    small = small / (count + 1)
    on, off = (part / blocks[..., 0] for part in zeros)
    out: dict[str, np.ndarray] = {}
    for band in range(N_BANDS):
        for direction in range(3):
            key = f"band {band} {direction}"
            out[f"gain {key}"], out[f"power {key}"] = gains[:, band, direction], powers[:, band, direction]
            out[f"free {key}"] = free[:, band, direction]
        out[f"free band {band}"] = free_of_band[:, band, 0]
        for size in range(N_AMPLITUDES):
            key = f"amplitude {band} {size}"
            out[f"gain {key}"], out[f"power {key}"] = sized_gains[:, band, size], sized_powers[:, band, size]
            out[f"zeros {key}"] = small[:, band, size]
        out[f"zeros {band}"], out[f"zeros off grid {band}"] = on[:, band] / 20, (on - off)[:, band] / 20
    return out
