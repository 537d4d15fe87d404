"""Kinds of one's own: what is refused where they are registered, their folders and files, and the commands with them.

That they are named, by a stand-in of the network, is in test_look_custom.py.
"""

import csv
import io
import json
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from look_standin import changed_of, model_of
from PIL import Image
from safetensors import safe_open
from safetensors.numpy import save as to_bytes
from skimage import data

from llise import Diagnoser, distortions, kinds
from llise.cli.main import commands
from llise.diagnosis import custom_kinds, kind_files
from llise.diagnosis.custom_kinds import CustomSamples, pooled
from llise.diagnosis.kind_files import load_kind, register_file, save_kind
from llise.gate.rules import RuleError, Rules, read_rule
from llise.gate.running import _prepared
from llise.images import as_uint8
from llise.kinds import own, sources
from llise.kinds.examples import ExampleError, find_examples
from llise.kinds.registry import names as registered_names
from llise.kinds.sources import KindError
from llise.output.label_words import COLOURS, label_colours
from llise.output.words import verdict_sentence
from llise.storage.array_files import digest_of

SCHEMA = json.loads((files("llise.output") / "diagnose.schema.json").read_text())


def scan_lines(image, strength, rng):
    return image * (1 - strength * (np.arange(len(image)) % 2))[:, None]


def crop(name, top=100, left=100, side=144):
    return np.ascontiguousarray(as_uint8(getattr(data, name)())[top : top + side, left : left + side])


def rounded(values):
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def lined(image, strength=0.3):
    return rounded(scan_lines(image.astype(float), strength, None))


@pytest.fixture(scope="module")
def standin():
    """A model that has no name for anything, but measures what tells lines from noise and other levels."""
    plain, rng, values = model_of(("unknown",)), np.random.default_rng(0), []
    for number in range(60):
        name = ("brick", "coins", "moon", "chelsea", "coffee")[number % 5]
        piece = crop(name, *rng.integers(0, 150, 2), 96)
        changes = piece + rng.normal(0, rng.uniform(4, 20), piece.shape), piece + rng.uniform(8, 40), piece * 1.2
        pair = [np.stack([one] * 3, axis=-1) for one in (piece, rounded(changes[number % 3]))]
        assert changed_of(*pair).any()
        look = plain.look(*pair)
        values.append(pooled(look, look.changed))
    return model_of(("unknown",), background=np.array(values))


@pytest.fixture(autouse=True)
def nothing_stays_registered(monkeypatch, standin):
    """The stand-in instead of the shipped model, few copies of a function, and no kind left at the end."""
    for module in ("diagnoser", "kind_files"):
        monkeypatch.setattr(f"llise.diagnosis.{module}.shipped_model", lambda: standin)
    monkeypatch.setattr(custom_kinds, "COPIES", 12)
    before = registered_names()
    yield
    for name in sources.names():
        own.unregister(name)
    assert registered_names() == before


def write_pairs(folder, pairs):
    for number, pair in enumerate(pairs):
        for role, image in zip(("ref", "copy"), pair):
            Image.fromarray(image).save(folder / f"{number}.{role}.png")
    return folder


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """Five examples of scan lines, of different sizes and strengths."""
    names = ("brick", "coins", "moon", "chelsea", "coffee")
    images = [crop(name, 20, 20, 80 + 16 * number) for number, name in enumerate(names)]
    folder = tmp_path_factory.mktemp("examples")
    return write_pairs(folder, [(image, lined(image, 0.1 + 0.08 * i)) for i, image in enumerate(images)])


@pytest.fixture(scope="module")
def kind_file(examples, standin, tmp_path_factory):
    path = tmp_path_factory.mktemp("kinds") / "scan_lines.kind"
    save_kind(kind_files.teach("scan_lines", examples, model=standin), path)
    return path


def made_samples(name):
    """What would be learned of a kind, for what only asks for its name."""
    return CustomSamples(name, name.replace("_", " "), np.zeros((1, 1)), np.zeros(1, int), "0" * 64)


