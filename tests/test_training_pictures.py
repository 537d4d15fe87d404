"""The list of the training's pictures, how they are read from archives, and the synthetic ones."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # training is a folder of the repository, not installed

from training import drawn, pictures

ROOT = Path(__file__).resolve().parent.parent
KEPT_ASIDE = """
    node-vibrant picturefill tracking colorthief fabric caman hexo-theme-particlex hexo-theme-zhaoo imgaug mahotas pyiqa
    startbootstrap-clean-blog startbootstrap-landing-page startbootstrap-stylish-portfolio blk-design-system
    mate-backgrounds plasma-workspace-wallpapers ukui-wallpapers puzzle-jigsaw
""".split()  # noqa: SIM905 - as text it can be read
LISTED = json.loads(pictures.LIST.read_text())


def test_each_row_names_package_licence_file_and_digest() -> None:
    assert len(LISTED["pictures"]) >= 300
    for row in LISTED["pictures"] + LISTED["fonts"]:
        assert row["source"] in {*pictures.COMMANDS, "installed"}
        assert all(isinstance(row[key], str) and row[key] for key in ("package", "version", "license", "file"))
        assert len(row["sha256"]) == 64 and int(row["sha256"], 16)
    assert all(row["reduce"] >= 1 for row in LISTED["pictures"])
    digests = [row["sha256"] for row in LISTED["pictures"]]
    assert len(set(digests)) == len(digests)


def test_no_picture_is_one_of_those_that_are_measured_with() -> None:
    packages = {row["package"] for row in LISTED["pictures"]}
    assert not packages & set(KEPT_ASIDE)
    measured = ROOT / "benchmarks" / "everyday" / "pictures.json"
    if measured.is_file():
        rows = json.loads(measured.read_text())
        assert not packages & {row.get("package") for row in rows}
        assert not {row["sha256"] for row in LISTED["pictures"]} & {row.get("sha256") for row in rows}


def _png(picture: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "PNG")
    return stream.getvalue()


def test_files_are_read_from_archives_if_their_digest_is_right(tmp_path: Path, capsys) -> None:
    good, other = (_png(np.full((40, 60, 3), grey, np.uint8)) for grey in (10, 200))
    folder = tmp_path / "npm-some-package-1.0.0"
    folder.mkdir()
    with tarfile.open(folder / "package.tgz", "w:gz") as archive:
        for name, data in (("package/a.png", good), ("package/b.png", other)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    row = {"source": "npm", "package": "@some/package", "version": "1.0.0", "sha256": hashlib.sha256(good).hexdigest()}
    rows = [{**row, "file": "package/a.png"}, {**row, "file": "package/b.png"}]
    assert list(pictures.contents(rows, tmp_path)) == [(rows[0], good)]
    assert "package/b.png is another file than the listed one" in capsys.readouterr().err


def test_pictures_are_reduced_and_cut_from_the_middle_and_alpha_becomes_white() -> None:
    wide = np.zeros((700, 2400, 4), np.uint8)
    wide[:, 600:1800] = 255
    found = np.asarray(pictures.reduced(_png(wide), 1.0))
    assert found.shape == (660, 900, 3) and (found == 255).all()
    assert pictures.reduced(_png(wide), 4.0).size == (600, 175)


@pytest.mark.parametrize("maker", drawn.MAKERS, ids=lambda maker: maker.__name__)
def test_synthetic_pictures_are_the_same_for_a_seed_and_not_flat(maker) -> None:
    fonts = Path(pytest.importorskip("matplotlib").get_data_path()) / "fonts" / "ttf"
    files = [fonts / "DejaVuSans.ttf", fonts / "DejaVuSerif.ttf"]
    for seed in range(4):
        one, other = (np.asarray(maker((220, 300), np.random.default_rng(seed), files)) for _ in range(2))
        assert one.shape == (220, 300, 3) and np.array_equal(one, other)
        assert one.std() > 1


def test_a_third_or_so_of_the_pictures_are_pages_interfaces_and_charts() -> None:
    flat = sum(count for maker, count in drawn.MAKERS.items() if maker in (drawn.page, drawn.interface, drawn.chart))
    assert 0.15 < flat / (len(LISTED["pictures"]) + sum(drawn.MAKERS.values())) < 0.5
