"""The kind of docs/add-a-kind.md: its code draws, applies and fits; with one line, the training draws scenes of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from llise import distortions
from llise.kinds import registry
from llise.kinds.fitting import explained
from llise.kinds.grey import mse

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "add-a-kind.md").read_text(encoding="utf-8")
CODE = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
LINE = re.search(r"^FURTHER_KINDS = .*$", PAGE, re.MULTILINE)[0]

SCENES = """
import json
import numpy as np
from training import labels, scenes

rng = np.random.default_rng(0)
picture = rng.integers(90, 160, (12, 12, 3)).repeat(16, 0).repeat(16, 1).astype(np.uint8)
picture += rng.integers(0, 30, picture.shape, np.uint8)
for seed in range(400):
    scene = scenes.draw_scene(picture, np.random.default_rng(seed), 64)
    if scene is not None and "moire" in scene.settings:
        found = bool((scene.labels >> np.uint32(labels.KINDS.index("moire")) & 1).any())
        print(json.dumps({"kinds": labels.KINDS, "settings": scene.settings["moire"], "labelled": found}))
        break
"""


@pytest.fixture(scope="module")
def kind():
    module = ModuleType("moire")
    sys.modules["moire"] = module  # dataclasses look their module up
    exec(compile(CODE, "docs/add-a-kind.md", "exec"), module.__dict__)
    registry.register(module.Moire())
    yield registry.get("moire")
    registry.unregister("moire")
    del sys.modules["moire"]


def picture(color: bool) -> np.ndarray:
    rng = np.random.default_rng(3)
    soft = rng.integers(60, 190, (12, 10, 3)).repeat(8, 0).repeat(8, 1) + rng.integers(-9, 10, (96, 80, 3))
    return soft.astype(np.uint8) if color else soft[..., 1].astype(np.uint8)


@pytest.mark.parametrize("color", [False, True])
def test_draws_are_what_their_settings_make_and_fits_find_these(kind, color):
    image, inside = picture(color), 0
    for seed in range(12):
        draw = kind.draw(image, np.random.default_rng(seed))
        settings = draw.settings(12.0)
        copy = draw.path(12.0)
        assert np.array_equal(copy, kind.apply(image, settings))
        fit = kind.fit(image.astype(np.float32), copy.astype(np.float32), np.ones(image.shape[:2], bool))
        assert fit.parameters["amplitude"] == pytest.approx(12, rel=0.05)
        assert fit.parameters["period"] == pytest.approx(settings.period, rel=0.01)
        assert explained(fit, image, copy, np.ones(image.shape[:2], bool)) > 0.97
        inside += sum(low <= settings.words()[word] <= high for word, (low, high) in fit.intervals.items())
    assert inside >= 18  # of 24, of which 90 % are promised


def test_a_region_is_enough_and_an_equal_copy_has_no_fit(kind):
    image = picture(True)
    mask = np.zeros(image.shape[:2], bool)
    mask[16:72, 24:80] = True
    settings = kind.Settings(20.0, 5.3, 40.0, 1.0)
    copy = np.where(mask[..., None], kind.apply(image, settings), image)
    fit = kind.fit(image, copy, mask)
    assert fit.settings.angle == pytest.approx(40, abs=1) and fit.parameters["period"] == pytest.approx(5.3, rel=0.01)
    assert kind.fit(image, image, mask) is None


def test_copies_reach_a_wanted_error(kind):
    copy = distortions.make(picture(False), "moire", mse=60, random_state=0)
    assert copy.reached and mse(picture(False), copy.image) == pytest.approx(60, rel=0.05)


def test_with_the_file_and_the_line_the_training_draws_scenes(tmp_path):
    skipped = shutil.ignore_patterns("__pycache__", "*.safetensors")
    for folder in ("src/llise", "training"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=skipped)
    (tmp_path / "src/llise/kinds/moire.py").write_text(CODE)
    labels = tmp_path / "src/llise/labels.py"
    text, count = re.subn(r"^FURTHER_KINDS = .*$", LINE, labels.read_text(), flags=re.MULTILINE)
    labels.write_text(text)
    assert count == 1
    environment = {"PYTHONPATH": f"{tmp_path / 'src'}:{tmp_path}", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", SCENES], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert "moire" in found["kinds"] and set(found["settings"]) == {"amplitude", "period"} and found["labelled"]
