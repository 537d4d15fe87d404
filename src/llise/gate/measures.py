"""Measures of a pair by NumPy alone, since loading SciPy takes longer than measuring; pixels may be left out."""

from __future__ import annotations

import numpy as np

from llise.differences import COLOR_ROUNDING, SSIM_WINDOW, Differences, by_block, psnr_of, ssim_of
from llise.gate.outcome import Measures

ROWS = 256
"""Rows whose colours are compared at once, so that large pictures need little memory."""


def measure_pair(
    reference: np.ndarray, copy: np.ndarray, differences: Differences, compared: np.ndarray | None = None
) -> Measures:
    """Measure a copy whose ignored pixels are already those of the reference."""
    n_pixels = reference.size if compared is None else int(np.count_nonzero(compared))
    blocks = differences.changed if compared is None else by_block(compared, mode="constant").any(axis=-1)
    mse = differences.squared_error / n_pixels
    return Measures(
        mse=mse,
        psnr=psnr_of(mse),
        ssim=mean_ssim(reference, copy, compared),
        area=float(np.count_nonzero(differences.changed) / (blocks.size if compared is None else blocks.sum())),
        color_difference=None,
    )


def mean_ssim(reference: np.ndarray, copy: np.ndarray, compared: np.ndarray | None = None) -> float | None:
    """Return the mean SSIM, as scikit-image computes it with its default settings."""
    if min(reference.shape) < SSIM_WINDOW:
        return None
    ssim_map, ssim = ssim_of(reference, copy)
    if compared is None:
        return ssim
    rim = SSIM_WINDOW // 2
    values = ssim_map[rim:-rim, rim:-rim][compared[rim:-rim, rim:-rim]]
    return float(values.mean(dtype=np.float64)) if values.size else None


def colors_differ(reference: np.ndarray, copy: np.ndarray) -> bool:
    """Tell whether red, green or blue of any pixel differs by more than rounding leaves."""
    return any(
        bool((np.abs(np.subtract(a, b, dtype=np.int16)) > COLOR_ROUNDING).any())
        for a, b in zip(_chunks(reference), _chunks(copy))
    )


def color_difference(reference: np.ndarray, copy: np.ndarray, compared: np.ndarray | None = None) -> float:
    """Return the mean CIEDE2000 of two pictures, both taken as sRGB."""
    from skimage.color import deltaE_ciede2000, rgb2lab

    masks = [None] * len(reference) if compared is None else _chunks(compared)
    total, count = 0.0, 0
    for a, b, mask in zip(_chunks(reference), _chunks(copy), masks):
        values = deltaE_ciede2000(rgb2lab(a), rgb2lab(b))
        values = values if mask is None else values[mask]
        total += float(values.sum())
        count += values.size
    return total / count


def _chunks(picture: np.ndarray) -> list[np.ndarray]:
    return [picture[top : top + ROWS] for top in range(0, len(picture), ROWS)]
