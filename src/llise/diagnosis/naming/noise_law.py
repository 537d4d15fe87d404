"""Whether noise follows the signal, and whether a coder hides some: measured instead of judged.

The power of noise that nothing hides can be measured at each grey level.  Only where a picture has few grey levels does
this not tell noise of one strength everywhere from noise that grows with the grey level.
"""

from __future__ import annotations

import numpy as np

from llise.diagnosis.estimates.chains import GREY, HIDING, RANDOM
from llise.diagnosis.estimates.copy_estimates import CopyEstimates
from llise.diagnosis.second_look.verification import accounts_for
from llise.diagnosis.sets import CONTENT, SETS, UNKNOWN_CODE, code_of, exchanged, is_set
from llise.kinds.fitting import robust_scale
from llise.kinds.jpeg_flips import has_impulses_before
from llise.masks import dilated, islands

EVEN, GROWING = "gaussian_noise", "speckle_noise"

NONE, MUCH, MUCH_A_BLOCK, MUCH_WITH_CONTRAST = 1.0, 30.0, 0.1, 1.2
"""Growth of noise (:func:`llise.kinds.speckle_noise.noise_growth`) up to which it has one strength everywhere, and from
which it follows the signal: in all, for each block, and for each block where contrast may have clipped it. Of 80
Gaussian noises on photographs one, after contrast, had more than 0; of 50 speckle noises all had 166 or more."""

LEAST_EXPONENT = 0.3
"""Power of the grey level below which noise does not follow the signal: that of photons has 0.5, speckle 1. Of 115
speckle noises on photographs, beside other kinds too, one was below it, and so were all eight that were Gaussian
noise."""

SURE_EXPONENT = 0.45
"""Power of the grey level from which noise beside a JPEG coder follows the signal."""

CODED, NEARLY_ALL, ALL_NOISE, LIKE_NOISE = 0.9, 0.985, 0.97, 0.3
"""Share of the error below which a JPEG coder alone does not account for a part, share below which impulses may have
come before it, share that it explains with noise below it, and how unlike to what is left that noise may be."""

LIKER, LEAST_LIKER, MOST_UNLIKE = 0.65, 0.06, 0.5
"""How much less unlike another noise must be, as a factor and in all, to be preferred to the likeliest one, and how
unlike it may be. Of 38 impulses below JPEG on photographs, 29 were least unlike."""

BLURRED, MAY_BE_BLURRED = 0.9, 0.01
"""Share of the error that blur alone must explain if something strange or content seems likelier, and the least
probability of blur, alone or over impulses."""

LEAST_PART, NARROWEST = 0.02, 0.3
"""Least share of the error that impulses must have caused before the blur, as a blur that was not found exactly leaves
single spots too, and least sigma of a blur that changes them."""

NOTHING_LEFT, JUST_NOISE = 0.99, 0.05
"""Share of the error that a blur or coder must explain with noise or impulses so that nothing else is left, and how
unlike to noise what it leaves may be."""

FAR, LEAST_SPOT = 6.0, 5.0
"""Size of what is left, against its deviation and in grey levels, from which a pixel belongs to a spot."""

FEWEST_SPOTS, SPOTS_A_PIXEL = 6, 4e-4
"""Fewest spots, in all and for each pixel."""

LARGEST_SPOT, LARGEST_SHARE = 90, 0.1
"""Pixels of the largest spot with those around it, and its share of all spots where these run into one another."""

AT_EDGES = 1.8
"""Steepness of the reference in spots, against its mean, from which these are what a blur that was not found exactly
leaves at edges."""

MOSTLY_SPOTS, PARTLY_SPOTS, LONG_TAILS = 0.5, 0.35, 35.0
"""Share of the power in spots from which impulses made them, and the same with a kurtosis of what is left. Of 360 blurs
alone on photographs one had as many spots with .2 and a kurtosis of 60; of 18 blurs over impulses all had .52 or
more."""


