"""Make the damaged copies of the everyday half, with the truth about each, before anything is judged.

    python benchmarks/everyday/pictures.py PICTURES
    python benchmarks/everyday/cases.py FOLDER --pictures PICTURES --split look --seed 1

Writes ``FOLDER/ID/reference.png``, ``copy.*``, ``mask-K.png`` for each fault (grey levels are the weight of a pixel:
255 inside, in between on a feathered border), and ``FOLDER/truth.jsonl`` with one object a case. The same seed and
the same installed programs give the same files. Programs that are not installed are said once and left out.
"""

from __future__ import annotations

import argparse
import functools
import json
import shutil
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from everyday import changes
from everyday.damage import (
    FORMS,
    LEAST_MSE,
    Program,
    apply,
    available,
    blend,
    draw_form,
    parameters,
    read,
    visible,
    write,
)
from everyday.disguises import DISGUISES, disguise
from everyday.pictures import catalogue

BASIC = ("contrast", "gaussian_noise", "luminance", "blur", "impulse_noise", "jpeg")
FURTHER = ("jpeg2000", "speckle_noise", "pixelation", "quantization", "sharpening")
COLOUR = ("saturation", "color_cast", "chroma_noise", "chroma_blur")
COUNTS = {
    "whole": 99, "region": 70, "two_regions": 30, "chain2": 45, "chain3": 24, "colour": 60, "coder": 36, "no_name": 54,
    "pristine": 32, "misaligned": 24, "changes": 40, "rendering": 8,
}  # fmt: skip
"""Cases of each group in a split."""

OWN_SHARE = 5
"""One whole picture or region in so many is damaged by llise's own distortions."""

TRIES = 10
LEAST_TRACE = 0.03
"""Share of a chain's error that would be gone without one of its kinds."""

ALIKE = (
    {"contrast", "luminance"}, {"blur", "sharpening"}, {"gaussian_noise", "speckle_noise"}, {"blur", "pixelation"},
    {"jpeg", "jpeg2000"}, {"quantization", "contrast"}, {"quantization", "luminance"}, {"saturation", "chroma_blur"},
    {"color_cast", "luminance"}, {"color_cast", "contrast"}, {"gaussian_noise", "chroma_noise"},
)  # fmt: skip
"""Kinds of which one may stand for both, or take the other back."""

Row = dict[str, Any]


