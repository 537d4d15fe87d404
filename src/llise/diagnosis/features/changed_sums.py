"""Sums over blocks about which pixels changed: in one piece or scattered, with a sharp border or not, and into what.

Content that was added leaves the pixels beside it as they were, ends sharply, and has edges of its own instead of those
of the reference.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from llise.diagnosis.features.block_values import block_totals

CHANGED = 1.5
"""Error in grey levels from which a pixel counts as changed."""

GROUPS = ("changed count", "changed steps", "changed error")
"""Names of the groups of sums."""


def changed_sums(reference: np.ndarray, copy: np.ndarray, inner: tuple[slice, slice]) -> list[np.ndarray]:
    """Return what is known of the changed pixels of each block.

    Parameters
    ----------
    reference, copy : ndarray of float32, shape (h, w)
        Blocks with pixels around them.
    inner : tuple of slice
        Where the blocks lie.

    Returns
    -------
    list of ndarray of float32, shape (blocks, k)
        Counts of pixels that changed, of those whose four neighbours changed too, of steps from a changed to an
        unchanged pixel, and of steps between changed pixels without a difference in the copy. Then, over steps between
        changed pixels, the power of the reference's steps, of the copy's, and their product. Last the sizes of errors
        beside an unchanged pixel, and of all errors.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.changed_sums import changed_sums
    >>> reference = np.zeros((8, 8), np.float32)
    >>> copy = reference.copy()
    >>> copy[2:5, 2:5] = 100
    >>> changed_sums(reference, copy, (slice(0, 8), slice(0, 8)))[0]
    array([[ 9.,  1., 12., 12.]], dtype=float32)
    """
    size = np.abs(copy - reference)
    changed = size > CHANGED
    inside, at_border = changed.copy(), np.zeros_like(changed)
    border, flat = (np.zeros(changed.shape, np.uint8) for _ in range(2))
    own, new, both = (np.zeros(changed.shape, np.float32) for _ in range(3))
    for first, second in (_RIGHT, _BELOW):
        one, other = changed[first], changed[second]
        inside[first] &= other
        inside[second] &= one
        ends = one ^ other
        border[first] += ends
        at_border[first] |= ends & one
        at_border[second] |= ends & other
        pairs = one & other
        of_copy = (copy[second] - copy[first]) * pairs
        of_reference = (reference[second] - reference[first]) * pairs
        flat[first] += pairs & (of_copy == 0)
        own[first] += of_reference * of_reference
        new[first] += of_copy * of_copy
        both[first] += of_reference * of_copy
    groups = (changed, inside, border, flat), (own, new, both), (size * at_border, size)
    return [np.stack([block_totals(values[inner]) for values in group], axis=1) for group in groups]


_RIGHT = (slice(None), slice(None, -1)), (slice(None), slice(1, None))
_BELOW = (slice(None, -1), slice(None)), (slice(1, None), slice(None))


def changed_features(group: Callable[[str], np.ndarray], pixels: np.ndarray) -> dict[str, np.ndarray]:
    """Return the features of regions about changed pixels.

    Parameters
    ----------
    group : callable
        ``group(name)`` gives the sums (n, k) of a group of :data:`GROUPS`.
    pixels : ndarray, shape (n,)
        Pixels of each region.

    Returns
    -------
    dict of str to ndarray of shape (n,)
        Features by name.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.features.changed_sums import changed_features
    >>> sizes = {"changed count": 4, "changed steps": 3, "changed error": 2}
    >>> found = changed_features(lambda name: np.ones((1, sizes[name])), np.array([64.0]))
    >>> float(found["changed share"][0])
    0.015625
    """
    counts, steps, errors = (group(name) for name in GROUPS)
    changed, inside, border, flat = counts.T
    own, new, both = steps.T
    at_border, size = errors.T
    edge = border / 2 + 0.5
    safe = changed + 0.5
    power, own_power = new / safe + 0.5, own / safe + 0.5
    return {
        "changed share": changed / pixels,
        "changed inside": inside / safe,
        "changed border": np.log((border + 0.5) / (safe + 1)),
        "changed flat": flat / (2 * safe),
        "changed steps": np.log(power / own_power),
        "changed slope": np.clip(both / (own + 0.5 * safe), -1, 2),
        "changed copied": both / np.sqrt((own + 0.5 * safe) * (new + 0.5 * safe)),
        "changed sharpness": np.log((at_border / edge + 1) / (size / safe + 1)),
    }
