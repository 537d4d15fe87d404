"""Image files of more than 200 kinds as reference and as copy: the good ones are read right, the others refused."""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, TiffImagePlugin

from attacks import picture_bytes as build
from attacks.picture_bytes import chunk, encoded, png, png_rows, tiff, without, zeroed
from attacks.program import call
from llise.images import ImageError, read_image

NAME = "pictures"
SIDE = 64
GOOD, BAD, ANY = "good", "bad", "any"
"""A file must be read right, must be refused, or may be either, as long as it is one of the two."""

Kind = tuple[str, bytes, str]
CUTS = (0.02, 0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95)
JPEG_OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "best": {"quality": 98, "subsampling": 0},
    "small": {"quality": 30, "optimize": True},
    "progressive": {"progressive": True, "quality": 85},
    "restarts": {"restart_marker_rows": 1},
    "progressive-restarts": {"progressive": True, "restart_marker_blocks": 5},
    "subsampled": {"subsampling": 2, "quality": 92},
}


def kinds(image: np.ndarray) -> Iterator[Kind]:
    """Name, content and expectation of every kind of file of a picture."""
    yield from _good(image)
    yield from _good_jpegs(image)
    yield from _cut(image)
    yield from _damaged_png(image)
    yield from _damaged_jpeg(image)
    yield from _damaged_tiff(image)
    yield from _of_other_meaning(image)
    yield from _of_other_programs(image)


def _good(image: np.ndarray) -> Iterator[Kind]:
    colour, wide = np.dstack([image] * 3), image.astype(np.uint16) * 257
    opaque = np.dstack([colour, np.full_like(image, 255)])
    for depth in (8, 16):
        values = image if depth == 8 else wide
        for interlaced in (False, True):
            name = f"grey{depth}{'-interlaced' if interlaced else ''}.png"
            yield name, png(values, depth, interlaced=interlaced), GOOD
    yield "parts.png", png(image, parts=7), GOOD
    yield "colour.png", png(colour, 8, 2), GOOD
    yield "opaque.png", png(opaque, 8, 6), GOOD
    yield "unused-transparent.png", png(wide, 16, more=chunk(b"tRNS", b"\x01\x02")), GOOD
    yield "text.png", png(image, more=chunk(b"tEXt", b"Comment\0a text")), GOOD
    yield "trailing.png", png(image) + b"more bytes", GOOD
    yield "more-rows.png", png(image, rows=png_rows(image, 8) + bytes(65)), GOOD
    for kind in ("BMP", "GIF", "PPM", "TIFF", "PNG"):
        yield f"plain.{kind.lower()}", encoded(image, kind), GOOD
    yield "colour.bmp", encoded(colour, "BMP"), GOOD
    yield "colour.ppm", encoded(colour, "PPM"), GOOD
    yield "colour.tif", encoded(colour, "TIFF"), GOOD
    yield "lossless.webp", encoded(colour, "WEBP", lossless=True), GOOD
    yield "interlaced.gif", encoded(image, "GIF", interlace=1), GOOD
    yield "strips.tif", tiff(image), GOOD
    yield "strips16.tif", tiff(wide), GOOD
    yield "strips-colour.tif", tiff(colour), GOOD
    yield "one-strip.tif", tiff(image, rows_per_strip=len(image)), GOOD
    yield "last-strip-short.tif", tiff(image, rows_per_strip=len(image) - 5), GOOD
    yield "no-rows-per-strip.tif", tiff(image, {278: None}, rows_per_strip=len(image)), GOOD
    yield "huge-rows-per-strip.tif", tiff(image, {278: 2**32 - 1}, rows_per_strip=len(image)), GOOD
    for compression in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "tiff_deflate"):
        yield f"{compression}.tif", encoded(image, "TIFF", compression=compression), GOOD
        yield f"{compression}16.tif", encoded(wide, "TIFF", compression=compression), GOOD
    plain = b" ".join(b"%d" % value for value in image.ravel())
    yield "ascii.pgm", b"P2 %d %d 255\n" % image.shape[::-1] + plain, GOOD
    yield "comment.pgm", b"P5\n# a comment\n%d %d\n255\n" % image.shape[::-1] + image.tobytes(), GOOD


