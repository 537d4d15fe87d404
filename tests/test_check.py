"""The command llise check: exit status, lines and every form of output."""

import io
import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import xmlschema
from markdown_it import MarkdownIt
from PIL import Image
from samples import context, other_scene, picture
from signalling import with_usual_signals

import llise.diagnosis
from llise.cli.check import difference_name
from llise.cli.main import main
from llise.gate import running
from llise.gate.outcome import Outcome, Status
from llise.gate.pairs import Pair
from llise.gate.rules import Rules, make_rules
from llise.output.markdown import MOST_ROWS, Markdown

SCHEMA = json.loads((files("llise.output") / "check.schema.json").read_text())
JUNIT = xmlschema.XMLSchema(Path(__file__).parent / "data" / "junit.xsd")

HOSTILE = "=1+1 @me \"<b>'&amp;|`*_[x](y)\n\x1b[31m]]>\u202e-->" + os.fsdecode(b"\xe9") + ".png"
"""A name with everything that some form of output could take for its own."""


def process(folder, *arguments, **options):
    """Run the command to its end as a process."""
    command = [sys.executable, "-m", "llise", "check", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, **options)


def save(path, image):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two folders in which every kind of pair occurs, and single files."""
    folder = tmp_path_factory.mktemp("check")
    reference = picture(96, 96, seed=3)
    lighter = reference.copy()
    lighter[16:64, 32:80] = np.minimum(reference[16:64, 32:80].astype(int) + 12, 255)
    save(folder / "old" / "same.png", reference)
    save(folder / "new" / "same.png", reference)
    save(folder / "old" / "sub" / "light.png", reference)
    save(folder / "new" / "sub" / "light.png", lighter)
    save(folder / "old" / "other.png", reference)
    save(folder / "new" / "other.png", picture(96, 96, seed=8))
    save(folder / "old" / "photo.png", reference)
    Image.fromarray(reference).save(folder / "new" / "photo.jpg", quality=30)
    save(folder / "old" / "gone.png", reference)
    save(folder / "new" / "extra.png", reference)
    save(folder / "old" / "wide.png", reference)
    save(folder / "new" / "wide.png", picture(96, 104))
    save(folder / "old" / HOSTILE, reference)
    save(folder / "new" / HOSTILE, lighter)
    save(folder / "old" / "broken.png", reference)
    (folder / "new" / "broken.png").write_bytes((folder / "old" / "broken.png").read_bytes()[:200])
    save(folder / "old" / "link.png", reference)
    os.symlink(folder / "old" / "same.png", folder / "new" / "link.png")
    save(folder / "old" / "dangling.png", reference)
    os.symlink(folder / "nowhere.png", folder / "new" / "dangling.png")
    return folder


STATUSES = {
    HOSTILE: "fail", "broken.png": "error", "dangling.png": "error", "extra.png": "fail", "gone.png": "fail",
    "link.png": "pass", "other.png": "fail", "photo.jpg": "fail", "same.png": "pass", "sub/light.png": "fail",
    "wide.png": "fail",
}  # fmt: skip
"""What becomes of each pair; another scene may be unknown too: see :func:`statuses`."""


@pytest.fixture(scope="module")
def everything(folder):
    """One run over all pairs with every form of output."""
    done = process(
        folder, "--pairs", "old", "new", "--json", "--junit", "r.xml", "--markdown", "r.md", "--html", "r.html",
        "--diff", "differences/of run",
    )  # fmt: skip
    assert done.stderr == ""
    return done


@pytest.fixture(scope="module")
def statuses(everything):
    """STATUSES, with what the model took another scene for: whether it names a fault there is not for these tests."""
    (other,) = (pair["status"] for pair in json.loads(everything.stdout)["pairs"] if pair["name"] == "other.png")
    assert other in ("fail", "unknown")
    return {**STATUSES, "other.png": other}


@pytest.fixture
def other_scenes(monkeypatch):
    """A diagnoser that takes every copy for another scene."""

    class Diagnoser:
        def __init__(self, reference, **settings):
            self.of = context(*reference.shape[:2])

        def diagnose(self, images):
            return (other_scene(self.of) for _ in images)

    monkeypatch.setattr(llise.diagnosis, "Diagnoser", Diagnoser)


def shown(name):
    """A name as all forms show it: on one line, with what cannot be printed escaped."""
    from llise.storage.files import printable

    return printable(name)


# ---------------------------------------------------------------------------------------------- forms of output


def test_json_follows_its_schema_and_has_every_pair(everything, statuses):
    result = json.loads(everything.stdout)
    jsonschema.validate(result, SCHEMA)
    names = {pair["name"].encode("utf-8", "backslashreplace").decode(): pair["status"] for pair in result["pairs"]}
    expected = {name.encode("utf-8", "backslashreplace").decode(): status for name, status in statuses.items()}
    assert names == expected and list(names) == sorted(names)
    assert result["status"] == "error" and result["exit_status"] == everything.returncode == 2
    assert result["counts"] == {status: list(statuses.values()).count(status) for status in result["counts"]}
    by_name = {pair["name"]: pair for pair in result["pairs"]}
    assert by_name["same.png"]["measures"]["psnr"] is None and by_name["same.png"]["reason"] == "identical"
    (fault,) = by_name["sub/light.png"]["faults"]
    assert fault["kinds"] == ["luminance"] and fault["allowed"] is False
    assert by_name["gone.png"]["copy"] is None and by_name["extra.png"]["reference"] is None


def test_junit_follows_its_schema(everything, statuses, folder):
    JUNIT.validate(str(folder / "r.xml"))
    suite = ElementTree.parse(folder / "r.xml").getroot().find("testsuite")
    cases = {case.get("name"): case for case in suite}
    assert list(cases) == [shown(name) for name in sorted(STATUSES)]
    for name, status in statuses.items():
        problems = [(problem.tag, problem.get("type")) for problem in cases[shown(name)]]
        element = "error" if status == "error" else "failure"
        assert problems == ([] if status == "pass" else [(element, status)])
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("11", "7", "2")
    assert cases["sub/light.png"][0].get("message").startswith("lighter by about 12 grey levels")


class Elements(HTMLParser):
    """Elements with their attributes, and all text."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def test_markdown_shows_what_failed_with_pictures(everything, statuses, folder):
    text = (folder / "r.md").read_text()
    page = Elements(MarkdownIt("commonmark").render(text))
    assert {tag for tag, _ in page.elements} == {"h3", "table", "tr", "th", "td", "code", "img"}
    assert len(page.named("tr")) == 1 + 9
    assert shown(HOSTILE) in page.text and "same.png" not in page.text and "sub/light.png" in page.text
    assert ("1 unknown, 6 failed" if statuses["other.png"] == "unknown" else "2 not readable, 7 failed") in page.text
    pictures = [folder / attributes["src"] for attributes in page.named("img")]
    assert len(pictures) == 4  # all that differ and could be read
    for path in pictures:
        with Image.open(path) as image:
            assert image.format == "WEBP" and image.size == (3 * 160 + 12, 160)


