"""Reading images from files and arrays as 8-bit grey or colour.

An image is converted by one of these rules, or refused with an error:

===================================  =====================================================================
8-bit grey                           as it is
black and white (1 bit)              0 and 255
palette and 8-bit colour             as it is; as grey the luma of BT.601, (299 R + 587 G + 114 B) / 1000, rounded
embedded colour profile              colours are converted to sRGB, relative colorimetric; refused if damaged
alpha, a transparent colour          dropped where every pixel is opaque; else laid on the background that was asked
                                     for, or refused
16-bit grey                          v / 257, rounded (0..65535 onto 0..255)
16-bit colour                        the upper 8 bits of PNG and TIFF; PPM and arrays as 16-bit grey
AVIF, JPEG 2000 of more than 8 bits  as the decoder scales them to 8 bits
CMYK                                 converted to sRGB by its embedded profile, refused without one
float, Lab, signed samples           refused
files that lack a part of a picture  refused
several pictures in a file           refused
EXIF orientation                     applied, so that the image is upright as in image viewers
===================================  =====================================================================
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from llise.picture_files.decoding import Background, PictureError, check_kind, check_opaque, pixels_of_file
from llise.picture_files.jpeg import check_jpeg
from llise.picture_files.png import check_png
from llise.picture_files.tiff import check_tiff

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "GIF", "PPM", "AVIF", "JPEG2000")
"""Formats that are read, besides HEIF where the package pillow-heif is installed."""

HEIF_SUFFIXES = (".heic", ".heif")
SUFFIXES = (
    ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".gif", ".pgm", ".ppm", ".avif", ".jp2", ".j2k", ".jpx",
    *HEIF_SUFFIXES,
)  # fmt: skip
"""Suffixes of the files that are read from a folder."""

CHECKS = {"PNG": check_png, "JPEG": check_jpeg, "MPO": check_jpeg}
"""Checks of a file's bytes by format."""


class ImageError(ValueError):
    """An image cannot be used.

    The message names the image and says what to do.
    """


def read_image(
    path: str | os.PathLike[str], *, color: bool = False, background: Background | None = None
) -> np.ndarray:
    """Read an image file as 8-bit grey or colour, by the rules of this module.

    Parameters
    ----------
    path : str or path
        PNG, JPEG, TIFF, BMP, WebP, GIF, PGM/PPM, AVIF, JPEG 2000, or HEIC where pillow-heif is installed.
    color : bool, default False
        Keep the colours of a colour image; otherwise it becomes grey.
    background : tuple of int, optional
        Red, green and blue on which transparent pixels are laid; they are refused if it is left out.

    Returns
    -------
    ndarray of uint8, shape (h, w), or (h, w, 3) for a colour image with ``color=True``

    Raises
    ------
    ImageError
        The file is missing, damaged, not an image, or of a kind that the rules refuse.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.new("L", (4, 2), color=7).save(f"{folder}/grey.png")
    ...     read_image(f"{folder}/grey.png").tolist()
    [[7, 7, 7, 7], [7, 7, 7, 7]]
    """
    pixels = read_pixels(path, background)
    return pixels if color else as_uint8(pixels)


def read_pixels(path: str | os.PathLike[str], background: Background | None = None) -> np.ndarray:
    """Read an image file as :func:`read_image` does, but keep its colours."""
    _check_file(Path(path))
    from PIL import Image

    formats = (*FORMATS, *_heif(Path(path)))
    try:
        # The warnings of Pillow are not caught here: filters belong to the process, and other threads have theirs.
        with Image.open(path, formats=formats) as picture:
            if picture.width * picture.height > (Image.MAX_IMAGE_PIXELS or np.inf):
                raise Image.DecompressionBombError
            check_kind(picture, path)
            picture.load()
            _check_complete(picture, path)
            return as_pixels(pixels_of_file(picture, path, background), str(path))
    except ImageError:
        raise
    except PictureError as error:
        raise ImageError(f"{path}: {error}") from None
    except Image.UnidentifiedImageError:
        heif = "; HEIC files need the package pillow-heif" if Path(path).suffix.lower() in HEIF_SUFFIXES else ""
        raise ImageError(
            f"{path}: not an image that can be read; use PNG, JPEG, TIFF, BMP, WebP or PPM{heif}"
        ) from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):  # the warning, where filters raise it
        raise ImageError(
            f"{path}: more than {Image.MAX_IMAGE_PIXELS} pixels, which may be a decompression bomb; "
            "cut or shrink the image first"
        ) from None
    except Exception as error:  # decoders of damaged files raise OSError, SyntaxError, struct.error and more
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ImageError(f"{path}: damaged or truncated ({reason}); copy or export the file again") from None


def _check_file(path: Path) -> None:
    """Refuse what is missing, empty, unreadable or not an ordinary file."""
    try:
        if path.is_dir():
            raise ImageError(f"{path}: is a folder; name an image file")
        if not path.exists():
            raise ImageError(f"{path}: no such file; check the name")
        if not path.is_file():
            raise ImageError(f"{path}: not an ordinary file; name an image file")
        if path.stat().st_size == 0:
            raise ImageError(f"{path}: empty file (0 bytes); copy or export it again")
        with path.open("rb"):
            pass
    except ImageError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ImageError(f"{path}: cannot be read ({reason}); check name and permissions") from None


