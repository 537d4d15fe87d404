"""TID2013: 25 references, 24 types of distortion at 5 levels."""

from __future__ import annotations

import re

from llise.databases.layout import Database, DatabaseError, DistortionType, Folder, Item, as_score, text_lines

DISTORTIONS = {
    "01": DistortionType("additive Gaussian noise", "gaussian_noise"),
    "02": DistortionType("noise more intensive in colour than in luminance"),
    "03": DistortionType("spatially correlated noise"),
    "04": DistortionType("masked noise"),
    "05": DistortionType("high frequency noise"),
    "06": DistortionType("impulse noise", "impulse_noise"),
    "07": DistortionType("quantization noise", "quantization"),
    "08": DistortionType("Gaussian blur", "blur"),
    "09": DistortionType("image denoising"),
    "10": DistortionType("JPEG compression", "jpeg"),
    "11": DistortionType("JPEG 2000 compression", "jpeg2000"),
    "12": DistortionType("JPEG transmission errors"),
    "13": DistortionType("JPEG 2000 transmission errors"),
    "14": DistortionType("non-eccentricity pattern noise", "content"),
    "15": DistortionType("local block-wise distortions", "content"),
    "16": DistortionType("mean shift", "luminance"),
    "17": DistortionType("contrast change", "contrast"),
    "18": DistortionType("change of colour saturation"),
    "19": DistortionType("multiplicative Gaussian noise", "speckle_noise"),
    "20": DistortionType("comfort noise"),
    "21": DistortionType("lossy compression of noisy images"),
    "22": DistortionType("colour quantization with dither"),
    "23": DistortionType("chromatic aberrations"),
    "24": DistortionType("sparse sampling and reconstruction"),
}
"""Types of distortion by the number in the names of files, and the kind of ours that is the same."""

LINE = re.compile(r"\s*(\S+)\s+((i\d\d)_(\d\d)_(\d)\.bmp)\s*", re.IGNORECASE)
"""A line of the list of scores: score, then name with reference, type and level."""


def items(folder: Folder) -> list[Item]:
    """List the images of TID2013.

    Parameters
    ----------
    folder : Folder
        Holds ``reference_images``, ``distorted_images`` and ``mos_with_names.txt``.

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
    >>> TID2013.read("tid2013")[0].level  # doctest: +SKIP
    1
    """
    scores = folder.file("mos_with_names.txt")
    references, images = folder.folder("reference_images"), folder.folder("distorted_images")
    listed = []
    for number, line in enumerate(text_lines(scores), 1):
        if not line.strip():
            continue
        match = LINE.fullmatch(line)
        if not match or match[4] not in DISTORTIONS:
            raise DatabaseError(
                f"{scores}, line {number}: {line[:80]!r}; expected a score and a name such as '5.51429 I01_01_1.bmp'; "
                "copy the file again"
            )
        score = as_score(match[1], f"{scores}, line {number}")
        listed.append(Item(images.place(match[2]), references.place(f"{match[3]}.bmp"), match[4], int(match[5]), score))
    return listed


LAYOUT = "reference_images, distorted_images and mos_with_names.txt"
TID2013 = Database(
    name="tid2013",
    title="TID2013",
    source="Tampere Image Database 2013 by N. Ponomarenko and others; given out free for research by its authors",
    score="MOS, 9 is best",
    higher_is_better=True,
    distortions=DISTORTIONS,
    layout=LAYOUT,
    items=items,
)
"""Tampere Image Database 2013."""