def _good_jpegs(image: np.ndarray) -> Iterator[Kind]:
    """JPEG changes pixels: that they are read is all that is asked."""
    colour = np.dstack([image, image[::-1], image])
    exif = Image.Exif()
    exif[0x010E] = "a description"
    for name, options in JPEG_OPTIONS.items():
        yield f"grey-{name}.jpg", encoded(image, "JPEG", **options), GOOD
        yield f"colour-{name}.jpg", encoded(colour, "JPEG", **options), GOOD
    whole = encoded(colour, "JPEG")
    thumbnail = b"\xff\xe1" + (2 + len(whole) + 6).to_bytes(2, "big") + b"Exif\0\0" + whole
    yield "exif.jpg", encoded(image, "JPEG", exif=exif), GOOD
    yield "comment.jpg", encoded(image, "JPEG", comment=b"\xff\xd9 not the end"), GOOD
    yield "trailing.jpg", whole + b"more bytes", GOOD
    yield "trailing-picture.jpg", whole + whole, GOOD
    yield "picture-in-a-segment.jpg", whole[:2] + thumbnail + whole[2:], GOOD
    _, end = build.scan_data(whole)
    yield "fill-bytes.jpg", whole[:end] + b"\xff\xff\xff" + whole[end:], GOOD
    yield "padding.jpg", whole[:end] + bytes(100) + whole[end:], GOOD


def _cut(image: np.ndarray) -> Iterator[Kind]:
    files = {kind.lower(): encoded(image, kind) for kind in ("PNG", "BMP", "GIF", "PPM", "TIFF")}
    files |= {f"{name}.jpg": encoded(image, "JPEG", **options) for name, options in JPEG_OPTIONS.items()}
    files["webp"] = encoded(image, "WEBP", quality=90)
    files["lossless.webp"] = encoded(image, "WEBP", lossless=True)
    files["interlaced.png"] = png(image, interlaced=True)
    files["lzw.tif"] = encoded(image, "TIFF", compression="tiff_lzw")
    files["strips.tif"] = tiff(image)
    for name, whole in files.items():
        for cut in CUTS:
            yield f"cut-{cut}.{name}", whole[: int(cut * len(whole))], BAD


