"""How much of the errors of luma and chroma blurs account for."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from llise.diagnosis.colour.planes import AreaPlanes, Runs

SIGMAS = (0.7, 1.3, 2.4, 4.5, 8.0, 14.0)
"""Blurs that are tried, in pixels."""

SIDES = (4, 8)
"""Squares of coarse chroma that are tried, in pixels."""

REACH = 3.0
"""Standard deviations from the middle, rounded up to pixels, at which a Gaussian ends."""

WIDE = 4.0
"""Standard deviation, in pixels, from which planes of half the size tell enough."""

CHUNK = 64
"""Pixels in a row that are computed by one product of matrices."""


def left_by(smooth: np.ndarray, area: AreaPlanes, weight: np.ndarray, first: int = 0) -> np.ndarray:
    """Return the squared errors of the planes of a copy against other planes.

    Parameters
    ----------
    smooth : ndarray, shape (n, h, w)
        What stands for the copy, such as blurred planes of the reference.
    area : AreaPlanes
        Planes of reference and copy.
    weight : ndarray of float32, shape (h, w)
        1 for pixels that count, 0 for others.
    first : int
        Number of the first of these planes among those of the area.

    Returns
    -------
    ndarray, shape (n,)
        Sum over the pixels of each plane.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.blurs import left_by
    >>> from llise.diagnosis.colour.planes import area_planes
    >>> image, mask = np.zeros((24, 24, 3), np.float32), np.zeros((24, 24), bool)
    >>> mask[8:16, 8:16] = True
    >>> area = area_planes(image, image + 1, mask)
    >>> left_by(area.before, area, mask.astype(np.float32)).round().tolist()
    [64.0, 0.0, 0.0]
    """
    left = area.after[first:] - smooth
    left *= weight
    return np.array([float(np.vdot(plane, plane)) for plane in left])


def blur_features(area: AreaPlanes, mask: np.ndarray) -> tuple[list[float], float, np.ndarray]:
    """Return shares of the errors of chroma and luma that blurs account for.

    Parameters
    ----------
    area : AreaPlanes
        Planes of reference and copy.
    mask : ndarray of bool, shape (h, w)
        Pixels that count.

    Returns
    -------
    features : list of float
        Shares by blur, the best of them, and how the best blurs of chroma and luma compare.
    sigma : float
        Blur of the chroma that accounts for most, in pixels; 0 where none does.
    rest : ndarray of float32, shape (3, h, w)
        What the best blurs leave of the errors.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import ndimage
    >>> from llise.diagnosis.colour.blurs import blur_features
    >>> from llise.diagnosis.colour.planes import area_planes
    >>> image, mask = np.random.default_rng(0).uniform(0, 255, (96, 96, 3)).astype(np.float32), np.zeros((96, 96), bool)
    >>> mask[32:64, 32:64] = True
    >>> area = area_planes(image, ndimage.gaussian_filter(image, (2.4, 2.4, 0)), mask)
    >>> blur_features(area, area.crop(mask))[1]
    2.4
    """
    weight = mask.astype(np.float32)
    whole = left_by(area.before, area, weight)
    power = whole + 0.02 * np.count_nonzero(mask)
    tried = [(sigma, blurred(area, sigma)) for sigma in SIGMAS]
    tried += [(float(np.sqrt((side**2 - 1) / 12)), _squares(area.before, side)) for side in SIDES]
    falls = whole - np.array([left_by(smooth, area, weight) for _, smooth in tried])
    of_chroma = np.maximum(falls[:, 1:].sum(axis=1) / power[1:].sum(), -1)
    of_luma = np.maximum(falls[: len(SIGMAS), 0] / power[0], -1)
    rest, sigmas, features = np.empty_like(area.after), [], []
    for planes, shares in ((np.s_[1:], of_chroma), (np.s_[:1], of_luma)):
        sigma, smooth = tried[int(shares.argmax())] if shares.max() > 0 else (0.0, area.before)
        np.subtract(area.after[planes], smooth[planes], out=rest[planes])
        features += [*shares, max(float(shares.max()), 0.0), float(np.log(sigma + 0.3))]
        sigmas.append(sigma)
    same = float(of_chroma[of_luma.argmax()])  # that of the luma's blur in the chroma
    features += [same, float(of_chroma.max()) - same, float(np.log((sigmas[0] + 0.3) / (sigmas[1] + 0.3)))]
    return features, sigmas[0], rest


def blurred(area: AreaPlanes, sigma: float, first: int = 0) -> np.ndarray:
    """Blur the reference by a Gaussian; where it is wide, by way of planes of half the size.

    Each direction is a product with a matrix of the weights, which is several times faster than filters are.

    Parameters
    ----------
    area : AreaPlanes
        Planes of the reference.
    sigma : float
        Standard deviation in pixels.
    first : int
        Number of the first plane that is blurred.

    Returns
    -------
    ndarray of float32, shape (3 - first, h, w)
        Blurred planes.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.blurs import blurred
    >>> from llise.diagnosis.colour.planes import area_planes
    >>> image, mask = np.full((80, 80, 3), 90, np.float32), np.ones((80, 80), bool)
    >>> blurred(area_planes(image, image, mask), 6.0).round(3).max()
    np.float32(90.0)
    """
    step, source = (2, area.half) if sigma >= WIDE else (1, area.whole)
    weights = _weights(sigma, step)
    across = [values @ part for values, part in _pieces(source[first:], weights, area.columns, step)]
    turned = np.concatenate(across, axis=-1).swapaxes(1, 2)
    down = [part.T @ values.swapaxes(1, 2) for values, part in _pieces(turned, weights, area.rows, step)]
    return np.concatenate(down, axis=1)


def _pieces(planes: np.ndarray, weights: np.ndarray, runs: Runs, step: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Values along the last axis from which each chunk of pixels is computed, and their weights."""
    reach, length, out = (len(weights) - CHUNK // step) // 2, planes.shape[-1], []
    for start, stop in runs:
        for left in range(start, stop, CHUNK):
            count = min(CHUNK, stop - left)
            low, high = left // step - reach, (left + count) // step + reach
            inside = low >= 0 and high <= length
            values = planes[..., low:high] if inside else planes[..., np.clip(np.arange(low, high), 0, length - 1)]
            out.append((values, weights[: high - low, :count]))
    return out


@lru_cache(maxsize=64)
def _weights(sigma: float, step: int) -> np.ndarray:
    """Weights, in each column those of one pixel, of values that are means of so many pixels in a row."""
    sigma = float(np.sqrt(sigma**2 - (step**2 - 1) / 12))
    reach = int(np.ceil(REACH * sigma / step))
    places = step * (np.arange(-reach, CHUNK // step + reach) + 0.5) - 0.5
    distance = places[:, None] - np.arange(CHUNK)
    weights = np.where(np.abs(distance) <= step * reach, np.exp(-0.5 * (distance / sigma) ** 2), 0)
    return (weights / weights.sum(axis=0)).astype(np.float32)


def _squares(planes: np.ndarray, side: int) -> np.ndarray:
    """Planes as means over squares; the side is a power of two."""
    sums = planes
    for _ in range(side.bit_length() - 1):
        sums = sums[:, ::2] + sums[:, 1::2]
        sums = sums[..., ::2] + sums[..., 1::2]
    return (sums / np.float32(side**2)).repeat(side, 1).repeat(side, 2)
