"""The rules of a gate, settings files, matching of folders and measures."""

import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from samples import picture
from skimage.color import deltaE_ciede2000, rgb2lab
from skimage.metrics import structural_similarity

from llise.diagnosis.result import Fault, Interval
from llise.differences import SSIM_ROWS, measure_differences
from llise.gate.judging import compare, judge_pair
from llise.gate.measures import color_difference, mean_ssim, measure_pair
from llise.gate.outcome import Measures, Status, gravest
from llise.gate.pairs import Pair, match_folders
from llise.gate.rules import READERS, RuleError, Rules, make_rules
from llise.gate.settings import Settings, SettingsError, find_settings, line_of, matches, read_settings
from llise.kinds.limits import LIMITS
from llise.kinds.registry import get
from llise.labels import COLOR_KINDS, MISALIGNMENT, NAMED_KINDS


def fault(*kinds, **settings):
    """A fault of the whole picture; ``jpeg={"quality": 40}`` are its settings."""
    estimate = {kind: {name: Interval(v, v, v) for name, v in values.items()} for kind, values in settings.items()}
    return Fault(kinds, 1.0, np.ones((2, 2), bool), (0, 0, 16, 16), 1.0, dict.fromkeys(kinds, 9.0), estimate)


# ------------------------------------------------------------------------------------------------------ rules


@pytest.mark.parametrize(
    ("allow", "good", "bad"),
    [
        ("jpeg:60", {"quality": 60.0}, {"quality": 58.9}),
        ("luminance:2", {"offset": -2.0}, {"offset": -2.2}),
        ("blur:1.5", {"sigma": 1.5, "radius": 3.0}, {"sigma": 1.6}),
        ("gaussian_noise:4", {"sigma": 3.9}, {"sigma": 4.1}),
        ("impulse_noise:0.5", {"share": 0.005, "salt": 0.5}, {"share": 0.0061, "salt": 0.5}),
        ("contrast:0.1", {"gain": 0.9, "pivot": 128.0}, {"gain": 1.12, "pivot": 128.0}),
        ("jpeg2000:0.5", {"rate": 0.7}, {"rate": 0.3}),
        ("speckle_noise:4", {"sigma": 3.9, "exponent": 1.0}, {"sigma": 4.1, "exponent": 1.0}),
        ("pixelation:2", {"cell": 2.0}, {"cell": 3.0}),
        ("quantization:32", {"levels": 64.0}, {"levels": 16.0}),
        ("sharpening:0.5", {"amount": 0.4, "radius": 1.0}, {"amount": 0.8, "radius": 1.0}),
        ("content:1", {"coverage": 0.005}, {"coverage": 0.02}),
    ],
)
def test_a_limit_is_in_the_units_and_the_direction_of_its_kind(allow, good, bad):
    kind = allow.partition(":")[0]
    rules = make_rules({"allow": [allow]})
    assert rules.judge(fault(kind, **{kind: good})).status is Status.PASS
    assert rules.judge(fault(kind, **{kind: bad})).status is Status.FAIL
    assert rules.judge(fault(kind)).status is Status.FAIL  # not estimated, so it keeps no limit
    assert make_rules({"allow": [kind]}).judge(fault(kind)).status is Status.PASS


def test_every_kind_that_is_named_has_a_limit_on_a_setting_that_it_estimates():
    assert set(LIMITS) == {*NAMED_KINDS, MISALIGNMENT, *COLOR_KINDS}
    image = picture(64, 64).astype(np.float32)
    rng = np.random.default_rng(0)
    strengths = {
        "jpeg": 4.0,
        "contrast": 0.4,
        "impulse_noise": 0.2,
        "jpeg2000": 8.0,
        "quantization": 40.0,
        "content": 0.2,
    }
    for kind in NAMED_KINDS:
        copy = np.clip(get(kind).path(np.uint8(image), rng)(strengths.get(kind, 2.0)), 0, 255)
        fit = get(kind).fit(image, np.float32(copy), np.ones(image.shape, bool))
        assert math.isfinite(LIMITS[kind].value(fit.parameters))


