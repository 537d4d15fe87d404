"""The commands as processes: exit status, standard output against standard error, files whole or absent."""

import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import joblib
import jsonschema
import numpy as np
import pytest
from PIL import Image
from samples import BAD_FILES, picture, write_bad_file
from signalling import with_usual_signals

import llise
from llise.cli.main import main
from llise.cli.running import workers
from llise.labels import LABELS

SCHEMA = json.loads((files("llise.output") / "diagnose.schema.json").read_text())
COMMANDS = (
    "demo",
    "diagnose",
    "check",
    "serve",
    "embed",
    "teach",
    "distort",
    "reproduce",
    "completion",
)


def environment(folder):
    """A cache that nobody else uses, and one thread a process: tests may share the machine."""
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    return {**os.environ, **threads, "XDG_CACHE_HOME": str(folder / "cache")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A reference, two copies of it and a cache that nobody else uses."""
    folder = tmp_path_factory.mktemp("cli")
    reference = picture(64, 64)
    noisy = np.clip(reference + np.random.default_rng(1).normal(0, 20, reference.shape), 0, 255)
    (folder / "copies").mkdir()
    Image.fromarray(reference).save(folder / "ref.png")
    Image.fromarray(reference).save(folder / "copies" / "a.png")
    Image.fromarray(np.uint8(noisy)).save(folder / "copies" / "b.png")
    return folder


@pytest.fixture(scope="module")
def run(folder):
    """Run a command to its end in the folder."""

    def run(*arguments, **options):
        command = [sys.executable, "-m", "llise", *map(str, arguments)]
        return subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, **options)

    return run


def assert_one_line(done, status, *parts):
    """An error: nothing on standard output, one line on standard error, no traceback."""
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("llise: error: ") and done.stderr.count("\n") == 1
    for part in parts:
        assert part in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(run, command):
    done = run(command, "--help")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith(f"Usage: llise {command}") and "Examples:" in done.stdout


def test_help_lists_all_commands_and_imports_no_heavy_library(run):
    done = run("--help")
    assert done.returncode == 0 and all(f"  {command} " in done.stdout for command in COMMANDS)
    code = "import sys, llise.cli.main; print(*{'numpy', 'scipy', 'sklearn', 'numba', 'PIL'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "\n"


def test_a_diagnosis_imports_nothing_that_it_does_not_need(tmp_path):
    image = llise.datasets.reference()[100:228, 100:228]
    Image.fromarray(image).save(tmp_path / "a.png")
    Image.fromarray(llise.distortions.apply(image, "gaussian_noise", 60, warn=False)).save(tmp_path / "b.png")
    code = """if True:
        import sys
        from llise.cli.main import commands
        commands(["diagnose", "--quiet", "a.png", "b.png"], standalone_mode=False)
        heavy = "joblib sklearn skimage matplotlib llise.output.page"
        print(*set(heavy.split()) & set(sys.modules))
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.endswith("\n\n"), done.stdout + done.stderr


def test_version(run):
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"llise {llise.__version__}\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(run, shell):
    done = run("completion", shell)
    assert done.returncode == 0 and "_LLISE_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("unknown",),
        ("diagnose",),
        ("diagnose", "ref.png"),
        ("diagnose", "ref.png", "ref.png", "--json", "--csv"),
        ("diagnose", "ref.png", "ref.png", "--false-alarms", "1"),
        ("diagnose", "ref.png", "ref.png", "--samples", "42"),
        ("check", "ref.png", "ref.png", "--jobs", "0"),
        ("reproduce", "--jobs", "two"),
        ("fit", "ref.png"),
        ("distort", "ref.png", "--kind", "fog", "--mse", "3", "-o", "x.png"),
        ("distort", "ref.png", "--kind", "blur", "--mse", "-3", "-o", "x.png"),
        ("distort", "ref.png", "--kind", "blur", "--mse", "nan", "-o", "x.png"),
        ("distort", "ref.png", "--kind", "blur", "--mse", "3", "-o", "x.jpg"),
        ("distort", "ref.png", "--kind", "blur", "--mse", "3", "-o", "./ref.png"),
        ("diagnose", "ref.png", "copies/a.png", "--html", "copies/../copies/a.png"),
        ("completion", "tcsh"),
    ],
)
def test_wrong_usage_is_status_2_and_one_line(run, folder, arguments):
    before = sorted(os.listdir(folder))
    assert_one_line(run(*arguments), 2, "--help")
    assert sorted(os.listdir(folder)) == before


# ------------------------------------------------------------------------------------------ distort


def test_distort_writes_a_copy_with_the_wanted_error(run, folder):
    done = run("distort", "ref.png", "--kind", "gaussian_noise", "--mse", "200", "-o", "noisy.png", "--seed", "4")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "noisy.png: gaussian_noise, MSE 200.0\n" or "MSE 200" in done.stdout
    copy = np.asarray(Image.open(folder / "noisy.png")).astype(float)
    assert abs(np.mean((copy - picture(64, 64)) ** 2) - 200) < 1


