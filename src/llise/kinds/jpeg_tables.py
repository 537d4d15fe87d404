"""Quantiser tables of JPEG and the qualities for which they stand."""

from __future__ import annotations

import numpy as np

STANDARD_TABLE = np.array(
    [
        [16, 11, 10, 16, 24, 40, 51, 61],
        [12, 12, 14, 19, 26, 58, 60, 55],
        [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62],
        [18, 22, 37, 56, 68, 109, 103, 77],
        [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101],
        [72, 92, 95, 98, 112, 100, 103, 99],
    ],
    dtype=np.float64,
)
"""Luminance quantiser table of the JPEG standard (ITU-T T.81, Table K.1)."""

CHROMA_TABLE = np.full((8, 8), 99.0)
CHROMA_TABLE[:4, :4] = [[17, 18, 24, 47], [18, 21, 26, 66], [24, 26, 56, 99], [47, 66, 99, 99]]
"""Chrominance quantiser table of the JPEG standard (Table K.2)."""

FLATTER_TABLE = np.array(
    [
        [16, 16, 16, 18, 25, 37, 56, 85],
        [16, 17, 20, 27, 34, 40, 53, 75],
        [16, 20, 24, 31, 43, 62, 91, 135],
        [18, 27, 31, 40, 53, 74, 106, 156],
        [25, 34, 43, 53, 69, 94, 131, 189],
        [37, 40, 62, 74, 94, 124, 169, 238],
        [56, 53, 91, 106, 131, 169, 226, 311],
        [85, 75, 135, 156, 189, 238, 311, 418],
    ],
    dtype=np.float64,
)
"""Table that mozjpeg takes for luma and chroma (by N. Robidoux)."""

VIDEO_TABLE = np.array(
    [
        [8, 16, 19, 22, 26, 27, 29, 34],
        [16, 16, 22, 24, 27, 29, 34, 37],
        [19, 22, 26, 27, 29, 34, 34, 38],
        [22, 22, 26, 27, 29, 34, 37, 40],
        [22, 26, 27, 29, 32, 35, 40, 48],
        [26, 27, 29, 32, 35, 40, 48, 58],
        [26, 27, 29, 34, 38, 46, 56, 69],
        [27, 29, 35, 38, 46, 56, 69, 83],
    ],
    dtype=np.float64,
)
"""Quantiser table of MPEG for pictures coded by themselves (ISO/IEC 13818-2, 6.3.11). Video programs that write JPEG
files take an eighth of it, or of a multiple of it, with 8 for block means."""

_PLACE = np.arange(8)
_COSINES_1D = 0.5 * np.cos(np.pi / 16 * np.outer(_PLACE, 2 * _PLACE + 1))
_COSINES_1D[0] = np.sqrt(1 / 8)

COSINES = np.kron(_COSINES_1D, _COSINES_1D).T
"""Cosine transform of JPEG: pixels of blocks (n, 64), row by row, times this matrix are their coefficients (n, 64)."""


def quality_of(scale: float) -> float:
    """Return the JPEG quality whose table is the standard one times a factor."""
    return 50 / scale if scale > 1 else 100 - 50 * scale


def quality_table(quality: int, base: np.ndarray = STANDARD_TABLE) -> np.ndarray:
    """Return the table of a quality, rounded as the reference coder does it."""
    percent = 5000 // quality if quality < 50 else 200 - 2 * quality
    return np.clip((base * percent + 50) // 100, 1, 255)
