"""The whole training, from pictures to the files of the package: ``python -m training RUN --why "..."``.

    pictures -> scenes, drawn while the network trains -> network -> regions of other pictures -> score -> model files

Each step leaves a file in RUN and is skipped where it is there: a run that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "llise" / "network"
SEED_OF_SCORE = 1_000_000


def main() -> None:
    """Lead through all steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of the run")
    parser.add_argument("--why", required=True, help="why it is trained, for HISTORY.md")
    parser.add_argument("--name", default=f"llise-{date.today():%Y%m%d}", help="name of the model")
    parser.add_argument("--pictures", type=Path, help="photos.npz; fetched and drawn if left out")
    parser.add_argument("--seconds", type=float, default=1200, help="time for the network")
    parser.add_argument("--score-seconds", type=float, default=240, help="time to draw scenes for the score")
    parser.add_argument("--score-scenes", type=int, default=4000, help="scenes for the score, at most")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 1) - 1), help="drawing processes")
    parser.add_argument("--batch", type=int, default=32, help="scenes in a step (256 on a large GPU)")
    parser.add_argument("--rate", type=float, default=1.2e-3, help="learning rate")
    parser.add_argument("--capacity", type=int, default=40_000, help="scenes that are kept (100 kB each)")
    parser.add_argument("--widths", type=int, nargs=4, default=(48, 96, 144, 192), help="of the network")
    parser.add_argument("--side", type=int, default=128, help="of the scenes in pixels")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--into", type=Path, default=PACKAGE, help="folder for the model's two files")
    given = parser.parse_args()
    given.run.mkdir(parents=True, exist_ok=True)
    pictures = given.pictures or fetched(given.run)
    told = train_network(given, pictures)
    draft = given.run / "model"
    export_draft(given, draft)
    score(given, pictures, draft)
    publish(draft, given.into)
    record(given, told)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def fetched(run: Path) -> Path:
    """Pictures by `training.pictures`."""
    if not (run / "photos.npz").exists():
        subprocess.run([sys.executable, "-m", "training.pictures", str(run)], check=True, cwd=ROOT)
    return run / "photos.npz"


def drawing(
    given: argparse.Namespace, pictures: Path, out: Path, seconds: float, seed: int, part: str, side: int
) -> subprocess.Popen:
    """Start to draw scenes."""
    command = [sys.executable, "-m", "training.draw", str(out), "--pictures", str(pictures), "--seconds", str(seconds)]
    command += ["--workers", str(given.workers), "--seed", str(seed), "--side", str(side), "--part", part]
    return subprocess.Popen(command, cwd=ROOT)


def train_network(given: argparse.Namespace, pictures: Path) -> dict:
    """Train while scenes are drawn; what was told last."""
    from training.labels import KINDS, SETS
    from training.net import Shape
    from training.train import train

    told_file, checkpoint, shards = given.run / "network.json", given.run / "net.pt", given.run / "shards"
    if told_file.exists():
        return json.loads(told_file.read_text())
    shape = Shape(len(KINDS), len(SETS), widths=tuple(given.widths))
    drawers = drawing(given, pictures, shards, given.seconds, given.seed + int(time.time()) % 1000, "train", given.side)
    try:
        told: dict = {}
        for told in train(
            shards, checkpoint, given.seconds, shape, batch=given.batch, rate=given.rate, capacity=given.capacity,
            side=given.side, hold=min(512, 8 * given.batch), alive=lambda: drawers.poll() is None,
        ):  # fmt: skip
            say(json.dumps(told))
    finally:
        drawers.terminate()
    told_file.write_text(json.dumps(told))
    return told


def export_draft(given: argparse.Namespace, draft: Path) -> None:
    """The network with numbers that are not calibrated yet."""
    from training.export import export, read
    from training.tuned import DEFAULTS

    if not (draft / "model.json").exists():
        draft.mkdir(exist_ok=True)
        export(read(given.run / "net.pt"), draft, given.name, DEFAULTS)


def score(given: argparse.Namespace, pictures: Path, draft: Path) -> None:
    """Fit the score on scenes of pictures that the network has not seen."""
    shards = given.run / "score"
    if not shards.exists():
        drawing(given, pictures, shards, given.score_seconds, given.seed + SEED_OF_SCORE, "score", 256).wait()
    if (draft / "scored").exists():
        return
    files = [str(file) for file in sorted(shards.glob("*.npz"))]
    command = [sys.executable, "-m", "training.score_fit", str(draft / "model.json"), *files]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run([*command, "--most", str(given.score_scenes)], cwd=ROOT, env=environment)
    if done.returncode:
        sys.exit(
            f"the score was not fitted (see above); {draft} holds the network with numbers that are not calibrated"
        )
    (draft / "scored").touch()


def publish(draft: Path, into: Path) -> None:
    """Put both files in their place."""
    into.mkdir(parents=True, exist_ok=True)
    for name in ("model.safetensors", "model.json"):
        (into / f".{name}.tmp").write_bytes((draft / name).read_bytes())
        os.replace(into / f".{name}.tmp", into / name)


def record(given: argparse.Namespace, told: dict) -> None:
    """Append a row to HISTORY.md, beside the model if that is not the package's."""
    from training.labels import KINDS, SETS
    from training.net import Net, Shape, cost

    shape = Shape(len(KINDS), len(SETS), widths=tuple(given.widths))
    millions = sum(p.numel() for p in Net(shape).parameters()) / 1e6
    megabytes = sum((given.into / name).stat().st_size for name in ("model.safetensors", "model.json")) / 1e6
    cells = [
        date.today().isoformat(), given.name, given.why, f"{told['seconds']:.0f} s, {told['step']} steps, "
        f"{told['scenes']} scenes", f"{millions:.1f} M, {megabytes:.1f} MB, {cost(shape):.0f} GMAC/MP",
        f"{told['blocks']:.3f} / {told['kinds']:.3f} / {told['regions']:.3f}",
    ]  # fmt: skip
    history = (Path(__file__).parent if given.into == PACKAGE else given.into) / "HISTORY.md"
    if not history.exists():
        history.write_text(HEAD)
    with history.open("a") as file:
        file.write("| " + " | ".join(cells) + " |\n")
    say(f"{given.name}: {given.into}")


HEAD = """# Models that were trained

Scenes that took no part in the training: share of changed blocks whose set of kinds is the likeliest, whose kinds are
all on the right side of even odds, and of regions whose set is the likeliest by the mean of their blocks.

| date | name | why | training | size | blocks / kinds / regions |
|---|---|---|---|---|---|
"""


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
