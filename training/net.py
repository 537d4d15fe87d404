"""The network in torch: from a reference and a copy to log-odds of kinds for each block of 8 x 8 pixels.

What a convolution cannot make well is computed by hand: cosine coefficients of each block (JPEG is visible there), and
quotients of moments (gains, and what a line or a filter leaves). All of it is at 1/4 and 1/8 of the sides and below.
`llise.network.evaluator` computes the same in NumPy; a test keeps the two equal.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

BLOCK = 8
PERIODS = (64.0, 32.0, 16.0, 8.0, 4.0, 2.0)
"""Periods, in grey levels, of the cosines and sines in which quantization is visible."""


@dataclass(frozen=True)
class Shape:
    """Widths at 1/4, 1/8, 1/16 and 1/32 of the sides, and numbers of residual blocks there and on the way back."""

    kinds: int = 17
    sets: int = 138
    words: int = 0
    widths: tuple[int, int, int, int] = (48, 96, 144, 192)
    hidden: int = 192
    down: tuple[int, int, int, int] = (1, 1, 2, 1)
    up: tuple[int, int] = (1, 1)

    def as_dict(self) -> dict:
        return asdict(self)


def luma_chroma(rgb: torch.Tensor) -> torch.Tensor:
    """(b, 3, h, w) of red, green, blue -> luma, blue and red difference, full range Rec. 601 as in JPEG."""
    m = rgb.new_tensor([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
    return torch.einsum("ij,bjhw->bihw", m, rgb)


def cosines() -> torch.Tensor:
    """The 8 x 8 cosine transform as a matrix: 64 pixels times this are 64 coefficients."""
    k, n = np.arange(8)[:, None], np.arange(8)[None]
    m = np.cos(np.pi * (2 * n + 1) * k / 16) * np.where(k == 0, math.sqrt(1 / 8), math.sqrt(2 / 8))
    return torch.from_numpy(np.einsum("ai,bj->ijab", m, m).reshape(64, 64).astype(np.float32))


def transformed(planes: torch.Tensor, basis: torch.Tensor) -> torch.Tensor:
    """(b, c, h, w) -> (b, c, 64, h/8, w/8)."""
    b, c, h, w = planes.shape
    blocks = planes.reshape(b, c, h // 8, 8, w // 8, 8).permute(0, 1, 2, 4, 3, 5).reshape(-1, 64)
    return (blocks @ basis).reshape(b, c, h // 8, w // 8, 64).permute(0, 1, 4, 2, 3)


def bent(x: torch.Tensor, unit: float) -> torch.Tensor:
    """x in units, bent into -1..1; far cheaper than asinh or tanh."""
    return x / (x.abs() + unit)


def pixel_maps(rgb_r: torch.Tensor, rgb_c: torch.Tensor, r: torch.Tensor, c: torch.Tensor, kind: torch.dtype):
    """What is seen of each pixel."""
    e = c - r
    rgb_e = rgb_c - rgb_r
    mean = lambda x: x.float().mean(1, keepdim=True)
    phase = c[:, :1] * (2 * math.pi / PERIODS[0])
    cos, sin = [phase.cos()], [phase.sin()]
    for _ in PERIODS[1:]:  # each period is half the one before
        cos, sin = [*cos, 2 * cos[-1] * cos[-1] - 1], [*sin, 2 * sin[-1] * cos[-1]]
    flags = [mean(rgb_e == 0), mean(rgb_c == 0), mean(rgb_c == 255), mean(rgb_r == 0), mean(rgb_r == 255)]
    grey = [r[:, :1] / 128 - 1, c[:, :1] / 128 - 1, c[:, 1:] / 64, (e[:, :1] / 64).clamp(-2, 2)]
    maps = [*grey, bent(e, 2.0), bent(e, 16.0), bent(rgb_e, 4.0), *flags, *cos, *sin]
    return torch.cat([m.to(kind) for m in maps], 1)


PIXEL_MAPS = 31


def moments(r: torch.Tensor, c: torch.Tensor, rgb_r: torch.Tensor, rgb_c: torch.Tensor) -> torch.Tensor:
    """Quotients of moments of each block, of its 3 x 3 and of its 7 x 7 neighbourhood of blocks."""
    x = torch.cat([r[:, :1], r, rgb_r, _laplacian(r[:, :1])], 1)
    y = torch.cat([c[:, :1] - r[:, :1], c - r, rgb_c - rgb_r, c[:, :1] - r[:, :1]], 1)
    pool = lambda t: F.avg_pool2d(t, 8)
    sums = [pool(x), pool(y), pool(x * x), pool(x * y), pool(y * y)]
    out = []
    for reach in (0, 1, 3):
        if reach:
            k = 2 * reach + 1
            wide = [F.avg_pool2d(s, k, 1, reach, count_include_pad=False) for s in sums]
        else:
            wide = sums
        mx, my, xx, xy, yy = wide
        vx, vy, cov = (xx - mx * mx).clamp(min=0), (yy - my * my).clamp(min=0), xy - mx * my
        slope = cov / (vx + 4)
        left = (vy - slope * cov).clamp(min=0)
        out += [slope.clamp(-4, 4), torch.log(left + 0.05) / 3, torch.asinh(my) / 2]
        out += [torch.log(vx + 0.05)[:, :1] / 3, torch.log(vy + 0.05) / 3, (cov / (vx * vy + 1).sqrt())]
    e = (c - r)[:, :1]
    a = e.abs()
    largest, mean, power = F.max_pool2d(a, 8), pool(a), pool(e * e)
    out += [torch.asinh(largest) / 2, mean / (power + 0.1).sqrt(), torch.log((largest + 0.5) / (mean + 0.1)) / 3]
    return torch.cat(out, 1)


MOMENTS = 3 * (5 * 8 + 1) + 3


def _laplacian(x: torch.Tensor) -> torch.Tensor:
    p = F.pad(x, (1, 1, 1, 1), mode="replicate")
    return p[:, :, 1:-1, :-2] + p[:, :, 1:-1, 2:] + p[:, :, :-2, 1:-1] + p[:, :, 2:, 1:-1] - 4 * x


def coefficients(r: torch.Tensor, c: torch.Tensor, basis: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    """Cosine coefficients: error, size of the copy's against the reference's, sizes, what is nearly nothing."""
    tr, tc = transformed(r, basis), transformed(c, basis)
    e, size_r, size_c = tc - tr, tr.abs(), tc.abs()
    y = lambda t: t[:, 0]
    every = lambda t: t.flatten(1, 2)
    parts = [
        bent(y(e), 4.0), every((size_c - size_r) / (size_c + size_r + 1)), every(bent(e.abs(), 2.0)),
        bent(y(e).abs(), 16.0), bent(y(size_c), 16.0), 1 / (1 + 4 * y(tc).square()),
    ]  # fmt: skip
    return torch.cat([part.to(kind) for part in parts], 1)


COEFFICIENTS = 64 * (1 + 3 + 3 + 1 + 1 + 1)


class Conv(nn.Module):
    """Convolution and batch normalisation, which fold into one convolution."""

    def __init__(self, a: int, b: int, side: int = 1, stride: int = 1, gain: float = 1.0):
        super().__init__()
        self.conv = nn.Conv2d(a, b, side, stride, side // 2 if stride == 1 else 0, bias=False)
        self.norm = nn.BatchNorm2d(b, momentum=0.02)
        nn.init.constant_(self.norm.weight, gain)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.conv(x))


class Residual(nn.Module):
    """x + conv(relu(conv(x)))."""

    def __init__(self, width: int):
        super().__init__()
        self.first, self.second = Conv(width, width, 3), Conv(width, width, 3, gain=0.3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.second(F.relu(self.first(x)))


def residuals(width: int, number: int) -> nn.Sequential:
    return nn.Sequential(*[Residual(width) for _ in range(number)])


class Net(nn.Module):
    """Log-odds of kinds and of sets of kinds for each block."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        a, b, c, d = shape.widths
        self.register_buffer("basis", cosines(), persistent=False)
        self.pixels, self.s4 = Conv(PIXEL_MAPS, a, 4, 4), residuals(a, shape.down[0])
        self.blocks = Conv(COEFFICIENTS + MOMENTS, shape.hidden)
        self.d8, self.mix, self.s8 = Conv(a, b, 2, 2), Conv(shape.hidden, b), residuals(b, shape.down[1])
        self.d16, self.s16 = Conv(b, c, 2, 2), residuals(c, shape.down[2])
        self.d32, self.s32 = Conv(c, d, 2, 2), residuals(d, shape.down[3])
        self.whole = nn.Sequential(nn.Linear(d + b, d), nn.ReLU(), nn.Linear(d, d))
        self.u16, self.t16 = Conv(d + c, c), residuals(c, shape.up[0])
        self.u8, self.t8 = Conv(c + b, b), residuals(b, shape.up[1])
        self.features = Conv(b, shape.hidden)
        self.kinds, self.sets = nn.Conv2d(shape.hidden, shape.kinds, 1), nn.Conv2d(shape.hidden, shape.sets, 1)
        self.words = nn.Conv2d(shape.hidden, 2 * shape.words, 1) if shape.words else None

    def forward(self, reference: torch.Tensor, copy: torch.Tensor, valid: torch.Tensor):
        """reference, copy: (b, 3, h, w) on 0..255, sides multiples of 32; valid: (b, 1, h/8, w/8), 1 in the picture."""
        device = reference.device.type
        kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else torch.float32
        with torch.autocast(device, enabled=False), torch.no_grad():
            rgb_r, rgb_c = reference.float(), copy.float()
            r, c = luma_chroma(rgb_r), luma_chroma(rgb_c)
            maps = pixel_maps(rgb_r, rgb_c, r, c, kind)
            given = torch.cat([coefficients(r, c, self.basis, kind), moments(r, c, rgb_r, rgb_c).to(kind)], 1)
            maps, given = (t.contiguous(memory_format=torch.channels_last) for t in (maps, given))
            changed = F.max_pool2d((rgb_r != rgb_c).any(1, keepdim=True).float(), BLOCK) * valid
        x4 = self.s4(F.relu(self.pixels(maps)))
        x8 = F.relu(self.d8(x4) + self.mix(F.relu(self.blocks(given)))) * valid
        x8 = self.s8(x8)
        x16 = self.s16(F.relu(self.d16(x8)))
        x32 = self.s32(F.relu(self.d32(x16)))
        # what the whole picture says: the mean over its changed blocks and over all cells
        seen = (x8 * changed).sum((2, 3)) / changed.sum((2, 3)).clamp(min=1)
        x32 = x32 + self.whole(torch.cat([x32.mean((2, 3)), seen], 1))[:, :, None, None]
        y = self.t16(F.relu(self.u16(torch.cat([_twice(x32), x16], 1))))
        y = self.t8(F.relu(self.u8(torch.cat([_twice(y), x8], 1))))
        y = F.relu(self.features(y))
        return self.kinds(y), self.sets(y), self.words(y) if self.words is not None else None, y


def _twice(x: torch.Tensor) -> torch.Tensor:
    return F.interpolate(x, scale_factor=2.0, mode="nearest")


def cost(shape: Shape) -> float:
    """Multiplications of one megapixel, in 10^9."""
    a, b, c, d = shape.widths
    h, (n4, n8, n16, n32), (m16, m8) = shape.hidden, shape.down, shape.up
    quarter = 16 * PIXEL_MAPS * a + n4 * 18 * a * a
    eighth = 4 * a * b + (COEFFICIENTS + MOMENTS) * h + h * b + (n8 + m8) * 18 * b * b + (b + c) * b
    eighth += b * h + h * (shape.kinds + shape.sets + 2 * shape.words) + 64 * 64 * 6
    sixteenth = 4 * b * c + (n16 + m16) * 18 * c * c + (c + d) * c
    below = 4 * c * d + n32 * 18 * d * d
    return (quarter / 16 + eighth / 64 + sixteenth / 256 + below / 1024) * 1e-3
