"""The HTML report: self-contained, safe against hostile names, small, and whole or not there."""

import base64
import io
import json
import re
import zlib

import numpy as np
import pytest
from PIL import Image
from samples import (
    ESTIMATES,
    SCENES,
    block_region,
    blur_over_jpeg,
    context,
    diagnosis,
    doubtful,
    fault,
    hot_pixels,
    mixture,
    other_scene,
    pristine_copy,
    two_regions,
    unknown,
)

from llise.diagnosis.result import BLOCK_LABELS, Interval
from llise.labels import KINDS, PAPER_MIXTURES
from llise.output.page import HtmlReport, script_json
from llise.output.pictures import DISPLAY_SIDE, PATCH_SIDE, difference_picture, patch_boxes, picture_uri
from llise.output.words import COLOURS, NAMES, fault_phrase, place_words, verdict_sentence

HOSTILE = '</script><img src=x onerror="alert(1)">&amp;.png'


def write_html(path, trained, diagnoses, title="Image diagnosis"):
    with HtmlReport(path, trained, title) as report:
        for result in diagnoses:
            report.add(result)


def block(page, name):
    """The JSON of one script element."""
    return json.loads(re.search(f'<script type="application/json" id="{name}">(.*?)</script>', page).group(1))


def unpacked(text):
    """Bytes of a stored block map."""
    return zlib.decompress(base64.b64decode(text))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    trained = context(128, 96)
    results = [diagnosis(trained, ("original",), file=HOSTILE), diagnosis(trained, ("blur", "jpeg"), 1)]
    write_html(path, trained, results, title="<b>Title</b>")
    return path.read_text(encoding="utf-8")


def test_nothing_in_the_page_refers_to_another_place(page):
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", page)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|WebSocket", page)
    addresses = set(re.findall(r"https?://[^\"'\s]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of SVG, not an address that is loaded
    assert "default-src 'none'" in page


def test_hostile_names_stay_text(page):
    assert "<img src=x" not in page and "<b>Title" not in page
    assert "&lt;b&gt;Title&lt;/b&gt;" in page
    assert page.count("<script") == page.count("</script>") == 5
    assert block(page, "results")["images"][0]["file"] == HOSTILE


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "a&b", "\u2028\x7f\U0001f600", '"\\'])
def test_json_in_a_script_element_reads_back(text):
    written = script_json({"name": text})
    assert not set("<>&") & set(written)
    assert json.loads(written) == {"name": text}


def test_json_shows_what_is_no_unicode_as_an_escape():
    assert json.loads(script_json("caf\udce9 \\udce9 \U0001f600")) == "caf\\udce9 \\udce9 \U0001f600"


def test_json_never_holds_nan():
    with pytest.raises(ValueError):
        script_json(float("nan"))


def test_block_maps_read_back_as_they_were(page):
    stored, original = block(page, "image-1"), diagnosis(context(128, 96), ("blur", "jpeg"), 1)
    rows, cols = original.block_grid
    assert (stored["rows"], stored["cols"]) == (rows, cols)
    read = {key: unpacked(stored[key]) for key in ("labels", "severity")}
    assert np.array_equal(np.frombuffer(read["labels"], "u1").reshape(rows, cols), original.block_labels)
    roots = np.frombuffer(read["severity"], "<u2").reshape(rows, cols) / 256
    assert np.abs(roots - np.sqrt(original.block_severity)).max() <= 0.0021


def test_a_block_of_the_largest_error_fits(tmp_path):
    of = context(64, 64)
    result = diagnosis(of, ("blur",))
    result.block_severity[0, 0] = 255**2
    write_html(tmp_path / "r.html", of, [result])
    stored = block((tmp_path / "r.html").read_text(), "image-0")
    assert np.frombuffer(unpacked(stored["severity"]), "<u2")[0] == 255 * 256


def test_every_sort_of_diagnosis_is_written_with_what_was_tried(tmp_path):
    of = context(126, 190)
    results = [scene(of) for scene in SCENES]
    write_html(tmp_path / "r.html", of, results)
    text = (tmp_path / "r.html").read_text()
    for number, result in enumerate(results):
        why = block(text, f"image-{number}")["why"]
        assert [len(one["tried"]) for one in why] == [len(one.candidates) for one in result.why]
    (tried,) = (one["tried"] for one in block(text, "image-1")["why"])
    assert tried[0] == {"kinds": [NAMES["jpeg"]], "network": -0.1, "explained": 0.95, "probability": 0.97}
    assert tried[1]["explained"] is None


def test_faults_are_stored_with_phrase_settings_and_runs(tmp_path):
    of = context(128, 128)
    write_html(tmp_path / "r.html", of, [blur_over_jpeg(of)])
    whole, part = block((tmp_path / "r.html").read_text(), "image-0")["faults"]
    assert whole["place"] == "whole picture" and whole["runs"] == [[row, 0, 15] for row in range(16)]
    assert part["phrase"] == "Blur of about 2.1\u00a0px at the lower left (14\u00a0% of the area)"
    assert part["settings"] == [[BLOCK_LABELS.index("blur"), "sigma", "2.1 px", "1.9 to 2.3"]]


