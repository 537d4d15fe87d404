"""How well faults of colour are recognised, and what colour costs.

    python benchmarks/colour.py                    # colour pictures that come with the dependencies
    python benchmarks/colour.py --pictures FOLDER  # photographs of your own
    python benchmarks/colour.py --cost             # time and memory of a colour diagnosis against a grey one

All pictures are judged by what is shipped; the judges of luma and colour were trained on the pictures that come with
the dependencies. Programs: ``faults/colour_programs.py``. Prints Markdown.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from PIL import Image
from tqdm import tqdm

from faults import colour_programs as programs
from faults.masks import SHAPES, draw_mask, true_region
from faults.programs import Program, Programs
from llise.diagnosis import Diagnoser
from llise.diagnosis.result import BLOCK_LABELS
from llise.distortions import mse, quantise
from llise.images import as_uint8
from llise.kinds.search import Search
from llise.labels import COLOR_KINDS, KINDS

PICTURES = ("astronaut", "chelsea", "coffee", "hubble_deep_field", "ihc", "motorcycle_left", "retina", "rocket",
            "china", "flower")  # fmt: skip
LEVELS = (30, 100, 300, 800)
"""Wanted errors, mean over red, green and blue."""

LEAST_ERROR = 12.0
"""Error below which a copy is left out: the picture has hardly any colour to change."""

LEAST_TRACE = 0.1
"""Share of a pair's error that its first kind must still cause after the second one: a blur may wipe out noise."""

LEAST_PART = 0.2
"""Share of a pair's error that each kind must contribute."""

Record = dict[str, Any]
SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff"}


def main() -> None:
    """Run the benchmark."""
    options = parse()
    warnings.simplefilter("ignore")
    pictures = dict(load(options))
    print(f"Command: `{' '.join(['python', *sys.argv])}`\n")
    if options.cost:
        cost(pictures)
        return
    sets: dict[str, Programs] = {"own": programs.own()}
    sets["foreign"], skipped = programs.foreign()
    for reason in skipped:
        print(f"Left out: {reason}")
    jobs = [(name, *recipe) for name in pictures for recipe in recipes(name, sets, options)]
    np.random.default_rng(0).shuffle(jobs)
    runner = Parallel(n_jobs=options.jobs, return_as="generator")
    results = runner(delayed(one)(pictures[job[0]], *job) for job in jobs)
    records = []
    for record in tqdm(results, total=len(jobs), file=sys.stderr):
        if record:
            records.append(record)
            if options.records:
                with options.records.open("a") as file:
                    file.write(json.dumps(record) + "\n")
    print(f"{len(pictures)} pictures, {len(records)} images: {', '.join(pictures)}\n")
    report(records)
    if options.failures:
        for record in records:
            if not record["exact"]:
                print(json.dumps(record))


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, help="folder of colour photographs")
    parser.add_argument("--names", help="only these pictures, names separated by commas")
    parser.add_argument("--groups", help="only these groups of images, names separated by commas")
    parser.add_argument("--share", type=float, default=1.0, help="share of the images to make, drawn at random")
    parser.add_argument("--seed", type=int, default=7000, help="seed for all images")
    parser.add_argument("--side", type=int, default=512, help="longest side of the pictures, which are cut to it")
    parser.add_argument("--cost", action="store_true", help="measure time and memory instead")
    parser.add_argument("--failures", action="store_true", help="list each image that was judged wrongly")
    parser.add_argument("--records", type=Path, help="file for all results, as JSON lines")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    return parser.parse_args()


