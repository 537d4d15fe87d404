"""Copies that are shifted, turned or scaled: what is measured, what remains, and what is left alone."""

import csv
import io
import json
import re
import tracemalloc
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from faulty import check_measured, coded, judge, rounded, signature
from PIL import Image
from scipy import ndimage
from skimage import data, transform

import llise
from llise.cli.main import commands
from llise.diagnosis.alignment import Aligner
from llise.diagnosis.diagnoser import shipped_model
from llise.gate.rules import RuleError, make_rules
from llise.kinds.registry import get
from llise.kinds.search import draw_copy
from llise.kinds.warping import METHODS, Interpolator, Transform, warp
from llise.labels import KINDS
from llise.output.words import verdict_sentence

PICTURE = data.camera()
REFERENCE = np.ascontiguousarray(PICTURE[100:340, 130:386])


def aligned(copy, reference=REFERENCE):
    """The reference on the grid of a copy; None where the copy lies well."""
    return Aligner(reference, shipped_model().tuned["alignment"]).align(reference, copy)


def settings(diagnosis):
    estimate = next(fault.estimate for fault in diagnosis.faults if fault.kinds == ("misalignment",))["misalignment"]
    return [estimate[name].value for name in ("shift_x", "shift_y", "rotation", "scale")]


@pytest.mark.parametrize("method", METHODS)
def test_interpolation_between_pixels_is_exact_on_pixels_and_keeps_a_slope(method):
    ramp = np.tile(np.arange(40.0), (40, 1))
    values = Interpolator(ramp, method)
    places = np.arange(5.0, 35.0)
    assert values(places, places) == pytest.approx(places, abs=1e-3)
    if method != "nearest":
        assert values(places, places + 0.3) == pytest.approx(places + 0.3, abs=0.09)  # sharp kernels overshoot


def test_a_spline_shift_is_that_of_scipy():
    expected = ndimage.shift(REFERENCE.astype(float), (0.4, 1.7), order=3, mode="mirror")
    ours = warp(REFERENCE, Transform(1.7, 0.4), "spline")
    assert np.abs(ours - expected)[8:-8, 8:-8].max() < 0.01


def test_signs_are_those_of_other_programs():
    """Right, down, counter-clockwise and larger are positive."""
    turned = np.asarray(Image.fromarray(REFERENCE).rotate(2.0, Image.Resampling.BICUBIC), float)
    ours = warp(REFERENCE, Transform(rotation=2.0), "bicubic, sharpest")
    assert np.abs(ours - turned)[40:-40, 40:-40].mean() < 1
    wide = Image.fromarray(REFERENCE).resize((264, 248), Image.Resampling.BICUBIC)  # 3.1 and 3.3 per cent larger
    middle = np.asarray(wide, float)[4:-4, 4:-4]
    assert np.abs(warp(REFERENCE, Transform(scale=3.2)) - middle)[8:-8, 8:-8].mean() < 3
    right = warp(REFERENCE, Transform(shift_x=5.0, shift_y=2.0))
    assert (right[2:, 5:] == REFERENCE[:-2, :-5]).all()


@pytest.mark.parametrize(("x", "y"), [(1, 0), (-7, 2), (16, -16)])
def test_whole_shifts_are_found_exactly_and_nothing_else_is_wrong(x, y):
    copy = np.ascontiguousarray(PICTURE[100 - y : 340 - y, 130 - x : 386 - x])  # new content at the border
    found = judge(REFERENCE, copy)
    assert found.verdict == ("misalignment",) and found.is_copy
    assert settings(found) == pytest.approx([x, y, 0, 0], abs=1e-6)
    (fault,) = found.faults
    assert fault.area == 1 and fault.box == (0, 0, 240, 256) and fault.explained == pytest.approx(1)
    assert fault.severity["misalignment"] == pytest.approx(found.mse, rel=0.01)
    assert (found.aligned_reference == found.image).all()
    check_measured(found, REFERENCE, copy)