def test_an_infinite_psnr_is_null(page):
    images = block(page, "results")["images"]
    assert images[0]["psnr"] is None and images[1]["psnr"] > 0


def test_the_display_copy_has_the_image_s_size_and_look(page):
    original = diagnosis(context(128, 96), ("blur", "jpeg"), 1).image
    content = base64.b64decode(block(page, "image-1")["picture"].split(",")[1])
    shown = np.asarray(Image.open(io.BytesIO(content)).convert("L")).astype(float)
    assert shown.shape == original.shape
    assert np.mean((shown - original) ** 2) < 0.5 * np.var(original)


def test_twelve_images_of_512_take_at_most_3_mb(tmp_path):
    trained = context(512, 512)
    verdicts = [(kind,) for kind in KINDS] + list(PAPER_MIXTURES)
    write_html(tmp_path / "r.html", trained, (diagnosis(trained, v, i) for i, v in enumerate(verdicts)))
    assert (tmp_path / "r.html").stat().st_size <= 3_000_000


def test_even_pure_noise_is_shown_within_the_budget():
    noise = np.random.default_rng(0).integers(0, 256, (512, 512)).astype(np.uint8)
    assert len(picture_uri(noise)) < 200_000


def test_large_pictures_are_shown_smaller():
    content = base64.b64decode(picture_uri(np.zeros((1500, 3000), np.uint8)).split(",")[1])
    assert Image.open(io.BytesIO(content)).size == (1024, 512)


