"""Layers that cover a part of an image: lost blocks, patches, text, shapes, scratches, dead rows, erased objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghkmnopqrstuvwxyz0123456789 .:/&@"
_ITEMS = 14
"""Most texts or shapes of a layer."""


@dataclass(frozen=True, eq=False)
class Layer:
    """What covers an image."""

    ranks: np.ndarray
    values: np.ndarray
    opacity: float = 1.0


def draw_layer(image: np.ndarray, rng: np.random.Generator) -> Layer:
    """Draw one of the ways in which something comes to cover an image."""
    ways = _lost_blocks, _patch, _text, _shapes, _scratches, _dead_lines, _erased
    return ways[rng.choice(len(ways), p=[0.22, 0.2, 0.2, 0.11, 0.07, 0.13, 0.07])](image, rng)


def draw_cover(image: np.ndarray, rng: np.random.Generator) -> Layer:
    """As :func:`draw_layer`, of grey pictures and colours, with more ways; `opacity` may be one for each pixel."""
    channels = [image] if image.ndim == 2 else [np.ascontiguousarray(image[..., i]) for i in range(3)]
    if rng.random() < 0.25:
        way = _strokes, _banner, _stamp
        draw = way[rng.integers(3)]
    else:
        draw = draw_layer
    seed = int(rng.integers(2**32))  # the same for all channels, so that their layers have the same forms
    layers = [draw(channel, np.random.default_rng(seed)) for channel in channels]
    values = np.stack([layer.values for layer in layers], axis=-1).reshape(image.shape)
    if image.ndim == 3 and rng.random() < 0.6:  # from one colour for black to another for white
        black, white = rng.uniform(0, 255, (2, 3)) * rng.choice([0.3, 1.0]), rng.uniform(0, 255, 3)
        black = black[0] if rng.random() < 0.5 else np.zeros(3)
        white = white if rng.random() < 0.7 else np.full(3, 255.0)
        values = (black + (white - black) * values / 255).astype(np.float32)
    return Layer(layers[0].ranks, values, layers[0].opacity)


def covered(image: np.ndarray, layer: Layer, share: float, seam: float) -> np.ndarray:
    """An image under the first share of the pixels of a layer, of whose edge `seam` is the deviation of a blur."""
    cover = (layer.ranks < share).astype(np.float32)
    if seam > 0:
        from scipy.ndimage import gaussian_filter  # only here: slow to import

        cover = gaussian_filter(cover, seam, truncate=3)
    cover = (layer.opacity * cover).reshape(*image.shape[:2], *[1] * (image.ndim - 2))
    mixed = image + cover * (layer.values - image)
    return np.clip(np.rint(mixed), 0, 255).astype(np.uint8)


def _strokes(image: np.ndarray, rng: np.random.Generator) -> Layer:
    """Strokes of a brush: thick bent lines."""
    thick = int(rng.integers(3, max(min(image.shape) // 8, 4) + 1))

    def item(draw: ImageDraw.ImageDraw, number: int) -> None:
        width, height = draw.im.size
        turn = np.cumsum(rng.normal(0, 0.5, 12)) + rng.uniform(0, 2 * np.pi)
        steps = np.stack([np.cos(turn), np.sin(turn)], axis=1) * rng.uniform(0.03, 0.1)
        points = rng.uniform(0, 1, 2) + np.cumsum(steps, axis=0)
        draw.line([(float(x * width), float(y * height)) for x, y in points], fill=255, width=thick, joint="curve")

    return Layer(_item_ranks(image.shape, item), _ink(image.shape, rng), _opacity(rng))


def _banner(image: np.ndarray, rng: np.random.Generator) -> Layer:
    """A bar with text on it, as of a news line, a subtitle or a date."""
    height = int(rng.uniform(0.08, 0.3) * image.shape[0]) + 4
    top = int(rng.choice([0, image.shape[0] - height, rng.integers(0, image.shape[0] - height + 1)]))
    sheet = Image.new("L", (image.shape[1], height), int(rng.integers(0, 256)))
    from PIL import ImageDraw  # only here: a diagnosis does not need it

    ImageDraw.Draw(sheet).text((3, 1), _words(rng), fill=int(rng.choice([0, 255])), font=_font(max(height * 2 // 3, 6)))
    values = np.zeros(image.shape, np.float32)
    values[top : top + height] = np.asarray(sheet)
    ranks = np.full(image.shape, np.inf, np.float32)
    ranks[top : top + height] = np.arange(image.shape[1], dtype=np.float32) / image.shape[1]
    return Layer(ranks, values, _opacity(rng))


def _stamp(image: np.ndarray, rng: np.random.Generator) -> Layer:
    """Stamps: a ring or a frame about a word."""
    size = int(rng.integers(7, max(min(image.shape) // 8, 8) + 1))

    def item(draw: ImageDraw.ImageDraw, number: int) -> None:
        width, height = draw.im.size
        x, y, text = rng.uniform(0, 0.9) * width, rng.uniform(0, 0.9) * height, _words(rng)[:6]
        draw.text((x, y), text, fill=255, font=_font(size))
        box = (x - size, y - size / 2, x + 0.7 * size * (len(text) + 1.5), y + 1.7 * size)
        (draw.ellipse if rng.random() < 0.5 else draw.rectangle)(box, outline=255, width=max(size // 6, 1))

    return Layer(_item_ranks(image.shape, item, float(rng.uniform(-30, 30))), _ink(image.shape, rng), _opacity(rng))


def block_ranks(shape: tuple[int, ...], sides: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Rank the pixels of an image block by block, in random order."""
    rows, cols = (-(-n // side) for n, side in zip(shape, sides))
    ranks = (rng.permutation(rows * cols) / (rows * cols)).astype(np.float32).reshape(rows, cols)
    return np.repeat(np.repeat(ranks, sides[0], axis=0), sides[1], axis=1)[: shape[0], : shape[1]]


def _lost_blocks(image: np.ndarray, rng: np.random.Generator) -> Layer:
    """Blocks of a coder at random places, or all blocks of some rows of blocks from one on."""
    side = int(rng.choice([8, 8, 16, 16, 16, 32, 64]))
    side = min(side, max(min(image.shape) // 4, 8))
    if rng.random() < 0.6:
        width = side if rng.random() < 0.8 else min(side * int(rng.integers(2, 9)), image.shape[1])
        ranks = block_ranks(image.shape, (side, width), rng)
    else:
        cols = -(-image.shape[1] // side)
        number = np.arange(image.shape[0])[:, None] // side * cols + np.arange(image.shape[1]) // side
        count = int(number.max()) + 1
        ranks = ((number - rng.integers(count)) % count / count).astype(np.float32)
    smeared = np.roll(image, side, axis=0)[np.arange(image.shape[0]) // side * side]  # the last row of the block above
    fills = _flat, _flat, _moved, lambda image, rng: smeared.astype(np.float32)
    return Layer(ranks, fills[rng.integers(len(fills))](image, rng))


def _patch(image: np.ndarray, rng: np.random.Generator) -> Layer:
    """One to three rectangles or ellipses that grow about their centres."""
    fills = _moved, _moved, _turned, _noise, _flat, _gradient, _stripes
    values = fills[rng.integers(len(fills))](image, rng)
    return Layer(_growing(image.shape, rng, int(rng.integers(1, 4))), values)


def _erased(image: np.ndarray, rng: np.random.Generator) -> Layer:
    """A place is painted over with what stands beside it, or with its mean."""
    if rng.random() < 0.5:
        step = [int(rng.choice([-1, 1]) * rng.uniform(0.1, 0.4) * n) for n in image.shape]
        values = np.roll(image, step, (0, 1)).astype(np.float32)
    else:
        values = np.full(image.shape, image.mean(), np.float32)
    return Layer(_growing(image.shape, rng, 1), values)


def _growing(shape: tuple[int, ...], rng: np.random.Generator, count: int) -> np.ndarray:
    """Ranks that grow with the distance from centres, so that a rank is about the share of the area below it."""
    y, x = np.ogrid[: shape[0], : shape[1]]
    rectangle = rng.random() < 0.6
    ranks = np.full(shape, np.inf, np.float32)
    for _ in range(count):
        stretch = np.exp(rng.uniform(-0.8, 0.8))
        u = (y - rng.uniform(0, shape[0])) / shape[0] * stretch
        v = (x - rng.uniform(0, shape[1])) / shape[1] / stretch
        area = 4 * np.maximum(np.abs(u), np.abs(v)) ** 2 if rectangle else np.pi * (u * u + v * v)
        ranks = np.minimum(ranks, count * area)
    return ranks.astype(np.float32)


def _dead_lines(image: np.ndarray, rng: np.random.Generator) -> Layer:
    """Rows or columns, alone or in bands, that are flat, random, moved sideways or copied from a neighbour."""
    across = bool(rng.random() < 0.5)
    upright = image.T if across else image
    thick = int(rng.choice([1, 1, 2, 3, 8, 16]))
    count = -(-len(upright) // thick)
    ranks = np.repeat(rng.permutation(count) / count, thick)[: len(upright), None] + np.zeros(upright.shape)
    fill = rng.integers(5)
    if fill == 0:
        values = np.full(upright.shape, rng.uniform(0, 255))
    elif fill == 1:
        values = rng.choice([0.0, 255.0], (len(upright), 1)) + np.zeros(upright.shape)
    elif fill == 2:
        values = rng.uniform(0, 255, upright.shape)
    elif fill == 3:
        values = np.roll(upright, int(rng.integers(4, upright.shape[1] // 2 + 5)), axis=1)
    else:
        values = np.roll(upright, thick * int(rng.integers(1, 5)), axis=0)
    layer = Layer(ranks.astype(np.float32), values.astype(np.float32))
    return Layer(layer.ranks.T, layer.values.T) if across else layer


def _text(image: np.ndarray, rng: np.random.Generator) -> Layer:
    """Text: some lines at random places, or one line all over the image, level or slanted."""
    size = int(np.exp(rng.uniform(np.log(9), np.log(max(min(image.shape) / 3, 12)))))
    tiled, angle = rng.random() < 0.3, float(rng.choice([0, 0, 0, 15, 30, 45, 90]))
    text = _words(rng)

    def item(draw: ImageDraw.ImageDraw, number: int) -> None:
        x, y = (int(rng.uniform(-0.2, 0.9) * n) for n in draw.im.size)
        draw.text((x, y), text if tiled else _words(rng), fill=255, font=_font(size))

    ranks = _item_ranks(image.shape, item, angle)
    return Layer(ranks, _ink(image.shape, rng), _opacity(rng))


def _words(rng: np.random.Generator) -> str:
    return "".join(rng.choice(list(_LETTERS), int(rng.integers(2, 16))))


@lru_cache(32)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    from PIL import ImageFont  # only here: a diagnosis does not need it

    return ImageFont.load_default(size)


def _shapes(image: np.ndarray, rng: np.random.Generator) -> Layer:
    """Logos: outlines and filled shapes, side by side or one inside the other."""
    thick = int(rng.integers(2, max(min(image.shape) // 16, 3) + 1))
    filled = bool(rng.random() < 0.5)

    def item(draw: ImageDraw.ImageDraw, number: int) -> None:
        width, height = draw.im.size
        radius = rng.uniform(0.03, 0.2) * min(width, height) + 2
        x, y = rng.uniform(0, width), rng.uniform(0, height)
        box = (x - radius, y - radius, x + radius, y + radius * rng.uniform(0.6, 1.6))
        form = rng.integers(3)
        fill, line = (255, None) if filled else (None, 255)
        if form == 0:
            draw.ellipse(box, fill=fill, outline=line, width=thick)
        elif form == 1:
            draw.rectangle(box, fill=fill, outline=line, width=thick)
        else:
            draw.regular_polygon((x, y, radius), int(rng.integers(3, 8)), int(rng.integers(360)), fill, line, thick)

    return Layer(_item_ranks(image.shape, item), _ink(image.shape, rng), _opacity(rng))


def _scratches(image: np.ndarray, rng: np.random.Generator) -> Layer:
    """Lines across the image, straight or bent, of one or some pixels."""
    thick = int(rng.integers(1, 5))

    def item(draw: ImageDraw.ImageDraw, number: int) -> None:
        width, height = draw.im.size
        count = int(rng.integers(2, 6))
        points = rng.uniform(-0.1, 1.1, 2) + np.cumsum(rng.normal(0, 0.25, (count, 2)), axis=0)
        draw.line([(float(x * width), float(y * height)) for x, y in points], fill=255, width=thick)

    ink = _ink(image.shape, rng) if rng.random() < 0.5 else np.full(image.shape, rng.choice([0.0, 255.0]), np.float32)
    return Layer(_item_ranks(image.shape, item), ink, _opacity(rng))


def _item_ranks(
    shape: tuple[int, ...], item: Callable[[ImageDraw.ImageDraw, int], None], angle: float = 0.0
) -> np.ndarray:
    """Ranks of pixels by the item that covers them first, and inside an item from left to right."""
    from PIL import ImageDraw  # only here: a diagnosis does not need it

    ranks = np.full(shape, np.inf, np.float32)
    along = np.arange(shape[1], dtype=np.float32) / shape[1]
    for number in range(_ITEMS):
        sheet = Image.new("L", (shape[1], shape[0]))
        item(ImageDraw.Draw(sheet), number)
        covered = np.asarray(sheet.rotate(angle) if angle else sheet) > 127
        ranks = np.where(covered & np.isinf(ranks), (number + along) / np.float32(_ITEMS), ranks)
    return ranks


def _opacity(rng: np.random.Generator) -> float:
    return 1.0 if rng.random() < 0.55 else float(rng.uniform(0.25, 0.9))


def _ink(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """One grey level, often white or black."""
    grey = rng.choice([0.0, 255.0]) if rng.random() < 0.5 else rng.uniform(0, 255)
    return np.full(shape, grey, np.float32)


def _flat(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    grey = rng.choice([0.0, 128.0, 255.0]) if rng.random() < 0.7 else rng.uniform(0, 255)
    return np.full(image.shape, grey, np.float32)


def _moved(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The image itself, moved so far that nothing fits."""
    step = [int(rng.uniform(0.2, 0.8) * n) for n in image.shape]
    return np.roll(image, step, (0, 1)).astype(np.float32)


def _turned(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    turned = (image[::-1, ::-1], image[::-1], image[:, ::-1])[rng.integers(3)]
    return turned.astype(np.float32)


def _noise(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Normal or even noise, of single pixels or of small squares."""
    side = int(rng.choice([1, 1, 2, 4]))
    small = [-(-n // side) for n in image.shape]
    noise = (
        rng.normal(rng.uniform(60, 190), rng.uniform(15, 70), small)
        if rng.random() < 0.5
        else rng.uniform(0, 255, small)
    )
    return np.kron(noise, np.ones((side, side)))[: image.shape[0], : image.shape[1]].astype(np.float32)


def _gradient(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Grey levels that change evenly in one direction."""
    start, end = rng.uniform(0, 255, 2)
    angle = rng.uniform(0, 2 * np.pi)
    y, x = np.ogrid[-1 : 1 : 1j * image.shape[0], -1 : 1 : 1j * image.shape[1]]
    along = 0.5 + 0.35 * (np.sin(angle) * y + np.cos(angle) * x)
    return (start + (end - start) * along).astype(np.float32)


def _stripes(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Stripes or a chess board."""
    side = int(rng.integers(2, 17))
    y, x = np.ogrid[: image.shape[0], : image.shape[1]]
    board = (x // side + (y // side if rng.random() < 0.5 else 0 * y)) % 2
    dark, bright = rng.uniform(0, 255, 2)
    return np.where(board, dark, bright).astype(np.float32)
