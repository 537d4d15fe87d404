"""Kinds that make a part again pixel by pixel, where the likeliest ones leave more of it."""

from __future__ import annotations

import numpy as np

from llise.diagnosis.estimates.chains import RANDOM
from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.sets import SETS, UNKNOWN_CODE, code_of, exchanged

REPEATABLE = {"contrast", "luminance", "blur", "jpeg", "sharpening"}
"""Kinds that can be made again exactly."""

LEAVES_SOMETHING, NEXT_TO_ALL = 0.99, 0.997
"""Share of the error below which such a kind leaves something that another one did, and the share from which others
leave next to nothing."""

LEAVES_A_LITTLE, MANY_TIMES = 0.995, 8.0
"""The same first share where what is left is so many times what the others leave."""

FAR_MORE, FAR_LESS = 0.03, 4.0
"""Share of the error from which a mosaic, or JPEG 2000 with another kind, leaves so much that two others are preferred,
and how many times less these must leave."""

CODED_BLOCKS, NEAR_BLOCK = (8.0, 16.0, 24.0, 32.0), 0.3
"""Sides of cells that even blocks of a coder look like, one or several of them, and how near a cell must be to one."""

BLURRED, WIDE, HALF = 0.985, 0.6, 0.5
"""Share of the error that a blur and a mosaic must explain to be preferred to the mosaic alone, the least sigma of that
blur, and how much of what the mosaic alone leaves they may leave. Of 64 mosaics on photographs none is fitted by such a
blur: the best one has a sigma of .1 for all but four."""

LEAST_LEFT = 0.3
"""Error in grey levels squared that a mosaic must leave: less is rounding."""

REPRODUCED = 0.97
"""Share of the error that kinds must make again pixel by pixel so that it cannot have been noise."""

ALIKE = 0.4
"""How unlike to what remains impulses may be that are preferred to a mosaic."""


def exactly_made(
    probabilities: np.ndarray, codes: list[int], region: np.ndarray, estimates: CopyEstimates
) -> np.ndarray:
    """Prefer kinds that make a part again exactly to those that leave something of it.

    Few settings do not reproduce thousands of pixels by chance.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,)
        Probabilities of a doubtful part.
    codes : list of int
        Sets of kinds that were tried.
    region : ndarray of bool, shape (rows, cols)
        Its blocks.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    ndarray, shape (n_sets,)
        With those of the likeliest set and of the exact one exchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> from llise.diagnosis.naming.exact_kinds import exactly_made
    >>> image = np.random.default_rng(0).integers(60, 190, (128, 128)).astype(np.uint8)
    >>> copy, region = (0.8 * image + 30).astype(np.uint8), np.ones((16, 16), bool)
    >>> codes = [code_of("luminance"), code_of("contrast")]
    >>> wrong = 0.9 * np.eye(len(SETS))[codes[0]]
    >>> SETS[int(exactly_made(wrong, codes, region, CopyEstimates(image, copy)).argmax())]
    ('contrast',)
    """
    top = int(probabilities.argmax())
    if top >= UNKNOWN_CODE:
        return probabilities
    explained = lambda code: estimates.of(region, SETS[code]).explained
    exact = [code for code in codes if set(SETS[code]) <= REPEATABLE]
    if top not in exact:
        if set(SETS[top]) & set(RANDOM):
            instead = _instead_of_noise(top, exact, region, estimates)
        else:
            instead = _instead_of_mosaic(top, codes, region, estimates)
        return probabilities if instead is None else exchanged(probabilities, top, instead)
    best = max(exact, key=explained)
    left, least = 1 - explained(top), 1 - explained(best)
    clear = left > 1 - LEAVES_SOMETHING or (left > 1 - LEAVES_A_LITTLE and left >= MANY_TIMES * least)
    if not clear or explained(best) < NEXT_TO_ALL:
        return probabilities
    # The settings were found on some of the pixels, fewer for two kinds than for one; they must hold for all of them.
    everywhere = estimates.with_settings_of(region, region, SETS[best]).explained
    return exchanged(probabilities, top, best) if everywhere >= LEAVES_SOMETHING else probabilities


