"""The report in a real browser: headless Chromium."""

import subprocess
import sys
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest
from PIL import Image
from samples import context, diagnosis, picture

from llise.output.markup import Heading, Picture, Table, Text, code_span, to_html
from llise.output.page import HtmlReport
from llise.output.words import NAMES

selenium = pytest.importorskip("selenium", reason="selenium is not installed (extra 'test')")
from browsing import assert_no_request_left, column, drawn, one, opened, press, resize, wait_for  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

HOSTILE = "<img src=x onerror=window.hacked=1>.png"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Five images whose measures are in no order, a hostile name among them; sides not multiples of 8."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    trained = context(126, 190)
    verdicts = [("blur",), ("original",), ("jpeg", "gaussian_noise"), ("impulse_noise",), ("luminance",)]
    names = ["c.png", "a.png", HOSTILE, "folder/d.png", "x" * 120 + ".png"]
    with HtmlReport(path, trained, title="Browser test") as page:
        for seed, (verdict, name) in enumerate(zip(verdicts, names)):
            result = diagnosis(trained, verdict, seed, name)
            result.ssim = [0.5, 1.0, 0.7, 0.2, 0.9][seed]
            page.add(result)
        page.add_failure(f"{HOSTILE}: damaged or truncated; export it again")
    return path.as_uri()


@pytest.fixture
def page(browser, report):
    return opened(browser, report)


def test_the_console_stays_silent_and_no_request_leaves_the_page(page):
    for button in page.find_elements("css selector", "th button, #theme, .fault"):
        button.click()
    press(page, "overlay", "ssim")
    page.find_elements("css selector", "#rows tr")[2].click()
    wait_for(page, "return document.body.dataset.shown !== '0'")
    assert page.get_log("browser") == []
    assert_no_request_left(page)


def test_hostile_names_are_shown_as_text(page):
    assert HOSTILE in column(page, 2)
    page.find_elements("css selector", "#rows tr")[2].click()
    wait_for(page, "return document.body.dataset.shown === '2'")
    assert one(page, "#file").text == HOSTILE
    assert page.execute_script("return window.hacked") is None
    assert HOSTILE in one(page, "#failures").text


INJECTED = (
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'><p id=red style='color: red'>x</p>"
    "<a id=link href='javascript:window.hacked = 3'>x</a><img src='http://127.0.0.1:9/x.png'>"
)


@pytest.mark.parametrize("sort", ["report", "document"])
def test_markup_that_reached_a_page_would_do_nothing(browser, tmp_path, report, sort):
    """The last line of defence: the policy of the page forbids whatever is not its own."""
    text = Path(url2pathname(urlparse(report).path)).read_text() if sort == "report" else to_html([Text("x")], tmp_path)
    (tmp_path / "page.html").write_text(text.replace("<body>", f"<body>{INJECTED}"))
    browser.get((tmp_path / "page.html").as_uri())
    one(browser, "#link").click()
    assert browser.execute_script("return window.hacked") is None
    assert browser.execute_script("return getComputedStyle(document.getElementById('red')).color") != "rgb(255, 0, 0)"
    assert sum("Content Security Policy" in entry["message"] for entry in browser.get_log("browser")) >= 5


def test_the_page_of_a_reproduction_breaks_no_rule_of_its_policy(browser, tmp_path):
    Image.fromarray(picture(16, 16)).save(tmp_path / "map.png")
    name = f"`{HOSTILE}` [a](javascript:window.hacked=1)"
    parts = [
        Heading("Title", 1),
        Text(f"The reference is {code_span(name)}."),
        Table(["a", "b"], [["1", "2\n3"]]),
        Picture("map.png", "A map."),
    ]
    (tmp_path / "page.html").write_text(to_html(parts, tmp_path))
    browser.get_log("browser")
    browser.get((tmp_path / "page.html").as_uri())
    assert one(browser, "code").text == name and not browser.find_elements("css selector", "a, script")
    assert browser.execute_script("return getComputedStyle(document.querySelector('td')).textAlign") == "right"
    assert browser.execute_script("return document.querySelector('img').naturalWidth") == 16
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [400, 760, 1000, 1400, 1600])
def test_the_page_fits_its_window(page, width):
    resize(page, width)
    inside = "return [document.documentElement.scrollWidth, window.innerWidth]"
    needed, there = page.execute_script(inside)
    assert there == width and needed <= width
    frame = page.execute_script(
        "const f = document.querySelector('.table-frame'); return [f.scrollWidth, f.clientWidth]"
    )
    assert frame[0] <= frame[1]


