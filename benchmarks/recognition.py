"""How well damage is recognised: which kinds, where, how strong, how sure; on pictures that did not train the judge.

    python benchmarks/recognition.py                    # the training pictures, each by a network that never saw it
    python benchmarks/recognition.py --left-out FOLDER  # the same by whole judges that never saw it (left_out.py)
    python benchmarks/recognition.py --pictures FOLDER  # the shipped judge on photographs of your own
    python benchmarks/recognition.py --quick            # about a minute

Damage is injected by masks at pixel precision, by llise's own programs and by foreign ones that take no part in the
training (see ``faults/programs.py``; those that are not installed are left out, which is said). Besides the paper's six
kinds there are further kinds and faults of no named kind; ``--world six`` leaves them out. Prints Markdown.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from faults import cases, measures, open_cases, open_tables, programs, tables
from faults.cases import Recipe
from faults.judges import load_judge
from faults.measures import Record
from llise.diagnosis.diagnoser import Diagnoser
from llise.diagnosis.judging.judge import Judge, shipped_judge
from llise.diagnosis.train import single_judges
from llise.diagnosis.training import pictures
from llise.images import read_image

MOST = 512
"""Sides of the training pictures are cut to this; own photographs are cut to twice this."""

SEED = 20_000
WORLDS = {"six": (cases,), "open": (open_cases,), "both": (cases, open_cases)}
"""Modules that give the images: the paper's six kinds, and the open world."""

SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff"}


def main() -> None:
    """Run the benchmark."""
    options = parse()
    warnings.simplefilter("ignore")
    sets = {"own": programs.own()}
    if options.sets != "own":
        sets["foreign"], skipped = programs.foreign()
        for reason in skipped:
            print(f"Left out: {reason}")
        if options.sets == "foreign":
            del sets["own"]
    records = run(options, sets)
    print(f"Command: `{' '.join(['python', *sys.argv])}`\n")
    names = list(dict.fromkeys(record["picture"] for record in records))
    print(f"{len(names)} pictures, {len(records)} images: {', '.join(names)}")
    print(f"\nMedian time of a diagnosis: {np.median([record['seconds'] for record in records]):.2f} s")
    tables.report(records)
    open_tables.report(records)
    if options.failures:
        tables.list_failures(records)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, help="folder of photographs to judge by the shipped judge")
    parser.add_argument("--names", help="judge only these pictures, names separated by commas")
    parser.add_argument("--sets", choices=("own", "foreign", "both"), default="both", help="programs to use")
    parser.add_argument(
        "--world", choices=tuple(WORLDS), default="both",
        help="images with the paper's six kinds, with further kinds and unknown faults, or both",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="two pictures, a tenth of the images")
    parser.add_argument("--share", type=float, default=1.0, help="share of the images to make, drawn at random")
    parser.add_argument("--seed", type=int, default=SEED, help="seed for all images; another one makes fresh images")
    parser.add_argument("--left-out", type=Path, help="folder of judges, each trained without the picture of its name")
    parser.add_argument("--judge", type=Path, help="judge file to use instead of the shipped one")
    parser.add_argument("--records", type=Path, help="file of JSON lines: what is in it is not measured again")
    parser.add_argument("--failures", action="store_true", help="list each image that was judged wrongly")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    options = parser.parse_args()
    if options.quick:
        options.share = 0.1 * options.share
    return options


def run(options: argparse.Namespace, sets: dict[str, programs.Programs]) -> list[Record]:
    """Measure all pictures; with --records, the results of each picture are saved when it is done."""
    records: list[Record] = []
    if options.records and options.records.exists():
        records = [json.loads(line) for line in options.records.read_text().splitlines()]
    finished = {(record["picture"], record["set"], world_of(record)) for record in records}
    for name, image, judge in references(options):
        jobs = [
            (name, key, recipe)
            for key, available in sets.items()
            for world in WORLDS[options.world]
            if (name, key, world) not in finished
            for recipe in world.recipes(
                available, seed_of(name, options.seed), foreign=key != "own", share=options.share
            )
        ]
        runner = Parallel(n_jobs=options.jobs, return_as="generator")
        results = runner(delayed(one)(image, recipe, key, name, judge) for name, key, recipe in jobs)
        new = [record for record in tqdm(results, name, len(jobs), file=sys.stderr) if record is not None]
        records += new
        if options.records:
            with options.records.open("a") as file:
                file.writelines(json.dumps(record) + "\n" for record in new)
    return records


def world_of(record: Record) -> ModuleType:
    """Return the module that gave the image of a record."""
    return open_cases if record["group"] in open_cases.OPEN_GROUPS else cases


def seed_of(name: str, seed: int) -> int:
    """Return the seed of a picture, from its name and the seed of the run."""
    return seed + int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


def one(image: np.ndarray, recipe: Recipe, key: str, name: str, judge: Path | None) -> Record | None:
    """Make and judge one image; None where nobody could name its kinds."""
    warnings.simplefilter("ignore")
    case = open_cases.make(recipe, image)
    if case is None:
        return None
    diagnoser = Diagnoser(image, judge=load_judge(judge) if judge else None)
    start = time.perf_counter()
    diagnosis = next(diagnoser.diagnose([case.image]))
    seconds = time.perf_counter() - start
    record = measures.measure(case, recipe, image, diagnosis)
    return {"picture": name, "set": key, "seconds": round(seconds, 4), **record}


def references(options: argparse.Namespace) -> Iterator[tuple[str, np.ndarray, Path | None]]:
    """Yield the pictures with the file of the judge that has not seen them; None is the shipped judge."""
    chosen = options.names.split(",") if options.names else None
    if options.pictures:
        files = sorted(path for path in options.pictures.iterdir() if path.suffix.lower() in SUFFIXES)
        files = [file for file in files if chosen is None or file.stem in chosen]
        for file in files[: 2 if options.quick else None]:
            yield file.stem, np.ascontiguousarray(read_image(file)[: 2 * MOST, : 2 * MOST]), options.judge
        return
    if options.left_out:
        for file in sorted(options.left_out.glob("*.safetensors"))[: 2 if options.quick else None]:
            if chosen is None or file.stem in chosen:
                yield file.stem, training_picture(file.stem), file
        return
    judge = Judge.load(options.judge) if options.judge else shipped_judge()
    with tempfile.TemporaryDirectory() as folder:
        for number, (names, network) in enumerate(single_judges(judge)[: 1 if options.quick else None]):
            file = Path(folder) / f"{number}.safetensors"
            network.save(file)
            for name in names[: 2 if options.quick else None]:
                if chosen is None or name in chosen:
                    yield name, training_picture(name), file


def training_picture(name: str) -> np.ndarray:
    """Return the part of a training picture that is judged."""
    return np.ascontiguousarray(pictures.load(name)[:MOST, :MOST])


if __name__ == "__main__":
    main()