def test_a_function_is_named_with_its_strength_and_said_by_its_title():
    kinds.register("scan_lines", scan_lines, title="dark lines")
    reference = crop("astronaut")
    diagnoser = Diagnoser(reference)
    (found,) = diagnoser.diagnose([lined(reference, 0.2)])
    (fault,) = found.faults
    assert diagnoser.labels[-1:] == diagnoser.custom_kinds == ("scan_lines",)
    assert found.verdict == fault.kinds == ("scan_lines",)
    assert fault.estimate["scan_lines"]["strength"].value == pytest.approx(0.2, rel=0.05)
    assert found.shares["scan_lines"] > 0.9 and sum(found.shares.values()) == pytest.approx(1)
    assert "dark lines (strength" in verdict_sentence(found)


def test_a_kind_is_named_only_while_it_is_registered(kind_file):
    register_file(kind_file)
    reference = crop("astronaut")
    assert next(Diagnoser(reference).diagnose([lined(reference)])).verdict == ("scan_lines",)
    assert "scan_lines" not in distortions.kinds()  # examples do not say how to make it
    own.unregister("scan_lines")
    assert next(Diagnoser(reference).diagnose([lined(reference)])).verdict == ("unknown",)


def test_kinds_of_ones_own_have_colours_of_their_own():
    labels = (*range(len(COLOURS)), *"abcde")
    assert len(set(label_colours(labels))) == len(labels) and label_colours(labels)[: len(COLOURS)] == COLOURS


# What is refused


def raising(image, strength, rng):
    raise RuntimeError("no lines today")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda image, strength, rng: image[:-1],
            r"returned the shape \(39, 48\); return an array of",
        ),
        (lambda image, strength, rng: image * np.nan, "returned NaN or infinite values"),
        (lambda image, strength, rng: image > 9, "returned bool values; return floats or integers"),
        (lambda image, strength, rng: image + 1j, "returned complex64 values"),
        (lambda image, strength, rng: None, r"returned the shape \(\)"),
        (lambda image, strength: image, "raised TypeError"),
        (raising, "raised RuntimeError: no lines today; correct it"),
        (lambda image, strength, rng: image, "changes nothing at any strength up to 1"),
        (7, "int is neither a function of .* nor a folder"),
    ],
)
def test_a_function_that_makes_no_copy_is_refused(function, message):
    with pytest.raises(KindError, match=f"kind 'lines': .*{message}"):
        kinds.register("lines", function)
    assert sources.names() == () and "lines" not in registered_names()


def test_a_function_that_fails_later_names_itself():
    kinds.register("lines", lambda image, strength, rng: scan_lines(image, strength, rng)[:60])
    with pytest.raises(KindError, match=r"kind 'lines': the function, called with an image of .* returned the shape"):
        Diagnoser(crop("astronaut"))


@pytest.mark.parametrize("name", ["jpeg", "unknown", "original", "content"])
def test_a_name_that_exists_is_refused(name):
    with pytest.raises(KindError, match=f"there is a kind '{name}' already; choose another name"):
        kinds.register(name, scan_lines)


