"""The figures of the benchmark on cases and answers whose figures can be worked out by hand."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import figures
import judge
import measured
from figure_tables import Share, put
from llise import datasets, distortions

ROOT = Path(__file__).parents[1]
SIZE = (32, 48)
"""Rows and columns: 4 x 6 blocks."""


def case(number, expected, faults=(), **other):
    """One row of truth."""
    base = {"half": "everyday", "split": "look", "picture": "p", "family": "page", "group": "whole", "own": True}
    base |= {"programs": ["one"], "tools": ["tool"], "reference": "r.png", "copy": "c.png", "note": ""}
    return base | {"id": f"case-{number}", "expected": expected, "faults": list(faults), **other}


def fault(*kinds, mask=None, form="whole", settings=None):
    return {"kinds": list(kinds), "box": [0, 0, 48, 32], "form": form, "mask": mask, "settings": settings or {}}


WHOLE = np.ones((4, 6), bool)


def said(*kinds, region=WHOLE, confidence=0.9, estimate=None):
    flat = region.ravel().tolist()
    runs, last = [0], False
    for value in flat:
        if value == last:
            runs[-1] += 1
        else:
            runs.append(1)
        last = value
    return {"kinds": list(kinds), "confidence": confidence, "box": [0, 0, 32, 48], "grid": [4, 6], "runs": runs,
            "estimate": estimate or {}}  # fmt: skip


def answer(number, *faults, seconds=0.01):
    verdict = sorted({kind for one in faults for kind in one["kinds"]}) or ["original"]
    confidence = min((one["confidence"] for one in faults), default=1.0)
    return {"id": f"case-{number}", "seconds": seconds, "size": SIZE, "verdict": verdict, "confidence": confidence,
            "false_alarms": 0.01, "faults": list(faults)}  # fmt: skip


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


LEFT = np.arange(6)[None, :].repeat(4, 0) < 3
"""Blocks of the left half; the mask of the damage is 16 pixels narrower."""


NEAR = {"near": True, "held_out": True, "family": "noise"}


@pytest.fixture
def folder(tmp_path):
    """Five cases: blur right, jpeg in a region, two at once, no name, pristine."""
    mask = np.zeros(SIZE, np.uint8)
    mask[:, :8] = 255
    Image.fromarray(mask).save(tmp_path / "m.png")
    truth = [
        case(0, [["blur"]], [fault("blur", settings={"blur": {"sigma": 2.0}})]),
        case(1, [["jpeg"]], [fault("jpeg", mask="m.png", form="rectangle")], group="region", own=False),
        case(2, [["blur", "jpeg"], ["jpeg"]], [fault("blur", "jpeg")], group="chain2"),
        case(3, [["unknown"]], [fault("unknown", settings={"unknown": NEAR})], group="no_name"),
        case(4, [["original"]], group="pristine"),
    ]
    write(tmp_path / "truth.jsonl", truth)
    return tmp_path


ABOUT = {"about": {"source": "0", "cases": "0"}}
FIRST = [
    ABOUT,
    answer(0, said("blur", estimate={"blur": {"sigma": [2.2, 1.9, 2.4]}})),
    answer(1, said("jpeg", region=LEFT, confidence=0.6)),
    answer(2, said("jpeg")),
    answer(3, said("blur", confidence=0.8)),
    answer(4, said("unknown", region=LEFT, confidence=0.5)),
]


def measure(folder, rows=FIRST):
    return measured.measure_all(folder, write(folder / "answers.jsonl", rows))


def rows_of(found, title):
    table = next(table for table in found if table.title.startswith(title))
    return {row[0]: dict(zip(table.columns[1:], row[1:])) for row in table.rows}


def test_the_interval_of_a_share_solves_wilsons_equation():
    for right, n in ((9, 10), (1, 40), (50, 100), (0, 7), (7, 7)):
        for bound in Share(right, n).interval():  # |p - share| = z sqrt(p (1 - p) / n) at both ends
            assert abs(bound - right / n) == pytest.approx(1.959964 * math.sqrt(bound * (1 - bound) / n), abs=1e-9)


def test_verdicts_are_counted_by_group_and_kind(folder):
    found = figures.tables(measure(folder))
    groups = rows_of(found, "Exact verdicts by group")
    assert [groups["all"][key] for key in ("exact", "own programs", "foreign programs")] == [(3, 5), (2, 4), (1, 1)]
    assert groups["all"]["said with 0.7 or more"] == (3, 5) and groups["all"]["of these wrong"] == (1, 3)
    assert groups["everyday: chain2"]["exact"] == (1, 1)  # the second accepted verdict
    kinds = rows_of(found, "Exact verdicts by kind")
    assert kinds["blur"]["one label"] == (1, 1) and kinds["blur"]["several labels"] == (1, 1)
    assert kinds["unknown"]["commonest mistake"] == "blur (1)"


def test_regions_are_compared_by_pixels_and_by_blocks(folder):
    cases = measure(folder)
    assert cases[1].overlaps == [("rectangle", pytest.approx(8 / 24))]
    assert cases[1].outside == (8, 20)  # 4 rows of 3 blocks are said, of 1 block true
    assert cases[4].outside == (12, 24)
    assert cases[1].faults == [(0.6, False)] and cases[2].faults == [(0.9, True)]
    assert cases[0].overlaps == [("whole", 1.0)]


def test_settings_and_unknown(folder):
    found = figures.tables(measure(folder))
    sigma = rows_of(found, "Settings")["blur, sigma"]
    assert sigma["median error"] == pytest.approx(0.2) and sigma["relative"] == pytest.approx(0.1)
    assert sigma["90% interval holds the truth"] == (1, 1)
    unknown = rows_of(found, "Unknown")
    assert unknown["named kinds (false alarms)"] == {"called unknown": (1, 4), "promised": 0.01}
    assert unknown["near (caught)"]["called unknown"] == (0, 1)
    assert unknown["families that are never drawn in a training (caught)"]["called unknown"] == (0, 1)
    assert len(rows_of(found, "Settings")) == 1  # neither words nor flags are settings
    times = rows_of(found, "Processor seconds")
    assert times["0 to 0.1"]["median"] == pytest.approx(0.01 / (32 * 48 / 1e6))


def test_a_case_without_an_answer_or_with_an_error_is_wrong(folder):
    cases = measure(folder, [*FIRST[:2], {"id": "case-1", "error": "ValueError: no"}])
    assert [one.exact for one in cases] == [True, False, False, False, False]
    assert cases[1].confidence == 0 and not cases[1].sure_and_wrong
    assert "ValueError: no" in str([table.rows for table in figures.tables(cases)])


def test_changes_are_paired_and_have_the_error_of_mcnemars_test():
    before, after = [1, 1, 1, 0, 0, 0, 0, None], [1, 1, 0, 1, 1, 1, 0, 1]
    found = figures.change(before, after)
    assert (found.before, found.after, found.n) == (pytest.approx(3 / 7), pytest.approx(5 / 7), 7)
    assert found.error == pytest.approx(math.sqrt(4) / 7) and not found.moved  # 3 became right, 1 wrong: 2 = sqrt(4)
    assert figures.change([0, 0], [1, 1]).moved and not figures.change([0, 1], [1, 1]).moved


def test_two_answers_beside_each_other(folder):
    second = [*FIRST[:4], answer(3, said("unknown")), answer(4)]
    paths = [write(folder / name, rows) for name, rows in (("a.jsonl", FIRST), ("b.jsonl", second))]
    plain = json.loads(figures.report(folder, paths, as_json=True))
    moved = {tuple(row[:2]): row[2:] for row in plain[2]["tables"][0]["rows"]}
    assert moved["exact", "all: all"] == pytest.approx([0.6, 1.0, math.sqrt(2) / 5, 5])
    assert ("sure and wrong", "all: all") not in moved  # one of five: as much as its standard error
    text = figures.report(folder, paths)
    assert "| everyday: chain2 | 1.000 [0.21, 1.00] 1 |" in text and "a.jsonl against b.jsonl" in text


def test_tables_are_put_between_their_marks(tmp_path):
    document = tmp_path / "page.md"
    document.write_text("a\n<!-- x: begin -->\nold\n<!-- x: end -->\nb\n")
    for text in ("new", "newer"):
        put(text, document, "x")
    assert document.read_text() == "a\n<!-- x: begin -->\nnewer\n<!-- x: end -->\nb\n"
    with pytest.raises(SystemExit, match="expected the lines <!-- y: begin -->"):
        put("new", document, "y")


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Two tiny cases with pictures, and one whose copy cannot be read."""
    folder = tmp_path_factory.mktemp("cases")
    reference = np.ascontiguousarray(datasets.reference()[128:192, 128:192])
    noisy = distortions.apply(reference, "gaussian_noise", mse=200, random_state=0)
    for name, image in (("r", reference), ("n", noisy)):
        Image.fromarray(image).save(folder / f"{name}.png")
    named = [(["gaussian_noise"], "n.png"), (["original"], "r.png"), (["blur"], "absent.png")]
    write(folder / "truth.jsonl", [case(i, [labels], copy=copy) for i, (labels, copy) in enumerate(named)])
    return folder