def with_measured_noise(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
    """Exchange Gaussian noise, speckle noise or both in an answer that the noise's power by grey level contradicts.

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
        The same where the likeliest kinds are others, or the measurements do not contradict them.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.naming.noise_law import with_measured_noise
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> copy = (image + np.random.default_rng(0).normal(0, 9, image.shape)).astype(np.uint8)
    >>> speckle = 0.7 * np.eye(len(SETS))[code_of("speckle_noise")]
    >>> after = with_measured_noise(speckle, np.ones((16, 16), bool), CopyEstimates(image, copy))
    >>> SETS[int(after.argmax())]
    ('gaussian_noise',)
    """
    top = int(probabilities.argmax())
    kinds = set(SETS[top]) if top < UNKNOWN_CODE else set()
    other = kinds ^ {EVEN, GROWING}
    if kinds == {EVEN, GROWING}:
        alone = code_of(EVEN)
        return (
            exchanged(probabilities, top, alone) if estimates.of(region, SETS[alone]).growth <= NONE else probabilities
        )
    if len(kinds & {EVEN, GROWING}) != 1 or not is_set(*other):
        return probabilities
    code = code_of(*other)
    if not _contradicted(SETS[top], SETS[code], region, estimates):
        return probabilities
    return exchanged(probabilities, top, code)


def with_hidden_noise(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
    """Exchange the noise below a JPEG coder, or none, for the noise that leaves blocks as they are.

    A JPEG coder can be repeated, so that much which it leaves means that something lies below it, which the networks of
    the judge hardly see.  Noise changes all blocks a little, impulses some of them much: how the power of what is left
    is spread over blocks, and which coefficients take another step, tells which it was.

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
        The same where JPEG, alone or over noise, is not the likeliest, or accounts for the part.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.naming.noise_law import with_hidden_noise
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> brighter = np.eye(len(SETS))[code_of("luminance")]
    >>> with_hidden_noise(brighter, np.ones((16, 16), bool), CopyEstimates(image, image + 5)) is brighter
    True
    """
    hidden = {kind: code_of(kind, "jpeg") for kind in RANDOM}
    top = int(probabilities.argmax())
    coder = code_of("jpeg")
    if top not in (coder, *hidden.values()):
        return probabilities
    explained = estimates.of(region, SETS[coder]).explained
    below = hidden["impulse_noise"]
    if top != below and explained < NEARLY_ALL and has_impulses_before(estimates.reference, estimates.copy, region):
        return exchanged(probabilities, top, below)
    if explained >= CODED:
        return probabilities
    found = {code: estimates.of(region, SETS[code]) for code in hidden.values()}
    all_noise = [code for code in found if found[code].explained >= ALL_NOISE]
    if not all_noise:
        return probabilities
    likest = min(all_noise, key=lambda code: found[code].unlike)
    if top == coder:
        return exchanged(probabilities, top, likest) if found[likest].unlike <= LIKE_NOISE else probabilities
    if top == hidden["impulse_noise"] and accounts_for(SETS[top], found[top]):  # they may have come last
        return probabilities
    clearly = found[likest].unlike <= min(LIKER * found[top].unlike, found[top].unlike - LEAST_LIKER, MOST_UNLIKE)
    return exchanged(probabilities, top, likest) if clearly else probabilities


def with_hidden_impulses(probabilities: np.ndarray, region: np.ndarray, estimates: CopyEstimates) -> np.ndarray:
    """Exchange blur alone for blur over impulses where it leaves single spots that have nothing to do with edges.

    The same where something strange or content seems likelier: the trails of impulses in a moved picture may be either.

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
        The same where blur alone is not the likeliest, or leaves no such spots.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.naming.noise_law import with_hidden_impulses
    >>> from llise.diagnosis.sets import SETS, code_of
    >>> from scipy import ndimage
    >>> rng = np.random.default_rng(0)
    >>> image = rng.integers(60, 190, (128, 128)).astype(np.uint8)
    >>> hit = np.where(rng.random(image.shape) < 0.003, 255, image)
    >>> copy = ndimage.gaussian_filter(hit.astype(float), 1.0).round().astype(np.uint8)
    >>> blur = np.eye(len(SETS))[code_of("blur")]
    >>> after = with_hidden_impulses(blur, np.ones((16, 16), bool), CopyEstimates(image, copy))
    >>> SETS[int(after.argmax())]
    ('blur', 'impulse_noise')
    """
    alone, both = code_of("blur"), code_of("blur", "impulse_noise")
    top = int(probabilities.argmax())
    if top != alone:
        strange = top == UNKNOWN_CODE or CONTENT in SETS[min(top, UNKNOWN_CODE)]
        if not strange or probabilities[[alone, both]].sum() < MAY_BE_BLURRED:
            return probabilities
    least = 0.0 if top == alone else BLURRED
    return exchanged(probabilities, top, both) if leaves_spots(region, estimates, least) else probabilities


def leaves_spots(region: np.ndarray, estimates: CopyEstimates, least: float = 0.9) -> bool:
    """Return whether blur leaves single spots of a part, as it does of impulses that it came after.

    Parameters
    ----------
    region : ndarray of bool, shape (rows, cols)
        Blocks of the part.
    estimates : CopyEstimates
        Estimates of the copy's faults.
    least : float
        Share of the error that blur alone must explain.

    Returns
    -------
    bool
        False where it leaves something else, or nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.naming.noise_law import leaves_spots
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> leaves_spots(np.ones((16, 16), bool), CopyEstimates(image, image + 5))
    False
    """
    blur = estimates.of(region, ("blur",))
    sigma = blur.parameters.get("blur", {}).get("sigma")
    if sigma is None or blur.explained < least:
        return False
    # Of the power of single pixels a Gaussian kernel leaves 1 / (4 pi sigma^2).
    if 1 - blur.explained < LEAST_PART / (4 * np.pi * max(sigma.value, NARROWEST) ** 2):
        return False
    rest = estimates.rest(region, ("blur",))
    return rest is not None and _is_in_spots(*rest)


def leaves_just_noise(kinds: tuple[str, ...], region: np.ndarray, estimates: CopyEstimates) -> bool:
    """Return whether a blur or coder leaves nothing of a part but the noise or impulses that came with it.

    Parameters
    ----------
    kinds : tuple of str
        Kinds of the part.
    region : ndarray of bool, shape (rows, cols)
        Its blocks.
    estimates : CopyEstimates
        Estimates of the copy's faults.

    Returns
    -------
    bool
        False for other kinds.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> from llise.diagnosis.naming.noise_law import leaves_just_noise
    >>> from scipy import ndimage
    >>> rng = np.random.default_rng(0)
    >>> image = rng.integers(60, 190, (128, 128)).astype(np.uint8)
    >>> noisy = ndimage.gaussian_filter(image.astype(float), 2) + rng.normal(0, 5, image.shape)
    >>> estimates = CopyEstimates(image, noisy.round().astype(np.uint8))
    >>> leaves_just_noise(("gaussian_noise", "blur"), np.ones((16, 16), bool), estimates)
    True
    """
    if not {"blur", "jpeg"} & set(kinds) or not set(RANDOM) & set(kinds):
        return False
    found = estimates.of(region, kinds)
    if "impulse_noise" not in kinds:
        return found.explained >= NOTHING_LEFT and found.unlike <= JUST_NOISE
    counted = found.explained >= NOTHING_LEFT and estimates.hit_blocks(region, kinds) is not None
    return counted or (kinds == ("blur", "impulse_noise") and leaves_spots(region, estimates))


def _is_in_spots(rest: np.ndarray, reference: np.ndarray, mask: np.ndarray) -> bool:
    """Whether most of what is left lies in spots anywhere, or some of these are far stronger than all else."""
    size = np.abs(rest)
    spots = (size > FAR * (robust_scale(rest[mask]) + 0.3)) & (size > LEAST_SPOT) & mask
    if not spots.any():
        return False
    around = dilated(spots)
    numbers, count = islands(around)
    if count < max(FEWEST_SPOTS, SPOTS_A_PIXEL * np.count_nonzero(mask)):
        return False
    sizes = np.bincount(numbers.ravel())[1:]
    if sizes.max() > max(LARGEST_SPOT, LARGEST_SHARE * sizes.sum()):  # a line, such as the border of another fault
        return False
    steepness = np.hypot(*np.gradient(reference))
    if float(steepness[spots].mean()) > AT_EDGES * (float(steepness[mask].mean()) + 0.1):
        return False
    power = np.where(mask, rest.astype(np.float64) ** 2, 0)
    total = float(power.sum())
    in_spots = float(power[around].sum()) / total
    tails = float((power**2).sum()) * np.count_nonzero(mask) / total**2
    return bool(in_spots >= (PARTLY_SPOTS if tails >= LONG_TAILS else MOSTLY_SPOTS))


def _contradicted(kinds: tuple[str, ...], other: tuple[str, ...], region: np.ndarray, estimates: CopyEstimates) -> bool:
    """Whether kinds with one of the two noises fit the measurements worse than the same kinds with the other one."""
    found = estimates.of(region, kinds)
    if GROWING in kinds and found.parameters[GROWING]["exponent"].value < LEAST_EXPONENT:
        return True
    if "jpeg" in kinds:  # where noise comes first, its power is that with which coded noise comes nearest
        growing = found if GROWING in kinds else estimates.of(region, other)
        follows = growing.parameters[GROWING]["exponent"].value >= SURE_EXPONENT and growing.explained >= NEARLY_ALL
        return GROWING not in kinds and follows
    if set(HIDING) & set(kinds):  # of noise that is hidden, only how it is spread over blocks can be compared
        instead = estimates.of(region, other)
        return GROWING in kinds and instead.unlike <= found.unlike and instead.explained >= found.explained - 0.01
    if not set(kinds) <= {EVEN, GROWING, *GREY}:
        return False
    if GROWING in kinds:
        return found.growth <= NONE
    a_block = MUCH_WITH_CONTRAST if "contrast" in kinds else MUCH_A_BLOCK
    return found.growth >= max(MUCH, a_block * np.count_nonzero(region))
