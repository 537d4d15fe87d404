"""The HTML report: self-contained, safe against hostile names, small, and whole or not there."""

import base64
import io
import json
import re

import numpy as np
import pytest
from PIL import Image
from samples import diagnosis, manifold

from llise.labels import KINDS, LABELS, PAPER_MIXTURES
from llise.output.page import HtmlReport, picture_uri, script_json
from llise.output.words import COLOURS, verdict_sentence

HOSTILE = '</script><img src=x onerror="alert(1)">&amp;.png'


def write_html(path, trained, diagnoses, title="Image diagnosis"):
    with HtmlReport(path, trained, title) as report:
        for found in diagnoses:
            report.add(found)


def block(page, name):
    """The JSON of one script element."""
    return json.loads(re.search(f'<script type="application/json" id="{name}">(.*?)</script>', page).group(1))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    trained = manifold(128, 96)
    found = [diagnosis(trained, ("original",), file=HOSTILE), diagnosis(trained, ("blur", "jpeg"), 1)]
    write_html(path, trained, found, title="<b>Title</b>")
    return path.read_text(encoding="utf-8")


def test_nothing_in_the_page_refers_to_another_place(page):
    assert not re.search(r"""(src|href)=["'](?!data:)""", page)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|WebSocket", page)
    addresses = set(re.findall(r"https?://[^\"'\s]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of SVG, not an address that is loaded
    assert "default-src 'none'" in page


def test_hostile_names_stay_text(page):
    assert "<img src=x" not in page and "<b>Title" not in page
    assert "&lt;b&gt;Title&lt;/b&gt;" in page
    assert page.count("<script") == page.count("</script>") == 5
    assert block(page, "results")["images"][0]["file"] == HOSTILE


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "a&b", "\u2028\udcff", '"\\'])
def test_json_in_a_script_element_reads_back(text):
    written = script_json({"name": text})
    assert not set("<>&") & set(written)
    assert json.loads(written) == {"name": text}


def test_json_never_holds_nan():
    with pytest.raises(ValueError):
        script_json(float("nan"))


def test_block_maps_read_back_as_they_were(page):
    stored, original = block(page, "image-1"), diagnosis(manifold(128, 96), ("blur", "jpeg"), 1)
    rows, cols = original.block_grid
    assert (stored["rows"], stored["cols"], stored["m"]) == (rows, cols, 3)
    read = {key: base64.b64decode(stored[key]) for key in ("labels", "severity", "nearest")}
    assert np.array_equal(np.frombuffer(read["labels"], "u1").reshape(rows, cols), original.block_labels)
    severity = np.frombuffer(read["severity"], "<u2").reshape(rows, cols) / 10
    assert np.abs(severity - original.block_severity).max() <= 0.051
    nearest = np.frombuffer(read["nearest"], "<u2").reshape(rows, cols, 3)
    assert np.array_equal(nearest, original.nearest[..., :3])


def test_an_infinite_psnr_is_null(page):
    images = block(page, "results")["images"]
    assert images[0]["psnr"] is None and images[1]["psnr"] > 0


def test_the_display_copy_has_the_image_s_size_and_look(page):
    original = diagnosis(manifold(128, 96), ("blur", "jpeg"), 1).image
    content = base64.b64decode(block(page, "image-1")["picture"].split(",")[1])
    shown = np.asarray(Image.open(io.BytesIO(content)).convert("L")).astype(float)
    assert shown.shape == original.shape
    assert np.mean((shown - original) ** 2) < 0.5 * np.var(original)


def test_twelve_images_of_512_take_at_most_3_mb(tmp_path):
    trained = manifold(512, 512)
    verdicts = [(kind,) for kind in KINDS] + list(PAPER_MIXTURES)
    write_html(tmp_path / "r.html", trained, (diagnosis(trained, v, i) for i, v in enumerate(verdicts)))
    assert (tmp_path / "r.html").stat().st_size <= 3_000_000


def test_even_pure_noise_is_shown_within_the_budget():
    noise = np.random.default_rng(0).integers(0, 256, (512, 512)).astype(np.uint8)
    assert len(picture_uri(noise)) < 200_000


def test_large_pictures_are_shown_smaller():
    content = base64.b64decode(picture_uri(np.zeros((1500, 3000), np.uint8)).split(",")[1])
    assert Image.open(io.BytesIO(content)).size == (1024, 512)


def test_an_error_while_images_come_leaves_no_file(tmp_path):
    trained = manifold(64, 64)
    with pytest.raises(KeyboardInterrupt), HtmlReport(tmp_path / "r.html", trained) as report:
        report.add(diagnosis(trained, ("blur",)))
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_what_could_not_be_judged_is_mentioned(tmp_path):
    with HtmlReport(tmp_path / "r.html", manifold(64, 64)) as report:
        report.add_failure("a.png: truncated")
    assert block((tmp_path / "r.html").read_text(), "results") == {
        "images": [],
        "failures": ["a.png: truncated"],
    }


def test_the_verdict_is_one_sentence():
    trained = manifold(128, 128)
    pristine = verdict_sentence(diagnosis(trained, ("original",)))
    assert pristine == "No distortion found: a faithful copy of the reference, 93 % confident."
    pair = diagnosis(trained, ("blur", "gaussian_noise"))
    pair.severity = {"blur": 312.4, "gaussian_noise": 20.0}
    pair.block_severity = np.ones((16, 16), np.float32)
    sentence = verdict_sentence(pair)
    assert sentence == "Strong blur (MSE 312) and slight Gaussian noise (MSE 20), 93 % confident."
    pair.block_severity[:4, -4:] = 9
    assert ", most at the top right, " in verdict_sentence(pair)


def test_every_label_has_a_colour_of_its_own():
    assert len(set(COLOURS)) == len(LABELS)