def main() -> None:
    """Draw and write the cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pictures", type=Path, required=True, help="folder that pictures.py filled")
    parser.add_argument("--split", choices=("look", "blind"), default="look")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="share of the cases of each group")
    parser.add_argument("--groups", help="only these groups, separated by commas")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    for line in available()[1]:
        print(f"Left out: {line}", file=sys.stderr)
    start = time.perf_counter()
    rows = draw(options)
    print(f"{len(rows)} cases in {options.folder}, {time.perf_counter() - start:.0f} s")
    for key in ("group", "family"):
        print(f"by {key}: {dict(Counter(row[key] for row in rows))}")
    print(f"by tool: {dict(Counter(tool for row in rows for tool in row['tools']))}")


def draw(options: argparse.Namespace) -> list[Row]:
    """Make all cases and write the truth; what was in the folder is replaced."""
    pictures = [row for row in catalogue() if row["split"] == options.split]
    pictures = [row for row in pictures if (options.pictures / f"{row['name']}.png").exists()]
    if not pictures:
        sys.exit(f"{options.pictures} holds no picture of the split {options.split}: fill it with pictures.py")
    wanted = options.groups.split(",") if options.groups else list(COUNTS)
    plan = [(group, j) for group in wanted for j in range(max(round(COUNTS[group] * options.share), 1))]
    part = options.folder / "truth.jsonl.part"
    if options.folder.exists() and any(options.folder.iterdir()) and not list(options.folder.glob("truth.jsonl*")):
        sys.exit(f"{options.folder} holds other files: name an empty folder or one that cases.py wrote")
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    part.touch()
    jobs = (delayed(make)(group, j, pictures, options) for group, j in plan)
    rows = [row for row in Parallel(n_jobs=options.jobs)(jobs) if row is not None]
    if len(rows) < len(plan):
        print(f"{len(plan) - len(rows)} of {len(plan)} cases came to nothing: nobody could have seen the damage")
    part.write_text("".join(json.dumps(row) + "\n" for row in rows))
    part.rename(options.folder / "truth.jsonl")
    return rows


def make(group: str, j: int, pictures: list[Row], options: argparse.Namespace) -> Row | None:
    """Make one case: other programs and pictures are tried until the damage can be seen."""
    warnings.simplefilter("ignore")
    if group == "rendering" or (group == "changes" and j % 2):
        pictures = [row for row in pictures if row["registry"] == "browser"] or pictures
    order = np.random.default_rng([options.seed, len(group), list(COUNTS).index(group)]).permutation(len(pictures))
    for attempt in range(TRIES):
        rng = np.random.default_rng([options.seed, options.split == "blind", list(COUNTS).index(group), j, attempt])
        picture = pictures[order[(j + 7 * (attempt // 3)) % len(pictures)]]
        folder = options.folder / f"{options.split}-{group}-{j:03d}"
        folder.mkdir(exist_ok=True)
        place = [options.seed, list(COUNTS).index(group)]
        case = Case(folder, options.pictures / f"{picture['name']}.png", picture, pictures, rng, j, attempt, place)
        try:
            row = GROUPS[group](case)
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            print(f"{folder.name}: {' '.join(str(error).split())[-300:]}", file=sys.stderr)
            row = None
        if row is not None:
            head = {"id": folder.name, "half": "everyday", "split": options.split, "picture": picture["name"]}
            return head | {"family": picture["family"], "group": group} | row
        shutil.rmtree(folder)
    return None


class Case:
    """One case while it is made."""

    def __init__(
        self,
        folder: Path,
        path: Path,
        picture: Row,
        pictures: list[Row],
        rng: Any,
        j: int,
        attempt: int,
        order: list[int],
    ):
        self.order = order
        self.folder, self.path, self.picture, self.pictures = folder, path, picture, pictures
        self.rng, self.j, self.attempt = rng, j, attempt
        self.image = read(path)
        self.whole = np.ones(self.image.shape[:2], np.float32)

    def program(self, kinds: tuple[str, ...], turn: int) -> Program:
        """A program for a kind: kinds and tools take turns, tries go on to the next tool."""
        kind = kinds[turn % len(kinds)]
        found = [p for p in available()[0] if p.kinds == (kind,) and not p.group]
        return self.next(
            [p for p in found if (p.tool == "llise") == (self.j % OWN_SHARE == 0)] or found, turn // len(kinds)
        )

    def next(self, programs: list[Program], turn: int) -> Program:
        """The next of some programs, whose tools take turns."""
        if not programs:
            raise RuntimeError("no program of this group is installed")
        mixed = np.random.default_rng(self.order).permutation(len(programs))
        counted: Counter[str] = Counter()
        rounds = []
        for i in mixed:
            rounds.append((counted[programs[i].tool], len(rounds), programs[i]))
            counted[programs[i].tool] += 1
        return sorted(rounds, key=lambda entry: entry[:2])[(turn + self.attempt) % len(rounds)][2]

    def run(self, program: Program, image: np.ndarray) -> tuple[np.ndarray, dict[str, float]]:
        """The copy and the settings."""
        values = parameters(program, (image.shape[1], image.shape[0]), self.rng)
        copy = apply(program, image, values)
        return copy, {name: round(float(value), 5) for name, value in program.settings(values).items()}

    def fault(self, kinds: tuple[str, ...], weight: np.ndarray, form: str, settings: Row) -> Row:
        """One fault of the truth."""
        rows, cols = np.nonzero(weight.any(axis=1))[0], np.nonzero(weight.any(axis=0))[0]
        box = [int(cols[0]), int(rows[0]), int(np.ptp(cols)) + 1, int(np.ptp(rows)) + 1]
        name = f"mask-{len(list(self.folder.glob('mask-*.png')))}.png"
        write(self.folder / name, np.rint(255 * weight).astype(np.uint8))
        return {
            "kinds": list(kinds),
            "box": box,
            "form": form,
            "mask": f"{self.folder.name}/{name}",
            "settings": settings,
        }

    def row(self, copy: np.ndarray | Path, programs: list[Program] | list[str], faults: list[Row], expected: Any,
            note: str = "", reference: np.ndarray | None = None) -> Row:  # fmt: skip
        """Write the files and give what the truth says of them."""
        write(self.folder / "reference.png", self.image if reference is None else reference)
        if isinstance(copy, np.ndarray):
            write(self.folder / "copy.png", copy)
            copy = self.folder / "copy.png"
        names = [p if isinstance(p, str) else p.name for p in programs]
        tools = [p.split()[0] if isinstance(p, str) else p.tool for p in programs]
        return {
            "own": bool(tools) and all(tool == "llise" for tool in tools), "programs": names, "tools": tools,
            "reference": f"{self.folder.name}/reference.png", "copy": f"{self.folder.name}/{copy.name}",
            "faults": faults, "expected": [list(labels) for labels in expected], "note": note,
        }  # fmt: skip


def one(case: Case, program: Program, form: str = "whole") -> Row | None:
    """One program, everywhere or in a part."""
    weight = (
        case.whole if form == "whole" else draw_form(case.image.shape[:2], form, case.rng.uniform(0.02, 0.3), case.rng)
    )
    copy, settings = case.run(program, case.image)
    copy = blend(case.image, copy, weight)
    if not visible(program.kinds, case.image, copy, weight > 0.5):
        return None
    said: Row = dict(settings)
    if program.family:
        said["family"] = program.family
    if program.group == "no_name":
        said |= {"near": program.near, "held_out": program.held_out}
    note = f"{program.family}{', never to be drawn in a training' if program.held_out else ''}"
    return case.row(
        copy, [program], [case.fault(program.kinds, weight, form, {program.kinds[0]: said})], program.expected, note
    )


def whole(case: Case) -> Row | None:
    return one(case, case.program(BASIC + FURTHER, case.j))


def region(case: Case) -> Row | None:
    return one(case, case.program(BASIC + FURTHER, case.j), FORMS[case.j % len(FORMS)])


def colour(case: Case) -> Row | None:
    form = FORMS[case.j // 4 % len(FORMS)] if case.j % 4 == 0 else "whole"
    if case.j % 2 == 0:
        return one(case, case.program(COLOUR, case.j // 2), form)
    return one(case, case.next([p for p in available()[0] if p.group == "colour"], case.j // 2))


def coder(case: Case) -> Row | None:
    return one(case, case.next([p for p in available()[0] if p.group == "coder"], case.j))


def no_name(case: Case) -> Row | None:
    found = [p for p in available()[0] if p.group == "no_name"]
    families = sorted({p.family for p in found})
    program = case.next([p for p in found if p.family == families[case.j % len(families)]], case.j // len(families))
    return one(case, program, FORMS[case.j // 4 % len(FORMS)] if case.j % 4 == 3 else "whole")


def misaligned(case: Case) -> Row | None:
    found = [p for p in available()[0] if p.kinds == ("misalignment",)]
    return one(case, case.next(found, case.j))


def two_regions(case: Case) -> Row | None:
    """Two kinds in two parts that do not meet."""
    kinds = case.rng.permutation(BASIC + FURTHER + COLOUR)[:2]
    forms, shape = case.rng.choice(FORMS, 2), case.image.shape[:2]
    parts = [draw_form(shape, str(form), case.rng.uniform(0.03, 0.2), case.rng) for form in forms]
    if (parts[0] * parts[1]).any():
        return None
    copy, faults, programs = case.image, [], []
    for kind, part, form in zip(kinds, parts, forms):
        program = case.program((str(kind),), int(case.rng.integers(1000)))
        damaged, settings = case.run(program, case.image)
        copy = blend(copy, damaged, part)
        if not visible(program.kinds, case.image, copy, part > 0.5):
            return None
        faults.append(case.fault(program.kinds, part, str(form), {str(kind): settings}))
        programs.append(program)
    return case.row(copy, programs, faults, [sorted(str(kind) for kind in kinds)])


def chain(case: Case, length: int) -> Row | None:
    """Kinds one after another over the whole picture, each of which leaves a trace."""
    kinds = [str(kind) for kind in case.rng.permutation(BASIC + FURTHER + COLOUR)[:length]]
    if any(pair <= set(kinds) for pair in ALIKE):
        return None
    programs = [case.program((kind,), int(case.rng.integers(1000))) for kind in kinds]
    values = [parameters(p, (case.image.shape[1], case.image.shape[0]), case.rng) for p in programs]

    @functools.cache
    def after(steps: tuple[int, ...]) -> np.ndarray:
        return apply(programs[steps[-1]], after(steps[:-1]), values[steps[-1]]) if steps else case.image

    every = tuple(range(length))
    copy = after(every)
    settings = {kind: program.settings(value) for kind, program, value in zip(kinds, programs, values)}
    error = np.mean((copy.astype(float) - case.image) ** 2)
    for step in every:
        before, single = after(every[:step]), after(every[: step + 1])
        trace = np.mean((copy.astype(float) - after(every[:step] + every[step + 1 :])) ** 2)
        if trace < max(LEAST_MSE, LEAST_TRACE * error) or not visible((kinds[step],), before, single, case.whole > 0):
            return None
    return case.row(
        copy, programs, [case.fault(tuple(kinds), case.whole, "whole", settings)], [sorted(kinds)], " then ".join(kinds)
    )


def pristine(case: Case) -> Row | None:
    name = list(DISGUISES)[case.j % len(DISGUISES)]
    path = disguise(name, case.image, case.folder / "copy", case.rng)
    return None if path is None else case.row(path, [f"disguise {name}"], [], [["original"]], name)


def change(case: Case) -> Row | None:
    """A thing that was changed: on rendered pages by the browser, elsewhere by pasting."""
    kind = changes.CHANGES[case.j // 2 % len(changes.CHANGES)]
    source = case.path.with_suffix(".html")
    if case.j % 4 == 0:
        kind, program = "added", case.program(("content",), case.j // 4)
        made = changes.Change(case.image, case.run(program, case.image)[0], {"change": kind}, program.name)
    elif source.exists() and case.j % 2:
        made = changes.change_page(case.image, source.read_text(), kind, case.rng)
    else:
        names = case.rng.choice([row["name"] for row in case.pictures], 3)
        made = changes.change_picture(
            case.image, [read(case.path.with_name(f"{n}.png")) for n in names], kind, case.rng
        )
    differs = (made.reference != made.copy).any(axis=2)
    if differs.sum() < 30 or not visible((), made.reference, made.copy, differs) or differs.mean() > 0.8:
        return None
    also = {"recoloured": [["color_cast"]], "moved": [["misalignment"]]}.get(kind, [])
    fault = case.fault(("content",), differs.astype(np.float32), "blob", {"content": made.settings})
    return case.row(made.copy, [f"{made.tool} {kind}"], [fault], [["content"], *also], kind, made.reference)


def rendering(case: Case) -> Row | None:
    """The same page by another rasteriser."""
    how = list(changes.RENDERINGS)[(case.j + case.attempt) % len(changes.RENDERINGS)]
    copy = changes.render_otherwise(case.path.with_suffix(".html").read_text(), how)
    differs = (copy != case.image).any(axis=2)
    if copy.shape != case.image.shape or differs.mean() < 0.001:
        return None
    fault = case.fault(("rendering",), differs.astype(np.float32), "whole", {"rendering": {"how": how}})
    return case.row(copy, [f"Chromium {how}"], [fault], [["rendering"], ["unknown"]], how)


GROUPS = {
    "whole": whole, "region": region, "two_regions": two_regions, "chain2": functools.partial(chain, length=2),
    "chain3": functools.partial(chain, length=3), "colour": colour, "coder": coder, "no_name": no_name,
    "pristine": pristine, "misaligned": misaligned, "changes": change, "rendering": rendering,
}  # fmt: skip

if __name__ == "__main__":
    main()