@pytest.mark.parametrize("name", ["Fog", "", "scan-lines", "9lives", "x" * 41, None, "fog\n"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(KindError, match="cannot be the name of a kind; use 1 to 40 small letters"):
        kinds.register(name, scan_lines)


def test_a_kind_of_ones_own_is_registered_once():
    own.add(made_samples("lines"))
    with pytest.raises(KindError, match="there is a kind 'lines' already"):
        kinds.register("lines", scan_lines)


@pytest.mark.parametrize(
    ("options", "message"), [({"title": ""}, "cannot be its title"), ({"strongest": -1}, "positive")]
)
def test_wrong_settings_are_refused(options, message):
    with pytest.raises(KindError, match=message):
        kinds.register("lines", scan_lines, **options)


def test_too_many_kinds_are_refused():
    for number in range(sources.MOST):
        own.add(made_samples(f"kind{number}"))
    with pytest.raises(KindError, match="one of more than 50"):
        own.add(made_samples("more"))


def wrong_folders(folder):
    """Folders of examples that are refused, by what the message says."""
    image = crop("coins", 20, 20, 64)
    pictures_of = {
        "has no reference b.ref.png": {"a.ref": image, "a.copy": lined(image), "b.copy": image},
        "has no copy a.copy.png": {"a.ref": image},
        "neither a reference nor a copy by its name; put them": {"a.ref": image, "a.copy": lined(image), "c": image},
        "56 x 64 pixels, but the reference has 64 x 64": {"a.ref": image, "a.copy": lined(image)[:, :56]},
        "equals its reference a.ref.png up to rounding": {"a.ref": image, "a.copy": image},
        "there are no examples in it; put them": {},
        "has no partner in .*copy; add it": {"reference/a": image, "copy/b": image, "reference/b": image},
        "does not look like a copy of a.ref.png": {"a.ref": crop("coffee"), "a.copy": crop("chelsea")},
        "all pixels are 9": {"a.ref": np.full((64, 64), 9, np.uint8), "a.copy": image},
    }
    for number, (message, images) in enumerate(pictures_of.items()):
        place = folder / str(number)
        place.mkdir()
        for name, values in images.items():
            (place / name).parent.mkdir(exist_ok=True)
            Image.fromarray(values).save(place / f"{name}.png")
        yield message, place
    yield "no such folder", folder / "absent"
    file = folder / "file.png"
    Image.fromarray(image).save(file)
    yield "is no folder", file


def test_wrong_examples_are_refused_by_name_and_nothing_is_written(tmp_path):
    out = tmp_path / "lines.kind"
    for message, folder in wrong_folders(tmp_path):
        with pytest.raises(ExampleError, match=message):
            save_kind(kind_files.teach("lines", folder), out)
        assert sources.names() == () and not out.exists()


def test_pairs_may_lie_in_two_folders_and_have_several_copies(tmp_path):
    image = crop("coins", 20, 20, 64)
    write_pairs(tmp_path, [(image, lined(image))])
    Image.fromarray(lined(image, 0.5)).save(tmp_path / "0.copy2.png")
    assert [example.copy.name for example in find_examples(tmp_path)] == ["0.copy.png", "0.copy2.png"]
    for name, values in (("reference/a.png", image), ("copy/a.bmp", lined(image))):
        (tmp_path / "two" / name).parent.mkdir(parents=True)
        Image.fromarray(values).save(tmp_path / "two" / name)
    assert [example.copy.name for example in find_examples(tmp_path / "two")] == ["a.bmp"]


# Files


def test_a_kind_comes_back_from_its_file(kind_file, tmp_path):
    samples = load_kind(kind_file)
    assert (samples.name, samples.title) == ("scan_lines", "scan lines") and len(np.unique(samples.groups)) == 5
    save_kind(samples, tmp_path / "again.kind")
    assert (tmp_path / "again.kind").read_bytes() == kind_file.read_bytes()


def rewritten(path, out, arrays=None, **changes):
    """The same file with other arrays or entries of its header, and a digest that fits."""
    with safe_open(path, "numpy") as file:
        content = json.loads(file.metadata()["llise-kind"]) | changes
        values = {name: file.get_tensor(name) for name in file.keys()} | (arrays or {})  # noqa: SIM118
    values = {name: array for name, array in values.items() if array is not None}
    content["digest"] = digest_of(content, values)
    out.write_bytes(to_bytes(values, metadata={"llise-kind": json.dumps(content)}))
    return out


def test_hostile_files_are_refused(kind_file, tmp_path):
    samples = load_kind(kind_file)
    values, groups = samples.values.astype("<f4"), samples.groups.astype("<i4")
    spoiled = values.copy()
    spoiled[3, 1] = np.nan
    cases = [
        ({"arrays": {"values": values.astype(np.float16)}}, "other arrays than a kind"),
        ({"arrays": {"values": values[0]}}, "other arrays"),
        ({"arrays": {"more": groups}}, "other arrays"),
        ({"arrays": {"groups": None}}, "other arrays"),
        ({"arrays": {"values": values[:, :0].copy()}}, "no answers about regions"),
        ({"arrays": {"values": values[:0].copy(), "groups": groups[:0].copy()}}, "no answers"),
        ({"arrays": {"groups": groups[:-1].copy()}}, "no answers"),
        ({"arrays": {"groups": groups - 1}}, "no answers"),
        ({"arrays": {"values": spoiled}}, "no answers"),
        ({"name": "../../etc"}, "cannot be the name of a kind"),
        ({"name": 7}, "cannot be the name"),
        ({"title": "two\nlines"}, "cannot be its title"),
        ({"version": 1}, "was taught by llise 0.2, which had no network; teach it again"),
        ({"version": 3}, "format 3 of a newer llise; upgrade"),
        ({"version": "2"}, "changed or damaged since it was taught"),
    ]
    for changes, message in cases:
        with pytest.raises(KindError, match=message):
            load_kind(rewritten(kind_file, tmp_path / "hostile.kind", **changes))
    (tmp_path / "text.kind").write_text("import os; os.system('ls')")
    (tmp_path / "list.kind").write_bytes(to_bytes({"values": values}, metadata={"llise-kind": "[]"}))
    (tmp_path / "folder.kind").mkdir()
    for name, message in (("text", "not a kind of llise"), ("list", "not a kind"), ("folder", "is a folder")):
        with pytest.raises(KindError, match=message):
            load_kind(tmp_path / f"{name}.kind")


def test_no_changed_byte_goes_unnoticed(kind_file, tmp_path):
    rng, data = np.random.default_rng(7), kind_file.read_bytes()
    path = tmp_path / "changed.kind"
    for number in range(120):
        changed = bytearray(data)
        place = int(rng.integers(len(data) if number % 2 else 1500))  # half of the changes hit the header
        changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(changed[: int(rng.integers(len(data)))] if number % 10 == 9 else changed))
        with pytest.raises(KindError, match=r"changed\.kind: "):
            load_kind(path)
    assert sources.names() == ()


PYTHON = """
import numpy as np
from llise import kinds

def scan_lines(image, strength, rng):
    return image * (1 - strength * (np.arange(len(image)) % 2))[:, None]

kinds.register("scan_lines", scan_lines)
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PYTHON + "1 / 0", "raised ZeroDivisionError: division by zero; correct it"),
        (PYTHON + "kinds.register('jpeg', scan_lines)", "there is a kind 'jpeg' already"),
        ("kinds = 1", "registers no kind; call llise.kinds.register in it"),
        ("def", "raised SyntaxError"),
        ("raise SystemExit", "raised SystemExit"),
    ],
)
def test_a_python_file_that_fails_registers_nothing(tmp_path, text, message):
    path = tmp_path / "my_kinds.py"
    path.write_text(text)
    with pytest.raises(KindError, match=f"my_kinds.py: .*{message}"):
        register_file(path)
    assert sources.names() == () and "scan_lines" not in registered_names()


# Commands


@pytest.fixture
def run(tmp_path, monkeypatch, kind_file):
    """Runs a command in a folder with a reference, a copy with scan lines and a kind file."""
    monkeypatch.chdir(tmp_path)
    reference = crop("astronaut")
    Image.fromarray(reference).save("original.png")
    Image.fromarray(lined(reference)).save("copy.png")
    (tmp_path / "scan_lines.kind").write_bytes(kind_file.read_bytes())
    (tmp_path / "my_kinds.py").write_text(PYTHON)

    def run(*arguments):
        result = CliRunner().invoke(commands, arguments, standalone_mode=False)
        assert sources.names() == () and "scan_lines" not in registered_names()
        return result

    return run


def test_diagnose_names_a_kind_of_a_file_in_all_forms_of_output(run, tmp_path):
    arguments = "diagnose", "original.png", "copy.png", "--kinds", "scan_lines.kind", "--quiet"
    table = run(*arguments, "--html", "report.html")
    assert table.exit_code == 0 and table.output.splitlines()[1].split()[:2] == ["copy.png", "scan_lines"]
    page = (tmp_path / "report.html").read_text()
    assert '"scan lines"' in page and "#44aa99" in page
    data = json.loads(run(*arguments, "--json").output)
    jsonschema.validate(data, SCHEMA)
    (image,) = data["images"]
    assert image["verdict"] == ["scan_lines"] and image["shares"]["scan_lines"] > 0.9
    assert image["faults"][0]["kinds"] == ["scan_lines"] and "scan_lines" in image["block_labels"][0]
    (row,) = csv.DictReader(io.StringIO(run(*arguments, "--csv").output))
    assert row["verdict"] == "scan_lines" and float(row["share_scan_lines"]) > 0.9 and row["severity_scan_lines"]


def test_the_schema_refuses_names_that_no_kind_has():
    for name, valid in (("scan_lines", True), ("jpeg", True), ("Scan Lines", False), ("x" * 41, False)):
        validator = jsonschema.Draft202012Validator({"$ref": "#/$defs/kind", "$defs": SCHEMA["$defs"]})
        assert validator.is_valid(name) == valid


def test_teach_writes_a_file_that_other_commands_use(run, examples, tmp_path):
    result = run("teach", "lines", str(examples), "-o", "lines.kind", "--title", "dark lines")
    assert result.exit_code == 0 and result.output.startswith("lines.kind: lines, learned from 5 copies; use it with")
    result = run("check", "original.png", "copy.png", "--kinds", "lines.kind", "--allow", "lines")
    assert result.return_value == 0 and "dark lines" in result.output
    result = run("check", "original.png", "copy.png", "--kinds", "lines.kind", "--allow", "lines:0.5")
    assert "lines has no limit; write lines alone" in str(result.exception)


def test_a_python_file_teaches_and_distorts_and_its_strength_has_a_limit(run, tmp_path):
    result = run(
        "distort", "original.png", "--kinds", "my_kinds.py", "--kind", "scan_lines", "--mse", "90", "-o", "a.png"
    )
    assert result.exit_code == 0 and "scan_lines, MSE 90" in result.output
    result = run("teach", "scan_lines", "my_kinds.py", "-o", "b.kind")
    assert result.exit_code == 0 and load_kind("b.kind").name == "scan_lines"
    arguments = "check", "original.png", "copy.png", "--kinds", "my_kinds.py", "--allow"
    assert run(*arguments, "scan_lines:0.4").return_value == 0
    assert run(*arguments, "scan_lines:0.2").return_value == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["teach", "jpeg", "copies", "-o", "a.kind"], "there is a kind 'jpeg' already"),
        (["teach", "Fog", "copies", "-o", "a.kind"], "cannot be the name of a kind"),
        (["teach", "fog", "copies", "-o", "a.kind"], "copies: no such folder"),
        (["teach", "fog", ".", "-o", "a.kind"], "neither a reference nor a copy by its name"),
        (["teach", "fog", "my_kinds.py", "-o", "a.kind"], "registers scan_lines, but not fog; name one of them"),
        (["teach", "fog", "copies", "-o", "a.png"], "ends with .kind; name it a.kind"),
        (["diagnose", "original.png", "copy.png", "--kinds", "absent.kind"], "absent.kind: no such file"),
        (["diagnose", "original.png", "copy.png", "--kinds", "copy.png"], "neither a .kind file"),
        (
            ["diagnose", "original.png", "copy.png", "--kinds", "scan_lines.kind", "--kinds", "my_kinds.py"],
            "my_kinds.py: there is a kind 'scan_lines' already",
        ),
        (
            [
                "distort",
                "original.png",
                "--kinds",
                "scan_lines.kind",
                "--kind",
                "scan_lines",
                "--mse",
                "9",
                "-o",
                "b.png",
            ],
            "taught by examples; only a kind with a function can be made",
        ),
        (
            ["distort", "original.png", "--kind", "scan_lines", "--mse", "9", "-o", "b.png"],
            "'scan_lines' is not one of",
        ),
    ],
)
def test_commands_say_what_is_wrong_with_a_kind_and_write_nothing(run, tmp_path, arguments, message):
    result = run(*arguments)
    assert result.exit_code != 0 and message in f"{result.output} {result.exception}"
    assert not list(tmp_path.glob("a.*")) and not (tmp_path / "b.png").exists()


def test_rules_know_a_kind_only_while_it_is_registered():
    with pytest.raises(RuleError, match="which is no kind"):
        read_rule("allow", ["scan_lines"])
    own.add(made_samples("scan_lines"))
    assert read_rule("allow", ["scan_lines"]) == {"scan_lines": None}
    assert Rules(allow={"scan_lines": None}).allow == {"scan_lines": None}


def test_other_processes_of_the_gate_know_the_kinds(kind_file, monkeypatch):
    monkeypatch.setattr("signal.signal", lambda *arguments: None)
    _prepared((kind_file,))
    assert sources.names() == ("scan_lines",)
