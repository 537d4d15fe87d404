"""The paper's experiments: a small run end to end, the pages made from its results, and taking up work again."""

import html
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from llise import datasets
from llise.cli.main import commands
from llise.labels import KINDS, LABELS, PAPER_MIXTURES
from llise.output.markup import Heading, Items, Table, Text, to_html, to_markdown
from llise.reproduction import experiments, figures, paper, parts
from llise.reproduction import report as pages
from llise.reproduction.methods import METHODS, runs
from llise.reproduction.report import overview, report, solutions

BLOCKWISE = [method.name for method in METHODS if method.blockwise]
FEW = ["llise", "lle", "lle-rbf"]


def crop(side):
    return np.ascontiguousarray(datasets.reference()[64 : 64 + side, 192 : 192 + side])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All methods on a small image, by the command."""
    place = tmp_path_factory.mktemp("reproduction")
    Image.fromarray(crop(64)).save(place / "small.png")
    out = place / "out"
    arguments = ["reproduce", "--image", str(place / "small.png"), "--quick", "--out", str(out)]
    done = CliRunner().invoke(commands, [*arguments, "--jobs", "2"], catch_exceptions=False)
    assert done.exit_code == 0
    (place / "stdout").write_text(done.output)
    return place


@pytest.fixture(scope="module")
def results(folder):
    return json.loads((folder / "out" / "results.json").read_text())


@pytest.fixture
def without_pages(monkeypatch):
    """Neither figures nor pages, and a short course of the iterations: what is tested is the results' files."""
    monkeypatch.setattr(figures, "draw", lambda *_: [])
    monkeypatch.setattr(pages, "write", lambda *_: None)
    monkeypatch.setattr("llise.reproduction.convergence.MAX_COUNT", 30)
    digest = parts.source_digest()  # read once: an edit during the test is not what is tested
    monkeypatch.setattr(experiments, "source_digest", lambda: digest)


# ------------------------------------------------------------------------------------------------- results


def test_all_methods_run_and_the_llise_ones_twice(results):
    expected = {method.name for method in METHODS} | {f"{name}, solved" for name in BLOCKWISE}
    assert results["schema"] == 1 and set(results["methods"]) == expected
    solvers = {name: entry["solver"] for name, entry in results["methods"].items()}
    assert all(solvers[name] == "admm" and solvers[f"{name}, solved"] == "exact" for name in BLOCKWISE)


def test_training_images_are_judged_over_all_labels(results):
    labels = results["data"]["training"]["labels"]
    for entry in results["methods"].values():
        confusion = np.array(entry["train"]["confusion"])
        assert confusion.sum(axis=1).tolist() == [labels.count(label) for label in LABELS]
        assert entry["train"]["accuracy"] == pytest.approx(np.trace(confusion) / len(labels), abs=1e-5)
        if entry["train"]["block_confusion"] is not None:
            votes = np.array(entry["train"]["block_confusion"])
            weights = confusion.sum(axis=1) / len(labels)
            assert entry["train"]["block_accuracy"] == pytest.approx(votes.diagonal() @ weights, abs=1e-5)


def test_test_images_are_the_papers_and_votes_add_up(results):
    true = [[kind] for kind in KINDS] + [list(pair) for pair in PAPER_MIXTURES]
    for entry in results["methods"].values():
        assert [answer["true"] for answer in entry["test"]] == true
        for answer in entry["test"]:
            assert sum(answer["shares"].values()) == pytest.approx(1, abs=1e-5)
            shares = [share for _, share in answer["top"]]
            assert shares == sorted(answer["shares"].values(), reverse=True)[: len(shares)]


def test_solving_meets_the_constraints_that_the_published_iterations_miss(results):
    for name in BLOCKWISE:
        published, solved = (results["methods"][key]["solution"] for key in (name, f"{name}, solved"))
        assert solved["constraint_violation"]["max"] < 1e-10 < 0.1 < published["constraint_violation"]["median"]
        assert solved["weight_norm_violation"] < 1e-6 < 0.1 < published["weight_norm_violation"]
    course = results["convergence"]["embedding"]
    assert max(course["exact"]["violation"][2]) < 1e-10
    assert np.all(np.diff(course["exact"]["objective"][1]) <= 1e-12), "the exact solver goes down"


def test_summary_counts_hits_pairs_and_unknown_shares():
    answers = [
        (["blur"], [["jpeg", 0.5], ["blur", 0.4]], {"jpeg": 0.5, "blur": 0.4}),
        (["jpeg"], [["blur", 0.9], ["contrast", 0.1]], {"blur": 0.9, "contrast": 0.1}),
        (["blur", "jpeg"], [["jpeg", 0.6], ["blur", 0.2]], {"jpeg": 0.6, "blur": 0.2}),
    ]
    found = paper.summary(answers, blockwise=True)
    assert (found["hits"], found["top_right"], found["pairs"], found["share_unknown"]) == (2, 1, 1, 1)
    assert found["single_share"] == pytest.approx(0.2)


