"""Programs of ffmpeg, as the package imageio-ffmpeg brings it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache

import numpy as np

from faults.places import draw_places
from faults.programs import Copies, Parameters, Program, unknown_program
from llise.labels import UNKNOWN

TITLE = "ffmpeg"
_PLANAR = ["-pix_fmt", "yuv420p"]
"""Options of coders that know no grey pictures; the grey levels are given to them as they are."""

SIZES = (1.0, 2.0, 3.0, 5.0)
"""Radii of filters in pixels."""


def programs() -> list[Program]:
    """Return the programs; ImportError if imageio-ffmpeg is not installed."""
    _command()
    return [*_papers(), *_further(), *_near(), *_far()]


def _papers() -> list[Program]:
    """The paper's six kinds."""
    return [
        _filter("gblur", "blur", lambda s, d: f"gblur=sigma={s:.4f}:steps=3", 20, lambda s, d: {"sigma": s}),
        _filter("boxblur", "blur", lambda s, d: f"boxblur=luma_radius={round(s)}:luma_power=2", 20),
        _filter("avgblur", "blur", lambda s, d: f"avgblur=sizeX={max(round(s), 1)}", 20),
        _filter("eq contrast", "contrast", lambda s, d: f"eq=contrast={_gain(s, d):.5f}", 3, _line),
        _filter("eq brightness", "luminance", lambda s, d: f"eq=brightness={d * s / 255:.5f}", 150),  # in steps of 2.55
        Program("ffmpeg noise", "gaussian_noise", _noise),
        Program("ffmpeg mjpeg", "jpeg", _coder("mjpeg", "mjpeg", 60, ["-vf", "format=yuvj444p", "-qmax", "400"])),
    ]


def _further() -> list[Program]:
    """Kinds that are not in the paper."""
    return [
        Program("ffmpeg jpeg2000", "jpeg2000",
                _coder("jpeg2000", "image2pipe", 400, ["-qmax", "1000"], reader="j2k_pipe")),
        _filter("unsharp 5x5", "sharpening", lambda s, d: f"unsharp=lx=5:ly=5:la={s:.4f}", 5),
        _filter("unsharp 9x9", "sharpening", lambda s, d: f"unsharp=lx=9:ly=9:la={s:.4f}", 5),
        _filter("pixelize", "pixelation", lambda s, d: f"pixelize=w={_cell(s)}:h={_cell(s)}", 60,
                lambda s, d: {"cell": float(_cell(s))}),
        _filter("lutyuv", "quantization", lambda s, d: f"lutyuv=y=floor(val/{_cell(s)})*{_cell(s)}", 127,
                lambda s, d: {"levels": float(np.ceil(256 / _cell(s)))}),
        Program("ffmpeg drawbox", "content", _drawbox),
    ]  # fmt: skip


def _near() -> list[Program]:
    """Other coders, noises and filters. MPEG-1, -2 and -4 are left out: their single frames are coded as JPEG is."""
    coders = {
        "libx264": _coder("libx264", "h264", 51, _PLANAR, lambda s: ["-qp", f"{round(s)}"]),
        "libx265": _coder(
            "libx265", "hevc", 51, ["-x265-params", "log-level=none:pools=none"], lambda s: ["-crf", f"{s:.1f}"]
        ),
        "libvpx": _coder("libvpx", "ivf", 59, _PLANAR, lambda s: _same(round(4 + s), "-crf", "-qmin", "-qmax")),
        "libvpx-vp9": _coder(
            "libvpx-vp9", "ivf", 63, [*_PLANAR, "-cpu-used", "5"], lambda s: ["-b:v", "0", "-crf", f"{round(s)}"]
        ),
        "libtheora": _coder("libtheora", "ogg", 10, _PLANAR, lambda s: ["-q:v", f"{10 - s:.2f}"]),
        "snow": _coder("snow", "avi", 100, ["-strict", "-2"]),
        "libwebp": _coder("libwebp", "webp", 99, _PLANAR, lambda s: ["-q:v", f"{100 - s:.1f}"], "webp_pipe"),
    }
    return [
        *(Program(f"ffmpeg {name}", UNKNOWN, build, nearness="near") for name, build in coders.items()),
        _unknown("noise, even", lambda s: f"noise=alls={round(s)}:all_seed=7:allf=u", 100),
        _unknown("noise, patterned", lambda s: f"noise=alls={round(s)}:all_seed=7:allf=p", 100),
        _unknown("median", lambda s: f"median=radius={round(s)}", SIZES),
        _unknown("bilateral", lambda s: f"bilateral=sigmaS=3:sigmaR={s:.4f}", 0.3),
        _unknown("nlmeans", lambda s: f"nlmeans=s={s:.2f}:p=5:r=9", (5.0, 10.0, 20.0, 30.0)),
        _unknown("dctdnoiz", lambda s: f"dctdnoiz=s={s:.2f}:n=3", 40),
        _unknown("vaguedenoiser", lambda s: f"vaguedenoiser=threshold={s:.2f}", 40),
        _unknown("erosion", lambda s: ",".join(["erosion"] * round(s)), SIZES),
        _unknown("inflate", lambda s: ",".join(["inflate"] * round(s)), SIZES),
        _unknown("geq, hum", lambda s: f"geq=lum='clip(lum(X,Y)+{s:.3f}*sin(Y/5+X/40),0,255)':i=n", 60),
    ]  # fmt: skip


