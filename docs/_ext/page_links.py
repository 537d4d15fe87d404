"""Links that lead out of the folder of the documents: to files of the repository, and to other projects' pages.

Documents link to each other and to files of the repository by relative paths, so that they can also be read in a
repository browser. On the site, files that are no pages are offered as downloads.

References to NumPy, SciPy, scikit-learn and Python are turned into addresses by rules, without the lists of names that
intersphinx would fetch while the site is built.
"""

import pydoc
import re

from docutils import nodes

NAMED_BY_FILE = re.compile(r"\[[\w-]+\.md\]\((?![^)]*#)")
"""Links whose text is the name of a file; on the site it is the title of the page,
except where they lead to a heading."""

ADDRESSES = (
    (r"numpy\.random\.Generator", "https://numpy.org/doc/stable/reference/random/generator.html"),
    (r"numpy\.(\w+\.)?\w+", "https://numpy.org/doc/stable/reference/generated/{}.html"),
    (r"scipy\.\w+\.\w+", "https://docs.scipy.org/doc/scipy/reference/generated/{}.html"),
    (r"sklearn\.\w+\.\w+", "https://scikit-learn.org/stable/modules/generated/{}.html"),
    (r"matplotlib\.figure\.Figure", "https://matplotlib.org/stable/api/figure_api.html"),
    (r"matplotlib\.axes\.Axes", "https://matplotlib.org/stable/api/_as_gen/{}.html"),
    (r"joblib\.\w+", "https://joblib.readthedocs.io/en/stable/generated/{}.html"),
    (r"open", "https://docs.python.org/3/library/functions.html#{}"),
    (r"(json|pathlib|warnings)\.\w+", "https://docs.python.org/3/library/{1}.html#{0}"),
    (r"(collections\.abc)\.\w+", "https://docs.python.org/3/library/{1}.html#{0}"),
)
"""Patterns of names and the page of each; ``{}`` or ``{0}`` stands for the name, ``{1}`` for its module."""


def move_links(app, docname, source):
    """Point links to the folder of the examples at the gallery, and name pages by their titles."""
    text = re.sub(r"\]\((\.\./)+examples\)", "](/gallery/index.rst)", source[0])
    source[0] = NAMED_BY_FILE.sub("[](", text)


def link_documents(app, what, name, obj, options, lines):
    """Turn the names of documents in docstrings into links."""
    lines[:] = [re.sub(r"(?:``)?docs/([\w-]+)\.md(?:``)?", r":doc:`/\1`", line) for line in lines]


def find_elsewhere(app, env, node, content):
    """Link a name that is not where a docstring says: another module's page, or another project's."""
    if node.get("refdomain") != "py":
        return None
    name = node["reftarget"]
    for pattern, address in ADDRESSES:
        if re.fullmatch(pattern, name):
            page = address.format(name, name.rpartition(".")[0])
            return nodes.reference("", "", content, internal=False, refuri=page)
    domain = env.get_domain("py")
    candidates = sorted((full for full in domain.objects if full.endswith(f".{name}")), key=len)
    if not candidates:
        return content if is_without_page(name, node.get("py:module")) else None
    return domain.resolve_xref(env, node["refdoc"], app.builder, node["reftype"], candidates[0], node, content)


def is_without_page(name, module):
    """Whether a name, in full or as a module calls it, is one of the package: only public ones have pages."""
    return any(pydoc.locate(path) is not None for path in (name, f"{module}.{name}") if path.startswith("llise"))


def skip_foreign(app, what, name, value, skip, options):
    """Leave out what a class inherits from scikit-learn, which describes it itself."""
    return True if (getattr(value, "__module__", None) or "").startswith("sklearn") else None


def setup(app):
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("source-read", move_links)
    app.connect("autodoc-process-docstring", link_documents, priority=400)  # before numpydoc
    app.connect("missing-reference", find_elsewhere)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
