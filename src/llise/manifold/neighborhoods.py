"""How well an embedding keeps neighbourhoods: trustworthiness and continuity, to choose k and p by."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import manifold

from llise.engine.backend import to_numpy

DEFAULT_NEIGHBORS = 5
"""Size of the neighbourhoods that are compared."""


def trustworthiness(X: Any, embedded: Any, n_neighbors: int | None = None, metric: str = "euclidean") -> float:
    """Tell to what extent neighbours in the embedding are neighbours in the data: scikit-learn's measure for images.

    Parameters
    ----------
    X : array (n, h, w) or (n, q)
        The data.
    embedded : array (n, p)
        Their coordinates.
    n_neighbors : int, optional
        Size of the neighbourhoods, less than n / 2; 5, or the most that n allows, if left out.
    metric : str, default "euclidean"
        Distance between data, as in :func:`sklearn.manifold.trustworthiness`.

    Returns
    -------
    float
        Between 0 and 1; 1 if no stranger is among the neighbours in the embedding.

    Raises
    ------
    ValueError
        There are fewer than three samples, or too many neighbours for them.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import trustworthiness
    >>> points = np.random.default_rng(0).random((20, 2))
    >>> trustworthiness(points, 3 * points), trustworthiness(points, points[:, :1]) < 1
    (1.0, True)
    """
    rows, coordinates = _rows(X), _rows(embedded)
    if len(rows) != len(coordinates):
        raise ValueError(f"{len(rows)} samples, but coordinates of {len(coordinates)}; pass both of the same samples.")
    if len(rows) < 3:
        raise ValueError(f"neighbourhoods of n_samples={len(rows)} cannot be compared; pass at least 3 samples.")
    k = min(DEFAULT_NEIGHBORS, (len(rows) - 1) // 2) if n_neighbors is None else n_neighbors
    return float(manifold.trustworthiness(rows, coordinates, n_neighbors=k, metric=metric))


def continuity(X: Any, embedded: Any, n_neighbors: int | None = None) -> float:
    """Tell to what extent neighbours in the data are neighbours in the embedding.

    This is :func:`trustworthiness` with the two exchanged.

    Parameters
    ----------
    X : array (n, h, w) or (n, q)
        The data.
    embedded : array (n, p)
        Their coordinates.
    n_neighbors : int, optional
        As in :func:`trustworthiness`.

    Returns
    -------
    float
        Between 0 and 1; 1 if no neighbourhood of the data is torn apart.

    Raises
    ------
    ValueError
        As in :func:`trustworthiness`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise import continuity
    >>> points = np.random.default_rng(0).random((20, 2))
    >>> continuity(points, 3 * points)
    1.0
    >>> continuity(points, points[:, :1]) == trustworthiness(points[:, :1], points)
    True
    """
    return trustworthiness(embedded, X, n_neighbors)


def _rows(values: Any) -> np.ndarray:
    array = to_numpy(values) if hasattr(values, "dtype") else np.asarray(values)
    return array.reshape(len(array), -1)
