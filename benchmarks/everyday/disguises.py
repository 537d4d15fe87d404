"""Files that show the reference although their bytes differ: the copy is pristine."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, PngImagePlugin

from everyday.damage import MAGICK, read, write

Rng = np.random.Generator


def metadata(image: np.ndarray, target: Path, rng: Rng) -> Path:
    """PNG with texts and a resolution."""
    said = PngImagePlugin.PngInfo()
    said.add_text("Comment", f"exported {rng.integers(1e6)}")
    said.add_itxt("Title", "copy", lang="en")
    Image.fromarray(image).save(target.with_suffix(".png"), pnginfo=said, dpi=(300, 300), compress_level=1)
    return target.with_suffix(".png")


def _magick(*arguments: str) -> Callable[[np.ndarray, Path, Rng], Path]:
    def make(image: np.ndarray, target: Path, rng: Rng) -> Path:
        plain, kind = target.with_name("plain.png"), arguments[-1]
        write(plain, image)
        result = target.with_suffix(".png")
        subprocess.run([MAGICK, plain, *arguments[:-1], f"{kind}:{result}"], check=True, capture_output=True)
        plain.unlink()
        return result

    return make


def alpha(image: np.ndarray, target: Path, rng: Rng) -> Path:
    """PNG with a channel of opacity that is full everywhere."""
    Image.fromarray(image).convert("RGBA").save(target.with_suffix(".png"))
    return target.with_suffix(".png")


def rounding(image: np.ndarray, target: Path, rng: Rng) -> Path:
    """One level up or down in a share of the pixels, as another decoder or a colour space rounds."""
    hit = rng.random(image.shape) < rng.choice([0.05, 0.3, 1.0])
    step = rng.choice([-1, 1]) if rng.random() < 0.5 else rng.choice([-1, 1], image.shape)
    write(target.with_suffix(".png"), np.clip(image + hit * step, 0, 255).astype(np.uint8))
    return target.with_suffix(".png")


def dither(image: np.ndarray, target: Path, rng: Rng) -> Path:
    """Noise of less than a level, rounded, as an export from 16 bits."""
    noisy = np.rint(image + rng.uniform(-0.8, 0.8, image.shape))
    write(target.with_suffix(".png"), np.clip(noisy, 0, 255).astype(np.uint8))
    return target.with_suffix(".png")


def palette(image: np.ndarray, target: Path, rng: Rng) -> Path:
    """A palette that loses nothing; WebP without loss where there are too many colours."""
    colours, which = np.unique(image.reshape(-1, 3), axis=0, return_inverse=True)
    if len(colours) > 256:
        Image.fromarray(image).save(target.with_suffix(".webp"), lossless=True, exact=True, method=2)
        return target.with_suffix(".webp")
    indexed = Image.fromarray(which.reshape(image.shape[:2]).astype(np.uint8), "P")
    indexed.putpalette(colours.astype(np.uint8).tobytes())
    indexed.save(target.with_suffix(".png"))
    return target.with_suffix(".png")


def container(image: np.ndarray, target: Path, rng: Rng) -> Path:
    """TIFF with lossless compression, or BMP."""
    result = target.with_suffix(str(rng.choice([".tif", ".bmp"])))
    Image.fromarray(image).save(result, **({"compression": "tiff_lzw"} if result.suffix == ".tif" else {}))
    return result


DISGUISES: dict[str, Callable[[np.ndarray, Path, Rng], Path]] = {
    "metadata": metadata, "interlaced": _magick("-interlace", "PNG", "PNG24"),
    "16 bits": _magick("-depth", "16", "PNG48"),
    "alpha": alpha, "rounding": rounding, "dither": dither, "palette or lossless WebP": palette, "container": container,
}  # fmt: skip


def disguise(name: str, image: np.ndarray, target: Path, rng: Rng) -> Path | None:
    """Write the copy; None where a program is missing or a pixel differs by more than a level."""
    if name in ("interlaced", "16 bits") and shutil.which(MAGICK) is None:
        return None
    path = DISGUISES[name](image, target, rng)
    return path if np.abs(read(path).astype(int) - image).max() <= 1 else None
