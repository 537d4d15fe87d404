"""What others run: the Dockerfile without Docker, the GitHub workflow of docs/ci.md, the pre-commit hook."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image
from samples import picture

from llise.cli.main import main

ROOT = Path(__file__).parent.parent
CI = (ROOT / "docs" / "ci.md").read_text()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with originals and images, one of which is a good JPEG and one a bad one."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("originals", "images"):
        (folder / name).mkdir()
    reference = picture(96, 96, seed=3)
    for name, quality in (("good", 90), ("bad", 3)):
        Image.fromarray(reference).save(folder / "originals" / f"{name}.png")
        Image.fromarray(reference).save(folder / "images" / f"{name}.jpg", quality=quality)
    return folder


def instructions():
    """The Dockerfile as pairs of instruction and arguments."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(None, 1)) for line in lines]


def test_the_steps_of_the_dockerfile_work(tmp_path):
    """Its copies and its pip command, run in a folder instead of a container; dependencies are there already."""
    context, ignored = tmp_path / "root", (ROOT / ".dockerignore").read_text().split()
    for name, arguments in instructions():
        if name != "COPY":
            continue
        *sources, target = arguments.split()
        for source in sources:
            assert f"!{source}" in ignored, f"{source} is not in the build context"
            place = context / target.lstrip("/") / (source if target.endswith("/") else "")
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
            else:
                shutil.copy(ROOT / source, place)
    (pip,) = (arguments for name, arguments in instructions() if name == "RUN" and "pip install" in arguments)
    site = tmp_path / "site"
    command = pip.replace("/src", str(context / "src")).replace("pip install", f"{sys.executable} -m pip install", 1)
    settings = {"PIP_NO_DEPS": "1", "PIP_TARGET": str(site), "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"}
    done = subprocess.run(command, shell=True, env={**os.environ, **settings}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (context / "src").exists()  # the sources are removed from the image
    assert (site / "llise" / "network" / "model.safetensors").stat().st_size > 1_000_000
    assert {path.name for path in (site / "llise" / "engine" / "cuda").iterdir()} >= {"embedding.cu", "rows.cuh"}
    assert (site / "llise" / "output" / "templates" / "check.html").is_file()
    (entry,) = (json.loads(arguments) for name, arguments in instructions() if name == "ENTRYPOINT")
    program = site / "bin" / entry[0]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run([program, "--help"], env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and "check" in done.stdout


def test_the_container_is_slim_and_does_not_run_as_root():
    steps = dict(instructions())
    assert re.fullmatch(r"python:3\.\d+-slim", steps["FROM"])
    assert steps["USER"] == "llise" and steps["WORKDIR"] == "/work"
    names = [name for name, _ in instructions()]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert any("useradd" in arguments and "llise" in arguments for name, arguments in instructions() if name == "RUN")


def block(language, first_line):
    """A code block of docs/ci.md."""
    (text,) = (text for text in re.findall(rf"```{language}\n(.*?)```", CI, re.DOTALL) if text.startswith(first_line))
    return text


def run_here(command, folder, **environment):
    """Run a shell command in which ``llise`` is this one."""
    llise = f"{shlex.quote(sys.executable)} -m llise"
    done = subprocess.run(
        ["bash", "-e", "-c", re.sub(r"^llise\b", llise, command, flags=re.MULTILINE)],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True,
    )  # fmt: skip
    return done


def test_the_github_workflow_makes_every_file_that_its_later_steps_use(project, tmp_path):
    workflow = yaml.safe_load(block("yaml", "name: Images"))
    assert True in workflow or "on" in workflow  # YAML reads the key "on" as true
    steps = workflow["jobs"]["check"]["steps"]
    assert all(fnmatch(step["uses"], "actions/*@v*") for step in steps if "uses" in step)
    compare = next(step["run"] for step in steps if step.get("name") == "Compare the images")
    done = run_here(compare, project)
    assert done.returncode == 1 and "PASS     good.jpg" in done.stdout and "FAIL     bad.jpg" in done.stdout
    (kept,) = (step["with"]["path"] for step in steps if "upload-artifact" in step.get("uses", ""))
    results = {path.relative_to(project / kept).as_posix() for path in (project / kept).rglob("*") if path.is_file()}
    assert {"junit.xml", "comment.md", "page.html", "differences/bad.jpg.diff.png"} <= results
    show = next(step["run"] for step in steps if step.get("name") == "Show the results")
    summary = tmp_path / "summary.md"
    assert run_here(show, project, GITHUB_STEP_SUMMARY=str(summary)).returncode == 0
    assert "bad.jpg" in summary.read_text()
    comment = next(step["run"] for step in steps if step.get("name") == "Comment on the pull request")
    assert "--body-file results/comment.md" in comment


def test_the_pre_commit_hook_runs(project):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["language"] == "python" and hook["pass_filenames"] is False
    example = yaml.safe_load(block("yaml", "repos:"))["repos"][0]["hooks"][0]
    assert example["id"] == hook["id"]
    done = run_here(f"{hook['entry']} {shlex.join(example['args'])}", project)
    assert done.returncode == 1 and "2 pairs: 1 failed, 1 passed" in done.stdout


def test_the_settings_file_of_the_documentation_is_valid(tmp_path):
    from llise.gate.settings import read_settings

    path = tmp_path / ".llise.toml"
    path.write_text(block("toml", r"[check]"))
    settings = read_settings(path)
    assert settings.rules_for("icons/a.png").max_mse == 0
    assert settings.rules_for("screenshots/a.png").mask == tmp_path / "masks" / "screenshots.png"


def test_the_documentation_names_every_option_and_kind(capsys):
    from llise.gate.rules import UNKNOWN
    from llise.kinds.limits import LIMITS

    with pytest.raises(SystemExit):
        main(["check", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--quiet", "--help"}
    assert options and not {option for option in options if option not in CI}
    assert all(f"| `{kind}` |" in CI for kind in (*LIMITS, UNKNOWN))


def test_the_lines_of_the_documentation_are_those_of_the_program(tmp_path, monkeypatch, capsys):
    import llise

    monkeypatch.chdir(tmp_path)
    reference = llise.datasets.reference()
    Image.fromarray(np.asarray(reference)).save("original.png")
    Image.fromarray(reference).save("copy.jpg", quality=40)
    command, line = block("", "$ llise check").splitlines()
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command)[2:])
    assert ended.value.code == 1
    assert capsys.readouterr().out == f"{line}\n"
