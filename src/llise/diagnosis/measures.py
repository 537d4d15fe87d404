"""What is measured of a copy before anything is judged: errors, SSIM, which blocks differ, rounding, likeness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from llise.differences import by_block, psnr_of, ssim_of
from llise.images import as_uint8

SMOOTHINGS = (0.0, 1.5, 3.0, 5.0, 8.0, 12.0, 18.0)
"""Widths in blocks, a factor of 1.5 to 2 apart, by which the reference is smoothed: the copy may be blurred."""

NEIGHBOURHOOD = 9
"""Blocks across which the mean is subtracted from block means, as many scenes are lighter above than below."""

FURTHEST = 2.0
"""Standard deviations at which block means are cut, so that a few blocks of something added count little."""


@dataclass(frozen=True, eq=False)
class Measures:
    """Errors of a copy: of the luma as a whole, and by block over all channels."""

    mse: float
    psnr: float
    ssim: float
    ssim_map: np.ndarray
    block_mse: np.ndarray  # float32 (rows, cols)
    largest: np.ndarray  # int16 (rows, cols): largest difference of a channel

    @property
    def differs(self) -> np.ndarray:
        """Blocks in which any channel of any pixel differs."""
        return self.largest > 0


def measure_copy(reference: np.ndarray, copy: np.ndarray) -> Measures:
    """Measure a copy (h, w) or (h, w, 3) against its reference."""
    luma, other = as_uint8(reference), as_uint8(copy)
    mse = float(np.mean(np.subtract(other, luma, dtype=np.float32) ** 2, dtype=np.float64))
    ssim_map, ssim = ssim_of(luma, other)
    error, largest = block_errors(reference, copy)
    return Measures(mse, psnr_of(mse), ssim, ssim_map, error, largest)


def block_errors(reference: np.ndarray, copy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean squared error of each block over all channels, and the largest difference in it."""
    error = np.abs(np.subtract(copy, reference, dtype=np.int16))
    channels = [error] if error.ndim == 2 else [error[..., channel] for channel in range(error.shape[-1])]
    blocks = [by_block(channel, mode="constant") for channel in channels]
    largest = np.max([one.max(axis=-1) for one in blocks], axis=0)
    sums = np.sum([np.einsum("rcp,rcp->rc", one, one, dtype=np.int64) for one in blocks], axis=0)
    sizes = by_block(np.ones(error.shape[:2], np.int8), mode="constant").sum(axis=-1, dtype=np.int64)
    return (sums / (sizes * len(channels))).astype(np.float32), largest


def rounding_of(reference: np.ndarray, copy: np.ndarray, outside: np.ndarray) -> tuple[float, int] | None:
    """Share of the picture's pixels that differ `outside`, and the largest difference; None if none do."""
    error = np.abs(np.subtract(copy, reference, dtype=np.int16))
    largest = (error if error.ndim == 2 else error.max(axis=-1)) * outside
    return (float(np.count_nonzero(largest)) / largest.size, int(largest.max())) if largest.any() else None


def likeness(reference: np.ndarray, copy: np.ndarray) -> float:
    """Correlation of the block means of two lumas, each less its neighbourhood; 1 where nothing can be told."""
    own, other = (by_block(picture).mean(axis=-1) for picture in (reference, copy))
    b = _relief(other)
    spread = _relief(own).std()
    if own.size < 64 or spread < 2 or b.std() < 0.05 * spread:  # few blocks, an even reference, a copy without contrast
        return 1.0
    smooth = [ndimage.gaussian_filter(own, width, mode="nearest") if width else own for width in SMOOTHINGS]
    reliefs, most = [_relief(means) for means in smooth], FURTHEST * spread
    pairs = [(relief, b) for relief in reliefs]
    pairs += [(np.clip(relief, -most, most), np.clip(b, -most, most)) for relief in reliefs]
    pairs.append((reliefs[0], -b))
    best = max(_correlation(relief, values, 0.1 * spread) for relief, values in pairs)
    whole = max(_correlation(means, other, 0.1 * spread) for means in smooth)
    return max(best, 2 * whole - 1)  # skies alike have means alike, so that those count less than their reliefs


def _relief(means: np.ndarray) -> np.ndarray:
    return means - ndimage.uniform_filter(means, NEIGHBOURHOOD, mode="nearest")


def _correlation(one: np.ndarray, other: np.ndarray, least: float) -> float:
    """Correlation of two fields; -1 if the first varies less than `least`."""
    a, b = (values.ravel() - values.mean() for values in (one, other))
    if a.std() < least or not b.any():
        return -1.0
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def nature_of(error: np.ndarray, mask: np.ndarray, thresholds: dict[str, float]) -> tuple[str, ...]:
    """How an error (h, w) looks inside a mask: periodic, smooth or noisy, and whether it has an 8 x 8 grid."""
    inside = error[mask]
    power = float(inside.var()) if inside.size else 0.0
    if inside.size < 128 or power == 0:
        return ()
    error = np.where(mask, error - inside.mean(), 0)
    steps = [
        np.diff(error, axis=axis)[mask[1:] & mask[:-1] if axis == 0 else mask[:, 1:] & mask[:, :-1]] for axis in (0, 1)
    ]
    alike = 1 - float(np.mean(np.concatenate(steps) ** 2)) / (2 * power)
    found = []
    if _peak(error) > thresholds["periodic"]:
        found.append("periodic")
    elif alike > thresholds["smooth"] or alike < thresholds["noisy"]:
        found.append("smooth" if alike > thresholds["smooth"] else "noisy")
    if max(_grid(error, mask), _grid(error.T, mask.T)) > thresholds["grid"]:
        found.append("on the 8x8 grid")
    return tuple(found)


def _peak(error: np.ndarray) -> float:
    """Largest share of the power in 3 x 3 numbers of the spectrum, of four waves over the picture or more."""
    spectrum = np.abs(np.fft.rfft2(error * np.outer(*(np.hanning(n) for n in error.shape)))) ** 2
    total = float(spectrum.sum())
    down = np.abs(np.fft.fftfreq(len(spectrum), 1 / len(spectrum)))
    spectrum[np.hypot(down[:, None], np.arange(spectrum.shape[1])) < 4] = 0
    return 9 * float(ndimage.uniform_filter(spectrum, 3, mode="constant").max()) / max(total, 1e-12)


def _grid(error: np.ndarray, mask: np.ndarray) -> float:
    """Mean squared step across the lines of the grid of rows, against that across other lines."""
    step, both = np.diff(error, axis=0) ** 2, mask[1:] & mask[:-1]
    on = np.arange(1, len(error)) % 8 == 0
    means = [float(step[lines][both[lines]].mean()) if both[lines].any() else 0.0 for lines in (on, ~on)]
    return (means[0] + 0.1) / (means[1] + 0.1)