def test_names_in_markdown_notify_nobody(everything, folder):
    """An @ is harmless in code only, where GitHub links no names."""
    for line in (folder / "r.md").read_text().splitlines():
        outside = "".join(part.rpartition("</code>")[2] for part in line.split("<code>"))
        assert "@me" not in outside


def test_the_page_is_complete_and_nothing_in_it_runs(everything, statuses, folder):
    page = Elements((folder / "r.html").read_text())
    entries = [attributes["class"] for attributes in page.named("li")]
    assert entries == [statuses[name] for name in sorted(statuses)]
    assert {tag for tag, _ in page.elements} == {
        "html", "head", "meta", "title", "style", "body", "main", "h1", "p", "br", "input", "label", "ul", "li", "b",
        "div", "code", "span", "img",
    }  # fmt: skip
    assert shown(HOSTILE) in page.text
    assert all(attributes["src"].startswith("data:image/webp") for attributes in page.named("img"))
    policy = next(a["content"] for a in page.named("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'") and "script-src" not in policy


def test_difference_pictures_outline_the_faults(everything, folder):
    place = folder / "differences" / "of run"
    drawn = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
    differing = (HOSTILE, "other.png", "photo.jpg", "sub/light.png")
    assert drawn == {f"{name}.diff.png" for name in differing}
    pixels = np.asarray(Image.open(place / "sub" / "light.png.diff.png")).astype(int)
    assert pixels.shape == (96, 96, 3)
    red = pixels[..., 0] - pixels[..., 1]
    reference = picture(96, 96, seed=3)
    changed = np.zeros((96, 96), bool)
    changed[16:64, 32:80] = True
    inside = changed & (reference < 250)
    assert (red[~changed] == 0).all() and (red[inside] > 0).mean() > 0.95
    yellow = np.array([0xF0, 0xE4, 0x42])  # luminance
    assert (pixels[16, 33:79] == yellow).all() and (pixels[17:63, 32] == yellow).all()


def test_a_comment_is_bounded_and_links_where_the_pictures_will_be(tmp_path):
    report = Markdown(tmp_path / "comment.md", "https://example.org/raw/pictures/")
    outcome = Outcome("a.png", "old/a.png", "new/a.png", Status.FAIL, "x" * 5000, pictures={"strip": b"RIFF"})
    for _ in range(MOST_ROWS + 7):
        report.add(outcome)
    report.write(tmp_path / "comment.md")
    text = (tmp_path / "comment.md").read_text()
    assert len(text) < 65_536 and "and 7 more that did not pass" in text
    assert 'src="https://example.org/raw/pictures/1.webp"' in text
    assert len(list((tmp_path / "comment-pictures").iterdir())) == MOST_ROWS


# --------------------------------------------------------------------------------------------------- exit status


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (("old/same.png", "new/same.png"), 0, "PASS     new/same.png: identical"),
        (("old/same.png", "new/sub/light.png"), 1, "FAIL     new/sub/light.png: lighter by about 12 grey levels"),
        (("old/same.png", "new/sub/light.png", "--allow", "luminance:15"), 0, "PASS     new/sub/light.png: lighter by"),
        (("old/same.png", "new/broken.png"), 2, "ERROR    new/broken.png: damaged or truncated"),
    ],
)
def test_exit_status_and_line(folder, arguments, status, line):
    done = process(folder, *arguments)
    assert (done.returncode, done.stderr) == (status, "")
    assert done.stdout.startswith(line) and done.stdout.count("\n") == 1


