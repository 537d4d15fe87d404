"""Programs of ImageMagick."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import cache

import numpy as np

from faults.places import Place, draw_places
from faults.programs import Copies, Parameters, Program, unknown_program
from llise.labels import UNKNOWN

TITLE = "ImageMagick"
CODERS = ("jpg:-", "jp2:-", "webp:-", "heic:-")
SIZES = (1.0, 2.0, 3.0)
"""Radii of filters in pixels."""


def programs() -> list[Program]:
    """Return the programs; OSError if ImageMagick is not installed."""
    command()
    return [*_papers(), *_further(), *_near(), *_far()]


def _papers() -> list[Program]:
    """The paper's six kinds."""
    return [
        _filter("-blur", "blur", lambda s: ["-blur", f"0x{s:.4f}"], 20, lambda s: {"sigma": s}),
        Program("ImageMagick -motion-blur", "blur", _motion),
        Program("ImageMagick -resize", "blur", _resize),
        _filter(
            "-quality", "jpeg", lambda s: ["-quality", str(_quality(s)), "jpg:-"], 99,
            lambda s: {"quality": float(_quality(s))},
        ),
        Program("ImageMagick -brightness-contrast (contrast)", "contrast", _contrast),
        Program("ImageMagick -sigmoidal-contrast", "contrast", _sigmoidal),
        Program("ImageMagick -brightness-contrast (brightness)", "luminance", _brightness),
        Program("ImageMagick +noise Gaussian", "gaussian_noise", _noise("Gaussian", 4, _noise_sigma)),
        Program("ImageMagick +noise Impulse", "impulse_noise", _noise("Impulse", 2)),
    ]  # fmt: skip


def _further() -> list[Program]:
    """Kinds that are not in the paper."""
    return [
        _filter("jp2", "jpeg2000", lambda s: ["-quality", f"{_decibels(s)}", "jp2:-"], 48),  # the quality is a PSNR
        _filter("-posterize", "quantization", lambda s: ["+dither", "-posterize", f"{_levels(s)}"], 254,
                lambda s: {"levels": float(_levels(s))}),
        _filter("-unsharp 0x1", "sharpening", lambda s: ["-unsharp", f"0x1+{s:.4f}+0"], 60,
                lambda s: {"amount": s, "radius": 1.0}),
        _filter("-unsharp 0x2.5", "sharpening", lambda s: ["-unsharp", f"0x2.5+{s:.4f}+0.02"], 60,
                lambda s: {"amount": s, "radius": 2.5}),
        _filter("-sharpen", "sharpening", lambda s: ["-sharpen", f"0x{s:.4f}"], 4),
        Program("ImageMagick -scale", "pixelation", _mosaic("-scale")),
        Program("ImageMagick -sample", "pixelation", _mosaic("-sample")),
        Program("ImageMagick +noise Multiplicative", "speckle_noise", _noise("Multiplicative", 4)),
        Program("ImageMagick +noise Poisson, blended", "speckle_noise", _poisson),
        Program("ImageMagick -annotate", "content", _drawn(_annotate)),
        Program("ImageMagick -draw rectangle", "content", _drawn(_rectangle)),
        Program("ImageMagick -draw circle", "content", _drawn(_circle)),
        Program("ImageMagick -composite", "content", _drawn(_pasted)),
    ]  # fmt: skip


def _near() -> list[Program]:
    """Other coders, other noises and other filters."""
    return [
        _unknown("webp", lambda s: ["-quality", f"{_quality(s)}", "webp:-"], 99),
        _unknown("heic", lambda s: ["-quality", f"{_quality(s)}", "heic:-"], (80.0, 88.0, 94.0, 98.0)),
        Program("ImageMagick +noise Laplacian", UNKNOWN, _noise("Laplacian", 8), nearness="near"),
        Program("ImageMagick +noise Uniform", UNKNOWN, _noise("Uniform", 100), nearness="near"),
        *(_unknown(f"-statistic {name}", lambda s, name=name: ["-statistic", name, f"{s:.0f}x{s:.0f}"], (3.0, 5.0, 7.0))
          for name in ("Median", "Mode")),
        _unknown("-despeckle", lambda s: ["-despeckle"] * round(s), (1.0, 3.0, 8.0)),
        _unknown("-enhance", lambda s: ["-enhance"] * round(s), (1.0, 3.0, 8.0)),
        _unknown("-paint", lambda s: ["-paint", f"{round(s)}"], SIZES),
        _unknown("-kuwahara", lambda s: ["-kuwahara", f"{round(s)}"], SIZES),
        _unknown("-selective-blur", lambda s: ["-selective-blur", f"3x2+{s:.2f}%"], 25),
        _unknown("-mean-shift", lambda s: ["-mean-shift", f"7x7+{s:.2f}%"], 15),
        _unknown("-wavelet-denoise", lambda s: ["-wavelet-denoise", f"{s:.3f}%"], 60),
        _unknown("-morphology Smooth", lambda s: ["-morphology", "Smooth", f"Disk:{round(s)}"], SIZES),
        _unknown("-ordered-dither", lambda s: ["-ordered-dither", f"o8x8,{_levels(s)}"], 127),
        _unknown("-ordered-dither h4x4a", lambda s: ["-ordered-dither", f"h4x4a,{_levels(s)}"], 127),
        _unknown("-colors, dithered", lambda s: ["-dither", "FloydSteinberg", "-colors", f"{_levels(s)}"], 127),
        _unknown("-local-contrast", lambda s: ["-local-contrast", f"10x{s:.2f}"], 300),
    ]  # fmt: skip


