"""What is wrong with a degraded copy of a reference, where, and how strongly."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Diagnosis:
    """The diagnosis of one image.

    Attributes
    ----------
    verdict : tuple of str
        ``("original",)``, one kind, or the two kinds of a mixture.
    confidence : float
        Probability of the verdict in [0, 1].
    shares : dict of str to float
        Share of the blocks that vote for each label of :data:`llise.LABELS`; sums to one.
    severity : dict of str to float
        Estimated MSE (0..255 scale) that each named distortion contributes.
    mse, psnr, ssim : float
        The usual full-reference measures (PSNR is infinite for a pristine copy).
    block_labels : ndarray of int8, shape (rows, cols)
        Kind of each block, as index into :data:`llise.LABELS`.
    block_severity : ndarray of float32, shape (rows, cols)
        Severity of each block: the MSE of the training blocks nearest to it.
    nearest : ndarray of int16, shape (rows, cols, m)
        Training images nearest to each block in the embedding, nearest first.
    position : ndarray of float, shape (2,)
        Place of the image in the manifold map of whole images.
    image : ndarray of uint8, shape (h, w)
        The image as it was judged.
    ssim_map : ndarray of float32, shape (h, w)
        Local SSIM.
    file : str or None
        Where the image came from.
    """

    verdict: tuple[str, ...]
    confidence: float
    shares: dict[str, float]
    severity: dict[str, float]
    mse: float
    psnr: float
    ssim: float
    block_labels: np.ndarray
    block_severity: np.ndarray
    nearest: np.ndarray
    position: np.ndarray
    image: np.ndarray = field(repr=False)
    ssim_map: np.ndarray = field(repr=False)
    file: str | None = None

    @property
    def block_grid(self) -> tuple[int, int]:
        """Rows and columns of blocks."""
        rows, cols = self.block_labels.shape
        return rows, cols