def _far() -> list[Program]:
    """What is far from all kinds."""
    return [
        _unknown("vignette", lambda s: f"vignette=angle={s:.4f}", 1.2, "far"),
        # Without any correction this filter shifts by half a pixel, so the corners are moved by 1 % at the least.
        _unknown("lenscorrection", lambda s: f"lenscorrection=k1={-0.01 - s:.4f}:k2=0:i=bilinear", 0.6, "far"),
        _unknown("geq, moved lines", lambda s: f"geq=lum='if(mod(Y,2),lum(X+{s:.2f},Y),lum(X,Y))':i=n", 20, "far"),
        _unknown("geq, waves", lambda s: f"geq=lum='lum(X+{s:.2f}*sin(Y/12),Y)'", 20, "far"),
        _unknown("il", lambda s: "il=l=d", (1.0,), "far"),
        _unknown("edgedetect", lambda s: "edgedetect=mode=colormix:high=0.1", (1.0,), "far"),
        _unknown("sobel", lambda s: "sobel", (1.0,), "far"),
        _unknown("shufflepixels", lambda s: f"shufflepixels=seed=7:m=block:w={s:.0f}:h={s:.0f}", (8.0,), "far"),
    ]  # fmt: skip


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


def _unknown(
    name: str, filters: Callable[[float], str], strengths: float | tuple[float, ...], nearness: str = "near"
) -> Program:
    return unknown_program(f"ffmpeg {name}", lambda x, s, seed: _run(x, filters(s)), strengths, nearness)


def _same(value: int, *names: str) -> list[str]:
    return [word for name in names for word in (name, f"{value}")]


def _cell(strength: float) -> int:
    return max(round(1 + strength), 1)


def _noise(image: np.ndarray, seed: int, direction: int) -> Copies:
    return Copies(lambda s: _run(image, f"noise=alls={round(s)}:all_seed={seed % 2**30}") if s >= 1 else image, 100)


def _coder(
    name: str,
    container: str,
    end: float,
    options: list[str],
    quality: Callable[[float], list[str]] = lambda s: ["-q:v", f"{round(s)}"],
    reader: str = "",
) -> Callable[[np.ndarray, int, int], Copies]:
    """One frame through a coder; the strength is the coder's own measure of quality, by default its quantiser scale."""

    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        planar = options[: len(_PLANAR)] == _PLANAR
        even = np.pad(image, [(0, n % 2) for n in image.shape], mode="edge") if planar else image
        data = even.tobytes() + planar * bytes([128]) * (even.size // 2)  # colours are the same at all pixels

        def path(strength: float) -> np.ndarray:
            if strength < 0.5:
                return image
            source = [word if not planar else word.replace("gray", "yuv420p") for word in _raw(even)]
            coder = [
                "-c:v",
                name,
                "-threads",
                "1",
                *options,
                *quality(strength),
                "-frames:v",
                "1",
                "-f",
                container,
                "-",
            ]
            coded = _pipe([*source, *coder], data)
            luma = ["-vf", "extractplanes=y", "-f", "rawvideo", "-pix_fmt", "gray", "-"]
            decoded = _pipe(["-f", reader or container, "-i", "-", *luma], coded)
            return np.frombuffer(decoded, np.uint8).reshape(even.shape)[: image.shape[0], : image.shape[1]]

        return Copies(path, end)

    return build


def _drawbox(image: np.ndarray, seed: int, direction: int) -> Copies:
    """Content: the strength, at most 1, scales the sides of the places."""

    def path(strength: float) -> np.ndarray:
        if strength <= 0:
            return image
        boxes = []
        for place in draw_places(image, seed, strength):
            colour = "0x" + 3 * f"{place.grey:02x}"
            boxes.append(f"drawbox={place.left}:{place.top}:{place.width}:{place.height}:{colour}:fill")
        return _run(image, ",".join(boxes))

    return Copies(path, 1)