def _far() -> list[Program]:
    """What is far from all kinds."""
    return [
        _unknown("-swirl", lambda s: ["-swirl", f"{s:.2f}"], 180, "far"),
        _unknown("-implode", lambda s: ["-implode", f"{s:.4f}"], 0.9, "far"),
        _unknown("-spread", lambda s: ["-spread", f"{round(s)}"], SIZES, "far"),
        _unknown("-emboss", lambda s: ["-emboss", f"0x{s:.2f}"], (0.5, 1.0, 2.0), "far"),
        _unknown("-charcoal", lambda s: ["-charcoal", "1"], (1.0,), "far"),
        _unknown("-sketch", lambda s: ["-sketch", "0x5+45"], (1.0,), "far"),
        _unknown("-negate", lambda s: ["-negate"], (1.0,), "far"),
        _unknown("-solarize", lambda s: ["-solarize", f"{s:.0f}%"], (70.0, 50.0), "far"),
        _unknown("-vignette", lambda s: ["-background", "black", "-vignette", f"0x{s:.2f}"], (40.0,), "far"),
        _unknown("-shade", lambda s: ["-shade", "120x45"], (1.0,), "far"),
        _unknown("-edge", lambda s: ["-edge", "1"], (1.0,), "far"),
        _unknown("-flop", lambda s: ["-flop"], (1.0,), "far"),
        Program("ImageMagick -wave", UNKNOWN, _wave, nearness="far"),
    ]  # fmt: skip


@cache
def command() -> str:
    for name in ("magick", "convert-im6.q16", "convert"):
        if found := shutil.which(name):
            return found
    raise OSError("neither magick nor convert is installed")


def _run(image: np.ndarray, arguments: list[str]) -> np.ndarray:
    """Pass a picture through ImageMagick; a coded file that it writes is decoded by ImageMagick as well."""
    rows, cols = image.shape
    data = b"P5 %d %d 255\n" % (cols, rows) + image.tobytes()
    if arguments[-1] in CODERS:
        data = pipe(["pgm:-", *arguments], data)
        return _pixels(pipe([arguments[-1], "-depth", "8", "gray:-"], data), image)
    return _pixels(pipe(["pgm:-", *arguments, "-depth", "8", "gray:-"], data), image)


def pipe(arguments: list[str], data: bytes) -> bytes:
    return subprocess.run([command(), *arguments], input=data, capture_output=True, check=True).stdout


def _pixels(data: bytes, image: np.ndarray) -> np.ndarray:
    return np.frombuffer(data, np.uint8).reshape(image.shape)


def _filter(
    name: str,
    kind: str,
    arguments: Callable[[float], list[str]],
    end: float,
    parameters: Parameters = lambda strength: {},
) -> Program:
    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        return Copies(lambda s: _run(image, arguments(s)) if s > 1e-3 else image, end, parameters)

    return Program(f"ImageMagick {name}", kind, build)


def _unknown(
    name: str, arguments: Callable[[float], list[str]], strengths: float | tuple[float, ...], nearness: str = "near"
) -> Program:
    return unknown_program(f"ImageMagick {name}", lambda x, s, seed: _run(x, arguments(s)), strengths, nearness)


def _quality(strength: float) -> int:
    return int(np.clip(round(100 - strength), 1, 100))


def _motion(image: np.ndarray, seed: int, direction: int) -> Copies:
    angle = np.random.default_rng(seed).uniform(0, 180)
    return Copies(lambda s: _run(image, ["-motion-blur", f"0x{s:.4f}+{angle:.1f}"]) if s > 1e-3 else image, 12)


def _resize(image: np.ndarray, seed: int, direction: int) -> Copies:
    rows, cols = image.shape

    def path(strength: float) -> np.ndarray:
        small = f"{max(round(cols / (1 + strength)), 2)}x{max(round(rows / (1 + strength)), 2)}!"
        return _run(image, ["-resize", small, "-filter", "Catrom", "-resize", f"{cols}x{rows}!"])

    return Copies(path, 24, lambda s: {"factor": 1 + s})


def _contrast(image: np.ndarray, seed: int, direction: int) -> Copies:
    # The line's slope is tan(pi / 4 * (1 + per cent / 100)), about mid-grey.
    end = 95.0

    def parameters(strength: float) -> dict[str, float]:
        return {"gain": float(np.tan(np.pi / 4 * (1 + direction * strength / 100))), "pivot": 127.5}

    return Copies(
        lambda s: _run(image, ["-brightness-contrast", f"0x{direction * s:.4f}"]) if s > 1e-3 else image,
        end, parameters,
    )  # fmt: skip


