"""LIVE, release 2: 29 references, 5 types of distortion of any strength, 982 images with the unchanged ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from llise.databases.layout import UNCHANGED, Database, DatabaseError, DistortionType, Folder, Item, as_score

DISTORTIONS = {
    "jp2k": DistortionType("JPEG 2000 compression", "jpeg2000"),
    "jpeg": DistortionType("JPEG compression", "jpeg"),
    "wn": DistortionType("white noise", "gaussian_noise"),
    "gblur": DistortionType("Gaussian blur", "blur"),
    "fastfading": DistortionType("JPEG 2000 over a fast fading channel"),
    UNCHANGED: DistortionType("unchanged copies of the references", UNCHANGED),
}
"""Types of distortion by the names of their folders, and the kind of ours that is the same."""

COUNTS = {"jp2k": 227, "jpeg": 233, "wn": 174, "gblur": 174, "fastfading": 174}
"""Images img1.bmp, img2.bmp, ... of each folder, in the order in which the scores follow one another."""


def items(folder: Folder) -> list[Item]:
    """List the images of LIVE.

    Parameters
    ----------
    folder : Folder
        Holds ``refimgs``, the five folders of distortions, ``refnames_all.mat``, and ``dmos_realigned.mat`` or
        ``dmos.mat``.

    Returns
    -------
    list of Item
        All images.

    Raises
    ------
    DatabaseError
        The folder has another layout, or a MAT file cannot be read or has another number of entries.

    Examples
    --------
    >>> LIVE.read("databaserelease2")[0].distortion  # doctest: +SKIP
    'jp2k'
    """
    references = folder.folder("refimgs")
    folders = {name: folder.folder(name) for name in COUNTS}
    scores_file, names_file = folder.file("dmos_realigned.mat", "dmos.mat"), folder.file("refnames_all.mat")
    scores = _variable(scores_file, "dmos_new", "dmos")
    unchanged = _variable(scores_file, "orgs")
    names = _variable(names_file, "refnames_all")
    places = [(kind, number) for kind, count in COUNTS.items() for number in range(1, count + 1)]
    listed = []
    for index, (kind, number) in enumerate(places):
        key = UNCHANGED if unchanged[index] else kind
        score = as_score(scores[index], f"{scores_file}, entry {index + 1}")
        name = str(np.ravel(names[index])[0])
        listed.append(Item(folders[kind].place(f"img{number}.bmp"), references.place(name), key, None, score))
    return listed


def _variable(path: Path, *names: str) -> np.ndarray:
    """The first of several variables that a MAT file has, as a vector with an entry for each image."""
    from scipy.io import loadmat

    try:
        contents: dict[str, Any] = loadmat(path)
    except Exception as error:  # damaged files raise errors of many types
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DatabaseError(f"{path}: damaged, or not a MAT file ({reason}); copy it again") from None
    values = next((np.ravel(contents[name]) for name in names if name in contents), None)
    if values is None:
        raise DatabaseError(f"{path}: has no variable {' or '.join(names)}; copy the file of release 2 again")
    if len(values) != sum(COUNTS.values()):
        raise DatabaseError(
            f"{path}: {len(values)} entries; expected {sum(COUNTS.values())}, one for each image of release 2; "
            "copy the file again"
        )
    return values


LIVE = Database(
    name="live",
    title="LIVE (release 2)",
    source="LIVE Image Quality Assessment Database by H. Sheikh, Z. Wang, L. Cormack and A. Bovik; given out on "
    "request by the University of Texas at Austin, free for any purpose with its copyright notice",
    score="DMOS, 0 is best",
    higher_is_better=False,
    distortions=DISTORTIONS,
    layout=f"refimgs, {', '.join(COUNTS)}, refnames_all.mat, and dmos_realigned.mat or dmos.mat",
    items=items,
)
"""LIVE Image Quality Assessment Database, release 2."""
