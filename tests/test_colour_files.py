"""Colour files of each format and mode are read as the rules of llise.images say, or refused with the remedy."""

import io

import numpy as np
import pytest
from PIL import Image, ImageCms
from samples import encoded, png_of_16_bits, tiff_of_16_bit_rgb

from llise.colours import pixels_of, planes_of, without_colour
from llise.images import ImageError, as_pixels, as_uint8, read_image

RNG = np.random.default_rng(3)
COLOURS = RNG.integers(0, 256, (24, 32, 3), dtype=np.uint8)
WAVES = np.arange(24)[:, None, None] / 9 + np.arange(32)[None, :, None] / 7 + np.arange(3)
SMOOTH = (128 + 90 * np.sin(WAVES)).astype(np.uint8)


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def saved(tmp_path, name, image, mode=None, **options):
    picture = Image.fromarray(image) if isinstance(image, np.ndarray) else image
    (picture.convert(mode) if mode else picture).save(tmp_path / name, **options)
    return tmp_path / name


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "BMP", "PPM"])
def test_eight_bit_colour_is_read_as_it_is(tmp_path, kind):
    path = written(tmp_path, f"a.{kind.lower()}", encoded(COLOURS, kind))
    assert np.array_equal(read_image(path, color=True), COLOURS)
    assert np.array_equal(read_image(path), as_uint8(COLOURS))


@pytest.mark.parametrize(
    ("name", "options"),
    [("a.webp", {"lossless": True}), ("a.jp2", {"irreversible": False}), ("a.j2k", {"irreversible": False})],
)
def test_lossless_webp_and_jpeg_2000_are_read_exactly(tmp_path, name, options):
    assert np.array_equal(read_image(saved(tmp_path, name, COLOURS, **options), color=True), COLOURS)


@pytest.mark.parametrize(("name", "options"), [("a.jpg", {"quality": 95}), ("a.avif", {"quality": 95})])
def test_lossy_colour_is_read_as_pillow_reads_it(tmp_path, name, options):
    path = saved(tmp_path, name, SMOOTH, **options)
    read = read_image(path, color=True)
    assert np.array_equal(read, np.asarray(Image.open(path).convert("RGB")))
    assert np.abs(read.astype(int) - SMOOTH).mean() < 6


def test_a_palette_has_the_colours_of_its_entries(tmp_path):
    palette = Image.fromarray(COLOURS).quantize(16)
    for name in ("p.png", "p.gif"):
        path = saved(tmp_path, name, palette)
        assert np.array_equal(read_image(path, color=True), np.asarray(palette.convert("RGB")))


def test_sixteen_bit_colour_keeps_the_upper_bits(tmp_path):
    deep = RNG.integers(0, 65536, (16, 16, 3)).astype(np.uint16)
    path = written(tmp_path, "deep.png", png_of_16_bits(deep))
    assert np.array_equal(read_image(path, color=True), deep >> 8)
    path = written(tmp_path, "deep.ppm", b"P6 16 16 65535\n" + deep.astype(">u2").tobytes())
    assert np.array_equal(read_image(path, color=True), np.rint(deep / 257))
    assert read_image(written(tmp_path, "deep.tif", tiff_of_16_bit_rgb()), color=True).shape[-1] == 3
    assert np.array_equal(as_pixels(deep), np.rint(deep / 257).astype(np.uint8))


def swapped_profile() -> bytes:
    """A profile whose red is the green of sRGB and the other way round."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    profile = profile.replace("sRGB".encode("utf-16-be"), "test".encode("utf-16-be"))
    return profile.replace(b"rXYZ", b"xXYZ", 1).replace(b"gXYZ", b"rXYZ", 1).replace(b"xXYZ", b"gXYZ", 1)


def test_an_embedded_profile_is_converted_to_srgb(tmp_path):
    red = np.full((8, 8, 3), (250, 0, 0), np.uint8)
    read = read_image(saved(tmp_path, "red.png", red, icc_profile=swapped_profile()), color=True)
    assert np.abs(read.astype(int) - (0, 250, 0)).max() <= 2
    own = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert np.array_equal(read_image(saved(tmp_path, "own.png", COLOURS, icc_profile=own), color=True), COLOURS)


def test_a_broken_profile_is_refused_with_the_remedy(tmp_path):
    path = saved(tmp_path, "broken.png", COLOURS, icc_profile=b"this is no profile" * 10)
    with pytest.raises(ImageError, match=r"colour profile cannot be used .*; convert it"):
        read_image(path, color=True)


def test_transparency_is_refused_or_laid_on_the_background(tmp_path):
    alpha = np.dstack([COLOURS, RNG.integers(0, 256, COLOURS.shape[:2], dtype=np.uint8)])
    path = saved(tmp_path, "clear.png", alpha)
    with pytest.raises(ImageError, match="--background"):
        read_image(path, color=True)
    read = read_image(path, color=True, background=(255, 255, 0))
    share = alpha[..., 3:] / 255
    assert np.abs(read - (share * COLOURS + (1 - share) * (255, 255, 0))).max() <= 1
    assert np.array_equal(read_image(saved(tmp_path, "la.png", alpha, "LA"), background=(0, 0, 0)).shape, (24, 32))


@pytest.mark.parametrize(("mode", "name"), [("CMYK", "a.tif"), ("LAB", "a.tif")])
def test_cmyk_and_lab_without_profile_are_refused_with_the_remedy(tmp_path, mode, name):
    picture = Image.new(mode, (16, 16))
    with pytest.raises(ImageError, match="; convert it to 8-bit sRGB"):
        read_image(saved(tmp_path, name, picture), color=True)


def test_a_heic_file_without_the_plug_in_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pillow_heif", None)
    path = written(tmp_path, "a.heic", b"\x00\x00\x00\x18ftypheic" + bytes(64))
    with pytest.raises(ImageError, match="pillow-heif"):
        read_image(path)


def test_planes_are_those_of_jpeg_and_of_scikit_image():
    from skimage.color import rgb2ycbcr

    planes = planes_of(COLOURS)
    pillow = np.asarray(Image.fromarray(COLOURS).convert("YCbCr"), float) - (0, 128, 128)
    assert np.abs(planes - pillow).max() < 1.01  # Pillow rounds down
    limited = (rgb2ycbcr(COLOURS) - (16, 128, 128)) * (255 / 219, 255 / 224, 255 / 224)
    assert np.abs(planes - limited).max() < 0.05
    assert np.allclose(pixels_of(planes), COLOURS, atol=1e-3)


def test_a_picture_without_colours_loses_its_channels():
    grey = COLOURS[..., 0]
    assert np.array_equal(without_colour(np.dstack([grey] * 3)), grey)
    assert without_colour(COLOURS) is COLOURS


def test_a_damaged_avif_or_jpeg_2000_is_refused(tmp_path):
    for name in ("a.avif", "a.jp2"):
        buffer = io.BytesIO()
        Image.fromarray(SMOOTH).save(buffer, "AVIF" if name.endswith("avif") else "JPEG2000")
        with pytest.raises(ImageError):
            read_image(written(tmp_path, name, buffer.getvalue()[: buffer.tell() // 3]))
