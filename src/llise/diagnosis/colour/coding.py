"""How much of the errors of chroma a JPEG accounts for that has the quality of the luma's."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from llise.colours import WEIGHTS
from llise.diagnosis.colour.models import Model
from llise.diagnosis.colour.planes import AreaPlanes, planar
from llise.kinds.jpeg_quality import CoefficientPairs
from llise.kinds.jpeg_tables import quality_table

SIDE = 144
"""Side of the square, in pixels, that is coded."""

QUALITIES = tuple(range(1, 96))
"""Qualities that are tried."""

TABLES = np.stack([quality_table(quality).reshape(1, -1) for quality in QUALITIES]).astype(np.float32)
"""Steps of the coefficients for each of them."""

MOST_BLOCKS = 48
"""Blocks whose coefficients are compared."""

LEAST_CODED, LEAST_CODER = 0.4, 0.3
"""Share of the luma's error that a rule and a JPEG must account for, and of the JPEG in what the rule leaves."""

FINE = (0, 0, 0)
COARSE = ((1, 0, 0), (1, 0, 8), *((2, top, left) for top in (0, 8) for left in (0, 8)))
"""4:4:4, and 4:2:2 and 4:2:0, as Pillow calls them, with where the grid of the chroma, of 16 pixels, may begin."""

NOT_CODED = [0.0] * 6


def coded_shares(reference: np.ndarray, area: AreaPlanes, mask: np.ndarray, models: dict[str, Model]) -> list[float]:
    """Return the shares of the errors of luma and chroma that a JPEG accounts for.

    Parameters
    ----------
    reference : ndarray, shape (h, w, 3)
        Pixels of the reference, on JPEG's grid.
    area : AreaPlanes
        Y, Cb and Cr of the reference and of the copy.
    mask : ndarray of bool, shape (h, w)
        Pixels that are compared.
    models : dict of str to Model
        Rules for colours; ``saturation`` and ``color_cast`` are tried before the coder, and ``unknown`` for the luma.

    Returns
    -------
    list of float
        Share of the error of the luma; shares of that of the chroma for the coder alone and after each of the two
        rules; the best of these less that of the coder alone; share of the coder in what a rule leaves of the luma.
        Zeros where no JPEG accounts for the luma.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.coding import coded, coded_shares
    >>> from llise.diagnosis.colour.planes import area_planes
    >>> image = np.random.default_rng(0).integers(40, 200, (8, 8, 3)).repeat(12, 0).repeat(12, 1)
    >>> mask = np.ones((96, 96), bool)
    >>> area = area_planes(image.astype(np.float32), coded(image, 9, 2).astype(np.float32), mask)
    >>> round(coded_shares(image, area, mask, {})[1], 1)
    1.0
    """
    reference, mask = reference[:SIDE, :SIDE], mask[:SIDE, :SIDE]
    before, after = (planes[:, :SIDE, :SIDE] for planes in (area.before, area.after))
    if np.count_nonzero(mask) < 64:
        return NOT_CODED
    lumas = [before[0]]
    if "unknown" in models:
        lumas.append(np.clip(models["unknown"].apply(reference), 0, 255) @ WEIGHTS)
    pairs = [CoefficientPairs(luma, after[0], mask) for luma in lumas]
    share, quality, own_share = max(_best_quality(pair.before, pairs[0]) for pair in pairs)
    if share < LEAST_CODED:
        return NOT_CODED
    change = _Change(before[1:], after[1:], mask)
    rules = [models[name].apply(reference) for name in ("saturation", "color_cast") if name in models]
    if own_share < LEAST_CODER:  # nothing is left for a coder, which would change little
        shares = [change.share(planar(colours)[1:]) for colours in (reference, *rules)]
    else:
        reference, *rules = (_as_8_bits(colours) for colours in (reference, *rules))
        alone = {options: change.share(_chroma(reference, quality, *options)) for options in (FINE, *COARSE)}
        best = FINE, max(COARSE, key=lambda options: alone[options])
        shares = [max(alone.values())]
        shares += [max(change.share(_chroma(colours, quality, *options)) for options in best) for colours in rules]
    shares += shares[:1] * (3 - len(shares))
    return [share, *shares, max(shares) - shares[0], own_share]


def _chroma(pixels: np.ndarray, quality: int, subsampling: int, top: int, left: int) -> np.ndarray:
    """Cb and Cr of pixels after a JPEG whose grid begins a few pixels further up and left."""
    padded = np.pad(pixels, [(top, 0), (left, 0), (0, 0)], mode="edge") if top or left else pixels
    return planar(coded(padded, quality, subsampling)[top:, left:].astype(np.float32))[1:]


class _Change:
    """The change from one picture to another, of which a model of the latter accounts for a share."""

    def __init__(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> None:
        self.after, self.weight = after, mask.astype(np.float32)
        error = (after - before) * self.weight
        self.power = float(np.vdot(error, error) + 0.2 * np.count_nonzero(mask))

    def share(self, model: np.ndarray) -> float:
        left = (self.after - model) * self.weight
        return max(1 - float(np.vdot(left, left)) / self.power, -1.0)


def _as_8_bits(pixels: np.ndarray) -> np.ndarray:
    return pixels if pixels.dtype == np.uint8 else np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


def coded(pixels: np.ndarray, quality: int, subsampling: int = 0) -> np.ndarray:
    """Return pixels after a JPEG.

    Parameters
    ----------
    pixels : ndarray, shape (h, w) or (h, w, 3)
        Grey levels or colours.
    quality : int
        1 to 100.
    subsampling : int
        0 for 4:4:4, 2 for 4:2:0.

    Returns
    -------
    ndarray of uint8
        What a decoder makes of the file.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.colour.coding import coded
    >>> coded(np.full((8, 8), 90), 50).tolist()[0][0]
    90
    """
    buffer = io.BytesIO()
    options = {} if pixels.ndim == 2 else {"subsampling": subsampling}
    Image.fromarray(_as_8_bits(pixels)).save(buffer, "JPEG", quality=quality, **options)
    with Image.open(buffer) as decoded:
        return np.asarray(decoded)


def _best_quality(base: np.ndarray, pairs: CoefficientPairs) -> tuple[float, int, float]:
    """The largest share of the change of a luma that coding another accounts for, the quality, the coder's share."""
    every = -(-len(base) // MOST_BLOCKS)
    base, start, end = (values[::every] for values in (base, pairs.before, pairs.after))
    whole, uncoded = (float(np.vdot(end - values, end - values)) + 0.1 * end.size for values in (start, base))
    left = end - TABLES * np.rint(base / TABLES)
    errors = np.einsum("ijk,ijk->i", left, left)
    best = int(errors.argmin())
    return float(1 - errors[best] / whole), QUALITIES[best], float(1 - errors[best] / uncoded)