def test_the_overlay_can_be_switched_off_and_to_ssim(page):
    pictures = [drawn(page)]
    for choice in ("error", "ssim", "off"):
        press(page, "overlay", choice)
        pictures.append(drawn(page))
    assert len(set(pictures)) == 4
    press(page, "overlay", "kinds")
    assert drawn(page) == pictures[0]


def test_the_slider_fades_the_overlay_until_it_is_gone(page):
    press(page, "overlay", "off")
    bare = drawn(page)
    press(page, "overlay", "kinds")
    slider, seen = one(page, "#opacity"), set()
    slider.send_keys(Keys.END)
    seen.add(drawn(page))
    slider.send_keys(Keys.ARROW_LEFT * 30)
    seen.add(drawn(page))
    slider.send_keys(Keys.HOME)
    assert len(seen) == 2 and bare not in seen
    assert drawn(page) == bare


def test_the_reference_can_be_shown_instead_of_the_copy(page):
    press(page, "overlay", "off")
    copy = drawn(page)
    press(page, "picture", "reference")
    assert drawn(page) != copy


def test_the_block_under_the_pointer_is_explained(page):
    result = diagnosis(context(126, 190), ("blur",), 0)
    rows, cols = result.block_grid
    canvas = one(page, "#canvas")
    box = canvas.rect
    row, col = 3, 20
    across = (col + 0.5) * 8 / 190 * box["width"] - box["width"] / 2
    down = (row + 0.5) * 8 / 126 * box["height"] - box["height"] / 2
    ActionChains(page).move_to_element_with_offset(canvas, round(across), round(down)).perform()
    text = one(page, "#block").text
    assert f"row {row + 1}, column {col + 1};" in text and "pixels 160–167 across, 24–31 down" in text
    severity = result.block_severity[row, col]
    assert f"MSE {severity:.0f}" in text or f"MSE {severity:.1f}" in text
    assert "fault 1" in text
    assert rows == 16 and cols == 24  # the last block reaches beyond both edges


def test_arrow_keys_move_from_block_to_block_and_stop_at_the_edge(page):
    canvas = one(page, "#canvas")
    canvas.send_keys(*[Keys.ARROW_UP] * 16, *[Keys.ARROW_LEFT] * 24)
    assert "row 1, column 1;" in one(page, "#block").text
    canvas.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert "row 3, column 2;" in one(page, "#block").text
    canvas.send_keys(*[Keys.ARROW_DOWN] * 30, *[Keys.ARROW_RIGHT] * 30)
    assert "row 16, column 24;" in one(page, "#block").text
    assert "pixels 184–189 across, 120–125 down" in one(page, "#block").text


def test_everything_is_reached_by_the_tab_key(page):
    reached = set()
    one(page, "body").click()
    for _ in range(45):
        ActionChains(page).send_keys(Keys.TAB).perform()
        reached.add(
            page.execute_script(
                "const e = document.activeElement; return e.id || e.name || e.dataset.key || e.className"
            )
        )
    assert {"theme", "file", "ssim", "open", "next", "overlay", "picture", "opacity", "canvas", "fault"} <= reached


def head_of(button):
    return button.find_element("xpath", "..").get_attribute("aria-sort")