def load(options: argparse.Namespace) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the pictures that have colours."""
    if options.pictures:
        files = sorted(path for path in options.pictures.iterdir() if path.suffix.lower() in SUFFIXES)
    else:
        import skimage.data
        import sklearn.datasets

        folders = Path(skimage.data.__file__).parent, Path(sklearn.datasets.__file__).parent / "images"
        files = [file for folder in folders for file in sorted(folder.iterdir()) if file.stem in PICTURES]
    chosen = options.names.split(",") if options.names else None
    for file in files:
        pixels = np.array(Image.open(file).convert("RGB"))[: options.side, : options.side]
        if chosen is not None and file.stem not in chosen:
            continue
        if np.ptp(pixels.astype(int), axis=-1).mean() < 3:
            print(f"Left out: {file.name} has no colours")
            continue
        yield file.stem, np.ascontiguousarray(pixels)


ALONE, PAIR, LUMA, REGION, NONE = (
    "colour kind alone", "with one luma kind", "luma kind alone", "colour kind in a region", "none of the kinds"
)  # fmt: skip


def recipes(name: str, sets: dict[str, Programs], options: argparse.Namespace) -> Iterator[tuple[Any, ...]]:
    """Yield group, set of programs, programs, level and seed of each image."""
    root = options.seed + int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    rng = np.random.default_rng(root)
    luma = programs.luma_kinds()
    wanted = options.groups.split(",") if options.groups else None

    def draw(available: Programs) -> Iterator[tuple[Any, ...]]:
        for kind in COLOR_KINDS:
            for program in available[kind]:
                for level in rng.choice(LEVELS, 2, replace=False):
                    yield ALONE, (program,), float(level)
                yield REGION, (program,), float(np.exp(rng.uniform(np.log(50), np.log(800))))
            for other in KINDS:
                first = available[kind][rng.integers(len(available[kind]))]
                second = luma[other][rng.integers(len(luma[other]))]
                yield PAIR, (first, second), float(rng.choice([150, 400]))

    for key, available in sets.items():
        for number, (group, parts, level) in enumerate(draw(available)):
            if rng.random() < options.share and (wanted is None or group in wanted):
                yield group, key, parts, level, root + number
    for number, kind in enumerate(KINDS):
        for program in luma[kind]:
            for level in rng.choice((50, 100, 200, 400, 900), 2, replace=False):
                if rng.random() < options.share and (wanted is None or LUMA in wanted):
                    yield LUMA, "foreign", (program,), float(level), root + 500 + number
    for program in programs.no_kind():
        if rng.random() < options.share and (wanted is None or NONE in wanted):
            yield NONE, "foreign", (program,), 200.0, root


def make(image: np.ndarray, reference: np.ndarray, program: Program, level: float, seed: int) -> Any:
    """Apply a program at the strength that gives about the wanted error against the reference."""
    direction = 1 if seed % 2 else -1
    copies = program.build(image, seed, direction)
    at_zero = mse(reference, image)
    search = Search(copies.path, reference, level, 0.05)
    search.bisect(copies.end, first=copies.end / 50, steps=7, at_zero=at_zero)
    return search, copies.parameters(search.strength)


def one(
    image: np.ndarray, name: str, group: str, key: str, parts: tuple[Program, ...], level: float, seed: int
) -> Record | None:
    """Make and judge one image; None where nobody could name its kinds."""
    warnings.simplefilter("ignore")
    copy, parameters, previous = image, {}, 0.0
    for number, program in enumerate(parts):
        search, settings = make(copy, image, program, level * (number + 1) / len(parts), seed)
        before, copy = copy, search.image
        error = mse(image, copy)
        part = mse(before, copy)
        if part < max(LEAST_ERROR if group != NONE else 1.0, LEAST_PART * error * (len(parts) > 1)):
            return None
        if number and (
            previous < LEAST_PART * error or _trace(image, copy, program, search, seed) < LEAST_TRACE * error
        ):
            return None
        parameters |= {program.kind: settings}
        previous = error
    mask = np.ones(image.shape[:2], bool)
    if group == REGION:
        rng = np.random.default_rng(seed)
        area = float(np.exp(rng.uniform(np.log(0.05), np.log(0.35))))
        mask = draw_mask(image.shape[:2], area, SHAPES[rng.integers(3)], bool(rng.random() < 0.3), rng)
        copy = np.where(mask[..., None], copy, image)
        if mse(image[mask], copy[mask]) < LEAST_ERROR:
            return None
    start = time.perf_counter()
    diagnosis = next(Diagnoser(image).diagnose([copy]))
    seconds = time.perf_counter() - start
    kinds = tuple(sorted((program.kind for program in parts), key=BLOCK_LABELS.index))
    record = {
        "picture": name, "group": group, "set": key, "programs": [program.name for program in parts],
        "kinds": "+".join(kinds), "verdict": "+".join(diagnosis.verdict), "level": level, "seed": seed,
        "error": round(mse(image[mask], copy[mask]), 1), "exact": set(diagnosis.verdict) == set(kinds),
        "confidence": round(diagnosis.confidence, 3), "seconds": round(seconds, 3),
        "area": round(float(mask.mean()), 3),
        "estimates": list(_estimates(parameters, diagnosis)),
    }  # fmt: skip
    if group == LUMA:
        grey = next(Diagnoser(as_uint8(image)).diagnose([as_uint8(copy)]))
        record["grey_verdict"], record["grey_exact"] = "+".join(grey.verdict), set(grey.verdict) == set(kinds)
    if group == NONE:
        record["exact"] = not set(diagnosis.verdict) & {*KINDS, "original"}
    if group == REGION and diagnosis.faults:
        region = true_region(mask, copy.max(axis=-1), copy.max(axis=-1))
        answer = np.any([fault.region for fault in diagnosis.faults], axis=0)
        record["overlap"] = round(float((region & answer).sum() / (region | answer).sum()), 3)
    return record


def _trace(image: np.ndarray, copy: np.ndarray, program: Program, search: Search, seed: int) -> float:
    """How much a pair differs from what its second kind alone, at the same strength, makes of the picture."""
    alone = program.build(image, seed, 1 if seed % 2 else -1).path(search.strength)
    return mse(quantise(np.asarray(alone)), copy)


def _estimates(parameters: dict[str, dict[str, float]], diagnosis: Any) -> Iterator[Record]:
    for kind, settings in parameters.items():
        fault = next((fault for fault in diagnosis.faults if kind in fault.kinds), None)
        for setting, value in settings.items():
            answer = fault.estimate.get(kind, {}).get(setting) if fault and kind in COLOR_KINDS else None
            if answer:
                yield {
                    "kind": kind,
                    "setting": setting,
                    "truth": round(value, 4),
                    "answer": [round(v, 4) for v in answer],
                }


def report(records: list[Record]) -> None:
    """Print the tables."""
    print("| images | own programs | foreign programs |\n|---|---|---|")
    for group in (ALONE, PAIR, REGION):
        print(f"| {group} | {_share(records, group, 'own')} | {_share(records, group, 'foreign')} |")
    as_grey = _share(records, LUMA, "foreign", "grey_exact")
    print(f"| {LUMA} | - | {_share(records, LUMA, 'foreign')} (as grey: {as_grey}) |")
    print(f"| {NONE}: no luma kind named | - | {_share(records, NONE, 'foreign')} |\n")
    print("| kind or program | alone | with a luma kind | in a region |\n|---|---|---|---|")
    for kind in COLOR_KINDS:
        own = [record for record in records if kind in record["kinds"].split("+")]
        print(f"| {kind} | {' | '.join(_share(own, group) for group in (ALONE, PAIR, REGION))} |")
    names = dict.fromkeys(record["programs"][0] for record in records)
    for name in names:
        own = [record for record in records if record["programs"][0] == name]
        print(f"| - {name} | {' | '.join(_share(own, group) for group in (ALONE, PAIR, REGION))} |")
    for name in dict.fromkeys(record["programs"][0] for record in records if record["group"] == LUMA):
        own = [record for record in records if record["programs"][0] == name]
        print(f"| - {name} | {_share(own, LUMA)} (as grey {_share(own, LUMA, None, 'grey_exact')}) | | |")
    overlaps = [record["overlap"] for record in records if "overlap" in record]
    if overlaps:
        print(f"\nRegions: mean intersection over union {np.mean(overlaps):.2f}")
    false = [r for r in records if r["group"] in (ALONE, REGION) and set(r["verdict"].split("+")) & {*KINDS}]
    count = sum(r["group"] in (ALONE, REGION) for r in records)
    print(f"\nA luma kind named for a fault of colour alone: {len(false)} of {count}")
    print("\n| confidence | faults | exact |\n|---|---|---|")
    for low, high in ((0, 0.7), (0.7, 0.9), (0.9, 1.01)):
        part = [r["exact"] for r in records if low <= r["confidence"] < high and r["group"] != NONE]
        if part:
            print(f"| {low} to {min(high, 1)} | {len(part)} | {np.mean(part):.3f} |")
    print("\n| setting | images | median error | interval holds the truth |\n|---|---|---|---|")
    estimates = [e for record in records if record["exact"] for e in record["estimates"]]
    for key in dict.fromkeys((e["kind"], e["setting"]) for e in estimates):
        part = [e for e in estimates if (e["kind"], e["setting"]) == key]
        errors = [abs(e["answer"][0] - e["truth"]) for e in part]
        inside = [e["answer"][1] <= e["truth"] <= e["answer"][2] for e in part]
        print(f"| {' '.join(key)} | {len(part)} | {np.median(errors):.3g} | {np.mean(inside):.2f} |")


def _share(records: list[Record], group: str, key: str | None = None, field: str = "exact") -> str:
    part = [r[field] for r in records if r["group"] == group and (key is None or r["set"] == key)]
    return f"{np.mean(part):.3f} ({len(part)})" if part else "-"


def cost(pictures: dict[str, np.ndarray]) -> None:
    """Processor time and memory of colour against grey: the first copy of a reference, and further ones."""
    luma, own = programs.luma_kinds(), programs.own()
    rows = []
    for name, image in tqdm(pictures.items(), file=sys.stderr):
        for program in (*(luma[kind][0] for kind in KINDS), *(own[kind][0] for kind in COLOR_KINDS)):
            copy = make(image, image, program, 200.0, 3)[0].image
            grey, grey_copy = as_uint8(image), as_uint8(copy)
            if program.kind in COLOR_KINDS:  # a grey diagnosis of a like fault
                grey_copy = quantise(grey + 8 * np.random.default_rng(0).standard_normal(grey.shape))
            rows.append((program.kind, name, np.array([_measure(image, copy), _measure(grey, grey_copy)])))
    print(f"{len(pictures)} pictures: {', '.join(pictures)}\n")
    print("| kind | first copy, ms: colour / grey | further copies, ms | memory, MB | ratios | largest ratios |")
    print("|---|---|---|---|---|---|")
    for kind in dict.fromkeys(kind for kind, _, _ in rows):
        measured = [values for of, _, values in rows if of == kind]
        colour, grey = np.mean(measured, axis=0)
        cells = " | ".join(f"{a:.0f} / {b:.0f}" for a, b in zip(colour, grey))
        print(f"| {kind} | {cells} | {_ratios(colour / grey)} | {_ratios(_largest(measured))} |")
    print(f"\nLargest ratios: {_ratios(_largest([values for _, _, values in rows]))}, of", end=" ")
    ratios = np.array([values[0] / values[1] for _, _, values in rows])
    print(", ".join(f"{rows[place][0]} in {rows[place][1]}" for place in ratios.argmax(axis=0)))


def _largest(measured: list[np.ndarray]) -> np.ndarray:
    """Largest ratios of colour to grey of all copies."""
    return np.max([values[0] / values[1] for values in measured], axis=0)


def _ratios(values: np.ndarray) -> str:
    return " / ".join(f"{value:.2f}" for value in values)


def _measure(image: np.ndarray, copy: np.ndarray) -> list[float]:
    """Milliseconds of processor time of the first and of further copies, and the largest memory in MB."""
    first, further = [], []
    for _ in range(3):
        start = time.process_time()
        diagnoser = Diagnoser(image)
        next(diagnoser.diagnose([copy]))
        first.append(time.process_time() - start)
        start = time.process_time()
        next(diagnoser.diagnose([copy]))
        further.append(time.process_time() - start)
    tracemalloc.start()
    next(Diagnoser(image).diagnose([copy]))
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return [1e3 * min(first), 1e3 * min(further), memory / 2**20]


if __name__ == "__main__":
    main()
