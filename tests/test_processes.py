"""What can happen to a process of the program: closed streams, bad files among good ones, signals, kills."""

import csv
import ctypes
import io
import json
import os
import signal
import subprocess
import sys

import pytest
from PIL import Image
from samples import picture
from signalling import with_usual_signals

from llise.storage.files import TEMPORARY, atomic_write

LONG = "n" * 300 + ".png"
NOT_UNICODE = os.fsdecode(b"caf\xe9.png")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A reference and a folder with three copies; the name of one needs UTF-8, that of another is no Unicode."""
    folder = tmp_path_factory.mktemp("processes")
    reference = picture(32, 32)
    (folder / "copies").mkdir()
    for name in ("ref.png", "copies/a.png", "copies/ü.png", f"copies/{NOT_UNICODE}"):
        Image.fromarray(reference).save(folder / name)
    return folder


def run(folder, arguments, **options):
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONUTF8": "1"}
    variables |= options.pop("variables", {})
    command = [sys.executable, "-m", "llise", *arguments]
    return subprocess.run(command, cwd=folder, env=variables, text=True, errors="surrogateescape", **options)


def whole(path):
    return path.read_text(encoding="utf-8").rstrip().endswith("</html>")


# ------------------------------------------------------------------------------------------ streams


@pytest.mark.parametrize(
    ("redirection", "status"),
    [(">&-", 0), ("2>&-", 1), ("<&- >&- 2>&-", 1), ("| head -n 1", 1), ("| true", 1), ("> /dev/full", 1)],
)
def test_no_state_of_the_streams_keeps_the_report_from_being_written(folder, tmp_path, redirection, status):
    """Where standard error is closed there is a bad copy to report there, so that the status is 1."""
    if "/dev/full" in redirection and not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    bad = "absent.png" if "2>" in redirection else ""
    command = f"{sys.executable} -m llise diagnose ref.png {bad} copies copies --html {tmp_path}/r.html"
    # A pipe has the status of its last command: that of the program is printed.
    script = f"({command}; echo status $? > {tmp_path}/status) {redirection}"
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(script, shell=True, cwd=folder, env=variables, capture_output=True, start_new_session=True)
    assert (tmp_path / "status").read_text() == f"status {status}\n", done.stderr
    assert whole(tmp_path / "r.html")
    assert done.stderr.count(b"\n") == ("/dev/full" in redirection) and b"Traceback" not in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["r.html", "status"]


# -------------------------------------------------------------------------------------------- batch


def as_ordinary_user():
    """Give up root's right to read everything, where the tests run as root; for the process to be started."""
    if os.geteuid() == 0:
        library = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
            assert library.prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="permissions are taken from root as Linux does it")
def test_no_bad_file_ends_a_batch(folder, tmp_path):
    for name in ("locked", "listed"):
        (tmp_path / name).mkdir()
        Image.fromarray(picture(32, 32)).save(tmp_path / name / "x.png")
    Image.fromarray(picture(32, 32)).save(tmp_path / "secret.png")
    (tmp_path / "locked").chmod(0)
    (tmp_path / "listed").chmod(0o444)
    (tmp_path / "secret.png").chmod(0)
    bad = ["locked", "listed", "secret.png", LONG, "absent.png", "ab\nsent.png"]
    paths = [name if "sent" in name or name == LONG else str(tmp_path / name) for name in bad]
    done = run(
        folder, ["diagnose", "ref.png", *paths, "copies", "--csv"], capture_output=True, preexec_fn=as_ordinary_user
    )
    (tmp_path / "locked").chmod(0o700)
    (tmp_path / "listed").chmod(0o700)
    assert done.returncode == 1
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [bool(row["error"]) for row in rows] == [True] * len(bad) + [False] * 3
    assert rows[1]["file"].endswith("listed/x.png") and rows[5]["file"] == "ab\\nsent.png"
    assert done.stderr.count("\n") == len(bad) and "Traceback" not in done.stderr


def test_a_file_that_vanishes_is_reported(folder, tmp_path, monkeypatch, capfd):
    """The files are listed first; the second is removed when the first is judged."""
    from llise import Diagnoser
    from llise.cli.diagnose import judge_files

    for name in "abc":
        Image.fromarray(picture(32, 32)).save(tmp_path / f"{name}.png")
    diagnoser = Diagnoser(picture(32, 32))

    class Removing:
        reference = pixels = diagnoser.reference

        def diagnose(self, images):
            (tmp_path / "b.png").unlink(missing_ok=True)
            return diagnoser.diagnose(images)

    status = judge_files(Removing(), "ref.png", [tmp_path], "json", None, quiet=True)
    out, errors = capfd.readouterr()
    assert status == 1 and "b.png: no such file" in errors
    assert ["error" in image for image in json.loads(out)["images"]] == [False, True, False]


