"""A page for every module of the package, with all of its public names.

An index lists them by folder. What ``api.rst`` describes under a shorter name is linked from there, so that every name
is described once.
"""

import importlib
import pkgutil
import re
from pathlib import Path
from types import GenericAlias

import llise

FOLDER = "generated/modules"


def module_names():
    """All modules, by the folder of the package that they are in."""
    folders = {"llise": []}
    for module in pkgutil.walk_packages(llise.__path__, "llise."):
        if not module.name.rpartition(".")[2].startswith("_"):
            folders.setdefault(module.name if module.ispkg else module.name.rpartition(".")[0], []).append(module.name)
    return folders


def api_names(source):
    """What ``api.rst`` describes: for each module the names that are described there, and under which public name."""
    names = {}
    for public in re.findall(r"^   ([\w.]+)$", source, re.MULTILINE):
        owner, _, name = f"llise.{public}".rpartition(".")
        value = getattr(importlib.import_module(owner), name)
        home = getattr(value, "__module__", owner) if callable(value) else owner
        names.setdefault(home, {})[name] = f"llise.{public}"
    return names


def page(name, described):
    """The page of a module."""
    lines = [
        ":orphan:",
        "",
        name,
        "=" * len(name),
        "",
        f".. automodule:: {name}",
        "   :members:",
        "   :ignore-module-all:",
    ]
    if described:
        links = ", ".join(f":obj:`{public}`" for public in described.values())
        lines += [f"   :exclude-members: {', '.join(described)}", "", f"Described in :doc:`/api`: {links}"]
    return "\n".join([*lines, ""])


def index(folders):
    """The list of all modules."""
    title = "All modules"
    lines = ["=" * len(title), title, "=" * len(title), ""]
    lines += ["Every public function and class, by module, for whoever changes the package; :doc:`/architecture` says"]
    lines += ["what belongs where.", ""]
    for folder, modules in folders.items():
        lines += [folder, "-" * len(folder), "", ".. autosummary::", "", *(f"   {name}" for name in modules), ""]
    return "\n".join(lines)


def write_pages(app):
    source = Path(app.srcdir, "api.rst").read_text(encoding="utf-8")
    folders, described = module_names(), api_names(source)
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    pages = {name: page(name, described.get(name)) for modules in folders.values() for name in modules}
    for name, text in {**pages, "index": index(folders)}.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # unchanged pages are not read again
            path.write_text(text, encoding="utf-8")


def skip_foreign(app, what, name, value, skip, options):
    """Leave out what a class inherits from scikit-learn, which describes it itself, and aliases of types."""
    foreign = (getattr(value, "__module__", None) or "").startswith("sklearn")
    return True if foreign or isinstance(value, GenericAlias) else None


def setup(app):
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("builder-inited", write_pages, priority=400)  # before autosummary looks for its tables
    return {"parallel_read_safe": True, "parallel_write_safe": True}
