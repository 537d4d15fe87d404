"""A straight line between the grey levels of two pictures, in which pixels that fit badly count little."""

from __future__ import annotations

import numpy as np

ROBUST = 3.0
"""Residual, against their usual size, from which a pixel counts little."""


def fit_line(
    values: np.ndarray, target: np.ndarray, robust: bool, weights: np.ndarray | None = None
) -> tuple[np.float32, np.float32, np.ndarray]:
    """Fit a straight line between grey levels.

    Parameters
    ----------
    values, target : ndarray of float32, shape (n,)
        Grey levels of the reference and of the copy.
    robust : bool
        Give less weight to pixels that fit badly.
    weights : ndarray of float32, shape (n,), optional
        Weights to begin with; all alike if left out.

    Returns
    -------
    gain, offset : float32
        The line.
    weights : ndarray of float32, shape (n,)
        Weights of the pixels.

    Examples
    --------
    >>> import numpy as np
    >>> gain, offset, _ = fit_line(np.float32([0, 1, 2]), np.float32([3, 5, 7]), robust=False)
    >>> float(gain), float(offset)
    (2.0, 3.0)
    """
    weights = np.ones_like(target) if weights is None else weights
    for _ in range(3 if robust else 1):
        count = max(float(weights.sum()), 1e-9)
        mean, target_mean = (float(weights @ levels) / count for levels in (values, target))
        centred = values - np.float32(mean)
        power = float((weights * centred) @ centred)
        gain = float((weights * centred) @ (target - np.float32(target_mean))) / power if power > 0 else 1.0
        offset = target_mean - gain * mean
        if robust:
            weights = robust_weights(target - np.float32(gain) * values - np.float32(offset))
    return np.float32(gain), np.float32(offset), weights


def usual_size(residual: np.ndarray) -> float:
    """Return the standard deviation that most residuals have, without those that are far greater.

    Parameters
    ----------
    residual : ndarray of float32, shape (n,)
        Residuals.

    Returns
    -------
    float
        At least 1 grey level.

    Examples
    --------
    >>> import numpy as np
    >>> usual_size(np.float32([0, 0, 0, 90]))
    1.0
    """
    return max(1.4826 * _median(np.abs(residual)), 1.0)


def _median(values: np.ndarray) -> float:
    """As :func:`numpy.median`, which takes twice as long; 0 if there are no values."""
    if not values.size:
        return 0.0
    middle = values.size // 2
    ranked = np.partition(values, middle)
    return float(ranked[middle] if values.size % 2 else 0.5 * (ranked[middle] + ranked[:middle].max()))


def robust_weights(residual: np.ndarray, usual: float | None = None) -> np.ndarray:
    """Return weights of pixels, which are small where the residual is far greater than usual.

    Parameters
    ----------
    residual : ndarray of float32, shape (n,)
        Residuals.
    usual : float, optional
        Their usual size; measured if left out.

    Returns
    -------
    ndarray of float32, shape (n,)
        Weights between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> robust_weights(np.float32([0, 0, 0, 90])).round(3)
    array([1., 1., 1., 0.], dtype=float32)
    """
    usual = usual_size(residual) if usual is None else usual
    return 1 / (1 + (residual / np.float32(ROBUST * usual)) ** 2) ** 2