def test_many_pairs_have_a_line_each_and_a_summary(folder):
    done = process(folder, "--pairs", "old", "new", "--measures-only", "--max-mse", "5", "--extra-ok", "--missing-ok")
    lines = done.stdout.splitlines()
    assert done.returncode == 2 and len(lines) == len(STATUSES) + 1
    assert [line.split()[0] for line in lines[:-1]] == [
        "FAIL", "ERROR", "ERROR", "PASS", "PASS", "PASS", "FAIL", "FAIL", "PASS", "FAIL", "FAIL",
    ]  # fmt: skip
    assert shown(HOSTILE) in lines[0] and "there is no reference of this copy" in lines[3]
    assert lines[-1] == "11 pairs: 2 not readable, 5 failed, 4 passed"


def check(folder, monkeypatch, capsys, *arguments):
    """Run the command in this process; status, output and errors."""
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as ended:
        main(["check", *map(str, arguments)])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


@pytest.mark.parametrize(
    ("options", "status", "part"),
    [
        (("--max-mse", "200"), 0, ""),
        (("--max-mse", "1"), 1, "at most 1 is allowed"),
        (("--min-psnr", "20"), 0, ""),
        (("--min-psnr", "60"), 1, "at least 60 dB is allowed"),
        (("--min-ssim", "0.5"), 0, ""),
        (("--min-ssim", "1"), 1, "at least 1 is allowed"),
        (("--max-color-difference", "20"), 0, "colour difference"),
        (("--max-color-difference", "0.1"), 1, "colour difference"),
        (("--max-area", "30"), 0, ""),
        (("--max-area", "20"), 1, "changed area 25 %, at most 20 % is allowed"),
        (("--allow", "blur"), 1, "[not allowed]"),
        (("--allow", "luminance:5"), 1, "[allowed: 5 grey levels lighter or darker at most]"),
        (("--allow", "blur", "--allow", "luminance"), 0, "lighter"),
        (("--allow", "luminance", "--max-mse", "1"), 1, "[allowed]; MSE"),
        (("--ignore", "32,16,48,48"), 0, "identical"),
        (("--ignore", "32,16,24,48", "--ignore", "56,16,24,48"), 0, "identical"),
        (("--mask", "mask.png"), 0, "identical"),
        (("--measures-only",), 1, "differs beyond rounding, and no limit allows it"),
        (("--measures-only", "--max-mse", "200"), 0, "PSNR"),
    ],
)
def test_every_rule(folder, monkeypatch, capsys, options, status, part):
    mask = np.zeros((96, 96), np.uint8)
    mask[16:64, 32:80] = 255
    save(folder / "mask.png", mask)
    result, out, err = check(folder, monkeypatch, capsys, "old/same.png", "new/sub/light.png", *options)
    assert (result, err) == (status, "") and part in out