def test_distort_takes_several_kinds(run, folder):
    done = run("distort", "ref.png", "--kind", "blur", "--kind", "luminance", "--mse", "100", "-o", "mixed.pgm")
    assert done.returncode == 0 and "blur + luminance, MSE" in done.stdout
    assert Image.open(folder / "mixed.pgm").size == (64, 64)


def test_an_error_out_of_reach_is_refused_and_nothing_is_written(run, folder):
    done = run("distort", "ref.png", "--kind", "jpeg", "--mse", "60000", "-o", "far.png")
    assert_one_line(done, 1, "ref.png: the nearest that jpeg comes to an MSE of 60000 is", "ask for that")
    assert not (folder / "far.png").exists()


# ------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("diagnose", "absent.png", "ref.png"), ("absent.png: no such file",)),
        (("diagnose", "copies", "ref.png"), ("copies: is a folder",)),
        (("diagnose", "ref.png", "ref.png", "--html", "none/r.html"), ("cannot write none/r.html", "create it first")),
        (("diagnose", "ref.png", "ref.png", "--html", "copies"), ("cannot write copies", "it is a folder")),
        (
            ("distort", "absent.png", "--kind", "blur", "--mse", "9", "-o", "x.png"),
            ("absent.png: no such file",),
        ),
        (
            ("distort", "ref.png", "--kind", "blur", "--mse", "9", "-o", "none/x.png"),
            ("cannot write none/x.png",),
        ),
        (("demo", "--out", "ref.png"), ("ref.png",)),
        (("reproduce", "--image", "absent.png"), ("absent.png: no such file",)),
    ],
)
def test_a_failed_run_is_status_1_and_one_line(run, folder, arguments, parts):
    before = sorted(os.listdir(folder))
    assert_one_line(run(*arguments), 1, *parts)
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("image", [picture(4, 4), np.full((64, 64), 128, np.uint8)])
def test_a_reference_without_structure_is_refused(run, folder, image):
    Image.fromarray(image).save(folder / "poor.png")
    assert_one_line(run("diagnose", "poor.png", "poor.png"), 1, "poor.png: ", "; use a")
    (folder / "poor.png").unlink()


@pytest.mark.parametrize("name", ["zero.png", "truncated.jpg", "bomb.png", "animated.gif"])
def test_a_bad_reference_is_refused(run, folder, name):
    path = write_bad_file(folder, name)
    assert_one_line(run("diagnose", name, "ref.png"), 1, f"{name}: ", BAD_FILES[name][1])
    path.unlink()


# ------------------------------------------------------------------------------------------------- diagnose


@pytest.fixture(scope="module")
def csv_run(run):
    """Two copies and a missing file as CSV, with a report."""
    return run("diagnose", "ref.png", "copies", "absent.png", "--csv", "--html", "report.html")


@pytest.fixture(scope="module")
def json_run(run, folder):
    """Two copies, a constant one and everything that is bad in one run as JSON."""
    for name in ("bad", "empty"):
        (folder / name).mkdir()
    bad = [str(write_bad_file(folder / "bad", name).relative_to(folder)) for name in BAD_FILES]
    Image.fromarray(picture(32, 64)).save(folder / "wide.png")
    Image.fromarray(picture(4, 4)).save(folder / "tiny.png")
    Image.fromarray(np.full((64, 64), 128, np.uint8)).save(folder / "flat.png")
    bad += ["empty", "absent.png", "wide.png", "tiny.png"]
    done = run("diagnose", "ref.png", *bad, "flat.png", "copies", "--json")
    return done, bad


def test_bad_images_are_reported_and_do_not_stop_the_others(json_run):
    done, bad = json_run
    assert done.returncode == 1
    result = json.loads(done.stdout)
    jsonschema.validate(result, SCHEMA)
    assert [image["file"] for image in result["images"]] == [*bad, "flat.png", "copies/a.png", "copies/b.png"]
    assert ["error" in image for image in result["images"]] == [True] * len(bad) + [False] * 3
    lines = done.stderr.splitlines()
    assert len(lines) == len(bad)
    for name in bad:
        (line,) = (line for line in lines if line.startswith(f"llise: error: {name}: "))
        assert "; " in line
        if Path(name).name in BAD_FILES:
            assert BAD_FILES[Path(name).name][1] in line
    assert "wide.png: 64 x 32 pixels, but the reference has 64 x 64" in done.stderr


def test_json_tells_pristine_constant_and_noisy_copies_apart(json_run):
    flat, pristine, noisy = json.loads(json_run[0].stdout)["images"][-3:]
    assert pristine["verdict"] == ["original"] and pristine["psnr"] is None and pristine["mse"] == 0
    assert noisy["verdict"] != ["original"] and 20 < noisy["psnr"] < 25
    assert flat["verdict"] != ["original"]
    for image in (flat, pristine, noisy):
        assert set(image["severity"]) == set(image["verdict"]) - {"original"}
        assert abs(sum(image["shares"].values()) - 1) < 1e-6
        assert np.shape(image["block_labels"]) == tuple(image["block_grid"]) == (8, 8)


