"""The layouts of the public databases: which images are listed, with which truth, and what other folders say."""

import json
import subprocess
import sys

import pytest
import quality_databases

import databases

COUNTS = {"tid2013": 16, "kadid10k": 6, "csiq": 12}


@pytest.mark.parametrize("name", COUNTS)
def test_all_images_are_listed_with_files_that_exist(name, tmp_path):
    if name == "csiq":
        pytest.importorskip("openpyxl", reason="pandas reads xlsx files with openpyxl")
    listed = list(databases.READERS[name](getattr(quality_databases, name)(tmp_path)))
    assert len(listed) == COUNTS[name]
    assert all(item.copy.is_file() and item.reference.is_file() for item in listed)


def test_a_type_outside_our_kinds_should_be_unknown(tmp_path):
    truth = list(databases.rows("tid2013", quality_databases.tid2013(tmp_path)))
    assert {row["programs"][0]: row["expected"] for row in truth} == {
        "01": [["gaussian_noise"]], "08": [["blur"]], "10": [["jpeg"]], "12": [["unknown"]]
    }  # fmt: skip


def test_unchanged_images_of_live_are_originals(tmp_path):
    folder = quality_databases.live(tmp_path)
    names = {f"img{n}.bmp" for n in (1, 2, 3)}
    for kind, count in databases.LIVE_COUNTS.items():  # the small folder has three of each
        for number in range(1, count + 1):
            if f"img{number}.bmp" not in names:
                (folder / kind / f"img{number}.bmp").touch()
    (folder / "refimgs" / "other.bmp").touch()
    truth = list(databases.rows("live", folder))
    assert len(truth) == 982 and truth[2]["expected"] == [["original"]] and truth[0]["expected"] == [["jpeg2000"]]


@pytest.mark.parametrize("form", [",", ";", "\t"])
def test_the_sheet_of_csiq_may_be_exported(form, tmp_path):
    assert len(list(databases.csiq(quality_databases.csiq(tmp_path, form)))) == COUNTS["csiq"]


def test_another_folder_is_refused_with_what_was_expected(tmp_path):
    with pytest.raises(databases.DatabaseError, match=r"there is no mos_with_names.txt in it"):
        list(databases.tid2013(tmp_path))
    (quality_databases.tid2013(tmp_path) / "mos_with_names.txt").write_text("five I01_01_1.bmp x\n")
    with pytest.raises(databases.DatabaseError, match="line 1"):
        list(databases.tid2013(tmp_path))


def test_the_command_writes_the_truth(tmp_path):
    folder = quality_databases.kadid10k(tmp_path / "kadid")
    command = [sys.executable, databases.__file__, "kadid10k", str(folder), "-o", str(tmp_path / "cases")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "6 images of kadid10k" in done.stdout
    assert len([json.loads(line) for line in (tmp_path / "cases" / "truth.jsonl").read_text().splitlines()]) == 6
