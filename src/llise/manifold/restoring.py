"""Results of a fit that come from a file: checked before compiled code, which trusts its arrays, uses them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from llise.manifold.pipeline import Fitted, Settings

LARGEST = 1e30
"""Largest value of a saved result: squares and sums of it must not overflow."""


def checked_blocks(arrays: dict[str, np.ndarray], b: int, n: int, settings: Settings, measured: bool) -> Fitted:
    """Return the results of a saved fit."""
    expected: dict[str, tuple[int, ...]] = {"coordinates": (b, n, settings.n_components)}
    if not settings.kernel.is_linear:
        expected |= {"norms": (b, n), "means": (b, n), "grand": (b,)}
    if settings.luminance:
        expected["level"] = (b,)
    for name in expected:
        _check_numbers(name, arrays[name])
    if not settings.kernel.is_linear and not (arrays["norms"] > 0).all():
        raise ValueError("norms has values that are not positive")
    if measured:
        names = ("reconstruction_error", "objective", "stationarity", "n_iter", "violation")
        expected |= dict.fromkeys(names, (b,)) | {"history": (b, *arrays["history"].shape[1:])}
    for name, shape in expected.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}, expected {shape}")
    absent: dict[str, Any] = dict.fromkeys(field.name for field in fields(Fitted))
    return Fitted(**absent | {name: arrays[name] for name in expected})


def _check_numbers(name: str, values: np.ndarray) -> None:
    """Refuse other types than the two floats that are saved, and values with which computing would overflow."""
    if values.dtype not in (np.float32, np.float64):
        raise ValueError(f"{name} has the type {values.dtype}, expected float32 or float64")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} has NaN or infinity")
    if name != "norms" and values.size and np.abs(values).max() > LARGEST:
        raise ValueError(f"{name} has values beyond {LARGEST:g}")
