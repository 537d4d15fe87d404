"""How much of the errors of luma and chroma blurs account for."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy

from llise.kinds.chroma_blur import square_means

SIGMAS = (0.7, 1.3, 2.4, 4.5, 8.0, 14.0)
"""Blurs that are tried, in pixels."""

SIDES = (4, 8)
"""Squares of coarse chroma that are tried, in pixels."""


def explained_by(before: np.ndarray, error: np.ndarray, blurs: Iterable[np.ndarray], mask: np.ndarray) -> np.ndarray:
    """Return by how much the squared error of each plane falls by a change to blurred planes.

    Parameters
    ----------
    before, error : ndarray, shape (h, w, n)
        Planes of the reference, and what the copy differs from them by.
    blurs : iterable of ndarray, shape (h, w, n)
        Blurred planes.
    mask : ndarray of bool, shape (h, w)
        Pixels that count.

    Returns
    -------
    ndarray, shape (n_blurs + 1, n)
        A row for each blur; the last one has the squared error itself.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour_blurs import explained_by
    >>> before, mask = np.zeros((4, 4, 1)), np.ones((4, 4), bool)
    >>> explained_by(before, before + 1, [before + 1], mask)[0]
    array([16.])
    """
    places = np.flatnonzero(mask)
    own, wanted, *smooth = (v.reshape(-1, v.shape[-1])[places] for v in (before, error, *blurs))
    changes = [values - own for values in smooth]
    falls = [np.einsum("ij,ij->j", 2 * wanted - change, change) for change in changes]
    return np.array([*falls, np.einsum("ij,ij->j", wanted, wanted) + 0.02 * len(places)])


def blur_features(before: np.ndarray, error: np.ndarray, mask: np.ndarray) -> tuple[list[float], float, np.ndarray]:
    """Return shares of the errors of chroma and luma that blurs account for.

    Parameters
    ----------
    before, error : ndarray of float32, shape (h, w, 3)
        Y, Cb and Cr of the reference, and what the copy differs from them by.
    mask : ndarray of bool, shape (h, w)
        Pixels that count.

    Returns
    -------
    features : list of float
        Shares by blur, the best of them, and how the best blurs of chroma and luma compare.
    sigma : float
        Blur of the chroma that accounts for most, in pixels; 0 where none does.
    rest : ndarray of float32, shape (h, w, 3)
        What the best blurs leave of the errors.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour_blurs import blur_features, blurred
    >>> before = np.random.default_rng(0).normal(0, 20, (32, 32, 3)).astype(np.float32)
    >>> blur_features(before, blurred(before, 2.4) - before, np.ones((32, 32), bool))[1]
    2.4
    """
    tried = [(sigma, blurred(before, sigma)) for sigma in SIGMAS]
    tried += [(float(np.sqrt((side**2 - 1) / 12)), square_means(before, side)) for side in SIDES]
    falls = explained_by(before, error, [planes for _, planes in tried], mask)
    of_chroma = np.maximum(falls[:-1, 1:].sum(axis=1) / falls[-1, 1:].sum(), -1)
    of_luma = np.maximum(falls[: len(SIGMAS), 0] / falls[-1, 0], -1)
    rest, sigmas, features = error.copy(), [], []
    for planes, shares in ((np.s_[..., 1:], of_chroma), (np.s_[..., :1], of_luma)):
        sigma, smooth = tried[int(shares.argmax())] if shares.max() > 0 else (0.0, before)
        rest[planes] -= (smooth - before)[planes]
        features += [*shares, max(float(shares.max()), 0.0), float(np.log(sigma + 0.3))]
        sigmas.append(sigma)
    same = float(of_chroma[of_luma.argmax()])  # that of the luma's blur in the chroma
    features += [same, float(of_chroma.max()) - same, float(np.log((sigmas[0] + 0.3) / (sigmas[1] + 0.3)))]
    return features, sigmas[0], rest


def blurred(planes: np.ndarray, sigma: float) -> np.ndarray:
    """Blur planes by a Gaussian, or by three boxes in a row, which are faster, where it is wide.

    Parameters
    ----------
    planes : ndarray, shape (h, w, n)
        Planes.
    sigma : float
        Standard deviation in pixels.

    Returns
    -------
    ndarray, shape (h, w, n)
        Blurred planes.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour_blurs import blurred
    >>> blurred(np.ones((8, 8, 1)), 4.0).round(6).max()
    np.float64(1.0)
    """
    if sigma < 2:
        return scipy.ndimage.gaussian_filter(planes, (sigma, sigma, 0), mode="nearest", truncate=3.0)
    side = round(float(np.sqrt(4 * sigma**2 + 1)))
    for _ in range(3):
        planes = scipy.ndimage.uniform_filter(planes, (side, side, 1), mode="nearest")
    return planes
