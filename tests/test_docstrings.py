"""Docstrings of the public names, those that docs/api.rst lists: numpydoc form, complete, with examples that run."""

import dataclasses
import doctest
import importlib
import inspect
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest

import llise

docscrape = pytest.importorskip("numpydoc.docscrape", reason="numpydoc is not installed (extra 'test')")
validate = pytest.importorskip("numpydoc.validate", reason="numpydoc is not installed (extra 'test')").validate

API = Path(__file__).parents[1] / "docs" / "api.rst"
SUMMARY = {
    "GL06": "no section that numpydoc does not know",
    "GL07": "sections in numpydoc's order",
    "GL08": "a docstring",
    "SS01": "a summary",
    "SS03": "the summary ends with a period",
    "SS06": "the summary is one line",
}
PARAMETERS = {
    "PR01": "every parameter is documented",
    "PR02": "no parameter that does not exist",
    "PR03": "in the order of the signature",
    "PR10": "a space before the colon of a parameter",
}
CALLS = {"RT01": "Returns where something is returned", "YD01": "Yields where something is yielded"}
EXAMPLE = {"EX01": "an example"}


@cache
def modules():
    """All public modules below llise, by name."""
    names = [module.name for module in pkgutil.walk_packages(llise.__path__, "llise.")]
    public = [name for name in names if not any(part.startswith("_") for part in name.split("."))]
    return {name: importlib.import_module(name) for name in sorted(public)}


def listed():
    """The names that docs/api.rst lists, where they are defined, and what they stand for."""
    for name in re.findall(r"^   ([\w.]+)$", API.read_text(encoding="utf-8"), re.MULTILINE):
        owner, _, attribute = f"llise.{name}".rpartition(".")
        item = getattr(importlib.import_module(owner), attribute)
        home = getattr(item, "__module__", None)
        if home and hasattr(item, "__qualname__"):
            yield f"{home}.{item.__qualname__}", item


def has_own_constructor(item):
    """Whether the constructor is written in this package; those of other libraries are documented there."""
    return inspect.isfunction(item.__init__) and item.__init__.__module__.startswith("llise")


def has_fields(item):
    """Whether a class's parameters are its fields, which may be documented as attributes."""
    return dataclasses.is_dataclass(item) or hasattr(item, "_fields")


def members(name, item):
    """A class's own public methods and properties, and the checks that apply to them."""
    for attribute, value in vars(item).items():
        if attribute.startswith("_"):
            continue
        function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        if inspect.isfunction(function):
            inherited = function.__doc__ is None and inspect.getdoc(getattr(item, attribute)) is not None
            yield f"{name}.{attribute}", {} if inherited else SUMMARY
        elif isinstance(value, property):
            yield f"{name}.{attribute}", SUMMARY


def checks_of_class(item):
    """The checks for a class; fields of a data class may be documented as attributes, which is checked apart."""
    plain = getattr(item, "_is_protocol", False) or issubclass(item, BaseException)
    parameters = PARAMETERS if has_own_constructor(item) and not has_fields(item) and not plain else {}
    return SUMMARY | parameters | ({} if plain else EXAMPLE)


def public_names():
    """Every public function, class, method and property with the checks that apply to it."""
    for name, item in listed():
        if inspect.isfunction(item):
            yield name, SUMMARY | PARAMETERS | CALLS | EXAMPLE
        elif inspect.isclass(item):
            yield name, checks_of_class(item)
            yield from members(name, item)


NAMES = dict(public_names())


def undocumented_fields(name):
    """Fields of a data class that neither Parameters nor Attributes mention."""
    module, _, attribute = name.rpartition(".")
    item = getattr(modules().get(module), attribute, None)
    if not inspect.isclass(item) or not has_fields(item):
        return []
    sections = docscrape.ClassDoc(item)
    documented = {
        word.strip()
        for section in ("Parameters", "Attributes")
        for entry in sections[section]
        for word in entry.name.split(",")
    }
    fields = [field.name for field in dataclasses.fields(item)] if dataclasses.is_dataclass(item) else item._fields
    return [field for field in fields if not field.startswith("_") and field not in documented]


def test_the_list_of_public_names_has_what_the_package_exports():
    text = API.read_text(encoding="utf-8")
    functions = [name for name in llise.__all__ if not inspect.ismodule(getattr(llise, name))]
    missing = [name for name in functions if not re.search(rf"^   (\w+\.)?{name}$", text, re.MULTILINE)]
    assert not missing, f"docs/api.rst does not list {', '.join(missing)}"


@pytest.mark.parametrize("name", NAMES)
def test_docstring_follows_numpydoc(name):
    errors = [f"{code} {message}" for code, message in validate(name)["errors"] if code in NAMES[name]]
    errors += [f"field {field} is not documented" for field in undocumented_fields(name)]
    assert not errors, f"complete the docstring of {name}: {'; '.join(errors)}"


@pytest.mark.parametrize("name", modules())
def test_examples_run(name, tmp_path, monkeypatch):
    """Each module's examples, run as doctests in an empty folder."""
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failures, _ = doctest.testmod(modules()[name], optionflags=flags)
    assert failures == 0, f"{failures} examples in {name} fail: see the output above, and correct them or the code"