def test_a_number_is_compared_as_it_is_shown():
    """A copy of quality 60 is estimated as 59.7 at times, and shown as 60."""
    assert make_rules({"allow": ["jpeg:60"]}).judge(fault("jpeg", jpeg={"quality": 59.7})).status is Status.PASS
    assert make_rules({"allow": ["luminance:120"]}).judge(fault("luminance", luminance={"offset": 121.0})).status is (
        Status.FAIL
    )


def test_a_fault_that_is_too_weak_to_be_named_passes_where_faults_are_allowed():
    weak, strong = (replace(fault("blur"), severity={"blur": mse}) for mse in (0.99, 1.0))
    assert make_rules({"allow": ["jpeg:60"]}).judge(weak).status is Status.PASS
    assert make_rules({"allow": ["jpeg:60"]}).judge(strong).status is Status.FAIL
    assert Rules().judge(weak).status is Status.FAIL


def test_both_kinds_of_a_mixture_must_be_allowed():
    mixed = fault("blur", "jpeg", blur={"sigma": 1.0}, jpeg={"quality": 50.0})
    assert make_rules({"allow": ["jpeg"]}).judge(mixed).status is Status.FAIL
    judged = make_rules({"allow": ["jpeg:40", "blur:2"]}).judge(mixed)
    assert judged.status is Status.PASS and judged.rule == "2 px at most and quality 40 or better"


@pytest.mark.parametrize(
    ("values", "known", "unknown"),
    [
        ({}, Status.FAIL, Status.UNKNOWN),
        ({"max-mse": 50}, Status.PASS, Status.UNKNOWN),
        ({"max-mse": 50, "allow": ["blur"]}, Status.FAIL, Status.UNKNOWN),
        ({"allow": []}, Status.FAIL, Status.UNKNOWN),
        ({"allow": ["unknown"]}, Status.FAIL, Status.PASS),
        ({"allow": ["jpeg"]}, Status.PASS, Status.UNKNOWN),
    ],
)
def test_which_faults_pass(values, known, unknown):
    rules = make_rules(values)
    assert rules.judge(fault("jpeg")).status is known
    assert rules.judge(fault("unknown")).status is unknown


def test_limits_of_measures():
    measures = Measures(mse=10.0, psnr=38.13, ssim=0.95, area=0.25, color_difference=1.5)
    kept = {"max-mse": 10, "min-psnr": 38.13, "min-ssim": 0.95, "max-color-difference": 1.5, "max-area": 25}
    assert make_rules(kept).broken_by(measures) == ()
    for key, value in kept.items():
        step = -0.01 if key.startswith("max") else 0.01
        assert len(make_rules({key: value + step}).broken_by(measures)) == 1
    assert make_rules({"max-mse": 9.99999}).broken_by(measures) == ("MSE 10, at most 9.99999 is allowed",)
    assert "not defined" in make_rules({"min-ssim": 0.1}).broken_by(Measures(ssim=None))[0]


def test_a_broken_limit_shows_enough_digits():
    (text,) = make_rules({"max-mse": 20}).broken_by(Measures(mse=20.000001))
    assert text == "MSE 20.000001, at most 20 is allowed"