PROGRAMS = {
    "scipy, bilinear": (lambda p: ndimage.shift(p.astype(float), (-0.35, 2.6), order=1), (2.6, -0.35, 0, 0)),
    "scipy, spline": (lambda p: ndimage.shift(p.astype(float), (3.3, -1.5), order=3, mode="wrap"), (-1.5, 3.3, 0, 0)),
    "scikit-image": (lambda p: transform.rotate(p, 1.3, order=1, mode="reflect", preserve_range=True), (0, 0, 1.3, 0)),
    "Pillow": (
        lambda p: np.asarray(Image.fromarray(p).rotate(-2.4, Image.Resampling.BICUBIC), float), (0, 0, -2.4, 0),
    ),
    "Pillow, nearest": (lambda p: np.asarray(Image.fromarray(p).rotate(0.8), float), (0, 0, 0.8, 0)),
    "all together": (lambda p: warp(p, Transform(4.2, -3.1, 1.7, -1.9), "lanczos"), (4.2, -3.1, 1.7, -1.9)),
}  # fmt: skip


def test_misalignment_by_other_programs_is_measured():
    exact = 0
    for make, truth in PROGRAMS.values():
        found = judge(REFERENCE, rounded(make(REFERENCE)))
        assert "misalignment" in found.verdict, found
        exact += (np.abs(np.subtract(settings(found), truth)) < [0.05, 0.05, 0.02, 0.02]).all()
    assert exact >= len(PROGRAMS) - 1


OTHERS = {
    "blur": lambda p, rng: ndimage.gaussian_filter(p, 1.5),
    "gaussian_noise": lambda p, rng: p + rng.normal(0, 15, p.shape),
    "jpeg": lambda p, rng: coded(rounded(p), 15),
    "contrast": lambda p, rng: 128 + 0.6 * (p - 128),
    "impulse_noise": lambda p, rng: np.where(rng.random(p.shape) < 0.04, rng.choice([0, 255], p.shape), p),
}


def test_strong_other_faults_are_named_beside_the_misalignment():
    truth, right = Transform(3.4, -1.5, 0.6, 0.0), 0
    for kind, change in OTHERS.items():
        copy = rounded(change(warp(REFERENCE, truth).astype(float), np.random.default_rng(0)))
        found = judge(REFERENCE, copy)
        check_measured(found, REFERENCE, copy)
        assert "misalignment" in found.verdict
        assert (np.abs(np.subtract(settings(found), truth.values)) < [0.06, 0.06, 0.04, 0.06]).all(), kind
        right += set(found.verdict) == {"misalignment", kind}
    assert right >= 3


def strong_blur(p):
    return ndimage.gaussian_filter(p, 2.0)


BLURRED = {
    "a shift": (Transform(1.1, -0.8), strong_blur),
    "a small rotation": (Transform(0.0, 0.0, 0.5), strong_blur),
    "a small change of size": (Transform(0.0, 0.0, 0.0, 0.5), strong_blur),
    "all together": (Transform(1.0, 0.9, -0.3, -0.7), strong_blur),
    "a shift, defocused": (Transform(-2.4, 1.3), lambda p: ndimage.convolve(p, np.full((5, 5), 1 / 25))),
    "a shift, JPEG": (Transform(4.3, -2.6), lambda p: coded(rounded(p), 10)),
}


@pytest.mark.parametrize("name", BLURRED)
def test_copies_without_fine_detail_are_measured_exactly(name):
    truth, blur = BLURRED[name]
    big = PICTURE[68:372, 98:418].astype(float)
    copy = rounded(blur(warp(big, truth).astype(float)))[32:-32, 32:-32]
    errors = np.abs(np.subtract(aligned(copy).at[:4], truth.values))
    assert (errors < [0.03, 0.03, 0.01, 0.02]).all(), errors


def test_nearest_pixels_are_measured_exactly():
    """Pixels that are one off say how far all of them are; they are no outliers."""
    for truth in (Transform(0.4, -1.3, 0.8, 0.0), Transform(2.2, 0.7, -1.4, 1.1)):
        copy = rounded(warp(REFERENCE, truth, "nearest"))
        errors = np.abs(np.subtract(aligned(copy).at[:4], truth.values))
        assert (errors < [0.03, 0.03, 0.02, 0.03]).all(), errors


def test_the_sentence_names_the_shift():
    found = judge(REFERENCE, rounded(ndimage.shift(REFERENCE.astype(float), (0, 1.5), order=3, mode="nearest")))
    assert re.match(r"Shifted by \(1\.(5|49|51), 0\.0\) px", verdict_sentence(found)), verdict_sentence(found)


