"""What comes in: images (n, h, w) or rows (n, h*w), their grey-value range, and settings out of bounds."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from llise.blocks import BlockGrid
from llise.engine.backend import namespace

Array = Any
LARGEST = 1e20  # of the data range: fourth powers of inner products must not overflow


def as_images(estimator: Any, X: Any, *, reset: bool) -> tuple[Array, BlockGrid]:
    """X as (n, h, w) and the grid that cuts it, checked through scikit-learn; nothing is copied or rescaled.

    Rows without ``image_shape`` are one block each and come out as (n, 1, q).
    """
    ndim = getattr(X, "ndim", None)
    shape = estimator.image_shape
    if ndim == 4:
        raise ValueError(f"X has shape {tuple(X.shape)}: colour images are not supported; pass grey (n, h, w).")
    if ndim == 3:
        seen = tuple(X.shape[1:])
        if shape is not None and tuple(shape) != seen:
            raise ValueError(f"images are {seen[0]}x{seen[1]}, but image_shape={tuple(shape)}; leave it None.")
        if not reset and estimator.image_shape_ != seen:
            fitted = "rows" if estimator.image_shape_ is None else "{}x{}".format(*estimator.image_shape_)
            raise ValueError(
                f"images are {seen[0]}x{seen[1]}, but the estimator was fitted on {fitted}: "
                "crop or resize them to that size first."
            )
        shape = seen
        X = X.reshape(X.shape[0], -1)
    rows = _checked_rows(estimator, X, reset)
    n, q = rows.shape
    if reset:
        estimator.image_shape_ = None if shape is None else (int(shape[0]), int(shape[1]))
    shape = estimator.image_shape_
    if shape is None:
        return rows.reshape(n, 1, q), BlockGrid.of_rows(q)
    if shape[0] * shape[1] != q:
        raise ValueError(f"rows have {q} values, but image_shape={tuple(shape)} needs {shape[0] * shape[1]}.")
    return rows.reshape(n, *shape), BlockGrid.of_images(shape, check_integer("block_size", estimator.block_size, 1))


def _checked_rows(estimator: Any, X: Any, reset: bool) -> Array:
    if isinstance(X, np.ndarray) or not hasattr(X, "dtype") or not hasattr(X, "device"):
        return validate_data(estimator, X, reset=reset, dtype="numeric", ensure_min_samples=2 if reset else 1)
    xp = namespace(X)
    if X.ndim != 2:
        raise ValueError(f"expected rows (n, q) or images (n, h, w), got an array of {X.ndim} axes.")
    if xp.isdtype(X.dtype, "real floating") and not bool(xp.all(xp.isfinite(X))):
        raise ValueError("Input X contains NaN or infinity; remove or fill these values first.")
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, but the estimator expects {estimator.n_features_in_}.")
    return X


def grey_range(images: Array, data_range: float | None, *, rows: bool) -> float:
    """The range l of the grey values: as asked for, or inferred from the dtype, and checked on images."""
    xp = namespace(images)
    integer = not xp.isdtype(images.dtype, "real floating")
    if data_range is None:
        known = {"uint8": 255.0, "uint16": 65535.0, "bool": 1.0}
        name = str(images.dtype).rpartition(".")[2]
        if name in known:
            return known[name]
        low, high = _extremes(images)
        if not integer and low >= 0 and high <= 1:
            return 1.0
        raise ValueError(
            f"data_range is needed for {name} values in [{low:g}, {high:g}]: it is inferred for uint8, uint16 and "
            "floats in [0, 1] only. Pass data_range=255 for 8-bit grey values stored in another type."
        )
    if isinstance(data_range, bool) or not isinstance(data_range, numbers.Real) or not 0 < data_range < np.inf:
        raise ValueError(f"data_range must be a positive number or None, got {data_range!r}.")
    check_range(images, float(data_range), rows=rows)
    return float(data_range)


def check_range(images: Array, data_range: float, *, rows: bool) -> None:
    """Refuse grey values of images outside [0, data_range], and in rows values that would overflow."""
    if str(images.dtype).rpartition(".")[2] == "uint8" and data_range >= 255:
        return
    low, high = _extremes(images)
    if rows:
        if max(-low, high) > LARGEST * data_range:
            raise ValueError(
                f"values lie in [{low:g}, {high:g}], too large against data_range={data_range:g} to compute with: "
                "pass the right data_range, or scale X."
            )
    elif low < 0 or high > data_range * (1 + 1e-6):
        raise ValueError(
            f"grey values lie in [{low:g}, {high:g}], outside [0, data_range={data_range:g}]: "
            "pass the right data_range, or clip the images."
        )


def _extremes(images: Array) -> tuple[float, float]:
    xp = namespace(images)
    return float(xp.min(images)), float(xp.max(images))


def check_integer(name: str, value: Any, least: int) -> int:
    """``value`` as an int of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> Any:
    """``value`` if it is one of ``choices``."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} is unknown; use one of {', '.join(map(repr, choices))}.")
    return value


def check_number(name: str, value: Any, least: float = 0.0) -> float:
    """``value`` as a finite float of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not least <= float(value) < np.inf:
        raise ValueError(f"{name} must be a number of at least {least:g}, got {value!r}.")
    return float(value)
