"""Programs of ImageMagick."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import cache

import numpy as np

from faults.programs import Copies, Parameters, Program

TITLE = "ImageMagick"


def programs() -> list[Program]:
    """Return the programs; OSError if ImageMagick is not installed."""
    _command()
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


@cache
def _command() -> str:
    for name in ("magick", "convert-im6.q16", "convert"):
        if found := shutil.which(name):
            return found
    raise OSError("neither magick nor convert is installed")


def _run(image: np.ndarray, arguments: list[str]) -> np.ndarray:
    """Pass a picture through ImageMagick; a JPEG that it writes is decoded by ImageMagick as well."""
    rows, cols = image.shape
    data = b"P5 %d %d 255\n" % (cols, rows) + image.tobytes()
    if arguments[-1] == "jpg:-":
        data = _pipe(["pgm:-", *arguments], data)
        return _pixels(_pipe(["jpg:-", "-depth", "8", "gray:-"], data), image)
    return _pixels(_pipe(["pgm:-", *arguments, "-depth", "8", "gray:-"], data), image)


def _pipe(arguments: list[str], data: bytes) -> bytes:
    return subprocess.run([_command(), *arguments], input=data, capture_output=True, check=True).stdout


def _pixels(data: bytes, image: np.ndarray) -> np.ndarray:
    return np.frombuffer(data, np.uint8).reshape(image.shape)


def _filter(
    name: str, kind: str, arguments: Callable[[float], list[str]], end: float, parameters: Parameters
) -> Program:
    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        return Copies(lambda s: _run(image, arguments(s)) if s > 1e-3 else image, end, parameters)

    return Program(f"ImageMagick {name}", kind, build)


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
