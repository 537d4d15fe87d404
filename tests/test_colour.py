"""Faults of colour are named, copies without one are judged by their luma, grey stays as it was."""

import io
import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageEnhance
from scipy import ndimage
from skimage import data
from skimage.color import deltaE_ciede2000, rgb2lab

import llise
from llise.cli.main import commands
from llise.colours import pixels_of, planes_of
from llise.look.colour.judge import ANSWERS, ColourJudge, shipped_colour_judge
from llise.look.colour.measures import ColorMeasures
from llise.look.judging.judge_files import JudgeError, write_judge
from llise.images import as_uint8
from llise.labels import COLOR_KINDS, KINDS
from llise.output.rows import Csv, Json, Table

PICTURE = np.ascontiguousarray(data.astronaut()[20:212, 120:312])
CUP = np.ascontiguousarray(data.coffee()[60:252, 120:312])


def rounded(values):
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def verdict(reference, copy):
    return llise.diagnose(reference, [copy])[0]


@pytest.mark.parametrize("kind", COLOR_KINDS)
@pytest.mark.parametrize("picture", [PICTURE, CUP], ids=["astronaut", "coffee"])
def test_each_colour_kind_is_named_alone(kind, picture):
    made = llise.distortions.make(picture, kind, mse=25 if kind == "chroma_blur" else 60, random_state=1)
    diagnosis = verdict(picture, made.image)
    assert diagnosis.verdict == (kind,)
    assert diagnosis.faults[0].area > 0.9
    settings = diagnosis.faults[0].estimate[kind]
    value = settings[{"saturation": "factor", "color_cast": "red_gain"}.get(kind, "sigma")].value
    assert abs(value - made.strength) < 0.25 * made.strength


def test_a_grey_copy_of_a_colour_reference_has_lost_its_saturation():
    diagnosis = verdict(PICTURE, as_uint8(PICTURE))
    assert diagnosis.verdict == ("saturation",)
    assert abs(diagnosis.faults[0].estimate["saturation"]["factor"].value) < 0.02


def test_a_coloured_copy_of_a_grey_reference_has_no_fault_of_the_luma():
    grey = as_uint8(PICTURE)
    copy = np.clip(np.stack([grey] * 3, axis=-1) * np.array([1.25, 1.0, 0.7]), 0, 255).astype(np.uint8)
    diagnosis = verdict(grey, copy)
    assert diagnosis.verdict == ("color_cast",)


def test_a_patch_of_one_colour_is_content_and_no_cast():
    copy = CUP.copy()
    copy[40:104, 56:136] = 200, 30, 30
    assert verdict(CUP, copy).verdict == ("content",)


def test_opposite_colours_are_unknown_and_no_loss_of_saturation():
    cat = np.ascontiguousarray(data.chelsea()[:192, :288])
    assert verdict(cat, np.ascontiguousarray(cat[..., ::-1])).verdict == ("unknown",)


def test_swapped_channels_are_no_fault_of_the_luma():
    for order in ((2, 1, 0), (1, 2, 0)):
        diagnosis = verdict(PICTURE, np.ascontiguousarray(PICTURE[..., order]))
        assert not set(diagnosis.verdict) & {"original", *KINDS}


def test_a_jpeg_with_coarse_chroma_is_jpeg_alone():
    buffer = io.BytesIO()
    Image.fromarray(PICTURE).save(buffer, "JPEG", quality=25, subsampling=2)
    assert verdict(PICTURE, np.asarray(Image.open(buffer))).verdict == ("jpeg",)


def test_noise_of_all_channels_is_gaussian_noise_alone():
    noisy = PICTURE + np.random.default_rng(0).normal(0, 14, PICTURE.shape)
    assert verdict(PICTURE, rounded(noisy)).verdict == ("gaussian_noise",)


def test_a_colour_fault_in_a_region_is_found_there():
    copy = PICTURE.copy()
    inside = np.s_[48:144, 40:160]
    copy[inside] = np.asarray(ImageEnhance.Color(Image.fromarray(np.ascontiguousarray(copy[inside]))).enhance(0.2))
    (fault,) = verdict(PICTURE, copy).faults
    region = np.zeros((24, 24), bool)
    region[6:18, 5:20] = True
    assert fault.kinds == ("saturation",)
    assert (fault.region & region).sum() / (fault.region | region).sum() > 0.75


def test_a_soft_edge_of_a_colour_fault_is_no_fault_of_the_luma():
    inside = np.zeros(PICTURE.shape[:2])
    inside[52:140, 44:156] = 1
    inside = ndimage.uniform_filter(inside, 9)[..., None]
    linear = (PICTURE / 255.0) ** 2.2 * (1.3, 1.0, 0.7)  # a white balance of the light
    copy = inside * 255 * np.clip(linear, 0, 1) ** (1 / 2.2) + (1 - inside) * PICTURE
    assert verdict(PICTURE, rounded(copy)).verdict == ("color_cast",)


@pytest.mark.parametrize("offsets", [(-15, -32, 4), (34, 18, 8)], ids=["one channel stays near", "all lighter"])
def test_offsets_that_leave_no_channel_as_it_is_are_a_cast_and_a_shift_of_all_levels(offsets):
    assert set(verdict(CUP, rounded(CUP.astype(float) + offsets)).verdict) == {"color_cast", "luminance"}


