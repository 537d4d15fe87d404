"""Faults of colour are named, kinds of the luma keep their names in colour, measures are those of libraries."""

import io
import json
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from faulty import block_means, blocks_of, check_measured, coded, distorted, judge, overlap, rounded, signature
from PIL import Image
from skimage import data
from skimage.color import deltaE_ciede2000, rgb2lab
from skimage.metrics import structural_similarity

import llise
from llise.cli.main import commands
from llise.colours import pixels_of, planes_of
from llise.images import as_uint8
from llise.labels import COLOR_KINDS, KINDS
from llise.output.rows import Csv, Json, Table

PICTURE = np.ascontiguousarray(data.astronaut()[20:212, 120:312])
CUP = np.ascontiguousarray(data.coffee()[60:252, 120:312])
BOX = slice(48, 144), slice(40, 160)


def test_strong_faults_of_colour_are_named_alone():
    cases = [(picture, kind) for picture in (PICTURE, CUP) for kind in COLOR_KINDS]
    right = 0
    for picture, kind in cases:
        made = llise.distortions.make(picture, kind, mse=25 if kind == "chroma_blur" else 90, random_state=1)
        found = judge(picture, made.image)
        check_measured(found, picture, made.image)
        right += found.verdict == (kind,) and found.faults[0].area > 0.9
    assert right >= len(cases) - 1


def test_luma_kinds_keep_their_names_in_colour_and_opposite_colours_have_none():
    rng = np.random.default_rng(0)
    copies = {
        "jpeg": coded(PICTURE, 25, subsampling=2),
        "gaussian_noise": rounded(PICTURE + rng.normal(0, 20, PICTURE.shape)),
        "luminance": rounded(PICTURE + 25.0),
        "blur": distorted(PICTURE, "blur", 200),
        "impulse_noise": distorted(PICTURE, "impulse_noise", 300),
        "quantization": PICTURE // 48 * 48 + 24,
    }
    found = {kind: judge(PICTURE, copy) for kind, copy in copies.items()}
    assert sum(one.verdict == (kind,) for kind, one in found.items()) >= 5
    for order in ((2, 1, 0), (1, 2, 0)):
        swapped = np.ascontiguousarray(PICTURE[..., order])
        assert not set(judge(PICTURE, swapped).verdict) & {"original", *KINDS}


def test_a_grey_copy_has_lost_its_saturation_and_a_tinted_one_has_a_cast():
    grey = as_uint8(PICTURE)
    found = judge(PICTURE, grey)
    assert found.verdict == ("saturation",)
    assert abs(found.faults[0].estimate["saturation"]["factor"].value) < 0.1
    tinted = rounded(np.stack([grey] * 3, axis=-1) * np.array([1.25, 1.0, 0.7]))
    assert "original" not in judge(grey, tinted).verdict


def test_a_fault_of_colour_in_a_region_is_found_there():
    copy = distorted(PICTURE, "saturation", 500, BOX)
    found = judge(PICTURE, copy)
    inside = blocks_of(PICTURE.shape, BOX)
    assert not found.block_labels[~inside].any()
    assert found.verdict == ("saturation",) and overlap(found.faults[0].region, inside) > 0.7


def test_differences_of_rounding_are_the_original():
    converted = rounded(pixels_of(np.rint(planes_of(PICTURE))))
    assert 0 < np.abs(converted.astype(int) - PICTURE).max() <= 2
    for picture, copy in ((PICTURE, converted), (CUP, CUP.copy())):
        assert judge(picture, copy).verdict == ("original",)


@pytest.mark.parametrize("change", [-90, 90])
def test_one_changed_channel_of_one_pixel_is_measured_where_it_is(change):
    copy = PICTURE.copy()
    value = int(copy[70, 101, 1]) + change
    copy[70, 101, 1] = value if 0 <= value <= 255 else int(copy[70, 101, 1]) - change
    found = judge(PICTURE, copy)
    check_measured(found, PICTURE, copy)
    assert np.argwhere(found.block_severity).tolist() == [[8, 12]]
    assert found.block_severity[8, 12] == pytest.approx(block_means(PICTURE, copy)[8, 12])


def test_grey_pictures_with_three_channels_are_judged_as_grey():
    grey = as_uint8(PICTURE)
    copy = llise.distortions.apply(grey, "blur", mse=80, random_state=0)
    own, stacked = judge(grey, copy), judge(np.stack([grey] * 3, -1), np.stack([copy] * 3, -1))
    assert signature(own) == signature(stacked) and stacked.color is None and own.mse == stacked.mse


def test_measures_of_colour_are_those_of_scikit_image():
    copy = llise.distortions.apply(PICTURE, "saturation", mse=100, random_state=0)
    measures = judge(PICTURE, copy).color
    expected = deltaE_ciede2000(rgb2lab(PICTURE), rgb2lab(copy))
    assert np.allclose(measures.difference_map, expected, atol=2e-3)
    assert np.isclose(measures.difference_p95, np.percentile(expected, 95), atol=2e-3)
    planes = [np.asarray(Image.fromarray(p).convert("YCbCr"))[..., 1] for p in (PICTURE, copy)]
    assert np.isclose(measures.planes["cb"]["ssim"], structural_similarity(*planes), atol=0.01)
    assert np.isclose(measures.mse, np.mean((PICTURE.astype(float) - copy) ** 2))


def test_json_csv_and_table_have_measures_of_colour_only_for_colours():
    colour = judge(PICTURE, llise.distortions.apply(PICTURE, "color_cast", mse=100, random_state=0))
    grey = judge(as_uint8(PICTURE), as_uint8(PICTURE))
    for diagnosis in (colour, grey):
        diagnosis.file = "a.png"
    out = io.StringIO()
    rows = Json(out, "r.png")
    rows.add(colour)
    rows.add(grey)
    rows.close()
    document = json.loads(out.getvalue())
    jsonschema.validate(document, json.loads((files("llise.output") / "diagnose.schema.json").read_text()))
    first, second = document["images"]
    assert first["color"]["difference"]["mean"] > 1 and "color" not in second
    assert "saturation" in first["shares"] and "saturation" not in second["shares"]
    for color in (False, True):
        text = io.StringIO()
        Csv(text, color).add(colour)
        assert ("color_difference" in text.getvalue()) is color
        text = io.StringIO()
        Table(text, ["a.png"], color).add(colour)
        assert ("DE00" in text.getvalue()) is color


def test_distort_makes_a_colour_kind_and_diagnose_names_it(tmp_path):
    Image.fromarray(PICTURE).save(tmp_path / "a.png")
    (tmp_path / "copies").mkdir()
    (tmp_path / "copies" / "notes.txt").write_text("no image")
    runner = CliRunner()
    arguments = ["distort", str(tmp_path / "a.png"), "--kind", "saturation", "--mse", "150"]
    result = runner.invoke(commands, [*arguments, "-o", str(tmp_path / "copies" / "b.png")])
    assert result.exit_code == 0 and "MSE 150" in result.output
    result = runner.invoke(commands, ["diagnose", str(tmp_path / "a.png"), str(tmp_path / "copies")])
    assert result.exit_code == 0 and "saturation" in result.stdout and "DE00" in result.stdout
    assert "notes.txt: not an image format that is read" in result.stderr


def test_a_colour_kind_needs_colours_and_a_luma_kind_takes_them():
    copy = llise.distortions.make(CUP, "gaussian_noise", mse=60, random_state=0)
    assert copy.image.shape == CUP.shape and copy.reached
    with pytest.raises(ValueError, match="colour"):
        llise.distortions.make(as_uint8(PICTURE), "saturation", mse=50)
