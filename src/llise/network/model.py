"""The files of the network: weights, and all other numbers that were learned or calibrated."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FILES = Path(__file__).parent / "model.safetensors", Path(__file__).parent / "model.json"


@dataclass(frozen=True, eq=False)
class Model:
    """Weights by name, and what else was learned."""

    name: str
    digest: str
    kinds: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    weights: dict[str, np.ndarray]
    tuned: dict[str, Any]


def load(weights: Path, numbers: Path) -> Model:
    """Read a model; the digest is that of both files."""
    from safetensors.numpy import load as arrays_of

    data, text = weights.read_bytes(), numbers.read_bytes()
    told = json.loads(text)
    arrays = {name: array.astype(np.float32) for name, array in arrays_of(data).items()}
    sets = tuple(tuple(kinds) for kinds in told["sets"])
    digest = hashlib.sha256(data + text).hexdigest()[:16]
    return Model(told["name"], digest, tuple(told["kinds"]), sets, arrays, told["tuned"])


@cache
def model() -> Model:
    """The model that comes with the package."""
    return load(*FILES)
