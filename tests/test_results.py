"""Rows of diagnoses, and the commands around a diagnoser without a model."""

import csv
import io
import json
import math
import re
import tracemalloc
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from PIL import Image
from samples import SCENES, QuickDiagnoser, blur_over_jpeg, context, diagnosis, fault, picture

import llise
import llise.diagnosis
from llise.cli.main import main
from llise.diagnosis.result import BLOCK_LABELS, Interval
from llise.labels import KINDS, LABELS
from llise.output.rows import Csv, Json, Table, as_dict
from llise.output.runs import block_runs
from llise.storage.files import printable

SCHEMA = json.loads((files("llise.output") / "diagnose.schema.json").read_text())


def filled(rows, *verdicts):
    trained = context(64, 64)
    for seed, verdict in enumerate(verdicts):
        rows.add(diagnosis(trained, verdict, seed, f"{seed}.png"))
    rows.add_failure("bad.png", "bad.png: truncated; copy it again")
    rows.close()
    return rows.out.getvalue()


def test_the_schema_is_a_schema_and_knows_all_labels():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert tuple(SCHEMA["$defs"]["built_in"]["enum"]) == BLOCK_LABELS[1:]


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_json_of_every_sort_of_diagnosis_follows_its_schema(scene):
    rows = Json(io.StringIO(), "ref.png")
    rows.add(scene(context(126, 190)))
    rows.close()
    jsonschema.validate(json.loads(rows.out.getvalue()), SCHEMA)


def test_the_documented_example_follows_the_schema():
    page = (Path(__file__).parents[1] / "docs" / "json.md").read_text(encoding="utf-8")
    example = json.loads(re.search("```json\n(.*?)```", page, re.DOTALL).group(1))
    jsonschema.validate(example, SCHEMA)
    fields = {*example["images"][0], *example["images"][0]["faults"][0], "error"}
    assert all(f"`{field}`" in page for field in fields)


def test_json_describes_each_fault():
    result = blur_over_jpeg(context(128, 128))
    entry = as_dict(result)
    whole, part = entry["faults"]
    assert entry["is_copy"] is True and entry["verdict"] == ["blur", "jpeg"]
    assert whole["kinds"] == ["jpeg"] and whole["box"] == [0, 0, 128, 128] and whole["area"] == 1
    assert whole["blocks"] == [[row, 0, 15] for row in range(16)]
    assert part["estimate"] == {"blur": {"sigma": {"value": 2.1, "low": 1.9, "high": 2.3}}}
    assert (part["confidence"], part["severity"], part["explained"]) == (0.91, {"blur": 200.0}, 0.95)


def test_the_fields_of_schema_1_are_still_there():
    entry = as_dict(diagnosis(context(64, 64), ("blur",), file="a.png"))
    first = ["file", "verdict", "confidence", "shares", "severity", "mse", "psnr", "ssim", "block_grid", "block_labels"]
    assert list(entry)[: len(first)] == first


def test_an_unbounded_interval_is_null():
    of = context(64, 64)
    estimate = {"blur": {"sigma": Interval(2.0, 1.0, math.inf)}}
    result = diagnosis(of, ("blur",), file="a.png")
    result.faults = [fault(of, ("blur",), np.ones((8, 8), bool), estimate=estimate)]
    entry = as_dict(result)
    assert entry["faults"][0]["estimate"]["blur"]["sigma"]["high"] is None
    jsonschema.validate({"schema": 2, "reference": "r", "images": [entry]}, SCHEMA)


@pytest.mark.parametrize("seed", range(5))
def test_runs_are_the_blocks_of_the_region(seed):
    region = np.random.default_rng(seed).random((7, 9)) < 0.5
    drawn = np.zeros_like(region)
    for row, first, last in block_runs(region):
        assert not drawn[row, first : last + 1].any() and not drawn[row, max(first - 1, 0)]
        drawn[row, first : last + 1] = True
    assert np.array_equal(drawn, region)


def test_json_follows_its_schema():
    text = filled(Json(io.StringIO(), "ref.png"), ("original",), ("blur",), ("jpeg", "contrast"))
    result = json.loads(text)
    jsonschema.validate(result, SCHEMA)
    assert [image.get("verdict") for image in result["images"]] == [
        ["original"],
        ["blur"],
        ["contrast", "jpeg"],
        None,
    ]
    assert result["images"][0]["psnr"] is None and result["images"][3]["error"].startswith("bad.png: ")
    assert np.shape(result["images"][1]["block_labels"]) == tuple(result["images"][1]["block_grid"]) == (8, 8)


