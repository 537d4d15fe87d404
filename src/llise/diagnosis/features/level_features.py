"""Features of a region from the sums of :mod:`llise.diagnosis.features.level_sums`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from llise.diagnosis.features.block_sums import FUNCTIONS

_FLAT = ("right", "right twice", "below", "below twice")
_SMALL = tuple(f"{filters} {band}" for filters in ("5/3", "9/7") for band in ("1 mixed", "1 last", "2 mixed", "2 last"))
_SMALL_SIZES = np.tile([32.0, 16.0, 8.0, 4.0], 2)


def level_features(group: Callable[[str], np.ndarray], pixels: np.ndarray) -> dict[str, np.ndarray]:
    """Return the features about grey levels.

    Parameters
    ----------
    group : callable
        ``group(name)`` gives the sums (n, k) of a group of :mod:`llise.diagnosis.features.block_sums`.
    pixels : ndarray, shape (n,)
        Pixels of each region.

    Returns
    -------
    dict of str to ndarray of shape (n,)
        Features by name.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.level_features import level_features
    >>> sizes = {"noise by level": 8, "levels": 6, "flat copy": 12, "flat reference": 12, "product": 171}
    >>> found = level_features(lambda name: np.ones((1, sizes[name])), np.array([64.0]))
    >>> round(float(found["levels left"][0]), 3)
    0.0
    """
    blocks = pixels / 64
    return {
        **_noise(group("noise by level"), group("product"), blocks),
        **_levels(group("levels"), blocks),
        **_flatness(group("flat copy"), group("flat reference"), blocks),
    }


def _noise(sums: np.ndarray, products: np.ndarray, blocks: np.ndarray) -> dict[str, np.ndarray]:
    """How the power of the error grows with the grey level."""
    by_grey, by_square, count, x, xx, y, xy, yy = sums.T
    n, grey, square, power = (products[:, _index(*pair)] for pair in _PAIRS)
    n = n + 1
    total = power + 0.1 * n
    mean, mean_square = grey / n, square / n
    spread = np.maximum(mean_square - mean**2, 0.02)
    count = count + 1e-3
    var = np.maximum(xx / count - (x / count) ** 2, 0.0) + 0.01
    cov = xy / count - x * y / count**2
    var_y = np.maximum(yy / count - (y / count) ** 2, 0.0) + 0.05
    return {
        "power against grey": (by_grey / total - mean) / np.sqrt(spread),
        "power against grey squared": (by_square / total - mean_square) / (spread + 0.3),
        "noise exponent": np.clip(0.5 * cov / var, -2, 2),
        "noise follows level": cov / np.sqrt(var * var_y),
        "noise unevenness": np.log(var_y),
        "noise levels": 0.5 * np.log(var),
        "smooth share": count / (blocks + 1e-3),
    }


def _levels(sums: np.ndarray, blocks: np.ndarray) -> dict[str, np.ndarray]:
    left, own, reach, own_reach, along, still = (sums / blocks[:, None]).T
    return {
        "levels left": np.log(left / np.maximum(own, 1)),
        "gap": np.log((reach + 1) / np.maximum(left, 1)),
        "gap of reference": np.log((own_reach + 1) / np.maximum(own, 1)),
        "range": np.log((reach + 1) / (own_reach + 1)),
        "variation": np.log((along + 1) / (reach + 1)),
        "variation at one level": np.log((still + 0.3) / (reach + 1)),
    }


def _flatness(copy: np.ndarray, reference: np.ndarray, blocks: np.ndarray) -> dict[str, np.ndarray]:
    copy, reference = copy / blocks[:, None], reference / blocks[:, None]
    out: dict[str, np.ndarray] = {}
    for i, name in enumerate(_FLAT):
        out[f"equal {name}"] = copy[:, i] / 64
        out[f"more equal {name}"] = (copy[:, i] - reference[:, i]) / (64.5 - reference[:, i])
    for i, (name, size) in enumerate(zip(_SMALL, _SMALL_SIZES), 4):
        out[f"small {name}"] = copy[:, i] / size
        out[f"more small {name}"] = (copy[:, i] - reference[:, i]) / size
    out["small by filter"] = copy[:, 4] / 32 + copy[:, 5] / 16 - copy[:, 8] / 32 - copy[:, 9] / 16
    return out


_PAIRS = ((0, 0), (0, 1), (0, 2), (len(FUNCTIONS) - 1, len(FUNCTIONS) - 1))
"""Products of the functions of a pixel: pixels, grey, grey squared, squared error."""


def _index(row: int, column: int) -> int:
    """Place of a product in the upper triangle, row by row."""
    size = len(FUNCTIONS)
    return row * size - row * (row - 1) // 2 + column - row
