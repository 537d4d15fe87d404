"""Faults without a name: pixels, rows, cells and channels in other places than they should be."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from training.fields import noise, places, smooth


def _moved(image: np.ndarray, dy: np.ndarray, dx: np.ndarray) -> np.ndarray:
    """Take each pixel from a place (dy, dx) away, with straight lines between pixels."""
    y, x = places(image)
    height, width = image.shape[:2]
    y, x = np.clip(y + dy, 0, height - 1.001), np.clip(x + dx, 0, width - 1.001)
    top, left = y.astype(np.intp), x.astype(np.intp)
    v, u = (y - top)[..., None].astype(np.float32), (x - left)[..., None].astype(np.float32)
    flat, at = image.reshape(-1, image.shape[2]), top * width + left
    upper = flat[at] + u * (flat[at + 1] - flat[at])
    lower = flat[at + width] + u * (flat[at + width + 1] - flat[at + width])
    return upper + v * (lower - upper)


def warped(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Smooth random displacements, as over hot air or through water."""
    size, far = rng.uniform(6, 50), rng.uniform(0.8, 5)
    dy, dx = (far * smooth(image.shape, size, rng) for _ in "yx")
    return _moved(image, dy, dx)


def swirl(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A swirl, a pinch, a bulge, or rings of a drop about a point."""
    y, x = places(image)
    cy, cx = (rng.uniform(0.3, 0.7) * n for n in image.shape[:2])
    far = np.hypot(y - cy, x - cx)
    fall = np.exp(-((far / (rng.uniform(0.2, 0.6) * min(image.shape[:2]))) ** 2))
    form = int(rng.integers(3))
    if form == 0:
        turn = rng.choice([-1, 1]) * rng.uniform(0.15, 1.2) * fall
        return _moved(image, turn * (x - cx), -turn * (y - cy))
    if form == 1:
        pull = rng.choice([-1, 1]) * rng.uniform(0.1, 0.5) * fall
        return _moved(image, pull * (y - cy), pull * (x - cx))
    ring = rng.uniform(1, 4) * np.sin(2 * np.pi * far / rng.uniform(8, 30)) / (far + 1)
    return _moved(image, ring * (y - cy), ring * (x - cx))


def frosted(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each pixel taken from a random place nearby."""
    reach = rng.uniform(0.7, 5)
    dy, dx = (np.rint(rng.uniform(-reach, reach, image.shape[:2])) for _ in "yx")
    return _moved(image, dy, dx)


def glass_tiles(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Tiles or ribs that each bend the picture by themselves."""
    side, bend = rng.uniform(5, 30), rng.uniform(0.2, 1.2)
    y, x = places(image)
    dy = bend * ((y % side) - side / 2) if rng.random() < 0.7 else 0 * y
    return _moved(image, dy + 0 * x, bend * ((x % side) - side / 2) + 0 * y)


def rows_moved(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows shifted: at random, in waves, or from some row on, as when rows are read one after another."""
    rows, form = np.arange(image.shape[0]), int(rng.integers(4))
    if form == 0:
        shift = rng.normal(0, rng.uniform(0.7, 5), len(rows))
    elif form == 1:
        shift = rng.uniform(1, 6) * np.sin(2 * np.pi * rows / rng.uniform(8, 80) + rng.uniform(0, 6))
    elif form == 2:
        steps = np.where(rng.random(len(rows)) < 0.06, rng.normal(0, 8, len(rows)), 0)
        shift = np.cumsum(steps) * (rng.random() < 0.5) + steps
    else:
        shift = rng.normal(0, 6, len(rows)).cumsum() * 0.08
    if rng.random() < 0.5:
        shift = np.rint(shift)
    return _moved(image, np.zeros(image.shape[:2], np.float32), np.repeat(shift[:, None], image.shape[1], 1))


def interlaced(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Every other row from a moved picture, or rows lost and repeated or interpolated."""
    out, form = image.copy(), int(rng.integers(3))
    if form == 0:
        out[1::2] = np.roll(image, int(rng.choice([-1, 1])) * int(rng.integers(1, 9)), axis=1)[1::2]
    elif form == 1:
        out = image[np.arange(len(image)) // 2 * 2]
    else:
        out[1:-1:2] = (image[:-2:2] + image[2::2])[: len(out[1:-1:2])] / 2
    return out


def ghost(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A second, displaced or turned picture that shines through, or an echo along rows."""
    shift, share = rng.integers(3, 21, 2) * rng.choice([-1, 1], 2), rng.uniform(0.12, 0.5)
    form = int(rng.integers(3))
    if form == 2:
        return image + share * rng.choice([-1, 1]) * (np.roll(image, shift[0], 1) - image.mean())
    other = np.roll(image, shift, (0, 1)) if form == 0 else image[::-1, ::-1]
    return (1 - share) * image + share * other


def shuffled(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Cells exchanged, turned or mirrored."""
    side = int(rng.integers(3, 17))
    height, width = (n // side * side for n in image.shape[:2])
    cells = image[:height, :width].reshape(height // side, side, width // side, side, -1).swapaxes(1, 2).copy()
    flat = cells.reshape(-1, side, side, image.shape[2])
    chosen = np.flatnonzero(rng.random(len(flat)) < rng.uniform(0.15, 1))
    flat[chosen] = flat[rng.permutation(chosen)] if rng.random() < 0.4 else flat[chosen][:, ::-1]
    out = image.copy()
    out[:height, :width] = flat.reshape(cells.shape).swapaxes(1, 2).reshape(height, width, -1)
    return out


def fringes(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Channels displaced against each other: by a shift, or outwards from the middle as by a lens."""
    out, form = image.copy(), rng.random()
    y, x = places(image)
    cy, cx = (rng.uniform(-0.3, 1.3) * n for n in image.shape[:2])
    size = rng.uniform(0.6, 4)
    for channel, sign in ((0, 1.0), (2, -1.0)):
        if form < 0.5:
            dy, dx = (np.full(image.shape[:2], sign * size * t, np.float32) for t in rng.uniform(-1, 1, 2))
        else:
            dy, dx = (sign * size * w / max(image.shape[:2]) for w in (y - cy + 0 * x, x - cx + 0 * y))
        out[..., channel] = _moved(image[..., channel : channel + 1], dy, dx)[..., 0]
    return out


def mosaic_of_colours(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One colour for each pixel in a Bayer pattern, raw or interpolated, or interpolated with the wrong pattern."""
    red, blue = ((0, 0), (1, 1)) if rng.random() < 0.5 else ((0, 1), (1, 0))
    keep = np.zeros(image.shape, np.float32)
    keep[red[0] :: 2, red[1] :: 2, 0] = 1
    keep[blue[0] :: 2, blue[1] :: 2, 2] = 1
    keep[..., 1] = 1 - keep[..., 0] - keep[..., 2]
    raw = image * keep
    if rng.random() < 0.25:
        return raw.sum(-1, keepdims=True).repeat(3, 2)
    if rng.random() < 0.3:
        keep = np.roll(keep, 1, int(rng.integers(2)))
        raw = raw.sum(-1, keepdims=True) * keep
    weights = np.array([1.0, 2, 1], np.float32)
    sums = [ndimage.convolve1d(ndimage.convolve1d(a, weights, 0), weights, 1) for a in (raw, keep)]
    return sums[0] / np.maximum(sums[1], 1e-3)


def edges_jagged(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Pixels near edges moved at random along a fine grid, as by a poor redrawing of lines."""
    slope = ndimage.gaussian_gradient_magnitude(image.mean(-1), 1.0, truncate=3)
    near = slope > np.quantile(slope, rng.uniform(0.6, 0.9))
    dy, dx = (np.rint(rng.uniform(0.8, 2.5) * noise(image.shape[:2], rng)) * near for _ in "yx")
    return _moved(image, dy, dx)
