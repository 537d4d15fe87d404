"""A small run of the one command that trains: from pictures to the two files of the model and its history."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from skimage import data

from llise import network

pytest.importorskip("torch", reason="the training needs torch")

ROOT = Path(__file__).parents[1]
SMALL = ("--seconds", "25", "--score-seconds", "20", "--score-scenes", "30", "--workers", "1", "--batch", "2",
         "--capacity", "300", "--side", "64", "--widths", "8", "16", "16", "24")  # fmt: skip


def run(folder: Path, *options: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "training", str(folder / "run"), "--why", "a small run", "--name", "small"]
    command += ["--pictures", str(folder / "photos.npz"), "--into", str(folder / "model"), *SMALL]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "OMP_NUM_THREADS": "1"}
    return subprocess.run([*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    crops = {
        f"{name}{k}": getattr(data, name)()[k : k + 300, :300] for name in ("astronaut", "coffee") for k in (0, 90)
    }
    np.savez(folder / "photos.npz", **crops)
    return folder


def test_the_command_trains_and_refuses_to_calibrate_on_too_little(folder):
    done = run(folder)
    assert done.returncode == 1 and "expected 150: draw more of them, or train longer" in done.stderr
    draft = folder / "run" / "model"
    model = network.load(draft / "model.safetensors", draft / "model.json")
    reference = data.chelsea()[:70, :90]
    said = network.look(reference, 255 - reference, model)
    assert model.name == "small" and said.kinds.shape == (9, 12, len(model.kinds))
    assert np.isfinite(said.sets).all() and np.isfinite(said.kinds).all()
    assert not (folder / "model").exists()


def test_a_second_run_goes_on_and_publishes(folder):
    """With the score said to be fitted, the files are put in their place and the history is written."""
    before = (folder / "run" / "net.pt").stat().st_mtime
    (folder / "run" / "model" / "scored").touch()
    done = run(folder)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (folder / "run" / "net.pt").stat().st_mtime == before
    assert {file.name for file in (folder / "model").iterdir()} == {"model.safetensors", "model.json", "HISTORY.md"}
    assert "a small run" in (folder / "model" / "HISTORY.md").read_text()