def test_unknown_faults_pass_only_if_allowed(folder, other_scenes, monkeypatch, capsys):
    pair = "old/same.png", "new/other.png"
    status, out, _ = check(folder, monkeypatch, capsys, *pair)
    assert status == 3 and out.startswith("UNKNOWN  new/other.png: does not look like a copy of the reference")
    out = check(folder, monkeypatch, capsys, *pair, "--json")[1]
    assert json.loads(out)["pairs"][0]["is_copy"] is False
    assert check(folder, monkeypatch, capsys, *pair, "--max-mse", "60000")[0] == 3
    assert check(folder, monkeypatch, capsys, *pair, "--max-mse", "1")[0] == 3
    assert check(folder, monkeypatch, capsys, *pair, "--allow", "unknown")[0] == 0
    assert check(folder, monkeypatch, capsys, *pair, "--allow", "unknown", "--max-mse", "1")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((), "Missing argument 'REFERENCE'"),
        (("old/same.png",), "Missing argument 'COPY'"),
        (("old/same.png", "new/same.png", "--max-mse", "x"), "not a valid float"),
        (("old/same.png", "new/same.png", "--max-mse", "nan"), "--max-mse is nan; expected a number"),
        (("old/same.png", "new/same.png", "--min-ssim", "2"), "--min-ssim is 2.0; expected a number from 0 to 1"),
        (("old/same.png", "new/same.png", "--allow", "jpge"), "did you mean jpeg?"),
        (("old/same.png", "new/same.png", "--ignore", "1,2"), "expected X,Y,W,H"),
        (("old/same.png", "new/same.png", "--measures-only", "--allow", "jpeg"), "leave out one of them"),
        (("old/same.png", "new/same.png", "--missing-ok"), "are for --pairs"),
        (("old/same.png", "new/same.png", "--picture-url", "x"), "is for --markdown"),
        (("old/same.png", "new/same.png", "--config", "a", "--no-config"), "exclude each other"),
        (("old/same.png", "new/same.png", "--jobs", "0"), "0 cores"),
        (("old/same.png", "new/same.png", "--junit", "new/same.png"), "would overwrite an input file"),
        (("old/same.png", "new/same.png", "--junit", "r", "--html", "r"), "two outputs of the command"),
        (("old/same.png", "new/same.png", "--html", "none/r.html"), "cannot write none/r.html"),
        (("old/same.png", "new/same.png", "--config", "none.toml"), "none.toml: cannot be read"),
        (("old/same.png", "new/absent.png"), "new/absent.png: no such file; check the name"),
        (("old/absent.png", "new/same.png"), "old/absent.png: no such file; check the name"),
        (("old", "new"), "old: is a folder; add --pairs"),
        (("--pairs", "old", "absent"), "absent: no such folder"),
        (("--pairs", "old", "new", "--diff", "new/differences"), "--diff would write pictures into new"),
        (("--pairs", "old", "new", "--markdown", "old/r.md"), "--markdown would write pictures into old"),
        (("--pairs", "old/same.png", "new"), "old/same.png: not a folder"),
        (("--pairs", "new/sub/..", "old", "--mask", "none.png"), None),
    ],
)
def test_what_cannot_be_checked_is_status_2(folder, monkeypatch, capsys, arguments, part):
    status, out, err = check(folder, monkeypatch, capsys, *arguments)
    assert status == 2
    if part is not None:
        assert out == "" and err.startswith("llise: error: ") and err.count("\n") == 1 and part in err