def shown(uri):
    """Pixels of a picture in the page."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))).convert("L")).astype(float)


def test_the_pictures_of_very_many_images_are_small(tmp_path):
    of = context(256, 256)
    sizes = {}
    for n_images in (1, 6000):
        with HtmlReport(tmp_path / "r.html", of, n_images=n_images) as report:
            report.add(diagnosis(of, ("blur",)))
        sizes[n_images] = sum(
            len(value)
            for value in block((tmp_path / "r.html").read_text(), "image-0").values()
            if isinstance(value, str)
        )
    assert sizes[6000] < 20_000 < sizes[1]  # some 100 MB for all of them


def test_the_difference_is_that_of_the_original_pixels(tmp_path):
    of = context(64, 64)
    result = two_regions(of)
    write_html(tmp_path / "r.html", of, [result])
    stored = block((tmp_path / "r.html").read_text(), "image-0")
    difference = result.image.astype(float) - of.reference
    estimate = (shown(stored["difference"]) - 128) * stored["differenceRange"] / 127.5
    assert np.sqrt(np.mean((estimate - difference).clip(-30, 30) ** 2)) < 3
    light = result.faults[1].region.repeat(8, 0).repeat(8, 1)
    assert np.median(estimate[light]) == pytest.approx(12, abs=1)


def test_an_equal_copy_has_an_even_difference():
    even, largest = difference_picture(OF.reference, OF.reference)
    assert (even == 128).all() and largest > 0


def test_large_pictures_have_patches_of_the_worst_blocks_at_full_resolution(tmp_path):
    of = context(600, DISPLAY_SIDE + 200)
    result = two_regions(of)
    write_html(tmp_path / "r.html", of, [result])
    patches = block((tmp_path / "r.html").read_text(), "image-0")["patches"]
    assert [patch["fault"] for patch in patches] == [0, 1]
    for patch, item in zip(patches, result.faults):
        x, y, width, height = patch["box"]
        assert (width, height) == (PATCH_SIDE, PATCH_SIDE)
        worst = np.argwhere(item.region & (result.block_severity == result.block_severity[item.region].max()))[0] * 8
        assert y <= worst[0] < y + height and x <= worst[1] < x + width
        for name, picture in (("copy", result.image), ("reference", of.reference)):
            original = picture[y : y + height, x : x + width].astype(float)
            assert np.mean((shown(patch[name]) - original) ** 2) < 20


def test_pictures_that_are_shown_whole_have_no_patches():
    assert patch_boxes(two_regions(OF)) == []


def test_an_error_while_images_come_leaves_no_file(tmp_path):
    trained = context(64, 64)
    with pytest.raises(KeyboardInterrupt), HtmlReport(tmp_path / "r.html", trained) as report:
        report.add(diagnosis(trained, ("blur",)))
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_what_could_not_be_judged_is_mentioned(tmp_path):
    with HtmlReport(tmp_path / "r.html", context(64, 64)) as report:
        report.add_failure("a.png: truncated")
    assert block((tmp_path / "r.html").read_text(), "results") == {
        "images": [],
        "failures": ["a.png: truncated"],
    }


@pytest.mark.parametrize(
    ("scene", "sentence"),
    [
        (pristine_copy, "No difference beyond rounding."),
        (
            blur_over_jpeg,
            "JPEG compression, quality about 12, over the whole picture; "
            "blur of about 2.1 px at the lower left (14 % of the area).",
        ),
        (
            two_regions,
            "Gaussian noise with a deviation of about 8 grey levels at the upper left (10 % of the area); "
            "lighter by about 12 grey levels at the lower right (12 % of the area).",
        ),
        (mixture, "Blur of about 2.1 px and Gaussian noise (deviation about 8) in the middle (14 % of the area)."),
        (doubtful, "Probably raised contrast, gain about 1.3, at the upper right (10 % of the area), 62 % confident."),
        (unknown, "Strong fault of no known kind at the left (10 % of the area)."),
        (other_scene, "This does not look like a copy of the reference."),
        (hot_pixels, "Impulse noise in 3 pixels at the upper left."),
    ],
)
def test_the_diagnosis_is_one_sentence(scene, sentence):
    assert verdict_sentence(scene(context(128, 128))) == sentence


OF = context(128, 128)
CORNER = block_region(OF, 0, 0, 0.25, 0.25)


@pytest.mark.parametrize(
    ("kind", "estimate", "words"),
    [
        ("blur", {"sigma": Interval(2.0, 1.8, 2.2)}, "blur of about 2 px at"),
        ("blur", {"length": Interval(9, 8, 10), "angle": Interval(30, 20, 40)}, "motion blur of about 9 px at 30 deg"),
        ("blur", {"radius": Interval(3, 2.5, 3.5)}, "lens blur of radius 3 px at"),
        ("blur", {}, "strong blur at"),
        ("jpeg", {"quality": Interval(12, 4, 40)}, "JPEG compression, quality 4 to 40, at"),
        ("impulse_noise", {"share": Interval(0.05, 0.04, 0.06)}, "impulse noise in about 5 % of the pixels at"),
        ("impulse_noise", {"share": Interval(1 / 1024, 0, 1)}, "impulse noise in 1 pixel at"),
        ("contrast", {"gain": Interval(0.7, 0.6, 0.8)}, "reduced contrast, gain about 0.7, at"),
        ("luminance", {"offset": Interval(-12, -13, -11)}, "darker by about 12 grey levels at"),
        ("luminance", {"offset": Interval(4.4, 4, 5)}, "lighter by about 4.4 grey levels at"),
    ],
)
def test_estimates_are_said_in_the_units_of_the_kind(kind, estimate, words):
    phrase = fault_phrase(fault(OF, (kind,), CORNER, estimate={kind: estimate}), 128 * 128)
    assert phrase.startswith(words) and "at the upper left" in phrase


@pytest.mark.parametrize("pair", PAPER_MIXTURES)
def test_both_kinds_of_a_mixture_are_said(pair):
    phrase = fault_phrase(fault(OF, pair, CORNER), 128 * 128)
    assert " and " in phrase and phrase.endswith(" at the upper left (6 % of the area)")


@pytest.mark.parametrize(
    ("rectangles", "place"),
    [
        ([(0, 0, 1, 1)], "whole picture"),
        ([(0, 0, 0.3, 0.3)], "upper left"),
        ([(0, 0, 0.3, 1)], "top"),
        ([(0, 0.7, 0.3, 1)], "upper right"),
        ([(0, 0, 1, 0.4)], "left"),
        ([(0.4, 0.4, 0.6, 0.6)], "middle"),
        ([(0.4, 0.7, 0.6, 1)], "right"),
        ([(0.7, 0, 1, 0.3)], "lower left"),
        ([(0.7, 0, 1, 1)], "bottom"),
        ([(0.7, 0.7, 1, 1)], "lower right"),
        ([(0.1, 0.1, 0.95, 0.95)], "most of it"),
        ([(0, 0, 0.2, 0.2), (0.8, 0.8, 1, 1)], "scattered"),
        ([(0, 0, 0.1, 1), (0.9, 0, 1, 1), (0, 0, 1, 0.1), (0, 0.9, 1, 1)], "scattered"),
    ],
)
def test_the_place_is_where_the_region_is(rectangles, place):
    region = np.any([block_region(OF, *rectangle) for rectangle in rectangles], axis=0)
    assert place_words(fault(OF, ("blur",), region)) == place


@pytest.mark.parametrize(("confidence", "word"), [(0.95, ""), (0.7, "probably "), (0.3, "possibly ")])
def test_doubt_is_said(confidence, word):
    phrase = fault_phrase(fault(OF, ("blur",), CORNER, confidence), 128 * 128)
    assert phrase.startswith(f"{word}blur of") and ("confident" in phrase) == bool(word)


def test_every_label_has_a_name_and_a_colour_of_its_own():
    assert len(set(COLOURS)) == len(set(NAMES.values())) == len(BLOCK_LABELS)
    assert set(ESTIMATES) == set(KINDS)