@pytest.mark.parametrize(("number", "key"), [(5, "mse"), (6, "psnr"), (7, "ssim")])
def test_the_table_sorts_numbers_both_ways(page, number, key):
    button = one(page, f"button[data-key={key}]")
    for direction in ("ascending", "descending"):
        button.click()
        assert head_of(button) == direction
        values = [float(cell.replace("∞", "inf")) for cell in column(page, number)]
        assert values == sorted(values, reverse=direction == "descending")
        assert len(set(values)) > 1
    assert page.execute_script("return document.querySelectorAll('th[aria-sort=none]').length") == 5


@pytest.mark.parametrize(("number", "key"), [(2, "file"), (3, "verdict")])
def test_the_table_sorts_words_both_ways(page, number, key):
    button = one(page, f"button[data-key={key}]")
    for direction in ("ascending", "descending"):
        button.click()
        assert head_of(button) == direction
        words = [word.lower() for word in column(page, number) if word != HOSTILE]
        assert words == sorted(words, reverse=direction == "descending")


def test_previous_and_next_follow_the_sorted_order(page):
    one(page, "button[data-key=ssim]").click()
    page.find_elements("css selector", "#rows tr")[0].click()
    wait_for(page, "return document.body.dataset.shown === '3'")
    assert not one(page, "#previous").is_enabled()
    one(page, "#next").click()
    wait_for(page, "return document.body.dataset.shown === '0'")
    assert one(page, "#rows tr[aria-current]").get_attribute("data-index") == "0"


def test_it_is_said_what_was_tried_in_each_region(page):
    assert one(page, "#why-card").is_displayed()
    (reason,) = diagnosis(context(126, 190), ("blur",), 0).why
    assert f"{reason.blocks} blocks within 190 × 126 pixels at 0, 0" in one(page, "#why").text
    tried = [row.text.lower() for row in page.find_elements("css selector", "#why tbody th")]
    assert tried == [" + ".join(NAMES[kind] for kind in one.kinds).lower() for one in reason.candidates]
    page.find_elements("css selector", "#rows tr")[1].click()  # the original
    wait_for(page, "return document.body.dataset.shown === '1'")
    assert not one(page, "#why-card").is_displayed()


def test_dark_and_light_follow_the_system_and_the_button(page):
    background = "return getComputedStyle(document.body).backgroundColor"
    seen = {}
    for scheme in ("dark", "light"):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        seen[scheme] = page.execute_script(background)
    assert seen["dark"] != seen["light"]
    one(page, "#theme").click()
    assert page.execute_script(background) == seen["dark"]
    one(page, "#theme").click()
    assert page.execute_script(background) == seen["light"]


def test_a_page_made_by_the_command_works(browser, tmp_path):
    reference = picture(64, 96)
    Image.fromarray(reference).save(tmp_path / "ref.png")
    for name, copy in [("a.png", reference // 2), ("b.png", reference), ("c.png", 255 - reference // 3)]:
        Image.fromarray(copy).save(tmp_path / name)
    command = [sys.executable, "-m", "llise", "diagnose", "ref.png", "a.png", "b.png", "c.png", "--html", "r.html"]
    subprocess.run([*command, "--quiet"], cwd=tmp_path, check=True)
    page = opened(browser, (tmp_path / "r.html").as_uri())
    assert column(page, 2) == ["a.png", "b.png", "c.png"]
    assert one(page, "#verdict").text.endswith(".")
    pictures = {drawn(page)}
    for choice in ("ssim", "off"):
        press(page, "overlay", choice)
        pictures.add(drawn(page))
    press(page, "overlay", "kinds")
    one(page, "#opacity").send_keys(Keys.ARROW_LEFT * 20)
    pictures.add(drawn(page))
    assert len(pictures) == 4
    box = one(page, "#canvas").rect
    corner = round(4 - box["width"] / 2), round(4 - box["height"] / 2)
    ActionChains(page).move_to_element_with_offset(one(page, "#canvas"), *corner).perform()
    assert "row 1, column 1;" in one(page, "#block").text
    one(page, "button[data-key=ssim]").click()
    assert column(page, 2)[-1] == "b.png"
    for width in (400, 1600):
        resize(page, width)
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
    assert page.get_log("browser") == []
    assert_no_request_left(page)