def test_wrong_usage_and_unwritable_output_are_status_2_as_a_process(folder):
    for arguments in (("--max-mse", "-1"), ("--junit", "none/r.xml")):
        done = process(folder, "old/same.png", "new/same.png", *arguments)
        assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1


def test_transparent_pixels_are_laid_on_the_background(tmp_path, monkeypatch, capsys):
    opaque = np.dstack([picture(32, 32, seed=3)] * 3 + [np.full((32, 32), 255, np.uint8)])
    clear, white = opaque.copy(), opaque.copy()
    clear[:16, :16, 3], white[:16, :16] = 0, 255
    save(tmp_path / "clear.png", clear)
    save(tmp_path / "white.png", white)
    files = ("white.png", "clear.png")
    status, out, _ = check(tmp_path, monkeypatch, capsys, *files)
    assert status == 2 and "--background" in out
    assert check(tmp_path, monkeypatch, capsys, *files, "--background", "white")[0] == 0
    assert check(tmp_path, monkeypatch, capsys, *files, "--background", "black", "--measures-only")[0] == 1
    status, _, err = check(tmp_path, monkeypatch, capsys, *files, "--background", "wite")
    assert status == 2 and '--background is "wite"; expected a colour' in err
    (tmp_path / ".llise.toml").write_text('[check]\nbackground = "#ffffff"\n')
    assert check(tmp_path, monkeypatch, capsys, *files)[0] == 0


# ------------------------------------------------------------------------------------------------- settings file


def test_settings_files_by_path_pattern(folder, tmp_path, monkeypatch, capsys):
    by_path = '[check.paths."sub/*"]\nmax-mse = 200\n[check.paths."*.jpg"]\nallow = ["jpeg:10"]\nmax-mse = 900\n'
    (tmp_path / ".llise.toml").write_text(f"[check]\nmax-mse = 1\n{by_path}")
    pairs = "--pairs", folder / "old", folder / "new"
    _, out, _ = check(tmp_path, monkeypatch, capsys, *pairs)
    assert "PASS     sub/light.png" in out and "PASS     photo.jpg" in out and "MSE" in out.splitlines()[0]
    _, out, _ = check(tmp_path, monkeypatch, capsys, *pairs, "--no-config")
    assert "FAIL     sub/light.png" in out and "FAIL     photo.jpg" in out
    _, out, _ = check(tmp_path, monkeypatch, capsys, *pairs, "--max-mse", "0")
    assert "FAIL     sub/light.png" in out
    (tmp_path / "strict.toml").write_text("[check]\nallow = []\n")
    _, out, _ = check(tmp_path, monkeypatch, capsys, *pairs, "--config", "strict.toml")
    assert "FAIL     sub/light.png: lighter by" in out


def test_patterns_of_a_single_pair_are_relative_to_the_settings_file(folder, tmp_path, monkeypatch, capsys):
    copies = tmp_path / "images" / "deep"
    copies.mkdir(parents=True)
    os.link(folder / "new" / "sub" / "light.png", copies / "a.png")
    (tmp_path / "pyproject.toml").write_text('[tool.llise.check.paths."images/**"]\nallow = ["luminance"]\n')
    for place, name in ((tmp_path, "images/deep/a.png"), (copies, "a.png"), (tmp_path, copies / "a.png")):
        assert check(place, monkeypatch, capsys, folder / "old" / "same.png", name)[0] == 0
    (tmp_path / "pyproject.toml").unlink()
    assert check(copies, monkeypatch, capsys, folder / "old" / "same.png", "a.png")[0] == 1


