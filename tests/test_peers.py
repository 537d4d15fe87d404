"""The cases that users ask about are what they say, and what other tools say of them comes onto one page."""

from __future__ import annotations

import re

import numpy as np
import pytest
from PIL import Image

import asked
import peers
import peers_page
from llise import datasets

GREY = datasets.reference()[64:160, 64:192]
PIXELS = np.stack([GREY, GREY // 2 + 60, 255 - GREY], axis=-1)


def altered(name):
    return asked.ON_PIXELS[name][1](PIXELS).astype(int)


def ycbcr(pixels):
    return np.asarray(Image.fromarray(pixels.astype(np.uint8)).convert("YCbCr"), int)


@pytest.mark.parametrize("name", asked.ON_PIXELS)
def test_each_change_of_pixels_changes_a_picture(name):
    copy = altered(name)
    assert copy.shape != PIXELS.shape or (copy != PIXELS).any()
    assert copy.min() >= 0 and copy.max() <= 255


@pytest.mark.parametrize("name", ["rounding of one level", "dither"])
def test_what_is_said_to_be_rounding_is_one_level_at_most(name):
    assert np.abs(altered(name) - PIXELS).max() == 1
    assert asked.ON_PIXELS[name][2] == [["original"]]


def test_the_other_changes_are_those_that_are_named():
    assert (altered("limited range") >= 16).all() and (altered("limited range") <= 235).all()
    assert (altered("moved by a pixel")[:, 1:] == PIXELS[:, :-1]).all()
    assert altered("half size").shape == (48, 64, 3)


def test_chroma_of_half_the_size_is_the_mean_of_neighbours_and_luma_stays():
    stripes = np.full((16, 16, 3), 128, np.uint8)
    stripes[:, ::2, 1], stripes[:, 1::2, 1] = 100, 156
    pixels = np.asarray(Image.fromarray(stripes, "YCbCr").convert("RGB"))
    after = ycbcr(asked.ON_PIXELS["4:2:0"][1](pixels))
    assert np.abs(after - 128).max() <= 1


@pytest.mark.parametrize("name", asked.ON_PAGE)
def test_each_change_of_the_page_finds_its_place(name):
    changed = asked.ON_PAGE[name][1](asked.PAGE)
    assert changed != asked.PAGE
    if name == "removed card":
        assert changed.count("<article>") == asked.PAGE.count("<article>") - 1


def test_a_tool_that_fails_or_is_missing_is_said(monkeypatch, tmp_path):
    def broken(reference, copy):
        raise ValueError("no such size")

    told = peers.ask(peers.Peer("x", "1", False, broken), tmp_path / "a", tmp_path / "b")
    assert told.text == "error: no such size" and told.clock >= 0
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    found, missing = peers.installed()
    assert {"llise", "SSIM of scikit-image"} <= {peer.name for peer in found}
    assert "odiff: odiff is not installed: npm install odiff-bin" in missing


def test_the_page_holds_all_pictures_and_all_that_was_said(tmp_path):
    for name, pixels in (("page", PIXELS), ("c", altered("JPEG")), ("h", altered("half size"))):
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / f"{name}.png")
    rows = [
        {"id": f"page: {name}", "picture": "page", "reference": "page.png", "copy": copy, "note": "A <note>."}
        for name, copy in (("coded", "c.png"), ("half size", "h.png"))
    ]
    tools = [
        peers.Peer("same", "1.0", False, lambda a, b: f"{a.name} | {b.name}"),
        peers.Peer("llise", "2.0", True, lambda a, b: "jpeg <b>"),
    ]
    results = {**peers.measure(tmp_path, rows, tools), "left_out": ["z: not there"]}
    peers_page.write_page(tmp_path, rows, results)
    page = (tmp_path / "peers.html").read_text()
    assert (
        page.count("<img ") == 8 and "A &lt;note&gt;." in page and "jpeg &lt;b&gt;" in page and "z: not there" in page
    )
    assert not re.search(r"(src|href)=[\"']?(?!data:)", page.replace('src="data:', ""))
    assert "| page: coded | page.png \\| c.png | jpeg <b> |" in peers.answers(results, rows).markdown()
    assert [row[0] for row in peers.times(results).rows] == ["same 1.0", "llise 2.0"]


def test_a_detail_shows_the_place_with_the_greatest_difference():
    difference = np.zeros((200, 300), int)
    difference[150:160, 220:230] = 9
    left, top, right, bottom = peers_page._place(difference)
    assert (right - left, bottom - top) == peers_page.CROP and right <= 300 and bottom <= 200
    assert left <= 220 and right >= 230 and top <= 150 and bottom >= 160