def test_a_fault_in_a_region_lies_on_the_grid_of_the_copy():
    copy = np.roll(REFERENCE, (0, 9), axis=(0, 1))
    copy[64:128, 96:192] = rounded(copy[64:128, 96:192] + np.random.default_rng(0).normal(0, 30, (64, 96)))
    found = judge(REFERENCE, copy)
    other = [fault for fault in found.faults if fault.kinds != ("misalignment",)]
    assert "misalignment" in found.verdict and other
    inside = np.zeros(found.block_grid, bool)
    inside[8:16, 12:24] = True
    assert other[0].region[inside].mean() > 0.9 and other[0].region[~inside].mean() < 0.1


@pytest.mark.parametrize("fill", [0, 255, "wrap"])
def test_empty_borders_are_no_fault(fill):
    moved = np.roll(REFERENCE, (12, -5), axis=(0, 1))
    if fill != "wrap":
        moved[:12] = fill
        moved[:, -5:] = fill
    assert judge(REFERENCE, moved).verdict == ("misalignment",)
    assert aligned(moved).box == (slice(16, 240), slice(0, 248))


def test_without_aligning_it_is_judged_as_it_lies():
    copy = np.roll(REFERENCE, 3, axis=1)
    found = judge(REFERENCE, copy, align=False)
    assert "misalignment" not in found.verdict and found.aligned_reference is None


@pytest.mark.parametrize("kind", KINDS)
def test_copies_that_lie_well_are_judged_as_without_aligning(kind):
    rng = np.random.default_rng(5)
    copies = [draw_copy(get(kind), REFERENCE, wanted, rng).image for wanted in (15, 150)]
    assert [aligned(copy) for copy in copies] == [None, None]
    if kind == KINDS[0]:
        assert signature(judge(REFERENCE, copies[1])) == signature(judge(REFERENCE, copies[1], align=False))


def fading_trail(picture, length, down):
    """Mean of the picture at places along a line, which count less and less."""
    steps = np.arange(0, 3 * length, 0.5)
    shares = np.exp(-(steps**2) / (2 * length**2))
    moved = [share * ndimage.shift(picture.astype(float), (down * t, t), order=1, mode="nearest")
             for share, t in zip(shares, steps)]  # fmt: skip
    return np.sum(moved, axis=0) / shares.sum()


def waves(picture):
    rows, cols = np.indices(picture.shape)
    places = [rows + 0.4 + np.sin(cols / 15), cols]
    return ndimage.map_coordinates(picture.astype(float), places, order=1, mode="nearest")


def noisy(picture, sigma):
    return picture + np.random.default_rng(0).normal(0, sigma, picture.shape)


