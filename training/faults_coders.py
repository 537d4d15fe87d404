"""Faults without a name: other coders than JPEG and JPEG 2000, and damaged data."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import scipy.fft
import scipy.linalg
from PIL import Image
from scipy import ndimage

from training.fields import log_uniform, luma


def _coded(image: np.ndarray, form: str, **options: object) -> np.ndarray:
    stream = io.BytesIO()
    Image.fromarray(np.clip(np.rint(image), 0, 255).astype(np.uint8)).save(stream, form, **options)
    with Image.open(stream) as coded:
        return np.asarray(coded.convert("RGB")).astype(np.float32)


def webp(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return _coded(image, "WEBP", quality=int(rng.integers(0, 80)), method=int(rng.integers(0, 3)))


def avif(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    subsampling = str(rng.choice(["4:2:0", "4:4:4"]))
    return _coded(image, "AVIF", quality=int(rng.integers(5, 60)), speed=9, max_threads=1, subsampling=subsampling)


@cache
def _matrix(side: int, hadamard: bool) -> np.ndarray:
    if hadamard:
        return (scipy.linalg.hadamard(side) / np.sqrt(side)).astype(np.float32)
    return scipy.fft.dct(np.eye(side), axis=0, norm="ortho").astype(np.float32)


def block_transform(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Cosine or Hadamard transform of blocks that are not 8 x 8, sometimes deblocked."""
    side = int(rng.choice([4, 4, 16, 16, 32]))
    height, width = (-(-n // side) * side for n in image.shape[:2])
    planes = np.moveaxis(image, -1, 0)
    planes = np.pad(planes, [(0, 0), (0, height - image.shape[0]), (0, width - image.shape[1])], mode="edge")
    blocks = planes.reshape(3, height // side, side, width // side, side).swapaxes(2, 3)
    matrix = _matrix(side, side <= 16 and rng.random() < 0.3)
    i, j = np.ogrid[:side, :side]
    step = np.float32(log_uniform(rng, 8, 160)) * (1 + np.float32(rng.uniform(0, 3)) * (i + j) / side).astype(
        np.float32
    )
    coded = np.rint(matrix @ blocks @ matrix.T / step) * step
    coded = (matrix.T @ coded @ matrix).swapaxes(2, 3).reshape(3, height, width)
    coded = np.moveaxis(coded, 0, -1)[: image.shape[0], : image.shape[1]]
    if rng.random() < 0.5:
        soft = ndimage.uniform_filter(coded, (3, 3, 1), mode="nearest")
        edge = (np.arange(image.shape[0]) % side < 1)[:, None] | (np.arange(image.shape[1]) % side < 1)
        coded = np.where((edge | np.roll(edge, -1, (0, 1)))[..., None], soft, coded)
    return coded


def shrunk_wavelets(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Haar coefficients below a bound set to zero (hard) or shrunk (soft), over one to five levels."""
    levels, bound, hard = int(rng.integers(1, 6)), log_uniform(rng, 5, 70), rng.random() < 0.5
    fade = rng.uniform(0.5, 1.2)

    def shrunk(detail: np.ndarray, limit: float) -> np.ndarray:
        if hard:
            return np.where(np.abs(detail) > limit, detail, 0)
        return np.sign(detail) * np.maximum(np.abs(detail) - limit, 0)

    def level(x: np.ndarray, depth: int) -> np.ndarray:
        if depth == levels or min(x.shape[:2]) < 2 or x.shape[0] % 2 or x.shape[1] % 2:
            return x
        a, b, c, d = x[::2, ::2], x[::2, 1::2], x[1::2, ::2], x[1::2, 1::2]
        limit = bound * fade**depth
        mean = level((a + b + c + d) / 2, depth + 1)
        h, v, g = (shrunk(s / 2, limit) for s in (a - b + c - d, a + b - c - d, a - b - c + d))
        out = np.empty_like(x)
        out[::2, ::2], out[::2, 1::2] = (mean + h + v + g) / 2, (mean - h + v - g) / 2
        out[1::2, ::2], out[1::2, 1::2] = (mean + h - v - g) / 2, (mean - h - v + g) / 2
        return out

    if rng.random() < 0.3:  # shifted and averaged, as denoisers do
        return (
            sum(np.roll(level(np.roll(image, s, (0, 1)), 0), (-s[0], -s[1]), (0, 1)) for s in ((0, 0), (1, 1), (2, 3)))
            / 3
        )
    return level(image, 0)


def two_levels(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Block truncation: each block of 4 x 4 or 8 x 8 pixels keeps two levels (or four) along its main direction."""
    side = int(rng.choice([4, 4, 8]))
    height, width = (n // side * side for n in image.shape[:2])
    blocks = image[:height, :width].reshape(height // side, side, width // side, side, 3).swapaxes(1, 2)
    blocks = blocks.reshape(-1, side * side, 3)
    if rng.random() < 0.5:  # each channel by itself
        low, high = blocks.min(1, keepdims=True), blocks.max(1, keepdims=True)
    else:  # between the darkest and the lightest colour, as textures of games are kept
        grey = luma(blocks)
        rows = np.arange(len(blocks))
        low, high = blocks[rows, grey.argmin(1)][:, None], blocks[rows, grey.argmax(1)][:, None]
    span = high - low
    place = ((blocks - low) * span).sum(-1, keepdims=True) / np.maximum((span * span).sum(-1, keepdims=True), 1)
    steps = int(rng.choice([1, 1, 3]))
    inset = rng.uniform(0, 0.25)
    coded = low + span * (inset + (1 - 2 * inset) * np.rint(np.clip(place, 0, 1) * steps) / steps)
    out = image.copy()
    out[:height, :width] = (
        coded.reshape(height // side, width // side, side, side, 3).swapaxes(1, 2).reshape(height, width, 3)
    )
    return out


def codebook(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Vector quantization: each cell becomes the nearest one of a few cells of the picture."""
    side = int(rng.choice([2, 2, 4]))
    height, width = (n // side * side for n in image.shape[:2])
    cells = image[:height, :width].reshape(height // side, side, width // side, side, 3).swapaxes(1, 2)
    flat = cells.reshape(-1, side * side * 3)
    book = flat[rng.choice(len(flat), min(int(rng.integers(12, 64)), len(flat)), replace=False)]
    nearest = (np.einsum("ij,ij->i", book, book) - 2 * flat @ book.T).argmin(1)
    out = image.copy()
    out[:height, :width] = book[nearest].reshape(cells.shape).swapaxes(1, 2).reshape(height, width, 3)
    return out


def predicted(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Differences along rows, limited and coarse: edges lag behind and flat parts ripple."""
    step, most = log_uniform(rng, 4, 18), int(rng.integers(1, 4))
    out, last = np.empty_like(image), image[:, 0].copy()
    for x in range(image.shape[1]):
        last = last + step * np.clip(np.rint((image[:, x] - last) / step), -most, most)
        out[:, x] = last
    return out


def damaged_stream(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A JPEG file with some wrong bytes in its data."""
    stream = io.BytesIO()
    picture = Image.fromarray(np.clip(np.rint(image), 0, 255).astype(np.uint8))
    picture.save(stream, "JPEG", quality=int(rng.integers(85, 99)), subsampling=int(rng.choice([0, 2])))
    data = bytearray(stream.getvalue())
    start = data.find(b"\xff\xda") + 14
    for at in rng.integers(start, max(len(data) - 2, start + 1), int(rng.integers(1, 5))):
        data[at] = int(rng.integers(0, 255))
    try:
        with Image.open(io.BytesIO(bytes(data))) as coded:
            return np.asarray(coded.convert("RGB")).astype(np.float32)
    except OSError:
        return image


def damaged_bytes(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Raw data of pixels with bytes lost, bits flipped, or runs moved."""
    data = np.clip(np.rint(image), 0, 255).astype(np.uint8).ravel().copy()
    way = int(rng.integers(3))
    for _ in range(int(rng.integers(1, 6))):
        at, length = int(rng.integers(data.size)), int(log_uniform(rng, 200, max(data.size / 3, 300)))
        part = data[at : at + length]
        if way == 0:
            part[:] = np.roll(part, int(rng.integers(1, 40)))
        elif way == 1:
            part ^= np.uint8(1 << int(rng.integers(3, 8)))
        else:
            part[:] = part[:: int(rng.choice([-1, 3]))][np.arange(part.size) % max(part[::3].size, 1)]
    return data.reshape(image.shape).astype(np.float32)