@pytest.mark.parametrize(("form", "encoding"), [("", "latin-1"), ("--csv", "ascii"), ("--json", "ascii")])
def test_a_name_that_the_encoding_does_not_have_keeps_its_row(folder, form, encoding):
    options = [form] if form else []
    done = run(folder, ["diagnose", "ref.png", "copies", *options], variables={"PYTHONIOENCODING": encoding},
               capture_output=True, encoding=encoding)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    if form == "--json":
        names = [image["file"] for image in json.loads(done.stdout)["images"]]
        assert names == ["copies/a.png", "copies/caf\\udce9.png", "copies/ü.png"]
        return
    rows = done.stdout.splitlines()[1:]
    assert len(rows) == 3 and "caf\\udce9.png" in rows[1]
    assert rows[2].startswith("copies/ü.png" if encoding == "latin-1" else "copies/\\xfc.png")


def test_a_reference_whose_name_is_no_unicode_has_a_report(folder, tmp_path):
    arguments = ["diagnose", f"copies/{NOT_UNICODE}", "ref.png", "--html", str(tmp_path / "r.html")]
    done = run(folder, arguments, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "") and whole(tmp_path / "r.html")
    assert "<h1>Diagnosis against caf\\udce9.png</h1>" in (tmp_path / "r.html").read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------------ signals

# The program, which gets a signal from itself when it imports a module: at any time of its start and work.
# Compiled modules and some callbacks of Python turn the interrupt into another error, whose name follows the module's.
INTERRUPTED = """
import builtins, os, sys
module, number, *sys.argv[1:] = sys.argv[1:]
module, _, error = module.partition(":")

class Finder:
    def find_spec(name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(Finder)
            try:
                os.kill(os.getpid(), int(number))
                sys.stdout.flush()
            except KeyboardInterrupt as interrupt:
                if error:
                    raise getattr(builtins, error)("failed") from interrupt
                raise

sys.meta_path.insert(0, Finder)
from llise.__main__ import main
main()
"""


def interrupted(folder, module, number, *arguments):
    command = [sys.executable, "-c", INTERRUPTED, module, str(int(number)), *map(str, arguments)]
    started = {"preexec_fn": with_usual_signals, "env": dict(os.environ)}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, **started)


@pytest.mark.parametrize("module", [
    "llise.cli", "llise.cli.signals", "click", "click:RuntimeError", "scipy:ImportError", "numpy",
    "llise.output.page", "threading",
])  # fmt: skip
def test_an_interrupt_at_any_import_is_one_line_and_status_130(folder, tmp_path, module):
    done = interrupted(folder, module, signal.SIGINT, "diagnose", "ref.png", "copies", "--quiet", "--html",
                       tmp_path / "r.html")  # fmt: skip
    assert (done.returncode, done.stdout) == (130, ""), done.stderr
    assert done.stderr.startswith("llise: error: interrupted") and done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("module", ["click", "numpy"])
def test_other_signals_end_the_program_with_their_status(folder, module, number):
    done = interrupted(folder, module, number, "diagnose", "ref.png", "copies")
    assert (done.returncode, done.stdout) == (128 + number, "")
    assert done.stderr.startswith("llise: error: interrupted") and done.stderr.count("\n") == 1


def test_an_interrupt_before_a_block_that_writes_is_entered_leaves_nothing(tmp_path):
    """The file is open already, and whoever would close it does not know of it yet."""
    code = """
import os, signal, sys
from llise import __main__
from llise.cli import main
from llise.storage.files import atomic_write

def run():
    sys.writing = atomic_write(sys.argv[1])
    sys.writing.__enter__()
    os.kill(os.getpid(), signal.SIGINT)

main.main = run
__main__.main()
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "r.html")], capture_output=True, text=True,
                          preexec_fn=with_usual_signals)  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "llise: error: interrupted\n")
    assert os.listdir(tmp_path) == []


def test_an_interrupt_in_a_destructor_is_not_lost():
    code = """
import os, signal, time
from llise.cli import signals

class Guard:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

signals.install()
try:
    Guard()
    time.sleep(5)
except KeyboardInterrupt:
    print("caught", signals.status())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          preexec_fn=with_usual_signals)  # fmt: skip
    assert (done.stdout, done.stderr) == ("caught 130\n", "")


# -------------------------------------------------------------------------------------------- kills

WRITING = """
import sys, time
from llise.storage.files import atomic_write
with atomic_write(sys.argv[1], "w") as file:
    file.write("half")
    file.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_process_left_is_removed_by_the_next_and_what_another_writes_is_not(tmp_path, monkeypatch):
    def left():
        return [name for name in os.listdir(tmp_path) if name.endswith(TEMPORARY)]

    def write(name):
        monkeypatch.setattr("llise.storage.files._cleaned", set())  # as in another process
        with atomic_write(tmp_path / name, "w") as file:
            file.write("whole")

    (tmp_path / ".notes.12345678.tmp").touch()  # another program's
    command = [sys.executable, "-c", WRITING, str(tmp_path / "report.html")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "writing\n"
        write("other.html")
        assert len(left()) == 1
        process.kill()
    write("other.html")
    assert sorted(os.listdir(tmp_path)) == [".notes.12345678.tmp", "other.html"]
