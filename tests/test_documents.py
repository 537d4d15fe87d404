"""The documents: their links resolve in a repository browser too, all public names are in the reference, and the site
check finds what is broken."""

import importlib
import re
import sys
from pathlib import Path

import pytest
from PIL import Image
from skimage import data

import llise

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
sys.path.append(str(ROOT / "docs"))
check_site = importlib.import_module("check_site")


def prose(path):
    """A document without its code."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path):
    """Anchors of a document's headings, as repository browsers and the site make them."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M), re.M
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(path):
    """Links and pictures of a document that lead to files."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if not re.match(r"[a-z]+:", target):
            yield target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(path):
    for target in links(path):
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        assert file.exists(), f"{path.name} links to {target}, which does not exist"
        assert not anchor or anchor in anchors(file), f"{path.name} links to {target}, which has no such heading"


def test_snippets_on_a_diagnosis_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pixels = data.astronaut()[:96, 160:256]
    Image.fromarray(pixels).save("original.png")
    Path("copies").mkdir()
    for name in ("a.jpg", "copies/a.jpg"):
        Image.fromarray(pixels).save(name, quality=20)
    for name in ("index.md", "diagnose.md"):
        blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / name).read_text(encoding="utf-8"), re.DOTALL)
        for block in (block for block in blocks if "a.jpg" in block):
            exec(compile(block, name, "exec"), {})
            assert "jpeg" in capsys.readouterr().out


def test_every_public_name_is_in_the_reference():
    listed = set(re.findall(r"^   ([\w.]+)$", (ROOT / "docs/api.rst").read_text(encoding="utf-8"), re.MULTILINE))
    documented = [_value(name) for name in listed]
    modules = [llise, *(getattr(llise, name) for name in ("distortions", "experiments", "plot", "report"))]
    for module in modules:
        for name in module.__all__:
            value = getattr(module, name)
            described = any(value is other for other in documented)
            assert described or type(value) is type(re), f"{module.__name__}.{name} is not in docs/api.rst: add it"


def _value(name):
    owner, _, attribute = f"llise.{name}".rpartition(".")
    return getattr(importlib.import_module(owner), attribute)


PAGE = '<html><body><h1 id="top">Top</h1>{}</body></html>'


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="other.html#there">x</a><a href="#top">y</a><a href="https://example.org">z</a>', None),
        ('<a href="missing.html">x</a>', "does not exist"),
        ('<a href="other.html#nowhere">x</a>', "has no such anchor"),
        ('<a href="#nowhere">x</a>', "has no such anchor"),
        ('<img src="missing.png">', "does not exist"),
        ('<img srcset="missing.png 2x">', "does not exist"),
        ('<script src="https://example.org/x.js"></script>', "is loaded from another address"),
        ('<a href="../outside.html">x</a>', "is outside the site"),
    ],
)
def test_the_site_check_finds_what_is_broken(tmp_path, body, problem):
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "outside.html").write_text(PAGE)
    (site / "other.html").write_text('<p id="there">x</p>')
    (site / "index.html").write_text(PAGE.format(body))
    lines = list(check_site.problems(site))
    assert [problem] * bool(problem) == [line.split(" ", 2)[2] for line in lines]
