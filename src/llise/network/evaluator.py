"""The network evaluated in NumPy: one look at a reference and a copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from llise.network.inputs import BLOCK, LUMA_CHROMA, coefficients, moments, pixel_maps
from llise.network.model import Model, model

CELL = 32
"""Side of the cells of the coarsest step; sides are filled up to multiples of it."""

TILE, MARGIN = 512, 64
"""Pixels that are looked at together in a larger picture, and what is seen of its surroundings."""

BAND = 2048
"""Places of which a convolution gathers the neighbours at once, so that they stay in the cache."""


class Look(NamedTuple):
    """What the network says of each block of 8 x 8 pixels; zeros where nothing differs in the whole tile."""

    kinds: np.ndarray
    """Log-odds of each kind, (rows, cols, kinds)."""
    sets: np.ndarray
    """Log-probabilities of each set of kinds, (rows, cols, sets)."""
    features: np.ndarray
    """What the last layer saw, (rows, cols, features)."""
    changed: np.ndarray
    """Whether a pixel differs, (rows, cols)."""


def look(reference: np.ndarray, copy: np.ndarray, using: Model | None = None) -> Look:
    """Look at a pair of pictures (h, w, 3) or (h, w) of uint8."""
    using = using or model()
    reference, copy = (np.repeat(x[..., None], 3, -1) if x.ndim == 2 else x for x in (reference, copy))
    rows, cols = (-(-n // BLOCK) for n in reference.shape[:2])
    w = using.weights
    out = [np.zeros((rows, cols, n), np.float32) for n in (len(using.kinds), len(using.sets), w["features.b"].size)]
    differs = (reference != copy).any(-1)
    pad = [(0, -n % BLOCK) for n in differs.shape]
    changed = np.asarray(np.pad(differs, pad).reshape(rows, BLOCK, cols, BLOCK).any(axis=(1, 3)))
    for inner, seen in _tiles(*differs.shape):
        block = tuple(slice(s.start // BLOCK, -(-s.stop // BLOCK)) for s in inner)
        if changed[block].any():
            part = tuple(
                slice((i.start - s.start) // BLOCK, -(-(i.stop - s.start) // BLOCK)) for i, s in zip(inner, seen)
            )
            for whole, said in zip(out, _said(reference[seen], copy[seen], w)):
                whole[block] = said[part]
    kinds, sets, features = out
    sets -= np.logaddexp.reduce(sets, -1, keepdims=True)
    return Look(kinds, sets, features, changed)


def _tiles(height: int, width: int) -> Iterator[tuple[tuple[slice, slice], tuple[slice, slice]]]:
    """Parts of a picture, and these with a margin."""
    steps = [range(0, n, n if n <= TILE + 2 * MARGIN else TILE) for n in (height, width)]
    for top in steps[0]:
        for left in steps[1]:
            inner = tuple(
                slice(a, n if n <= TILE + 2 * MARGIN else min(a + TILE, n)) for a, n in ((top, height), (left, width))
            )
            seen = tuple(
                slice(max(s.start - MARGIN, 0), min(s.stop + MARGIN, n)) for s, n in zip(inner, (height, width))
            )
            yield inner, seen  # type: ignore[misc]


def _said(reference: np.ndarray, copy: np.ndarray, w: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]:
    """Log-odds of kinds, scores of sets and features of a tile; the steps of `Net.forward` in training/net.py."""
    h, width = reference.shape[:2]
    filled = [(0, -h % CELL), (0, -width % CELL), (0, 0)]
    rgb_r, rgb_c = (np.pad(x, filled, mode="edge").astype(np.float32) for x in (reference, copy))
    r, c = rgb_r @ LUMA_CHROMA.T, rgb_c @ LUMA_CHROMA.T
    valid = np.zeros((r.shape[0] // BLOCK, r.shape[1] // BLOCK, 1), np.float32)
    valid[: -(-h // BLOCK), : -(-width // BLOCK)] = 1
    given = np.concatenate([coefficients(r, c), moments(r, c, rgb_r, rgb_c)], -1)
    x4 = _relu(_reduced(pixel_maps(rgb_r, rgb_c, r, c), w, "pixels", 4))
    x4 = _residuals(x4, w, "s4")
    x8 = _relu(_reduced(x4, w, "d8") + _plain(_relu(_plain(given, w, "blocks")), w, "mix")) * valid
    x8 = _residuals(x8, w, "s8")
    x16 = _residuals(_relu(_reduced(x8, w, "d16")), w, "s16")
    x32 = _residuals(_relu(_reduced(x16, w, "d32")), w, "s32")
    changed = (rgb_r != rgb_c).any(-1).reshape(valid.shape[0], BLOCK, valid.shape[1], BLOCK).any((1, 3))[
        ..., None
    ] * valid
    seen = (x8 * changed).sum((0, 1)) / max(changed.sum(), 1)
    whole = np.concatenate([x32.mean((0, 1)), seen])
    x32 = x32 + _plain(_relu(_plain(whole, w, "whole.0")), w, "whole.2")
    y = _relu(_plain(np.concatenate([_twice(x32), x16], -1), w, "u16"))
    y = _relu(_plain(np.concatenate([_twice(_residuals(y, w, "t16")), x8], -1), w, "u8"))
    y = _relu(_plain(_residuals(y, w, "t8"), w, "features"))
    return _plain(y, w, "kinds"), _plain(y, w, "sets"), y


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0, out=x)


def _plain(x: np.ndarray, w: dict[str, np.ndarray], name: str) -> np.ndarray:
    return x @ w[f"{name}.w"] + w[f"{name}.b"]


def _reduced(x: np.ndarray, w: dict[str, np.ndarray], name: str, side: int = 2) -> np.ndarray:
    """Convolution of side x side pixels by steps of as many."""
    h, width, c = x.shape
    cells = x.reshape(h // side, side, width // side, side, c).swapaxes(1, 2).reshape(h // side, width // side, -1)
    return _plain(cells, w, name)


def _residuals(x: np.ndarray, w: dict[str, np.ndarray], name: str) -> np.ndarray:
    number = 0
    while f"{name}.{number}.first.w" in w:
        y = _relu(_around(x, w, f"{name}.{number}.first"))
        x = x + _around(y, w, f"{name}.{number}.second")
        number += 1
    return x


def _around(x: np.ndarray, w: dict[str, np.ndarray], name: str) -> np.ndarray:
    """Convolution of 3 x 3 with zeros around, by bands of rows."""
    h, width, c = x.shape
    padded = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    out = np.empty((h, width, w[f"{name}.b"].size), np.float32)
    rows = max(1, BAND // width)
    for top in range(0, h, rows):
        n = min(rows, h - top)
        near = [padded[top + i : top + i + n, j : j + width] for i in range(3) for j in range(3)]
        np.matmul(
            np.concatenate(near, -1).reshape(n * width, 9 * c),
            w[f"{name}.w"],
            out=out[top : top + n].reshape(-1, out.shape[-1]),
        )
    return out + w[f"{name}.b"]


def _twice(x: np.ndarray) -> np.ndarray:
    return x.repeat(2, 0).repeat(2, 1)
