"""House rules that keep the code readable: sizes, one import style, imports that go one way, private names private."""

import ast
from functools import cache
from pathlib import Path

import pytest

import llise

PACKAGE = Path(llise.__file__).parent
MAX_FILE = 400
MAX_FUNCTION = 60
EXCUSED: tuple[str, ...] = ()
"""Files, by the beginning of their path, that are being rebuilt: only sizes and private names are excused there."""

FILES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = sorted({path.parent for path in FILES})


def name_of(path):
    """Path relative to the package."""
    return path.relative_to(PACKAGE).as_posix()


def module_of(path):
    """Dotted name of a file's module."""
    parts = ["llise", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def is_type_checking(node):
    """Whether this is ``if TYPE_CHECKING:``, whose imports never run."""
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def run_nodes(node):
    """All nodes of a syntax tree but those that are for type checkers only."""
    yield node
    for child in ast.iter_child_nodes(node):
        if is_type_checking(child):
            for other in child.orelse:
                yield from run_nodes(other)
        else:
            yield from run_nodes(child)


def imports_of(module):
    """The llise modules that a module imports, at its top or inside a function."""
    imported = set()
    for node in run_nodes(tree_of(MODULES[module])):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                imported.add(inner if inner in MODULES else node.module)
    return {name for name in imported if name in MODULES and name != module}


def aliases_of(tree):
    """Local names that stand for llise modules: what they are called in this file, and the module."""
    aliases = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {alias.asname: alias.name for alias in node.names if alias.asname and alias.name in MODULES}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            aliases |= {name: module for name, module in names.items() if module in MODULES}
    return aliases


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def cycle_from(start, graph):
    """The shortest chain of imports that leads from a module back to itself, if there is one."""
    chains = [[start]]
    seen = set()
    for chain in chains:
        for following in sorted(graph[chain[-1]]):
            if following == start:
                return [*chain, start]
            if following not in seen:
                seen.add(following)
                chains.append([*chain, following])
    return None


def excused(path):
    return name_of(path).startswith(EXCUSED)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_are_short(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    if lines > MAX_FILE and excused(path):
        pytest.skip(f"{lines} lines; excused while it is being rebuilt")
    assert lines <= MAX_FILE, f"{name_of(path)} has {lines} lines, more than {MAX_FILE}: split it by job into two files"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_functions_are_short(path):
    """The docstring is not counted: it may be as long as it needs to be."""
    long = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = node.body[0] if ast.get_docstring(node) is not None else None
            lines = node.end_lineno - node.lineno + 1
            lines -= docstring.end_lineno - docstring.lineno + 1 if docstring else 0
            long += [f"{node.name} ({lines} lines)"] * (lines > MAX_FUNCTION)
    assert not long, (
        f"{name_of(path)}: longer than {MAX_FUNCTION} lines without docstring: {', '.join(long)}; move steps into "
        "functions of their own"
    )


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_are_absolute(path):
    relative = [node.lineno for node in ast.walk(tree_of(path)) if isinstance(node, ast.ImportFrom) and node.level]
    assert not relative, (
        f"{name_of(path)}, lines {relative}: relative import; write from llise.manifold.blocks import BlockGrid"
    )


def test_imports_form_no_cycle():
    graph = {module: imports_of(module) for module in MODULES}
    cycles = {frozenset(cycle): cycle for module in MODULES if (cycle := cycle_from(module, graph))}
    assert not cycles, (
        "modules import each other (imports inside functions count): "
        + "; ".join(" -> ".join(cycle) for cycle in cycles.values())
        + ". Move what both need into a module of its own that imports neither"
    )


def rooms_graph():
    """Folders without folders inside, and which of them the modules of each import."""
    inner = {folder for folder in FOLDERS if not any(folder in other.parents for other in FOLDERS)}
    graph = {name_of(folder): set() for folder in inner}
    for module, path in MODULES.items():
        if path.parent in inner:
            there = {MODULES[name].parent for name in imports_of(module)} & (inner - {path.parent})
            graph[name_of(path.parent)] |= {name_of(folder) for folder in there}
    return graph


def test_imports_between_rooms_go_one_way():
    graph = rooms_graph()
    cycles = {frozenset(cycle): cycle for room in graph if (cycle := cycle_from(room, graph))}
    assert not cycles, (
        "folders import each other: " + "; ".join(" -> ".join(cycle) for cycle in cycles.values()) + ". Move what both "
        "need into the folder that the other imports, or into one above both"
    )


@cache
def private_definitions():
    """Private functions, classes, variables and attributes of ``self``: which modules define each name."""
    defined = {}
    for module, path in MODULES.items():
        for node in ast.walk(tree_of(path)):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                    pass
                case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                    pass
                case _:
                    continue
            if is_private(name):
                defined.setdefault(name, set()).add(module)
    return defined


def foreign_private_names(path):
    """Private names that a module takes from others, by import or as attributes such as ``model._codes``."""
    tree, module = tree_of(path), module_of(path)
    aliases = aliases_of(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "llise":
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
            yield from (f"{node.module}: {name}" for name in names if is_private(name))
        elif (
            isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in ("_replace", "_asdict")
        ):  # of named tuples
            owner, homes = ast.unparse(node.value), private_definitions().get(node.attr, set())
            of_another = bool(homes) and module not in homes and owner not in ("self", "cls", "super()")
            if owner in aliases or of_another:
                yield f"{owner}.{node.attr} ({aliases.get(owner) or ', '.join(sorted(homes))})"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_private_names_stay_in_their_module(path):
    used = list(foreign_private_names(path))
    if used and excused(path):
        pytest.skip(f"uses {', '.join(used)}; excused while it is being rebuilt")
    assert not used, (
        f"{name_of(path)} uses private names of other modules: {'; '.join(used)}. Make them public, or offer a public "
        "function that does what is needed"
    )


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_every_folder_says_what_it_is_for(folder):
    init = folder / "__init__.py"
    assert init.is_file(), f"{name_of(folder)} has no __init__.py: add one whose docstring says what belongs there"
    assert ast.get_docstring(tree_of(init)), f"{name_of(init)} has no docstring: say what belongs in this folder"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_module_says_what_it_is_for(path):
    assert ast.get_docstring(tree_of(path)), f"{name_of(path)} has no docstring: say what belongs in this module"
