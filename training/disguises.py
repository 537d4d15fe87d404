"""Copies that are the original, although some of their values may differ by a grey level or two of rounding."""

from __future__ import annotations

import numpy as np

from llise.colours import pixels_of, planes_of
from llise.kinds.grey import quantise


def disguised(piece: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The piece itself, or after a way there and back that rounds, or with a dither of one grey level."""
    ways = _same, _same, _rounded, _rounded, _dithered, _ordered, _linear_light, _luma_chroma, _fewer_bits
    return ways[int(rng.integers(len(ways)))](piece, rng)


def _same(piece: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return piece.copy()


def _rounded(piece: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rounded down or up where a program computed with fractions."""
    if rng.random() < 0.5:  # one way only: a shift by a whole level would be one of luminance
        change = (rng.random(piece.shape) < rng.uniform(0.05, 0.6)) * rng.choice([-1, 1])
    else:
        change = (rng.random(piece.shape) < rng.uniform(0.05, 1)) * rng.choice([-1, 1], piece.shape)
    return quantise(piece.astype(np.float32) + change)


def _dithered(piece: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return quantise(piece + rng.uniform(0.6, 1.6) * (rng.random(piece.shape, dtype=np.float32) - 0.5))


def _ordered(piece: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    bayer = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 16 - 0.47
    tiled = np.tile(bayer, [-(-n // 4) for n in piece.shape[:2]])[: piece.shape[0], : piece.shape[1]]
    return quantise(piece + (1.5 * tiled if piece.ndim == 2 else 1.5 * tiled[..., None]))


def _linear_light(piece: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """To linear light and back with 10 to 12 bits on the way."""
    levels, power = 2.0 ** int(rng.integers(10, 13)) - 1, rng.uniform(1.8, 2.4)
    table = np.rint((np.arange(256) / 255) ** power * levels) / levels
    back = np.rint(255 * table ** (1 / power))
    return np.clip(back, np.arange(256) - 1, np.arange(256) + 1).astype(np.uint8)[piece]


def _luma_chroma(piece: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """To 8-bit luma and chroma and back, as players of films do."""
    if piece.ndim == 2:
        return quantise(np.rint(piece * np.float32(219 / 255)) * np.float32(255 / 219))
    return quantise(pixels_of(np.rint(planes_of(piece))))


def _fewer_bits(piece: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The last bit cleared, set, or replaced by a message."""
    bit = rng.integers(0, 2, piece.shape) if rng.random() < 0.5 else int(rng.integers(2))
    return ((piece & 254) | bit).astype(np.uint8)
