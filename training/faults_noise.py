"""Faults without a name: noises that are neither Gaussian, speckle nor impulses, patterns, weather and light."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw
from scipy import ndimage

from training.fields import draw_mask, feathered, log_uniform, luma, noise, own_or_common, places, smooth, unit


def white(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """White noise that is not normal: uniform, Laplace, Student, one-sided, two-valued."""
    shape, form = own_or_common(image.shape, rng), int(rng.integers(5))
    if form == 0:
        field = rng.random(shape)
    elif form == 1:
        field = rng.laplace(size=shape)
    elif form == 2:
        field = np.clip(rng.standard_t(2, size=shape), -30, 30)
    elif form == 3:
        field = rng.exponential(size=shape)
    else:
        field = np.sign(noise(shape, rng))
    return image + log_uniform(rng, 4, 35) * unit(field)


def correlated(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Noise that is alike in neighbouring pixels, or confined to a band of frequencies."""
    width, stretch = log_uniform(rng, 0.6, 4), log_uniform(rng, 1, 5) if rng.random() < 0.3 else 1.0
    sizes = (width, width * stretch)[:: int(rng.choice([-1, 1]))]
    field = ndimage.gaussian_filter(noise(own_or_common(image.shape, rng), rng), (*sizes, 0), truncate=3)
    if rng.random() < 0.4:
        field = field - ndimage.uniform_filter(field, (int(4 * width) + 1, int(4 * width) + 1, 1))
    return image + log_uniform(rng, 3, 35) * unit(field)