def test_csv_reads_back(csv_run):
    assert csv_run.returncode == 1 and csv_run.stderr.count("\n") == 1
    rows = list(csv.DictReader(io.StringIO(csv_run.stdout)))
    assert [row["file"] for row in rows] == ["copies/a.png", "copies/b.png", "absent.png"]
    assert rows[0]["verdict"] == "original" and rows[0]["psnr"] == "inf" and rows[2]["error"]
    assert all(0 <= float(rows[1][f"share_{label}"]) <= 1 for label in LABELS)


def test_the_report_is_written_and_failures_are_in_it(csv_run, folder):
    page = (folder / "report.html").read_text()
    assert page.rstrip().endswith("</html>") and "absent.png: no such file" in page
    assert page.count('id="image-') == 2


def test_the_table_has_one_row_an_image_whatever_its_name(run, folder):
    name = os.fsdecode(b"caf\xe9\n<b>.png")
    Image.fromarray(picture(64, 64)).save(folder / name)
    done = run("diagnose", "ref.png", name, "copies", "--html", "odd.html")
    assert (done.returncode, done.stderr) == (0, "")
    head, odd, first, second = done.stdout.splitlines()
    assert head.split()[:4] == ["FILE", "VERDICT", "WHERE", "ESTIMATE"] and odd.startswith("caf\\udce9\\n<b>.png ")
    assert first.split()[:2] == ["copies/a.png", "original"] and "inf" in first
    assert second.startswith("copies/b.png") and "original" not in second


def test_a_reader_that_leaves_early_causes_no_noise(folder):
    command = f"{sys.executable} -m llise diagnose ref.png {'copies ' * 30} --csv | head -n 1"
    done = subprocess.run(command, shell=True, cwd=folder, env=environment(folder), capture_output=True, text=True)
    assert done.stdout.startswith("file,verdict") and done.stderr == ""


# ---------------------------------------------------------------------------------------- interrupt


@pytest.mark.parametrize(
    ("number", "delay"), [(signal.SIGINT, 0.5), (signal.SIGINT, 1.5), (signal.SIGINT, 4), (signal.SIGTERM, 2.5)]
)
def test_interrupting_leaves_nothing_half_written(folder, tmp_path, number, delay):
    """The work is long enough to be interrupted at every delay; where it ended before, its file is whole."""
    copies = ["copies"] * 800
    command = [
        sys.executable,
        "-m",
        "llise",
        "diagnose",
        "ref.png",
        *copies,
        "--html",
        str(tmp_path / "r.html"),
    ]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=with_usual_signals,
    )
    time.sleep(delay)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    if "KeyboardInterrupt" in errors and "/llise/" not in errors:
        pytest.skip("the signal came while Python was starting, before the program")
    # Python itself may end by the signal that came while it was starting: 130 to a shell all the same.
    assert process.returncode in (128 + number, -number), errors
    assert "Traceback" not in errors
    if number == signal.SIGINT:
        assert errors.splitlines()[-1].startswith("llise: error: interrupted")
    assert not (tmp_path / "r.html").exists()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and "numba" not in path.parts]


# ------------------------------------------------------------------------------------------ cluster


def test_a_scheduler_that_is_not_there_is_one_line(run):
    pytest.importorskip("distributed", reason="dask is not installed (extra 'cluster')")
    done = run("reproduce", "--quick", "--out", "none", "--scheduler", "tcp://127.0.0.1:9")
    assert_one_line(done, 1, "tcp://127.0.0.1:9: no scheduler answers there")


# --------------------------------------------------------------------------------------------------- terminal


@pytest.mark.parametrize("quiet", [False, True])
def test_progress_is_shown_on_a_terminal_unless_quiet(folder, quiet):
    pty, termios = (
        pytest.importorskip(name, reason="there are no pseudo-terminals here") for name in ("pty", "termios")
    )
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    command = [sys.executable, "-m", "llise", "diagnose", "ref.png", "copies", "--csv"]
    process = subprocess.Popen(
        [*command, *["--quiet"] * quiet], cwd=folder, stdout=subprocess.PIPE, stderr=theirs, env=environment(folder)
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # raised when the other side is closed
        while part := os.read(ours, 1000):
            shown += part
    out, _ = process.communicate()
    os.close(ours)
    assert process.returncode == 0 and b"diagnosing" not in out
    assert (b"diagnosing" in shown) != quiet


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_jobs_are_the_threads_that_all_steps_use(jobs):
    """joblib's own configuration ignores the number for threads unless it names the backend too."""
    with workers(jobs):
        assert joblib.Parallel(n_jobs=None, prefer="threads")._effective_n_jobs() == jobs


def test_a_name_that_does_not_exist_is_reported_before_any_work(folder, monkeypatch, capsys):
    def begin(*_, **__):
        assert "absent.png: no such file" in capsys.readouterr().err
        raise ValueError("begun")

    monkeypatch.chdir(folder)
    monkeypatch.setattr("llise.diagnosis.Diagnoser", begin)
    with pytest.raises(SystemExit) as ended:
        main(["diagnose", "ref.png", "copies", "absent.png", "--html", "early.html"])
    assert ended.value.code == 1 and "begun" in capsys.readouterr().err
