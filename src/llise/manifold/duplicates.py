"""Images by the fingerprints of their pixels: which are equal, and a sample that depends on nothing else."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from llise.engine.backend import to_numpy

Array = Any
AT_ONCE = 2**24  # values that are in memory in another type at a time


def digests(images: Array, dtype: Any = None) -> list[bytes]:
    """Return a fingerprint of the pixels of each image, read some images at a time."""
    step = max(1, AT_ONCE // max(1, int(np.prod(images.shape[1:]))))
    found: list[bytes] = []
    for start in range(0, len(images), step):
        some = np.ascontiguousarray(to_numpy(images[start : start + step]), dtype=dtype)
        if some.dtype.kind == "f":
            some = some + 0.0  # -0.0 equals 0.0
        found += [blake2b(image.data, digest_size=16).digest() for image in some]
    return found


def identical_training_image(images: Array, training: Array) -> np.ndarray:
    """For each new image, the index of the first training image with the same pixels, or -1."""
    dtype = np.result_type(images.dtype, training.dtype)
    first: dict[bytes, int] = {}
    for index, digest in enumerate(digests(training, dtype)):
        first.setdefault(digest, index)
    return np.array([first.get(digest, -1) for digest in digests(images, dtype)])


def landmarks(images: Array, count: int) -> np.ndarray:
    """Return the indices, ascending, of the images with the smallest fingerprints, each picture once."""
    first: dict[bytes, int] = {}
    for index, digest in enumerate(digests(images)):
        first.setdefault(digest, index)
    return np.sort([first[digest] for digest in sorted(first)[:count]])
