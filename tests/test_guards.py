"""What holds for every command: outputs never destroy inputs, names stay text, no stream or signal does harm."""

import ast
import os
import signal
import stat
from importlib import import_module
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from samples import picture

from llise.cli import main as program
from llise.cli.main import commands
from llise.cli.places import Input, Output
from llise.cli.running import progress
from llise.output.markup import Text, code_span, to_html
from llise.output.policy import sealed
from llise.output.text import csv_cell
from llise.storage.files import OutputError

TEMPLATES = sorted((Path(program.__file__).parents[1] / "output" / "templates").glob("*.html"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A reference, a folder with two copies, and links to them."""
    monkeypatch.chdir(tmp_path)
    reference = picture(32, 32)
    (tmp_path / "copies").mkdir()
    (tmp_path / "figures").mkdir()
    for name in ("ref.png", "copies/a.png", "figures/manifold.png"):
        Image.fromarray(reference).save(tmp_path / name)
    Image.fromarray(reference // 2).save(tmp_path / "copies" / "b.png")
    (tmp_path / "link.png").symlink_to(tmp_path / "copies" / "a.png")
    os.link(tmp_path / "copies" / "b.png", tmp_path / "hard.png")
    (tmp_path / "shortcut").symlink_to(tmp_path / "copies")
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


DISTORT = ("distort", "ref.png", "--kind", "blur", "--mse", "50")


@pytest.mark.parametrize("arguments", [
    ("diagnose", "ref.png", "copies", "--html", "ref.png"),
    ("diagnose", "--html", "./copies/../ref.png", "ref.png", "copies"),
    ("diagnose", "ref.png", "copies/a.png", "--html", "link.png"),
    ("diagnose", "ref.png", "copies/b.png", "--html", "hard.png"),
    ("diagnose", "ref.png", "copies", "--html", "copies/b.png"),
    ("diagnose", "ref.png", "copies", "--html", "link.png"),
    ("diagnose", "ref.png", "copies", "--html", "hard.png"),
    ("diagnose", "ref.png", "shortcut", "--html", "copies/a.png"),
    ("diagnose", "ref.png", "copies", "--html", "shortcut/new.png"),
    ("teach", "fog", "copies", "-o", "copies/a.png"),
    ("teach", "fog", "copies", "-o", "link.png"),
    (*DISTORT, "-o", "./ref.png"),
    ("reproduce", "--image", "figures/manifold.png", "--out", "."),
], ids=" ".join)  # fmt: skip
def test_an_output_that_is_an_input_is_refused_before_any_work(folder, arguments):
    before = contents(folder)
    done = CliRunner().invoke(commands, arguments)
    assert done.exit_code == 2 and "would overwrite an input file; name another file" in done.output
    assert contents(folder) == before


def test_an_output_beside_the_inputs_is_written(folder):
    for out in ("copies/report.html", "report.html"):
        done = CliRunner().invoke(commands, ["diagnose", "ref.png", "copies", "--html", out])
        assert done.exit_code == 0 and (folder / out).exists()
    done = CliRunner().invoke(commands, [*DISTORT, "-o", "copies/c.png"])
    assert done.exit_code == 0 and (folder / "copies" / "c.png").exists()


@pytest.mark.parametrize("mask", [0o000, 0o027, 0o077])
def test_files_follow_the_umask(folder, mask):
    before = os.umask(mask)
    try:
        CliRunner().invoke(commands, [*DISTORT, "-o", "new.png"])
        CliRunner().invoke(commands, ["diagnose", "ref.png", "copies", "--html", "new.html"])
    finally:
        os.umask(before)
    modes = {stat.S_IMODE((folder / name).stat().st_mode) for name in ("new.png", "new.html")}
    assert modes == {0o666 & ~mask}


def test_an_output_name_that_is_too_long_is_refused_before_any_work(folder, monkeypatch):
    monkeypatch.setattr("llise.images.read_image", lambda *_: pytest.fail("the work has begun"))
    done = CliRunner().invoke(commands, ["diagnose", "ref.png", "ref.png", "--html", "n" * 300])
    assert isinstance(done.exception, OutputError) and "File name too long" in str(done.exception)


def test_every_path_of_every_command_says_whether_it_is_read_or_written():
    written = {"--html", "--out", "--junit", "--markdown", "--diff"}
    for command in commands.commands.values():
        for parameter in command.params:
            if isinstance(parameter.type, click.Path):
                types = Output if written & set(parameter.opts) else Input | Output
                assert isinstance(parameter.type, types), (command.name, parameter.name)


def test_two_outputs_cannot_be_one_file(folder):
    command = click.Command("two", params=[click.Option([name], type=Output()) for name in ("--html", "--table")])
    done = CliRunner().invoke(command, ["--html", "r.html", "--table", "./copies/../r.html"])
    assert done.exit_code == 2 and "two outputs of the command have this name" in done.output


@pytest.mark.parametrize(("area", "scale"), [("names", 1), ("outputs", 0.5)])
def test_the_attack_finds_nothing(area, scale, tmp_path, monkeypatch):
    """The fast parts of benchmarks/attack.py, as they are there."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    tried, failures = import_module(f"attacks.{area}").run(scale, np.random.default_rng(0), tmp_path)
    assert tried > 70 and failures == []


def test_commands_print_through_the_functions_that_escape():
    """Only help and the scripts for completion, which hold no names, are printed in another way."""
    users = set()
    for path in Path(program.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            if name in ("echo", "secho", "print"):
                users.add(path.name)
    assert users == {"completion.py", "main.py", "running.py"}


@pytest.mark.parametrize(
    "name", ["a\x1b[31mb.png", "a\nb.png", "a\x7f\x9b.png", "\u202ea.png", os.fsdecode(b"a\xff.png")]
)
def test_commands_show_control_characters_escaped(folder, name):
    Image.fromarray(picture(32, 32)).save(folder / name)
    runs = [
        ("diagnose", "ref.png", name),
        ("diagnose", "ref.png", name, "--csv"),
        ("diagnose", "ref.png", name, "--json"),
        ("diagnose", "ref.png", f"absent{name}"),
        ("distort", "ref.png", "--kind", "blur", "--mse", "50", "-o", f"{name}.png"),
        ("distort", name, "--kind", "blur", "--mse", "5e4", "-o", "x.png"),
        ("diagnose", "ref.png", name, "--why"),
        (name,),
    ]
    for arguments in runs:
        done = CliRunner().invoke(program_command, arguments)
        text = done.output.replace("\n", "")
        assert text and text.isprintable(), (arguments, done.output)


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.pass_context
def program_command(context):
    """The program as it runs in a process, with its messages for errors."""
    program.main(context.args)


@pytest.mark.parametrize(
    "text", ["=1", "+1+1", "-2+3", "@A1", "\t=1", "\r=1", "\n=1", " =1", "＝1", "-x.png", "=1\udcff"]
)
def test_a_csv_cell_never_begins_a_formula(text):
    assert csv_cell(text).startswith("'")


def test_numbers_stay_numbers_in_csv():
    for value in (-0.25, 0.0, 1e-7, -3, float("inf"), float("-inf")):
        assert float(csv_cell(value)) == value


@pytest.mark.parametrize("name", ["`<script>x()</script>`", "a``b", "`", "[a](javascript:x())", "x`![i](http://a/b)`"])
def test_a_name_in_a_document_stays_one_code_span(name, tmp_path):
    page = to_html([Text(f"The reference is {code_span(name)}, once.")], tmp_path)
    body = page.split("<main>")[1]
    assert body.count("<") == body.split("</main>")[0].count("<") + 3  # main, body and html are closed
    assert body.split("</main>")[0].count("<") == 4, body  # one paragraph with one code span
    assert "<code>" in body


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_templates_have_a_policy_and_nothing_that_it_forbids(template):
    text = template.read_text(encoding="utf-8")
    page = sealed(text)
    assert page.count("Content-Security-Policy") == 1 and "unsafe" not in page.split("<style>")[0]
    assert page.index("Content-Security-Policy") < page.index("<style>")
    elements = " ".join(part.split(">")[0] for part in text.split("<")[1:])
    for forbidden in (" on", " style=", "javascript:", " src=", "http:"):
        assert forbidden not in elements.lower().replace(" on ", " "), forbidden


def test_an_interrupt_that_a_library_took_for_a_bad_file_ends_a_batch(monkeypatch):
    items = iter(progress("abc", 3, "judging", quiet=True))
    assert next(items) == "a"
    monkeypatch.setattr("llise.cli.signals._received", [signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):
        next(items)
