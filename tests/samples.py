"""Files and diagnoses for tests: every bad image once, and plausible diagnoses without a fit."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from PIL import Image
from scipy import ndimage

from llise.diagnosis.result import BLOCK_LABELS, Diagnosis, Fault, Interval, ModelName, Reason
from llise.diagnosis.scoring import Candidate


def picture(height: int = 64, width: int = 64, seed: int = 0) -> np.ndarray:
    """A smooth random image that uses the whole range."""
    rng = np.random.default_rng(seed)
    rows, cols = np.mgrid[:height, :width]
    waves = sum(
        np.sin(rows * rng.uniform(0.02, 0.4) + cols * rng.uniform(0.02, 0.4) + rng.uniform(0, 6)) for _ in range(6)
    )
    return np.uint8(np.rint(255 * (waves - waves.min()) / np.ptp(waves)))


def encoded(image: np.ndarray, kind: str = "PNG", **options) -> bytes:
    """The bytes of an image file."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, kind, **options)
    return buffer.getvalue()


def png_of_16_bits(samples: np.ndarray) -> bytes:
    """A PNG of 16 bits per channel: grey (h, w), grey and alpha (h, w, 2), RGB or RGBA."""
    height, width, channels = np.atleast_3d(samples).shape
    colour_type = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in samples)

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, 16, colour_type, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def png_bomb() -> bytes:
    """A small file that claims 30 000 x 30 000 pixels."""
    whole = bytearray(encoded(picture(8, 8)))
    whole[16:24] = struct.pack(">II", 30_000, 30_000)
    whole[29:33] = struct.pack(">I", zlib.crc32(bytes(whole[12:29])))
    return bytes(whole)


def tiff_of_16_bit_rgb() -> bytes:
    """A little-endian TIFF with one strip of three 16-bit samples a pixel."""
    pixels = np.random.default_rng(0).integers(0, 65536, (16, 16, 3)).astype("<u2").tobytes()
    tags = [(256, 3, 1, 16), (257, 3, 1, 16), (258, 3, 3, 8 + 2 + 9 * 12 + 4), (259, 3, 1, 1), (262, 3, 1, 2)]
    start = 8 + 2 + 9 * 12 + 4 + 6
    tags += [(273, 4, 1, start), (277, 3, 1, 3), (278, 3, 1, 16), (279, 4, 1, len(pixels))]
    entries = b"".join(struct.pack("<HHII", *tag) for tag in tags)
    return b"II*\0" + struct.pack("<IH", 8, 9) + entries + struct.pack("<I3H", 0, 16, 16, 16) + pixels


def gif_of_frames() -> bytes:
    buffer = io.BytesIO()
    frames = [Image.fromarray(picture(seed=seed)) for seed in range(3)]
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:])
    return buffer.getvalue()


def png_of_frames() -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture()).save(buffer, "PNG", save_all=True, append_images=[Image.fromarray(picture(seed=1))])
    return buffer.getvalue()


def with_alpha(alpha: int) -> np.ndarray:
    grey = picture()
    return np.dstack([grey, grey, grey, np.full_like(grey, alpha)])


def cmyk() -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture()).convert("RGB").convert("CMYK").save(buffer, "JPEG")
    return buffer.getvalue()


BAD_FILES = {
    "zero.png": (lambda: b"", "empty file"),
    "text.png": (lambda: b"this is not an image\n", "not an image"),
    "script.html": (lambda: b"<script>alert(1)</script>", "not an image"),
    "truncated.png": (lambda: encoded(picture())[:-600], "truncated"),
    "header-only.png": (lambda: encoded(picture())[:40], "not an image"),
    "truncated.jpg": (lambda: encoded(picture(), "JPEG")[:-500], "truncated"),
    "broken-crc.png": (lambda: encoded(picture()).replace(b"IDAT", b"IDAT\x7f", 1), "damaged"),
    "animated.gif": (gif_of_frames, "3 pictures"),
    "animated.png": (png_of_frames, "2 pictures"),
    "transparent.png": (lambda: encoded(with_alpha(120)), "transparent"),
    "cmyk.jpg": (cmyk, "CMYK"),
    "rgba16.png": (lambda: png_of_16_bits(np.full((16, 16, 4), 12_345)), "transparent"),
    "float.tif": (lambda: encoded(picture().astype(np.float32), "TIFF"), "floating point"),
    "int32.tif": (lambda: encoded(picture().astype(np.int32), "TIFF"), "32-bit grey"),
    "bomb.png": (png_bomb, "decompression bomb"),
}
"""Name of a file that must be refused: how to make it, and what the error says."""


