"""Measures of a colour copy beside its verdict: colour difference by CIEDE2000, PSNR and SSIM of each plane."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from llise.colours import PLANES, planes_of
from llise.differences import psnr_of, ssim_of

ROWS = 256
"""Rows that are converted at once, so that large pictures need little memory."""


class ColorMeasures:
    """Measures of a colour copy, each computed when it is first asked for."""

    def __init__(self, reference: np.ndarray, copy: np.ndarray) -> None:
        self._reference, self._copy = reference, copy

    @cached_property
    def mse(self) -> float:
        """Mean squared error over red, green and blue."""
        return self._error_of(self._reference, self._copy)

    @property
    def psnr(self) -> float:
        """Peak signal-to-noise ratio over red, green and blue, in dB."""
        return psnr_of(self.mse)

    @cached_property
    def difference_map(self) -> np.ndarray:
        """CIEDE2000 of each pixel, float32 (h, w): about 1 can just be seen."""
        from skimage.color import deltaE_ciede2000, rgb2lab

        out = np.zeros(self._copy.shape[:2], np.float32)
        for top in range(0, len(out), ROWS):
            part = slice(top, top + ROWS)
            differs = (self._reference[part] != self._copy[part]).any(axis=-1)
            if differs.any():
                labs = [
                    rgb2lab(pixels[part][differs].astype(np.float32) / 255) for pixels in (self._reference, self._copy)
                ]
                out[part][differs] = deltaE_ciede2000(*labs)
        return out

    @property
    def difference_mean(self) -> float:
        """Mean of the map."""
        return float(self.difference_map.mean(dtype=np.float64))

    @property
    def difference_p95(self) -> float:
        """95th percentile of the map."""
        return float(np.percentile(self.difference_map, 95))

    @cached_property
    def planes(self) -> dict[str, dict[str, float]]:
        """PSNR and SSIM of the planes ``luma``, ``cb`` and ``cr``, each rounded to 8 bits."""
        planes = [
            np.clip(np.rint(planes_of(pixels) + np.array([0, 128, 128], np.float32)), 0, 255).astype(np.uint8)
            for pixels in (self._reference, self._copy)
        ]
        out = {}
        for number, name in enumerate(PLANES):
            own, other = (np.ascontiguousarray(values[..., number]) for values in planes)
            out[name] = {"psnr": psnr_of(self._error_of(own, other)), "ssim": ssim_of(own, other)[1]}
        return out

    @staticmethod
    def _error_of(own: np.ndarray, other: np.ndarray) -> float:
        difference = np.subtract(own, other, dtype=np.int32).ravel()
        return float(np.einsum("i,i", difference, difference, dtype=np.int64)) / difference.size