def _heif(path: Path) -> tuple[str, ...]:
    """Pillow's name of the format of HEIC files, for one of them where the package that reads it is installed."""
    if path.suffix.lower() not in HEIF_SUFFIXES:
        return ()
    try:
        import pillow_heif
    except ImportError:
        return ()
    pillow_heif.register_heif_opener()
    return ("HEIF",)


def _check_complete(picture: Image, path: str | os.PathLike[str]) -> None:
    """Refuse a file that lacks a part of its picture, which Pillow leaves black or takes from elsewhere."""
    if picture.format == "TIFF":
        check_tiff(picture.tag_v2, os.path.getsize(path))  # type: ignore[attr-defined]
    elif picture.format in CHECKS:
        CHECKS[picture.format](Path(path).read_bytes())


def as_uint8(image: np.ndarray, name: str = "image") -> np.ndarray:
    """Convert an array to an 8-bit grey image by the same rules as files."""
    pixels = as_pixels(image, name)
    if pixels.ndim == 2:
        return pixels
    from PIL import Image

    return np.array(Image.fromarray(np.ascontiguousarray(pixels)).convert("L"))


def as_pixels(image: np.ndarray, name: str = "image") -> np.ndarray:
    """Convert an array to 8 bits as :func:`as_uint8` does, but keep its colours."""
    image = np.asarray(image)
    if not (image.ndim == 2 or (image.ndim == 3 and image.shape[2] in (3, 4))) or image.size == 0:
        raise ImageError(f"{name}: shape {image.shape}; expected (height, width) or (height, width, 3 or 4)")
    image = _to_8_bits(image, name)
    if image.ndim == 3 and image.shape[2] == 4:
        try:
            check_opaque(image[..., 3])
        except PictureError as error:
            raise ImageError(f"{name}: {error}") from None
        image = image[..., :3]
    return image


def _to_8_bits(image: np.ndarray, name: str) -> np.ndarray:
    """Values scaled from the range of an integer type, or from [0, 1], to 0..255."""
    if image.dtype == np.uint8:
        return image
    if image.dtype == np.uint16:
        return ((image.astype(np.uint32) + 128) // 257).astype(np.uint8)
    if image.dtype == bool:
        return image.astype(np.uint8) * np.uint8(255)
    if not np.issubdtype(image.dtype, np.floating):
        raise ImageError(f"{name}: dtype {image.dtype}; convert it to uint8 (0..255) or uint16 (0..65535)")
    if not np.isfinite(image).all():
        raise ImageError(f"{name}: contains NaN or infinity; replace those pixels")
    if image.min() < 0 or image.max() > 1:
        raise ImageError(
            f"{name}: floats {image.min():.6g} to {image.max():.6g}; scale them to [0, 1] or convert to uint8"
        )
    return np.rint(image * 255.0).astype(np.uint8)


def image_files(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """List image files, with each folder replaced by the images in it."""
    files: list[Path] = []
    for path in map(Path, paths):
        if not os.path.isdir(path):  # os.path, unlike Path, answers for impossible names too
            files.append(path)
            continue
        try:
            with os.scandir(path) as entries:
                images = sorted(path / entry.name for entry in entries if _is_image(entry))
        except OSError as error:
            raise ImageError(f"{path}: folder cannot be read ({error.strerror}); check permissions") from None
        if not images:
            raise ImageError(f"{path}: folder without images; expected files named {', '.join(SUFFIXES)}")
        files += images
    return files


def _is_image(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a folder is read as an image; one that cannot be examined is, so that it is reported."""
    if entry.name.startswith(".") or not entry.name.lower().endswith(SUFFIXES):
        return False
    try:
        return entry.is_file()
    except OSError:
        return True


def check_same_size(reference: np.ndarray, image: np.ndarray, name: str = "image") -> None:
    """Refuse an image whose size differs from that of the reference; images are never resized."""
    if image.shape[:2] != reference.shape[:2]:
        raise ImageError(
            f"{name}: {_size(image)} pixels, but the reference has {_size(reference)}; "
            "crop or resize one of them so that pixels correspond"
        )


def check_reference(reference: np.ndarray, block_size: int = 8, name: str = "reference") -> None:
    """Refuse a reference that has no structure to compare with: smaller than a block, or constant."""
    if min(reference.shape) < block_size:
        raise ImageError(
            f"{name}: {_size(reference)} pixels, smaller than a block of {block_size} x {block_size}; "
            "use a larger image"
        )
    if reference.min() == reference.max():
        raise ImageError(f"{name}: all pixels are {reference.flat[0]}; use a reference with content")


def _size(image: np.ndarray) -> str:
    return f"{image.shape[1]} x {image.shape[0]}"
