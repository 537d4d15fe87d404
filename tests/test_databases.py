"""llise benchmark: the layouts of the databases, what is judged and counted, and what damaged folders say."""

import json
import os
import re
import shutil
import signal
import zipfile
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import quality_databases
import scipy.io
from click.testing import CliRunner
from scipy import stats

from llise.cli.benchmark import NAMES
from llise.cli.main import commands, main
from llise.databases import benchmark, judging, page
from llise.databases.layout import Database, DatabaseError, DistortionType
from llise.databases.registry import DATABASES
from llise.databases.spreadsheet import sheet_rows
from llise.databases.summary import summarize
from llise.labels import FURTHER_KINDS, LABELS

SCHEMA = json.loads((files("llise.output") / "benchmark.schema.json").read_text())
SIZES = {"tid2013": (24, 16), "kadid10k": (25, 6), "csiq": (6, 12), "live": (6, 982)}
"""Types of distortion, and images in the small folders."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: getattr(quality_databases, name)(tmp_path_factory.mktemp(name)) for name in DATABASES}


@pytest.fixture(scope="module")
def runs(folders, tmp_path_factory):
    """Each database judged through the command: what it printed, results.json and the page."""
    done = {}
    for name, folder in folders.items():
        out = tmp_path_factory.mktemp(f"out-{name}")
        arguments = ["benchmark", name, str(folder), "--out", str(out), "--jobs", "1", "--references", "2"]
        result = CliRunner().invoke(commands, arguments[:-1] + ["1" if name == "live" else "2"], standalone_mode=False)
        assert result.exception is None, result.exception
        done[name] = (result, json.loads((out / "results.json").read_text()), (out / "report.html").read_text())
    return done


def copied(folder, tmp_path):
    return Path(shutil.copytree(folder, tmp_path / "database"))


def status_of(*arguments):
    """Exit status of the program, which prints its errors."""
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    return ended.value.code


def test_the_command_names_all_databases():
    assert tuple(DATABASES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_type_is_a_kind_of_ours_or_outside(name):
    database = DATABASES[name]
    assert len(database.distortions) == SIZES[name][0]
    assert {entry.kind for entry in database.distortions.values()} <= {*LABELS, *FURTHER_KINDS, None}


@pytest.mark.parametrize("name", NAMES)
def test_all_images_of_a_folder_are_listed_with_the_files_that_exist(name, folders):
    items = DATABASES[name].read(folders[name])
    assert len(items) == SIZES[name][1]
    if name != "live":  # its scores are always those of 982 images
        assert all(item.file.is_file() and item.reference.is_file() for item in items)


def test_tid2013_names_are_found_in_upper_and_lower_case(folders):
    items = DATABASES["tid2013"].read(folders["tid2013"])
    assert {item.reference.name for item in items} == {"I01.BMP", "i02.bmp"}
    assert {item.file.suffix for item in items} == {".bmp", ".BMP"}
    assert [(item.distortion, item.level, item.score) for item in items[:2]] == [("01", 1, 4.51), ("01", 2, 2.51)]


def test_csiq_scores_are_the_same_from_the_sheet_and_exported(folders, tmp_path):
    expected = [(i.file.name, i.level, i.score) for i in DATABASES["csiq"].read(folders["csiq"])]
    assert expected[0] == ("1600.AWGN.1.png", 1, 0.31)
    for number, separator in enumerate(",;\t"):
        folder = quality_databases.csiq(tmp_path / str(number), separator)
        assert [(i.file.name, i.level, i.score) for i in DATABASES["csiq"].read(folder)] == expected


def test_live_scores_follow_the_order_of_folders_and_prefer_the_realigned(folders, tmp_path):
    items = DATABASES["live"].read(folders["live"])
    places = [(item.file.parent.name, item.file.name) for item in items]
    assert places[226:228] == [("jp2k", "img227.bmp"), ("jpeg", "img1.bmp")]
    assert places[-1] == ("fastfading", "img174.bmp")
    assert items[227].score == 20 + len("jpeg") and items[227].distortion == "jpeg"
    assert items[229].distortion == "original" and items[229].score == 0
    older = quality_databases.live(tmp_path, realigned=False)
    assert DATABASES["live"].read(older)[227].score == (20 + len("jpeg")) / 2


@pytest.mark.parametrize("name", NAMES)
def test_results_follow_their_schema_and_verdicts_are_right(name, runs):
    done, results, _ = runs[name]
    jsonschema.validate(results, SCHEMA)
    assert done.return_value == 0
    ours = results["totals"]["ours"]
    assert ours["right"] >= 0.75 * ours["images"] > 0  # small pictures are hard
    assert results["totals"]["failed"] == 0
    assert results["complete"] == (name != "live")


def test_images_are_counted_by_type_and_level_and_outside_types_apart(runs):
    _, results, _ = runs["tid2013"]
    assert set(results["types"]) == {"01", "08", "10", "12"}
    assert {level: entry["images"] for level, entry in results["types"]["08"]["levels"].items()} == {"1": 2, "2": 2}
    assert sum(entry["right"] for entry in results["types"]["08"]["levels"].values()) >= 3
    outside = results["types"]["12"]
    assert outside["kind"] is None and outside["right"] is None and sum(outside["answers"].values()) == 4
    assert results["totals"]["outside"]["images"] == 4


def test_unchanged_copies_of_live_are_original_and_left_out_of_the_correlation(runs):
    _, results, _ = runs["live"]
    assert results["types"]["original"]["answers"] == {"original": 5}
    assert results["totals"]["images"] == 15 and results["correlation"]["all"]["images"] == 10
    assert "original" not in results["correlation"]
    unchanged = [image for image in results["images"] if image["type"] == "original"]
    assert all(image["psnr"] is None and image["severity"] == 0 for image in unchanged)


@pytest.mark.parametrize("name", NAMES)
def test_correlations_are_those_of_scipy_with_one_for_agreement(name, runs):
    _, results, _ = runs[name]
    images = [image for image in results["images"] if image["type"] != "original"]
    sign = 1 if results["database"]["higher_is_better"] else -1
    quality = sign * np.array([image["score"] for image in images])
    for measure, direction in (("severity", -1), ("psnr", 1), ("ssim", 1)):
        values = direction * np.array([image[measure] for image in images])
        spearman, kendall = stats.spearmanr(values, quality).statistic, stats.kendalltau(values, quality).statistic
        entry = results["correlation"]["all"][measure]
        assert entry["spearman"] == pytest.approx(spearman, abs=1e-4) and entry["spearman"] > 0.5
        assert entry["kendall"] == pytest.approx(kendall, abs=1e-4)


def test_every_answer_that_is_no_kind_is_counted():
    database = Database("x", "X", "", "", True, {"1": DistortionType("new")}, "", lambda folder: [])
    measures = {"type": "1", "level": None, "severity": 1.0, "psnr": None, "ssim": 0.5, "score": 1.0}
    answers = [(["unknown"], True), (["unknown"], False), (["original"], True), (["blur"], True), (["blur"], True)]
    records = [{**measures, "verdict": verdict, "is_copy": is_copy} for verdict, is_copy in answers]
    summary = summarize(database, [*records, {"type": "1", "error": "damaged"}])
    assert summary["totals"] == {
        "images": 5, "failed": 1, "ours": {"images": 0, "right": 0},
        "outside": {"images": 5, "unknown": 1, "not_a_copy": 1, "original": 1},
    }  # fmt: skip
    assert summary["types"]["1"]["answers"] == {"blur": 2, "unknown": 1, "not a copy": 1, "original": 1}
    assert summary["correlation"]["1"]["psnr"] == {"spearman": None, "kendall": None}  # all are equal


def test_a_mixture_and_another_scene_are_not_right():
    database = Database("x", "X", "", "", True, {"1": DistortionType("blur", "blur")}, "", lambda folder: [])
    measures = {"type": "1", "level": 3, "severity": 1.0, "psnr": 30.0, "ssim": 0.5, "score": 1.0}
    answers = [(["blur"], True), (["blur", "jpeg"], True), (["unknown"], False)]
    records = [{**measures, "verdict": verdict, "is_copy": is_copy} for verdict, is_copy in answers]
    assert summarize(database, records)["types"]["1"]["levels"] == {"3": {"images": 3, "right": 1}}


def test_the_command_prints_all_tables(runs):
    printed = runs["kadid10k"][0].stdout
    assert re.search(r"Gaussian blur +blur +1 / 1 +1 / 1 +2 / 2", printed)
    assert re.search(r"jitter +outside +2 ", printed)
    assert "Spearman severity" in printed and "exact verdict for 4 / 4" in printed and "report.html" in printed


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_a_policy_and_all_tables(name, runs):
    _, results, text = runs[name]
    assert "Content-Security-Policy" in text and text.count("<table>") == 3
    for entry in results["types"].values():
        assert entry["title"] in text


def test_names_in_the_page_stay_text(runs, tmp_path):
    results = dict(runs["kadid10k"][1], folder="<script>x()</script>`|`")
    results["images"] = [{"error": "a|b<img src=x onerror=y()>`.png: damaged"}]
    page.write_page(tmp_path / "report.html", results)
    body = (tmp_path / "report.html").read_text().split("<main>")[1]
    assert "<script" not in body and "<img" not in body and "&lt;script&gt;" in body and "&lt;img src=x" in body


def test_missing_and_damaged_images_are_reported_and_the_others_judged(folders, tmp_path, monkeypatch):
    folder = copied(folders["tid2013"], tmp_path)
    images = folder / "distorted_images"
    (images / "i01_01_1.bmp").unlink()
    (images / "i01_08_1.bmp").write_bytes((images / "i01_08_1.bmp").read_bytes()[:100])
    (folder / "reference_images" / "i02.bmp").write_bytes(b"no picture")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(commands, ["benchmark", "tid2013", str(folder), "-j", "1"], standalone_mode=False)
    assert done.return_value == 1
    results = json.loads(Path("llise-tid2013/results.json").read_text())
    jsonschema.validate(results, SCHEMA)
    assert results["totals"]["images"] == 6 and results["totals"]["failed"] == 10
    errors = {image["file"]: image["error"] for image in results["images"] if "error" in image}
    assert "i01_01_1.bmp: no such file" in errors["distorted_images/I01_01_1.bmp"].replace("I01", "i01")
    assert "damaged or truncated" in errors["distorted_images/i01_08_1.bmp"]
    assert "i02.bmp: not an image" in errors["distorted_images/I02_10_2.BMP"]
    assert done.stderr.count("llise: error:") == 10
    assert "no such file" in Path("llise-tid2013/report.html").read_text()


def test_many_errors_are_summed_up(folders, tmp_path, capsys):
    folder = copied(folders["tid2013"], tmp_path)
    shutil.rmtree(folder / "reference_images")
    (folder / "reference_images").mkdir()
    assert status_of("benchmark", "tid2013", folder, "-j", "1", "--out", tmp_path / "out") == 1
    errors = capsys.readouterr().err
    assert errors.count("llise: error:") == 11 and "6 more images could not be judged" in errors
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    jsonschema.validate(results, SCHEMA)
    assert results["totals"] | {"ours": 0, "outside": 0} == {"images": 0, "failed": 16, "ours": 0, "outside": 0}


MISSING = {
    "tid2013": ("mos_with_names.txt", "reference_images", "distorted_images"),
    "kadid10k": ("dmos.csv", "images"),
    "csiq": ("csiq.DMOS.xlsx", "src_imgs", "dst_imgs"),
    "live": ("refnames_all.mat", "refimgs", "fastfading"),
}


@pytest.mark.parametrize(("name", "part"), [(name, part) for name, parts in MISSING.items() for part in parts])
def test_a_folder_without_a_part_says_what_was_expected_where(name, part, folders, tmp_path, capsys):
    folder = tmp_path / "database"
    folder.mkdir()
    for entry in folders[name].iterdir():
        if entry.name != part:
            (folder / entry.name).symlink_to(entry)
    assert status_of("benchmark", name, folder, "--out", tmp_path / "out") == 1
    error = capsys.readouterr().err
    assert f"{folder}: not {DATABASES[name].title} as it is distributed: there is no" in error
    assert part in error and f"expected a folder with {DATABASES[name].layout}" in error
    assert error.count("\n") == 1 and not (tmp_path / "out").exists()


def test_another_database_or_no_folder_is_refused(folders, tmp_path):
    with pytest.raises(DatabaseError, match=r"there is no file dmos\.csv in it; expected a folder with images and"):
        DATABASES["kadid10k"].read(folders["tid2013"])
    with pytest.raises(DatabaseError, match=r"cannot be read \(No such file"):
        DATABASES["live"].read(tmp_path / "absent")


@pytest.mark.parametrize(("name", "file", "content", "message"), [
    ("tid2013", "mos_with_names.txt", "5.1 I01_01_1.bmp\n5.1 I01_99_1.bmp\n", "line 2: '5.1 I01_99_1.bmp'; expected"),
    ("tid2013", "mos_with_names.txt", "five I01_01_1.bmp\n", "line 1: the score is 'five'; expected a number"),
    ("tid2013", "mos_with_names.txt", "nan I01_01_1.bmp\n", "line 1: the score is 'nan'; expected a number"),
    ("tid2013", "mos_with_names.txt", "\n", "names no image"),
    ("kadid10k", "dmos.csv", "a,b\n1,2\n", r"its columns are \['a', 'b'\]; expected dist_img"),
    ("kadid10k", "dmos.csv", "", r"its columns are \[\]"),
    ("kadid10k", "dmos.csv", "dist_img,ref_img,dmos,var\nI01_01_01.png\n", "line 2: 'I01_01_01.png'; expected a line"),
    ("csiq", "csiq.DMOS.xlsx", "no archive", "damaged, or not an xlsx file"),
    ("live", "dmos_realigned.mat", "no variables", "damaged, or not a MAT file"),
    ("live", "refnames_all.mat", "", "damaged, or not a MAT file"),
], ids=lambda value: value[:20])  # fmt: skip
def test_damaged_scores_are_named_with_their_line(name, file, content, message, folders, tmp_path):
    folder = copied(folders[name], tmp_path)
    (folder / file).write_text(content)
    with pytest.raises(DatabaseError, match=message):
        DATABASES[name].read(folder)


def test_scores_of_another_release_are_refused(folders, tmp_path):
    folder = copied(folders["live"], tmp_path)
    scipy.io.savemat(folder / "dmos_realigned.mat", {"dmos_new": np.zeros((1, 779)), "orgs": np.zeros((1, 779))})
    with pytest.raises(DatabaseError, match="779 entries; expected 982"):
        DATABASES["live"].read(folder)
    scipy.io.savemat(folder / "dmos_realigned.mat", {"mos": np.zeros((1, 982))})
    with pytest.raises(DatabaseError, match="no variable dmos_new or dmos"):
        DATABASES["live"].read(folder)


def test_a_sheet_is_read_with_its_empty_cells(tmp_path):
    rows = [["a", "", "<&>"], [], ["", 2.5]]
    quality_databases.write_xlsx(tmp_path / "x.xlsx", {"one": [], "two": rows})
    assert sheet_rows(tmp_path / "x.xlsx", "two") == [["a", "", "<&>"], [], ["", "2.5"]]
    with pytest.raises(DatabaseError, match="has no sheet three, but one, two"):
        sheet_rows(tmp_path / "x.xlsx", "three")


def test_a_sheet_that_would_fill_the_memory_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * 60_000_000)
    with pytest.raises(DatabaseError, match="more than 50000000 bytes"):
        sheet_rows(tmp_path / "x.xlsx", "one")


def test_an_interrupted_run_continues_and_changed_files_are_judged_again(folders, tmp_path, monkeypatch):
    folder, out = copied(folders["tid2013"], tmp_path), tmp_path / "out"
    judged, judge = [], judging.judge_group

    def counting(group):
        if len(judged) == 1 and not (out / "results.json").exists():
            raise KeyboardInterrupt
        judged.append(group.reference.name)
        return judge(group)

    monkeypatch.setattr(judging, "judge_group", counting)
    with pytest.raises(KeyboardInterrupt):
        benchmark.run(DATABASES["tid2013"], folder, out)
    first = list(judged)
    monkeypatch.setattr(judging, "judge_group", lambda group: judged.append(group.reference.name) or judge(group))
    results = benchmark.run(DATABASES["tid2013"], folder, out)
    assert sorted(judged) == ["I01.BMP", "i02.bmp"] and judged[:1] == first
    assert benchmark.run(DATABASES["tid2013"], folder, out) == results and len(judged) == 2
    os.utime(folder / "distorted_images" / "i01_01_1.bmp", (1, 1))
    assert benchmark.run(DATABASES["tid2013"], folder, out) == results and judged[2:] == ["I01.BMP"]


def test_results_do_not_depend_on_the_number_of_processes(folders, runs, tmp_path):
    results = benchmark.run(DATABASES["tid2013"], folders["tid2013"], tmp_path / "out", n_jobs=2)
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == runs["tid2013"][1]
    assert results["images"] == runs["tid2013"][1]["images"]


def test_a_process_that_is_killed_is_one_error(folders, tmp_path, monkeypatch):
    monkeypatch.setattr(judging, "judge_group", lambda group: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(OSError, match=r"ended before its images were judged.*fewer jobs"):
        benchmark.run(DATABASES["tid2013"], folders["tid2013"], tmp_path / "out", n_jobs=2)
    assert not (tmp_path / "out" / "results.json").exists()


def test_only_some_references_are_judged_on_request(folders, tmp_path):
    results = benchmark.run(DATABASES["tid2013"], folders["tid2013"], tmp_path / "out", references=1)
    assert {image["reference"] for image in results["images"]} == {"reference_images/I01.BMP"}
    assert not results["complete"] and "Only the first 1 reference" in (tmp_path / "out" / "report.html").read_text()
