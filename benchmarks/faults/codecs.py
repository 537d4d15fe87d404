"""Coders of the package imagecodecs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from faults.programs import Copies, Program
from llise.labels import UNKNOWN

TITLE = "imagecodecs"


def programs() -> list[Program]:
    """Return the programs; ImportError if the package is not installed."""
    import imagecodecs as codecs

    return [
        _coder("jpeg2k", "jpeg2000", lambda x, s: codecs.jpeg2k_encode(x, level=60 - s), codecs.jpeg2k_decode, 48),
        _coder("jpegxl", UNKNOWN, lambda x, s: codecs.jpegxl_encode(x, distance=s), codecs.jpegxl_decode, 25),
        _coder("jpegxr", UNKNOWN, lambda x, s: codecs.jpegxr_encode(x, level=1 - s), codecs.jpegxr_decode, 0.99),
        _coder("avif", UNKNOWN, lambda x, s: codecs.avif_encode(_rgb(x), level=round(100 - s), speed=8),
               codecs.avif_decode, 99),
        _coder("webp", UNKNOWN, lambda x, s: codecs.webp_encode(_rgb(x), level=100 - s, lossless=False),
               codecs.webp_decode, 99),
    ]  # fmt: skip


def _rgb(image: np.ndarray) -> np.ndarray:
    return np.repeat(image[..., None], 3, axis=2)


def _coder(
    name: str,
    kind: str,
    encode: Callable[[np.ndarray, float], bytes],
    decode: Callable[[bytes], np.ndarray],
    end: float,
) -> Program:
    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        def path(strength: float) -> np.ndarray:
            if strength <= 0:
                return image
            decoded = decode(encode(image, strength))
            return np.ascontiguousarray(decoded[..., 1] if decoded.ndim == 3 else decoded)

        return Copies(path, end)

    return Program(f"imagecodecs {name}", kind, build, nearness="near" if kind == UNKNOWN else "")
