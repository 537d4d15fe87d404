"""Draw scenes in several processes and write them as shards: ``python -m training.draw OUT --pictures photos.npz``.

A shard NUMBER_SHARD.npz holds 256 scenes: ``ref`` and ``cop`` (n, s, s, 3) of uint8, ``lab`` (n, s / 8, s / 8) of
uint32 as :mod:`training.scenes` says, and ``words`` (n, words) of float32: the settings, NaN where a scene has none of
that name; words.json beside lists the names (``jpeg.quality``).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
import warnings
import zlib
from pathlib import Path

THREADS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"
SCENES = 256  # in a shard
MOST_ERRORS = 20  # of one process before it gives up: the kinds are broken then


def load_pictures(file: Path, part: str = "all") -> dict[str, object]:
    """Pictures by name: all of them, those to train on, or the sixth that is kept aside for the score."""
    import numpy as np

    aside = lambda name: zlib.crc32(name.encode()) % 6 == 0
    with np.load(file) as store:
        chosen = [name for name in store.files if part == "all" or aside(name) == (part == "score")]
        return {name: store[name] for name in chosen}


def names_of_words() -> list[str]:
    """Names ``kind.word`` of all settings, found by drawing each kind a few times."""
    import numpy as np

    from llise.kinds.registry import get
    from training.scenes import LABELS

    y, x = np.mgrid[:32, :32].astype(np.uint8)
    picture = np.stack([8 * x % 200, 7 * y % 180, 3 * (x + y)], -1)
    found = set()
    for kind in LABELS[:-1]:
        for seed in range(60):
            draw = get(kind).draw(picture, np.random.default_rng(seed))
            found |= {f"{kind}.{word}" for word in draw.settings(draw.end / 30).words()}
    return sorted(found)


def work(
    number: int, pictures: Path, part: str, out: Path, names: list[str], seconds: float, seed: int, side: int
) -> None:
    """Draw scenes until the time is over; the same number and seed give the same scenes."""
    warnings.simplefilter("ignore")
    os.nice(5)
    import numpy as np

    from training.scenes import BLOCK, draw_scene

    store = list(load_pictures(pictures, part).values())
    column = {name: i for i, name in enumerate(names)}
    ref = np.zeros((SCENES, side, side, 3), np.uint8)
    cop = np.zeros_like(ref)
    lab = np.zeros((SCENES, side // BLOCK, side // BLOCK), np.uint32)
    words = np.zeros((SCENES, len(names)), np.float32)
    end, count, shard, tries, errors = time.time() + seconds, 0, 0, 0, 0

    def write() -> None:
        path = out / f"{number:02d}_{shard:05d}.npz"
        arrays = {"ref": ref, "cop": cop, "lab": lab, "words": words}
        np.savez(path.with_suffix(".tmp.npz"), **{name: array[:count] for name, array in arrays.items()})
        os.replace(path.with_suffix(".tmp.npz"), path)

    while time.time() < end:
        tries += 1
        rng = np.random.default_rng((seed, number, tries))
        try:
            scene = draw_scene(store[int(rng.integers(len(store)))], rng, side)
        except Exception as error:  # one odd picture must not end a long run; many of them must
            errors += 1
            print(f"worker {number}, scene {tries}: {error!r}", file=sys.stderr, flush=True)
            if errors > MOST_ERRORS and errors > 0.01 * tries:
                raise
            continue
        if scene is None:
            continue
        ref[count], cop[count], lab[count] = scene.reference, scene.copy, scene.labels
        words[count] = np.nan
        for kind, values in scene.settings.items():
            for word, value in values.items():
                if f"{kind}.{word}" in column:
                    words[count, column[f"{kind}.{word}"]] = value
        count += 1
        if count == SCENES:
            write()
            shard, count = shard + 1, 0
    if count:
        write()


def draw_shards(
    out: Path, pictures: Path, seconds: float, workers: int, seed: int, side: int, part: str = "all"
) -> None:
    for name in THREADS:
        os.environ[name] = "1"
    out.mkdir(parents=True, exist_ok=True)
    names = names_of_words()
    (out / "words.tmp.json").write_text(json.dumps(names))
    os.replace(out / "words.tmp.json", out / "words.json")
    context = multiprocessing.get_context("spawn")
    jobs = [
        context.Process(target=work, args=(number, pictures, part, out, names, seconds, seed, side))
        for number in range(workers)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    if any(job.exitcode for job in jobs):
        raise SystemExit(f"{sum(bool(job.exitcode) for job in jobs)} of {workers} processes failed; see above")


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw random scenes and write them as shards.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--pictures", type=Path, required=True, help="photos.npz as training.pictures writes it")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--side", type=int, default=128, help="side of a scene in pixels, a multiple of 32 up to 256")
    parser.add_argument("--part", choices=("all", "train", "score"), default="all", help="pictures to draw from")
    given = parser.parse_args()
    if given.side % 32 or not 32 <= given.side <= 256:
        parser.error(f"--side {given.side}: expected a multiple of 32 from 32 to 256")
    if not given.pictures.is_file():
        parser.error(f"--pictures {given.pictures}: no such file; python -m training.pictures FOLDER writes it")
    draw_shards(given.out, given.pictures, given.seconds, given.workers, given.seed, given.side, given.part)


if __name__ == "__main__":
    main()