def _sigmoidal(image: np.ndarray, seed: int, direction: int) -> Copies:
    option = "-sigmoidal-contrast" if direction > 0 else "+sigmoidal-contrast"
    return Copies(lambda s: _run(image, [option, f"{s:.4f}x50%"]) if s > 1e-3 else image, 20)


def _brightness(image: np.ndarray, seed: int, direction: int) -> Copies:
    return Copies(
        lambda s: _run(image, ["-brightness-contrast", f"{direction * s:.4f}x0"]) if s > 1e-3 else image,
        60, lambda s: {"offset": direction * 2.55 * s},
    )  # fmt: skip


def _noise_sigma(strength: float) -> dict[str, float]:
    return {"sigma": 255 * 0.078125 * strength}


def _noise(
    kind: str, end: float, parameters: Parameters = lambda strength: {}
) -> Callable[[np.ndarray, int, int], Copies]:
    # The three channels get noise of their own; the first one is taken.
    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        def path(strength: float) -> np.ndarray:
            options = ["-seed", str(seed % 2**31), "-attenuate", f"{strength:.5f}", "+noise", kind]
            return _run(image, [*options, "-channel", "R", "-separate"]) if strength > 1e-4 else image

        return Copies(path, end, parameters)

    return build


def _decibels(strength: float) -> float:
    return round(60 - strength, 1)


def _levels(strength: float) -> int:
    return max(round(256 / (1 + strength)), 2)


def _mosaic(option: str) -> Callable[[np.ndarray, int, int], Copies]:
    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        rows, cols = image.shape

        def size(strength: float) -> tuple[int, int]:
            cell = max(1 + strength, 2)
            return max(round(cols / cell), 1), max(round(rows / cell), 1)

        def path(strength: float) -> np.ndarray:
            if strength <= 0:
                return image
            across, down = size(strength)
            return _run(image, [option, f"{across}x{down}!", "-scale", f"{cols}x{rows}!"])

        return Copies(path, 60, lambda s: {"cell": float(np.sqrt(image.size / np.prod(size(s))))})

    return build


def _poisson(image: np.ndarray, seed: int, direction: int) -> Copies:
    """Poisson noise is very strong, since -attenuate darkens the picture besides; so it is blended with the picture."""

    def path(strength: float) -> np.ndarray:
        noisy = ["(", "+clone", "-seed", str(seed % 2**31), "+noise", "Poisson", "-channel", "R", "-separate", ")"]
        return _run(image, [*noisy, "-compose", "blend", "-define", f"compose:args={strength:.3f}", "-composite"])

    return Copies(path, 100)


def _wave(image: np.ndarray, seed: int, direction: int) -> Copies:
    rows, cols = image.shape
    length = np.random.default_rng(seed).uniform(30, 120)

    def path(strength: float) -> np.ndarray:
        crop = ["-gravity", "center", "-crop", f"{cols}x{rows}+0+0", "+repage"]
        return _run(image, ["-wave", f"{strength:.2f}x{length:.0f}", *crop]) if strength > 0.01 else image

    return Copies(path, 20)


def _drawn(draw: Callable[[Place, np.ndarray], list[str]]) -> Callable[[np.ndarray, int, int], Copies]:
    """Content: the strength, at most 1, scales the sides of the places."""

    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        def path(strength: float) -> np.ndarray:
            if strength <= 0:
                return image
            return _run(image, [word for place in draw_places(image, seed, strength) for word in draw(place, image)])

        return Copies(path, 1)

    return build


@cache
def _font() -> list[str]:
    names = [line.split()[1] for line in pipe(["-list", "font"], b"").decode().splitlines() if "Font:" in line]
    return ["-font", names[0]] if names else []


def _annotate(place: Place, image: np.ndarray) -> list[str]:
    size = max(min(place.height, place.width // 3), 9)
    at = f"+{place.left}+{place.top + size}"
    return [*_font(), "-pointsize", f"{size}", "-fill", f"gray({place.grey})", "-annotate", at, place.text]


def _rectangle(place: Place, image: np.ndarray) -> list[str]:
    box = f"rectangle {place.left},{place.top} {place.right},{place.bottom}"
    return ["-fill", f"gray({place.grey})", "-draw", box]


def _circle(place: Place, image: np.ndarray) -> list[str]:
    y, x = place.top + place.height // 2, place.left + place.width // 2
    thick = max(min(place.height, place.width) // 6, 2)
    stroke = ["-fill", "none", "-stroke", f"gray({place.grey})", "-strokewidth", f"{thick}"]
    return [*stroke, "-draw", f"circle {x},{y} {x},{place.top}", "-stroke", "none"]


def _pasted(place: Place, image: np.ndarray) -> list[str]:
    """A part of the picture itself, mirrored, is put over another part."""
    rows, cols = image.shape
    y, x = (place.top + rows // 2) % max(rows - place.height, 1), (place.left + cols // 2) % max(cols - place.width, 1)
    part = ["(", "+clone", "-crop", f"{place.width}x{place.height}+{x}+{y}", "+repage", "-flop", ")"]
    return [*part, "-geometry", f"+{place.left}+{place.top}", "-composite"]
