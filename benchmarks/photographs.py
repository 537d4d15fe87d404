"""Make the cases of the photographs half: copies of photographs, and the truth about them.

    python benchmarks/photographs.py FOLDER --pictures PHOTOS --split look

Each photograph is damaged as a grey picture (the paper's six kinds, further kinds, content, faults without a name) and,
where it has colours, as a colour picture, by llise's own programs and by the foreign ones that are installed
(``faults/programs.py``). Of a folder that ``everyday/pictures.py`` filled the photographs are taken, in the split that
its list names; any other photograph is in the split that may be looked at, or in the blind one, by its SHA-256.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from PIL import Image
from tqdm import tqdm

from faults import cases, colour_cases, colour_programs, open_cases, programs
from faults.cases import Case, Damage, Recipe
from faults.programs import Programs
from llise import read_image
from llise.images import as_uint8

MOST = 1024
"""Sides of photographs are cut to this."""

MOST_COLOUR = 512
"""Sides of the colour pictures, which are judged for their colours."""

SEED = 20_000
TOOLS = (
    "llise",
    "ImageMagick",
    "ffmpeg",
    "OpenCV",
    "Pillow",
    "scikit-image",
    "SciPy",
    "imagecodecs",
    "imagecorruptions",
)
"""First words of names of programs; the others are formulas in NumPy."""

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff"}


def main() -> None:
    """Make the cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder for truth.jsonl, references, copies and masks")
    parser.add_argument("--pictures", type=Path, required=True, help="folder of photographs")
    parser.add_argument("--split", choices=("look", "blind"), default="look", help="which photographs")
    parser.add_argument("--share", type=float, default=0.05, help="share of the cases to make, drawn at random")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of all cases; another one makes fresh cases")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    options = parser.parse_args()
    write_cases(options.folder, options.pictures, options.split, options.share, options.seed, options.jobs)


def split_of(file: Path) -> str | None:
    """The split of a photograph; None for another listed picture."""
    row = listed().get(file.stem)
    if row is None:
        return "look" if hashlib.sha256(file.read_bytes()).digest()[0] % 2 else "blind"
    return row["split"] if row["family"] == "photograph" else None


@cache
def listed() -> dict[str, dict[str, str]]:
    """Pictures of the everyday half by name."""
    try:
        from everyday.pictures import catalogue
    except ImportError:
        return {}
    return {row["name"]: row for row in catalogue()}