def cells(picture, side):
    places = [(np.arange(n) // side * side).astype(int) for n in picture.shape]
    return picture[np.ix_(*places)]


LEFT_ALONE = {
    "trail to one side": lambda p: ndimage.correlate1d(p.astype(float), np.ones(5) / 5, origin=-2),
    "even box": lambda p: ndimage.correlate1d(p.astype(float), np.ones(4) / 4),
    "short fading trail": lambda p: fading_trail(p, 1.5, 0.4),
    "fading trail": lambda p: fading_trail(p, 4, -0.7),
    "long fading trail": lambda p: fading_trail(p, 9, 0.1),
    "short fading trail under noise": lambda p: noisy(fading_trail(p, 1.5, 0.4), 8),
    "fading trail under noise": lambda p: noisy(fading_trail(p, 4, -0.7), 14),
    "swirl": lambda p: transform.swirl(p, strength=0.3, radius=150, preserve_range=True),
    "waves": waves,
    "cells of two pixels": lambda p: cells(p, 2),
    "cells of broken sides": lambda p: cells(p, 3.4),
    "half of it moved": lambda p: np.concatenate([p[:120], np.roll(p, (2, 3), axis=(0, 1))[120:]]),
    "strong blur": lambda p: ndimage.gaussian_filter(p.astype(float), 15),
    "strong JPEG": lambda p: coded(p, 5),
    "negative": lambda p: 255 - p,
    "a moved region": lambda p: np.concatenate([p[:130], np.roll(p, 5, axis=1)[130:]]),
    "mosaic": lambda p: p[::8, ::8].repeat(8, 0).repeat(8, 1),
    "another picture": lambda p: data.moon()[: p.shape[0], : p.shape[1]],
}


def test_what_only_looks_like_a_shift_is_left_alone():
    taken = [name for name, make in LEFT_ALONE.items() if aligned(rounded(make(REFERENCE))) is not None]
    assert len(taken) <= 2, taken


@pytest.mark.parametrize("side", [16, 40, 64])
def test_small_flat_and_periodic_pictures_do_no_harm(side):
    rng = np.random.default_rng(side)
    x = np.arange(side)
    small = np.ascontiguousarray(REFERENCE[:side, :side])
    flat = np.where((x == 3) & (x[:, None] == 3), 101, 100).astype(np.uint8)
    stripes = rounded(128 + 60 * np.sin(x / 2) * np.ones((side, 1)))
    for picture in (small, flat, stripes):
        for copy in (rounded(picture + rng.normal(0, 8, picture.shape)), coded(picture, 10), picture // 2):
            assert aligned(copy, picture) is None


def test_a_large_picture_is_measured_on_part_of_its_pixels():
    """Memory is that of some ten pictures of floats, not one for each interpolation."""
    rng = np.random.default_rng(0)
    big = rounded(ndimage.zoom(rng.uniform(0, 255, (216, 384)), 10, order=1))
    copy = np.roll(big, (3, -8), axis=(0, 1))
    tracemalloc.start()
    found = aligned(copy, big)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.at[:2] == pytest.approx([-8.0, 3.0], abs=1e-6)
    assert peak < 60 * big.size


def test_commands_take_and_leave_out_the_alignment(tmp_path):
    moved = np.roll(REFERENCE, 3, axis=1)
    for name, picture in {"a": REFERENCE, "b": moved}.items():
        Image.fromarray(picture).save(tmp_path / f"{name}.png")
    pair = [str(tmp_path / "a.png"), str(tmp_path / "b.png")]

    def run(*arguments):
        return CliRunner().invoke(commands, [*arguments, "--quiet"], standalone_mode=False, catch_exceptions=False)

    printed = json.loads(run("diagnose", *pair, "--json").stdout)
    jsonschema.validate(printed, json.loads((files("llise.output") / "diagnose.schema.json").read_text()))
    (image,) = printed["images"]
    assert image["verdict"] == ["misalignment"]
    assert image["faults"][0]["estimate"]["misalignment"]["shift_x"]["value"] == 3
    (row,) = csv.DictReader(io.StringIO(run("diagnose", *pair, "--csv").stdout))
    assert (row["verdict"], row["shift_x"], row["rotation"]) == ("misalignment", "3.0000", "0.0000")
    assert "3.00, 0.00 px" in run("diagnose", *pair).stdout
    assert "misalignment" not in run("diagnose", *pair, "--no-align").stdout
    assert run("check", *pair, "--no-config").return_value == 1
    assert run("check", *pair, "--no-config", "--allow", "misalignment:3").return_value == 0
    assert run("check", *pair, "--no-config", "--allow", "misalignment:2").return_value == 1
    assert run("check", *pair, "--no-config", "--allow", "misalignment:3", "--no-align").return_value != 0


def test_a_settings_file_can_forbid_aligning():
    assert make_rules({"align": False}).align is False
    with pytest.raises(RuleError, match="align is 1; expected true or false"):
        make_rules({"align": 1})


def test_misalignment_is_made_at_a_wanted_error():
    copy = llise.distortions.apply(REFERENCE, "misalignment", mse=100, random_state=0)
    assert np.mean((copy.astype(float) - REFERENCE) ** 2) == pytest.approx(100, rel=0.02)


def test_random_misalignments_are_what_their_parameters_say():
    rng = np.random.default_rng(3)
    for _ in range(4):
        copy = draw_copy(get("misalignment"), REFERENCE, 400, rng)
        found = aligned(copy.image)
        truth = [copy.parameters[name] for name in ("shift_x", "shift_y", "rotation", "scale")]
        assert np.abs(np.subtract(found.at[:4], truth)).max() < 0.5
