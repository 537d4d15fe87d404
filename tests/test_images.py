"""Images are read as the rules of llise.images say, or refused by name."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from samples import BAD_FILES, encoded, picture, png_of_16_bits, with_alpha, write_bad_file

from llise.images import ImageError, as_uint8, check_reference, check_same_size, image_files, read_image


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "BMP", "PPM", "GIF"])
def test_eight_bit_grey_is_read_as_it_is(tmp_path, kind):
    image = picture()
    assert np.array_equal(read_image(written(tmp_path, f"a.{kind.lower()}", encoded(image, kind))), image)


@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
def test_lossy_formats_are_read_close_to_the_original(tmp_path, kind):
    image = picture()
    read = read_image(written(tmp_path, "a.img", encoded(image, kind, quality=95)))
    assert read.dtype == np.uint8 and read.shape == image.shape
    assert np.abs(read.astype(int) - image).max() < 40


def test_the_array_read_can_be_written_to(tmp_path):
    image = read_image(written(tmp_path, "a.png", encoded(picture())))
    image[0, 0] = 7
    assert image[0, 0] == 7


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused_by_name_in_one_line(tmp_path, name):
    path = write_bad_file(tmp_path, name)
    with pytest.raises(ImageError) as caught:
        read_image(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and BAD_FILES[name][1] in message
    assert "\n" not in message and ";" in message  # the remedy follows the semicolon


@pytest.mark.parametrize("cut", [0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "BMP", "WEBP", "GIF", "PPM"])
def test_a_truncated_file_is_refused(tmp_path, kind, cut):
    whole = encoded(picture(), kind)
    with pytest.raises(ImageError):
        read_image(written(tmp_path, "cut.img", whole[: int(cut * len(whole))]))


def test_missing_file_folder_pipe_and_impossible_name_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, reason in [
        ("absent.png", "no such file"),
        (".", "is a folder"),
        ("pipe", "not an ordinary file"),
    ]:
        with pytest.raises(ImageError, match=reason):
            read_image(tmp_path / path)
    with pytest.raises(ImageError):
        read_image("a\0b")


def test_sixteen_bit_grey_is_scaled_with_rounding_not_saturated(tmp_path):
    image = np.random.default_rng(0).integers(0, 65536, (32, 32)).astype(np.uint16)
    image[0, :4] = [0, 128, 129, 65535]
    expected = np.rint(image / 257.0).astype(np.uint8)
    assert expected[0, :4].tolist() == [0, 0, 1, 255]
    netpbm = b"P5\n# a comment\n32 32\n65535\n" + image.astype(">u2").tobytes()
    contents = [png_of_16_bits(image), encoded(image, "TIFF"), netpbm]
    for number, content in enumerate(contents):
        assert np.array_equal(read_image(written(tmp_path, f"{number}.img", content)), expected)


def test_a_pgm_of_twelve_bits_uses_its_own_range(tmp_path):
    image = np.arange(4096, dtype=">u2").reshape(64, 64)
    read = read_image(written(tmp_path, "a.pgm", b"P5 64 64 4095\n" + image.tobytes()))
    assert np.abs(read - image / 4095.0 * 255).max() <= 0.51


def test_colour_and_palette_become_luma_of_bt601(tmp_path):
    colour = np.random.default_rng(0).integers(0, 256, (16, 16, 3)).astype(np.uint8)
    expected = colour @ np.array([0.299, 0.587, 0.114])
    assert np.abs(read_image(written(tmp_path, "a.png", encoded(colour))) - expected).max() <= 0.51
    palette = Image.fromarray(colour).quantize(16)
    palette.save(tmp_path / "p.png")
    assert Image.open(tmp_path / "p.png").mode == "P"
    expected = np.asarray(palette.convert("RGB")) @ np.array([0.299, 0.587, 0.114])
    assert np.abs(read_image(tmp_path / "p.png") - expected).max() <= 0.51


def test_grey_stored_as_colour_keeps_its_values(tmp_path):
    image = picture()
    assert np.array_equal(read_image(written(tmp_path, "a.png", encoded(np.dstack([image] * 3)))), image)


def test_opaque_alpha_is_dropped(tmp_path):
    assert np.array_equal(read_image(written(tmp_path, "a.png", encoded(with_alpha(255)))), picture())


def test_a_palette_with_a_transparent_colour_in_use_is_refused(tmp_path):
    Image.fromarray(picture()).convert("P").save(tmp_path / "p.png", transparency=int(picture()[0, 0]))
    with pytest.raises(ImageError, match="transparent"):
        read_image(tmp_path / "p.png")


def test_black_and_white_becomes_0_and_255(tmp_path):
    image = picture() > 127
    assert np.array_equal(read_image(written(tmp_path, "a.png", encoded(image))), image * np.uint8(255))


def test_exif_orientation_is_applied(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # rotate by 90 degrees clockwise to view
    image = picture(32, 64)
    Image.fromarray(image).save(tmp_path / "turned.png", exif=exif)
    assert np.array_equal(read_image(tmp_path / "turned.png"), np.rot90(image, -1))


def test_signed_and_inverted_16_bit_tiff_are_refused(tmp_path):
    image = picture().astype(np.uint16) * 257
    for tag, value in [(339, 2), (262, 0)]:
        content = bytearray(encoded(image, "TIFF", tiffinfo={339: 1}))
        entry = content.index(np.array([tag, 3], "<u2").tobytes() + np.array([1], "<u4").tobytes())
        content[entry + 8 : entry + 10] = np.array([value], "<u2").tobytes()
        with pytest.raises(ImageError, match="no agreed range"):
            read_image(written(tmp_path, "odd.tif", bytes(content)))


def test_arrays_follow_the_same_rules():
    image = picture()
    assert as_uint8(image) is image
    assert np.array_equal(as_uint8(image.astype(np.uint16) * 257), image)
    assert np.array_equal(as_uint8(image / 255.0), image)
    assert np.array_equal(as_uint8(image > 99), (image > 99) * np.uint8(255))
    assert np.array_equal(as_uint8(np.dstack([image] * 3)), image)
    assert np.array_equal(as_uint8(with_alpha(255)), image)


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (picture().astype(float), "scale them"),
        (np.full((8, 8), np.nan), "NaN"),
        (picture().astype(np.int64), "dtype int64"),
        (with_alpha(3), "transparent"),
        (np.zeros((2, 8, 8), np.uint8), "shape"),
        (np.zeros((0, 8), np.uint8), "shape"),
        (np.zeros(64, np.uint8), "shape"),
    ],
)
def test_arrays_of_unclear_meaning_are_refused(image, reason):
    with pytest.raises(ImageError, match=reason):
        as_uint8(image)


def test_a_folder_is_its_images_in_order_of_name(tmp_path):
    for name in ["b.PNG", "a.jpg", "notes.txt", ".hidden.png"]:
        written(tmp_path, name, b"x")
    (tmp_path / "folder.png").mkdir()
    assert image_files([tmp_path, "other.xyz"]) == [
        tmp_path / "a.jpg",
        tmp_path / "b.PNG",
        type(tmp_path)("other.xyz"),
    ]


def test_a_folder_without_images_is_an_error(tmp_path):
    with pytest.raises(ImageError, match="folder without images"):
        image_files([tmp_path])


def test_sizes_that_differ_are_both_named():
    with pytest.raises(ImageError, match=r"x\.png: 64 x 32 pixels, but the reference has 32 x 32"):
        check_same_size(picture(32, 32), picture(32, 64), "x.png")
    check_same_size(picture(32, 32), picture(32, 32, seed=1))


def test_a_reference_needs_content_and_at_least_one_block():
    with pytest.raises(ImageError, match="4 x 4 pixels, smaller than a block"):
        check_reference(picture(4, 4))
    with pytest.raises(ImageError, match="all pixels are 9"):
        check_reference(np.full((64, 64), 9, np.uint8))
    check_reference(picture())


KINDS_OF_FILE = {kind: encoded(picture(24, 24), kind) for kind in ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "GIF", "PPM")}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_file_gives_an_image_or_an_image_error(tmp_path, data):
    content = bytearray(KINDS_OF_FILE[data.draw(st.sampled_from(sorted(KINDS_OF_FILE)))])
    for _ in range(data.draw(st.integers(1, 5))):
        # Headers are hit more often than pixels.
        where = data.draw(st.integers(0, min(80, len(content) - 1)) | st.integers(0, len(content) - 1))
        content[where] = data.draw(st.integers(0, 255))
    try:
        image = read_image(written(tmp_path, "fuzzed.img", bytes(content)))
    except ImageError as error:
        assert "\n" not in str(error)
    else:
        assert image.dtype == np.uint8 and image.ndim == 2 and image.size > 0
