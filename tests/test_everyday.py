"""The everyday half of the benchmark: files and truth agree, and programs do what their names say."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import ndimage

from everyday import cases, damage, pages, pictures
from everyday.damage import Program
from everyday.disguises import DISGUISES, disguise

LABELS = {
    *cases.BASIC, *cases.FURTHER, *cases.COLOUR, "content", "misalignment", "unknown", "original", "modern_codec",
    "rendering", "color_matrix",
}  # fmt: skip


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    rng = np.random.default_rng(0)
    field = ndimage.gaussian_filter(rng.standard_normal((96, 120, 3)), (3, 3, 0))
    return np.clip(128 + 40 * field / field.std(), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def folder(image: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of the look split, all of them made here."""
    place = tmp_path_factory.mktemp("pictures")
    for k, row in enumerate(row for row in pictures.catalogue() if row["split"] == "look"):
        if row["registry"] != "browser" and k < 30:
            damage.write(place / f"{row['name']}.png", np.roll(image, 7 * k, axis=0))
    return place


@pytest.fixture(autouse=True)
def functions_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases by llise's own distortions, which are there everywhere."""
    from everyday import functions

    monkeypatch.setattr(cases, "available", lambda: (functions.own(), []))


def options(pictures_: Path, out: Path, **other: object) -> Namespace:
    given = {"split": "look", "seed": 3, "share": 0.05, "groups": "whole,region,two_regions,chain2,pristine,changes"}
    return Namespace(folder=out, pictures=pictures_, jobs=1, **(given | other))


def test_truth_is_complete_and_matches_the_files(folder: Path, tmp_path: Path) -> None:
    rows = cases.draw(options(folder, tmp_path / "a"))
    assert [json.loads(line) for line in (tmp_path / "a" / "truth.jsonl").read_text().splitlines()] == rows
    assert {row["group"] for row in rows} >= {"whole", "region", "chain2", "pristine", "changes"}
    for row in rows:
        reference, copy = (damage.read(tmp_path / "a" / row[name]) for name in ("reference", "copy"))
        differs = (reference != copy).any(axis=2)
        assert reference.shape == copy.shape and row["half"] == "everyday"
        assert len(row["programs"]) == len(row["tools"]) > 0
        assert all(set(labels) <= LABELS for labels in row["expected"])
        marked = np.zeros(differs.shape, bool)
        for fault in row["faults"]:
            mask = damage.read(tmp_path / "a" / fault["mask"])[..., 0]
            x, y, width, height = fault["box"]
            assert (
                mask[y : y + height, x : x + width].any()
                and (mask > 0).sum() == (mask[y : y + height, x : x + width] > 0).sum()
            )
            assert set(fault["settings"]) == set(fault["kinds"])
            assert fault["form"] in ("whole", *damage.FORMS)
            assert fault["form"] == "feathered" or set(np.unique(mask)) <= {0, 255}
            marked |= mask > 0
        if row["group"] == "pristine":
            assert row["expected"] == [["original"]] and np.abs(reference.astype(int) - copy).max() <= 1
        else:
            assert differs.any() and not (differs & ~marked).any()
        if row["group"] == "changes":
            assert (differs == marked).all()


def test_same_seed_same_files(folder: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        cases.draw(options(folder, tmp_path / name, groups="whole,region,pristine,changes", share=0.03))
    for path in sorted((tmp_path / "a").rglob("*.*")):
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes(), path.name


def test_other_files_are_not_deleted(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(SystemExit, match="other files"):
        cases.draw(options(folder, tmp_path))
    assert (tmp_path / "mine.txt").exists()


def find(name: str) -> Program:
    """A program by its name; skips the test where it is not installed."""
    programs, _ = damage.available()
    found = [program for program in programs if program.name == name]
    if not found:
        pytest.skip(f"{name} is not installed")
    return found[0]


def values(image: np.ndarray, v: float) -> SimpleNamespace:
    height, width = image.shape[:2]
    small = {"dw": round(width / max(v, 1)), "dh": round(height / max(v, 1))}
    return SimpleNamespace(
        v=v, n=round(v), i=1 / v, w=width, h=height, seed=5, odd=2 * round(v) + 1, x=3, y=2, angle=0, u=1.0,
        im=damage.MAGICK, **small,
    )  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "ImageMagick -evaluate add",
        "netpbm pamfunc (luminance)",
        "G'MIC add",
        "libvips linear (luminance)",
        "OpenCV add",
    ],
)
@pytest.mark.parametrize("offset", [20, -20])
def test_offset_is_added(name: str, offset: int, image: np.ndarray) -> None:
    program = find(name)
    copy = damage.apply(program, image, values(image, offset))
    assert np.abs(copy - np.clip(image.astype(int) + offset, 0, 255)).max() <= 1
    assert program.settings(values(image, offset)) == {"offset": offset}


