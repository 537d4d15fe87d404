"""Pictures of all registered kinds of distortion, made while the site is built.

In a document, the comment ``<!-- kind: jpeg -->`` stands for the picture of one kind, and ``<!-- all kinds -->`` for a
section on each registered kind: its title, what its class says of it, its picture. A repository browser shows neither.
"""

import inspect
import re
import warnings
from pathlib import Path

from skimage import data

from llise import datasets, distortions
from llise.kinds.registry import get, names

FOLDER = "generated/kinds"
ERRORS = (60, 250, 900)
"""Mean squared errors of the copies in a picture."""


def write_pictures(app):
    """Draw every kind at three errors beside the reference."""
    from llise.plot import panels, theme

    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names():
        with theme(), warnings.catch_warnings(action="ignore", category=distortions.UnreachableWarning):
            reference, copies = copies_of(name)
            figure, axes = panels(1, 1 + len(copies), 8, 2.35)
            titles = ["reference", *(f"MSE {copy.measured:.0f}" for copy in copies)]
            for panel, title, image in zip(axes[0], titles, [reference, *(copy.image for copy in copies)]):
                panel.imshow(image, cmap="gray", vmin=0, vmax=255)
                panel.set_axis_off()
                panel.set_title(title, fontsize=9)
            figure.savefig(folder / f"{name}.png", dpi=130)


def copies_of(name):
    """A reference that a kind takes, grey or in colour, and its copies."""
    try:
        return copies_at_errors(datasets.reference()[40:200, 150:310], name)
    except ValueError:  # it takes colour only
        return copies_at_errors(data.astronaut()[20:180, 140:300], name)


def copies_at_errors(reference, name):
    return reference, [distortions.make(reference, name, mse=error, random_state=0) for error in ERRORS]


def markdown_picture(name):
    """A kind's picture, as Markdown."""
    known = ", ".join(names())
    if name not in names():
        raise ValueError(f"the kind {name!r} in a comment of a document is unknown; the known ones are {known}")
    title = get(name).title
    return f"![A picture and three copies with {title} of growing strength](/{FOLDER}/{name}.png)"


def markdown_sections():
    """A section on each kind, as Markdown."""
    for name in names():
        kind = get(name)
        summary = (inspect.getdoc(type(kind)) or "").split("\n\n")[0].replace("\n", " ").replace("``", "`")
        yield f"### {kind.title[0].upper()}{kind.title[1:]}\n\n`{name}`: {summary}\n\n{markdown_picture(name)}\n"


def insert_pictures(app, docname, source):
    """Replace the comments of a document by pictures."""
    text = re.sub(r"<!-- kind: (\w+) -->", lambda match: markdown_picture(match[1]), source[0])
    source[0] = text.replace("<!-- all kinds -->", "\n".join(markdown_sections()))


def setup(app):
    app.connect("builder-inited", write_pictures)
    app.connect("source-read", insert_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