def test_the_schema_refuses_what_is_not_a_diagnosis():
    entry = as_dict(diagnosis(context(64, 64), ("blur",), file="a.png"))
    for key, value in [
        ("verdict", []),
        ("verdict", ["Fog"]),
        ("confidence", 1.2),
        ("psnr", "inf"),
        ("extra", 1),
        ("is_copy", "yes"),
        ("faults", [{"kinds": ["blur"]}]),
        ("faults", [{**entry["faults"][0], "blocks": [[0, 1]]}]),
    ]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"schema": 2, "reference": "r", "images": [{**entry, key: value}]}, SCHEMA)


def test_json_without_images_is_an_object_too():
    out = io.StringIO()
    Json(out, "a\udcff.png").close()
    assert json.loads(out.getvalue()) == {"schema": 2, "reference": "a\\udcff.png", "images": []}


def test_csv_reads_back():
    lines = list(csv.DictReader(io.StringIO(filled(Csv(io.StringIO()), ("original",), ("jpeg", "contrast")))))
    assert [line["verdict"] for line in lines] == ["original", "contrast+jpeg", ""]
    assert math.isinf(float(lines[0]["psnr"])) and lines[2]["error"] == "bad.png: truncated; copy it again"
    assert abs(sum(float(lines[1][f"share_{label}"]) for label in LABELS) - 1) < 1e-4
    severe = [kind for kind in KINDS if lines[1][f"severity_{kind}"]]
    assert set(severe) == {"jpeg", "contrast"}
    assert [line["n_faults"] for line in lines] == ["0", "1", ""]


def test_the_first_columns_of_csv_are_those_of_version_0_1():
    shares, severities = [f"share_{label}" for label in LABELS], [f"severity_{kind}" for kind in KINDS]
    first = ["file", "verdict", "confidence", *shares, *severities, "mse", "psnr", "ssim", "error"]
    assert list(Csv.COLUMNS)[: len(first)] == first


def test_csv_has_all_faults_on_one_line():
    rows = Csv(io.StringIO())
    rows.add(blur_over_jpeg(context(128, 128)))
    (line,) = csv.DictReader(io.StringIO(rows.out.getvalue()))
    whole, part = line["faults"].split("; ")
    assert whole.startswith("jpeg jpeg.quality=12 area=1 box=0:0:128:128 ")
    assert part.startswith("blur blur.sigma=2.1 ") and part.endswith(" confidence=0.9100")
    assert line["is_copy"] == "yes" and line["sentence"].startswith("JPEG compression, quality about 12,")


@pytest.mark.parametrize("name", ["=1+2.png", "+a.png", "-a.png", "@a.png", "\ta.png", "\ra.png"])
def test_no_cell_of_csv_begins_a_formula(name):
    rows = Csv(io.StringIO())
    rows.add(diagnosis(context(64, 64), ("blur",), file=name))
    rows.add_failure(name, f"{name}: truncated")
    judged, failed = csv.DictReader(io.StringIO(rows.out.getvalue()))
    for cell in (judged["file"], failed["file"], failed["error"]):
        assert cell.startswith("'" + printable(name))


def test_the_table_has_aligned_columns():
    text = filled(Table(io.StringIO(), ["0.png", "a-longer-name.png"]), ("original",), ("gaussian_noise", "jpeg"))
    lines = text.splitlines()
    assert len(lines) == 3 and len({len(line) for line in lines}) == 1
    assert "gaussian_noise+jpeg" in lines[2] and "93%" in lines[2] and "sigma 8, quality 12" in lines[2]


def table_of(results):
    rows = Table(io.StringIO(), [result.file for result in results])
    for result in results:
        rows.add(result)
    return rows.out.getvalue().splitlines()


def test_the_table_has_an_indented_line_for_each_further_fault():
    head, first, second = table_of([blur_over_jpeg(context(128, 128))])
    for column, texts in {
        "VERDICT": ("jpeg", "blur"),
        "WHERE": ("whole picture", "lower left 14%"),
        "ESTIMATE": ("quality 12", "2.1 px"),
    }.items():
        at = head.index(column)
        assert first[at:].startswith(texts[0] + " ") and second[at:].startswith(texts[1] + " ")
    assert second.startswith(" " * len("blur over jpeg.png")) and second.endswith(" 91%       200")


def test_the_table_fits_into_120_columns_whatever_the_folder():
    of = context(126, 190)
    results = [scene(of) for scene in SCENES]
    for result in results:
        result.file = f"a/folder/with-a-long-name-that-all-of-the-files-share/{result.file}"
    lines = table_of(results)
    assert max(len(line) for line in lines) <= 120 and lines[1].startswith("pristine.png ")
    assert not any(line.endswith(" ") for line in lines)


def test_a_name_that_is_too_long_for_the_table_is_shortened_in_its_middle():
    result = blur_over_jpeg(context(128, 128))
    result.file = "a" * 30 + "b" * 30 + "-copy.png"
    head, first, second = table_of([result])
    name = first.split()[0]
    assert name.startswith("aaaa") and "..." in name and name.endswith("b-copy.png")
    assert max(len(head), len(first), len(second)) <= 120