def write_bad_file(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(BAD_FILES[name][0]())
    return path


def context(height: int = 512, width: int = 512, seed: int = 0) -> SimpleNamespace:
    """What the report asks of a Diagnoser."""
    image = picture(height, width, seed)
    return SimpleNamespace(reference=image, pixels=image, block_size=8, labels=BLOCK_LABELS)


ESTIMATES = {
    "jpeg": {"quality": Interval(12.0, 10.0, 14.0)},
    "blur": {"sigma": Interval(2.1, 1.9, 2.3)},
    "gaussian_noise": {"sigma": Interval(8.0, 7.4, 8.6)},
    "impulse_noise": {"share": Interval(0.02, 0.018, 0.022), "salt": Interval(0.5, 0.4, 0.6)},
    "contrast": {"gain": Interval(1.3, 1.25, 1.35), "pivot": Interval(128.0, 120.0, 136.0)},
    "luminance": {"offset": Interval(12.0, 11.0, 13.0)},
}
"""An estimate of each kind."""


def block_region(of: SimpleNamespace, top: float, left: float, bottom: float, right: float) -> np.ndarray:
    """Blocks of a rectangle, given by shares of the picture's height and width."""
    rows, cols = (-(-length // of.block_size) for length in of.reference.shape)
    region = np.zeros((rows, cols), bool)
    region[round(top * rows) : round(bottom * rows), round(left * cols) : round(right * cols)] = True
    return region


def everywhere(of: SimpleNamespace) -> np.ndarray:
    """All blocks."""
    return block_region(of, 0, 0, 1, 1)


def fault(
    of: SimpleNamespace, kinds: tuple[str, ...], region: np.ndarray, confidence: float = 0.97, **changes
) -> Fault:
    """A fault with the estimates of its kinds and an error of 200 for each."""
    rows, cols = (np.flatnonzero(region.any(axis)) * of.block_size for axis in (1, 0))
    height, width = of.reference.shape
    box = int(rows[0]), int(cols[0]), min(int(rows[-1]) + 8, height), min(int(cols[-1]) + 8, width)
    values = {
        "severity": dict.fromkeys(kinds, 200.0),
        "estimate": {kind: ESTIMATES[kind] for kind in kinds if kind in ESTIMATES},
        "explained": 0.95,
        **changes,
    }
    return Fault(kinds, confidence, region, box, float(region.mean()), **values)


def reason(item: Fault) -> Reason:
    """Why a fault has its kinds: they were tried beside no name."""
    estimate = {kind: {word: one.value for word, one in words.items()} for kind, words in item.estimate.items()}
    named = Candidate(item.kinds, -0.1, item.explained, estimate, probability=item.confidence)
    other = Candidate(("unknown",) if item.kinds != ("unknown",) else ("blur",), -3.0, probability=1 - item.confidence)
    return Reason(int(item.region.sum()), item.box, (named, other))


def of_copy(
    of: SimpleNamespace, image: np.ndarray, faults: list[Fault], file: str | None = None, **changes
) -> Diagnosis:
    """The diagnosis of a copy with these faults: measures from the pixels, block labels from the regions."""
    difference = image.astype(float) - of.reference
    rows, cols = (-(-length // of.block_size) for length in of.reference.shape)
    height, width = of.reference.shape
    padded = np.pad(difference, [(0, 8 * rows - height), (0, 8 * cols - width)], mode="edge")
    severity = np.float32((padded**2).reshape(rows, 8, cols, 8).mean(axis=(1, 3)))
    labels = np.zeros((rows, cols), np.int8)
    for item in sorted(faults, key=lambda item: -item.area):
        labels[item.region & (severity > 0)] = BLOCK_LABELS.index(item.kinds[0])
    mse = float(np.mean(difference**2))
    local = 1 / (1 + ndimage.uniform_filter(difference**2, 7) / 300)
    values = {
        "psnr": float(10 * np.log10(255**2 / mse)) if mse else float("inf"),
        "ssim": float(local.mean()),
        "model": ModelName("made", "0" * 64),
        "why": tuple(reason(item) for item in faults),
        **changes,
    }
    return Diagnosis(
        faults=faults,
        mse=mse,
        block_labels=labels,
        block_severity=severity,
        image=image,
        ssim_map=np.float32(local),
        file=file,
        **values,
    )


def diagnosis(
    of: SimpleNamespace, verdict: tuple[str, ...], seed: int = 0, file: str | None = None, confidence: float = 0.93
) -> Diagnosis:
    """One fault over the whole picture, whose copy is the reference with noise; none for an original."""
    rng = np.random.default_rng(seed)
    pristine = verdict == ("original",)
    noise = 0 if pristine else (15 + 3 * seed) * rng.standard_normal(of.reference.shape)
    image = np.uint8(np.clip(of.reference + noise, 0, 255))
    faults = [] if pristine else [fault(of, verdict, everywhere(of), confidence)]
    return of_copy(of, image, faults, file)


def _in_region(of: SimpleNamespace, base: np.ndarray, changed: np.ndarray, region: np.ndarray) -> np.ndarray:
    height, width = of.reference.shape
    pixels = np.kron(region, np.ones((8, 8), bool))[:height, :width]
    return np.uint8(np.clip(np.rint(np.where(pixels, changed, base)), 0, 255))


def _jpeg(image: np.ndarray, quality: int) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(encoded(image, "JPEG", quality=quality))).convert("L"))


def pristine_copy(of: SimpleNamespace) -> Diagnosis:
    return of_copy(of, of.reference, [], file="pristine.png")


def whole_jpeg(of: SimpleNamespace) -> Diagnosis:
    return of_copy(of, _jpeg(of.reference, 12), [fault(of, ("jpeg",), everywhere(of))], file="whole jpeg.png")


def blur_over_jpeg(of: SimpleNamespace) -> Diagnosis:
    region = block_region(of, 0.6, 0, 1, 0.38)
    blurred = _in_region(of, of.reference, ndimage.gaussian_filter(of.reference.astype(float), 2.1), region)
    faults = [fault(of, ("jpeg",), everywhere(of)), fault(of, ("blur",), region, 0.91)]
    return of_copy(of, _jpeg(blurred, 12), faults, file="blur over jpeg.png")


def two_regions(of: SimpleNamespace) -> Diagnosis:
    rng = np.random.default_rng(1)
    noisy, light = block_region(of, 0.05, 0.05, 0.4, 0.45), block_region(of, 0.55, 0.6, 0.95, 0.95)
    noisy[:, -1] = False
    noisy &= ~block_region(of, 0.05, 0.3, 0.2, 0.45)
    image = _in_region(of, of.reference, of.reference + 8 * rng.standard_normal(of.reference.shape), noisy)
    image = _in_region(of, image, of.reference.astype(float) + 12, light)
    faults = [fault(of, ("gaussian_noise",), noisy), fault(of, ("luminance",), light, 0.88)]
    return of_copy(of, image, faults, file="two regions.png")


def mixture(of: SimpleNamespace) -> Diagnosis:
    rng = np.random.default_rng(2)
    region = block_region(of, 0.3, 0.3, 0.7, 0.7)
    changed = ndimage.gaussian_filter(of.reference.astype(float), 2.1) + 8 * rng.standard_normal(of.reference.shape)
    image = _in_region(of, of.reference, changed, region)
    kinds = ("blur", "gaussian_noise")
    return of_copy(
        of, image, [fault(of, kinds, region, severity={"blur": 120.0, "gaussian_noise": 64.0})], file="mixture.png"
    )


def doubtful(of: SimpleNamespace) -> Diagnosis:
    region = block_region(of, 0, 0.7, 0.3, 1)
    image = _in_region(of, of.reference, 128 + 1.3 * (of.reference.astype(float) - 128), region)
    return of_copy(of, image, [fault(of, ("contrast",), region, 0.62)], file="doubtful.png")


def unknown(of: SimpleNamespace) -> Diagnosis:
    region = block_region(of, 0.4, 0, 0.7, 0.3)
    image = _in_region(of, of.reference, of.reference // 32 * 32, region)
    return of_copy(of, image, [fault(of, ("unknown",), region, 0.9, explained=0.0)], file="unknown.png")


def other_scene(of: SimpleNamespace) -> Diagnosis:
    faults = [fault(of, ("unknown",), everywhere(of), 0.99, explained=0.0)]
    other = picture(*of.reference.shape, seed=77)
    return of_copy(of, other, faults, file="other scene.png", is_copy=False)


def hot_pixels(of: SimpleNamespace) -> Diagnosis:
    image, region = of.reference.copy(), everywhere(of) & False
    for row, col in [(10, 12), (11, 30), (30, 12)]:
        image[row, col] = 255 if image[row, col] < 128 else 0
        region[row // 8, col // 8] = True
    estimate = {"impulse_noise": {"share": Interval(3 / 192, 3 / 192, 3 / 192), "salt": Interval(1.0, 1.0, 1.0)}}
    return of_copy(of, image, [fault(of, ("impulse_noise",), region, 1.0, estimate=estimate)], file="hot pixels.png")


SCENES = (
    pristine_copy,
    whole_jpeg,
    blur_over_jpeg,
    two_regions,
    mixture,
    doubtful,
    unknown,
    other_scene,
    hot_pixels,
)
"""Diagnoses of all sorts, each from a context."""


class QuickDiagnoser:
    """A Diagnoser without a model, for tests of what is around it."""

    block_size, labels = 8, BLOCK_LABELS

    def __init__(self, reference, **settings):
        self.reference = self.pixels = reference

    def diagnose(self, images):
        for image in images:
            result = diagnosis(self, ("original",) if np.array_equal(image, self.reference) else ("blur", "jpeg"))
            result.image = image
            yield result
