"""Synthetic pictures: pages of text, user interfaces, charts, textures, gradients and shapes, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from scipy import ndimage

from training.fields import log_uniform, noise, smooth, unit

Colour = tuple[int, int, int]
Fonts = Sequence[Path]

WORDS = """
    the of and a to in is was he for it with as his on be at by had not are but from or have an they which one you
    were her all she there would their we him been has when who will more no if out so said what up its about into
    than them can only other new some could time these two may then do first any my now such like our over man me
    even most made after also did many before must through years where much your way well down should because each
    Account Settings Search Dashboard Overview Revenue Users Orders Total Export Import Save Cancel Delete Profile
    January February March Monday Status Active Pending Failed Report 2024 128 3.14 42% $1,250 10:45 v2.1 #3071
""".split()  # noqa: SIM905 - as text it can be read


@lru_cache(maxsize=256)
def _font(file: Path, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(file), size)


def _pick(rng: np.random.Generator, items: Sequence):
    return items[int(rng.integers(len(items)))]


def _words(rng: np.random.Generator, count: int) -> str:
    return " ".join(_pick(rng, WORDS) for _ in range(count))


def _colour(rng: np.random.Generator, low: int = 0, high: int = 256) -> Colour:
    r, g, b = (int(v) for v in rng.integers(low, high, 3))
    return r, g, b


class Theme:
    """Colours and a font of a page or a program."""

    def __init__(self, rng: np.random.Generator, fonts: Fonts) -> None:
        dark = rng.random() < 0.35
        base = int(rng.integers(12, 60) if dark else rng.integers(228, 256))
        tint = rng.integers(-6, 7, 3)
        self.paper: Colour = tuple(int(np.clip(base + t, 0, 255)) for t in tint)  # type: ignore[assignment]
        step = int(rng.integers(8, 26)) * (1 if dark else -1)
        self.panel: Colour = tuple(int(np.clip(v + step, 0, 255)) for v in self.paper)  # type: ignore[assignment]
        ink = int(rng.integers(190, 256) if dark else rng.integers(0, 70))
        self.ink: Colour = (
            (ink, ink, ink) if rng.random() < 0.7 else _colour(rng, 180, 256) if dark else _colour(rng, 0, 90)
        )
        self.faint: Colour = tuple((a + b) // 2 for a, b in zip(self.paper, self.ink))  # type: ignore[assignment]
        self.accents = [_colour(rng, 20, 240) for _ in range(4)]
        self.font, self.heading = _pick(rng, fonts), _pick(rng, fonts)


def page(shape: tuple[int, int], rng: np.random.Generator, fonts: Fonts) -> Image.Image:
    """Columns of text with headings, rules, lists and some figures."""
    theme, (height, width) = Theme(rng, fonts), shape
    image = Image.new("RGB", (width, height), theme.paper)
    pen, size = ImageDraw.Draw(image), int(log_uniform(rng, 9, 26))
    columns, margin = int(rng.integers(1, 4)), int(rng.integers(15, 60))
    column = (width - margin * (columns + 1)) // columns
    for c in range(columns):
        left, top = margin + c * (column + margin), margin
        while top < height - margin:
            way = rng.random()
            if way < 0.12:
                big = int(size * rng.uniform(1.3, 2.6))
                colour = theme.ink if rng.random() < 0.6 else theme.accents[0]
                pen.text((left, top), _words(rng, 3), colour, _font(theme.heading, big))
                top += int(1.5 * big)
            elif way < 0.17:
                pen.line([left, top, left + column, top], theme.faint, int(rng.integers(1, 4)))
                top += size
            elif way < 0.24:
                tall = int(rng.integers(30, 160))
                _figure(image, pen, (left, top, left + column, top + tall), rng, theme)
                top += tall + size
            else:
                for _ in range(int(rng.integers(2, 9))):
                    _line(pen, (left, top), column, _font(theme.font, size), rng, theme.ink)
                    top += int(1.35 * size)
                top += size // 2
    return image


def _line(
    pen: ImageDraw.ImageDraw,
    at: tuple[int, int],
    width: int,
    font: ImageFont.FreeTypeFont,
    rng: np.random.Generator,
    ink: Colour,
) -> None:
    text = _words(rng, max(width // (4 * int(font.size)) + 3, 2))
    while text and pen.textlength(text, font) > width:
        text = text.rpartition(" ")[0]
    pen.text(at, text, ink, font)


def _figure(
    image: Image.Image, pen: ImageDraw.ImageDraw, box: tuple[int, int, int, int], rng: np.random.Generator, theme: Theme
) -> None:
    """A flat panel, a gradient, or a textured picture."""
    left, top, right, bottom = box
    if rng.random() < 0.4 or right - left < 8:
        pen.rectangle(box, theme.panel, theme.faint)
        return
    shape = (bottom - top, right - left)
    maker = _pick(rng, (gradient, texture, leaves))
    image.paste(maker(shape, rng, ()), (left, top))


def interface(shape: tuple[int, int], rng: np.random.Generator, fonts: Fonts) -> Image.Image:
    """A program's window: bars, side menu, cards, tables, buttons, fields, badges, avatars, small charts."""
    theme, (height, width) = Theme(rng, fonts), shape
    image = Image.new("RGB", (width, height), theme.paper)
    pen, size = ImageDraw.Draw(image), int(rng.integers(10, 19))
    font, round_ = _font(theme.font, size), int(rng.integers(0, 14))
    bar, side = int(rng.integers(28, 64)), int(rng.integers(0, 200)) * (rng.random() < 0.7)
    pen.rectangle([0, 0, width, bar], theme.accents[0] if rng.random() < 0.4 else theme.panel)
    pen.text((12, bar // 2 - size // 2), _words(rng, 2), theme.ink, _font(theme.heading, int(1.3 * size)))
    for i in range(4):
        pen.text((width - 90 * (i + 1), bar // 2 - size // 2), _words(rng, 1), theme.ink, font)
    if side > 60:
        pen.rectangle([0, bar, side, height], theme.panel)
        chosen = int(rng.integers(12))
        for i, top in enumerate(range(bar + 14, height, int(2.2 * size))):
            if i == chosen:
                pen.rounded_rectangle([6, top - 4, side - 6, top + size + 6], round_, theme.accents[1])
            pen.ellipse([14, top, 14 + size, top + size], theme.accents[i % 4])
            pen.text((24 + size, top), _words(rng, 1), theme.ink, font)
    top = bar + 14
    while top < height:
        tall, count = int(rng.integers(60, 260)), int(rng.integers(1, 5))
        wide = (width - side - 14 * (count + 1)) // count
        for i in range(count):
            left = int(side) + 14 + i * (wide + 14)
            if wide > 40:
                _card(image, pen, (left, top, left + wide, top + tall), rng, theme, size, round_)
        top += tall + 14
    return image


def _card(
    image: Image.Image,
    pen: ImageDraw.ImageDraw,
    box: tuple[int, int, int, int],
    rng: np.random.Generator,
    theme: Theme,
    size: int,
    round_: int,
) -> None:
    left, top, right, bottom = box
    font = _font(theme.font, size)
    pen.rounded_rectangle(box, round_, theme.panel, theme.faint if rng.random() < 0.4 else None)
    way, inner = int(rng.integers(7)), (left + 10, top + 10, right - 10, bottom - 10)
    if way == 0:  # table
        rows = range(inner[1], inner[3] - size, int(1.9 * size))
        for i, y in enumerate(rows):
            if i % 2:
                pen.rectangle([inner[0], y - 4, inner[2], y + size + 6], theme.paper)
            for x in range(inner[0] + 4, inner[2] - 50, max((right - left) // 4, 60)):
                pen.text((x, y), _words(rng, 1), theme.ink, font)
    elif way == 1:  # a number
        pen.text(inner[:2], _words(rng, 2), theme.faint, font)
        pen.text(
            (inner[0], inner[1] + 2 * size), f"{rng.integers(10, 99999):,}", theme.ink, _font(theme.heading, 2 * size)
        )
    elif way == 2:  # fields and buttons
        for y in range(inner[1], inner[3] - 2 * size, int(3 * size)):
            pen.rounded_rectangle([inner[0], y, inner[2], y + 2 * size], round_, theme.paper, theme.faint)
            pen.text((inner[0] + 8, y + size // 2), _words(rng, 2), theme.faint, font)
        wide = min(90, inner[2] - inner[0])
        pen.rounded_rectangle([inner[0], inner[3] - 2 * size, inner[0] + wide, inner[3]], round_, theme.accents[2])
        pen.text((inner[0] + 10, inner[3] - int(1.6 * size)), _words(rng, 1), (255, 255, 255), font)
    elif way == 3:  # bars
        count = int(rng.integers(4, 20))
        step = (inner[2] - inner[0]) / count
        for i, value in enumerate(rng.uniform(0.1, 1, count)):
            x, y = inner[0] + i * step, inner[3] - value * (inner[3] - inner[1])
            pen.rectangle([x, y, x + 0.7 * step, inner[3]], theme.accents[i % 2])
    elif way == 4:  # list with avatars
        for y in range(inner[1], inner[3] - 2 * size, int(2.8 * size)):
            pen.ellipse([inner[0], y, inner[0] + 2 * size, y + 2 * size], _colour(rng, 30, 230))
            _line(
                pen, (inner[0] + int(2.6 * size), y + size // 2), inner[2] - inner[0] - 3 * size, font, rng, theme.ink
            )
    elif way == 5 and inner[2] - inner[0] > 16 and inner[3] - inner[1] > 16:
        _figure(image, pen, inner, rng, theme)
    else:
        for y in range(inner[1], inner[3] - size, int(1.4 * size)):
            _line(pen, (inner[0], y), inner[2] - inner[0], font, rng, theme.ink)


def chart(shape: tuple[int, int], rng: np.random.Generator, fonts: Fonts) -> Image.Image:
    """Lines, bars, points, areas or a pie with axes, grid and legend, drawn smoothly."""
    theme, (height, width), big = Theme(rng, fonts), shape, 2
    image = Image.new("RGB", (big * width, big * height), theme.paper)
    pen, size = ImageDraw.Draw(image), big * int(rng.integers(10, 18))
    font = _font(theme.font, size)
    left, top, right, bottom = 5 * size, 3 * size, big * width - 2 * size, big * height - 3 * size
    pen.text((left, size), _words(rng, 4), theme.ink, _font(theme.heading, int(1.3 * size)))
    way = int(rng.integers(5))
    if way == 4:
        cuts, radius = (
            np.concatenate([[0], np.sort(rng.uniform(0, 360, 5)), [360]]),
            0.45 * min(right - left, bottom - top),
        )
        middle = (left + right) / 2, (top + bottom) / 2
        box = [middle[0] - radius, middle[1] - radius, middle[0] + radius, middle[1] + radius]
        for a, b in pairwise(cuts):
            pen.pieslice(box, a, b, _colour(rng, 40, 230), theme.paper, big)
    else:
        for value in np.linspace(0, 1, int(rng.integers(4, 9))):
            y = bottom - value * (bottom - top)
            pen.line([left, y, right, y], theme.panel, big)
            pen.text((size, y - size // 2), f"{100 * value:.0f}", theme.ink, font)
        for series in range(int(rng.integers(1, 5))):
            colour, count = _colour(rng, 20, 230), int(rng.integers(8, 60))
            x = np.linspace(left, right, count)
            values = np.clip(0.5 + 0.25 * unit(np.cumsum(rng.normal(size=count))), 0.02, 0.98)
            y = bottom - values * (bottom - top)
            if way == 0:
                pen.line([(float(a), float(b)) for a, b in zip(x, y)], colour, big * int(rng.integers(1, 4)), "curve")
            elif way == 1:
                for a, b in zip(x, y):
                    pen.rectangle([a, b, a + 0.6 * (right - left) / count, bottom], colour)
            elif way == 2:
                for a, b in zip(rng.uniform(left, right, 4 * count), rng.uniform(top, bottom, 4 * count)):
                    pen.ellipse([a, b, a + 0.5 * size, b + 0.5 * size], colour)
            else:
                pen.polygon([(left, bottom), *((float(a), float(b)) for a, b in zip(x, y)), (right, bottom)], colour)
            pen.rectangle(
                [right - 8 * size, top + 2 * series * size, right - 7 * size, top + (2 * series + 1) * size], colour
            )
            pen.text((right - 6.5 * size, top + 2 * series * size), _words(rng, 1), theme.ink, font)
        pen.line([left, top, left, bottom, right, bottom], theme.ink, big)
    return image.resize((width, height), Image.Resampling.BOX)


def texture(shape: tuple[int, int], rng: np.random.Generator, fonts: Fonts) -> Image.Image:
    """Noise whose power falls with a power of the frequency, in one or three channels, sometimes stretched."""
    fy, fx = np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])
    stretch = log_uniform(rng, 0.25, 4) if rng.random() < 0.4 else 1.0
    power = (np.hypot(fy * stretch, fx) + 1 / max(shape)) ** -rng.uniform(0.6, 1.8)
    fields = [unit(np.fft.irfft2(np.fft.rfft2(noise(shape, rng)) * power, s=shape)) for _ in range(3)]
    common, own = fields[0], rng.uniform(0, 0.5)
    colour, spread = rng.uniform(60, 200, 3), rng.uniform(12, 50)
    values = colour + spread * (np.stack(fields, -1) * own + common[..., None] * (1 - own))
    return _image(values)


def gradient(shape: tuple[int, int], rng: np.random.Generator, fonts: Fonts) -> Image.Image:
    """Smooth colours: a slope, a glow, or soft patches, sometimes with fine grain."""
    y, x = np.mgrid[: shape[0], : shape[1]] / np.reshape(shape, (2, 1, 1))
    way, a = int(rng.integers(3)), rng.uniform(0, 2 * np.pi)
    if way == 0:
        field = x * np.cos(a) + y * np.sin(a)
    elif way == 1:
        field = np.hypot(x - rng.uniform(0, 1), y - rng.uniform(0, 1))
    else:
        field = smooth(shape, rng.uniform(0.2, 0.8) * min(shape), rng)
    field = (field - field.min()) / (np.ptp(field) + 1e-9)
    stops = rng.uniform(0, 255, (int(rng.integers(2, 5)), 3))
    at = np.linspace(0, 1, len(stops))
    values = np.stack([np.interp(field, at, stops[:, c]) for c in range(3)], -1)
    return _image(values + rng.uniform(0, 1.5) * (rng.random() < 0.5) * rng.normal(size=values.shape))


def leaves(shape: tuple[int, int], rng: np.random.Generator, fonts: Fonts) -> Image.Image:
    """Discs and boxes of all sizes that hide one another, each with its colour: edges and sizes as in photographs."""
    image = Image.new("RGB", shape[::-1], _colour(rng))
    pen, base, spread = ImageDraw.Draw(image), rng.uniform(40, 215, 3), rng.uniform(15, 70)
    for radius in rng.uniform(2, 8) / rng.uniform(0.02, 1.0, 900) ** 0.7:
        x, y = rng.uniform(-0.1, 1.1, 2) * shape[::-1]
        colour = tuple(int(v) for v in np.clip(rng.normal(base, spread), 0, 255))
        form = pen.ellipse if rng.random() < 0.7 else pen.rectangle
        form([x - radius, y - radius, x + radius, y + radius], colour)
    soft = ndimage.gaussian_filter(np.asarray(image).astype(np.float32), (s := rng.uniform(0.3, 1.2), s, 0))
    grain = np.asarray(texture(shape, rng, fonts)).astype(np.float32)
    return _image(soft + rng.uniform(0, 0.4) * (grain - grain.mean((0, 1))))


def shapes(shape: tuple[int, int], rng: np.random.Generator, fonts: Fonts) -> Image.Image:
    """Flat drawings: few colours, outlines, letters, icons, drawn smoothly, as logos and cartoons are."""
    big = 2
    palette = [_colour(rng) for _ in range(int(rng.integers(4, 10)))]
    image = Image.new("RGB", (big * shape[1], big * shape[0]), palette[0])
    pen = ImageDraw.Draw(image)
    outline = _pick(rng, (None, (0, 0, 0), palette[1]))
    for _ in range(int(rng.integers(15, 90))):
        (x, y), (w, h) = rng.uniform(-0.1, 1, 2) * image.size, rng.uniform(8, 0.3 * max(image.size), 2)
        colour, way = _pick(rng, palette), int(rng.integers(5))
        if way == 0:
            pen.rounded_rectangle(
                [x, y, x + w, y + h], int(rng.integers(0, int(min(w, h) / 2) + 1)), colour, outline, 3
            )
        elif way == 1:
            pen.ellipse([x, y, x + w, y + h], colour, outline, 3)
        elif way == 2:
            points = np.column_stack([rng.uniform(x, x + w, 5), rng.uniform(y, y + h, 5)])
            pen.polygon([(float(a), float(b)) for a, b in points], colour, outline)
        elif way == 3:
            pen.arc([x, y, x + w, y + h], *sorted(rng.uniform(0, 360, 2)), fill=colour, width=int(rng.integers(2, 16)))
        else:
            pen.text((x, y), _words(rng, 1), colour, _font(_pick(rng, fonts), int(rng.integers(20, 160))))
    return image.resize(shape[::-1], Image.Resampling.LANCZOS)


def dusk(shape: tuple[int, int], rng: np.random.Generator, fonts: Fonts) -> Image.Image:
    """A smooth sky over a dark shore with lights and grain: little texture, few strong edges."""
    sky = np.asarray(gradient(shape, rng, fonts)).astype(np.float32) * rng.uniform(0.3, 1)
    rough = ndimage.gaussian_filter1d(rng.normal(0, 1, shape[1]), rng.uniform(1, 12))
    shore = shape[0] * (rng.uniform(0.4, 1.0) + 0.1 * rough / (np.abs(rough).max() + 1e-9))
    land = np.asarray(texture(shape, rng, fonts)).astype(np.float32) * rng.uniform(0.1, 0.5)
    values = np.where((np.arange(shape[0])[:, None] > shore)[..., None], land, sky)
    lights = ndimage.gaussian_filter((rng.random(shape) < rng.uniform(0, 0.002)).astype(float), rng.uniform(0.6, 2))
    values = values + rng.uniform(100, 1500) * lights[..., None] * rng.uniform(0.6, 1, 3)
    return _image(values + rng.normal(0, rng.uniform(0, 2), values.shape))


def _image(values: np.ndarray) -> Image.Image:
    return Image.fromarray(np.clip(np.rint(values), 0, 255).astype(np.uint8))


MAKERS: dict[Callable[..., Image.Image], int] = {
    page: 36, interface: 60, chart: 28, texture: 10, gradient: 12, leaves: 10, shapes: 18, dusk: 8,
}  # fmt: skip
"""Makers and how many pictures of each are drawn."""


def draw_pictures(seed: int, fonts: Fonts, shape: tuple[int, int] = (600, 800)) -> dict[str, Image.Image]:
    """All synthetic pictures by name; each depends on the seed and its name alone."""
    pictures = {}
    for maker, count in MAKERS.items():
        for number in range(count):
            rng = np.random.default_rng((seed, sum(map(ord, maker.__name__)), number))
            picture = maker(shape, rng, fonts)
            if rng.random() < 0.1:  # seen from farther away
                picture = picture.resize((shape[1] * 2 // 3, shape[0] * 2 // 3), Image.Resampling.LANCZOS)
            elif rng.random() < 0.08:  # a soft scan
                picture = picture.filter(ImageFilter.GaussianBlur(rng.uniform(0.4, 0.9)))
            pictures[f"drawn-{maker.__name__}-{number:02d}"] = picture
    return pictures
