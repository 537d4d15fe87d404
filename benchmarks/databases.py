"""The images of a public image quality database as cases for judge.py and figures.py.

    python benchmarks/databases.py tid2013 FOLDER -o CASES      # writes CASES/truth.jsonl; images stay where they are
    python benchmarks/judge.py CASES --tree . -o answers.jsonl && python benchmarks/figures.py CASES answers.jsonl

Types that are no kind of ours belong to the group no_name, and "unknown" is the right answer for them. The databases
are given out by their authors: TID2013 (N. Ponomarenko and others), KADID-10k (H. Lin, V. Hosu, D. Saupe), CSIQ
(E. Larson, D. Chandler), LIVE release 2 (University of Texas at Austin).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

TYPES: dict[str, dict[str, str | None]] = {
    "tid2013": dict.fromkeys(f"{n:02}" for n in range(1, 25))
    | {
        "01": "gaussian_noise",
        "06": "impulse_noise",
        "07": "quantization",
        "08": "blur",
        "10": "jpeg",
        "11": "jpeg2000",
    }
    | {
        "14": "content",
        "15": "content",
        "16": "luminance",
        "17": "contrast",
        "18": "saturation",
        "19": "speckle_noise",
    },
    "kadid10k": dict.fromkeys(f"{n:02}" for n in range(1, 26))
    | {"01": "blur", "02": "blur", "03": "blur", "07": "saturation", "08": "saturation", "09": "jpeg2000", "10": "jpeg"}
    | {"11": "gaussian_noise", "12": "chroma_noise", "13": "impulse_noise", "14": "speckle_noise", "16": "contrast"}
    | {"17": "contrast", "18": "luminance", "20": "content", "21": "pixelation", "22": "quantization", "23": "content"}
    | {"24": "sharpening", "25": "contrast"},
    "csiq": {"awgn": "gaussian_noise", "jpeg": "jpeg", "jpeg2000": "jpeg2000", "blur": "blur", "contrast": "contrast"}
    | {"fnoise": None},
    "live": {"jp2k": "jpeg2000", "jpeg": "jpeg", "wn": "gaussian_noise", "gblur": "blur", "fastfading": None}
    | {"original": "original"},
}
"""Types of distortion by their key in names of files, and the kind of ours that is the same."""

LIVE_COUNTS = {"jp2k": 227, "jpeg": 233, "wn": 174, "gblur": 174, "fastfading": 174}
"""Images img1.bmp, img2.bmp, ... of each folder, in the order in which the scores follow one another."""


class Item(NamedTuple):
    """An image of a database; the score is what people said, on the database's own scale."""

    copy: Path
    reference: Path
    key: str
    level: int | None
    score: float


class DatabaseError(ValueError):
    """A folder is not the database as it is given out."""


def place(folder: Path, name: str) -> Path:
    """A file by its name in any case, as archives of the same database differ in it."""
    try:
        names = {entry.casefold(): entry for entry in os.listdir(folder)}
    except OSError as error:
        raise DatabaseError(f"{folder}: {error.strerror}; expected the database's folder as it is given out") from None
    if name.casefold() not in names:
        raise DatabaseError(f"{folder}: there is no {name} in it; expected the database as it is given out")
    return folder / names[name.casefold()]


def tid2013(folder: Path) -> Iterator[Item]:
    """Images by lines such as "5.51429 I01_01_1.bmp" of mos_with_names.txt."""
    scores, copies = place(folder, "mos_with_names.txt"), place(folder, "distorted_images")
    for number, line in enumerate(scores.read_text().splitlines(), 1):
        match = re.fullmatch(r"\s*(\S+)\s+((i\d\d)_(\d\d)_(\d)\.bmp)\s*", line, re.IGNORECASE)
        if match:
            reference = place(place(folder, "reference_images"), f"{match[3]}.bmp")
            yield Item(place(copies, match[2]), reference, match[4], int(match[5]), float(match[1]))
        elif line.strip():
            raise DatabaseError(f"{scores}, line {number}: {line[:80]!r}; expected such as '5.51429 I01_01_1.bmp'")


def kadid10k(folder: Path) -> Iterator[Item]:
    """Images by lines such as "I01_01_01.png,I01.png,4.57,0.496" of dmos.csv."""
    images = place(folder, "images")
    with place(folder, "dmos.csv").open(newline="", encoding="utf-8-sig") as file:
        for row in csv.DictReader(file, skipinitialspace=True):
            key, level = row["dist_img"].split(".")[0].split("_")[1:]
            copy, reference = (place(images, row[name].strip()) for name in ("dist_img", "ref_img"))
            yield Item(copy, reference, key, int(level), float(row["dmos"]))