def write_cases(folder: Path, pictures: Path, split: str, share: float, seed: int, jobs: int) -> None:
    """Write all cases of one split; the truth is moved into place when they are whole."""
    warnings.simplefilter("ignore")
    if not pictures.is_dir():
        raise SystemExit(f"{pictures}: no such folder; expected one of photographs")
    files = [path for path in sorted(pictures.iterdir()) if path.suffix.lower() in SUFFIXES and split_of(path) == split]
    if not files:
        raise SystemExit(f"{pictures}: no photograph of the {split} split")
    for name in ("references", "copies", "masks"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    foreign, left_out = programs.foreign()
    colour, _ = colour_programs.foreign()
    for reason in left_out:
        print(f"left out: {reason}", file=sys.stderr)
    grey_sets, colour_sets = (programs.own(), foreign), (colour_programs.own(), colour)
    work = []
    for file in files:
        pixels = np.ascontiguousarray(read_image(file, color=True)[:MOST, :MOST])
        own = int.from_bytes(hashlib.sha256(file.stem.encode()).digest()[:4], "big") + seed
        work += _work(folder, file.stem, "", as_uint8(pixels), grey_sets, (cases, open_cases), own, share)
        small = pixels[:MOST_COLOUR, :MOST_COLOUR]
        if pixels.ndim == 3 and np.ptp(small.astype(int), axis=-1).mean() >= 3:
            work += _work(folder, file.stem, "-colour", small, colour_sets, (colour_cases,), own, share)
    runner = Parallel(n_jobs=jobs, return_as="generator")
    rows = [row for row in tqdm(runner(work), "cases", len(work), file=sys.stderr) if row is not None]
    part = folder / "truth.jsonl.part"
    part.write_text("".join(json.dumps({**row, "split": split}) + "\n" for row in rows), encoding="utf-8")
    os.replace(part, folder / "truth.jsonl")


def _work(
    folder: Path,
    picture: str,
    suffix: str,
    reference: np.ndarray,
    sets: tuple[Programs, Programs],
    worlds: tuple[ModuleType, ...],
    seed: int,
    share: float,
) -> list[Any]:
    """Calls that make the cases of one reference, which is written."""
    Image.fromarray(reference).save(folder / "references" / f"{picture}{suffix}.png", compress_level=1)
    found = [
        (bool(number), recipe)
        for number, available in enumerate(sets)
        for world in worlds
        for recipe in world.recipes(available, seed, foreign=bool(number), share=share)
    ]
    return [delayed(_write)(folder, picture, suffix, i, recipe, foreign) for i, (foreign, recipe) in enumerate(found)]


def _write(
    folder: Path, picture: str, suffix: str, number: int, recipe: Recipe, foreign: bool
) -> dict[str, Any] | None:
    """Make and write one case; None where nobody could name its kinds."""
    warnings.simplefilter("ignore")
    source = f"references/{picture}{suffix}.png"
    reference = np.array(Image.open(folder / source))
    world = colour_cases if recipe.group in colour_cases.COLOUR_GROUPS else open_cases
    case = world.make(recipe, reference)
    if case is None:
        return None
    identity = f"{picture}{suffix}-{number:04d}"
    Image.fromarray(case.image).save(folder / "copies" / f"{identity}.png", compress_level=1)
    return {
        "id": identity,
        "half": "photographs",
        "picture": picture,
        "family": "photograph",
        "group": recipe.group,
        "own": not foreign,
        "programs": [program.name for program in recipe.programs],
        "tools": list(dict.fromkeys(_tool(program.name) for program in recipe.programs)),
        "reference": source,
        "copy": f"copies/{identity}.png",
        "faults": list(_faults(case, folder, identity, recipe.programs[0].nearness if recipe.programs else "")),
        "expected": expected(recipe, case),
        "note": f"seed {recipe.seed}",
    }


def _tool(program: str) -> str:
    return next((tool for tool in TOOLS if program.startswith(tool)), "NumPy")


def expected(recipe: Recipe, case: Case) -> list[list[str]]:
    """The verdicts that are right."""
    if recipe.group == colour_cases.NONE:  # a turn of the hue may be said to be a cast, but no fault of luma
        return [["unknown"], ["color_cast"], ["saturation"], ["saturation", "color_cast"]]
    if recipe.group == cases.OTHER_SCENE:
        return [["unknown"]]
    return [list(dict.fromkeys(damage.kind for damage in case.damages)) or ["original"]]


def _faults(case: Case, folder: Path, identity: str, nearness: str = "") -> Iterator[dict[str, Any]]:
    """The faults of a case; kinds in one place are one fault. Masks are written but for whole pictures."""
    near: dict[str, Any] = {"near": nearness == "near"} if nearness else {}
    places: dict[int, list[Damage]] = {}
    for damage in case.damages:
        places.setdefault(id(damage.mask), []).append(damage)
    forms = case.form.removesuffix(" at the border").split("+")
    for number, damages in enumerate(places.values()):
        mask = damages[0].mask
        rows, cols = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
        whole = bool(mask.all())
        name = None if whole else f"masks/{identity}-{number}.png"
        if name:
            Image.fromarray(mask).save(folder / name)
        yield {
            "kinds": [damage.kind for damage in damages],
            "box": [int(n) for n in (cols[0], rows[0], np.ptp(cols) + 1, np.ptp(rows) + 1)],
            "form": "whole" if whole else forms[min(number, len(forms) - 1)] or "drawn",
            "mask": name,
            "settings": {damage.kind: _settings(damage) | near for damage in damages},
            "errors": [round(damage.error, 1) for damage in damages],
        }


def _settings(damage: Damage) -> dict[str, float]:
    """Known settings; content covers a share of the blocks that it touches, which is what a fault can say."""
    settings = {name: round(float(value), 6) for name, value in damage.parameters.items()}
    if "coverage" in settings:
        from measured import BLOCK, by_block

        touched = by_block(damage.mask).repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)
        height, width = damage.mask.shape
        settings["coverage"] = round(float(damage.mask[touched[:height, :width]].mean()), 6)
    return settings


if __name__ == "__main__":
    main()
