"""Faults of no named kind, from which the judge learns what it does not know.

Each function makes a copy of a picture (float32, 0..255) with random settings.  They stand for other coders, other
noises and other filters than those that have a name; what programs do besides cannot be listed, but a judge that has
seen many strange copies takes other strange ones for unknown as well.
"""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import scipy
from PIL import Image
from scipy import ndimage

Maker = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def draw_unlisted(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Make a copy with a random fault of no named kind.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w)
        Picture.
    rng : numpy.random.Generator
        Source of all random numbers.

    Returns
    -------
    ndarray of uint8, shape (h, w)
        The copy; a third of the copies are mixed with the picture, so that weak faults come up too.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.unlisted import draw_unlisted
    >>> picture = np.arange(64 * 64, dtype=np.uint8).reshape(64, 64)
    >>> draw_unlisted(picture, np.random.default_rng(0)).shape
    (64, 64)
    """
    group = GROUPS[int(rng.choice(len(GROUPS), p=(0.25, 0.35, 0.4)))]
    base = image.astype(np.float32)
    copy = group[int(rng.integers(len(group)))](base, rng)
    if rng.random() < 0.3:
        copy = base + np.float32(rng.uniform(0.3, 0.9)) * (copy - base)
    return np.clip(np.rint(copy), 0, 255).astype(np.uint8)


def _log(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw a number evenly in the logarithm."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _noise(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


def _unit(field: np.ndarray) -> np.ndarray:
    """A field with a mean of zero and a deviation of one."""
    field = field - field.mean()
    return (field / (field.std() + 1e-6)).astype(np.float32)


def _places(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.meshgrid(*(np.arange(n, dtype=np.float32) for n in image.shape), indexing="ij"))  # type: ignore


# Coders


def _webp(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    stream = io.BytesIO()
    picture = Image.fromarray(np.clip(image, 0, 255).astype(np.uint8)).convert("RGB")
    picture.save(stream, "WEBP", quality=int(rng.integers(0, 70)), method=int(rng.integers(0, 5)))
    return np.asarray(Image.open(stream).convert("L")).astype(np.float32)


def _block_coder(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Cosine transform of 4 x 4, 16 x 16 or 32 x 32 pixels, or Hadamard transform; sometimes deblocked."""
    side = int(rng.choice([4, 4, 16, 16, 32]))
    height, width = (-(-n // side) * side for n in image.shape)
    padded = np.pad(image, [(0, height - image.shape[0]), (0, width - image.shape[1])], mode="edge")
    blocks = padded.reshape(height // side, side, width // side, side).swapaxes(1, 2)
    hadamard = side <= 16 and rng.random() < 0.3
    matrix = (
        scipy.linalg.hadamard(side) / np.sqrt(side) if hadamard else scipy.fft.dct(np.eye(side), axis=0, norm="ortho")
    )
    coefficients = matrix @ blocks @ matrix.T
    i, j = np.ogrid[:side, :side]
    step = _log(rng, 8, 160) * (1 + rng.uniform(0, 3) * (i + j) / side)
    coefficients = np.rint(coefficients / step + rng.uniform(-0.15, 0.15)) * step
    coded = (matrix.T @ coefficients @ matrix).swapaxes(1, 2).reshape(height, width)
    coded = coded[: image.shape[0], : image.shape[1]].astype(np.float32)
    if rng.random() < 0.5:
        smooth = ndimage.uniform_filter(coded, 3, mode="nearest")
        edge = (np.arange(image.shape[0]) % side < 1)[:, None] | (np.arange(image.shape[1]) % side < 1)
        coded = np.where(edge | np.roll(edge, -1, (0, 1)), smooth, coded)
    return coded


def _ordered_dither(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    levels = int(rng.integers(2, 9))
    bayer = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 16 - 0.47
    tiled = np.tile(bayer, [n // 4 + 1 for n in image.shape])[: image.shape[0], : image.shape[1]]
    step = 255 / (levels - 1)
    return np.clip(np.rint(image / step + tiled), 0, levels - 1) * step


def _diffused_dither(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    picture = Image.fromarray(np.clip(image, 0, 255).astype(np.uint8))
    if rng.random() < 0.4:
        return np.asarray(picture.convert("1").convert("L")).astype(np.float32)
    levels = int(rng.integers(2, 9))
    palette = Image.new("P", (1, 1))
    palette.putpalette([int(v) for v in np.linspace(0, 255, levels) for _ in range(3)])
    dithered = picture.convert("RGB").quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG)
    return np.asarray(dithered.convert("L")).astype(np.float32)


# Noises


def _white(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """White noise that is not normal: uniform, Laplace, Student, one-sided."""
    shape, form = image.shape, int(rng.integers(5))
    field = (
        rng.random(shape) if form == 0
        else rng.laplace(size=shape) if form == 1
        else np.clip(rng.standard_t(3, size=shape), -30, 30) if form == 2
        else rng.exponential(size=shape) if form == 3
        else np.sign(_noise(shape, rng))
    )  # fmt: skip
    return image + _log(rng, 3, 35) * _unit(field)


def _coloured(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Noise that is alike in neighbouring pixels, or restricted to a band of frequencies."""
    width = _log(rng, 0.6, 4)
    stretch = _log(rng, 1, 5) if rng.random() < 0.3 else 1.0
    field = ndimage.gaussian_filter(_noise(image.shape, rng), (width, width * stretch)[:: rng.choice([-1, 1])])
    if rng.random() < 0.4:
        field = field - ndimage.gaussian_filter(field, 2 * width)
    return image + _log(rng, 3, 35) * _unit(field)


def _stripes(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    axis = int(rng.integers(2))
    line = _noise((image.shape[axis],), rng)
    if rng.random() < 0.4:
        line = ndimage.gaussian_filter1d(line, _log(rng, 0.7, 4))
    line = _unit(line * (rng.random(line.shape) < rng.uniform(0.1, 1)))
    return image + _log(rng, 3, 40) * (line[:, None] if axis == 0 else line)


def _waves(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    y, x = _places(image)
    period, angle = _log(rng, 2, 40), rng.uniform(0, np.pi)
    wave = np.sin(2 * np.pi * (x * np.cos(angle) + y * np.sin(angle)) / period + rng.uniform(0, 6.3))
    if rng.random() < 0.4:
        wave = np.sign(wave)
    if rng.random() < 0.3:
        return image * (1 + rng.uniform(0.05, 0.4) * wave)
    return image + _log(rng, 4, 50) * wave


def _pattern(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Noise that repeats itself, with the same tile or line again and again, or mixed with a regular pattern."""
    side = int(np.exp(rng.uniform(np.log(3), np.log(33))))
    tile = _noise((side, side) if rng.random() < 0.6 else (1, side * 4), rng)
    field = np.tile(tile, [n // m + 1 for n, m in zip(image.shape, tile.shape)])[: image.shape[0], : image.shape[1]]
    if rng.random() < 0.5:
        field = field + rng.uniform(0.3, 1) * _noise(image.shape, rng)
    return image + _log(rng, 3, 30) * _unit(field)


def _cells(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An own random shift for each cell of a grid."""
    side = int(rng.integers(2, 25))
    field = _noise(tuple(n // side + 1 for n in image.shape), rng).repeat(side, 0).repeat(side, 1)
    return image + _log(rng, 3, 30) * field[: image.shape[0], : image.shape[1]]


def _blobs(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Spots of several pixels: drops, dust, snow."""
    spots = rng.random(image.shape) < _log(rng, 3e-4, 2e-2)
    size = rng.uniform(1, 4)
    field = ndimage.gaussian_filter(spots.astype(np.float32), (size, size * _log(rng, 0.4, 2.5)))
    field = np.clip(field / (field.max() + 1e-6) * rng.uniform(1, 4), 0, 1)
    return image + field * (float(rng.choice([0, 255, 200])) - image)


def _shading(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Uneven light: a smooth factor or a smooth shift, a vignette, a gradient, fog."""
    y, x = _places(image)
    form = int(rng.integers(3))
    if form == 0:
        cy, cx = (rng.uniform(0.2, 0.8) * n for n in image.shape)
        field = -(((y - cy) / image.shape[0]) ** 2 + ((x - cx) / image.shape[1]) ** 2)
    elif form == 1:
        field = rng.normal() * y / image.shape[0] + rng.normal() * x / image.shape[1]
    else:
        field = ndimage.gaussian_filter(_noise(image.shape, rng), min(image.shape) * rng.uniform(0.06, 0.2))
    field = _unit(field)
    if rng.random() < 0.6:
        return image * np.exp(rng.uniform(0.05, 0.4) * field)
    return image + rng.uniform(4, 40) * field


def _uneven(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Noise that is strong at edges, in flat parts, or in patches."""
    slope = ndimage.gaussian_gradient_magnitude(image, 1.0)
    patches = ndimage.gaussian_filter(_noise(image.shape, rng), rng.uniform(2, 12))
    where = [slope / (slope.mean() + 1), np.exp(-slope / 4), (patches > 0.5 * patches.std()) * 1.0][
        int(rng.integers(3))
    ]
    return image + _log(rng, 5, 40) * where * _noise(image.shape, rng)


# Filters


def _rank(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    size = int(rng.choice([3, 3, 5, 7, 9]))
    form = int(rng.integers(5))
    if form < 2:
        return ndimage.median_filter(image, size, mode="nearest")
    if form == 2:
        return (ndimage.minimum_filter if rng.random() < 0.5 else ndimage.maximum_filter)(image, min(size, 5))
    if form == 3:
        return (ndimage.grey_opening if rng.random() < 0.5 else ndimage.grey_closing)(image, (size, size))
    return ndimage.percentile_filter(image, float(rng.choice([20, 30, 70, 80])), min(size, 5))


def _edge_preserving(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Guided filter, Kuwahara filter, or a few steps of anisotropic diffusion."""
    form, size = int(rng.integers(3)), int(rng.choice([3, 5, 7, 9]))
    if form == 0:
        mean = ndimage.uniform_filter(image, size)
        variance = np.maximum(ndimage.uniform_filter(image**2, size) - mean**2, 0)
        gain = variance / (variance + _log(rng, 30, 400))
        return ndimage.uniform_filter(gain, size) * image + ndimage.uniform_filter((1 - gain) * mean, size)
    if form == 1:
        mean = ndimage.uniform_filter(image, size)
        variance = ndimage.uniform_filter(image**2, size) - mean**2
        shifts = [(i * size // 2, j * size // 2) for i in (-1, 1) for j in (-1, 1)]
        means, variances = (np.stack([np.roll(a, s, (0, 1)) for s in shifts]) for a in (mean, variance))
        return np.take_along_axis(means, variances.argmin(axis=0)[None], 0)[0]
    out, edge = image.copy(), _log(rng, 4, 14)
    for _ in range(int(rng.integers(4, 25))):
        flow = [np.roll(out, 1, axis) - out for axis in (0, 1)] + [np.roll(out, -1, axis) - out for axis in (0, 1)]
        out += 0.2 * sum(f * np.exp(-((f / edge) ** 2)) for f in flow)
    return out


def _denoised(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Details that shrink: by scale, or by likeness to the pixels around, or where they are no edges."""
    form = int(rng.integers(3))
    if form == 0:  # a soft bound for the details of each scale
        bound, out, smooth = _log(rng, 8, 90), np.zeros_like(image), image
        for scale in (1, 2, 4, 8)[: int(rng.integers(2, 5))]:
            below = ndimage.gaussian_filter(smooth, 0.8 * scale)
            detail = smooth - below
            out += np.sign(detail) * np.maximum(np.abs(detail) - bound / scale ** rng.uniform(0, 0.7), 0)
            smooth = below
        return out + smooth
    if form == 1:  # means over the pixels around that are alike
        likeness, reach, width = _log(rng, 15, 120), int(rng.integers(1, 5)), float(rng.choice([0, 0, 1]))
        total, weights = np.zeros_like(image), np.zeros_like(image)
        for dy in range(-reach, reach + 1):
            for dx in range(-reach, reach + 1):
                other = np.roll(image, (dy, dx), (0, 1))
                distance = (other - image) ** 2
                distance = ndimage.gaussian_filter(distance, width) if width else distance
                weight = np.exp(-distance / likeness**2)
                total, weights = total + weight * other, weights + weight
        return total / weights
    out, strength = image.copy(), _log(rng, 5, 60)  # least total variation
    for _ in range(int(rng.integers(15, 50))):
        across, down = np.roll(out, -1, 1) - out, np.roll(out, -1, 0) - out
        length = np.sqrt(across**2 + down**2 + 4)
        flow = across / length - np.roll(across / length, 1, 1) + down / length - np.roll(down / length, 1, 0)
        out += 0.25 * (strength * flow + image - out) * min(1.0, 4 / strength)
    return out


def _relief(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Emboss, on the picture or on grey, with all grey levels equally frequent or not; edges, local normalisation."""
    form = int(rng.integers(5))
    if form < 2:
        shift = rng.integers(-3, 4, 2)
        lit = ndimage.gaussian_filter(image, rng.uniform(0, 1.5)) - np.roll(image, shift, (0, 1))
        embossed = (image if form == 0 else 128) + rng.uniform(0.5, 2) * lit
        if rng.random() < 0.5:
            embossed = 255 * np.argsort(np.argsort(embossed, axis=None)).reshape(image.shape) / np.float32(image.size)
        return embossed
    if form == 2:
        return image + float(rng.choice([-1, 1])) * rng.uniform(0.5, 2) * ndimage.gaussian_gradient_magnitude(
            image, 1.0
        )
    width = rng.uniform(5, 25)
    mean = ndimage.gaussian_filter(image, width)
    deviation = np.sqrt(ndimage.gaussian_filter((image - mean) ** 2, width)) + 3
    if form == 3:
        return 128 + rng.uniform(25, 60) * (image - mean) / deviation
    return image + rng.uniform(0.3, 0.9) * (128 - mean)


def _curve(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A table of grey values that does not rise everywhere: negative, solarised, wavy, two levels."""
    form = int(rng.integers(4))
    if form == 0:
        return 255 - image
    if form == 1:
        return np.where(image > rng.uniform(60, 200), 255 - image, image)
    if form == 2:
        return image + rng.uniform(8, 50) * np.sin(image * rng.uniform(0.05, 0.3) + rng.uniform(0, 6))
    return np.where(ndimage.gaussian_filter(_noise(image.shape, rng), 1) * rng.uniform(0, 40) + image > 128, 255, 0)


def _warped(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Pixels displaced: smoothly, at random as by frosted glass, by a swirl, or by a lens."""
    y, x = _places(image)
    form = int(rng.integers(4))
    if form == 0:
        size = rng.uniform(2, 25)
        dy, dx = (rng.uniform(0.5, 5) * _unit(ndimage.gaussian_filter(_noise(image.shape, rng), size)) for _ in "yx")
    elif form == 1:
        reach = rng.uniform(0.7, 5)
        dy, dx = (np.rint(rng.uniform(-reach, reach, image.shape)) for _ in "yx")
    elif form == 2:
        cy, cx = ((n - 1) * rng.uniform(0.4, 0.6) for n in image.shape)
        bend = float(rng.choice([-1, 1])) * _log(rng, 0.01, 0.3) * ((y - cy) ** 2 + (x - cx) ** 2) / (cy**2 + cx**2)
        dy, dx = bend * (y - cy), bend * (x - cx)
    else:
        cy, cx = (rng.uniform(0.3, 0.7) * n for n in image.shape)
        turn = rng.uniform(0.1, 1.0) * np.exp(-np.hypot(y - cy, x - cx) / (0.3 * min(image.shape)))
        dy, dx = turn * (x - cx), -turn * (y - cy)
    return ndimage.map_coordinates(image, [y + dy, x + dx], order=1, mode="nearest")


def _lines_moved(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Lines that are shifted, lost and repeated, or interlaced with a moved picture."""
    form, out = int(rng.integers(3)), image.copy()
    if form == 0:
        shifts = np.rint(rng.normal(0, rng.uniform(0.7, 6), len(image))).astype(int)
        return np.stack([np.roll(row, shift) for row, shift in zip(image, shifts)])
    if form == 1:
        keep = int(rng.integers(2, 5))
        return image[np.arange(len(image)) // keep * keep]
    out[1::2] = np.roll(image, int(rng.integers(1, 9)), axis=1)[1::2]
    return out


def _ghost(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    shift = rng.integers(3, 21, 2) * rng.choice([-1, 1], 2)
    share = rng.uniform(0.15, 0.5)
    other = np.roll(image, shift, (0, 1)) if rng.random() < 0.8 else image[::-1, ::-1]
    return (1 - share) * image + share * other


def _shuffled(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Cells exchanged, turned or mirrored."""
    side = int(rng.integers(3, 17))
    height, width = (n // side * side for n in image.shape)
    cells = image[:height, :width].reshape(height // side, side, width // side, side).swapaxes(1, 2).copy()
    flat = cells.reshape(-1, side, side)
    chosen = np.flatnonzero(rng.random(len(flat)) < rng.uniform(0.1, 1))
    flat[chosen] = flat[rng.permutation(chosen)] if rng.random() < 0.5 else flat[chosen][:, ::-1, :]
    out = image.copy()
    out[:height, :width] = flat.reshape(cells.shape).swapaxes(1, 2).reshape(height, width)
    return out


GROUPS: tuple[tuple[Maker, ...], ...] = (
    (_webp, _webp, _block_coder, _block_coder, _ordered_dither, _diffused_dither),
    (_white, _white, _coloured, _coloured, _stripes, _waves, _cells, _pattern, _blobs, _shading, _uneven),
    (
        _rank,
        _rank,
        _edge_preserving,
        _denoised,
        _denoised,
        _relief,
        _relief,
        _curve,
        _warped,
        _warped,
        _lines_moved,
        _ghost,
        _shuffled,
    ),
)
"""Coders, noises and filters."""
