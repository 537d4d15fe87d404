"""Files and diagnoses for tests: every bad image once, and plausible diagnoses without a fit."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from PIL import Image

from llise.diagnosis import Diagnosis
from llise.labels import KINDS, LABELS


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
    "rgb16.png": (lambda: png_of_16_bits(np.full((16, 16, 3), 12_345)), "16-bit colour"),
    "rgba16.png": (lambda: png_of_16_bits(np.full((16, 16, 4), 12_345)), "16-bit colour"),
    "grey-alpha16.png": (lambda: png_of_16_bits(np.full((16, 16, 2), 65_535)), "16-bit colour"),
    "rgb16.tif": (tiff_of_16_bit_rgb, "16-bit colour"),
    "rgb16.ppm": (lambda: b"P6 2 2 65535\n" + bytes(24), "16-bit colour"),
    "float.tif": (lambda: encoded(picture().astype(np.float32), "TIFF"), "floating point"),
    "int32.tif": (lambda: encoded(picture().astype(np.int32), "TIFF"), "32-bit grey"),
    "bomb.png": (png_bomb, "decompression bomb"),
}
"""Name of a file that must be refused: how to make it, and what the error says."""


def write_bad_file(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(BAD_FILES[name][0]())
    return path


def manifold(height: int = 512, width: int = 512, seed: int = 0) -> SimpleNamespace:
    """What the report asks of a fitted Diagnoser: 121 training images in a map."""
    rng = np.random.default_rng(seed)
    labels = ["original"] + [kind for kind in KINDS for _ in range(20)]
    mse = np.array([0.0] + [50.0 * (1 + i) for _ in KINDS for i in range(20)])
    angle = np.array([0.0] + [2 * np.pi * k / 6 for k in range(6) for _ in range(20)])
    positions = np.column_stack([np.cos(angle), np.sin(angle)]) * np.sqrt(mse)[:, None] / 30
    positions += 0.05 * rng.standard_normal(positions.shape)
    return SimpleNamespace(
        reference=picture(height, width, seed),
        block_size=8,
        training_labels=labels,
        training_mse=mse,
        map_positions=positions,
    )


def diagnosis(of: SimpleNamespace, verdict: tuple[str, ...], seed: int = 0, file: str | None = None) -> Diagnosis:
    """A plausible diagnosis: noise on the reference, block labels in patches, severities smooth."""
    rng = np.random.default_rng(seed)
    height, width = of.reference.shape
    rows, cols = -(-height // of.block_size), -(-width // of.block_size)
    noise = 0 if verdict == ("original",) else 22
    image = np.uint8(np.clip(of.reference + noise * rng.standard_normal((height, width)), 0, 255))
    waves = picture(rows, cols, seed + 100) / 255.0
    kinds = [LABELS.index(name) for name in verdict]
    labels = np.where(waves < 0.5, kinds[0], kinds[-1]).astype(np.int8)
    stray = rng.random((rows, cols)) < 0.2
    labels[stray] = rng.integers(0, 7, int(stray.sum()))
    severity = np.float32(noise**2 * (0.3 + 1.4 * waves)) * (labels > 0)
    mse = float(np.mean((image.astype(float) - of.reference) ** 2))
    counts = np.bincount(labels.ravel(), minlength=len(LABELS)) / labels.size
    smooth = np.kron(waves, np.ones((of.block_size, of.block_size)))[:height, :width]
    nearest = np.where(labels[..., None] == 0, 0, 20 * (labels[..., None] - 1) + 8 + np.arange(5)).astype(np.int16)
    return Diagnosis(
        verdict=verdict,
        confidence=0.93,
        shares=dict(zip(LABELS, map(float, counts))),
        severity={name: mse / len(verdict) for name in verdict if name != "original"},
        mse=mse,
        psnr=float(10 * np.log10(255**2 / mse)) if mse else float("inf"),
        ssim=0.71 if noise else 1.0,
        block_labels=labels,
        block_severity=severity,
        nearest=nearest,
        position=of.map_positions[kinds].mean(axis=0) + 0.1,
        image=image,
        ssim_map=np.float32(1 - 0.6 * smooth if noise else np.ones((height, width))),
        file=file,
    )


class QuickDiagnoser:
    """A Diagnoser that learns nothing, for tests of what is around it."""

    fits = 0

    def __init__(self, reference, *, random_state=0, n_samples=1650):
        self.reference, self.settings = reference, {"random_state": random_state, "n_samples": n_samples}
        trained = manifold(*reference.shape)
        for name in ("block_size", "training_labels", "training_mse", "map_positions"):
            setattr(self, name, getattr(trained, name))

    def fit(self, progress=None):
        type(self).fits += 1
        return self

    def diagnose(self, images):
        for image in images:
            pristine = np.array_equal(image, self.reference)
            found = diagnosis(self, ("original",) if pristine else ("blur", "jpeg"))
            found.image = image
            yield found

    def to_state(self):
        return {"reference": self.reference}, self.settings

    @classmethod
    def from_state(cls, arrays, settings):
        return cls(arrays["reference"], **settings)