@pytest.mark.parametrize(
    "name",
    [
        "ImageMagick -blur",
        "GraphicsMagick -gaussian",
        "G'MIC blur",
        "ffmpeg gblur (blur)",
        "GEGL gaussian-blur",
        "OpenCV GaussianBlur",
    ],
)
def test_blur_has_the_said_sigma(name: str, image: np.ndarray) -> None:
    copy = damage.apply(find(name), image, values(image, 2.0)).astype(float)
    errors = {
        sigma: np.mean((ndimage.gaussian_filter(image.astype(float), (sigma, sigma, 0)) - copy)[12:-12, 12:-12] ** 2)
        for sigma in (1.4, 2.0, 2.6)
    }
    assert min(errors, key=lambda sigma: errors[sigma]) == 2.0


@pytest.mark.parametrize("name", ["netpbm pamchannel", "OpenCV cvtColor BGR", "ImageMagick red and blue"])
def test_red_and_blue_are_exchanged(name: str, image: np.ndarray) -> None:
    assert (damage.apply(find(name), image, values(image, 1.0)) == image[..., ::-1]).all()


@pytest.mark.parametrize("name", ["ImageMagick shift", "OpenCV warpAffine shift", "libvips affine", "GEGL translate"])
def test_shift_goes_right_and_down(name: str, image: np.ndarray) -> None:
    program = find(name)
    copy = damage.apply(program, image, values(image, 3.0)).astype(int)
    assert np.abs(copy[10:-10, 10:-10] - image[8:-12, 7:-13]).max() <= 2
    assert program.settings(values(image, 3.0)) == {"shift_x": 3, "shift_y": 2}


@pytest.mark.parametrize("name", ["ImageMagick rotate", "OpenCV warpAffine turn", "ffmpeg rotate", "ImageMagick scale"])
def test_turn_and_scale_are_those_of_llise(name: str, image: np.ndarray) -> None:
    from llise.kinds.warping import Transform, warp

    program = find(name)
    given = values(image, 1.03 if name.endswith("scale") else 3.0)
    copy = damage.apply(program, image, given).astype(float)
    settings = program.settings(given)

    def error(change: dict[str, float]) -> float:
        same = np.stack([warp(image[..., c], Transform(**change), "bicubic") for c in range(3)], axis=2)
        return float(np.mean((same - copy)[14:-14, 14:-14] ** 2))

    key, value = next(iter(settings.items()))
    other = -value
    assert error({key: value}) < 0.1 * min(error({key: other}), error({}))


def test_limited_range_read_as_full_is_a_line(image: np.ndarray) -> None:
    copy = damage.apply(find("ffmpeg limited read as full"), image, values(image, 1.0))
    assert np.abs(copy - (16 + image * (219 / 255))).mean() < 1.5


@pytest.mark.parametrize("name", list(DISGUISES))
def test_disguises_show_the_reference(name: str, image: np.ndarray, tmp_path: Path) -> None:
    path = disguise(name, image, tmp_path / "copy", np.random.default_rng(1))
    if path is None:
        pytest.skip("ImageMagick is not installed")
    assert np.abs(damage.read(path).astype(int) - image).max() == (1 if name in ("rounding", "dither") else 0)


@pytest.mark.parametrize("form", damage.FORMS)
def test_forms_cover_about_the_area(form: str) -> None:
    for seed in range(5):
        weight = damage.draw_form((200, 260), form, 0.1, np.random.default_rng(seed))
        assert 0.02 < (weight > 0).mean() < 0.15 and weight.max() == 1
        assert (form == "feathered") == bool(((weight > 0) & (weight < 1)).any())


def test_damage_that_nobody_sees_is_no_case(image: np.ndarray) -> None:
    everywhere, flat = np.ones(image.shape[:2], bool), np.full_like(image, 90)
    assert not damage.visible(("blur",), image, image, everywhere)
    assert not damage.visible(("contrast",), flat, flat + 20, everywhere)
    assert damage.visible(("luminance",), flat, flat + 20, everywhere)


def test_list_keeps_packages_on_one_side_and_apart_from_the_training() -> None:
    rows = pictures.catalogue()
    assert len({row["name"] for row in rows}) == len(rows) >= 80
    sides: dict[str, set[str]] = {}
    for row in rows:
        sides.setdefault(row["package"], set()).add(row["split"])
        assert row["licence"] and (row["sha256"] is None) == (row["registry"] in ("browser", "matplotlib"))
    assert all(len(side) == 1 for side in sides.values())
    assert 3 * sum(row["sha256"] is None for row in rows) >= len(rows)


def test_pages_are_always_the_same() -> None:
    for name in pages.PAGES:
        assert pages.page_source(name, True) == pages.page_source(name, True) != pages.page_source(name, False)


def test_missing_pictures_are_said(tmp_path: Path) -> None:
    script = Path(cases.__file__)
    done = subprocess.run(
        [sys.executable, script, tmp_path / "out", "--pictures", tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 1 and "pictures.py" in done.stderr
