r"""Formulas as MathML, which browsers draw themselves: no script, nothing to load, also without a network.

docutils translates LaTeX. An equation number, ``\tag{13}``, is set at the right and is the anchor ``#eq-13``.
"""

import re
from itertools import count

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError

TAG = re.compile(r"\\tag\{(\w+)\}")
BRACKET = re.compile("<mo>([‖⟨⟩])</mo>")
BIG = re.compile(r"\\([bB]ig)(?![a-z])")


def as_mathml(latex, block):
    """Translate a formula; large brackets come in pairs, which docutils wants to be told apart."""
    sides = count()
    latex = latex.replace(r"\texttt", r"\mathtt").replace(r"\textstyle", "")
    latex = BIG.sub(lambda match: rf"\{match[1]}{'lr'[next(sides) % 2]}", latex)
    try:
        return BRACKET.sub(r'<mo stretchy="false">\1</mo>', tex2mathml(latex, as_block=block))
    except MathError as error:
        raise ExtensionError(f"cannot translate the formula {latex!r}: {error}") from error


def visit_inline(self, node):
    self.body.append(as_mathml(node.astext(), block=False))


def visit_block(self, node):
    latex = node.astext()
    tag = TAG.search(latex)
    anchor = f' id="eq-{tag[1]}"' if tag else ""
    number = f'<a class="equation-number" href="#eq-{tag[1]}">({tag[1]})</a>' if tag else ""
    formula = as_mathml(TAG.sub("", latex), block=True)
    self.body.append(f'<div class="equation"{anchor}><div class="formula">{formula}</div>{number}</div>\n')


def depart(self, node):
    pass


def skip(visit):
    """Visit a node without its children."""

    def visited(self, node):
        visit(self, node)
        raise SkipNode

    return visited


def setup(app):
    app.add_html_math_renderer("mathml", (skip(visit_inline), depart), (skip(visit_block), depart))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
