"""Faults without a name: filters, painting effects, curves that do not rise, and changes of colour by other rules."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from training.fields import log_uniform, luma, smooth, unit


def _box(image: np.ndarray, size: int) -> np.ndarray:
    return ndimage.uniform_filter(image, (size, size, 1) if image.ndim == 3 else size, mode="nearest")


def rank(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Median, minimum, maximum, opening, closing or a quantile of the pixels around."""
    form, size = int(rng.integers(6)), int(rng.choice([3, 3, 5, 5, 7]))
    shape = (size, size, 1)
    if form < 2:
        return ndimage.median_filter(image, (min(size, 5), min(size, 5), 1), mode="nearest")
    if form == 2:
        return ndimage.percentile_filter(image, float(rng.choice([20, 30, 70, 80])), (3, 3, 1))
    low, high = ndimage.minimum_filter, ndimage.maximum_filter
    if form == 3:
        return (low if rng.random() < 0.5 else high)(image, (min(size, 5), min(size, 5), 1))
    first, second = (low, high) if form == 4 else (high, low)
    return second(first(image, shape), shape)


def guided(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Smoothing that spares edges: guided filter, or an unsharp mask with it."""
    size, bound = int(rng.choice([3, 5, 7, 9, 15])), log_uniform(rng, 30, 600)
    mean = _box(image, size)
    variance = np.maximum(_box(image**2, size) - mean**2, 0)
    gain = variance / (variance + bound)
    soft = _box(gain, size) * image + _box((1 - gain) * mean, size)
    return image + rng.uniform(0.6, 2.5) * (image - soft) if rng.random() < 0.25 else soft


def kuwahara(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Mean of that quarter of the surroundings which varies least, as in paintings."""
    size = int(rng.choice([3, 5, 7, 9]))
    mean, grey = _box(image, size), luma(image)
    variance = _box(grey**2, size) - _box(grey, size) ** 2
    shifts = [(i * size // 2, j * size // 2) for i in (-1, 1) for j in (-1, 1)]
    variances = np.stack([np.roll(variance, s, (0, 1)) for s in shifts])
    means = np.stack([np.roll(mean, s, (0, 1)) for s in shifts])
    return np.take_along_axis(means, variances.argmin(axis=0)[None, ..., None], 0)[0]


def diffused(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A few steps of diffusion that stops at edges."""
    out, edge = image.copy(), log_uniform(rng, 4, 20)
    for _ in range(int(rng.integers(4, 16))):
        change = np.zeros_like(out)
        for axis in (0, 1):
            flow = np.diff(out, axis=axis)
            flow *= 0.2 * np.exp(-((flow / edge) ** 2))
            if axis == 0:
                change[:-1] += flow
                change[1:] -= flow
            else:
                change[:, :-1] += flow
                change[:, 1:] -= flow
        out += change
    return out


def bilateral(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Means over pixels around that are alike, by themselves or by their surroundings."""
    likeness, reach, patch = log_uniform(rng, 15, 100), int(rng.integers(1, 4)), rng.random() < 0.4
    grey = luma(image)
    total, weights = np.zeros_like(image), np.zeros_like(grey)
    for dy in range(-reach, reach + 1):
        for dx in range(-reach, reach + 1):
            distance = (np.roll(grey, (dy, dx), (0, 1)) - grey) ** 2
            weight = np.exp(-(_box(distance, 3) if patch else distance) / likeness**2)
            total += weight[..., None] * np.roll(image, (dy, dx), (0, 1))
            weights += weight
    return total / weights[..., None]


def least_variation(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Total variation made small, by gradient steps."""
    out, strength = image.copy(), log_uniform(rng, 5, 60)
    for _ in range(int(rng.integers(10, 25))):
        across, down = np.roll(out, -1, 1) - out, np.roll(out, -1, 0) - out
        length = np.sqrt(across**2 + down**2 + 4)
        across /= length
        down /= length
        flow = across - np.roll(across, 1, 1) + down - np.roll(down, 1, 0)
        out += 0.25 * (strength * flow + image - out) * min(1.0, 4 / strength)
    return out


def oil(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The most frequent level around each pixel, as oil painting filters take it."""
    size, levels = int(rng.choice([5, 7, 9, 11])), int(rng.integers(5, 12))
    index = np.clip(luma(image) * levels / 256, 0, levels - 1).astype(int)
    counts = np.stack([_box((index == k).astype(np.float32), size) for k in range(levels)])
    best = counts.argmax(0)
    out = np.empty_like(image)
    for k in np.unique(best):
        weight = (index == k).astype(np.float32)
        colour = _box(image * weight[..., None], size) / np.maximum(counts[k], 1e-3)[..., None]
        out[best == k] = colour[best == k]
    return out


def superpixels(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Cells of a random mosaic or of crystals, each in its mean colour."""
    height, width = image.shape[:2]
    count = max(int(height * width / log_uniform(rng, 12, 300)), 4)
    seeds = np.ones((height, width), bool)
    seeds[rng.integers(height, size=count), rng.integers(width, size=count)] = False
    row, col = ndimage.distance_transform_edt(seeds, return_distances=False, return_indices=True)
    cell = row * width + col
    sizes = np.bincount(cell.ravel(), minlength=height * width)
    sums = [np.bincount(cell.ravel(), image[..., c].ravel(), height * width) for c in range(3)]
    return np.stack([(s / np.maximum(sizes, 1))[cell] for s in sums], -1).astype(np.float32)


def emboss(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Light from one side, over the picture or over grey."""
    shift = rng.integers(-3, 4, 2)
    shift = shift if shift.any() else np.array([1, 1])
    source = image if rng.random() < 0.5 else luma(image)[..., None].repeat(3, 2)
    lit = rng.uniform(0.4, 2) * (source - np.roll(source, shift, (0, 1)))
    return (image if rng.random() < 0.5 else 128) + lit


def edges(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Edges alone, added, taken away, or drawn as with a pencil."""
    form, width = int(rng.integers(3)), rng.uniform(0.7, 1.5)
    slope = ndimage.gaussian_gradient_magnitude(image, (width, width, 0), truncate=3)
    if form == 0:
        return image + float(rng.choice([-1, 1])) * rng.uniform(0.5, 2.5) * slope
    if form == 1:
        return np.clip(rng.uniform(2, 6) * slope, 0, 255) if rng.random() < 0.5 else 255 - rng.uniform(2, 6) * slope
    soft = 255 - _box(255 - luma(image), int(rng.integers(3, 12)))
    return (255 * luma(image) / np.maximum(soft, 1))[..., None].repeat(3, 2)


def local_contrast(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Contrast by the surroundings: divided by the local deviation, or towards the local mean."""
    size = int(rng.uniform(15, 60))
    grey = luma(image)
    mean = _box(grey, size)
    deviation = np.sqrt(np.maximum(_box(grey**2, size) - mean**2, 0)) + log_uniform(rng, 3, 20)
    if rng.random() < 0.5:
        wanted = rng.uniform(30, 60) * (grey - mean) / deviation + (mean if rng.random() < 0.5 else 128)
    else:
        wanted = grey + rng.uniform(-0.9, 0.9) * (mean - 128)
    return image + (rng.uniform(0.3, 1) * (wanted - grey))[..., None]


def equalized_tiles(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Histograms equalized by tiles with a limit (CLAHE), with straight lines between the tiles' curves."""
    grey = np.clip(luma(image), 0, 255)
    tiles, limit = int(rng.integers(2, 6)), log_uniform(rng, 1.5, 8)
    rows, cols = (np.array_split(np.arange(n), tiles) for n in grey.shape)
    curves = np.empty((tiles, tiles, 256), np.float32)
    for i, own_rows in enumerate(rows):
        for j, own_cols in enumerate(cols):
            tile = grey[own_rows[0] : own_rows[-1] + 1, own_cols[0] : own_cols[-1] + 1]
            counts = np.bincount(tile.astype(np.uint8).ravel(), minlength=256) / tile.size
            counts = np.minimum(counts, limit / 256)
            curves[i, j] = 255 * np.cumsum(counts + (1 - counts.sum()) / 256)
    y, x = (np.clip((np.arange(n) + 0.5) / n * tiles - 0.5, 0, tiles - 1) for n in grey.shape)
    top, left = (np.minimum(a.astype(int), tiles - 2) for a in (y, x))
    v, u = (y - top)[:, None], x - left
    level = grey.astype(int)
    mixed = sum(
        a * b * curves[(top + i)[:, None], left + j, level]
        for i, a in ((0, 1 - v), (1, v))
        for j, b in ((0, 1 - u), (1, u))
    )
    if rng.random() < 0.5:
        return image + (mixed - grey)[..., None]
    return image * (mixed / np.maximum(grey, 4))[..., None]


def odd_frequencies(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A band of frequencies raised or taken away, which leaves ripples along edges."""
    fy, fx = np.fft.fftfreq(image.shape[0])[:, None], np.fft.rfftfreq(image.shape[1])
    where = np.hypot(fy, fx) if rng.random() < 0.7 else np.abs(fx * np.cos(a := rng.uniform(0, np.pi)) + fy * np.sin(a))
    middle, width = rng.uniform(0.05, 0.3), rng.uniform(0.01, 0.05)
    band = (np.abs(where - middle) < width) if rng.random() < 0.5 else np.exp(-0.5 * ((where - middle) / width) ** 2)
    gain = 1 + float(rng.choice([-1.0, rng.uniform(1, 4)])) * band
    return np.fft.irfft2(np.fft.rfft2(image, axes=(0, 1)) * gain[..., None], image.shape[:2], (0, 1)).astype(np.float32)


def bent_curve(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Levels by a curve that does not rise everywhere: solarised, negative, wavy, folded."""
    form = int(rng.integers(4))
    if form == 0:
        return 255 - image
    if form == 1:
        return np.where(image > rng.uniform(60, 200), 255 - image, image)
    if form == 2:
        return image + rng.uniform(12, 50) * np.sin(image * rng.uniform(0.05, 0.3) + rng.uniform(0, 6))
    fold = rng.uniform(1.5, 4)
    return np.abs((image / 255 * fold + 1) % 2 - 1) * 255


def false_colours(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Grey levels shown by a scale of colours."""
    stops = rng.uniform(0, 255, (int(rng.integers(3, 7)), 3))
    at, level = np.linspace(0, 255, len(stops)), luma(image)
    return np.stack([np.interp(level, at, stops[:, c]) for c in range(3)], -1).astype(np.float32)


def other_colours(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Hues turned, channels exchanged or mixed."""
    form = int(rng.integers(3))
    if form == 0:  # a turn about the axis of greys
        a, k = rng.uniform(0.2, 2 * np.pi - 0.2), 1 / np.sqrt(3)
        cross = k * np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
        matrix = np.cos(a) * np.eye(3) + np.sin(a) * cross + (1 - np.cos(a)) / 3
        return image @ matrix.T.astype(np.float32)
    if form == 1:
        order = [(1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1)][int(rng.integers(5))]
        return image + rng.uniform(0.15, 1) * (image[..., list(order)] - image)
    matrix = np.eye(3) + rng.normal(0, rng.uniform(0.1, 0.5), (3, 3)) * (1 - np.eye(3))
    matrix = matrix / matrix.sum(1, keepdims=True) if rng.random() < 0.7 else matrix
    return image @ matrix.T.astype(np.float32)


def toned(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Shadows and lights tinted apart, one hue changed alone, or two inks."""
    form, grey = int(rng.integers(3)), luma(image)[..., None] / 255
    tints = rng.normal(0, 1, (2, 3)).astype(np.float32)
    if form == 0:
        return image + rng.uniform(8, 35) * ((1 - grey) ** 2 * tints[0] + grey**2 * tints[1])
    if form == 1:
        colour = image - 255 * grey
        pure = colour / (np.linalg.norm(colour, axis=-1, keepdims=True) + 8)
        like = np.clip(pure @ unit(tints[0]) / np.sqrt(3), 0, 1)[..., None] ** 2
        return image + like * rng.uniform(20, 90) * tints[1]
    inks = rng.uniform(0, 255, (2, 3)) * [[0.4], [1]] + [[0], [30]]
    return inks[0] * (1 - grey) + inks[1] * grey


def thrown(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Black and white by a threshold that is uneven or local."""
    grey = luma(image)
    if rng.random() < 0.3:
        bound = grey.mean() + rng.uniform(20, 60) * smooth(grey.shape, rng.uniform(15, 60), rng)
    else:
        bound = _box(grey, int(rng.integers(7, 40))) - rng.uniform(-10, 10)
    return np.where(grey > bound, 255.0, 0.0)[..., None].repeat(3, 2)
