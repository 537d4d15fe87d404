"""A small run of the one command that trains: from pictures to the two files of the model and its history."""

import json
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
SMALL = ("--seconds", "25", "--score-seconds", "20", "--score-scenes", "12", "--workers", "1", "--batch", "2",
         "--capacity", "300", "--side", "64", "--widths", "8", "16", "16", "24")  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    pictures = {
        f"{name}{k}": getattr(data, name)()[k : k + 300, :300] for name in ("astronaut", "coffee") for k in (0, 90)
    }
    np.savez(folder / "photos.npz", **pictures)
    command = [sys.executable, "-m", "training", str(folder / "run"), "--why", "a small run", "--name", "small"]
    command += ["--pictures", str(folder / "photos.npz"), "--into", str(folder / "model"), *SMALL]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_the_command_writes_a_model_that_looks(trained):
    model = network.load(trained / "model" / "model.safetensors", trained / "model" / "model.json")
    reference = data.chelsea()[:70, :90]
    said = network.look(reference, 255 - reference, model)
    assert model.name == "small" and said.kinds.shape == (9, 12, len(model.kinds))
    assert np.isfinite(said.sets).all() and np.isfinite(said.kinds).all()


def test_the_score_was_fitted_and_the_history_written(trained):
    from training.tuned import DEFAULTS

    told = json.loads((trained / "model" / "model.json").read_text())
    assert told["tuned"]["score"]["weights"] != DEFAULTS["score"]["weights"]
    assert "a small run" in (trained / "model" / "HISTORY.md").read_text()


def test_a_second_run_takes_what_is_there(trained):
    before = (trained / "run" / "net.pt").stat().st_mtime
    assert (trained / "run" / "model" / "scored").exists() and (trained / "run" / "network.json").exists()
    command = [
        sys.executable,
        "-m",
        "training",
        str(trained / "run"),
        "--why",
        "again",
        "--into",
        str(trained / "model"),
    ]
    command += ["--pictures", str(trained / "photos.npz"), *SMALL]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=120)
    assert (trained / "run" / "net.pt").stat().st_mtime == before