def _instead_of_noise(top: int, exact: list[int], region: np.ndarray, estimates: CopyEstimates) -> int | None:
    """Kinds that make nearly all of a part again of which others leave much to noise; None if there are none."""
    best = max(exact, key=lambda code: estimates.of(region, SETS[code]).explained, default=None)
    if best is None:
        return None
    rest = tuple(kind for kind in SETS[top] if kind not in RANDOM)
    by_rest = estimates.of(region, rest).explained if rest else 0.0
    by_best = estimates.of(region, SETS[best]).explained
    return best if by_best >= REPRODUCED and FAR_LESS * (1 - by_best) <= 1 - by_rest else None


def _instead_of_mosaic(top: int, codes: list[int], region: np.ndarray, estimates: CopyEstimates) -> int | None:
    """Two kinds that leave far less than a mosaic or than JPEG 2000 with another kind; None if there are none."""
    kinds = SETS[top]
    if "pixelation" not in kinds and ("jpeg2000" not in kinds or len(kinds) < 2):
        return None
    cell = estimates.of(region, kinds).parameters.get("pixelation", {}).get("cell") if len(kinds) < 2 else None
    if cell and min(abs(cell.value - side) for side in CODED_BLOCKS) > NEAR_BLOCK:
        return None
    others = [code for code in codes if set(SETS[code]) <= {*REPEATABLE, "impulse_noise"} and len(SETS[code]) > 1]
    found = {code: estimates.of(region, SETS[code]) for code in (top, *others)}
    hidden = ALIKE if len(kinds) > 1 else 0.0
    alike = [code for code in others if found[code].unlike <= hidden or set(SETS[code]) <= REPEATABLE]
    best = max(alike, key=lambda code: found[code].explained, default=top)
    left, least = (1 - found[code].explained for code in (top, best))
    return best if left > FAR_MORE and least * FAR_LESS <= left else None


def with_blur_below_mosaic(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
    """Exchange a mosaic and a blur with a mosaic by what both leave, and by how wide the blur is.

    A blur that came first leaves far less with the mosaic; where none did, one of a fraction of a pixel may fit the
    rule by which a program mixes pixels.

    Parameters
    ----------
    probabilities : ndarray, shape (n_sets,) or more
        Probabilities of a part.
    region : ndarray of bool, shape (rows, cols)
        Its blocks.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    ndarray
        The same where other kinds are likelier, or the measurements do not contradict them.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.naming.exact_kinds import with_blur_below_mosaic
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> from scipy import ndimage
    >>> image = np.random.default_rng(0).integers(60, 190, (128, 128)).astype(np.uint8)
    >>> cells = lambda picture: picture.reshape(32, 4, 32, 4).mean(axis=(1, 3)).repeat(4, 0).repeat(4, 1)
    >>> mosaic, region = np.eye(len(SETS))[code_of("pixelation")], np.ones((16, 16), bool)
    >>> blurred = cells(ndimage.gaussian_filter(image.astype(float), 2)).round().astype(np.uint8)
    >>> SETS[int(with_blur_below_mosaic(mosaic, region, CopyEstimates(image, blurred)).argmax())]
    ('blur', 'pixelation')
    """
    top, alone, both = int(probabilities.argmax()), code_of("pixelation"), code_of("blur", "pixelation")
    if top not in (alone, both):
        return probabilities
    left = 1 - estimates.of(region, SETS[alone]).explained
    if top == alone and left * estimates.error(region) < LEAST_LEFT:
        return probabilities
    found = estimates.of(region, SETS[both])
    sigma = found.parameters.get("blur", {}).get("sigma")
    wide = sigma is not None and sigma.value >= WIDE
    better = wide and found.explained >= BLURRED and 1 - found.explained <= HALF * left
    wrong = better if top == alone else not wide and "cell" in found.parameters.get("pixelation", {})
    return exchanged(probabilities, alone, both) if wrong else probabilities