@pytest.mark.parametrize(
    ("key", "value", "part"),
    [
        ("max-mse", -1, "max-mse is -1; expected a number from 0 to 65025"),
        ("max-mse", "20", 'max-mse is "20"; expected a number'),
        ("max-mse", True, "max-mse is true; expected a number"),
        ("min-psnr", math.nan, "expected a number of 0 or more"),
        ("min-ssim", 1.5, "expected a number from 0 to 1"),
        ("max-area", 101, "expected a number from 0 to 100"),
        ("max-color-difference", "red", "expected a number"),
        ("allow", "jpeg", "expected a list"),
        ("allow", [60], "expected a kind"),
        ("allow", ["jpge:60"], "did you mean jpeg?"),
        ("allow", ["fog"], "the known ones are contrast"),
        ("allow", ["jpeg:"], "expected a number from 0 to 100 after the colon"),
        ("allow", ["jpeg:101"], "which allows quality that or better"),
        ("allow", ["unknown:3"], "unknown has no limit; write unknown alone"),
        ("ignore", "0,0,9,9", "expected a list"),
        ("ignore", ["0,0,9"], "expected X,Y,W,H"),
        ("ignore", [[0, 0, 9, 9.5]], "whole pixels"),
        ("ignore", ["0,0,0,9"], "W and H of 1 or more"),
        ("ignore", [7], "expected X,Y,W,H"),
        ("mask", 3, "expected the name of a picture"),
        ("max_mse", 3, "max_mse is not a setting; did you mean max-mse?"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(key, value, part):
    with pytest.raises(RuleError, match=r".") as error:
        make_rules({key: value})
    assert part in str(error.value)


def test_the_gravest_status_counts():
    order = [Status.PASS, Status.FAIL, Status.UNKNOWN, Status.ERROR]
    assert [status.exit_status for status in order] == [0, 1, 3, 2]
    for number, status in enumerate(order):
        assert gravest(order[: number + 1]) is status is gravest(order[number::-1])
    assert gravest([]) is Status.PASS


# -------------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("name", "pattern", "result"),
    [
        ("a.png", "*.png", True),
        ("deep/down/a.png", "*.png", True),
        ("deep/a.png", "deep/*.png", True),
        ("deep/down/a.png", "deep/*.png", False),
        ("deep/down/a.png", "deep/**", True),
        ("deep/down/a.png", "**/a.png", True),
        ("a.png", "**/a.png", True),
        ("ba.png", "**/a.png", False),
        ("a1.png", "a?.png", True),
        ("a/b.png", "a?b.png", False),
        ("a+(b).png", "a+(b).png", True),
        ("two\nlines.png", "*.png", True),
        ("apng", "*.png", False),
    ],
)
def test_patterns(name, pattern, result):
    assert matches(name, pattern) is result


GOOD = """
[check]
max-mse = 20
allow = ["jpeg:60"]

[check.paths."icons/**"]
max-mse = 0

[check.paths."*.jpg"]
mask = "masks/m.png"
ignore = [[1, 2, 3, 4]]
"""


def test_later_patterns_and_options_outweigh_earlier_rules(tmp_path):
    (tmp_path / ".llise.toml").write_text(GOOD)
    settings = find_settings(tmp_path)
    assert settings.rules_for("a.png") == Rules(max_mse=20.0, allow={"jpeg": 60.0})
    both = settings.rules_for("icons/a.jpg")
    assert (both.max_mse, both.mask, both.ignore) == (0.0, tmp_path / "masks/m.png", ((1, 2, 3, 4),))
    assert settings.rules_for("icons/a.jpg", {"max-mse": 5.0, "allow": None, "ignore": ("9,9,9,9",)}) == Rules(
        max_mse=5.0, allow={"jpeg": 60.0}, ignore=((9, 9, 9, 9),), mask=tmp_path / "masks/m.png"
    )


def test_the_nearest_settings_file_up_to_the_root_of_the_project_is_used(tmp_path):
    inner = tmp_path / "project" / "sub"
    inner.mkdir(parents=True)
    (tmp_path / ".llise.toml").write_text("check.max-mse = 1")
    assert find_settings(inner).common == {"max-mse": 1}
    (tmp_path / "project" / ".git").mkdir()
    assert find_settings(inner) == Settings()
    (tmp_path / "project" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert find_settings(inner) == Settings()
    (tmp_path / "project" / "pyproject.toml").write_text("[tool.llise.check]\nmin-ssim = 0.5\n")
    assert find_settings(inner).common == {"min-ssim": 0.5}
    (tmp_path / "project" / ".llise.toml").write_text("")
    assert find_settings(inner).common == {}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[check]\nmax-mze = 3", ("line 2: check.max-mze is not a setting", "did you mean max-mse?")),
        ("[check]\n\n# max-mse = 1\nmax-mse = 'x'", ('line 4: check.max-mse is "x"', "expected a number")),
        ("[check]\nallow = [\n 'jpeg',\n 'fog']", ('line 2: check.allow has "fog"',)),
        ("[chekc]\nmax-mse = 3", ("line 1: chekc is not a setting", "did you mean check?")),
        ("check = 3", ("line 1: check is 3; expected a table",)),
        ("[check]\npaths = 3", ("line 2: ", "paths is 3; expected a table")),
        ('[check.paths]\n"a/*" = 3', ("line 2: check.paths.a/* is 3; expected a table",)),
        ('[check]\n[check.paths."a.b/*"]\nmin-ssim = 7', ("line 3: check.paths.a.b/*.min-ssim is 7",)),
        ('[check]\npaths."*.png".mask = 1', ("line 2: check.paths.*.png.mask is 1",)),
        ("check = {max-mse = -1}", ("line 1: check.max-mse is -1",)),
        ("[check]\nmax-mse = 3\nmax-mse = 4", ("line 3, 'max-mse = 4'",)),
        ("[check]\nmax-mse 3\nmin-ssim = 1", ("line 2, 'max-mse 3'",)),
        ("[check\nmax-mse = 3", ("line 1, '[check'",)),
    ],
)
def test_an_error_in_a_settings_file_names_line_and_key(tmp_path, text, parts):
    path = tmp_path / ".llise.toml"
    path.write_text(text)
    with pytest.raises(SettingsError) as error:
        read_settings(path)
    assert str(error.value).startswith(f"{path}")
    for part in parts:
        assert part in str(error.value)


def test_pyproject_errors_name_the_line_too(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text("[project]\nname = 'x'\n[tool.llise.check]\nmax-area = 200\n")
    with pytest.raises(
        SettingsError, match=r"line 4: tool.llise.check.max-area is 200; expected a number from 0 to 100"
    ):
        find_settings(tmp_path)


def test_a_settings_file_that_cannot_be_read(tmp_path):
    with pytest.raises(SettingsError, match="No such file"):
        read_settings(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9")
    with pytest.raises(SettingsError, match="not UTF-8"):
        read_settings(tmp_path / "latin.toml")


def test_the_line_of_a_key_is_not_that_of_the_same_key_elsewhere():
    text = '[other]\nmax-mse = 1\n[check]\nmin-ssim = 1\nmax-mse = 2 # [x]\n[check.paths."b"]\nmax-mse = 3\n'
    assert line_of(text, ["check", "max-mse"]) == 5
    assert line_of(text, ["check", "paths", "b", "max-mse"]) == 7


# ----------------------------------------------------------------------------------------------------- pairs


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def names_of(pairs):
    return [(pair.name, bool(pair.reference), bool(pair.copy)) for pair in pairs]


def test_folders_are_matched_by_relative_path(tmp_path):
    touch(tmp_path / "old", "a.png", "x/a.png", "x/gone.png", ".hidden.png", ".git/b.png", "notes.txt")
    touch(tmp_path / "new", "a.png", "x/a.png", "extra.JPG")
    assert names_of(match_folders(tmp_path / "old", tmp_path / "new")) == [
        ("a.png", True, True), ("extra.JPG", False, True), ("x/a.png", True, True), ("x/gone.png", True, False),
    ]  # fmt: skip


def test_another_suffix_matches_only_if_there_is_no_doubt(tmp_path):
    touch(tmp_path / "old", "a.png", "b.png", "c.png", "c.jpg")
    touch(tmp_path / "new", "a.webp", "b.jpg", "b.webp", "c.png", "c.tif")
    assert names_of(match_folders(tmp_path / "old", tmp_path / "new")) == [
        ("a.webp", True, True), ("b.jpg", False, True), ("b.png", True, False), ("b.webp", False, True),
        ("c.png", True, True), ("c.tif", True, True),
    ]  # fmt: skip


def test_links_are_followed_and_loops_end(tmp_path):
    touch(tmp_path / "old", "a.png", "sub/b.png")
    (tmp_path / "new").mkdir()
    os.symlink(tmp_path / "old" / "a.png", tmp_path / "new" / "a.png")
    os.symlink(tmp_path / "old" / "sub", tmp_path / "new" / "sub")
    os.symlink(tmp_path / "new", tmp_path / "new" / "loop")
    os.symlink(tmp_path / "nowhere.png", tmp_path / "new" / "dangling.png")
    assert names_of(match_folders(tmp_path / "old", tmp_path / "new")) == [
        ("a.png", True, True), ("dangling.png", False, True), ("sub/b.png", True, True),
    ]  # fmt: skip


# -------------------------------------------------------------------------------------------------- measures


def two_pictures(height, width, sigma=12.0):
    reference = picture(height, width)
    noise = np.random.default_rng(1).normal(0, sigma, reference.shape)
    return reference, np.uint8(np.clip(np.rint(reference + noise), 0, 255))


@pytest.mark.parametrize("shape", [(7, 7), (8, 30), (64, 64), (SSIM_ROWS + 3, 20), (2 * SSIM_ROWS + 5, 9)])
def test_ssim_is_that_of_scikit_image(shape):
    reference, copy = two_pictures(*shape)
    assert mean_ssim(reference, copy) == pytest.approx(structural_similarity(reference, copy, data_range=255), abs=1e-6)


def test_measures_leave_ignored_pixels_out():
    reference, copy = two_pictures(64, 72)
    compared = np.ones(reference.shape, bool)
    compared[10:50, 20:60] = False
    comparison = compare(reference, copy, compared)
    measures = measure_pair(comparison.reference, comparison.copy, comparison.differences, compared)
    assert measures.mse == pytest.approx(np.mean((copy.astype(float) - reference)[compared] ** 2))
    assert measures.psnr == pytest.approx(10 * np.log10(255**2 / measures.mse))
    full = structural_similarity(reference, comparison.copy, data_range=255, full=True)[1]
    assert measures.ssim == pytest.approx(full[3:-3, 3:-3][compared[3:-3, 3:-3]].mean(), abs=1e-6)
    assert measures.area == 1.0  # all blocks with compared pixels differ
    assert np.array_equal(comparison.copy[~compared], reference[~compared])


def test_the_area_counts_blocks_beyond_rounding():
    reference = picture(32, 32)
    copy = reference.copy()
    copy[0, 0] ^= 1
    copy[:8, 8:24] += np.uint8(40)
    assert measure_pair(reference, copy, measure_differences(reference, copy)).area == 2 / 16


def test_the_colour_difference_is_the_mean_of_ciede2000(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (2, 40, 30, 3)).astype(np.uint8)
    expected = deltaE_ciede2000(rgb2lab(a), rgb2lab(b))
    assert color_difference(a, b) == pytest.approx(expected.mean())
    mask = rng.random((40, 30)) < 0.5
    monkeypatch.setattr("llise.gate.measures.ROWS", 16)
    assert color_difference(a, b) == pytest.approx(expected.mean())
    assert color_difference(a, b, mask) == pytest.approx(expected[mask].mean())


# ----------------------------------------------------------------------------------------------------- pairs


def write_pair(folder, reference, copy):
    Image.fromarray(reference).save(folder / "r.png")
    Image.fromarray(copy).save(folder / "c.png")
    return Pair("c.png", folder / "r.png", folder / "c.png")


def same_luma(height=16, width=16):
    """Two colours whose luma is equal: 299 R + 587 G + 114 B."""
    reference = np.full((height, width, 3), (100, 100, 100), np.uint8)
    reference[:, ::2] = (50, 60, 70)  # so that there is some structure
    copy = reference.copy()
    copy[:8, 1::2] = (140, 80, 98)
    assert np.array_equal(*(np.asarray(Image.fromarray(p).convert("L")) for p in (reference, copy)))
    return reference, copy


def test_colours_that_differ_are_not_identical_and_not_passed(tmp_path):
    pair = write_pair(tmp_path, *same_luma())
    outcome = judge_pair(pair, Rules())
    assert outcome.status in (Status.UNKNOWN, Status.FAIL) and outcome.faults
    assert outcome.measures.mse == 0 and outcome.measures.color_difference > 3
    for values, status in [
        ({"max-color-difference": 90}, Status.PASS),
        ({"max-color-difference": 0.5}, Status.FAIL),
    ]:
        assert judge_pair(pair, make_rules(values)).status is status
    assert judge_pair(pair, Rules(), measures_only=True).status is Status.UNKNOWN
    assert judge_pair(pair, make_rules({"ignore": ["0,0,16,8"]})).message == "identical"


def test_rounding_of_colours_passes(tmp_path):
    reference, _ = same_luma()
    outcome = judge_pair(write_pair(tmp_path, reference, reference + np.uint8([0, 0, 2])), Rules())
    assert (outcome.status, outcome.message) == (Status.PASS, "no difference beyond rounding")


def test_grey_saved_as_colour_is_identical(tmp_path):
    grey = picture(16, 16)
    assert judge_pair(write_pair(tmp_path, grey, np.stack([grey] * 3, axis=-1)), Rules()).message == "identical"


def test_rounding_passes_unless_a_limit_forbids_it(tmp_path):
    grey = picture(16, 16) // 2
    pair = write_pair(tmp_path, grey, grey + np.uint8(np.arange(16) % 8 == 0))
    assert judge_pair(pair, Rules()).status is Status.PASS
    outcome = judge_pair(pair, make_rules({"max-mse": 0}))
    assert outcome.status is Status.FAIL and outcome.broken == ("MSE 0.125, at most 0 is allowed",)


@pytest.mark.parametrize(
    ("reference", "status", "part"),
    [
        (np.full((16, 16), 9, np.uint8), Status.UNKNOWN, "the reference is of one colour"),
        (picture(7, 16), Status.UNKNOWN, "smaller than 8 x 8 pixels"),
    ],
)
def test_a_reference_without_structure_passes_if_equal_and_is_unknown_otherwise(tmp_path, reference, status, part):
    assert judge_pair(write_pair(tmp_path, reference, reference), Rules()).message == "identical"
    pair = write_pair(tmp_path, reference, reference // 2)
    outcome = judge_pair(pair, Rules())
    assert outcome.status is status and part in outcome.message
    assert judge_pair(pair, make_rules({"allow": ["unknown"]})).status is Status.PASS


def test_another_size_fails(tmp_path):
    outcome = judge_pair(write_pair(tmp_path, picture(16, 16), picture(16, 24)), Rules())
    assert outcome.status is Status.FAIL and outcome.message.startswith("24 x 16 pixels, but the reference has 16 x 16")


def test_masks_and_regions(tmp_path):
    reference, copy = picture(32, 32), picture(32, 32)
    copy[4:12, 20:30] = 0
    pair = write_pair(tmp_path, reference, copy)
    mask = np.zeros((32, 32), np.uint8)
    mask[4:12, 20:30] = 255
    Image.fromarray(mask).save(tmp_path / "mask.png")
    for values, message in [
        ({"ignore": ["20,4,10,8"]}, "identical"),
        ({"ignore": ["20,4,5,8", "25,4,100,8"]}, "identical"),
        ({"mask": str(tmp_path / "mask.png")}, "identical"),
        ({"ignore": ["32,0,1,1"]}, "ignored region 32,0,1,1 lies outside the picture of 32 x 32 pixels; correct it"),
        ({"ignore": ["0,0,99,99"]}, "all pixels are ignored; leave some to compare"),
        ({"mask": "absent.png"}, "absent.png: no such file; check the name"),
    ]:
        assert judge_pair(pair, make_rules(values)).message == message
    Image.fromarray(mask[:9]).save(tmp_path / "mask.png")
    outcome = judge_pair(pair, make_rules({"mask": str(tmp_path / "mask.png")}))
    assert outcome.status is Status.ERROR and "mask.png: 32 x 9 pixels" in outcome.message


def test_the_help_names_every_rule():
    from llise.cli.check import RULES, check

    assert {name.replace("_", "-") for name in RULES} == set(READERS)
    assert set(RULES) < {parameter.name for parameter in check.params}


def test_a_file_that_vanishes_is_an_error_of_its_pair(tmp_path):
    pair = write_pair(tmp_path, picture(16, 16), picture(16, 16))
    Path(pair.copy).unlink()
    outcome = judge_pair(pair, Rules())
    assert outcome.status is Status.ERROR and "c.png: no such file" in outcome.message
