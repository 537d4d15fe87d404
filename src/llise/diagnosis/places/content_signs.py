"""Places that surely hold something that is not in the reference there: scattered spots, an even patch, or a part from
elsewhere."""

from __future__ import annotations

import numpy as np

from llise.diagnosis.features.block_sums import BLOCK
from llise.differences import by_block, pixels_of
from llise.filters import from_spectrum, spectrum_of
from llise.masks import eroded

LEAST_BLOCKS, LARGEST = 4, 0.3
"""Fewest blocks of such a place, and its largest share of the picture."""

MOSTLY_TOUCHED, SPOT, FEW_LONELY = 0.6, 3, 0.01
"""Share of the blocks of an area that changed from which it is looked at as a whole, changed pixels of 3 x 3 from which
the middle one belongs to a spot, and share of other pixels up to which spots made the area."""

COVERED, ONE_GREY = 0.8, 0.85
"""Share of the pixels of a patch that must differ from the reference, and share of these that must have one grey."""

NOT_EVEN, FAR_GREY = 8.0, 155.0
"""Least deviation of the reference below an even patch, and the distance that some of its greys must have from a black
or white one: a strong change of luminance or contrast clips greys that are nearer."""

FAR = 10
"""Distance in pixels from which a place comes from elsewhere; small shifts are other faults."""

PEAKS, EQUAL, TOLERANCE, LEAST_DETAIL = 4, 0.6, 2, 2.5
"""How many shifts are tried at which a place may be found elsewhere in the reference, share of its pixels that must be
equal there, difference up to which they are, and least mean difference of neighbours: smooth places are everywhere."""


def without_clear_ground(reference: np.ndarray, copy: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Return an area without its unchanged blocks where what changed are scattered spots of many pixels each.

    Areas reach across unchanged blocks, as impulses and flat ground leave these; lost blocks and specks do not need it.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    area : ndarray of bool, shape (rows, cols)
        Blocks of the area.

    Returns
    -------
    ndarray of bool, shape (rows, cols)
        The same area where single pixels changed, or most of its blocks did.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.places.content_signs import without_clear_ground
    >>> picture = np.random.default_rng(0).integers(60, 190, (64, 128)).astype(np.uint8)
    >>> copy, area = picture.copy(), np.ones((8, 16), bool)
    >>> copy[8:16, 8:16] = copy[40:48, 96:112] = 0
    >>> int(without_clear_ground(picture, copy, area).sum())
    3
    """
    changed = copy != reference
    touched = area & by_block(changed).any(axis=-1)
    if np.count_nonzero(touched) > MOSTLY_TOUCHED * np.count_nonzero(area):
        return area
    changed &= pixels_of(area, copy.shape)
    padded = np.pad(changed, 1).astype(np.uint8)
    height, width = changed.shape
    around = np.zeros(changed.shape, np.uint8)
    for down, right in np.ndindex(3, 3):
        around += padded[down : down + height, right : right + width]
    # Of three pixels side by side, the middle one and two others count.
    lonely = np.count_nonzero(around[changed] < SPOT)
    return touched if lonely <= FEW_LONELY * np.count_nonzero(changed) else area


def is_even_patch(reference: np.ndarray, copy: np.ndarray, region: np.ndarray) -> bool:
    """Return whether nearly all pixels of a region have one grey, and had many.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    region : ndarray of bool, shape (rows, cols)
        Blocks of the region.

    Returns
    -------
    bool
        False for large regions.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.places.content_signs import is_even_patch
    >>> picture = np.random.default_rng(0).integers(60, 190, (64, 128)).astype(np.uint8)
    >>> copy, region = picture.copy(), np.zeros((8, 16), bool)
    >>> copy[16:56, 16:56], region[2:7, 2:7] = 128, True
    >>> [is_even_patch(picture, image, region) for image in (copy, picture // 2)]
    [True, False]
    """
    if not region.any() or region.mean() > LARGEST:
        return False
    inside = _inner_pixels(region, copy.shape)
    before, after = reference[inside], copy[inside]
    changed = before != after
    if np.count_nonzero(changed) < max(COVERED * changed.size, LEAST_BLOCKS * BLOCK * BLOCK / 2):
        return False
    counts = np.bincount(after[changed], minlength=256)
    grey = int(counts.argmax())
    low, high = np.quantile(before[changed], (0.1, 0.9))
    clipped = (grey == 255 and low > 255 - FAR_GREY) or (grey == 0 and high < FAR_GREY)
    return bool(counts[grey] >= ONE_GREY * counts.sum() and before[changed].std() >= NOT_EVEN and not clipped)


def is_from_elsewhere(reference: np.ndarray, copy: np.ndarray, region: np.ndarray) -> bool:
    """Return whether a region holds what lies elsewhere in the reference, as it is there, mirrored or upside down.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        The two pictures.
    region : ndarray of bool, shape (rows, cols)
        Blocks of the region.

    Returns
    -------
    bool
        False for large regions and even ones.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.places.content_signs import is_from_elsewhere
    >>> picture = np.random.default_rng(0).integers(60, 190, (128, 128)).astype(np.uint8)
    >>> copy, region = picture.copy(), np.zeros((16, 16), bool)
    >>> copy[16:56, 16:56], region[2:7, 2:7] = picture[70:110, 115:75:-1], True
    >>> [is_from_elsewhere(picture, image, region) for image in (copy, picture // 2)]
    [True, False]
    """
    if not region.any() or region.mean() > LARGEST:
        return False
    inside = _inner_pixels(region, copy.shape)
    steps = np.abs(np.diff(copy.astype(np.int16), axis=1))[inside[:, 1:] & inside[:, :-1]]
    if steps.size < (LEAST_BLOCKS - 1) * BLOCK * BLOCK or steps.mean() < LEAST_DETAIL:
        return False
    place = np.where(inside, copy - copy[inside].mean(dtype=np.float32), 0).astype(np.float32)
    spectrum = np.conj(spectrum_of(place))
    turned = (reference[:, ::-1], reference[::-1], reference[::-1, ::-1])
    return _lies_in(reference, copy, inside, spectrum, FAR) or any(
        _lies_in(image, copy, inside, spectrum) for image in turned
    )


def _inner_pixels(region: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Pixels of the blocks that are not at the edge of a region, or of all where these are few."""
    inner = eroded(region)
    return pixels_of(inner if np.count_nonzero(inner) >= LEAST_BLOCKS else region, shape)


def _lies_in(image: np.ndarray, copy: np.ndarray, inside: np.ndarray, spectrum: np.ndarray, least: int = 0) -> bool:
    """Whether most pixels of a place, given with its conjugate spectrum, equal those of an image at some distance."""
    product = spectrum_of(image.astype(np.float32)) * spectrum
    # Without the size of the spectrum a place that is found exactly is one sharp peak.
    likeness = from_spectrum(product / np.maximum(np.abs(product), 1e-6), image.shape)
    rows, cols = np.nonzero(inside)
    for peak in np.argpartition(-likeness, PEAKS, axis=None)[:PEAKS]:
        down, right = (int(shift) for shift in np.unravel_index(int(peak), likeness.shape))
        distances = (min(shift, side - shift) for shift, side in zip((down, right), image.shape))
        if max(distances) < least:
            continue
        there = image[(rows + down) % image.shape[0], (cols + right) % image.shape[1]].astype(np.int16)
        if np.mean(np.abs(there - copy[inside]) <= TOLERANCE) >= EQUAL:
            return True
    return False
