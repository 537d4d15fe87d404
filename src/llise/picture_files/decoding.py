"""Pixels of an opened picture: bit depth, colour profiles, transparency, orientation."""

from __future__ import annotations

import io
import os
import re
from typing import TYPE_CHECKING

import numpy as np

from llise.picture_files.tiff import bits_per_sample, is_signed

if TYPE_CHECKING:
    from PIL.Image import Image

CONVERT = "convert it to 8-bit sRGB"

NAMES = {"F": "floating point", "LAB": "Lab"}
"""How messages call modes of Pillow."""

Background = tuple[int, int, int]
"""Red, green and blue on which transparent pixels are laid."""


class PictureError(ValueError):
    """A picture whose pixels have no agreed meaning; the message says what to do, but not which file it is."""


def bit_depth(picture: Image, path: str | os.PathLike[str]) -> int:
    """Return the bits of each channel as stored in the file, which Pillow's mode does not contain."""
    if picture.format == "TIFF":
        return bits_per_sample(picture.tag_v2)  # type: ignore[attr-defined]
    with open(path, "rb") as file:
        header = file.read(4096)
    if picture.format == "PNG":
        return header[24]  # after signature (8 bytes), chunk length and name (8), width and height (8)
    if picture.format == "PPM":
        fields = re.sub(rb"#[^\n]*\n", b" ", header).split(None, 4)
        return 16 if fields[0] in (b"P2", b"P3", b"P5", b"P6") and int(fields[3]) > 255 else 8
    return 16 if picture.mode.startswith("I;16") else 8


def check_kind(picture: Image, path: str | os.PathLike[str]) -> None:
    """Refuse an opened file, before its pixels are decoded, that has no agreed meaning."""
    frames = getattr(picture, "n_frames", 1)
    if frames > 1:
        raise PictureError(f"holds {frames} pictures; save the one that you want to use as a separate file")
    if picture.mode in ("F", "LAB", "HSV"):
        what = "range" if picture.mode == "F" else "white point"
        raise PictureError(f"{NAMES.get(picture.mode, picture.mode)} pixels have no agreed {what}; {CONVERT}")
    if picture.mode == "CMYK" and not picture.info.get("icc_profile"):
        raise PictureError(f"CMYK pixels without a profile have no agreed colours; {CONVERT}, or embed the profile")
    depth, grey = bit_depth(picture, path), picture.mode.startswith("I")
    if depth not in (1, 2, 4, 8) and not (depth == 16 and (grey or picture.mode in ("RGB", "RGBA", "LA", "RGBX"))):
        raise PictureError(f"{depth}-bit grey has no agreed range; save it as 8-bit or 16-bit grey")
    if picture.format == "TIFF" and is_signed(picture.tag_v2):  # type: ignore[attr-defined]
        raise PictureError("signed samples have no agreed range; save it as 8-bit or 16-bit grey")


def color_of(name: object) -> Background:
    """Return the colour that a user named."""
    from PIL import ImageColor

    try:
        return ImageColor.getrgb(str(name))[:3]
    except ValueError:
        raise ValueError("expected a colour, by its name such as white or as #ffffff") from None


def pixels_of_file(picture: Image, path: str | os.PathLike[str], background: Background | None) -> np.ndarray:
    """Return the pixels of an opened picture, with the EXIF orientation applied."""
    from PIL import ImageOps

    depth = bit_depth(picture, path) if os.path.exists(path) else 8
    picture = ImageOps.exif_transpose(picture)
    if picture.mode.startswith("I"):
        values = np.asarray(picture)
        check_opaque(np.where(values == picture.info.get("transparency"), 0, 255))
        return values.astype(np.uint16)
    if picture.mode == "L" and "transparency" in picture.info:
        picture.info["transparency"] *= 255 // (2**depth - 1)  # Pillow scales the pixels but not this value
    profile = picture.info.get("icc_profile")
    if picture.has_transparency_data:
        picture = _laid_on(picture.convert("RGBA"), background)
    if picture.mode in ("1", "L"):
        return np.array(picture.convert("L"))  # a copy, because the array that Pillow returns is read-only
    picture = picture if picture.mode == "CMYK" else picture.convert("RGB")
    return np.array(_in_srgb(picture, profile) if profile else picture)


def check_opaque(alpha: np.ndarray) -> None:
    """Refuse transparent pixels."""
    if alpha.min() < 255:
        raise PictureError(
            "has transparent pixels, whose colour depends on the background; flatten it, or name a background "
            "(--background white)"
        )


def _laid_on(picture: Image, background: Background | None) -> Image:
    """The colours of a picture with transparency (RGBA), laid on a background."""
    from PIL import Image

    alpha = picture.getchannel("A")
    if background is None:
        check_opaque(np.asarray(alpha))
        return picture.convert("RGB")
    base = Image.new("RGBA", picture.size, (*background, 255))
    return Image.alpha_composite(base, picture).convert("RGB")


def _in_srgb(picture: Image, profile: bytes) -> Image:
    """A picture converted from its embedded profile to sRGB, with relative colorimetric intent."""
    from PIL import ImageCms

    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        if picture.mode == "RGB" and "srgb" in ImageCms.getProfileDescription(source).lower():
            return picture
        target = ImageCms.createProfile("sRGB")
        intent = ImageCms.Intent.RELATIVE_COLORIMETRIC
        converted = ImageCms.profileToProfile(picture, source, target, renderingIntent=intent, outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise PictureError(f"its colour profile cannot be used ({reason}); {CONVERT}, or remove the profile") from None
    assert converted is not None
    return converted
