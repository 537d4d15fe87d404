"""Checks of the input: images (n, h, w) or rows (n, h*w), the range of their grey values, and parameters."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from llise.engine.backend import namespace, working
from llise.manifold.blocks import BlockGrid
from llise.manifold.collection import images_at
from llise.manifold.planes import colour_grid

Array = Any
MOST_JOBS = 1024  # threads; each takes memory, and a process has no use for so many
LARGEST = 1e20  # largest value relative to the data range: fourth powers of inner products must not overflow


def as_images(estimator: Any, X: Any, *, reset: bool) -> tuple[Array, BlockGrid]:
    """Check images with scikit-learn's checks; they are neither copied nor rescaled."""
    X = images_at(X)
    ndim = getattr(X, "ndim", None)
    shape = estimator.image_shape
    if ndim == 4 and X.shape[-1] != 3:
        raise ValueError(f"X has shape {tuple(X.shape)}: expected grey images (n, h, w) or colour images (n, h, w, 3).")
    if ndim in (3, 4):
        shape = _checked_shape(estimator, tuple(X.shape[1:]), reset)
        X = X.reshape(X.shape[0], -1)
    rows = _checked_rows(estimator, X, reset)
    n, q = rows.shape
    if reset:
        estimator.image_shape_ = None if shape is None else tuple(int(side) for side in shape)
    shape = estimator.image_shape_
    if shape is None:
        return rows.reshape(n, 1, q), BlockGrid.of_rows(q)
    if len(shape) not in (2, 3) or shape[2:] not in ((), (3,)):
        raise ValueError(f"image_shape={tuple(shape)}: expected (height, width), or (height, width, 3) for colour.")
    if math.prod(shape) != q:
        raise ValueError(f"rows have {q} values, but image_shape={tuple(shape)} needs {math.prod(shape)}.")
    size = None if estimator.block_size is None else check_integer("block_size", estimator.block_size, 1)
    grid = colour_grid(shape, size) if len(shape) == 3 else BlockGrid.of_images(shape, size)
    return rows.reshape(n, *shape), grid


def _checked_shape(estimator: Any, shape: tuple[int, ...], reset: bool) -> tuple[int, ...]:
    """The shape of images that are not passed as rows, if it agrees with ``image_shape`` and the training images."""
    size = "x".join(map(str, shape))
    if estimator.image_shape is not None and tuple(estimator.image_shape) != shape:
        raise ValueError(f"images are {size}, but image_shape={tuple(estimator.image_shape)}; leave it None.")
    if not reset and estimator.image_shape_ != shape:
        fitted = "rows" if estimator.image_shape_ is None else "x".join(map(str, estimator.image_shape_))
        raise ValueError(
            f"images are {size}, but the estimator was fitted on {fitted}: crop or resize them to that size first."
        )
    return shape


def _checked_rows(estimator: Any, X: Any, reset: bool) -> Array:
    """Rows without NaN and of the expected length; arrays of other libraries than NumPy stay where they are."""
    if isinstance(X, np.ndarray) or not hasattr(X, "dtype") or not hasattr(X, "device"):
        return validate_data(estimator, X, reset=reset, dtype="numeric", ensure_min_samples=2 if reset else 1)
    values = working(X)
    xp = namespace(values)
    if X.ndim != 2:
        raise ValueError(f"expected rows (n, q) or images (n, h, w), got an array of {X.ndim} axes.")
    if xp.isdtype(values.dtype, "real floating") and not bool(xp.all(xp.isfinite(values))):
        raise ValueError("Input X contains NaN or infinity; remove or fill these values first.")
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(f"X has {X.shape[1]} features, but the estimator expects {estimator.n_features_in_}.")
    return X


def grey_range(images: Array, data_range: float | None, *, rows: bool) -> float:
    """The range of the grey values, as given or inferred from the dtype."""
    images = working(images)
    integer = not np.isdtype(images.dtype, "real floating")
    if data_range is None:
        known = {"uint8": 255.0, "uint16": 65535.0, "bool": 1.0}
        name = str(images.dtype).rpartition(".")[2]
        if name in known:
            return known[name]
        low, high = _extremes(images)
        if not integer and low >= 0 and high <= 1:
            return 1.0
        if rows:
            return (high - low) or 1.0
        raise ValueError(
            f"data_range is needed for images of {name} values in [{low:g}, {high:g}]; it is inferred for uint8, "
            "uint16 and floats in [0, 1]. Pass the largest value possible, such as data_range=255 for 8-bit images."
        )
    if isinstance(data_range, bool) or not isinstance(data_range, numbers.Real) or not 0 < data_range < np.inf:
        raise ValueError(f"data_range must be a positive number or None, got {data_range!r}.")
    check_range(images, float(data_range), rows=rows)
    return float(data_range)


def check_range(images: Array, data_range: float, *, rows: bool) -> None:
    """Refuse grey values outside the range."""
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
    """Smallest and largest value."""
    values = working(images)
    return float(values.min()), float(values.max())


def check_integer(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Check that a parameter is an integer."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
    if most is not None and int(value) > most:
        raise ValueError(f"{name} must be an integer of at most {most}, got {value!r}.")
    return int(value)


def check_jobs(n_jobs: Any) -> None:
    """Check a number of threads as joblib counts them."""
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and n_jobs != 0 and n_jobs <= MOST_JOBS):
        raise ValueError(
            f"n_jobs must be None or an integer of at most {MOST_JOBS} other than 0, got {n_jobs!r}; -1 uses all cores."
        )


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> Any:
    """Check that a parameter is one of some names."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} is unknown; use one of {', '.join(map(repr, choices))}.")
    return value


def check_number(name: str, value: Any, least: float = 0.0) -> float:
    """Check that a parameter is a finite number."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not least <= float(value) < np.inf:
        raise ValueError(f"{name} must be a number of at least {least:g}, got {value!r}.")
    return float(value)
