"""Files that Pillow reads though a part of the picture is missing: each is told apart from a file that is whole."""

import numpy as np
import pytest
from PIL import Image

from attacks.picture_bytes import encoded, png, png_rows, scan_data, scene, tiff, without, zeroed
from attacks.pictures import JPEG_OPTIONS
from llise.picture_files import huffman
from llise.picture_files.huffman import CodeTable
from llise.picture_files.jpeg import check_jpeg
from llise.picture_files.png import check_png
from llise.picture_files.tiff import check_tiff

SIZES = [(8, 8), (9, 7), (16, 33), (100, 1), (131, 77)]


@pytest.mark.parametrize("options", JPEG_OPTIONS.values(), ids=JPEG_OPTIONS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_whole_jpeg_of_any_size_and_coding_passes(options, size):
    image = scene(*size)
    check_jpeg(encoded(image, "JPEG", **options))
    for subsampling in (0, 1, 2):
        colour = np.dstack([image, image[::-1], image])
        check_jpeg(encoded(colour, "JPEG", **{**options, "subsampling": subsampling}))


@pytest.mark.parametrize("options", JPEG_OPTIONS.values(), ids=JPEG_OPTIONS)
def test_a_jpeg_with_a_lost_or_zeroed_middle_is_refused_wherever_it_is(options):
    whole = encoded(scene(160, 160), "JPEG", **options)
    start, end = scan_data(whole)
    length = (end - start) // 8
    for at in np.linspace(start + 1, end - length - 1, 12).astype(int):
        for damaged in (without(whole, at, length), zeroed(whole, at, length)):
            with pytest.raises(ValueError, match="JPEG"):
                check_jpeg(damaged)


@pytest.mark.parametrize("options", JPEG_OPTIONS.values(), ids=JPEG_OPTIONS)
def test_results_do_not_depend_on_how_data_are_cut_into_chunks(options, monkeypatch):
    monkeypatch.setattr(huffman, "CHUNK", 1000)
    noise = np.random.default_rng(0).integers(0, 256, (160, 160)).astype(np.uint8)
    whole = encoded(noise, "JPEG", **options)
    assert len(whole) > 3 * huffman.CHUNK
    check_jpeg(whole)
    with pytest.raises(ValueError, match="JPEG"):
        check_jpeg(without(whole, len(whole) // 2, 1000))


@pytest.mark.parametrize("counts", [[3], [2, 1], [0, 2, 5], [1, 1, 1, 3]], ids=str)
def test_a_code_table_with_more_codes_than_bits_can_tell_apart_is_refused(counts):
    with pytest.raises(ValueError, match="code table"):
        CodeTable(bytes(counts).ljust(16, b"\0"), bytes(sum(counts)))


def test_a_code_table_with_too_few_symbols_is_refused():
    with pytest.raises(ValueError, match="code table"):
        CodeTable(bytes([0, 2]).ljust(16, b"\0"), b"\0")


@pytest.mark.parametrize(("depth", "color"), [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (8, 2), (8, 4), (16, 6)])
@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("size", [(1, 1), (3, 5), (8, 8), (13, 21)], ids=str)
def test_a_png_with_one_byte_less_than_its_rows_need_is_refused(depth, color, interlaced, size):
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[color]
    values = np.random.default_rng(0).integers(0, 2**depth, (*size, channels))
    rows = png_rows(values, depth, interlaced)
    check_png(png(values, depth, color, interlaced=interlaced))
    with pytest.raises(ValueError, match=f"has {len(rows) - 1} of {len(rows)} bytes"):
        check_png(png(values, depth, color, interlaced=interlaced, rows=rows[:-1]))


def test_a_tiff_in_tiles_needs_all_of_them():
    tags = {256: 100, 257: 40, 258: (8,), 259: 1, 322: 64, 323: 32, 324: (10, 20, 30, 40), 325: (2048,) * 4}
    check_tiff(tags, 10_000)
    for tag, value, reason in [
        (324, (10, 20, 30), "3 of 4"),
        (324, (10, 0, 30, 40), "is missing"),
        (325, (2048, 2048, 2047, 2048), "too short"),
        (257, 65, "4 of 6"),
    ]:
        with pytest.raises(ValueError, match=reason):
            check_tiff({**tags, tag: value}, 10_000)


def test_separate_planes_have_strips_of_their_own(tmp_path):
    image = scene(32, 32)
    planes = np.concatenate([image, image, image])
    tags = {257: 32, 262: 2, 277: 3, 258: [8, 8, 8], 284: 2, 339: [1, 1, 1]}
    (tmp_path / "planes.tif").write_bytes(tiff(planes, tags))
    with Image.open(tmp_path / "planes.tif") as picture:
        check_tiff(picture.tag_v2, (tmp_path / "planes.tif").stat().st_size)
        with pytest.raises(ValueError, match="of 6 strips"):
            check_tiff({**picture.tag_v2, 273: picture.tag_v2[273][:4]}, 10_000)