def judged(folder, name, jobs):
    judge.judge_all(folder, ROOT, folder / name, jobs)
    return [{key: value for key, value in row.items() if key != "seconds"} for row in judge.read_rows(folder / name)]


def test_answers_do_not_depend_on_the_number_of_processes(pair):
    one, two = (judged(pair, f"{jobs}.jsonl", jobs) for jobs in (1, 2))
    assert one == two
    assert [row.get("verdict") for row in one[1:]] == [["gaussian_noise"], ["original"], None]
    assert "absent.png" in one[3]["error"]
    region = measured.measure_all(pair, pair / "1.jsonl")[0]
    assert region.exact and one[1]["faults"][0]["runs"] == [0, 64]


def test_a_run_goes_on_where_it_was_and_refuses_other_cases(pair, monkeypatch):
    whole = judged(pair, "3.jsonl", 1)
    lines = (pair / "3.jsonl").read_text().splitlines()
    (pair / "3.jsonl").write_text("\n".join([*lines[:3], lines[3][:20]]))
    asked = []
    monkeypatch.setattr(judge.Worker, "answer", lambda self, question: asked.append(question) or json.loads(lines[3]))
    assert judged(pair, "3.jsonl", 1) == whole
    assert [sorted(question) for question in asked] == [["copy", "id", "reference"]]
    (pair / "3.jsonl").write_text(json.dumps({"about": {"source": "other"}}) + "\n")
    with pytest.raises(SystemExit, match="holds answers of another source"):
        judge.judge_all(pair, ROOT, pair / "3.jsonl", 1)


def test_a_process_that_ends_is_a_wrong_answer(pair, monkeypatch):
    worker = judge.Worker(pair, ROOT)
    worker.command = [sys.executable, "-c", "raise SystemExit(3)"]
    assert worker.answer({"id": "x"}) == {"id": "x", "error": "the process ended with code 3"}


def test_the_commands_say_what_is_missing(tmp_path):
    command = [sys.executable, str(ROOT / "benchmarks" / "judge.py"), str(tmp_path), "-o", str(tmp_path / "a")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "truth.jsonl: no such file" in done.stderr
