"""What is measured of a copy before anything is judged: errors, SSIM, changed blocks, whether it is a copy at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llise.differences import by_block, measure_differences, psnr_of, ssim_of
from llise.filters import gaussian_matrix, mean_around

LEAST_LIKENESS = 0.5
"""Likeness below which an image does not look like a copy; of 4963 pairs of different photographs 0.46 at most."""

LEAST_SMOOTH_LIKENESS = 0.975
"""Correlation of the block means themselves with those of the smoothed reference from which it counts: strong blur
leaves no other likeness, but skies alike reach 0.96."""

LEAST_BLOCKS = 64
LEAST_SPREAD = 2.0
"""Fewest blocks, and least deviation of their means, that tell another scene from a copy."""

NEIGHBOURHOOD = 9
"""Blocks across which the mean is subtracted from block means, as many scenes are lighter above than below."""

FURTHEST = 2.0
"""Deviations of the reference's block means at which those of both pictures are cut, so that a few blocks of something
that was added do not outweigh all others."""

SMOOTHINGS = (1.5, 3.0, 5.0, 8.0, 12.0, 18.0)
"""Widths, in blocks, by which the reference is smoothed before it is compared, as the copy may be blurred."""


@dataclass(frozen=True, eq=False)
class Measures:
    """Measurements of a copy against its reference.

    Attributes
    ----------
    mse, psnr, ssim : float
        Of the whole picture.
    ssim_map : ndarray of float32, shape (h, w)
        Local SSIM.
    block_mse : ndarray of float32, shape (rows, cols)
        Mean squared error of each block.
    differs : ndarray of bool, shape (rows, cols)
        Blocks in which any pixel differs.
    changed : ndarray of bool, shape (rows, cols)
        Blocks that differ beyond rounding.
    likeness : float
        How much the image looks like a copy of the reference, see :func:`likeness`.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.measures import measure_copy
    >>> picture = np.arange(256, dtype=np.uint8).reshape(16, 16)
    >>> measure_copy(picture, picture).psnr
    inf
    """

    mse: float
    psnr: float
    ssim: float
    ssim_map: np.ndarray
    block_mse: np.ndarray
    differs: np.ndarray
    changed: np.ndarray
    likeness: float

    @property
    def is_copy(self) -> bool:
        """Whether the image looks like a copy of the reference."""
        return self.likeness >= LEAST_LIKENESS


def measure_copy(reference: np.ndarray, copy: np.ndarray) -> Measures:
    """Measure a copy against its reference.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.

    Returns
    -------
    Measures
        All measurements.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.measures import measure_copy
    >>> picture = np.arange(256, dtype=np.uint8).reshape(16, 16)
    >>> copy = picture.copy()
    >>> copy[0, 0] = 80
    >>> measures = measure_copy(picture, copy)
    >>> measures.mse, measures.changed.sum()
    (25.0, np.int64(1))
    """
    errors = measure_differences(reference, copy)
    mse = errors.squared_error / reference.size
    ssim_map, ssim = ssim_of(reference, copy)
    return Measures(
        mse=mse,
        psnr=psnr_of(mse),
        ssim=ssim,
        ssim_map=ssim_map,
        block_mse=errors.block_mse,
        differs=errors.differs,
        changed=errors.changed,
        likeness=likeness(reference, copy),
    )


def likeness(reference: np.ndarray, copy: np.ndarray) -> float:
    """Return the correlation of the block means of two pictures, each less the mean of its neighbourhood.

    A strongly blurred copy of a smooth picture has nothing of its neighbourhoods left but what the blur made of them;
    so the reference is smoothed by several widths, and the best correlation counts. A negative is as much alike.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.

    Returns
    -------
    float
        At most 1; 1 where the reference or the copy is too even to tell. Faults leave it high: even strong
        noise hardly moves the mean of a block.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.measures import likeness
    >>> picture = np.random.default_rng(0).integers(0, 255, (9, 9)).repeat(8, 0).repeat(8, 1)
    >>> round(likeness(picture, picture // 2), 2)
    1.0
    """
    own, other = (by_block(picture).mean(axis=-1) for picture in (reference, copy))
    b = _relief(other)
    spread = _relief(own).std()
    # A copy without contrast is a fault, not another scene; few blocks or an even reference tell nothing.
    if own.size < LEAST_BLOCKS or spread < LEAST_SPREAD or b.std() < 0.05 * spread:
        return 1.0
    smooth = [own, *(_smoothed(own, width) for width in SMOOTHINGS)]
    reliefs = [_relief(means) for means in smooth]
    most, least = FURTHEST * spread, 0.1 * spread
    cut = [np.clip(relief, -most, most) for relief in reliefs]
    best = max(_best_correlation(reliefs, b, least), _best_correlation(cut, np.clip(b, -most, most), least))
    best = max(best, _best_correlation(reliefs[:1], -b, least))  # a negative shows the same scene
    whole = _best_correlation(smooth, other, least)
    return max(best, whole) if whole >= LEAST_SMOOTH_LIKENESS else best


def _smoothed(means: np.ndarray, width: float) -> np.ndarray:
    down, across = (gaussian_matrix(side, width) for side in means.shape)
    return down @ means @ across.T


def _best_correlation(candidates: list[np.ndarray], values: np.ndarray, least_deviation: float) -> float:
    """Greatest correlation with values of those candidates that vary enough."""
    centred = (values - values.mean()).ravel()
    norm = np.sqrt(centred @ centred)
    best = -1.0
    for candidate in candidates:
        own = (candidate - candidate.mean()).ravel()
        power = float(own @ own)
        if power > own.size * least_deviation**2:
            best = max(best, float(own @ centred / (norm * np.sqrt(power))))
    return best


def _relief(means: np.ndarray) -> np.ndarray:
    """Block means less the mean of their neighbourhood."""
    return (means - mean_around(means, NEIGHBOURHOOD)).ravel()