def test_the_table_says_what_is_not_a_copy():
    of = context(128, 128)
    assert " not a copy " in "\n".join(table_of([scene(of) for scene in SCENES]))


def test_names_are_printed_on_one_line_without_control_characters():
    assert printable("a\nb\x1b[31m\udcff é") == "a\\nb\\x1b[31m\\udcff é"


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """The commands with a diagnoser without a model."""
    Quick = type("Diagnoser", (QuickDiagnoser,), {})
    monkeypatch.setattr(llise.diagnosis, "Diagnoser", Quick)
    monkeypatch.setitem(vars(llise), "Diagnoser", Quick)
    monkeypatch.chdir(tmp_path)
    Image.fromarray(picture()).save("ref.png")
    return Quick


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


def peak_of(count, folder):
    tracemalloc.start()
    assert run("diagnose", "ref.png", *[folder] * count, "--json", "--html", "r.html") == 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_two_hundred_images_need_little_more_memory_than_twenty(quick, tmp_path, capsys):
    folder = tmp_path / "copies"
    folder.mkdir()
    for i in range(20):
        Image.fromarray(picture(256, 256, i)).save(folder / f"{i:03}.png")
    Image.fromarray(picture(256, 256)).save("ref.png")
    run("diagnose", "ref.png", folder)
    few, many = peak_of(1, folder), peak_of(10, folder)
    one_image = 256 * 256 * 5  # pixels and SSIM map, which a list of results would keep
    assert many - few < 0.25 * 180 * one_image
    assert capsys.readouterr().out.count('"file"') == 20 + 200


def test_the_demo_prints_the_table_and_says_where_the_report_is(quick, monkeypatch, capsys):
    from llise import datasets

    monkeypatch.setattr(datasets, "reference", lambda: picture(128, 128))
    assert run("demo", "--out", "shown", "--quiet") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "Report: shown/report.html"
    head = next(i for i, line in enumerate(lines) if line.startswith("APPLIED"))
    assert head == 1 + 12 + 1
    table = [line.split("  ") for line in lines[head + 1 : head + 13]]
    assert [row[0].rstrip() for row in table][:2] == ["contrast", "gaussian_noise"] and table[-1][0] == "jpeg+contrast"
    assert all(re.search(r"[a-z_0-9]+ \d+ %", " ".join(row)) for row in table)
    assert "in 12 of 12" not in lines[head] and any(line.startswith("Why they differ") for line in lines)
    assert "</html>" in Path("shown/report.html").read_text()


def test_why_prints_what_was_tried_on_standard_error(quick, capsys):
    Image.fromarray(picture() // 2).save("\x1b[31mcopy.png")
    assert run("diagnose", "ref.png", "\x1b[31mcopy.png", "--csv", "--why", "--quiet") == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"\\x1b[31mcopy.png: model made {'0' * 64}"
    assert lines[1].startswith("64 blocks in (0, 0, 64, 64):")
    assert [line.split(": ")[0].strip() for line in lines[2:]] == ["blur + jpeg", "unknown"]


def test_options_reach_the_diagnoser(quick, monkeypatch):
    def judge(self, images):
        assert (self.align, self.false_alarms) == (False, 0.2)
        return whole(self, images)

    whole = quick.diagnose
    monkeypatch.setattr(quick, "diagnose", judge)
    assert run("diagnose", "ref.png", "ref.png", "--no-align", "--false-alarms", "0.2", "--quiet") == 0
    assert run("diagnose", "ref.png", "ref.png", "--false-alarms", "1") == 2


def test_an_unexpected_error_is_one_line_too(quick, monkeypatch, capsys):
    monkeypatch.setattr(quick, "diagnose", lambda self, images: 1 / 0)
    assert run("diagnose", "ref.png", "ref.png", "--quiet") == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert "ZeroDivisionError: division by zero; set LLISE_TRACEBACK=1" in captured.err


def test_an_image_that_the_diagnoser_refuses_does_not_stop_the_others(quick, monkeypatch, capsys):
    whole = quick.diagnose

    def fussy(self, images):
        for image in images:
            if image.max() < 50:
                raise ValueError("too dark")
            yield from whole(self, [image])

    monkeypatch.setattr(quick, "diagnose", fussy)
    Image.fromarray(picture() // 8).save("dark.png")
    assert run("diagnose", "ref.png", "dark.png", "ref.png", "--csv", "-q") == 1
    captured = capsys.readouterr()
    assert [line["verdict"] for line in csv.DictReader(io.StringIO(captured.out))] == ["", "original"]
    assert captured.err == "llise: error: dark.png: too dark\n"