def csiq(folder: Path) -> Iterator[Item]:
    """Images by the sheet all_by_image of csiq.DMOS.xlsx (read by pandas), or exported as csiq.DMOS.csv."""
    names = {entry.casefold() for entry in os.listdir(folder)} if folder.is_dir() else set()
    if "csiq.dmos.csv" in names:
        lines = place(folder, "csiq.DMOS.csv").read_text(encoding="utf-8-sig").splitlines()
        separator = max(",;\t", key=next((line for line in lines if "dst_type" in line), "").count)
        table = list(csv.reader(lines, delimiter=separator))
    else:
        import pandas

        sheet = pandas.read_excel(place(folder, "csiq.DMOS.xlsx"), "all_by_image", header=None, dtype=str)
        table = sheet.fillna("").values.tolist()
    rows = [[str(cell).strip() for cell in row] for row in table]
    head = next((row for row in rows if "dst_type" in row), None)
    if head is None:
        raise DatabaseError(f"{folder}: its sheet has no columns image, dst_type, dst_lev, dmos")
    for row in rows[rows.index(head) + 1 :]:
        cells = dict(zip(head, row))
        image, name, level, score = (cells.get(column, "") for column in ("image", "dst_type", "dst_lev", "dmos"))
        if image:
            key = {"noise": "awgn", "jpeg 2000": "jpeg2000"}.get(name.casefold(), name.casefold())
            copy = place(place(place(folder, "dst_imgs"), key), f"{image}.{key}.{int(float(level))}.png")
            yield Item(copy, place(place(folder, "src_imgs"), f"{image}.png"), key, int(float(level)), float(score))


def live(folder: Path) -> Iterator[Item]:
    """Images of the five folders by dmos_realigned.mat (or dmos.mat) and refnames_all.mat."""
    import numpy as np
    from scipy.io import loadmat

    try:
        scores = loadmat(place(folder, "dmos_realigned.mat"))
    except DatabaseError:
        scores = loadmat(place(folder, "dmos.mat"))
    values = np.ravel(scores.get("dmos_new", scores.get("dmos")))
    unchanged, names = np.ravel(scores["orgs"]), np.ravel(loadmat(place(folder, "refnames_all.mat"))["refnames_all"])
    places = [(kind, number) for kind, count in LIVE_COUNTS.items() for number in range(1, count + 1)]
    if not len(values) == len(unchanged) == len(names) == len(places):
        raise DatabaseError(f"{folder}: {len(values)} scores and {len(names)} names; expected {len(places)} of each")
    for (kind, number), score, same, name in zip(places, values, unchanged, names):
        reference = place(place(folder, "refimgs"), str(np.ravel(name)[0]))
        yield Item(
            place(place(folder, kind), f"img{number}.bmp"), reference, "original" if same else kind, None, float(score)
        )


READERS: dict[str, Callable[[Path], Iterator[Item]]] = {
    "tid2013": tid2013,
    "kadid10k": kadid10k,
    "csiq": csiq,
    "live": live,
}


def rows(name: str, folder: Path) -> Iterator[dict]:
    """A row of truth.jsonl for each image."""
    for number, item in enumerate(READERS[name](folder)):
        if item.key not in TYPES[name]:
            raise DatabaseError(f"{item.copy}: its type is {item.key}; expected one of {', '.join(TYPES[name])}")
        kind = TYPES[name][item.key]
        fault = [{"kinds": [kind], "form": "whole", "settings": {}}] if kind not in (None, "original") else []
        yield {
            "id": f"{name}-{number:05}", "half": name, "split": "look", "picture": item.reference.stem,
            "family": "photograph", "group": "whole" if kind else "no_name", "own": False, "programs": [item.key],
            "tools": [name], "reference": str(item.reference.resolve()), "copy": str(item.copy.resolve()),
            "faults": fault, "expected": [[kind or "unknown"]], "note": f"level {item.level}, score {item.score}",
        }  # fmt: skip


def main() -> None:
    """Write the cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=READERS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder for truth.jsonl")
    options = parser.parse_args()
    try:
        lines = [json.dumps(row) for row in rows(options.name, options.folder)]
    except DatabaseError as error:
        sys.exit(f"databases.py: {error}")
    options.out.mkdir(parents=True, exist_ok=True)
    temporary = options.out / ".truth.jsonl.tmp"
    temporary.write_text("\n".join(lines) + "\n")
    os.replace(temporary, options.out / "truth.jsonl")
    print(f"{len(lines)} images of {options.name} in {options.out / 'truth.jsonl'}")


if __name__ == "__main__":
    main()
