"""KADID-10k: 81 references, 25 types of distortion at 5 levels."""

from __future__ import annotations

import csv
import re

from llise.databases.layout import Database, DatabaseError, DistortionType, Folder, Item, as_score, text_lines

DISTORTIONS = {
    "01": DistortionType("Gaussian blur", "blur"),
    "02": DistortionType("lens blur", "blur"),
    "03": DistortionType("motion blur", "blur"),
    "04": DistortionType("colour diffusion"),
    "05": DistortionType("colour shift"),
    "06": DistortionType("colour quantization"),
    "07": DistortionType("colour saturation in HSV"),
    "08": DistortionType("colour saturation in Lab"),
    "09": DistortionType("JPEG 2000 compression", "jpeg2000"),
    "10": DistortionType("JPEG compression", "jpeg"),
    "11": DistortionType("white noise", "gaussian_noise"),
    "12": DistortionType("white noise in colour components"),
    "13": DistortionType("impulse noise", "impulse_noise"),
    "14": DistortionType("multiplicative noise", "speckle_noise"),
    "15": DistortionType("denoising"),
    "16": DistortionType("brightening by a curve"),
    "17": DistortionType("darkening by a curve"),
    "18": DistortionType("mean shift", "luminance"),
    "19": DistortionType("jitter"),
    "20": DistortionType("non-eccentricity patches", "content"),
    "21": DistortionType("pixelation", "pixelation"),
    "22": DistortionType("quantization", "quantization"),
    "23": DistortionType("colour blocks", "content"),
    "24": DistortionType("high sharpening", "sharpening"),
    "25": DistortionType("contrast change", "contrast"),
}
"""Types of distortion by the number in the names of files, and the kind of ours that is the same.

Brightening and darkening move the middle of the range by a curve and leave its ends, which no kind of ours does.
Contrast is changed by a curve too, but it is a change of contrast.
"""

NAME = re.compile(r"i\d\d_(\d\d)_(\d\d)\.png", re.IGNORECASE)
COLUMNS = ("dist_img", "ref_img", "dmos")


def items(folder: Folder) -> list[Item]:
    """List the images of KADID-10k.

    Parameters
    ----------
    folder : Folder
        Holds ``images`` and ``dmos.csv``.

    Returns
    -------
    list of Item
        All images.

    Raises
    ------
    DatabaseError
        The folder has another layout, or a line of the list cannot be read.

    Examples
    --------
    >>> KADID10K.read("kadid10k")[0].level  # doctest: +SKIP
    1
    """
    scores, images = folder.file("dmos.csv"), folder.folder("images")
    lines = csv.reader(text_lines(scores))
    head = [cell.strip().casefold() for cell in next(lines, [])]
    if not set(COLUMNS) <= set(head):
        raise DatabaseError(f"{scores}: its columns are {head}; expected dist_img, ref_img, dmos and var")
    columns = [head.index(name) for name in COLUMNS]
    listed = []
    for row in lines:
        if not row:
            continue
        name, reference, score = (row[i].strip() if i < len(row) else "" for i in columns)
        match = NAME.fullmatch(name)
        if not match or match[1] not in DISTORTIONS or not reference:
            raise DatabaseError(
                f"{scores}, line {lines.line_num}: {','.join(row)[:80]!r}; expected a line such as "
                "'I01_01_01.png,I01.png,4.57,0.496'; copy the file again"
            )
        value = as_score(score, f"{scores}, line {lines.line_num}")
        listed.append(Item(images.place(name), images.place(reference), match[1], int(match[2]), value))
    return listed


KADID10K = Database(
    name="kadid10k",
    title="KADID-10k",
    source="Konstanz Artificially Distorted Image Quality Database by H. Lin, V. Hosu and D. Saupe, "
    "University of Konstanz; given out free for research by its authors",
    score="DMOS, 5 is best",
    higher_is_better=True,
    distortions=DISTORTIONS,
    layout="images and dmos.csv",
    items=items,
)
"""Konstanz Artificially Distorted Image Quality Database."""