def _damaged_png(image: np.ndarray) -> Iterator[Kind]:
    whole = png(image, parts=4)
    pieces = [at for at in range(len(whole)) if whole.startswith(b"IDAT", at)]
    for rows in (0, 1, len(image) // 2, len(image) - 1):
        yield f"{rows}-rows.png", png(image, rows=png_rows(image[:rows], 8)), BAD
        yield f"{rows}-rows-interlaced.png", png(image, interlaced=True, rows=png_rows(image[:rows], 8)), BAD
        yield f"{rows}-rows16.png", png(image, 16, rows=png_rows(image[:rows], 16)), BAD
    yield "short-row.png", png(image, rows=png_rows(image, 8)[:-1]), BAD
    for number, at in enumerate(pieces):
        length = int.from_bytes(whole[at - 4 : at], "big")
        yield f"without-part-{number}.png", without(whole, at - 4, length + 12), BAD
        yield f"flipped-{number}.png", whole[: at + 20] + bytes([whole[at + 20] ^ 4]) + whole[at + 21 :], BAD
        yield f"checksum-{number}.png", zeroed(whole, at + 4 + length, 4), BAD
        yield f"zeroed-{number}.png", zeroed(whole, at + 10, length // 2), BAD
    yield "no-end.png", whole[:-12], BAD
    yield "no-pixels.png", whole[:33] + whole[-12:], BAD
    yield "no-header.png", whole[:8] + whole[33:], BAD
    yield "two-headers.png", whole[:33] + whole[8:], ANY
    for side in (0, 2**31 - 1, 2**32 - 1):
        header = side.to_bytes(4, "big") + whole[20:29]
        yield f"width-{side}.png", whole[:8] + chunk(b"IHDR", header) + whole[33:], BAD
    for at, values in ((24, (0, 3, 5, 99)), (25, (1, 5, 9)), (26, (1,)), (27, (1,))):
        for value in values:
            header = whole[16:at] + bytes([value]) + whole[at + 1 : 29]
            yield f"header-{at}-{value}.png", whole[:8] + chunk(b"IHDR", header) + whole[33:], ANY


def _damaged_jpeg(image: np.ndarray) -> Iterator[Kind]:
    large = build.scene(160, 160, 3)
    for name, options in JPEG_OPTIONS.items():
        small = encoded(image, "JPEG", **options)
        whole = encoded(np.dstack([large, large[::-1], large.T]), "JPEG", **options)
        start, end = build.scan_data(whole)
        for part in (0.2, 0.5, 0.8):
            at = int(start + part * (end - start))
            yield f"lost-{name}-{part}.jpg", without(whole, at, (end - start) // 8), BAD
            yield f"zeroed-{name}-{part}.jpg", zeroed(whole, at, (end - start) // 8), BAD
        yield f"no-data-{name}.jpg", whole[:start] + whole[end:], BAD
        yield f"no-end-{name}.jpg", small[:-2], BAD
        yield f"no-tables-{name}.jpg", without(whole, whole.index(b"\xff\xc4"), start - whole.index(b"\xff\xc4")), BAD
    restarts = encoded(large, "JPEG", restart_marker_rows=1)
    first, second = restarts.index(b"\xff\xd0"), restarts.index(b"\xff\xd1")
    yield "lost-interval.jpg", without(restarts, first, second - first), BAD
    yield "lost-last-interval.jpg", restarts[: restarts.rindex(b"\xff\xd1")] + b"\xff\xd9", BAD
    progressive = encoded(large, "JPEG", progressive=True)
    last = progressive.rindex(b"\xff\xda")
    yield "lost-scan.jpg", progressive[: progressive.rindex(b"\xff\xc4", 0, last)] + b"\xff\xd9", BAD
    yield "arithmetic-frame.jpg", encoded(image, "JPEG").replace(b"\xff\xc0", b"\xff\xc9", 1), ANY


def _damaged_tiff(image: np.ndarray) -> Iterator[Kind]:
    strips = len(image) // 16
    places, sizes = [8 + 16 * image.shape[1] * n for n in range(strips)], [16 * image.shape[1]] * strips
    for number in range(strips):
        for name, value in (("zero", 0), ("short", sizes[0] - 1), ("very-short", 3)):
            changed = sizes.copy()
            changed[number] = value
            yield f"{name}-{number}.tif", tiff(image, {279: changed}), BAD
        for name, value in (("no-place", 0), ("beyond", 10**6), ("far-beyond", 2**32 - 1)):
            changed = places.copy()
            changed[number] = value
            yield f"{name}-{number}.tif", tiff(image, {273: changed}), BAD
        yield f"{number}-strips.tif", tiff(image, {273: places[:number] or None, 279: sizes[:number] or None}), BAD
        yield f"{number}-sizes.tif", tiff(image, {279: sizes[:number] or None}), BAD
    yield "taller.tif", tiff(image, {257: len(image) + 1}), BAD
    yield "much-taller.tif", tiff(image, {257: 10 * len(image)}), BAD
    yield "wider.tif", tiff(image, {256: image.shape[1] + 3}), BAD
    yield "no-rows.tif", tiff(image, {278: 0}), BAD
    yield "no-size.tif", tiff(image, {256: 0}), BAD
    for compression in ("tiff_lzw", "tiff_adobe_deflate", "packbits"):
        whole = encoded(build.scene(160, 160, 3), "TIFF", compression=compression)
        yield f"zeroed-{compression}.tif", zeroed(whole, len(whole) // 2, 400), ANY


def _of_other_meaning(image: np.ndarray) -> Iterator[Kind]:
    """Whole files whose conversion to 8-bit grey would lose or invent something."""
    wide, middle = image.astype(np.uint16) * 257, int(image[5, 5])
    for depth in (1, 2, 4):
        values = image >> 8 - depth
        yield f"transparent{depth}.png", png(values, depth, more=chunk(b"tRNS", b"\0" + bytes([values[5, 5]]))), BAD
    yield "transparent8.png", png(image, more=chunk(b"tRNS", bytes([0, middle]))), BAD
    yield "transparent16.png", png(wide, 16, more=chunk(b"tRNS", bytes([middle, middle]))), BAD
    yield "transparent-colour.png", png(np.dstack([image] * 3), 8, 2, more=chunk(b"tRNS", bytes([0, middle] * 3))), BAD
    alpha = np.dstack([image] * 3 + [np.full_like(image, 254)])
    yield "alpha.png", png(alpha, 8, 6), BAD
    yield "alpha.webp", encoded(alpha, "WEBP", lossless=True), BAD
    yield "colour16.png", png(np.dstack([wide] * 3), 16, 2), GOOD
    yield "cmyk.jpg", encoded(Image.fromarray(image).convert("CMYK"), "JPEG"), BAD
    yield "cmyk.tif", encoded(Image.fromarray(image).convert("CMYK"), "TIFF"), BAD
    yield "lab.tif", encoded(Image.fromarray(np.dstack([image] * 3)).convert("LAB"), "TIFF"), BAD
    yield "ycbcr.tif", encoded(Image.fromarray(image).convert("YCbCr"), "TIFF"), GOOD
    yield "float.tif", encoded(image.astype(np.float32), "TIFF"), BAD
    yield "int32.tif", encoded(image.astype(np.int32), "TIFF"), BAD
    for number in (2, 3, 5, 6):
        yield f"format-{number}-8.tif", tiff(image, {339: number}), BAD
        yield f"format-{number}-16.tif", tiff(wide, {339: number}), BAD
    yield "inverted16.tif", tiff(wide, {262: 0}), BAD
    for kind in ("GIF", "PNG", "TIFF", "WEBP"):
        more = [Image.fromarray(image[::-1])]
        yield f"several.{kind.lower()}", encoded(image, kind, save_all=True, append_images=more), BAD
    yield "several.jpg", encoded(image, "MPO", save_all=True, append_images=[Image.fromarray(image[::-1])]), BAD
    yield "rows.gif", build.gif_of_rows(image, 20), BAD


def _of_other_programs(image: np.ndarray) -> Iterator[Kind]:
    starts = {
        "empty": b"",
        "text": b"this is not an image\n",
        "html": b"<!doctype html><script>alert(1)</script>",
        "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        "pdf": b"%PDF-1.7\n" + bytes(300),
        "zip": b"PK\3\4" + bytes(300),
        "gzip": b"\x1f\x8b" + bytes(300),
        "elf": b"\x7fELF" + bytes(300),
        "zeros": bytes(5000),
        "signature.png": b"\x89PNG\r\n\x1a\n",
        "signature.jpg": b"\xff\xd8\xff",
        "signature.gif": b"GIF89a",
        "signature.bmp": b"BM",
        "signature.tif": b"II*\0",
        "bigtiff": b"II+\0\x08\0\0\0" + bytes(100),
        "signature.webp": b"RIFF\x10\0\0\0WEBPVP8 ",
        "numpy": b"\x93NUMPY\1\0" + bytes(300),
    }
    for name, content in starts.items():
        yield f"{name}.img", content, BAD
    for kind in ("ICO", "TGA", "PCX", "SGI", "JPEG2000", "AVIF", "EPS"):
        with contextlib.suppress(KeyError, OSError, ValueError):  # the format is not in this build of Pillow
            yield f"other.{kind.lower()}", encoded(image, kind), ANY if kind in ("JPEG2000", "AVIF") else BAD
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    tags[270] = "x" * 70_000
    yield "long-tag.tif", encoded(image, "TIFF", tiffinfo=tags), ANY


def wrong_reading(path: Path, image: np.ndarray, expected: str) -> str | None:
    """What is wrong with how a file is read, or None."""
    try:
        pixels = read_image(path)
    except ImageError as error:
        if "\n" in str(error) or not str(error).startswith(f"{path}: "):
            return f"{path.name}: the message {error!r} is not one line with the name"
        return f"{path.name}: refused: {error}" if expected == GOOD else None
    except Exception as error:
        return f"{path.name}: {type(error).__name__}: {error}"
    if expected == BAD:
        return f"{path.name}: read, though it is damaged or has another meaning"
    exact = path.suffix != ".jpg"
    if expected == GOOD and (pixels.shape != image.shape or (exact and not np.array_equal(pixels, image))):
        return f"{path.name}: read, but with other pixels"
    return None


def wrong_command(reference: Path, copy: Path, expected: str) -> str | None:
    """What is wrong with the exit status and the output of a diagnosis, or None."""
    command = ["diagnose", str(reference), str(copy), "--json", "--quiet"]
    status, out, errors = call(reference.parent, command)
    name = f"{reference.name} and {copy.name}"
    if expected != ANY and status != (0 if expected == GOOD else 1):
        return f"{name}: exit status {status}: {errors.strip()}"
    if "Traceback" in errors or (status and errors.count("\n") != 1):
        return f"{name}: {errors.strip()}"
    if not status and len(json.loads(out)["images"]) != 1:
        return f"{name}: {out}"
    return None


def run(scale: float, rng: np.random.Generator, folder: Path) -> tuple[int, list[str]]:
    """Try every kind of file at full scale, as reference and as copy; fewer of them at a smaller one."""
    image = build.scene(SIDE, SIDE)
    (folder / "other.png").write_bytes(encoded(image, "PNG"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of some of the damage as well
        return _run(scale, rng, folder, image)


def _run(scale: float, rng: np.random.Generator, folder: Path, image: np.ndarray) -> tuple[int, list[str]]:
    tried, failures = 0, []
    for name, content, expected in kinds(image):
        if rng.random() > scale:
            continue
        path = folder / name
        path.write_bytes(content)
        size_differs = expected != BAD and _size(content) != image.shape
        answers = [wrong_reading(path, image, expected)]
        if not size_differs:
            answers.append(wrong_command(path, folder / "other.png", expected))
            answers.append(wrong_command(folder / "other.png", path, expected))
        tried += len(answers)
        failures += [answer for answer in answers if answer]
        path.unlink()
    return tried, failures


def _size(content: bytes) -> tuple[int, ...]:
    with contextlib.suppress(Exception), Image.open(io.BytesIO(content)) as picture:
        return picture.size[::-1]
    return ()
