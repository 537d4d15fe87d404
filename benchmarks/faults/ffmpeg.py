"""Programs of ffmpeg, as the package imageio-ffmpeg brings it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache

import numpy as np

from faults.programs import Copies, Parameters, Program

TITLE = "ffmpeg"


def programs() -> list[Program]:
    """Return the programs; ImportError if imageio-ffmpeg is not installed."""
    _command()
    return [
        _filter("gblur", "blur", lambda s, d: f"gblur=sigma={s:.4f}:steps=3", 20, lambda s, d: {"sigma": s}),
        _filter("boxblur", "blur", lambda s, d: f"boxblur=luma_radius={round(s)}:luma_power=2", 20),
        _filter("avgblur", "blur", lambda s, d: f"avgblur=sizeX={max(round(s), 1)}", 20),
        _filter("eq contrast", "contrast", lambda s, d: f"eq=contrast={_gain(s, d):.5f}", 3, _line),
        _filter("eq brightness", "luminance", lambda s, d: f"eq=brightness={d * s / 255:.5f}", 150),  # in steps of 2.55
        Program("ffmpeg noise", "gaussian_noise", _noise),
        Program("ffmpeg mjpeg", "jpeg", _mjpeg),
    ]


@cache
def _command() -> str:
    import imageio_ffmpeg

    return imageio_ffmpeg.get_ffmpeg_exe()


def _gain(strength: float, direction: int) -> float:
    return (1 + strength) ** direction


def _line(strength: float, direction: int) -> dict[str, float]:
    return {"gain": _gain(strength, direction), "pivot": 127.5}


def _pipe(arguments: list[str], data: bytes) -> bytes:
    command = [_command(), "-hide_banner", "-loglevel", "error", "-threads", "1", *arguments]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout


def _raw(image: np.ndarray) -> list[str]:
    rows, cols = image.shape
    return ["-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{cols}x{rows}", "-i", "-"]


def _run(image: np.ndarray, filters: str) -> np.ndarray:
    data = _pipe([*_raw(image), "-vf", filters, "-f", "rawvideo", "-pix_fmt", "gray", "-"], image.tobytes())
    return np.frombuffer(data, np.uint8).reshape(image.shape)


def _filter(
    name: str,
    kind: str,
    filters: Callable[[float, int], str],
    end: float,
    parameters: Callable[[float, int], dict[str, float]] = lambda strength, direction: {},
) -> Program:
    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        settings: Parameters = lambda strength: parameters(strength, direction)
        return Copies(lambda s: _run(image, filters(s, direction)) if s > 1e-3 else image, end, settings)

    return Program(f"ffmpeg {name}", kind, build)


def _noise(image: np.ndarray, seed: int, direction: int) -> Copies:
    return Copies(lambda s: _run(image, f"noise=alls={round(s)}:all_seed={seed % 2**30}") if s >= 1 else image, 100)


def _mjpeg(image: np.ndarray, seed: int, direction: int) -> Copies:
    """Motion JPEG, whose quantiser table is that of MPEG; the strength is its quantiser scale."""

    def path(strength: float) -> np.ndarray:
        if strength < 1:
            return image
        coder = ["-vf", "format=yuvj444p", "-c:v", "mjpeg", "-q:v", str(round(strength)), "-qmax", "400"]
        coded = _pipe([*_raw(image), *coder, "-f", "mjpeg", "-"], image.tobytes())
        luma = ["-vf", "extractplanes=y", "-f", "rawvideo", "-pix_fmt", "gray", "-"]
        return np.frombuffer(_pipe(["-f", "mjpeg", "-i", "-", *luma], coded), np.uint8).reshape(image.shape)

    return Copies(path, 60)
