"""S-shaped curves of grey levels, fitted with and without a shift of luminance.

Programs that change contrast by an S-shaped curve keep black, white and one grey between them as they are.  A shift of
all greys before or after such a curve moves black or white, and no other curve of the same form does that.  The curve
here is the logistic one, steepest at a free grey, or its inverse function; other S-shaped curves are near enough to it
that the shift is still found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

PLACES, STEEPNESSES = (0.3, 0.5, 0.7), (2.0, 6.0)
"""Greys at which the curve is steepest, from 0 to 1, and how steep it is, from which the search starts."""

STEPS = 25
"""Most steps of the search."""

FEWEST = 4
"""Fewest pixels of a grey level that counts."""

MOST = 2000
"""Number of pixels from which a grey level counts no more: it is then known to a small fraction of a level."""

_LEVELS = np.arange(256) / 255


class SCurve(NamedTuple):
    """The S-shaped curve that comes nearest to a table of grey levels.

    Attributes
    ----------
    misfit : float
        Root mean squared distance from the table in grey levels.
    shift : float
        Shift of luminance in grey levels.

    Examples
    --------
    >>> from llise.diagnosis.greys.s_curve import SCurve
    >>> SCurve(0.3, 12.0).shift
    12.0
    """

    misfit: float
    shift: float


def nearest_s_curves(means: np.ndarray, counts: np.ndarray) -> tuple[SCurve, SCurve]:
    """Fit S-shaped curves without and with a shift of luminance to a table of grey levels.

    Parameters
    ----------
    means : ndarray, shape (256,)
        What each grey level became, in the mean.
    counts : ndarray, shape (256,)
        Number of pixels that had it.

    Returns
    -------
    alone, shifted : SCurve
        The best curves of both forms.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.greys.s_curve import nearest_s_curves
    >>> raw = 1 / (1 + np.exp(-5 * (np.arange(256) / 255 - 0.45)))
    >>> table = 255 * (raw - raw[0]) / (raw[-1] - raw[0])
    >>> alone, shifted = nearest_s_curves(np.clip(table + 12, 0, 255), np.full(256, 100))
    >>> alone.misfit > 3, round(shifted.misfit, 1), round(shifted.shift)
    (True, 0.0, 12)
    """
    used = np.flatnonzero(counts >= FEWEST)
    weights = np.sqrt(np.minimum(counts[used], MOST))
    forms = [(rising, shift) for rising in (True, False) for shift in ("none", "before", "after")]
    found = {form: _fit(means[used], weights, used, *form) for form in forms}
    alone, shifted = (
        min((curve for (_, shift), curve in found.items() if (shift == "none") == without), key=lambda c: c.misfit)
        for without in (True, False)
    )
    return alone, shifted


def _fit(means: np.ndarray, weights: np.ndarray, used: np.ndarray, rising: bool, shift: str) -> SCurve:
    """Damped Gauss-Newton steps from all starts at once; the settings are place, logarithm of the steepness, shift."""
    starts = np.array([(place, np.log(steep), 0.0) for place in PLACES for steep in STEEPNESSES])
    free = 2 if shift == "none" else 3

    def misfits(settings: np.ndarray) -> np.ndarray:
        return weights * (_tables(settings, rising, shift)[:, used] - means)

    settings, damping = starts, np.full(len(starts), 1e-2)
    rest = misfits(settings)
    for _ in range(STEPS):
        slopes = np.stack([(misfits(settings + step) - rest) / step.sum() for step in _SMALL[:free]], axis=2)
        gram = np.einsum("sgi,sgj->sij", slopes, slopes)
        diagonal = np.einsum("sii->si", gram)
        diagonal += damping[:, None] * diagonal + 1e-9
        move = np.linalg.solve(gram, np.einsum("sgi,sg->si", slopes, rest)[..., None])[..., 0]
        trial = settings.copy()
        trial[:, :free] -= np.clip(move, -_FURTHEST[:free], _FURTHEST[:free])
        rest_there = misfits(trial)
        better = (rest_there**2).sum(axis=1) < (rest**2).sum(axis=1)
        settings, rest = np.where(better[:, None], trial, settings), np.where(better[:, None], rest_there, rest)
        damping = np.where(better, damping / 5, damping * 5)
    errors = (rest**2).sum(axis=1) / float(weights @ weights)
    best = int(errors.argmin())
    return SCurve(float(np.sqrt(errors[best])), float(settings[best, 2]))


_SMALL = np.diag([1e-4, 1e-3, 1e-2])
"""Small changes of the settings, from which slopes are found."""

_FURTHEST = np.array([0.15, 1.0, 25.0])
"""Greatest changes of the settings in one step."""


def _tables(settings: np.ndarray, rising: bool, shift: str) -> np.ndarray:
    """Tables (n, 256) of curves, clipped to 8 bits."""
    place, steep, moved = settings.T[:, :, None]
    place, steep = np.clip(place, 0.02, 0.98), np.exp(np.clip(steep, -2.0, 3.5))
    levels = _LEVELS + moved / 255 if shift == "before" else np.broadcast_to(_LEVELS, (len(settings), 256))
    levels = np.clip(levels, 0, 1)
    low, high = (1 / (1 + np.exp(steep * (place - end))) for end in (0.0, 1.0))
    if rising:
        table = (1 / (1 + np.exp(steep * (place - levels))) - low) / (high - low)
    else:
        raw = np.clip(low + levels * (high - low), 1e-9, 1 - 1e-9)
        table = place - np.log(1 / raw - 1) / steep
    return np.clip(255 * table + (moved if shift == "after" else 0), 0, 255)