def test_an_error_in_a_settings_file_names_line_and_key(folder, tmp_path):
    (tmp_path / ".llise.toml").write_text("[check]\nmin-ssim = 0.9\nmax-mze = 3\n")
    done = process(tmp_path, folder / "old" / "same.png", folder / "new" / "same.png")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(".llise.toml, line 3: check.max-mze is not a setting; did you mean max-mse?\n")


def test_allow_in_a_settings_file_excludes_measures_only(folder, tmp_path, monkeypatch, capsys):
    (tmp_path / ".llise.toml").write_text('[check]\nallow = ["jpeg"]\n')
    pair = folder / "old" / "same.png", folder / "new" / "same.png"
    status, _, err = check(tmp_path, monkeypatch, capsys, *pair, "--measures-only")
    assert status == 2 and "--measures-only names no faults" in err


# --------------------------------------------------------------------------------------------------------- speed


@pytest.mark.parametrize(
    "arguments",
    [
        ("old/same.png", "new/same.png", "--allow", "jpeg:60", "--min-ssim", "0.9"),
        ("old/same.png", "new/sub/light.png", "--measures-only", "--max-mse", "200"),
    ],
)
def test_the_judge_is_loaded_only_where_a_fault_is_named(folder, arguments):
    code = (
        "import atexit, sys; from llise.cli.main import main;"
        "heavy = {'scipy', 'skimage', 'numba', 'joblib', 'llise.diagnosis', 'llise.kinds.registry'};"
        "atexit.register(lambda: print('imported:', *heavy & set(sys.modules))); main(sys.argv[1:])"
    )
    done = subprocess.run([sys.executable, "-c", code, "check", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "imported:", done


def pairs_of(folder, count):
    """The same few pairs again and again."""
    names = ("same.png", "sub/light.png", "broken.png")
    chosen = [names[number % len(names)] for number in range(count)]
    return [(Pair(name, folder / "old" / name, folder / "new" / name), make_rules({"max-mse": 9})) for name in chosen]


def test_processes_give_the_same_outcomes_in_the_same_order(folder, monkeypatch):
    tasks = pairs_of(folder, 12)
    alone = [replace(outcome, seconds=0) for outcome in running.check_pairs(tasks, measures_only=True)]
    monkeypatch.setattr(running, "PATIENCE", -1.0)
    shared = [replace(outcome, seconds=0) for outcome in running.check_pairs(tasks, measures_only=True, n_jobs=2)]
    assert shared == alone and {outcome.status for outcome in alone} == {Status.PASS, Status.FAIL, Status.ERROR}


def test_pairs_are_taken_as_they_are_needed(folder, monkeypatch):
    """So memory does not grow with their number."""
    taken = []
    tasks = (taken.append(number) or task for number, task in enumerate(pairs_of(folder, 60)))
    monkeypatch.setattr(running, "PATIENCE", -1.0)
    outcomes = running.check_pairs(tasks, measures_only=True, n_jobs=2)
    for count in range(1, 5):
        next(outcomes)
        assert len(taken) <= count + 2 * running.AHEAD
    outcomes.close()


def test_a_process_that_dies_is_an_error_and_not_a_hang(folder, monkeypatch):
    monkeypatch.setattr(running, "judge_pair", die)
    with pytest.raises(OSError, match=r"a process ended before its pair was judged.*use fewer jobs"):
        list(running._in_processes(iter(pairs_of(folder, 2)), True, None, 1, ()))


def die(*_):
    os._exit(9)


def test_interrupting_many_pairs_leaves_nothing(folder, tmp_path):
    for side in ("old", "new"):
        (tmp_path / side).mkdir()
    large = Image.fromarray(picture(640, 640))
    large.save(tmp_path / "r.png")
    large.point(lambda v: 255 - v).save(tmp_path / "c.png")
    for number in range(60):
        os.link(tmp_path / "r.png", tmp_path / "old" / f"{number}.png")
        os.link(tmp_path / "c.png", tmp_path / "new" / f"{number}.png")
    command = [sys.executable, "-m", "llise", "check", "--pairs", "old", "new", "--junit", "r.xml", "--jobs", "2"]
    running = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=with_usual_signals,
    )  # fmt: skip
    for _ in range(2):
        assert running.stdout.readline()
    time.sleep(1.5)  # other processes start by then
    running.send_signal(signal.SIGINT)
    # Processes that were left would hold the other end of standard error open.
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130 and errors == "llise: error: interrupted; no file was left incomplete\n"
    assert not list(tmp_path.glob("*r.xml*"))


def test_progress_is_shown_on_a_terminal(folder):
    pty, termios = (
        pytest.importorskip(name, reason="there are no pseudo-terminals here") for name in ("pty", "termios")
    )
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    os.set_blocking(ours, False)
    command = [sys.executable, "-m", "llise", "check", "--pairs", "old", "new", "--json", "--measures-only"]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=theirs)
    assert b"checking" in os.read(ours, 10_000) and json.loads(done.stdout)["counts"]["pass"] == 2
    os.close(theirs)
    os.close(ours)