def test_the_papers_table_is_whole_and_names_its_source():
    table = paper.paper_table()
    assert "Ghojogh" in table["source"] and "Table 1" in table["source"]
    assert list(table["methods"]) == [method.name for method in METHODS]
    for method in METHODS:
        rows = table["methods"][method.name]
        assert len(rows) == len(table["images"]) == 12
        assert all(label in LABELS for votes in rows for label, _ in votes)
        if method.blockwise:
            assert all(first[1] >= second[1] > 0 and first[1] + second[1] <= 1 for first, second in rows)
    assert table["methods"]["LLISE"][8] == [["gaussian_noise", 0.559], ["impulse_noise", 0.396]]
    assert table["methods"]["kernel LLISE (sigmoid)"][2] == [["luminance", 0.924], ["blur", 0.035]]
    assert [votes[0][0] for votes in table["methods"]["LLE"]][:3] == ["contrast", "luminance", "luminance"]


# --------------------------------------------------------------------------------------------------- pages


class Mark:
    """A number that writes itself between marks."""

    def __format__(self, spec):
        return f"⟦{format(self.base(self), spec)}⟧"

    def __str__(self):
        return format(self)


class MarkedFloat(Mark, float):
    base = float


class MarkedInt(Mark, int):
    base = int


def marked(value):
    """The same data with all numbers marked."""
    if isinstance(value, dict):
        return {key: marked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [marked(item) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return MarkedInt(value) if isinstance(value, int) else MarkedFloat(value)


@pytest.mark.parametrize("only", [None, "LLISE", "LLE", "kernel LLE (RBF)"])
def test_every_number_of_the_pages_comes_from_the_results_or_the_papers_table(folder, results, monkeypatch, only):
    table = paper.paper_table()
    monkeypatch.setattr(pages, "paper_table", lambda: marked(table))
    data = marked(results)
    if only:
        data["methods"] = {name: entry for name, entry in data["methods"].items() if entry["method"] == only}
    parts = report(data)
    shown = html.unescape(re.sub(r"<style>.*</style>|<[^>]*>", "", to_html(parts, folder / "out"), flags=re.S))
    for text in (to_markdown(parts), shown, pages.as_text(data)):
        assert "⟦" in text
        for known in (table["source"], results["image"]["name"], results["llise"], results["image"]["sha256"][:12]):
            text = text.replace(known, "")
        assert re.findall(r".{0,40}\d.{0,40}", re.sub(r"⟦[^⟧]*⟧", "", text)) == []


def test_pages_show_the_numbers_of_results_json_and_every_figure(folder, results):
    out = folder / "out"
    markdown, page = (out / "report.md").read_text(), (out / "report.html").read_text()
    parts = report(results)
    assert markdown == to_markdown(parts) and page == to_html(parts, out)
    drawn = {path.name for path in (out / "figures").glob("*.png")}
    assert drawn == set(re.findall(r"\(figures/([^)]+)\)", markdown)) and len(drawn) == 7
    assert page.count('src="data:image/png;base64,') == len(drawn)
    assert page.count('(prefers-color-scheme: dark)" srcset="data:image/png;base64,') == len(drawn)
    assert not re.search(r"""(src|href)=["']?(https?:|//|figures/)""", page)


def test_figures_for_dark_mode_are_the_same_on_a_dark_ground(folder):
    figures = folder / "out" / "figures"
    for path in figures.glob("*.png"):
        light, dark = (Image.open(file).convert("L") for file in (path, figures / "dark" / path.name))
        assert light.size == dark.size
        assert light.getpixel((1, 1)) == 255 and dark.getpixel((1, 1)) < 40


def test_figures_are_small_files_of_readable_size(folder):
    for path in (folder / "out" / "figures").glob("*.png"):
        with Image.open(path) as picture:
            assert picture.width >= 900 and path.stat().st_size < 400_000


def test_the_projects_own_page_is_as_the_command_made_it():
    docs = Path(__file__).parents[1] / "docs"
    made = json.loads((docs / "reproduction.json").read_text())
    assert made["image"]["name"].startswith("camera") and not made["image"]["quick"]
    assert len(made["methods"]) == 12
    text = (docs / "reproduction.md").read_text()
    for table in (overview(made), solutions(made)):
        assert to_markdown([table]).strip() in text
    assert all((docs / file).is_file() for file in re.findall(r"\((figures/[^)]+)\)", text))


def test_the_command_prints_table_time_memory_and_place(folder, results):
    output = (folder / "stdout").read_text()
    assert pages.as_text(results) in output
    assert re.search(r"Took \d+ s and \d+\.\d\d GB", output) and "report.html" in output
    timings = json.loads((folder / "out" / "timings.json").read_text())
    assert set(timings["parts_seconds"]) == {*results["methods"], "convergence", "released data"}


def test_documents_escape_what_is_not_markup(tmp_path):
    parts = [Heading("a < b", 1), Text("**x** & `<y>`"), Items(["i"]), Table(["h", "v"], [["r", "1\n2"]])]
    page = to_html(parts, tmp_path)
    assert "<title>a &lt; b</title>" in page and "<strong>x</strong> &amp; <code>&lt;y&gt;</code>" in page
    assert "<td>1<br>2</td>" in page and "| r | 1<br>2 |" in to_markdown(parts)


def test_html_in_a_text_is_shown_as_it_is_written(tmp_path):
    page = to_html([Text("a `b` <script>c</script>"), Text("<script>d</script>")], tmp_path)
    assert "<script" not in page and page.count("&lt;script&gt;") == 2


# ----------------------------------------------------------------------------------- same again, and taken up


def test_same_seed_gives_the_same_bytes_whatever_the_jobs(tmp_path, without_pages):
    for name, options in {"a": {"n_jobs": 1}, "b": {"n_jobs": 2}, "c": {"seed": 1}}.items():
        experiments.reproduce(crop(48), tmp_path / name, methods=FEW, **options)
    a, b, c = ((tmp_path / name / "results.json").read_bytes() for name in "abc")
    assert a == b != c


def test_an_interrupted_run_resumes_to_the_same_result(tmp_path, without_pages, monkeypatch):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    experiments.reproduce(crop(48), whole, methods=FEW)
    judge, judged = experiments.judge, []

    def counted(run, *arguments):
        if run.name == "LLE" and "LLE" not in judged:
            judged.append(run.name)
            raise KeyboardInterrupt
        judged.append(run.name)
        return judge(run, *arguments)

    monkeypatch.setattr(experiments, "judge", counted)
    with pytest.raises(KeyboardInterrupt):
        experiments.reproduce(crop(48), broken, methods=FEW)
    assert judged == ["LLISE", "LLISE, solved", "LLE"] and not (broken / "results.json").exists()
    experiments.reproduce(crop(48), broken, methods=FEW)
    assert judged[3:] == ["LLE", "kernel LLE (RBF)"]
    assert (broken / "results.json").read_bytes() == (whole / "results.json").read_bytes()


def test_parts_of_other_settings_or_damaged_ones_are_not_taken(tmp_path, without_pages, monkeypatch):
    judge, judged = experiments.judge, []
    monkeypatch.setattr(experiments, "judge", lambda run, *rest: judged.append(run.name) or judge(run, *rest))

    def names_run(image=None, **options):
        judged.clear()
        experiments.reproduce(crop(48) if image is None else image, tmp_path, methods=["lle", "lle-poly"], **options)
        return list(judged)

    both = ["LLE", "kernel LLE (polynomial)"]
    assert names_run() == both
    assert names_run() == []
    assert names_run(seed=3) == both
    assert names_run(crop(56)) == both
    (tmp_path / "parts" / "lle.json").write_text('{"key": ')
    assert names_run(crop(56)) == ["LLE"]
    monkeypatch.setattr(experiments, "source_digest", lambda: "of another version")
    assert names_run(crop(56)) == both


def test_another_version_has_another_digest(monkeypatch):
    before = parts.source_digest()
    monkeypatch.setattr(parts, "__version__", "0.0.0")
    assert parts.source_digest() != before


def test_more_methods_in_the_same_folder_give_what_a_new_one_would(tmp_path, without_pages):
    for methods in (["lle-rbf"], ["lle", "lle-rbf"]):
        experiments.reproduce(crop(48), tmp_path / "grown", methods=methods)
    experiments.reproduce(crop(48), tmp_path / "new", methods=["lle-rbf", "lle"])
    grown, new = ((tmp_path / name / "results.json").read_bytes() for name in ("grown", "new"))
    assert grown == new


# ------------------------------------------------------------------------------------------------- requests


def test_methods_are_known_by_both_names():
    assert [run.name for run in runs(["LLISE-rbf", "lle"])] == [
        "kernel LLISE (RBF)",
        "kernel LLISE (RBF), solved",
        "LLE",
    ]
    assert runs(["kernel LLE (sigmoid)"]) == runs(["lle-sigmoid"])
    assert len(runs()) == 12


@pytest.mark.parametrize(("names", "said"), [(["lla"], "'lla' is not a method.*llise-rbf"), ([], "no method")])
def test_unknown_methods_are_refused_by_name(names, said):
    with pytest.raises(ValueError, match=said):
        runs(names)


@pytest.mark.parametrize(("library", "modules"), [
    ("matplotlib", {"plot", "reproduction.figures"}), ("markdown_it", {"output.markup"}),
])  # fmt: skip
def test_without_a_library_of_the_extra_the_extra_is_named_before_any_work(tmp_path, monkeypatch, library, modules):
    monkeypatch.setitem(sys.modules, library, None)
    for name in modules | {"reproduction.report"}:
        monkeypatch.delitem(sys.modules, f"llise.{name}")
        monkeypatch.delattr(f"llise.{name}")
    with pytest.raises(ImportError, match=r"llise\[plot\]"):
        experiments.reproduce(crop(48), tmp_path / "out")
    assert not (tmp_path / "out").exists()
