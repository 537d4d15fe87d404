"""Docstrings of all public names: numpydoc form, complete, with examples that run."""

import dataclasses
import doctest
import importlib
import inspect
import pkgutil
from functools import cache

import pytest

import llise
from llise.engine.steps import Steps

docscrape = pytest.importorskip("numpydoc.docscrape", reason="numpydoc is not installed (extra 'test')")
validate = pytest.importorskip("numpydoc.validate", reason="numpydoc is not installed (extra 'test')").validate

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
ENGINES = ("llise.engine.array_", "llise.engine.cuda_", "llise.engine.numba_")
CALLS = {"RT01": "Returns where something is returned", "YD01": "Yields where something is yielded"}
EXAMPLE = {"EX01": "an example"}

STEPS = {name for name in vars(Steps) if not name.startswith("_")}
"""Described once, with parameters and results, in ``Steps``: both implementations need a summary only.

``test_engines.py`` checks that their signatures are those of ``Steps``.
"""

EXCUSED: tuple[str, ...] = ()
"""Modules, by the beginning of their name, that are being rebuilt."""


@cache
def modules():
    """All public modules below llise, by name."""
    names = [module.name for module in pkgutil.walk_packages(llise.__path__, "llise.")]
    public = [name for name in names if not any(part.startswith("_") for part in name.split("."))]
    return {name: importlib.import_module(name) for name in sorted(public)}


def is_protocol(item):
    return getattr(item, "_is_protocol", False)


def has_own_constructor(item):
    """Whether the constructor is written in this package; those of other libraries are documented there."""
    return inspect.isfunction(item.__init__) and item.__init__.__module__.startswith("llise")


def has_fields(item):
    """Whether a class's parameters are its fields, which may be documented as attributes."""
    return dataclasses.is_dataclass(item) or hasattr(item, "_fields")


def members(name, item):
    """A class's own public methods and properties, and the checks that apply to them.

    A method without docstring that overrides a documented one of a base class is documented there.
    """
    for attribute, value in vars(item).items():
        if attribute.startswith("_"):
            continue
        function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        if inspect.isfunction(function):
            inherited = function.__doc__ is None and inspect.getdoc(getattr(item, attribute)) is not None
            yield f"{name}.{attribute}", {} if inherited else SUMMARY | PARAMETERS | CALLS
        elif isinstance(value, property):
            yield f"{name}.{attribute}", SUMMARY


def checks_of_function(module_name, attribute):
    """The checks for a function of a module; inside the engine no example is needed, since only ``llise`` calls it."""
    if not module_name.startswith("llise.engine."):
        return SUMMARY | PARAMETERS | CALLS | EXAMPLE
    implements_step = attribute in STEPS and module_name.startswith(ENGINES)
    return SUMMARY if implements_step else SUMMARY | PARAMETERS | CALLS


def checks_of_class(module_name, item):
    """The checks for a class; fields of a data class may be documented as attributes, which is checked apart."""
    plain = is_protocol(item) or issubclass(item, BaseException)
    parameters = PARAMETERS if has_own_constructor(item) and not has_fields(item) and not plain else {}
    return SUMMARY | parameters | ({} if plain or module_name.startswith("llise.engine.") else EXAMPLE)


def public_names():
    """Every public function, class, method and property with the checks that apply to it.

    Functions and classes need an example, except inside the engine. Properties, protocols, exceptions and compiled
    functions need a summary only: the parameters of a compiled function are named after the mathematics (docs/math.md)
    and laid out as the docstring of its module says.
    """
    for module_name, module in modules().items():
        for attribute, item in vars(module).items():
            name = f"{module_name}.{attribute}"
            if attribute.startswith("_") or getattr(item, "__module__", None) != module_name:
                continue
            if inspect.isfunction(item):
                yield name, checks_of_function(module_name, attribute)
            elif hasattr(item, "py_func"):
                yield name, SUMMARY
            elif inspect.isclass(item):
                yield name, checks_of_class(module_name, item)
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


def missing_results(name):
    """Whether a step of the engine does not say what it returns: numpydoc sees that in a body only."""
    _, _, step = name.rpartition("llise.engine.steps.Steps.")
    if step not in STEPS or inspect.signature(getattr(Steps, step)).return_annotation in (None, "None"):
        return []
    return [] if docscrape.FunctionDoc(getattr(Steps, step))["Returns"] else ["RT01 no Returns section"]


@pytest.mark.parametrize("name", NAMES)
def test_docstring_follows_numpydoc(name):
    if name.startswith(EXCUSED):
        pytest.skip("excused while it is being rebuilt")
    errors = [f"{code} {message}" for code, message in validate(name)["errors"] if code in NAMES[name]]
    errors += [f"field {field} is not documented" for field in undocumented_fields(name)]
    errors += missing_results(name)
    assert not errors, f"complete the docstring of {name}: {'; '.join(errors)}"


@pytest.mark.parametrize("name", modules())
def test_examples_run(name, tmp_path, monkeypatch):
    """Each module's examples, run as doctests in an empty folder."""
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failures, _ = doctest.testmod(modules()[name], optionflags=flags)
    assert failures == 0, f"{failures} examples in {name} fail: see the output above, and correct them or the code"
