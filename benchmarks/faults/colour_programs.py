"""Programs that damage colour pictures: our own, and those of Pillow, ImageMagick, SciPy and scikit-image.

A program makes one kind: ``build(image, seed, direction)`` gives the copies of a picture (h, w, 3) by strength.
Programs of luma kinds change all three channels, as real ones do.
"""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter
from scipy import ndimage

from faults.imagemagick import TITLE as IMAGEMAGICK
from faults.imagemagick import command, pipe
from faults.programs import Copies, Program, Programs
from llise.kinds import registry
from llise.labels import COLOR_KINDS

Build = Callable[[np.ndarray, int, int], Copies]


def own() -> Programs:
    """Return llise's own programs for the colour kinds."""
    return {kind: [Program(f"llise {kind}", kind, _own(kind)), Program(f"llise {kind}, drawn", kind, _drawn(kind))]
            for kind in COLOR_KINDS}  # fmt: skip


def _own(name: str) -> Build:
    kind = registry.get(name)
    setting = {"saturation": "factor", "color_cast": "red_gain", "chroma_noise": "sigma", "chroma_blur": "sigma"}[name]

    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        path = kind.path(image, np.random.default_rng(seed), direction)
        return Copies(path, kind.end(direction), lambda s: {setting: kind.reported_strength(s, direction)})

    return build


def _drawn(name: str) -> Build:
    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        draw = registry.get(name).draw(image, np.random.default_rng(seed))
        return Copies(draw.path, draw.end, draw.parameters)

    return build


def foreign() -> tuple[Programs, list[str]]:
    """Return the foreign programs for the colour kinds that are installed, and what is left out."""
    found = [*_pillow(), *_scikit_image()]
    skipped = []
    try:
        command()
        found += _imagemagick()
    except OSError as error:
        skipped.append(f"{IMAGEMAGICK}: {error}")
    return {kind: [program for program in found if program.kind == kind] for kind in COLOR_KINDS}, skipped


def _simple(name: str, kind: str, change: Callable[[np.ndarray, float, int], np.ndarray], end: float,
            less: float = 1.0) -> Program:  # fmt: skip
    """A program of one function of picture, signed strength and seed."""

    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        last = end if direction > 0 else less
        return Copies(lambda s: change(image, direction * s, seed) if s > 1e-4 else image, last)

    return Program(name, kind, build)


