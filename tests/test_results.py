"""Rows of diagnoses, and the commands around a diagnoser that learns nothing."""

import csv
import io
import json
import math
import tracemalloc
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from PIL import Image
from samples import QuickDiagnoser, diagnosis, manifold, picture

from llise.cli.main import main
from llise.labels import KINDS, LABELS
from llise.output.rows import Csv, Json, Table, as_dict
from llise.storage import cache, models
from llise.storage.files import printable

SCHEMA = json.loads((files("llise.output") / "diagnose.schema.json").read_text())


def filled(rows, *verdicts):
    trained = manifold(64, 64)
    for seed, verdict in enumerate(verdicts):
        rows.add(diagnosis(trained, verdict, seed, f"{seed}.png"))
    rows.add_failure("bad.png", "bad.png: truncated; copy it again")
    rows.close()
    return rows.out.getvalue()


def test_the_schema_is_a_schema_and_knows_all_labels():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert tuple(SCHEMA["$defs"]["label"]["enum"]) == LABELS


def test_json_follows_its_schema():
    text = filled(Json(io.StringIO(), "ref.png"), ("original",), ("blur",), ("jpeg", "contrast"))
    result = json.loads(text)
    jsonschema.validate(result, SCHEMA)
    assert [image.get("verdict") for image in result["images"]] == [
        ["original"],
        ["blur"],
        ["jpeg", "contrast"],
        None,
    ]
    assert result["images"][0]["psnr"] is None and result["images"][3]["error"].startswith("bad.png: ")
    assert np.shape(result["images"][1]["block_labels"]) == tuple(result["images"][1]["block_grid"]) == (8, 8)


def test_the_schema_refuses_what_is_not_a_diagnosis():
    entry = as_dict(diagnosis(manifold(64, 64), ("blur",), file="a.png"))
    for key, value in [
        ("verdict", []),
        ("verdict", ["fog"]),
        ("confidence", 1.2),
        ("psnr", "inf"),
        ("extra", 1),
    ]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"schema": 1, "reference": "r", "images": [{**entry, key: value}]}, SCHEMA)


def test_json_without_images_is_an_object_too():
    out = io.StringIO()
    Json(out, "a\udcff.png").close()
    assert json.loads(out.getvalue()) == {"schema": 1, "reference": "a\udcff.png", "images": []}


def test_csv_reads_back():
    lines = list(csv.DictReader(io.StringIO(filled(Csv(io.StringIO()), ("original",), ("jpeg", "contrast")))))
    assert [line["verdict"] for line in lines] == ["original", "jpeg+contrast", ""]
    assert math.isinf(float(lines[0]["psnr"])) and lines[2]["error"] == "bad.png: truncated; copy it again"
    assert abs(sum(float(lines[1][f"share_{label}"]) for label in LABELS) - 1) < 1e-4
    severe = [kind for kind in KINDS if lines[1][f"severity_{kind}"]]
    assert set(severe) == {"jpeg", "contrast"}


def test_the_table_has_aligned_columns():
    text = filled(Table(io.StringIO(), ["0.png", "a-longer-name.png"]), ("original",), ("gaussian_noise", "jpeg"))
    lines = text.splitlines()
    assert len(lines) == 3 and len({len(line) for line in lines}) == 1
    assert "gaussian_noise + jpeg" in lines[2] and "93 %" in lines[2]


def test_names_are_printed_on_one_line_without_control_characters():
    assert printable("a\nb\x1b[31m\udcff é") == "a\\nb\\x1b[31m\\udcff é"


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """The commands with a diagnoser that learns nothing and a cache of their own."""
    import llise
    from llise import diagnosis as module

    Quick = type("Diagnoser", (QuickDiagnoser,), {})
    monkeypatch.setattr(module, "Diagnoser", Quick)
    monkeypatch.setitem(vars(llise), "Diagnoser", Quick)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Image.fromarray(picture()).save("ref.png")
    return Quick


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


def test_a_second_run_takes_the_model_from_the_cache(quick, capsys):
    for _ in range(2):
        assert run("diagnose", "ref.png", "ref.png") == 0
    assert quick.fits == 1
    assert capsys.readouterr().err.count("learning the manifold") == 1


def test_another_reference_or_seed_is_another_model(quick):
    Image.fromarray(picture(seed=3)).save("other.png")
    run("diagnose", "ref.png", "ref.png")
    run("diagnose", "other.png", "other.png")
    run("diagnose", "ref.png", "ref.png", "--seed", 1)
    assert quick.fits == 3


def test_without_cache_nothing_is_kept(quick):
    for _ in range(2):
        assert run("diagnose", "ref.png", "ref.png", "--no-cache") == 0
    assert quick.fits == 2 and not cache.folder().exists()


def test_a_damaged_cache_is_replaced_and_an_unwritable_one_ignored(quick, monkeypatch, tmp_path):
    run("diagnose", "ref.png", "ref.png")
    (model_file,) = cache.folder().iterdir()
    whole = model_file.read_bytes()
    model_file.write_bytes(whole[:-3])
    assert run("diagnose", "ref.png", "ref.png") == 0
    assert model_file.read_bytes() == whole and quick.fits == 2
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "ref.png"))
    assert run("diagnose", "ref.png", "ref.png") == 0


def test_the_cache_does_not_grow_without_bound(quick):
    for seed in range(cache.MOST + 3):
        cache.keep(quick(picture()), picture(), {"random_state": seed})
    assert len(list(cache.folder().iterdir())) == cache.MOST


def test_a_model_of_another_reference_or_kind_is_refused(quick, capsys, monkeypatch):
    import llise

    models.save(quick(picture(seed=5)), "other.llise")
    assert run("diagnose", "ref.png", "ref.png", "--model", "other.llise") == 1
    assert "fitted to another reference" in capsys.readouterr().err
    monkeypatch.setitem(vars(llise), "LLISE", type("LLISE", (QuickDiagnoser,), {}))
    models.save(llise.LLISE(picture()), "estimator.llise")
    assert run("diagnose", "ref.png", "ref.png", "--model", "estimator.llise") == 1
    assert "holds a LLISE, not a Diagnoser" in capsys.readouterr().err


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
    assert len(lines) == 1 + 12 + 2 and lines[-1] == "Report: shown/report.html"
    assert "</html>" in Path("shown/report.html").read_text()


def test_an_unexpected_error_is_one_line_too(quick, monkeypatch, capsys):
    monkeypatch.setattr(quick, "fit", lambda self, progress: 1 / 0)
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
