"""The gate on the cases that users ask about: a shift, rounding of one level and a new colour are told apart."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from sklearn.datasets import load_sample_image

import asked
from llise.cli.main import commands


def checked(folder, copy, reference="reference.png"):
    """Exit status of the gate, and the kinds of the faults that it names."""
    arguments = ["check", str(folder / reference), str(folder / copy), "--json"]
    result = CliRunner().invoke(commands, arguments, standalone_mode=False)
    assert result.exception is None, result.exception
    (pair,) = json.loads(result.stdout)["pairs"]
    return result.return_value, {kind for fault in pair["faults"] for kind in fault["kinds"]}


@pytest.fixture(scope="module")
def photograph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photograph")
    pixels = load_sample_image("china.jpg")[:320, :480]
    Image.fromarray(pixels).save(folder / "reference.png")
    for name, (_, alter, _) in asked.ON_PIXELS.items():
        Image.fromarray(alter(pixels)).save(folder / f"{name.replace(':', '')}.png")
    return folder


@pytest.mark.parametrize("name", ["rounding of one level", "dither"])
def test_rounding_of_a_photograph_passes(photograph, name):
    assert checked(photograph, f"{name}.png") == (0, set())


def test_a_moved_photograph_is_named_as_that(photograph):
    status, kinds = checked(photograph, "moved by a pixel.png")
    assert status == 1 and kinds == {"misalignment"}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if not any(map(shutil.which, asked.BROWSERS)):
        pytest.skip("no browser is installed to render the page")
    folder = tmp_path_factory.mktemp("page")
    asked.render(asked.PAGE, folder / "reference.png")
    for name in ("page moved by a pixel", "recoloured button"):
        asked.render(asked.ON_PAGE[name][1](asked.PAGE), folder / f"{name}.png")
    pixels = np.asarray(Image.open(folder / "reference.png"))
    Image.fromarray(asked.ON_PIXELS["rounding of one level"][1](pixels)).save(folder / "rounding.png")
    return folder


def test_a_page_moved_rounded_and_recoloured_gets_three_answers(page):
    status, moved = checked(page, "page moved by a pixel.png")
    assert status == 1 and "misalignment" in moved
    assert checked(page, "rounding.png") == (0, set())
    status, recoloured = checked(page, "recoloured button.png")
    assert status in (1, 3) and recoloured and "misalignment" not in recoloured