# ---------------------------------------------------------------------------------------------------------- names


def test_names_of_difference_pictures_stay_in_their_folder_and_fit():
    assert difference_name("/etc/a.png") == Path("a.png.diff.png")
    assert difference_name("x/../../a.png") == Path("a.png.diff.png")
    long, other = "é" * 120 + "1.png", "é" * 120 + "2.png"
    assert difference_name(f"sub/{long}") != difference_name(f"sub/{other}")
    assert len(os.fsencode(difference_name(long).name)) <= 255 and difference_name(f"s/{long}").parent == Path("s")


def test_a_reader_that_leaves_early_makes_no_noise(folder):
    command = f"{sys.executable} -m llise check --pairs old new --measures-only | head -n 1"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    assert done.stdout.count("\n") == 1 and done.stderr == ""


def test_an_unexpected_error_is_status_2(folder, monkeypatch, capsys):
    def fail(*_, **__):
        raise RuntimeError("no luck")

    monkeypatch.setattr("llise.gate.running.judge_pair", fail)
    status, _, err = check(folder, monkeypatch, capsys, "old/same.png", "new/same.png")
    assert status == 2 and "RuntimeError: no luck" in err


def test_no_file_is_written_where_a_run_fails(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("llise.gate.running.judge_pair", lambda *_: 1 / 0)
    target = tmp_path / "r.xml"
    assert check(folder, monkeypatch, capsys, "old/same.png", "new/same.png", "--junit", target)[0] == 2
    assert not list(tmp_path.iterdir())


def test_lines_are_printed_as_pairs_are_judged(monkeypatch):
    from llise.output.gate_reports import GateLines

    out = io.StringIO()
    lines = GateLines(out)
    lines.add(Outcome("a.png", "old/a.png", "new/a.png", Status.PASS, "identical"))
    assert out.getvalue() == "PASS     a.png: identical\n"
    lines.close()
    assert out.getvalue().count("\n") == 1  # one pair needs no summary


def test_rules_can_be_sent_to_other_processes():
    import pickle

    rules = make_rules({"allow": ["jpeg:60"], "ignore": ["0,0,9,9"], "mask": "m.png"})
    assert pickle.loads(pickle.dumps(rules)) == rules != Rules()


# ----------------------------------------------------------------------------------------------------- in a browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible_and_fits_a_phone(everything, folder, browser, axe, scheme):
    from browsing import emulate, resize, serious_findings

    browser.get((folder / "r.html").as_uri())
    emulate(browser, scheme)
    resize(browser, 390)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    shown_rows = "return [...document.querySelectorAll('li')].filter((row) => row.offsetHeight).length"
    assert browser.execute_script(shown_rows) == 9
    browser.find_element("css selector", "label").click()
    assert browser.execute_script(shown_rows) == 11
    assert serious_findings(browser, axe) == {}
    loaded = "return [...document.images].every((image) => image.complete && image.naturalWidth === 492)"
    assert browser.execute_script(loaded)