def _pillow() -> list[Program]:
    def color(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        return np.asarray(ImageEnhance.Color(Image.fromarray(image)).enhance(max(1 + s, 0.0)))

    def chroma(image: np.ndarray, change: Callable[[Image.Image], Image.Image]) -> np.ndarray:
        y, cb, cr = Image.fromarray(image).convert("YCbCr").split()
        return np.asarray(Image.merge("YCbCr", (y, change(cb), change(cr))).convert("RGB"))

    def blur(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        return chroma(image, lambda plane: plane.filter(ImageFilter.GaussianBlur(abs(s))))

    def resize(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        size = image.shape[1], image.shape[0]
        small = max(round(size[0] / (1 + abs(s))), 2), max(round(size[1] / (1 + abs(s))), 2)
        return chroma(
            image, lambda plane: plane.resize(small, Image.Resampling.BOX).resize(size, Image.Resampling.BILINEAR)
        )

    def noise(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)

        def noisy(plane: Image.Image) -> Image.Image:
            values = np.asarray(plane, float) + abs(s) * rng.standard_normal(plane.size[::-1])
            return Image.fromarray(np.clip(np.rint(values), 0, 255).astype(np.uint8))

        return chroma(image, noisy)

    def balance(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        gains = np.random.default_rng(seed).permutation([1 + s, 1.0, 1 - 0.6 * s])
        return np.asarray(
            Image.fromarray(image).point([min(round(v * max(g, 0)), 255) for g in gains for v in range(256)])
        )

    return [
        _simple("Pillow ImageEnhance.Color", "saturation", color, 6.0),
        _simple("Pillow GaussianBlur of Cb and Cr", "chroma_blur", blur, 40.0, 40.0),
        _simple("Pillow resize of Cb and Cr", "chroma_blur", resize, 40.0, 40.0),
        _simple("noise in Pillow's Cb and Cr", "chroma_noise", noise, 80.0, 80.0),
        _simple("Pillow point, gains", "color_cast", balance, 1.5, 0.95),
    ]


def _scikit_image() -> list[Program]:
    from skimage import color

    def hsv(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        values = color.rgb2hsv(image)
        values[..., 1] = np.clip(values[..., 1] * (1 + s), 0, 1)
        return 255 * color.hsv2rgb(values)

    def lab(image: np.ndarray, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        values = color.rgb2lab(image)
        values[..., 1:] = change(values[..., 1:])
        return 255 * color.lab2rgb(values)

    def linear(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        light = (image / 255.0) ** 2.2 * np.array([(1 + s) ** 2, 1.0, (1 + s) ** -2])
        return 255 * np.clip(light, 0, 1) ** (1 / 2.2)

    def in_lab(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        shift = s * np.random.default_rng(seed).normal(0, 1, 2)
        return lab(image, lambda ab: ab + shift)

    def noise(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        field = np.random.default_rng(seed).standard_normal((*image.shape[:2], 2))
        return lab(image, lambda ab: ab + abs(s) * field)

    def blur(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        return lab(image, lambda ab: ndimage.gaussian_filter(ab, (abs(s), abs(s), 0)))

    return [
        _simple("scikit-image, S of HSV", "saturation", hsv, 4.0),
        _simple("scikit-image, a and b of Lab", "saturation",
                lambda image, s, seed: lab(image, lambda ab: ab * max(1 + s, 0)), 3.0),
        _simple("gains of linear light", "color_cast", linear, 1.0, 0.6),
        _simple("scikit-image, shift of a and b", "color_cast", in_lab, 40.0, 40.0),
        _simple("scikit-image, noise of a and b", "chroma_noise", noise, 60.0, 60.0),
        _simple("scikit-image, blur of a and b", "chroma_blur", blur, 40.0, 40.0),
    ]  # fmt: skip


def _imagemagick() -> list[Program]:
    def run(image: np.ndarray, *arguments: str) -> np.ndarray:
        data = b"P6 %d %d 255\n" % (image.shape[1], image.shape[0]) + image.tobytes()
        result = pipe(["ppm:-", *arguments, "-depth", "8", "rgb:-"], data)
        return np.frombuffer(result, np.uint8).reshape(image.shape)

    def modulate(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        return run(image, "-modulate", f"100,{max(100 + 100 * s, 0):.3f}")

    def one_channel(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        return run(image, "-channel", "RGB"[seed % 3], "-evaluate", "multiply", f"{max(1 + s, 0):.4f}", "+channel")

    def added(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        return run(image, "-channel", "RGB"[seed % 3], "-evaluate", "add", f"{100 * s:.4f}%", "+channel")

    def in_planes(image: np.ndarray, *arguments: str) -> np.ndarray:
        return run(image, "-colorspace", "YCbCr", "-channel", "GB", *arguments, "+channel", "-colorspace", "sRGB")

    return [
        _simple("ImageMagick -modulate", "saturation", modulate, 4.0),
        _simple("ImageMagick -evaluate multiply", "color_cast", one_channel, 1.5, 0.95),
        _simple("ImageMagick -evaluate add", "color_cast", added, 0.4, 0.4),
        _simple("ImageMagick -blur of Cb and Cr", "chroma_blur",
                lambda image, s, seed: in_planes(image, "-blur", f"0x{abs(s):.3f}"), 40.0, 40.0),
        _simple("ImageMagick +noise of Cb and Cr", "chroma_noise",
                lambda image, s, seed: in_planes(image, "-seed", str(seed % 2**31), "-attenuate", f"{abs(s):.4f}",
                                                 "+noise", "Gaussian"), 4.0, 4.0),
    ]  # fmt: skip


def luma_kinds() -> Programs:
    """Return programs of luma kinds that change all three channels, as real ones do."""

    def picture(image: np.ndarray) -> Image.Image:
        return Image.fromarray(image)

    def blur(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        return np.asarray(picture(image).filter(ImageFilter.GaussianBlur(abs(s))))

    def noise(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        return image + abs(s) * np.random.default_rng(seed).standard_normal(image.shape)

    def offset(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        return image + s

    def contrast(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        return np.asarray(ImageEnhance.Contrast(picture(image)).enhance(max(1 + s, 0.02)))

    def impulses(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        order, value = rng.random(image.shape[:2]), rng.choice([0, 255], image.shape[:2])
        return np.where((order < abs(s))[..., None], value[..., None], image).astype(np.uint8)

    def impulses_by_channel(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return np.where(rng.random(image.shape) < abs(s), rng.choice([0, 255], image.shape), image).astype(np.uint8)

    def jpeg(subsampling: int) -> Callable[[np.ndarray, float, int], np.ndarray]:
        def coded(image: np.ndarray, s: float, seed: int) -> np.ndarray:
            buffer = io.BytesIO()
            quality = int(np.clip(round(100 - abs(s)), 1, 100))
            picture(image).save(buffer, "JPEG", quality=quality, subsampling=subsampling)
            return np.asarray(Image.open(buffer))

        return coded

    programs = [
        _simple("blur of all channels", "blur", blur, 20.0, 20.0),
        _simple("noise of all channels", "gaussian_noise", noise, 80.0, 80.0),
        _simple("offset of all channels", "luminance", offset, 80.0, 80.0),
        _simple("Pillow ImageEnhance.Contrast", "contrast", contrast, 4.0, 0.95),
        _simple("impulses", "impulse_noise", impulses, 0.6, 0.6),
        _simple("impulses by channel", "impulse_noise", impulses_by_channel, 0.6, 0.6),
        _simple("Pillow JPEG 4:2:0", "jpeg", jpeg(2), 98.0, 98.0),
        _simple("Pillow JPEG 4:4:4", "jpeg", jpeg(0), 98.0, 98.0),
    ]
    return {kind: [p for p in programs if p.kind == kind] for kind in dict.fromkeys(p.kind for p in programs)}


def no_kind() -> list[Program]:
    """Return changes of colours that are none of the kinds."""

    def hue(image: np.ndarray, s: float, seed: int) -> np.ndarray:
        from skimage import color

        values = color.rgb2hsv(image)
        values[..., 0] = (values[..., 0] + 0.5 * s) % 1
        return 255 * color.hsv2rgb(values)

    def swapped(order: tuple[int, ...]) -> Callable[[np.ndarray, float, int], np.ndarray]:
        return lambda image, s, seed: image[..., order]

    return [
        _simple("hue", "unknown", hue, 1.0),
        _simple("red and blue swapped", "unknown", swapped((2, 1, 0)), 1.0),
        _simple("channels turned", "unknown", swapped((1, 2, 0)), 1.0),
    ]
