"""What the network is given of a reference and a copy; `training/net.py` says why."""

from __future__ import annotations

import numpy as np

BLOCK = 8
PERIODS = 6
LUMA_CHROMA = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]], np.float32)
"""Full-range Rec. 601, as in JPEG."""

_K, _N = np.arange(8)[:, None], np.arange(8)[None]
_COSINES = np.cos(np.pi * (2 * _N + 1) * _K / 16) * np.where(_K == 0, np.sqrt(1 / 8), np.sqrt(2 / 8))
BASIS = np.einsum("ai,bj->ijab", _COSINES, _COSINES).reshape(64, 64).astype(np.float32)


def bent(x: np.ndarray, unit: float) -> np.ndarray:
    return x / (np.abs(x) + np.float32(unit))


def pixel_maps(rgb_r: np.ndarray, rgb_c: np.ndarray, r: np.ndarray, c: np.ndarray) -> np.ndarray:
    e, rgb_e = c - r, rgb_c - rgb_r
    mean = lambda x: np.add(x[..., :1].astype(np.float32) + x[..., 1:2], x[..., 2:]) / np.float32(3)
    phase = c[..., :1] * np.float32(2 * np.pi / 64)
    cos, sin = [np.cos(phase)], [np.sin(phase)]
    for _ in range(PERIODS - 1):
        cos, sin = [*cos, 2 * cos[-1] * cos[-1] - 1], [*sin, 2 * sin[-1] * cos[-1]]
    flags = [mean(rgb_e == 0), mean(rgb_c == 0), mean(rgb_c == 255), mean(rgb_r == 0), mean(rgb_r == 255)]
    grey = [r[..., :1] / 128 - 1, c[..., :1] / 128 - 1, c[..., 1:] / 64, np.clip(e[..., :1] / 64, -2, 2)]
    return np.concatenate([*grey, bent(e, 2.0), bent(e, 16.0), bent(rgb_e, 4.0), *flags, *cos, *sin], -1)


def in_blocks(x: np.ndarray) -> np.ndarray:
    """(h, w, c) -> (h/8, w/8, 64, c)."""
    h, w, c = x.shape
    return x.reshape(h // 8, 8, w // 8, 8, c).swapaxes(1, 2).reshape(h // 8, w // 8, 64, c)


def coefficients(r: np.ndarray, c: np.ndarray) -> np.ndarray:
    tr, tc = (np.moveaxis(in_blocks(x), -1, -2) @ BASIS for x in (r, c))
    e, size_r, size_c = tc - tr, np.abs(tr), np.abs(tc)
    every = lambda t: t.reshape(*t.shape[:2], -1)
    y = lambda t: t[:, :, 0]
    return np.concatenate(
        [bent(y(e), 4.0), every((size_c - size_r) / (size_c + size_r + 1)), every(bent(np.abs(e), 2.0)),
         bent(np.abs(y(e)), 16.0), bent(y(size_c), 16.0), 1 / (1 + 4 * np.square(y(tc)))], -1,
    )  # fmt: skip


def moments(r: np.ndarray, c: np.ndarray, rgb_r: np.ndarray, rgb_c: np.ndarray) -> np.ndarray:
    e = c[..., :1] - r[..., :1]
    p = np.pad(r[..., :1], ((1, 1), (1, 1), (0, 0)), mode="edge")
    laplacian = p[1:-1, :-2] + p[1:-1, 2:] + p[:-2, 1:-1] + p[2:, 1:-1] - 4 * r[..., :1]
    x = in_blocks(np.concatenate([r[..., :1], r, rgb_r, laplacian], -1))
    y = in_blocks(np.concatenate([e, c - r, rgb_c - rgb_r, e], -1))
    product = lambda a, b: np.einsum("hwpc,hwpc->hwc", a, b) / np.float32(64)
    sums = np.stack([x.mean(2), y.mean(2), product(x, x), product(x, y), product(y, y)])
    out = []
    for reach in (0, 1, 3):
        mx, my, xx, xy, yy = _mean_around(sums, reach)
        vx, vy, cov = np.maximum(xx - mx * mx, 0), np.maximum(yy - my * my, 0), xy - mx * my
        slope = cov / (vx + 4)
        left = np.maximum(vy - slope * cov, 0)
        out += [np.clip(slope, -4, 4), np.log(left + 0.05) / 3, np.arcsinh(my) / 2]
        out += [np.log(vx + 0.05)[..., :1] / 3, np.log(vy + 0.05) / 3, cov / np.sqrt(vx * vy + 1)]
    a = np.abs(in_blocks(e))
    largest, mean, power = a.max(2), a.mean(2), np.square(a).mean(2)
    out += [np.arcsinh(largest) / 2, mean / np.sqrt(power + 0.1), np.log((largest + 0.5) / (mean + 0.1)) / 3]
    return np.concatenate(out, -1).astype(np.float32)


def _mean_around(sums: np.ndarray, reach: int) -> np.ndarray:
    """Mean over the blocks up to `reach` away that lie in the picture."""
    for axis in (1, 2):
        total, count = np.zeros_like(sums), np.zeros(sums.shape[axis], np.float32)
        n = sums.shape[axis]
        for step in range(-min(reach, n - 1), min(reach, n - 1) + 1):
            to, of = slice(max(-step, 0), n - max(step, 0)), slice(max(step, 0), n - max(-step, 0))
            index = (slice(None),) * axis
            total[(*index, to)] += sums[(*index, of)]
            count[to] += 1
        sums = total / count.reshape([-1 if k == axis else 1 for k in range(4)])
    return sums
