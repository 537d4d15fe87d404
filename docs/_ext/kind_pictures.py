"""Pictures of the kinds of distortion, made while the site is built.

In a document, ``<!-- kind: jpeg -->`` stands for the picture of one kind; a repository browser shows nothing.
"""

import re
import warnings
from pathlib import Path

import numpy as np
from PIL import Image
from skimage import data

from llise import distortions
from llise.kinds.registry import get, names

FOLDER = "generated/kinds"
ERRORS = (60, 250, 900)
"""Mean squared errors of the copies in a picture."""

SIDE, GAP = 120, 4
"""Pixels of a copy, and between two copies."""

COMMENT = re.compile(r"<!-- kind: (\w+) -->")


def write_pictures(app):
    """Copies of a photograph by every kind at three errors, side by side."""
    folder = Path(app.srcdir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    reference = np.ascontiguousarray(data.astronaut()[40 : 40 + SIDE, 170 : 170 + SIDE])
    for name in names():
        page = np.zeros((SIDE, len(ERRORS) * (SIDE + GAP) - GAP, 4), np.uint8)
        for number, error in enumerate(ERRORS):
            with warnings.catch_warnings(action="ignore", category=distortions.UnreachableWarning):
                copy = distortions.make(reference, name, mse=error, random_state=0).image
            place = page[:, number * (SIDE + GAP) :][:, :SIDE]
            place[..., :3], place[..., 3] = copy, 255
        Image.fromarray(page).save(folder / f"{name}.png")


def insert_pictures(app, docname, source):
    """Replace the comments of a document by pictures."""
    source[0] = COMMENT.sub(lambda match: markdown_picture(match[1]), source[0])


def markdown_picture(name):
    """A kind's picture, as Markdown; ValueError for an unknown kind."""
    return f"![Three copies with {get(name).title} of growing strength](/{FOLDER}/{name}.png)"


def setup(app):
    app.connect("builder-inited", write_pictures)
    app.connect("source-read", insert_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