@pytest.mark.parametrize(
    ("gain", "offset", "kind"), [(1.0, 14, "luminance"), (0.75, 0.25 * 90, "contrast")], ids=["luminance", "contrast"]
)
def test_gains_and_a_change_of_all_levels_are_both_named(gain, offset, kind):
    copy = gain * CUP * (0.88, 1.0, 1.14) + offset
    assert set(verdict(CUP, rounded(copy)).verdict) == {"color_cast", kind}


def test_chroma_noise_that_is_cut_off_is_no_noise_of_the_luma():
    dark = rounded(PICTURE * 0.4)
    noisy = llise.distortions.apply(dark, "chroma_noise", mse=150, random_state=0)
    assert set(verdict(dark, rounded(noisy + 12.0)).verdict) == {"chroma_noise", "luminance"}


def test_a_colour_fault_in_a_region_of_a_noisy_copy_is_found_there():
    copy = PICTURE.astype(float)
    copy[48:144, 40:160] += (0, -18, 18)
    copy += np.random.default_rng(0).normal(0, 8, copy.shape)
    faults = {kind: fault for fault in verdict(PICTURE, rounded(copy)).faults for kind in fault.kinds}
    assert set(faults) == {"color_cast", "gaussian_noise"}
    assert faults["gaussian_noise"].area > 0.9 and 0.2 < faults["color_cast"].area < 0.4


def test_equal_colours_are_the_original():
    diagnosis = verdict(PICTURE, PICTURE.copy())
    assert diagnosis.verdict == ("original",) and diagnosis.color.difference_mean == 0


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 63), st.integers(0, 63), st.integers(0, 2), st.sampled_from([-90, -20, -3, 3, 20, 90])
)  # fmt: skip
def test_one_changed_channel_of_one_pixel_is_never_the_original(row, col, channel, change):
    reference = PICTURE[64:128, 64:128]
    copy = reference.copy()
    value = int(copy[row, col, channel]) + change
    copy[row, col, channel] = value if 0 <= value <= 255 else int(copy[row, col, channel]) - change
    diagnosis = verdict(reference, copy)
    assert diagnosis.verdict != ("original",)
    assert any(fault.region[row // 8, col // 8] for fault in diagnosis.faults)


def test_differences_of_rounding_are_the_original():
    converted = rounded(pixels_of(np.rint(planes_of(PICTURE))))
    assert np.abs(converted.astype(int) - PICTURE).max() <= 2
    assert verdict(PICTURE, converted).verdict == ("original",)


def test_grey_pictures_with_three_channels_are_judged_as_grey():
    grey = as_uint8(PICTURE)
    copy = llise.distortions.apply(grey, "blur", mse=80, random_state=0)
    own, stacked = verdict(grey, copy), verdict(np.stack([grey] * 3, -1), np.stack([copy] * 3, -1))
    assert own.verdict == stacked.verdict == ("blur",) and stacked.color is None
    assert own.faults[0].estimate == stacked.faults[0].estimate and own.mse == stacked.mse
    assert np.array_equal(own.block_labels, stacked.block_labels)


def test_measures_of_colour_are_those_of_scikit_image():
    from skimage.metrics import structural_similarity

    copy = llise.distortions.apply(PICTURE, "saturation", mse=100, random_state=0)
    measures = ColorMeasures(PICTURE, copy)
    expected = deltaE_ciede2000(rgb2lab(PICTURE), rgb2lab(copy))
    assert np.allclose(measures.difference_map, expected, atol=2e-3)
    assert np.isclose(measures.difference_p95, np.percentile(expected, 95), atol=2e-3)
    planes = [np.asarray(Image.fromarray(p).convert("YCbCr"))[..., 1] for p in (PICTURE, copy)]
    assert np.isclose(measures.planes["cb"]["ssim"], structural_similarity(*planes), atol=0.01)
    assert np.isclose(measures.mse, np.mean((PICTURE.astype(float) - copy) ** 2))


def test_json_csv_and_table_have_measures_of_colour_only_for_colours():
    from importlib.resources import files

    import jsonschema

    colour = verdict(PICTURE, llise.distortions.apply(PICTURE, "color_cast", mse=100, random_state=0))
    grey = verdict(as_uint8(PICTURE), as_uint8(PICTURE))
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


def test_a_luma_kind_on_a_colour_image_keeps_its_chroma():
    copy = llise.distortions.make(CUP, "gaussian_noise", mse=60, random_state=0)
    assert copy.image.shape == CUP.shape and copy.reached
    diagnosis = verdict(CUP, copy.image)
    assert diagnosis.verdict == ("gaussian_noise",)


def test_a_colour_kind_needs_colours():
    with pytest.raises(ValueError, match="colour"):
        llise.distortions.make(as_uint8(PICTURE), "saturation", mse=50)


def test_the_colour_judge_is_refused_when_it_was_changed(tmp_path):
    judge = shipped_colour_judge()
    path = tmp_path / "judge.safetensors"
    judge.save(path)
    again = ColourJudge.load(path)
    assert again.fingerprint() == judge.fingerprint()
    assert again(judge.mean)[0].shape == (len(ANSWERS),)
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(content)
    with pytest.raises(JudgeError, match="were changed"):
        ColourJudge.load(path)


def test_a_colour_judge_without_an_array_is_refused(tmp_path):
    path = tmp_path / "judge.safetensors"
    arrays = shipped_colour_judge().arrays()
    del arrays["mean"]
    write_judge(path, "llise", {"answers": list(ANSWERS)}, arrays)
    with pytest.raises(JudgeError, match=r"lacks the array 'mean'; train it again with python -m .*colour_train"):
        ColourJudge.load(path)