def grain(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Film grain: soft, strongest in the middle greys."""
    field = unit(
        ndimage.gaussian_filter(noise(own_or_common(image.shape, rng), rng), (s := rng.uniform(0.7, 1.5), s, 0))
    )
    grey = luma(image)[..., None] / 255
    return image + log_uniform(rng, 6, 40) * field * (4 * grey * (1 - grey)) ** rng.uniform(0.5, 2)


def line_noise(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    axis = int(rng.integers(2))
    line = noise((image.shape[axis], 3 if rng.random() < 0.4 else 1), rng)
    if rng.random() < 0.4:
        line = ndimage.gaussian_filter1d(line, log_uniform(rng, 0.7, 4), axis=0)
    line = unit(line * (rng.random(line.shape) < rng.uniform(0.1, 1)))
    return image + log_uniform(rng, 3, 40) * (line[:, None] if axis == 0 else line)


def waves(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    y, x = places(image)
    period, angle = log_uniform(rng, 2, 40), rng.uniform(0, np.pi)
    wave = np.sin(2 * np.pi * (x * np.cos(angle) + y * np.sin(angle)) / period + rng.uniform(0, 6.3))
    wave = (np.sign(wave) if rng.random() < 0.3 else wave)[..., None]
    if rng.random() < 0.3:
        return image * (1 + rng.uniform(0.05, 0.4) * wave)
    return image + log_uniform(rng, 4, 50) * wave * _tint(rng)


def _tint(rng: np.random.Generator) -> np.ndarray:
    return np.ones(3, np.float32) if rng.random() < 0.6 else rng.uniform(-1, 1, 3).astype(np.float32)


def moire(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Two gratings that beat, or rings that grow finer outwards."""
    y, x = places(image)
    if rng.random() < 0.5:
        field = np.ones((1, 1), np.float32)
        angle, period = rng.uniform(0, np.pi), rng.uniform(2.1, 6)
        for turn, longer in ((0, 1), (rng.uniform(-0.15, 0.15), rng.uniform(0.92, 1.08))):
            a, p = angle + turn, period * longer
            field = field * np.sin(2 * np.pi * (x * np.cos(a) + y * np.sin(a)) / p)
    else:
        cy, cx = (rng.uniform(-0.3, 1.3) * n for n in image.shape[:2])
        field = np.sin(((y - cy) ** 2 + (x - cx) ** 2) * log_uniform(rng, 0.002, 0.05))
    field = unit(field)[..., None]
    phase = _tint(rng)
    return image + log_uniform(rng, 4, 30) * field * phase


def tiled_pattern(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Noise that repeats itself in tiles or lines."""
    side = int(log_uniform(rng, 3, 33))
    tile = noise((side, side, 3) if rng.random() < 0.6 else (1, side * 4, 1), rng)
    counts = [n // m + 1 for n, m in zip(image.shape[:2], tile.shape)]
    return image + log_uniform(rng, 3, 30) * unit(np.tile(tile, (*counts, 1))[: image.shape[0], : image.shape[1]])


def uneven_cells(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An own random shift or gain for each cell of a grid."""
    side = int(rng.integers(3, 25))
    shape = tuple(n // side + 1 for n in image.shape[:2])
    field = noise((*shape, 3 if rng.random() < 0.3 else 1), rng).repeat(side, 0).repeat(side, 1)
    field = field[: image.shape[0], : image.shape[1]]
    if rng.random() < 0.4:
        return image * np.exp(rng.uniform(0.04, 0.3) * field)
    return image + log_uniform(rng, 3, 30) * field


def spots(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Soft spots of several pixels: dust, drops, discs of light."""
    points = (rng.random(image.shape[:2]) < log_uniform(rng, 3e-4, 1.5e-2)).astype(np.float32)
    size = rng.uniform(1, 4)
    field = ndimage.gaussian_filter(points, (size, size * log_uniform(rng, 0.4, 2.5)), truncate=3)
    field = np.clip(field / (field.max() + 1e-6) * rng.uniform(1, 4), 0, 1)[..., None]
    colour = rng.uniform(0, 255, 3).astype(np.float32) if rng.random() < 0.3 else float(rng.choice([0, 255, 200]))
    return image + field * (colour - image)


def noisy_edges(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Noise that grows with the slope of the picture."""
    slope = ndimage.gaussian_gradient_magnitude(luma(image), rng.uniform(0.7, 1.5), truncate=3)
    where = (slope / (slope.mean() + 1)) ** rng.uniform(1, 2)
    return image + log_uniform(rng, 5, 40) * where[..., None] * noise(own_or_common(image.shape, rng), rng)


def rain(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    page = Image.new("L", image.shape[1::-1], 0)
    pen, slant, long = ImageDraw.Draw(page), rng.uniform(-0.5, 0.5), rng.uniform(5, 30)
    for x, y in rng.uniform(-0.1, 1.1, (int(log_uniform(rng, 20, 250)), 2)) * image.shape[1::-1]:
        size = long * rng.uniform(0.5, 1.5)
        pen.line([x, y, x + slant * size, y + size], fill=int(rng.integers(60, 256)))
    veil = ndimage.gaussian_filter(np.asarray(page).astype(np.float32) / 255, rng.uniform(0.3, 0.9))[..., None]
    return image + rng.uniform(0.3, 1) * veil * (rng.uniform(180, 255) - image)


def snow(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    page = Image.new("L", image.shape[1::-1], 0)
    pen = ImageDraw.Draw(page)
    for x, y in rng.uniform(0, 1, (int(log_uniform(rng, 15, 200)), 2)) * image.shape[1::-1]:
        r = log_uniform(rng, 0.5, 4)
        pen.ellipse([x - r, y - r, x + r, y + r], fill=int(rng.integers(90, 256)))
    veil = ndimage.gaussian_filter(np.asarray(page).astype(np.float32) / 255, rng.uniform(0.5, 1.5))[..., None]
    return image + veil * (rng.uniform(220, 255) - image)


def scan_lines(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows darkened at a fixed distance, as on old screens."""
    period, dark = int(rng.integers(2, 7)), rng.uniform(0.1, 0.7)
    rows = np.arange(image.shape[0]) % period < max(1, period // 2)
    return image * np.where(rows, 1 - dark, 1.0).astype(np.float32)[:, None, None]


def screen_dots(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Stripes of red, green and blue, as a photograph of a screen shows them."""
    width, dark = int(rng.integers(1, 4)), rng.uniform(0.15, 0.8)
    column = np.arange(image.shape[1]) // width % 3
    gain = np.where(column[:, None] == np.arange(3), 1.0, 1 - dark).astype(np.float32)
    return image * gain / gain.mean()


def halftone(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Dots or lines of a printing screen, in one ink or in one for each channel."""
    y, x = places(image)
    period, soft, dots = rng.uniform(3, 10), rng.uniform(0.02, 0.4), rng.random() < 0.7
    angles = rng.uniform(0, np.pi, 3) if rng.random() < 0.6 else np.full(3, rng.uniform(0, np.pi))
    source = image if rng.random() < 0.6 else luma(image)[..., None].repeat(3, 2)
    out = np.empty_like(image)
    for c, a in enumerate(angles):
        u, v = (2 * np.pi / period * w for w in (x * np.cos(a) + y * np.sin(a), y * np.cos(a) - x * np.sin(a)))
        screen = 0.5 + (0.25 * (np.cos(u) + np.cos(v)) if dots else 0.5 * np.cos(u))
        out[..., c] = 255 / (1 + np.exp(np.clip((screen - source[..., c] / 255) / (0.25 * soft), -30, 30)))
    return out


def vignette(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    y, x = places(image)
    cy, cx = (rng.uniform(0.2, 0.8) * n for n in image.shape[:2])
    far = np.hypot((y - cy) / image.shape[0], (x - cx) / image.shape[1])
    fall = np.clip(far / rng.uniform(0.5, 0.9), 0, 1.5) ** rng.uniform(1.5, 5)
    return image * np.exp(-rng.uniform(0.2, 1.6) * fall)[..., None]


def shading(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Uneven light: a slope or a smooth factor, on all channels or tinted."""
    y, x = places(image)
    if rng.random() < 0.4:
        field = unit(rng.normal() * y / image.shape[0] + rng.normal() * x / image.shape[1])
    else:
        field = smooth(image.shape, min(image.shape[:2]) * rng.uniform(0.15, 0.6), rng)
    field = field[..., None] * _tint(rng)
    if rng.random() < 0.6:
        return image * np.exp(rng.uniform(0.05, 0.4) * field)
    return image + rng.uniform(4, 40) * field


def shadow(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A soft shadow or a patch of light that fades all over; with a firm outline it would be contrast in a region."""
    form = str(rng.choice(["polygon", "blob", "ellipse", "stroke"]))
    mask = feathered(draw_mask(image.shape[:2], rng, form), rng.uniform(12, 40))[..., None]
    return image * np.exp(float(rng.choice([-1, -1, 0.6])) * rng.uniform(0.15, 0.9) * mask)


def flare(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Light added: discs, a streak, a leak at a border."""
    y, x = places(image)
    form, colour = int(rng.integers(3)), rng.uniform(60, 255, 3).astype(np.float32)
    cy, cx = (rng.uniform(-0.1, 1.1) * n for n in image.shape[:2])
    if form == 0:
        field = np.zeros(image.shape[:2], np.float32)
        for k in rng.uniform(-1, 1, int(rng.integers(2, 7))):
            py, px = cy + k * (image.shape[0] / 2 - cy) * 2, cx + k * (image.shape[1] / 2 - cx) * 2
            radius = rng.uniform(3, 0.2 * max(image.shape))
            field += rng.uniform(0.1, 0.7) / (1 + np.exp(np.clip(np.hypot(y - py, x - px) - radius, -30, 30)))
    elif form == 1:
        field = np.exp(-np.abs(y - cy) / rng.uniform(1, 6)) * np.exp(-np.abs(x - cx) / rng.uniform(20, 100))
    else:
        a = rng.uniform(0, 2 * np.pi)
        along = (x - cx) * np.cos(a) + (y - cy) * np.sin(a)
        field = 1 / (1 + np.exp(-np.clip(along / rng.uniform(5, 30), -30, 30)))
    field = np.clip(field, 0, 1)[..., None] * rng.uniform(0.2, 0.9)
    return 255 - (255 - image) * (1 - field * colour / 255)


def haze(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Fog that is thick in some places and thin in others."""
    field = smooth(image.shape, min(image.shape[:2]) * rng.uniform(0.15, 0.5), rng)
    if rng.random() < 0.5:
        field = field + rng.uniform(1, 4) * (0.5 - np.arange(image.shape[0]) / image.shape[0])[:, None]
    thick = rng.uniform(0.3, 0.9) / (1 + np.exp(-1.5 * field))[..., None]
    air = rng.uniform(170, 255) * (1 - rng.uniform(0, 0.15, 3) * (rng.random() < 0.5))
    return image + thick * (air - image)


def flicker(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Bands of light across the picture, from a lamp that flickers while rows are read."""
    at, period = np.arange(image.shape[0]) + rng.uniform(0, 99), rng.uniform(12, 80)
    band = np.abs(np.sin(np.pi * at / period)) - 0.6
    return image * (1 + rng.uniform(0.1, 0.5) * band)[:, None, None] ** (1 + 0.3 * (_tint(rng) < 0.5))
